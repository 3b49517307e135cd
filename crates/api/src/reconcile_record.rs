//! `ReconcileRecord`: what Guard remembers of a Flux object.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use crate::condition::conditioned;
use crate::reference::{LocalReference, ObjectReference};
use crate::text::Duration;

/// Which Flux object, and when it counts as stuck.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, CustomResource, KubeSchema)]
#[kube(
    group = "holdfast.dev",
    version = "v1alpha1",
    kind = "ReconcileRecord",
    status = "ReconcileRecordStatus",
    derive = "PartialEq",
    category = "holdfast",
    shortname = "rr",
    namespaced,
    doc = "ReconcileRecord is what Holdfast remembers of a Flux object of the same name and namespace: the last good revision, the last attempt, and whether it is stuck. Flux's own status is never written. It can be deleted; what is remembered of the past is then lost.",
    printcolumn(name = "Kind", type_ = "string", json_path = ".spec.objectRef.kind"),
    printcolumn(name = "Health", type_ = "string", json_path = ".status.health"),
    printcolumn(name = "Good", type_ = "string", json_path = ".status.lastGoodRevision"),
    printcolumn(
        name = "Attempt",
        type_ = "string",
        json_path = ".status.lastAttempt.revision",
        priority = 1
    ),
    printcolumn(name = "Failures", type_ = "integer", json_path = ".status.failures"),
    printcolumn(name = "Since", type_ = "date", json_path = ".status.since"),
    printcolumn(name = "Message", type_ = "string", json_path = ".status.message", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.objectRef == oldSelf.objectRef").message("a record is about one object: write another ReconcileRecord for another one"),
    validation = Rule::new("!has(self.objectRef.namespace)").message("a record lies in the namespace of its object: leave spec.objectRef.namespace out")
)]
pub struct ReconcileRecordSpec {
    /// Pause: Holdfast looks at the object no more until this is false again. The object is not watched for being stuck.
    #[serde(default)]
    pub suspend: bool,

    /// The Flux object, of this namespace.
    pub object_ref: ObjectReference,

    /// How long it may take until it counts as stuck; told by its own interval, retry interval and
    /// timeout if left out, and never below five minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stuck_after: Option<Duration>,
}

/// Whether a Flux object gets along.
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
pub enum ReconcileHealth {
    /// It has applied what its source offers.
    Healthy,
    /// It is on the way.
    Progressing,
    /// It waits for something else: suspended, held, restoring, or dependent.
    Waiting,
    /// It has not come further for too long.
    Stuck,
    /// It fails, and tries again.
    Failing,
    /// It cannot be told.
    #[default]
    Unknown,
}

/// What is remembered.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReconcileRecordStatus {
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

    /// Whether the object gets along.
    #[serde(default)]
    pub health: ReconcileHealth,

    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,

    /// What it waits for, or what keeps it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub message: Option<String>,

    /// The last revision that was applied and healthy, and not under a hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub last_good_revision: Option<String>,

    /// When that was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_good_at: Option<Time>,

    /// The last attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_attempt: Option<ReconcileAttempt>,

    /// How many attempts in a row have failed.
    #[serde(default)]
    pub failures: i64,

    /// How often it got stuck and came free again.
    #[serde(default)]
    pub recoveries: i64,

    /// The open incident.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incident_ref: Option<LocalReference>,

    /// The last attempts, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub history: Vec<ReconcileAttempt>,
}

/// One attempt.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReconcileAttempt {
    /// The revision.
    #[schemars(length(max = 256))]
    pub revision: String,

    /// When it began.
    pub at: Time,

    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Time>,

    /// Whether it worked; left out while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub succeeded: Option<bool>,

    /// What Flux said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub message: Option<String>,
}

/// Why a record is ready, or is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, Display)]
pub enum ReconcileRecordReason {
    /// The object is watched.
    Watched,
    /// The object is stuck.
    Stuck,
    /// The object does not exist.
    ObjectNotFound,
    /// `spec.suspend` is set.
    Suspended,
    /// The API server could not be asked.
    NotObserved,
}

conditioned!(ReconcileRecord);
