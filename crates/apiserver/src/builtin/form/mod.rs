//! The forms that built-in objects take inside the API server.
//!
//! The server reads JSON into typed structs and writes it out again, so that optional fields with an
//! empty value vanish, others appear with their zero value, and amounts are written in one way. Some
//! error messages show such a struct, in the order of its declaration: the public one, or the internal
//! one with its own field names. The tables list the fields of both, for Kubernetes 1.36.3.

mod diff;
mod print;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};

pub use diff::unified;
pub use print::{internal, internal_pretty, public, quoted};

use crate::quantity::Quantity;

/// What a field holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Holds {
    Text,
    Flag,
    Number,
    Quantity,
    IntOrText,
    Time,
    Bytes,
    /// JSON as it is.
    Raw,
    /// A value that may be absent.
    Maybe(Box<Holds>),
    List(Box<Holds>),
    Map(Box<Holds>),
    /// Another struct, by name.
    Struct(&'static str),
}

/// One field of a struct.
#[derive(Debug, Clone)]
pub(super) struct Field {
    /// Name inside the server (equal to `json` in public forms).
    pub name: &'static str,
    /// Name on the wire. A leading `^` means a field of the struct around this one.
    pub json: &'static str,
    pub holds: Holds,
    /// Written even if empty.
    pub always: bool,
}

struct Tables {
    kinds: BTreeMap<(&'static str, &'static str), &'static str>,
    public: BTreeMap<&'static str, Vec<Field>>,
    internal: BTreeMap<&'static str, Vec<Field>>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let mut kinds = BTreeMap::new();
    let mut public = BTreeMap::new();
    for line in include_str!("public.txt").lines() {
        let mut words = line.split(' ');
        match words.next() {
            Some("=") => {
                if let (Some(version), Some(kind), Some(name)) =
                    (words.next(), words.next(), words.next())
                {
                    kinds.insert((version, kind), name);
                }
            }
            Some(name) => {
                public.insert(name, words.filter_map(public_field).collect());
            }
            None => {}
        }
    }
    let mut internal = BTreeMap::new();
    for line in include_str!("internal.txt").lines() {
        let mut words = line.split(' ');
        if let Some(name) = words.next() {
            internal.insert(name, words.filter_map(internal_field).collect());
        }
    }
    Tables { kinds, public, internal }
});

fn public_field(word: &'static str) -> Option<Field> {
    let (name, holds) = word.split_once(':')?;
    let holds = read_holds(holds)?;
    let always = name.ends_with('!');
    // A struct that is not behind a pointer is written even if it is empty, unless it says otherwise.
    let structure = matches!(
        holds,
        Holds::Struct(_) | Holds::Quantity | Holds::IntOrText | Holds::Time | Holds::Raw
    );
    let always = always || (structure && !name.ends_with('?'));
    let json = name.trim_end_matches(['!', '?']);
    Some(Field { name: json, json, holds, always })
}

fn internal_field(word: &'static str) -> Option<Field> {
    let (names, holds) = word.split_once(':')?;
    let (name, json) = names.split_once('=')?;
    Some(Field { name, json, holds: read_holds(holds)?, always: true })
}

fn read_holds(word: &'static str) -> Option<Holds> {
    let inner = |rest: &'static str| read_holds(rest).map(Box::new);
    Some(match word {
        "s" => Holds::Text,
        "b" => Holds::Flag,
        "i" | "f" => Holds::Number,
        "Q" => Holds::Quantity,
        "N" => Holds::IntOrText,
        "T" => Holds::Time,
        "y" => Holds::Bytes,
        "R" => Holds::Raw,
        _ => match word.split_at_checked(1)? {
            ("*", rest) => Holds::Maybe(inner(rest)?),
            ("[", rest) => Holds::List(inner(rest)?),
            ("{", rest) => Holds::Map(inner(rest)?),
            ("@", name) => Holds::Struct(name),
            _ => return None,
        },
    })
}

pub(super) fn public_fields(name: &str) -> &'static [Field] {
    TABLES.public.get(name).map(Vec::as_slice).unwrap_or_default()
}

pub(super) fn internal_fields(name: &str) -> Option<&'static [Field]> {
    TABLES.internal.get(name).map(Vec::as_slice)
}

/// Writes an object as the server would after reading it. Kinds without a table are left alone.
///
/// ```
/// let mut pod = serde_json::json!({"spec": {"containers": [{"env": [], "resources": {"limits": {"cpu": "0.5"}}}]}});
/// holdfast_apiserver::builtin::form::settle("v1", "Pod", &mut pod);
/// assert_eq!(pod["spec"]["containers"][0]["resources"]["limits"]["cpu"], "500m");
/// assert!(pod["spec"]["containers"][0].get("env").is_none());
/// ```
pub fn settle(api_version: &str, kind: &str, object: &mut Value) {
    if let Some(name) = TABLES.kinds.get(&(api_version, kind)) {
        settle_struct(name, object, true);
    }
}

/// An object of which nothing is said, if its kind has a table.
pub fn empty(api_version: &str, kind: &str) -> Option<Value> {
    let name = TABLES.kinds.get(&(api_version, kind))?;
    let mut object = Value::Object(Map::new());
    settle_struct(name, &mut object, true);
    Some(object)
}

/// Like [`settle`] for a part of an object, by the name of its struct (`core/v1.PodSpec`).
pub fn settle_part(name: &str, value: &mut Value) {
    settle_struct(name, value, false);
}

fn settle_struct(name: &str, value: &mut Value, object: bool) {
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    let Value::Object(map) = value else { return };
    let fields = public_fields(name);
    // Only objects carry their type, and only the outermost may lack it here.
    map.retain(|key, _| {
        fields.iter().any(|f| f.json == key)
            || (object && matches!(key.as_str(), "apiVersion" | "kind"))
    });
    for field in fields {
        if object && matches!(field.json, "apiVersion" | "kind") {
            continue;
        }
        let kept = match map.get_mut(field.json) {
            Some(value) => settle_value(&field.holds, value),
            None => false,
        };
        let said = map.get(field.json).is_some_and(|value| !value.is_null());
        if kept || (field.always && said) {
            continue;
        }
        if field.always {
            let mut empty = zero(&field.holds);
            settle_value(&field.holds, &mut empty);
            map.insert(field.json.to_owned(), empty);
        } else {
            map.remove(field.json);
        }
    }
}

/// Settles a value; says whether there is anything worth keeping in an optional field.
fn settle_value(holds: &Holds, value: &mut Value) -> bool {
    match holds {
        Holds::Maybe(inner) => {
            if value.is_null() {
                return false;
            }
            settle_value(inner, value);
            true
        }
        Holds::Struct(name) => {
            settle_struct(name, value, false);
            true
        }
        Holds::List(inner) => {
            let Value::Array(items) = value else { return false };
            for item in items.iter_mut() {
                if item.is_null() {
                    *item = zero(inner);
                }
                settle_value(inner, item);
            }
            !items.is_empty()
        }
        Holds::Map(inner) => {
            let Value::Object(items) = value else { return false };
            for item in items.values_mut() {
                if item.is_null() {
                    *item = zero(inner);
                }
                settle_value(inner, item);
            }
            !items.is_empty()
        }
        Holds::Quantity => {
            match Quantity::read(value) {
                Some(quantity) => *value = Value::from(quantity.to_string()),
                None => *value = Value::from("0"),
            }
            true
        }
        Holds::Text | Holds::Bytes => value.as_str().is_some_and(|s| !s.is_empty()),
        Holds::Flag => value.as_bool().unwrap_or_default(),
        Holds::Number => match value.as_f64() {
            // 1.0 is an integer to the server.
            Some(number) if value.is_f64() && number.fract() == 0.0 && number.abs() < 9e15 => {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "checked to be a small integer"
                )]
                let whole = number as i64;
                *value = Value::from(whole);
                whole != 0
            }
            Some(number) => number != 0.0,
            None => false,
        },
        Holds::IntOrText | Holds::Time | Holds::Raw => !value.is_null(),
    }
}

/// What a struct field holds when nothing was said.
fn zero(holds: &Holds) -> Value {
    match holds {
        Holds::Text => Value::from(""),
        Holds::Flag => Value::from(false),
        Holds::Number | Holds::IntOrText => Value::from(0),
        Holds::Quantity => Value::from("0"),
        Holds::Struct(_) => Value::Object(Map::new()),
        Holds::Time
        | Holds::Bytes
        | Holds::Raw
        | Holds::Maybe(_)
        | Holds::List(_)
        | Holds::Map(_) => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_named_struct_has_a_table() {
        fn named(holds: &Holds) -> Option<&'static str> {
            match holds {
                Holds::Maybe(inner) | Holds::List(inner) | Holds::Map(inner) => named(inner),
                Holds::Struct(name) => Some(name),
                _ => None,
            }
        }
        for fields in TABLES.public.values() {
            for name in fields.iter().filter_map(|f| named(&f.holds)) {
                assert!(TABLES.public.contains_key(name), "{name}");
            }
        }
        for fields in TABLES.internal.values() {
            for name in fields.iter().filter_map(|f| named(&f.holds)) {
                assert!(
                    TABLES.internal.contains_key(name) || TABLES.public.contains_key(name),
                    "{name}"
                );
            }
        }
        assert_eq!(TABLES.kinds.get(&("apps/v1", "Deployment")), Some(&"apps/v1.Deployment"));
    }

    #[test]
    fn empty_optional_fields_vanish_and_structs_appear() {
        let mut object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "unknown": 1,
            "metadata": {"name": "a", "labels": {}, "creationTimestamp": null},
            "spec": {"replicas": 0, "minReadySeconds": 0, "paused": false, "selector": {}, "template": {
                "spec": {"containers": [{"name": "c", "env": [{"name": "A", "value": ""}], "args": null}]}}}
        });
        settle("apps/v1", "Deployment", &mut object);
        assert_eq!(
            object,
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "a"},
                "spec": {"replicas": 0, "selector": {}, "strategy": {}, "template": {
                    "metadata": {}, "spec": {"containers": [{"name": "c", "env": [{"name": "A"}], "resources": {}}]}}},
                "status": {},
            })
        );
    }

    #[test]
    fn required_lists_are_null_when_absent() {
        let mut object = json!({"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "maxReplicas": 3}});
        settle("autoscaling/v2", "HorizontalPodAutoscaler", &mut object);
        assert_eq!(object["status"], json!({"desiredReplicas": 0, "currentMetrics": null}));
    }
}
