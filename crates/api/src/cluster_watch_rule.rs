//! `ClusterWatchRule`: what of the cluster becomes commits.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use crate::condition::conditioned;
use crate::recording::{
    Direct, FluxManaged, Ignore, Prune, RecordingStatus, ResourceRule, Secrets, compare_every,
    layout,
};
use crate::reference::FullReference;
use crate::text::{Duration, NamespacePattern, RepositoryPath};

/// Which objects of the cluster go where.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, CustomResource, KubeSchema)]
#[kube(
    group = "holdfast.dev",
    version = "v1alpha1",
    kind = "ClusterWatchRule",
    status = "RecordingStatus",
    derive = "PartialEq",
    category = "holdfast",
    shortname = "cwr",
    doc = "ClusterWatchRule records objects of the cluster and of many namespaces: each change in the cluster becomes a commit by the person who made it. Deleting the rule removes the files that no other rule wants.",
    printcolumn(name = "Destination", type_ = "string", json_path = ".spec.destinationRef.name"),
    printcolumn(name = "Scope", type_ = "string", json_path = ".spec.scope"),
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
#[x_kube(validation = Rule::new("self.scope != 'Cluster' || (!has(self.namespaceSelector) && (!has(self.namespaces) || self.namespaces.size() == 0))").message("scope: Cluster records objects that have no namespace: leave spec.namespaces and spec.namespaceSelector out, or write scope: Namespaced or All"))]
pub struct ClusterWatchRuleSpec {
    /// Pause: Holdfast looks at the object no more until this is false again. Nothing is recorded meanwhile; what changed is compared afterwards.
    #[serde(default)]
    pub suspend: bool,

    /// Only report what would be recorded.
    #[serde(default)]
    pub observe: bool,

    /// The GitDestination.
    pub destination_ref: FullReference,

    /// Cluster: objects without a namespace. Namespaced: objects of namespaces. All: both.
    #[serde(default)]
    pub scope: RecordingScope,

    /// The namespaces by name, where `*` stands for any characters; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub namespaces: Vec<NamespacePattern>,

    /// The namespaces by their labels; any if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,

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

/// Which objects a rule of the cluster is for.
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
pub enum RecordingScope {
    /// Without a namespace.
    #[default]
    Cluster,
    /// Of namespaces.
    Namespaced,
    /// Both.
    All,
}

conditioned!(ClusterWatchRule);
