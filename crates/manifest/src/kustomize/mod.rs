//! kustomize, natively: the same bytes and the same refusals as upstream, read from any tree of files.

mod id;
mod resource;
mod resources;

pub use id::{Gvk, ResourceId};
pub use resource::{Behavior, Origin, Resource};
pub use resources::Resources;
