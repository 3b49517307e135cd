//! flux-operator's ResourceSet.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Inventory, Reference};
use crate::foreign::Extra;

/// On a ResourceSet: `disabled` stops it, `enabled` lets it go on.
pub const RESOURCE_SET_RECONCILE: &str = "fluxcd.controlplane.io/reconcile";
/// The label that names the ResourceSet of an applied object.
pub const RESOURCE_SET_NAME: &str = "resourceset.fluxcd.controlplane.io/name";
/// The label that names the namespace of that ResourceSet.
pub const RESOURCE_SET_NAMESPACE: &str = "resourceset.fluxcd.controlplane.io/namespace";

/// What a ResourceSet renders. It has no field to suspend it by: that is an annotation.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, CustomResource)]
#[kube(
    group = "fluxcd.controlplane.io",
    version = "v1",
    kind = "ResourceSet",
    plural = "resourcesets",
    namespaced,
    status = "ResourceSetStatus",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default"
)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSetSpec {
    /// Inputs, each of which is rendered once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Value>,

    /// Providers of inputs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs_from: Vec<Value>,

    /// Templates of objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<Value>,

    /// A template of several documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources_template: Option<String>,

    /// What has to be ready first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Reference>,

    /// The account that it acts as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,

    /// Whether it waits until everything is healthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<bool>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What a ResourceSet has done.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSetStatus {
    /// Its conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,

    /// What it has applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inventory: Option<Inventory>,

    /// The digest of what was last applied; no revision of git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_applied_revision: Option<String>,

    /// The last reconcile request that led to a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}
