//! Custom resource definitions: what they may say, and what they do to objects.

use serde_json::{Value, json};

use super::case::{Case, Request, delete, get, json_patch, merge_patch, post};
use super::crd_objects;

pub(super) const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub(super) const CRD: &str =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gears.{ns}.ex.dev";
pub(super) const ALL: &str = "/apis/{ns}.ex.dev/v1/namespaces/{ns}/gears";
pub(super) const ONE: &str = "/apis/{ns}.ex.dev/v1/namespaces/{ns}/gears/a";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

pub(super) fn version(name: &str, storage: bool, schema: Value) -> Value {
    json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": schema}})
}

pub(super) fn definition_of(versions: Value) -> Value {
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
pub(super) fn definition(spec: Value) -> Value {
    definition_of(json!([version(
        "v1",
        true,
        json!({"type": "object", "properties": {"spec": spec}})
    )]))
}

pub(super) fn object(properties: Value) -> Value {
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
pub(super) fn custom(name: &str, definition: Value) -> Case {
    Case::new(name).given(post(CRDS, definition)).until_status(get(ALL), 200).finally(delete(CRD))
}

pub(super) fn gear(spec: Value) -> Value {
    json!({"apiVersion": "{ns}.ex.dev/v1", "kind": "Gear", "metadata": {"name": "a"}, "spec": spec})
}

pub(super) fn made(spec: Value) -> Request {
    post(ALL, gear(spec)).dry_run()
}

/// Cases of custom resource definitions and of the objects they define.
pub fn cases() -> Vec<Case> {
    let mut cases = definitions();
    cases.extend(schemas());
    cases.extend(rules_at_definition());
    cases.extend(life());
    cases.extend(crd_objects::cases());
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
            // The hash is made of the group's name, which is another one in each run.
            .compare(get("/apis/{ns}.ex.dev/v2").ignoring("/resources/*/storageVersionHash"))
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
