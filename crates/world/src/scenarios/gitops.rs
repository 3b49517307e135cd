//! An app comes from git: a person commits, Flux fetches and applies, the app serves and migrates.

use std::time::Duration;

use futures::FutureExt as _;
use kube::api::{Api, DynamicObject, ListParams};
use serde_json::{Value, json};

use super::backup::create;
use crate::actors::app::{self, app, format};
use crate::actors::git::{Change, Signature};
use crate::actors::{flux, kinds, volumes, workloads};
use crate::crds;
use crate::scenario::{Scenario, Stage};
use crate::sim::Violation;

/// Where the fleet's manifests lie.
const REPOSITORY: &str = "ops/fleet";

/// The story.
pub fn scenario() -> Scenario {
    Scenario {
        name: "gitops",
        capability: "world",
        about: "a person commits two versions of an app, Flux rolls them out and the data migrates",
        cast: |stage| {
            vec![
                workloads::controller_manager(),
                workloads::nodes(),
                volumes::volume_controllers(),
                volumes::csi_driver(&stage.disks),
                app(&stage.disks, &stage.witness),
                flux::source_controller(&stage.remote("source-controller"), &stage.artifacts),
                flux::kustomize_controller(&stage.artifacts),
            ]
        },
        play: |stage| play(stage).boxed(),
        patience: Duration::from_hours(3),
    }
}

/// The app's manifests, as they lie in git.
fn manifests(version: u64) -> String {
    let ready = app::READY;
    format!(
        "apiVersion: v1
kind: Namespace
metadata:
  name: shop
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: data
  namespace: shop
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: fast
  resources:
    requests:
      storage: 1Gi
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop
  namespace: shop
spec:
  replicas: 1
  strategy:
    type: Recreate
  selector:
    matchLabels: {{app: shop}}
  template:
    metadata:
      labels: {{app: shop}}
    spec:
      containers:
        - name: main
          image: rows:{version}
          volumeMounts:
            - {{name: data, mountPath: /data}}
      readinessGates:
        - conditionType: {ready}
      volumes:
        - name: data
          persistentVolumeClaim: {{claimName: data}}
"
    )
}

async fn commit(stage: &Stage, version: u64) -> Result<String, Violation> {
    let change: Change =
        [("apps/shop/app.yaml".to_owned(), Some(manifests(version).into_bytes()))].into();
    let at = stage.world().map_or(crate::world::EPOCH, |world| world.pace().now());
    let by = Signature::new("ada", at);
    let id = stage
        .remote("person")
        .commit(REPOSITORY, "main", &change, &by, &format!("shop: version {version}"))
        .await
        .map_err(|error| Violation(error.to_string()))?;
    stage.tell("person", format!("commits version {version} of the shop"));
    Ok(format!("main@sha1:{id}"))
}

async fn play(stage: Stage) -> Result<(), Violation> {
    let client = stage.client.clone();
    crds::install(&client, crds::flux()).await?;
    crds::install(&client, crds::snapshots()).await?;
    create(&stage, kinds::namespaces(), json!({"metadata": {"name": "flux-system"}})).await?;
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
    stage.forge.host().create(REPOSITORY);
    let first = commit(&stage, 1).await?;
    let place = |name: &str| json!({"name": name, "namespace": "flux-system"});
    create(
        &stage,
        kinds::git_repositories(),
        json!({
            "metadata": place("fleet"),
            "spec": {
                "interval": "1m", "url": stage.git_url(REPOSITORY),
                "ref": {"branch": "main"},
            },
        }),
    )
    .await?;
    create(
        &stage,
        kinds::kustomizations(),
        json!({
            "metadata": place("shop"),
            "spec": {
                "interval": "10m", "path": "./apps/shop", "prune": true, "wait": true,
                "timeout": "5m", "retryInterval": "1m",
                "sourceRef": {"kind": "GitRepository", "name": "fleet"},
            },
        }),
    )
    .await?;
    applied(&stage, &first).await?;
    serves(&stage, 1).await?;
    let second = commit(&stage, 2).await?;
    applied(&stage, &second).await?;
    serves(&stage, 2).await?;
    let seen = stage.witness.saw();
    if seen.is_empty() { Ok(()) } else { Err(Violation(seen.join("; "))) }
}

/// Waits until Flux says that it applied a revision and that all is well.
async fn applied(stage: &Stage, revision: &str) -> Result<(), Violation> {
    let kustomizations: Api<DynamicObject> =
        Api::namespaced_with(stage.client.clone(), "flux-system", &kinds::kustomizations());
    stage
        .until("Flux has applied the revision", Duration::from_hours(1), || {
            let kustomizations = kustomizations.clone();
            async move {
                let status = kustomizations.get("shop").await?.data["status"].clone();
                let ready = status["conditions"].as_array().is_some_and(|all| {
                    all.iter().any(|c| c["type"] == "Ready" && c["status"] == "True")
                });
                Ok((ready && status["lastAppliedRevision"] == revision).then_some(()))
            }
        })
        .await?;
    stage.tell("flux", format!("applied {revision}"));
    Ok(())
}

/// The pod that serves runs this version, and the data is in its format.
async fn serves(stage: &Stage, version: u64) -> Result<(), Violation> {
    let pods: Api<DynamicObject> =
        Api::namespaced_with(stage.client.clone(), "shop", &kinds::pods());
    let images: Vec<Value> = pods
        .list(&ListParams::default())
        .await?
        .iter()
        .filter(|pod| pod.metadata.deletion_timestamp.is_none())
        .map(|pod| pod.data["spec"]["containers"][0]["image"].clone())
        .collect();
    if images != [json!(format!("rows:{version}"))] {
        return Err(Violation(format!("version {version} should serve alone, found {images:?}")));
    }
    let volumes: Api<DynamicObject> = Api::all_with(stage.client.clone(), &kinds::volumes());
    let disks: Vec<_> = volumes
        .list(&ListParams::default())
        .await?
        .iter()
        .filter_map(|volume| stage.disks.read(volume.data["spec"]["csi"]["volumeHandle"].as_str()?))
        .collect();
    let formats: Vec<_> = disks.iter().map(format).collect();
    if formats != [Some(version)] {
        return Err(Violation(format!("the data is in format {formats:?}, not {version}")));
    }
    stage.tell("app", format!("version {version} serves its rows"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::scenario::nobody;
    use crate::sim::{FaultPlan, Plan, simulate};

    #[test]
    fn two_commits_become_two_versions() {
        for seed in 1..=10 {
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
