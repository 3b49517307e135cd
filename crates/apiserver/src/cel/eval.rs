//! Running an expression.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::error::EvalError;
use super::library;
use super::operator;
use super::syntax::{Expr, Kind, Macro, MacroName};
use super::value::{Key, Struct, Value};

/// Steps after which an expression is stopped, close to the API server's limit per call.
const MOST_STEPS: u64 = 1_000_000;

/// Variables in sight: those given from outside, then those of the loops around, innermost first.
pub(super) struct Frame<'a> {
    pub given: &'a [(&'a str, Value)],
    pub local: Option<Local<'a>>,
    pub steps: &'a Cell<u64>,
}

#[derive(Clone, Copy)]
pub(super) struct Local<'a> {
    name: &'a str,
    value: &'a Value,
    outer: Option<&'a Local<'a>>,
}

type Outcome = Result<Value, EvalError>;

impl Frame<'_> {
    fn variable(&self, name: &str) -> Outcome {
        let mut local = self.local.as_ref();
        while let Some(found) = local {
            if found.name == name {
                return Ok(found.value.clone());
            }
            local = found.outer;
        }
        self.given
            .iter()
            .find(|(given, _)| *given == name)
            .map(|(_, value)| value.clone())
            .ok_or_else(|| EvalError::new(format!("no such attribute(s): {name}")))
    }

    fn step(&self) -> Result<(), EvalError> {
        let steps = self.steps.get() + 1;
        self.steps.set(steps);
        if steps > MOST_STEPS {
            return Err(EvalError::new("operation cancelled: actual cost limit exceeded"));
        }
        Ok(())
    }

    fn with<R>(&self, name: &str, value: &Value, then: impl FnOnce(&Frame<'_>) -> R) -> R {
        let local = Local { name, value, outer: self.local.as_ref() };
        then(&Frame { given: self.given, local: Some(local), steps: self.steps })
    }
}

pub(super) fn eval(expr: &Expr, frame: &Frame<'_>) -> Outcome {
    frame.step()?;
    match &expr.kind {
        Kind::Literal(value) => Ok(value.clone()),
        Kind::Ident(name) => frame.variable(name),
        Kind::Select { operand, field, optional } => {
            let operand = eval(operand, frame)?;
            select(&operand, field, *optional)
        }
        Kind::Has { operand, field } => has(&eval(operand, frame)?, field),
        Kind::Index { operand, index, optional } => {
            let operand = eval(operand, frame)?;
            let index = eval(index, frame)?;
            operator::index(&operand, &index, *optional)
        }
        Kind::Call { function, target, arguments } => {
            let mut values = Vec::with_capacity(arguments.len() + 1);
            if let Some(target) = target {
                values.push(eval(target, frame)?);
            }
            for argument in arguments {
                values.push(eval(argument, frame)?);
            }
            library::call(function, target.is_some(), &values)
        }
        Kind::Operator { name, operands } => match operands.as_slice() {
            [one] => operator::unary(name, &eval(one, frame)?),
            [left, right] => {
                let left = eval(left, frame)?;
                operator::binary(name, &left, &eval(right, frame)?)
            }
            _ => Err(EvalError::new("no such overload")),
        },
        Kind::And(left, right) => logical(left, right, frame, false),
        Kind::Or(left, right) => logical(left, right, frame, true),
        Kind::Conditional(condition, yes, no) => match eval(condition, frame)? {
            Value::Bool(true) => eval(yes, frame),
            Value::Bool(false) => eval(no, frame),
            _ => Err(EvalError::new("no such overload")),
        },
        Kind::List(items) => {
            let mut values = Vec::with_capacity(items.len());
            for (item, optional) in items {
                match (eval(item, frame)?, optional) {
                    (Value::Optional(inner), true) => values.extend(inner.map(|v| (*v).clone())),
                    (value, _) => values.push(value),
                }
            }
            Ok(Value::list(values))
        }
        Kind::Map(entries) => {
            let mut map = BTreeMap::new();
            for (key, value, optional) in entries {
                let key = eval(key, frame)?;
                let value = match (eval(value, frame)?, optional) {
                    (Value::Optional(None), true) => continue,
                    (Value::Optional(Some(value)), true) => (*value).clone(),
                    (value, _) => value,
                };
                let key = Key::of(&key).ok_or_else(|| EvalError::new("unsupported key type"))?;
                if map.insert(key.clone(), value).is_some() {
                    return Err(EvalError::new(format!(
                        "Failed with repeated key: {}",
                        operator::text(&key.value())
                    )));
                }
            }
            Ok(Value::Map(Arc::new(map)))
        }
        Kind::Struct { name, fields } => {
            let mut built = BTreeMap::new();
            for (field, value, optional, _) in fields {
                match (eval(value, frame)?, optional) {
                    (Value::Optional(None), true) => {}
                    (Value::Optional(Some(value)), true) => {
                        built.insert(field.clone(), (*value).clone());
                    }
                    (value, _) => {
                        built.insert(field.clone(), value);
                    }
                }
            }
            Ok(Value::Struct(Arc::new(Struct { type_name: name.clone(), fields: built })))
        }
        Kind::Macro(inner) => looped(inner, frame),
    }
}

/// `&&` and `||` are commutative: an error on one side does not matter if the other side decides.
fn logical(left: &Expr, right: &Expr, frame: &Frame<'_>, decides: bool) -> Outcome {
    let first = eval(left, frame);
    if let Ok(Value::Bool(value)) = first
        && value == decides
    {
        return Ok(Value::Bool(decides));
    }
    match (first, eval(right, frame)) {
        (_, Ok(Value::Bool(value))) if value == decides => Ok(Value::Bool(decides)),
        (Ok(Value::Bool(_)), Ok(Value::Bool(_))) => Ok(Value::Bool(!decides)),
        (Err(error), _) | (Ok(Value::Bool(_)), Err(error)) => Err(error),
        _ => Err(EvalError::new("no such overload")),
    }
}

fn some(value: Value) -> Value {
    Value::Optional(Some(Arc::new(value)))
}

fn select(operand: &Value, field: &Arc<str>, optional: bool) -> Outcome {
    match operand {
        Value::Optional(None) => Ok(Value::Optional(None)),
        Value::Optional(Some(inner)) => match inner.get(field) {
            Some(found) => found.map(some),
            None => Ok(Value::Optional(None)),
        },
        _ => match operand.get(field) {
            Some(found) if optional => found.map(some),
            Some(found) => found,
            None if optional => Ok(Value::Optional(None)),
            None if matches!(operand, Value::List(_)) => {
                Err(EvalError::new("unsupported index type 'string' in list"))
            }
            // Whatever has no fields has no such field either: a number, a string, null.
            None => Err(EvalError::no_such_key(field)),
        },
    }
}

fn has(operand: &Value, field: &Arc<str>) -> Outcome {
    match operand {
        Value::Optional(None) => Ok(Value::Bool(false)),
        Value::Optional(Some(inner)) => has(inner, field),
        _ => match operand.get(field) {
            Some(found) => found.map(|_| Value::Bool(true)),
            None => Ok(Value::Bool(false)),
        },
    }
}

/// What a loop walks over: pairs of index or key and value.
fn pairs(target: &Value, two: bool) -> Result<Vec<(Value, Value)>, EvalError> {
    match target {
        Value::List(list) => Ok(list
            .items
            .iter()
            .enumerate()
            .map(|(index, item)| {
                (Value::Int(i64::try_from(index).unwrap_or(i64::MAX)), item.clone())
            })
            .collect()),
        Value::Map(map) => {
            Ok(map.iter().map(|(key, value)| (key.value(), value.clone())).collect())
        }
        Value::Struct(message) if !two => {
            Ok(message.fields.iter().map(|(k, v)| (Value::String(k.clone()), v.clone())).collect())
        }
        _ => {
            let what = match target {
                Value::Null => "Null",
                Value::Bool(_) => "Bool",
                Value::Int(_) => "Int",
                Value::Uint(_) => "Uint",
                Value::Double(_) => "Double",
                Value::String(_) => "String",
                Value::Bytes(_) => "Bytes",
                Value::Timestamp(_) => "Timestamp",
                Value::Duration(_) => "Duration",
                other => other.type_name(),
            };
            Err(EvalError::new(format!("got 'types.{what}', expected iterable type")))
        }
    }
}

fn looped(inner: &Macro, frame: &Frame<'_>) -> Outcome {
    let target = eval(&inner.target, frame)?;
    if let (MacroName::OptMap | MacroName::OptFlatMap, Value::Optional(value)) =
        (inner.name, &target)
    {
        let Some(value) = value else { return Ok(Value::Optional(None)) };
        let result = frame.with(&inner.variable, value, |frame| eval(&inner.body, frame))?;
        return Ok(if inner.name == MacroName::OptMap { some(result) } else { result });
    }
    let over_map = matches!(target, Value::Map(_));
    let run = |expr: &Expr, key: &Value, value: &Value| -> Outcome {
        match &inner.second {
            Some(second) => frame.with(&inner.variable, key, |frame| {
                frame.with(second, value, |frame| eval(expr, frame))
            }),
            None => frame.with(&inner.variable, if over_map { key } else { value }, |frame| {
                eval(expr, frame)
            }),
        }
    };
    let kept = |key: &Value, value: &Value| -> Result<bool, EvalError> {
        match &inner.filter {
            Some(filter) => truth(&run(filter, key, value)?),
            None => Ok(true),
        }
    };
    let pairs = pairs(&target, inner.second.is_some())?;
    match inner.name {
        MacroName::All | MacroName::Exists => {
            let decides = inner.name == MacroName::Exists;
            let mut failed = None;
            for (key, value) in &pairs {
                match run(&inner.body, key, value).and_then(|v| truth(&v)) {
                    Ok(held) if held == decides => return Ok(Value::Bool(decides)),
                    Ok(_) => {}
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
            failed.map_or(Ok(Value::Bool(!decides)), Err)
        }
        MacroName::ExistsOne => {
            let mut found = 0;
            for (key, value) in &pairs {
                found += usize::from(truth(&run(&inner.body, key, value)?)?);
            }
            Ok(Value::Bool(found == 1))
        }
        MacroName::Map | MacroName::TransformList => {
            let mut out = Vec::new();
            for (key, value) in &pairs {
                if kept(key, value)? {
                    out.push(run(&inner.body, key, value)?);
                }
            }
            Ok(Value::list(out))
        }
        MacroName::Filter => {
            let mut out = Vec::new();
            for (key, value) in &pairs {
                if truth(&run(&inner.body, key, value)?)? {
                    out.push(if over_map { key.clone() } else { value.clone() });
                }
            }
            Ok(Value::list(out))
        }
        MacroName::TransformMap => {
            let mut out = BTreeMap::new();
            for (key, value) in &pairs {
                if kept(key, value)? {
                    insert(&mut out, key, run(&inner.body, key, value)?)?;
                }
            }
            Ok(Value::Map(Arc::new(out)))
        }
        MacroName::TransformMapEntry => {
            let mut out = BTreeMap::new();
            for (key, value) in &pairs {
                if kept(key, value)? {
                    let Value::Map(entry) = run(&inner.body, key, value)? else {
                        return Err(EvalError::new("no such overload"));
                    };
                    for (key, value) in entry.iter() {
                        insert(&mut out, &key.value(), value.clone())?;
                    }
                }
            }
            Ok(Value::Map(Arc::new(out)))
        }
        MacroName::SortBy => {
            let mut keyed = Vec::new();
            for (key, value) in &pairs {
                keyed.push((run(&inner.body, key, value)?, value.clone()));
            }
            library::sorted(keyed)
        }
        MacroName::OptMap | MacroName::OptFlatMap => Err(EvalError::new("no such overload")),
    }
}

fn insert(map: &mut BTreeMap<Key, Value>, key: &Value, value: Value) -> Result<(), EvalError> {
    let key = Key::of(key).ok_or_else(|| EvalError::new("unsupported key type"))?;
    if map.insert(key.clone(), value).is_some() {
        return Err(EvalError::new(format!(
            "insert failed: key {} already exists",
            operator::text(&key.value())
        )));
    }
    Ok(())
}

fn truth(value: &Value) -> Result<bool, EvalError> {
    match value {
        Value::Bool(held) => Ok(*held),
        _ => Err(EvalError::new("no such overload")),
    }
}
