//! The resizer: claims grow.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::api::DynamicObject;
use serde_json::json;

use super::binder::{capacity, request};
use super::disks::Disks;
use crate::actors::kinds;
use crate::actors::process::{ActorError, Again, Cache, Desk, Key, Reconciler};
use crate::actors::workloads::pods::{patch, write_status};

/// Grows volumes whose claim asks for more.
pub struct Resizer {
    disks: Disks,
}

impl Resizer {
    pub(super) fn new(disks: Disks) -> Self {
        Self { disks }
    }
}

impl Reconciler for Resizer {
    fn name(&self) -> &'static str {
        "resizer"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, _: &Cache) -> Vec<Key> {
        if kind == "PersistentVolumeClaim" { vec![Key::of(object)] } else { Vec::new() }
    }

    fn reconcile<'a>(
        &'a mut self,
        key: &'a Key,
        desk: &'a Desk,
    ) -> BoxFuture<'a, Result<Again, ActorError>> {
        async move {
            let Some(claim) = desk.cache.get("PersistentVolumeClaim", key) else { return Ok(None) };
            let bound = claim.data["status"]["phase"] == "Bound";
            let volume = claim.data["spec"]["volumeName"]
                .as_str()
                .and_then(|name| desk.cache.get("PersistentVolume", &Key::new("", name)));
            let Some(volume) = volume.filter(|_| bound) else { return Ok(None) };
            let class = claim.data["spec"]["storageClassName"].as_str().unwrap_or_default();
            let may_grow = desk
                .cache
                .get("StorageClass", &Key::new("", class))
                .is_some_and(|class| class.data["allowVolumeExpansion"] == true);
            let Some(handle) = volume.data["spec"]["csi"]["volumeHandle"].as_str() else {
                return Ok(None);
            };
            if !may_grow || request(claim) <= capacity(volume) {
                return Ok(None);
            }
            let size = request(claim);
            self.disks.write(handle, |disk| disk.size = disk.size.max(size));
            let wanted = claim.data["spec"]["resources"]["requests"]["storage"].clone();
            let change = json!({"spec": {"capacity": {"storage": wanted}}});
            patch(desk, &kinds::volumes(), volume, change).await?;
            let mut status = claim.data["status"].clone();
            status["capacity"]["storage"] = wanted;
            write_status(desk, &kinds::claims(), claim, status).await?;
            Ok(None)
        }
        .boxed()
    }
}
