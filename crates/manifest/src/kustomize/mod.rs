//! kustomize, natively: the same bytes and the same refusals as upstream, read from any tree of files.

mod accumulate;
mod build;
pub mod config;
pub mod field;
#[cfg(test)]
mod fixture;
mod generator;
mod iam;
mod id;
pub mod json_patch;
pub mod kustomization;
mod load;
mod memory;
pub mod merge;
mod object;
mod order;
mod origin;
mod plugin;
pub mod reference;
mod remote;
pub mod replacement;
mod resource;
mod resources;
pub mod schema;
pub mod select;
pub mod shared;
mod steps;
pub mod transform;
pub mod variable;

pub use build::{build, build_file};
pub use iam::IamPolicy;
pub use id::{DEFAULT_NAMESPACE, Gvk, NO_NAMESPACE, ResourceId};
pub use load::{Loader, Source};
pub use object::{objects, patches};
pub use plugin::run as run_plugin;
pub use remote::{Remote, RemoteFile, Repository};
pub use resource::{Behavior, Origin, PreviousName, Resource, Step, is_nothing, plain, set_text};
pub use resources::Resources;

use crate::cache::Cache;

/// Where upstream keeps where an object came from, if `buildMetadata` asks for it.
pub(crate) const ORIGIN_ANNOTATION: &str = "config.kubernetes.io/origin";

/// Which files a kustomization may read besides the folders of other kustomizations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restriction {
    /// Those in or below its own folder.
    #[default]
    RootOnly,
    /// Any below the root of the files, as in Flux's build.
    None,
}

/// How the objects are sorted in the end, if the kustomization does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reorder {
    /// Namespaces first, webhooks last: what the command does.
    #[default]
    Legacy,
    /// As they were added: what Flux does.
    None,
}

/// How to build.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// Which files may be read.
    pub restriction: Restriction,
    /// How the objects are sorted.
    pub reorder: Reorder,
    /// Files that were parsed before.
    pub cache: Option<&'a Cache>,
    /// What fetches bases and files from elsewhere; without it they are refused.
    pub remote: Option<&'a dyn Remote>,
    /// Whether each object records what changed it.
    pub explain: bool,
    /// Whether the built-in kinds stay known beside a schema that `openapi` names, as with Flux.
    pub keep_schema: bool,
}
