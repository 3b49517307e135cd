//! The custom resources of Holdfast: kinds, phases, conditions and reasons, and typed views of the
//! foreign kinds that Holdfast reads. Nothing here does I/O; the definitions in `deploy/crds` are
//! generated from these types, and their doc comments are what `kubectl explain` shows.
#![forbid(unsafe_code)]
#![allow(
    clippy::duplicated_attributes,
    reason = "printer columns repeat their types, which the lint takes for one attribute"
)]

pub mod app_status;
pub mod backup_class;
pub mod cluster_watch_rule;
pub mod condition;
pub mod crds;
pub mod fence;
pub mod foreign;
pub mod git_destination;
pub mod hands_off;
pub mod incident;
pub mod journal;
pub mod managed_app;
pub mod names;
pub mod probe;
pub mod protected_volume;
pub mod prune_hold;
pub mod reconcile_record;
pub mod recording;
pub mod recovery_policy;
pub mod reference;
pub mod rollback_request;
pub mod staged_kustomization;
pub mod text;
pub mod timeline;
pub mod upgrade_request;
pub mod verdict;
pub mod volume_operation;
pub mod watch_rule;
pub mod window;

/// The API group of every kind.
pub const GROUP: &str = "holdfast.dev";
/// The version of every kind.
pub const VERSION: &str = "v1alpha1";
