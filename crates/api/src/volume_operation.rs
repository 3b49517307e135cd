//! `VolumeOperation`: put other data, or another shape, under a running app.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use crate::condition::conditioned;
use crate::journal::Journal;
use crate::protected_volume::RestorePoint;
use crate::reference::LocalReference;
use crate::text::{Duration, ObjectName};

/// Which claims, and what becomes of them.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, CustomResource, KubeSchema)]
#[kube(
    group = "holdfast.dev",
    version = "v1alpha1",
    kind = "VolumeOperation",
    status = "VolumeOperationStatus",
    derive = "PartialEq",
    category = "holdfast",
    shortname = "vop",
    namespaced,
    doc = "VolumeOperation restores the data of claims that an app uses, or changes the claims themselves: size, class, access mode, name. The app is stopped and fenced, the data is copied beside, proven and exchanged; the old volumes are kept. Once it has started only spec.abort can change.",
    validation = Rule::new("!has(oldSelf.status) || !has(oldSelf.status.startedAt) || (self.spec.claimRefs == oldSelf.spec.claimRefs && has(self.spec.restore) == has(oldSelf.spec.restore) && (!has(self.spec.restore) || self.spec.restore == oldSelf.spec.restore) && has(self.spec.change) == has(oldSelf.spec.change) && (!has(self.spec.change) || self.spec.change == oldSelf.spec.change) && self.spec.dryRun == oldSelf.spec.dryRun)").message("the operation has started and can only be aborted: write spec.abort: true, or a new VolumeOperation").field_path(".spec"),
    printcolumn(name = "Claims", type_ = "string", json_path = ".spec.claimRefs[*].name"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Status", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].message"),
    printcolumn(name = "By", type_ = "string", json_path = ".metadata.annotations.holdfast\\.dev/requested-by", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.restore) != has(self.change)").message("an operation does one thing: write either spec.restore or spec.change"),
    validation = Rule::new("!has(self.change) || !has(self.change.rename) || self.claimRefs.size() == 1").message("one name is for one claim: write one VolumeOperation for each claim that is renamed"),
    validation = Rule::new("!oldSelf.abort || self.abort").message("an abort cannot be taken back: write a new VolumeOperation")
)]
pub struct VolumeOperationSpec {
    /// The claims of this namespace, all or none of which are changed.
    #[schemars(length(min = 1, max = 64))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub claim_refs: Vec<LocalReference>,

    /// Bring back their data from backups, all as of one time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restore: Option<RestorePoint>,

    /// Change the claims, and keep their data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<ClaimChange>,

    /// Only plan: show what would be done, and touch nothing.
    #[serde(default)]
    pub dry_run: bool,

    /// Stop, and leave everything as it was found.
    #[serde(default)]
    pub abort: bool,

    /// How long the replaced volumes are kept.
    #[serde(default = "week")]
    pub keep_replaced: Duration,
}

/// What becomes of the claims.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.size) || has(self.storageClassName) || has(self.accessModes) && self.accessModes.size() > 0 || has(self.rename)").message("say what changes: write at least one of size, storageClassName, accessModes and rename"))]
pub struct ClaimChange {
    /// The new size, also a smaller one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Quantity>,

    /// The new storage class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_class_name: Option<ObjectName>,

    /// The new access modes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub access_modes: Vec<AccessMode>,

    /// The new name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rename: Option<ObjectName>,
}

/// How a volume can be mounted.
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
pub enum AccessMode {
    /// By one node.
    ReadWriteOnce,
    /// By many nodes, to read.
    ReadOnlyMany,
    /// By many nodes.
    ReadWriteMany,
    /// By one pod.
    ReadWriteOncePod,
}

/// How far an operation has come.
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
pub enum VolumeOperationPhase {
    /// Not looked at yet.
    #[default]
    Pending,
    /// Waits for another operation.
    Queued,
    /// Checks that it can work, without side effects.
    Preflight,
    /// Freezes the plan and takes the locks.
    Planning,
    /// Holds the applier.
    Holding,
    /// Closes the fence.
    Fencing,
    /// Brings the app to rest.
    Quiescing,
    /// Snapshots the present data.
    Saving,
    /// Fills the new volumes beside the old ones.
    Copying,
    /// Sees that the new volumes are whole.
    Proving,
    /// Exchanges the volumes.
    Swapping,
    /// Lets the app start.
    Releasing,
    /// Sees that it runs.
    Verifying,
    /// Takes back what was done.
    Compensating,
    /// The app runs on the new volumes.
    Succeeded,
    /// The plan is shown; nothing was touched.
    Planned,
    /// Everything is as it was found.
    Failed,
    /// The app stays held for a person.
    Held,
    /// It was aborted, and everything is as it was found.
    Aborted,
}

impl VolumeOperationPhase {
    /// Whether nothing more will happen.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Planned | Self::Failed | Self::Held | Self::Aborted)
    }
}

/// How far the operation has come.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct VolumeOperationStatus {
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// Ready, Reconciling and Stalled, as kstatus reads them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,

    /// The phase.
    #[serde(default)]
    pub phase: VolumeOperationPhase,

    /// When the phase began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase_since: Option<Time>,

    /// When the phase is given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase_deadline: Option<Time>,

    /// When the operation started; from then on it can only be aborted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,

    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Time>,

    /// The plan and the steps.
    #[serde(default)]
    pub journal: Journal,

    /// Stored before the first volume is exchanged: from then on the way is forward only.
    #[serde(default)]
    pub swap_started: bool,

    /// When the replaced volumes are removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced_until: Option<Time>,
}

/// Why an operation is where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, Display)]
pub enum VolumeOperationReason {
    /// The app runs on the new volumes.
    OperationSucceeded,
    /// The plan is shown.
    PlanShown,
    /// Work is under way.
    Progressing,
    /// Another operation has the app.
    WaitingForApp,
    /// A claim does not exist.
    ClaimNotFound,
    /// There is no backup at that time.
    BackupNotFound,
    /// The data does not fit into the new size.
    TooSmall,
    /// Something that the operation needs is missing.
    PreflightFailed,
    /// The app did not come to rest.
    QuiesceFailed,
    /// The data could not be copied.
    CopyFailed,
    /// The copy is not whole.
    ProofFailed,
    /// The volumes could not be exchanged.
    SwapFailed,
    /// The app did not become healthy.
    Unhealthy,
    /// It was aborted.
    Aborted,
}

conditioned!(VolumeOperation);

fn week() -> Duration {
    "7d".into()
}
