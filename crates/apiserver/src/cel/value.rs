//! Values while an expression runs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use super::error::EvalError;

/// A CEL value. Cloning is cheap: everything of size is shared.
#[derive(Debug, Clone)]
pub enum Value {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// A floating point number.
    Double(f64),
    /// A string.
    String(Arc<str>),
    /// Bytes.
    Bytes(Arc<[u8]>),
    /// A list.
    List(List),
    /// A map, or an object with declared fields.
    Map(Map),
    /// A message built by an expression (`Object{…}`, `JSONPatch{…}`).
    Struct(Arc<Struct>),
    /// A point in time.
    Timestamp(Timestamp),
    /// A length of time in nanoseconds.
    Duration(i64),
    /// A type, by name.
    Type(Arc<str>),
    /// A value that may be absent.
    Optional(Option<Arc<Value>>),
    /// Something with methods and fields of its own: a quantity, an authorizer.
    Object(Arc<dyn Object>),
}

/// A value with behaviour of its own, opaque to the language.
pub trait Object: fmt::Debug + Send + Sync {
    /// The name of its type: `kubernetes.Quantity`.
    fn type_name(&self) -> &str;

    /// A field, or none if there is no such field.
    fn field(&self, _name: &str) -> Option<Result<Value, EvalError>> {
        None
    }

    /// A method, or none if there is no such method for these arguments.
    fn call(&self, _function: &str, _arguments: &[Value]) -> Option<Result<Value, EvalError>> {
        None
    }

    /// What tells two objects of the same type apart; none if they are only equal to themselves.
    fn identity(&self) -> Option<String> {
        None
    }

    /// The object as JSON, if it has such a form.
    fn json(&self) -> Option<serde_json::Value> {
        None
    }

    /// The object as its own type, for the functions that take it as an argument.
    fn any(&self) -> Option<&dyn std::any::Any> {
        None
    }
}

/// A list and how two of its kind compare.
#[derive(Debug, Clone)]
pub struct List {
    /// The items.
    pub items: Arc<[Value]>,
    /// What the schema says about order and identity.
    pub order: Order,
}

/// How items of a list are told apart (`x-kubernetes-list-type`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// By position.
    Sequence,
    /// By value; the order means nothing.
    Set,
    /// By these keys; the order means nothing.
    Keyed(Arc<[Arc<str>]>),
}

/// Entries by key.
pub type Map = Arc<BTreeMap<Key, Value>>;

/// A message built by an expression.
#[derive(Debug, Clone)]
pub struct Struct {
    /// `Object.spec`
    pub type_name: Arc<str>,
    /// Fields that were set.
    pub fields: BTreeMap<Arc<str>, Value>,
}

/// What may be a key of a map.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// A boolean.
    Bool(bool),
    /// An integer; unsigned keys within range are stored as this too, for they compare equal.
    Int(i64),
    /// An unsigned integer beyond the signed ones.
    Uint(u64),
    /// A string.
    String(Arc<str>),
}

impl Key {
    /// The key as a value.
    pub fn value(&self) -> Value {
        match self {
            Self::Bool(b) => Value::Bool(*b),
            Self::Int(i) => Value::Int(*i),
            Self::Uint(u) => Value::Uint(*u),
            Self::String(s) => Value::String(s.clone()),
        }
    }

    /// The value as a key, if it may be one.
    pub fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Bool(b) => Self::Bool(*b),
            Value::Int(i) => Self::Int(*i),
            Value::Uint(u) => i64::try_from(*u).map_or(Self::Uint(*u), Self::Int),
            Value::String(s) => Self::String(s.clone()),
            #[expect(clippy::cast_possible_truncation, reason = "whole numbers within range only")]
            Value::Double(d) if d.fract() == 0.0 && d.abs() < 9.0e15 => Self::Int(*d as i64),
            _ => return None,
        })
    }
}

impl Value {
    /// A string.
    pub fn string(text: &str) -> Self {
        Self::String(text.into())
    }

    /// A list whose order counts.
    pub fn list(items: Vec<Self>) -> Self {
        Self::List(List { items: items.into(), order: Order::Sequence })
    }

    /// A map with string keys.
    pub fn map<K: Into<Arc<str>>>(entries: impl IntoIterator<Item = (K, Self)>) -> Self {
        Self::Map(Arc::new(
            entries.into_iter().map(|(key, value)| (Key::String(key.into()), value)).collect(),
        ))
    }

    /// A JSON value without a schema: numbers without a fraction are integers.
    pub fn of_json(json: &serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(b) => Self::Bool(*b),
            serde_json::Value::Number(n) => match (n.as_i64(), n.as_f64()) {
                (Some(i), _) => Self::Int(i),
                (None, Some(f)) => Self::Double(f),
                (None, None) => Self::Null,
            },
            serde_json::Value::String(s) => Self::string(s),
            serde_json::Value::Array(items) => {
                Self::list(items.iter().map(Self::of_json).collect())
            }
            serde_json::Value::Object(fields) => {
                Self::map(fields.iter().map(|(k, v)| (k.as_str(), Self::of_json(v))))
            }
        }
    }

    /// The value as JSON; none if it has no JSON form (a type, an authorizer).
    pub fn to_json(&self) -> Option<serde_json::Value> {
        Some(match self {
            Self::Null | Self::Optional(None) => serde_json::Value::Null,
            Self::Bool(b) => (*b).into(),
            Self::Int(i) => (*i).into(),
            Self::Uint(u) => (*u).into(),
            Self::Double(d) => serde_json::Number::from_f64(*d)?.into(),
            Self::String(s) => (&**s).into(),
            Self::Bytes(b) => {
                use base64::Engine as _;
                base64::engine::general_purpose::STANDARD.encode(b).into()
            }
            Self::List(list) => {
                list.items.iter().map(Self::to_json).collect::<Option<Vec<_>>>()?.into()
            }
            Self::Map(map) => {
                let mut fields = serde_json::Map::new();
                for (key, value) in map.iter() {
                    let Key::String(key) = key else { return None };
                    fields.insert(key.to_string(), value.to_json()?);
                }
                fields.into()
            }
            Self::Struct(message) => {
                let mut fields = serde_json::Map::new();
                for (key, value) in &message.fields {
                    fields.insert(key.to_string(), value.to_json()?);
                }
                fields.into()
            }
            Self::Timestamp(t) => t.to_string().into(),
            Self::Duration(nanos) => super::operator::duration_text(*nanos).into(),
            Self::Optional(Some(value)) => value.to_json()?,
            Self::Object(object) => return object.json(),
            Self::Type(_) => return None,
        })
    }

    /// The name of the value's type, as `type(x)` prints it.
    pub fn type_name(&self) -> &str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Struct(message) => &message.type_name,
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Type(_) => "type",
            Self::Optional(_) => "optional_type",
            Self::Object(object) => object.type_name(),
        }
    }

    /// A field of an object or an entry of a map.
    pub fn get(&self, name: &Arc<str>) -> Option<Result<Self, EvalError>> {
        match self {
            Self::Map(map) => map.get(&Key::String(name.clone())).cloned().map(Ok),
            Self::Struct(message) => message.fields.get(name).cloned().map(Ok),
            Self::Object(object) => object.field(name),
            _ => None,
        }
    }

    /// The text of a string value.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::String(a), Self::String(b)) | (Self::Type(a), Self::Type(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::Timestamp(a), Self::Timestamp(b)) => a == b,
            (Self::Duration(a), Self::Duration(b)) => a == b,
            (Self::List(a), Self::List(b)) => lists_equal(a, b),
            (Self::Map(a), Self::Map(b)) => a == b,
            (Self::Struct(a), Self::Struct(b)) => {
                a.type_name == b.type_name && a.fields == b.fields
            }
            (Self::Optional(a), Self::Optional(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => {
                Arc::ptr_eq(a, b)
                    || (a.type_name() == b.type_name()
                        && a.identity().is_some()
                        && a.identity() == b.identity())
            }
            _ => super::operator::compare(self, other) == Some(std::cmp::Ordering::Equal),
        }
    }
}

fn lists_equal(a: &List, b: &List) -> bool {
    if a.items.len() != b.items.len() {
        return false;
    }
    match &a.order {
        Order::Sequence => a.items == b.items,
        Order::Set => a.items.iter().all(|item| b.items.contains(item)),
        Order::Keyed(keys) => a
            .items
            .iter()
            .all(|item| b.items.iter().any(|other| same_keys(keys, item, other) && item == other)),
    }
}

/// Whether two items of a keyed list are the same item.
pub(super) fn same_keys(keys: &[Arc<str>], a: &Value, b: &Value) -> bool {
    keys.iter().all(|key| match (a.get(key), b.get(key)) {
        (Some(Ok(a)), Some(Ok(b))) => a == b,
        (None, None) => true,
        _ => false,
    })
}
