//! The actors of a cluster: ordinary controllers on `kube::Client`.
//!
//! On the simulated cluster they are all there is. On the real one only those play that need real
//! hardware (volumes, movers, containers).

pub mod app;
pub mod flux;
pub mod forge;
pub mod git;
pub mod kinds;
pub mod kopiur;
pub mod movers;
pub mod objects;
pub mod pace;
mod populate;
pub mod process;
pub mod repository;
pub mod volsync;
pub mod volumes;
pub mod workloads;

pub use pace::{Knob, Pace};
pub use process::{Key, Process};

use crate::scenario::Stage;

/// Everyone who plays on a simulated cluster.
pub fn everyone(stage: &Stage) -> Vec<Process> {
    vec![
        workloads::controller_manager(),
        workloads::nodes(),
        volumes::volume_controllers(),
        volumes::csi_driver(&stage.disks),
        volumes::snapshot_controller(),
        app::app(&stage.disks, &stage.witness),
        volsync::volsync(),
        kopiur::kopiur(&stage.movers, kopiur::Dialect::PerClaim),
        movers::movers(&stage.disks, &stage.movers),
        flux::source_controller(&stage.remote("source-controller"), &stage.artifacts),
        flux::kustomize_controller(&stage.artifacts),
        flux::helm_controller(&stage.artifacts),
        flux::flux_operator(),
    ]
}
