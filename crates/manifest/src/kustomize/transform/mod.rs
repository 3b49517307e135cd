//! What changes objects: one transformer per file, each of them usable from a kustomization's own
//! fields and from a configuration of its own.

pub mod annotations;
pub mod images;
pub mod labels;
pub mod namespace;
pub mod prefix;
pub mod replicas;
pub mod settings;
pub mod suffix;
