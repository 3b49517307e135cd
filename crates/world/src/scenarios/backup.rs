//! An app's data is backed up, lost with its claim, and comes back through VolSync's populator.

use std::time::Duration;

use futures::FutureExt as _;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::actors::app::{self, app, rows};
use crate::actors::movers::movers;
use crate::actors::volsync::volsync;
use crate::actors::volumes::{self, Disk};
use crate::actors::{kinds, workloads};
use crate::crds;
use crate::scenario::{Scenario, Stage};
use crate::sim::Violation;

const PATIENCE: Duration = Duration::from_secs(3600);

/// The story.
pub fn scenario() -> Scenario {
    Scenario {
        name: "backup",
        capability: "world",
        about: "data is backed up by VolSync, lost with its claim, and restored into a new one",
        cast: |stage| {
            vec![
                workloads::controller_manager(),
                workloads::nodes(),
                volumes::volume_controllers(),
                volumes::csi_driver(&stage.disks),
                volumes::snapshot_controller(),
                volsync(),
                movers(&stage.disks, &stage.movers),
                app(&stage.disks, &stage.witness),
            ]
        },
        play: |stage| play(stage).boxed(),
        patience: 6 * PATIENCE,
    }
}

/// Makes one object.
pub(super) async fn create(
    stage: &Stage,
    resource: ApiResource,
    mut object: Value,
) -> Result<(), Violation> {
    let api = match object["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(stage.client.clone(), namespace, &resource),
        None => Api::<DynamicObject>::all_with(stage.client.clone(), &resource),
    };
    object["apiVersion"] = json!(resource.api_version);
    object["kind"] = json!(resource.kind);
    let object = serde_json::from_value(object).map_err(|error| Violation(error.to_string()))?;
    match api.create(&PostParams::default(), &object).await {
        Ok(_) => Ok(()),
        // A cluster may come with it.
        Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// An API in the story's namespace.
pub(super) fn api(stage: &Stage, resource: &ApiResource) -> Api<DynamicObject> {
    Api::namespaced_with(stage.client.clone(), "shop", resource)
}

/// Waits until an object is as it should be.
pub(super) async fn when(
    stage: &Stage,
    what: &str,
    (resource, name): (ApiResource, &str),
    holds: fn(&DynamicObject) -> bool,
) -> Result<DynamicObject, Violation> {
    let api = api(stage, &resource);
    stage
        .until(what, PATIENCE, || {
            let api = api.clone();
            async move { Ok(api.get_opt(name).await?.filter(&holds)) }
        })
        .await
}

/// A cluster with a node, a class that snapshots, and the app on its claim `data`.
pub(super) async fn set_up(stage: &Stage) -> Result<(), Violation> {
    create(stage, kinds::namespaces(), json!({"metadata": {"name": "shop"}})).await?;
    create(stage, kinds::nodes(), json!({"metadata": {"name": "node-a"}})).await?;
    let class = json!({
        "metadata": {
            "name": "fast",
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": volumes::CSI, "volumeBindingMode": "WaitForFirstConsumer",
        "reclaimPolicy": "Delete",
    });
    create(stage, kinds::storage_classes(), class).await?;
    let snapshots = json!({
        "metadata": {"name": "snap"}, "driver": volumes::CSI, "deletionPolicy": "Delete",
    });
    create(stage, kinds::snapshot_classes(), snapshots).await?;
    create(stage, kinds::claims(), claim(&Value::Null)).await?;
    let secret = json!({
        "metadata": {"name": "repository", "namespace": "shop"},
        "stringData": {
            "RESTIC_REPOSITORY": "s3:http://store.example/backups/shop",
            "RESTIC_PASSWORD": "secret",
        },
    });
    create(stage, kinds::secrets(), secret).await?;
    let deployment = json!({
        "metadata": {"name": "shop", "namespace": "shop"},
        "spec": {
            "replicas": 1, "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": {"app": "shop"}},
            "template": {
                "metadata": {"labels": {"app": "shop"}},
                "spec": {
                    "containers": [{"name": "main", "image": "rows:1"}],
                    "readinessGates": [{"conditionType": app::READY}],
                    "volumes": [{
                        "name": "data", "persistentVolumeClaim": {"claimName": "data"},
                    }],
                },
            },
        },
    });
    create(stage, kinds::deployments(), deployment).await?;
    serves(stage).await
}

/// The app's claim, filled from `source` if it is one.
pub(super) fn claim(source: &Value) -> Value {
    let mut claim = json!({
        "metadata": {"name": "data", "namespace": "shop"},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    });
    if !source.is_null() {
        claim["spec"]["dataSourceRef"] = source.clone();
    }
    claim
}

/// Waits until the app serves.
pub(super) async fn serves(stage: &Stage) -> Result<(), Violation> {
    let ready = |object: &DynamicObject| {
        object.data["status"]["availableReplicas"] == 1
            && object.data["status"]["observedGeneration"] == json!(object.metadata.generation)
    };
    when(stage, "the app serves", (kinds::deployments(), "shop"), ready).await?;
    Ok(())
}

/// Stops the app and deletes its claim; what it held goes with it.
pub(super) async fn lose(stage: &Stage) -> Result<(), Violation> {
    scale(stage, 0).await?;
    let stopped = |object: &DynamicObject| {
        object.data["status"]["replicas"].as_i64().unwrap_or_default() == 0
    };
    when(stage, "the app stops", (kinds::deployments(), "shop"), stopped).await?;
    let claims = api(stage, &kinds::claims());
    claims.delete("data", &DeleteParams::default()).await?;
    stage
        .until("the claim is gone", PATIENCE, || {
            let claims = claims.clone();
            async move { Ok(claims.get_opt("data").await?.is_none().then_some(())) }
        })
        .await
}

/// Scales the app.
pub(super) async fn scale(stage: &Stage, replicas: u64) -> Result<(), Violation> {
    let change = Patch::Merge(json!({"spec": {"replicas": replicas}}));
    api(stage, &kinds::deployments()).patch("shop", &PatchParams::default(), &change).await?;
    Ok(())
}

/// The bytes behind the app's claim.
pub(super) async fn disk(stage: &Stage) -> Result<Disk, Violation> {
    let volumes: Api<DynamicObject> = Api::all_with(stage.client.clone(), &kinds::volumes());
    let claim = api(stage, &kinds::claims()).get("data").await?;
    let volume = volumes.get(claim.data["spec"]["volumeName"].as_str().unwrap_or_default()).await?;
    let handle = volume.data["spec"]["csi"]["volumeHandle"].as_str().unwrap_or_default();
    stage.disks.read(handle).ok_or_else(|| Violation(format!("no disk {handle}")))
}

/// Whether the first rows of a disk are these.
pub(super) fn continues(disk: &Disk, before: &[Value]) -> Result<(), Violation> {
    let now = rows(disk);
    if before.is_empty() || now.len() <= before.len() || now[..before.len()] != *before {
        return Err(Violation(format!("rows were {before:?}, now they are {now:?}")));
    }
    Ok(())
}

async fn play(stage: Stage) -> Result<(), Violation> {
    crds::install(&stage.client, crds::snapshots()).await?;
    crds::install(&stage.client, crds::volsync()).await?;
    set_up(&stage).await?;
    stage.tell("app", "serves its rows");
    let source = json!({
        "metadata": {"name": "shop", "namespace": "shop"},
        "spec": {
            "sourcePVC": "data", "trigger": {"manual": "first"},
            "restic": {
                "repository": "repository", "copyMethod": "Snapshot",
                "volumeSnapshotClassName": "snap", "retain": {"daily": 7},
            },
        },
    });
    let before = rows(&disk(&stage).await?);
    create(&stage, kinds::replication_sources(), source).await?;
    let done = |object: &DynamicObject| {
        object.data["status"]["lastManualSync"] == object.data["spec"]["trigger"]["manual"]
    };
    let backed_up =
        when(&stage, "the backup is done", (kinds::replication_sources(), "shop"), done).await?;
    let mover = &backed_up.data["status"]["latestMoverStatus"];
    if mover["result"] != "Successful"
        || !mover["logs"].as_str().is_some_and(|logs| logs.contains(" saved"))
    {
        return Err(Violation(format!("the backup saved nothing: {mover}")));
    }
    stage.tell("volsync", "backed the claim up");

    lose(&stage).await?;
    stage.tell("person", "deleted the claim");
    let destination = json!({
        "metadata": {"name": "shop", "namespace": "shop"},
        "spec": {
            "trigger": {"manual": "restore-once"},
            "restic": {
                "repository": "repository", "copyMethod": "Snapshot", "capacity": "1Gi",
                "accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
                "volumeSnapshotClassName": "snap",
            },
        },
    });
    create(&stage, kinds::replication_destinations(), destination).await?;
    let source = json!({
        "apiGroup": "volsync.backube", "kind": "ReplicationDestination", "name": "shop",
    });
    create(&stage, kinds::claims(), claim(&source)).await?;
    scale(&stage, 1).await?;
    serves(&stage).await?;
    continues(&disk(&stage).await?, &before)?;
    stage.tell("app", "serves the old rows from a new claim");
    let claims = api(&stage, &kinds::claims());
    stage
        .until("the prime claim is gone", PATIENCE, || {
            let claims = claims.clone();
            async move {
                let all = claims.list(&kube::api::ListParams::default()).await?;
                let primes = all.items.iter().filter(|claim| {
                    claim.metadata.name.as_deref().is_some_and(|name| name.starts_with("vs-prime"))
                });
                Ok((primes.count() == 0).then_some(()))
            }
        })
        .await?;
    for (resource, namespace) in
        [(kinds::claims(), "shop"), (kinds::volumes(), ""), (kinds::snapshots(), "shop")]
    {
        stage.note_all("restored", &resource, namespace).await?;
    }
    let seen = stage.witness.saw();
    if seen.is_empty() { Ok(()) } else { Err(Violation(seen.join("; "))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::nobody;
    use crate::sim::{FaultPlan, Plan, simulate};

    async fn traps(stage: Stage) -> Result<(), Violation> {
        crds::install(&stage.client, crds::snapshots()).await?;
        crds::install(&stage.client, crds::volsync()).await?;
        set_up(&stage).await?;
        let empty = json!({
            "metadata": {"name": "empty", "namespace": "shop"},
            "spec": {
                "trigger": {"manual": "once"},
                "restic": {
                    "repository": "repository", "copyMethod": "Direct", "capacity": "1Gi",
                    "accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
                },
            },
        });
        create(&stage, kinds::replication_destinations(), empty).await?;
        let looks_fine = |object: &DynamicObject| {
            let status = &object.data["status"];
            status["lastManualSync"] == "once"
                && status["latestMoverStatus"]["result"] == "Successful"
                && status["latestImage"]["kind"] == "PersistentVolumeClaim"
                && status["latestMoverStatus"]["logs"]
                    .as_str()
                    .is_some_and(|logs| logs.contains("No eligible snapshots"))
        };
        let at = (kinds::replication_destinations(), "empty");
        when(&stage, "a restore of nothing succeeds", at, looks_fine).await?;

        let wrong = json!({
            "metadata": {"name": "wrong", "namespace": "shop"},
            "stringData": {
                "RESTIC_REPOSITORY": "s3:http://store.example/backups/shop",
                "RESTIC_PASSWORD": "other",
            },
        });
        create(&stage, kinds::secrets(), wrong).await?;
        for secret in ["wrong", "nowhere"] {
            let source = json!({
                "metadata": {"name": secret, "namespace": "shop"},
                "spec": {
                    "sourcePVC": "data", "trigger": {"manual": "once"},
                    "restic": {"repository": secret, "copyMethod": "Direct"},
                },
            });
            create(&stage, kinds::replication_sources(), source).await?;
        }
        let config_error = |object: &DynamicObject| {
            let condition = &object.data["status"]["conditions"][0];
            condition["reason"] == "Error" && condition["status"] == "False"
        };
        let at = (kinds::replication_sources(), "nowhere");
        when(&stage, "a missing Secret is an error", at, config_error).await?;
        let never_ends = |object: &DynamicObject| {
            let status = &object.data["status"];
            status["latestMoverStatus"]["result"] == "Failed"
                && status["conditions"][0]["reason"] == "SyncInProgress"
                && status["lastSyncTime"].is_null()
                && status["lastManualSync"].is_null()
        };
        let at = (kinds::replication_sources(), "wrong");
        when(&stage, "a failing mover goes on for ever", at, never_ends).await?;
        Ok(())
    }

    #[test]
    fn volsync_shows_its_traps() {
        let story = Scenario { play: |stage| traps(stage).boxed(), ..scenario() };
        for seed in 1..=2 {
            let plan = Plan { seed, faults: FaultPlan::from_seed(seed, 100) };
            let outcome = simulate(&story, &nobody(), plan);
            let tail = &outcome.trace[outcome.trace.len().saturating_sub(30)..];
            assert_eq!(outcome.violation, None, "seed {seed}: {tail:#?}");
        }
    }

    #[test]
    fn backups_bring_lost_rows_back() {
        for seed in 1..=10 {
            let plan = Plan { seed, faults: FaultPlan::from_seed(seed, 100) };
            let outcome = simulate(&super::scenario(), &nobody(), plan);
            let tail: Vec<_> =
                outcome.trace.iter().filter(|line| !line.contains(" GET ")).collect();
            let tail = &tail[tail.len().saturating_sub(60)..];
            assert_eq!(outcome.violation, None, "seed {seed}: {tail:#?}");
        }
    }

    #[test]
    fn the_story_repeats_byte_for_byte() {
        let run = || {
            let plan = Plan { seed: 3, faults: FaultPlan::from_seed(3, 100) };
            simulate(&super::scenario(), &nobody(), plan)
        };
        assert_eq!(run().digest, run().digest);
    }
}
