//! The kubelet: pods on a node start, become ready, end and go.

use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, DynamicObject, Preconditions};
use serde_json::{Value, json};

use super::pods::{condition, is_finished, is_leaving, write_status};
use super::scheduler::claims_of;
use crate::actors::kinds;
use crate::actors::process::{ActorError, Again, Cache, Desk, Key, Reconciler};

/// What a pod's containers end with; absent, pods that should end do so with 0.
pub const EXIT: &str = "world.holdfast.dev/exit";
/// Seconds that a pod which should end runs; 1 if absent.
pub const RUNS: &str = "world.holdfast.dev/runs";
/// A pod with this annotation never becomes ready.
pub const BROKEN: &str = "world.holdfast.dev/broken";

/// Plays every node's kubelet.
pub struct Kubelet;

impl Reconciler for Kubelet {
    fn name(&self) -> &'static str {
        "kubelet"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, cache: &Cache) -> Vec<Key> {
        match kind {
            "Pod" if object.data["spec"]["nodeName"].is_string() => vec![Key::of(object)],
            "PersistentVolumeClaim" => cache
                .list("Pod", object.metadata.namespace.as_deref())
                .filter(|pod| claims_of(pod).contains(&object.name_any()))
                .map(|pod| Key::of(pod))
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
    let Some(pod) = desk.cache.get("Pod", key).cloned() else { return Ok(None) };
    if is_leaving(&pod) {
        return stop(desk, &pod).await;
    }
    if is_finished(&pod) {
        return Ok(None);
    }
    for claim in claims_of(&pod) {
        let bound = desk
            .cache
            .get("PersistentVolumeClaim", &Key::new(&key.namespace, &claim))
            .is_some_and(|claim| claim.data["status"]["phase"] == "Bound");
        if !bound {
            return Ok(None);
        }
    }
    let started = pod.data["status"]["startTime"].as_str().map(str::to_owned);
    let ends = pod.data["spec"]["restartPolicy"].as_str().is_some_and(|policy| policy != "Always");
    if ends && let Some(since) = &started {
        let runs: i64 = pod.annotations().get(RUNS).and_then(|text| text.parse().ok()).unwrap_or(1);
        let since: jiff::Timestamp = since.parse().unwrap_or_else(|_| desk.now());
        let left = runs - desk.now().duration_since(since).as_secs();
        if left > 0 {
            return Ok(Some(Duration::from_secs(u64::try_from(left).unwrap_or(1))));
        }
        let code: i64 =
            pod.annotations().get(EXIT).and_then(|text| text.parse().ok()).unwrap_or_default();
        let phase = if code == 0 { "Succeeded" } else { "Failed" };
        write_status(desk, &kinds::pods(), &pod, status(desk, &pod, phase, false)).await?;
        return Ok(None);
    }
    let broken = pod.annotations().contains_key(BROKEN);
    write_status(desk, &kinds::pods(), &pod, status(desk, &pod, "Running", !broken)).await?;
    Ok(ends.then_some(Duration::from_secs(1)))
}

async fn stop(desk: &Desk, pod: &DynamicObject) -> Result<Again, ActorError> {
    let params = DeleteParams {
        grace_period_seconds: Some(0),
        preconditions: Some(Preconditions {
            uid: pod.metadata.uid.clone(),
            resource_version: None,
        }),
        ..DeleteParams::default()
    };
    let namespace = pod.namespace().unwrap_or_default();
    match desk.api(&kinds::pods(), &namespace).delete(&pod.name_any(), &params).await {
        Ok(_) => Ok(None),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn status(desk: &Desk, pod: &DynamicObject, phase: &str, works: bool) -> Value {
    let now = desk.stamp();
    let mut status = pod.data["status"].clone();
    let gates_open =
        pod.data["spec"]["readinessGates"].as_array().into_iter().flatten().all(|gate| {
            let kind = gate["conditionType"].as_str().unwrap_or_default();
            condition(pod, kind).is_some_and(|c| c["status"] == "True")
        });
    let ready = works && gates_open;
    let mut conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    let mut set = |kind: &str, holds: bool| {
        let text = if holds { "True" } else { "False" };
        let old = conditions.iter().find(|c| c["type"] == kind);
        if old.is_some_and(|c| c["status"] == text) {
            return;
        }
        conditions.retain(|c| c["type"] != kind);
        conditions.push(json!({
            "type": kind, "status": text, "lastProbeTime": null, "lastTransitionTime": now,
        }));
    };
    set("PodScheduled", true);
    set("Initialized", true);
    set("ContainersReady", works);
    set("Ready", ready);
    status["conditions"] = json!(conditions);
    status["phase"] = json!(phase);
    if !status["startTime"].is_string() {
        status["startTime"] = json!(now);
    }
    status["hostIP"] = json!("192.0.2.1");
    status["hostIPs"] = json!([{"ip": "192.0.2.1"}]);
    status["podIP"] = json!("198.51.100.1");
    status["podIPs"] = json!([{"ip": "198.51.100.1"}]);
    let old = status["containerStatuses"].as_array().cloned().unwrap_or_default();
    let containers: Vec<Value> = pod.data["spec"]["containers"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|container| {
            let name = &container["name"];
            let before = old.iter().find(|s| s["name"] == *name);
            let running = phase == "Running";
            let state = match before.map(|s| &s["state"]) {
                Some(state) if running == state["running"].is_object() => state.clone(),
                _ if running => json!({"running": {"startedAt": now}}),
                _ => json!({"terminated": {
                    "exitCode": i32::from(phase == "Failed"), "finishedAt": now, "startedAt": now,
                    "reason": if phase == "Failed" { "Error" } else { "Completed" },
                }}),
            };
            json!({
                "name": name, "image": container["image"], "imageID": container["image"],
                "ready": works, "started": works, "restartCount": 0, "state": state, "lastState": {},
            })
        })
        .collect();
    status["containerStatuses"] = json!(containers);
    status
}
