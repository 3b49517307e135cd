//! What the way over YAML and JSON makes of values: plain texts get the types of YAML 1.1, numbers are
//! numbers of JSON.

use crate::diagnostic::{Diagnostic, Result};
use crate::flux::number::{self, Plain};
use crate::yaml::{Mapping, Mark, Node, Scalar, Style, Tag, Text, Value};

/// Gives every value the type and text it has after YAML was read into JSON, and JSON into an object.
pub(in crate::flux) fn as_json(node: &mut Node) -> Result<()> {
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
    let written = |number: f64| {
        let text = number::json(number);
        let whole = text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok();
        let tag = if whole { Tag::Int } else { Tag::Float };
        (Text::from(text), tag)
    };
    let (text, tag) = match number::resolve(&scalar.text) {
        Plain::Null => (Text::from("null"), Tag::Null),
        Plain::Bool(value) => (if value { "true" } else { "false" }.into(), Tag::Bool),
        Plain::Int(number) => written(number as f64),
        Plain::Float(number) if number.is_finite() => written(number),
        Plain::Float(_) => {
            let message = format!("{} is no number that an object can hold", scalar.text);
            return Err(Diagnostic::new(message));
        }
        Plain::Text => (scalar.text.clone(), Tag::Str),
    };
    Ok(Some(Scalar { text, tag, style: Style::Plain }))
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
