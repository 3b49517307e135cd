//! Kinds that are served in a version other than the stored one.

use serde_json::Value;

use crate::resource::Resource;

/// A stored object as `resource`'s version shows it.
pub fn to_version(resource: &Resource, object: &Value) -> Value {
    if resource.group == "events.k8s.io" {
        return super::event::to_events(object);
    }
    if resource.group == "autoscaling" {
        return super::autoscaler_v1::to_v1(object);
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
    if resource.group == "autoscaling" {
        return super::autoscaler_v1::from_v1(object);
    }
    object
}

/// Parts that a kind's type prints even when they are empty.
pub fn empty_parts(resource: &Resource) -> Vec<(String, Value)> {
    let empty = super::form::empty(&resource.api_version(), &resource.kind);
    let parts = empty.as_ref().and_then(Value::as_object).into_iter().flatten();
    parts
        .filter(|(name, _)| !matches!(name.as_str(), "apiVersion" | "kind" | "metadata"))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}
