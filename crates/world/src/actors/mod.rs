//! The actors of a cluster: ordinary controllers on `kube::Client`.
//!
//! On the simulated cluster they are all there is. On the real one only those play that need real
//! hardware (volumes, movers, containers).

pub mod app;
pub mod kinds;
pub mod pace;
pub mod process;
pub mod volumes;
pub mod workloads;

pub use pace::{Knob, Pace};
pub use process::{Key, Process};

/// Everyone who plays on a simulated cluster.
pub fn everyone(disks: &volumes::Disks, witness: &app::Witness) -> Vec<Process> {
    vec![
        workloads::controller_manager(),
        workloads::nodes(),
        volumes::volume_controllers(),
        volumes::csi_driver(disks),
        volumes::snapshot_controller(),
        app::app(disks, witness),
    ]
}
