//! `ProtectedVolume`: the ledger of one claim.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use crate::condition::conditioned;
use crate::reference::ObjectReference;
use crate::text::ObjectName;
use crate::timeline::TimelineEntry;

/// How one claim is protected.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, CustomResource, KubeSchema)]
#[kube(
    group = "holdfast.dev",
    version = "v1alpha1",
    kind = "ProtectedVolume",
    status = "ProtectedVolumeStatus",
    derive = "PartialEq",
    category = "holdfast",
    shortname = "pvol",
    namespaced,
    doc = "ProtectedVolume is the ledger of one claim and has its name: whether it is backed up, since when, what it was filled from, and when a restore was last proven. Holdfast makes it for each claim; a labelled claim names it as its data source.",
    printcolumn(name = "Class", type_ = "string", json_path = ".spec.className"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Decision", type_ = "string", json_path = ".status.decision"),
    printcolumn(name = "Backup", type_ = "date", json_path = ".status.lastBackup.at"),
    printcolumn(name = "Proven", type_ = "date", json_path = ".status.proven.at"),
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
    printcolumn(name = "Size", type_ = "string", json_path = ".status.claim.size", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.door != 'Label' || has(self.className)").message("a labelled claim names its class: write spec.className, such as hourly"),
    validation = Rule::new("self.door != 'Adopt' || has(self.engineObjects) && self.engineObjects.size() > 0").message("an adopted claim is protected by an engine's own objects: write them in spec.engineObjects"),
    validation = Rule::new("self.door != 'Exempt' || has(self.reason) && self.reason.matches('[^ ]')").message("say why the claim needs no backup: write spec.reason, such as cache or scratch")
)]
pub struct ProtectedVolumeSpec {
    /// Pause: Holdfast looks at the object no more until this is false again. No backup, drill or restore begins.
    #[serde(default)]
    pub suspend: bool,

    /// How the claim came here. Label: by its label. Adopt: an engine's objects protected it
    /// already. Exempt: it needs no backup. None: nobody has said anything yet.
    #[serde(default)]
    pub door: Door,

    /// The BackupClass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_name: Option<ObjectName>,

    /// The engine's objects that protect an adopted claim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    pub engine_objects: Vec<ObjectReference>,

    /// How far an adopted claim is looked after. Observe: only looked at. Guard: guarded and
    /// drilled. Replace: like a labelled one when it is made anew.
    #[serde(default)]
    pub adoption: Adoption,

    /// What to fill the claim from, if not the newest good backup.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restore: Option<RestorePoint>,

    /// Why the claim is exempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub reason: Option<String>,
}

/// How a claim came into the ledger.
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
pub enum Door {
    /// Nobody has said anything yet.
    #[default]
    None,
    /// By its label.
    Label,
    /// It was protected already.
    Adopt,
    /// It needs no backup.
    Exempt,
}

/// How far an adopted claim is looked after.
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
pub enum Adoption {
    /// Only looked at.
    #[default]
    Observe,
    /// Guarded and drilled.
    Guard,
    /// Like a labelled one when it is made anew.
    Replace,
}

/// Which backup to use; the newest good one if both are left out.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!(has(self.snapshot) && has(self.asOf))").message("a backup is chosen by its id or by time: write either snapshot or asOf"))]
pub struct RestorePoint {
    /// The backup with this id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub snapshot: Option<String>,

    /// The newest backup that is not younger than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Time>,
}

/// Where a protected volume stands.
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
pub enum VolumePhase {
    /// The claim is not there yet.
    #[default]
    Pending,
    /// The repository is being asked.
    Deciding,
    /// Data is coming back.
    Restoring,
    /// An empty volume is being made.
    Provisioning,
    /// The claim is bound and too young for its first backup.
    Settling,
    /// Backups run.
    Protected,
    /// Backups are paused by an operation or by the history guard.
    Held,
    /// The repository could not be asked: it is asked again.
    Unknown,
    /// A person has to decide.
    Blocked,
    /// It needs no backup.
    Exempt,
    /// It has no backup.
    Unprotected,
}

/// What a new claim is filled with.
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
pub enum Decision {
    /// With a backup.
    Restore,
    /// With nothing: there was never anything.
    Fresh,
    /// A person has to decide.
    Blocked,
    /// The repository could not be asked: it is asked again.
    Unknown,
}

/// The ledger.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProtectedVolumeStatus {
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

    /// Where the volume stands.
    #[serde(default)]
    pub phase: VolumePhase,

    /// The claim as it was last seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimRecord>,

    /// Where its backups are, and under which name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,

    /// What the claim is, or was, filled with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,

    /// How the decision came about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided: Option<DecisionRecord>,

    /// The id of the backup that the claim was filled from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub restored_from: Option<String>,

    /// The restore that is under way, or the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restore: Option<RestoreProgress>,

    /// The last backup that is really in the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_backup: Option<BackupRecord>,

    /// When the next backup begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_backup: Option<Time>,

    /// How many backups the repository holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backups: Option<i64>,

    /// The sizes of the last backups, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub sizes: Vec<SizeRecord>,

    /// Whether old backups are kept although retention would remove them, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention_held: Option<HeldRecord>,

    /// The last restore that was tried and compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proven: Option<Proof>,

    /// The uid of the claim that `holdfast.dev/skip-restore` was used up for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub skip_restore_used_for: Option<String>,

    /// What happened to the volume, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub timeline: Vec<TimelineEntry>,
}

/// A claim as it was last seen.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimRecord {
    /// Its uid.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub uid: String,

    /// Pending, Bound or Lost.
    #[serde(default)]
    #[schemars(length(max = 32))]
    pub phase: String,

    /// Its volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub volume: Option<String>,

    /// Its size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Quantity>,

    /// Its storage class.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub storage_class_name: Option<String>,

    /// Whether its class waits for a foreign data source.
    #[serde(default)]
    pub provisioning: Provisioning,

    /// Where the data of a swapped claim came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub origin: Option<String>,
}

/// Whether a storage class waits for a foreign data source.
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
pub enum Provisioning {
    /// It waits until the data is there.
    Waits,
    /// It binds at once: pods are fenced until the data is there.
    BindsAtOnce,
    /// Nobody knows: the claim is blocked.
    #[default]
    Unknown,
}

/// Where backups are, and under which name.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// VolSync or Kopiur.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<crate::backup_class::Engine>,

    /// The place of the repository, without credentials.
    #[serde(default)]
    #[schemars(length(max = 2048))]
    pub repository: String,

    /// The id of the repository, by which another one in the same place is recognised.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub repository_id: Option<String>,

    /// The name of the volume inside the repository, such as `user@host:/path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub name: Option<String>,

    /// The id of this cluster, as the ledger beside the repository has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub cluster: Option<String>,

    /// Counts the owners of the repository.
    #[serde(default)]
    pub epoch: i64,
}

/// How a decision came about.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionRecord {
    /// When.
    pub at: Time,

    /// The uid of the claim that it was made for.
    #[schemars(length(max = 64))]
    pub claim: String,

    /// Why.
    #[schemars(length(max = 1024))]
    pub reason: String,

    /// How it was learnt: from the repository itself, or from the engine's catalogue.
    #[serde(default)]
    pub source: DecisionSource,

    /// How many backups our key opens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backups: Option<i64>,
}

/// How a decision was learnt.
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
pub enum DecisionSource {
    /// From the repository.
    #[default]
    Repository,
    /// From the engine's catalogue.
    Catalogue,
    /// A person decided.
    Person,
}

/// One restore.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestoreProgress {
    /// The id of the backup.
    #[serde(default)]
    #[schemars(length(max = 128))]
    pub snapshot: String,

    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,

    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Time>,

    /// How many bytes the backup has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<i64>,

    /// How many of them are back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restored_bytes: Option<i64>,

    /// What it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub message: Option<String>,
}

/// One backup.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackupRecord {
    /// When it was made.
    pub at: Time,

    /// Its id.
    #[schemars(length(max = 128))]
    pub snapshot: String,

    /// How many bytes it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<i64>,

    /// How many files it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<i64>,
}

/// The size of one backup.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct SizeRecord {
    /// When it was made.
    pub at: Time,

    /// How many bytes it has.
    pub bytes: i64,

    /// How many files it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<i64>,
}

/// Something that is held.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldRecord {
    /// Since when.
    pub since: Time,

    /// Why.
    #[schemars(length(max = 1024))]
    pub reason: String,
}

/// What a drill showed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Proof {
    /// When.
    pub at: Time,

    /// The id of the backup.
    #[schemars(length(max = 128))]
    pub snapshot: String,

    /// What it showed.
    pub verdict: ProofVerdict,

    /// More about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub message: Option<String>,
}

/// What a drill can show.
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
pub enum ProofVerdict {
    /// The restored data is what the backup says.
    Proven,
    /// The app also started on it.
    ProvenWithApp,
    /// The restored data differs.
    Differs,
    /// The restore did not work.
    Failed,
}

/// Why a volume is ready, or is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, Display)]
pub enum ProtectedVolumeReason {
    /// It has a backup that is young enough.
    Protected,
    /// Its first backup has not come yet.
    AwaitingFirstBackup,
    /// Data is coming back.
    Restoring,
    /// The claim is not there.
    ClaimNotFound,
    /// The class is not there.
    ClassNotFound,
    /// The class cannot be used.
    ClassNotReady,
    /// The last backup is too old.
    BackupOverdue,
    /// The last backup failed.
    BackupFailed,
    /// The repository could not be asked.
    RepositoryUnreachable,
    /// The password does not open the repository.
    WrongPassword,
    /// The repository is empty although it once had backups.
    HistoryGone,
    /// Another repository is in its place.
    RepositoryReplaced,
    /// Another cluster writes to the repository.
    ForeignOwner,
    /// The volume was not restored from the history that it would continue.
    HistoryHeld,
    /// A backup is much smaller than the one before.
    Shrunk,
    /// The claim is too small for the backup.
    ClaimTooSmall,
    /// Nobody knows whether its storage class waits for data.
    ProvisioningUnknown,
    /// An operation works on it.
    Fenced,
    /// It needs no backup.
    Exempt,
    /// Nobody has said how it is protected.
    Unprotected,
    /// `spec.suspend` is set.
    Suspended,
}

conditioned!(ProtectedVolume);
