//! Fitting an object that is already a tree into a Go type: what a strategic merge patch goes through.
//!
//! It says other things than the JSON decoder about the same mistakes, and visits fields in the order of the type.

use serde_json::{Map, Value};

use super::scan::number;
use super::table::{Special, Struct, Type, table};
use super::typed::{bytes, finish, time_text, zero};
use crate::quantity::Quantity;

/// The object as its type prints it, and the paths of unknown fields, sorted. The error is Go's message.
pub(crate) fn convert(of: &Struct, object: Value) -> Result<(Value, Vec<String>), String> {
    let mut unknown = Vec::new();
    let object = structure(of, object, "", &mut unknown)?;
    let mut messages: Vec<String> =
        unknown.into_iter().map(|path| format!("unknown field \"{path}\"")).collect();
    messages.sort();
    Ok((object, messages))
}

fn structure(
    of: &Struct,
    value: Value,
    path: &str,
    unknown: &mut Vec<String>,
) -> Result<Value, String> {
    let Value::Object(mut map) = value else {
        return Err(format!("cannot restore struct from: {}", kind(&value)));
    };
    let mut kept = Map::new();
    for field in &of.fields {
        if let Some(value) = map.remove(&*field.name)
            && !value.is_null()
        {
            let path = child(path, &field.name);
            kept.insert(field.name.to_string(), fit(&field.ty, value, &path, unknown)?);
        }
    }
    unknown.extend(map.keys().map(|key| child(path, key)));
    finish(of, &mut kept);
    Ok(Value::Object(kept))
}

fn child(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn fit(ty: &Type, value: Value, path: &str, unknown: &mut Vec<String>) -> Result<Value, String> {
    if value.is_null() {
        return Ok(zero(ty));
    }
    Ok(match ty.underlying() {
        Type::Pointer(of) => fit(of, value, path, unknown)?,
        Type::Struct(at) => match table().at(*at) {
            Some(of) => structure(of, value, path, unknown)?,
            None => value,
        },
        Type::List(of) => {
            let Value::Array(list) = value else {
                return Err(format!("cannot restore slice from {}", kind(&value)));
            };
            let mut kept = Vec::with_capacity(list.len());
            for (i, one) in list.into_iter().enumerate() {
                kept.push(fit(of, one, &format!("{path}[{i}]"), unknown)?);
            }
            Value::Array(kept)
        }
        Type::Map(_, of) => {
            let Value::Object(map) = value else {
                return Err(format!("cannot restore map from {}", kind(&value)));
            };
            let mut kept = Map::new();
            for (key, one) in map {
                // Go does not add a map's key to the path of what is unknown below it.
                kept.insert(key, fit(of, one, path, unknown)?);
            }
            Value::Object(kept)
        }
        Type::Bytes => match value {
            Value::String(text) => Value::String(
                bytes(&text).map_err(|message| format!("error decoding from json: {message}"))?,
            ),
            other => return Err(format!("cannot restore slice from {}", kind(&other))),
        },
        Type::Special(special) => reads_itself(*special, value)?,
        Type::Any => value,
        scalar => {
            if !fits(scalar, &value) {
                return Err(unfit(ty, &value));
            }
            wrapped(scalar, value)
        }
    })
}

fn fits(ty: &Type, value: &Value) -> bool {
    match ty {
        Type::Bool => value.is_boolean(),
        Type::Text => value.is_string(),
        Type::Int(_) | Type::Uint(_) => value.is_i64() || value.is_u64(),
        _ => value.is_number(),
    }
}

/// Go drops the bits of a number that its type has no room for.
#[expect(clippy::cast_possible_truncation, reason = "that is what Go does")]
fn wrapped(ty: &Type, value: Value) -> Value {
    match (ty, value.as_i64()) {
        (Type::Int(32), Some(number)) => Value::from(number as i32),
        _ => value,
    }
}

fn unfit(ty: &Type, value: &Value) -> String {
    // Go can turn a number into a string, a character, and refuses only then; other pairs it never heard of.
    let convertible = match (ty.underlying(), value) {
        (Type::Text, Value::Number(number)) => number.is_i64(),
        (Type::Int(_) | Type::Uint(_), Value::Number(_)) => true,
        _ => false,
    };
    if convertible {
        return format!("cannot convert {} to {}", kind(value), ty.go_name());
    }
    format!("unrecognized type: {}", ty.go_kind())
}

/// Go's kind of an untyped value.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "invalid",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    }
}

fn reads_itself(special: Special, value: Value) -> Result<Value, String> {
    let word = match &value {
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::Null | Value::String(_) => "string",
    };
    Ok(match (special, value) {
        (Special::Quantity, value) => {
            let text = match &value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            Value::String(Quantity::checked(text.trim()).map_err(|e| e.to_string())?.to_string())
        }
        (Special::Time | Special::MicroTime | Special::Duration, Value::String(text)) => {
            Value::String(time_text(special, &text)?)
        }
        (Special::Time | Special::MicroTime | Special::Duration, _) => {
            return Err(format!("json: cannot unmarshal {word} into Go value of type string"));
        }
        (Special::IntOrString, value @ Value::String(_)) => value,
        (Special::IntOrString, Value::Number(literal)) => {
            let small = literal.as_i64().is_some_and(|n| i32::try_from(n).is_ok());
            if !small {
                return Err(format!(
                    "json: cannot unmarshal number {literal} into Go value of type int32"
                ));
            }
            number(&literal.to_string())?
        }
        (Special::IntOrString, _) => {
            return Err(format!("json: cannot unmarshal {word} into Go value of type int32"));
        }
        (_, value) => value,
    })
}
