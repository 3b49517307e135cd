//! An app's data is snapshotted, migrated by a new version, and brought back: the world's own proof that
//! volumes hold bytes.

use std::time::Duration;

use futures::FutureExt as _;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use super::backup::create;
use crate::actors::app::{self, app, format, rows};
use crate::actors::volumes;
use crate::actors::{kinds, workloads};
use crate::crds;
use crate::scenario::{Scenario, Stage};
use crate::sim::Violation;

/// The story.
pub fn scenario() -> Scenario {
    Scenario {
        name: "snapshot",
        capability: "world",
        about: "data is snapshotted, migrated past return, and restored from the snapshot",
        cast: |stage| {
            vec![
                workloads::controller_manager(),
                workloads::nodes(),
                volumes::volume_controllers(),
                volumes::csi_driver(&stage.disks),
                volumes::snapshot_controller(),
                app(&stage.disks, &stage.witness),
            ]
        },
        play: |stage| play(stage).boxed(),
        patience: Duration::from_secs(6 * 3600),
    }
}

fn workload(version: u64, claim: &str) -> Value {
    json!({
        "metadata": {"labels": {"app": "shop"}},
        "spec": {
            "containers": [{
                "name": "main", "image": format!("rows:{version}"),
                "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            }],
            "readinessGates": [{"conditionType": app::READY}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
        },
    })
}

async fn note(stage: &Stage, when: &str) -> Result<(), Violation> {
    for (resource, namespace) in [
        (kinds::claims(), "shop"),
        (kinds::volumes(), ""),
        (kinds::snapshots(), "shop"),
        (kinds::snapshot_contents(), ""),
    ] {
        stage.note_all(when, &resource, namespace).await?;
    }
    Ok(())
}

async fn play(stage: Stage) -> Result<(), Violation> {
    let client = stage.client.clone();
    crds::install(&client, crds::snapshots()).await?;
    create(&stage, kinds::namespaces(), json!({"metadata": {"name": "shop"}})).await?;
    create(&stage, kinds::nodes(), json!({"metadata": {"name": "node-a"}})).await?;
    create(
        &stage,
        kinds::storage_classes(),
        json!({
            "metadata": {"name": "fast"}, "provisioner": volumes::CSI,
            "volumeBindingMode": "WaitForFirstConsumer", "reclaimPolicy": "Delete",
        }),
    )
    .await?;
    create(
        &stage,
        kinds::snapshot_classes(),
        json!({
            "metadata": {"name": "snap"}, "driver": volumes::CSI, "deletionPolicy": "Delete",
        }),
    )
    .await?;
    let claim = |name: &str, source: Value| {
        let mut claim = json!({
            "metadata": {"name": name, "namespace": "shop"},
            "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
                "resources": {"requests": {"storage": "1Gi"}},
            },
        });
        if !source.is_null() {
            claim["spec"]["dataSource"] = source;
        }
        claim
    };
    create(&stage, kinds::claims(), claim("data", Value::Null)).await?;
    create(
        &stage,
        kinds::deployments(),
        json!({
            "metadata": {"name": "shop", "namespace": "shop"},
            "spec": {
                "replicas": 1, "strategy": {"type": "Recreate"},
                "selector": {"matchLabels": {"app": "shop"}}, "template": workload(1, "data"),
            },
        }),
    )
    .await?;
    let patience = Duration::from_secs(3600);
    running(&stage, patience, "version 1 serves").await?;
    stage.tell("app", "version 1 serves its rows");

    create(&stage, kinds::snapshots(), json!({
        "metadata": {"name": "before", "namespace": "shop"},
        "spec": {"volumeSnapshotClassName": "snap", "source": {"persistentVolumeClaimName": "data"}},
    }))
    .await?;
    let snapshots: Api<DynamicObject> =
        Api::namespaced_with(client.clone(), "shop", &kinds::snapshots());
    stage
        .until("the snapshot is ready", patience, || {
            let snapshots = snapshots.clone();
            async move {
                let snapshot = snapshots.get("before").await?;
                Ok((snapshot.data["status"]["readyToUse"] == true).then_some(()))
            }
        })
        .await?;
    stage.tell("snapshot", "taken and ready");
    note(&stage, "with a snapshot").await?;

    let deployments: Api<DynamicObject> =
        Api::namespaced_with(client.clone(), "shop", &kinds::deployments());
    let roll = |version: u64, claim: &str| {
        Patch::Merge(json!({"spec": {"template": workload(version, claim)}}))
    };
    deployments.patch("shop", &PatchParams::default(), &roll(2, "data")).await?;
    running(&stage, patience, "version 2 serves").await?;
    let migrated = disk_of(&stage, "data").await?;
    if format(&migrated) != Some(2) {
        return Err(Violation(format!("version 2 did not migrate: {:?}", format(&migrated))));
    }
    stage.tell("app", "version 2 migrated the rows");

    create(
        &stage,
        kinds::claims(),
        claim(
            "restored",
            json!({
                "apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "before",
            }),
        ),
    )
    .await?;
    deployments.patch("shop", &PatchParams::default(), &roll(1, "restored")).await?;
    running(&stage, patience, "version 1 serves again").await?;
    let restored = disk_of(&stage, "restored").await?;
    if format(&restored) != Some(1) || rows(&restored).is_empty() {
        return Err(Violation("the restored data is not what the snapshot kept".into()));
    }
    stage.tell("app", "version 1 serves the restored rows");
    note(&stage, "restored").await?;
    snapshots.delete("before", &DeleteParams::default()).await?;
    stage
        .until("the snapshot is gone", patience, || {
            let snapshots = snapshots.clone();
            async move { Ok(snapshots.get_opt("before").await?.is_none().then_some(())) }
        })
        .await?;
    note(&stage, "without the snapshot").await?;
    if !stage.disks.handles().1.is_empty() {
        return Err(Violation("the snapshot went, but not its bytes".into()));
    }
    let seen = stage.witness.saw();
    if seen.is_empty() { Ok(()) } else { Err(Violation(seen.join("; "))) }
}

async fn running(stage: &Stage, patience: Duration, what: &str) -> Result<(), Violation> {
    let deployments: Api<DynamicObject> =
        Api::namespaced_with(stage.client.clone(), "shop", &kinds::deployments());
    stage
        .until(what, patience, || {
            let deployments = deployments.clone();
            async move {
                let object = deployments.get("shop").await?;
                let status = &object.data["status"];
                let done = status["observedGeneration"] == json!(object.metadata.generation)
                    && status["updatedReplicas"] == 1
                    && status["availableReplicas"] == 1
                    && status["replicas"] == 1;
                Ok(done.then_some(()))
            }
        })
        .await
}

async fn disk_of(stage: &Stage, claim: &str) -> Result<crate::actors::volumes::Disk, Violation> {
    let claims: Api<DynamicObject> =
        Api::namespaced_with(stage.client.clone(), "shop", &kinds::claims());
    let volumes: Api<DynamicObject> = Api::all_with(stage.client.clone(), &kinds::volumes());
    let claim = claims.get(claim).await?;
    let volume = volumes.get(claim.data["spec"]["volumeName"].as_str().unwrap_or_default()).await?;
    let handle = volume.data["spec"]["csi"]["volumeHandle"].as_str().unwrap_or_default();
    stage.disks.read(handle).ok_or_else(|| Violation(format!("no disk {handle}")))
}

#[cfg(test)]
mod tests {
    use crate::scenario::nobody;
    use crate::sim::{FaultPlan, Plan, simulate};

    #[test]
    fn snapshots_bring_the_old_bytes_back() {
        for seed in 1..=12 {
            let plan = Plan { seed, faults: FaultPlan::from_seed(seed, 100) };
            let outcome = simulate(&super::scenario(), &nobody(), plan);
            let tail: Vec<_> =
                outcome.trace.iter().filter(|line| !line.contains(" GET ")).collect();
            let tail = &tail[tail.len().saturating_sub(40)..];
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
