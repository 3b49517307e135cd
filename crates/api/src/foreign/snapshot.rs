//! Volume snapshots, alone and in groups.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, Time};
use kube::CustomResource;
use serde::{Deserialize, Serialize};

use super::Extra;

/// What a snapshot is of.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, CustomResource)]
#[kube(
    group = "snapshot.storage.k8s.io",
    version = "v1",
    kind = "VolumeSnapshot",
    plural = "volumesnapshots",
    namespaced,
    status = "VolumeSnapshotStatus",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default"
)]
#[serde(rename_all = "camelCase")]
pub struct VolumeSnapshotSpec {
    /// The claim, or the content that is there already.
    #[serde(default)]
    pub source: VolumeSnapshotSource,

    /// The class; the driver's default if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_snapshot_class_name: Option<String>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The claim, or the content that is there already.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeSnapshotSource {
    /// The claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent_volume_claim_name: Option<String>,

    /// The content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_snapshot_content_name: Option<String>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How a snapshot stands.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeSnapshotStatus {
    /// The content that it is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_volume_snapshot_content_name: Option<String>,

    /// When it was cut; from then on the volume may change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub creation_time: Option<Time>,

    /// Whether it can be restored from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_to_use: Option<bool>,

    /// How large a volume has to be to hold it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore_size: Option<Quantity>,

    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<SnapshotError>,

    /// The group that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_group_snapshot_name: Option<String>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What went wrong.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotError {
    /// In words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,

    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Time>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The snapshot itself, as the driver knows it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, CustomResource)]
#[kube(
    group = "snapshot.storage.k8s.io",
    version = "v1",
    kind = "VolumeSnapshotContent",
    plural = "volumesnapshotcontents",
    status = "VolumeSnapshotContentStatus",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default"
)]
#[serde(rename_all = "camelCase")]
pub struct VolumeSnapshotContentSpec {
    /// `Delete` or `Retain`.
    #[serde(default)]
    pub deletion_policy: String,

    /// The driver.
    #[serde(default)]
    pub driver: String,

    /// The volume, or the snapshot that is there already.
    #[serde(default)]
    pub source: VolumeSnapshotContentSource,

    /// The VolumeSnapshot that it belongs to.
    #[serde(default)]
    pub volume_snapshot_ref: ContentOwner,

    /// The class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_snapshot_class_name: Option<String>,

    /// `Filesystem` or `Block`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_volume_mode: Option<String>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The volume, or the snapshot that is there already.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeSnapshotContentSource {
    /// The driver's name of the volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_handle: Option<String>,

    /// The driver's name of the snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_handle: Option<String>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The object that a content belongs to.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContentOwner {
    /// Its API version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,

    /// Its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,

    /// Its name.
    #[serde(default)]
    pub name: String,

    /// Its namespace.
    #[serde(default)]
    pub namespace: String,

    /// Its uid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,

    /// Its resource version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How a content stands.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeSnapshotContentStatus {
    /// The driver's name of the snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_handle: Option<String>,

    /// When it was cut, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub creation_time: Option<i64>,

    /// Whether it can be restored from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_to_use: Option<bool>,

    /// How large a volume has to be to hold it, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore_size: Option<i64>,

    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<SnapshotError>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How a driver takes snapshots.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, CustomResource)]
#[kube(
    group = "snapshot.storage.k8s.io",
    version = "v1",
    kind = "VolumeSnapshotClass",
    plural = "volumesnapshotclasses",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default",
    no_spec
)]
#[serde(rename_all = "camelCase")]
pub struct VolumeSnapshotClassFields {
    /// The driver.
    #[serde(default)]
    pub driver: String,

    /// `Delete` or `Retain`.
    #[serde(default)]
    pub deletion_policy: String,

    /// What the driver is told.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
}

/// The annotation that makes a VolumeSnapshotClass the default of its driver.
pub const DEFAULT_CLASS: &str = "snapshot.storage.kubernetes.io/is-default-class";

/// What a snapshot of several volumes at one moment is of.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, CustomResource)]
#[kube(
    group = "groupsnapshot.storage.k8s.io",
    version = "v1beta1",
    kind = "VolumeGroupSnapshot",
    plural = "volumegroupsnapshots",
    namespaced,
    status = "VolumeGroupSnapshotStatus",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default"
)]
#[serde(rename_all = "camelCase")]
pub struct VolumeGroupSnapshotSpec {
    /// The claims, or the content that is there already.
    #[serde(default)]
    pub source: VolumeGroupSnapshotSource,

    /// The class; the driver's default if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_group_snapshot_class_name: Option<String>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The claims, or the content that is there already.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeGroupSnapshotSource {
    /// The claims by their labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,

    /// The content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_group_snapshot_content_name: Option<String>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How a group snapshot stands.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeGroupSnapshotStatus {
    /// The content that it is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_volume_group_snapshot_content_name: Option<String>,

    /// When it was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub creation_time: Option<Time>,

    /// Whether it can be restored from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_to_use: Option<bool>,

    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<SnapshotError>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The group snapshot itself, as the driver knows it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, CustomResource)]
#[kube(
    group = "groupsnapshot.storage.k8s.io",
    version = "v1beta1",
    kind = "VolumeGroupSnapshotContent",
    plural = "volumegroupsnapshotcontents",
    status = "VolumeGroupSnapshotContentStatus",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default"
)]
#[serde(rename_all = "camelCase")]
pub struct VolumeGroupSnapshotContentSpec {
    /// `Delete` or `Retain`.
    #[serde(default)]
    pub deletion_policy: String,

    /// The driver.
    #[serde(default)]
    pub driver: String,

    /// The volumes, or the snapshots that are there already.
    #[serde(default)]
    pub source: VolumeGroupSnapshotContentSource,

    /// The VolumeGroupSnapshot that it belongs to.
    #[serde(default)]
    pub volume_group_snapshot_ref: ContentOwner,

    /// The class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_group_snapshot_class_name: Option<String>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The volumes, or the snapshots that are there already.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeGroupSnapshotContentSource {
    /// The driver's names of the volumes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volume_handles: Vec<String>,

    /// The driver's names of the group and its snapshots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_snapshot_handles: Option<serde_json::Value>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How a group content stands.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeGroupSnapshotContentStatus {
    /// The driver's name of the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_group_snapshot_handle: Option<String>,

    /// When it was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub creation_time: Option<Time>,

    /// Whether it can be restored from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_to_use: Option<bool>,

    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<SnapshotError>,

    /// The snapshots of the group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volume_snapshot_info_list: Vec<serde_json::Value>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How a driver takes group snapshots.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, CustomResource)]
#[kube(
    group = "groupsnapshot.storage.k8s.io",
    version = "v1beta1",
    kind = "VolumeGroupSnapshotClass",
    plural = "volumegroupsnapshotclasses",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default",
    no_spec
)]
#[serde(rename_all = "camelCase")]
pub struct VolumeGroupSnapshotClassFields {
    /// The driver.
    #[serde(default)]
    pub driver: String,

    /// `Delete` or `Retain`.
    #[serde(default)]
    pub deletion_policy: String,

    /// What the driver is told.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
}
