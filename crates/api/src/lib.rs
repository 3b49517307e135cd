//! The custom resources of Holdfast: kinds, phases, conditions and reasons, and typed views of the
//! foreign kinds that Holdfast reads. Nothing here does I/O; the definitions in `deploy/crds` are
//! generated from these types, and their doc comments are what `kubectl explain` shows.
#![forbid(unsafe_code)]

pub mod condition;
pub mod crds;
pub mod hands_off;
pub mod names;

/// The API group of every kind.
pub const GROUP: &str = "holdfast.dev";
/// The version of every kind.
pub const VERSION: &str = "v1alpha1";
