//! Lists that are sets or maps: no item twice.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::shown;
use crate::fields::{FieldError, Path, Wrong};
use crate::schema::Node;

/// What stands twice where it may stand once.
pub(super) fn duplicates(node: Node<'_>, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(node, &Path::root(), object, &mut errors);
    errors
}

fn walk(node: Node<'_>, path: &Path, value: &Value, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                if let Some(of) = node.property(name) {
                    if inner.is_object() || inner.is_array() {
                        walk(of, &path.child(name), inner, errors);
                    }
                } else if let Some(of) = node.values() {
                    walk(of, &path.key(name), inner, errors);
                }
            }
        }
        Value::Array(items) => {
            match node.schema.list_type.as_str() {
                "set" => {
                    for index in repeated(items) {
                        errors.push(duplicate(&path.index(index), &items[index]));
                    }
                }
                "map" => keyed(node, path, items, errors),
                _ => {}
            }
            if let Some(of) = node.items() {
                for (index, item) in items.iter().enumerate() {
                    walk(of, &path.index(index), item, errors);
                }
            }
        }
        _ => {}
    }
}

fn keyed(node: Node<'_>, path: &Path, items: &[Value], errors: &mut Vec<FieldError>) {
    if let Some(index) = items.iter().position(|item| !item.is_object() && !item.is_null()) {
        errors.push(FieldError::invalid_shown(
            &path.index(index),
            shown(&items[index]),
            "must be an object for an array of list-type map",
        ));
        return;
    }
    let keys: Vec<Value> = items
        .iter()
        .map(|item| {
            let mut key = Map::new();
            for name in &node.schema.list_map_keys {
                if let Some(value) = item.get(name) {
                    key.insert(name.clone(), value.clone());
                }
            }
            Value::Object(key)
        })
        .collect();
    for index in repeated(&keys) {
        errors.push(duplicate(&path.index(index), &keys[index]));
    }
}

/// Places where a value appears for the second time; further ones are not counted again.
fn repeated(items: &[Value]) -> Vec<usize> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut out = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let times = seen.entry(item.to_string()).or_default();
        *times += 1;
        if *times == 2 {
            out.push(index);
        }
    }
    out
}

fn duplicate(path: &Path, value: &Value) -> FieldError {
    FieldError {
        wrong: Wrong::Duplicate,
        field: path.as_str().to_owned(),
        shown: Some(shown(value)),
        detail: String::new(),
    }
}
