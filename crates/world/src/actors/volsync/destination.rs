//! Replication destinations: a repository into a claim, and an image of it.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::{ApiResource, DynamicObject};
use serde_json::{Value, json};

use super::cycle::{Side, Step};
use super::parts::{
    self, CLEANUP, KEEP, Moved, Mover, SOON, Wish, ensure_claim, metadata, run_mover,
};
use crate::actors::kinds;
use crate::actors::movers::variable;
use crate::actors::process::{ActorError, Desk};
use crate::actors::workloads::pods::{create, event, patch};

/// The image that the present run makes, on the claim it is made of.
const IMAGE: &str = "volsync.backube/snapname";

/// Restores into claims.
pub(super) struct Destination;

impl Side for Destination {
    fn kind(&self) -> ApiResource {
        kinds::replication_destinations()
    }

    fn synchronize<'a>(
        &'a self,
        owner: &'a DynamicObject,
        status: &'a mut Value,
        desk: &'a Desk,
    ) -> BoxFuture<'a, Result<Step, ActorError>> {
        synchronize(owner, status, desk).boxed()
    }

    fn clean_up<'a>(
        &'a self,
        owner: &'a DynamicObject,
        desk: &'a Desk,
    ) -> BoxFuture<'a, Result<(), ActorError>> {
        async move {
            let api = desk.api(&kinds::claims(), &owner.namespace().unwrap_or_default());
            if let Some(claim) = api.get_opt(&claim_name(owner)).await?
                && claim.annotations().contains_key(IMAGE)
            {
                let change = json!({"metadata": {"annotations": {IMAGE: null}}});
                patch(desk, &kinds::claims(), &claim, change).await?;
            }
            parts::clean_up(desk, owner).await
        }
        .boxed()
    }
}

fn claim_name(owner: &DynamicObject) -> String {
    owner.data["spec"]["restic"]["destinationPVC"]
        .as_str()
        .filter(|name| !name.is_empty())
        .map_or_else(|| format!("volsync-{}-dest", owner.name_any()), str::to_owned)
}

async fn synchronize(
    owner: &DynamicObject,
    status: &mut Value,
    desk: &Desk,
) -> Result<Step, ActorError> {
    let restic = &owner.data["spec"]["restic"];
    let method = restic["copyMethod"].as_str().unwrap_or_default();
    if !matches!(method, "Direct" | "None" | "Snapshot") {
        return Ok(Step::Wrong(format!(
            "unsupported copyMethod: {method} -- must be Direct, None, or Snapshot"
        )));
    }
    let namespace = owner.namespace().unwrap_or_default();
    let name = claim_name(owner);
    let claim = if restic["destinationPVC"].as_str().is_some_and(|given| given == name) {
        let Some(claim) = desk.api(&kinds::claims(), &namespace).get_opt(&name).await? else {
            return Ok(Step::Wrong(format!("persistentvolumeclaims {name:?} not found")));
        };
        claim
    } else {
        if restic["capacity"].is_null() || restic["accessModes"].is_null() {
            let why = "capacity and accessModes must be provided when destinationPVC is not";
            return Ok(Step::Wrong(why.into()));
        }
        let wish = Wish {
            capacity: restic["capacity"].clone(),
            access_modes: restic["accessModes"].clone(),
            class: restic["storageClassName"].clone(),
            source: Value::Null,
        };
        let goes = restic["cleanupTempPVC"] == true;
        let Some(claim) = ensure_claim(desk, owner, (&name, goes), wish).await? else {
            return Ok(Step::Wait(SOON));
        };
        claim
    };
    let previous = restic["previous"].as_i64().unwrap_or_default().to_string();
    let exact = restic["enableFileDeletion"] == true;
    let mover = Mover {
        direction: "dst",
        claim: name.clone(),
        env: vec![
            variable("RESTORE_AS_OF", restic["restoreAsOf"].as_str().unwrap_or_default()),
            variable("SELECT_PREVIOUS", &previous),
            variable("RESTORE_OPTIONS", if exact { "--delete" } else { "" }),
        ],
    };
    let logs = match run_mover(desk, owner, mover).await? {
        Moved::Running => return Ok(Step::Wait(SOON)),
        Moved::Wrong(why) => return Ok(Step::Wrong(why)),
        Moved::Failed(logs) => {
            status["latestMoverStatus"] = json!({"result": "Failed", "logs": logs});
            return Ok(Step::Wait(SOON));
        }
        Moved::Succeeded(logs) => logs,
    };
    let image = if method == "Snapshot" {
        match image(owner, &claim, desk).await? {
            Some(name) => json!({
                "apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": name,
            }),
            None => return Ok(Step::Wait(SOON)),
        }
    } else {
        json!({"apiGroup": "", "kind": "PersistentVolumeClaim", "name": name})
    };
    retire(owner, &status["latestImage"], &image, desk).await?;
    Ok(Step::Done(json!({
        "latestMoverStatus": {"result": "Successful", "logs": logs}, "latestImage": image,
    })))
}

/// The snapshot of what was restored, once it is bound: nobody waits until it can be read from.
async fn image(
    owner: &DynamicObject,
    claim: &DynamicObject,
    desk: &Desk,
) -> Result<Option<String>, ActorError> {
    let name = match claim.annotations().get(IMAGE) {
        Some(name) => name.clone(),
        None => {
            let name = format!("{}-{}", claim.name_any(), desk.now().strftime("%Y%m%d%H%M%S"));
            let change = json!({"metadata": {
                "annotations": {IMAGE: name}, "resourceVersion": claim.resource_version(),
            }});
            patch(desk, &kinds::claims(), claim, change).await?;
            name
        }
    };
    let api = desk.api(&kinds::snapshots(), &owner.namespace().unwrap_or_default());
    let Some(snapshot) = api.get_opt(&name).await? else {
        let mut spec = json!({"source": {"persistentVolumeClaimName": claim.name_any()}});
        let class = &owner.data["spec"]["restic"]["volumeSnapshotClassName"];
        if class.is_string() {
            spec["volumeSnapshotClassName"] = class.clone();
        }
        let object = json!({
            "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
            "metadata": metadata(owner, &name, false), "spec": spec,
        });
        create(desk, &kinds::snapshots(), object).await?;
        let text = format!("created VolumeSnapshot {name}");
        event(desk, owner, "volsync", ("Normal", "VolumeSnapshotCreated", &text)).await?;
        return Ok(None);
    };
    let bound = snapshot.data["status"]["boundVolumeSnapshotContentName"].is_string();
    Ok(bound.then_some(name))
}

/// The image before this one goes with the run, unless someone marked it to be kept.
async fn retire(
    owner: &DynamicObject,
    old: &Value,
    new: &Value,
    desk: &Desk,
) -> Result<(), ActorError> {
    if old["kind"] != "VolumeSnapshot" || old["name"] == new["name"] {
        return Ok(());
    }
    let api = desk.api(&kinds::snapshots(), &owner.namespace().unwrap_or_default());
    let Some(snapshot) = api.get_opt(old["name"].as_str().unwrap_or_default()).await? else {
        return Ok(());
    };
    if !snapshot.labels().contains_key(KEEP) {
        let change = json!({"metadata": {"labels": {CLEANUP: owner.metadata.uid}}});
        patch(desk, &kinds::snapshots(), &snapshot, change).await?;
    }
    Ok(())
}
