//! Fields laid over an object without anybody owning them: what mutating policies do.

use serde_json::Value;

use super::fieldset::PathElement;
use super::types::{Meaning, Type};
use super::{merge, validate};
use crate::schema::Node;

/// The object with a configuration merged into it by its schema. Managed fields stay as they are.
///
/// A configuration may not contain lists, maps or objects that are replaced as a whole: its author would lose
/// what it does not mention. The error is the API server's text.
pub fn overlay(shape: Node<'_>, object: &Value, config: &Value) -> Result<Value, String> {
    let ty = Type::root(shape);
    let wrong = validate::type_errors(ty, config, false);
    if !wrong.is_empty() {
        let why = validate::joined(&wrong);
        return Err(format!("failed to convert patch object to typed object: {why}"));
    }
    let mut atomic = Vec::new();
    find_atomic(ty, config, &mut String::new(), &mut atomic);
    if !atomic.is_empty() {
        return Err(format!(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {}",
            atomic.join(", ")
        ));
    }
    let wrong = validate::type_errors(ty, object, true);
    if !wrong.is_empty() {
        let why = validate::joined(&wrong);
        return Err(format!("failed to convert original object to typed object: {why}"));
    }
    Ok(merge::merge(ty, object, config))
}

/// Collects the paths of values that have no parts of their own. Values of plain maps are not looked into.
fn find_atomic(ty: Type<'_>, value: &Value, path: &mut String, found: &mut Vec<String>) {
    let length = path.len();
    match (ty.atom().fit(Some(value)).meaning(), value) {
        (Meaning::Map(map), Value::Object(fields)) => {
            if map.atomic {
                found.push(path.clone());
            }
            for (name, value) in fields {
                if let Some(of) = map.field(name) {
                    path.push_str(&PathElement::field(name.as_str()).to_string());
                    find_atomic(of, value, path, found);
                    path.truncate(length);
                }
            }
        }
        (Meaning::List(list), Value::Array(items)) => {
            if !list.associative {
                found.push(path.clone());
            }
            for (index, item) in items.iter().enumerate() {
                path.push_str(
                    &PathElement::Index(i64::try_from(index).unwrap_or(i64::MAX)).to_string(),
                );
                find_atomic(list.element, item, path, found);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::builtin;

    fn over(definition: &str, object: &Value, config: &Value) -> Result<Value, String> {
        overlay(builtin::definitions().get(definition).unwrap(), object, config)
    }

    #[test]
    fn maps_and_keyed_lists_are_merged() {
        let pod = json!({ "spec": {
            "containers": [{ "name": "a", "image": "a:1" }, { "name": "b", "image": "b:1" }],
        }, "metadata": { "labels": { "x": "1" } } });
        let config = json!({ "spec": {
            "containers": [{ "name": "b", "env": [{ "name": "E", "value": "1" }] }],
        }, "metadata": { "labels": { "y": "2" } } });
        let merged = over("io.k8s.api.core.v1.Pod", &pod, &config).unwrap();
        assert_eq!(
            merged,
            json!({ "spec": { "containers": [
                { "name": "a", "image": "a:1" },
                { "name": "b", "image": "b:1", "env": [{ "name": "E", "value": "1" }] },
            ] }, "metadata": { "labels": { "x": "1", "y": "2" } } })
        );
    }

    #[test]
    fn what_would_be_replaced_as_a_whole_is_refused() {
        let map = "io.k8s.api.core.v1.ConfigMap";
        let pod = "io.k8s.api.core.v1.Pod";
        let owner = json!({ "uid": "u", "name": "n", "kind": "K", "apiVersion": "v1" });
        for (of, config, expected) in [
            (
                map,
                json!({ "metadata": { "ownerReferences": [owner] } }),
                "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .metadata.ownerReferences[0]",
            ),
            (
                map,
                json!({ "bogus": "x" }),
                "failed to convert patch object to typed object: .bogus: field not declared in schema",
            ),
            (
                map,
                json!({ "data": { "a": 5 } }),
                "failed to convert patch object to typed object: .data.a: expected string, got &value.valueUnstructured{Value:5}",
            ),
            (
                map,
                json!({ "immutable": 1 }),
                "failed to convert patch object to typed object: .immutable: expected boolean, got &{1}",
            ),
            (
                pod,
                json!({ "spec": { "containers": [{ "name": "a", "args": ["x"] }] } }),
                "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.containers[0].args",
            ),
        ] {
            assert_eq!(over(of, &json!({}), &config).unwrap_err(), expected);
        }
    }
}
