//! Deleting: preconditions, finalizers, grace, propagation, and what follows its owner.

use serde_json::{Value, json};

use super::case::{Case, Request, delete, get, json_patch, merge_patch, post};

const MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";

fn map(name: &str) -> String {
    format!("{MAPS}/{name}")
}

fn plain(name: &str) -> Request {
    post(MAPS, json!({"metadata": {"name": name}}))
}

fn held(name: &str) -> Request {
    post(MAPS, json!({"metadata": {"name": name, "finalizers": ["example.com/hold"]}}))
}

fn child(name: &str, owner: &str, block: bool) -> Request {
    post(
        MAPS,
        json!({"metadata": {"name": name, "ownerReferences": [{
            "apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": format!("{{uid:{owner}}}"),
            "blockOwnerDeletion": block,
        }]}}),
    )
}

fn with(path: &str, options: Value) -> Request {
    delete(path).json(options)
}

fn gone(name: &str) -> (Request, u16) {
    (get(&map(name)), 404)
}

fn until_gone(case: Case, name: &str) -> Case {
    let (request, status) = gone(name);
    case.until_status(request, status)
}

/// Cases of deletion and garbage collection.
pub fn cases() -> Vec<Case> {
    let family = |name: &str| {
        Case::new(name).given(plain("owner").named("owner")).given(child("child", "owner", true))
    };
    vec![
        Case::new("deletion/preconditions")
            .given(plain("a").named("a"))
            .compare(with(&map("a"), json!({"preconditions": {"uid": "nope"}})))
            .compare(with(&map("a"), json!({"preconditions": {"resourceVersion": "1"}})))
            .compare(with(&map("a"), json!({"preconditions": {"uid": "{uid:a}"}}))),
        Case::new("deletion/dry-run")
            .given(plain("a"))
            .compare(delete(&format!("{}?dryRun=All", map("a"))))
            .compare(with(&map("a"), json!({"dryRun": ["All"]})))
            .compare(get(&map("a"))),
        Case::new("deletion/refused-options").given(plain("a")).compare_all([
            delete(&format!("{}?propagationPolicy=Bogus", map("a"))),
            delete(&format!("{}?dryRun=Some", map("a"))),
            with(&map("a"), json!({"propagationPolicy": "Orphan", "orphanDependents": true})),
            with(&map("a"), json!({"propagationPolicy": "Bogus"})),
        ]),
        Case::new("deletion/a-finalizer-holds")
            .given(held("a"))
            .compare(delete(&map("a")))
            .compare(delete(&map("a")))
            .compare(get(&map("a")))
            .compare(plain("a"))
            .compare(merge_patch(&map("a"), json!({"data": {"still": "writable"}})))
            .compare(merge_patch(&map("a"), json!({"metadata": {"finalizers": ["example.com/hold", "example.com/new"]}})))
            .compare(merge_patch(&map("a"), json!({"metadata": {"deletionTimestamp": null}})))
            .compare(merge_patch(&map("a"), json!({"metadata": {"finalizers": null}})))
            .compare(get(&map("a"))),
        Case::new("deletion/finalizers-by-json-patch")
            .given(plain("a"))
            .compare(json_patch(&map("a"), json!([
                {"op": "test", "path": "/metadata/finalizers", "value": null},
                {"op": "add", "path": "/metadata/finalizers", "value": ["example.com/hold"]},
            ])))
            .given(delete(&map("a")))
            .compare(json_patch(&map("a"), json!([
                {"op": "test", "path": "/metadata/finalizers/0", "value": "example.com/hold"},
                {"op": "remove", "path": "/metadata/finalizers/0"},
            ])))
            .compare(get(&map("a"))),
        Case::new("deletion/refused-finalizers").compare_all([
            post(MAPS, json!({"metadata": {"name": "a", "finalizers": ["nodomain"]}})),
            post(MAPS, json!({"metadata": {"name": "b", "finalizers": ["example.com/a b"]}})),
        ]),
        until_gone(family("deletion/background").compare(delete(&map("owner"))), "child")
            .compare(get(&map("child"))),
        until_gone(
            family("deletion/foreground")
                .compare(with(&map("owner"), json!({"propagationPolicy": "Foreground"}))),
            "owner",
        )
        .compare(get(&map("child")))
        .compare(get(&map("owner"))),
        until_gone(
            family("deletion/orphan").compare(with(&map("owner"), json!({"propagationPolicy": "Orphan"}))),
            "owner",
        )
        .compare(get(&map("child"))),
        until_gone(
            family("deletion/orphan-by-its-old-name")
                .compare(with(&map("owner"), json!({"orphanDependents": true}))),
            "owner",
        )
        .compare(get(&map("child"))),
        Case::new("deletion/foreground-waits-for-a-held-child")
            .given(plain("owner").named("owner"))
            .given(post(MAPS, json!({"metadata": {"name": "child", "finalizers": ["example.com/hold"], "ownerReferences": [{
                "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "{uid:owner}", "blockOwnerDeletion": true,
            }]}})))
            .compare(with(&map("owner"), json!({"propagationPolicy": "Foreground"})))
            .until(get(&map("child")), |answer| answer.at("/metadata/deletionTimestamp").is_some())
            .compare(get(&map("owner")))
            .given(merge_patch(&map("child"), json!({"metadata": {"finalizers": null}})))
            .until_status(get(&map("owner")), 404)
            .compare(get(&map("child"))),
        Case::new("deletion/foreground-does-not-wait-without-blocking")
            .given(plain("owner").named("owner"))
            .given(post(MAPS, json!({"metadata": {"name": "child", "finalizers": ["example.com/hold"], "ownerReferences": [{
                "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "{uid:owner}",
            }]}})))
            .compare(with(&map("owner"), json!({"propagationPolicy": "Foreground"})))
            .until_status(get(&map("owner")), 404)
            .given(merge_patch(&map("child"), json!({"metadata": {"finalizers": null}})))
            .until_status(get(&map("child")), 404)
            .compare(get(&map("owner"))),
        until_gone(
            Case::new("deletion/a-child-without-an-owner").given(post(MAPS, json!({"metadata": {"name": "child", "ownerReferences": [{
                "apiVersion": "v1", "kind": "ConfigMap", "name": "never", "uid": "00000000-0000-0000-0000-000000000001",
            }]}}))),
            "child",
        )
        .compare(get(&map("child"))),
        Case::new("deletion/one-owner-is-enough")
            .given(plain("owner").named("owner"))
            .given(plain("second").named("second"))
            .given(post(MAPS, json!({"metadata": {"name": "child", "ownerReferences": [
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "{uid:owner}"},
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "second", "uid": "{uid:second}"},
            ]}})))
            .given(delete(&map("owner")))
            .until(get(&map("child")), |answer| {
                answer.at("/metadata/ownerReferences/0").is_some() && answer.at("/metadata/ownerReferences/1").is_none()
            })
            .compare(get(&map("child"))),
        Case::new("deletion/generations-of-a-family")
            .given(plain("owner").named("owner"))
            .given(child("middle", "owner", true).named("middle"))
            .given(child("youngest", "middle", true))
            .compare(with(&map("owner"), json!({"propagationPolicy": "Foreground"})))
            .until_status(get(&map("owner")), 404)
            .compare(get(&map("middle")))
            .compare(get(&map("youngest"))),
        Case::new("deletion/collection")
            .given(post(MAPS, json!({"metadata": {"name": "a", "labels": {"x": "1"}}})))
            .given(post(MAPS, json!({"metadata": {"name": "b", "labels": {"x": "1"}}})))
            .given(post(MAPS, json!({"metadata": {"name": "c", "labels": {"x": "2"}}})))
            .compare(delete(&format!("{MAPS}?labelSelector=x%3D1&dryRun=All")))
            .compare(delete(&format!("{MAPS}?labelSelector=x%3D1")))
            .compare(get(&format!("{MAPS}?labelSelector=x")))
            .compare(delete(&format!("{MAPS}?labelSelector=x%3D3"))),
        Case::new("deletion/collection-of-namespaces").compare(delete("/api/v1/namespaces?labelSelector=never%3Dthere")),
        Case::new("deletion/pods-without-a-node")
            .given(post("/api/v1/namespaces/{ns}/pods", json!({"metadata": {"name": "p"}, "spec": {
                "schedulerName": "nobody", "containers": [{"name": "c", "image": "i:1"}],
            }})))
            .compare(delete("/api/v1/namespaces/{ns}/pods/p"))
            .compare(get("/api/v1/namespaces/{ns}/pods/p")),
        Case::new("deletion/pods-on-a-node-take-their-time")
            .given(post("/api/v1/namespaces/{ns}/pods", json!({"metadata": {"name": "p"}, "spec": {
                "nodeName": "no-such-node", "containers": [{"name": "c", "image": "i:1"}],
            }})))
            .compare(delete("/api/v1/namespaces/{ns}/pods/p?gracePeriodSeconds=600"))
            .compare(delete("/api/v1/namespaces/{ns}/pods/p?gracePeriodSeconds=700"))
            .compare(delete("/api/v1/namespaces/{ns}/pods/p?gracePeriodSeconds=300"))
            .compare(delete("/api/v1/namespaces/{ns}/pods/p?gracePeriodSeconds=0"))
            .compare(get("/api/v1/namespaces/{ns}/pods/p")),
        Case::new("deletion/namespaces-end")
            .given(post("/api/v1/namespaces", json!({"metadata": {"name": "{ns}-end"}})))
            .given(post("/api/v1/namespaces/{ns}-end/configmaps", json!({"metadata": {"name": "h", "finalizers": ["example.com/hold"]}})))
            .compare(delete("/api/v1/namespaces/{ns}-end"))
            .compare(post("/api/v1/namespaces/{ns}-end/configmaps", json!({"metadata": {"name": "late"}})))
            .until(get("/api/v1/namespaces/{ns}-end/configmaps/h"), |answer| {
                answer.at("/metadata/deletionTimestamp").is_some()
            })
            .given(merge_patch("/api/v1/namespaces/{ns}-end/configmaps/h", json!({"metadata": {"finalizers": null}})))
            .until_status(get("/api/v1/namespaces/{ns}-end"), 404)
            .compare(get("/api/v1/namespaces/{ns}-end"))
            .compare(get("/api/v1/namespaces/{ns}-end/configmaps")),
        Case::new("deletion/namespaces-that-stay").compare_all([
            delete("/api/v1/namespaces/default"),
            delete("/api/v1/namespaces/kube-system"),
        ]),
        Case::new("deletion/dependents-of-a-deployment")
            .given(post("/apis/apps/v1/namespaces/{ns}/deployments", json!({
                "metadata": {"name": "d"},
                "spec": {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": {
                    "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]},
                }},
            })))
            .compare(with("/apis/apps/v1/namespaces/{ns}/deployments/d", json!({"propagationPolicy": "Background"}))),
    ]
}
