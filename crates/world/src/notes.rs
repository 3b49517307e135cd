//! What a story writes down about objects so that two clusters can be compared: everything that must be
//! the same on both, with a sign in place of what cannot.

use std::sync::LazyLock;

use kube::api::DynamicObject;
use regex::Regex;
use serde::Serialize;
use serde_json::{Value, json};

/// One thing written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// When in the story, in its own words.
    pub when: String,
    /// `Kustomization flux-system/apps`
    pub what: String,
    /// The object without what is a cluster's own.
    pub object: Value,
}

struct Sign {
    pattern: Regex,
    sign: &'static str,
}

/// In this order: what is longer comes first.
static SIGNS: LazyLock<Vec<Sign>> = LazyLock::new(|| {
    [
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", "<time>"),
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uid>"),
        (r"sha256:[0-9a-f]{64}", "sha256:<digest>"),
        (r"\b[0-9a-f]{40}\b", "<commit>"),
        (r"http://(127\.0\.0\.1:\d+|[a-z0-9.-]+\.svc\.cluster\.local\.?)/", "<storage>/"),
        (r"-\d{14}\b", "-<time>"),
        (r"-[bcdfghjklmnpqrstvwxz2456789]{8,10}\b", "-<hash>"),
        (r"-[bcdfghjklmnpqrstvwxz2456789]{5}\b", "-<suffix>"),
        (r"stat /\S*/(kustomization-\d+|helmchart-[a-z0-9-]+/source)/", "stat <folder>/"),
        (r"\b(in|after) (\d+(\.\d+)?(ms|µs|h|m|s))+", "$1 <duration>"),
    ]
    .into_iter()
    .filter_map(|(pattern, sign)| Some(Sign { pattern: Regex::new(pattern).ok()?, sign }))
    .collect()
});

fn text(text: &str, git: &str) -> String {
    let mut text = text.replace(git, "<git>");
    for sign in SIGNS.iter() {
        text = sign.pattern.replace_all(&text, sign.sign).into_owned();
    }
    text
}

fn value(found: &Value, git: &str) -> Value {
    match found {
        Value::String(found) => json!(text(found, git)),
        Value::Array(all) => all.iter().map(|one| value(one, git)).collect(),
        Value::Object(map) => {
            map.iter().map(|(key, one)| (text(key, git), value(one, git))).collect()
        }
        other => other.clone(),
    }
}

/// How long something took is a cluster's own; that it is told is not.
fn lengths(found: &mut Value) {
    match found {
        Value::Array(all) => all.iter_mut().for_each(lengths),
        Value::Object(map) => {
            for (key, one) in map {
                if key.ends_with("Duration") && one.is_string() {
                    *one = json!("<duration>");
                } else if key == "creationTime" && one.is_number() {
                    *one = json!("<time>");
                } else if key.ends_with("-hash") || key.ends_with("/hash") {
                    *one = json!("<hash>");
                } else if key == "resourceVersion" {
                    *one = json!("<version>");
                } else {
                    lengths(one);
                }
            }
        }
        _ => {}
    }
}

/// The note of an object; `git` is the address of the cluster's git.
pub(crate) fn of(when: &str, object: &DynamicObject, git: &str) -> Note {
    let mut managers: Vec<String> = object
        .metadata
        .managed_fields
        .iter()
        .flatten()
        .map(|entry| {
            let word = |part: &Option<String>| part.clone().unwrap_or_default();
            let parts = [&entry.manager, &entry.operation, &entry.subresource].map(word);
            parts.join(" ").trim_end().to_owned()
        })
        .collect();
    managers.sort();
    managers.dedup();
    let owners: Vec<Value> = object
        .metadata
        .owner_references
        .iter()
        .flatten()
        .map(|owner| serde_json::to_value(owner).unwrap_or_default())
        .collect();
    let mut plain = json!({
        "labels": object.metadata.labels, "annotations": object.metadata.annotations,
        "finalizers": object.metadata.finalizers, "generation": object.metadata.generation,
        "managers": managers, "owners": owners,
    });
    if let (Some(plain), Some(data)) = (plain.as_object_mut(), object.data.as_object()) {
        plain.extend(data.clone());
        plain.retain(|_, found| !found.is_null());
    }
    let mut plain = value(&plain, git);
    if let Some(artifact) = plain.pointer_mut("/status/artifact").and_then(Value::as_object_mut) {
        // Archives are packed differently.
        artifact.remove("size");
    }
    lengths(&mut plain);
    let kind = object.types.as_ref().map(|types| types.kind.clone()).unwrap_or_default();
    let name = text(object.metadata.name.as_deref().unwrap_or_default(), git);
    let what = match &object.metadata.namespace {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    };
    Note { when: when.to_owned(), what, object: plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_between_clusters_becomes_a_sign() {
        let same = |one: &str, sign: &str| assert_eq!(text(one, "http://git.world"), sign);
        same("since 2026-01-01T00:00:00.5Z", "since <time>");
        same("clone 'http://git.world/a.git'", "clone '<git>/a.git'");
        same("main@sha1:088bc429f432869d673add17ecf963d1b47a3629", "main@sha1:<commit>");
        same("http://127.0.0.1:4711/gitrepository/x", "<storage>/gitrepository/x");
        same(
            "ReplicaSet \"web-6c5f7d9b4d\" of web-settings",
            "ReplicaSet \"web-<hash>\" of web-settings",
        );
        same("web-6c5f7d9b4d-x2z4q", "web-<hash>-<suffix>");
        same("Health check passed in 1m2.5s", "Health check passed in <duration>");
        same("failed after 5.066ms: why", "failed after <duration>: why");
    }

    #[test]
    fn a_note_keeps_what_the_cluster_says_and_drops_what_is_its_own() {
        let object: DynamicObject = serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": "a", "namespace": "b", "uid": "x", "resourceVersion": "7", "generation": 1,
                "managedFields": [{"manager": "kubectl", "operation": "Apply"}],
            },
            "data": {"k": "v", "of-26520ee0-dc58-4502-9194-418daeaeeb16": "x"},
        }))
        .unwrap();
        let note = of("first", &object, "http://git.world");
        assert_eq!(note.what, "ConfigMap b/a");
        assert_eq!(
            note.object,
            json!({
                "generation": 1, "managers": ["kubectl Apply"], "owners": [],
                "data": {"k": "v", "of-<uid>": "x"},
            })
        );
    }
}
