//! Rules in the expression language (`x-kubernetes-validations`).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::definition::field_path;
use super::shown;
use super::validate::correlated;
use crate::cel::{self, Program, Scope, Type};
use crate::fields::{FieldError, Path, Wrong};
use crate::schema::{Node, Rule};

/// Longest message that an expression may give.
const LONGEST_MESSAGE: usize = 5 * 1024;

/// The rules of a schema, compiled, as a tree beside it. Only branches with rules are there.
#[derive(Debug)]
pub struct Rules {
    own: Vec<Compiled>,
    resource: bool,
    properties: BTreeMap<String, Rules>,
    values: Option<Box<Rules>>,
    items: Option<Box<Rules>>,
}

#[derive(Debug)]
struct Compiled {
    rule: Rule,
    program: Result<Program, String>,
    /// Whether it compares with the value before.
    transition: bool,
    message: Option<Program>,
    /// Where to report, relative to the rule's place.
    place: String,
}

/// What rules say about an object.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub errors: Vec<FieldError>,
    pub warnings: Vec<String>,
}

/// The scope of a rule at a value of this type.
pub(super) fn scope(of: &Type, optional_old: bool) -> Scope {
    let old = if optional_old { Type::optional(of.clone()) } else { of.clone() };
    Scope::new().with("self", of.clone()).with("oldSelf", old)
}

impl Rules {
    /// Compiles what a schema says; none if it says nothing.
    pub fn compile(node: Node<'_>, resource: bool) -> Option<Arc<Self>> {
        if !any(node) {
            return None;
        }
        Self::branch(node, resource).map(Arc::new)
    }

    fn branch(node: Node<'_>, resource: bool) -> Option<Self> {
        let mut properties = BTreeMap::new();
        for name in node.schema.properties.keys() {
            if let Some(inner) = node.property(name)
                && let Some(rules) = Self::branch(inner, inner.schema.embedded_resource)
            {
                properties.insert(name.clone(), rules);
            }
        }
        let values = node.values().and_then(|of| Self::branch(of, of.schema.embedded_resource));
        let items = node.items().and_then(|of| Self::branch(of, of.schema.embedded_resource));
        let own: Vec<Compiled> = if node.schema.rules.is_empty() {
            Vec::new()
        } else {
            let of = cel::type_of(node, resource);
            node.schema.rules.iter().map(|rule| Compiled::new(rule, of.as_ref(), node)).collect()
        };
        if own.is_empty() && properties.is_empty() && values.is_none() && items.is_none() {
            return None;
        }
        Some(Self {
            own,
            resource,
            properties,
            values: values.map(Box::new),
            items: items.map(Box::new),
        })
    }

    /// Runs the rules on an object, or on its change from `old`.
    pub(super) fn check(
        &self,
        node: Node<'_>,
        path: &Path,
        new: &Value,
        old: Option<&Value>,
    ) -> Said {
        let mut said = Said::default();
        let history = match old {
            Some(old) => History::Known { new, old: Some(old), outermost: true },
            None => History::None,
        };
        self.walk(node, path, new, old, history, &mut said);
        said
    }

    fn walk(
        &self,
        node: Node<'_>,
        path: &Path,
        new: &Value,
        old: Option<&Value>,
        history: History<'_>,
        said: &mut Said,
    ) {
        if new.is_null() {
            return;
        }
        let old = old.filter(|old| !old.is_null());
        self.run(node, path, new, old, history, said);
        match new {
            Value::Object(fields) => {
                for (name, inner) in fields {
                    let before = old.and_then(|old| old.get(name));
                    if let (Some(rules), Some(of)) =
                        (self.properties.get(name), node.property(name))
                    {
                        rules.walk(
                            of,
                            &path.child(name),
                            inner,
                            before,
                            history.field(name, inner),
                            said,
                        );
                    } else if let (Some(rules), Some(of)) = (&self.values, node.values())
                        && !node.schema.properties.contains_key(name)
                    {
                        rules.walk(
                            of,
                            &path.key(name),
                            inner,
                            before,
                            history.field(name, inner),
                            said,
                        );
                    }
                }
            }
            Value::Array(list) => {
                if let (Some(rules), Some(of)) = (&self.items, node.items()) {
                    for (index, item) in list.iter().enumerate() {
                        let before = old.and_then(|old| correlated(node, old, item));
                        rules.walk(
                            of,
                            &path.index(index),
                            item,
                            before,
                            history.item(node, item),
                            said,
                        );
                    }
                }
            }
            _ => {}
        }
    }

    fn run(
        &self,
        node: Node<'_>,
        path: &Path,
        new: &Value,
        old: Option<&Value>,
        history: History<'_>,
        said: &mut Said,
    ) {
        if self.own.is_empty() {
            return;
        }
        let this = cel::value_of(node, new, self.resource);
        let before = old.filter(|_| self.own.iter().any(|rule| rule.transition));
        let before = before.map(|old| cel::value_of(node, old, self.resource));
        for compiled in &self.own {
            let optional = compiled.rule.optional_old_self == Some(true);
            if compiled.transition && before.is_none() && !optional {
                continue;
            }
            let mut variables = vec![("self", this.clone())];
            match &before {
                Some(before) if optional => variables
                    .push(("oldSelf", cel::Value::Optional(Some(Arc::new(before.clone()))))),
                None if optional => variables.push(("oldSelf", cel::Value::Optional(None))),
                Some(before) => variables.push(("oldSelf", before.clone())),
                None => {}
            }
            if let Some(error) = compiled.verdict(node, path, new, &variables) {
                // What did not change may stay wrong, unless the rule is about the change itself.
                if !compiled.transition && error.failed_softly && history.is_unchanged() {
                    said.warnings.push(error.error.to_string());
                } else {
                    said.errors.push(error.error);
                }
            }
        }
    }
}

struct Verdict {
    error: FieldError,
    /// The rule said no; as opposed to an error while it ran.
    failed_softly: bool,
}

impl Compiled {
    fn new(rule: &Rule, of: Option<&Type>, node: Node<'_>) -> Self {
        let Some(of) = of else {
            return Self {
                rule: rule.clone(),
                program: Err("failed to convert to declType for CEL validation rules".into()),
                transition: false,
                message: None,
                place: String::new(),
            };
        };
        let scope = scope(of, rule.optional_old_self == Some(true));
        let program = Program::compile(&rule.rule, &scope).map_err(|error| error.to_string());
        let transition = program.as_ref().is_ok_and(|program| program.references("oldSelf"));
        let message = Some(rule.message_expression.as_str())
            .filter(|text| !text.is_empty())
            .and_then(|text| Program::compile(text, &scope).ok());
        let place = Some(rule.field_path.as_str())
            .filter(|text| !text.is_empty())
            .and_then(|text| field_path(text, node, true).ok())
            .map(|(path, _)| path.as_str().to_owned())
            .unwrap_or_default();
        Self { rule: rule.clone(), program, transition, message, place }
    }

    /// How messages call the rule.
    fn name(&self) -> &str {
        if self.rule.message.is_empty() { self.rule.rule.trim() } else { self.rule.message.trim() }
    }

    fn verdict(
        &self,
        node: Node<'_>,
        path: &Path,
        new: &Value,
        variables: &[(&str, cel::Value)],
    ) -> Option<Verdict> {
        let hard = |detail: String| {
            let shown = Some(format!("{:?}", node.schema.type_name));
            let error = FieldError { wrong: Wrong::Invalid, field: place(path), shown, detail };
            Some(Verdict { error, failed_softly: false })
        };
        let program = match &self.program {
            Ok(program) => program,
            Err(text) => return hard(format!("rule compile error: {text}")),
        };
        match program.eval_bool(variables) {
            Ok(true) => return None,
            Ok(false) => {}
            Err(error) => {
                let text = error.to_string();
                return hard(if text.starts_with("no such overload") {
                    format!(
                        "'{text}': call arguments did not match a supported operator, function or macro signature for rule: {}",
                        self.name()
                    )
                } else if text.starts_with("operation cancelled: actual cost limit exceeded") {
                    format!(
                        "'{text}': no further validation rules will be run due to call cost exceeds limit for rule: {}",
                        self.name()
                    )
                } else {
                    format!("{text} evaluating rule: {}", self.name())
                });
            }
        }
        let spoken = self.message.as_ref().and_then(|message| match message.eval(variables) {
            Ok(cel::Value::String(text)) => {
                let text = text.trim();
                let usable =
                    !text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n');
                usable.then(|| text.to_owned())
            }
            _ => None,
        });
        let detail = spoken.unwrap_or_else(|| {
            if self.rule.message.is_empty() {
                format!("failed rule: {}", self.name())
            } else {
                self.name().to_owned()
            }
        });
        let compound = matches!(node.schema.type_name.as_str(), "object" | "array");
        let value = (!compound).then(|| shown(new));
        let (wrong, shown, detail) = match self.rule.reason.as_str() {
            "FieldValueForbidden" => (Wrong::Forbidden, None, detail),
            "FieldValueRequired" => (Wrong::Required, None, detail),
            "FieldValueDuplicate" => (Wrong::Duplicate, value, String::new()),
            _ => (Wrong::Invalid, value, detail),
        };
        let path = if self.place.is_empty() { path.clone() } else { path.child(&self.place) };
        let error = FieldError { wrong, field: place(&path), shown, detail };
        Some(Verdict { error, failed_softly: true })
    }
}

fn place(path: &Path) -> String {
    if path.as_str().is_empty() { "<nil>".into() } else { path.as_str().to_owned() }
}

fn any(node: Node<'_>) -> bool {
    !node.schema.rules.is_empty()
        || node.items().is_some_and(any)
        || node.values().is_some_and(any)
        || node.schema.properties.keys().any(|name| node.property(name).is_some_and(any))
}

/// What is known of a value's past.
#[derive(Clone, Copy)]
enum History<'a> {
    /// Nothing: the object is new.
    None,
    /// The value can be told apart and this is what it was.
    Known { new: &'a Value, old: Option<&'a Value>, outermost: bool },
    /// The value cannot be told apart from others; this is the nearest thing around it that can.
    Around { new: &'a Value, old: Option<&'a Value> },
}

impl<'a> History<'a> {
    fn is_unchanged(self) -> bool {
        match self {
            Self::None => false,
            Self::Known { new, old, .. } | Self::Around { new, old } => old == Some(new),
        }
    }

    fn field(self, name: &str, inner: &'a Value) -> Self {
        match self {
            Self::Known { outermost: true, .. } if matches!(name, "apiVersion" | "kind") => {
                Self::None
            }
            Self::Known { old, .. } => {
                Self::Known { new: inner, old: old.and_then(|old| old.get(name)), outermost: false }
            }
            other => other,
        }
    }

    fn item(self, node: Node<'_>, item: &'a Value) -> Self {
        match self {
            Self::Known { new, old, .. } => match old.and_then(|old| correlated(node, old, item)) {
                Some(before) => Self::Known { new: item, old: Some(before), outermost: false },
                None => Self::Around { new, old },
            },
            other => other,
        }
    }
}
