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

use kube::api::{Api, DynamicObject, ListParams, PostParams};
use serde_json::json;

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

/// Makes a node for pods to run on, if there is none.
pub async fn ensure_node(client: &kube::Client) -> Result<(), kube::Error> {
    let nodes: Api<DynamicObject> = Api::all_with(client.clone(), &kinds::nodes());
    if !nodes.list(&ListParams::default().limit(1)).await?.items.is_empty() {
        return Ok(());
    }
    let mut node = DynamicObject::new("node-1", &kinds::nodes());
    node.metadata.labels = Some(
        [
            ("kubernetes.io/arch", "amd64"),
            ("kubernetes.io/hostname", "node-1"),
            ("kubernetes.io/os", "linux"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into(),
    );
    let size = json!({"cpu": "8", "memory": "32Gi", "pods": "110"});
    node.data = json!({"status": {
        "allocatable": size, "capacity": size,
        "conditions": [{
            "type": "Ready", "status": "True", "reason": "KubeletReady",
            "message": "kubelet is posting ready status",
        }],
    }});
    match nodes.create(&PostParams::default(), &node).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt as _;

    use super::*;
    use crate::scenario::{Scenario, Stage, nobody};
    use crate::sim::{FaultPlan, Plan, Violation, simulate};

    async fn play(stage: Stage) -> Result<(), Violation> {
        ensure_node(&stage.client).await?;
        ensure_node(&stage.client).await?;
        let pods: Api<DynamicObject> =
            Api::namespaced_with(stage.client.clone(), "default", &kinds::pods());
        let mut pod = DynamicObject::new("web", &kinds::pods());
        pod.data = json!({"spec": {"containers": [{"name": "main", "image": "web:1"}]}});
        pods.create(&PostParams::default(), &pod).await?;
        stage
            .until("the pod runs", Duration::from_mins(5), || {
                let pods = pods.clone();
                async move {
                    let pod = pods.get("web").await?;
                    Ok((pod.data["status"]["phase"] == "Running").then_some(()))
                }
            })
            .await
    }

    #[test]
    fn pods_run_on_the_node_that_is_made_for_them() {
        let story = Scenario {
            name: "node",
            capability: "world",
            about: "a pod finds its node",
            cast: |_| vec![controller_manager(), nodes()],
            play: |stage| play(stage).boxed(),
            patience: Duration::from_mins(10),
        };
        let plan = Plan { seed: 1, faults: FaultPlan::none() };
        assert_eq!(simulate(&story, &nobody(), plan).violation, None);
    }
}
