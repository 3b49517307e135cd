//! The stories, one file each.

mod backup;
mod catalogue;
mod follow;
mod gitops;
mod releases;
mod resources;
mod rollout;
mod snapshot;

use crate::scenario::Scenario;

/// Every scenario; the first is the demo's.
pub fn all() -> Vec<Scenario> {
    vec![
        follow::scenario(),
        rollout::scenario(),
        snapshot::scenario(),
        backup::scenario(),
        gitops::scenario(),
        releases::scenario(),
        catalogue::scenario(),
        resources::scenario(),
    ]
}
