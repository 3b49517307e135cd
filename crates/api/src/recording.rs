//! What WatchRule and ClusterWatchRule have in common: what is recorded, how it is written, and
//! what is left out.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector, Time};
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use crate::git_destination::CommitRecord;
use crate::text::Duration;

/// Which objects are recorded.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.resources.all(resource, !resource.contains('/'))").message("subresources are not recorded: write the resource alone, such as deployments"))]
pub struct ResourceRule {
    /// The API groups: `""` is the core group, `*` is every group.
    #[serde(default = "any")]
    #[schemars(length(min = 1, max = 32), inner(length(max = 253)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub api_groups: Vec<String>,

    /// The versions; the one that the server prefers if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(max = 63)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub api_versions: Vec<String>,

    /// The resources in the plural, such as `deployments`; `*` is every resource.
    #[schemars(length(min = 1, max = 64), inner(length(max = 63)))]
    #[x_kube(
        merge_strategy = ListMerge::Set,
        validation = Rule::new("self.all(resource, resource == '*' || resource.matches('^[a-z0-9./-]+$'))").message("write resources in the plural and in lowercase, such as deployments, or *")
    )]
    pub resources: Vec<String>,

    /// What is recorded of them; everything if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 3))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub operations: Vec<Operation>,

    /// Their names, where `*` stands for any characters; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 253)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub names: Vec<String>,

    /// Their labels; any if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,

    /// Their fields, as `kubectl get --field-selector` takes them; any if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub field_selector: Option<String>,
}

/// What happens to an object.
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
#[serde(rename_all = "UPPERCASE")]
#[strum(serialize_all = "UPPERCASE")]
pub enum Operation {
    /// It is made.
    Create,
    /// It is changed.
    Update,
    /// It is removed.
    Delete,
}

/// What is left out.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ignore {
    /// Users whose changes are not recorded, where `*` stands for any characters. The accounts of
    /// Flux and of Holdfast itself are never recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 512)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub users: Vec<String>,

    /// Field managers whose changes are not recorded, where `*` stands for any characters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 128)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub field_managers: Vec<String>,

    /// Fields that are not recorded, such as `spec.replicas` where an autoscaler sets it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub fields: Vec<IgnoredField>,

    /// Leave out objects that another object owns.
    #[serde(default = "yes")]
    pub owned: bool,

    /// Leave out what is in every cluster and in nobody's repository: events, leases, endpoints,
    /// kube-root-ca.crt.
    #[serde(default = "yes")]
    pub noise: bool,
}

impl Default for Ignore {
    fn default() -> Self {
        Self {
            users: Vec::new(),
            field_managers: Vec::new(),
            fields: Vec::new(),
            owned: true,
            noise: true,
        }
    }
}

/// A field that is not recorded.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct IgnoredField {
    /// The field, such as `spec.replicas`.
    #[schemars(length(max = 512))]
    #[x_kube(validation = Rule::new("self.matches('^[^./ ]') && !self.contains(' ')").message("write the field with dots from the top of the object, such as spec.replicas"))]
    pub field: String,

    /// Only of these kinds; of all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), inner(length(max = 63)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub kinds: Vec<String>,
}

/// What happens to files of objects that are gone.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Prune {
    /// Always: they are removed. OnEvent: they are removed when the removal was seen. Never: they
    /// stay.
    #[serde(default)]
    pub mode: PruneMode,

    /// How many files one commit may remove; more wait for a person.
    #[serde(default = "twenty")]
    #[schemars(range(min = 1, max = 100_000))]
    pub max_deletes: i32,
}

impl Default for Prune {
    fn default() -> Self {
        Self { mode: PruneMode::default(), max_deletes: twenty() }
    }
}

/// What happens to files of objects that are gone.
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
pub enum PruneMode {
    /// They are removed.
    #[default]
    Always,
    /// They are removed when the removal was seen.
    OnEvent,
    /// They stay.
    Never,
}

/// What happens to Secrets.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.mode != 'Encrypt' || has(self.recipients) && self.recipients.size() > 0").message("say who can read the Secrets: write at least one age public key in secrets.recipients, or mode: Skip"))]
pub struct Secrets {
    /// Skip: they are not recorded. Encrypt: they are encrypted as SOPS does.
    #[serde(default)]
    pub mode: SecretMode,

    /// The age public keys that can read them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), inner(length(max = 128)))]
    #[x_kube(
        merge_strategy = ListMerge::Set,
        validation = Rule::new("self.all(key, key.matches('^age1[0-9a-z]+$'))").message("write age public keys; each begins with age1, and a key that begins with AGE-SECRET-KEY must never stand here")
    )]
    pub recipients: Vec<String>,
}

/// What happens to Secrets.
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
pub enum SecretMode {
    /// They are not recorded.
    #[default]
    Skip,
    /// They are encrypted.
    Encrypt,
}

/// What may be committed without a review, where the destination commits directly.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Direct {
    /// The kinds; all but those of RBAC if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 63)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub kinds: Vec<String>,

    /// The users, where `*` stands for any characters; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 512)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub users: Vec<String>,
}

/// What happens to a change that Flux will undo.
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
pub enum FluxManaged {
    /// It is only reported.
    #[default]
    Report,
    /// It becomes a pull request.
    PullRequest,
    /// The object is held until the change is in git.
    Hold,
}

/// How a recording goes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordingStatus {
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

    /// How many changes wait to be pushed.
    #[serde(default)]
    pub queue_depth: i64,

    /// For how many seconds the oldest of them has waited.
    #[serde(default)]
    pub lag_seconds: i64,

    /// The last push that the remote took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_push: Option<CommitRecord>,

    /// When the whole scope was last compared with git.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_compared_at: Option<Time>,

    /// How many objects are recorded.
    #[serde(default)]
    pub objects: i64,

    /// How many types are watched.
    #[serde(default)]
    pub watches_running: i64,

    /// How many types could not be watched.
    #[serde(default)]
    pub watches_failed: i64,

    /// The types that could not be watched, and fields that Flux and the cluster disagree on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub problems: Vec<RecordingProblem>,
}

/// Something that is not recorded as it should be.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordingProblem {
    /// The type, object or field.
    #[schemars(length(max = 512))]
    pub subject: String,

    /// What is wrong.
    #[schemars(length(max = 1024))]
    pub message: String,

    /// Since when.
    pub since: Time,
}

/// Why a recording is ready, or is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, Display)]
pub enum RecordingReason {
    /// Everything is pushed.
    Recorded,
    /// Changes are only reported.
    Observing,
    /// Changes wait longer than their window.
    Lagging,
    /// The GitDestination does not exist.
    DestinationNotFound,
    /// The GitDestination does not allow this namespace.
    DestinationNotAllowed,
    /// The GitDestination is not ready.
    DestinationNotReady,
    /// The remote did not take the push.
    PushFailed,
    /// No type fits the rules.
    NothingToWatch,
    /// Some types could not be watched.
    WatchFailed,
    /// Another rule writes to the same place.
    Overlap,
    /// A person and the cluster changed the same field.
    Conflict,
    /// More files would be removed than the guard allows.
    MassDeletionHeld,
    /// A template cannot be read.
    LayoutInvalid,
    /// `spec.suspend` is set.
    Suspended,
}

pub(crate) fn yes() -> bool {
    true
}

fn any() -> Vec<String> {
    vec!["*".into()]
}

fn twenty() -> i32 {
    20
}

pub(crate) fn layout() -> String {
    "{namespaceOrCluster}/{group}/{resource}/{name}.yaml".into()
}

pub(crate) fn compare_every() -> Duration {
    "1h".into()
}
