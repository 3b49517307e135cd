//! What the server serves: one [`Resource`] per group, version and plural.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

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
    /// Name of the table in the store; versions of one kind share it, and so do both event kinds.
    pub table: Arc<str>,
    /// A constant that discovery shows for stored kinds.
    pub storage_version_hash: String,
    /// Everything below an object's own path, `status` and `scale` included.
    pub subresources: Vec<Subresource>,
    /// The CustomResourceDefinition version behind a custom kind: printer columns, selectable fields, rules.
    pub custom_kind: Option<Arc<CustomKind>>,
}

/// A subresource as discovery lists it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Subresource {
    /// `status`
    pub name: String,
    /// Kind of its body.
    pub kind: String,
    /// Its verbs.
    pub verbs: Vec<String>,
    /// Group of its body if it is not the parent's.
    #[serde(default)]
    pub group: String,
    /// Version of its body if it is not the parent's.
    #[serde(default)]
    pub version: String,
}

/// What only custom kinds have.
#[derive(Debug, Clone, Default)]
pub struct CustomKind {
    /// `additionalPrinterColumns` as written.
    pub columns: Vec<Value>,
    /// JSON paths of `selectableFields` (`.spec.color`).
    pub selectable_fields: Vec<String>,
    /// The version that the definition stores.
    pub storage_version: String,
    /// uid of the definition.
    pub uid: String,
    /// Whether the schema changed while objects were stored: they are pruned and filled as they are read.
    pub reshaped: bool,
    /// Its schema as written, for those who ask what the server knows.
    pub schema: Value,
    /// Its rules, compiled; none if it has none.
    pub rules: Option<Arc<crate::crd::Rules>>,
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
    /// Whether stored objects may have the form of an earlier schema.
    pub fn reshaped(&self) -> bool {
        self.custom_kind.as_ref().is_some_and(|kind| kind.reshaped)
    }

    /// `apps/v1`, or `v1` for the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}
