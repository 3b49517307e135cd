//! Lists: order, pages, revisions, selectors and forms.

use serde_json::{Value, json};

use super::case::{Case, Request, delete, get, post};

const MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";
const SECRETS: &str = "/api/v1/namespaces/{ns}/secrets";

fn secret(name: &str, labels: Value) -> Request {
    post(SECRETS, json!({"metadata": {"name": name, "labels": labels}}))
}

/// A case that starts with three Secrets: a and b are blue, c is red.
fn three(name: &str) -> Case {
    Case::new(name)
        .given(secret("b", json!({"color": "blue", "tier": "1"})))
        .given(secret("a", json!({"color": "blue"})))
        .given(secret("c", json!({"color": "red", "tier": "2"})).named("last"))
}

fn list(query: &str) -> Request {
    get(&format!("{SECRETS}?{query}"))
}

/// Cases of lists.
pub fn cases() -> Vec<Case> {
    let mut cases = vec![
        three("lists/in-the-order-of-names").compare(get(SECRETS)),
        Case::new("lists/nothing").compare_all([
            get(SECRETS),
            get("/api/v1/namespaces/{ns}-missing/secrets"),
            get("/apis/apps/v1/namespaces/{ns}/deployments"),
        ]),
        three("lists/pages")
            .compare(list("limit=2").named("page").ignoring("/metadata/continue"))
            .compare(list("limit=2&continue={continue:page}"))
            .compare(list("limit=3"))
            .compare(list("limit=10"))
            .compare(list("limit=-1")),
        three("lists/a-page-shows-the-moment-it-began")
            .given(list("limit=1").named("page"))
            .given(delete(&format!("{SECRETS}/c")))
            .given(secret("d", json!({})))
            .compare(list("limit=5&continue={continue:page}"))
            .compare(get(SECRETS)),
        three("lists/a-page-with-a-selector-counts-nothing")
            .compare(list("limit=1&labelSelector=color%3Dblue").ignoring("/metadata/continue")),
        three("lists/revision-zero-ignores-the-limit").compare(list("limit=1&resourceVersion=0")),
        three("lists/not-older-than")
            .compare(list("resourceVersion={rv:last}"))
            .compare(list("resourceVersion={rv:last}&resourceVersionMatch=NotOlderThan")),
        three("lists/exactly-then")
            .given(secret("d", json!({})))
            .compare(list("resourceVersion={rv:last}&resourceVersionMatch=Exact"))
            .compare(list("resourceVersion={rv:last}&limit=2").ignoring("/metadata/continue")),
        Case::new("lists/refused-options").compare_all([
            list("resourceVersionMatch=Exact"),
            list("resourceVersionMatch=Exact&resourceVersion=0"),
            list("resourceVersionMatch=Bogus&resourceVersion=1"),
            list("resourceVersion=abc"),
            list("limit=abc"),
            list("continue=abc"),
            list("sendInitialEvents=true"),
            list("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=1"),
        ]),
        Case::new("lists/a-revision-from-the-future")
            .compare(list("resourceVersion=999999999999").ignoring("/message"))
            .compare(get(&format!("{MAPS}/a?resourceVersion=999999999999")).ignoring("/message")),
        Case::new("lists/continue-forbids-a-match")
            .given(secret("a", json!({})))
            .given(secret("b", json!({})))
            .given(list("limit=1").named("page"))
            .compare(list(
                "limit=1&continue={continue:page}&resourceVersionMatch=Exact&resourceVersion=1",
            )),
    ];
    for (name, selector) in [
        ("equal", "color=blue"),
        ("double-equal", "color==blue"),
        ("not-equal", "color!=blue"),
        ("in", "color+in+(blue,green)"),
        ("not-in", "color+notin+(blue)"),
        ("exists", "tier"),
        ("missing", "!tier"),
        ("greater", "tier%3E1"),
        ("less", "tier%3C2"),
        ("both", "color=blue,tier"),
        ("refused", "color==,"),
        ("refused-operator", "color+~+blue"),
        ("refused-value", "color=a+b"),
    ] {
        cases.push(
            three(&format!("lists/labels-{name}"))
                .compare(get(SECRETS).query("labelSelector", selector)),
        );
    }
    for (name, selector) in [
        ("name", "metadata.name=b"),
        ("not-name", "metadata.name!=b"),
        ("namespace", "metadata.namespace={ns}"),
        ("type", "type=Opaque"),
        ("unknown", "data.a=b"),
        ("refused", "bogus"),
    ] {
        cases.push(
            three(&format!("lists/fields-{name}"))
                .compare(get(SECRETS).query("fieldSelector", selector)),
        );
    }
    cases.extend([
        Case::new("lists/fields-of-other-kinds").compare_all([
            get("/apis/apps/v1/namespaces/{ns}/deployments?fieldSelector=spec.replicas%3D1"),
            get("/api/v1/namespaces/{ns}/pods?fieldSelector=spec.nodeName%3Dn,status.phase%3DRunning"),
            get("/api/v1/namespaces/{ns}/services?fieldSelector=spec.type%3DClusterIP"),
        ]),
        three("lists/only-metadata").compare_all([
            get(SECRETS).accept("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"),
            get(&format!("{SECRETS}/a")).accept("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"),
            get(SECRETS).accept("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"),
        ]),
        three("lists/unknown-forms").compare_all([
            get(SECRETS).accept("text/html"),
            get(SECRETS).accept("application/json;as=Bogus;g=meta.k8s.io;v=v1"),
        ]),
    ]);
    cases
}
