//! Custom resource definitions: what they may say, and what they do to objects.

use serde_json::{Value, json};

use super::case::{Case, Request, apply, delete, get, json_patch, merge_patch, post, put};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const CRD: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gears.{ns}.ex.dev";
const ALL: &str = "/apis/{ns}.ex.dev/v1/namespaces/{ns}/gears";
const ONE: &str = "/apis/{ns}.ex.dev/v1/namespaces/{ns}/gears/a";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

fn version(name: &str, storage: bool, schema: Value) -> Value {
    json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": schema}})
}

fn definition_of(versions: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gears.{ns}.ex.dev"},
        "spec": {
            "group": "{ns}.ex.dev", "scope": "Namespaced",
            "names": {"plural": "gears", "singular": "gear", "kind": "Gear", "listKind": "GearList"},
            "versions": versions,
        },
    })
}

/// A definition with one version and this schema of `spec`.
fn definition(spec: Value) -> Value {
    definition_of(json!([version(
        "v1",
        true,
        json!({"type": "object", "properties": {"spec": spec}})
    )]))
}

fn object(properties: Value) -> Value {
    json!({"type": "object", "properties": properties})
}

/// A definition changed at one JSON pointer.
fn changed(mut definition: Value, pointer: &str, value: Value) -> Value {
    let (parent, name) = pointer.rsplit_once('/').unwrap_or(("", pointer));
    if let Some(holder) = definition.pointer_mut(parent) {
        match holder {
            Value::Object(map) if value.is_null() => drop(map.remove(name)),
            other => other[name] = value,
        }
    }
    definition
}

fn tried(definition: Value) -> Request {
    post(CRDS, definition).dry_run()
}

/// A definition whose `spec.x` has this schema.
fn with_x(schema: Value) -> Request {
    tried(definition(object(json!({ "x": schema }))))
}

/// A case that starts with a definition in place.
fn custom(name: &str, definition: Value) -> Case {
    Case::new(name).given(post(CRDS, definition)).until_status(get(ALL), 200).finally(delete(CRD))
}

fn gear(spec: Value) -> Value {
    json!({"apiVersion": "{ns}.ex.dev/v1", "kind": "Gear", "metadata": {"name": "a"}, "spec": spec})
}

fn made(spec: Value) -> Request {
    post(ALL, gear(spec)).dry_run()
}

/// Cases of custom resource definitions and of the objects they define.
pub fn cases() -> Vec<Case> {
    let mut cases = definitions();
    cases.extend(schemas());
    cases.extend(rules_at_definition());
    cases.extend(life());
    cases.extend(values());
    cases.extend(shaping());
    cases.extend(rules());
    cases.extend(ratcheting());
    cases.extend(versions());
    cases.extend(subresources());
    cases
}

fn definitions() -> Vec<Case> {
    let good = || definition(object(json!({"size": {"type": "integer"}})));
    vec![
        Case::new("crd/definition-names").compare_all([
            tried(changed(good(), "/metadata/name", json!("other.{ns}.ex.dev"))),
            tried(changed(good(), "/spec/group", json!("nodot"))),
            tried(changed(good(), "/spec/group", json!("Bad.group"))),
            tried(changed(good(), "/spec/scope", json!("Galaxy"))),
            tried(changed(good(), "/spec/names/kind", json!("gear_1"))),
            tried(changed(good(), "/spec/names/listKind", json!("Gear"))),
            tried(changed(good(), "/spec/names/shortNames", json!(["ok", "Not"]))),
            tried(changed(good(), "/spec/names/categories", json!(["All"]))),
            tried(changed(good(), "/spec/names/plural", json!("1gears"))),
            tried(changed(good(), "/spec/group", json!("{ns}.k8s.io"))),
        ]),
        Case::new("crd/definition-versions").compare_all([
            tried(changed(good(), "/spec/versions/0/storage", json!(false))),
            tried(changed(good(), "/spec/versions/0/name", json!("V1"))),
            tried(changed(good(), "/spec/versions/0/schema", Value::Null)),
            tried(changed(good(), "/spec/versions/0/deprecationWarning", json!("old"))),
            tried(changed(good(), "/spec/versions", json!([]))),
            tried(definition_of(json!([
                version("v1", true, object(json!({}))), version("v1", false, object(json!({}))),
            ]))),
            tried(definition_of(json!([
                version("v1", true, object(json!({}))), version("v2", true, object(json!({}))),
            ]))),
            tried(definition_of(json!([
                version("v1", true, object(json!({"a": {}}))), version("v2", false, object(json!({"b": {}}))),
            ]))),
            tried(changed(good(), "/spec/preserveUnknownFields", json!(true))),
        ]),
        Case::new("crd/definition-parts").compare_all([
            tried(changed(good(), "/spec/versions/0/additionalPrinterColumns", json!([
                {"name": "A", "type": "strange", "jsonPath": ".spec.a"},
                {"name": "B", "type": "string", "jsonPath": "spec.b"},
                {"name": "C", "type": "string", "format": "wrong", "jsonPath": ".spec.c"},
            ]))),
            tried(changed(good(), "/spec/versions/0/subresources", json!({"scale": {
                "specReplicasPath": ".status.replicas", "statusReplicasPath": "status", "labelSelectorPath": ".metadata.x"}}))),
            tried(changed(good(), "/spec/versions/0/selectableFields", json!([
                {"jsonPath": ".spec.size"}, {"jsonPath": ".spec.size"}, {"jsonPath": ".spec.none"}, {"jsonPath": ".spec"},
            ]))),
            tried(changed(good(), "/spec/conversion", json!({"strategy": "Webhook"}))),
            tried(changed(good(), "/spec/conversion", json!({"strategy": "Magic"}))),
        ]),
        Case::new("crd/definition-made")
            .compare(post(CRDS, good()))
            .until_at(get(CRD), "/status/conditions/1/status", json!("True"))
            .compare(get(CRD))
            .compare(post(CRDS, good()))
            .compare(merge_patch(CRD, json!({"spec": {"scope": "Cluster"}})))
            .compare(merge_patch(CRD, json!({"spec": {"group": "other.ex.dev"}})))
            .compare(merge_patch(CRD, json!({"spec": {"names": {"kind": "Wheel", "plural": "wheels"}}})))
            .compare(merge_patch(CRD, json!({"spec": {"names": {"shortNames": ["gg"]}}})))
            .finally(delete(CRD)),
    ]
}

fn schemas() -> Vec<Case> {
    let root = |schema: Value| tried(definition_of(json!([version("v1", true, schema)])));
    vec![
        Case::new("crd/schema-structure").compare_all([
            with_x(json!({})),
            with_x(json!({"type": "array"})),
            with_x(json!({"type": "array", "items": {}})),
            with_x(json!({"type": "text"})),
            with_x(json!({"type": "null"})),
            with_x(json!({"type": "string", "pattern": "["})),
            with_x(json!({"type": "array", "uniqueItems": true, "items": {"type": "string"}})),
            with_x(json!({"type": "string", "anyOf": [{"type": "string"}, {"minLength": 1, "description": "d"}]})),
            with_x(json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}})),
            with_x(json!({"x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true})),
            with_x(json!({"type": "string", "x-kubernetes-embedded-resource": true})),
            with_x(json!({"type": "object", "x-kubernetes-embedded-resource": true})),
            with_x(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": false})),
        ]),
        Case::new("crd/schema-root").compare_all([
            root(json!({"type": "string"})),
            root(json!({"type": "object", "nullable": true})),
            root(json!({"type": "object", "additionalProperties": {"type": "string"}})),
            root(json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}})),
            root(json!({"type": "object", "properties": {"kind": {"type": "integer"}}})),
            root(json!({"type": "object", "properties": {"spec": {"type": "object"}}, "anyOf": [{"properties": {"other": {"minLength": 1}}}]})),
        ]),
        Case::new("crd/schema-lists").compare_all([
            with_x(json!({"type": "object", "x-kubernetes-map-type": "strange"})),
            with_x(json!({"type": "string", "x-kubernetes-list-type": "set"})),
            with_x(json!({"type": "array", "x-kubernetes-list-type": "heap", "items": {"type": "string"}})),
            with_x(json!({"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "string"}})),
            with_x(json!({"type": "array", "x-kubernetes-list-map-keys": ["a"], "items": {"type": "object", "properties": {"a": {"type": "string"}}}})),
            with_x(json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"],
                "items": {"type": "object", "properties": {"a": {"type": "string"}}}})),
            with_x(json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object", "nullable": true}})),
        ]),
        Case::new("crd/schema-defaults").compare_all([
            with_x(json!({"type": "integer", "default": "a"})),
            with_x(json!({"type": "integer", "minimum": 3, "default": 1})),
            with_x(json!({"type": "object", "default": {"z": 1}, "properties": {"a": {"type": "integer"}}})),
            with_x(json!({"type": "string", "enum": ["a"], "default": "b"})),
            with_x(json!({"type": "object", "additionalProperties": {"type": "string", "default": "b"}})),
            with_x(json!({"type": "integer", "default": 1, "x-kubernetes-validations": [{"rule": "self > 1", "message": "more"}]})),
            root(json!({"type": "object", "properties": {"kind": {"type": "string", "default": "Gear"}}})),
        ]),
    ]
}

fn rules_at_definition() -> Vec<Case> {
    let rule = |rule: &str| {
        with_x(
            json!({"type": "string", "maxLength": 9, "x-kubernetes-validations": [{"rule": rule}]}),
        )
    };
    let whole = |rule: Value| {
        with_x(json!({"type": "object", "x-kubernetes-validations": [rule], "properties": {
            "s": {"type": "string", "maxLength": 9}, "n": {"type": "integer"}, "namespace": {"type": "string", "maxLength": 9},
            "l": {"type": "array", "maxItems": 9, "items": {"type": "string", "maxLength": 9}},
            "either": {"x-kubernetes-int-or-string": true},
            "time": {"type": "string", "format": "date-time"},
            "m": {"type": "object", "maxProperties": 9, "additionalProperties": {"type": "integer"}}}}))
    };
    let said = |text: &str| whole(json!({ "rule": text }));
    let costly = |rule: &str| {
        with_x(
            json!({"type": "object", "x-kubernetes-validations": [{"rule": rule}], "properties": {
            "free": {"type": "array", "items": {"type": "string"}},
            "bound": {"type": "array", "maxItems": 50, "items": {"type": "string", "maxLength": 300}},
            "text": {"type": "string"},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
            "numbers": {"type": "array", "items": {"type": "integer"}},
            "objects": {"type": "array", "items": {"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string"}, "size": {"type": "integer"}}}},
            "either": {"x-kubernetes-int-or-string": true},
            "inner": {"type": "object", "properties": {"items": {"type": "array", "maxItems": 1000, "items": {"type": "object", "properties": {
                "list": {"type": "array", "maxItems": 1000, "items": {"type": "string", "maxLength": 100}}}}}}}}}),
        )
    };
    vec![
        Case::new("crd/rule-does-not-compile").compare_all([
            rule("self.foo"),
            rule("slef == 'a'"),
            rule("self"),
            rule("self =="),
            rule("self == 1"),
            rule("self.startsWith(1)"),
            rule("self.nothing()"),
            rule("(self == 'a'"),
            rule("self == 'a' 'b'"),
            rule("self = 'a'"),
            rule(""),
            rule("self.matches('[')"),
            said("self.n + self.s == 'a'"),
            said("self.zz == 1"),
            said("self.l.all(x, x)"),
            said("self.l.map(x, x + 1).size() > 0"),
            said("has(self.zz) ||\n self.yy == 1"),
            said("self.s.all(c, c == 'a')"),
            said("self.time > 'a'"),
            said("[1, 'a'].size() == 2"),
            said("self.namespace == 'a'"),
            said("self.m.all(k, v, v == 'a')"),
        ]),
        Case::new("crd/rule-words").compare_all([
            whole(json!({"rule": "self.n > 1", "message": " "})),
            whole(json!({"rule": "self.n > 1", "message": "a\nb"})),
            whole(json!({"rule": "self.n >\n 1"})),
            whole(json!({"rule": "self.n > 1", "messageExpression": "self.n"})),
            whole(json!({"rule": "self.n > 1", "messageExpression": "self.zz"})),
            whole(json!({"rule": "self.n > 1", "reason": "Because"})),
            whole(json!({"rule": "self.n > 1", "fieldPath": ".zz"})),
            whole(json!({"rule": "self.n > 1", "optionalOldSelf": true})),
            whole(json!({"rule": "oldSelf.hasValue() || self.n > 1", "optionalOldSelf": true})),
            with_x(json!({"type": "array", "maxItems": 3, "items": {"type": "integer",
                "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}})),
        ]),
        Case::new("crd/rule-cost").compare_all([
            costly("self.free.all(x, x == 'a')"),
            costly("self.free.all(x, self.free.all(y, x != y))"),
            costly("self.bound.all(x, self.bound.exists(y, x.contains(y)))"),
            costly("self.text == self.text"),
            costly("self.text.contains(self.text)"),
            costly("self.text.matches('^[a-z]+$')"),
            costly("self.map.all(k, k.startsWith('a') && self.map[k] == 'b')"),
            costly("self.free.map(x, x.size()).sum() < 5"),
            costly("self.free.filter(x, x.startsWith('a')).size() > 1 && self.free.exists_one(x, x == 'b')"),
            costly("self.free.all(x, x in self.bound)"),
            costly("self.free.all(x, x.matches('a+') && x.lowerAscii() == x && x + 'a' != 'b')"),
            costly("self.numbers.all(n, self.numbers.all(m, n + m < 10))"),
            costly("self.objects.all(o, o.name != '' && (!has(o.size) || o.size > 1))"),
            costly("self.objects.all(o, self.objects.exists_one(p, p.name == o.name))"),
            costly("self.free.isSorted() && self.free.indexOf('a') == 0 && self.text.indexOf('b') == 1"),
            costly("self.text.split(',').all(x, x.trim() == x.replace('a', 'b'))"),
            costly("self.either == 1 || self.either == 'a'"),
            costly("self.inner.items.all(x, x.list.all(y, y == 'a'))"),
            costly("self == oldSelf && self.free == oldSelf.free"),
            with_x(json!({"type": "array", "items": {"type": "string", "x-kubernetes-validations": [{"rule": "self.matches('^[a-z]+$')"}]}})),
            with_x(json!({"type": "array", "maxItems": 100, "items": {"type": "string", "maxLength": 1000,
                "x-kubernetes-validations": [{"rule": "self.matches('^[a-z]+[0-9]*$') && self.contains('abc')"}]}})),
            with_x(json!({"type": "object", "additionalProperties": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 1"}]}})),
        ]),
        Case::new("crd/rule-compiles").compare_all([
            said("self.__namespace__ == 'a'"),
            said("type(self.either) == int ? self.either > 1 : self.either.endsWith('%')"),
            said("self.?s.orValue('a') == 'a' && self.l.exists(x, x == 'a') && self.m.all(k, self.m[k] > 0)"),
            said("self.l.isSorted() && self.l.indexOf('a') >= 0 && sets.contains(self.l, ['a'])"),
            said("url(self.s).getHost() == 'a' && ip(self.s).family() == 4 && cidr(self.s).containsIP('10.0.0.1')"),
            said("quantity(self.s).isGreaterThan(quantity('1Gi')) && semver(self.s).major() == 1"),
            said("!format.dns1123Label().validate(self.s).hasValue() && self.s.find('[a-z]+') == ''"),
            said("self.time > timestamp('2024-01-01T00:00:00Z') && duration('1h') > duration('1m')"),
            said("'%s-%d'.format([self.s, self.n]) == 'a-1'"),
            whole(json!({"rule": "self.n > 1", "messageExpression": "'n is ' + string(self.n)"})),
            whole(json!({"rule": "self.n > 1", "messageExpression": "'s is ' + self.s", "reason": "FieldValueForbidden", "fieldPath": ".n"})),
        ]),
    ]
}

fn life() -> Vec<Case> {
    let good = || definition(object(json!({"size": {"type": "integer"}})));
    let rival = |kind: &str| {
        let mut other = good();
        other["metadata"]["name"] = json!("rivals.{ns}.ex.dev");
        other["spec"]["names"] = json!({"plural": "rivals", "kind": kind});
        other
    };
    let rivals = format!("{CRDS}/rivals.{{ns}}.ex.dev");
    vec![
        custom("crd/names-in-use", good())
            .given(post(CRDS, rival("Gear")))
            .until(get(&rivals), |answer| answer.at("/status/conditions/1/reason").is_some())
            .compare(get(&rivals))
            .compare(get("/apis/{ns}.ex.dev/v1/namespaces/{ns}/rivals"))
            .finally(delete(&rivals)),
        custom("crd/deleted-with-objects", good())
            .given(post(ALL, json!({"apiVersion": "{ns}.ex.dev/v1", "kind": "Gear",
                "metadata": {"name": "held", "finalizers": ["ex.dev/hold"]}, "spec": {"size": 1}})))
            .given(post(ALL, gear(json!({"size": 1}))))
            .compare(delete(CRD))
            .until_status(get(ONE), 404)
            .until(get(&format!("{ALL}/held")), |answer| answer.at("/metadata/deletionTimestamp").is_some())
            .compare(post(ALL, json!({"apiVersion": "{ns}.ex.dev/v1", "kind": "Gear", "metadata": {"name": "late"}})))
            .compare(get(&format!("{ALL}/held")))
            .compare(merge_patch(&format!("{ALL}/held"), json!({"metadata": {"finalizers": null}})))
            .until_status(get(CRD), 404)
            .compare(get(CRD))
            .compare(get(ALL)),
    ]
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
            .compare(patched(json!({"name": "good"})))
            .compare(patched(json!({"list": ["no", "yes"]})))
            .compare(patched(json!({"size": 3})))
            .compare(patched(json!({"size": 9}))),
    ]
}

fn versions() -> Vec<Case> {
    let spec = |name: &str| json!({"type": "object", "properties": {"spec": object(json!({name: {"type": "string"}, "both": {"type": "string"}}))}});
    let definition = move || {
        definition_of(json!([version("v1", true, spec("one")), version("v2", false, spec("two"))]))
    };
    let newer = "/apis/{ns}.ex.dev/v2/namespaces/{ns}/gears/a";
    let switched = |first: bool| {
        json_patch(
            CRD,
            json!([
                {"op": "replace", "path": "/spec/versions/0/storage", "value": first},
                {"op": "replace", "path": "/spec/versions/1/storage", "value": !first},
            ]),
        )
    };
    vec![
        custom("crd/versions-of-an-object", definition())
            .until_status(get("/apis/{ns}.ex.dev/v2/namespaces/{ns}/gears"), 200)
            .compare(post(ALL, gear(json!({"one": "1", "both": "b"}))))
            .compare(get(newer))
            .compare(merge_patch(newer, json!({"spec": {"two": "2"}})))
            .compare(get(ONE))
            .compare(get("/apis/{ns}.ex.dev/v2/namespaces/{ns}/gears"))
            .compare(post(
                ALL,
                json!({"apiVersion": "{ns}.ex.dev/v2", "kind": "Gear", "metadata": {"name": "b"}}),
            )),
        custom("crd/versions-of-a-definition", definition())
            .until_status(get("/apis/{ns}.ex.dev/v2/namespaces/{ns}/gears"), 200)
            .compare(get("/apis/{ns}.ex.dev"))
            .compare(get("/apis/{ns}.ex.dev/v2"))
            .compare(switched(false))
            .compare(json_patch(CRD, json!([{"op": "remove", "path": "/spec/versions/0"}])))
            .compare(merge_patch(
                &format!("{CRD}/status"),
                json!({"status": {"storedVersions": ["v2"]}}),
            ))
            .compare(json_patch(CRD, json!([{"op": "remove", "path": "/spec/versions/0"}])))
            .until_status(get(ALL), 404)
            .compare(get(ALL)),
        custom("crd/version-not-served", definition())
            .given(json_patch(
                CRD,
                json!([{"op": "replace", "path": "/spec/versions/1/served", "value": false}]),
            ))
            .until_status(get("/apis/{ns}.ex.dev/v2/namespaces/{ns}/gears"), 404)
            .until(get("/apis/{ns}.ex.dev"), |answer| {
                answer.at("/versions/1").is_none() && answer.status == 200
            })
            .compare(get("/apis/{ns}.ex.dev/v2/namespaces/{ns}/gears"))
            .compare(get("/apis/{ns}.ex.dev")),
    ]
}

fn subresources() -> Vec<Case> {
    let full = || {
        let mut definition = definition_of(json!([version(
            "v1",
            true,
            json!({
                "type": "object",
                "properties": {
                    "spec": object(json!({"replicas": {"type": "integer"}, "color": {"type": "string"}, "big": {"type": "boolean"}, "at": {"type": "string", "format": "date-time"},
                        "list": {"type": "array", "items": {"type": "string"}}})),
                    "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}, "phase": {"type": "string", "enum": ["A", "B"]},
                        "conditions": {"type": "array", "items": object(json!({"type": {"type": "string"}, "status": {"type": "string"}}))}}},
                },
            })
        )]));
        definition["spec"]["versions"][0]["subresources"] = json!({"status": {}, "scale": {
            "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}});
        definition["spec"]["versions"][0]["selectableFields"] =
            json!([{"jsonPath": ".spec.color"}, {"jsonPath": ".spec.big"}]);
        definition["spec"]["versions"][0]["additionalPrinterColumns"] = json!([
            {"name": "Color", "type": "string", "jsonPath": ".spec.color"},
            {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas", "description": "How many", "priority": 1},
            {"name": "Big", "type": "boolean", "jsonPath": ".spec.big"},
            {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"},
            {"name": "List", "type": "string", "jsonPath": ".spec.list"},
        ]);
        definition
    };
    let status = format!("{ONE}/status");
    let scale = format!("{ONE}/scale");
    vec![
        custom("crd/status-and-scale", full())
            .compare(post(ALL, json!({"apiVersion": "{ns}.ex.dev/v1", "kind": "Gear", "metadata": {"name": "a"},
                "spec": {"replicas": 2}, "status": {"phase": "A"}})))
            .compare(merge_patch(&status, json!({"metadata": {"labels": {"a": "b"}}, "spec": {"replicas": 5}, "status": {"phase": "B", "replicas": 1, "selector": "app=x"}})))
            .compare(merge_patch(&status, json!({"status": {"phase": "C"}})))
            .compare(merge_patch(&status, json!({"status": {"replicas": -1}})))
            .compare(merge_patch(ONE, json!({"status": {"phase": "A"}})))
            .compare(merge_patch(ONE, json!({"spec": {"replicas": -1}})))
            .compare(get(&scale))
            .compare(merge_patch(&scale, json!({"spec": {"replicas": 4}})))
            .compare(merge_patch(&scale, json!({"spec": {"replicas": -4}})))
            .compare(get(ONE)),
        custom("crd/no-subresources", definition(object(json!({"size": {"type": "integer"}}))))
            .compare(post(ALL, json!({"apiVersion": "{ns}.ex.dev/v1", "kind": "Gear", "metadata": {"name": "a"}, "spec": {"size": 1}})))
            .compare(get(&status))
            .compare(get(&scale)),
        custom("crd/columns", full())
            .given(post(ALL, json!({"apiVersion": "{ns}.ex.dev/v1", "kind": "Gear", "metadata": {"name": "a"},
                "spec": {"replicas": 2, "color": "red", "big": true, "list": ["x", "y"]}})))
            .given(merge_patch(&status, json!({"status": {"conditions": [{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]}})))
            .given(post(ALL, json!({"apiVersion": "{ns}.ex.dev/v1", "kind": "Gear", "metadata": {"name": "b"}, "spec": {}})))
            .compare(get(ALL).accept(TABLE))
            .compare(get(ONE).accept(TABLE)),
        custom("crd/columns-by-default", definition(object(json!({"size": {"type": "integer"}}))))
            .compare(get(ALL).accept(TABLE)),
        custom("crd/selectable-fields", full())
            .given(post(ALL, json!({"apiVersion": "{ns}.ex.dev/v1", "kind": "Gear", "metadata": {"name": "a"}, "spec": {"color": "red", "big": true}})))
            .given(post(ALL, json!({"apiVersion": "{ns}.ex.dev/v1", "kind": "Gear", "metadata": {"name": "b"}, "spec": {"color": "blue"}})))
            .compare(get(ALL).query("fieldSelector", "spec.color=red"))
            .compare(get(ALL).query("fieldSelector", "spec.color!=red"))
            .compare(get(ALL).query("fieldSelector", "spec.big=true"))
            .compare(get(ALL).query("fieldSelector", "spec.big="))
            .compare(get(ALL).query("fieldSelector", "spec.replicas=1"))
            .compare(get(ALL).query("fieldSelector", "metadata.name=b")),
    ]
}
