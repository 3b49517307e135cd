//! Server-side apply of custom resources: every list and map type, versions, status and scale.

use serde_json::{Value, json};

use super::case::{Case, Request, apply, delete, get, merge_patch, post, put};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const ONE: &str = "/apis/{ns}.ex.dev/v1/namespaces/{ns}/widgets/a";
const NEWER: &str = "/apis/{ns}.ex.dev/v2/namespaces/{ns}/widgets/a";
const ALL: &str = "/apis/{ns}.ex.dev/v1/namespaces/{ns}/widgets";

fn definition() -> Value {
    let port = json!({"type": "object", "required": ["port"], "properties": {
        "port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}, "name": {"type": "string"}}});
    let condition = json!({"type": "object", "required": ["type"], "properties": {
        "type": {"type": "string"}, "status": {"type": "string"}}});
    let pair = json!({"a": {"type": "string"}, "b": {"type": "string"}});
    let spec = json!({"type": "object", "properties": {
        "replicas": {"type": "integer"},
        "size": {"type": "integer", "default": 3},
        "on": {"type": "boolean"},
        "name": {"type": "string"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "struct": {"type": "object", "properties": pair},
        "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": pair},
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "list": {"type": "array", "items": {"type": "string"}},
        "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"], "items": port},
        "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "free": {"x-kubernetes-preserve-unknown-fields": true},
        "mixed": {"x-kubernetes-int-or-string": true},
        "template": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
        "maybe": {"type": "string", "nullable": true},
    }});
    let status = json!({"type": "object", "properties": {
        "phase": {"type": "string"}, "replicas": {"type": "integer"},
        "conditions": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"], "items": condition}}});
    let schema = json!({"type": "object", "properties": {"spec": spec, "status": status}});
    let version = |name: &str, storage: bool| {
        json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": schema},
            "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}}})
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.{ns}.ex.dev"},
        "spec": {
            "group": "{ns}.ex.dev", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [version("v1", true), version("v2", false)],
        },
    })
}

/// A case that starts with the definition in place.
fn custom(name: &str) -> Case {
    Case::new(name)
        .given(post(CRDS, definition()))
        .until_status(get(ALL), 200)
        .until_status(get("/apis/{ns}.ex.dev/v2/namespaces/{ns}/widgets"), 200)
        .finally(delete(&format!("{CRDS}/widgets.{{ns}}.ex.dev")))
}

fn body(version: &str, rest: Value) -> Value {
    let mut body = json!({"apiVersion": format!("{{ns}}.ex.dev/{version}"), "kind": "Widget", "metadata": {"name": "a"}});
    if let (Value::Object(rest), Some(body)) = (rest, body.as_object_mut()) {
        body.extend(rest);
    }
    body
}

fn part(spec: Value) -> Value {
    Value::Object([("spec".to_owned(), spec)].into_iter().collect())
}

fn widget(manager: &str, spec: Value) -> Request {
    apply(ONE, manager, body("v1", part(spec)))
}

fn newer(manager: &str, spec: Value) -> Request {
    apply(NEWER, manager, body("v2", part(spec)))
}

/// Cases of server-side apply on a custom resource.
pub fn cases() -> Vec<Case> {
    vec![
        custom("apply/custom-every-type")
            .compare(widget("m1", json!({"name": "a", "labels": {"k": "v"}, "whole": {"a": "1"}, "tags": ["x", "y"], "list": ["1"],
                "ports": [{"port": 80}, {"port": 80, "protocol": "UDP"}], "any": {"deep": {"er": 1}, "l": [1]}, "free": 5, "mixed": "5%",
                "template": {"apiVersion": "v1", "kind": "X", "metadata": {"labels": {"a": "b"}, "finalizers": ["q/w"]}, "spec": {"z": 1}},
                "maybe": null, "struct": {"a": "1"}})))
            .compare(widget("m1", json!({"name": "a", "labels": {"j": "v"}, "whole": {"b": "1"}, "tags": ["z", "y"], "list": ["1", "2"],
                "ports": [{"port": 81}, {"port": 80, "protocol": "UDP"}], "any": {"deep": {"er": 2}, "m": {"n": 1}}, "free": {"a": 1}, "mixed": 7,
                "struct": {"b": "1"}})))
            .compare(widget("m2", json!({"name": "b", "whole": {"b": "2"}, "list": ["1", "3"], "any": {"deep": {"er": 3}}, "free": {"a": 2},
                "mixed": 8, "tags": ["z", "q"]})))
            .compare(widget("m2", json!({"tags": ["z", "q"], "labels": {"j": "v", "p": "1"}})))
            .compare(widget("m1", json!({"name": "a"})))
            .compare(get(ONE)),
        custom("apply/custom-wrong-types").compare_all([
            widget("m1", json!({"bogus": 1})),
            widget("m1", json!({"size": "x"})),
            widget("m1", json!({"on": "x"})),
            widget("m1", json!({"mixed": {"a": 1}})),
            widget("m1", json!({"ports": [{"name": "x"}]})),
            widget("m1", json!({"tags": ["a", "a"]})),
            widget("m1", json!({"ports": [{"port": 1}, {"port": 1, "protocol": "TCP"}]})),
            widget("m1", json!({"struct": "x"})),
            apply(ONE, "m1", body("v1", json!({"top": 1}))),
            apply(ONE, "m1", body("v2", json!({"spec": {}}))),
            apply(ONE, "m1", json!({"apiVersion": "{ns}.ex.dev/v1", "kind": "Gadget", "metadata": {"name": "a"}})),
        ]),
        custom("apply/custom-created-and-updated")
            .compare(post(ALL, body("v1", json!({"spec": {"name": "a", "labels": {"k": "v"}, "tags": ["x"], "ports": [{"port": 80}],
                "any": {"deep": {"er": 1}}, "template": {"apiVersion": "v1", "kind": "X", "metadata": {"labels": {"a": "b"}}}}, "status": {"phase": "x"}}))).manager("maker").named("a"))
            .compare(put(ONE, json!({"apiVersion": "{ns}.ex.dev/v1", "kind": "Widget", "metadata": {"name": "a", "resourceVersion": "{rv:a}"},
                "spec": {"name": "b", "labels": {}, "tags": ["y"]}})).manager("put"))
            .compare(merge_patch(ONE, json!({"spec": {"labels": {"u": "1"}, "ports": [{"port": 1}], "any": {"q": {"w": 1}}}})).manager("patch"))
            .compare(widget("m1", json!({"labels": {"u": "2"}, "ports": [{"port": 1, "name": "x"}]})))
            .compare(widget("m1", json!({"ports": [{"port": 1, "name": "x"}]})))
            .compare(widget("m1", json!({}))),
        custom("apply/custom-versions")
            .given(widget("m1", json!({"name": "a", "on": true})))
            .compare(newer("m1", json!({"name": "b"})))
            .compare(merge_patch(NEWER, json!({"spec": {"size": 5}})).manager("patch"))
            .compare(merge_patch(ONE, json!({"spec": {"on": false}})).manager("patch"))
            .compare(widget("m2", json!({"size": 6, "on": true})).causes_in_any_order())
            .compare(widget("m1", json!({"size": 5})))
            .compare(get(NEWER)),
        custom("apply/custom-status")
            .given(widget("m1", json!({"name": "a"})))
            .compare(apply(&format!("{ONE}/status"), "stat", body("v1", json!({"spec": {"name": "z"},
                "status": {"phase": "x", "conditions": [{"type": "A", "status": "True"}]}}))))
            .compare(apply(ONE, "m2", body("v1", json!({"spec": {"on": true}, "status": {"phase": "y"}}))))
            .compare(apply(&format!("{ONE}/status"), "other", body("v1", json!({"status": {"phase": "y", "conditions": [{"type": "B", "status": "True"}]}}))))
            .compare(apply(&format!("{ONE}/status"), "other", body("v1", json!({"status": {"conditions": [{"type": "B", "status": "True"}]}}))))
            .compare(merge_patch(&format!("{ONE}/status"), json!({"status": {"phase": "z"}, "spec": {"name": "q"}, "metadata": {"labels": {"a": "b"}}})).manager("patch"))
            .compare(apply(&format!("{ONE}/status"), "stat", body("v1", json!({"status": {}}))))
            .compare(apply(&format!("{ONE}/status"), "stat", body("v1", json!({})))),
        custom("apply/custom-scale")
            .given(widget("m1", json!({"name": "a", "replicas": 1})))
            .compare(apply(&format!("{ONE}/scale"), "hpa", json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 2}})))
            .compare(apply(&format!("{ONE}/scale"), "hpa", json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 2}})).force())
            .compare(get(ONE))
            .compare(widget("m1", json!({"name": "a", "replicas": 1})))
            .compare(widget("m1", json!({"name": "a"})))
            .compare(merge_patch(&format!("{ONE}/scale"), json!({"spec": {"replicas": 3}})).manager("patch"))
            .compare(get(ONE))
            .compare(merge_patch(&format!("{ONE}/scale"), json!({"spec": {"replicas": 4}})).manager("patch"))
            .compare(get(ONE)),
        custom("apply/custom-scale-moves-ownership")
            .given(widget("m1", json!({"name": "a", "replicas": 1})))
            .compare(merge_patch(&format!("{ONE}/scale"), json!({"spec": {"replicas": 2}})).manager("patch"))
            .compare(get(ONE))
            .compare(merge_patch(&format!("{ONE}/scale"), json!({"spec": {"replicas": 3}})).manager("patch"))
            .compare(apply(&format!("{ONE}/scale"), "hpa", json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 3}})))
            .compare(get(ONE))
            .compare(widget("m1", json!({"name": "a", "replicas": 5})).causes_in_any_order())
            .compare(widget("m1", json!({"name": "a", "replicas": 5})).force()),
        custom("apply/custom-order-of-a-set")
            .given(widget("m1", json!({"tags": ["a", "b", "c", "d"]})))
            .compare(widget("m2", json!({"tags": ["x", "c", "y", "a"]})))
            .compare(widget("m3", json!({"tags": ["d", "b", "e"]})))
            .compare(widget("m1", json!({"tags": ["c"]})))
            .compare(widget("m2", json!({"tags": ["a", "y"]}))),
        custom("apply/custom-before-first-apply")
            .given(post(ALL, body("v1", json!({"spec": {"name": "a", "tags": ["x"]}}))).manager("maker"))
            .given(merge_patch(ONE, json!({"metadata": {"managedFields": []}})).manager("patch"))
            .compare(widget("m1", json!({"name": "b"})))
            .compare(widget("m1", json!({"name": "a"})))
            .compare(widget("m1", json!({"tags": ["y"]}))),
        custom("apply/custom-nulls-and-emptied-maps")
            .given(widget("m1", json!({"labels": {"a": "1"}, "struct": {"a": "1"}, "maybe": "x"})))
            .given(merge_patch(ONE, json!({"spec": {"labels": {"b": "1"}, "struct": {"b": "1"}}})).manager("patch"))
            .compare(merge_patch(ONE, json!({"spec": {"labels": {"b": null}, "struct": {"b": null}}})).manager("patch"))
            .compare(widget("m1", json!({"maybe": null})))
            .compare(widget("m1", json!({"name": null, "size": null})))
            .compare(widget("m1", json!({}))),
        custom("apply/custom-dry-run-and-create-in-another-version")
            .compare(newer("m1", json!({"name": "a"})).dry_run())
            .compare(newer("m1", json!({"name": "a"})))
            .compare(get(ONE)),
    ]
}
