//! Custom kinds: their definitions, and what a definition's schema does to objects.
//!
//! Decoding [`prune`]s and [`default`]s; a write [`validate`]s. What a definition itself may say is in
//! [`definition`].

mod defaults;
pub mod definition;
mod embedded;
mod formats;
pub mod lists;
pub mod pattern;
mod prune;
mod rules;
mod validate;

use serde_json::{Value, json};

pub use defaults::{default, fill};
pub use embedded::fill_metadata;
pub use prune::prune;
pub use rules::Rules;

use crate::fields::{FieldError, Path, Wrong};
use crate::resource::{Resource, Scale};

/// Which part of an object a write is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The object.
    Whole,
    /// Only its status.
    Status,
}

/// Gives an object the form of another version, or of a schema that changed since it was written.
pub fn reshape(resource: &Resource, object: &mut Value) {
    let node = resource.shape.node();
    prune(node, object);
    default(node, object);
}

/// Adds what is wrong with an object to `errors` (which holds what is wrong with its metadata) and returns
/// warnings: rules that do not hold, but did not hold before either.
pub fn validate(
    resource: &Resource,
    new: &Value,
    old: Option<&Value>,
    part: Part,
    errors: &mut Vec<FieldError>,
) -> Vec<String> {
    let node = resource.shape.node();
    match part {
        Part::Whole => errors.extend(validate::values(node, "", new, old)),
        Part::Status => {
            if let (Some(status), Some(inner)) = (new.get("status"), node.property("status")) {
                let before = old.and_then(|old| old.get("status"));
                errors.extend(validate::values(inner, "status", status, before));
            }
        }
    }
    if let Some(scale) = &resource.scale {
        errors.extend(scale_numbers(scale, new, part));
    }
    if part == Part::Whole {
        errors.extend(embedded::validate(node, new));
    }
    if old.is_none_or(|old| lists::duplicates(node, old).is_empty()) {
        errors.extend(lists::duplicates(node, new));
    }
    let Some(rules) = resource.custom_kind.as_ref().and_then(|kind| kind.rules.as_deref()) else {
        return Vec::new();
    };
    if errors.iter().any(blocks_rules) {
        errors.push(FieldError {
            wrong: Wrong::Invalid,
            field: "<nil>".into(),
            shown: Some("null".into()),
            detail: "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation".into(),
        });
        return Vec::new();
    }
    let found = rules.check(node, &Path::root(), new, old);
    errors.extend(found.errors);
    found.warnings
}

/// Rules assume that these hold.
fn blocks_rules(error: &FieldError) -> bool {
    matches!(
        error.wrong,
        Wrong::NotSupported | Wrong::Required | Wrong::TooLong | Wrong::TooMany | Wrong::Type
    )
}

fn scale_numbers(scale: &Scale, object: &Value, part: Part) -> Vec<FieldError> {
    let at = |path: &str| {
        path.split('.').filter(|part| !part.is_empty()).try_fold(object, |at, part| at.get(part))
    };
    let mut errors = Vec::new();
    let mut number = |path: &str| {
        let Some(found) = at(path) else { return };
        let field = Path::new(path);
        match found.as_i64() {
            None => errors.push(FieldError::invalid(
                &field,
                &json!(0),
                format!(
                    "{path} accessor error: {} is of the type {}, expected int64",
                    go_text(found),
                    go_type(found)
                ),
            )),
            Some(count) if count < 0 => {
                errors.push(FieldError::invalid(&field, found, "should be a non-negative integer"));
            }
            Some(count) if count > i64::from(i32::MAX) => errors.push(FieldError::invalid(
                &field,
                found,
                format!("should be less than or equal to {}", i32::MAX),
            )),
            Some(_) => {}
        }
    };
    if part == Part::Whole {
        number(&scale.spec_replicas);
    }
    number(&scale.status_replicas);
    if let Some(path) = &scale.selector
        && let Some(found) = at(path)
        && !found.is_string()
    {
        errors.push(FieldError::invalid(
            &Path::new(path.as_str()),
            &json!(""),
            format!(
                "{path} accessor error: {} is of the type {}, expected string",
                go_text(found),
                go_type(found)
            ),
        ));
    }
    errors
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(n) if n.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A value as Go's `%v` prints it, near enough for scalars.
fn go_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".into(),
        other => other.to_string(),
    }
}

/// A value in a message: JSON with `<`, `>` and `&` escaped inside compound values, as the server writes it.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) | Value::Array(_) => value
            .to_string()
            .replace('<', "\\u003c")
            .replace('>', "\\u003e")
            .replace('&', "\\u0026"),
        Value::Number(n) if n.is_f64() => {
            n.as_f64().map_or_else(|| n.to_string(), crate::cel::double_text)
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
