//! What a long operation has set out to do and how far it has come. The plan is frozen before the
//! first side effect, each step is written down before it is taken, and a restarted operator goes
//! on from here.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use crate::reference::{ApplierReference, ObjectReference};
use crate::verdict::Verdict;

/// The journal of one operation.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Journal {
    /// Counts the leaders that have worked on it. A leader that finds a higher epoch than its own
    /// stops.
    #[serde(default)]
    pub epoch: i64,

    /// What will be done, frozen before the first side effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,

    /// What has been done, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128))]
    pub steps: Vec<Step>,
}

/// What an operation will do. It never changes once it is written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Names this plan in commits, fences, holds and approvals.
    #[schemars(length(max = 64))]
    pub id: String,

    /// When it was frozen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frozen_at: Option<Time>,

    /// The commit that it starts from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub base: Option<String>,

    /// What will change in git.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub edits: Vec<PlannedEdit>,

    /// What applies the app, with the suspension as it was found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub appliers: Vec<PlannedHold>,

    /// What will be stopped, with the counts as they were found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128))]
    pub workloads: Vec<PlannedWorkload>,

    /// The volumes that will be snapshotted, restored or changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub volumes: Vec<PlannedVolume>,

    /// What will wait meanwhile because it depends on a held applier.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128))]
    pub dependants: Vec<ObjectReference>,

    /// What would be lost, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 1024)))]
    pub losses: Vec<String>,

    /// How long the app is expected to be away, from earlier operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub expected_downtime: Option<String>,

    /// Whether it can be taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// One value in one file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedEdit {
    /// The file, from the root of the repository.
    #[schemars(length(max = 1024))]
    pub file: String,

    /// The field inside the file.
    #[schemars(length(max = 1024))]
    pub field: String,

    /// What stands there.
    #[schemars(length(max = 1024))]
    pub from: String,

    /// What will stand there.
    #[schemars(length(max = 1024))]
    pub to: String,
}

/// One applier that will be held.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedHold {
    /// The applier.
    pub applier: ApplierReference,

    /// Its uid, so that one of the same name that came later is not taken for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub uid: Option<String>,

    /// Whether it was suspended when it was found; it is left as it was.
    #[serde(default)]
    pub suspended: bool,
}

/// One workload that will be stopped and started.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedWorkload {
    /// The workload.
    pub object: ObjectReference,

    /// Its replicas when it was found; nothing for kinds without a count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,

    /// Whether git says the count, so that Flux brings it back by itself.
    #[serde(default)]
    pub replicas_in_git: bool,
}

/// One volume of the plan.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedVolume {
    /// The claim.
    #[schemars(length(max = 253))]
    pub claim: String,

    /// The namespace of the claim.
    #[schemars(length(max = 63))]
    pub namespace: String,

    /// The uid of the claim.
    #[schemars(length(max = 64))]
    pub uid: String,

    /// The volume that it is bound to.
    #[serde(default)]
    #[schemars(length(max = 253))]
    pub volume: String,

    /// The size of the volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Quantity>,

    /// The snapshot class that will be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub snapshot_class_name: Option<String>,

    /// The snapshot that is taken of it, or that it is restored from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub snapshot: Option<String>,

    /// The claim that the data is restored into before it is exchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub beside: Option<String>,

    /// The reclaim policy of the volume as it was found; it is left as it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub reclaim_policy: Option<String>,
}

/// How far one step has come.
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
pub enum StepState {
    /// Written down, perhaps taken: it is safe to take again.
    #[default]
    Intended,
    /// Taken, and seen to have taken effect.
    Done,
    /// Given up.
    Failed,
    /// Taken back.
    Compensated,
}

/// One step of an operation.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// What it does, for example `Hold` or `Snapshot`.
    #[schemars(length(max = 64))]
    pub name: String,

    /// Intended, Done, Failed or Compensated.
    #[serde(default)]
    pub state: StepState,

    /// How often it was tried.
    #[serde(default)]
    pub attempts: i32,

    /// When it was first written down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,

    /// When it last came a step further; deadlines of slow steps count from here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progressed_at: Option<Time>,

    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Time>,

    /// When it is given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Time>,

    /// What the last try said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub message: Option<String>,

    /// What the step has to remember: commit ids, names, tokens.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64))]
    pub facts: BTreeMap<String, String>,
}
