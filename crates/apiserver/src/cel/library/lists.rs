//! Functions of lists and sets.

use std::cmp::Ordering;
use std::sync::Arc;

use super::Outcome;
use crate::cel::error::EvalError;
use crate::cel::operator;
use crate::cel::value::Value;

pub(super) fn call(function: &str, method: bool, arguments: &[Value]) -> Option<Outcome> {
    if !method {
        return match (function, arguments) {
            ("lists.range", [Value::Int(end)]) => {
                Some(Ok(Value::list((0..*end).map(Value::Int).collect())))
            }
            ("sets.contains", [Value::List(a), Value::List(b)]) => {
                Some(Ok(Value::Bool(b.items.iter().all(|item| a.items.contains(item)))))
            }
            ("sets.equivalent", [Value::List(a), Value::List(b)]) => Some(Ok(Value::Bool(
                b.items.iter().all(|item| a.items.contains(item))
                    && a.items.iter().all(|item| b.items.contains(item)),
            ))),
            ("sets.intersects", [Value::List(a), Value::List(b)]) => {
                Some(Ok(Value::Bool(a.items.iter().any(|item| b.items.contains(item)))))
            }
            _ => None,
        };
    }
    let [Value::List(list), rest @ ..] = arguments else { return None };
    let items = &list.items;
    let place =
        |at: Option<usize>| Value::Int(at.and_then(|at| i64::try_from(at).ok()).unwrap_or(-1));
    let optional = |item: Option<&Value>| Value::Optional(item.cloned().map(Arc::new));
    Some(match (function, rest) {
        ("indexOf", [wanted]) => Ok(place(items.iter().position(|item| item == wanted))),
        ("lastIndexOf", [wanted]) => Ok(place(items.iter().rposition(|item| item == wanted))),
        ("isSorted", []) => is_sorted(items),
        ("sum", []) => sum(items),
        ("min", []) => extreme("min", items, Ordering::Less),
        ("max", []) => extreme("max", items, Ordering::Greater),
        ("slice", [Value::Int(start), Value::Int(end)]) => slice(items, *start, *end),
        ("flatten", []) => Ok(Value::list(flatten(items, 1))),
        ("flatten", [Value::Int(depth)]) => {
            if *depth < 0 {
                Err(EvalError::new("level must be non-negative"))
            } else {
                Ok(Value::list(flatten(items, *depth)))
            }
        }
        ("distinct", []) => {
            let mut out: Vec<Value> = Vec::new();
            for item in items.iter() {
                if !out.contains(item) {
                    out.push(item.clone());
                }
            }
            Ok(Value::list(out))
        }
        ("reverse", []) => Ok(Value::list(items.iter().rev().cloned().collect())),
        ("sort", []) => sorted(items.iter().map(|item| (item.clone(), item.clone())).collect()),
        ("first", []) => Ok(optional(items.first())),
        ("last", []) => Ok(optional(items.last())),
        _ => return None,
    })
}

fn is_sorted(items: &[Value]) -> Outcome {
    for pair in items.windows(2) {
        match operator::compare(&pair[0], &pair[1]) {
            Some(Ordering::Greater) => return Ok(Value::Bool(false)),
            Some(_) => {}
            None => return Err(EvalError::new("no such overload")),
        }
    }
    Ok(Value::Bool(true))
}

fn sum(items: &[Value]) -> Outcome {
    let Some(first) = items.first() else { return Ok(Value::Int(0)) };
    items[1..].iter().try_fold(first.clone(), |total, item| operator::binary("_+_", &total, item))
}

fn extreme(name: &str, items: &[Value], wanted: Ordering) -> Outcome {
    let Some(first) = items.first() else {
        return Err(EvalError::new(format!("{name} called on empty list")));
    };
    let mut best = first;
    for item in &items[1..] {
        match operator::compare(item, best) {
            Some(order) if order == wanted => best = item,
            Some(_) => {}
            None => return Err(EvalError::new("no such overload")),
        }
    }
    Ok(best.clone())
}

fn slice(items: &[Value], start: i64, end: i64) -> Outcome {
    let length = items.len();
    let (Ok(from), Ok(to)) = (usize::try_from(start), usize::try_from(end)) else {
        return Err(EvalError::new(format!(
            "cannot slice({start}, {end}), negative indexes not supported"
        )));
    };
    if from > to {
        return Err(EvalError::new(format!(
            "cannot slice({start}, {end}), start index must be less than or equal to end index"
        )));
    }
    match items.get(from..to) {
        Some(part) => Ok(Value::list(part.to_vec())),
        None => {
            Err(EvalError::new(format!("cannot slice({start}, {end}), list is length {length}")))
        }
    }
}

fn flatten(items: &[Value], depth: i64) -> Vec<Value> {
    let mut out = Vec::new();
    for item in items {
        match item {
            Value::List(inner) if depth > 0 => out.extend(flatten(&inner.items, depth - 1)),
            other => out.push(other.clone()),
        }
    }
    out
}

/// The values in the order of their keys.
pub(in crate::cel) fn sorted(mut keyed: Vec<(Value, Value)>) -> Outcome {
    let mut failed = None;
    keyed.sort_by(|(a, _), (b, _)| {
        operator::compare(a, b).unwrap_or_else(|| {
            failed = Some(EvalError::new("list elements must have the same type"));
            Ordering::Equal
        })
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(Value::list(keyed.into_iter().map(|(_, value)| value).collect())),
    }
}
