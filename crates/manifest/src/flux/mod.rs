//! What Flux makes of a repository: its Kustomizations found, each built as kustomize-controller
//! builds it.

mod artifact;
mod base64;
mod build;
mod charts;
mod discover;
mod generate;
mod glob;
mod ignore;
mod known;
mod kustomization;
mod lenient;
mod number;
mod resource_set;
mod sops;
mod substitute;

pub use artifact::Artifact;
pub use build::{BuildOptions, Built, Object, build};
pub use charts::{Charts, Release, chart_source, is_release};
pub use discover::{Applied, Applier, Cluster, Kind, Options, Outcome, Renderer};
pub use kustomization::{GROUP, Kustomization, Name, PostBuild, SourceRef, SubstituteFrom};
pub use resource_set::ResourceSet;
pub use sops::{holds_encrypted_file, is_encrypted, is_encrypted_value};
pub use substitute::{SWITCH as SUBSTITUTE_SWITCH, Substituted, Variables, is_switched_off};
