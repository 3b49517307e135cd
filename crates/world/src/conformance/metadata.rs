//! What metadata may say, on create and on update.

use serde_json::{Value, json};

use super::case::{Case, delete, get, merge_patch, post, put};
use super::kinds::SAMPLES;

const CONFIG_MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";
const ONE: &str = "/api/v1/namespaces/{ns}/configmaps/a";

fn owner(kind: &str, name: &str, controller: bool) -> Value {
    json!({"apiVersion": "v1", "kind": kind, "name": name, "uid": "00000000-0000-4000-8000-000000000001", "controller": controller})
}

/// Cases of metadata.
pub fn cases() -> Vec<Case> {
    let mut cases = names();
    cases.extend(faults());
    cases.extend(changes());
    // Kinds differ in how often they check metadata on update, which shows in the causes.
    cases.extend(SAMPLES.iter().filter(|s| s.name != "serviceaccount").map(|sample| {
        let item = sample.item();
        sample
            .case(&format!("metadata/update-{}", sample.name))
            .given(post(sample.path, sample.object()))
            .compare(merge_patch(&item, json!({"metadata": {"labels": {"x": "bad value!"}}})))
            .compare(merge_patch(&item, json!({"metadata": {"finalizers": ["bare"], "uid": "00000000-0000-4000-8000-000000000002"}})))
    }));
    cases
}

fn names() -> Vec<Case> {
    let long = "a".repeat(254);
    [
        ("upper", CONFIG_MAPS, json!({"name": "A"})),
        ("long", CONFIG_MAPS, json!({"name": long})),
        ("both", CONFIG_MAPS, json!({"name": "a.b-c", "generateName": "x-"})),
        ("role-segment", "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles", json!({"name": "a/b%"})),
        ("role-dot", "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles", json!({"name": "."})),
        ("role-colon", "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles", json!({"name": "system:a B"})),
        ("namespace-dot", "/api/v1/namespaces", json!({"name": "a.b"})),
        ("namespace-upper", "/api/v1/namespaces", json!({"name": "A"})),
        ("serviceaccount", "/api/v1/namespaces/{ns}/serviceaccounts", json!({"name": "a_b"})),
        ("lease", "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases", json!({"name": "-a"})),
    ]
    .into_iter()
    .map(|(name, path, meta)| {
        Case::new(&format!("metadata/name-{name}")).compare(post(path, json!({ "metadata": meta })))
    })
    .chain([
        Case::new("metadata/name-service-dot").compare(post("/api/v1/namespaces/{ns}/services", json!({"metadata": {"name": "a.b"}, "spec": {"clusterIP": "None"}}))),
        Case::new("metadata/name-service-digit").compare(post("/api/v1/namespaces/{ns}/services", json!({"metadata": {"name": "1a"}, "spec": {"clusterIP": "None"}}))),
        Case::new("metadata/name-address").compare(post("/apis/networking.k8s.io/v1/ipaddresses", json!({"metadata": {"name": "x"}, "spec": {"parentRef": {"resource": "services", "name": "x"}}}))),
    ])
    .collect()
}

fn faults() -> Vec<Case> {
    let big = "x".repeat(256 * 1024);
    [
        ("label-key", json!({"labels": {"a/b/c": "x"}})),
        ("label-empty-key", json!({"labels": {"": "x"}})),
        ("label-prefix", json!({"labels": {"A/b": "x"}})),
        ("label-value", json!({"labels": {"a": "-x"}})),
        ("label-long", json!({"labels": {"a": "x".repeat(64)}})),
        ("annotation-key", json!({"annotations": {"a b": "x"}})),
        ("annotation-upper-key", json!({"annotations": {"Ex.Dev/A": "x"}})),
        ("annotations-big", json!({"annotations": {"a": big}})),
        ("owner-empty", json!({"ownerReferences": [{"apiVersion": "", "kind": "", "name": "", "uid": ""}]})),
        ("owner-event", json!({"ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "x", "uid": "u"}]})),
        ("owner-two-controllers", json!({"ownerReferences": [owner("A", "x", true), owner("B", "y", true)]})),
        ("finalizer-bare", json!({"finalizers": ["bare"]})),
        ("finalizer-slashes", json!({"finalizers": ["a/b/c"]})),
        ("finalizer-both", json!({"finalizers": ["orphan", "foregroundDeletion"]})),
        ("generation", json!({"generation": -1})),
    ]
    .into_iter()
    .map(|(name, mut meta)| {
        meta["name"] = json!("a");
        Case::new(&format!("metadata/{name}")).compare(post(CONFIG_MAPS, json!({ "metadata": meta })).dry_run())
    })
    .collect()
}

fn changes() -> Vec<Case> {
    let made = || {
        post(
            CONFIG_MAPS,
            json!({"metadata": {"name": "a", "labels": {"x": "y"}}, "data": {"k": "v"}}),
        )
    };
    vec![
        Case::new("metadata/owners-twice").compare(
            post(CONFIG_MAPS, json!({"metadata": {"name": "a", "ownerReferences": [owner("A", "x", false), owner("A", "x", false)]}})).dry_run(),
        ),
        Case::new("metadata/change-name").given(made()).compare(merge_patch(ONE, json!({"metadata": {"name": "b"}}))),
        Case::new("metadata/change-namespace").given(made()).compare(merge_patch(ONE, json!({"metadata": {"namespace": "b"}}))),
        Case::new("metadata/change-what-the-server-sets")
            .given(made())
            .compare(merge_patch(ONE, json!({"metadata": {"creationTimestamp": "2000-01-01T00:00:00Z", "generation": 7, "selfLink": "/x"}})))
            .compare(merge_patch(ONE, json!({"metadata": {"deletionTimestamp": "2000-01-01T00:00:00Z"}})))
            .compare(merge_patch(ONE, json!({"metadata": {"deletionGracePeriodSeconds": 5}}))),
        Case::new("metadata/empty-parts-go")
            .compare(post(CONFIG_MAPS, json!({"metadata": {"name": "a", "labels": {}, "annotations": null, "finalizers": []}, "data": {}, "immutable": null})))
            .compare(put(ONE, json!({"metadata": {"name": "a", "labels": {}}, "binaryData": {}}))),
        Case::new("metadata/no-new-finalizers-while-deleting")
            .given(post(CONFIG_MAPS, json!({"metadata": {"name": "a", "finalizers": ["x.dev/a"]}})))
            .given(delete(ONE))
            .compare(merge_patch(ONE, json!({"metadata": {"finalizers": ["x.dev/a", "x.dev/b"]}})))
            .compare(merge_patch(ONE, json!({"metadata": {"labels": {"x": "y"}, "deletionTimestamp": null}})))
            .compare(merge_patch(ONE, json!({"metadata": {"finalizers": null}})))
            .compare(get(ONE))
            .finally(merge_patch(ONE, json!({"metadata": {"finalizers": null}}))),
    ]
}
