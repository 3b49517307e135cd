//! `PruneHold`: deletions by an applier that wait for a person.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use crate::condition::conditioned;
use crate::reference::{ApplierKind, ObjectReference};
use crate::text::{Namespace, ObjectName};

/// What may not be deleted, by whom, and what was released.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, CustomResource, KubeSchema)]
#[kube(
    group = "holdfast.dev",
    version = "v1alpha1",
    kind = "PruneHold",
    status = "PruneHoldStatus",
    derive = "PartialEq",
    category = "holdfast",
    shortname = "ph",
    doc = "PruneHold names objects that an applier is about to delete and that hold data, or are too many to be meant. The admission policy refuses their deletion by the appliers' accounts until a person releases them in spec.release.",
    printcolumn(name = "Applier", type_ = "string", json_path = ".spec.applier.name"),
    printcolumn(name = "Revision", type_ = "string", json_path = ".spec.revision", priority = 1),
    printcolumn(name = "Held", type_ = "integer", json_path = ".status.held"),
    printcolumn(name = "Volumes", type_ = "integer", json_path = ".status.volumes"),
    printcolumn(name = "Data", type_ = "string", json_path = ".status.data"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.applier == oldSelf.applier").message("a hold belongs to one applier: write another PruneHold for another one"),
    validation = Rule::new("!has(self.release) || has(self.release.all) && self.release.all || has(self.release.uids) && self.release.uids.size() > 0").message("say what is released: write spec.release.uids with the uids of spec.objects, or spec.release.all: true")
)]
pub struct PruneHoldSpec {
    /// Lift the hold without removing it: the objects can be deleted.
    #[serde(default)]
    pub suspend: bool,

    /// The applier that would delete them.
    pub applier: HeldApplier,

    /// The revision of the artifact that no longer has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub revision: Option<String>,

    /// The user names whose deletions are refused: those of the appliers, impersonated ones
    /// included.
    #[schemars(length(min = 1, max = 256), inner(length(min = 1, max = 512)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub accounts: Vec<String>,

    /// The objects that are held.
    #[schemars(length(max = 1024))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["uid".into()]))]
    pub objects: Vec<HeldObject>,

    /// What a person has released.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<Release>,
}

/// The applier whose deletions are held.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldApplier {
    /// Kustomization, HelmRelease or ResourceSet.
    pub kind: ApplierKind,

    /// Its name.
    pub name: ObjectName,

    /// Its namespace.
    pub namespace: Namespace,
}

/// One object that is held.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldObject {
    /// The uid of the object.
    #[schemars(length(min = 1, max = 64))]
    pub uid: String,

    /// The API version.
    #[schemars(length(max = 253))]
    pub api_version: String,

    /// The kind.
    #[schemars(length(max = 63))]
    pub kind: String,

    /// The namespace; left out for objects of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub namespace: Option<String>,

    /// The name.
    #[schemars(length(max = 253))]
    pub name: String,

    /// Why it is held.
    #[serde(default)]
    pub reason: HeldReason,
}

/// Why an object is held.
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
pub enum HeldReason {
    /// It holds data.
    #[default]
    HoldsData,
    /// One artifact would delete more objects than the guard allows.
    TooMany,
    /// It is one of Holdfast's own definitions.
    Holdfast,
}

/// What is released, and why.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Release {
    /// The uids that are released.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024), inner(length(max = 64)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub uids: Vec<String>,

    /// Release everything that the hold names.
    #[serde(default)]
    pub all: bool,

    /// Take a snapshot of the volumes before they go.
    #[serde(default)]
    pub snapshot: bool,

    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub reason: Option<String>,
}

/// What the hold keeps.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PruneHoldStatus {
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// Ready, Reconciling and Stalled, as kstatus reads them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,

    /// How many objects are held still.
    #[serde(default)]
    pub held: i64,

    /// How many of them are volumes.
    #[serde(default)]
    pub volumes: i64,

    /// How much the volumes can hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Quantity>,

    /// One sentence: the commit, the objects, the volumes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub summary: Option<String>,

    /// The snapshots that were taken before the release.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub snapshots: Vec<ObjectReference>,

    /// When the last object was released.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub released_at: Option<Time>,

    /// Who released it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub released_by: Option<String>,
}

/// Why a hold is ready, or is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, Display)]
pub enum PruneHoldReason {
    /// The deletions are refused.
    Held,
    /// Some objects are released, some are held.
    PartlyReleased,
    /// Everything is released.
    Released,
    /// The policy or its binding is missing.
    PolicyMissing,
    /// `spec.suspend` is set.
    Suspended,
}

conditioned!(PruneHold);
