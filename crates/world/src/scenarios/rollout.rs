//! A Deployment and a StatefulSet start, change their image and are scaled away: the world by itself.

use std::time::Duration;

use futures::FutureExt as _;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;

use super::backup::create;
use crate::actors::workloads::kubelet::EXIT;
use crate::actors::workloads::pods::condition;
use crate::actors::{kinds, workloads};
use crate::scenario::{Scenario, Stage};
use crate::sim::Violation;

/// The story.
pub fn scenario() -> Scenario {
    Scenario {
        name: "rollout",
        capability: "world",
        about: "workloads start, roll to a new image and scale to zero, as kube's controllers do it",
        cast: |_| vec![workloads::controller_manager(), workloads::nodes()],
        play: |stage| play(stage).boxed(),
        patience: Duration::from_secs(6 * 3600),
    }
}

fn parse<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> Result<T, Violation> {
    serde_json::from_value(value).map_err(|error| Violation(error.to_string()))
}

/// A DaemonSet, a Job that ends well and one that does not.
async fn agents_and_jobs(stage: &Stage) -> Result<(), Violation> {
    let agent = json!({
        "metadata": {"name": "agent", "namespace": "shop"},
        "spec": {
            "selector": {"matchLabels": {"app": "agent"}},
            "template": {
                "metadata": {"labels": {"app": "agent"}},
                "spec": {"containers": [{"name": "main", "image": "agent:1"}]},
            },
        },
    });
    create(stage, kinds::daemon_sets(), agent).await?;
    for (name, exit) in [("good", "0"), ("bad", "1")] {
        let job = json!({
            "metadata": {"name": name, "namespace": "shop"},
            "spec": {
                "backoffLimit": 0, "completions": 1,
                "template": {
                    "metadata": {"annotations": {EXIT: exit}},
                    "spec": {
                        "restartPolicy": "Never",
                        "containers": [{"name": "main", "image": "job:1"}],
                    },
                },
            },
        });
        create(stage, kinds::jobs(), job).await?;
    }
    for (name, kind) in [("good", "Complete"), ("bad", "Failed")] {
        let jobs: Api<DynamicObject> =
            Api::namespaced_with(stage.client.clone(), "shop", &kinds::jobs());
        stage
            .until(&format!("the job {name} ends"), Duration::from_secs(600), || {
                let jobs = jobs.clone();
                async move {
                    let job = jobs.get(name).await?;
                    let ended = condition(&job, kind).is_some_and(|c| c["status"] == "True");
                    Ok(ended.then_some(()))
                }
            })
            .await?;
    }
    stage.tell("jobs", "one ended well, one did not");
    Ok(())
}

async fn note(stage: &Stage, when: &str) -> Result<(), Violation> {
    for resource in [
        kinds::deployments(),
        kinds::replica_sets(),
        kinds::stateful_sets(),
        kinds::controller_revisions(),
        kinds::daemon_sets(),
        kinds::jobs(),
    ] {
        stage.note_all(when, &resource, "shop").await?;
    }
    Ok(())
}

async fn play(stage: Stage) -> Result<(), Violation> {
    let client = stage.client.clone();
    let post = PostParams::default();
    Api::<Namespace>::all(client.clone())
        .create(&post, &parse(json!({"metadata": {"name": "shop"}}))?)
        .await?;
    Api::<Node>::all(client.clone())
        .create(&post, &parse(json!({"metadata": {"name": "node-a"}}))?)
        .await?;
    let template = |image: &str| {
        json!({
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "main", "image": image}]},
        })
    };
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), "shop");
    deployments
        .create(&post, &parse(json!({
            "metadata": {"name": "web"},
            "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template("web:1")},
        }))?)
        .await?;
    let sets: Api<StatefulSet> = Api::namespaced(client.clone(), "shop");
    sets.create(&post, &parse(json!({
        "metadata": {"name": "db"},
        "spec": {
            "replicas": 2, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}},
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "main", "image": "db:1"}]}},
        },
    }))?)
    .await?;
    agents_and_jobs(&stage).await?;
    let minute = Duration::from_secs(3600);
    let deployed = |wanted: i32| {
        let deployments = deployments.clone();
        move || {
            let deployments = deployments.clone();
            async move {
                let status = deployments.get("web").await?;
                let seen = status.status.unwrap_or_default();
                let current = seen.observed_generation == status.metadata.generation;
                let whole = [seen.updated_replicas, seen.available_replicas, seen.replicas]
                    .iter()
                    .all(|count| count.unwrap_or_default() == wanted);
                Ok((current && whole).then_some(()))
            }
        }
    };
    stage.until("the Deployment has three pods", minute, deployed(3)).await?;
    stage.tell("deployment", "web:1 runs three times");
    let sets_ready = |wanted: i32| {
        let sets = sets.clone();
        move || {
            let sets = sets.clone();
            async move {
                let set = sets.get("db").await?;
                let seen = set.status.unwrap_or_default();
                let done = seen.observed_generation == set.metadata.generation
                    && seen.ready_replicas.unwrap_or_default() == wanted
                    && seen.replicas == wanted
                    && seen.current_revision == seen.update_revision;
                Ok(done.then_some(()))
            }
        }
    };
    stage.until("the StatefulSet has two pods", minute, sets_ready(2)).await?;
    stage.tell("statefulset", "db-0 and db-1 run");
    note(&stage, "running").await?;
    let params = PatchParams::default();
    deployments
        .patch("web", &params, &Patch::Merge(json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "web:2"}]}}}})))
        .await?;
    sets.patch("db", &params, &Patch::Merge(json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "db:2"}]}}}})))
        .await?;
    stage.until("the new image runs", minute, deployed(3)).await?;
    stage.until("the StatefulSet rolled", minute, sets_ready(2)).await?;
    let pods: Api<Pod> = Api::namespaced(client, "shop");
    let own = ListParams::default().labels("app in (web,db)");
    let images: Vec<String> = pods
        .list(&own)
        .await?
        .items
        .into_iter()
        .filter(|pod| pod.metadata.deletion_timestamp.is_none())
        .flat_map(|pod| pod.spec.unwrap_or_default().containers)
        .filter_map(|container| container.image)
        .collect();
    if images.iter().any(|image| image.ends_with(":1")) {
        return Err(Violation(format!("an old image still runs: {images:?}")));
    }
    stage.tell("deployment", "web:2 and db:2 run");
    note(&stage, "rolled").await?;
    for patch in [json!({"spec": {"replicas": 0}})] {
        deployments.patch_scale("web", &params, &Patch::Merge(patch.clone())).await?;
        sets.patch_scale("db", &params, &Patch::Merge(patch)).await?;
    }
    stage
        .until("all pods are gone", minute, || {
            let (pods, own) = (pods.clone(), own.clone());
            async move { Ok(pods.list(&own).await?.items.is_empty().then_some(())) }
        })
        .await?;
    stage.tell("person", "both are scaled to zero, and no pod is left");
    note(&stage, "at zero").await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::scenario::nobody;
    use crate::sim::{FaultPlan, Plan, simulate};

    fn run(seed: u64, faults: FaultPlan) -> crate::sim::Outcome {
        simulate(&super::scenario(), &nobody(), Plan { seed, faults })
    }

    #[test]
    fn workloads_roll_under_any_seed() {
        for seed in 1..=5 {
            let outcome = run(seed, FaultPlan::from_seed(seed, 100));
            let tail: Vec<_> = outcome.trace.iter().rev().take(30).rev().cloned().collect();
            assert_eq!(outcome.violation, None, "seed {seed}: {tail:#?}");
        }
    }

    #[test]
    fn what_the_controllers_write_is_no_new_generation() {
        let notes = run(1, FaultPlan::none()).notes;
        let of = |when: &str| {
            notes.iter().find(|note| note.when == when && note.what == "Deployment shop/web")
        };
        assert_eq!(of("running").unwrap().object["generation"], 1);
        assert_eq!(of("rolled").unwrap().object["generation"], 2);
    }

    #[test]
    fn the_same_seed_gives_the_same_trace() {
        let first = run(7, FaultPlan::from_seed(7, 100));
        let second = run(7, FaultPlan::from_seed(7, 100));
        for (a, b) in first.trace.iter().zip(&second.trace) {
            assert_eq!(a, b);
        }
        assert_eq!(first.digest, second.digest);
        assert_ne!(first.digest, run(8, FaultPlan::none()).digest);
    }
}
