//! Reading plain objects the way the server reads its structs: what is absent has its zero value.

use serde_json::{Map, Value};

use crate::fields::{FieldError, Path};

/// The value at a dotted path (`spec.resources.requests`); null if there is none.
pub fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    let mut here = value;
    for name in path.split('.') {
        match here.get(name) {
            Some(next) => here = next,
            None => return &Value::Null,
        }
    }
    here
}

/// The text at a path, or "".
pub fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    at(value, path).as_str().unwrap_or_default()
}

/// The items at a path, or none.
pub fn items<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    at(value, path).as_array().map_or(&[], Vec::as_slice)
}

/// The whole number at a path.
pub fn number(value: &Value, path: &str) -> Option<i64> {
    let found = at(value, path);
    found.as_i64().or_else(|| {
        #[expect(clippy::cast_possible_truncation, reason = "JSON may spell a whole number as 3.0")]
        found.as_f64().filter(|f| f.fract() == 0.0).map(|f| f as i64)
    })
}

/// The boolean at a path, or false.
pub fn flag(value: &Value, path: &str) -> bool {
    at(value, path).as_bool().unwrap_or_default()
}

/// The fields at a path, sorted by name.
pub fn fields<'a>(value: &'a Value, path: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    at(value, path).as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

/// Whether the path holds something other than null.
pub fn has(value: &Value, path: &str) -> bool {
    !at(value, path).is_null()
}

/// The object at a path, made if it is absent.
pub fn object<'a>(value: &'a mut Value, path: &str) -> &'a mut Map<String, Value> {
    let mut here = value;
    for name in path.split('.').filter(|name| !name.is_empty()) {
        if !here.is_object() {
            *here = Value::Object(Map::new());
        }
        here = match here {
            Value::Object(map) => map.entry(name).or_insert(Value::Null),
            // Just made an object above.
            other => other,
        };
    }
    if !here.is_object() {
        *here = Value::Object(Map::new());
    }
    match here {
        Value::Object(map) => map,
        #[expect(clippy::unreachable, reason = "made an object two lines above")]
        _ => unreachable!(),
    }
}

/// Sets a field of the object at `path` if it is absent, null or "".
pub fn default(value: &mut Value, path: &str, name: &str, default: impl Into<Value>) {
    let map = object(value, path);
    if map.get(name).is_none_or(|v| v.is_null() || v.as_str() == Some("")) {
        map.insert(name.to_owned(), default.into());
    }
}

/// Removes the field at a dotted path and returns it.
pub fn take(value: &mut Value, path: &str) -> Option<Value> {
    match path.rsplit_once('.') {
        None => value.as_object_mut()?.remove(path),
        Some((parent, name)) => {
            let mut here = value;
            for step in parent.split('.') {
                here = here.get_mut(step)?;
            }
            here.as_object_mut()?.remove(name)
        }
    }
}

/// Makes the field at a dotted path what it is in another object, absent if it is absent there.
pub fn restore(value: &mut Value, from: &Value, path: &str) {
    match at(from, path) {
        Value::Null => drop(take(value, path)),
        found => {
            let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
            object(value, parent).insert(name.to_owned(), found.clone());
        }
    }
}

/// One error per sentence about a value.
pub fn wrong(path: &Path, value: &str, sentences: Vec<String>) -> Vec<FieldError> {
    sentences
        .into_iter()
        .map(|sentence| FieldError::invalid(path, &Value::from(value), sentence))
        .collect()
}

/// `field is immutable`, with the new value shown as JSON, unless both are the same.
pub fn immutable(path: &Path, new: &Value, old: &Value) -> Vec<FieldError> {
    if new == old { Vec::new() } else { vec![FieldError::invalid(path, new, "field is immutable")] }
}

/// An error if the text is not one of these (sorted) values.
pub fn one_of(path: &Path, value: &str, supported: &[&str]) -> Option<FieldError> {
    (!supported.contains(&value))
        .then(|| FieldError::not_supported(path, &Value::from(value), supported))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn absent_reads_as_zero() {
        let value = json!({"spec": {"a": "x", "n": 3, "l": [1], "f": true, "z": null}});
        assert_eq!((text(&value, "spec.a"), text(&value, "spec.b")), ("x", ""));
        assert_eq!((number(&value, "spec.n"), number(&value, "n")), (Some(3), None));
        assert!(flag(&value, "spec.f") && !has(&value, "spec.z") && items(&value, "x").is_empty());
    }

    #[test]
    fn defaults_and_restores() {
        let mut value = json!({"spec": {"a": ""}});
        default(&mut value, "spec", "a", "x");
        default(&mut value, "spec.deep", "b", 1);
        restore(&mut value, &json!({"spec": {"c": 2}}), "spec.c");
        restore(&mut value, &json!({}), "spec.a");
        assert_eq!(value, json!({"spec": {"deep": {"b": 1}, "c": 2}}));
    }
}
