//! Kinds that are served in a version other than the stored one.

use serde_json::Value;

use crate::resource::Resource;

/// A stored object as `resource`'s version shows it.
pub fn to_version(resource: &Resource, object: &Value) -> Value {
    if resource.group == "events.k8s.io" {
        return super::event::to_events(object);
    }
    let mut shown = object.clone();
    if let Some(map) = shown.as_object_mut() {
        map.insert("apiVersion".into(), Value::from(resource.api_version()));
    }
    shown
}

/// An object of `resource`'s version as it is stored.
pub fn from_version(resource: &Resource, object: Value) -> Value {
    if resource.group == "events.k8s.io" {
        return super::event::to_core(&object);
    }
    let mut stored = object;
    if let Some(map) = stored.as_object_mut() {
        let version = match resource.group.as_str() {
            "autoscaling" => "autoscaling/v2",
            _ => return stored,
        };
        map.insert("apiVersion".into(), Value::from(version));
    }
    stored
}

/// Parts that a kind's type prints even when they are empty.
pub fn empty_parts(resource: &Resource) -> Vec<(String, Value)> {
    let _ = resource;
    Vec::new()
}
