use proptest::prelude::*;

use super::*;
use crate::yaml;

fn node(text: &str) -> Node {
    yaml::documents(text).unwrap().remove(0).root
}

fn merged(object: &str, patch: &str) -> Result<String> {
    let mut object = node(object);
    if !merge(&mut object, &mut node(patch), &Schema::new())? {
        return Ok("gone".to_owned());
    }
    let mut out = String::new();
    yaml::emit::object(&object, &mut out)?;
    Ok(out)
}

/// The containers of a Deployment, merged.
fn containers(object: &str, patch: &str) -> String {
    let deployment = |containers: &str| {
        format!(
            "{{apiVersion: apps/v1, kind: Deployment, spec: {{template: {{spec: {{containers: {containers}}}}}}}}}"
        )
    };
    let text = merged(&deployment(object), &deployment(patch)).unwrap();
    let (_, list) = text.split_once("containers:").unwrap();
    list.replace("\n      ", "\n").trim().to_owned()
}

#[test]
fn lists_are_merged_by_their_key_and_new_elements_come_first() {
    assert_eq!(
        containers("[{name: a, image: x}, {name: b}]", "[{name: c}, {name: b, image: y}]"),
        "- name: c\n- image: \"y\"\n  name: b\n- image: x\n  name: a"
    );
}

#[test]
fn ports_are_told_apart_by_number_and_protocol() {
    let ports = |list: &str| format!("[{{name: a, ports: {list}}}]");
    let merged = |one: &str, two: &str| containers(&ports(one), &ports(two));
    assert_eq!(
        merged(
            "[{containerPort: 80, protocol: TCP}, {containerPort: 80, protocol: UDP}]",
            "[{containerPort: 80, protocol: UDP, name: q}]"
        ),
        "- name: a\n  ports:\n  - containerPort: 80\n    protocol: TCP\n  - containerPort: 80\n    name: q\n    protocol: UDP"
    );
    assert_eq!(
        merged("[{containerPort: 80}]", "[{containerPort: 80, $patch: delete}]"),
        "- name: a\n  ports: []"
    );
}

#[test]
fn directives_are_followed() {
    assert_eq!(containers("[{name: a}, {name: b}]", "[{name: a, $patch: delete}]"), "- name: b");
    assert_eq!(containers("[{name: a, image: x}]", "[{$patch: replace}, {name: b}]"), "- name: b");
    assert_eq!(
        merged("{a: {b: 1, c: 2}, d: 3}", "{a: {$patch: replace, e: 4}}").unwrap(),
        "a:\n  e: 4\nd: 3\n"
    );
    assert_eq!(merged("{a: {b: 1}, d: 3}", "{a: {$patch: delete}}").unwrap(), "d: 3\n");
    assert_eq!(merged("{a: 1}", "{$patch: delete}").unwrap(), "gone");
    let error = merged("{a: {b: 1}}", "{a: {$patch: burn}}").unwrap_err();
    assert!(error.message().contains("unknown patch strategy 'burn'"), "{error}");
}

#[test]
fn null_takes_away_and_what_has_no_schema_is_replaced() {
    let custom = |spec: &str| format!("{{apiVersion: example.org/v1, kind: Thing, spec: {spec}}}");
    let text = merged(
        &custom("{list: [{name: a}, {name: b}], gone: 1, kept: null, nothing: , map: {a: 1}}"),
        &custom("{list: [{name: b, x: null}], gone: null, map: {b: {c: null, d: 2}}}"),
    )
    .unwrap();
    assert_eq!(
        text,
        "apiVersion: example.org/v1\nkind: Thing\nspec:\n  kept: null\n  list:\n  - name: b\n    x: null\n  map:\n    a: 1\n    b:\n      d: 2\n"
    );
}

#[test]
fn values_without_a_key_are_united() {
    let object = |list: &str| {
        format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{finalizers: {list}}}}}")
    };
    assert_eq!(
        merged(&object("[a, b]"), &object("[c, b]")).unwrap(),
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  finalizers:\n  - c\n  - b\n  - a\n"
    );
}

#[test]
fn quotes_outlive_the_value_in_them() {
    assert_eq!(merged("{a: \"x\", b: x}", "{a: 1, b: 1}").unwrap(), "a: \"1\"\nb: 1\n");
}

#[test]
fn shapes_that_differ_are_refused() {
    let error = merged("{a: {b: 1}}", "{a: [1]}").unwrap_err();
    assert!(error.message().contains("wrong node kind"), "{error}");
}

/// Random values, with the names that mean something to a merge.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "null", "~", "", "1", "\"1\"", "yes", "x", "{}", "[]", "0755", "1.5", "'q'",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(5, 40, 4, |inner| {
        let key = prop::sample::select(vec![
            "name",
            "containers",
            "spec",
            "template",
            "metadata",
            "ports",
            "containerPort",
            "protocol",
            "env",
            "finalizers",
            "apiVersion",
            "kind",
            "$patch",
            "$retainKeys",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!(
                "[{}]",
                items.iter().map(|item| format!("{item} ")).collect::<Vec<_>>().join(", ")
            )),
            prop::collection::btree_map(key, inner, 0..4).prop_map(|fields| {
                let field = |(key, value): (&&str, &String)| match *key {
                    "$patch" => format!("{key}: delete"),
                    "apiVersion" => format!("{key}: apps/v1"),
                    "kind" => format!("{key}: Deployment"),
                    _ => format!("{key}: {value} "),
                };
                format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(object in value(), patch in value()) {
        let wrap = |value: &str| format!("apiVersion: apps/v1\nkind: Deployment\nspec: {value}\n");
        let (Ok(objects), Ok(patches)) =
            (yaml::documents(&wrap(&object)), yaml::documents(&wrap(&patch))) else { return Ok(()) };
        let (mut object, mut patch) = (objects[0].root.clone(), patches[0].root.clone());
        let merged = merge(&mut object, &mut patch, &Schema::new());
        prop_assert!(merged.is_err() || object.get("kind").is_some());
    }
}
