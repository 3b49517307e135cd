//! Volumes: the binder, a CSI driver whose disks hold real bytes, and snapshots.
//!
//! On the real cluster kube-controller-manager binds and the real snapshot-controller serves snapshots;
//! only [`csi_driver`] plays there.

mod binder;
mod disks;
mod driver;
mod expand;
mod groups;
mod protection;
mod sidecar;
mod snapshots;

use super::kinds;
use super::process::Process;

pub use disks::{Disk, Disks};

/// Provisions what CSI says, and leaves foreign data sources alone.
pub const CSI: &str = "csi.world.holdfast.dev";
/// Provisions at once and does not look at data sources, as provisioners outside CSI do.
pub const LOCAL_PATH: &str = "local-path.world.holdfast.dev";
/// Nothing provisions; volumes are made by hand.
pub const STATIC: &str = "kubernetes.io/no-provisioner";

/// kube-controller-manager's volume loops.
pub fn volume_controllers() -> Process {
    Process {
        name: "volume-controllers",
        watches: vec![kinds::claims(), kinds::volumes(), kinds::storage_classes(), kinds::pods()],
        loops: vec![Box::new(binder::Binder), Box::new(protection::Protection)],
    }
}

/// The CSI driver with its sidecars: provisioner, resizer, snapshotter. Needs the snapshot CRDs.
pub fn csi_driver(disks: &Disks) -> Process {
    Process {
        name: "csi-driver",
        watches: vec![
            kinds::claims(),
            kinds::volumes(),
            kinds::storage_classes(),
            kinds::snapshots(),
            kinds::snapshot_contents(),
            kinds::snapshot_classes(),
            kinds::group_snapshot_contents(),
        ],
        loops: vec![
            Box::new(driver::Provisioner::new(disks.clone())),
            Box::new(expand::Resizer::new(disks.clone())),
            Box::new(sidecar::Snapshotter::new(disks.clone())),
            Box::new(sidecar::GroupSnapshotter::new(disks.clone())),
        ],
    }
}

/// The snapshot-controller, group snapshots included. Needs the snapshot CRDs.
pub fn snapshot_controller() -> Process {
    Process {
        name: "snapshot-controller",
        watches: vec![
            kinds::claims(),
            kinds::volumes(),
            kinds::snapshots(),
            kinds::snapshot_contents(),
            kinds::snapshot_classes(),
            kinds::group_snapshots(),
            kinds::group_snapshot_contents(),
            kinds::group_snapshot_classes(),
        ],
        loops: vec![Box::new(snapshots::Snapshots), Box::new(groups::GroupSnapshots)],
    }
}
