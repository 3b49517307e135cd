//! Inputs: what templates compute with.

use serde_json::Value;

use crate::flux::number::general as number_text;
use crate::yaml::{self, Node, Tag};

/// A value as a node.
pub(super) fn to_node(value: &Value) -> Node {
    match value {
        Value::Null => Node::null(),
        Value::Bool(value) => Node::scalar(if *value { "true" } else { "false" }, Tag::Bool),
        Value::Number(number) => {
            let tag = if number.is_f64() { Tag::Float } else { Tag::Int };
            Node::scalar(number.to_string(), tag)
        }
        Value::String(text) => Node::string(text.as_str()),
        Value::Array(items) => Node::sequence(items.iter().map(to_node).collect()),
        Value::Object(map) => {
            let mut mapping = yaml::Mapping::new();
            for (key, value) in map {
                mapping.set(key.as_str(), to_node(value));
            }
            mapping.into()
        }
    }
}

/// A value as YAML, as `toYaml` writes it.
pub(super) fn to_yaml(value: &Value) -> Option<String> {
    let mut text = String::new();
    match value {
        Value::Object(map) if map.is_empty() => text.push_str("{}\n"),
        Value::Array(items) if items.is_empty() => text.push_str("[]\n"),
        Value::Object(_) | Value::Array(_) => {
            yaml::emit::object(&to_node(value), &mut text).ok()?;
        }
        other => {
            // In a list, so that it is quoted as any value is.
            let list = Node::sequence(vec![to_node(other)]);
            let mut listed = String::new();
            yaml::emit::object(&list, &mut listed).ok()?;
            text.push_str(listed.strip_prefix("- ").unwrap_or(&listed));
        }
    }
    Some(text)
}

/// A value as Go's templates print it.
pub(super) fn printed(value: &Value) -> String {
    match value {
        Value::Null => "<no value>".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => number_text(float),
            _ => number.to_string(),
        },
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inner).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(map) => {
            let entries: Vec<String> =
                map.iter().map(|(key, value)| format!("{key}:{}", inner(value))).collect();
            format!("map[{}]", entries.join(" "))
        }
    }
}

fn inner(value: &Value) -> String {
    if value.is_null() { "<nil>".to_owned() } else { printed(value) }
}

/// Whether a value counts as true.
pub(super) fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}
