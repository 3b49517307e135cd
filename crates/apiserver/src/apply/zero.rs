//! An object of a built-in kind before anything is set.
//!
//! The real server compares a new object with the zero value of its Go type. Structs inside it are there
//! already, so that creating an object does not make its creator the owner of `spec` as a whole.

use serde_json::{Map, Value, json};

use crate::builtin::form;
use crate::schema::Node;

/// What a create is compared with.
pub fn zero(shape: Node<'_>, object: &Value) -> Value {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let mut out = match (shape.name, form::empty(text("apiVersion"), text("kind"))) {
        (None, _) => json!({}),
        (Some(_), Some(typed)) => typed,
        (Some(_), None) => zero_struct(shape, 0),
    };
    if let Some(map) = out.as_object_mut() {
        for name in ["apiVersion", "kind"] {
            if let Some(value) = object.get(name) {
                map.insert(name.to_owned(), value.clone());
            }
        }
    }
    out
}

fn zero_struct(node: Node<'_>, depth: usize) -> Value {
    let mut out = Map::new();
    if depth > 16 {
        return Value::Object(out);
    }
    for (name, written) in &node.schema.properties {
        let required = node.schema.required.contains(name);
        match &written.default {
            // Go structs are never left out; the schema shows them by an empty default.
            Some(Value::Object(map)) if map.is_empty() => {
                if let Some(field) = node.property(name) {
                    out.insert(name.clone(), zero_struct(field, depth + 1));
                }
            }
            Some(Value::String(text)) if required && text.is_empty() => {
                out.insert(name.clone(), json!(""));
            }
            Some(Value::Number(n)) if required && n.as_i64() == Some(0) => {
                out.insert(name.clone(), json!(0));
            }
            Some(Value::Bool(false)) if required => {
                out.insert(name.clone(), json!(false));
            }
            // A list, map or pointer that is always printed is null until it is set.
            None if required => {
                out.insert(name.clone(), Value::Null);
            }
            _ => {}
        }
    }
    Value::Object(out)
}
