//! One way to say what is wrong with a file, where, and what to write instead.

use std::fmt;
use std::sync::Arc;

use crate::yaml::Mark;

/// What is wrong, where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic(Box<Parts>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Parts {
    file: Option<Arc<str>>,
    mark: Mark,
    message: String,
    hint: Option<String>,
    context: Vec<String>,
}

/// The outcome of everything that reads manifests.
pub type Result<T, E = Diagnostic> = std::result::Result<T, E>;

impl Diagnostic {
    /// A diagnostic with no place yet.
    pub fn new(message: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            file: None,
            mark: Mark::default(),
            message: message.into(),
            hint: None,
            context: Vec::new(),
        }))
    }

    /// The place, unless a more precise one is known already.
    #[must_use]
    pub fn at(mut self, mark: Mark) -> Self {
        if !self.0.mark.is_known() {
            self.0.mark = mark;
        }
        self
    }

    /// The file, unless a more precise one is known already.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<Arc<str>>) -> Self {
        self.0.file.get_or_insert_with(|| file.into());
        self
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint.get_or_insert_with(|| hint.into());
        self
    }

    /// What was being done, innermost first.
    #[must_use]
    pub fn while_doing(mut self, what: impl Into<String>) -> Self {
        self.0.context.push(what.into());
        self
    }

    /// The file the diagnostic is about.
    pub fn file(&self) -> Option<&str> {
        self.0.file.as_deref()
    }

    /// Line and column, if known.
    pub fn mark(&self) -> Option<Mark> {
        self.0.mark.is_known().then_some(self.0.mark)
    }

    /// What is wrong.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What to do about it.
    pub fn advice(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = &self.0;
        if let Some(file) = &parts.file {
            write!(out, "{file}:")?;
            if parts.mark.is_known() {
                write!(out, "{}:{}:", parts.mark.line, parts.mark.column)?;
            }
            out.write_str(" ")?;
        } else if parts.mark.is_known() {
            write!(out, "line {}, column {}: ", parts.mark.line, parts.mark.column)?;
        }
        for what in parts.context.iter().rev() {
            write!(out, "{what}: ")?;
        }
        out.write_str(&parts.message)?;
        if let Some(hint) = &parts.hint {
            write!(out, "; {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}
