//! Functions of strings, and regular expressions.

use std::sync::Arc;

use super::Outcome;
use crate::cel::error::EvalError;
use crate::cel::operator;
use crate::cel::value::Value;
use crate::crd::pattern::compiled;

pub(super) fn call(function: &str, method: bool, arguments: &[Value]) -> Option<Outcome> {
    if let ("join", [Value::List(list), rest @ ..]) = (function, arguments) {
        let separator = match rest {
            [] => "",
            [one] => one.as_str()?,
            _ => return None,
        };
        let parts: Option<Vec<&str>> = list.items.iter().map(Value::as_str).collect();
        return Some(match parts {
            Some(parts) => Ok(Value::String(parts.join(separator).into())),
            None => return None,
        });
    }
    let [Value::String(subject), rest @ ..] = arguments else { return None };
    if !method {
        return match (function, rest) {
            ("matches", [Value::String(pattern)]) => Some(matches(subject, pattern)),
            ("strings.quote", []) => Some(Ok(Value::String(operator::quoted(subject).into()))),
            _ => None,
        };
    }
    Some(match (function, rest) {
        ("contains", [Value::String(part)]) => Ok(Value::Bool(subject.contains(&**part))),
        ("startsWith", [Value::String(part)]) => Ok(Value::Bool(subject.starts_with(&**part))),
        ("endsWith", [Value::String(part)]) => Ok(Value::Bool(subject.ends_with(&**part))),
        ("matches", [Value::String(pattern)]) => matches(subject, pattern),
        ("find", [Value::String(pattern)]) => regex(pattern)
            .map(|regex| Value::string(regex.find(subject).map_or("", |found| found.as_str()))),
        ("findAll", [Value::String(pattern)]) => find_all(subject, pattern, -1),
        ("findAll", [Value::String(pattern), Value::Int(most)]) => {
            find_all(subject, pattern, *most)
        }
        ("charAt", [Value::Int(index)]) => {
            let length = count(subject);
            if *index < 0 || *index > length {
                out_of_range(*index)
            } else {
                Ok(Value::String(cut(subject, *index, (*index + 1).min(length)).into()))
            }
        }
        ("indexOf", [Value::String(part)]) => Ok(Value::Int(index_of(subject, part, 0))),
        ("indexOf", [Value::String(part), Value::Int(from)]) => {
            if *from < 0 || *from > count(subject) {
                out_of_range(*from)
            } else {
                Ok(Value::Int(index_of(subject, part, *from)))
            }
        }
        ("lastIndexOf", [Value::String(part)]) => {
            Ok(Value::Int(last_index_of(subject, part, i64::MAX)))
        }
        ("lastIndexOf", [Value::String(part), Value::Int(from)]) => {
            if *from < 0 || *from > count(subject) {
                out_of_range(*from)
            } else {
                Ok(Value::Int(last_index_of(subject, part, *from)))
            }
        }
        ("lowerAscii", []) => Ok(Value::String(subject.to_ascii_lowercase().into())),
        ("upperAscii", []) => Ok(Value::String(subject.to_ascii_uppercase().into())),
        ("trim", []) => Ok(Value::string(subject.trim())),
        ("replace", [Value::String(from), Value::String(to)]) => {
            Ok(Value::String(subject.replace(&**from, to).into()))
        }
        ("replace", [Value::String(from), Value::String(to), Value::Int(times)]) => {
            Ok(Value::String(match usize::try_from(*times) {
                Ok(times) => subject.replacen(&**from, to, times).into(),
                Err(_) => subject.replace(&**from, to).into(),
            }))
        }
        ("split", [Value::String(separator)]) => Ok(split(subject, separator, -1)),
        ("split", [Value::String(separator), Value::Int(most)]) => {
            Ok(split(subject, separator, *most))
        }
        ("substring", [Value::Int(start)]) => substring(subject, *start, count(subject)),
        ("substring", [Value::Int(start), Value::Int(end)]) => {
            if *start > *end {
                Err(EvalError::new(format!("invalid substring range. start: {start}, end: {end}")))
            } else {
                substring(subject, *start, *end)
            }
        }
        ("format", [Value::List(list)]) => super::format::format(subject, &list.items),
        _ => return None,
    })
}

fn count(text: &str) -> i64 {
    i64::try_from(text.chars().count()).unwrap_or(i64::MAX)
}

fn out_of_range(index: i64) -> Outcome {
    Err(EvalError::new(format!("index out of range: {index}")))
}

fn cut(text: &str, start: i64, end: i64) -> String {
    let start = usize::try_from(start).unwrap_or(0);
    let end = usize::try_from(end).unwrap_or(0);
    text.chars().skip(start).take(end.saturating_sub(start)).collect()
}

fn substring(text: &str, start: i64, end: i64) -> Outcome {
    let length = count(text);
    if start < 0 || start > length {
        return out_of_range(start);
    }
    if end < 0 || end > length {
        return out_of_range(end);
    }
    Ok(Value::String(cut(text, start, end).into()))
}

fn index_of(text: &str, part: &str, from: i64) -> i64 {
    if part.is_empty() {
        return from;
    }
    let start: usize =
        text.chars().take(usize::try_from(from).unwrap_or(0)).map(char::len_utf8).sum();
    text[start..].find(part).map_or(-1, |at| from + count(&text[start..start + at]))
}

fn last_index_of(text: &str, part: &str, from: i64) -> i64 {
    if part.is_empty() {
        return if from == i64::MAX { count(text) } else { from };
    }
    let characters: Vec<char> = text.chars().collect();
    let wanted: Vec<char> = part.chars().collect();
    let Some(last) = characters.len().checked_sub(wanted.len()) else { return -1 };
    let from = usize::try_from(from).unwrap_or(0).min(last);
    (0..=from)
        .rev()
        .find(|at| characters[*at..].starts_with(&wanted))
        .map_or(-1, |at| i64::try_from(at).unwrap_or(-1))
}

fn split(text: &str, separator: &str, most: i64) -> Value {
    if most == 0 {
        return Value::list(Vec::new());
    }
    let parts: Vec<Value> = if separator.is_empty() {
        let characters: Vec<char> = text.chars().collect();
        let limit = usize::try_from(most).unwrap_or(characters.len()).max(1);
        let mut parts: Vec<String> =
            characters.iter().take(limit - 1).map(char::to_string).collect();
        if characters.len() >= limit {
            parts.push(characters[limit - 1..].iter().collect());
        }
        parts.iter().map(|part| Value::string(part)).collect()
    } else {
        match usize::try_from(most) {
            Ok(most) => text.splitn(most, separator).map(Value::string).collect(),
            Err(_) => text.split(separator).map(Value::string).collect(),
        }
    };
    Value::list(parts)
}

fn regex(pattern: &str) -> Result<Arc<regex::Regex>, EvalError> {
    compiled(pattern).ok_or_else(|| {
        EvalError::new(format!("Illegal regex: error parsing regexp: {}", wrong_with(pattern)))
    })
}

fn matches(text: &str, pattern: &str) -> Outcome {
    match compiled(pattern) {
        Some(regex) => Ok(Value::Bool(regex.is_match(text))),
        None => Err(EvalError::new(format!("error parsing regexp: {}", wrong_with(pattern)))),
    }
}

/// What Go says of a pattern it cannot read, for the mistakes that are made.
fn wrong_with(pattern: &str) -> String {
    match (pattern.rfind('['), pattern.chars().next()) {
        (Some(at), _) if !pattern[at..].contains(']') => {
            format!("missing closing ]: `{}`", &pattern[at..])
        }
        (_, Some(first @ ('*' | '+' | '?'))) => {
            format!("missing argument to repetition operator: `{first}`")
        }
        _ if pattern.matches('(').count() > pattern.matches(')').count() => {
            format!("missing closing ): `{pattern}`")
        }
        _ if pattern.matches(')').count() > pattern.matches('(').count() => {
            format!("unexpected ): `{pattern}`")
        }
        _ => format!("`{pattern}`"),
    }
}

fn find_all(text: &str, pattern: &str, most: i64) -> Outcome {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    regex(pattern).map(|regex| {
        Value::list(
            regex.find_iter(text).take(most).map(|found| Value::string(found.as_str())).collect(),
        )
    })
}
