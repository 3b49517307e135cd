//! Fields within the text of a scalar that is JSON or YAML itself.

use std::fmt::Write;

use super::document;
use super::path::{Created, FieldPath, Visit, find_mut, lookup, parsed};
use crate::kustomize::json_patch::canonical;
use crate::yaml::{Mapping, Mark, Node, Scalar, Tag, Text, Value};

/// Sets a field within the text of a scalar that the path goes through. Says whether there was one.
pub(super) fn set(
    object: &mut Node,
    path: &FieldPath,
    create: Option<Created>,
    set: Visit<'_>,
) -> bool {
    let found = (1..path.parts.len()).find_map(|count| {
        let node = lookup(object, &path.parts[..count]).ok().flatten()?;
        let inner = parsed(node.as_scalar()?).ok()?;
        Some((count, inner))
    });
    let Some((count, mut inner)) = found else { return false };
    let rest = FieldPath { parts: path.parts[count..].to_vec() };
    let mut visit = |target: &mut Node, made: bool| {
        set(target, made)?;
        // It no longer is what stands in the text.
        target.mark = Mark { start: 0, end: 0, ..target.mark };
        Ok(())
    };
    if !matches!(rest.visit(&mut inner, create, &mut visit), Ok(count) if count > 0) {
        return false;
    }
    let Some(scalar) = scalar_mut(object, &path.parts[..count]) else { return false };
    let Some(text) = written(&inner, &scalar.text) else { return false };
    scalar.text = text.into();
    true
}

fn scalar_mut<'a>(object: &'a mut Node, parts: &[Text]) -> Option<&'a mut Scalar> {
    let wanted: *const Node = lookup(object, parts).ok()??;
    match &mut find_mut(object, wanted)?.value {
        Value::Scalar(scalar) => Some(scalar),
        Value::Mapping(_) | Value::Sequence(_) => None,
    }
}

/// The text anew: JSON if it was JSON, on several lines if it was.
fn written(node: &Node, before: &str) -> Option<String> {
    if !before.trim().starts_with(['{', '[']) {
        return document::written(node, before).ok();
    }
    let node = canonical(node, false, true).ok()?;
    let pretty = before.contains('\n') && before.contains("  ");
    let mut out = String::new();
    json(&node, pretty.then_some(0), &mut out);
    Some(out)
}

/// JSON as Go writes it: keys sorted, `<`, `>` and `&` escaped.
fn json(node: &Node, depth: Option<usize>, out: &mut String) {
    let line = |out: &mut String, depth: Option<usize>| {
        if let Some(depth) = depth {
            out.push('\n');
            out.push_str(&"  ".repeat(depth));
        }
    };
    let inner = depth.map(|depth| depth + 1);
    match &node.value {
        Value::Scalar(scalar) if matches!(scalar.tag, Tag::Str | Tag::Timestamp | Tag::Binary) => {
            text(&scalar.text, out);
        }
        Value::Scalar(scalar) => out.push_str(&scalar.text),
        Value::Sequence(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                line(out, inner);
                json(item, inner, out);
            }
            if !items.is_empty() {
                line(out, depth);
            }
            out.push(']');
        }
        Value::Mapping(mapping) => fields(mapping, depth, out, line),
    }
}

fn fields(
    mapping: &Mapping,
    depth: Option<usize>,
    out: &mut String,
    line: impl Fn(&mut String, Option<usize>),
) {
    let inner = depth.map(|depth| depth + 1);
    let mut entries: Vec<_> = mapping.iter().collect();
    entries.sort_by(|one, two| one.key.text.cmp(&two.key.text));
    out.push('{');
    for (place, entry) in entries.iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        line(out, inner);
        text(&entry.key.text, out);
        out.push_str(if depth.is_some() { ": " } else { ":" });
        json(&entry.value, inner, out);
    }
    if !entries.is_empty() {
        line(out, depth);
    }
    out.push('}');
}

fn text(text: &str, out: &mut String) {
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
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\u{0}'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
