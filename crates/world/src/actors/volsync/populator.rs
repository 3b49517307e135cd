//! VolSync's volume populator: claims that name a replication destination are filled from its image.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::json;

use super::parts::CREATED_BY;
use crate::actors::kinds;
use crate::actors::populate::{self, Prime};
use crate::actors::process::{ActorError, Again, Cache, Desk, Key, Reconciler, controller_of};
use crate::actors::workloads::pods::{controller_reference, event, patch};

/// Says on a volume what it was filled from.
const POPULATED_FROM: &str = "volsync.backube/populated-from";
const GROUP: &str = "volsync.backube";

/// Fills claims.
pub(super) struct Populator;

fn names(claim: &DynamicObject) -> Option<&str> {
    populate::source(claim, GROUP, "ReplicationDestination")
}

impl Reconciler for Populator {
    fn name(&self) -> &'static str {
        "volsync-populator"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, cache: &Cache) -> Vec<Key> {
        let namespace = object.metadata.namespace.as_deref();
        match kind {
            "PersistentVolumeClaim" => match controller_of(object) {
                Some(("PersistentVolumeClaim", name, _)) => {
                    vec![Key::new(namespace.unwrap_or_default(), name)]
                }
                _ if names(object).is_some() => vec![Key::of(object)],
                _ => Vec::new(),
            },
            "ReplicationDestination" => cache
                .list("PersistentVolumeClaim", namespace)
                .filter(|claim| names(claim) == Some(&object.name_any()))
                .map(|claim| Key::of(claim))
                .collect(),
            "PersistentVolume" | "StorageClass" => cache
                .list("PersistentVolumeClaim", None)
                .filter(|claim| names(claim).is_some() && claim.data["status"]["phase"] != "Bound")
                .map(|claim| Key::of(claim))
                .collect(),
            _ => Vec::new(),
        }
    }

    fn reconcile<'a>(
        &'a mut self,
        key: &'a Key,
        desk: &'a Desk,
    ) -> BoxFuture<'a, Result<Again, ActorError>> {
        fill(key, desk).boxed()
    }
}

async fn fill(key: &Key, desk: &Desk) -> Result<Again, ActorError> {
    let claims = desk.api(&kinds::claims(), &key.namespace);
    let Some(claim) = claims.get_opt(&key.name).await? else { return Ok(None) };
    let Some(destination) = names(&claim) else { return Ok(None) };
    let prime = populate::prime_name("vs-prime", &claim);
    if claim.metadata.deletion_timestamp.is_some() {
        return Ok(None);
    }
    if claim.data["status"]["phase"] == "Bound" {
        if populate::finish(desk, &key.namespace, &prime).await? {
            let text = "Populator finished";
            event(desk, &claim, "volsync", ("Normal", "VolSyncPopulatorFinished", text)).await?;
        }
        return Ok(None);
    }
    if claims.get_opt(&prime).await?.is_none() {
        return begin(desk, &claim, destination, &prime).await;
    }
    match populate::rebind(desk, &claim, &prime).await? {
        Prime::Filled(volume) => {
            let change = json!({"metadata": {"annotations": {POPULATED_FROM: destination}}});
            patch(desk, &kinds::volumes(), &volume, change).await?;
            Ok(Some(std::time::Duration::from_secs(2)))
        }
        Prime::Waits => Ok(Some(std::time::Duration::from_secs(5))),
    }
}

/// Makes the claim that is filled in place of the user's; later changes of the image do not reach it.
async fn begin(
    desk: &Desk,
    claim: &DynamicObject,
    destination: &str,
    prime: &str,
) -> Result<Again, ActorError> {
    let namespace = claim.namespace().unwrap_or_default();
    let warn = |reason: &'static str, text: String| async move {
        event(desk, claim, "volsync", ("Warning", reason, &text)).await
    };
    let found =
        desk.api(&kinds::replication_destinations(), &namespace).get_opt(destination).await?;
    let Some(found) = found else {
        let text = format!("ReplicationDestination {destination} does not exist");
        warn("VolSyncPopulatorReplicationDestinationMissing", text).await?;
        return Ok(None);
    };
    let image = &found.data["status"]["latestImage"];
    let Some(name) = image["name"].as_str() else {
        let text = format!("ReplicationDestination {destination} has no latestImage");
        warn("VolSyncPopulatorReplicationDestinationNoLatestImage", text).await?;
        return Ok(None);
    };
    if image["kind"] != "VolumeSnapshot" {
        let text = format!("latestImage of {destination} is not a VolumeSnapshot");
        warn("VolSyncPopulatorError", text).await?;
        return Ok(None);
    }
    let Some(selected) = populate::node_for(desk, claim).await? else { return Ok(None) };
    let snapshots = desk.api(&kinds::snapshots(), &namespace);
    if let Some(snapshot) = snapshots.get_opt(name).await? {
        let label = format!("volsync.backube/populator-{}", claim.uid().unwrap_or_default());
        let change = json!({"metadata": {"labels": {label: claim.name_any()}}});
        patch(desk, &kinds::snapshots(), &snapshot, change).await?;
    }
    let source = json!({
        "apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": name,
    });
    let metadata = json!({
        "name": prime, "namespace": namespace, "labels": {CREATED_BY: "volsync"},
        "ownerReferences": [controller_reference(claim)],
    });
    populate::make_prime(desk, claim, metadata, selected, Some(source)).await?;
    let text = format!("Populator pvc created from snapshot {name}");
    event(desk, claim, "volsync", ("Normal", "VolSyncPopulatorPVCCreated", &text)).await?;
    Ok(None)
}
