//! Text to objects and back: YAML documents edited without touching another byte, kustomize, and
//! Flux's build. No cluster, no network, no async.
#![forbid(unsafe_code)]

pub mod cache;
pub mod diagnostic;
pub mod document;
pub mod files;
pub mod flux;
pub mod kustomize;
pub mod render;
pub mod version;
pub mod yaml;

pub use diagnostic::{Diagnostic, Result};
