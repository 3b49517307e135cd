//! How much an expression may cost at worst, given the bounds that a schema sets.
//!
//! The unit is the API server's: roughly one step of evaluation. Strings cost a tenth per character, loops
//! what their body costs times as many items as there may be.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::syntax::{Expr, Kind, Macro, MacroName};
use super::value::Value;
use crate::schema::Node;

/// Most bytes that a request may have; what has no bound of its own is bounded by it.
const REQUEST: u64 = 3 * 1024 * 1024;
const UNKNOWN: u64 = u64::MAX;

/// What kind of value an expression gives, as far as its cost depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Scalar,
    Text,
    List,
    Map,
    Object,
    Any,
}

/// What is known of a part of an expression.
#[derive(Clone, Copy)]
struct Known<'a> {
    cost: u64,
    /// Most characters, items or entries.
    size: u64,
    sort: Sort,
    /// The schema of the value, if it is part of the object.
    node: Option<Node<'a>>,
    /// Most characters or items of an item.
    item: u64,
}

impl Known<'_> {
    fn plain(cost: u64, sort: Sort) -> Self {
        let size = if sort == Sort::Scalar { 1 } else { UNKNOWN };
        Self { cost, size, sort, node: None, item: UNKNOWN }
    }
}

type Scope<'a> = BTreeMap<Arc<str>, Known<'a>>;

/// The cost at worst of an expression over values of this schema.
pub(super) fn estimate(expr: &Expr, node: Node<'_>) -> u64 {
    let this = at(node, 0);
    let scope = Scope::from([("self".into(), this), ("oldSelf".into(), this)]);
    known(expr, &scope).cost
}

/// How often a value of this schema may stand in one object at most.
pub fn cardinality(node: Node<'_>, resource: bool) -> u64 {
    REQUEST / (smallest(node, resource) + 1)
}

fn at(node: Node<'_>, cost: u64) -> Known<'_> {
    let schema = node.schema;
    let (sort, size) = match schema.type_name.as_str() {
        _ if schema.int_or_string => {
            (Sort::Any, schema.max_length.map_or(REQUEST - 2, |most| most * 4))
        }
        "array" => {
            let least = node.items().map_or(0, |of| smallest(of, false));
            (Sort::List, schema.max_items.unwrap_or((REQUEST - 2) / (least + 1)))
        }
        "object" if node.values().is_some() => {
            let least = node.values().map_or(0, |of| smallest(of, false));
            (Sort::Map, schema.max_properties.unwrap_or((REQUEST - 2) / (least + 6)))
        }
        "object" => (Sort::Object, 0),
        "string" => match schema.format.as_str() {
            "duration" | "date-time" => (Sort::Scalar, 32),
            "date" => (Sort::Scalar, 12),
            "byte" => (Sort::Text, schema.max_length.unwrap_or(REQUEST - 2)),
            _ => (Sort::Text, text_size(node)),
        },
        _ => (Sort::Scalar, 0),
    };
    Known { cost, size, sort, node: Some(node), item: UNKNOWN }
}

fn text_size(node: Node<'_>) -> u64 {
    let schema = node.schema;
    if let Some(most) = schema.max_length {
        return most * 4;
    }
    let longest = schema.allowed.iter().filter_map(|value| value.as_str().map(str::len)).max();
    longest.map_or(REQUEST - 2, |length| length as u64)
}

/// The fewest bytes that a value of this schema takes as JSON.
fn smallest(node: Node<'_>, resource: bool) -> u64 {
    let schema = node.schema;
    match schema.type_name.as_str() {
        _ if schema.int_or_string => 1,
        "object" if node.values().is_none() => {
            let mut size = 2;
            for name in &schema.required {
                if let Some(inner) = node.property(name)
                    && inner.schema.default.is_none()
                    && !(resource && matches!(name.as_str(), "apiVersion" | "kind" | "metadata"))
                {
                    size += name.len() as u64 + smallest(inner, false) + 4;
                }
            }
            size
        }
        "string" => match schema.format.as_str() {
            "duration" => 3,
            "date" => 12,
            "date-time" => 21,
            _ => 2,
        },
        "boolean" => 4,
        "integer" | "number" => 1,
        _ => 2,
    }
}

/// A tenth, rounded up.
fn tenth(size: u64) -> u64 {
    size.div_ceil(10)
}

fn quarter(size: u64) -> u64 {
    size.div_ceil(4)
}

fn child<'a>(operand: &Known<'a>, field: &str, cost: u64) -> Known<'a> {
    let found = operand.node.and_then(|node| {
        let plain =
            field.strip_prefix("__").and_then(|rest| rest.strip_suffix("__")).unwrap_or(field);
        node.field(field).or_else(|| node.field(plain)).or_else(|| {
            node.schema
                .properties
                .keys()
                .find(|name| super::schema::escaped(name).as_deref() == Some(field))
                .and_then(|name| node.property(name))
        })
    });
    match found {
        Some(node) => at(node, cost),
        // The type and name of an object are strings without a bound of their own.
        None if operand.node.is_some() && operand.sort == Sort::Object => {
            let sort = if field == "metadata" { Sort::Object } else { Sort::Text };
            let size = if field == "metadata" { 0 } else { REQUEST - 2 };
            Known {
                cost,
                size,
                sort,
                node: operand.node.filter(|_| field == "metadata"),
                item: UNKNOWN,
            }
        }
        None => Known::plain(cost, Sort::Any),
    }
}

/// An item of a container. What was computed has items as large as the whole value is: that is how the
/// server reads a path that does not begin at the object.
fn inside<'a>(container: &Known<'a>, scope: &Scope<'a>, cost: u64) -> Known<'a> {
    if let Some(node) = container.node.and_then(|node| node.items().or_else(|| node.values())) {
        return at(node, cost);
    }
    let size = scope.get("self").map_or(container.item, |whole| whole.size);
    Known { size, ..Known::plain(cost, Sort::Any) }
}

fn known<'a>(expr: &Expr, scope: &Scope<'a>) -> Known<'a> {
    match &expr.kind {
        Kind::Literal(value) => match value {
            Value::String(text) => {
                Known { size: text.chars().count() as u64, ..Known::plain(0, Sort::Text) }
            }
            Value::Bytes(bytes) => {
                Known { size: bytes.len() as u64, ..Known::plain(0, Sort::Text) }
            }
            _ => Known::plain(0, Sort::Scalar),
        },
        Kind::Ident(name) => match scope.get(name) {
            Some(found) => Known { cost: 1, ..*found },
            None => Known::plain(1, Sort::Any),
        },
        Kind::Select { operand, field, optional } => {
            let operand = known(operand, scope);
            if *optional {
                // What is chosen this way is no longer known to be part of the object.
                return Known::plain(operand.cost.saturating_add(1), Sort::Any);
            }
            let step = u64::from(matches!(operand.sort, Sort::Map | Sort::Object));
            child(&operand, field, operand.cost.saturating_add(step))
        }
        Kind::Has { operand, .. } => Known::plain(known(operand, scope).cost, Sort::Scalar),
        Kind::Index { operand, index, .. } => {
            let (operand, index) = (known(operand, scope), known(index, scope));
            inside(&operand, scope, operand.cost.saturating_add(index.cost).saturating_add(1))
        }
        Kind::Call { function, target, arguments } => {
            let target = target.as_ref().map(|target| known(target, scope));
            let arguments: Vec<Known<'a>> = arguments.iter().map(|a| known(a, scope)).collect();
            call(function, target.as_ref(), &arguments, scope)
        }
        Kind::Operator { name, operands } => {
            let operands: Vec<Known<'a>> = operands.iter().map(|o| known(o, scope)).collect();
            operator(name, &operands)
        }
        Kind::And(left, right) | Kind::Or(left, right) => {
            let cost = known(left, scope).cost.saturating_add(known(right, scope).cost);
            Known::plain(cost, Sort::Scalar)
        }
        Kind::Conditional(condition, yes, no) => {
            let (condition, yes, no) =
                (known(condition, scope), known(yes, scope), known(no, scope));
            Known {
                cost: condition.cost.saturating_add(yes.cost.max(no.cost)),
                size: yes.size.max(no.size),
                sort: if yes.sort == no.sort { yes.sort } else { Sort::Any },
                node: None,
                item: yes.item.max(no.item),
            }
        }
        Kind::List(items) => {
            let (mut cost, mut item) = (10_u64, 0);
            for (inner, _) in items {
                let inner = known(inner, scope);
                cost = cost.saturating_add(inner.cost);
                item = item.max(inner.size);
            }
            Known { cost, size: items.len() as u64, sort: Sort::List, node: None, item }
        }
        Kind::Map(entries) => {
            let (mut cost, mut item) = (30_u64, 0);
            for (key, value, _) in entries {
                let (key, value) = (known(key, scope), known(value, scope));
                cost = cost.saturating_add(key.cost).saturating_add(value.cost);
                item = item.max(value.size);
            }
            Known { cost, size: entries.len() as u64, sort: Sort::Map, node: None, item }
        }
        Kind::Struct { fields, .. } => {
            let cost = fields.iter().map(|(_, value, ..)| known(value, scope).cost);
            Known::plain(cost.fold(40, u64::saturating_add), Sort::Object)
        }
        Kind::Macro(inner) => looped(inner, scope),
    }
}

fn operator<'a>(name: &str, operands: &[Known<'a>]) -> Known<'a> {
    let costs = operands.iter().map(|o| o.cost).fold(0, u64::saturating_add);
    let [left, right] = operands else {
        return Known::plain(costs.saturating_add(1), Sort::Scalar);
    };
    let either = |sort: Sort| left.sort == sort || right.sort == sort;
    let textual = either(Sort::Text) || (left.sort == Sort::Any && right.sort == Sort::Any);
    let least = left.size.min(right.size);
    match name {
        "_==_" | "_!=_" => Known::plain(costs.saturating_add(tenth(least)), Sort::Scalar),
        "_<_" | "_<=_" | "_>_" | "_>=_" => {
            let step = if textual { tenth(least) } else { 1 };
            Known::plain(costs.saturating_add(step), Sort::Scalar)
        }
        "@in" if right.sort == Sort::Map => Known::plain(costs.saturating_add(1), Sort::Scalar),
        "@in" => Known::plain(costs.saturating_add(right.size), Sort::Scalar),
        "_+_" if either(Sort::List) => Known {
            cost: costs.saturating_add(1),
            size: left.size.saturating_add(right.size),
            sort: Sort::List,
            node: None,
            item: left.item.max(right.item),
        },
        "_+_" if textual => {
            let size = left.size.saturating_add(right.size);
            Known {
                cost: costs.saturating_add(tenth(size)),
                size,
                sort: Sort::Text,
                node: None,
                item: UNKNOWN,
            }
        }
        _ => Known::plain(
            costs.saturating_add(1),
            if either(Sort::Any) { Sort::Any } else { Sort::Scalar },
        ),
    }
}

fn call<'a>(
    function: &str,
    target: Option<&Known<'a>>,
    arguments: &[Known<'a>],
    scope: &Scope<'a>,
) -> Known<'a> {
    let costs = arguments.iter().chain(target).map(|part| part.cost).fold(0, u64::saturating_add);
    let subject = target.or(arguments.first());
    let size = subject.map_or(1, |subject| subject.size);
    let argument = |index: usize| arguments.get(index).map_or(0, |argument| argument.size);
    let first = argument(0);
    let item = subject.map_or(UNKNOWN, |subject| inside(subject, scope, 0).size);
    let result = |step: u64, sort: Sort, size: u64| Known {
        cost: costs.saturating_add(step),
        size,
        sort,
        node: None,
        item: UNKNOWN,
    };
    let scalar = |step: u64| result(step, Sort::Scalar, 1);
    match function {
        "dyn" => {
            subject.map_or(scalar(1), |subject| Known { cost: costs.saturating_add(1), ..*subject })
        }
        "check" => scalar(350_000),
        "startsWith" | "endsWith" => scalar(tenth(first)),
        "contains" => scalar(tenth(size).saturating_mul(tenth(first))),
        "matches" => {
            let regex = if target.is_some() { first } else { argument(1) };
            scalar(tenth(size.saturating_add(1)).saturating_mul(quarter(regex)))
        }
        "find" => {
            result(tenth(size.saturating_add(1)).saturating_mul(quarter(first)), Sort::Text, size)
        }
        "findAll" => {
            result(tenth(size.saturating_add(1)).saturating_mul(quarter(first)), Sort::List, size)
        }
        "isSorted" | "sum" | "min" | "max" | "indexOf" | "lastIndexOf" => match subject {
            Some(subject) if subject.sort == Sort::Text => scalar(tenth(size)),
            Some(subject) => {
                let texts = subject
                    .node
                    .and_then(Node::items)
                    .is_some_and(|of| of.schema.type_name == "string");
                let each = if texts { tenth(item).saturating_add(1) } else { 1 };
                scalar(size.saturating_mul(each))
            }
            None => scalar(1),
        },
        "url"
        | "cidr"
        | "isIP"
        | "isCIDR"
        | "quantity"
        | "isQuantity"
        | "semver"
        | "isSemver"
        | "jsonpatch.escapeKey" => result(tenth(size), Sort::Any, size),
        "ip" if target.is_none() => result(tenth(size), Sort::Any, UNKNOWN),
        "ip.isCanonical" => scalar(size.saturating_mul(2).div_ceil(10)),
        "containsIP" => scalar(tenth(32).saturating_add(tenth(first))),
        "containsCIDR" => scalar(
            tenth(32).saturating_add(tenth(16)).saturating_add(1).saturating_add(tenth(first)),
        ),
        "validate" => result(tenth(first).saturating_mul(32), Sort::Any, UNKNOWN),
        "lowerAscii" | "upperAscii" | "substring" | "trim" => result(tenth(size), Sort::Text, size),
        "replace" => {
            let grown = size.saturating_add(1).saturating_mul(argument(1)).saturating_add(size);
            let kept = first > 0 && argument(1) <= first;
            result(size.saturating_mul(2).div_ceil(10), Sort::Text, if kept { size } else { grown })
        }
        "split" => result(size.saturating_mul(2).div_ceil(10), Sort::List, size),
        "join" => {
            let whole = size.saturating_mul(item).saturating_add(size.saturating_mul(first));
            result(tenth(whole), Sort::Text, whole)
        }
        "format" => result(tenth(size), Sort::Text, UNKNOWN),
        "size" | "int" | "uint" | "double" | "bool" | "duration" | "timestamp" | "type" => {
            scalar(1)
        }
        "bytes" => result(tenth(size), Sort::Text, size.saturating_mul(4)),
        "string" => match subject.map(|subject| subject.sort) {
            Some(Sort::Text) => result(1, Sort::Text, size),
            _ => result(1, Sort::Text, UNKNOWN),
        },
        "orValue" => result(1, arguments.first().map_or(Sort::Any, |other| other.sort), UNKNOWN),
        "sort" | "distinct" | "reverse" | "slice" | "flatten" => result(size, Sort::List, size),
        "sets.contains" | "sets.intersects" => {
            scalar(first.saturating_mul(argument(1)).saturating_add(1))
        }
        "sets.equivalent" => {
            scalar(first.saturating_mul(argument(1)).saturating_mul(2).saturating_add(1))
        }
        _ => result(1, Sort::Any, UNKNOWN),
    }
}

fn looped<'a>(inner: &Macro, scope: &Scope<'a>) -> Known<'a> {
    let target = known(&inner.target, scope);
    let mut around = scope.clone();
    let item = inside(&target, scope, 0);
    let key = Known {
        size: if target.sort == Sort::Map { REQUEST - 2 } else { 1 },
        ..Known::plain(0, Sort::Text)
    };
    let over_map = target.sort == Sort::Map;
    match (&inner.second, inner.name) {
        (_, MacroName::OptMap | MacroName::OptFlatMap) => {
            around.insert(inner.variable.clone(), target);
        }
        (Some(second), _) => {
            around.insert(inner.variable.clone(), key);
            around.insert(second.clone(), item);
        }
        (None, _) => {
            around.insert(inner.variable.clone(), if over_map { key } else { item });
        }
    }
    let body = known(&inner.body, &around);
    let filter = inner.filter.as_ref().map_or(0, |filter| known(filter, &around).cost);
    let times = |each: u64| target.size.saturating_mul(each);
    let total = |start: u64, each: u64, end: u64| {
        target.cost.saturating_add(start).saturating_add(times(each)).saturating_add(end)
    };
    let list = |cost: u64, item: u64| Known {
        cost,
        size: target.size,
        sort: Sort::List,
        node: None,
        item,
    };
    match inner.name {
        // Each step also asks whether to go on and reads what was found so far.
        MacroName::All => Known::plain(total(0, body.cost.saturating_add(3), 1), Sort::Scalar),
        MacroName::Exists => Known::plain(total(0, body.cost.saturating_add(4), 1), Sort::Scalar),
        MacroName::ExistsOne => {
            Known::plain(total(0, body.cost.saturating_add(2), 2), Sort::Scalar)
        }
        MacroName::Map | MacroName::TransformList => {
            list(total(10, filter.saturating_add(body.cost).saturating_add(12), 1), body.size)
        }
        MacroName::Filter | MacroName::SortBy => {
            list(total(10, body.cost.saturating_add(13), 1), item.size)
        }
        MacroName::TransformMap | MacroName::TransformMapEntry => Known {
            sort: Sort::Map,
            ..list(total(30, filter.saturating_add(body.cost).saturating_add(3), 1), body.size)
        },
        MacroName::OptMap | MacroName::OptFlatMap => Known {
            cost: target.cost.saturating_mul(2).saturating_add(body.cost).saturating_add(12),
            ..body
        },
    }
}
