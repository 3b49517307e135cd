//! `Fence`: which pods may mount a claim while an operation is under way.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use crate::condition::conditioned;
use crate::reference::ObjectReference;
use crate::text::ObjectName;

/// Which claims are fenced, and what may start on them.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, CustomResource, KubeSchema)]
#[kube(
    group = "holdfast.dev",
    version = "v1alpha1",
    kind = "Fence",
    status = "FenceStatus",
    derive = "PartialEq",
    category = "holdfast",
    shortname = "fence",
    namespaced,
    doc = "Fence forbids pods to mount claims while an operation works on their data. Holdfast writes it, in the namespace of the claims; the admission policy reads it, so that it holds while Holdfast is down. Deleting it by hand lets anything start on data that may be half restored.",
    printcolumn(name = "Claims", type_ = "string", json_path = ".spec.claims"),
    printcolumn(name = "Operation", type_ = "string", json_path = ".spec.operation.name"),
    printcolumn(name = "Proven", type_ = "date", json_path = ".status.provenAt"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.operation == oldSelf.operation").message("a fence belongs to one operation: write another Fence for another operation"),
    validation = Rule::new("oldSelf.claims.all(claim, claim in self.claims)").message("a claim stays fenced until the fence is removed: leave the claims that are there and only add new ones")
)]
pub struct FenceSpec {
    /// Lift the fence without removing it. Whatever starts then may write to data that is being
    /// worked on.
    #[serde(default)]
    pub suspend: bool,

    /// The claims of this namespace that no pod may mount.
    #[schemars(length(min = 1, max = 64))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub claims: Vec<ObjectName>,

    /// Pods that may mount them after all, by the hash of their template: the label
    /// `pod-template-hash` or `controller-revision-hash`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 63)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub allow: Vec<String>,

    /// The operation that needs the fence.
    pub operation: ObjectReference,
}

/// Whether the fence holds.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct FenceStatus {
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// Ready, Reconciling and Stalled, as kstatus reads them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,

    /// When a dry run last showed that a pod is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proven_at: Option<Time>,
}

/// Why a fence is proven, or is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, Display)]
pub enum FenceReason {
    /// A dry run of a pod was refused.
    Proven,
    /// A dry run of a pod was let through.
    NotEnforced,
    /// The policy or its binding is missing.
    PolicyMissing,
    /// It was not tried yet.
    NotProvenYet,
    /// `spec.suspend` is set.
    Suspended,
}

conditioned!(Fence);
