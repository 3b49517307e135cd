//! Schemas must be structural: what is validated is also declared.

use serde_json::Value;

use super::text;
use crate::crd::pattern;
use crate::fields::{FieldError, Path};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// What keeps a schema from being structural, sorted by text.
pub(super) fn validate(schema: &Value, at: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    invariants(schema, Level::Root, at, &mut errors);
    complete(schema, Some(schema), at, at, &mut errors);
    errors.sort_by_key(ToString::to_string);
    errors
}

fn flag(schema: &Value, name: &str) -> bool {
    schema[name] == true
}

fn is_set(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Bool(b) => *b,
        _ => true,
    }
}

fn invariants(schema: &Value, level: Level, at: &Path, errors: &mut Vec<FieldError>) {
    if !schema.is_object() {
        return;
    }
    let type_name = text(&schema["type"]);
    let (preserves, embedded, either) = (
        flag(schema, "x-kubernetes-preserve-unknown-fields"),
        flag(schema, "x-kubernetes-embedded-resource"),
        flag(schema, "x-kubernetes-int-or-string"),
    );
    if type_name == "array" && schema["items"].is_null() {
        errors.push(FieldError::required(&at.child("items"), "must be specified"));
    }
    invariants(&schema["items"], Level::Item, &at.child("items"), errors);
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        invariants(inner, Level::Field, &at.child("properties").key(name), errors);
    }
    let values = &schema["additionalProperties"];
    if !values.is_null() && *values != false {
        if level == Level::Root {
            errors.push(FieldError::forbidden(
                &at.child("additionalProperties"),
                "must not be used at the root",
            ));
        }
        invariants(values, Level::Field, &at.child("additionalProperties"), errors);
    }
    for (both, name) in [
        (either && preserves, "x-kubernetes-preserve-unknown-fields"),
        (either && embedded, "x-kubernetes-embedded-resource"),
    ] {
        if both {
            errors.push(FieldError::invalid(
                &at.child(name),
                &Value::Bool(true),
                "must be false if x-kubernetes-int-or-string is true",
            ));
        }
    }
    let pattern = integer_or_string(&schema["anyOf"]);
    let first_pattern = integer_or_string(&schema["allOf"][0]["anyOf"]);
    value_validation(schema, pattern, first_pattern, at, errors);
    let field = at.child("type");
    if embedded && type_name != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(if type_name.is_empty() {
            FieldError::required(&field, detail)
        } else {
            FieldError::invalid(&field, &schema["type"], detail)
        });
    } else if type_name.is_empty() && !either && !preserves {
        errors.push(FieldError::required(
            &field,
            match level {
                Level::Root => "must not be empty at the root",
                Level::Item => "must not be empty for specified array items",
                Level::Field => "must not be empty for specified object fields",
            },
        ));
    }
    if embedded && !values.is_null() {
        errors.push(FieldError::forbidden(
            &at.child("additionalProperties"),
            "must not be used if x-kubernetes-embedded-resource is set",
        ));
    }
    if level == Level::Root && !type_name.is_empty() && type_name != "object" {
        errors.push(FieldError::invalid(&field, &schema["type"], "must be object at the root"));
    }
    meta(schema, level, embedded, at, errors);
    let bare = schema["properties"].as_object().is_none_or(serde_json::Map::is_empty);
    if embedded && !preserves && bare {
        errors.push(FieldError::required(
            &at.child("properties"),
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
        ));
    }
}

fn meta(schema: &Value, level: Level, embedded: bool, at: &Path, errors: &mut Vec<FieldError>) {
    let checked = level == Level::Root || embedded;
    for (name, wanted) in [("kind", "string"), ("apiVersion", "string"), ("metadata", "object")] {
        let inner = &schema["properties"][name];
        if checked && inner.is_object() && text(&inner["type"]) != wanted {
            errors.push(FieldError::invalid(
                &at.child("properties").key(name).child("type"),
                &Value::from(text(&inner["type"])),
                format!("must be {wanted}"),
            ));
        }
    }
    if level == Level::Root
        && let Some(metadata) = schema["properties"]["metadata"].as_object()
    {
        let more = metadata.iter().any(|(name, value)| match name.as_str() {
            "type" | "default" => false,
            "properties" => value
                .as_object()
                .is_some_and(|p| p.keys().any(|name| name != "name" && name != "generateName")),
            _ => is_set(value),
        });
        if more {
            errors.push(FieldError::forbidden(
                &at.child("properties").key("metadata"),
                "must not specify anything other than name and generateName, but metadata is implicitly specified",
            ));
        }
    }
}

fn integer_or_string(any_of: &Value) -> bool {
    *any_of == serde_json::json!([{ "type": "integer" }, { "type": "string" }])
}

fn value_validation(
    schema: &Value,
    skip_any: bool,
    skip_first: bool,
    at: &Path,
    errors: &mut Vec<FieldError>,
) {
    let list = |name: &str| schema[name].as_array().cloned().unwrap_or_default();
    if !skip_any {
        for (index, inner) in list("anyOf").iter().enumerate() {
            nested(inner, false, &at.child("anyOf").index(index), errors);
        }
    }
    for (index, inner) in list("allOf").iter().enumerate() {
        nested(inner, skip_first && index == 0, &at.child("allOf").index(index), errors);
    }
    for (index, inner) in list("oneOf").iter().enumerate() {
        nested(inner, false, &at.child("oneOf").index(index), errors);
    }
    nested(&schema["not"], false, &at.child("not"), errors);
    let regex = text(&schema["pattern"]);
    if !regex.is_empty() && pattern::compiled(regex).is_none() {
        errors.push(FieldError::invalid(
            &at.child("pattern"),
            &schema["pattern"],
            format!(
                "must be a valid regular expression, but isn't: error parsing regexp: {}",
                why(regex)
            ),
        ));
    }
}

/// The commonest mistakes, as Go words them.
fn why(regex: &str) -> String {
    let open = regex.matches('(').count();
    let close = regex.matches(')').count();
    if let Some(at) = regex.rfind('[').filter(|at| !regex[*at..].contains(']')) {
        format!("missing closing ]: `{}`", &regex[at..])
    } else if open > close {
        format!("missing closing ): `{regex}`")
    } else if close > open {
        format!("unexpected ): `{regex}`")
    } else if regex.starts_with(['*', '+', '?']) {
        format!("missing argument to repetition operator: `{}`", &regex[..1])
    } else {
        format!("invalid escape sequence: `{regex}`")
    }
}

fn nested(schema: &Value, skip_any: bool, at: &Path, errors: &mut Vec<FieldError>) {
    if !schema.is_object() {
        return;
    }
    value_validation(schema, skip_any, false, at, errors);
    nested(&schema["items"], false, &at.child("items"), errors);
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        nested(inner, false, &at.child("properties").key(name), errors);
    }
    for (name, detail) in [
        ("type", "must be empty to be structural"),
        ("additionalProperties", "must be undefined to be structural"),
        ("default", "must be undefined to be structural"),
        ("title", "must be empty to be structural"),
        ("description", "must be empty to be structural"),
        ("nullable", "must be false to be structural"),
        ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
        ("x-kubernetes-embedded-resource", "must be false to be structural"),
        ("x-kubernetes-int-or-string", "must be false to be structural"),
        ("x-kubernetes-list-map-keys", "must be empty to be structural"),
        ("x-kubernetes-list-type", "must be undefined to be structural"),
        ("x-kubernetes-map-type", "must be undefined to be structural"),
        ("x-kubernetes-validations", "must be empty to be structural"),
    ] {
        if is_set(&schema[name]) {
            errors.push(FieldError::forbidden(&at.child(name), detail));
        }
    }
    if schema["properties"].get("metadata").is_some() {
        errors.push(FieldError::forbidden(
            &at.child("properties").key("metadata"),
            "must not be specified in a nested context",
        ));
    }
}

/// What alternatives validate must be declared outside of them. `spine` is the declared schema at `at`.
fn complete(
    schema: &Value,
    spine: Option<&Value>,
    at: &Path,
    here: &Path,
    errors: &mut Vec<FieldError>,
) {
    for name in ["not", "allOf", "anyOf", "oneOf"] {
        match &schema[name] {
            Value::Array(list) => {
                for (index, inner) in list.iter().enumerate() {
                    declared(inner, spine, at, &here.child(name).index(index), errors);
                }
            }
            inner @ Value::Object(_) => declared(inner, spine, at, &here.child(name), errors),
            _ => {}
        }
    }
}

fn declared(
    inner: &Value,
    spine: Option<&Value>,
    at: &Path,
    here: &Path,
    errors: &mut Vec<FieldError>,
) {
    let Some(spine) = spine else {
        errors.push(FieldError::required(at, format!("because it is defined in {here}")));
        return;
    };
    complete(inner, Some(spine), at, here, errors);
    if inner["items"].is_object() {
        let items = Some(&spine["items"]).filter(|items| items.is_object());
        declared(&inner["items"], items, &at.child("items"), &here.child("items"), errors);
    }
    for (name, property) in inner["properties"].as_object().into_iter().flatten() {
        let (at, here) = (at.child("properties").key(name), here.child("properties").key(name));
        match spine["properties"].get(name) {
            Some(known) => declared(property, Some(known), &at, &here, errors),
            None => {
                errors.push(FieldError::required(&at, format!("because it is defined in {here}")));
            }
        }
    }
}
