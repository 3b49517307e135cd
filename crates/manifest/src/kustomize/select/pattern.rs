//! A regular expression that must match as a whole.

use regex::Regex;

use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::Text;

/// A regular expression that must match as a whole; empty, it matches anything.
#[derive(Clone, Debug, Default)]
pub struct Pattern {
    text: Text,
    form: Form,
}

#[derive(Clone, Debug, Default)]
enum Form {
    #[default]
    Anything,
    /// Nothing in it has a meaning of its own: the commonest, and compiling an expression costs more
    /// than a whole patch.
    Word,
    Expression(Regex),
}

impl Pattern {
    /// From the text of the expression.
    pub fn new(text: impl Into<Text>) -> Result<Self> {
        let text = text.into();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_/: ,@".contains(c);
        let form = if text.is_empty() {
            Form::Anything
        } else if text.chars().all(is_plain) {
            Form::Word
        } else {
            Form::Expression(compile(&format!("^(?:{text})$"))?)
        };
        Ok(Self { text, form })
    }

    /// Whether it matches anything because nothing is said.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        match &self.form {
            Form::Anything => true,
            Form::Word => self.text == text,
            Form::Expression(regex) => regex.is_match(text),
        }
    }
}

/// Compiles an expression.
pub(crate) fn compile(expression: &str) -> Result<Regex> {
    Regex::new(expression).map_err(|error| {
        let shown = error.to_string();
        let reason = shown.lines().last().unwrap_or_default();
        let reason = reason.strip_prefix("error: ").unwrap_or(reason);
        Diagnostic::new(format!("error parsing regexp: {reason}: `{expression}`"))
            .hint("a selector's fields are regular expressions; escape what is meant literally")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_are_anchored_as_one() {
        let pattern = Pattern::new("a|b").unwrap();
        assert!(pattern.matches("a") && pattern.matches("b"));
        assert!(!pattern.matches("ax") && !pattern.matches("xb"));
        assert!(Pattern::new("").unwrap().matches("anything"));
        assert!(Pattern::new("a.c").unwrap().matches("abc"));
        assert!(!Pattern::new("abc").unwrap().matches("abcd"));
    }

    #[test]
    fn a_bad_expression_is_named() {
        let error = Pattern::new("a(").unwrap_err();
        assert!(error.message().contains("error parsing regexp"), "{error}");
        assert!(error.message().contains("a("), "{error}");
    }
}
