//! What the way over YAML and JSON makes of values: plain texts get the types of YAML 1.1, numbers are
//! numbers of JSON.

use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{Mapping, Mark, Node, Scalar, Style, Tag, Text, Value};

/// Gives every value the type and text it has after YAML was read into JSON, and JSON into an object.
pub(super) fn as_json(node: &mut Node) -> Result<()> {
    match &mut node.value {
        Value::Scalar(scalar) => {
            if let Some(changed) = json_scalar(scalar).map_err(|error| error.at(node.mark))? {
                *scalar = changed;
            }
        }
        Value::Sequence(items) => items.iter_mut().try_for_each(as_json)?,
        Value::Mapping(mapping) => {
            for entry in mapping.iter_mut() {
                if entry.key.tag != Tag::Str {
                    if entry.key.tag == Tag::Null {
                        return Err(
                            Diagnostic::new("a key is empty after substitution").at(entry.key.mark)
                        );
                    }
                    let key = Scalar {
                        text: entry.key.text.clone(),
                        tag: entry.key.tag,
                        style: Style::Plain,
                    };
                    if let Some(changed) = json_scalar(&key)? {
                        entry.key.text = changed.text;
                    }
                    entry.key.tag = Tag::Str;
                }
                as_json(&mut entry.value)?;
            }
        }
    }
    Ok(())
}

fn json_scalar(scalar: &Scalar) -> Result<Option<Scalar>> {
    if scalar.style != Style::Plain {
        return Ok(None);
    }
    let (text, tag) = match resolve(&scalar.text) {
        Resolved::Null => (Text::from("null"), Tag::Null),
        Resolved::Bool(value) => (if value { "true" } else { "false" }.into(), Tag::Bool),
        Resolved::Number(number) => {
            if !number.is_finite() {
                return Err(Diagnostic::new(format!(
                    "{} is no number that an object can hold",
                    scalar.text
                )));
            }
            let text = json_number(number);
            let tag = if text.contains(['.', 'e']) { Tag::Float } else { Tag::Int };
            (text.into(), tag)
        }
        Resolved::Text => (scalar.text.clone(), Tag::Str),
    };
    Ok(Some(Scalar { text, tag, style: Style::Plain }))
}

#[derive(Debug, PartialEq)]
enum Resolved {
    Null,
    Bool(bool),
    Number(f64),
    Text,
}

/// The type of a plain text in YAML 1.1, as Go's second YAML library knows it.
fn resolve(text: &str) -> Resolved {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Resolved::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Resolved::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Resolved::Bool(false);
        }
        ".nan" | ".NaN" | ".NAN" => return Resolved::Number(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => {
            return Resolved::Number(f64::INFINITY);
        }
        "-.inf" | "-.Inf" | "-.INF" => return Resolved::Number(f64::NEG_INFINITY),
        _ => {}
    }
    let number = match text.as_bytes().first() {
        Some(b'.') => {
            text[1..].starts_with(|c: char| c.is_ascii_digit()).then(|| float(text)).flatten()
        }
        Some(b'0'..=b'9' | b'+' | b'-') => {
            let plain = text.replace('_', "");
            integer(&plain).or_else(|| float(&plain))
        }
        _ => None,
    };
    number.map_or(Resolved::Text, Resolved::Number)
}

/// A whole number in any base that Go knows, if it fits into 64 bits.
fn integer(text: &str) -> Option<f64> {
    let (negative, digits) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = if let Some(rest) = lower.strip_prefix("0x") {
        (16, rest)
    } else if let Some(rest) = lower.strip_prefix("0b") {
        (2, rest)
    } else if let Some(rest) = lower.strip_prefix("0o") {
        (8, rest)
    } else if lower.len() > 1 && lower.starts_with('0') {
        (8, &lower[1..])
    } else {
        (10, lower.as_str())
    };
    if !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    let number = u64::from_str_radix(digits, radix).ok()?;
    if negative {
        return (number <= i64::MIN.unsigned_abs()).then(|| -(number as f64));
    }
    // A sign makes it a signed number, which ends earlier.
    (!text.starts_with('+') || i64::try_from(number).is_ok()).then_some(number as f64)
}

/// A decimal number: digits, maybe a dot, maybe an exponent.
fn float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let has_number = !whole.is_empty() || !fraction.is_empty();
    let exponent_fits = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    if !has_number || !digits(whole) || !digits(fraction) || !exponent_fits {
        return None;
    }
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// A number as Go writes it into JSON.
fn json_number(number: f64) -> String {
    let size = number.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{number:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return if exponent.starts_with('-') {
            format!("{mantissa}e{exponent}")
        } else {
            format!("{mantissa}e+{exponent}")
        };
    }
    if number == 0.0 && number.is_sign_negative() {
        return "-0".to_owned();
    }
    format!("{number}")
}

/// Gives what is where it was before the place it was read from.
pub(super) fn keep_marks(before: &Node, after: &mut Node) {
    after.mark = before.mark;
    match (&before.value, &mut after.value) {
        (Value::Mapping(before), Value::Mapping(after)) => {
            for entry in after.iter_mut() {
                if let Some(old) = before.entry(&entry.key.text) {
                    entry.key.mark = old.key.mark;
                    keep_marks(&old.value, &mut entry.value);
                } else {
                    forget_marks(&mut entry.value);
                    entry.key.mark = Mark::default();
                }
            }
        }
        (Value::Sequence(before), Value::Sequence(after)) => {
            for (old, new) in before.iter().zip(after.iter_mut()) {
                keep_marks(old, new);
            }
            for new in after.iter_mut().skip(before.len()) {
                forget_marks(new);
            }
        }
        (_, value) => forget_inside(value),
    }
}

fn forget_marks(node: &mut Node) {
    node.mark = Mark::default();
    forget_inside(&mut node.value);
}

fn forget_inside(value: &mut Value) {
    match value {
        Value::Scalar(_) => {}
        Value::Sequence(items) => items.iter_mut().for_each(forget_marks),
        Value::Mapping(mapping) => forget_in_mapping(mapping),
    }
}

fn forget_in_mapping(mapping: &mut Mapping) {
    for entry in mapping.iter_mut() {
        entry.key.mark = Mark::default();
        forget_marks(&mut entry.value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_texts_have_the_types_of_yaml_1_1() {
        let cases = [
            ("yes", Resolved::Bool(true)),
            ("Off", Resolved::Bool(false)),
            ("y", Resolved::Bool(true)),
            ("~", Resolved::Null),
            ("0755", Resolved::Number(493.0)),
            ("0o17", Resolved::Number(15.0)),
            ("0x1F", Resolved::Number(31.0)),
            ("-0b11", Resolved::Number(-3.0)),
            ("1_000", Resolved::Number(1000.0)),
            ("1e3", Resolved::Number(1000.0)),
            ("09", Resolved::Number(9.0)),
            (".5", Resolved::Number(0.5)),
            ("1.2.3", Resolved::Text),
            ("1e", Resolved::Text),
            ("-", Resolved::Text),
            ("2024-01-02", Resolved::Text),
            ("12:30:45", Resolved::Text),
            ("0x", Resolved::Text),
            ("nope", Resolved::Text),
        ];
        for (text, expected) in cases {
            assert_eq!(resolve(text), expected, "{text}");
        }
    }

    #[test]
    fn numbers_are_written_as_go_writes_them() {
        let cases = [
            (1.0, "1"),
            (1.5, "1.5"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1e-7, "1e-7"),
            (0.000_001, "0.000001"),
            (9_007_199_254_740_993.0, "9007199254740992"),
            (12_345_678_901_234_567_890.0, "12345678901234567000"),
        ];
        for (number, text) in cases {
            assert_eq!(json_number(number), text);
        }
    }
}
