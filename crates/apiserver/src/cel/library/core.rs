//! The functions of the language itself: sizes, conversions, time, optional values.

use std::sync::Arc;

use jiff::Zoned;
use jiff::tz::TimeZone;

use super::Outcome;
use crate::cel::error::EvalError;
use crate::cel::operator;
use crate::cel::value::Value;

pub(super) fn call(function: &str, method: bool, arguments: &[Value]) -> Option<Outcome> {
    Some(match (function, arguments) {
        ("size", [value]) => size(value)?,
        (
            "bool" | "bytes" | "double" | "duration" | "dyn" | "int" | "string" | "timestamp"
            | "type" | "uint",
            [value],
        ) if !method => operator::convert(function, value),
        (_, [Value::Timestamp(_), ..]) if method && function.starts_with("get") => {
            time(function, arguments)?
        }
        (_, [Value::Duration(nanos)]) if method => {
            let whole = match function {
                "getHours" => nanos / 3_600_000_000_000,
                "getMinutes" => nanos / 60_000_000_000,
                "getSeconds" => nanos / 1_000_000_000,
                "getMilliseconds" => nanos / 1_000_000,
                _ => return None,
            };
            Ok(Value::Int(whole))
        }
        ("optional.of", [value]) => Ok(Value::Optional(Some(Arc::new(value.clone())))),
        ("optional.ofNonZeroValue", [value]) => {
            Ok(Value::Optional((!is_zero(value)).then(|| Arc::new(value.clone()))))
        }
        ("optional.none", []) => Ok(Value::Optional(None)),
        ("optional.unwrap" | "unwrapOpt", [Value::List(list)]) => Ok(Value::list(
            list.items
                .iter()
                .filter_map(|item| match item {
                    Value::Optional(Some(value)) => Some((**value).clone()),
                    _ => None,
                })
                .collect(),
        )),
        ("hasValue", [Value::Optional(value)]) => Ok(Value::Bool(value.is_some())),
        ("value", [Value::Optional(value)]) => match value {
            Some(value) => Ok((**value).clone()),
            None => Err(EvalError::new("optional.none() dereference")),
        },
        ("or", [Value::Optional(value), other]) => Ok(match value {
            Some(_) => arguments[0].clone(),
            None => other.clone(),
        }),
        ("orValue", [Value::Optional(value), other]) => Ok(match value {
            Some(value) => (**value).clone(),
            None => other.clone(),
        }),
        _ => return None,
    })
}

fn size(value: &Value) -> Option<Outcome> {
    let size = match value {
        Value::String(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(list) => list.items.len(),
        Value::Map(map) => map.len(),
        _ => return None,
    };
    Some(Ok(Value::Int(i64::try_from(size).unwrap_or(i64::MAX))))
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Optional(None) => true,
        Value::Bool(b) => !b,
        Value::Int(i) | Value::Duration(i) => *i == 0,
        Value::Uint(u) => *u == 0,
        Value::Double(d) => *d == 0.0,
        Value::String(s) => s.is_empty(),
        Value::Bytes(b) => b.is_empty(),
        Value::List(list) => list.items.is_empty(),
        Value::Map(map) => map.is_empty(),
        _ => false,
    }
}

fn time(function: &str, arguments: &[Value]) -> Option<Outcome> {
    let (Value::Timestamp(at), zone) = (match arguments {
        [at] => (at, TimeZone::UTC),
        [at, Value::String(name)] => match zone(name) {
            Some(zone) => (at, zone),
            None => return Some(Err(EvalError::new(format!("unknown time zone {name}")))),
        },
        _ => return None,
    }) else {
        return None;
    };
    let local: Zoned = at.to_zoned(zone);
    let number = match function {
        "getFullYear" => i64::from(local.year()),
        "getMonth" => i64::from(local.month()) - 1,
        "getDayOfYear" => i64::from(local.day_of_year()) - 1,
        "getDayOfMonth" => i64::from(local.day()) - 1,
        "getDate" => i64::from(local.day()),
        "getDayOfWeek" => i64::from(local.weekday().to_sunday_zero_offset()),
        "getHours" => i64::from(local.hour()),
        "getMinutes" => i64::from(local.minute()),
        "getSeconds" => i64::from(local.second()),
        "getMilliseconds" => i64::from(local.millisecond()),
        _ => return None,
    };
    Some(Ok(Value::Int(number)))
}

/// `+01:00` or a name from the time zone database.
fn zone(name: &str) -> Option<TimeZone> {
    let (sign, rest) = match name.as_bytes().first()? {
        b'-' => (-1, &name[1..]),
        b'+' => (1, &name[1..]),
        _ => (1, name),
    };
    if let Some((hours, minutes)) = rest.split_once(':') {
        let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
        let offset = jiff::tz::Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok()?;
        return Some(TimeZone::fixed(offset));
    }
    TimeZone::get(name).ok()
}
