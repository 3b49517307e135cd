//! `$(NAME)` in a text, and the values that take its place.

use super::super::field::lookup::{self, Part};
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{Node, Scalar, Style, Tag, Value};

/// What a variable stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Text.
    Text(String),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A boolean.
    Bool(bool),
    /// A mapping or list, which cannot be put into a text: the variable stays as it is.
    Other,
}

/// The value of a field, if it is there. Steps are separated by dots; `\.` is a dot in a key, and so is
/// every dot in brackets.
pub fn value_at(object: &Node, path: &str) -> Result<Option<Content>> {
    let parts = parts_of(path)?;
    let Some(node) = lookup::find(object, &parts)? else { return Ok(None) };
    let Value::Scalar(scalar) = &node.value else { return Ok(Some(Content::Other)) };
    let text = scalar.text.as_str();
    let wrong = |what: &str| Diagnostic::new(format!("`{text}` is no {what}")).at(node.mark);
    Ok(Some(match scalar.tag {
        Tag::Int => Content::Int(text.parse().map_err(|_| wrong("decimal number"))?),
        Tag::Float => Content::Float(float(text).ok_or_else(|| wrong("number"))?),
        Tag::Bool => Content::Bool(text.eq_ignore_ascii_case("true")),
        Tag::Null | Tag::Str | Tag::Timestamp | Tag::Binary => Content::Text(text.to_owned()),
    }))
}

/// As Go parses it, whose spelling of what is no finite number YAML does not share.
fn float(text: &str) -> Option<f64> {
    let rest = text.trim_start_matches(['+', '-']);
    let digits = rest.starts_with(|c: char| c.is_ascii_digit())
        || (rest.starts_with('.') && rest[1..].starts_with(|c: char| c.is_ascii_digit()));
    digits.then(|| text.parse().ok()).flatten()
}

fn parts_of(path: &str) -> Result<Vec<Part>> {
    let mut names: Vec<String> = Vec::new();
    let mut split = split(path).into_iter();
    while let Some(name) = split.next() {
        if !name.starts_with('[') || name.ends_with(']') {
            names.push(name);
            continue;
        }
        let mut whole = name;
        for more in split.by_ref() {
            whole.push('.');
            whole.push_str(&more);
            if more.ends_with(']') {
                break;
            }
        }
        if whole.contains('=') {
            names.push(whole);
        } else {
            names.push(whole.trim_matches(['[', ']']).to_owned());
        }
    }
    let mut steps: Vec<String> = Vec::new();
    for name in names {
        match indexed(&name) {
            Some((before, place)) => {
                if !before.is_empty() {
                    steps.push(before.to_owned());
                }
                steps.push(place.to_owned());
            }
            None => steps.push(name),
        }
    }
    lookup::parts(steps.iter().map(String::as_str))
}

/// `ports[0]` as `ports` and `0`.
fn indexed(name: &str) -> Option<(&str, &str)> {
    let (before, place) = name.strip_suffix(']')?.rsplit_once('[')?;
    let digits = !place.is_empty() && place.bytes().all(|byte| byte.is_ascii_digit());
    digits.then_some((before, place))
}

fn split(path: &str) -> Vec<String> {
    let path = path.strip_prefix('.').unwrap_or(path);
    let mut names: Vec<String> = Vec::new();
    for part in path.split('.') {
        match names.last_mut() {
            Some(last) if last.ends_with('\\') => {
                last.pop();
                last.push('.');
                last.push_str(part);
            }
            _ => names.push(part.to_owned()),
        }
    }
    names
}

/// Expands the variables in a text; leaves alone what is none.
pub fn expand(node: &mut Node, value: &dyn Fn(&str) -> Option<Content>) {
    let Value::Scalar(scalar) = &mut node.value else { return };
    if scalar.tag != Tag::Str {
        return;
    }
    // Upstream writes every text that may hold a variable anew.
    scalar.style = Style::Plain;
    if !scalar.text.contains('$') {
        return;
    }
    let new = match replaced(&scalar.text, value) {
        Content::Text(text) => Scalar::string(text),
        Content::Int(number) => plain(number.to_string(), Tag::Int),
        Content::Bool(flag) => plain(flag.to_string(), Tag::Bool),
        Content::Float(number) => plain(fixed(number), Tag::Float),
        Content::Other => return,
    };
    *scalar = new;
}

fn plain(text: String, tag: Tag) -> Scalar {
    Scalar { text: text.into(), tag, style: Style::Plain }
}

/// A text that is one variable and nothing else becomes its value, with its type.
fn replaced(input: &str, value: &dyn Fn(&str) -> Option<Content>) -> Content {
    let mut output = String::new();
    let mut rest = input;
    while let Some(at) = rest.find('$') {
        output.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let Some(next) = after.chars().next() else {
            output.push('$');
            return Content::Text(output);
        };
        rest = match (next, after.find(')')) {
            ('$', _) => {
                output.push('$');
                &after[1..]
            }
            ('(', Some(end)) => {
                let name = &after[1..end];
                let found = value(name).filter(|found| *found != Content::Other);
                if input.len() == name.len() + 3 {
                    return found.unwrap_or_else(|| Content::Text(input.to_owned()));
                }
                match found {
                    Some(found) => output.push_str(&found.written()),
                    None => output.extend(["$(", name, ")"]),
                }
                &after[end + 1..]
            }
            _ => {
                output.push('$');
                output.push(next);
                &after[next.len_utf8()..]
            }
        };
    }
    output.push_str(rest);
    Content::Text(output)
}

impl Content {
    /// As it is written inside of a text.
    fn written(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Int(number) => number.to_string(),
            Self::Bool(flag) => flag.to_string(),
            Self::Float(number) => shortest(*number),
            Self::Other => String::new(),
        }
    }
}

/// A number without exponent.
fn fixed(number: f64) -> String {
    format!("{number}")
}

/// A number as Go prints it: with an exponent if it is very small, or has more than six digits before
/// the point.
pub fn shortest(number: f64) -> String {
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let Ok(power) = exponent.parse::<i32>() else { return scientific };
    if number == 0.0 || (-4..6).contains(&power) {
        return fixed(number);
    }
    let sign = if power < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", power.abs())
}
