//! Operators and conversions.

use std::cmp::Ordering;
use std::fmt::Write as _;
use std::sync::Arc;

use jiff::Timestamp;

use super::error::EvalError;
use super::value::{Key, List, Order, Value, same_keys};

type Outcome = Result<Value, EvalError>;

/// `!x`, `-x`
pub(super) fn unary(name: &str, operand: &Value) -> Outcome {
    match (name, operand) {
        ("!_", Value::Bool(b)) => Ok(Value::Bool(!b)),
        ("-_", Value::Int(i)) => i.checked_neg().map(Value::Int).ok_or_else(overflow),
        ("-_", Value::Double(d)) => Ok(Value::Double(-d)),
        ("-_", Value::Duration(d)) => d.checked_neg().map(Value::Duration).ok_or_else(overflow),
        _ => Err(EvalError::no_overload(name, &[operand])),
    }
}

fn overflow() -> EvalError {
    EvalError::new("integer overflow")
}

/// `a op b`
pub(super) fn binary(name: &str, left: &Value, right: &Value) -> Outcome {
    match name {
        "_==_" => Ok(Value::Bool(left == right)),
        "_!=_" => Ok(Value::Bool(left != right)),
        "@in" => contains(left, right),
        "_<_" | "_<=_" | "_>_" | "_>=_" => {
            let nan = |v: &Value| matches!(v, Value::Double(d) if d.is_nan());
            let Some(order) = compare(left, right) else {
                return if nan(left) || nan(right) {
                    Err(EvalError::new("NaN values cannot be ordered"))
                } else {
                    Err(EvalError::no_overload(name, &[left, right]))
                };
            };
            Ok(Value::Bool(match name {
                "_<_" => order == Ordering::Less,
                "_<=_" => order != Ordering::Greater,
                "_>_" => order == Ordering::Greater,
                _ => order != Ordering::Less,
            }))
        }
        "_+_" => add(left, right),
        "_-_" => subtract(left, right),
        _ => arithmetic(name, left, right),
    }
}

fn contains(item: &Value, container: &Value) -> Outcome {
    match container {
        Value::List(list) => Ok(Value::Bool(list.items.contains(item))),
        Value::Map(map) => Ok(Value::Bool(Key::of(item).is_some_and(|key| map.contains_key(&key)))),
        _ => Err(EvalError::no_overload("@in", &[item, container])),
    }
}

/// The order of two values; none if they have none. Numbers compare across their types.
pub(super) fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    Some(match (left, right) {
        (Value::Int(a), Value::Int(b)) | (Value::Duration(a), Value::Duration(b)) => a.cmp(b),
        (Value::Uint(a), Value::Uint(b)) => a.cmp(b),
        (Value::Int(a), Value::Uint(b)) => i128::from(*a).cmp(&i128::from(*b)),
        (Value::Uint(a), Value::Int(b)) => i128::from(*a).cmp(&i128::from(*b)),
        (Value::Double(a), Value::Double(b)) => return a.partial_cmp(b),
        #[expect(clippy::cast_precision_loss, reason = "the language compares them as doubles")]
        (Value::Double(a), Value::Int(b)) => return a.partial_cmp(&(*b as f64)),
        #[expect(clippy::cast_precision_loss, reason = "the language compares them as doubles")]
        (Value::Int(a), Value::Double(b)) => return (*a as f64).partial_cmp(b),
        #[expect(clippy::cast_precision_loss, reason = "the language compares them as doubles")]
        (Value::Double(a), Value::Uint(b)) => return a.partial_cmp(&(*b as f64)),
        #[expect(clippy::cast_precision_loss, reason = "the language compares them as doubles")]
        (Value::Uint(a), Value::Double(b)) => return (*a as f64).partial_cmp(b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Timestamp(a), Value::Timestamp(b)) => a.cmp(b),
        _ => return None,
    })
}

fn add(left: &Value, right: &Value) -> Outcome {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => a.checked_add(*b).map(Value::Int).ok_or_else(overflow),
        (Value::Uint(a), Value::Uint(b)) => a
            .checked_add(*b)
            .map(Value::Uint)
            .ok_or_else(|| EvalError::new("unsigned integer overflow")),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a + b)),
        (Value::String(a), Value::String(b)) => {
            let mut text = String::with_capacity(a.len() + b.len());
            text.push_str(a);
            text.push_str(b);
            Ok(Value::String(text.into()))
        }
        (Value::Bytes(a), Value::Bytes(b)) => Ok(Value::Bytes([&**a, &**b].concat().into())),
        (Value::List(a), Value::List(b)) => Ok(Value::List(joined(a, b))),
        (Value::Timestamp(t), Value::Duration(d)) | (Value::Duration(d), Value::Timestamp(t)) => t
            .checked_add(jiff::SignedDuration::from_nanos(*d))
            .map(Value::Timestamp)
            .map_err(|_| EvalError::new("timestamp overflow")),
        (Value::Duration(a), Value::Duration(b)) => a
            .checked_add(*b)
            .map(Value::Duration)
            .ok_or_else(|| EvalError::new("duration overflow")),
        _ => Err(EvalError::no_overload("_+_", &[left, right])),
    }
}

/// Lists add by the left one's order: sets and keyed lists merge instead of growing twice.
fn joined(a: &List, b: &List) -> List {
    let mut items: Vec<Value> = a.items.to_vec();
    for item in b.items.iter() {
        match &a.order {
            Order::Sequence => items.push(item.clone()),
            Order::Set => {
                if !items.contains(item) {
                    items.push(item.clone());
                }
            }
            Order::Keyed(keys) => match items.iter_mut().find(|old| same_keys(keys, old, item)) {
                Some(old) => *old = item.clone(),
                None => items.push(item.clone()),
            },
        }
    }
    List { items: items.into(), order: a.order.clone() }
}

fn subtract(left: &Value, right: &Value) -> Outcome {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => a.checked_sub(*b).map(Value::Int).ok_or_else(overflow),
        (Value::Uint(a), Value::Uint(b)) => a
            .checked_sub(*b)
            .map(Value::Uint)
            .ok_or_else(|| EvalError::new("unsigned integer overflow")),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a - b)),
        (Value::Timestamp(t), Value::Duration(d)) => t
            .checked_sub(jiff::SignedDuration::from_nanos(*d))
            .map(Value::Timestamp)
            .map_err(|_| EvalError::new("timestamp overflow")),
        (Value::Timestamp(a), Value::Timestamp(b)) => {
            i64::try_from(a.duration_since(*b).as_nanos())
                .map(Value::Duration)
                .map_err(|_| EvalError::new("duration overflow"))
        }
        (Value::Duration(a), Value::Duration(b)) => a
            .checked_sub(*b)
            .map(Value::Duration)
            .ok_or_else(|| EvalError::new("duration overflow")),
        _ => Err(EvalError::no_overload("_-_", &[left, right])),
    }
}

fn arithmetic(name: &str, left: &Value, right: &Value) -> Outcome {
    let unsigned = || EvalError::new("unsigned integer overflow");
    match (name, left, right) {
        ("_*_", Value::Int(a), Value::Int(b)) => {
            a.checked_mul(*b).map(Value::Int).ok_or_else(overflow)
        }
        ("_*_", Value::Uint(a), Value::Uint(b)) => {
            a.checked_mul(*b).map(Value::Uint).ok_or_else(unsigned)
        }
        ("_*_", Value::Double(a), Value::Double(b)) => Ok(Value::Double(a * b)),
        ("_/_", Value::Int(_), Value::Int(0)) | ("_/_", Value::Uint(_), Value::Uint(0)) => {
            Err(EvalError::new("division by zero"))
        }
        ("_/_", Value::Int(a), Value::Int(b)) => {
            a.checked_div(*b).map(Value::Int).ok_or_else(overflow)
        }
        ("_/_", Value::Uint(a), Value::Uint(b)) => Ok(Value::Uint(a / b)),
        ("_/_", Value::Double(a), Value::Double(b)) => Ok(Value::Double(a / b)),
        ("_%_", Value::Int(_), Value::Int(0)) | ("_%_", Value::Uint(_), Value::Uint(0)) => {
            Err(EvalError::new("modulus by zero"))
        }
        ("_%_", Value::Int(a), Value::Int(b)) => {
            a.checked_rem(*b).map(Value::Int).ok_or_else(overflow)
        }
        ("_%_", Value::Uint(a), Value::Uint(b)) => Ok(Value::Uint(a % b)),
        _ => Err(EvalError::no_overload(name, &[left, right])),
    }
}

/// `operand[index]`, `operand[?index]`
pub(super) fn index(operand: &Value, index: &Value, optional: bool) -> Outcome {
    if let Value::Optional(inner) = operand {
        let Some(inner) = inner else { return Ok(Value::Optional(None)) };
        return self::index(inner, index, true);
    }
    let found = match operand {
        Value::List(list) => {
            let Some(Key::Int(place)) = Key::of(index) else {
                let why = format!("unsupported index type '{}' in list", index.type_name());
                return Err(EvalError::new(why));
            };
            usize::try_from(place)
                .ok()
                .and_then(|place| list.items.get(place).cloned())
                .ok_or_else(|| EvalError::new(format!("index out of bounds: {place}")))
        }
        Value::Map(map) => {
            let key = Key::of(index).ok_or_else(|| EvalError::new("unsupported key type"))?;
            map.get(&key).cloned().ok_or_else(|| EvalError::no_such_key(&text(index)))
        }
        Value::Object(object) if index.as_str().is_some() => object
            .field(index.as_str().unwrap_or_default())
            .unwrap_or_else(|| Err(EvalError::no_such_key(&text(index)))),
        _ => Err(EvalError::no_such_key(&text(index))),
    };
    match (found, optional) {
        (Ok(value), true) => Ok(Value::Optional(Some(Arc::new(value)))),
        (Err(_), true) => Ok(Value::Optional(None)),
        (found, false) => found,
    }
}

/// A value as it stands in messages and in `string(x)`.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(b) => b.to_string(),
        Value::Int(i) => i.to_string(),
        Value::Uint(u) => u.to_string(),
        Value::Double(d) => double_text(*d),
        Value::String(s) | Value::Type(s) => s.to_string(),
        Value::Bytes(b) => String::from_utf8_lossy(b).into_owned(),
        Value::Timestamp(t) => t.to_string(),
        Value::Duration(d) => duration_text(*d),
        Value::List(list) => {
            let items: Vec<String> = list.items.iter().map(text).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(map) => {
            let entries: Vec<String> =
                map.iter().map(|(k, v)| format!("{}: {}", text(&k.value()), text(v))).collect();
            format!("{{{}}}", entries.join(", "))
        }
        Value::Struct(message) => message.type_name.to_string(),
        Value::Optional(Some(value)) => format!("optional({})", text(value)),
        Value::Optional(None) => "optional.none()".into(),
        Value::Object(object) => object.identity().unwrap_or_default(),
    }
}

/// A double as Go prints it with the shortest form that reads back (`%g`).
pub(crate) fn double_text(d: f64) -> String {
    if d.is_nan() {
        return "NaN".into();
    }
    if d.is_infinite() {
        return if d > 0.0 { "+Inf" } else { "-Inf" }.into();
    }
    let plain = format!("{d:e}");
    let (mantissa, exponent) = plain.split_once('e').unwrap_or((&plain, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..21).contains(&exponent) {
        return format!("{d}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// A duration as `string(duration)` prints it: seconds.
pub(super) fn duration_text(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let whole = nanos.unsigned_abs() / 1_000_000_000;
    let rest = nanos.unsigned_abs() % 1_000_000_000;
    if rest == 0 {
        return format!("{sign}{whole}s");
    }
    let fraction = format!("{rest:09}");
    format!("{sign}{whole}.{}s", fraction.trim_end_matches('0'))
}

/// Reads Go's duration text: `1h30m`, `-1.5s`, `100ms`.
pub(crate) fn parse_duration(source: &str) -> Option<i64> {
    let (negative, mut rest) = match source.as_bytes().first()? {
        b'-' => (true, &source[1..]),
        b'+' => (false, &source[1..]),
        _ => (false, source),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let length = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(length);
        let unit_length = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_length);
        let scale: i128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        if !whole.is_empty() {
            total = total.checked_add(whole.parse::<i128>().ok()?.checked_mul(scale)?)?;
        }
        let mut part = scale;
        for digit in fraction.chars() {
            part /= 10;
            total += i128::from(digit.to_digit(10)?) * part;
        }
        rest = tail;
    }
    i64::try_from(if negative { -total } else { total }).ok()
}

/// Reads an RFC 3339 timestamp.
pub(super) fn parse_timestamp(source: &str) -> Option<Timestamp> {
    let bytes = source.as_bytes();
    // jiff is more lenient than RFC 3339: it takes a space and offsets without minutes.
    let shaped = bytes.len() >= 20
        && matches!(bytes.get(10), Some(b'T' | b't'))
        && (source.ends_with(['Z', 'z'])
            || matches!(bytes.get(bytes.len() - 6), Some(b'+' | b'-')));
    if !shaped {
        return None;
    }
    source.parse().ok()
}

/// A text that is no number, no time, …
fn unreadable(as_type: &str) -> EvalError {
    EvalError::new(format!("type conversion error from 'string' to '{as_type}'"))
}

/// `int(x)`, `string(x)`, …
pub(super) fn convert(to: &str, value: &Value) -> Outcome {
    let refused = || Err(EvalError::no_overload(to, &[value]));
    match (to, value) {
        ("dyn", value) => Ok(value.clone()),
        ("type", value) => Ok(Value::Type(value.type_name().into())),
        ("bool", Value::Bool(_))
        | ("int", Value::Int(_))
        | ("uint", Value::Uint(_))
        | ("double", Value::Double(_))
        | ("string", Value::String(_))
        | ("bytes", Value::Bytes(_))
        | ("timestamp", Value::Timestamp(_))
        | ("duration", Value::Duration(_)) => Ok(value.clone()),
        ("bool", Value::String(text)) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            _ => Err(unreadable("bool")),
        },
        ("int", Value::Uint(u)) => i64::try_from(*u).map(Value::Int).map_err(|_| overflow()),
        #[expect(clippy::cast_possible_truncation, reason = "checked to be within range")]
        ("int", Value::Double(d)) => {
            if d.is_finite() && *d > -9.223_372_036_854_776e18 && *d < 9.223_372_036_854_776e18 {
                Ok(Value::Int(*d as i64))
            } else {
                Err(overflow())
            }
        }
        ("int", Value::String(text)) => text.parse().map(Value::Int).map_err(|_| unreadable("int")),
        ("int", Value::Timestamp(t)) => Ok(Value::Int(t.as_second())),
        ("int", Value::Duration(d)) => Ok(Value::Int(*d)),
        ("uint", Value::Int(i)) => u64::try_from(*i)
            .map(Value::Uint)
            .map_err(|_| EvalError::new("unsigned integer overflow")),
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be within range"
        )]
        ("uint", Value::Double(d)) => {
            if d.is_finite() && *d >= 0.0 && *d < 1.844_674_407_370_955_2e19 {
                Ok(Value::Uint(*d as u64))
            } else {
                Err(EvalError::new("unsigned integer overflow"))
            }
        }
        ("uint", Value::String(text)) => {
            text.parse().map(Value::Uint).map_err(|_| unreadable("uint"))
        }
        #[expect(clippy::cast_precision_loss, reason = "what the conversion means")]
        ("double", Value::Int(i)) => Ok(Value::Double(*i as f64)),
        #[expect(clippy::cast_precision_loss, reason = "what the conversion means")]
        ("double", Value::Uint(u)) => Ok(Value::Double(*u as f64)),
        ("double", Value::String(text)) => {
            text.parse().map(Value::Double).map_err(|_| unreadable("double"))
        }
        ("string", Value::Bytes(bytes)) => std::str::from_utf8(bytes)
            .map(Value::string)
            .map_err(|_| EvalError::new("invalid UTF-8 in bytes, cannot convert to string")),
        (
            "string",
            Value::Bool(_)
            | Value::Int(_)
            | Value::Uint(_)
            | Value::Double(_)
            | Value::Timestamp(_)
            | Value::Duration(_),
        ) => Ok(Value::String(text(value).into())),
        ("string", Value::Object(object)) => object.call("string", &[]).unwrap_or_else(refused),
        ("bytes", Value::String(text)) => Ok(Value::Bytes(text.as_bytes().into())),
        ("timestamp", Value::String(text)) => parse_timestamp(text)
            .map(Value::Timestamp)
            .ok_or_else(|| unreadable("google.protobuf.Timestamp")),
        ("timestamp", Value::Int(seconds)) => Timestamp::from_second(*seconds)
            .map(Value::Timestamp)
            .map_err(|_| EvalError::new("timestamp overflow")),
        ("duration", Value::String(text)) => parse_duration(text)
            .map(Value::Duration)
            .ok_or_else(|| unreadable("google.protobuf.Duration")),
        ("duration", Value::Int(nanos)) => Ok(Value::Duration(*nanos)),
        _ => refused(),
    }
}

/// Text as Go's `%q` would quote it, near enough for messages.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            c if (c as u32) < 0x20 => drop(write!(out, "\\x{:02x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
