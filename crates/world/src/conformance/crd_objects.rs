//! What a definition does to objects: values, defaults, pruning, rules, and what may stay as it was.

use serde_json::{Value, json};

use super::case::{Case, apply, get, json_patch, merge_patch, post, put};
use super::crd::{ALL, CRD, ONE, custom, definition, definition_of, gear, made, object, version};

/// Cases of objects of custom kinds.
pub fn cases() -> Vec<Case> {
    let mut cases = values();
    cases.extend(shaping());
    cases.extend(rules());
    cases.extend(ratcheting());
    cases
}

fn values() -> Vec<Case> {
    let definition = || {
        definition(json!({
            "type": "object", "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1, "maximum": 10},
                "small": {"type": "integer", "format": "int32"},
                "ratio": {"type": "number", "exclusiveMinimum": true, "minimum": 0, "maximum": 1.5, "multipleOf": 0.5},
                "name": {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^[a-z]+$"},
                "mode": {"type": "string", "enum": ["A", "B"]},
                "level": {"type": "integer", "enum": [1, 2]},
                "on": {"type": "boolean"},
                "time": {"type": "string", "format": "date-time"},
                "day": {"type": "string", "format": "date"},
                "wait": {"type": "string", "format": "duration"},
                "address": {"type": "string", "format": "ipv4"},
                "id": {"type": "string", "format": "uuid"},
                "bytes": {"type": "string", "format": "byte"},
                "odd": {"type": "string", "format": "made-up"},
                "either": {"x-kubernetes-int-or-string": true},
                "tags": {"type": "array", "x-kubernetes-list-type": "set", "minItems": 1, "maxItems": 3, "items": {"type": "string"}},
                "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "side"],
                    "items": {"type": "object", "required": ["name"], "properties": {
                        "name": {"type": "string"}, "side": {"type": "string", "default": "left"}, "port": {"type": "integer"}}}},
                "one": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                    "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
                "any": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                    "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
                "all": {"type": "string", "allOf": [{"minLength": 2}, {"pattern": "^x"}]},
                "not": {"type": "string", "not": {"enum": ["bad"]}},
                "some": {"type": "string", "nullable": true},
                "labels": {"type": "object", "minProperties": 1, "maxProperties": 2, "additionalProperties": {"type": "string"}},
                "inner": {"type": "object", "required": ["x"], "properties": {"x": {"type": "string"}}},
                "thing": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
                "list": {"type": "array", "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}}},
            },
        }))
    };
    vec![
        custom("crd/values-of-numbers", definition()).compare_all([
            made(json!({"size": 3})),
            made(json!({})),
            made(json!({"size": 0})),
            made(json!({"size": 11})),
            made(json!({"size": "x"})),
            made(json!({"size": 1.5})),
            made(json!({"size": 2.0})),
            made(json!({"size": true})),
            made(json!({"size": null})),
            made(json!({"size": 1, "small": 3_000_000_000_i64})),
            made(json!({"size": 1, "ratio": 0})),
            made(json!({"size": 1, "ratio": 2})),
            made(json!({"size": 1, "ratio": 0.7})),
            made(json!({"size": 1, "ratio": "x"})),
            made(json!({"size": 1, "level": 3})),
            made(json!({"size": 1, "on": "true"})),
        ]),
        custom("crd/values-of-strings", definition()).compare_all([
            made(json!({"size": 1, "name": "a"})),
            made(json!({"size": 1, "name": "AB"})),
            made(json!({"size": 1, "name": "abcde"})),
            made(json!({"size": 1, "name": 5})),
            made(json!({"size": 1, "name": {"a": 1}})),
            made(json!({"size": 1, "mode": "C"})),
            made(json!({"size": 1, "time": "yesterday"})),
            made(json!({"size": 1, "time": 5})),
            made(json!({"size": 1, "day": "2024-13-01"})),
            made(json!({"size": 1, "wait": "1x"})),
            made(json!({"size": 1, "wait": "1h30m"})),
            made(json!({"size": 1, "address": "10.0.0.256"})),
            made(json!({"size": 1, "id": "x"})),
            made(json!({"size": 1, "bytes": "###"})),
            made(json!({"size": 1, "odd": "anything"})),
            made(json!({"size": 1, "either": []})),
            made(json!({"size": 1, "either": "5%"})),
            made(json!({"size": 1, "some": null})),
        ]),
        custom("crd/values-of-lists", definition()).compare_all([
            made(json!({"size": 1, "tags": ["a", "a"]})),
            made(json!({"size": 1, "tags": []})),
            made(json!({"size": 1, "tags": ["a", "b", "c", "d"]})),
            made(json!({"size": 1, "tags": [1]})),
            made(json!({"size": 1, "tags": "a"})),
            made(json!({"size": 1, "ports": [{"name": "a"}, {"name": "a"}]})),
            made(json!({"size": 1, "ports": [{"name": "a"}, {"name": "a", "side": "right"}]})),
            made(json!({"size": 1, "ports": [{"port": 1}]})),
            made(json!({"size": 1, "list": [{"k": "a"}, {}]})),
            made(json!({"size": 1, "list": [null]})),
        ]),
        custom("crd/values-of-objects", definition()).compare_all([
            made(json!({"size": 1, "labels": {}})),
            made(json!({"size": 1, "labels": {"a": "1", "b": "2", "c": "3"}})),
            made(json!({"size": 1, "labels": {"a.b/c": 1}})),
            made(json!({"size": 1, "inner": {}})),
            made(json!({"size": 1, "inner": []})),
            made(json!({"size": 1, "one": {}})),
            made(json!({"size": 1, "one": {"a": "", "b": ""}})),
            made(json!({"size": 1, "any": {}})),
            made(json!({"size": 1, "all": "a"})),
            made(json!({"size": 1, "all": "yy"})),
            made(json!({"size": 1, "not": "bad"})),
            made(json!({"size": 1, "thing": {"a": 1}})),
            made(json!({"size": 1, "thing": {"apiVersion": "v1", "kind": "bad_kind", "a": 1}})),
            made(json!({"size": 0, "name": "A", "mode": "C"})).causes_in_any_order(),
            post(ALL, json!({"apiVersion": "{ns}.ex.dev/v1", "kind": "Gear", "metadata": {"name": "a"}})).dry_run(),
            post(ALL, json!({"apiVersion": "{ns}.ex.dev/v1", "kind": "Gear", "metadata": {"name": "Bad_Name"}, "spec": {"size": 0}})).dry_run(),
            post(ALL, json!({"apiVersion": "{ns}.ex.dev/v1", "kind": "Wheel", "metadata": {"name": "a"}})).dry_run(),
        ]),
    ]
}

fn shaping() -> Vec<Case> {
    let definition = || {
        definition(object(json!({
            "color": {"type": "string", "default": "red"},
            "inner": {"type": "object", "default": {}, "properties": {"x": {"type": "integer", "default": 5}, "y": {"type": "string"}}},
            "some": {"type": "string", "nullable": true},
            "given": {"type": "string", "nullable": true, "default": "d"},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"known": object(json!({"a": {"type": "string"}}))}},
            "list": {"type": "array", "items": object(json!({"k": {"type": "string", "default": "v"}, "n": {"type": "integer"}}))},
            "map": {"type": "object", "additionalProperties": object(json!({"k": {"type": "string", "default": "w"}}))},
            "thing": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
        })))
    };
    vec![
        custom("crd/defaults", definition())
            .compare(post(ALL, gear(json!({}))))
            .compare(get(ONE))
            .compare(merge_patch(ONE, json!({"spec": {"color": null}})))
            .compare(merge_patch(ONE, json!({"spec": {"inner": {"x": null, "y": "z"}}})))
            .compare(put(ONE, gear(json!({"color": null, "some": null, "given": null, "list": [{}, {"k": null}], "map": {"a": {}}}))))
            .compare(json_patch(ONE, json!([{"op": "remove", "path": "/spec"}])))
            .compare(apply(ONE, "tester", gear(json!({"list": [{"n": 1}]}))).force()),
        custom("crd/pruning", definition())
            .compare(post(ALL, gear(json!({"unknown": 1, "inner": {"z": 1}, "list": [{"q": 1}], "map": {"a": {"q": 1}}}))))
            .compare(post(ALL, gear(json!({"unknown": 1, "inner": {"z": 1}}))).query("fieldValidation", "Strict").dry_run())
            .compare(post(ALL, gear(json!({"unknown": 1}))).query("fieldValidation", "Ignore").dry_run())
            .compare(merge_patch(ONE, json!({"spec": {"free": {"a": {"b": 1}, "known": {"a": "x", "b": 1}}}})))
            .compare(merge_patch(ONE, json!({"extra": {"a": 1}, "spec": {"thing": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "a": 1}}})))
            .compare(get(ONE)),
    ]
}

fn rules() -> Vec<Case> {
    let definition = || {
        definition(json!({
            "type": "object",
            "x-kubernetes-validations": [
                {"rule": "!has(self.size) || self.size < 9", "message": "nine is too big"},
                {"rule": "!has(self.name) || self.name != 'bad'", "message": "name must not be bad", "reason": "FieldValueForbidden", "fieldPath": ".name"},
                {"rule": "self.?size.orValue(0) != 7", "messageExpression": "'seven of ' + (has(self.name) ? self.name : 'none')"},
                {"rule": "!has(self.list) || self.list[0] != 'x'"},
                {"rule": "!has(self.number) || 10 / self.number > 0"},
                {"rule": "!has(self.either) || self.either + 1 > 2"},
                {"rule": "has(self.gone) || !has(oldSelf.gone)", "message": "gone is required once set", "reason": "FieldValueRequired", "fieldPath": ".gone"},
            ],
            "properties": {
                "size": {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf", "message": "size cannot shrink"}]},
                "number": {"type": "integer"},
                "name": {"type": "string", "maxLength": 10},
                "gone": {"type": "string", "maxLength": 10},
                "either": {"x-kubernetes-int-or-string": true},
                "fixed": {"type": "string", "maxLength": 10, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]},
                "born": {"type": "string", "maxLength": 10, "x-kubernetes-validations": [
                    {"rule": "oldSelf.hasValue() || self == 'new'", "optionalOldSelf": true, "message": "is born new"}]},
                "list": {"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 5, "x-kubernetes-validations": [
                    {"rule": "self != 'no'", "reason": "FieldValueDuplicate"}]}},
                "map": {"type": "object", "maxProperties": 3, "additionalProperties": {"type": "integer", "x-kubernetes-validations": [
                    {"rule": "self > 0", "message": "not positive"}]}},
                "items": {"type": "array", "maxItems": 5, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"],
                    "items": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string", "maxLength": 5}, "n": {"type": "integer"}},
                        "x-kubernetes-validations": [{"rule": "!has(self.n) || !has(oldSelf.n) || self.n >= oldSelf.n", "message": "n cannot shrink"}]}},
                "tags": {"type": "array", "maxItems": 5, "x-kubernetes-list-type": "set", "items": {"type": "string", "maxLength": 5},
                    "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "tags are fixed"}]},
                "until": {"type": "string", "format": "date-time", "x-kubernetes-validations": [
                    {"rule": "self > timestamp('2024-01-01T00:00:00Z')", "message": "too early"}]},
            },
        }))
    };
    let patched = |spec: Value| merge_patch(ONE, json!({ "spec": spec }));
    vec![
        custom("crd/rules-on-create", definition()).compare_all([
            made(json!({"size": 9})),
            made(json!({"name": "bad"})),
            made(json!({"size": 7})),
            made(json!({"size": 9, "name": "bad"})),
            made(json!({"list": []})),
            made(json!({"list": ["x", "no"]})),
            made(json!({"number": 0})),
            made(json!({"either": "a"})),
            made(json!({"born": "old"})),
            made(json!({"born": "new"})),
            made(json!({"map": {"a": 1, "b/c": 0}})),
            made(json!({"until": "2023-01-01T00:00:00Z"})),
            made(json!({"size": "x", "name": "bad"})),
            made(json!({"size": 9, "fixed": "longer than ten"})),
        ]),
        custom("crd/rules-on-update", definition())
            .given(post(ALL, gear(json!({"size": 5, "fixed": "a", "born": "new", "gone": "g", "tags": ["a", "b"],
                "items": [{"id": "a", "n": 2}, {"id": "b", "n": 3}]}))))
            .compare(patched(json!({"size": 4})))
            .compare(patched(json!({"size": 6})))
            .compare(patched(json!({"fixed": "b"})))
            .compare(patched(json!({"fixed": null})))
            .compare(patched(json!({"fixed": "c"})))
            .compare(patched(json!({"gone": null})))
            .compare(patched(json!({"born": "older"})))
            .compare(patched(json!({"items": [{"id": "b", "n": 2}, {"id": "c", "n": 0}, {"id": "a", "n": 3}]})))
            .compare(patched(json!({"items": [{"id": "b", "n": 4}]})))
            .compare(patched(json!({"tags": ["b", "a"]})))
            .compare(patched(json!({"tags": ["b"]})))
            .compare(patched(json!({"size": null})))
            .compare(patched(json!({"size": 1})))
            .compare(get(ONE)),
        custom(
            "crd/rules-at-the-root",
            definition_of(json!([version("v1", true, json!({
                "type": "object",
                "x-kubernetes-validations": [
                    {"rule": "self.metadata.name.startsWith('a')", "message": "must begin with a"},
                    {"rule": "self.kind == 'Gear' && self.spec.size > 0"},
                ],
                "properties": {"spec": object(json!({"size": {"type": "integer"}}))},
            }))])),
        )
        .compare(post(ALL, json!({"apiVersion": "{ns}.ex.dev/v1", "kind": "Gear", "metadata": {"name": "b"}, "spec": {"size": 1}})))
        .compare(post(ALL, gear(json!({"size": 0}))))
        .compare(post(ALL, gear(json!({}))))
        .compare(post(ALL, json!({"apiVersion": "{ns}.ex.dev/v1", "kind": "Gear", "metadata": {"name": "a"}}))),
    ]
}

fn ratcheting() -> Vec<Case> {
    let loose = || {
        definition(object(json!({
            "size": {"type": "integer"}, "name": {"type": "string", "maxLength": 20}, "other": {"type": "string"},
            "list": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 20}},
        })))
    };
    let tight = definition(object(json!({
        "size": {"type": "integer", "maximum": 5},
        "name": {"type": "string", "maxLength": 20, "x-kubernetes-validations": [{"rule": "self != 'bad'", "message": "bad name"}]},
        "other": {"type": "string"},
        "list": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 20, "x-kubernetes-validations": [{"rule": "self != 'no'"}]}},
    })));
    let schema = tight.pointer("/spec/versions/0/schema").cloned().unwrap_or_default();
    let patched = |spec: Value| merge_patch(ONE, json!({ "spec": spec }));
    vec![
        custom("crd/ratcheting", loose())
            .given(post(ALL, gear(json!({"size": 9, "name": "bad"}))))
            .given(json_patch(CRD, json!([{"op": "replace", "path": "/spec/versions/0/schema", "value": schema}])))
            .until_status(post(ALL, json!({"apiVersion": "{ns}.ex.dev/v1", "kind": "Gear", "metadata": {"name": "probe"}, "spec": {"size": 9}})).dry_run(), 422)
            .compare(patched(json!({"other": "x"})))
            .compare(patched(json!({"size": 8})))
            .compare(patched(json!({"list": ["no", "yes"]})))
            .compare(patched(json!({"size": 3})))
            .compare(patched(json!({"size": 9})))
            // Last: for a while the real server goes on warning of the name it had.
            .compare(patched(json!({"name": "good"}))),
    ]
}
