//! `postBuild`: variables in objects, as Flux puts them in. The object is written as YAML, the text is
//! substituted as a whole, and what comes out is read again: a value may change its type.

mod operator;
pub(super) mod retype;
mod template;

use std::collections::{BTreeMap, BTreeSet};

use template::{Expansion, Piece};

use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{self, Mark, Node, Style, Tag, Value};

/// The label or annotation that keeps an object as it is.
pub const SWITCH: &str = "kustomize.toolkit.fluxcd.io/substitute";

const NAME_RULE: &str = "^[_[:alpha:]][_[:alpha:][:digit:]]*$";

/// What variables stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables {
    values: BTreeMap<String, String>,
    opaque: BTreeSet<String>,
    open: bool,
    strict: bool,
    always: bool,
}

/// What a substitution made of an object or a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Substituted<T> {
    /// The result.
    pub content: T,
    /// Variables whose value is not known here: they stand in the result as they were written.
    pub kept: BTreeSet<String>,
}

impl Variables {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A variable that is not set and has no default is an error, not an empty text.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Substitutes also where there is no variable at all: defaults in the text count.
    #[must_use]
    pub fn always(mut self, always: bool) -> Self {
        self.always = always;
        self
    }

    /// Sets a variable; line breaks are taken out of its value.
    pub fn set(&mut self, name: impl Into<String>, value: &str) {
        let name = name.into();
        self.opaque.remove(&name);
        self.values.insert(name, value.replace('\n', ""));
    }

    /// A variable that has a value nobody can read here: it stays in the text as `${NAME}`.
    pub fn set_opaque(&mut self, name: impl Into<String>) {
        let name = name.into();
        self.values.insert(name.clone(), format!("${{{name}}}"));
        self.opaque.insert(name);
    }

    /// There may be more variables than are known: what is not set stays in the text as `${NAME}`.
    pub fn leave_open(&mut self) {
        self.open = true;
    }

    /// The value of a variable, if it is set and can be read.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).filter(|_| !self.opaque.contains(name)).map(String::as_str)
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// Whether anything is substituted at all.
    pub fn applies(&self) -> bool {
        self.always || self.open || !self.values.is_empty()
    }

    /// The object with its variables replaced; `None` if it stays as it is.
    pub fn object(&self, object: &Node) -> Result<Option<Substituted<Node>>> {
        if !self.applies() || is_switched_off(object) {
            return Ok(None);
        }
        self.check_names()?;
        if !mentions(object) {
            return Ok(None);
        }
        let mut text = String::new();
        yaml::emit::object(object, &mut text)?;
        let Substituted { content, kept } = self.evaluate(&text).map_err(|failure| {
            let expression = failure.expression(&text);
            let place = find(object, expression).unwrap_or(object.mark);
            failure.diagnostic(expression).at(place)
        })?;
        let mut node = yaml::configuration(&content).map_err(|error| {
            let message = format!("after substitution the object is no YAML: {}", error.message());
            Diagnostic::new(message)
                .at(object.mark)
                .hint("quote the text around the variable, or the value itself")
        })?;
        if node.as_mapping().is_none() {
            let shape = node.shape();
            return Err(Diagnostic::new(format!("after substitution the object is {shape}"))
                .at(object.mark));
        }
        retype::as_json(&mut node)?;
        retype::keep_marks(object, &mut node);
        Ok(Some(Substituted { content: node, kept }))
    }

    /// The text with its variables replaced.
    pub fn text(&self, text: &str) -> Result<Substituted<String>> {
        self.check_names()?;
        self.evaluate(text).map_err(|failure| failure.diagnostic(failure.expression(text)))
    }

    fn check_names(&self) -> Result<()> {
        let wrong = |name: &&String| {
            let mut bytes = name.bytes();
            let first = bytes.next();
            !first.is_some_and(|byte| byte == b'_' || byte.is_ascii_alphabetic())
                || !bytes.all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
        };
        match self.values.keys().find(wrong) {
            None => Ok(()),
            Some(name) => Err(Diagnostic::new(format!(
                "'{name}' var name is invalid, must match '{NAME_RULE}'"
            ))
            .hint("rename the variable: letters, digits and underscores, no digit first")),
        }
    }

    fn evaluate(&self, text: &str) -> Result<Substituted<String>, Failure> {
        let pieces = template::parse(text)
            .map_err(|error| Failure { reason: error.reason.to_owned(), at: Some(error.at) })?;
        let mut kept = BTreeSet::new();
        let mut output = Vec::with_capacity(text.len());
        for piece in &pieces {
            self.write(piece, &mut output, &mut kept)?;
        }
        let content = String::from_utf8(output).map_err(|_| Failure {
            reason: "a value was cut inside of a character: the result is not UTF-8".to_owned(),
            at: None,
        })?;
        Ok(Substituted { content, kept })
    }

    fn write(
        &self,
        piece: &Piece,
        output: &mut Vec<u8>,
        kept: &mut BTreeSet<String>,
    ) -> Result<(), Failure> {
        let expansion = match piece {
            Piece::Text(text) => {
                output.extend_from_slice(text.as_bytes());
                return Ok(());
            }
            Piece::Expansion(expansion) => expansion,
        };
        let mut arguments = Vec::with_capacity(expansion.arguments.len());
        for argument in &expansion.arguments {
            let mut text = Vec::new();
            self.write(argument, &mut text, kept)?;
            arguments.push(text);
        }
        let value = self.value(expansion, kept)?;
        let changed = operator::apply(&expansion.operator, value.as_bytes(), &arguments);
        let Some(changed) = changed else {
            let reason = format!("${{{}{}…}} cannot be cut so", expansion.name, expansion.operator);
            return Err(Failure { reason, at: None });
        };
        output.extend_from_slice(&changed);
        Ok(())
    }

    fn value(&self, expansion: &Expansion, kept: &mut BTreeSet<String>) -> Result<String, Failure> {
        let name = &expansion.name;
        if let Some(value) = self.values.get(name) {
            if self.opaque.contains(name) {
                kept.insert(name.clone());
            }
            return Ok(value.clone());
        }
        let has_default = matches!(expansion.operator.as_str(), "=" | ":=" | ":-" | ":+" | ":?");
        if self.open {
            kept.insert(name.clone());
            return Ok(if has_default { String::new() } else { format!("${{{name}}}") });
        }
        if self.strict && !has_default {
            let reason = format!("variable not set (strict mode): {name:?}");
            return Err(Failure { reason, at: None });
        }
        Ok(String::new())
    }
}

struct Failure {
    reason: String,
    at: Option<usize>,
}

impl Failure {
    /// The text from where it cannot be read, to the end of the line.
    fn expression<'a>(&self, text: &'a str) -> &'a str {
        let Some(at) = self.at else { return "" };
        text.get(at..).unwrap_or_default().lines().next().unwrap_or_default()
    }

    fn diagnostic(&self, expression: &str) -> Diagnostic {
        let reason = &self.reason;
        if expression.is_empty() {
            return Diagnostic::new(format!("variable substitution failed: {reason}"));
        }
        let shown: String = expression.chars().take(40).collect();
        Diagnostic::new(format!("variable substitution failed: {reason}: `{shown}`")).hint(format!(
            "write `$${{` for a text that is not meant for Flux, or label the object `{SWITCH}: disabled`"
        ))
    }
}

/// Whether the object asks to be left as it is.
pub fn is_switched_off(object: &Node) -> bool {
    let says = |what| {
        object.at(&["metadata", what]).and_then(|map| map.get(SWITCH)).and_then(Node::text)
            == Some("disabled")
    };
    says("labels") || says("annotations")
}

/// Whether the way over text changes anything: a dollar, or a number that loses digits on it.
fn mentions(node: &Node) -> bool {
    match &node.value {
        Value::Scalar(scalar) => {
            let is_number = matches!(scalar.tag, Tag::Int | Tag::Float);
            scalar.text.contains('$') || (is_number && scalar.text.len() > 15)
        }
        Value::Sequence(items) => items.iter().any(mentions),
        Value::Mapping(mapping) => {
            mapping.iter().any(|entry| entry.key.text.contains('$') || mentions(&entry.value))
        }
    }
}

/// The scalar in which the expression was written.
fn find(node: &Node, expression: &str) -> Option<Mark> {
    let needle: String = expression
        .char_indices()
        .take_while(|(place, character)| {
            *place < 2 || character.is_alphanumeric() || "_.-:=".contains(*character)
        })
        .map(|(_, character)| character)
        .collect();
    match &node.value {
        Value::Scalar(scalar) => {
            let before = &scalar.text[..scalar.text.find(&needle)?];
            let block = matches!(scalar.style, Style::Literal | Style::Folded);
            let lines = if block { before.matches('\n').count() } else { 0 };
            let mark = Mark { line: node.mark.line + lines as u32, ..node.mark };
            node.mark.is_known().then_some(mark)
        }
        Value::Sequence(items) => items.iter().find_map(|item| find(item, expression)),
        Value::Mapping(mapping) => mapping.iter().find_map(|entry| {
            let in_key = entry.key.mark.is_known() && entry.key.text.contains(&needle);
            if in_key { Some(entry.key.mark) } else { find(&entry.value, expression) }
        }),
    }
}

#[cfg(test)]
mod tests;
