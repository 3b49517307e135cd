//! The stories, one file each.

mod rollout;
mod snapshot;

use crate::scenario::Scenario;

/// Every scenario of the world itself; capabilities bring their own.
pub fn all() -> Vec<Scenario> {
    vec![rollout::scenario(), snapshot::scenario()]
}
