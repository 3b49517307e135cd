//! `UpgradeRequest`: take an app to a version.
#![allow(clippy::struct_excessive_bools, reason = "each is a switch that a person writes")]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use crate::app_status::Version;
use crate::condition::conditioned;
use crate::journal::Journal;
use crate::reference::LocalReference;
use crate::verdict::Verdict;

/// Which app goes to which version, and how far.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, CustomResource, KubeSchema)]
#[kube(
    group = "holdfast.dev",
    version = "v1alpha1",
    kind = "UpgradeRequest",
    status = "UpgradeRequestStatus",
    derive = "PartialEq",
    category = "holdfast",
    shortname = "ureq",
    namespaced,
    doc = "UpgradeRequest takes a ManagedApp to a version: its data is snapshotted, the version is committed, and if the app does not become healthy both go back. Once it has started only spec.abort can change.",
    validation = Rule::new("!has(oldSelf.status) || !has(oldSelf.status.startedAt) || (self.spec.appRef == oldSelf.spec.appRef && has(self.spec.target) == has(oldSelf.spec.target) && (!has(self.spec.target) || self.spec.target == oldSelf.spec.target) && self.spec.skipSnapshot == oldSelf.spec.skipSnapshot && self.spec.dryRun == oldSelf.spec.dryRun && self.spec.rehearse == oldSelf.spec.rehearse)").message("the request has started and can only be aborted: write spec.abort: true, or a new UpgradeRequest").field_path(".spec"),
    printcolumn(name = "App", type_ = "string", json_path = ".spec.appRef.name"),
    printcolumn(name = "From", type_ = "string", json_path = ".status.from"),
    printcolumn(name = "To", type_ = "string", json_path = ".status.to"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Verdict", type_ = "string", json_path = ".status.verdict.reversibility"),
    printcolumn(name = "Status", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].message"),
    printcolumn(name = "By", type_ = "string", json_path = ".metadata.annotations.holdfast\\.dev/requested-by", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!(self.dryRun && self.rehearse)").message("dryRun touches nothing and rehearse runs clones: write one of them"),
    validation = Rule::new("!oldSelf.abort || self.abort").message("an abort cannot be taken back: write a new UpgradeRequest")
)]
pub struct UpgradeRequestSpec {
    /// The ManagedApp of this namespace.
    pub app_ref: LocalReference,

    /// The version to go to; the newest available update if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("has(self.chart) || has(self.images) && self.images.size() > 0").message("say which version: write spec.target.chart, spec.target.images, or both"))]
    pub target: Option<Version>,

    /// Go without a snapshot: there is then no way back to the old data.
    #[serde(default)]
    pub skip_snapshot: bool,

    /// Only plan: show what would be done, and touch nothing.
    #[serde(default)]
    pub dry_run: bool,

    /// Only rehearse: run the new version on clones in a namespace of its own, report, and remove
    /// everything.
    #[serde(default)]
    pub rehearse: bool,

    /// Stop, and leave the app as it was found, or go back if it has been changed already.
    #[serde(default)]
    pub abort: bool,
}

/// How far an upgrade has come.
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
pub enum UpgradePhase {
    /// Not looked at yet.
    #[default]
    Pending,
    /// Waits for another operation on the app.
    Queued,
    /// Checks that it can work, without side effects.
    Preflight,
    /// Freezes the plan and takes the locks.
    Planning,
    /// Runs on clones.
    Rehearsing,
    /// Waits for the approval of its pull request.
    AwaitingApproval,
    /// Holds the applier.
    Holding,
    /// Commits, or merges.
    Committing,
    /// Waits until Flux offers the revision.
    AwaitingSource,
    /// Closes the fence.
    Fencing,
    /// Brings the app to rest.
    Quiescing,
    /// Takes the snapshots.
    Snapshotting,
    /// Lets the new version start.
    Releasing,
    /// Sees that the new version runs.
    Verifying,
    /// Sees that it stays healthy.
    Soaking,
    /// Puts everything away.
    Completing,
    /// Takes back what was done.
    Compensating,
    /// Waits for its RollbackRequest.
    RollingBack,
    /// The app runs the new version.
    Succeeded,
    /// The plan is shown; nothing was touched.
    Planned,
    /// The rehearsal has ended.
    Rehearsed,
    /// The app is as it was found.
    Failed,
    /// The app failed on the new version and is back on the old one.
    RolledBack,
    /// The app failed on the new version and stays held for a person.
    Held,
    /// It was aborted, and the app is as it was found.
    Aborted,
}

impl UpgradePhase {
    /// Whether nothing more will happen.
    pub fn is_terminal(self) -> bool {
        matches!(
            self,
            Self::Succeeded
                | Self::Planned
                | Self::Rehearsed
                | Self::Failed
                | Self::RolledBack
                | Self::Held
                | Self::Aborted
        )
    }
}

/// How far the request has come.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeRequestStatus {
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
    pub phase: UpgradePhase,

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

    /// The version before, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub from: Option<String>,

    /// The version after, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub to: Option<String>,

    /// The version before, as the way back needs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_version: Option<Version>,

    /// Whether it can be taken back, as judged before it started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,

    /// The plan and the steps.
    #[serde(default)]
    pub journal: Journal,

    /// Stored before the new version may start: from then on only a restore brings the old data
    /// back.
    #[serde(default)]
    pub new_version_may_have_written: bool,

    /// The commit that changed the version.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub revision: Option<String>,

    /// The pull request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub pull_request: Option<String>,

    /// When the snapshots expire; until then a RollbackRequest can use them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshots_until: Option<Time>,

    /// The RollbackRequest that took it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollback_ref: Option<LocalReference>,

    /// What the rehearsal showed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rehearsal: Option<Rehearsal>,

    /// How long the app was away.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub downtime: Option<String>,
}

/// What a rehearsal showed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rehearsal {
    /// Whether the new version became healthy on clones.
    #[serde(default)]
    pub passed: bool,

    /// How long it took to become healthy.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub duration: Option<String>,

    /// How many bytes the data grew by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth_bytes: Option<i64>,

    /// What went wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), inner(length(max = 1024)))]
    pub errors: Vec<String>,

    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
}

/// Why a request is where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, Display)]
pub enum UpgradeReason {
    /// The app runs the new version.
    UpgradeSucceeded,
    /// The plan is shown.
    PlanShown,
    /// The rehearsal passed.
    RehearsalPassed,
    /// The rehearsal failed.
    RehearsalFailed,
    /// Work is under way.
    Progressing,
    /// Another operation has the app.
    WaitingForApp,
    /// Outside of the windows.
    WaitingForWindow,
    /// The pull request is not approved yet.
    WaitingForApproval,
    /// HandsOff is in effect.
    HandsOff,
    /// The ManagedApp does not exist.
    AppNotFound,
    /// There is no newer version.
    NoUpdateAvailable,
    /// The app runs that version already.
    AlreadyThere,
    /// The version failed before and is quarantined.
    Quarantined,
    /// Something that the operation needs is missing.
    PreflightFailed,
    /// The change cannot be applied.
    ChangeRefused,
    /// The applier did not acknowledge its suspension.
    HoldFailed,
    /// The commit could not be pushed.
    CommitFailed,
    /// Flux did not offer the revision in time.
    SourceTimedOut,
    /// The app did not come to rest.
    QuiesceFailed,
    /// A snapshot failed.
    SnapshotFailed,
    /// Flux did not apply the revision in time.
    ReconcileFailed,
    /// The new version did not become healthy.
    Unhealthy,
    /// It was aborted.
    Aborted,
    /// The app is back on the old version and the old data.
    RolledBack,
}

conditioned!(UpgradeRequest);
