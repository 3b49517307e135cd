//! What schemas do to objects, with the texts of the real server.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Part, default, definition, prune, validate};
use crate::resource::Resource;

fn resource(spec: &Value) -> Resource {
    let definition = json!({
        "metadata": { "name": "widgets.ex.dev" },
        "spec": {
            "group": "ex.dev", "scope": "Namespaced",
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": { "status": {}, "scale": {
                    "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" } },
                "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } },
            }],
        },
        "status": { "storedVersions": ["v1"] },
    });
    assert_eq!(definition::validate_create(&definition), Vec::new());
    definition::resources(&definition).remove(0)
}

fn widget(spec: &Value) -> Value {
    json!({ "apiVersion": "ex.dev/v1", "kind": "Widget", "metadata": { "name": "a" }, "spec": spec })
}

fn said(resource: &Resource, new: &Value, old: Option<&Value>) -> Vec<String> {
    let mut errors = Vec::new();
    let old = old.map(widget);
    validate(resource, &widget(new), old.as_ref(), Part::Whole, &mut errors);
    errors.iter().map(ToString::to_string).collect()
}

fn values() -> Resource {
    resource(&json!({
        "type": "object", "required": ["size"],
        "properties": {
            "size": { "type": "integer", "minimum": 1, "maximum": 10 },
            "name": { "type": "string", "minLength": 2, "maxLength": 4, "pattern": "^[a-z]+$" },
            "mode": { "type": "string", "enum": ["A", "B"] },
            "time": { "type": "string", "format": "date-time" },
            "either": { "x-kubernetes-int-or-string": true },
            "tags": { "type": "array", "x-kubernetes-list-type": "set", "maxItems": 3, "items": { "type": "string" } },
            "ports": { "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": { "type": "object", "required": ["name"], "properties": {
                    "name": { "type": "string" }, "port": { "type": "integer", "minimum": 1 } } } },
            "one": { "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "string" } },
                "oneOf": [{ "required": ["a"] }, { "required": ["b"] }] },
            "some": { "type": "string", "nullable": true },
            "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
            "inner": { "type": "object", "properties": { "x": { "type": "integer", "default": 5 } } },
            "labels": { "type": "object", "additionalProperties": { "type": "string" } },
            "color": { "type": "string", "default": "red" },
            "list": { "type": "array", "items": { "type": "object", "properties": { "k": { "type": "string" } } } },
        },
    }))
}

#[test]
fn values_against_their_schema() {
    let resource = values();
    let cases: &[(Value, &[&str])] = &[
        (json!({ "size": 3 }), &[]),
        (json!({}), &["spec.size: Required value"]),
        (
            json!({ "size": 0 }),
            &[
                "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1",
            ],
        ),
        (
            json!({ "size": 11 }),
            &["spec.size: Invalid value: 11: spec.size in body should be less than or equal to 10"],
        ),
        (
            json!({ "size": "x" }),
            &[
                "spec.size: Invalid value: \"string\": spec.size in body must be of type integer: \"string\"",
            ],
        ),
        (
            json!({ "size": 1, "name": "a" }),
            &["spec.name: Invalid value: \"a\": spec.name in body should be at least 2 chars long"],
        ),
        (
            json!({ "size": 1, "name": "AB" }),
            &["spec.name: Invalid value: \"AB\": spec.name in body should match '^[a-z]+$'"],
        ),
        (
            json!({ "size": 1, "name": "abcde" }),
            &["spec.name: Too long: may not be more than 4 bytes"],
        ),
        (
            json!({ "size": 1, "mode": "C" }),
            &["spec.mode: Unsupported value: \"C\": supported values: \"A\", \"B\""],
        ),
        (
            json!({ "size": 1, "time": "yesterday" }),
            &[
                "spec.time: Invalid value: \"yesterday\": spec.time in body must be of type date-time: \"yesterday\"",
            ],
        ),
        (
            json!({ "size": 1, "either": [] }),
            &[
                "spec.either: Invalid value: \"array\": spec.either in body must be of type integer,string: \"array\"",
            ],
        ),
        (json!({ "size": 1, "either": "5%" }), &[]),
        (json!({ "size": 1, "tags": ["a", "a"] }), &["spec.tags[1]: Duplicate value: \"a\""]),
        (
            json!({ "size": 1, "tags": ["a", "b", "c", "d"] }),
            &["spec.tags: Too many: 4: must have at most 3 items"],
        ),
        (
            json!({ "size": 1, "ports": [{ "name": "a" }, { "name": "a" }] }),
            &["spec.ports[1]: Duplicate value: {\"name\":\"a\"}"],
        ),
        (
            json!({ "size": 1, "one": {} }),
            &[
                "<nil>: Invalid value: \"\": \"spec.one\" must validate one and only one schema (oneOf). Found none valid",
                "spec.one.a: Required value",
            ],
        ),
        (
            json!({ "size": 1, "one": { "a": "", "b": "" } }),
            &[
                "<nil>: Invalid value: \"\": \"spec.one\" must validate one and only one schema (oneOf). Found 2 valid alternatives",
            ],
        ),
    ];
    for (spec, expected) in cases {
        assert_eq!(said(&resource, spec, None), *expected, "{spec}");
    }
}

#[test]
fn what_was_wrong_before_may_stay() {
    let resource = values();
    let old = json!({ "size": 99, "name": "A", "ports": [{ "name": "a", "port": 0 }] });
    let mut new = old.clone();
    new["mode"] = json!("A");
    assert_eq!(said(&resource, &new, Some(&old)), Vec::<String>::new());
    new["size"] = json!(98);
    assert_eq!(
        said(&resource, &new, Some(&old)),
        ["spec.size: Invalid value: 98: spec.size in body should be less than or equal to 10"]
    );
}

#[test]
fn unknown_fields_are_dropped_and_named() {
    let resource = values();
    let mut object = widget(&json!({
        "size": 1, "unknown": 2, "free": { "a": { "b": 1 } }, "inner": { "y": 1 }, "list": [{ "k": "v", "l": 1 }],
    }));
    object["metadata"]["whatever"] = json!(1);
    object["extra"] = json!({ "a": 1 });
    let dropped = prune(resource.shape.node(), &mut object);
    assert_eq!(dropped, ["extra", "spec.inner.y", "spec.list[0].l", "spec.unknown"]);
    assert_eq!(
        object["spec"],
        json!({ "size": 1, "free": { "a": { "b": 1 } }, "inner": {}, "list": [{ "k": "v" }] })
    );
    assert_eq!(object["metadata"]["whatever"], 1);
}

#[test]
fn absent_fields_are_filled_and_null_is_a_value_only_where_it_may_be() {
    let resource = values();
    let mut object = widget(&json!({ "size": null, "some": null, "color": null, "inner": {} }));
    default(resource.shape.node(), &mut object);
    assert_eq!(object["spec"], json!({ "some": null, "color": "red", "inner": { "x": 5 } }));
}

#[test]
fn rules_say_what_is_wrong() {
    let resource = resource(&json!({
        "type": "object",
        "x-kubernetes-validations": [
            { "rule": "!has(self.size) || self.size < 9", "message": "nine is too big" },
            { "rule": "has(self.name) == has(oldSelf.name)", "message": "name comes and goes" },
            { "rule": "!has(self.name) || self.name != 'bad'", "message": "name must not be bad",
              "reason": "FieldValueForbidden", "fieldPath": ".name" },
            { "rule": "self.?size.orValue(0) != 7", "messageExpression": "'seven of ' + (has(self.name) ? self.name : 'none')" },
        ],
        "properties": {
            "size": { "type": "integer", "x-kubernetes-validations": [
                { "rule": "self >= oldSelf", "message": "size cannot shrink" }] },
            "name": { "type": "string", "maxLength": 10 },
            "fixed": { "type": "string", "maxLength": 10, "x-kubernetes-validations": [{ "rule": "self == oldSelf" }] },
            "born": { "type": "string", "maxLength": 10, "x-kubernetes-validations": [
                { "rule": "oldSelf.hasValue() || self == 'new'", "optionalOldSelf": true }] },
            "items": { "type": "array", "maxItems": 5, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"],
                "items": { "type": "object", "required": ["id"], "properties": {
                    "id": { "type": "string", "maxLength": 5 }, "n": { "type": "integer" } },
                    "x-kubernetes-validations": [{ "rule": "self.n >= oldSelf.n", "message": "n cannot shrink" }] } },
        },
    }));
    let cases: &[(Value, Option<Value>, &[&str])] = &[
        (json!({ "size": 9 }), None, &["spec: Invalid value: nine is too big"]),
        (json!({ "name": "bad" }), None, &["spec.name: Forbidden: name must not be bad"]),
        (json!({ "size": 7 }), None, &["spec: Invalid value: seven of none"]),
        (
            json!({ "size": 1 }),
            Some(json!({ "size": 3 })),
            &["spec.size: Invalid value: 1: size cannot shrink"],
        ),
        (json!({ "size": 3 }), Some(json!({})), &[]),
        (
            json!({ "fixed": "b" }),
            Some(json!({ "fixed": "a" })),
            &["spec.fixed: Invalid value: \"b\": failed rule: self == oldSelf"],
        ),
        (json!({}), Some(json!({ "name": "x" })), &["spec: Invalid value: name comes and goes"]),
        (
            json!({ "born": "x" }),
            None,
            &["spec.born: Invalid value: \"x\": failed rule: oldSelf.hasValue() || self == 'new'"],
        ),
        (json!({ "born": "x" }), Some(json!({ "born": "new" })), &[]),
        (
            json!({ "items": [{ "id": "b", "n": 9 }, { "id": "a", "n": 1 }] }),
            Some(json!({ "items": [{ "id": "a", "n": 2 }] })),
            &["spec.items[1]: Invalid value: n cannot shrink"],
        ),
        (
            json!({ "size": "x" }),
            None,
            &[
                "spec.size: Invalid value: \"string\": spec.size in body must be of type integer: \"string\"",
                "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
            ],
        ),
        // wrong before, wrong now, and unchanged
        (json!({ "size": 9 }), Some(json!({ "size": 9 })), &[]),
    ];
    for (new, old, expected) in cases {
        assert_eq!(said(&resource, new, old.as_ref()), *expected, "{new} from {old:?}");
    }
    let mut errors = Vec::new();
    let object = widget(&json!({ "size": 9 }));
    let warnings = validate(&resource, &object, Some(&object), Part::Whole, &mut errors);
    assert_eq!(warnings, ["spec: Invalid value: nine is too big"]);
}

#[test]
fn replicas_are_numbers_from_zero_on() {
    let resource =
        resource(&json!({ "type": "object", "properties": { "replicas": { "type": "integer" } } }));
    assert_eq!(
        said(&resource, &json!({ "replicas": -3 }), None),
        [".spec.replicas: Invalid value: -3: should be a non-negative integer"]
    );
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z]{0,3}".prop_map(Value::from),
    ];
    let key = "size|inner|x|color|list|k|some|free|labels|zz|tags";
    leaf.prop_recursive(4, 32, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn pruning_twice_drops_nothing_more(spec in anything()) {
        let resource = values();
        let mut once = widget(&spec);
        prune(resource.shape.node(), &mut once);
        let mut twice = once.clone();
        prop_assert!(prune(resource.shape.node(), &mut twice).is_empty());
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn filling_twice_fills_nothing_more(spec in anything()) {
        let resource = values();
        let mut once = widget(&spec);
        default(resource.shape.node(), &mut once);
        let mut twice = once.clone();
        default(resource.shape.node(), &mut twice);
        prop_assert_eq!(once, twice);
    }
}
