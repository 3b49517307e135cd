//! What changes objects: one transformer per file, each of them usable from a kustomization's own
//! fields and from a configuration of its own.

pub mod annotations;
pub mod images;
pub mod json6902;
pub mod labels;
pub mod namespace;
pub mod patches;
pub mod prefix;
pub mod replicas;
pub mod settings;
pub mod strategic;
pub mod suffix;
pub mod value;
