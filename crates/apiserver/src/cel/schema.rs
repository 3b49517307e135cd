//! Schemas as types, and JSON as values by its schema.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::operator;
use super::types::{ObjectType, Type};
use super::value::{Key, List, Order, Value};
use crate::schema::Node;

const KEYWORDS: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// The name by which expressions call a field; none if they cannot.
pub fn escaped(name: &str) -> Option<Cow<'_, str>> {
    if name.chars().next()?.is_ascii_digit()
        || !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/'))
    {
        return None;
    }
    if KEYWORDS.contains(&name) {
        return Some(format!("__{name}__").into());
    }
    if !name.contains(['.', '-', '/']) && !name.contains("__") {
        return Some(name.into());
    }
    let mut out = String::with_capacity(name.len() + 8);
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        if let Some(tail) = rest.strip_prefix("__") {
            out.push_str("__underscores__");
            rest = tail;
            continue;
        }
        match c {
            '.' => out.push_str("__dot__"),
            '-' => out.push_str("__dash__"),
            '/' => out.push_str("__slash__"),
            c => out.push(c),
        }
        rest = &rest[1..];
    }
    Some(out.into())
}

/// The type of values of a schema; none if expressions cannot reach them. `resource` says that the node is a
/// whole object, whose type and name are always in sight.
pub fn type_of(node: Node<'_>, resource: bool) -> Option<Type> {
    typed(node, resource, "selfType")
}

fn typed(node: Node<'_>, resource: bool, name: &str) -> Option<Type> {
    let schema = node.schema;
    if schema.int_or_string {
        return Some(Type::Dyn);
    }
    let resource = resource || schema.embedded_resource;
    Some(match schema.type_name.as_str() {
        "array" => Type::list(typed(node.items()?, false, &format!("{name}.@idx"))?),
        "object" => {
            if let Some(values) = node.values() {
                return Some(Type::map(typed(values, false, &format!("{name}.@elem"))?));
            }
            let mut fields: BTreeMap<Arc<str>, Type> = BTreeMap::new();
            for field in schema.properties.keys() {
                if let (Some(escaped), Some(inner)) = (escaped(field), node.property(field))
                    && let Some(of) = typed(inner, false, &format!("{name}.{escaped}"))
                {
                    fields.insert(escaped.into(), of);
                }
            }
            if resource {
                fields.insert("apiVersion".into(), Type::String);
                fields.insert("kind".into(), Type::String);
                let metadata = format!("{name}.metadata");
                let named = [("name", Type::String), ("generateName", Type::String)];
                fields.insert("metadata".into(), Type::object(&metadata, named));
            }
            Type::Object(Arc::new(ObjectType { name: name.to_owned(), fields, open: false }))
        }
        "string" => match schema.format.as_str() {
            "byte" => Type::Bytes,
            "duration" => Type::Duration,
            "date" | "date-time" => Type::Timestamp,
            _ => Type::String,
        },
        "boolean" => Type::Bool,
        "number" => Type::Double,
        "integer" => Type::Int,
        _ => return None,
    })
}

/// The value of JSON by its schema: formats become timestamps and durations, names are escaped.
pub fn value_of(node: Node<'_>, json: &Json, resource: bool) -> Value {
    let schema = node.schema;
    if schema.int_or_string {
        return Value::of_json(json);
    }
    let resource = resource || schema.embedded_resource;
    match (schema.type_name.as_str(), json) {
        ("array", Json::Array(items)) => {
            let items: Vec<Value> = match node.items() {
                Some(inner) => items.iter().map(|item| value_of(inner, item, false)).collect(),
                None => items.iter().map(Value::of_json).collect(),
            };
            let order = match schema.list_type.as_str() {
                "set" => Order::Set,
                "map" => Order::Keyed(
                    schema
                        .list_map_keys
                        .iter()
                        .filter_map(|key| escaped(key))
                        .map(|key| Arc::from(&*key))
                        .collect(),
                ),
                _ => Order::Sequence,
            };
            Value::List(List { items: items.into(), order })
        }
        ("object", Json::Object(fields)) => {
            if schema.properties.is_empty()
                && !resource
                && let Some(values) = node.values()
            {
                return Value::map(
                    fields.iter().map(|(k, v)| (k.as_str(), value_of(values, v, false))),
                );
            }
            let mut out = BTreeMap::new();
            for (name, value) in fields {
                if resource
                    && name == "metadata"
                    && node.property("metadata").is_none_or(|m| m.schema.properties.is_empty())
                {
                    let named = ["name", "generateName"]
                        .into_iter()
                        .filter_map(|key| value.get(key).map(|v| (key, Value::of_json(v))));
                    out.insert(Key::String("metadata".into()), Value::map(named));
                    continue;
                }
                let value = match node.property(name) {
                    Some(inner) => value_of(inner, value, false),
                    None => Value::of_json(value),
                };
                if let Some(name) = escaped(name) {
                    out.insert(Key::String(name.into()), value);
                }
            }
            Value::Map(Arc::new(out))
        }
        ("string", Json::String(text)) => text_value(&schema.format, text),
        ("number", Json::Number(number)) => number.as_f64().map_or(Value::Null, Value::Double),
        _ => Value::of_json(json),
    }
}

fn text_value(format: &str, text: &str) -> Value {
    let special = match format {
        "duration" => operator::parse_duration(text).map(Value::Duration),
        "date-time" => operator::parse_timestamp(text).map(Value::Timestamp),
        "date" => operator::parse_timestamp(&format!("{text}T00:00:00Z")).map(Value::Timestamp),
        "byte" => {
            use base64::Engine as _;
            base64::engine::general_purpose::STANDARD
                .decode(text)
                .ok()
                .map(|bytes| Value::Bytes(bytes.into()))
        }
        _ => None,
    };
    special.unwrap_or_else(|| Value::string(text))
}
