//! Admission webhooks: both servers call the same one, which [`hook`] runs in this process.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::case::{Case, Request, delete, merge_patch, post};
use super::hook;

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
const MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";

fn path(sort: &str) -> String {
    format!("{GROUP}/{sort}webhookconfigurations")
}

/// One webhook for config maps of the case's namespace that carry the label `case: NAME`.
fn webhook(name: &str, answer: &str, more: Value) -> Value {
    let hook = hook::running();
    let mut whole = json!({
        "name": format!("{name}.ex.dev"),
        "clientConfig": {"url": format!("{}/{answer}", hook.url), "caBundle": hook.ca_bundle},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"]}],
        "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 2,
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "{ns}"}},
        "objectSelector": {"matchLabels": {"case": name}},
    });
    if let (Some(whole), Value::Object(more)) = (whole.as_object_mut(), more) {
        whole.extend(more);
    }
    whole
}

fn map(case: &str, name: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"case": case}}, "data": {"a": "1"}})
}

fn try_map(case: &str) -> Request {
    post(MAPS, map(case, "x")).dry_run()
}

/// A case with webhooks; the last one, which denies, shows that they are at work.
fn with(name: &str, sort: &str, mut hooks: Vec<Value>) -> Case {
    hooks.push(webhook("probe", "deny", json!({})));
    let configuration = json!({"metadata": {"name": "{ns}"}, "webhooks": hooks});
    Case::new(name)
        .given(post(&path(sort), configuration))
        .until(try_map("probe"), |answer| answer.status == 400)
        .finally(delete(&format!("{}/{{ns}}", path(sort))))
}

/// A case that compares the answer to each webhook, named after what it answers.
fn each(name: &str, sort: &str, answers: &[&str]) -> Case {
    let hooks = answers.iter().map(|answer| webhook(answer, answer, json!({}))).collect();
    with(name, sort, hooks).compare_all(answers.iter().map(|answer| try_map(answer)))
}

/// Cases of webhooks.
pub fn cases() -> Vec<Case> {
    vec![
        each(
            "admission/webhook-denials",
            "validating",
            &["allow", "deny", "deny-code", "deny-silent", "deny-reason", "warn"],
        ),
        each(
            "admission/webhook-failures",
            "validating",
            &[
                "absent", "empty", "other-kind", "beta", "no-kind", "half", "nothing", "code-500", "text-500",
                "code-404", "text-403", "code-503", "code-418", "status", "patch", "only-type",
            ],
        ),
        with(
            "admission/webhook-connections",
            "validating",
            vec![
                webhook("refused", "", json!({"clientConfig": {"url": "https://127.0.0.1:1"}})),
                webhook("service", "", json!({"clientConfig": {"service": {"name": "none", "namespace": "{ns}", "path": "/p"}}})),
                webhook("untrusted", "", json!({"clientConfig": {"url": format!("{}/allow", hook::running().url)}})),
                webhook("junk", "", json!({"clientConfig": {"url": format!("{}/allow", hook::running().url), "caBundle": "anVuaw=="}})),
                webhook("slow", "slow", json!({"timeoutSeconds": 1})),
                webhook("ignored", "", json!({"clientConfig": {"url": "https://127.0.0.1:1"}, "failurePolicy": "Ignore"})),
            ],
        )
        .compare_all(["refused", "service", "junk", "untrusted", "slow", "ignored"].map(try_map)),
        with(
            "admission/webhook-conditions",
            "validating",
            vec![
                webhook("false", "deny", json!({"matchConditions": [{"name": "a", "expression": "object.data.a == '2'"}]})),
                webhook("true", "deny", json!({"matchConditions": [{"name": "a", "expression": "object.data.a == '1' && authorizer.requestResource.check('get').allowed()"}]})),
                webhook("error", "deny", json!({"matchConditions": [{"name": "a", "expression": "object.data.zz == '2'"}]})),
                webhook("ignored", "deny", json!({"failurePolicy": "Ignore", "matchConditions": [{"name": "a", "expression": "object.data.zz == '2'"}]})),
            ],
        )
        .compare_all(["false", "true", "error", "ignored"].map(try_map)),
        each(
            "admission/webhook-patches",
            "mutating",
            &[
                "allow", "deny", "patch", "patch-test", "patch-missing", "patch-unknown", "patch-type", "patch-invalid",
                "patch-empty", "only-patch", "only-type", "other-type", "junk-patch",
            ],
        ),
        with(
            "admission/webhook-reviews",
            "mutating",
            vec![webhook("echo", "echo", json!({}))],
        )
        .compare(try_map("echo"))
        .compare(post(MAPS, map("echo", "a")))
        .compare(merge_patch(&format!("{MAPS}/a"), json!({"data": {"a": "2"}})))
        .compare(post(MAPS, json!({"metadata": {"generateName": "g-", "labels": {"case": "echo"}}})).dry_run()),
        deletions(),
        chain(),
        refused(),
    ]
}

/// Each webhook sees what the ones before it changed; one that asked is called again.
fn chain() -> Case {
    let label = json!({"matchLabels": {"case": "chain"}});
    let of = |name: &str, more: Value| {
        let mut one = webhook(name, "append", json!({"objectSelector": label}));
        if let (Some(one), Value::Object(more)) = (one.as_object_mut(), more) {
            one.extend(more);
        }
        one
    };
    with(
        "admission/webhook-order",
        "mutating",
        vec![
            of("first", json!({})),
            of("second", json!({})),
            of("third", json!({"reinvocationPolicy": "IfNeeded"})),
        ],
    )
    .compare(try_map("chain"))
}

fn deletions() -> Case {
    with(
        "admission/webhook-on-delete",
        "validating",
        vec![webhook("delete", "deny-delete", json!({}))],
    )
    .given(post(MAPS, map("delete", "a")))
    .compare(delete(&format!("{MAPS}/a")))
    .compare(delete(MAPS).query("labelSelector", "case=delete"))
}

fn refused() -> Case {
    let hook = |more: Value| {
        let mut whole = json!({
            "name": "h.ex.dev", "clientConfig": {"url": "https://a.b/c"},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"]}],
            "sideEffects": "None", "admissionReviewVersions": ["v1"],
        });
        if let (Some(whole), Value::Object(more)) = (whole.as_object_mut(), more) {
            whole.extend(more);
        }
        whole
    };
    let create = |sort: &str, hooks: Vec<Value>| {
        post(&path(sort), json!({"metadata": {"name": "{ns}"}, "webhooks": hooks})).dry_run()
    };
    Case::new("admission/webhook-configurations")
        .compare(create("validating", vec![json!({})]))
        .compare(create("validating", vec![hook(json!({"name": "short"})), hook(json!({"name": "UP.ex.dev"}))]))
        .compare(create("validating", vec![hook(json!({})), hook(json!({}))]))
        .compare(create("validating", vec![hook(json!({"failurePolicy": "F", "matchPolicy": "F", "sideEffects": "Some", "timeoutSeconds": 31, "admissionReviewVersions": ["v2", "v2"]}))]))
        .compare(create("mutating", vec![hook(json!({"reinvocationPolicy": "F", "timeoutSeconds": 0, "admissionReviewVersions": [], "sideEffects": null}))]))
        .compare(create("validating", vec![hook(json!({"clientConfig": {"url": "http://a:b@c/d?e#f"}}))]))
        .compare(create("validating", vec![hook(json!({"clientConfig": {"service": {"name": "", "namespace": "", "port": 99999, "path": "a//b"}}}))]))
        .compare(create("validating", vec![hook(json!({"matchConditions": [{"name": "x", "expression": "params.a == 1"}, {"name": "y", "expression": "object.x"}]}))]))
        .compare(create("validating", vec![hook(json!({}))]))
        .compare(create("mutating", vec![hook(json!({"clientConfig": {"service": {"name": "s", "namespace": "n"}}}))]))
}

/// What a webhook is told, in short: the parts of the request that every server must send alike.
pub(super) fn told(request: &Value) -> String {
    let mut told = String::new();
    for key in
        ["operation", "kind", "resource", "requestKind", "name", "dryRun", "options", "subResource"]
    {
        if let Some(value) = request.get(key) {
            let _ = write!(told, "{key}={value} ");
        }
    }
    let _ = write!(told, "groups={} ", request["userInfo"]["groups"]);
    for key in ["object", "oldObject"] {
        let object = &request[key];
        let metadata: Vec<&String> =
            object["metadata"].as_object().into_iter().flat_map(|map| map.keys()).collect();
        let _ = write!(told, "{key}={} {} {metadata:?} ", object["kind"], object["data"]);
    }
    told.trim_end().to_owned()
}
