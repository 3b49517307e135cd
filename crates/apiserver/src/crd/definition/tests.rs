//! Definitions, and what the real server says of wrong ones.

use serde_json::{Value, json};

use super::{accept, default, resources, validate_create, validate_update};

fn definition(spec_schema: &Value) -> Value {
    json!({
        "metadata": { "name": "gears.ex.dev", "uid": "u" },
        "spec": {
            "group": "ex.dev", "scope": "Namespaced",
            "names": { "plural": "gears", "singular": "gear", "kind": "Gear", "listKind": "GearList" },
            "conversion": { "strategy": "None" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "spec": spec_schema } } } }],
        },
        "status": { "storedVersions": ["v1"] },
    })
}

fn wrong(definition: &Value) -> Vec<String> {
    validate_create(definition).iter().map(ToString::to_string).collect()
}

#[test]
fn schemas_that_are_refused() {
    const AT: &str = "spec.validation.openAPIV3Schema.properties[spec]";
    let cases = [
        (json!({}), ".type: Required value: must not be empty for specified object fields"),
        (json!({ "type": "array" }), ".items: Required value: must be specified"),
        (
            json!({ "type": "text" }),
            ".type: Unsupported value: \"text\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\"",
        ),
        (
            json!({ "type": "array", "uniqueItems": true, "items": { "type": "string" } }),
            ".uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        ),
        (
            json!({ "type": "string", "x-kubernetes-validations": [{ "rule": "self.foo" }] }),
            ".x-kubernetes-validations[0].rule: Invalid value: {\"Rule\":\"self.foo\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,\"FieldPath\":\"\",\"OptionalOldSelf\":null}: compilation failed: ERROR: <input>:1:5: type 'string' does not support field selection\n | self.foo\n | ....^",
        ),
        (
            json!({ "type": "string", "x-kubernetes-validations": [{ "rule": "self" }] }),
            ".x-kubernetes-validations[0].rule: Invalid value: {\"Rule\":\"self\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,\"FieldPath\":\"\",\"OptionalOldSelf\":null}: cel expression must evaluate to a bool",
        ),
        (
            json!({ "type": "array", "maxItems": 3, "items": { "type": "integer", "x-kubernetes-validations": [{ "rule": "self == oldSelf" }] } }),
            ".items.x-kubernetes-validations[0].rule: Invalid value: \"self == oldSelf\": oldSelf cannot be used on the uncorrelatable portion of the schema within spec.validation.openAPIV3Schema.properties[spec]",
        ),
    ];
    for (schema, expected) in cases {
        assert_eq!(wrong(&definition(&schema)), [format!("{AT}{expected}")], "{schema}");
    }
}

#[test]
fn a_rule_over_unbounded_lists_is_too_dear() {
    let schema = json!({
        "type": "array", "items": { "type": "string" },
        "x-kubernetes-validations": [{ "rule": "self.all(x, self.all(y, x != y))" }],
    });
    let found = wrong(&definition(&schema));
    assert!(
        found[0].ends_with(
            "rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
        ),
        "{found:?}"
    );
    let bounded = json!({
        "type": "array", "maxItems": 10, "items": { "type": "string", "maxLength": 10 },
        "x-kubernetes-validations": [{ "rule": "self.all(x, self.all(y, x != y))" }],
    });
    assert_eq!(wrong(&definition(&bounded)), Vec::<String>::new());
}

#[test]
fn names_are_filled_and_then_fixed() {
    let mut made = definition(&json!({ "type": "object" }));
    made["spec"]["names"] = json!({ "plural": "gears", "kind": "Gear" });
    made["spec"]["conversion"] = Value::Null;
    default(&mut made);
    assert_eq!(made["spec"]["names"]["singular"], "gear");
    assert_eq!(made["spec"]["names"]["listKind"], "GearList");
    assert_eq!(made["spec"]["conversion"], json!({ "strategy": "None" }));
    made["status"] = accept(&made, &[], "2024-01-01T00:00:00Z");
    assert_eq!(made["status"]["conditions"][1]["reason"], "InitialNamesAccepted");
    let mut changed = made.clone();
    changed["spec"]["scope"] = json!("Cluster");
    changed["spec"]["group"] = json!("other.dev");
    let found: Vec<String> =
        validate_update(&changed, &made).iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "spec.scope: Invalid value: \"Cluster\": field is immutable",
            "spec.group: Invalid value: \"other.dev\": field is immutable",
        ]
    );
}

#[test]
fn a_name_in_use_is_not_given_twice() {
    let mut first = definition(&json!({ "type": "object" }));
    first["status"] = accept(&first, &[], "2024-01-01T00:00:00Z");
    let mut second = definition(&json!({ "type": "object" }));
    second["metadata"]["name"] = json!("rivals.ex.dev");
    second["spec"]["names"] =
        json!({ "plural": "rivals", "singular": "gear", "kind": "Gear", "listKind": "GearList" });
    second["status"] = Value::Null;
    let status = accept(&second, &[first], "2024-01-01T00:00:00Z");
    assert_eq!(status["acceptedNames"], json!({ "plural": "rivals", "kind": "" }));
    assert_eq!(status["conditions"][0]["reason"], "ListKindConflict");
    assert_eq!(status["conditions"][0]["message"], "\"GearList\" is already in use");
    assert_eq!(status["conditions"][1]["status"], "False");
}

#[test]
fn a_stored_version_may_not_go() {
    let old = definition(&json!({ "type": "object" }));
    let mut new = old.clone();
    new["spec"]["versions"][0]["name"] = json!("v2");
    new["status"]["storedVersions"] = json!(["v1", "v2"]);
    let found: Vec<String> = validate_update(&new, &old).iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions; v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from status.storedVersions"
        ]
    );
}

#[test]
fn each_served_version_is_a_resource() {
    let mut two = definition(&json!({ "type": "object" }));
    two["spec"]["versions"][0]["subresources"] = json!({ "status": {} });
    let mut second = two["spec"]["versions"][0].clone();
    second["name"] = json!("v2");
    second["storage"] = json!(false);
    let mut third = second.clone();
    third["name"] = json!("v3");
    third["served"] = json!(false);
    if let Some(versions) = two["spec"]["versions"].as_array_mut() {
        versions.extend([second, third]);
    }
    let found = resources(&two);
    let versions: Vec<(&str, bool, bool)> =
        found.iter().map(|r| (r.version.as_str(), r.storage, r.status)).collect();
    assert_eq!(versions, [("v1", true, true), ("v2", false, true)]);
    assert_eq!(found[0].table, found[1].table);
    assert_eq!(found[0].storage_version_hash, found[1].storage_version_hash);
}
