//! The snapshot-controller: snapshots and contents find each other.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::sidecar::{BEING_DELETED, CONTENT_FINALIZER, add_finalizer, remove_finalizer};
use crate::actors::kinds;
use crate::actors::process::{ActorError, Again, Cache, Desk, Key, Reconciler};
use crate::actors::workloads::pods::{create, delete, patch, write_status};

const BOUND: &str = "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection";
const AS_SOURCE: &str = "snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection";

/// Binds snapshots to contents, and lets both go.
pub struct Snapshots;

impl Reconciler for Snapshots {
    fn name(&self) -> &'static str {
        "snapshots"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, cache: &Cache) -> Vec<Key> {
        match kind {
            "VolumeSnapshot" => vec![Key::of(object)],
            "VolumeSnapshotContent" => {
                let reference = &object.data["spec"]["volumeSnapshotRef"];
                let text = |field: &str| reference[field].as_str().unwrap_or_default();
                vec![Key::new(text("namespace"), text("name"))]
            }
            "PersistentVolumeClaim" => cache
                .list("VolumeSnapshot", object.metadata.namespace.as_deref())
                .filter(|snapshot| {
                    snapshot.data["spec"]["source"]["persistentVolumeClaimName"]
                        == object.name_any()
                        || snapshot.metadata.deletion_timestamp.is_some()
                })
                .map(|snapshot| Key::of(snapshot))
                .collect(),
            _ => Vec::new(),
        }
    }

    fn reconcile<'a>(
        &'a mut self,
        key: &'a Key,
        desk: &'a Desk,
    ) -> BoxFuture<'a, Result<Again, ActorError>> {
        sync(key, desk).boxed()
    }
}

async fn sync(key: &Key, desk: &Desk) -> Result<Again, ActorError> {
    let Some(snapshot) = desk.cache.get("VolumeSnapshot", key).cloned() else {
        return abandoned_content(key, desk).await;
    };
    let content = content_of(desk, &snapshot);
    if snapshot.metadata.deletion_timestamp.is_some() {
        return release(desk, &snapshot, content).await;
    }
    if !snapshot.finalizers().iter().any(|one| one == BOUND) {
        let mut all = snapshot.finalizers().to_vec();
        all.extend([AS_SOURCE.to_owned(), BOUND.to_owned()]);
        let change = json!({"metadata": {
            "finalizers": all, "resourceVersion": snapshot.resource_version(),
        }});
        patch(desk, &kinds::snapshots(), &snapshot, change).await?;
    }
    let Some(content) = content else {
        if snapshot.data["spec"]["source"]["volumeSnapshotContentName"].is_string() {
            return fail(desk, &snapshot, "VolumeSnapshotContent is missing").await;
        }
        return make_content(desk, &snapshot).await;
    };
    let reference = &content.data["spec"]["volumeSnapshotRef"];
    if reference["uid"].as_str() != snapshot.metadata.uid.as_deref() {
        if reference["uid"].is_string() {
            return fail(
                desk,
                &snapshot,
                "VolumeSnapshotContent is bound to another VolumeSnapshot",
            )
            .await;
        }
        let change = json!({"spec": {"volumeSnapshotRef": {"uid": snapshot.metadata.uid}}});
        patch(desk, &kinds::snapshot_contents(), &content, change).await?;
    }
    add_finalizer(desk, &kinds::snapshot_contents(), &content, CONTENT_FINALIZER).await?;
    let seen = &content.data["status"];
    let mut status = json!({
        "boundVolumeSnapshotContentName": content.name_any(),
        "readyToUse": seen["readyToUse"] == true,
    });
    if let Some(nanoseconds) = seen["creationTime"].as_i64() {
        let at = jiff::Timestamp::from_nanosecond(i128::from(nanoseconds)).unwrap_or_default();
        status["creationTime"] = json!(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    }
    if let Some(size) = seen["restoreSize"].as_u64() {
        status["restoreSize"] = json!(quantity(size));
    }
    if !seen["error"].is_null() {
        status["error"] = seen["error"].clone();
    }
    write_status(desk, &kinds::snapshots(), &snapshot, status).await?;
    Ok(None)
}

/// Bytes as Kubernetes writes them: in the largest unit that leaves no rest.
fn quantity(bytes: u64) -> String {
    let units = [("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10)];
    let whole = |shift: u32| bytes > 0 && bytes.trailing_zeros() >= shift;
    match units.into_iter().find(|(_, shift)| whole(*shift)) {
        Some((unit, shift)) => format!("{}{unit}", bytes >> shift),
        None => bytes.to_string(),
    }
}

fn content_of(desk: &Desk, snapshot: &DynamicObject) -> Option<std::sync::Arc<DynamicObject>> {
    let name = snapshot.data["spec"]["source"]["volumeSnapshotContentName"]
        .as_str()
        .or_else(|| snapshot.data["status"]["boundVolumeSnapshotContentName"].as_str())
        .map_or_else(
            || format!("snapcontent-{}", snapshot.metadata.uid.clone().unwrap_or_default()),
            str::to_owned,
        );
    desk.cache.get("VolumeSnapshotContent", &Key::new("", &name)).cloned()
}

async fn fail(desk: &Desk, snapshot: &DynamicObject, why: &str) -> Result<Again, ActorError> {
    if snapshot.data["status"]["error"]["message"] != why {
        let status = json!({"readyToUse": false, "error": {"message": why, "time": desk.stamp()}});
        write_status(desk, &kinds::snapshots(), snapshot, status).await?;
    }
    Ok(Some(std::time::Duration::from_secs(15)))
}

async fn make_content(desk: &Desk, snapshot: &DynamicObject) -> Result<Again, ActorError> {
    let namespace = snapshot.namespace().unwrap_or_default();
    let claim_name =
        snapshot.data["spec"]["source"]["persistentVolumeClaimName"].as_str().unwrap_or_default();
    let claim = desk.cache.get("PersistentVolumeClaim", &Key::new(&namespace, claim_name));
    let Some(claim) = claim else {
        let why = format!(
            "snapshot controller failed to update {} on API server: cannot get claim from snapshot",
            snapshot.name_any()
        );
        return fail(desk, snapshot, &why).await;
    };
    let volume = claim.data["spec"]["volumeName"]
        .as_str()
        .and_then(|name| desk.cache.get("PersistentVolume", &Key::new("", name)));
    let Some(volume) = volume.filter(|_| claim.data["status"]["phase"] == "Bound") else {
        let why = format!(
            "the PVC {claim_name} is not yet bound to a PV, will not attempt to take a snapshot"
        );
        return fail(desk, snapshot, &why).await;
    };
    let driver = volume.data["spec"]["csi"]["driver"].as_str().unwrap_or_default().to_owned();
    let Some(class) = class_for(desk, snapshot, &driver) else {
        return fail(desk, snapshot, "failed to take snapshot: cannot find default snapshot class")
            .await;
    };
    create(
        desk,
        &kinds::snapshot_contents(),
        json!({
            "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotContent",
            "metadata": {
                "name": format!("snapcontent-{}", snapshot.metadata.uid.clone().unwrap_or_default()),
                "finalizers": [CONTENT_FINALIZER],
            },
            "spec": {
                "driver": driver, "deletionPolicy": class.data["deletionPolicy"],
                "volumeSnapshotClassName": class.name_any(),
                "source": {"volumeHandle": volume.data["spec"]["csi"]["volumeHandle"]},
                "sourceVolumeMode": volume.data["spec"]["volumeMode"],
                "volumeSnapshotRef": {
                    "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
                    "name": snapshot.name_any(), "namespace": namespace,
                    "uid": snapshot.metadata.uid, "resourceVersion": snapshot.resource_version(),
                },
            },
        }),
    )
    .await?;
    Ok(None)
}

/// The named class, or the driver's default one.
pub(super) fn class_for(
    desk: &Desk,
    snapshot: &DynamicObject,
    driver: &str,
) -> Option<std::sync::Arc<DynamicObject>> {
    match snapshot.data["spec"]["volumeSnapshotClassName"].as_str() {
        Some(name) => desk.cache.get("VolumeSnapshotClass", &Key::new("", name)).cloned(),
        None => desk
            .cache
            .list("VolumeSnapshotClass", None)
            .find(|class| {
                class.data["driver"] == driver
                    && class
                        .annotations()
                        .get("snapshot.storage.kubernetes.io/is-default-class")
                        .is_some_and(|yes| yes == "true")
            })
            .cloned(),
    }
}

/// A snapshot goes when no claim is being filled from it; its content goes with it if the policy says so.
async fn release(
    desk: &Desk,
    snapshot: &DynamicObject,
    content: Option<std::sync::Arc<DynamicObject>>,
) -> Result<Again, ActorError> {
    let filling = desk
        .cache
        .list("PersistentVolumeClaim", snapshot.metadata.namespace.as_deref())
        .any(|claim| {
            let source = &claim.data["spec"]["dataSource"];
            claim.data["status"]["phase"] == "Pending"
                && source["kind"] == "VolumeSnapshot"
                && source["name"] == snapshot.name_any()
        });
    if filling {
        return Ok(None);
    }
    if let Some(content) = &content {
        let owned = content.data["spec"]["volumeSnapshotRef"]["uid"].as_str()
            == snapshot.metadata.uid.as_deref();
        if owned && content.data["spec"]["deletionPolicy"] == "Delete" {
            if !content.annotations().contains_key(BEING_DELETED) {
                let change = json!({"metadata": {"annotations": {BEING_DELETED: "yes"}}});
                patch(desk, &kinds::snapshot_contents(), content, change).await?;
            }
            if content.metadata.deletion_timestamp.is_none() {
                delete(desk, &kinds::snapshot_contents(), content).await?;
            }
            return Ok(Some(std::time::Duration::from_secs(1)));
        }
    }
    let rest: Vec<Value> = snapshot
        .finalizers()
        .iter()
        .filter(|f| *f != BOUND && *f != AS_SOURCE)
        .map(|f| json!(f))
        .collect();
    if rest.len() < snapshot.finalizers().len() {
        let change = json!({"metadata": {
            "finalizers": rest, "resourceVersion": snapshot.resource_version(),
        }});
        patch(desk, &kinds::snapshots(), snapshot, change).await?;
    }
    Ok(None)
}

/// A retained content outlives its snapshot; one that is deleted by hand is let go.
async fn abandoned_content(key: &Key, desk: &Desk) -> Result<Again, ActorError> {
    let contents: Vec<_> = desk
        .cache
        .list("VolumeSnapshotContent", None)
        .filter(|content| {
            let reference = &content.data["spec"]["volumeSnapshotRef"];
            reference["name"] == key.name && reference["namespace"] == key.namespace
        })
        .cloned()
        .collect();
    for content in contents {
        if content.metadata.deletion_timestamp.is_some()
            && content.data["spec"]["deletionPolicy"] == "Retain"
        {
            remove_finalizer(desk, &kinds::snapshot_contents(), &content, CONTENT_FINALIZER)
                .await?;
        }
    }
    Ok(None)
}
