//! What Flux makes of a repository: its Kustomizations found, each built as kustomize-controller
//! builds it.

mod artifact;
mod glob;
mod ignore;
mod kustomization;
mod substitute;

pub use artifact::Artifact;
pub use kustomization::{GROUP, Kustomization, Name, PostBuild, SourceRef, SubstituteFrom};
pub use substitute::{SWITCH as SUBSTITUTE_SWITCH, Substituted, Variables, is_switched_off};
