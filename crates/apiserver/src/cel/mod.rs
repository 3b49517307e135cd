//! The expression language of rules and policies (CEL), as the API server has it.
//!
//! The engine is our own rather than a crate's because the server's answers depend on what general engines
//! leave out: types taken from a schema, errors in the words of cel-go with their place in the source, the
//! messages built by mutating policies, and objects such as `authorizer` that only the server can answer for.
//! An expression is parsed and checked once; running it reads shared values and copies none.

mod check;
mod cost;
mod error;
mod eval;
mod library;
mod operator;
mod schema;
mod signature;
mod syntax;
mod token;
mod types;
mod value;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use cost::cardinality;
pub use error::{CompileError, EvalError, Issue};
pub(crate) use library::{is_cidr, is_url};
pub(crate) use operator::{double_text, parse_duration};
pub use schema::{escaped, type_of, value_of};
pub use types::{ObjectType, Type};
pub use value::{Key, List, Map, Object, Order, Struct, Value};

/// Whether a text is a timestamp of RFC 3339.
pub(crate) fn is_timestamp(text: &str) -> bool {
    operator::parse_timestamp(text).is_some()
}

/// The names an expression may use, with what is known of them.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    variables: Vec<(Arc<str>, Type)>,
    messages: Vec<(String, BTreeMap<Arc<str>, Type>)>,
}

impl Scope {
    /// No variables.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more variable.
    #[must_use]
    pub fn with(mut self, name: &str, of: Type) -> Self {
        self.variables.retain(|(known, _)| **known != *name);
        self.variables.push((name.into(), of));
        self
    }

    /// Allows messages of this type and of those nested under its name: `Object` also means `Object.spec`.
    #[must_use]
    pub fn with_message(mut self, name: &str) -> Self {
        self.messages.push((name.to_owned(), BTreeMap::new()));
        self
    }

    /// Allows messages of this type, some of whose fields have a type of their own.
    #[must_use]
    pub fn with_message_of<'f>(
        mut self,
        name: &str,
        fields: impl IntoIterator<Item = (&'f str, Type)>,
    ) -> Self {
        let fields = fields.into_iter().map(|(field, of)| (field.into(), of)).collect();
        self.messages.push((name.to_owned(), fields));
        self
    }

    fn message_field(&self, message: &str, field: &str) -> Option<&Type> {
        self.messages.iter().find(|(known, _)| known == message)?.1.get(field)
    }

    fn variable(&self, name: &str) -> Option<&Type> {
        self.variables.iter().find(|(known, _)| **known == *name).map(|(_, of)| of)
    }

    fn has_message(&self, name: &str) -> bool {
        self.messages.iter().any(|(known, _)| {
            name.strip_prefix(known.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }
}

/// An expression that was parsed and checked, ready to run as often as needed.
#[derive(Debug, Clone)]
pub struct Program {
    root: Arc<syntax::Expr>,
    result: Type,
    used: BTreeSet<Arc<str>>,
}

impl Program {
    /// Parses and checks an expression.
    pub fn compile(expression: &str, scope: &Scope) -> Result<Self, CompileError> {
        let failed = |issues| CompileError::new(expression, issues);
        let mut root = syntax::parse(expression).map_err(failed)?;
        let checked = check::check(&mut root, scope).map_err(failed)?;
        Ok(Self { root: Arc::new(root), result: checked.result, used: checked.used })
    }

    /// What is known of the result.
    pub fn result(&self) -> &Type {
        &self.result
    }

    /// Whether the expression uses this variable.
    pub fn references(&self, variable: &str) -> bool {
        self.used.contains(variable)
    }

    /// What the expression may cost at worst over values of this schema.
    pub fn cost(&self, node: crate::schema::Node<'_>) -> u64 {
        cost::estimate(&self.root, node)
    }

    /// Runs the expression.
    pub fn eval(&self, variables: &[(&str, Value)]) -> Result<Value, EvalError> {
        let steps = Cell::new(0);
        eval::eval(&self.root, &eval::Frame { given: variables, local: None, steps: &steps })
    }

    /// Runs an expression whose result is a condition.
    pub fn eval_bool(&self, variables: &[(&str, Value)]) -> Result<bool, EvalError> {
        match self.eval(variables)? {
            Value::Bool(held) => Ok(held),
            other => Err(EvalError::new(format!("expected bool, got {}", other.type_name()))),
        }
    }
}

#[cfg(test)]
mod tests;
