//! Authorization: who is refused with which words, and what reviews answer.

use serde_json::{Value, json};

use super::answer::Answer;
use super::case::{Case, Request, delete, get, merge_patch, post, put};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1";
const MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";

/// Cases of authorization.
pub fn cases() -> Vec<Case> {
    let mut cases = refusals();
    cases.extend(roles());
    cases.extend(reviews());
    cases
}

/// As a user of the case, who may do nothing but what the case allows.
fn alice(request: Request) -> Request {
    request.impersonate("{ns}-alice", &[])
}

fn role(name: &str, rules: &Value) -> Request {
    post(
        &format!("{RBAC}/namespaces/{{ns}}/roles"),
        json!({"metadata": {"name": name}, "rules": rules}),
    )
}

fn bind(name: &str, kind: &str, role: &str, subject: &Value) -> Request {
    post(
        &format!("{RBAC}/namespaces/{{ns}}/rolebindings"),
        json!({
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
            "subjects": [subject],
        }),
    )
}

fn user() -> Value {
    json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "{ns}-alice"})
}

fn own(verb: &str, resource: &str) -> Request {
    let attributes = json!({"verb": verb, "resource": resource, "namespace": "{ns}"});
    post(
        &format!("{REVIEWS}/selfsubjectaccessreviews"),
        json!({"spec": {"resourceAttributes": attributes}}),
    )
}

fn allowed(answer: &Answer) -> bool {
    answer.at("/status/allowed") == Some(&Value::Bool(true))
}

fn refusals() -> Vec<Case> {
    vec![
        Case::new("rbac/refused")
            .compare(alice(get(&format!("{MAPS}/a"))))
            .compare(alice(get(MAPS)))
            .compare(alice(get("/api/v1/configmaps")))
            .compare(alice(get(MAPS).query("watch", "true")))
            .compare(alice(post(MAPS, json!({"metadata": {"name": "a"}}))))
            .compare(alice(put(&format!("{MAPS}/a"), json!({"metadata": {"name": "a"}}))))
            .compare(alice(merge_patch(&format!("{MAPS}/a"), json!({}))))
            .compare(alice(delete(&format!("{MAPS}/a"))))
            .compare(alice(delete(MAPS)))
            .compare(alice(get("/api/v1/nodes/n")))
            .compare(alice(get("/api/v1/namespaces/{ns}/pods/p/status")))
            .compare(alice(get("/apis/apps/v1/namespaces/{ns}/deployments/d/scale")))
            .compare(alice(get("/api/v1/namespaces/{ns}")))
            .compare(alice(delete("/api/v1/namespaces/{ns}")))
            .compare(alice(get("/metrics")))
            .compare(get(&format!("{MAPS}/a")).impersonate("al<&>ice", &[])),
        Case::new("rbac/everybody-may-look-around")
            .compare(
                alice(get("/version"))
                    .ignoring("/gitCommit")
                    .ignoring("/goVersion")
                    .ignoring("/platform")
                    .ignoring("/buildDate"),
            )
            .compare(alice(get("/readyz")))
            .compare(alice(post("/apis/authentication.k8s.io/v1/selfsubjectreviews", json!({})))),
    ]
}

fn roles() -> Vec<Case> {
    let rules = json!([
        {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps"]},
        {"verbs": ["update"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["mine"]},
        {"verbs": ["get"], "apiGroups": [""], "resources": ["*/status"]},
    ]);
    let map = json!({"metadata": {"name": "mine"}, "data": {"a": "1"}});
    let account = json!({"kind": "ServiceAccount", "name": "robot", "namespace": "{ns}"});
    vec![
        Case::new("rbac/role")
            .given(post(MAPS, map.clone()))
            .given(role("r", &rules))
            .given(bind("b", "Role", "r", &user()))
            .until(alice(own("get", "configmaps")), allowed)
            .compare(alice(get(&format!("{MAPS}/mine"))))
            .compare(alice(get(MAPS).query("fieldSelector", "metadata.name=mine")))
            .compare(alice(put(&format!("{MAPS}/mine"), map)))
            .compare(alice(put(&format!("{MAPS}/yours"), json!({"metadata": {"name": "yours"}}))))
            .compare(alice(get("/api/v1/namespaces/{ns}/pods/p/status")))
            .compare(alice(get("/api/v1/namespaces/{ns}/pods/p")))
            .compare(alice(get("/api/v1/namespaces/default/configmaps/mine")))
            .compare(alice(own("list", "configmaps")))
            .compare(alice(own("delete", "configmaps"))),
        Case::new("rbac/service-account-and-group")
            .given(role("r", &rules))
            .given(bind("a", "Role", "r", &account))
            .given(bind("g", "ClusterRole", "view", &json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "{ns}-group"})))
            .until(own("get", "configmaps").impersonate("system:serviceaccount:{ns}:robot", &[]), allowed)
            .until(own("get", "pods").impersonate("{ns}-bob", &["{ns}-group"]), allowed)
            .compare(own("get", "configmaps").impersonate("system:serviceaccount:{ns}:robot", &[]))
            .compare(own("get", "configmaps").impersonate("system:serviceaccount:other:robot", &[]))
            .compare(own("get", "pods").impersonate("{ns}-bob", &["{ns}-group"]))
            .compare(own("get", "secrets").impersonate("{ns}-bob", &["{ns}-group"])),
        missing("rbac/role-missing", "Role", "none"),
        missing("rbac/cluster-role-missing", "ClusterRole", "{ns}-none"),
    ]
}

/// A binding to a role that does not exist. One at a time: the real server looks at bindings in random order.
fn missing(name: &str, kind: &str, role: &str) -> Case {
    let rules = json!({"spec": {"namespace": "{ns}"}});
    Case::new(name)
        .given(bind("b", kind, role, &user()))
        .until(alice(own("get", "pods")), |answer| {
            answer.text_at("/status/reason").contains("not found")
        })
        .compare(alice(get(&format!("{MAPS}/a"))))
        .compare(alice(own("get", "pods")))
        .compare(
            alice(post(&format!("{REVIEWS}/selfsubjectrulesreviews"), rules))
                .ignoring("/status/nonResourceRules")
                .ignoring("/status/resourceRules"),
        )
}

fn reviews() -> Vec<Case> {
    let review =
        |spec: Value| post(&format!("{REVIEWS}/subjectaccessreviews"), json!({ "spec": spec }));
    let local = |spec: Value| {
        post(
            &format!("{REVIEWS}/namespaces/{{ns}}/localsubjectaccessreviews"),
            json!({ "spec": spec }),
        )
    };
    let pods = json!({"verb": "get", "resource": "pods", "namespace": "{ns}"});
    vec![
        Case::new("rbac/reviews")
            .compare(own("get", "pods"))
            .compare(review(json!({"user": "{ns}-nobody", "resourceAttributes": pods})))
            .compare(review(json!({"user": "{ns}-nobody", "groups": ["system:masters"], "resourceAttributes": pods})))
            .compare(review(json!({"user": "{ns}-nobody", "nonResourceAttributes": {"verb": "get", "path": "/x"}})))
            .compare(local(json!({"user": "{ns}-nobody", "resourceAttributes": pods})))
            .compare(post(&format!("{REVIEWS}/selfsubjectaccessreviews"), json!({"spec": {"nonResourceAttributes": {"verb": "get", "path": "/openapi/v3"}}})).impersonate("{ns}-nobody", &[])),
        Case::new("rbac/reviews-refused")
            .compare(review(json!({})))
            .compare(review(json!({"user": "a", "resourceAttributes": {}, "nonResourceAttributes": {"path": "/a", "verb": "get"}})))
            .compare(local(json!({"user": "a", "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "other"}})))
            .compare(post(&format!("{REVIEWS}/selfsubjectrulesreviews"), json!({"spec": {}}))),
    ]
}
