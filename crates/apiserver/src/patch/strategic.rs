//! Strategic merge patches: lists merge by key, and directives say what a plain merge cannot.

use serde_json::{Map, Value};

use super::order::{self, Partition};
use super::rejected;
use crate::status::Failure;
use crate::wire::table::{Struct, Type, table};
use crate::wire::text::{quote, shown};

type Object = Map<String, Value>;
type List = Vec<Value>;

const DIRECTIVE: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const DELETE: &str = "$deleteFromPrimitiveList";
const ORDER: &str = "$setElementOrder";

/// What a live object becomes by a patch. The patch keeps what it says, without the directives that were followed:
/// that is how errors about the result print it.
pub(super) fn merge(
    of: &'static Struct,
    live: Object,
    patch: &mut Object,
) -> Result<Object, Failure> {
    merge_map(live, patch, Shape::Struct(of))
}

/// The Go type that a value merges by.
#[derive(Clone, Copy)]
enum Shape {
    Struct(&'static Struct),
    Type(&'static Type),
}

/// How a field merges.
struct Rule {
    shape: Shape,
    strategy: &'static str,
    key: &'static str,
}

fn plain(message: impl Into<String>) -> Failure {
    Failure::internal_plain(message)
}

fn bad_order() -> Failure {
    Failure::bad_request("invalid patch format of setElementOrder list")
}

fn bad_retain() -> Failure {
    Failure::bad_request("invalid patch format of retainKeys")
}

pub(super) fn no_merge_key(map: &Value, key: &str) -> Failure {
    plain(format!("map: {} does not contain declared merge key: {key}", shown(map)))
}

impl Shape {
    fn settled(self) -> Self {
        match self {
            Self::Type(ty) => match ty.pointed().underlying() {
                Type::Struct(at) => table().at(*at).map_or(self, Self::Struct),
                other => Self::Type(other),
            },
            Self::Struct(_) => self,
        }
    }

    /// The rule of a field whose values are objects.
    fn object(self, name: &str) -> Result<Rule, Failure> {
        let of = match self.settled() {
            Self::Struct(of) => of,
            Self::Type(Type::Special(special)) => {
                let name_of = special.go_name().rsplit('.').next().unwrap_or_default();
                return Err(unknown(name_of, name));
            }
            Self::Type(other) => {
                return Err(plain(format!(
                    "merging an object in json but data type is not struct, instead is: {}",
                    other.go_kind()
                )));
            }
        };
        let field = of.field(name).ok_or_else(|| unknown(of.name(), name))?;
        let strategy = field.strategies.iter().find(|s| &***s != "retainKeys").map_or("", |s| &**s);
        Ok(Rule { shape: Self::Type(&field.ty), strategy, key: &field.merge_key })
    }

    /// The rule of a field whose values are lists; its shape is that of an item.
    fn list(self, name: &str) -> Result<Rule, Failure> {
        let rule = self.object(name)?;
        match rule.shape.settled() {
            Self::Type(Type::List(of)) => Ok(Rule { shape: Self::Type(of), ..rule }),
            // Go names the kind of what the field is in.
            _ => Err(plain("expected slice or array type, but got: struct")),
        }
    }
}

fn unknown(of: &str, field: &str) -> Failure {
    plain(format!("unable to find api field in struct {of} for the json field {}", quote(field)))
}

fn merge_map(mut live: Object, patch: &mut Object, shape: Shape) -> Result<Object, Failure> {
    match patch.get(DIRECTIVE) {
        None => {}
        Some(Value::String(word)) if word == "replace" => {
            patch.remove(DIRECTIVE);
            return Ok(patch.clone());
        }
        Some(Value::String(word)) if word == "delete" => return Ok(Map::new()),
        Some(other) => return Err(bad_directive(other, patch)),
    }
    retain_keys(&mut live, patch)?;
    ordered_lists(&mut live, patch, shape)?;
    for key in patch.keys().cloned().collect::<Vec<_>>() {
        let deletes = key.starts_with(DELETE);
        let name = if deletes {
            key.split_once('/')
                .filter(|(prefix, _)| *prefix == DELETE)
                .map(|(_, name)| name)
                .ok_or_else(|| Failure::bad_request("invalid patch format of primitive list"))?
        } else {
            &key
        };
        let Some(value) = patch.get_mut(&key) else { continue };
        if value.is_null() {
            live.remove(name);
            continue;
        }
        let current = live.get_mut(name).map(Value::take);
        let merged = match (current, &mut *value) {
            (None, _) if deletes => continue,
            (Some(Value::Object(current)), Value::Object(patch)) => {
                let rule = shape.object(name)?;
                Some(Value::Object(if rule.strategy == "replace" {
                    patch.clone()
                } else {
                    merge_map(current, patch, rule.shape)?
                }))
            }
            (Some(Value::Array(current)), Value::Array(patch)) => {
                let rule = shape.list(name)?;
                Some(Value::Array(if rule.strategy == "merge" || deletes {
                    merge_list(current, patch, &rule, deletes)?
                } else {
                    patch.clone()
                }))
            }
            (Some(current), _) if deletes => Some(current),
            (_, value) => {
                discard_nulls(value);
                without_directives(value)
            }
        };
        match merged {
            Some(merged) => live.insert(name.to_owned(), merged),
            None => live.remove(name),
        };
    }
    Ok(live)
}

fn bad_directive(word: &Value, patch: &Object) -> Failure {
    let patch = Value::Object(patch.clone());
    let word = match word {
        Value::String(word) => word.clone(),
        other => format!("%!s({}={})", go_type(other), shown(other)),
    };
    plain(format!("unknown patch type: {word} in map: {}", shown(&patch)))
}

fn retain_keys(live: &mut Object, patch: &mut Object) -> Result<(), Failure> {
    let Some(keys) = patch.remove(RETAIN) else { return Ok(()) };
    let Value::Array(keys) = keys else { return Err(bad_retain()) };
    let kept = |key: &str| keys.iter().any(|k| k.as_str() == Some(key));
    for (key, value) in patch.iter() {
        let directive = key.starts_with(DELETE) || key.starts_with(ORDER);
        if !value.is_null() && !directive && !kept(key) {
            return Err(bad_retain());
        }
    }
    live.retain(|key, _| kept(key));
    Ok(())
}

/// Merges the lists whose order the patch sets, and takes them out of the patch.
fn ordered_lists(live: &mut Object, patch: &mut Object, shape: Shape) -> Result<(), Failure> {
    let directives: Vec<String> =
        patch.keys().filter(|key| key.starts_with(ORDER)).cloned().collect();
    for directive in directives {
        let Some(wanted) = patch.remove(&directive) else { continue };
        let Value::Array(wanted) = wanted else { return Err(bad_type(&wanted)) };
        let name = directive
            .split_once('/')
            .filter(|(prefix, _)| *prefix == ORDER)
            .map(|(_, name)| name)
            .ok_or_else(bad_order)?;
        let current = as_list(live.get(name))?;
        let sent = as_list(patch.get(name))?;
        let rule = shape.list(name)?;
        check_order(sent.as_deref().unwrap_or_default(), &wanted, rule.key)?;
        let merged = match (current.clone(), sent) {
            (None, None) => continue,
            (Some(current), None) => current,
            (None, Some(sent)) => match without_directives(&Value::Array(sent)) {
                Some(Value::Array(sent)) => sent,
                _ => continue,
            },
            (Some(current), Some(mut sent)) => {
                if rule.strategy == "merge" {
                    merge_list(current, &mut sent, &rule, false)?
                } else {
                    sent
                }
            }
        };
        let current = current.unwrap_or_default();
        let sent = as_list(patch.get(name))?.unwrap_or_default();
        let maps = element_type(&[&current, &sent])? == Some("map[string]interface {}");
        let parts = Partition::by(merged, &wanted, rule.key)?;
        let ordered = parts.ordered(&wanted, &current, rule.key, maps)?;
        live.insert(name.to_owned(), Value::Array(ordered));
        patch.remove(name);
    }
    Ok(())
}

fn as_list(value: Option<&Value>) -> Result<Option<List>, Failure> {
    match value {
        None => Ok(None),
        Some(Value::Array(list)) => Ok(Some(list.clone())),
        Some(other) => Err(bad_type(other)),
    }
}

fn bad_type(value: &Value) -> Failure {
    plain(format!("expected a []interface {{}}, but received a {}", go_type(value)))
}

/// Whether a list comes in the order that is wanted; its deletions do not count.
fn check_order(sent: &[Value], wanted: &[Value], key: &str) -> Result<(), Failure> {
    if sent.is_empty() || wanted.is_empty() {
        return Ok(());
    }
    let mut left = sent.iter().filter(|item| item.get(DIRECTIVE).is_none()).peekable();
    for wanted in wanted {
        let Some(next) = left.peek() else { return Ok(()) };
        if order::same_key(next, wanted, key)? {
            left.next();
        }
    }
    if left.peek().is_none() {
        return Ok(());
    }
    let (sent, wanted) = (Value::from(sent.to_vec()), Value::from(wanted.to_vec()));
    Err(plain(format!(
        "The order in patch list:\n{}\n doesn't match {ORDER} list:\n{}\n",
        shown(&sent),
        shown(&wanted)
    )))
}

fn merge_list(live: List, patch: &mut List, rule: &Rule, deletes: bool) -> Result<List, Failure> {
    if live.is_empty() && patch.is_empty() {
        return Ok(live);
    }
    let maps = element_type(&[&live, patch])? == Some("map[string]interface {}");
    if !maps {
        if deletes {
            return Ok(live.into_iter().filter(|item| !patch.contains(item)).collect());
        }
        let mut merged: List = Vec::new();
        for item in live.iter().chain(patch.iter()) {
            if !merged.contains(item) {
                merged.push(item.clone());
            }
        }
        return Partition::by(merged, patch, "")?.ordered(patch, &live, "", false);
    }
    if rule.key.is_empty() {
        let name = match rule.shape.settled() {
            Shape::Struct(_) => "struct",
            Shape::Type(ty) => ty.go_kind(),
        };
        return Err(plain(format!("cannot merge lists without merge key for {name}")));
    }
    let (live, mut sent) = special_items(live, patch, rule.key)?;
    let mut merged = live.clone();
    for item in &mut sent {
        let key = item.get(rule.key).cloned().ok_or_else(|| no_merge_key(item, rule.key))?;
        let found = merged.iter().position(|one| one.get(rule.key) == Some(&key));
        match (found.and_then(|at| merged.get_mut(at)), item) {
            (Some(slot), Value::Object(patch)) => {
                let Value::Object(current) = slot.take() else { continue };
                *slot = Value::Object(merge_map(current, patch, rule.shape)?);
            }
            (_, item) => merged.push(item.clone()),
        }
    }
    Partition::by(merged, &sent, rule.key)?.ordered(&sent, &live, rule.key, true)
}

/// Follows the items that are directives: the live list they leave, and the items that are left to merge.
fn special_items(mut live: List, patch: &[Value], key: &str) -> Result<(List, List), Failure> {
    let mut rest = Vec::new();
    let mut replace = false;
    for item in patch {
        let Some(directive) = item.get(DIRECTIVE) else {
            rest.push(item.clone());
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                let wanted = item.get(key).ok_or_else(|| no_merge_key(item, key))?;
                live.retain(|one| one.get(key) != Some(wanted));
            }
            Some("replace") => replace = true,
            Some("merge") => {
                return Err(plain("merging lists cannot yet be specified in the patch"));
            }
            _ => {
                let empty = Map::new();
                return Err(bad_directive(directive, item.as_object().unwrap_or(&empty)));
            }
        }
    }
    Ok(if replace { (rest, Vec::new()) } else { (live, rest) })
}

/// The Go type of all items of some lists; none if there are none.
fn element_type(lists: &[&[Value]]) -> Result<Option<&'static str>, Failure> {
    let mut found = None;
    for item in lists.iter().flat_map(|list| list.iter()) {
        let ty = go_type(item);
        match found {
            None if ty == "[]interface {}" => return Err(rejected()),
            None => found = Some(ty),
            Some(before) if before != ty => {
                let all =
                    Value::from(lists.iter().map(|l| Value::from(l.to_vec())).collect::<List>());
                return Err(plain(format!(
                    "list element types are not identical: {}",
                    shown(&all)
                )));
            }
            Some(_) => {}
        }
    }
    Ok(found)
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// Nulls of a value that is new say nothing.
fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(discard_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

/// A new value without the parts that are directives; nothing if it is one itself.
fn without_directives(value: &Value) -> Option<Value> {
    match value {
        Value::Object(map) if map.contains_key(DIRECTIVE) => None,
        Value::Object(map) => Some(Value::Object(
            map.iter()
                .filter_map(|(key, value)| Some((key.clone(), without_directives(value)?)))
                .collect(),
        )),
        Value::Array(list) => Some(list.iter().filter_map(without_directives).collect()),
        other => Some(other.clone()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn patched(kind: &str, version: &str, live: &Value, patch: &Value) -> Result<Value, Failure> {
        let of = table().kind(version, kind).unwrap();
        let mut patch = patch.as_object().unwrap().clone();
        merge(of, live.as_object().unwrap().clone(), &mut patch).map(Value::Object)
    }

    fn ports(patch: &Value) -> Value {
        let live =
            json!({"spec": {"ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]}});
        let patch = json!({"spec": patch});
        patched("Service", "v1", &live, &patch).unwrap()["spec"]["ports"].take()
    }

    #[test]
    fn lists_merge_by_key() {
        for (patch, expected) in [
            (
                json!({"ports": [{"port": 81, "name": "c"}]}),
                json!([{"port": 80, "name": "a"}, {"port": 81, "name": "c"}]),
            ),
            // New items go in front.
            (
                json!({"ports": [{"port": 82}]}),
                json!([{"port": 82}, {"port": 80, "name": "a"}, {"port": 81, "name": "b"}]),
            ),
            (
                json!({"ports": [{"port": 80, "$patch": "delete"}]}),
                json!([{"port": 81, "name": "b"}]),
            ),
            (json!({"ports": [{"port": 9}, {"$patch": "replace"}]}), json!([{"port": 9}])),
            (
                json!({"ports": [{"port": 80, "name": null}]}),
                json!([{"port": 80}, {"port": 81, "name": "b"}]),
            ),
            (
                json!({"$setElementOrder/ports": [{"port": 81}, {"port": 80}]}),
                json!([{"port": 81, "name": "b"}, {"port": 80, "name": "a"}]),
            ),
            (
                json!({"$setElementOrder/ports": [{"port": 80}, {"port": 82}, {"port": 81}], "ports": [{"port": 82}]}),
                json!([{"port": 80, "name": "a"}, {"port": 82}, {"port": 81, "name": "b"}]),
            ),
            (
                json!({"$setElementOrder/ports": [{"port": 81}], "ports": [{"port": 80, "$patch": "delete"}]}),
                json!([{"port": 81, "name": "b"}]),
            ),
            (json!({"ports": null}), Value::Null),
            (json!({"ports": []}), json!([{"port": 80, "name": "a"}, {"port": 81, "name": "b"}])),
        ] {
            assert_eq!(ports(&patch), expected, "{patch}");
        }
    }

    #[test]
    fn directives_on_objects_and_scalars() {
        let live = json!({"metadata": {"finalizers": ["a/b", "c/d"], "labels": {"x": "1"}},
            "spec": {"selector": {"a": "1", "b": "2"}, "type": "ClusterIP"}});
        for (patch, pointer, expected) in [
            (
                json!({"spec": {"selector": {"$patch": "replace", "c": "3"}}}),
                "/spec/selector",
                json!({"c": "3"}),
            ),
            (json!({"spec": {"selector": {"$patch": "delete"}}}), "/spec/selector", json!({})),
            (
                json!({"spec": {"$retainKeys": ["selector"], "selector": {"c": "3"}}}),
                "/spec",
                json!({"selector": {"a": "1", "b": "2", "c": "3"}}),
            ),
            (
                json!({"metadata": {"finalizers": ["e/f"]}}),
                "/metadata/finalizers",
                json!(["e/f", "a/b", "c/d"]),
            ),
            (
                json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/b"]}}),
                "/metadata/finalizers",
                json!(["c/d"]),
            ),
            (
                json!({"metadata": {"labels": null}}),
                "/metadata",
                json!({"finalizers": ["a/b", "c/d"]}),
            ),
            (
                json!({"spec": {"new": {"$patch": "replace", "x": 1}, "other": {"y": null}}}),
                "/spec",
                json!({"selector": {"a": "1", "b": "2"}, "type": "ClusterIP", "other": {}}),
            ),
        ] {
            let result = patched("Service", "v1", &live, &patch).unwrap();
            assert_eq!(result.pointer(pointer), Some(&expected), "{patch}");
        }
    }

    #[test]
    fn errors_are_the_servers() {
        let live =
            json!({"spec": {"ports": [{"port": 80, "name": "a"}]}, "metadata": {"name": "s"}});
        for (patch, code, message) in [
            (
                json!({"spec": {"ports": [{"name": "x"}]}}),
                500,
                "map: map[name:x] does not contain declared merge key: port",
            ),
            (
                json!({"spec": {"ports": [{"$patch": "bogus", "port": 80}]}}),
                500,
                "unknown patch type: bogus in map: map[$patch:bogus port:80]",
            ),
            (
                json!({"$patch": "bogus"}),
                500,
                "unknown patch type: bogus in map: map[$patch:bogus]",
            ),
            (
                json!({"spec": {"ports": [{"$patch": "merge", "port": 80}]}}),
                500,
                "merging lists cannot yet be specified in the patch",
            ),
            (
                json!({"spec": {"ports": [{"$patch": "delete", "name": "a"}]}}),
                500,
                "map: map[$patch:delete name:a] does not contain declared merge key: port",
            ),
            (
                json!({"spec": {"$setElementOrder/ports": 5}}),
                500,
                "expected a []interface {}, but received a int64",
            ),
            (
                json!({"spec": {"$setElementOrder/ports": [{"port": 80}], "ports": [{"port": 99}]}}),
                500,
                "The order in patch list:\n[map[port:99]]\n doesn't match $setElementOrder list:\n[map[port:80]]\n",
            ),
            (
                json!({"spec": {"$setElementOrder/ports": [{"name": "a"}], "ports": [{"port": 80}]}}),
                500,
                "map: map[name:a] does not contain declared merge key: port",
            ),
            (
                json!({"spec": {"$setElementOrder": []}}),
                400,
                "invalid patch format of setElementOrder list",
            ),
            (
                json!({"spec": {"$setElementOrder/bogus": [{"a": 1}], "bogus": [{"a": 1}]}}),
                500,
                "unable to find api field in struct ServiceSpec for the json field \"bogus\"",
            ),
            (json!({"spec": {"$retainKeys": 5}}), 400, "invalid patch format of retainKeys"),
            (
                json!({"spec": {"$retainKeys": ["type"], "ports": []}}),
                400,
                "invalid patch format of retainKeys",
            ),
            (
                json!({"metadata": {"$deleteFromPrimitiveList": ["x"]}}),
                400,
                "invalid patch format of primitive list",
            ),
            (
                json!({"spec": {"ports": [5]}}),
                500,
                "list element types are not identical: [[map[name:a port:80]] [5]]",
            ),
        ] {
            let failure = patched("Service", "v1", &live, &patch).unwrap_err();
            assert_eq!((failure.code, failure.message.as_str()), (code, message), "{patch}");
        }
    }

    #[test]
    fn containers_merge_deeply() {
        let live = json!({"spec": {"template": {"spec": {"containers": [
            {"name": "a", "image": "x", "env": [{"name": "E", "value": "1"}, {"name": "F", "value": "2"}]},
            {"name": "b", "image": "y"}]}}}});
        let patch = json!({"spec": {"template": {"spec": {
            "$setElementOrder/containers": [{"name": "b"}, {"name": "a"}],
            "containers": [{"name": "a", "image": "z", "$setElementOrder/env": [{"name": "F"}],
                "env": [{"name": "E", "$patch": "delete"}]}]}}}});
        let result = patched("Deployment", "apps/v1", &live, &patch).unwrap();
        assert_eq!(
            result["spec"]["template"]["spec"]["containers"],
            json!([{"name": "b", "image": "y"}, {"name": "a", "image": "z", "env": [{"name": "F", "value": "2"}]}])
        );
    }

    proptest! {
        #[test]
        fn without_directives_maps_merge_like_a_merge_patch(
            a in prop::collection::btree_map("[a-d]", "[x-z]{0,2}", 0..4),
            b in prop::collection::btree_map("[a-d]", prop::option::of("[x-z]{0,2}"), 0..4),
        ) {
            let live = json!({"metadata": {"labels": a}});
            let patch = json!({"metadata": {"labels": b}});
            let result = patched("ConfigMap", "v1", &live, &patch).unwrap();
            prop_assert_eq!(result, crate::patch::merge(&live, &patch));
        }
    }
}
