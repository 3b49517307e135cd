//! Sets of fields, as managers own them, and their `FieldsV1` form.
//!
//! A set is a tree: at every place it lists the elements that are members and the elements below which
//! there are more members. An element can be both (`.` in `FieldsV1`).

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value};

/// One step into an object.
#[derive(Debug, Clone)]
pub enum PathElement {
    /// A field of an object or a key of a map.
    Field(String),
    /// The item of a list whose key fields have these values (sorted by name).
    Key(Vec<(String, Value)>),
    /// The item of a set with this value.
    Value(Value),
    /// The item at this index of an atomic list.
    Index(i64),
}

impl PathElement {
    /// A field by name.
    pub fn field(name: impl Into<String>) -> Self {
        Self::Field(name.into())
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }

    /// The key in `FieldsV1`: `f:name`, `k:{…}`, `v:…`, `i:…`.
    pub fn encode(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(fields) => {
                let fields: Vec<String> = fields
                    .iter()
                    .map(|(name, value)| {
                        format!("{}:{}", go_json(&Value::from(name.as_str())), go_json(value))
                    })
                    .collect();
                format!("k:{{{}}}", fields.join(","))
            }
            Self::Value(value) => format!("v:{}", go_json(value)),
            Self::Index(index) => format!("i:{index}"),
        }
    }

    /// Reads a key of `FieldsV1`; `Ok(None)` for a kind of element that is not known and thus ignored.
    pub fn decode(text: &str) -> Result<Option<Self>, String> {
        let (kind, rest) = match (text.as_bytes().first(), text.as_bytes().get(1)) {
            (Some(kind), Some(b':')) => (*kind, &text[2..]),
            (Some(_), Some(_)) => return Err(format!("missing colon: {text}")),
            _ => return Err("key must be 2 characters long:".to_owned()),
        };
        Ok(match kind {
            b'f' => Some(Self::Field(rest.to_owned())),
            b'v' => Some(Self::Value(serde_json::from_str(rest).map_err(|e| e.to_string())?)),
            b'k' => {
                let fields: Map<String, Value> =
                    serde_json::from_str(rest).map_err(|e| e.to_string())?;
                Some(Self::Key(fields.into_iter().collect()))
            }
            b'i' => {
                Some(Self::Index(rest.parse().map_err(|e: std::num::ParseIntError| e.to_string())?))
            }
            _ => None,
        })
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Key(a), Self::Key(b)) => {
                for ((name, value), (other_name, other_value)) in a.iter().zip(b) {
                    let order =
                        name.cmp(other_name).then_with(|| compare_values(value, other_value));
                    if order != Ordering::Equal {
                        return order;
                    }
                }
                a.len().cmp(&b.len())
            }
            (Self::Value(a), Self::Value(b)) => compare_values(a, b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for PathElement {}

impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                f.write_str("[")?;
                for (i, (name, value)) in fields.iter().enumerate() {
                    if i > 0 {
                        f.write_str(",")?;
                    }
                    write!(f, "{name}={}", shown(value))?;
                }
                f.write_str("]")
            }
            Self::Value(value) => write!(f, "[={}]", shown(value)),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(","))
        }
        Value::Object(map) => {
            map.iter().fold(String::new(), |text, (k, v)| format!("{text}{k}={}", shown(v)))
        }
        other => other.to_string(),
    }
}

/// JSON as Go writes it: characters that matter to HTML are escaped.
pub fn go_json(value: &Value) -> String {
    let text = value.to_string();
    if !text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

fn compare_numbers(a: &serde_json::Number, b: &serde_json::Number) -> Ordering {
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64()) {
        return a.cmp(&b);
    }
    let (a, b) = (a.as_f64().unwrap_or_default(), b.as_f64().unwrap_or_default());
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

/// A total order over values: numbers, strings, booleans, lists, maps, null.
fn compare_values(a: &Value, b: &Value) -> Ordering {
    fn rank(value: &Value) -> u8 {
        match value {
            Value::Number(_) => 0,
            Value::String(_) => 1,
            Value::Bool(_) => 2,
            Value::Array(_) => 3,
            Value::Object(_) => 4,
            Value::Null => 5,
        }
    }
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => a
            .iter()
            .zip(b)
            .map(|(a, b)| compare_values(a, b))
            .find(|order| *order != Ordering::Equal)
            .unwrap_or_else(|| a.len().cmp(&b.len())),
        (Value::Object(a), Value::Object(b)) => a
            .iter()
            .zip(b)
            .map(|((ka, va), (kb, vb))| ka.cmp(kb).then_with(|| compare_values(va, vb)))
            .find(|order| *order != Ordering::Equal)
            .unwrap_or_else(|| a.len().cmp(&b.len())),
        _ => rank(a).cmp(&rank(b)),
    }
}

/// Whether two values are the same; 1 and 1.0 are.
pub fn same_value(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(_), Value::Number(_)) => compare_values(a, b) == Ordering::Equal,
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_value(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().zip(b).all(|((ka, va), (kb, vb))| ka == kb && same_value(va, vb))
        }
        _ => a == b,
    }
}

/// A set of fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSet {
    /// The elements that are in the set.
    pub members: BTreeSet<PathElement>,
    /// What is in the set below an element. Being here does not make the element itself a member.
    pub children: BTreeMap<PathElement, FieldSet>,
}

impl FieldSet {
    /// A set of paths of field names.
    pub fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            let path: Vec<PathElement> = path.iter().map(|p| PathElement::field(*p)).collect();
            set.insert(&path);
        }
        set
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(Self::is_empty)
    }

    /// Adds a path; the places above it are not added.
    pub fn insert(&mut self, path: &[PathElement]) {
        match path {
            [] => {}
            [last] => {
                self.members.insert(last.clone());
            }
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    /// Whether the path is a member.
    pub fn has(&self, path: &[PathElement]) -> bool {
        match path {
            [] => false,
            [last] => self.members.contains(last),
            [first, rest @ ..] => self.children.get(first).is_some_and(|set| set.has(rest)),
        }
    }

    /// What is below an element, if anything.
    pub fn below(&self, element: &PathElement) -> Option<&Self> {
        self.children.get(element).filter(|set| !set.is_empty())
    }

    /// Puts a subtree in place, unless it is empty.
    pub fn attach(&mut self, element: PathElement, subtree: Self) {
        if subtree.members.is_empty() && subtree.children.is_empty() {
            return;
        }
        match self.children.entry(element) {
            std::collections::btree_map::Entry::Vacant(place) => {
                place.insert(subtree);
            }
            std::collections::btree_map::Entry::Occupied(mut place) => {
                let merged = place.get().union(&subtree);
                place.insert(merged);
            }
        }
    }

    /// What is in either.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut out = self.clone();
        out.members.extend(other.members.iter().cloned());
        for (element, set) in &other.children {
            match out.children.get_mut(element) {
                Some(mine) => *mine = mine.union(set),
                None => {
                    out.children.insert(element.clone(), set.clone());
                }
            }
        }
        out
    }

    /// What is in both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let mut out = Self {
            members: self.members.intersection(&other.members).cloned().collect(),
            children: BTreeMap::new(),
        };
        for (element, set) in &self.children {
            if let Some(theirs) = other.children.get(element) {
                let both = set.intersection(theirs);
                if !both.is_empty() {
                    out.children.insert(element.clone(), both);
                }
            }
        }
        out
    }

    /// What is here and not in the other; what lies below a member of the other stays.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let mut out = Self {
            members: self.members.difference(&other.members).cloned().collect(),
            children: BTreeMap::new(),
        };
        for (element, set) in &self.children {
            let rest = match other.children.get(element) {
                Some(theirs) => set.difference(theirs),
                None => set.clone(),
            };
            if !rest.is_empty() {
                out.children.insert(element.clone(), rest);
            }
        }
        out
    }

    /// What is here and neither in the other nor below a member of the other.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let mut out = Self {
            members: self.members.difference(&other.members).cloned().collect(),
            children: BTreeMap::new(),
        };
        for (element, set) in &self.children {
            if other.members.contains(element) {
                continue;
            }
            let rest = match other.children.get(element) {
                Some(theirs) => set.without(theirs),
                None => set.clone(),
            };
            if !rest.is_empty() {
                out.children.insert(element.clone(), rest);
            }
        }
        out
    }

    /// Every path as it is printed in conflicts: members of a place before what lies below.
    pub fn paths(&self) -> Vec<String> {
        let mut out = Vec::new();
        self.collect("", &mut out);
        out
    }

    fn collect(&self, prefix: &str, out: &mut Vec<String>) {
        out.extend(self.members.iter().map(|element| format!("{prefix}{element}")));
        for (element, set) in &self.children {
            set.collect(&format!("{prefix}{element}"), out);
        }
    }

    /// The `fieldsV1` object.
    pub fn encode(&self) -> Value {
        Value::Object(self.encode_map())
    }

    fn encode_map(&self) -> Map<String, Value> {
        let mut out = Map::new();
        for element in &self.members {
            if !self.children.contains_key(element) {
                out.insert(element.encode(), Value::Object(Map::new()));
            }
        }
        for (element, set) in &self.children {
            let mut below = set.encode_map();
            if self.members.contains(element) && !below.is_empty() {
                below.insert(".".to_owned(), Value::Object(Map::new()));
            }
            out.insert(element.encode(), Value::Object(below));
        }
        out
    }

    /// Reads a `fieldsV1` object.
    pub fn decode(fields: &Value) -> Result<Self, String> {
        Ok(Self::decode_below(fields)?.0.unwrap_or_default())
    }

    /// The set below a place, if there is any, and whether the place itself is a member.
    fn decode_below(fields: &Value) -> Result<(Option<Self>, bool), String> {
        let Value::Object(map) = fields else {
            return if fields.is_null() {
                Ok((None, true))
            } else {
                Err("ReadMapCB: expect { or n".to_owned())
            };
        };
        let mut set: Option<Self> = None;
        let mut member = false;
        for (key, value) in map {
            if key == "." {
                member = true;
                continue;
            }
            let Some(element) = PathElement::decode(key)? else { continue };
            let (below, is_member) = Self::decode_below(value)?;
            let set = set.get_or_insert_default();
            if is_member {
                set.members.insert(element.clone());
            }
            if let Some(below) = below {
                set.children.insert(element, below);
            }
        }
        let member = member || set.is_none();
        Ok((set, member))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn element() -> impl Strategy<Value = PathElement> {
        prop_oneof![
            4 => "[a-c]".prop_map(PathElement::Field),
            1 => (0..3i64).prop_map(|n| PathElement::Key(vec![("port".into(), json!(n)), ("protocol".into(), json!("TCP"))])),
            1 => "[a<]".prop_map(|v| PathElement::Value(json!(v))),
        ]
    }

    fn set() -> impl Strategy<Value = FieldSet> {
        prop::collection::vec(prop::collection::vec(element(), 1..4), 0..8).prop_map(|paths| {
            let mut set = FieldSet::default();
            for path in &paths {
                set.insert(path);
            }
            set
        })
    }

    proptest! {
        #[test]
        fn round_trip(set in set()) {
            prop_assert_eq!(FieldSet::decode(&set.encode()).unwrap(), set);
        }

        #[test]
        fn laws(a in set(), b in set()) {
            prop_assert_eq!(a.union(&b), b.union(&a));
            prop_assert_eq!(a.union(&a), a.clone());
            prop_assert_eq!(a.intersection(&b), a.difference(&a.difference(&b)));
            prop_assert_eq!(a.difference(&b).union(&a.intersection(&b)), a.clone());
            prop_assert!(a.difference(&a).is_empty());
            prop_assert!(a.without(&b).difference(&a).is_empty());
            prop_assert!(a.without(&b).intersection(&b).is_empty());
        }
    }

    #[test]
    fn fields_v1_of_a_service() {
        let fields = json!({"f:spec": {"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}},
            "f:metadata": {"f:finalizers": {"v:\"a.b/c\"": {}}}});
        let set = FieldSet::decode(&fields).unwrap();
        assert_eq!(
            set.paths(),
            [
                ".metadata.finalizers[=\"a.b/c\"]",
                ".spec.ports[port=80,protocol=\"TCP\"]",
                ".spec.ports[port=80,protocol=\"TCP\"].port"
            ]
        );
        assert_eq!(set.encode(), fields);
    }

    #[test]
    fn keys_are_written_as_go_writes_them() {
        assert_eq!(PathElement::Value(json!("a<b&c")).encode(), "v:\"a\\u003cb\\u0026c\"");
    }

    #[test]
    fn unknown_elements_are_ignored_and_bad_ones_are_errors() {
        assert_eq!(FieldSet::decode(&json!({"x:y": {}})).unwrap(), FieldSet::default());
        assert!(FieldSet::decode(&json!({"f": {}})).is_err());
        assert!(FieldSet::decode(&json!({"spec": {}})).is_err());
    }
}
