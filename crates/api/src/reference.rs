//! How one object names another.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use crate::text::{Namespace, ObjectName};

/// An object of the same namespace.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, KubeSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct LocalReference {
    /// The name of the object.
    pub name: ObjectName,
}

/// An object of this or another namespace.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, KubeSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct NamespacedReference {
    /// The name of the object.
    pub name: ObjectName,

    /// The namespace of the object; the namespace of the referring object if left out. Another
    /// namespace has to consent to the reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Namespace>,
}

/// An object whose namespace has to be said, because the referring one has none.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, KubeSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct FullReference {
    /// The name of the object.
    pub name: ObjectName,

    /// The namespace of the object.
    pub namespace: Namespace,
}

/// An object of any kind.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, KubeSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct ObjectReference {
    /// The API version, for example `apps/v1`.
    #[schemars(length(max = 253))]
    pub api_version: String,

    /// The kind, for example `StatefulSet`.
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,

    /// The namespace; left out for objects of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub namespace: Option<String>,

    /// The name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,

    /// The uid, where exactly this object is meant and not a later one of the same name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub uid: Option<String>,
}

/// What applies objects to the cluster.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Deserialize,
    Serialize,
    JsonSchema,
    IntoStaticStr,
    Display,
)]
pub enum ApplierKind {
    /// A Flux Kustomization.
    Kustomization,
    /// A Flux HelmRelease.
    HelmRelease,
    /// A ResourceSet of flux-operator.
    ResourceSet,
}

/// Something that applies objects to the cluster.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, KubeSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct ApplierReference {
    /// Kustomization, HelmRelease or ResourceSet.
    pub kind: ApplierKind,

    /// The name of the object.
    pub name: ObjectName,

    /// The namespace of the object; the namespace of the referring object if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Namespace>,
}

impl NamespacedReference {
    /// The namespace that is meant when the referring object lies in `own`.
    pub fn namespace_or<'a>(&'a self, own: &'a str) -> &'a str {
        self.namespace.as_deref().unwrap_or(own)
    }
}

impl ApplierReference {
    /// The namespace that is meant when the referring object lies in `own`.
    pub fn namespace_or<'a>(&'a self, own: &'a str) -> &'a str {
        self.namespace.as_deref().unwrap_or(own)
    }
}
