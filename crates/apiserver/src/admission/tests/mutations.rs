//! Mutating policies: what they make of the config map `x`, or why they cannot.

use super::*;

fn apply(expression: &str) -> Value {
    json!({ "patchType": "ApplyConfiguration", "applyConfiguration": { "expression": expression } })
}

fn patch(expression: &str) -> Value {
    json!({ "patchType": "JSONPatch", "jsonPatch": { "expression": expression } })
}

fn run(spec: &Value) -> Result<Value, Failure> {
    let mut held = Held::new();
    held.policy("mutating", "p", spec.clone(), json!({}));
    Write::plain().mutate(&held).map(|(object, _)| object)
}

#[test]
fn objects_change_as_on_the_server() {
    for (mutations, pointer, expected) in [
        (
            vec![apply(
                "Object{metadata: Object.metadata{labels: {'added': 'yes'}}, data: {'b': object.data.a + '!'}}",
            )],
            "/data",
            json!({ "a": "1", "b": "1!" }),
        ),
        (
            vec![apply(
                "Object{metadata: Object.metadata{annotations: {'who': request.userInfo.username}, finalizers: ['x.dev/y']}}",
            )],
            "/metadata/annotations",
            json!({ "who": "admin" }),
        ),
        (
            vec![apply(
                "Object{metadata: Object.metadata{finalizers: object.metadata.?finalizers.orValue([]) + ['a.dev/b']}}",
            )],
            "/metadata/finalizers",
            json!(["a.dev/b"]),
        ),
        (
            vec![patch(
                "[JSONPatch{op: 'add', path: '/metadata/labels/j~1x', value: 'v'}, JSONPatch{op: 'add', path: '/data/' + jsonpatch.escapeKey('a/b'), value: 'c'}]",
            )],
            "/data",
            json!({ "a": "1", "a/b": "c" }),
        ),
        (
            vec![patch(
                "[JSONPatch{op: 'test', path: '/data/a', value: 'nope'}, JSONPatch{op: 'add', path: '/data/q', value: 'c'}]",
            )],
            "/data",
            json!({ "a": "1" }),
        ),
        (
            vec![patch(
                "[JSONPatch{op: 'add', path: '/metadata/annotations', value: Object.metadata.annotations{a: 'b'}}]",
            )],
            "/metadata/annotations",
            json!({ "a": "b" }),
        ),
        (
            vec![patch(
                "object.data.a == '1' ? [JSONPatch{op: 'add', path: '/data/z', value: '1'}] : []",
            )],
            "/data",
            json!({ "a": "1", "z": "1" }),
        ),
        (
            vec![
                apply("Object{data: {'b': '1'}}"),
                patch("[JSONPatch{op: 'add', path: '/data/c', value: object.data.b + '2'}]"),
            ],
            "/data",
            json!({ "a": "1", "b": "1", "c": "12" }),
        ),
        (vec![apply("Object{data: {'b': namespaceObject.metadata.name}}")], "/data/b", json!("t")),
        (
            vec![apply(
                "Object{data: {'b': authorizer.requestResource.check('get').allowed() ? 'y' : 'n'}}",
            )],
            "/data/b",
            json!("y"),
        ),
        (vec![apply("Object{data: {'b': string(oldObject == null)}}")], "/data/b", json!("true")),
    ] {
        let object = run(&json!({ "mutations": mutations })).unwrap();
        assert_eq!(object.pointer(pointer), Some(&expected), "{mutations:?}");
    }
    // Variables are computed anew after each mutation.
    let object = run(&json!({
        "variables": [{ "name": "v", "expression": "object.data.a" }],
        "mutations": [apply("Object{data: {'a': 'changed'}}"), apply("Object{data: {'c': variables.v}}")],
    }));
    assert_eq!(object.unwrap()["data"], json!({ "a": "changed", "c": "changed" }));
}

#[test]
fn what_cannot_be_done_is_refused_in_the_servers_words() {
    for (spec, expected) in [
        (
            json!({ "mutations": [apply("Object{metadata: Object.spec{labels: {'a': 'b'}}}")] }),
            "type mismatch: unexpected type name \"Object.spec\", expected \"Object.metadata\", which matches field name path from root Object type",
        ),
        (
            json!({ "mutations": [apply("Object{bogus: 'x'}")] }),
            "error applying patch: failed to convert patch object to typed object: .bogus: field not declared in schema",
        ),
        (
            json!({ "mutations": [apply("Object{metadata: Object.metadata{ownerReferences: [Object.metadata.ownerReferences{uid: 'u', name: 'n', kind: 'K', apiVersion: 'v1'}]}}")] }),
            "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .metadata.ownerReferences[0]",
        ),
        (
            json!({ "mutations": [apply("Object{data: {'a': object.data.nope}}")] }),
            "expression 'Object{data: {'a': object.data.nope}}' resulted in error: no such key: nope",
        ),
        (
            json!({ "mutations": [patch("[JSONPatch{op: 'remove', path: '/data/zz'}]")] }),
            "JSON Patch: error in remove for path: '/data/zz': Unable to remove nonexistent key: zz: missing value",
        ),
        (
            json!({ "mutations": [patch("[JSONPatch{op: 'add', path: '/spec/zz/y', value: 'a'}]")] }),
            "JSON Patch: add operation does not apply: doc is missing path: \"/spec/zz/y\": missing value",
        ),
        (
            json!({ "mutations": [patch("[JSONPatch{op: 'bogus', path: '/data/a', value: 'a'}]")] }),
            "JSON Patch: Unexpected kind: bogus",
        ),
        (
            json!({
                "matchConditions": [{ "name": "n", "expression": "object.data.nope == 'x'" }],
                "mutations": [apply("Object{}")],
            }),
            "expression 'object.data.nope == 'x'' resulted in error: no such key: nope",
        ),
    ] {
        let failure = run(&spec).unwrap_err();
        let message = format!("policy 'p' with binding 'p' denied request: {expected}");
        assert_eq!((failure.code, failure.reason.as_deref()), (403, Some("Invalid")));
        assert_eq!(failure.message, message);
        assert_eq!(
            failure.body()["details"],
            json!({ "name": "x", "kind": "configmaps", "causes": [{ "message": message }] })
        );
        let mut ignoring = spec.clone();
        ignoring["failurePolicy"] = "Ignore".into();
        assert_eq!(run(&ignoring).unwrap(), config_map("x"));
    }
}

#[test]
fn a_patch_that_makes_no_object_is_an_internal_error() {
    for (expression, expected) in [
        (
            "[JSONPatch{op: 'add', path: '/data/a', value: 5}]",
            "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
        ),
        (
            "[JSONPatch{op: 'add', path: '/bogus', value: 5}]",
            "strict decoding error: unknown field \"bogus\"",
        ),
    ] {
        let failure = run(&json!({ "mutations": [patch(expression)] })).unwrap_err();
        assert_eq!(failure.body()["message"], format!("Internal error occurred: {expected}"));
        assert_eq!((failure.code, failure.reason.as_deref()), (500, Some("InternalError")));
        assert_eq!(failure.body()["details"], json!({ "causes": [{ "message": expected }] }));
    }
}

#[test]
fn parameters_that_are_missing_deny_without_a_reason_of_their_own() {
    let mut held = Held::new();
    held.policy(
        "mutating",
        "p",
        json!({ "paramKind": { "apiVersion": "v1", "kind": "ConfigMap" }, "mutations": [apply("Object{}")] }),
        json!({ "paramRef": { "name": "none", "parameterNotFoundAction": "Deny" } }),
    );
    let failure = Write::plain().mutate(&held).unwrap_err();
    assert_eq!((failure.code, failure.reason.as_deref()), (403, Some("Forbidden")));
    assert_eq!(
        failure.message,
        "policy 'p' with binding 'p' denied request: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    );
}

#[test]
fn a_policy_runs_again_only_if_it_asked_to() {
    for (reinvocation, expected) in [("Never", "none"), ("IfNeeded", "late")] {
        let mut held = Held::new();
        held.policy(
            "mutating",
            "a",
            json!({
                "reinvocationPolicy": reinvocation,
                "mutations": [apply("Object{data: {'seen': object.data[?'late'].orValue('none')}}")],
            }),
            json!({}),
        );
        held.policy(
            "mutating",
            "b",
            json!({ "mutations": [apply("Object{data: {'late': 'late'}}")] }),
            json!({}),
        );
        let (object, _) = Write::plain().mutate(&held).unwrap();
        assert_eq!(object["data"]["seen"], expected);
    }
}

#[test]
fn deletions_are_not_mutated() {
    let mut held = Held::new();
    held.policy("mutating", "p", json!({ "mutations": [apply("Object{bogus: 1}")] }), json!({}));
    let write = Write::delete(resource("", "configmaps"), config_map("x"));
    assert_eq!(write.mutate(&held).unwrap().0, Value::Null);
}
