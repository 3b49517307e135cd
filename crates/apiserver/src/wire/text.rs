//! Text as Go prints it: JSON, quoted strings, and values in messages.

use serde_json::{Number, Value};

use super::table::{Struct, Type, table};

/// Appends a JSON string with Go's escapes (`<`, `>` and `&` too).
pub(crate) fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                hex(out, "\\u", c, 4);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

fn hex(out: &mut String, prefix: &str, c: char, width: usize) {
    let digits = format!("{:0width$x}", u32::from(c));
    out.push_str(prefix);
    out.push_str(&digits);
}

/// A string as Go's `%q` prints it.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\u{1f}' | '\u{7f}' => hex(&mut out, "\\x", c, 2),
            c if printable(c) => out.push(c),
            c if u32::from(c) < 0x1_0000 => hex(&mut out, "\\u", c, 4),
            c => hex(&mut out, "\\U", c, 8),
        }
    }
    out.push('"');
    out
}

/// Whether Go prints the character as it is. Rust's debug escapes follow the same Unicode categories.
fn printable(c: char) -> bool {
    c.is_ascii_graphic() || c == ' ' || (!c.is_whitespace() && c.escape_debug().count() == 1)
}

/// Appends a number as Go encodes it: whole floats without a fraction, exponents from 1e21.
fn write_number(out: &mut String, number: &Number) {
    match number.as_f64() {
        Some(float) if number.is_f64() => out.push_str(&float_text(float, 1e21, 1e-6)),
        _ => out.push_str(&number.to_string()),
    }
}

fn float_text(float: f64, large: f64, small: f64) -> String {
    let size = float.abs();
    if size != 0.0 && (size >= large || size < small) {
        let text = format!("{float:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return match exponent.strip_prefix('-') {
            Some(digits) => format!("{mantissa}e-{digits:0>2}"),
            None => format!("{mantissa}e+{exponent:0>2}"),
        };
    }
    format!("{float}")
}

/// Appends a value of any type, objects sorted by key.
pub(crate) fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_string(out, text),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_value(out, item);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (i, (key, value)) in map.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_string(out, key);
                out.push(':');
                write_value(out, value);
            }
            out.push('}');
        }
    }
}

/// Appends an object, its fields in the order of its type if it has one.
pub(crate) fn write_object(out: &mut String, object: &Value, of: Option<&Struct>) {
    match (object, of) {
        (Value::Object(map), Some(of)) => {
            out.push('{');
            let mut first = true;
            for field in &of.fields {
                if let Some(value) = map.get(&*field.name) {
                    separate(out, &mut first);
                    write_string(out, &field.name);
                    out.push(':');
                    write_typed(out, value, &field.ty);
                }
            }
            for (key, value) in map {
                if of.field(key).is_none() {
                    separate(out, &mut first);
                    write_string(out, key);
                    out.push(':');
                    write_value(out, value);
                }
            }
            out.push('}');
        }
        _ => write_value(out, object),
    }
}

fn separate(out: &mut String, first: &mut bool) {
    if !std::mem::take(first) {
        out.push(',');
    }
}

/// Appends a value of a known type.
pub(crate) fn write_typed(out: &mut String, value: &Value, ty: &Type) {
    match (ty, value) {
        (Type::Pointer(of) | Type::Named(_, of), _) => write_typed(out, value, of),
        (Type::Struct(at), Value::Object(_)) => write_object(out, value, table().at(*at)),
        (Type::List(of), Value::Array(items)) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_typed(out, item, of);
            }
            out.push(']');
        }
        (Type::Map(_, of), Value::Object(map)) => {
            out.push('{');
            for (i, (key, value)) in map.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_string(out, key);
                out.push(':');
                write_typed(out, value, of);
            }
            out.push('}');
        }
        _ => write_value(out, value),
    }
}

/// A value as Go's `%v` prints it: `map[a:1 b:[x y]]`.
pub(crate) fn shown(value: &Value) -> String {
    let mut out = String::new();
    write_shown(&mut out, value);
    out
}

fn write_shown(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(flag) => out.push_str(&flag.to_string()),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => out.push_str(&float_text(float, 1e21, 1e-4)),
            _ => out.push_str(&number.to_string()),
        },
        Value::String(text) => out.push_str(text),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                write_shown(out, item);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push_str("map[");
            for (i, (key, value)) in map.iter().enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                out.push_str(key);
                out.push(':');
                write_shown(out, value);
            }
            out.push(']');
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_escaped_as_go_does() {
        let mut out = String::new();
        write_value(
            &mut out,
            &json!({"a": "<b>&\n\u{1}\u{2028}é", "n": 1.5, "big": 1e21, "z": []}),
        );
        assert_eq!(out, r#"{"a":"\u003cb\u003e\u0026\n\u0001\u2028é","big":1e+21,"n":1.5,"z":[]}"#);
    }

    #[test]
    fn quoting_keeps_what_prints() {
        assert_eq!(quote("a\"b\\c\n\u{1}é\u{200b}"), r#""a\"b\\c\n\x01é\u200b""#);
    }

    #[test]
    fn values_in_messages() {
        let value = json!({"b": [1, "x", null], "a": {"c": true}});
        assert_eq!(shown(&value), "map[a:map[c:true] b:[1 x <nil>]]");
    }
}
