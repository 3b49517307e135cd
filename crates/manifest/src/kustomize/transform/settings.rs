//! Reading the configuration of a transformer that stands as an object of its own: fields in any case,
//! what is not known ignored, numbers accepted where texts are wanted, as upstream's decoder does.

use super::super::Gvk;
use super::super::field::FieldSpec;
use super::super::variable::shortest;
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::scalar::Resolved;
use crate::yaml::{Entry, Node, Tag, Text};

/// A field, if it is there and not null.
pub fn field<'a>(node: &'a Node, name: &str) -> Option<&'a Node> {
    let mapping = node.as_mapping()?;
    let folded = || {
        mapping.iter().find(|entry| entry.key.text.eq_ignore_ascii_case(name)).map(|it| &it.value)
    };
    mapping.get(name).or_else(folded).filter(|node| !node.is_null())
}

/// A text; empty if it is not there.
pub fn text(node: &Node, name: &str) -> Result<Text> {
    field(node, name).map_or_else(|| Ok(Text::default()), |found| as_text(found, name))
}

/// A whole number; 0 if it is not there.
pub fn number(node: &Node, name: &str) -> Result<i64> {
    let Some(found) = field(node, name) else { return Ok(0) };
    let number = found.as_scalar().filter(|scalar| scalar.tag == Tag::Int);
    number
        .and_then(|scalar| scalar.text.parse().ok())
        .ok_or_else(|| wrong(found, name, "a whole number"))
}

/// A boolean; false if it is not there.
pub fn flag(node: &Node, name: &str) -> Result<bool> {
    let Some(found) = field(node, name) else { return Ok(false) };
    match found.as_scalar() {
        Some(scalar) if scalar.tag == Tag::Bool => Ok(scalar.text.eq_ignore_ascii_case("true")),
        _ => Err(wrong(found, name, "true or false")),
    }
}

/// A list; empty if it is not there.
pub fn list<'a>(node: &'a Node, name: &str) -> Result<&'a [Node]> {
    let Some(found) = field(node, name) else { return Ok(&[]) };
    found.as_sequence().ok_or_else(|| wrong(found, name, "a list"))
}

/// A mapping, if it is there.
pub fn mapping<'a>(node: &'a Node, name: &str) -> Result<Option<&'a Node>> {
    match field(node, name) {
        Some(found) if found.as_mapping().is_none() => Err(wrong(found, name, "a mapping")),
        found => Ok(found),
    }
}

/// A mapping of texts, by key.
pub fn texts(node: &Node, name: &str) -> Result<Vec<(Text, Text)>> {
    let Some(found) = field(node, name) else { return Ok(Vec::new()) };
    let mapping = found.as_mapping().ok_or_else(|| wrong(found, name, "a mapping of texts"))?;
    let pair = |entry: &Entry| Ok((entry.key.text.clone(), as_text(&entry.value, name)?));
    let mut pairs = mapping.iter().map(pair).collect::<Result<Vec<_>>>()?;
    pairs.sort();
    Ok(pairs)
}

/// The fields to write.
pub fn field_specs(node: &Node) -> Result<Vec<FieldSpec>> {
    let spec = |node: &Node| {
        if node.as_mapping().is_none() && !node.is_null() {
            return Err(wrong(node, "fieldSpecs", "a list of mappings"));
        }
        let gvk = Gvk {
            group: text(node, "group")?,
            version: text(node, "version")?,
            kind: text(node, "kind")?,
        };
        Ok(FieldSpec::new(gvk, &text(node, "path")?, flag(node, "create")?))
    };
    list(node, "fieldSpecs")?.iter().map(spec).collect()
}

fn as_text(node: &Node, name: &str) -> Result<Text> {
    let Some(scalar) = node.as_scalar() else { return Err(wrong(node, name, "a text")) };
    Ok(match scalar.resolved().map_err(|error| error.at(node.mark))? {
        Resolved::Null => Text::default(),
        Resolved::Text(text) => text.as_ref().into(),
        Resolved::Bool(flag) => flag.to_string().into(),
        Resolved::Int(number) => number.to_string().into(),
        Resolved::Unsigned(number) => number.to_string().into(),
        Resolved::Float(number) => shortest(number).into(),
    })
}

fn wrong(node: &Node, name: &str, wanted: &str) -> Diagnostic {
    Diagnostic::new(format!("`{name}` must be {wanted}, not {}", node.shape())).at(node.mark)
}
