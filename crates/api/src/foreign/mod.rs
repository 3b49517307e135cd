//! Typed views of kinds that belong to others. Each names the fields that Holdfast reads or writes
//! and keeps all others in `extra`, so that reading an object and writing it back drops nothing.

pub mod flux;
pub mod helm;
pub mod kopiur;
pub mod snapshot;
pub mod volsync;

use std::collections::BTreeMap;

use serde_json::Value;

/// The fields that a view does not name.
pub type Extra = BTreeMap<String, Value>;
