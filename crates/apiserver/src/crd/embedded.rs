//! Whole objects inside an object (`x-kubernetes-embedded-resource`).

use serde_json::Value;

use super::definition::label_1035;
use super::shown;
use crate::fields::{FieldError, Path};
use crate::schema::Node;

/// What is wrong with the type of objects inside this one.
pub(super) fn validate(node: Node<'_>, object: &Value) -> Vec<FieldError> {
    validate_at(node, &Path::root(), object)
}

/// The same for a value that stands elsewhere.
pub(super) fn validate_at(node: Node<'_>, path: &Path, value: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if inside(node) {
        walk(node, path, value, &mut errors);
    }
    errors
}

/// Metadata of objects inside is read as such, and nothing reads as an empty one.
pub fn fill_metadata(node: Node<'_>, object: &mut Value) {
    if !inside(node) {
        return;
    }
    match object {
        Value::Object(fields) => {
            if node.schema.embedded_resource
                && let Some(metadata) = fields.get_mut("metadata")
                && metadata.is_null()
            {
                *metadata = Value::Object(serde_json::Map::new());
            }
            for (name, inner) in fields {
                if let Some(of) = node.property(name).or_else(|| node.values()) {
                    fill_metadata(of, inner);
                }
            }
        }
        Value::Array(items) => {
            if let Some(of) = node.items() {
                for item in items.iter_mut() {
                    fill_metadata(of, item);
                }
            }
        }
        _ => {}
    }
}

/// Whether there is anything to look for; most schemas have none.
fn inside(node: Node<'_>) -> bool {
    node.schema.embedded_resource
        || node.items().is_some_and(inside)
        || node.values().is_some_and(inside)
        || node.schema.properties.keys().any(|name| node.property(name).is_some_and(inside))
}

fn walk(node: Node<'_>, path: &Path, value: &Value, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => {
            if node.schema.embedded_resource {
                named(path, value, errors);
            }
            for (name, inner) in fields {
                if let Some(of) = node.property(name) {
                    walk(of, &path.child(name), inner, errors);
                } else if let Some(of) = node.values() {
                    walk(of, &path.key(name), inner, errors);
                }
            }
        }
        Value::Array(items) => {
            if let Some(of) = node.items() {
                for (index, item) in items.iter().enumerate() {
                    walk(of, &path.index(index), item, errors);
                }
            }
        }
        _ => {}
    }
}

fn named(path: &Path, object: &Value, errors: &mut Vec<FieldError>) {
    for name in ["apiVersion", "kind"] {
        let field = path.child(name);
        match object.get(name) {
            None => errors.push(FieldError::required(&field, "")),
            Some(Value::String(text)) if text.is_empty() => {
                errors.push(FieldError::invalid(&field, &Value::from(""), "must not be empty"));
            }
            Some(Value::String(text)) if name == "apiVersion" => {
                if text.matches('/').count() > 1 {
                    errors.push(FieldError::invalid(
                        &field,
                        &Value::from(text.as_str()),
                        format!("unexpected GroupVersion string: {text}"),
                    ));
                }
            }
            Some(Value::String(text)) => {
                let wrong = label_1035(&text.to_lowercase());
                if !wrong.is_empty() {
                    errors.push(FieldError::invalid(
                        &field,
                        &Value::from(text.as_str()),
                        format!(
                            "may have mixed case, but should otherwise match: {}",
                            wrong.join(",")
                        ),
                    ));
                }
            }
            Some(other) => {
                errors.push(FieldError::invalid_shown(&field, shown(other), "must be a string"));
            }
        }
    }
}
