//! `WatchRule`: what of a namespace becomes commits.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::condition::conditioned;
use crate::recording::{
    Direct, FluxManaged, Ignore, Prune, RecordingStatus, ResourceRule, Secrets, compare_every,
    layout,
};
use crate::reference::NamespacedReference;
use crate::text::{Duration, RepositoryPath};

/// Which objects of this namespace go where.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, CustomResource, KubeSchema)]
#[kube(
    group = "holdfast.dev",
    version = "v1alpha1",
    kind = "WatchRule",
    status = "RecordingStatus",
    derive = "PartialEq",
    category = "holdfast",
    shortname = "wr",
    namespaced,
    doc = "WatchRule records objects of its namespace: each change in the cluster becomes a commit by the person who made it. Deleting the rule removes the files that no other rule wants.",
    printcolumn(name = "Destination", type_ = "string", json_path = ".spec.destinationRef.name"),
    printcolumn(name = "Objects", type_ = "integer", json_path = ".status.objects"),
    printcolumn(name = "Queue", type_ = "integer", json_path = ".status.queueDepth"),
    printcolumn(name = "Pushed", type_ = "date", json_path = ".status.lastPush.at"),
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
pub struct WatchRuleSpec {
    /// Pause: Holdfast looks at the object no more until this is false again. Nothing is recorded meanwhile; what changed is compared afterwards.
    #[serde(default)]
    pub suspend: bool,

    /// Only report what would be recorded.
    #[serde(default)]
    pub observe: bool,

    /// The GitDestination.
    pub destination_ref: NamespacedReference,

    /// Which objects are recorded.
    #[schemars(length(min = 1, max = 32))]
    pub rules: Vec<ResourceRule>,

    /// Which of them are left out again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub exclude: Vec<ResourceRule>,

    /// Whose changes and which fields are left out.
    #[serde(default)]
    pub ignore: Ignore,

    /// The folder, inside the destination's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<RepositoryPath>,

    /// Where a new object's file lies, with `{name}`, `{namespace}`, `{namespaceOrCluster}`,
    /// `{group}`, `{version}`, `{kind}` and `{resource}`. An object that has a file already stays
    /// in it.
    #[serde(default = "layout")]
    #[schemars(length(max = 512))]
    #[x_kube(validation = Rule::new("self.contains('{name}') && self.endsWith('.yaml') && !self.startsWith('/') && !self.contains('..')").message("write a path inside the folder that has {name} in it and ends in .yaml, such as {namespaceOrCluster}/{resource}/{name}.yaml"))]
    pub layout: String,

    /// What happens to files of objects that are gone.
    #[serde(default)]
    pub prune: Prune,

    /// What happens to Secrets.
    #[serde(default)]
    pub secrets: Secrets,

    /// What may be committed without a review, where the destination commits directly.
    #[serde(default)]
    pub direct: Direct,

    /// What happens to a change of an object that Flux applies. Report: it is only reported.
    /// PullRequest: it becomes a pull request. Hold: the object is held until the change is in git.
    #[serde(default)]
    pub flux_managed: FluxManaged,

    /// How often the whole scope is compared with git.
    #[serde(default = "compare_every")]
    pub compare_every: Duration,
}

conditioned!(WatchRule);
