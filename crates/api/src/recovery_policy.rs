//! `RecoveryPolicy`: which cures may run by themselves.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use crate::condition::conditioned;
use crate::reference::ApplierKind;
use crate::text::{Duration, NamespacePattern};
use crate::window::Window;

/// Which causes may be cured where, how, and how often.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, CustomResource, KubeSchema)]
#[kube(
    group = "holdfast.dev",
    version = "v1alpha1",
    kind = "RecoveryPolicy",
    status = "RecoveryPolicyStatus",
    derive = "PartialEq",
    category = "holdfast",
    shortname = "rp",
    plural = "recoverypolicies",
    doc = "RecoveryPolicy says which cures may run without a person, where, and how often. Whatever it says, holdfast.dev/recovery: never on a Flux object keeps cures away from it, and a cure that could lose data always waits for a person.",
    printcolumn(name = "DryRun", type_ = "boolean", json_path = ".spec.dryRun"),
    printcolumn(name = "Rules", type_ = "integer", json_path = ".status.rules"),
    printcolumn(name = "Cured", type_ = "integer", json_path = ".status.cured"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct RecoveryPolicySpec {
    /// Pause: Holdfast looks at the object no more until this is false again. No cure runs because of it.
    #[serde(default)]
    pub suspend: bool,

    /// Only say what would be done. A policy begins so; write false once its Incidents have shown
    /// that it means the right things.
    #[serde(default = "yes")]
    pub dry_run: bool,

    /// Where: which Flux objects; all if left out.
    #[serde(default)]
    pub scope: PolicyScope,

    /// Which causes are cured, and how. The first rule that names the cause is used.
    #[schemars(length(min = 1, max = 64))]
    pub rules: Vec<RecoveryRule>,

    /// When cures may begin; always if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub windows: Vec<Window>,

    /// How many cures run at once.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 64))]
    pub concurrency: i32,

    /// How many cures the policy may begin within an hour; when they are used up, a person is asked.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 1000))]
    pub hourly_budget: i32,

    /// How long an incident may stay open until it is escalated.
    #[serde(default = "quarter_hour")]
    pub escalate_after: Duration,

    /// Where escalations are sent, beside events and conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    pub escalations: Vec<Escalation>,
}

/// Which Flux objects a policy is for.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyScope {
    /// Their namespaces by name, where `*` stands for any characters; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub namespaces: Vec<NamespacePattern>,

    /// Their kinds; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub kinds: Vec<ApplierKind>,

    /// Their labels; any if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
}

/// Which causes are cured, and how.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.causes) && self.causes.size() > 0 || has(self.errorPattern)").message("say what is cured: write rules[].causes, such as immutable-field, or rules[].errorPattern"),
    validation = Rule::new("self.cures.size() > 0").message("say how it is cured: write at least one of rules[].cures, such as Retry")
)]
pub struct RecoveryRule {
    /// The causes, by their ids as Incidents show them; `*` is every cause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 64)))]
    #[x_kube(
        merge_strategy = ListMerge::Set,
        validation = Rule::new("self.all(cause, cause == '*' || cause.matches('^[a-z0-9]+(-[a-z0-9]+)*$'))").message("write the ids of causes as Incidents show them, such as immutable-field, or *")
    )]
    pub causes: Vec<String>,

    /// A regular expression over the error text, for causes that have no id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub error_pattern: Option<String>,

    /// The cures that may run. Retry, DropPinnedField and Expand lose nothing. ParallelObject,
    /// RelabelAndAdopt, DeleteAndCreate, HelmUnlock, HelmRollback and ReturnToLastGood run only
    /// where they are named here.
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub cures: Vec<Cure>,

    /// How often it is tried for one incident.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 20))]
    pub max_attempts: i32,

    /// How long after a try the next one begins; doubled each time.
    #[serde(default = "minute")]
    pub back_off: Duration,

    /// How long after a cure the same object is left alone.
    #[serde(default = "hour")]
    pub cool_down: Duration,
}

/// Cures, in the order in which they are proposed. What fits none of them is planned for a person.
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
pub enum Cure {
    /// Ask the applier to try again.
    Retry,
    /// Take a pinned field out of git.
    DropPinnedField,
    /// Make a volume larger.
    Expand,
    /// Make a new object beside the old one and shift to it.
    ParallelObject,
    /// Relabel what runs so that a new object adopts it.
    RelabelAndAdopt,
    /// Delete an object without state and make it again.
    DeleteAndCreate,
    /// Free a Helm release that an interrupted run left locked.
    HelmUnlock,
    /// Take a Helm release to its last good revision.
    HelmRollback,
    /// Take the applier to its last good revision.
    ReturnToLastGood,
}

/// Where an escalation is sent.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Escalation {
    /// Webhook: a POST of the incident as JSON. Alertmanager: an alert.
    #[serde(default)]
    pub kind: EscalationKind,

    /// The address.
    #[schemars(length(max = 2048))]
    #[x_kube(validation = Rule::new("self.matches('^https?://[^ @]+$')").message("write an http or https address such as http://alertmanager.monitoring.svc:9093, without user and password"))]
    pub address: String,
}

/// Kinds of escalation.
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
pub enum EscalationKind {
    /// A POST of the incident.
    #[default]
    Webhook,
    /// An alert.
    Alertmanager,
}

/// What the policy has done.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecoveryPolicyStatus {
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

    /// How many rules are in use.
    #[serde(default)]
    pub rules: i64,

    /// How many incidents it has cured.
    #[serde(default)]
    pub cured: i64,

    /// How many of its cures did not help.
    #[serde(default)]
    pub failed: i64,

    /// How often each cause was cured, and how often not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["cause".into()]))]
    pub success: Vec<CauseSuccess>,
}

/// How often a cause was cured.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct CauseSuccess {
    /// The cause.
    #[schemars(length(max = 64))]
    pub cause: String,

    /// How often a cure helped.
    pub cured: i64,

    /// How often it did not.
    pub failed: i64,
}

/// Why a policy is ready, or is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, Display)]
pub enum RecoveryPolicyReason {
    /// Cures may run.
    Active,
    /// Cures are only shown.
    DryRun,
    /// A rule names a cause that nobody knows.
    CauseUnknown,
    /// A pattern is no regular expression.
    PatternInvalid,
    /// A selector cannot be read.
    SelectorInvalid,
    /// The budget is used up.
    BudgetExhausted,
    /// HandsOff is in effect.
    HandsOff,
    /// `spec.suspend` is set.
    Suspended,
}

conditioned!(RecoveryPolicy);

fn yes() -> bool {
    true
}

fn one() -> i32 {
    1
}

fn three() -> i32 {
    3
}

fn ten() -> i32 {
    10
}

fn minute() -> Duration {
    "1m".into()
}

fn quarter_hour() -> Duration {
    "15m".into()
}

fn hour() -> Duration {
    "1h".into()
}
