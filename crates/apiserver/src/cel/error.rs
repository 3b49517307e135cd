//! What can be wrong with an expression, before and while it runs.

use std::fmt;

/// An expression that does not compile. Prints what the API server prints after `compilation failed: `.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", text(source_text, issues))]
pub struct CompileError {
    /// The expression.
    pub source_text: String,
    /// What is wrong, in order of place.
    pub issues: Vec<Issue>,
}

/// One thing wrong with the text of an expression.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Issue {
    /// Where: characters from the beginning.
    pub at: usize,
    /// What.
    pub message: String,
}

impl Issue {
    /// An issue at a place.
    pub fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }
}

impl CompileError {
    pub(super) fn new(source_text: &str, mut issues: Vec<Issue>) -> Self {
        issues.sort();
        issues.dedup();
        Self { source_text: source_text.to_owned(), issues }
    }
}

fn text(source: &str, issues: &[Issue]) -> String {
    let blocks: Vec<String> = issues
        .iter()
        .map(|issue| {
            let mut line = 1;
            let mut start = 0;
            for (at, c) in source.chars().enumerate().take(issue.at) {
                if c == '\n' {
                    line += 1;
                    start = at + 1;
                }
            }
            let column = issue.at - start;
            let shown: String =
                source.chars().skip(start).take_while(|c| *c != '\n').collect::<String>();
            format!(
                "ERROR: <input>:{line}:{}: {}\n | {}\n | {}^",
                column + 1,
                issue.message,
                shown.replace('\t', " "),
                ".".repeat(column)
            )
        })
        .collect();
    blocks.join("\n")
}

/// An expression that failed while it ran: `no such key: zz`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvalError(pub String);

impl EvalError {
    /// An error with this text.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    pub(super) fn no_such_key(key: &str) -> Self {
        Self(format!("no such key: {key}"))
    }

    /// A call that fits none of the function's signatures. Operators and the oldest functions do not say which.
    pub(super) fn no_overload(function: &str, arguments: &[&super::Value]) -> Self {
        if function == "size" {
            return Self("no such overload: size".into());
        }
        let terse = matches!(function, "startsWith" | "endsWith" | "contains" | "matches");
        if terse || !function.starts_with(char::is_alphabetic) {
            return Self("no such overload".into());
        }
        let types: Vec<&str> = arguments.iter().map(|a| a.type_name()).collect();
        Self(format!("no such overload: {function}({})", types.join(", ")))
    }
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EvalError {}
