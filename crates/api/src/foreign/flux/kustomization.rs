//! Flux's Kustomization.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Inventory, Reference};
use crate::foreign::Extra;

/// What a Kustomization applies.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, CustomResource)]
#[kube(
    group = "kustomize.toolkit.fluxcd.io",
    version = "v1",
    kind = "Kustomization",
    plural = "kustomizations",
    namespaced,
    status = "KustomizationStatus",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default"
)]
#[serde(rename_all = "camelCase")]
pub struct KustomizationSpec {
    /// How often it is applied.
    #[serde(default)]
    pub interval: String,

    /// How soon after a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_interval: Option<String>,

    /// How long one run may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,

    /// The folder in the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,

    /// Whether what is gone from the source is removed.
    #[serde(default)]
    pub prune: bool,

    /// Where it comes from.
    #[serde(default)]
    pub source_ref: Reference,

    /// What has to be ready first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Reference>,

    /// Whether it is suspended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,

    /// Whether it waits until everything is healthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<bool>,

    /// What it waits for otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub health_checks: Vec<Reference>,

    /// Whether refused objects are deleted and made again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,

    /// The namespace that everything is put into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_namespace: Option<String>,

    /// The account that it acts as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,

    /// Variables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_build: Option<PostBuild>,

    /// Changes to what was built.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<Value>,

    /// Images to replace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Value>,

    /// Components to add.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<String>,

    /// Labels and annotations for everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub common_metadata: Option<Value>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Variables of a build.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PostBuild {
    /// By name.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub substitute: std::collections::BTreeMap<String, String>,

    /// From ConfigMaps and Secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub substitute_from: Vec<SubstituteFrom>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A ConfigMap or Secret with variables.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubstituteFrom {
    /// `ConfigMap` or `Secret`.
    #[serde(default)]
    pub kind: String,

    /// Its name.
    #[serde(default)]
    pub name: String,

    /// Whether it may be missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What a Kustomization has done.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KustomizationStatus {
    /// The generation that it speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// Its conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,

    /// The last revision that was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_applied_revision: Option<String>,

    /// The last revision that was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_attempted_revision: Option<String>,

    /// The last reconcile request that led to a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,

    /// What it has applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inventory: Option<Inventory>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}
