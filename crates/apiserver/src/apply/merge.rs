//! Laying an applied configuration over a live object, and taking fields out of it again.

use serde_json::Value;

use super::fieldset::{FieldSet, PathElement};
use super::types::{Atom, List, Map, Meaning, Type};

type Fields = serde_json::Map<String, Value>;

/// The live object with the configuration laid over it; nothing is removed.
pub fn merge(ty: Type<'_>, live: &Value, config: &Value) -> Value {
    visit(ty, Some(live), Some(config)).unwrap_or(Value::Null)
}

fn visit(ty: Type<'_>, live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
    let atom = ty.atom();
    let fit = if config.is_none() { atom.fit(live) } else { atom.fit(config) };
    handle(fit, live, config)
}

fn handle(atom: Atom<'_>, live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
    let whole = || config.or(live).cloned();
    match atom.meaning() {
        Meaning::Scalar(_) | Meaning::Nothing => whole(),
        Meaning::Map(map) => {
            let (from, to) = (object(live), object(config));
            if map.atomic || (from.is_none() && to.is_none()) {
                return whole();
            }
            merge_maps(map, from, to)
        }
        Meaning::List(list) => {
            let (from, to) = (array(live), array(config));
            if !list.associative || (from.is_empty() && to.is_empty()) {
                return whole();
            }
            let out = merge_lists(list, from, to);
            (!out.is_empty()).then_some(Value::Array(out))
        }
    }
}

fn merge_maps(map: Map<'_>, live: Option<&Fields>, config: Option<&Fields>) -> Option<Value> {
    let mut out = Fields::new();
    for (name, value) in live.into_iter().flatten() {
        let over = config.and_then(|c| c.get(name));
        if let Some(merged) = visit(map.at(name), Some(value), over) {
            out.insert(name.clone(), merged);
        }
    }
    for (name, value) in config.into_iter().flatten() {
        if live.is_some_and(|l| l.contains_key(name)) {
            continue;
        }
        if let Some(merged) = visit(map.at(name), None, Some(value)) {
            out.insert(name.clone(), merged);
        }
    }
    (!out.is_empty()).then_some(Value::Object(out))
}

/// The items of one side, in order, with what tells them apart.
struct Side<'v> {
    items: Vec<(PathElement, &'v Value)>,
}

impl<'v> Side<'v> {
    fn of(list: List<'_>, items: &'v [Value]) -> Self {
        let items = items
            .iter()
            .filter_map(|item| list.element_of(item).ok().map(|element| (element, item)))
            .collect();
        Self { items }
    }

    fn has(&self, element: &PathElement) -> bool {
        self.items.iter().any(|(e, _)| e == element)
    }

    /// The item, unless there are several that cannot be told apart: those are not merged with.
    fn only(&self, element: &PathElement) -> Option<&'v Value> {
        let mut found = self.items.iter().filter(|(e, _)| e == element);
        match (found.next(), found.next()) {
            (Some((_, item)), None) => Some(item),
            (Some(_), Some(_)) => Some(&Value::Null),
            _ => None,
        }
    }
}

/// Items in both keep the order of the configuration; items only in the live list stay where they
/// stood relative to those.
fn merge_lists(list: List<'_>, live: &[Value], config: &[Value]) -> Vec<Value> {
    let (left, right) = (Side::of(list, live), Side::of(list, config));
    let mut shared = right.items.iter().map(|(e, _)| e).filter(|e| left.has(e));
    let mut next_shared = shared.next();
    let mut merged: Vec<&PathElement> = Vec::new();
    let mut out = Vec::with_capacity(left.items.len().max(right.items.len()));
    let mut push = |live: Option<&Value>, config: Option<&Value>| {
        out.extend(visit(list.element, live, config));
    };
    let (mut l, mut r) = (0, 0);
    while l < left.items.len() || r < right.items.len() {
        if let (Some((element, _)), Some((other, _))) = (left.items.get(l), right.items.get(r)) {
            if element == other {
                merged.push(element);
                push(left.only(element), right.only(element));
                l += 1;
                r += 1;
                next_shared = shared.next();
                continue;
            }
            if right.has(element) && next_shared.is_some_and(|next| next != element) {
                l += 1;
                continue;
            }
        }
        if let Some((element, item)) = left.items.get(l) {
            if !right.has(element) {
                push(Some(item), None);
                l += 1;
                continue;
            }
            if merged.contains(&element) {
                l += 1;
            }
        }
        if let Some((element, _)) = right.items.get(r) {
            merged.push(element);
            push(left.only(element), right.only(element));
            r += 1;
            if next_shared.is_some_and(|next| next == element) {
                next_shared = shared.next();
            }
        }
    }
    out
}

fn object(value: Option<&Value>) -> Option<&Fields> {
    value.and_then(Value::as_object).filter(|fields| !fields.is_empty())
}

fn array(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The value without the fields and items of a set; null where nothing is left.
pub fn remove(ty: Type<'_>, value: &Value, set: &FieldSet) -> Value {
    match ty.atom().fit(Some(value)).meaning() {
        Meaning::Scalar(_) => value.clone(),
        Meaning::Nothing => Value::Null,
        Meaning::Map(map) => {
            let Some(fields) = object(Some(value)).filter(|_| !map.atomic) else {
                return Value::Null;
            };
            let mut out = Fields::new();
            for (name, value) in fields {
                let element = PathElement::field(name.as_str());
                if set.members.contains(&element) {
                    continue;
                }
                let value = match set.below(&element) {
                    Some(below) => remove(map.at(name), value, below),
                    None => value.clone(),
                };
                out.insert(name.clone(), value);
            }
            if out.is_empty() { Value::Null } else { Value::Object(out) }
        }
        Meaning::List(list) => {
            let items = array(Some(value));
            if items.is_empty() || !list.associative {
                return Value::Null;
            }
            let mut out = Vec::with_capacity(items.len());
            for item in items {
                let Ok(element) = list.element_of(item) else { continue };
                if set.members.contains(&element) {
                    continue;
                }
                out.push(match set.below(&element) {
                    Some(below) => remove(list.element, item, below),
                    None => item.clone(),
                });
            }
            if out.is_empty() { Value::Null } else { Value::Array(out) }
        }
    }
}

/// The set, and the declared fields above its members.
pub fn with_named_fields(set: &FieldSet, ty: Type<'_>) -> FieldSet {
    let atom = ty.atom();
    let mut out = FieldSet { members: set.members.clone(), ..FieldSet::default() };
    for (element, below) in &set.children {
        let mut next = Type::None;
        match (element, atom.map, atom.list) {
            (PathElement::Field(name), Some(map), _) => {
                if let Some(field) = map.field(name) {
                    out.members.insert(element.clone());
                    next = field;
                } else {
                    next = map.element;
                }
            }
            (PathElement::Key(_), _, Some(list)) => next = list.element,
            _ => {}
        }
        out.children.insert(element.clone(), with_named_fields(below, next));
    }
    out
}

/// The set as the schema sees it now: what was owned piece by piece and is atomic now is owned as one.
///
/// `None` if nothing is different.
pub fn reconciled(set: &FieldSet, ty: Type<'_>) -> Option<FieldSet> {
    let mut removed = FieldSet::default();
    let mut added = FieldSet::default();
    reconcile(ty, Some(set), false, &mut Vec::new(), &mut removed, &mut added);
    if removed.is_empty() && added.is_empty() {
        return None;
    }
    Some(set.without(&removed).union(&added))
}

fn reconcile(
    ty: Type<'_>,
    set: Option<&FieldSet>,
    leaf: bool,
    path: &mut Vec<PathElement>,
    removed: &mut FieldSet,
    added: &mut FieldSet,
) {
    let meaning = ty.atom().meaning();
    match meaning {
        Meaning::Scalar(_) | Meaning::Nothing => return,
        Meaning::List(list) if !leaf && !list.associative => {
            removed.insert(path);
            added.insert(path);
            return;
        }
        Meaning::Map(map) if map.is_untyped() => return,
        Meaning::Map(map) if !leaf && map.atomic => {
            if set.is_some_and(|set| !set.is_empty()) {
                removed.insert(path);
                added.insert(path);
            }
            return;
        }
        Meaning::List(_) | Meaning::Map(_) => {}
    }
    let Some(set) = set else { return };
    let elements = set.children.keys().filter(|e| !set.members.contains(e)).chain(&set.members);
    for element in elements {
        let ty = match (meaning, element) {
            (Meaning::List(list), _) => list.element,
            (Meaning::Map(map), PathElement::Field(name)) => map.at(name),
            (Meaning::Map(map), _) => map.element,
            _ => Type::None,
        };
        if matches!(ty, Type::None) {
            continue;
        }
        let below = set.children.get(element);
        let leaf = below.is_none() && set.members.contains(element);
        path.push(element.clone());
        reconcile(ty, below, leaf, path, removed, added);
        path.pop();
    }
}
