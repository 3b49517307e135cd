//! Custom schemas as the server publishes them: completed with what every object has.

use serde_json::{Map, Value, json};

use super::descriptions::description;
use super::reference;
use crate::resource::Resource;

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
/// Every kind's own fields are described in the same words.
const ANY_KIND: &str = "io.k8s.api.core.v1.ConfigMap";

/// The schema of a custom kind.
pub fn schema(resource: &Resource) -> Value {
    let written = resource.custom_kind.as_ref().map(|kind| kind.schema.clone());
    let mut schema = written.filter(Value::is_object).unwrap_or_else(|| json!({"type": "object"}));
    complete(&mut schema);
    if schema["x-kubernetes-preserve-unknown-fields"] != true || schema["properties"].is_object() {
        add_own_fields(&mut schema, "ObjectMeta");
    }
    schema["x-kubernetes-group-version-kind"] = kind(resource, &resource.kind);
    schema
}

/// The schema of a list of a custom kind.
pub fn list(resource: &Resource, name: &str) -> Value {
    let mut schema = json!({
        "description": format!("{} is a list of {}", resource.list_kind, resource.kind),
        "type": "object",
        "required": ["items"],
        "properties": { "items": {
            "description": format!("List of {}.", resource.plural),
            "type": "array",
            "items": reference(name),
        }},
        "x-kubernetes-group-version-kind": kind(resource, &resource.list_kind),
    });
    add_own_fields(&mut schema, "ListMeta");
    schema
}

fn kind(resource: &Resource, kind: &str) -> Value {
    json!([{ "group": resource.group, "kind": kind, "version": resource.version }])
}

/// Adds apiVersion, kind and metadata.
fn add_own_fields(schema: &mut Value, metadata: &str) {
    let Some(map) = schema.as_object_mut() else { return };
    let properties = map.entry("properties").or_insert_with(|| json!({}));
    let Some(properties) = properties.as_object_mut() else { return };
    for field in ["apiVersion", "kind"] {
        let mut own = json!({ "type": "string" });
        say(&mut own, description(ANY_KIND, field));
        properties.insert(field.into(), own);
    }
    let mut own = json!({ "allOf": [reference(&format!("{META}.{metadata}"))] });
    if metadata == "ObjectMeta" {
        say(&mut own, description(ANY_KIND, "metadata"));
    }
    properties.insert("metadata".into(), own);
}

fn say(schema: &mut Value, said: Option<String>) {
    if let Some(said) = said {
        schema["description"] = Value::from(said);
    }
}

/// Spells out what Kubernetes' extensions imply, down to the leaves.
fn complete(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    if map.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        map.entry("anyOf").or_insert_with(|| json!([{"type": "integer"}, {"type": "string"}]));
    }
    for field in ["items", "additionalProperties"] {
        if let Some(inner) = map.get_mut(field) {
            complete(inner);
        }
    }
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        properties.values_mut().for_each(complete);
    }
    if map.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true)) {
        require(map, &["kind", "apiVersion"]);
        add_own_fields(schema, "ObjectMeta");
    }
}

fn require(map: &mut Map<String, Value>, fields: &[&str]) {
    let required = map.entry("required").or_insert_with(|| json!([]));
    if let Some(required) = required.as_array_mut() {
        for field in fields {
            if !required.iter().any(|known| known == field) {
                required.push(json!(field));
            }
        }
    }
}
