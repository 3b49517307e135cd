//! What a real kube-apiserver 1.36.3 was seen to do with workloads, line by line: `sent` became `stored`,
//! or `patch` (RFC 7386) on `old` was answered with `causes`. Identities are `UID`, namespaces `here`.

use serde_json::{Map, Value, json};

use super::{Strategy, meta, priority, resources, strategy};
use crate::fields::FieldError;
use crate::resource::Resource;

fn lines() -> impl Iterator<Item = Value> {
    include_str!("seen.jsonl").lines().map(|line| serde_json::from_str(line).unwrap())
}

fn kind_of(line: &Value) -> (Strategy, &'static Resource) {
    let text = |key: &str| line[key].as_str().unwrap();
    let resource = resources()
        .iter()
        .find(|r| r.api_version() == text("version") && r.kind == text("kind"))
        .unwrap();
    (strategy(text("group"), text("kind")), resource)
}

/// The object as it is before validation.
fn created(line: &Value, strategy: Strategy, resource: &Resource) -> Value {
    let mut object = line["sent"].clone();
    object["apiVersion"] = line["version"].clone();
    object["kind"] = line["kind"].clone();
    (strategy.defaults)(&mut object);
    let meta = object["metadata"].as_object_mut().unwrap();
    meta.insert("uid".into(), json!("UID"));
    meta.insert("creationTimestamp".into(), json!("2026-01-01T00:00:00Z"));
    if resource.namespaced {
        meta.insert("namespace".into(), json!("here"));
    }
    admitted(&mut object, None);
    (strategy.prepare_create)(&mut object);
    object
}

fn admitted(object: &mut Value, old: Option<&Value>) {
    if object["kind"] == "Pod" {
        let class = json!({"metadata": {"name": "here"}, "value": 7});
        priority::pod(object, old, &[&class]).unwrap();
    }
}

fn merged(target: &Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else { return patch.clone() };
    let mut out = target.as_object().cloned().unwrap_or_default();
    for (key, value) in patch {
        if value.is_null() {
            out.remove(key);
        } else {
            let merged = merged(out.get(key).unwrap_or(&Value::Null), value);
            out.insert(key.clone(), merged);
        }
    }
    Value::Object(out)
}

/// In one order: the real server walks some maps in a random one.
fn causes(errors: &[FieldError]) -> Vec<(String, String)> {
    let mut causes: Vec<_> = errors.iter().map(|e| (e.field.clone(), e.message())).collect();
    causes.sort();
    causes
}

fn expected(line: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut causes: Vec<_> =
        line["causes"].as_array().unwrap().iter().map(|c| (text(&c[0]), text(&c[1]))).collect();
    causes.sort();
    causes
}

fn without_identity(object: &Value) -> Value {
    let mut object = object.clone();
    let keep: Map<String, Value> = object["metadata"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, _)| matches!(key.as_str(), "labels" | "annotations"))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    object["metadata"] = Value::Object(keep);
    object
}

#[test]
fn new_objects_are_stored_as_seen() {
    let mut count = 0;
    for line in lines().filter(|line| line.get("stored").is_some()) {
        let (strategy, resource) = kind_of(&line);
        let object = created(&line, strategy, resource);
        assert_eq!(
            without_identity(&object),
            without_identity(&line["stored"]),
            "{}",
            line["sent"]
        );
        assert_eq!(causes(&(strategy.validate)(&object)), [], "{}", line["sent"]);
        count += 1;
    }
    assert!(count > 60, "{count}");
}

#[test]
fn new_objects_are_refused_as_seen() {
    let mut count = 0;
    for line in lines().filter(|line| line.get("sent").is_some() && line.get("causes").is_some()) {
        let (strategy, resource) = kind_of(&line);
        let object = created(&line, strategy, resource);
        let mut errors = meta::validate_create(resource, &object);
        errors.extend((strategy.validate)(&object));
        assert_eq!(causes(&errors), expected(&line), "{}", line["sent"]);
        count += 1;
    }
    assert!(count > 150, "{count}");
}

#[test]
fn changes_are_judged_as_seen() {
    let mut count = 0;
    for line in lines().filter(|line| line.get("old").is_some()) {
        let (strategy, resource) = kind_of(&line);
        let old = &line["old"];
        let mut new = merged(old, &line["patch"]);
        (strategy.defaults)(&mut new);
        admitted(&mut new, Some(old));
        (strategy.prepare_update)(&mut new, old);
        let mut errors = meta::validate_update(resource, &new, old);
        if strategy.revalidate {
            errors.extend((strategy.validate)(&new));
        }
        errors.extend((strategy.validate_update)(&new, old));
        assert_eq!(causes(&errors), expected(&line), "{} {}", line["kind"], line["patch"]);
        count += 1;
    }
    assert!(count > 90, "{count}");
}
