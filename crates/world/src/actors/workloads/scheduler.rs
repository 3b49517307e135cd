//! The scheduler: pods to nodes, and claims that wait for it.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::pods::{condition, is_leaving, patch_as, write_status};
use crate::actors::kinds;
use crate::actors::process::{ActorError, Again, Cache, Desk, Key, Reconciler};

const SELECTED: &str = "volume.kubernetes.io/selected-node";

/// Binds pods to nodes.
pub struct Scheduler;

impl Reconciler for Scheduler {
    fn name(&self) -> &'static str {
        "scheduler"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, cache: &Cache) -> Vec<Key> {
        let waiting = |pod: &DynamicObject| {
            pod.data["spec"]["nodeName"].as_str().unwrap_or_default().is_empty() && !is_leaving(pod)
        };
        match kind {
            "Pod" if waiting(object) => vec![Key::of(object)],
            "PersistentVolumeClaim" => cache
                .list("Pod", object.metadata.namespace.as_deref())
                .filter(|pod| waiting(pod) && claims_of(pod).contains(&object.name_any()))
                .map(|pod| Key::of(pod))
                .collect(),
            "Node" | "StorageClass" | "PersistentVolume" => {
                cache.list("Pod", None).filter(|pod| waiting(pod)).map(|pod| Key::of(pod)).collect()
            }
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

/// Claims that a pod mounts.
pub fn claims_of(pod: &DynamicObject) -> Vec<String> {
    pod.data["spec"]["volumes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|volume| {
            volume["persistentVolumeClaim"]["claimName"].as_str().map(str::to_owned)
        })
        .collect()
}

async fn sync(key: &Key, desk: &Desk) -> Result<Again, ActorError> {
    let Some(pod) = desk.cache.get("Pod", key).cloned() else { return Ok(None) };
    let gated =
        pod.data["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty());
    if gated
        || is_leaving(&pod)
        || !pod.data["spec"]["nodeName"].as_str().unwrap_or_default().is_empty()
    {
        return Ok(None);
    }
    let mut fitting: Vec<String> = desk
        .cache
        .list("Node", None)
        .filter(|node| fits(&pod, node))
        .map(|node| node.name_any())
        .collect();
    let claims = claims_of(&pod);
    let mut waits_for = None;
    for name in &claims {
        let Some(claim) = desk.cache.get("PersistentVolumeClaim", &Key::new(&key.namespace, name))
        else {
            return unschedulable(desk, &pod, &format!("persistentvolumeclaim {name:?} not found"))
                .await;
        };
        if let Some(node) = pinned_node(desk, claim) {
            fitting.retain(|other| *other == node);
        }
        if claim.data["status"]["phase"] != "Bound" {
            waits_for = Some(claim.clone());
        }
    }
    let Some(node) = fitting.first() else {
        let all = desk.cache.list("Node", None).count();
        return unschedulable(desk, &pod, &format!("0/{all} nodes are available.")).await;
    };
    if let Some(claim) = waits_for {
        if waits_for_consumer(desk, &claim) {
            if claim.annotations().get(SELECTED).is_none_or(|chosen| !fitting.contains(chosen)) {
                patch_as(
                    desk,
                    "kube-scheduler",
                    &kinds::claims(),
                    &claim,
                    json!({"metadata": {"annotations": {SELECTED: node}}}),
                )
                .await?;
            }
            return Ok(None);
        }
        return unschedulable(desk, &pod, "pod has unbound immediate PersistentVolumeClaims").await;
    }
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding",
        "metadata": {"name": key.name, "namespace": key.namespace},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    });
    let body =
        serde_json::to_vec(&binding).map_err(|error| ActorError::Other(error.to_string()))?;
    let request = http::Request::post(format!(
        "/api/v1/namespaces/{}/pods/{}/binding",
        key.namespace, key.name
    ))
    .header("content-type", "application/json")
    .body(body)
    .map_err(|error| ActorError::Other(error.to_string()))?;
    match desk.client.request::<Value>(request).await {
        Ok(_) => Ok(None),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn fits(pod: &DynamicObject, node: &DynamicObject) -> bool {
    let chosen = pod.data["spec"]["nodeSelector"]
        .as_object()
        .into_iter()
        .flatten()
        .all(|(key, value)| node.labels().get(key).map(String::as_str) == value.as_str());
    chosen && node.data["spec"]["unschedulable"] != true
}

/// The node that a claim's volume, or an earlier choice, ties the pod to.
fn pinned_node(desk: &Desk, claim: &DynamicObject) -> Option<String> {
    let volume = claim.data["spec"]["volumeName"].as_str()?;
    let volume = desk.cache.get("PersistentVolume", &Key::new("", volume))?;
    let terms = volume.data["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"].as_array()?;
    let expression = terms.first()?["matchExpressions"].as_array()?.first()?;
    expression["values"].as_array()?.first()?.as_str().map(str::to_owned)
}

fn waits_for_consumer(desk: &Desk, claim: &DynamicObject) -> bool {
    let class = claim.data["spec"]["storageClassName"].as_str().unwrap_or_default();
    desk.cache
        .get("StorageClass", &Key::new("", class))
        .is_some_and(|class| class.data["volumeBindingMode"] == "WaitForFirstConsumer")
}

async fn unschedulable(desk: &Desk, pod: &DynamicObject, why: &str) -> Result<Again, ActorError> {
    if condition(pod, "PodScheduled").is_some_and(|c| c["message"] == why) {
        return Ok(None);
    }
    let mut status = pod.data["status"].clone();
    let mut conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    conditions.retain(|c| c["type"] != "PodScheduled");
    conditions.push(json!({
        "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": why,
        "lastProbeTime": null, "lastTransitionTime": desk.stamp(),
    }));
    status["conditions"] = json!(conditions);
    write_status(desk, &kinds::pods(), pod, status).await?;
    Ok(None)
}
