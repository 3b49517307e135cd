//! `HandsOff`: the one switch that stops every automatic action.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use crate::condition::conditioned;

/// Until when Holdfast keeps its hands off, and why.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, CustomResource, KubeSchema)]
#[kube(
    group = "holdfast.dev",
    version = "v1alpha1",
    kind = "HandsOff",
    status = "HandsOffStatus",
    derive = "PartialEq",
    category = "holdfast",
    shortname = "ho",
    plural = "handsoffs",
    doc = "HandsOff stops every automatic action of Holdfast in the cluster until a time: no cure runs, no upgrade starts by itself, no drill begins. Operations that are under way finish or are compensated, so that nothing is left half done. There is one, named \"cluster\"; delete it, or let it run out, to go on.",
    validation = Rule::new("self.metadata.name == 'cluster'").message("HandsOff is the one switch of the whole cluster: write metadata.name: cluster"),
    printcolumn(name = "Until", type_ = "string", json_path = ".spec.until"),
    printcolumn(name = "Active", type_ = "boolean", json_path = ".status.active"),
    printcolumn(name = "Reason", type_ = "string", json_path = ".spec.reason"),
    printcolumn(name = "By", type_ = "string", json_path = ".metadata.annotations.holdfast\\.dev/requested-by", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct HandsOffSpec {
    /// Without effect while true: automatic actions go on although the object is there.
    #[serde(default)]
    pub suspend: bool,

    /// The time at which automatic actions may begin again, in RFC 3339, for example
    /// `2026-11-15T14:00:00Z`.
    pub until: Time,

    /// Why: shown wherever an action did not happen because of this object.
    #[schemars(length(max = 1024))]
    #[x_kube(validation = Rule::new("self.matches('[^ ]')").message("say why automatic actions stop: write spec.reason, such as \"database migration until 14:00\""))]
    pub reason: String,
}

/// What Holdfast has made of it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct HandsOffStatus {
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// Ready, Reconciling and Stalled, as kstatus reads them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,

    /// Whether automatic actions are stopped at this moment.
    #[serde(default)]
    pub active: bool,

    /// How many actions did not happen because of it.
    #[serde(default)]
    pub withheld: i64,
}

/// Why the switch is, or is not, in effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, Display)]
pub enum HandsOffReason {
    /// Automatic actions are stopped.
    Active,
    /// `spec.until` has passed.
    Expired,
    /// `spec.suspend` is set.
    Suspended,
}

conditioned!(HandsOff);
