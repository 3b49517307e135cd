//! VolSync: backups and restores by restic.

use k8s_openapi::api::core::v1::TypedLocalObjectReference;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Extra;

/// What is backed up, and when.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, CustomResource)]
#[kube(
    group = "volsync.backube",
    version = "v1alpha1",
    kind = "ReplicationSource",
    plural = "replicationsources",
    namespaced,
    status = "ReplicationSourceStatus",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default"
)]
#[serde(rename_all = "camelCase")]
pub struct ReplicationSourceSpec {
    /// The claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "sourcePVC")]
    pub source_pvc: Option<String>,

    /// Whether nothing runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,

    /// When it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<ReplicationTrigger>,

    /// How restic runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restic: Option<ResticSource>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// When a replication runs. With both, `manual` wins; with neither it runs without end.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicationTrigger {
    /// Five cron fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,

    /// Any new value runs it once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manual: Option<String>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How restic backs up.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResticSource {
    /// The Secret of the repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,

    /// `Snapshot`, `Clone` or `Direct`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_method: Option<String>,

    /// What is kept; one backup if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retain: Option<Value>,

    /// How often unused data is removed, in days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prune_interval_days: Option<i32>,

    /// Any new value removes stale locks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unlock: Option<String>,

    /// The class of the copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_class_name: Option<String>,

    /// The class of the snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_snapshot_class_name: Option<String>,

    /// The size of the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_capacity: Option<Quantity>,

    /// The class of the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_storage_class_name: Option<String>,

    /// As whom the mover runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mover_security_context: Option<Value>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How a source stands. There is no observed generation.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicationSourceStatus {
    /// When the last run that worked ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_sync_time: Option<Time>,

    /// When the present run began; set only while one runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_sync_start_time: Option<Time>,

    /// How long the last run took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_sync_duration: Option<String>,

    /// When the next run begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_sync_time: Option<Time>,

    /// The last manual value that ran to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_manual_sync: Option<String>,

    /// What the last mover said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_mover_status: Option<MoverStatus>,

    /// Its conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,

    /// What restic did beside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restic: Option<Value>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What the last mover said.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MoverStatus {
    /// `Successful` or `Failed`. A successful run need not have made a backup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,

    /// Its last lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logs: Option<String>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What is restored, and when.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, CustomResource)]
#[kube(
    group = "volsync.backube",
    version = "v1alpha1",
    kind = "ReplicationDestination",
    plural = "replicationdestinations",
    namespaced,
    status = "ReplicationDestinationStatus",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default"
)]
#[serde(rename_all = "camelCase")]
pub struct ReplicationDestinationSpec {
    /// Whether nothing runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,

    /// When it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<ReplicationTrigger>,

    /// How restic runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restic: Option<ResticDestination>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How restic restores.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResticDestination {
    /// The Secret of the repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,

    /// `Snapshot` or `Direct`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_method: Option<String>,

    /// The claim that is filled; one is made if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "destinationPVC")]
    pub destination_pvc: Option<String>,

    /// The size of the claim that is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Quantity>,

    /// Its access modes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub access_modes: Vec<String>,

    /// Its class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_class_name: Option<String>,

    /// The class of the snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_snapshot_class_name: Option<String>,

    /// The newest backup that is not younger than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore_as_of: Option<String>,

    /// How many backups before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<i32>,

    /// Whether files that the backup has not are removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enable_file_deletion: Option<bool>,

    /// Whether the claim that was made is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "cleanupTempPVC")]
    pub cleanup_temp_pvc: Option<bool>,

    /// Whether the cache is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "cleanupCachePVC")]
    pub cleanup_cache_pvc: Option<bool>,

    /// As whom the mover runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mover_security_context: Option<Value>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How a destination stands.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicationDestinationStatus {
    /// When the last run that worked ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_sync_time: Option<Time>,

    /// When the present run began; set only while one runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_sync_start_time: Option<Time>,

    /// How long the last run took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_sync_duration: Option<String>,

    /// When the next run begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_sync_time: Option<Time>,

    /// The last manual value that ran to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_manual_sync: Option<String>,

    /// What it restored to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_image: Option<TypedLocalObjectReference>,

    /// What the last mover said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_mover_status: Option<MoverStatus>,

    /// Its conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}
