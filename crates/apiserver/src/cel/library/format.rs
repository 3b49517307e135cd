//! `'%s is %d'.format([a, b])`

use std::fmt::Write as _;

use super::Outcome;
use crate::cel::error::EvalError;
use crate::cel::operator;
use crate::cel::value::Value;

pub(super) fn format(pattern: &str, arguments: &[Value]) -> Outcome {
    let mut out = String::new();
    let mut chars = pattern.chars().peekable();
    let mut next = 0;
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        if chars.peek() == Some(&'%') {
            chars.next();
            out.push('%');
            continue;
        }
        let mut precision = None;
        if chars.peek() == Some(&'.') {
            chars.next();
            let mut digits = String::new();
            while let Some(digit) = chars.peek().filter(|c| c.is_ascii_digit()) {
                digits.push(*digit);
                chars.next();
            }
            precision = digits.parse::<usize>().ok();
        }
        let Some(clause) = chars.next() else {
            return Err(EvalError::new("unexpected end of string"));
        };
        if !"sdfexXbo".contains(clause) {
            return Err(EvalError::new(format!(
                "could not parse formatting clause: unrecognized formatting clause \"{clause}\""
            )));
        }
        let Some(argument) = arguments.get(next) else {
            return Err(EvalError::new(format!("index {next} out of range")));
        };
        next += 1;
        match clause_text(clause, precision, argument) {
            Some(text) => out.push_str(&text),
            None => {
                return Err(EvalError::new(format!(
                    "error during formatting: {} clause can only be used on {}, was given {}",
                    match clause {
                        'd' => "decimal",
                        'f' => "fixed-point",
                        'e' => "scientific",
                        'b' => "binary",
                        'o' => "octal",
                        'x' | 'X' => "hex",
                        _ => "string",
                    },
                    match clause {
                        'd' | 'o' => "integers",
                        'f' | 'e' => "doubles",
                        'b' => "integers and bools",
                        'x' | 'X' => "integers, byte buffers, and strings",
                        _ =>
                            "strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
                    },
                    argument.type_name()
                )));
            }
        }
    }
    Ok(Value::String(out.into()))
}

fn clause_text(clause: char, precision: Option<usize>, value: &Value) -> Option<String> {
    Some(match (clause, value) {
        ('s', _) => text(value),
        ('d', Value::Int(i)) => i.to_string(),
        ('d', Value::Uint(u)) => u.to_string(),
        ('d' | 'f' | 'e', Value::Double(d)) if d.is_nan() || d.is_infinite() => special(*d),
        ('f', Value::Double(d)) => format!("{d:.*}", precision.unwrap_or(6)),
        #[expect(clippy::cast_precision_loss, reason = "what the clause means")]
        ('f', Value::Int(i)) => format!("{:.*}", precision.unwrap_or(6), *i as f64),
        ('e', Value::Double(d)) => {
            let text = format!("{d:.*e}", precision.unwrap_or(6));
            let (mantissa, exponent) = text.split_once('e')?;
            let exponent: i32 = exponent.parse().ok()?;
            format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
        }
        ('b', Value::Bool(b)) => u8::from(*b).to_string(),
        ('b', Value::Int(i)) => signed(*i, |u| format!("{u:b}")),
        ('b', Value::Uint(u)) => format!("{u:b}"),
        ('o', Value::Int(i)) => signed(*i, |u| format!("{u:o}")),
        ('o', Value::Uint(u)) => format!("{u:o}"),
        ('x', Value::Int(i)) => signed(*i, |u| format!("{u:x}")),
        ('X', Value::Int(i)) => signed(*i, |u| format!("{u:X}")),
        ('x', Value::Uint(u)) => format!("{u:x}"),
        ('X', Value::Uint(u)) => format!("{u:X}"),
        ('x', Value::String(s)) => hex(s.as_bytes(), false),
        ('X', Value::String(s)) => hex(s.as_bytes(), true),
        ('x', Value::Bytes(b)) => hex(b, false),
        ('X', Value::Bytes(b)) => hex(b, true),
        _ => return None,
    })
}

fn signed(i: i64, digits: impl Fn(u64) -> String) -> String {
    format!("{}{}", if i < 0 { "-" } else { "" }, digits(i.unsigned_abs()))
}

fn special(d: f64) -> String {
    if d.is_nan() {
        "NaN".into()
    } else if d > 0.0 {
        "Infinity".into()
    } else {
        "-Infinity".into()
    }
}

fn hex(bytes: &[u8], upper: bool) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = if upper { write!(out, "{byte:02X}") } else { write!(out, "{byte:02x}") };
        out
    })
}

fn text(value: &Value) -> String {
    match value {
        Value::List(list) => {
            let items: Vec<String> = list.items.iter().map(text).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(map) => {
            let mut entries: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{}: {}", text(&key.value()), text(value)))
                .collect();
            entries.sort();
            format!("{{{}}}", entries.join(", "))
        }
        Value::Double(d) if d.is_nan() || d.is_infinite() => special(*d),
        other => operator::text(other),
    }
}
