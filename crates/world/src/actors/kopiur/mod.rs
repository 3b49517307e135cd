//! kopiur: repositories, policies, schedules, snapshots and restores, in both of its dialects.

mod policy;
mod populator;
mod restore;
mod schedule;
mod snapshot;
mod staging;
mod store;
mod work;

use serde_json::{Value, json};

use super::kinds;
use super::movers::Movers;
use super::process::{Desk, Process};
use super::workloads::pods::{forget_update_times, set_condition};

/// kopiur's API group.
pub const GROUP: &str = "kopiur.home-operations.com";

/// How a Restore keeps its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Up to 0.10.8: one claim per Restore, its first resolution pinned for life.
    One,
    /// Later: one record per claim, resolved anew for a claim that was made anew.
    PerClaim,
}

/// What a backup engine can do, as its clients must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "flags, each on its own")]
pub struct Capabilities {
    /// Its API lists snapshots.
    pub can_list: bool,
    /// A snapshot can be exempted from retention.
    pub can_pin: bool,
    /// A restore names a snapshot rather than a time.
    pub restore_by_id: bool,
    /// A failed run stays failed.
    pub terminal_failures: bool,
    /// A restore from a place without a repository makes one.
    pub creates_repo_on_restore: bool,
    /// A new schedule runs at once.
    pub runs_on_create: bool,
    /// A claim made anew is filled from the newest snapshot, not from the first one chosen.
    pub repins: bool,
}

impl Capabilities {
    /// VolSync's.
    pub const VOLSYNC: Self = Self {
        can_list: false,
        can_pin: false,
        restore_by_id: false,
        terminal_failures: false,
        creates_repo_on_restore: true,
        runs_on_create: true,
        repins: true,
    };

    /// kopiur's.
    pub const fn kopiur(dialect: Dialect) -> Self {
        Self {
            can_list: true,
            can_pin: true,
            restore_by_id: true,
            terminal_failures: true,
            creates_repo_on_restore: false,
            runs_on_create: false,
            repins: matches!(dialect, Dialect::PerClaim),
        }
    }
}

/// kopiur's controller. Needs its CRDs and those of snapshots.
pub fn kopiur(movers: &Movers, dialect: Dialect) -> Process {
    let objects = movers.objects();
    Process {
        name: "kopiur",
        watches: vec![
            kinds::kopia_repositories(),
            kinds::kopia_cluster_repositories(),
            kinds::kopia_policies(),
            kinds::kopia_schedules(),
            kinds::kopia_snapshots(),
            kinds::kopia_restores(),
            kinds::claims(),
            kinds::volumes(),
            kinds::snapshots(),
            kinds::jobs(),
            kinds::pods(),
        ],
        loops: vec![
            Box::new(store::Stores::new(objects.clone())),
            Box::new(policy::Policies),
            Box::new(schedule::Schedules),
            Box::new(snapshot::Snapshots::new(objects.clone())),
            Box::new(restore::Restores::new(objects.clone(), dialect)),
        ],
    }
}

/// A name in kopiur's group: `kopiur.home-operations.com/origin`
fn word(name: &str) -> String {
    format!("{GROUP}/{name}")
}

/// Sets one condition of a status.
fn tell(
    status: &mut Value,
    desk: &Desk,
    (kind, holds): (&str, bool),
    (reason, message): (&str, &str),
) {
    let mut conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    set_condition(&mut conditions, &desk.stamp(), (kind, holds, reason, message));
    forget_update_times(&mut conditions);
    conditions.sort_by_key(|condition| condition["type"].as_str().map(str::to_owned));
    status["conditions"] = json!(conditions);
}

/// How far an object is, for those who only read the usual three conditions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trio {
    Ready,
    Reconciling,
    Stalled,
}

fn tell_trio(status: &mut Value, desk: &Desk, state: Trio, (reason, message): (&str, &str)) {
    tell(status, desk, ("Ready", state == Trio::Ready), (reason, message));
    tell(status, desk, ("Reconciling", state == Trio::Reconciling), (reason, message));
    tell(status, desk, ("Stalled", state == Trio::Stalled), (reason, message));
}

/// A status as it was, or a new one.
fn status_of(object: &kube::api::DynamicObject) -> Value {
    let status = object.data["status"].clone();
    if status.is_object() { status } else { json!({}) }
}
