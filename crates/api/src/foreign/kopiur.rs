//! kopiur: backups and restores by kopia. The API is young and its enums grow, so that what they
//! hold stays text here: an unknown word is neither an end nor a success.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Extra;

/// A repository of a namespace.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, CustomResource)]
#[kube(
    group = "kopiur.home-operations.com",
    version = "v1alpha1",
    kind = "Repository",
    plural = "repositories",
    namespaced,
    status = "RepositoryStatus",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default"
)]
#[serde(rename_all = "camelCase")]
pub struct RepositorySpec {
    /// Where it is: exactly one of the stores.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub backend: Value,

    /// Whether it is suspended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,

    /// `ReadWrite` or `ReadOnly`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A repository of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, CustomResource)]
#[kube(
    group = "kopiur.home-operations.com",
    version = "v1alpha1",
    kind = "ClusterRepository",
    plural = "clusterrepositories",
    status = "RepositoryStatus",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default"
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterRepositorySpec {
    /// Where it is: exactly one of the stores.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub backend: Value,

    /// Whether it is suspended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How a repository stands.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RepositoryStatus {
    /// `Pending`, `Initializing`, `Ready`, `Degraded`, `Failed`, or a later word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,

    /// The id of the repository; another one means that the history was replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unique_id: Option<String>,

    /// How many backups it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_stats: Option<Value>,

    /// When it was last asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<Value>,

    /// What it was found to hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalog: Option<Value>,

    /// Its conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,

    /// The generation that it speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A recipe for backups.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, CustomResource)]
#[kube(
    group = "kopiur.home-operations.com",
    version = "v1alpha1",
    kind = "SnapshotPolicy",
    plural = "snapshotpolicies",
    namespaced,
    status = "SnapshotPolicyStatus",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default"
)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotPolicySpec {
    /// The repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<RepositoryReference>,

    /// What is backed up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Value>,

    /// What is kept; everything if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention: Option<Value>,

    /// Whether it is suspended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A repository by its name.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RepositoryReference {
    /// `Repository` or `ClusterRepository`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,

    /// Its name.
    #[serde(default)]
    pub name: String,

    /// Its namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How a recipe stands.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotPolicyStatus {
    /// The identity, the claims and the repositories that it came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<Value>,

    /// When the last backup that worked was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_successful_snapshot: Option<Time>,

    /// When backups were last verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_verified: Option<Time>,

    /// Its conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,

    /// The generation that it speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// When a recipe runs.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, CustomResource)]
#[kube(
    group = "kopiur.home-operations.com",
    version = "v1alpha1",
    kind = "SnapshotSchedule",
    plural = "snapshotschedules",
    namespaced,
    status = "GenericStatus",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default"
)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotScheduleSpec {
    /// The recipe.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub policy_ref: Value,

    /// When.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub schedule: Value,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// One backup: a run, and a row of the catalogue.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, CustomResource)]
#[kube(
    group = "kopiur.home-operations.com",
    version = "v1alpha1",
    kind = "Snapshot",
    plural = "snapshots",
    namespaced,
    status = "SnapshotStatus",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default"
)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotSpec {
    /// The recipe.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub policy_ref: Value,

    /// Whether retention leaves it alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<bool>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How a backup stands.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotStatus {
    /// A word that may be a later one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,

    /// The repository's id of the backup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "kopiaSnapshotID")]
    pub kopia_snapshot_id: Option<String>,

    /// Its conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A restore, or a standing offer to fill claims.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, CustomResource)]
#[kube(
    group = "kopiur.home-operations.com",
    version = "v1alpha1",
    kind = "Restore",
    plural = "restores",
    namespaced,
    status = "RestoreStatus",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default"
)]
#[serde(rename_all = "camelCase")]
pub struct RestoreSpec {
    /// What is restored.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub source: Value,

    /// What is filled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Value>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How a restore stands, in either dialect.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RestoreStatus {
    /// A word that may be a later one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,

    /// What it came to, in the dialect of one claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<Value>,

    /// What it came to claim by claim, in the other dialect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<Value>,

    /// Its conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,

    /// The generation that it speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A status of which only conditions are read.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GenericStatus {
    /// Its conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}
