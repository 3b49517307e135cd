//! Watches: what comes, in which order, and when it ends.

use serde_json::{Value, json};

use super::case::{Case, Request, delete, get, merge_patch, post, watch};

const SECRETS: &str = "/api/v1/namespaces/{ns}/secrets";
const ONE: &str = "/api/v1/namespaces/{ns}/secrets/a";

fn secret(name: &str, labels: Value) -> Request {
    post(SECRETS, json!({"metadata": {"name": name, "labels": labels}}))
}

fn follow(query: &str) -> Request {
    watch(&format!("{SECRETS}?{query}"))
}

/// A case with a history: a is created, changed, and deleted; b is created.
fn history(name: &str) -> Case {
    Case::new(name)
        .given(secret("first", json!({})).named("start"))
        .given(secret("a", json!({"color": "blue"})).named("created"))
        .given(merge_patch(ONE, json!({"metadata": {"labels": {"color": "red"}}})).named("changed"))
        .given(secret("b", json!({"color": "blue"})).named("other"))
        .given(delete(ONE))
}

/// Cases of watches.
pub fn cases() -> Vec<Case> {
    vec![
        history("watches/from-a-revision").compare(follow("resourceVersion={rv:start}").stop_after(4)),
        history("watches/from-a-later-revision")
            .compare(follow("resourceVersion={rv:changed}").stop_after(2)),
        history("watches/without-a-revision").compare(follow("").stop_after(2)),
        history("watches/from-revision-zero").compare(follow("resourceVersion=0").stop_after(2)),
        history("watches/revision-zero-with-bookmarks")
            .compare(follow("resourceVersion=0&allowWatchBookmarks=true").stop_at_bookmark()),
        history("watches/a-label-comes-and-goes").compare_all([
            follow("resourceVersion={rv:start}&labelSelector=color%3Dblue").stop_after(3),
            follow("resourceVersion={rv:start}&labelSelector=color%3Dred").stop_after(2),
            follow("resourceVersion={rv:created}&labelSelector=color%3Dblue").stop_after(2),
        ]),
        history("watches/by-name")
            .compare(follow("resourceVersion={rv:start}&fieldSelector=metadata.name%3Da").stop_after(3)),
        history("watches/the-old-paths")
            .compare(watch("/api/v1/watch/namespaces/{ns}/secrets?resourceVersion={rv:start}").stop_after(4))
            .compare(
                watch("/api/v1/watch/namespaces/{ns}/secrets/a?resourceVersion={rv:start}").stop_after(3),
            ),
        history("watches/initial-events").compare_all([
            follow("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
                .stop_at_bookmark(),
            follow("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=0")
                .stop_at_bookmark(),
            follow("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion={rv:start}")
                .stop_after(2),
        ]),
        Case::new("watches/refused-options").compare_all([
            follow("sendInitialEvents=true"),
            follow("resourceVersionMatch=NotOlderThan"),
            follow("sendInitialEvents=true&resourceVersionMatch=Exact"),
            follow("resourceVersion=abc"),
            follow("labelSelector=a%3D%3D,"),
            follow("fieldSelector=data.x%3Dy"),
            follow("timeoutSeconds=abc"),
        ]),
        Case::new("watches/the-server-ends-it").compare(follow("timeoutSeconds=1")),
        Case::new("watches/a-bookmark-ends-what-is-known").compare(
            follow("timeoutSeconds=1&allowWatchBookmarks=true").stop_at_bookmark(),
        ),
        history("watches/only-metadata").compare(
            follow("resourceVersion={rv:start}")
                .accept("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
                .stop_after(4),
        ),
        history("watches/as-yaml").compare(follow("resourceVersion={rv:start}").accept("application/yaml")),
        history("watches/an-object-is-not-watched")
            .compare(get("/api/v1/namespaces/{ns}/secrets/b?watch=true")),
        Case::new("watches/finalizers-take-two-steps")
            .given(post(SECRETS, json!({"metadata": {"name": "a", "finalizers": ["example.com/hold"]}})).named("start"))
            .given(delete(ONE))
            .given(merge_patch(ONE, json!({"metadata": {"finalizers": null}})))
            .compare(follow("resourceVersion={rv:start}").stop_after(2)),
        Case::new("watches/nothing-changes-nothing")
            .given(secret("a", json!({"color": "blue"})).named("start"))
            .given(merge_patch(ONE, json!({"metadata": {"labels": {"color": "blue"}}})))
            .given(merge_patch(ONE, json!({"metadata": {"labels": {"color": "red"}}})))
            .compare(follow("resourceVersion={rv:start}").stop_after(1)),
        Case::new("watches/another-namespace-is-not-seen")
            .given(post("/api/v1/namespaces", json!({"metadata": {"name": "{ns}-two"}})))
            .given(secret("a", json!({})).named("start"))
            .given(post("/api/v1/namespaces/{ns}-two/secrets", json!({"metadata": {"name": "x"}})))
            .given(secret("b", json!({})))
            .compare(follow("resourceVersion={rv:start}").stop_after(1))
            .finally(delete("/api/v1/namespaces/{ns}-two")),
    ]
}
