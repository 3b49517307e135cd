//! Workload controllers, the scheduler and the kubelet.

pub mod autoscaler;
mod cronjob;
mod daemonset;
mod deployment;
mod job;
pub mod kubelet;
pub mod pods;
mod replicaset;
pub mod scheduler;
mod statefulset;

use super::kinds;
use super::process::Process;

pub use cronjob::Schedule;
pub use pods::template_hash;

/// kube-controller-manager, as far as workloads go.
pub fn controller_manager() -> Process {
    Process {
        name: "kube-controller-manager",
        watches: vec![
            kinds::deployments(),
            kinds::replica_sets(),
            kinds::stateful_sets(),
            kinds::controller_revisions(),
            kinds::daemon_sets(),
            kinds::jobs(),
            kinds::cron_jobs(),
            kinds::autoscalers(),
            kinds::pods(),
            kinds::nodes(),
            kinds::claims(),
        ],
        loops: vec![
            Box::new(deployment::Deployments),
            Box::new(replicaset::ReplicaSets::default()),
            Box::new(statefulset::StatefulSets::default()),
            Box::new(daemonset::DaemonSets),
            Box::new(job::Jobs),
            Box::new(cronjob::CronJobs),
            Box::new(autoscaler::Autoscalers),
        ],
    }
}

/// The scheduler and every node's kubelet.
pub fn nodes() -> Process {
    Process {
        name: "nodes",
        watches: vec![
            kinds::nodes(),
            kinds::pods(),
            kinds::claims(),
            kinds::volumes(),
            kinds::storage_classes(),
        ],
        loops: vec![Box::new(scheduler::Scheduler), Box::new(kubelet::Kubelet)],
    }
}
