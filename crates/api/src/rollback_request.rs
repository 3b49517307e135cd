//! `RollbackRequest`: take an app back.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use crate::app_status::Version;
use crate::condition::conditioned;
use crate::journal::Journal;
use crate::reference::LocalReference;
use crate::text::ObjectName;
use crate::verdict::Verdict;

/// What is taken back, and whether the data goes back too.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, CustomResource, KubeSchema)]
#[kube(
    group = "holdfast.dev",
    version = "v1alpha1",
    kind = "RollbackRequest",
    status = "RollbackRequestStatus",
    derive = "PartialEq",
    category = "holdfast",
    shortname = "rreq",
    namespaced,
    doc = "RollbackRequest takes a ManagedApp back: git to the version before, and the data to the snapshot before. The present data is snapshotted first, so that the way back can itself be undone. Once it has started only spec.abort can change.",
    validation = Rule::new("!has(oldSelf.status) || !has(oldSelf.status.startedAt) || (has(self.spec.appRef) == has(oldSelf.spec.appRef) && (!has(self.spec.appRef) || self.spec.appRef == oldSelf.spec.appRef) && has(self.spec.upgradeRef) == has(oldSelf.spec.upgradeRef) && (!has(self.spec.upgradeRef) || self.spec.upgradeRef == oldSelf.spec.upgradeRef) && has(self.spec.snapshotRef) == has(oldSelf.spec.snapshotRef) && (!has(self.spec.snapshotRef) || self.spec.snapshotRef == oldSelf.spec.snapshotRef) && self.spec.data == oldSelf.spec.data && self.spec.dryRun == oldSelf.spec.dryRun)").message("the request has started and can only be aborted: write spec.abort: true, or a new RollbackRequest").field_path(".spec"),
    printcolumn(name = "App", type_ = "string", json_path = ".status.app"),
    printcolumn(name = "Upgrade", type_ = "string", json_path = ".spec.upgradeRef.name"),
    printcolumn(name = "To", type_ = "string", json_path = ".status.to"),
    printcolumn(name = "Data", type_ = "string", json_path = ".spec.data"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Status", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].message"),
    printcolumn(name = "By", type_ = "string", json_path = ".metadata.annotations.holdfast\\.dev/requested-by", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.upgradeRef) != has(self.snapshotRef)").message("say what is taken back: write either spec.upgradeRef or spec.snapshotRef"),
    validation = Rule::new("!has(self.snapshotRef) || has(self.appRef)").message("a snapshot does not say which app it belongs to: write spec.appRef too"),
    validation = Rule::new("!has(self.snapshotRef) || self.data == 'Restore'").message("data: Keep takes back only the version, which a snapshot does not know: write spec.upgradeRef, or data: Restore"),
    validation = Rule::new("!oldSelf.abort || self.abort").message("an abort cannot be taken back: write a new RollbackRequest")
)]
pub struct RollbackRequestSpec {
    /// The ManagedApp of this namespace; needed with `snapshotRef`, found from the upgrade
    /// otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_ref: Option<LocalReference>,

    /// The UpgradeRequest of this namespace that is taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upgrade_ref: Option<LocalReference>,

    /// The snapshot of this namespace that the data goes back to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot_ref: Option<SnapshotReference>,

    /// Restore: the data goes back to the snapshot if the new version may have written. Keep: only
    /// the version goes back, after the old one has started on a clone of the present data.
    #[serde(default)]
    pub data: DataPolicy,

    /// Only plan: show what would be done and lost, and touch nothing.
    #[serde(default)]
    pub dry_run: bool,

    /// Stop, and leave the app as it was found.
    #[serde(default)]
    pub abort: bool,
}

/// A snapshot of one volume or of several.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotReference {
    /// VolumeSnapshot or VolumeGroupSnapshot.
    #[serde(default)]
    pub kind: SnapshotKind,

    /// The name of the snapshot.
    pub name: ObjectName,
}

/// Kinds of snapshot.
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
pub enum SnapshotKind {
    /// Of one volume.
    #[default]
    VolumeSnapshot,
    /// Of several volumes at one moment.
    VolumeGroupSnapshot,
}

/// Whether the data goes back.
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
pub enum DataPolicy {
    /// It goes back.
    #[default]
    Restore,
    /// It stays.
    Keep,
}

/// How far a rollback has come.
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
pub enum RollbackPhase {
    /// Not looked at yet.
    #[default]
    Pending,
    /// Waits for another operation on the app.
    Queued,
    /// Checks that it can work, without side effects.
    Preflight,
    /// Freezes the plan and takes the locks.
    Planning,
    /// Starts the old version on a clone of the present data.
    Trying,
    /// Holds the applier.
    Holding,
    /// Closes the fence.
    Fencing,
    /// Brings the app to rest.
    Quiescing,
    /// Snapshots the present data.
    Saving,
    /// Restores the old data beside the present one.
    Restoring,
    /// Sees that the restored data is whole.
    Proving,
    /// Exchanges the volumes.
    Swapping,
    /// Reverts in git.
    Reverting,
    /// Waits for the approval of the revert.
    AwaitingApproval,
    /// Waits until Flux offers the revision.
    AwaitingSource,
    /// Lets the old version start.
    Releasing,
    /// Sees that it runs and stays healthy.
    Verifying,
    /// Puts everything away.
    Completing,
    /// Takes back what was done.
    Compensating,
    /// The app runs the old version.
    Succeeded,
    /// The plan is shown; nothing was touched.
    Planned,
    /// The app is as it was found.
    Failed,
    /// The app stays held for a person.
    Held,
    /// It was aborted, and the app is as it was found.
    Aborted,
}

impl RollbackPhase {
    /// Whether nothing more will happen.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Planned | Self::Failed | Self::Held | Self::Aborted)
    }
}

/// How far the request has come.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct RollbackRequestStatus {
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
    pub phase: RollbackPhase,

    /// When the phase began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase_since: Option<Time>,

    /// When the phase is given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase_deadline: Option<Time>,

    /// When the request started; from then on it can only be aborted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,

    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Time>,

    /// The ManagedApp.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub app: Option<String>,

    /// The version that is left, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub from: Option<String>,

    /// The version that is gone back to, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub to: Option<String>,

    /// The version that is gone back to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Version>,

    /// What the way back costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,

    /// The plan and the steps.
    #[serde(default)]
    pub journal: Journal,

    /// Stored before the first volume is exchanged: from then on the way is forward only.
    #[serde(default)]
    pub swap_started: bool,

    /// The commit that reverted the version.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub revision: Option<String>,

    /// When the replaced volumes are removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced_until: Option<Time>,

    /// How long the app was away.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub downtime: Option<String>,
}

/// Why a request is where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, Display)]
pub enum RollbackReason {
    /// The app runs the old version.
    RollbackSucceeded,
    /// The plan is shown.
    PlanShown,
    /// Work is under way.
    Progressing,
    /// Another operation has the app.
    WaitingForApp,
    /// The revert is not approved yet.
    WaitingForApproval,
    /// The UpgradeRequest does not exist.
    UpgradeNotFound,
    /// The UpgradeRequest has not ended.
    UpgradeRunning,
    /// The ManagedApp does not exist.
    AppNotFound,
    /// The version before is not known.
    PreviousVersionUnknown,
    /// The snapshot is gone or cannot be restored from.
    SnapshotNotUsable,
    /// Something that the operation needs is missing.
    PreflightFailed,
    /// The applier did not acknowledge its suspension.
    HoldFailed,
    /// The app did not come to rest.
    QuiesceFailed,
    /// The data could not be restored.
    RestoreFailed,
    /// The restored data is not what the snapshot holds.
    ProofFailed,
    /// The volumes could not be exchanged.
    SwapFailed,
    /// The revert conflicts with later commits.
    RevertConflicts,
    /// The revert could not be pushed.
    CommitFailed,
    /// Flux did not apply the revision in time.
    ReconcileFailed,
    /// The old version did not become healthy.
    Unhealthy,
    /// It was aborted.
    Aborted,
}

conditioned!(RollbackRequest);
