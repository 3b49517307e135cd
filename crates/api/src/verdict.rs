//! Whether a change can be taken back, and what that would cost.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use crate::reference::ObjectReference;

/// Whether a change can be taken back.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
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
pub enum Reversibility {
    /// Code and data can go back without loss.
    Reversible,
    /// Code and data can go back; what was written since then is lost.
    ReversibleWithLoss,
    /// There is no way back to the old data.
    OneWay,
    /// Not known yet.
    #[default]
    Unknown,
}

/// Why a change cannot be taken back, or not without loss.
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
pub enum ReversibilityReason {
    /// No snapshot class serves a volume's driver.
    NoSnapshotClass,
    /// The volume lives on one node.
    LocalVolume,
    /// The volume is an NFS export, which cannot be snapshotted.
    NfsVolume,
    /// The volume is a path of the host.
    HostVolume,
    /// The data belongs to a database that an operator manages.
    OperatorDatabase,
    /// The volume is shared by several writers.
    SharedVolume,
    /// The version in git is a range or a moving tag.
    FloatingVersion,
    /// The version before is not known.
    PreviousVersionUnknown,
    /// Helm's own remediation would act first.
    HelmRemediation,
    /// Other apps migrate together with this one.
    DependantsMigrate,
    /// Snapshots are off for this app or this request.
    SnapshotsOff,
    /// The volumes are not snapshotted at one moment.
    NotOneMoment,
    /// The app writes while it is snapshotted.
    NotQuiesced,
    /// The new version may have written already.
    AlreadyWritten,
    /// The snapshot that a way back needs has expired or is gone.
    SnapshotGone,
    /// No restore of this data was proven lately.
    NotProven,
}

/// The verdict on a change, with its reasons.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// Reversible, ReversibleWithLoss, OneWay or Unknown.
    #[serde(default)]
    pub reversibility: Reversibility,

    /// With ReversibleWithLoss: what was written after this time would be lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub losing_since: Option<Time>,

    /// Why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub reasons: Vec<VerdictReason>,

    /// When it was judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
}

/// One reason of a verdict.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerdictReason {
    /// The reason, as programs read it.
    pub reason: ReversibilityReason,

    /// The reason, as people read it.
    #[schemars(length(max = 1024))]
    pub message: String,

    /// The object that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectReference>,
}
