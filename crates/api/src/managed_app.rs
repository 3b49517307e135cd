//! `ManagedApp`: an app that Holdfast takes forward and back.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use crate::app_status::{
    AppHealth, AppLock, AvailableUpdate, CurrentVersion, FoundVolume, OperationSummary,
    QuarantinedVersion,
};
use crate::condition::conditioned;
use crate::probe::{HookJob, Probe};
use crate::reference::{ApplierReference, NamespacedReference, ObjectReference};
use crate::text::{Duration, ObjectName, RepositoryPath};
use crate::timeline::TimelineEntry;
use crate::verdict::Verdict;
use crate::window::Window;

/// What the app is, where its version is written, and how it is taken forward and back.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, CustomResource, KubeSchema)]
#[kube(
    group = "holdfast.dev",
    version = "v1alpha1",
    kind = "ManagedApp",
    status = "ManagedAppStatus",
    derive = "PartialEq",
    category = "holdfast",
    shortname = "mapp",
    namespaced,
    doc = "ManagedApp is an app that Holdfast takes to new versions with its data snapshotted, and back. Holdfast makes one for each HelmRelease or Kustomization that carries the label holdfast.dev/managed: \"true\"; write one only where that is not enough.",
    printcolumn(name = "Version", type_ = "string", json_path = ".status.currentVersion.summary"),
    printcolumn(
        name = "Update",
        type_ = "string",
        json_path = ".status.availableUpdates[0].summary"
    ),
    printcolumn(name = "Verdict", type_ = "string", json_path = ".status.verdict.reversibility"),
    printcolumn(name = "Health", type_ = "string", json_path = ".status.health.verdict"),
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
    validation = Rule::new("has(self.kustomizationRef) || has(self.helmReleaseRef)").message("say what applies the app: write spec.kustomizationRef, spec.helmReleaseRef, or both"),
    validation = Rule::new("self.trigger != 'Gate' || has(self.helmReleaseRef)").message("trigger: Gate keeps the applier held, and a held Kustomization would hold its dependants too: write spec.helmReleaseRef, or trigger: Request"),
    validation = Rule::new("self.quiesce != 'Hooks' || has(self.hooks)").message("quiesce: Hooks needs Jobs to run: write spec.hooks.before and spec.hooks.after, or quiesce: ScaleToZero")
)]
pub struct ManagedAppSpec {
    /// Pause: Holdfast looks at the object no more until this is false again. A running operation goes on to its end.
    #[serde(default)]
    pub suspend: bool,

    /// The Flux Kustomization that applies the app.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kustomization_ref: Option<NamespacedReference>,

    /// The Flux HelmRelease that installs the app.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub helm_release_ref: Option<NamespacedReference>,

    /// What is held during an operation, if that is not the narrowest applier that was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend_ref: Option<ApplierReference>,

    /// Where the app is written in git; found from its Flux source if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<AppGit>,

    /// Where the version is written; found from the app's objects if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub version: Vec<VersionPlace>,

    /// How its volumes are snapshotted and kept.
    #[serde(default)]
    pub volumes: VolumePolicy,

    /// What makes an upgrade begin. Request: an UpgradeRequest. PullRequest: the approval of a pull
    /// request that changes the version, which Holdfast then merges. Gate: any new version that
    /// arrives on the branch.
    #[serde(default)]
    pub trigger: Trigger,

    /// How the app is brought to rest before a snapshot. ScaleToZero: its workloads are stopped.
    /// Hooks: a Job before and one after. None: it goes on writing, and the snapshot is as after a
    /// power cut.
    #[serde(default)]
    pub quiesce: Quiesce,

    /// The Jobs of `quiesce: Hooks`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hooks: Option<QuiesceHooks>,

    /// When the new version counts as healthy.
    #[serde(default)]
    pub health_check: HealthCheck,

    /// Go back by itself, with the data, when the new version does not become healthy.
    #[serde(default = "yes")]
    pub auto_rollback: bool,

    /// Which updates Holdfast requests by itself: none, or up to patch, minor or major versions.
    #[serde(default)]
    pub auto_update: AutoUpdate,

    /// When updates may begin by themselves; always if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub windows: Vec<Window>,

    /// How long after an operation the next update may begin by itself.
    #[serde(default = "hour")]
    pub cool_down: Duration,

    /// Versions that are never proposed, as exact versions or semver ranges.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 128)))]
    pub skip_versions: Vec<String>,

    /// The range that proposed versions have to lie in, as a semver range such as `>=1.4 <2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub pin_version: Option<String>,

    /// An upgrade begins only after a rehearsal of it on clones has passed.
    #[serde(default)]
    pub require_rehearsal: bool,

    /// How long each phase may take.
    #[serde(default)]
    pub timeouts: Timeouts,
}

/// Where the app is written in git.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppGit {
    /// The GitDestination that its commits go to.
    pub destination_ref: NamespacedReference,

    /// The folder of the app's files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<RepositoryPath>,
}

/// One place in which the version is written.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.type == 'Chart' || self.type == 'Value' || has(self.image)").message("several images may stand in one file: write version[].image, such as ghcr.io/example/app"))]
pub struct VersionPlace {
    /// Chart: the version of a Helm chart. ImageTag, ImageDigest, ImageReference: the tag, the
    /// digest, or both in one scalar, of an image. Value: a scalar of any meaning.
    pub r#type: VersionType,

    /// The file, from the root of the repository.
    pub file: RepositoryPath,

    /// The document of the file, as `Kind/name`; the only one that fits if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 320))]
    #[x_kube(validation = Rule::new("self.matches('^[A-Za-z]+/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')").message("write the document as Kind/name, such as HelmRelease/podinfo"))]
    pub document: Option<String>,

    /// The field, such as `spec.values.image.tag` or `spec.containers[name=main].image`.
    #[schemars(length(min = 1, max = 512))]
    #[x_kube(validation = Rule::new("!self.startsWith('.') && !self.startsWith('/') && !self.contains(' ')").message("write the field with dots from the top of the document, such as spec.values.image.tag"))]
    pub field: String,

    /// The image that the place speaks of, without tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub image: Option<String>,
}

/// What stands in a place.
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
pub enum VersionType {
    /// The version of a Helm chart.
    Chart,
    /// The tag of an image.
    ImageTag,
    /// The digest of an image.
    ImageDigest,
    /// A whole image reference, or tag and digest in one scalar.
    ImageReference,
    /// Any scalar.
    Value,
}

/// How volumes are snapshotted and kept.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct VolumePolicy {
    /// Required: no upgrade without a snapshot of every volume. BestEffort: volumes that cannot be
    /// snapshotted are named and left out. Off: no snapshots.
    #[serde(default)]
    pub snapshot: SnapshotPolicy,

    /// The claims of the app, if not those that were found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub pvcs: Vec<ObjectName>,

    /// Claims to leave out, such as caches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub exclude: Vec<ObjectName>,

    /// The VolumeSnapshotClass; the driver's default if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot_class_name: Option<ObjectName>,

    /// Group: all volumes at one moment, where their driver can. PerVolume: one by one while the
    /// app rests.
    #[serde(default)]
    pub consistency: Consistency,

    /// Cut: the app starts once the snapshot is cut. Ready: only once it can be restored from.
    #[serde(default)]
    pub wait_for: WaitFor,

    /// How long the snapshots of an upgrade are kept.
    #[serde(default = "week")]
    pub retention: Duration,

    /// How long volumes that a rollback replaced are kept.
    #[serde(default = "week")]
    pub keep_replaced: Duration,

    /// Upgrade only if a restore of the data was proven within this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub require_proof_within: Option<Duration>,
}

impl Default for VolumePolicy {
    fn default() -> Self {
        Self {
            snapshot: SnapshotPolicy::default(),
            pvcs: Vec::new(),
            exclude: Vec::new(),
            snapshot_class_name: None,
            consistency: Consistency::default(),
            wait_for: WaitFor::default(),
            retention: week(),
            keep_replaced: week(),
            require_proof_within: None,
        }
    }
}

/// Whether snapshots have to be.
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
pub enum SnapshotPolicy {
    /// No upgrade without them.
    #[default]
    Required,
    /// Where possible.
    BestEffort,
    /// Never.
    Off,
}

/// How several volumes are snapshotted.
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
pub enum Consistency {
    /// All at one moment.
    #[default]
    Group,
    /// One by one.
    PerVolume,
}

/// What the app waits for before it starts again.
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
pub enum WaitFor {
    /// The snapshot is cut.
    #[default]
    Cut,
    /// The snapshot can be restored from.
    Ready,
}

/// What makes an upgrade begin.
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
pub enum Trigger {
    /// An UpgradeRequest.
    #[default]
    Request,
    /// An approved pull request.
    PullRequest,
    /// A new version on the branch.
    Gate,
}

/// How the app is brought to rest.
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
pub enum Quiesce {
    /// Its workloads are stopped.
    #[default]
    ScaleToZero,
    /// Jobs do it.
    Hooks,
    /// Not at all.
    None,
}

/// The Jobs that bring the app to rest and wake it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuiesceHooks {
    /// Runs before the snapshot.
    pub before: HookJob,

    /// Runs after it, also when it failed.
    pub after: HookJob,
}

/// When the new version counts as healthy.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthCheck {
    /// How long it may take to become healthy.
    #[serde(default = "five_minutes")]
    pub timeout: Duration,

    /// How long it has to stay healthy.
    #[serde(default = "two_minutes")]
    pub soak: Duration,

    /// Questions beyond what Kubernetes and Flux say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub probes: Vec<Probe>,
}

impl Default for HealthCheck {
    fn default() -> Self {
        Self { timeout: five_minutes(), soak: two_minutes(), probes: Vec::new() }
    }
}

/// Which updates are requested without a person.
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
pub enum AutoUpdate {
    /// None.
    #[default]
    None,
    /// Patch versions.
    Patch,
    /// Minor and patch versions.
    Minor,
    /// All versions.
    Major,
}

/// How long each phase may take. Snapshots and restores are counted from their last progress.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Timeouts {
    /// Until the applier has acknowledged its suspension.
    #[serde(default = "two_minutes")]
    pub suspend: Duration,

    /// Until the app has come to rest.
    #[serde(default = "five_minutes")]
    pub quiesce: Duration,

    /// Until the snapshots are there.
    #[serde(default = "half_hour")]
    pub snapshot: Duration,

    /// Until the data is restored.
    #[serde(default = "half_hour")]
    pub restore: Duration,

    /// Until the commit is pushed.
    #[serde(default = "two_minutes")]
    pub commit: Duration,

    /// Until the revert is pushed.
    #[serde(default = "two_minutes")]
    pub revert: Duration,

    /// Until Flux has applied the revision.
    #[serde(default = "ten_minutes")]
    pub reconcile: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            suspend: two_minutes(),
            quiesce: five_minutes(),
            snapshot: half_hour(),
            restore: half_hour(),
            commit: two_minutes(),
            revert: two_minutes(),
            reconcile: ten_minutes(),
        }
    }
}

/// What is known about the app.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagedAppStatus {
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

    /// The version that git says and the one that runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_version: Option<CurrentVersion>,

    /// Newer versions that were found; empty again when they are gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub available_updates: Vec<AvailableUpdate>,

    /// Whether the pending change, or the last one, can be taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,

    /// Whether the app is healthy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<AppHealth>,

    /// What applies the app, from the nearest applier up to the root.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub appliers: Vec<ApplierReference>,

    /// The objects that make up the app.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    pub members: Vec<ObjectReference>,

    /// How many objects make up the app, also those that `members` has no room for.
    #[serde(default)]
    pub member_count: i64,

    /// The volumes that the app uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub volumes: Vec<FoundVolume>,

    /// The operation that has the app at the moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock: Option<AppLock>,

    /// The last operations, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub last_operations: Vec<OperationSummary>,

    /// Versions that failed and are not tried again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub quarantined: Vec<QuarantinedVersion>,

    /// What happened to the app, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub timeline: Vec<TimelineEntry>,
}

/// Why an app is ready, or is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, Display)]
pub enum ManagedAppReason {
    /// The app runs what git says, and is healthy.
    Healthy,
    /// An operation has the app.
    Operating,
    /// An update is available.
    UpdateAvailable,
    /// `spec.suspend` is set.
    Suspended,
    /// The Kustomization or HelmRelease does not exist.
    ApplierNotFound,
    /// The applier lies in another namespace that has not consented.
    ApplierNotAllowed,
    /// Two appliers claim the app.
    ApplierAmbiguous,
    /// The GitDestination does not exist or is not ready.
    DestinationNotReady,
    /// The version was not found in git.
    VersionNotFound,
    /// What runs is not what git says.
    VersionMismatch,
    /// The app is not healthy.
    Unhealthy,
    /// The app has no workloads, so its health is not known.
    HealthUnknown,
    /// The API server or git could not be asked.
    NotObserved,
}

conditioned!(ManagedApp);

fn yes() -> bool {
    true
}

fn two_minutes() -> Duration {
    "2m".into()
}

fn five_minutes() -> Duration {
    "5m".into()
}

fn ten_minutes() -> Duration {
    "10m".into()
}

fn half_hour() -> Duration {
    "30m".into()
}

fn hour() -> Duration {
    "1h".into()
}

fn week() -> Duration {
    "7d".into()
}
