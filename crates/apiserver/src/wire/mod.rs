//! How objects travel on the wire: JSON as Go reads and writes it, and the Go types of the built-in kinds.
//!
//! What the API server answers to a body depends on the types it decodes into: which fields it knows, which
//! empty ones it prints, what it calls a type in an error. [`table`] holds those facts for every built-in kind,
//! [`scan`] reads JSON with Go's errors, [`typed`] decodes into a type, [`convert`] does the same for an object
//! that is already a tree, [`protobuf`] reads what clients made from Go types send, and [`text`] prints.

pub(crate) mod convert;
pub(crate) mod protobuf;
pub(crate) mod scan;
pub(crate) mod table;
pub mod text;
pub(crate) mod time;
pub(crate) mod typed;
pub mod yaml;

use serde_json::Value;

use crate::resource::Resource;

/// The object as JSON in the order in which the API server prints it: the fields of built-in kinds as their types
/// declare them, everything else sorted by name.
pub fn encode(resource: &Resource, object: &Value) -> String {
    let mut out = String::new();
    text::write_object(&mut out, object, table::of(resource));
    out
}

/// The object as a built-in kind would print it after being read: unknown fields gone, empty optional ones left
/// out, required ones filled with their zero values, quantities and times in canonical form.
///
/// Values of a wrong type are left as they are: this is for objects the server made itself. Custom objects are
/// returned unchanged.
pub fn canonical(resource: &Resource, object: Value) -> Value {
    match table::of(resource) {
        Some(of) => typed::canonical(of, object),
        None => object,
    }
}
