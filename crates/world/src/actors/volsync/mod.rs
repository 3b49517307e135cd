//! VolSync: replication sources and destinations with the restic mover, and its volume populator.
//!
//! It creates what VolSync creates (Jobs, claims, snapshots, service accounts); the containers of its
//! Jobs are played by the movers.

mod cycle;
mod destination;
mod parts;
mod populator;
mod source;

use super::kinds;
use super::process::Process;

/// VolSync's API group and version.
pub const API: &str = "volsync.backube/v1alpha1";

/// VolSync's controller. Needs its CRDs and those of snapshots.
pub fn volsync() -> Process {
    Process {
        name: "volsync",
        watches: vec![
            kinds::replication_sources(),
            kinds::replication_destinations(),
            kinds::claims(),
            kinds::volumes(),
            kinds::storage_classes(),
            kinds::snapshots(),
            kinds::jobs(),
            kinds::pods(),
        ],
        loops: vec![
            Box::new(cycle::Cycle::new(source::Source)),
            Box::new(cycle::Cycle::new(destination::Destination)),
            Box::new(populator::Populator),
        ],
    }
}
