//! Group snapshots: several claims at one instant.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::actors::kinds;
use crate::actors::process::{ActorError, Again, Cache, Desk, Key, Reconciler};
use crate::actors::workloads::pods::{create, selects, write_status};

/// Serves VolumeGroupSnapshots.
pub struct GroupSnapshots;

impl Reconciler for GroupSnapshots {
    fn name(&self) -> &'static str {
        "group-snapshots"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, cache: &Cache) -> Vec<Key> {
        match kind {
            "VolumeGroupSnapshot" => vec![Key::of(object)],
            "VolumeGroupSnapshotContent" => {
                let reference = &object.data["spec"]["volumeGroupSnapshotRef"];
                let text = |field: &str| reference[field].as_str().unwrap_or_default();
                vec![Key::new(text("namespace"), text("name"))]
            }
            "PersistentVolumeClaim" | "VolumeSnapshot" => cache
                .list("VolumeGroupSnapshot", object.metadata.namespace.as_deref())
                .filter(|group| group.data["status"]["readyToUse"] != true)
                .map(|group| Key::of(group))
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
    let Some(group) = desk.cache.get("VolumeGroupSnapshot", key).cloned() else { return Ok(None) };
    if group.metadata.deletion_timestamp.is_some() || group.data["status"]["readyToUse"] == true {
        return Ok(None);
    }
    let name = format!("groupsnapcontent-{}", group.metadata.uid.clone().unwrap_or_default());
    let Some(content) = desk.cache.get("VolumeGroupSnapshotContent", &Key::new("", &name)) else {
        return make_content(desk, &group, &name).await;
    };
    if content.data["status"]["readyToUse"] != true {
        return Ok(None);
    }
    let mut all_ready = true;
    let pairs = content.data["status"]["volumeSnapshotHandlePairList"].as_array().cloned();
    for (at, pair) in pairs.into_iter().flatten().enumerate() {
        all_ready &= member(desk, &group, content, &pair, at).await?;
    }
    let status = json!({
        "boundVolumeGroupSnapshotContentName": name, "readyToUse": all_ready,
        "creationTime": content.data["status"]["creationTime"],
    });
    write_status(desk, &kinds::group_snapshots(), &group, status).await?;
    Ok(None)
}

/// One claim's own snapshot of the group; true when it is ready.
async fn member(
    desk: &Desk,
    group: &DynamicObject,
    content: &DynamicObject,
    pair: &Value,
    at: usize,
) -> Result<bool, ActorError> {
    let uid = group.metadata.uid.clone().unwrap_or_default();
    let name = format!("snapshot-{uid}-{at}");
    let namespace = group.namespace().unwrap_or_default();
    if let Some(found) = desk.cache.get("VolumeSnapshot", &Key::new(&namespace, &name)) {
        return Ok(found.data["status"]["readyToUse"] == true);
    }
    let content_name = format!("snapcontent-{uid}-{at}");
    create(
        desk,
        &kinds::snapshot_contents(),
        json!({
            "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotContent",
            "metadata": {"name": content_name},
            "spec": {
                "driver": content.data["spec"]["driver"],
                "deletionPolicy": content.data["spec"]["deletionPolicy"],
                "source": {"snapshotHandle": pair["snapshotHandle"]},
                "volumeSnapshotRef": {
                    "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
                    "name": name, "namespace": namespace,
                },
            },
        }),
    )
    .await?;
    create(
        desk,
        &kinds::snapshots(),
        json!({
            "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
            "metadata": {
                "name": name, "namespace": namespace,
                "ownerReferences": [{
                    "apiVersion": "groupsnapshot.storage.k8s.io/v1beta1",
                    "kind": "VolumeGroupSnapshot", "name": group.name_any(), "uid": uid,
                }],
            },
            "spec": {"source": {"volumeSnapshotContentName": content_name}},
        }),
    )
    .await?;
    Ok(false)
}

async fn make_content(desk: &Desk, group: &DynamicObject, name: &str) -> Result<Again, ActorError> {
    let namespace = group.namespace().unwrap_or_default();
    let selector = &group.data["spec"]["source"]["selector"];
    let mut handles = Vec::new();
    for claim in desk.cache.list("PersistentVolumeClaim", Some(&namespace)) {
        if !selects(selector, claim) {
            continue;
        }
        let handle = claim.data["spec"]["volumeName"]
            .as_str()
            .and_then(|name| desk.cache.get("PersistentVolume", &Key::new("", name)))
            .and_then(|volume| volume.data["spec"]["csi"]["volumeHandle"].as_str());
        let Some(handle) = handle else {
            return Ok(Some(std::time::Duration::from_secs(5)));
        };
        handles.push(handle.to_owned());
    }
    let class_name =
        group.data["spec"]["volumeGroupSnapshotClassName"].as_str().unwrap_or_default();
    let class = desk.cache.get("VolumeGroupSnapshotClass", &Key::new("", class_name));
    let Some(class) = class.filter(|_| !handles.is_empty()) else {
        let why = if handles.is_empty() {
            "no claim matches the selector"
        } else {
            "the VolumeGroupSnapshotClass does not exist"
        };
        if group.data["status"]["error"]["message"] != why {
            let error = json!({"message": why, "time": desk.stamp()});
            let status = json!({"readyToUse": false, "error": error});
            write_status(desk, &kinds::group_snapshots(), group, status).await?;
        }
        return Ok(Some(std::time::Duration::from_secs(15)));
    };
    create(
        desk,
        &kinds::group_snapshot_contents(),
        json!({
            "apiVersion": "groupsnapshot.storage.k8s.io/v1beta1",
            "kind": "VolumeGroupSnapshotContent",
            "metadata": {"name": name},
            "spec": {
                "driver": class.data["driver"], "deletionPolicy": class.data["deletionPolicy"],
                "volumeGroupSnapshotClassName": class_name,
                "source": {"volumeHandles": handles},
                "volumeGroupSnapshotRef": {
                    "apiVersion": "groupsnapshot.storage.k8s.io/v1beta1",
                    "kind": "VolumeGroupSnapshot", "name": group.name_any(),
                    "namespace": namespace, "uid": group.metadata.uid,
                },
            },
        }),
    )
    .await?;
    Ok(None)
}
