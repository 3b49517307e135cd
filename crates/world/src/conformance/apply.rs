//! Server-side apply: ownership, conflicts, what is removed, what is refused.

use serde_json::{Value, json};

use super::case::{
    Case, Request, apply, get, json_patch, merge_patch, patch, post, put, strategic,
};

const ONE: &str = "/api/v1/namespaces/{ns}/configmaps/a";
const CONFIG_MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";
const SERVICE: &str = "/api/v1/namespaces/{ns}/services/a";
const TEMPLATE: &str = "/api/v1/namespaces/{ns}/podtemplates/a";
const TEMPLATES: &str = "/api/v1/namespaces/{ns}/podtemplates";
const INGRESS: &str = "/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses/a";
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/{ns}/deployments/a";
const ROLE: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles/a";

/// The body of an apply: a kind, the name `a`, and the rest.
fn of_kind(api_version: &str, kind: &str, rest: Value) -> Value {
    let mut body = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}});
    let Value::Object(rest) = rest else { return body };
    for (key, value) in rest {
        match value {
            Value::Object(metadata) if key == "metadata" => {
                for (key, value) in metadata {
                    body["metadata"][key] = value;
                }
            }
            value => body[key] = value,
        }
    }
    body
}

/// An object of one field.
fn part(name: &str, value: Value) -> Value {
    Value::Object([(name.to_owned(), value)].into_iter().collect())
}

fn config_map(rest: Value) -> Value {
    of_kind("v1", "ConfigMap", rest)
}

/// Applies data to the ConfigMap.
fn data(manager: &str, data: Value) -> Request {
    apply(ONE, manager, config_map(part("data", data)))
}

fn labels(manager: &str, labels: Value) -> Request {
    apply(ONE, manager, config_map(part("metadata", part("labels", labels))))
}

fn service(manager: &str, spec: Value) -> Request {
    apply(SERVICE, manager, of_kind("v1", "Service", part("spec", spec)))
}

fn template(manager: &str, spec: Value) -> Request {
    let template = part("template", part("spec", spec));
    apply(TEMPLATE, manager, of_kind("v1", "PodTemplate", template))
}

fn role(manager: &str, rules: Value) -> Request {
    apply(ROLE, manager, of_kind("rbac.authorization.k8s.io/v1", "Role", part("rules", rules)))
}

/// A paused deployment, of which its controller makes nothing.
fn deployment(manager: &str, replicas: u32) -> Request {
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"replicas": replicas, "paused": true, "selector": {"matchLabels": {"a": "b"}}, "template": template});
    apply(DEPLOYMENT, manager, of_kind("apps/v1", "Deployment", part("spec", spec)))
}

/// Applies a count to its scale. The controller's own writes may come between.
fn scale(manager: &str, replicas: u32) -> Request {
    let body = of_kind("autoscaling/v1", "Scale", json!({"spec": {"replicas": replicas}}));
    apply(&format!("{DEPLOYMENT}/scale"), manager, body).ignoring("/metadata/resourceVersion")
}

/// Cases of server-side apply.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    cases.extend(plain());
    cases.extend(conflicts());
    cases.extend(updates());
    cases.extend(lists());
    cases.extend(refusals());
    cases.extend(subresources());
    cases.extend(kubectl());
    cases.extend(super::apply_custom::cases());
    cases
}

fn plain() -> Vec<Case> {
    vec![
        Case::new("apply/create")
            .compare(data("m1", json!({"a": "1", "b": "2"})))
            .compare(get(ONE)),
        Case::new("apply/again-changes-nothing")
            .compare(data("m1", json!({"a": "1"})))
            .compare(data("m1", json!({"a": "1"})))
            .compare(data("m1", json!({"a": "1"})).force()),
        Case::new("apply/change-own-value")
            .given(data("m1", json!({"a": "1"})))
            .compare(data("m1", json!({"a": "2"}))),
        Case::new("apply/dropped-field-is-removed")
            .given(data("m1", json!({"a": "1", "b": "2"})))
            .compare(data("m1", json!({"a": "1"})))
            .compare(apply(ONE, "m1", config_map(json!({})))),
        Case::new("apply/dropped-field-of-two-owners-stays")
            .given(data("m1", json!({"a": "1", "b": "2"})))
            .compare(data("m2", json!({"b": "2"})))
            .compare(data("m1", json!({"a": "1"})))
            .compare(apply(ONE, "m2", config_map(json!({})))),
        Case::new("apply/same-value-is-shared-without-a-time")
            .given(data("m1", json!({"a": "1"})))
            .compare(data("m2", json!({"a": "1"})))
            .compare(data("m2", json!({"a": "1"}))),
        Case::new("apply/empty-map")
            .compare(data("m1", json!({})))
            .compare(data("m2", json!({"a": "1"})))
            .compare(apply(ONE, "m1", config_map(json!({}))))
            .compare(data("m2", json!({}))),
        Case::new("apply/only-a-name").compare(apply(ONE, "m1", config_map(json!({})))),
        Case::new("apply/labels-annotations-finalizers-owners")
            .given(post(CONFIG_MAPS, json!({"metadata": {"name": "o"}})).named("o"))
            .compare(apply(ONE, "m1", config_map(json!({"metadata": {
                "labels": {"a": "1", "b.c/d": "2"}, "annotations": {"x": "y"}, "finalizers": ["a.b/c", "d.e/f"],
                "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "{uid:o}"}],
            }}))))
            .compare(apply(ONE, "m2", config_map(json!({"metadata": {"finalizers": ["g.h/i", "a.b/c"]}}))))
            .compare(apply(ONE, "m1", config_map(json!({"metadata": {"labels": {"a": "1"}}}))))
            .compare(apply(ONE, "m2", config_map(json!({})))),
        Case::new("apply/null-values")
            .compare(data("m1", json!({"a": null, "b": "1"})))
            .compare(apply(ONE, "m1", config_map(json!({"data": null, "metadata": {"labels": null}}))))
            .compare(get(ONE)),
        Case::new("apply/dry-run")
            .compare(data("m1", json!({"a": "1"})).dry_run())
            .compare(get(ONE))
            .given(data("m1", json!({"a": "1"})))
            .compare(data("m2", json!({"a": "2"})).dry_run())
            .compare(data("m2", json!({"a": "2"})).dry_run().force())
            .compare(get(ONE)),
        Case::new("apply/with-resource-version-and-uid")
            .compare(apply(ONE, "m1", config_map(json!({"metadata": {"resourceVersion": "1"}, "data": {"a": "1"}}))).named("a"))
            .compare(apply(ONE, "m1", config_map(json!({"metadata": {"resourceVersion": "1"}, "data": {"a": "2"}}))))
            .compare(apply(ONE, "m1", config_map(json!({"metadata": {"resourceVersion": "{rv:a}"}, "data": {"a": "2"}}))))
            .compare(apply(ONE, "m1", config_map(json!({"metadata": {"uid": "{uid:a}"}, "data": {"a": "3"}}))))
            .compare(apply(ONE, "m1", config_map(json!({"metadata": {"uid": "11111111-1111-4111-8111-111111111111"}, "data": {"a": "4"}})))),
        Case::new("apply/uid-of-a-missing-object").compare(apply(
            ONE,
            "m1",
            config_map(json!({"metadata": {"uid": "11111111-1111-4111-8111-111111111111"}})),
        )),
        Case::new("apply/secret-string-data")
            .compare(apply(
                "/api/v1/namespaces/{ns}/secrets/a",
                "m1",
                of_kind("v1", "Secret", json!({"stringData": {"a": "x"}, "data": {"b": "eQ=="}})),
            ))
            .compare(apply(
                "/api/v1/namespaces/{ns}/secrets/a",
                "m1",
                of_kind("v1", "Secret", json!({"stringData": {"a": "y"}})),
            )),
        Case::new("apply/atomic-rules")
            .compare(role("m1", json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}])))
            .compare(role("m2", json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}])))
            .compare(role("m2", json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}])).force())
            .compare(apply(ROLE, "m2", of_kind("rbac.authorization.k8s.io/v1", "Role", json!({})))),
        Case::new("apply/cluster-scoped")
            .compare(apply(
                "/apis/storage.k8s.io/v1/storageclasses/{ns}",
                "m1",
                json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "{ns}"}, "provisioner": "x.y/z"}),
            ))
            .compare(apply(
                "/apis/storage.k8s.io/v1/storageclasses/{ns}",
                "m2",
                json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "{ns}"}, "allowVolumeExpansion": true}),
            ))
            .finally(super::case::delete("/apis/storage.k8s.io/v1/storageclasses/{ns}")),
        Case::new("apply/in-a-missing-namespace").compare(apply(
            "/api/v1/namespaces/{ns}-missing/configmaps/a",
            "m1",
            config_map(json!({})),
        )),
    ]
}

fn conflicts() -> Vec<Case> {
    vec![
        Case::new("apply/conflict-with-one-manager")
            .given(data("m1", json!({"a": "1"})))
            .compare(data("m2", json!({"a": "2"})))
            .compare(get(ONE)),
        Case::new("apply/conflict-on-several-fields")
            .given(data("m1", json!({"a": "1", "b": "2"})))
            .compare(data("m2", json!({"a": "2", "b": "3", "c": "4"}))),
        Case::new("apply/conflict-with-several-managers")
            .given(data("m2", json!({"b": "1"})))
            .given(data("m1", json!({"a": "1"})))
            .compare(data("m3", json!({"a": "2", "b": "3"})).causes_in_any_order()),
        Case::new("apply/conflict-with-an-updater")
            .given(post(CONFIG_MAPS, config_map(json!({"data": {"a": "1", "b": "1"}}))).manager("maker"))
            .compare(data("m1", json!({"a": "2"})))
            .compare(data("m1", json!({"a": "1"})))
            .compare(data("m1", json!({"a": "2"})).force()),
        Case::new("apply/force-takes-over")
            .given(data("m1", json!({"a": "1", "b": "2"})))
            .compare(data("m2", json!({"a": "2"})).force())
            .compare(data("m1", json!({"a": "1", "b": "2"})))
            .compare(data("m1", json!({"a": "1", "b": "2"})).force()),
        Case::new("apply/force-takes-everything-and-the-loser-vanishes")
            .given(data("m1", json!({"a": "1"})))
            .compare(data("m2", json!({"a": "2"})).force())
            .compare(apply(ONE, "m1", config_map(json!({})))),
        Case::new("apply/three-owners")
            .given(data("m1", json!({"a": "1"})))
            .given(data("m2", json!({"a": "1"})))
            .compare(data("m3", json!({"a": "2"})).causes_in_any_order())
            .compare(data("m3", json!({"a": "2"})).force()),
        Case::new("apply/conflict-on-labels-and-annotations")
            .given(labels("m1", json!({"app.kubernetes.io/name": "x"})))
            .compare(labels("m2", json!({"app.kubernetes.io/name": "y"}))),
        Case::new("apply/conflict-on-a-whole-selector")
            .given(service("m1", json!({"selector": {"a": "b"}, "ports": [{"port": 80}]})))
            .compare(service("m2", json!({"selector": {"a": "c"}})))
            .compare(service("m2", json!({"selector": {"a": "b", "c": "d"}})).force())
            .compare(service("m2", json!({}))),
        Case::new("apply/conflict-in-a-container")
            .given(template("m1", json!({"containers": [{"name": "c", "image": "one", "command": ["a"]}]})))
            .compare(template("m2", json!({"containers": [{"name": "c", "image": "two", "command": ["a", "b"]}]})))
            .compare(template("m2", json!({"containers": [{"name": "c", "image": "two"}]})).force()),
        Case::new("apply/a-value-of-another-form-is-a-conflict")
            .given(template("m1", json!({"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}}]})))
            .compare(template("m2", json!({"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1000m"}}}]})))
            .compare(template("m1", json!({"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1000m"}}}]}))),
    ]
}

fn updates() -> Vec<Case> {
    vec![
        Case::new("apply/update-takes-ownership-of-what-it-changes")
            .given(data("m1", json!({"a": "1", "b": "1"})))
            .compare(merge_patch(ONE, json!({"data": {"a": "2", "c": "3"}})).manager("patch"))
            .compare(data("m1", json!({"a": "1", "b": "1"})))
            .compare(data("m1", json!({"b": "1"}))),
        Case::new("apply/update-with-the-same-value-owns-nothing")
            .given(data("m1", json!({"a": "1"})))
            .compare(merge_patch(ONE, json!({"data": {"a": "1"}})).manager("patch")),
        Case::new("apply/update-removes-an-applied-field")
            .given(data("m1", json!({"a": "1", "b": "1"})))
            .compare(json_patch(ONE, json!([{"op": "remove", "path": "/data/a"}])).manager("patch"))
            .compare(json_patch(ONE, json!([{"op": "remove", "path": "/data/b"}])).manager("patch"))
            .compare(data("m1", json!({"a": "1"}))),
        Case::new("apply/put-replaces-what-others-applied")
            .given(data("m1", json!({"a": "1", "b": "1"})))
            .compare(put(ONE, config_map(json!({"data": {"b": "2", "c": "1"}}))).manager("put"))
            .compare(put(ONE, config_map(json!({"data": {"b": "2", "c": "1"}}))).manager("put")),
        Case::new("apply/same-manager-applies-and-updates")
            .given(data("m1", json!({"a": "1"})))
            .compare(merge_patch(ONE, json!({"data": {"a": "2"}})).manager("m1"))
            .compare(data("m1", json!({"a": "3"})))
            .compare(data("m1", json!({"a": "2"}))),
        Case::new("apply/user-agent-is-the-manager-of-an-update")
            .compare(post(CONFIG_MAPS, config_map(json!({"data": {"a": "1"}}))).user_agent("tester/1.0 (x)"))
            .compare(merge_patch(ONE, json!({"data": {"b": "1"}})).user_agent("other")),
        Case::new("apply/untracked-object-stays-untracked")
            .given(post(CONFIG_MAPS, config_map(json!({"data": {"a": "1"}}))).manager("maker"))
            .compare(merge_patch(ONE, json!({"metadata": {"managedFields": [{}]}})).manager("patch"))
            .compare(merge_patch(ONE, json!({"data": {"b": "1"}})).manager("patch"))
            .compare(put(ONE, config_map(json!({"data": {"b": "2"}}))).manager("put")),
        Case::new("apply/before-first-apply")
            .given(post(CONFIG_MAPS, config_map(json!({"data": {"a": "1", "b": "1"}, "metadata": {"labels": {"l": "1"}}}))).manager("maker"))
            .given(merge_patch(ONE, json!({"metadata": {"managedFields": []}})).manager("patch"))
            .compare(data("m1", json!({"a": "2"})))
            .compare(data("m1", json!({"a": "1", "c": "1"})))
            .compare(data("m1", json!({"a": "2"})).force())
            .compare(merge_patch(ONE, json!({"data": {"b": "2"}})).manager("patch")),
        Case::new("apply/managed-fields-cleared-on-an-applied-object")
            .given(data("m1", json!({"a": "1"})))
            .compare(json_patch(ONE, json!([{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}])).manager("patch"))
            .compare(data("m1", json!({"a": "2"})))
            .compare(data("m1", json!({"a": "1"}))),
        Case::new("apply/managed-fields-null-and-bad-in-an-update")
            .given(data("m1", json!({"a": "1"})))
            .compare(merge_patch(ONE, json!({"metadata": {"managedFields": null}})).manager("patch"))
            .compare(merge_patch(ONE, json!({"metadata": {"managedFields": [{"manager": "x", "operation": "Bogus", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {}}]}})).manager("patch"))
            .compare(merge_patch(ONE, json!({"metadata": {"managedFields": [{"manager": "x", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}}}}]}})).manager("patch"))
            .compare(data("x", json!({}))),
        Case::new("apply/managed-fields-sent-on-create")
            .compare(post(CONFIG_MAPS, config_map(json!({"data": {"a": "1"}, "metadata": {"managedFields": [{}]}}))).manager("maker"))
            .compare(post(CONFIG_MAPS, json!({"metadata": {"name": "b", "managedFields": [
                {"manager": "x", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}}}}]},
                "data": {"a": "1"}})).manager("maker")),
        Case::new("apply/most-updaters-kept-apart").given(
            post(CONFIG_MAPS, config_map(json!({"data": {"k": "0"}}))).manager("u00"),
        ).given(merge_patch(ONE, json!({"data": {"k01": "1"}})).manager("u01"))
            .given(merge_patch(ONE, json!({"data": {"k02": "1"}})).manager("u02"))
            .given(merge_patch(ONE, json!({"data": {"k03": "1"}})).manager("u03"))
            .given(merge_patch(ONE, json!({"data": {"k04": "1"}})).manager("u04"))
            .given(merge_patch(ONE, json!({"data": {"k05": "1"}})).manager("u05"))
            .given(merge_patch(ONE, json!({"data": {"k06": "1"}})).manager("u06"))
            .given(merge_patch(ONE, json!({"data": {"k07": "1"}})).manager("u07"))
            .given(merge_patch(ONE, json!({"data": {"k08": "1"}})).manager("u08"))
            .compare(merge_patch(ONE, json!({"data": {"k09": "1"}})).manager("u09"))
            .compare(merge_patch(ONE, json!({"data": {"k10": "1"}})).manager("u10"))
            .compare(merge_patch(ONE, json!({"data": {"k11": "1"}})).manager("u11")),
        Case::new("apply/owners-of-a-created-template").compare(
            post(TEMPLATES, of_kind("v1", "PodTemplate", json!({"template": {"metadata": {"labels": {"a": "1"}}, "spec": {
                "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}], "env": [{"name": "A", "value": "1"}],
                    "volumeMounts": [{"name": "v", "mountPath": "/v"}], "resources": {"limits": {"cpu": "1"}}}],
                "volumes": [{"name": "v", "emptyDir": {}}], "nodeSelector": {"q": "r"},
            }}}))).manager("maker"),
        ),
        Case::new("apply/owners-of-created-kinds")
            .compare(post("/api/v1/namespaces/{ns}/serviceaccounts", of_kind("v1", "ServiceAccount", json!({"secrets": [{"name": "x"}], "imagePullSecrets": [{"name": "y"}]}))).manager("maker"))
            .compare(post("/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles", of_kind("rbac.authorization.k8s.io/v1", "Role", json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}))).manager("maker"))
            .compare(post("/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings", of_kind("rbac.authorization.k8s.io/v1", "RoleBinding", json!({"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"}, "subjects": [{"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}]}))).manager("maker"))
            .compare(post("/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses", of_kind("networking.k8s.io/v1", "Ingress", json!({"spec": {"rules": [{"host": "a.b", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "x", "port": {"number": 1}}}}]}}]}}))).manager("maker"))
            .compare(post("/apis/networking.k8s.io/v1/namespaces/{ns}/networkpolicies", of_kind("networking.k8s.io/v1", "NetworkPolicy", json!({"spec": {"podSelector": {"matchLabels": {"a": "b"}}, "policyTypes": ["Ingress"]}}))).manager("maker"))
            .compare(post("/apis/coordination.k8s.io/v1/namespaces/{ns}/leases", of_kind("coordination.k8s.io/v1", "Lease", json!({"spec": {"holderIdentity": "x", "leaseDurationSeconds": 15}}))).manager("maker"))
            .compare(post("/api/v1/namespaces/{ns}/services", of_kind("v1", "Service", json!({"spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]}}))).manager("maker"))
            .compare(post("/api/v1/namespaces/{ns}/secrets", of_kind("v1", "Secret", json!({"stringData": {"a": "b"}}))).manager("maker")),
        Case::new("apply/strategic-patch-tracks-items")
            .given(template("m1", json!({"containers": [{"name": "c", "image": "one"}]})))
            .compare(strategic(TEMPLATE, json!({"template": {"spec": {"containers": [{"name": "d", "image": "two"}, {"name": "c", "tty": true}]}}})).manager("patch"))
            .compare(template("m1", json!({"containers": []})))
            .compare(template("m1", json!({}))),
    ]
}

fn lists() -> Vec<Case> {
    vec![
        Case::new("apply/service-ports-by-port-and-protocol")
            .compare(service("m1", json!({"ports": [{"port": 80, "name": "http"}, {"port": 443, "name": "https"}]})))
            .compare(service("m1", json!({"ports": [{"port": 443, "name": "https"}, {"port": 80, "protocol": "TCP", "name": "http"}]})))
            .compare(service("m2", json!({"ports": [{"port": 53, "protocol": "UDP", "name": "dns"}]})))
            .compare(service("m2", json!({"ports": [{"port": 80, "name": "web"}]})))
            .compare(service("m1", json!({"ports": [{"port": 80, "name": "http"}]})))
            .compare(service("m2", json!({}))),
        Case::new("apply/items-are-removed-by-their-last-owner")
            .given(template("m1", json!({"containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]})))
            .given(template("m2", json!({"containers": [{"name": "b", "tty": true}]})))
            .compare(template("m1", json!({"containers": [{"name": "a", "image": "i"}]})))
            .compare(template("m2", json!({})))
            .compare(get(TEMPLATE)),
        Case::new("apply/order-of-items")
            .given(template("m1", json!({"containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}, {"name": "c", "image": "i"}]})))
            .compare(template("m2", json!({"containers": [{"name": "x", "image": "i"}, {"name": "c"}, {"name": "y", "image": "i"}, {"name": "a"}]})))
            .compare(template("m1", json!({"containers": [{"name": "c", "image": "i"}, {"name": "b", "image": "i"}, {"name": "a", "image": "i"}]})))
            .compare(template("m2", json!({"containers": [{"name": "y", "image": "i"}, {"name": "x", "image": "i"}]}))),
        Case::new("apply/nested-items")
            .compare(template("m1", json!({"containers": [{"name": "c", "image": "i",
                "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]}],
                "volumes": [{"name": "v", "configMap": {"name": "m", "items": [{"key": "k", "path": "p"}]}}]})))
            .compare(template("m1", json!({"containers": [{"name": "c", "image": "i",
                "env": [{"name": "B", "value": "2"}], "ports": [{"containerPort": 80, "protocol": "UDP"}]}]})))
            .compare(template("m2", json!({"containers": [{"name": "c", "env": [{"name": "C", "value": "3"}]}], "tolerations": [{"key": "a", "operator": "Exists"}]})))
            .compare(template("m1", json!({"tolerations": [{"key": "b", "operator": "Exists"}]}))),
        Case::new("apply/atomic-map-and-list-inside")
            .given(template("m1", json!({"containers": [{"name": "c", "image": "i", "args": ["a"]}], "nodeSelector": {"a": "1"}})))
            .compare(template("m2", json!({"nodeSelector": {"b": "2"}})))
            .compare(template("m2", json!({"nodeSelector": {"b": "2"}})).force())
            .compare(template("m2", json!({}))),
        Case::new("apply/ingress-rules-are-atomic")
            .compare(apply(INGRESS, "m1", of_kind("networking.k8s.io/v1", "Ingress", json!({"spec": {"defaultBackend": {"service": {"name": "x", "port": {"number": 80}}}}}))))
            .compare(apply(INGRESS, "m2", of_kind("networking.k8s.io/v1", "Ingress", json!({"spec": {"rules": [{"host": "a.b"}], "tls": [{"hosts": ["a.b"]}]}}))))
            .compare(apply(INGRESS, "m2", of_kind("networking.k8s.io/v1", "Ingress", json!({"spec": {"rules": [{"host": "a.c"}]}})))),
    ]
}

fn refusals() -> Vec<Case> {
    let body = |rest: Value| apply(ONE, "m1", config_map(rest));
    let yaml = |text: &str| {
        patch(ONE, "application/apply-patch+yaml")
            .text(text, "application/apply-patch+yaml")
            .manager("m1")
    };
    vec![
        Case::new("apply/unknown-fields").compare_all([
            body(json!({"bogus": 1})),
            body(json!({"metadata": {"bogus": 1}})),
            template("m1", json!({"containers": [{"name": "c", "bogus": 1}]})),
            body(json!({"bogus": 1})).query("fieldValidation", "Ignore"),
            body(json!({"bogus": 1})).query("fieldValidation", "Strict"),
        ]),
        Case::new("apply/wrong-types").compare_all([
            body(json!({"data": {"a": 5}})),
            body(json!({"data": {"a": true}})),
            body(json!({"data": {"a": {"b": "c", "d": [1]}}})),
            body(json!({"data": "x"})),
            body(json!({"data": ["x", "y"]})),
            body(json!({"immutable": "yes"})),
            template("m1", json!({"terminationGracePeriodSeconds": "x"})),
            template("m1", json!({"terminationGracePeriodSeconds": {"a": 1}})),
            template("m1", json!({"containers": {"a": 1}})),
        ]),
        Case::new("apply/bad-items").compare_all([
            template("m1", json!({"containers": [{"name": "a"}, {"name": "a"}]})),
            template("m1", json!({"containers": ["a"]})),
            template("m1", json!({"containers": [null]})),
            service("m1", json!({"ports": [{"port": 80, "name": "a"}, {"port": 80, "protocol": "TCP", "name": "b"}]})),
            body(json!({"metadata": {"finalizers": ["a.b/c", "a.b/c"]}})),
            body(json!({"metadata": {"finalizers": [{"a": 1}]}})),
            body(json!({"metadata": {"finalizers": [null]}})),
            body(json!({"metadata": {"finalizers": [["a"]]}})),
        ]),
        Case::new("apply/item-without-its-key").compare(template("m1", json!({"containers": [{"image": "i"}]}))),
        Case::new("apply/managed-fields-in-the-body").compare_all([
            body(json!({"metadata": {"managedFields": []}})),
            body(json!({"metadata": {"managedFields": [{}]}})),
            body(json!({"metadata": {"managedFields": null}})),
        ]),
        Case::new("apply/other-kinds").compare_all([
            apply(ONE, "m1", json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}})),
            apply(ONE, "m1", json!({"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "a"}})),
            apply(ONE, "m1", json!({"metadata": {"name": "a"}})),
            apply(ONE, "m1", json!({"apiVersion": "v1", "metadata": {"name": "a"}})),
        ]),
        Case::new("apply/other-names").compare_all([
            apply(ONE, "m1", json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}})),
            apply(ONE, "m1", json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "elsewhere"}})),
            apply(ONE, "m1", json!({"apiVersion": "v1", "kind": "ConfigMap"})),
            apply(ONE, "m1", json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-"}})),
        ]),
        Case::new("apply/without-a-manager").compare(
            patch(ONE, "application/apply-patch+yaml").json(config_map(json!({}))),
        ),
        Case::new("apply/bad-managers").compare_all([
            apply(ONE, &"m".repeat(129), config_map(json!({}))),
            apply(ONE, "a%01b", config_map(json!({}))),
            merge_patch(ONE, json!({})).manager("m1").force(),
            apply(ONE, "m1", config_map(json!({}))).query("dryRun", "Some"),
            apply(ONE, "m1", config_map(json!({}))).query("fieldValidation", "Bogus"),
        ]),
        Case::new("apply/bad-yaml").compare_all([yaml("{bad"), yaml("[]"), yaml("text"), yaml("")]),
        Case::new("apply/yaml")
            .compare(yaml("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: '1'\n  b: |\n    x\n    y\n"))
            .compare(yaml("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: y\n")),
        Case::new("apply/duplicate-keys-in-yaml").compare_all([
            yaml("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: '1'\n  a: '2'\n"),
            yaml("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: '1'\n  a: '2'\n").query("fieldValidation", "Strict"),
            yaml("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: '1'\n  a: '3'\n").query("fieldValidation", "Ignore"),
        ]),
        Case::new("apply/invalid-after-the-merge")
            .compare(apply(SERVICE, "m1", of_kind("v1", "Service", json!({"spec": {}}))))
            .compare(labels("m1", json!({"not a label": "x"})))
            .compare(template("m1", json!({"containers": [{"name": "c"}]})))
            .compare(data("m1", json!({"bad key": "x"}))),
        Case::new("apply/immutable-fields")
            .given(apply(ONE, "m1", config_map(json!({"data": {"a": "1"}, "immutable": true}))))
            .compare(apply(ONE, "m1", config_map(json!({"data": {"a": "2"}, "immutable": true}))))
            .compare(apply(ONE, "m2", config_map(json!({"data": {"a": "2"}}))).force())
            .compare(apply(ONE, "m1", config_map(json!({"data": {"a": "1"}})))),
        Case::new("apply/the-same-owner-twice").compare(body(json!({"metadata": {"ownerReferences": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "11111111-1111-4111-8111-111111111111"},
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "11111111-1111-4111-8111-111111111111"}]}}))),
    ]
}

fn subresources() -> Vec<Case> {
    let status = "/api/v1/namespaces/{ns}/services/a/status";
    let balancer = |ip: &str| json!({"status": {"loadBalancer": {"ingress": [{"ip": ip}]}}});
    vec![
        Case::new("apply/status-of-a-service")
            .given(service("m1", json!({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": false, "ports": [{"port": 80}]})))
            .compare(apply(status, "lb", of_kind("v1", "Service", json!({"metadata": {"labels": {"a": "1"}}, "spec": {"ports": [{"port": 81}]}, "status": {"loadBalancer": {"ingress": [{"ip": "10.1.1.1"}]}}}))))
            .compare(apply(status, "other", of_kind("v1", "Service", balancer("10.1.1.2"))))
            .compare(apply(status, "other", of_kind("v1", "Service", balancer("10.1.1.2"))).force())
            .compare(merge_patch(status, balancer("10.1.1.3")).manager("patch"))
            .compare(apply(SERVICE, "m1", of_kind("v1", "Service", json!({"spec": {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": false, "ports": [{"port": 80}]}, "status": {"loadBalancer": {"ingress": [{"ip": "10.1.1.9"}]}}})))),
        Case::new("apply/status-of-a-missing-object").compare(apply(
            &format!("{INGRESS}/status"),
            "lb",
            of_kind("networking.k8s.io/v1", "Ingress", balancer("10.1.1.1")),
        )),
        Case::new("apply/scale-of-a-deployment")
            .given(deployment("m1", 0))
            .compare(scale("hpa", 1))
            .compare(scale("hpa", 1).force())
            .compare(scale("hpa", 2))
            .compare(merge_patch(&format!("{DEPLOYMENT}/scale"), json!({"spec": {"replicas": 3}})).manager("patch").ignoring("/metadata/resourceVersion"))
            .compare(scale("hpa", 4))
            .compare(scale("other", 3))
            .compare(deployment("m1", 1).causes_in_any_order())
            .compare(apply(&format!("{DEPLOYMENT}/scale"), "hpa", of_kind("apps/v1", "Deployment", json!({}))))
            .compare(apply("/apis/apps/v1/namespaces/{ns}/deployments/missing/scale", "hpa", of_kind("autoscaling/v1", "Scale", json!({"metadata": {"name": "missing"}})))),
    ]
}

fn kubectl() -> Vec<Case> {
    let last = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"1","b":"2"}}"#;
    let annotated = || {
        let annotations = json!({"kubectl.kubernetes.io/last-applied-configuration": last});
        let body = config_map(
            json!({"data": {"a": "1", "b": "2"}, "metadata": {"annotations": annotations}}),
        );
        post(CONFIG_MAPS, body).manager("kubectl-client-side-apply")
    };
    vec![
        Case::new("apply/kubectl-takes-over-from-client-side-apply")
            .given(annotated())
            .compare(data("other", json!({"a": "3"})))
            .compare(data("kubectl", json!({"a": "3", "b": "2<&>"})))
            .compare(get(ONE)),
        Case::new("apply/kubectl-does-not-take-over-what-changed-since")
            .given(annotated())
            .given(merge_patch(ONE, json!({"data": {"a": "9", "c": "1"}})).manager("patch"))
            .compare(data("kubectl", json!({"a": "3", "b": "4"})))
            .compare(data("kubectl", json!({"b": "4"})))
            .compare(data("kubectl", json!({"a": "3"})).force()),
    ]
}
