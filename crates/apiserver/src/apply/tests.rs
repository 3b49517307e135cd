use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::builtin;
use crate::schema::{Schema, Shape};

const NOW: &str = "2030-01-01T00:00:00Z";

fn recorded() -> (Shape, Vec<Value>) {
    let recorded: Value = serde_json::from_str(include_str!("recorded.json")).unwrap();
    let schema: Schema = serde_json::from_value(recorded["schema"].clone()).unwrap();
    let shape = Shape::own(Arc::default(), schema);
    (shape, recorded["steps"].as_array().unwrap().clone())
}

/// Managed fields with times replaced by whether there is one and whether it is now.
fn entries(object: &Value, before: Option<&Value>) -> Value {
    let old_times: Vec<&Value> = before
        .and_then(|b| b.pointer("/metadata/managedFields"))
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.get("time"))
        .collect();
    let mut entries = object.pointer("/metadata/managedFields").cloned().unwrap_or_default();
    if let Some(entries) = entries.as_array_mut() {
        for entry in entries.iter_mut() {
            let time = match entry.get("time") {
                None => "none",
                Some(time) if old_times.contains(&time) => "old",
                Some(_) => "now",
            };
            entry["time"] = json!(time);
        }
        entries.sort_by_key(|e| {
            format!("{}{}{}{}", e["operation"], e["manager"], e["apiVersion"], e["subresource"])
        });
    }
    entries
}

fn sorted_lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// What the client wanted: what was stored, without what the server wrote itself.
fn wanted(step: &Value) -> Value {
    let mut new = step["answer"].clone();
    let metadata = new["metadata"].as_object_mut().unwrap();
    for name in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
        metadata.remove(name);
    }
    // Set by admission plugins, after ownership is decided.
    if new["kind"] == "Pod" {
        let spec = new["spec"].as_object_mut().unwrap();
        for name in ["preemptionPolicy", "priority", "tolerations"] {
            spec.remove(name);
        }
    }
    let metadata = new["metadata"].as_object_mut().unwrap();
    if let Some(sent) = step["sent"].pointer("/metadata/managedFields") {
        metadata.insert("managedFields".into(), sent.clone());
    }
    new
}

fn default_widget(widget: &mut Value) {
    let spec = widget["spec"].as_object_mut().unwrap();
    spec.entry("size").or_insert(json!(3));
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        port.as_object_mut().unwrap().entry("protocol").or_insert(json!("TCP"));
    }
}

#[test]
fn answers_as_the_real_server_did() {
    let (widget, steps) = recorded();
    let mut wrong = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let text = |name: &str| step[name].as_str().unwrap_or_default();
        let builtin = Shape::named(builtin::definitions().clone(), text("definition"));
        let custom = builtin.is_none();
        let shape = builtin.unwrap_or_else(|| widget.clone());
        let writer = Writer {
            manager: text("manager"),
            api_version: text("apiVersion"),
            subresource: text("subresource"),
            now: NOW,
        };
        let mut live = step.get("live").cloned();
        if let Some(live) = &mut live {
            live["apiVersion"] = step["apiVersion"].clone();
        }
        let place = format!("{index} {} {} {}", text("case"), text("op"), text("manager"));
        let result = if text("op") == "apply" {
            let force = step.get("force").is_some();
            let reset = if custom {
                reset_of_custom(true, writer.subresource)
            } else {
                resets(shape.node(), &step["sent"], &writer)
            };
            apply_except(shape.node(), live.as_ref(), &step["sent"], &writer, force, &reset)
        } else {
            let mut new = wanted(step);
            let reset = if custom {
                reset_of_custom(true, writer.subresource)
            } else {
                resets(shape.node(), &new, &writer)
            };
            track_except(shape.node(), live.as_ref(), &mut new, &writer, &reset);
            Ok(new)
        };
        match (result, step.get("message").and_then(Value::as_str)) {
            (Ok(object), None) => {
                let (mine, theirs) =
                    (entries(&object, live.as_ref()), entries(&step["answer"], live.as_ref()));
                if mine != theirs {
                    wrong.push(format!("{place}:\n  real {theirs}\n  mine {mine}"));
                }
                let main = writer.subresource.is_empty();
                if main && (text("definition").ends_with("ConfigMap") || custom) {
                    let mut mine = object.clone();
                    if custom {
                        default_widget(&mut mine);
                    }
                    for part in ["/spec", "/data", "/metadata/labels", "/metadata/annotations"] {
                        let (mine, theirs) = (mine.pointer(part), step["answer"].pointer(part));
                        if mine != theirs {
                            wrong.push(format!(
                                "{place} {part}:\n  real {}\n  mine {}",
                                json!(theirs),
                                json!(mine)
                            ));
                        }
                    }
                }
            }
            (Err(failure), Some(message)) => {
                if sorted_lines(&failure.message) != sorted_lines(message)
                    || Some(u64::from(failure.code)) != step["code"].as_u64()
                {
                    wrong.push(format!("{place}:\n  real {message}\n  mine {}", failure.message));
                }
                if let Some(causes) = step["causes"].as_array() {
                    let mut mine: Vec<String> = failure.details.unwrap()["causes"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(Value::to_string)
                        .collect();
                    let mut theirs: Vec<String> = causes.iter().map(Value::to_string).collect();
                    mine.sort();
                    theirs.sort();
                    if mine != theirs {
                        wrong.push(format!("{place}:\n  real {theirs:?}\n  mine {mine:?}"));
                    }
                }
            }
            (Ok(_), Some(message)) => wrong.push(format!("{place}: is refused: {message}")),
            (Err(failure), None) => wrong.push(format!("{place}: is allowed: {}", failure.message)),
        }
    }
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), steps.len(), wrong.join("\n"));
}

fn config_map(data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data})
}

fn writer(manager: &str) -> Writer<'_> {
    Writer { manager, api_version: "v1", subresource: "", now: NOW }
}

fn config_maps() -> Shape {
    Shape::named(builtin::definitions().clone(), "io.k8s.api.core.v1.ConfigMap").unwrap()
}

fn data() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[a-d]", "[xy]", 0..4).prop_map(|map| json!(map))
}

fn spec() -> impl Strategy<Value = Value> {
    let tags = Just(vec!["a", "b", "c", "d"])
        .prop_shuffle()
        .prop_flat_map(|tags| (0..tags.len()).prop_map(move |n| tags[..n].to_vec()));
    let ports = prop::collection::btree_map(0..4u8, "[xy]", 0..4);
    (data(), tags, ports, data()).prop_map(|(labels, tags, ports, any)| {
        let ports: Vec<Value> =
            ports.into_iter().map(|(port, name)| json!({"port": port, "name": name})).collect();
        json!({"apiVersion": "ex.dev/v1", "kind": "Widget", "metadata": {"name": "a"},
            "spec": {"labels": labels, "tags": tags, "ports": ports, "any": any}})
    })
}

proptest! {
    #[test]
    fn applying_twice_changes_nothing(first in data(), second in data()) {
        let shape = config_maps();
        let one = apply(shape.node(), None, &config_map(&first), &writer("m1"), false).unwrap();
        let two = apply(shape.node(), Some(&one), &config_map(&second), &writer("m2"), true).unwrap();
        let later = Writer { now: "2031-01-01T00:00:00Z", ..writer("m2") };
        let again = apply(shape.node(), Some(&two), &config_map(&second), &later, false).unwrap();
        prop_assert_eq!(two, again);
    }

    #[test]
    fn what_one_manager_applies_and_drops_is_gone(first in spec(), second in spec()) {
        let (shape, _) = recorded();
        let v1 = Writer { api_version: "ex.dev/v1", ..writer("m1") };
        let one = apply(shape.node(), None, &first, &v1, false).unwrap();
        let both = apply(shape.node(), Some(&one), &second, &v1, false).unwrap();
        let fresh = apply(shape.node(), None, &second, &v1, false).unwrap();
        let entries = |o: &Value| o["metadata"]["managedFields"].clone();
        prop_assert_eq!(entries(&both)[0]["fieldsV1"].clone(), entries(&fresh)[0]["fieldsV1"].clone());
        prop_assert_eq!(settled(&both["spec"]), settled(&fresh["spec"]));
    }

    #[test]
    fn force_always_wins(first in spec(), second in spec()) {
        let (shape, _) = recorded();
        let v1 = |manager| Writer { api_version: "ex.dev/v1", ..writer(manager) };
        let one = apply(shape.node(), None, &first, &v1("m1"), false).unwrap();
        let two = apply(shape.node(), Some(&one), &second, &v1("m2"), true).unwrap();
        for (name, value) in second["spec"]["labels"].as_object().unwrap() {
            prop_assert_eq!(&two["spec"]["labels"][name], value);
        }
        prop_assert!(apply(shape.node(), Some(&two), &second, &v1("m2"), false).is_ok());
    }

    #[test]
    fn an_update_owns_what_it_changed(first in data(), second in data()) {
        let shape = config_maps();
        let mut live = config_map(&first);
        track(shape.node(), None, &mut live, &writer("m1"));
        let mut new = config_map(&second);
        track(shape.node(), Some(&live), &mut new, &writer("m2"));
        let owned = |manager: &str| -> Vec<String> {
            let managed = Managed::of(&new).unwrap();
            let entry = managed.0.get(&Id::updater(manager, "v1", "")).cloned();
            entry.map(|e| e.set.paths()).unwrap_or_default()
        };
        for (name, value) in second.as_object().unwrap() {
            let path = format!(".data.{name}");
            let changed = first.get(name) != Some(value);
            prop_assert_eq!(owned("m2").contains(&path), changed);
            prop_assert_eq!(owned("m1").contains(&path), !changed);
        }
    }
}

/// Without the empty containers and the order that merging leaves behind.
fn settled(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut out = serde_json::Map::new();
            for (name, value) in map {
                let value = settled(value);
                if !value.is_null() && value != json!({}) && value != json!([]) {
                    out.insert(name.clone(), value);
                }
            }
            Value::Object(out)
        }
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(settled).collect();
            items.sort_by_key(Value::to_string);
            Value::Array(items)
        }
        other => other.clone(),
    }
}

#[test]
fn times_alone_are_no_difference() {
    let object = |time: &str, fields: Value| {
        json!({"data": {"a": "1"}, "metadata": {"name": "a",
            "managedFields": [{"manager": "m", "time": time, "fieldsV1": fields}]}})
    };
    let old = object("2030-01-01T00:00:00Z", json!({"f:data": {}}));
    assert!(same_but_for_times(&old, &object("2031-01-01T00:00:00Z", json!({"f:data": {}}))));
    assert!(!same_but_for_times(&old, &object("2030-01-01T00:00:00Z", json!({}))));
    let mut other = old.clone();
    other["data"]["a"] = json!("2");
    assert!(!same_but_for_times(&old, &other));
}

#[test]
fn the_replica_count_moves_between_object_and_scale() {
    let deployment = json!({"metadata": {"managedFields": [
        {"manager": "m1", "operation": "Apply", "apiVersion": "apps/v1", "time": NOW, "fieldsType": "FieldsV1",
         "fieldsV1": {"f:spec": {"f:replicas": {}, "f:paused": {}}}},
        {"manager": "m2", "operation": "Update", "apiVersion": "apps/v1", "time": NOW, "fieldsType": "FieldsV1",
         "fieldsV1": {"f:spec": {"f:template": {}}}},
    ]}});
    let replicas = &["spec", "replicas"];
    let scale = scale_entries(&deployment, replicas).unwrap();
    assert_eq!(
        scale,
        json!([{"manager": "m1", "operation": "Apply", "apiVersion": "autoscaling/v1", "time": NOW,
            "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}}}])
    );
    let written = json!({"metadata": {"managedFields": [
        {"manager": "hpa", "operation": "Update", "apiVersion": "autoscaling/v1", "time": NOW, "fieldsType": "FieldsV1",
         "subresource": "scale", "fieldsV1": {"f:spec": {"f:replicas": {}}}}]}});
    let entries = parent_entries(&deployment, &written, replicas, "apps/v1").unwrap();
    let named: Vec<(&str, Value)> = entries
        .as_array()
        .unwrap()
        .iter()
        .map(|e| (e["manager"].as_str().unwrap(), e["fieldsV1"]["f:spec"].clone()))
        .collect();
    assert_eq!(
        named,
        [
            ("m1", json!({"f:paused": {}})),
            ("hpa", json!({"f:replicas": {}})),
            ("m2", json!({"f:template": {}})),
        ]
    );
}

#[test]
fn an_empty_list_forgets_the_managers_of_built_in_kinds() {
    let shape = config_maps();
    let live = apply(shape.node(), None, &config_map(&json!({"a": "1"})), &writer("m1"), false);
    let live = live.unwrap();
    for sent in [json!([]), json!([{}])] {
        let mut new = live.clone();
        new["metadata"]["managedFields"] = sent;
        track(shape.node(), Some(&live), &mut new, &writer("m2"));
        assert_eq!(new["metadata"].get("managedFields"), None);
    }
    let (shape, _) = recorded();
    let widget = json!({"apiVersion": "ex.dev/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"name": "x"}});
    let v1 = Writer { api_version: "ex.dev/v1", ..writer("m1") };
    let live = apply(shape.node(), None, &widget, &v1, false).unwrap();
    let mut new = live.clone();
    new["metadata"]["managedFields"] = json!([]);
    track(shape.node(), Some(&live), &mut new, &v1);
    assert_eq!(new, live);
}
