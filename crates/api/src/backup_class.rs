//! `BackupClass`: how volumes are backed up and restored.

use k8s_openapi::api::core::v1::{Affinity, PodSecurityContext, ResourceRequirements, Toleration};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use crate::condition::conditioned;
use crate::reference::FullReference;
use crate::text::{Duration, Namespace, ObjectName, Schedule, TimeZone};

/// Engine, schedule, retention and repository of a class of volumes.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, CustomResource, KubeSchema)]
#[kube(
    group = "holdfast.dev",
    version = "v1alpha1",
    kind = "BackupClass",
    status = "BackupClassStatus",
    derive = "PartialEq",
    category = "holdfast",
    shortname = "bc",
    plural = "backupclasses",
    doc = "BackupClass says how volumes are backed up and restored. A claim with the label backup: hourly uses the BackupClass hourly.",
    printcolumn(name = "Engine", type_ = "string", json_path = ".spec.engine"),
    printcolumn(name = "Schedule", type_ = "string", json_path = ".spec.schedule"),
    printcolumn(name = "Volumes", type_ = "integer", json_path = ".status.volumes"),
    printcolumn(name = "Protected", type_ = "integer", json_path = ".status.protected"),
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
    validation = Rule::new("self.engine != 'VolSync' || has(self.repository.secretRef)").message("VolSync needs a repository: write spec.repository.secretRef, a Secret with RESTIC_REPOSITORY and RESTIC_PASSWORD"),
    validation = Rule::new("self.engine != 'Kopiur' || has(self.repository.kopiur)").message("kopiur needs a repository: write spec.repository.kopiur with the kind and name of its Repository or ClusterRepository"),
    validation = Rule::new("self.engine == oldSelf.engine").message("the engine of a class is part of where its backups are: write a new BackupClass for another engine")
)]
pub struct BackupClassSpec {
    /// Pause: Holdfast looks at the object no more until this is false again. No new backup begins; restores go on.
    #[serde(default)]
    pub suspend: bool,

    /// What moves the data.
    pub engine: Engine,

    /// When volumes are backed up, as five cron fields. `H` is a minute of the volume's own, the
    /// same every time, so that not all volumes begin at once: `H * * * *` is hourly.
    pub schedule: Schedule,

    /// The time zone of the schedule.
    #[serde(default = "utc")]
    pub time_zone: TimeZone,

    /// How many backups are kept.
    pub retention: Retention,

    /// Where the backups are.
    pub repository: Repository,

    /// How a moment of the volume is caught. Snapshot and Clone copy it first; Direct reads it
    /// while the app writes.
    #[serde(default)]
    pub copy_method: CopyMethod,

    /// The VolumeSnapshotClass; the driver's default if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot_class_name: Option<ObjectName>,

    /// The cache of the engine.
    #[serde(default)]
    pub cache: Cache,

    /// The pods that move the data.
    #[serde(default)]
    pub mover: Mover,

    /// Restores that prove that the backups can be used; none if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drill: Option<Drill>,

    /// How many run at once.
    #[serde(default)]
    pub concurrency: Concurrency,

    /// How old a new volume has to be before its first backup, so that an empty one does not push
    /// out good history.
    #[serde(default = "two_hours")]
    pub min_age: Duration,

    /// What a claim does while the repository cannot be asked: it waits.
    #[serde(default)]
    pub on_unknown: OnUnknown,

    /// By how many percent a backup may be smaller than the one before until retention stops and
    /// an alarm is raised; 0 never.
    #[serde(default = "shrink_alarm")]
    #[schemars(range(min = 0, max = 100))]
    pub shrink_alarm_percent: i32,

    /// How long one backup may take until it counts as failed.
    #[serde(default = "half_day")]
    pub timeout: Duration,
}

/// Backup engines.
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
pub enum Engine {
    /// VolSync with restic.
    VolSync,
    /// kopiur.
    Kopiur,
}

/// How many backups are kept. Retention is never absent, since engines then keep one backup, or
/// all.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.latest + self.hourly + self.daily + self.weekly + self.monthly + self.yearly > 0").message("say how many backups are kept: write at least one of latest, hourly, daily, weekly, monthly and yearly, such as daily: 7"))]
pub struct Retention {
    /// The newest ones.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100_000))]
    pub latest: i32,

    /// One for each of so many hours.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100_000))]
    pub hourly: i32,

    /// One for each of so many days.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100_000))]
    pub daily: i32,

    /// One for each of so many weeks.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100_000))]
    pub weekly: i32,

    /// One for each of so many months.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100_000))]
    pub monthly: i32,

    /// One for each of so many years.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100_000))]
    pub yearly: i32,
}

/// Where the backups are.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Repository {
    /// With VolSync: the Secret that each volume's own is made from. `RESTIC_REPOSITORY` in it is
    /// the place without the volume's path; `RESTIC_PASSWORD` and the store's credentials are
    /// taken as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<FullReference>,

    /// With kopiur: its repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kopiur: Option<KopiurRepository>,

    /// The path of one volume below that, with `{namespace}` and `{claim}`.
    #[serde(default = "layout")]
    #[schemars(length(max = 512))]
    #[x_kube(validation = Rule::new("self.contains('{namespace}') && self.contains('{claim}')").message("two volumes must not share a path: write both {namespace} and {claim}, such as {namespace}/{claim}"))]
    pub path: String,

    /// How credentials reach the volume's namespace. FanOut: a Secret is written there. Projected:
    /// the engine projects them itself.
    #[serde(default)]
    pub credentials: CredentialDelivery,
}

/// A repository of kopiur.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.kind != 'Repository' || has(self.namespace)").message("a Repository lies in a namespace: write spec.repository.kopiur.namespace, or kind: ClusterRepository"))]
pub struct KopiurRepository {
    /// Repository or ClusterRepository.
    #[serde(default)]
    pub kind: KopiurRepositoryKind,

    /// Its name.
    pub name: ObjectName,

    /// Its namespace, of a Repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Namespace>,
}

/// Kinds of kopiur's repositories.
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
pub enum KopiurRepositoryKind {
    /// Of a namespace.
    Repository,
    /// Of the cluster.
    #[default]
    ClusterRepository,
}

/// How credentials reach a namespace.
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
pub enum CredentialDelivery {
    /// A Secret is written there.
    #[default]
    FanOut,
    /// The engine projects them.
    Projected,
}

/// How a moment of the volume is caught.
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
pub enum CopyMethod {
    /// By a snapshot.
    #[default]
    Snapshot,
    /// By a clone.
    Clone,
    /// Not at all: the live volume is read.
    Direct,
}

/// The cache of the engine.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cache {
    /// Its size; the engine's own default if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Quantity>,

    /// Its storage class; the volume's own if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_class_name: Option<ObjectName>,
}

/// The pods that move the data. What a backup ran with is recorded and used for the restore again.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Mover {
    /// As whom it runs; found from the app's pods if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_context: Option<PodSecurityContext>,

    /// Run as root with the rights to read and restore any owner.
    #[serde(default)]
    pub privileged: bool,

    /// Its service account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<ObjectName>,

    /// What it may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceRequirements>,

    /// Where it may run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Affinity>,

    /// What it tolerates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub tolerations: Vec<Toleration>,
}

/// Restores that prove the backups.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Drill {
    /// When a volume is drilled, with `H` as a value of its own.
    pub schedule: Schedule,

    /// How many percent of the files are compared by their content.
    #[serde(default = "sample")]
    #[schemars(range(min = 0, max = 100))]
    pub sample_percent: i32,

    /// Also start the app there, without a network to the outside, and run its probes.
    #[serde(default)]
    pub start_app: bool,

    /// The storage class to restore to; the volume's own if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_class_name: Option<ObjectName>,

    /// How long it may take.
    #[serde(default = "half_day")]
    pub timeout: Duration,
}

/// How many run at once. Restores go before backups.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Concurrency {
    /// Backups of this class.
    #[serde(default = "four")]
    #[schemars(range(min = 1, max = 256))]
    pub backups: i32,

    /// Restores of this class.
    #[serde(default = "four")]
    #[schemars(range(min = 1, max = 256))]
    pub restores: i32,

    /// Drills of this class.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 256))]
    pub drills: i32,
}

impl Default for Concurrency {
    fn default() -> Self {
        Self { backups: four(), restores: four(), drills: one() }
    }
}

/// What a claim does while the repository cannot be asked.
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
pub enum OnUnknown {
    /// It waits.
    #[default]
    Wait,
}

/// What the class is used for.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackupClassStatus {
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

    /// How many claims use the class.
    #[serde(default)]
    pub volumes: i64,

    /// How many of them have a backup that is young enough.
    #[serde(default)]
    pub protected: i64,

    /// How many wait because the repository could not be asked.
    #[serde(default)]
    pub unknown: i64,

    /// How many wait for a person.
    #[serde(default)]
    pub blocked: i64,

    /// How many were proven by a drill within its period.
    #[serde(default)]
    pub proven: i64,
}

/// Why a class is ready, or is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, Display)]
pub enum BackupClassReason {
    /// The engine and the repository's Secret are there.
    Resolved,
    /// `spec.suspend` is set.
    Suspended,
    /// The engine's kinds are not installed.
    EngineNotInstalled,
    /// The repository's Secret or object does not exist.
    RepositoryNotFound,
    /// The Secret lacks the keys that the engine needs.
    SecretKeysInvalid,
    /// The repository could not be asked.
    RepositoryUnreachable,
    /// The snapshot class does not exist.
    SnapshotClassNotFound,
    /// The API server could not be asked.
    NotObserved,
}

conditioned!(BackupClass);

fn utc() -> TimeZone {
    "UTC".into()
}

fn layout() -> String {
    "{namespace}/{claim}".into()
}

fn two_hours() -> Duration {
    "2h".into()
}

fn half_day() -> Duration {
    "12h".into()
}

fn shrink_alarm() -> i32 {
    50
}

fn sample() -> i32 {
    10
}

fn four() -> i32 {
    4
}

fn one() -> i32 {
    1
}
