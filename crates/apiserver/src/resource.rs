//! What the server serves: one [`Resource`] per group, version and plural.

use crate::schema::Shape;

/// A resource type as discovery lists it, with what the verbs need to know about it.
#[derive(Debug, Clone)]
pub struct Resource {
    /// API group, empty for core.
    pub group: String,
    /// Version, `v1`.
    pub version: String,
    /// `Deployment`
    pub kind: String,
    /// `DeploymentList`
    pub list_kind: String,
    /// `deployments`
    pub plural: String,
    /// `deployment`
    pub singular: String,
    /// `deploy`
    pub short_names: Vec<String>,
    /// `all`
    pub categories: Vec<String>,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Verbs in discovery's order.
    pub verbs: Vec<String>,
    /// Whether `/status` exists.
    pub status: bool,
    /// Where `/scale` finds its numbers, if it exists.
    pub scale: Option<Scale>,
    /// The shape of an object.
    pub shape: Shape,
    /// Whether the kind is defined by a CustomResourceDefinition.
    pub custom: bool,
    /// Whether the server writes this version to the store.
    pub storage: bool,
}

/// Where a kind keeps what `/scale` shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scale {
    /// `.spec.replicas`
    pub spec_replicas: String,
    /// `.status.replicas`
    pub status_replicas: String,
    /// `.status.selector`: a string in custom kinds, a label selector in built-in ones.
    pub selector: Option<String>,
}

impl Resource {
    /// `apps/v1`, or `v1` for the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}
