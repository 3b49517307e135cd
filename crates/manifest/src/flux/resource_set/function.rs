//! The functions templates may call. Others are refused by their name.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::value::{is_true, printed, to_yaml};

/// Calls a function; what was piped into it is the last argument.
pub(super) fn call(name: &str, arguments: &[Value]) -> Result<Value, String> {
    let text = |place: usize| -> Result<String, String> {
        arguments
            .get(place)
            .map(printed_or_empty)
            .ok_or_else(|| format!("function {name:?} needs more arguments"))
    };
    let value = |place: usize| -> Result<&Value, String> {
        arguments.get(place).ok_or_else(|| format!("function {name:?} needs more arguments"))
    };
    let number = |place: usize| -> Result<i64, String> {
        let value = value(place)?;
        as_number(value).ok_or_else(|| format!("{} is no whole number", printed(value)))
    };
    Ok(match name {
        "quote" | "squote" => {
            let quoted: Vec<String> = arguments
                .iter()
                .filter(|value| !value.is_null())
                .map(|value| {
                    let text = printed(value);
                    if name == "quote" { format!("{text:?}") } else { format!("'{text}'") }
                })
                .collect();
            Value::String(quoted.join(" "))
        }
        "upper" => Value::String(text(0)?.to_uppercase()),
        "lower" => Value::String(text(0)?.to_lowercase()),
        "trim" => Value::String(text(0)?.trim().to_owned()),
        "trimPrefix" => {
            let whole = text(1)?;
            Value::String(whole.strip_prefix(text(0)?.as_str()).unwrap_or(&whole).to_owned())
        }
        "trimSuffix" => {
            let whole = text(1)?;
            Value::String(whole.strip_suffix(text(0)?.as_str()).unwrap_or(&whole).to_owned())
        }
        "trimAll" => {
            let set: Vec<char> = text(0)?.chars().collect();
            Value::String(text(1)?.trim_matches(set.as_slice()).to_owned())
        }
        "replace" => Value::String(text(2)?.replace(&text(0)?, &text(1)?)),
        "contains" => Value::Bool(text(1)?.contains(&text(0)?)),
        "hasPrefix" => Value::Bool(text(1)?.starts_with(&text(0)?)),
        "hasSuffix" => Value::Bool(text(1)?.ends_with(&text(0)?)),
        "trunc" => {
            let (count, whole) = (number(0)?, text(1)?);
            let length = whole.chars().count();
            let wanted = usize::try_from(count.unsigned_abs()).unwrap_or(length).min(length);
            Value::String(if count < 0 {
                whole.chars().skip(length - wanted).collect()
            } else {
                whole.chars().take(wanted).collect()
            })
        }
        "repeat" => {
            let count = usize::try_from(number(0)?).unwrap_or(0).min(1 << 12);
            Value::String(text(1)?.repeat(count))
        }
        "indent" | "nindent" => {
            let spaces = " ".repeat(usize::try_from(number(0)?).unwrap_or(0).min(1 << 10));
            let indented = format!("{spaces}{}", text(1)?.replace('\n', &format!("\n{spaces}")));
            Value::String(if name == "nindent" { format!("\n{indented}") } else { indented })
        }
        "split" | "splitList" => {
            let separator = text(0)?;
            let parts = text(1)?;
            let parts = parts.split(separator.as_str()).map(|part| Value::String(part.to_owned()));
            if name == "splitList" {
                Value::Array(parts.collect())
            } else {
                Value::Object(
                    parts.enumerate().map(|(place, part)| (format!("_{place}"), part)).collect(),
                )
            }
        }
        "join" => {
            let parts: Vec<String> = match value(1)? {
                Value::Array(items) => items.iter().map(printed_or_empty).collect(),
                other => vec![printed_or_empty(other)],
            };
            Value::String(parts.join(&text(0)?))
        }
        "slugify" => Value::String(slug(&text(0)?)),
        "toYaml" => Value::String(to_yaml(value(0)?).unwrap_or_default()),
        "mustToYaml" => Value::String(to_yaml(value(0)?).ok_or("the value cannot be YAML")?),
        "toJson" | "mustToJson" => Value::String(value(0)?.to_string()),
        "fromJson" | "mustFromJson" => {
            serde_json::from_str(&text(0)?).map_err(|error| format!("no JSON: {error}"))?
        }
        "b64enc" => Value::String(STANDARD.encode(text(0)?)),
        "b64dec" => {
            let bytes =
                STANDARD.decode(text(0)?).map_err(|_| "the text is not base64".to_owned())?;
            Value::String(String::from_utf8_lossy(&bytes).into_owned())
        }
        "toString" | "print" => Value::String(arguments.iter().map(printed_or_empty).collect()),
        "printf" => Value::String(printf(&text(0)?, &arguments[1..])?),
        "int" | "int64" | "atoi" => Value::from(as_number(value(0)?).unwrap_or(0)),
        "add" => Value::from(sum(arguments)?),
        "add1" => Value::from(number(0)?.saturating_add(1)),
        "sub" => Value::from(number(0)?.saturating_sub(number(1)?)),
        "mul" => {
            let product = (0..arguments.len()).try_fold(1_i64, |product, place| {
                Ok::<_, String>(product.saturating_mul(number(place)?))
            })?;
            Value::from(product)
        }
        "div" | "mod" => {
            let (one, two) = (number(0)?, number(1)?);
            let result = if name == "div" { one.checked_div(two) } else { one.checked_rem(two) };
            Value::from(result.ok_or("division by zero")?)
        }
        "default" => match arguments {
            [default] => default.clone(),
            [default, given, ..] => if is_true(given) { given } else { default }.clone(),
            [] => return Err("function \"default\" needs more arguments".to_owned()),
        },
        "empty" => Value::Bool(!is_true(value(0)?)),
        "coalesce" => arguments.iter().find(|value| is_true(value)).cloned().unwrap_or(Value::Null),
        "ternary" => if is_true(value(2)?) { value(0)? } else { value(1)? }.clone(),
        "and" | "or" => arguments.last().cloned().unwrap_or(Value::Null),
        "not" => Value::Bool(!is_true(value(0)?)),
        "eq" => {
            let first = value(0)?;
            value(1)?;
            Value::Bool(arguments[1..].iter().any(|other| same(first, other)))
        }
        "ne" => Value::Bool(!same(value(0)?, value(1)?)),
        "lt" => Value::Bool(order(value(0)?, value(1)?)?.is_lt()),
        "le" => Value::Bool(order(value(0)?, value(1)?)?.is_le()),
        "gt" => Value::Bool(order(value(0)?, value(1)?)?.is_gt()),
        "ge" => Value::Bool(order(value(0)?, value(1)?)?.is_ge()),
        "len" => Value::from(match value(0)? {
            Value::String(text) => text.len(),
            Value::Array(items) => items.len(),
            Value::Object(map) => map.len(),
            other => return Err(format!("len of {}", printed(other))),
        }),
        "index" | "get" => {
            let mut found = value(0)?.clone();
            for key in &arguments[1..] {
                found = match (&found, key) {
                    (Value::Array(items), key) => {
                        let place = as_number(key).and_then(|place| usize::try_from(place).ok());
                        place
                            .and_then(|place| items.get(place))
                            .cloned()
                            .ok_or_else(|| format!("index out of range: {}", printed(key)))?
                    }
                    (Value::Object(map), Value::String(key)) => {
                        let without =
                            if name == "get" { Value::String(String::new()) } else { Value::Null };
                        map.get(key).cloned().unwrap_or(without)
                    }
                    (other, _) => return Err(format!("can't index {}", printed(other))),
                };
            }
            found
        }
        "hasKey" => match (value(0)?, value(1)?) {
            (Value::Object(map), Value::String(key)) => Value::Bool(map.contains_key(key)),
            _ => return Err("hasKey needs a map and a text".to_owned()),
        },
        "keys" => match value(0)? {
            Value::Object(map) => Value::Array(map.keys().cloned().map(Value::String).collect()),
            other => return Err(format!("{} has no keys", printed(other))),
        },
        "has" => match value(1)? {
            Value::Array(items) => Value::Bool(items.iter().any(|item| same(item, &arguments[0]))),
            _ => return Err("has needs a list".to_owned()),
        },
        "list" => Value::Array(arguments.to_vec()),
        "dict" => {
            let mut map = Map::new();
            for pair in arguments.chunks(2) {
                let filled = pair.get(1).cloned().unwrap_or_else(|| Value::String(String::new()));
                map.insert(printed_or_empty(&pair[0]), filled);
            }
            Value::Object(map)
        }
        "first" | "last" => match value(0)? {
            Value::Array(items) => {
                let item = if name == "first" { items.first() } else { items.last() };
                item.cloned().unwrap_or(Value::Null)
            }
            other => return Err(format!("{} is no list", printed(other))),
        },
        "fail" => return Err(text(0)?),
        other => return Err(format!("function {other:?} is not known here")),
    })
}

fn printed_or_empty(value: &Value) -> String {
    if value.is_null() { String::new() } else { printed(value) }
}

fn as_number(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => {
            number.as_i64().or_else(|| number.as_f64().map(|float| float as i64))
        }
        Value::String(text) => text.parse().ok(),
        Value::Bool(value) => Some(i64::from(*value)),
        _ => None,
    }
}

fn sum(values: &[Value]) -> Result<i64, String> {
    values.iter().try_fold(0_i64, |sum, value| {
        let number = as_number(value).ok_or_else(|| format!("{} is no number", printed(value)))?;
        Ok(sum.saturating_add(number))
    })
}

fn same(one: &Value, two: &Value) -> bool {
    match (one.as_f64(), two.as_f64()) {
        (Some(one), Some(two)) => one.total_cmp(&two).is_eq(),
        _ => one == two,
    }
}

fn order(one: &Value, two: &Value) -> Result<std::cmp::Ordering, String> {
    match (one, two) {
        (Value::String(one), Value::String(two)) => Ok(one.cmp(two)),
        _ => match (one.as_f64(), two.as_f64()) {
            (Some(one), Some(two)) => Ok(one.total_cmp(&two)),
            _ => Err("incompatible types for comparison".to_owned()),
        },
    }
}

fn printf(format: &str, arguments: &[Value]) -> Result<String, String> {
    let mut done = String::new();
    let mut arguments = arguments.iter();
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            done.push(letter);
            continue;
        }
        let verb = letters.next().ok_or("a text of printf ends with %")?;
        if verb == '%' {
            done.push('%');
            continue;
        }
        let argument = arguments.next().ok_or("printf needs more arguments")?;
        match verb {
            's' | 'v' | 'd' => done.push_str(&printed(argument)),
            'q' => done.push_str(&format!("{:?}", printed(argument))),
            other => return Err(format!("%{other} of printf is not known here")),
        }
    }
    Ok(done)
}

/// A name fit for labels: lower case, dashes for the rest, 63 characters at most, whole words.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for letter in text.chars() {
        if letter.is_ascii_alphanumeric() || letter == '_' {
            slug.push(letter.to_ascii_lowercase());
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches(['-', '_']);
    if slug.len() <= 63 {
        return slug.to_owned();
    }
    match slug[..64].rfind('-') {
        Some(end) if end > 0 => slug[..end].to_owned(),
        _ => slug[..63].to_owned(),
    }
}
