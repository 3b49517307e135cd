//! An object under a patch: the parts that were touched are taken apart, the others stay as they are.
//!
//! Errors about a patched object print it whole, and touched parts print sorted while others keep their order.
//! Taking apart only what is touched gives that order, and spares copying large objects.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::resource::Resource;
use crate::wire::scan::{Item, Kind};
use crate::wire::table::{self, Struct, Type};
use crate::wire::text;

/// The type of a live value, for the order of its fields.
#[derive(Clone, Copy)]
pub(super) enum Order {
    Struct(&'static Struct),
    Type(&'static Type),
    Sorted,
}

impl Order {
    pub fn of(resource: &Resource) -> Self {
        table::of(resource).map_or(Self::Sorted, Self::Struct)
    }

    fn settled(self) -> Self {
        match self {
            Self::Type(ty) => match ty.pointed().underlying() {
                Type::Struct(at) => table::table().at(*at).map_or(Self::Sorted, Self::Struct),
                other => Self::Type(other),
            },
            other => other,
        }
    }

    fn field(self, key: &str) -> Self {
        match self.settled() {
            Self::Struct(of) => of.field(key).map_or(Self::Sorted, |field| Self::Type(&field.ty)),
            Self::Type(Type::Map(_, of)) => Self::Type(of),
            _ => Self::Sorted,
        }
    }

    fn item(self) -> Self {
        match self.settled() {
            Self::Type(Type::List(of)) => Self::Type(of),
            _ => Self::Sorted,
        }
    }
}

/// A value; absent means null.
pub(super) type Slot<'a> = Option<Lazy<'a>>;

#[derive(Clone)]
pub(super) enum Lazy<'a> {
    /// As it lives.
    Live(&'a Value, Order),
    /// As it was sent.
    Sent(Item<'a>),
    /// An object taken apart.
    Doc(BTreeMap<String, Slot<'a>>),
    /// A list taken apart.
    List(Vec<Slot<'a>>),
}

fn live(value: &Value, order: Order) -> Slot<'_> {
    (!value.is_null()).then_some(Lazy::Live(value, order))
}

pub(super) fn sent(item: Item<'_>) -> Slot<'_> {
    (item.kind() != Kind::Null).then_some(Lazy::Sent(item))
}

impl<'a> Lazy<'a> {
    pub fn is_list(&self) -> bool {
        match self {
            Self::Live(value, _) => value.is_array(),
            Self::Sent(item) => item.kind() == Kind::Array,
            Self::List(_) => true,
            Self::Doc(_) => false,
        }
    }

    /// The fields, if it is an object.
    pub fn doc(&mut self) -> Option<&mut BTreeMap<String, Slot<'a>>> {
        match self {
            Self::Live(Value::Object(map), order) => {
                let fields = map.iter().map(|(k, v)| (k.clone(), live(v, order.field(k))));
                *self = Self::Doc(fields.collect());
            }
            Self::Sent(item) if item.kind() == Kind::Object => {
                let fields = item.entries().map(|(k, v)| (k.into_owned(), sent(v)));
                *self = Self::Doc(fields.collect());
            }
            _ => {}
        }
        match self {
            Self::Doc(fields) => Some(fields),
            _ => None,
        }
    }

    /// The items, if it is a list.
    pub fn list(&mut self) -> Option<&mut Vec<Slot<'a>>> {
        match self {
            Self::Live(Value::Array(list), order) => {
                let order = order.item();
                *self = Self::List(list.iter().map(|v| live(v, order)).collect());
            }
            Self::Sent(item) if item.kind() == Kind::Array => {
                *self = Self::List(item.items().map(sent).collect());
            }
            _ => {}
        }
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }

    /// Whether two values are the same; numbers as they are written.
    pub fn same(&mut self, other: &mut Self) -> bool {
        if let Some(mine) = self.doc() {
            let Some(theirs) = other.doc() else { return false };
            return mine.len() == theirs.len()
                && mine.iter_mut().all(|(key, mine)| {
                    theirs.get_mut(key).is_some_and(|theirs| same(mine, theirs))
                });
        }
        if let Some(mine) = self.list() {
            let Some(theirs) = other.list() else { return false };
            return mine.len() == theirs.len()
                && mine.iter_mut().zip(theirs).all(|(mine, theirs)| same(mine, theirs));
        }
        self.text() == other.text()
    }

    pub fn text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Live(value, order) => match order {
                Order::Struct(of) => text::write_object(out, value, Some(of)),
                Order::Type(ty) => text::write_typed(out, value, ty),
                Order::Sorted => text::write_value(out, value),
            },
            Self::Sent(item) => write_sent(out, *item),
            Self::Doc(fields) => {
                out.push('{');
                for (i, (key, value)) in fields.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    text::write_string(out, key);
                    out.push(':');
                    write(out, value.as_ref());
                }
                out.push('}');
            }
            Self::List(list) => {
                out.push('[');
                for (i, value) in list.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    write(out, value.as_ref());
                }
                out.push(']');
            }
        }
    }

    /// The value as a tree.
    pub fn value(self) -> Value {
        match self {
            Self::Live(value, _) => value.clone(),
            Self::Sent(item) => item.value().unwrap_or_default(),
            Self::Doc(fields) => Value::Object(
                fields
                    .into_iter()
                    .map(|(k, v)| (k, v.map_or(Value::Null, Lazy::value)))
                    .collect::<Map<_, _>>(),
            ),
            Self::List(list) => {
                Value::Array(list.into_iter().map(|v| v.map_or(Value::Null, Lazy::value)).collect())
            }
        }
    }
}

fn write(out: &mut String, slot: Option<&Lazy<'_>>) {
    match slot {
        Some(value) => value.write(out),
        None => out.push_str("null"),
    }
}

/// A sent value without its white space, in its own order.
fn write_sent(out: &mut String, item: Item<'_>) {
    match item.kind() {
        Kind::Text => text::write_string(out, &item.text()),
        Kind::Array => {
            out.push('[');
            for (i, item) in item.items().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_sent(out, item);
            }
            out.push(']');
        }
        Kind::Object => {
            out.push('{');
            for (i, (key, item)) in item.entries().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                text::write_string(out, &key);
                out.push(':');
                write_sent(out, item);
            }
            out.push('}');
        }
        Kind::Null | Kind::Bool | Kind::Number => out.push_str(item.literal()),
    }
}

pub(super) fn same<'a>(mine: &mut Slot<'a>, theirs: &mut Slot<'a>) -> bool {
    match (mine, theirs) {
        (None, None) => true,
        (Some(mine), Some(theirs)) => mine.same(theirs),
        _ => false,
    }
}
