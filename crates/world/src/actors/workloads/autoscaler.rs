//! HorizontalPodAutoscalers: between their bounds, by a load that the scenario writes on them.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::json;

use super::pods::{forget_update_times, replicas, set_condition, write_status};
use crate::actors::kinds;
use crate::actors::process::{ActorError, Again, Cache, Desk, Key, Reconciler};

/// How many replicas the load asks for; without it the autoscaler only keeps the bounds.
pub const LOAD: &str = "world.holdfast.dev/load";

/// Scales what every autoscaler points at.
pub struct Autoscalers;

impl Reconciler for Autoscalers {
    fn name(&self) -> &'static str {
        "horizontalpodautoscaler"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, cache: &Cache) -> Vec<Key> {
        match kind {
            "HorizontalPodAutoscaler" => vec![Key::of(object)],
            "Deployment" | "StatefulSet" | "ReplicaSet" => cache
                .list("HorizontalPodAutoscaler", object.metadata.namespace.as_deref())
                .filter(|scaler| {
                    let target = &scaler.data["spec"]["scaleTargetRef"];
                    target["kind"] == kind && target["name"] == object.name_any()
                })
                .map(|scaler| Key::of(scaler))
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
    let Some(scaler) = desk.cache.get("HorizontalPodAutoscaler", key).cloned() else {
        return Ok(None);
    };
    let target = &scaler.data["spec"]["scaleTargetRef"];
    let kind = target["kind"].as_str().unwrap_or_default();
    let name = target["name"].as_str().unwrap_or_default();
    let Some(workload) = desk.cache.get(kind, &Key::new(&key.namespace, name)) else {
        return Ok(None);
    };
    let current = replicas(workload);
    let least = scaler.data["spec"]["minReplicas"].as_i64().unwrap_or(1);
    let most = scaler.data["spec"]["maxReplicas"].as_i64().unwrap_or(1);
    let load = scaler.annotations().get(LOAD).and_then(|text| text.parse::<i64>().ok());
    // At zero the autoscaler is off, unless it may scale to and from zero itself.
    let disabled = current == 0 && least > 0;
    let desired = if disabled { 0 } else { load.unwrap_or(current).clamp(least, most) };
    if desired != current {
        let resource = match kind {
            "StatefulSet" => kinds::stateful_sets(),
            "ReplicaSet" => kinds::replica_sets(),
            _ => kinds::deployments(),
        };
        let scale = Patch::Merge(json!({"spec": {"replicas": desired}}));
        desk.api(&resource, &key.namespace)
            .patch_scale(name, &PatchParams::default(), &scale)
            .await?;
    }
    let mut conditions =
        scaler.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let now = desk.stamp();
    set_condition(
        &mut conditions,
        &now,
        (
            "AbleToScale",
            true,
            "SucceededGetScale",
            "the HPA controller was able to get the target's current scale",
        ),
    );
    if disabled {
        set_condition(
            &mut conditions,
            &now,
            (
                "ScalingActive",
                false,
                "ScalingDisabled",
                "scaling is disabled since the replica count of the target is zero",
            ),
        );
    } else {
        set_condition(
            &mut conditions,
            &now,
            (
                "ScalingActive",
                true,
                "ValidMetricFound",
                "the HPA was able to successfully calculate a replica count",
            ),
        );
    }
    forget_update_times(&mut conditions);
    let mut status = json!({
        "currentReplicas": current, "desiredReplicas": desired, "conditions": conditions,
    });
    if current == 0 {
        status["currentReplicas"].take();
    }
    if let Some(map) = status.as_object_mut() {
        map.retain(|_, value| !value.is_null());
    }
    write_status(desk, &kinds::autoscalers(), &scaler, status).await?;
    Ok(None)
}
