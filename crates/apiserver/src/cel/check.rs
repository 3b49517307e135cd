//! What can be said about an expression before it runs: names, fields and types.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Scope;
use super::error::Issue;
use super::operator;
use super::syntax::{Expr, Kind, Macro, MacroName, dotted};
use super::types::{Overload, Type, signatures};
use super::value::Value;

/// What the check found out.
pub(super) struct Checked {
    pub result: Type,
    /// Variables of the scope that are used.
    pub used: BTreeSet<Arc<str>>,
}

/// Checks an expression and resolves names with dots in it.
pub(super) fn check(root: &mut Expr, scope: &Scope) -> Result<Checked, Vec<Issue>> {
    let mut checker =
        Checker { scope, locals: Vec::new(), used: BTreeSet::new(), issues: Vec::new() };
    let result = checker.expr(root);
    if checker.issues.is_empty() {
        Ok(Checked { result, used: checker.used })
    } else {
        Err(checker.issues)
    }
}

struct Checker<'a> {
    scope: &'a Scope,
    locals: Vec<(Arc<str>, Type)>,
    used: BTreeSet<Arc<str>>,
    issues: Vec<Issue>,
}

const TYPE_NAMES: [&str; 20] = [
    "bool",
    "bytes",
    "double",
    "dyn",
    "google.protobuf.Duration",
    "google.protobuf.Timestamp",
    "int",
    "kubernetes.NamedFormat",
    "kubernetes.Quantity",
    "kubernetes.Semver",
    "kubernetes.URL",
    "list",
    "map",
    "net.CIDR",
    "net.IP",
    "null_type",
    "optional_type",
    "string",
    "type",
    "uint",
];

impl Checker<'_> {
    fn issue(&mut self, at: usize, message: impl Into<String>) -> Type {
        self.issues.push(Issue::new(at, message));
        Type::Dyn
    }

    fn undeclared(&mut self, at: usize, name: &str) -> Type {
        self.issue(at, format!("undeclared reference to '{name}' (in container '')"))
    }

    fn known(&self, name: &str) -> bool {
        self.locals.iter().any(|(local, _)| **local == *name) || self.scope.variable(name).is_some()
    }

    fn ident(&mut self, at: usize, name: &Arc<str>) -> Type {
        if let Some((_, of)) = self.locals.iter().rev().find(|(local, _)| local == name) {
            return of.clone();
        }
        if let Some(of) = self.scope.variable(name) {
            self.used.insert(name.clone());
            return of.clone();
        }
        self.undeclared(at, name)
    }

    fn expr(&mut self, expr: &mut Expr) -> Type {
        let at = expr.at;
        if let Some(name) = dotted(expr)
            && TYPE_NAMES.contains(&name.as_str())
            && !self.known(name.split('.').next().unwrap_or_default())
        {
            expr.kind = Kind::Literal(Value::Type(name.into()));
            return Type::Type;
        }
        self.resolve(expr);
        match &mut expr.kind {
            Kind::Literal(value) => literal(value),
            Kind::Ident(name) => {
                let name = name.clone();
                self.ident(at, &name)
            }
            Kind::Select { operand, field, optional } => {
                let optional = *optional;
                let operand = self.expr(operand);
                let inner = match &operand {
                    Type::Optional(inner) => inner,
                    other => other,
                };
                unescaped_keyword(inner, field);
                let of = self.select(at, inner, &field.clone());
                let already = matches!(operand, Type::Optional(_));
                if optional || already { Type::optional(of) } else { of }
            }
            Kind::Has { operand, field } => {
                let operand = match self.expr(operand) {
                    Type::Optional(inner) => (*inner).clone(),
                    other => other,
                };
                unescaped_keyword(&operand, field);
                self.select(at, &operand, &field.clone());
                Type::Bool
            }
            Kind::Index { operand, index, optional } => {
                let optional = *optional;
                let arguments = [self.expr(operand), self.expr(index)];
                let of = self.overload(at, "_[_]", None, &arguments);
                if optional && !matches!(of, Type::Optional(_)) { Type::optional(of) } else { of }
            }
            Kind::Call { function, target, arguments } => {
                let function = function.clone();
                let receiver = target.as_mut().map(|target| self.expr(target));
                let types: Vec<Type> = arguments
                    .iter_mut()
                    .map(|argument| match &mut argument.kind {
                        // What is to be printed may be of many types.
                        Kind::List(items) if &*function == "format" => {
                            for (item, _) in items {
                                self.expr(item);
                            }
                            Type::list(Type::Dyn)
                        }
                        _ => self.expr(argument),
                    })
                    .collect();
                self.literal_argument(&function, arguments);
                if !signatures().contains_key(&*function) {
                    return self.undeclared(at, &function);
                }
                self.overload(at, &function, receiver.as_ref(), &types)
            }
            Kind::Operator { name, operands } => {
                let name = *name;
                let types: Vec<Type> = operands.iter_mut().map(|o| self.expr(o)).collect();
                self.overload(at, name, None, &types)
            }
            Kind::And(left, right) | Kind::Or(left, right) => self.logical(left, right),
            Kind::Conditional(condition, yes, no) => {
                let condition = self.expr(condition);
                let (yes, no) = (self.expr(yes), self.expr(no));
                let mut bound = BTreeMap::new();
                let fits = condition.fits(&Type::Bool, &mut bound)
                    && yes.fits(&Type::Param(b'A'), &mut bound)
                    && no.fits(&Type::Param(b'A'), &mut bound);
                if !fits {
                    return self.no_match(at, "_?_:_", None, &[condition, yes, no]);
                }
                if matches!((&yes, &no), (Type::Dyn, _) | (_, Type::Dyn)) {
                    return Type::Dyn;
                }
                Type::Param(b'A').filled(&bound)
            }
            Kind::List(items) => {
                let mut of = None;
                for (item, optional) in items {
                    let (at, mut found) = (item.at, self.expr(item));
                    if *optional && let Type::Optional(inner) = &found {
                        found = (**inner).clone();
                    }
                    of = Some(self.joined(at, of, found));
                }
                Type::list(of.unwrap_or(Type::Dyn))
            }
            Kind::Map(entries) => {
                let (mut keys, mut values) = (None, None);
                for (key, value, optional) in entries {
                    let (at, found) = (key.at, self.expr(key));
                    keys = Some(self.joined(at, keys, found));
                    let (at, mut found) = (value.at, self.expr(value));
                    if *optional && let Type::Optional(inner) = &found {
                        found = (**inner).clone();
                    }
                    values = Some(self.joined(at, values, found));
                }
                Type::Map(
                    Arc::new(keys.unwrap_or(Type::Dyn)),
                    Arc::new(values.unwrap_or(Type::Dyn)),
                )
            }
            Kind::Struct { name, fields } => {
                let name = name.clone();
                for (field, value, _, colon) in fields.iter_mut() {
                    let found = self.expr(value);
                    if let Some(wanted) = self.scope.message_field(&name, field)
                        && !found.fits(wanted, &mut BTreeMap::new())
                    {
                        let message = format!(
                            "expected type of field '{field}' is '{wanted}' but provided type is '{found}'"
                        );
                        self.issue(*colon, message);
                    }
                }
                if self.scope.has_message(&name) {
                    Type::Opaque(name)
                } else {
                    self.undeclared(at, &name)
                }
            }
            Kind::Macro(inner) => self.looped(at, inner),
        }
    }

    /// `sets.contains(a, b)` is a function, not a method of something called `sets`.
    fn resolve(&self, expr: &mut Expr) {
        let Kind::Call { function, target, .. } = &mut expr.kind else { return };
        let Some(prefix) = target.as_deref().and_then(dotted) else { return };
        if self.known(prefix.split('.').next().unwrap_or_default()) {
            return;
        }
        let name = format!("{prefix}.{function}");
        if signatures().contains_key(name.as_str()) {
            *function = name.into();
            *target = None;
        }
    }

    fn select(&mut self, at: usize, operand: &Type, field: &Arc<str>) -> Type {
        match operand {
            Type::Dyn => Type::Dyn,
            Type::Map(_, value) => (**value).clone(),
            Type::Object(object) => match object.fields.get(field) {
                Some(of) => of.clone(),
                None if object.open => Type::Dyn,
                None => self.issue(at, format!("undefined field '{field}'")),
            },
            Type::Opaque(name) if self.scope.has_message(name) => Type::Dyn,
            other => self.issue(at, format!("type '{other}' does not support field selection")),
        }
    }

    fn logical(&mut self, left: &mut Expr, right: &mut Expr) -> Type {
        for side in [left, right] {
            let of = self.expr(side);
            self.truth(side.at, &of);
        }
        Type::Bool
    }

    fn truth(&mut self, at: usize, of: &Type) {
        if !of.fits(&Type::Bool, &mut BTreeMap::new()) {
            self.issue(at, format!("expected type 'bool' but found '{of}'"));
        }
    }

    fn overload(
        &mut self,
        at: usize,
        name: &str,
        receiver: Option<&Type>,
        arguments: &[Type],
    ) -> Type {
        // The four comparisons take the same types.
        let table = if matches!(name, "_<=_" | "_>_" | "_>=_") { "_<_" } else { name };
        let candidates: &[Overload] = signatures().get(table).map_or(&[], Vec::as_slice);
        let mut result: Option<Type> = None;
        for candidate in candidates {
            if candidate.arguments.len() != arguments.len()
                || candidate.receiver.is_some() != receiver.is_some()
            {
                continue;
            }
            let mut bound = BTreeMap::new();
            let fits = candidate
                .receiver
                .iter()
                .zip(receiver)
                .all(|(wanted, given)| given.fits(wanted, &mut bound))
                && candidate
                    .arguments
                    .iter()
                    .zip(arguments)
                    .all(|(wanted, given)| given.fits(wanted, &mut bound));
            if fits {
                let found = candidate.result.filled(&bound);
                result = Some(match result {
                    None => found,
                    Some(earlier) if earlier.same(&found) => earlier,
                    Some(_) => Type::Dyn,
                });
            }
        }
        match result {
            Some(of) => of,
            None => self.no_match(at, name, receiver, arguments),
        }
    }

    fn no_match(
        &mut self,
        at: usize,
        name: &str,
        receiver: Option<&Type>,
        arguments: &[Type],
    ) -> Type {
        let list: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let applied = match receiver {
            Some(receiver) => format!("{receiver}.({})", list.join(", ")),
            None => format!("({})", list.join(", ")),
        };
        self.issue(at, format!("found no matching overload for '{name}' applied to '{applied}'"))
    }

    /// Items of one list literal have one type.
    fn joined(&mut self, at: usize, earlier: Option<Type>, found: Type) -> Type {
        let Some(earlier) = earlier else { return found };
        if found.fits(&earlier, &mut BTreeMap::new()) {
            return if matches!(found, Type::Dyn) { found } else { earlier };
        }
        self.issue(at, format!("expected type '{earlier}' but found '{found}'"));
        earlier
    }

    /// Arguments that are wrong as written are refused before they run.
    fn literal_argument(&mut self, function: &str, arguments: &[Expr]) {
        let Some(Expr { at, kind: Kind::Literal(Value::String(text)) }) = arguments.last() else {
            return;
        };
        let good = match (function, arguments.len()) {
            ("duration", 1) => operator::parse_duration(text).is_some(),
            ("timestamp", 1) => operator::parse_timestamp(text).is_some(),
            ("matches", 1 | 2) => regex::Regex::new(text).is_ok(),
            _ => return,
        };
        if !good {
            self.issue(*at, format!("invalid {function} argument"));
        }
    }

    fn looped(&mut self, at: usize, inner: &mut Macro) -> Type {
        let target = self.expr(&mut inner.target);
        if let MacroName::OptMap | MacroName::OptFlatMap = inner.name {
            let of = match &target {
                Type::Optional(inner) => (**inner).clone(),
                Type::Dyn => Type::Dyn,
                other => {
                    return self.no_match(at, "hasValue", Some(&other.clone()), &[]);
                }
            };
            self.locals.push((inner.variable.clone(), of));
            let body = self.expr(&mut inner.body);
            self.locals.pop();
            return if inner.name == MacroName::OptMap { Type::optional(body) } else { body };
        }
        let (key, value) = match &target {
            Type::List(of) => (Type::Int, (**of).clone()),
            Type::Map(key, value) => ((**key).clone(), (**value).clone()),
            Type::Dyn => (Type::Dyn, Type::Dyn),
            other => {
                let message = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.issue(inner.target.at, message);
                (Type::Dyn, Type::Dyn)
            }
        };
        let single = if matches!(target, Type::Map(..)) { key.clone() } else { value.clone() };
        let before = self.locals.len();
        match &inner.second {
            Some(second) => {
                self.locals.push((inner.variable.clone(), key.clone()));
                self.locals.push((second.clone(), value));
            }
            None => self.locals.push((inner.variable.clone(), single.clone())),
        }
        if let Some(filter) = &mut inner.filter {
            let of = self.expr(filter);
            self.condition(at, &of, &Type::Dyn);
        }
        let body = self.expr(&mut inner.body);
        self.locals.truncate(before);
        match inner.name {
            MacroName::All | MacroName::Exists => {
                self.truth(inner.body.at, &body);
                Type::Bool
            }
            MacroName::ExistsOne => {
                self.condition(at, &body, &Type::Int);
                Type::Bool
            }
            MacroName::Map | MacroName::TransformList => Type::list(body),
            MacroName::Filter => {
                let result = Type::list(single);
                self.condition(at, &body, &result);
                result
            }
            MacroName::TransformMap => Type::Map(Arc::new(key), Arc::new(body)),
            MacroName::TransformMapEntry => body,
            MacroName::SortBy => target,
            MacroName::OptMap | MacroName::OptFlatMap => Type::Dyn,
        }
    }

    /// The macro is a choice between going on with and without the item.
    fn condition(&mut self, at: usize, of: &Type, result: &Type) {
        if !of.fits(&Type::Bool, &mut BTreeMap::new()) {
            self.no_match(at, "_?_:_", None, &[of.clone(), result.clone(), result.clone()]);
        }
    }
}

/// A field whose name is a word of the language may be called by it, for after a dot it cannot be mistaken.
fn unescaped_keyword(operand: &Type, field: &mut Arc<str>) {
    if let Type::Object(object) = operand
        && !object.fields.contains_key(field)
    {
        let escaped: Arc<str> = format!("__{field}__").into();
        if object.fields.contains_key(&escaped) {
            *field = escaped;
        }
    }
}

fn literal(value: &Value) -> Type {
    match value {
        Value::Null => Type::Null,
        Value::Bool(_) => Type::Bool,
        Value::Int(_) => Type::Int,
        Value::Uint(_) => Type::Uint,
        Value::Double(_) => Type::Double,
        Value::String(_) => Type::String,
        Value::Bytes(_) => Type::Bytes,
        Value::Type(_) => Type::Type,
        _ => Type::Dyn,
    }
}
