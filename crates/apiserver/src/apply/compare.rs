//! Which fields differ between two objects, and which fields an object has.

use serde_json::Value;

use super::fieldset::{FieldSet, PathElement, same_value};
use super::types::{Atom, List, Map, Meaning, Type};

/// How one object differs from another. No field is in more than one of the sets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Only in the second.
    pub added: FieldSet,
    /// In both, with different values.
    pub modified: FieldSet,
    /// Only in the first.
    pub removed: FieldSet,
}

impl Comparison {
    /// Without the fields of a set and what lies below them.
    #[must_use]
    pub fn without(&self, fields: &FieldSet) -> Self {
        Self {
            added: self.added.without(fields),
            modified: self.modified.without(fields),
            removed: self.removed.without(fields),
        }
    }
}

/// Whether null of a declared field means that the field is absent, as it does in Go structs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nulls {
    /// Null is a value.
    Values,
    /// Null is absence.
    Absent,
}

/// Compares two objects of one type.
pub fn compare(ty: Type<'_>, old: &Value, new: &Value, nulls: Nulls) -> Comparison {
    let mut out = Comparison::default();
    let _ = Walk { nulls }.visit(ty, Some(old), Some(new), &mut out);
    out
}

/// What happened to a place itself.
#[derive(Clone, Copy)]
enum Change {
    Same,
    Added,
    Modified,
    Removed,
}

struct Walk {
    nulls: Nulls,
}

impl Walk {
    /// Fills in what happened below a place and returns what happened to the place.
    fn visit(
        &self,
        ty: Type<'_>,
        old: Option<&Value>,
        new: Option<&Value>,
        out: &mut Comparison,
    ) -> Change {
        if let (Some(old), Some(new)) = (old, new)
            && old == new
        {
            return Change::Same;
        }
        let atom = ty.atom();
        let (from, to) = (atom.fit(old), atom.fit(new));
        let (leaf, also) = match (old, new) {
            (_, None) => (self.handle(from, old, new, out), None),
            (None, _) => (self.handle(to, old, new, out), None),
            _ if from.alike(&to) => (self.handle(to, old, new, out), None),
            _ => {
                let first = self.handle(from, old, new, out);
                (self.handle(to, old, new, out), first)
            }
        };
        match (leaf, also) {
            (Some(change), None | Some(Change::Same)) | (_, Some(change)) => change,
            (None, None) => match (old, new) {
                (None, _) => Change::Added,
                (_, None) => Change::Removed,
                _ => Change::Same,
            },
        }
    }

    /// `Some` if the place is a leaf.
    fn handle(
        &self,
        atom: Atom<'_>,
        old: Option<&Value>,
        new: Option<&Value>,
        out: &mut Comparison,
    ) -> Option<Change> {
        match atom.meaning() {
            Meaning::Map(map) => {
                let (from, to) = (object(old), object(new));
                if map.atomic || (from.is_none() && to.is_none()) {
                    return Some(leaf(old, new));
                }
                self.map(map, from, to, out);
                None
            }
            Meaning::List(list) => {
                let (from, to) = (array(old), array(new));
                if !list.associative || (from.is_empty() && to.is_empty()) {
                    return Some(leaf(old, new));
                }
                self.list(list, from, to, out);
                None
            }
            Meaning::Scalar(_) | Meaning::Nothing => Some(leaf(old, new)),
        }
    }

    fn map(&self, map: Map<'_>, old: Option<&Fields>, new: Option<&Fields>, out: &mut Comparison) {
        let names = old.into_iter().chain(new).flat_map(|fields| fields.keys());
        let mut names: Vec<&String> = names.collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let (from, to) = (old.and_then(|o| o.get(name)), new.and_then(|n| n.get(name)));
            let absent = self.nulls == Nulls::Absent
                && matches!((from, to), (None, Some(Value::Null)) | (Some(Value::Null), None));
            if absent && map.field(name).is_some() {
                continue;
            }
            self.place(map.at(name), || PathElement::field(name.as_str()), from, to, out);
        }
    }

    fn list(&self, list: List<'_>, old: &[Value], new: &[Value], out: &mut Comparison) {
        let (from, to) = (grouped(list, old), grouped(list, new));
        let mut elements: Vec<&PathElement> = from.iter().chain(&to).map(|(e, _)| e).collect();
        elements.sort_unstable();
        elements.dedup();
        for element in elements {
            let items = |side: &[(PathElement, Vec<&Value>)]| -> Vec<Value> {
                let found = side.iter().find(|(e, _)| e == element);
                found
                    .map(|(_, items)| items.iter().map(|v| (*v).clone()).collect())
                    .unwrap_or_default()
            };
            let (from, to) = (items(&from), items(&to));
            let each = || element.clone();
            match (from.as_slice(), to.as_slice()) {
                (from, to) if from.len() <= 1 && to.len() <= 1 => {
                    self.place(list.element, each, from.first(), to.first(), out);
                }
                (from, to) if from.len() > 1 && to.len() > 1 => {
                    if from.len() != to.len() || !from.iter().zip(to).all(|(a, b)| same_value(a, b))
                    {
                        out.modified.members.insert(each());
                    }
                }
                (from, to) if from.len() > 1 => {
                    if let Some(item) = to.first() {
                        self.place(list.element, each, None, Some(item), out);
                    }
                    out.removed.members.insert(each());
                }
                (from, _) => {
                    if let Some(item) = from.first() {
                        self.place(list.element, each, Some(item), None, out);
                    }
                    out.added.members.insert(each());
                }
            }
        }
    }

    fn place(
        &self,
        ty: Type<'_>,
        element: impl Fn() -> PathElement,
        old: Option<&Value>,
        new: Option<&Value>,
        out: &mut Comparison,
    ) {
        let mut below = Comparison::default();
        match self.visit(ty, old, new, &mut below) {
            Change::Same => {}
            Change::Added => drop(out.added.members.insert(element())),
            Change::Modified => drop(out.modified.members.insert(element())),
            Change::Removed => drop(out.removed.members.insert(element())),
        }
        for (all, part) in [
            (&mut out.added, below.added),
            (&mut out.modified, below.modified),
            (&mut out.removed, below.removed),
        ] {
            if !part.members.is_empty() || !part.children.is_empty() {
                all.attach(element(), part);
            }
        }
    }
}

type Fields = serde_json::Map<String, Value>;

/// The fields of a map that has any.
fn object(value: Option<&Value>) -> Option<&Fields> {
    value.and_then(Value::as_object).filter(|fields| !fields.is_empty())
}

fn array(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn leaf(old: Option<&Value>, new: Option<&Value>) -> Change {
    match (old, new) {
        (None, _) => Change::Added,
        (_, None) => Change::Removed,
        (Some(old), Some(new)) if same_value(old, new) => Change::Same,
        _ => Change::Modified,
    }
}

fn grouped<'v>(list: List<'_>, items: &'v [Value]) -> Vec<(PathElement, Vec<&'v Value>)> {
    let mut out: Vec<(PathElement, Vec<&Value>)> = Vec::with_capacity(items.len());
    for item in items {
        let Ok(element) = list.element_of(item) else { continue };
        match out.iter_mut().find(|(e, _)| *e == element) {
            Some((_, items)) => items.push(item),
            None => out.push((element, vec![item])),
        }
    }
    out
}

/// Every leaf and item that an object has.
pub fn field_set(ty: Type<'_>, value: &Value) -> FieldSet {
    let mut out = FieldSet::default();
    collect(ty, value, &mut out);
    out
}

/// Fills in what lies below a place; true if the place is a leaf itself.
fn collect(ty: Type<'_>, value: &Value, out: &mut FieldSet) -> bool {
    match ty.atom().fit(Some(value)).meaning() {
        Meaning::Scalar(_) => true,
        Meaning::Nothing => false,
        Meaning::Map(map) if map.atomic => true,
        Meaning::List(list) if !list.associative => true,
        Meaning::Map(map) => {
            for (name, value) in value.as_object().into_iter().flatten() {
                let mut below = FieldSet::default();
                let leaf = collect(map.at(name), value, &mut below);
                let empty = value.is_null() || value.as_object().is_some_and(Fields::is_empty);
                let element = PathElement::field(name.as_str());
                if leaf || empty || map.field(name).is_none() {
                    out.members.insert(element.clone());
                }
                out.attach(element, below);
            }
            false
        }
        Meaning::List(list) => {
            for (element, items) in grouped(list, array(Some(value))) {
                if let [item] = items.as_slice() {
                    let mut below = FieldSet::default();
                    collect(list.element, item, &mut below);
                    out.attach(element.clone(), below);
                }
                out.members.insert(element);
            }
            false
        }
    }
}
