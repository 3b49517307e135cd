//! Reading a mapping into a struct: every field asked for once, and what is left over is an error that
//! names its line.

use super::{Mapping, Mark, Node, Scalar, Tag, Text};
use crate::diagnostic::{Diagnostic, Result};

/// A mapping whose fields are being read.
#[derive(Debug)]
pub struct Fields<'a> {
    mapping: &'a Mapping,
    mark: Mark,
    what: &'a str,
    asked: Vec<&'a str>,
}

impl<'a> Fields<'a> {
    /// The fields of a node. `what` names it in errors: "a patch", "the kustomization".
    pub fn of(node: &'a Node, what: &'a str) -> Result<Self> {
        let Some(mapping) = node.as_mapping() else {
            return Err(Diagnostic::new(format!("{what} must be a mapping, not {}", node.shape()))
                .at(node.mark));
        };
        Ok(Self { mapping, mark: node.mark, what, asked: Vec::new() })
    }

    /// Where the mapping begins.
    pub fn mark(&self) -> Mark {
        self.mark
    }

    /// The field, if it is there and not null.
    pub fn node(&mut self, name: &'a str) -> Option<&'a Node> {
        if !self.asked.contains(&name) {
            self.asked.push(name);
        }
        // Names are compared as Go's JSON decoder compares them.
        let found = self.mapping.get(name).or_else(|| {
            let mut entries = self.mapping.iter();
            entries
                .find(|entry| entry.key.text.eq_ignore_ascii_case(name))
                .map(|entry| &entry.value)
        });
        found.filter(|node| !node.is_null())
    }

    /// A text. Numbers and booleans are refused, as a decoder into a Go string refuses them.
    pub fn text(&mut self, name: &'a str) -> Result<Option<Text>> {
        let Some(node) = self.node(name) else { return Ok(None) };
        match node.as_scalar() {
            Some(scalar) if is_text(scalar) => Ok(Some(scalar.text.clone())),
            _ => Err(self.wrong(name, node, "a text")),
        }
    }

    /// A text, empty if it is not there.
    pub fn text_or_empty(&mut self, name: &'a str) -> Result<Text> {
        Ok(self.text(name)?.unwrap_or_default())
    }

    /// A boolean, false if it is not there.
    pub fn flag(&mut self, name: &'a str) -> Result<bool> {
        Ok(self.boolean(name)?.unwrap_or(false))
    }

    /// A boolean.
    pub fn boolean(&mut self, name: &'a str) -> Result<Option<bool>> {
        let Some(node) = self.node(name) else { return Ok(None) };
        match node.as_scalar() {
            Some(scalar) if scalar.tag == Tag::Bool => {
                let text = scalar.text.to_ascii_lowercase();
                Ok(Some(matches!(text.as_str(), "true" | "yes" | "y" | "on")))
            }
            _ => Err(self.wrong(name, node, "true or false")),
        }
    }

    /// A whole number.
    pub fn number(&mut self, name: &'a str) -> Result<Option<i64>> {
        let Some(node) = self.node(name) else { return Ok(None) };
        let number = node.as_scalar().filter(|scalar| scalar.tag == Tag::Int);
        match number.and_then(|scalar| scalar.text.parse().ok()) {
            Some(number) => Ok(Some(number)),
            None => Err(self.wrong(name, node, "a whole number")),
        }
    }

    /// A list, empty if it is not there.
    pub fn list(&mut self, name: &'a str) -> Result<&'a [Node]> {
        let Some(node) = self.node(name) else { return Ok(&[]) };
        node.as_sequence().ok_or_else(|| self.wrong(name, node, "a list"))
    }

    /// A list of texts, each with its place.
    pub fn texts(&mut self, name: &'a str) -> Result<Vec<(Text, Mark)>> {
        let items = self.list(name)?;
        let text = |node: &Node| match node.as_scalar() {
            Some(scalar) if is_text(scalar) && scalar.tag != Tag::Null => {
                Ok((scalar.text.clone(), node.mark))
            }
            _ => Err(self.wrong(name, node, "a list of texts")),
        };
        items.iter().map(text).collect()
    }

    /// A mapping of texts, in the order written.
    pub fn text_map(&mut self, name: &'a str) -> Result<Vec<(Text, Text)>> {
        let Some(node) = self.node(name) else { return Ok(Vec::new()) };
        let mapping =
            node.as_mapping().ok_or_else(|| self.wrong(name, node, "a mapping of texts"))?;
        let text = |entry: &'a super::Entry| match entry.value.as_scalar() {
            Some(scalar) if is_text(scalar) => {
                let text =
                    if scalar.tag == Tag::Null { Text::default() } else { scalar.text.clone() };
                Ok((entry.key.text.clone(), text))
            }
            _ => Err(self.wrong(name, &entry.value, "a mapping of texts")),
        };
        mapping.iter().map(text).collect()
    }

    /// Whether a field was left that nobody asked for: its name is unknown.
    pub fn finish(self) -> Result<()> {
        let known = |name: &str| self.asked.iter().any(|asked| asked.eq_ignore_ascii_case(name));
        let unknown = self.mapping.iter().find(|entry| !known(&entry.key.text));
        let Some(unknown) = unknown else { return Ok(()) };
        let name = &unknown.key.text;
        let nearest = nearest(name, &self.asked);
        let error = Diagnostic::new(format!("unknown field \"{name}\" in {}", self.what))
            .at(unknown.key.mark);
        Err(match nearest {
            Some(known) => error.hint(format!("did you mean `{known}`?")),
            None => error.hint(format!("known fields: {}", self.asked.join(", "))),
        })
    }

    fn wrong(&self, name: &str, node: &Node, wanted: &str) -> Diagnostic {
        let message = format!("`{name}` of {} must be {wanted}, not {}", self.what, node.shape());
        Diagnostic::new(message).at(node.mark)
    }
}

/// Whether a decoder into a Go string takes it.
fn is_text(scalar: &Scalar) -> bool {
    !matches!(scalar.tag, Tag::Bool | Tag::Int | Tag::Float)
}

/// The known name that a mistyped one most likely meant.
pub(crate) fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let distance = |other: &str| edits(&name.to_lowercase(), &other.to_lowercase());
    let best = known.iter().copied().min_by_key(|other| distance(other))?;
    (distance(best) <= 2.max(name.len() / 4)).then_some(best)
}

/// How many single-character edits lead from one text to the other.
fn edits(one: &str, two: &str) -> usize {
    let two: Vec<char> = two.chars().collect();
    let mut row: Vec<usize> = (0..=two.len()).collect();
    for (line, left) in one.chars().enumerate() {
        let mut corner = row[0];
        row[0] = line + 1;
        for (column, right) in two.iter().enumerate() {
            let above = row[column + 1];
            row[column + 1] =
                (corner + usize::from(left != *right)).min(above + 1).min(row[column] + 1);
            corner = above;
        }
    }
    row[two.len()]
}
