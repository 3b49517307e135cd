//! Protection finalizers: a claim in use and a bound volume outlive their deletion.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::json;

use crate::actors::kinds;
use crate::actors::process::{ActorError, Again, Cache, Desk, Key, Reconciler};
use crate::actors::workloads::pods::{is_finished, patch};
use crate::actors::workloads::scheduler::claims_of;

/// Lets go of claims that no pod uses and of volumes that no claim holds.
pub struct Protection;

impl Reconciler for Protection {
    fn name(&self) -> &'static str {
        "protection"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, _: &Cache) -> Vec<Key> {
        let namespace = object.namespace().unwrap_or_default();
        match kind {
            "PersistentVolumeClaim" | "PersistentVolume"
                if object.metadata.deletion_timestamp.is_some() =>
            {
                vec![Key::of(object)]
            }
            "PersistentVolume" => Vec::new(),
            "Pod" => claims_of(object).iter().map(|claim| Key::new(&namespace, claim)).collect(),
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
                let Some(volume) = desk.cache.get("PersistentVolume", key) else { return Ok(None) };
                let held = volume.data["status"]["phase"] == "Bound";
                return release(
                    desk,
                    &kinds::volumes(),
                    volume,
                    held,
                    "kubernetes.io/pv-protection",
                )
                .await;
            }
            let Some(claim) = desk.cache.get("PersistentVolumeClaim", key) else { return Ok(None) };
            let used = desk
                .cache
                .list("Pod", Some(&key.namespace))
                .any(|pod| !is_finished(pod) && claims_of(pod).contains(&key.name));
            release(desk, &kinds::claims(), claim, used, "kubernetes.io/pvc-protection").await
        }
        .boxed()
    }
}

async fn release(
    desk: &Desk,
    resource: &kube::api::ApiResource,
    object: &DynamicObject,
    held: bool,
    finalizer: &str,
) -> Result<Again, ActorError> {
    if held || object.metadata.deletion_timestamp.is_none() {
        return Ok(None);
    }
    let finalizers = object.finalizers();
    if finalizers.iter().any(|f| f == finalizer) {
        let rest: Vec<_> = finalizers.iter().filter(|f| *f != finalizer).collect();
        let change = json!({"metadata": {
            "finalizers": rest, "resourceVersion": object.resource_version(),
        }});
        patch(desk, resource, object, change).await?;
    }
    Ok(None)
}
