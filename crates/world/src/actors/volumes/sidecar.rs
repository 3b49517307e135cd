//! The CSI snapshotter sidecar: contents become snapshots of disks.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::{ApiResource, DynamicObject};
use serde_json::{Value, json};

use super::CSI;
use super::disks::Disks;
use crate::actors::kinds;
use crate::actors::process::{ActorError, Again, Cache, Desk, Key, Reconciler};
use crate::actors::workloads::pods::{patch, write_status};

/// Keeps a content until its snapshot may go.
pub(super) const CONTENT_FINALIZER: &str =
    "snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection";
/// Says that the snapshot of a content is being deleted.
pub(super) const BEING_DELETED: &str =
    "snapshot.storage.kubernetes.io/volumesnapshot-being-deleted";

/// Takes and drops snapshots for contents of this driver.
pub struct Snapshotter {
    disks: Disks,
}

impl Snapshotter {
    pub(super) fn new(disks: Disks) -> Self {
        Self { disks }
    }
}

impl Reconciler for Snapshotter {
    fn name(&self) -> &'static str {
        "snapshotter"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, _: &Cache) -> Vec<Key> {
        if kind == "VolumeSnapshotContent" { vec![Key::of(object)] } else { Vec::new() }
    }

    fn reconcile<'a>(
        &'a mut self,
        key: &'a Key,
        desk: &'a Desk,
    ) -> BoxFuture<'a, Result<Again, ActorError>> {
        async move {
            let Some(content) = desk.cache.get("VolumeSnapshotContent", key).cloned() else {
                return Ok(None);
            };
            let spec = &content.data["spec"];
            if spec["driver"] != CSI {
                return Ok(None);
            }
            if content.metadata.deletion_timestamp.is_some() {
                return self.drop_snapshot(desk, &content).await;
            }
            if content.data["status"]["readyToUse"] == true {
                return Ok(None);
            }
            let uid = content.metadata.uid.clone().unwrap_or_default();
            let (handle, known) = match spec["source"]["snapshotHandle"].as_str() {
                Some(handle) => (handle.to_owned(), self.disks.read_snapshot(handle).is_some()),
                None => {
                    let disk = spec["source"]["volumeHandle"].as_str().unwrap_or_default();
                    let handle = format!("snap-{uid}");
                    let taken = self.disks.snapshot(disk, &handle);
                    (handle, taken)
                }
            };
            if !known {
                let error = json!({
                    "message": format!("Failed to check and update snapshot content: failed to take snapshot of the volume {}: rpc error: code = NotFound desc = no such disk", spec["source"]["volumeHandle"].as_str().unwrap_or_default()),
                    "time": desk.stamp(),
                });
                let status = json!({"readyToUse": false, "error": error});
                if content.data["status"]["error"].is_null() {
                    write_status(desk, &kinds::snapshot_contents(), &content, status).await?;
                }
                return Ok(Some(std::time::Duration::from_secs(10)));
            }
            let size = self.disks.read_snapshot(&handle).map_or(0, |disk| disk.size);
            let now = desk.now();
            let status = json!({
                "snapshotHandle": handle, "readyToUse": true, "restoreSize": size,
                "creationTime": i64::try_from(now.as_nanosecond()).unwrap_or_default(),
            });
            write_status(desk, &kinds::snapshot_contents(), &content, status).await?;
            Ok(None)
        }
        .boxed()
    }
}

impl Snapshotter {
    async fn drop_snapshot(
        &self,
        desk: &Desk,
        content: &DynamicObject,
    ) -> Result<Again, ActorError> {
        let deletes = content.data["spec"]["deletionPolicy"] == "Delete"
            && content.annotations().contains_key(BEING_DELETED);
        if deletes && let Some(handle) = content.data["status"]["snapshotHandle"].as_str() {
            self.disks.forget_snapshot(handle);
        }
        remove_finalizer(desk, &kinds::snapshot_contents(), content, CONTENT_FINALIZER).await?;
        Ok(None)
    }
}

/// Takes and drops group snapshots of this driver.
pub struct GroupSnapshotter {
    disks: Disks,
}

impl GroupSnapshotter {
    pub(super) fn new(disks: Disks) -> Self {
        Self { disks }
    }
}

impl Reconciler for GroupSnapshotter {
    fn name(&self) -> &'static str {
        "group-snapshotter"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, _: &Cache) -> Vec<Key> {
        if kind == "VolumeGroupSnapshotContent" { vec![Key::of(object)] } else { Vec::new() }
    }

    fn reconcile<'a>(
        &'a mut self,
        key: &'a Key,
        desk: &'a Desk,
    ) -> BoxFuture<'a, Result<Again, ActorError>> {
        async move {
            let Some(content) = desk.cache.get("VolumeGroupSnapshotContent", key).cloned() else {
                return Ok(None);
            };
            let spec = &content.data["spec"];
            if spec["driver"] != CSI || content.data["status"]["readyToUse"] == true {
                return Ok(None);
            }
            if content.metadata.deletion_timestamp.is_some() {
                return Ok(None);
            }
            let uid = content.metadata.uid.clone().unwrap_or_default();
            let handles: Vec<&str> = spec["source"]["volumeHandles"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let pairs: Vec<(String, String)> = handles
                .iter()
                .enumerate()
                .map(|(at, disk)| ((*disk).to_owned(), format!("snap-{uid}-{at}")))
                .collect();
            if !self.disks.snapshot_group(&pairs) {
                return Ok(Some(std::time::Duration::from_secs(10)));
            }
            let shown: Vec<Value> = pairs
                .iter()
                .map(|(disk, snapshot)| json!({"volumeHandle": disk, "snapshotHandle": snapshot}))
                .collect();
            let status = json!({
                "volumeGroupSnapshotHandle": format!("group-{uid}"), "readyToUse": true,
                "creationTime": desk.stamp(), "volumeSnapshotHandlePairList": shown,
            });
            write_status(desk, &kinds::group_snapshot_contents(), &content, status).await?;
            Ok(None)
        }
        .boxed()
    }
}

/// Takes a finalizer off, if it is on.
pub(super) async fn remove_finalizer(
    desk: &Desk,
    resource: &ApiResource,
    object: &DynamicObject,
    finalizer: &str,
) -> Result<(), ActorError> {
    if object.finalizers().iter().any(|f| f == finalizer) {
        let rest: Vec<_> = object.finalizers().iter().filter(|f| *f != finalizer).collect();
        let change = json!({"metadata": {
            "finalizers": rest, "resourceVersion": object.resource_version(),
        }});
        patch(desk, resource, object, change).await?;
    }
    Ok(())
}

/// Puts a finalizer on, if it is off.
pub(super) async fn add_finalizer(
    desk: &Desk,
    resource: &ApiResource,
    object: &DynamicObject,
    finalizer: &str,
) -> Result<(), ActorError> {
    if !object.finalizers().iter().any(|f| f == finalizer) {
        let mut all = object.finalizers().to_vec();
        all.push(finalizer.to_owned());
        let change = json!({"metadata": {
            "finalizers": all, "resourceVersion": object.resource_version(),
        }});
        patch(desk, resource, object, change).await?;
    }
    Ok(())
}
