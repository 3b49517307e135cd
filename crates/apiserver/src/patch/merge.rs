//! Merge patches (RFC 7386).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::lazy::{Lazy, Order, Slot};
use crate::decode::{self, Decoded, FieldValidation};
use crate::resource::Resource;
use crate::status::Failure;
use crate::wire::scan::{Document, Kind};

pub(super) fn apply(
    resource: &Resource,
    live: &Value,
    body: &[u8],
    validation: FieldValidation,
) -> Result<Decoded, Failure> {
    let unfit = || Failure::bad_request("Invalid JSON Patch");
    let strict = validation != FieldValidation::Ignore;
    let bad = |why: String| {
        if strict { Failure::bad_request(format!("error decoding patch: {why}")) } else { unfit() }
    };
    let document = Document::read(body).map_err(bad)?;
    let root = document.root();
    root.value().map_err(bad)?;
    let mut found = Vec::new();
    match root.kind() {
        Kind::Object => {}
        Kind::Null => return Err(unfit()),
        kind if strict => {
            let word = kind.word();
            let why = format!(
                "json: cannot unmarshal {word} into Go value of type map[string]interface {{}}"
            );
            return Err(bad(why));
        }
        // Without validation a list replaces the object, which then is none.
        Kind::Array => {
            return decode::patched(resource, &Lazy::Sent(root).text(), validation, found);
        }
        _ => return Err(unfit()),
    }
    if strict {
        decode::repeated(root, "", &mut found);
    }
    let mut patched = Lazy::Live(live, Order::of(resource));
    let mut patch = Lazy::Sent(root);
    if let (Some(doc), Some(patch)) = (patched.doc(), patch.doc()) {
        merge(doc, std::mem::take(patch));
    }
    decode::patched(resource, &patched.text(), validation, found)
}

fn merge<'a>(doc: &mut BTreeMap<String, Slot<'a>>, patch: BTreeMap<String, Slot<'a>>) {
    for (key, value) in patch {
        let Some(mut value) = value else {
            doc.remove(&key);
            continue;
        };
        match doc.get_mut(&key).and_then(Option::as_mut) {
            None => {
                prune(&mut value);
                doc.insert(key, Some(value));
            }
            Some(current) => match current.doc() {
                None => {
                    prune(&mut value);
                    *current = value;
                }
                Some(current_doc) => match value.doc() {
                    Some(value) => merge(current_doc, std::mem::take(value)),
                    None => *current = value,
                },
            },
        }
    }
}

/// Drops the nulls of a value that is new.
fn prune(value: &mut Lazy<'_>) {
    if let Some(doc) = value.doc() {
        doc.retain(|_, value| value.is_some());
        for value in doc.values_mut().flatten() {
            prune(value);
        }
    } else if let Some(list) = value.list() {
        for value in list.iter_mut().flatten() {
            prune(value);
        }
    }
}

pub(super) fn untyped(live: &Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else { return patch.clone() };
    let mut merged = match live {
        Value::Object(map) => map.clone(),
        _ => Map::new(),
    };
    for (key, value) in patch {
        if value.is_null() {
            merged.remove(key);
        } else {
            let current = merged.get(key).unwrap_or(&Value::Null);
            let value = untyped(current, value);
            merged.insert(key.clone(), value);
        }
    }
    Value::Object(merged)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn lazily(live: &Value, patch: &Value) -> Value {
        let body = patch.to_string();
        let document = Document::read(body.as_bytes()).unwrap();
        let mut patched = Lazy::Live(live, Order::Sorted);
        let mut patch = Lazy::Sent(document.root());
        if let (Some(doc), Some(patch)) = (patched.doc(), patch.doc()) {
            merge(doc, std::mem::take(patch));
        }
        patched.value()
    }

    #[test]
    fn merging() {
        for (live, patch, expected) in [
            (json!({"a": 1}), json!({"a": 2, "b": 3}), json!({"a": 2, "b": 3})),
            (json!({"a": {"b": 1, "c": 2}}), json!({"a": {"b": null}}), json!({"a": {"c": 2}})),
            (json!({"a": 1}), json!({"a": {"b": null, "c": 1}}), json!({"a": {"c": 1}})),
            (json!({}), json!({"a": {"b": {"c": null}}}), json!({"a": {"b": {}}})),
            (json!({"a": [1]}), json!({"a": [{"x": null}]}), json!({"a": [{}]})),
            (json!({"a": {"b": 1}}), json!({"a": [{"x": null}]}), json!({"a": [{"x": null}]})),
        ] {
            assert_eq!(lazily(&live, &patch), expected, "{live} {patch}");
        }
    }

    /// The merge patch that turns one object without nulls into another.
    fn diff(a: &Value, b: &Value) -> Value {
        let (Value::Object(a), Value::Object(b)) = (a, b) else { return b.clone() };
        let mut patch = Map::new();
        for key in a.keys().filter(|key| !b.contains_key(*key)) {
            patch.insert(key.clone(), Value::Null);
        }
        for (key, value) in b {
            match a.get(key) {
                Some(old) if old == value => {}
                Some(old) if old.is_object() && value.is_object() => {
                    patch.insert(key.clone(), diff(old, value));
                }
                _ => {
                    patch.insert(key.clone(), value.clone());
                }
            }
        }
        Value::Object(patch)
    }

    fn object() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-c]{0,2}".prop_map(Value::from)
        ];
        let node = leaf.prop_recursive(3, 24, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[a-c]", inner, 0..3)
                    .prop_map(|m| Value::Object(m.into_iter().collect())),
            ]
        });
        prop::collection::btree_map("[a-c]", node, 0..4)
            .prop_map(|m| Value::Object(m.into_iter().collect()))
    }

    proptest! {
        #[test]
        fn the_patch_of_a_difference_makes_it(a in object(), b in object()) {
            prop_assert_eq!(&lazily(&a, &diff(&a, &b)), &b);
            prop_assert_eq!(&untyped(&a, &diff(&a, &b)), &b);
        }
    }
}
