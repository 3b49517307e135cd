//! The CSI provisioner, and one outside CSI that does not look at data sources.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::json;

use super::binder::{SELECTED, request};
use super::disks::{Disk, Disks};
use super::{CSI, LOCAL_PATH};
use crate::actors::kinds;
use crate::actors::process::{ActorError, Again, Cache, Desk, Key, Reconciler};
use crate::actors::workloads::pods::{create, delete, event};

const PROVISIONER: &str = "volume.kubernetes.io/storage-provisioner";

/// Makes volumes for claims, and unmakes them.
pub struct Provisioner {
    disks: Disks,
}

impl Provisioner {
    pub(super) fn new(disks: Disks) -> Self {
        Self { disks }
    }
}

impl Reconciler for Provisioner {
    fn name(&self) -> &'static str {
        "provisioner"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, cache: &Cache) -> Vec<Key> {
        match kind {
            "PersistentVolumeClaim" | "PersistentVolume" => vec![Key::of(object)],
            // A claim may wait for its snapshot or its class.
            "VolumeSnapshot" | "VolumeSnapshotContent" | "StorageClass" => cache
                .list("PersistentVolumeClaim", None)
                .filter(|claim| claim.data["status"]["phase"] != "Bound")
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
        async move {
            if key.namespace.is_empty() {
                self.reclaim(key, desk).await
            } else {
                self.provision(key, desk).await
            }
        }
        .boxed()
    }
}

/// Where a new volume's bytes come from.
enum Content {
    Bytes(Disk),
    /// Not ours to fill: a populator will.
    Foreign,
    /// Not there yet.
    Wait(String),
}

impl Provisioner {
    async fn provision(&self, key: &Key, desk: &Desk) -> Result<Again, ActorError> {
        let Some(claim) = desk.cache.get("PersistentVolumeClaim", key).cloned() else {
            return Ok(None);
        };
        let asked = claim.annotations().get(PROVISIONER).map(String::as_str);
        let Some(driver) = asked.filter(|driver| matches!(*driver, CSI | LOCAL_PATH)) else {
            return Ok(None);
        };
        let bound = claim.data["spec"]["volumeName"].is_string();
        if bound || claim.metadata.deletion_timestamp.is_some() {
            return Ok(None);
        }
        let class_name = claim.data["spec"]["storageClassName"].as_str().unwrap_or_default();
        let Some(class) = desk.cache.get("StorageClass", &Key::new("", class_name)) else {
            return Ok(None);
        };
        let content = if driver == LOCAL_PATH {
            Content::Bytes(Disk::empty(request(&claim)))
        } else {
            self.content(desk, &claim)
        };
        let disk = match content {
            Content::Foreign => return Ok(None),
            Content::Wait(why) => {
                event(desk, &claim, driver, ("Warning", "ProvisioningFailed", &why)).await?;
                return Ok(Some(std::time::Duration::from_secs(5)));
            }
            Content::Bytes(disk) => disk,
        };
        let uid = claim.metadata.uid.clone().unwrap_or_default();
        let name = format!("pvc-{uid}");
        let handle = format!("disk-{uid}");
        self.disks.provision(&handle, Disk { size: disk.size.max(request(&claim)), ..disk });
        let mut volume = json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {
                "name": name,
                "annotations": {"pv.kubernetes.io/provisioned-by": driver},
            },
            "spec": {
                "accessModes": claim.data["spec"]["accessModes"],
                "capacity": {"storage": claim.data["spec"]["resources"]["requests"]["storage"]},
                "persistentVolumeReclaimPolicy":
                    class.data["reclaimPolicy"].as_str().unwrap_or("Delete"),
                "storageClassName": class_name,
                "volumeMode": claim.data["spec"]["volumeMode"].as_str().unwrap_or("Filesystem"),
                "claimRef": {
                    "apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": key.name,
                    "namespace": key.namespace, "uid": uid,
                    "resourceVersion": claim.resource_version(),
                },
            },
        });
        let node = claim.annotations().get(SELECTED);
        if driver == LOCAL_PATH {
            volume["spec"]["local"] = json!({"path": format!("/var/lib/local-path/{handle}")});
        } else {
            volume["spec"]["csi"] =
                json!({"driver": CSI, "volumeHandle": handle, "fsType": "ext4"});
        }
        let local = driver == LOCAL_PATH || class.data["parameters"]["topology"] == "node";
        if local {
            let Some(node) = node.cloned().or_else(|| Some("node-a".to_owned())) else {
                return Ok(None);
            };
            volume["spec"]["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": [{
                "matchExpressions": [
                    {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]},
                ],
            }]}});
        }
        create(desk, &kinds::volumes(), volume).await?;
        Ok(None)
    }

    fn content(&self, desk: &Desk, claim: &DynamicObject) -> Content {
        let spec = &claim.data["spec"];
        let source = if spec["dataSourceRef"].is_object() {
            &spec["dataSourceRef"]
        } else {
            &spec["dataSource"]
        };
        if !source.is_object() {
            return Content::Bytes(Disk::empty(request(claim)));
        }
        let namespace = claim.namespace().unwrap_or_default();
        let name = source["name"].as_str().unwrap_or_default();
        let group = source["apiGroup"].as_str().unwrap_or_default();
        match (group, source["kind"].as_str().unwrap_or_default()) {
            ("snapshot.storage.k8s.io", "VolumeSnapshot") => {
                let Some(snapshot) = desk.cache.get("VolumeSnapshot", &Key::new(&namespace, name))
                else {
                    return Content::Wait(format!(
                        "error getting handle for DataSource Type VolumeSnapshot by Name {name}: error getting snapshot {name} from api server: volumesnapshots.snapshot.storage.k8s.io {name:?} not found"
                    ));
                };
                if snapshot.data["status"]["readyToUse"] != true {
                    return Content::Wait(format!("snapshot {name} is not Ready"));
                }
                let content = snapshot.data["status"]["boundVolumeSnapshotContentName"]
                    .as_str()
                    .and_then(|name| desk.cache.get("VolumeSnapshotContent", &Key::new("", name)));
                let handle = content
                    .and_then(|content| content.data["status"]["snapshotHandle"].as_str())
                    .unwrap_or_default();
                match self.disks.read_snapshot(handle) {
                    Some(disk) if disk.size > request(claim) => Content::Wait(format!(
                        "requested volume size {} is less than the size {} for the source snapshot {name}",
                        request(claim),
                        disk.size
                    )),
                    Some(disk) => Content::Bytes(disk),
                    None => {
                        Content::Wait(format!("snapshot {handle:?} is not known to the driver"))
                    }
                }
            }
            ("", "PersistentVolumeClaim") => {
                let source = desk.cache.get("PersistentVolumeClaim", &Key::new(&namespace, name));
                let disk = source
                    .and_then(|source| source.data["spec"]["volumeName"].as_str())
                    .and_then(|name| desk.cache.get("PersistentVolume", &Key::new("", name)))
                    .and_then(|volume| volume.data["spec"]["csi"]["volumeHandle"].as_str())
                    .and_then(|handle| self.disks.read(handle));
                disk.map_or_else(
                    || Content::Wait(format!("the claim {name} to clone is not bound")),
                    Content::Bytes,
                )
            }
            _ => Content::Foreign,
        }
    }

    /// A released volume whose policy says so goes with its bytes.
    async fn reclaim(&self, key: &Key, desk: &Desk) -> Result<Again, ActorError> {
        let Some(volume) = desk.cache.get("PersistentVolume", key).cloned() else {
            return Ok(None);
        };
        let spec = &volume.data["spec"];
        let handle = match (spec["csi"]["driver"].as_str(), spec["local"]["path"].as_str()) {
            (Some(CSI), _) => spec["csi"]["volumeHandle"].as_str().unwrap_or_default().to_owned(),
            (_, Some(path))
                if volume
                    .annotations()
                    .get("pv.kubernetes.io/provisioned-by")
                    .is_some_and(|by| by == LOCAL_PATH) =>
            {
                path.rsplit('/').next().unwrap_or_default().to_owned()
            }
            _ => return Ok(None),
        };
        let released = volume.data["status"]["phase"] == "Released";
        if !released || spec["persistentVolumeReclaimPolicy"] != "Delete" {
            return Ok(None);
        }
        // The cache may be behind a change of policy: what cannot be undone is asked for again.
        let api = desk.api(&kinds::volumes(), "");
        let live = api.get_opt(&key.name).await?;
        let still = live.is_some_and(|live| {
            live.data["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
                && live.data["status"]["phase"] == "Released"
        });
        if still {
            self.disks.destroy(&handle);
            delete(desk, &kinds::volumes(), &volume).await?;
        }
        Ok(None)
    }
}
