//! What happened to an app, in the order in which it happened.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, EnumString, IntoStaticStr};

use crate::reference::ObjectReference;

/// The most entries that an object keeps; older ones can be rebuilt from git, snapshots and Flux.
pub const KEPT: usize = 64;

/// What an entry speaks of.
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
pub enum TimelineKind {
    /// A commit, ours or another's, that changes the app.
    Commit,
    /// A snapshot of its data.
    Snapshot,
    /// Flux applied a revision.
    Reconcile,
    /// Its health changed.
    Health,
    /// Somebody changed it past git.
    Drift,
    /// A restore of its data was proven, or failed.
    Proof,
    /// Data came back from a backup or a snapshot.
    Restore,
    /// Data was backed up.
    Backup,
    /// An upgrade, a rollback or a cure began or ended.
    Operation,
    /// Something got stuck, or was unstuck.
    Incident,
}

/// The capability that wrote an entry.
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
    EnumIter,
    EnumString,
)]
#[strum(ascii_case_insensitive)]
pub enum Capability {
    /// Forward with a net, back with the data.
    Upgrade,
    /// Backups, and restores before the app starts.
    Protect,
    /// Causes and cures.
    Guard,
    /// Cluster to git.
    Record,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimelineEntry {
    /// When it happened.
    pub at: Time,

    /// Commit, Snapshot, Reconcile, Health, Drift, Proof, Restore, Backup, Operation or Incident.
    pub kind: TimelineKind,

    /// The capability that saw it.
    pub capability: Capability,

    /// What happened, in one line.
    #[schemars(length(max = 512))]
    pub summary: String,

    /// The git or Flux revision that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub revision: Option<String>,

    /// The object that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectReference>,

    /// Who did it, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub actor: Option<String>,
}
