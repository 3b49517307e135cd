//! `StagedKustomization`: one revision through stages.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use crate::condition::conditioned;
use crate::probe::Probe;
use crate::reference::NamespacedReference;
use crate::text::{CommitId, Duration, ObjectName, RepositoryPath};

/// The source, the stages, and what happens on failure.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, CustomResource, KubeSchema)]
#[kube(
    group = "holdfast.dev",
    version = "v1alpha1",
    kind = "StagedKustomization",
    status = "StagedKustomizationStatus",
    derive = "PartialEq",
    category = "holdfast",
    shortname = "sks",
    namespaced,
    doc = "StagedKustomization takes one revision of a source through stages. Each stage is a Flux Kustomization with a pinned source of its own; the next one moves only when those before it are good, whatever is pushed meanwhile. When a stage fails, the finished ones go back to the last revision that passed.",
    printcolumn(name = "Revision", type_ = "string", json_path = ".status.revision"),
    printcolumn(name = "Stage", type_ = "string", json_path = ".status.stage"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(
        name = "Good",
        type_ = "string",
        json_path = ".status.lastGoodRevision",
        priority = 1
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(
        name = "Status",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.stages.all(stage, !has(stage.dependsOn) || stage.dependsOn.all(name, self.stages.exists(other, other.name == name)))").message("a stage can only depend on stages of this object: write names that stand in spec.stages"),
    validation = Rule::new("self.stages.all(stage, !has(stage.dependsOn) || !(stage.name in stage.dependsOn))").message("a stage cannot wait for itself: take its own name out of dependsOn"),
    validation = Rule::new("!has(self.approve) || self.approve.all(approval, self.stages.exists(stage, stage.name == approval.stage))").message("only stages of this object can be approved: write a name that stands in spec.stages")
)]
pub struct StagedKustomizationSpec {
    /// Pause: Holdfast looks at the object no more until this is false again. Stages stay where they are.
    #[serde(default)]
    pub suspend: bool,

    /// The Flux GitRepository whose revisions are taken through the stages.
    pub source_ref: NamespacedReference,

    /// The one revision to roll out; each new one of the source if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<CommitId>,

    /// The stages, in order.
    #[schemars(length(min = 1, max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub stages: Vec<Stage>,

    /// What happens when a stage fails. Return: finished stages go back to the last good revision.
    /// Stay: everything stays where it is.
    #[serde(default)]
    pub on_failure: OnFailure,

    /// What happens to revisions that arrive meanwhile. Latest: only the newest one waits. Every:
    /// each is taken through, in order.
    #[serde(default)]
    pub queue: QueuePolicy,

    /// Revisions that a person has approved for a stage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub approve: Vec<Approval>,

    /// Give the present rollout up, and return to the last good revision.
    #[serde(default)]
    pub abort: bool,
}

/// One stage.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stage {
    /// Its name.
    pub name: ObjectName,

    /// The Flux Kustomization that the stage moves.
    pub kustomization_ref: NamespacedReference,

    /// The folder that it applies, if not the one that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<RepositoryPath>,

    /// The stages that have to be good first; the one before if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub depends_on: Vec<ObjectName>,

    /// What is checked before anything is applied.
    #[serde(default = "every_check")]
    #[schemars(length(max = 8))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub checks: Vec<StageCheck>,

    /// How long it may take to become healthy.
    #[serde(default = "five_minutes")]
    pub health_timeout: Duration,

    /// How long it has to stay healthy.
    #[serde(default = "two_minutes")]
    pub soak: Duration,

    /// Questions that have to be answered with yes before the next stage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub gates: Vec<Probe>,

    /// Whether a person has to approve each revision for this stage.
    #[serde(default)]
    pub approval: ApprovalPolicy,
}

/// What is checked before a stage is applied.
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
pub enum StageCheck {
    /// The revision builds.
    BuildSuccess,
    /// No object changes in a way that the API server refuses.
    Compatibility,
    /// The API server takes every object in a dry run.
    ServerDryRun,
}

/// Whether a person has to approve.
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
pub enum ApprovalPolicy {
    /// No.
    #[default]
    Automatic,
    /// Yes, in `spec.approve`.
    Required,
}

/// The approval of one revision for one stage.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// The stage.
    pub stage: ObjectName,

    /// The revision.
    pub revision: CommitId,
}

/// What happens when a stage fails.
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
pub enum OnFailure {
    /// Finished stages go back.
    #[default]
    Return,
    /// Everything stays.
    Stay,
}

/// What happens to revisions that arrive meanwhile.
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
pub enum QueuePolicy {
    /// Only the newest waits.
    #[default]
    Latest,
    /// Each is taken through.
    Every,
}

/// How far a rollout has come.
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
pub enum RolloutPhase {
    /// Nothing to do.
    #[default]
    Idle,
    /// Stages move.
    Progressing,
    /// A stage waits for a person.
    AwaitingApproval,
    /// Finished stages go back.
    Returning,
    /// Every stage has the revision.
    Succeeded,
    /// A stage failed.
    Failed,
    /// It was given up.
    Aborted,
}

/// How far one stage has come.
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
pub enum StagePhase {
    /// Waits for stages before it.
    #[default]
    Waiting,
    /// Is being checked.
    Checking,
    /// Waits for a person.
    AwaitingApproval,
    /// Is being applied.
    Applying,
    /// Has to stay healthy.
    Soaking,
    /// Has the revision.
    Good,
    /// Goes back.
    Returning,
    /// Has gone back.
    Returned,
    /// Failed.
    Failed,
}

/// Where the stages stand.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct StagedKustomizationStatus {
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// Ready, Reconciling and Stalled, as kstatus reads them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,

    /// The last value of the annotation `holdfast.dev/requestedAt` that led to a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub last_handled_requested_at: Option<String>,

    /// How far the rollout has come.
    #[serde(default)]
    pub phase: RolloutPhase,

    /// The revision that is rolled out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub revision: Option<String>,

    /// The stage that it has come to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub stage: Option<String>,

    /// The last revision that passed every stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub last_good_revision: Option<String>,

    /// Revisions that wait.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), inner(length(max = 256)))]
    pub queued: Vec<String>,

    /// Each stage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub stages: Vec<StageStatus>,
}

/// Where one stage stands.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct StageStatus {
    /// The stage.
    #[schemars(length(max = 253))]
    pub name: String,

    /// How far it has come.
    #[serde(default)]
    pub phase: StagePhase,

    /// The revision that it has, or is to have.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub revision: Option<String>,

    /// When the phase began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,

    /// When the phase is given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Time>,

    /// More about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub message: Option<String>,

    /// What does not go back with the revision, such as data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(max = 1024)))]
    pub does_not_return: Vec<String>,
}

/// Why a rollout is ready, or is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, Display)]
pub enum StagedKustomizationReason {
    /// Every stage has the revision.
    RolloutSucceeded,
    /// Stages move.
    Progressing,
    /// A stage waits for a person.
    WaitingForApproval,
    /// The source does not exist or has no revision.
    SourceNotReady,
    /// A Kustomization does not exist.
    KustomizationNotFound,
    /// Stages wait for each other in a circle.
    CircularStages,
    /// A check failed.
    CheckFailed,
    /// A stage did not become healthy.
    Unhealthy,
    /// A gate was not answered with yes.
    GateFailed,
    /// Finished stages are back on the last good revision.
    Returned,
    /// It was given up.
    Aborted,
    /// `spec.suspend` is set.
    Suspended,
}

conditioned!(StagedKustomization);

fn every_check() -> Vec<StageCheck> {
    vec![StageCheck::BuildSuccess, StageCheck::Compatibility, StageCheck::ServerDryRun]
}

fn five_minutes() -> Duration {
    "5m".into()
}

fn two_minutes() -> Duration {
    "2m".into()
}
