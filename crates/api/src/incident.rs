//! `Incident`: one stuck thing.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use crate::condition::conditioned;
use crate::journal::Journal;
use crate::recovery_policy::Cure;
use crate::reference::ObjectReference;
use crate::timeline::TimelineEntry;

/// What is stuck, and what a person has said to it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, CustomResource, KubeSchema)]
#[kube(
    group = "holdfast.dev",
    version = "v1alpha1",
    kind = "Incident",
    status = "IncidentStatus",
    derive = "PartialEq",
    category = "holdfast",
    shortname = "inc",
    namespaced,
    doc = "Incident is one stuck thing: its cause with evidence, who is affected, the cure that is proposed with what it could lose, and what came of it. Holdfast opens and closes it, in the namespace of the Flux object. A person releases a cure by spec.approve.",
    printcolumn(name = "Kind", type_ = "string", json_path = ".spec.subject.kind"),
    printcolumn(name = "Name", type_ = "string", json_path = ".spec.subject.name"),
    printcolumn(name = "Cause", type_ = "string", json_path = ".status.cause.id"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Cure", type_ = "string", json_path = ".status.cure.cure"),
    printcolumn(name = "Affected", type_ = "integer", json_path = ".status.blastRadius.count"),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.cause.message",
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.subject == oldSelf.subject").message("an incident is about one object: leave spec.subject as it is"))]
pub struct IncidentSpec {
    /// The Flux object that is stuck, or whose revision is going to be.
    pub subject: ObjectReference,

    /// Releases the proposed cure: the plan and the revision that `status.cure` shows. If either
    /// has changed meanwhile, nothing is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approve: Option<CureApproval>,
}

/// The release of one plan.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct CureApproval {
    /// The id of the plan, from `status.cure.plan`.
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new("self.matches('[^ ]')").message("say which plan is released: copy status.cure.plan into spec.approve.plan"))]
    pub plan: String,

    /// The revision that the plan was made for, from `status.cure.revision`.
    #[schemars(length(max = 256))]
    #[x_kube(validation = Rule::new("self.matches('[^ ]')").message("say for which revision: copy status.cure.revision into spec.approve.revision"))]
    pub revision: String,
}

/// Where an incident stands.
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
pub enum IncidentPhase {
    /// The cause is being looked for.
    #[default]
    Open,
    /// The cure waits for a person.
    AwaitingApproval,
    /// A cure runs.
    Curing,
    /// The cure is being verified.
    Verifying,
    /// A person was called.
    Escalated,
    /// It is over.
    Closed,
}

/// The incident.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct IncidentStatus {
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// Ready, Reconciling and Stalled, as kstatus reads them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,

    /// Where it stands.
    #[serde(default)]
    pub phase: IncidentPhase,

    /// When it was opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opened_at: Option<Time>,

    /// When it was last seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seen_at: Option<Time>,

    /// How often it came back; flapping is one incident.
    #[serde(default)]
    pub occurrences: i64,

    /// When a person was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalated_at: Option<Time>,

    /// When it was closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Time>,

    /// How it was closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<IncidentOutcome>,

    /// What is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,

    /// What the cause was told by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub evidence: Vec<Evidence>,

    /// Who is affected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blast_radius: Option<BlastRadius>,

    /// What is proposed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cure: Option<ProposedCure>,

    /// What was tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub attempts: Vec<Attempt>,

    /// The plan and the steps of the cure that runs, or ran last.
    #[serde(default)]
    pub journal: Journal,

    /// What happened, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub timeline: Vec<TimelineEntry>,
}

/// What is wrong.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cause {
    /// Its id, such as `immutable-field`; `unknown` if nobody knows.
    #[schemars(length(max = 64))]
    pub id: String,

    /// What is wrong, in a sentence.
    #[serde(default)]
    #[schemars(length(max = 2048))]
    pub message: String,

    /// The object at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectReference>,

    /// The field at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub field: Option<String>,

    /// The commit that brought it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub commit: Option<String>,

    /// The file that it stands in.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub file: Option<String>,

    /// The line that it stands on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,

    /// How sure it is.
    #[serde(default)]
    pub certainty: Certainty,
}

/// How sure a cause is.
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
pub enum Certainty {
    /// Told by the structure of what was seen.
    Certain,
    /// Told by a text.
    Likely,
    /// Nobody knows.
    #[default]
    Unknown,
}

/// One thing that was seen.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// Where: a condition, an event, a status cause, a managed field.
    #[schemars(length(max = 64))]
    pub source: String,

    /// The object that it was seen on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectReference>,

    /// What was seen.
    #[schemars(length(max = 2048))]
    pub text: String,

    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
}

/// Who is affected.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct BlastRadius {
    /// How many objects.
    #[serde(default)]
    pub count: i64,

    /// The objects, those that wait for it first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub objects: Vec<ObjectReference>,

    /// What is down now, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub summary: Option<String>,
}

/// What is proposed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProposedCure {
    /// The id of the plan; it changes whenever the plan does.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub plan: String,

    /// The revision that it was made for.
    #[serde(default)]
    #[schemars(length(max = 256))]
    pub revision: String,

    /// The cure; left out for a plan that only a person can release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cure: Option<Cure>,

    /// What would be done, step by step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), inner(length(max = 1024)))]
    pub steps: Vec<String>,

    /// What would be lost, thing by thing; nothing if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 1024)))]
    pub losses: Vec<String>,

    /// Whether it may run by itself, and because of which RecoveryPolicy.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub allowed_by: Option<String>,

    /// What a person can do by hand instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub by_hand: Option<String>,
}

/// One try.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// When it began.
    pub at: Time,

    /// The plan.
    #[schemars(length(max = 64))]
    pub plan: String,

    /// Whether it was only a dry run.
    #[serde(default)]
    pub dry_run: bool,

    /// What came of it.
    pub outcome: AttemptOutcome,

    /// More about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub message: Option<String>,
}

/// What came of a try.
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
pub enum AttemptOutcome {
    /// It runs still.
    Running,
    /// It helped.
    Cured,
    /// It did not help.
    Failed,
    /// It was taken back.
    Compensated,
    /// It was not begun: something had changed.
    Refused,
}

/// How an incident was closed.
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
pub enum IncidentOutcome {
    /// By a cure.
    Cured,
    /// By itself.
    Resolved,
    /// Its object is gone.
    ObjectGone,
    /// It was part of another incident.
    Merged,
}

/// Why an incident is where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, Display)]
pub enum IncidentReason {
    /// The cause is being looked for.
    Investigating,
    /// The cause is known and no cure runs.
    CauseKnown,
    /// Nobody knows the cause.
    CauseUnknown,
    /// A cure waits for a person.
    WaitingForApproval,
    /// The approval is for another plan or revision.
    ApprovalOutdated,
    /// A cure waits for an operation.
    WaitingForOperation,
    /// HandsOff is in effect.
    HandsOff,
    /// A cure runs.
    Curing,
    /// A cure did not help.
    CureFailed,
    /// A person was called.
    Escalated,
    /// It is over.
    Closed,
}

conditioned!(Incident);
