//! Deployments: ReplicaSets that follow a template, one revision after the other.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::pods::{
    condition, controller_reference, create, delete, is_active, patch, replicas, same_template,
    selects, set_condition, template_hash, write_status, write_status_with,
};
use crate::actors::kinds;
use crate::actors::process::{ActorError, Again, Cache, Desk, Key, Reconciler, controller_of};

const REVISION: &str = "deployment.kubernetes.io/revision";

/// Rolls every Deployment to its template.
pub struct Deployments;

impl Reconciler for Deployments {
    fn name(&self) -> &'static str {
        "deployment"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, cache: &Cache) -> Vec<Key> {
        let namespace = object.namespace().unwrap_or_default();
        match kind {
            "Deployment" => vec![Key::of(object)],
            "ReplicaSet" => match controller_of(object) {
                Some(("Deployment", name, _)) => vec![Key::new(&namespace, name)],
                Some(_) => Vec::new(),
                None => cache
                    .list("Deployment", Some(&namespace))
                    .filter(|deployment| selects(&deployment.data["spec"]["selector"], object))
                    .map(|deployment| Key::of(deployment))
                    .collect(),
            },
            // Recreate waits for the last old pod.
            "Pod" => match controller_of(object) {
                Some(("ReplicaSet", name, _)) => cache
                    .get("ReplicaSet", &Key::new(&namespace, name))
                    .and_then(|set| {
                        controller_of(set).map(|(_, name, _)| Key::new(&namespace, name))
                    })
                    .into_iter()
                    .collect(),
                _ => Vec::new(),
            },
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

struct Sets {
    new: Option<Arc<DynamicObject>>,
    old: Vec<Arc<DynamicObject>>,
}

async fn sync(key: &Key, desk: &Desk) -> Result<Again, ActorError> {
    let Some(deployment) = desk.cache.get("Deployment", key).cloned() else { return Ok(None) };
    if deployment.metadata.deletion_timestamp.is_some() {
        return Ok(None);
    }
    adopt(desk, &deployment).await?;
    let template = &deployment.data["spec"]["template"];
    let mut owned: Vec<_> = desk.cache.controlled("ReplicaSet", &deployment).cloned().collect();
    owned.sort_by_key(|set| (revision(set), set.name_any()));
    let at = owned.iter().position(|set| same_template(&set.data["spec"]["template"], template));
    let new = at.map(|at| owned.remove(at));
    let sets = Sets { new, old: owned };
    let paused = deployment.data["spec"]["paused"] == true;
    if !paused {
        match &sets.new {
            None => create_new(desk, &deployment, &sets.old).await?,
            Some(new) => {
                let last = sets.old.iter().map(|set| revision(set)).max().unwrap_or_default();
                if revision(new) <= last {
                    let next = (last + 1).to_string();
                    patch(
                        desk,
                        &kinds::replica_sets(),
                        new,
                        json!({"metadata": {"annotations": {REVISION: next}}}),
                    )
                    .await?;
                }
                let shown = revision(new).max(last + i64::from(!sets.old.is_empty())).to_string();
                if deployment.annotations().get(REVISION).is_none_or(|known| *known != shown) {
                    // With the status: an annotation that came otherwise would be a new generation.
                    let status = deployment.data["status"].clone();
                    let shown = json!({ REVISION: shown });
                    let kind = kinds::deployments();
                    write_status_with(desk, &kind, &deployment, shown, status).await?;
                }
                roll(desk, &deployment, new, &sets.old).await?;
                clean_up(desk, &deployment, &sets.old).await?;
            }
        }
    } else if let Some(new) = &sets.new {
        scale(desk, &deployment, new, replicas(&deployment)).await?;
    }
    report(desk, &deployment, &sets).await
}

/// Takes over matching ReplicaSets that nobody controls.
async fn adopt(desk: &Desk, deployment: &DynamicObject) -> Result<(), ActorError> {
    let selector = &deployment.data["spec"]["selector"];
    for set in desk.cache.list("ReplicaSet", deployment.metadata.namespace.as_deref()) {
        if controller_of(set).is_none()
            && set.metadata.deletion_timestamp.is_none()
            && selects(selector, set)
        {
            let owners = json!([controller_reference(deployment)]);
            patch(
                desk,
                &kinds::replica_sets(),
                set,
                json!({"metadata": {"ownerReferences": owners}}),
            )
            .await?;
        }
    }
    Ok(())
}

fn revision(set: &DynamicObject) -> i64 {
    set.annotations().get(REVISION).and_then(|text| text.parse().ok()).unwrap_or_default()
}

async fn create_new(
    desk: &Desk,
    deployment: &DynamicObject,
    old: &[Arc<DynamicObject>],
) -> Result<(), ActorError> {
    let mut template = deployment.data["spec"]["template"].clone();
    let hash = template_hash(&template);
    template["metadata"]["labels"]["pod-template-hash"] = json!(hash);
    let mut selector = deployment.data["spec"]["selector"].clone();
    selector["matchLabels"]["pod-template-hash"] = json!(hash);
    let next = old.iter().map(|set| revision(set)).max().unwrap_or_default() + 1;
    let wanted = replicas(deployment);
    let first = if old.is_empty() { wanted } else { surge_room(deployment, old, 0) };
    let mut annotations = sizes(deployment);
    annotations[REVISION] = json!(next.to_string());
    create(
        desk,
        &kinds::replica_sets(),
        json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {
                "name": format!("{}-{hash}", deployment.name_any()),
                "namespace": deployment.namespace(),
                "labels": template["metadata"]["labels"],
                "annotations": annotations,
                "ownerReferences": [controller_reference(deployment)],
            },
            "spec": {"replicas": first, "selector": selector, "template": template},
        }),
    )
    .await
}

/// What a ReplicaSet says of its Deployment's size.
fn sizes(deployment: &DynamicObject) -> Value {
    let wanted = replicas(deployment);
    let surge = if is_recreate(deployment) || wanted == 0 { 0 } else { bounds(deployment).0 };
    json!({
        "deployment.kubernetes.io/desired-replicas": wanted.to_string(),
        "deployment.kubernetes.io/max-replicas": (wanted + surge).to_string(),
    })
}

fn is_recreate(deployment: &DynamicObject) -> bool {
    deployment.data["spec"]["strategy"]["type"] == "Recreate"
}

/// maxSurge and maxUnavailable as numbers; never both zero.
fn bounds(deployment: &DynamicObject) -> (i64, i64) {
    let wanted = replicas(deployment);
    let rolling = &deployment.data["spec"]["strategy"]["rollingUpdate"];
    let number = |value: &Value, up: bool| match value {
        Value::Number(number) => number.as_i64().unwrap_or_default(),
        Value::String(text) => {
            let percent: i64 = text.trim_end_matches('%').parse().unwrap_or(25);
            if up { (wanted * percent + 99) / 100 } else { wanted * percent / 100 }
        }
        _ if up => (wanted * 25 + 99) / 100,
        _ => wanted * 25 / 100,
    };
    let (surge, unavailable) =
        (number(&rolling["maxSurge"], true), number(&rolling["maxUnavailable"], false));
    if surge == 0 && unavailable == 0 { (0, 1) } else { (surge, unavailable) }
}

fn surge_room(deployment: &DynamicObject, old: &[Arc<DynamicObject>], new: i64) -> i64 {
    let running: i64 = old.iter().map(|set| replicas(set)).sum();
    if is_recreate(deployment) {
        return if running == 0 { replicas(deployment) } else { 0 };
    }
    let (surge, _) = bounds(deployment);
    (replicas(deployment) + surge - running - new).clamp(0, replicas(deployment) - new)
}

async fn roll(
    desk: &Desk,
    deployment: &DynamicObject,
    new: &Arc<DynamicObject>,
    old: &[Arc<DynamicObject>],
) -> Result<(), ActorError> {
    let wanted = replicas(deployment);
    if is_recreate(deployment) {
        for set in old {
            scale(desk, deployment, set, 0).await?;
        }
        let lingering = old.iter().any(|set| {
            replicas(set) > 0
                || desk.cache.controlled("Pod", set).any(|pod| !super::pods::is_finished(pod))
        });
        return scale(
            desk,
            deployment,
            new,
            if lingering { replicas(new).min(wanted) } else { wanted },
        )
        .await;
    }
    let available =
        |set: &DynamicObject| set.data["status"]["availableReplicas"].as_i64().unwrap_or_default();
    let new_size = replicas(new);
    if new_size > wanted {
        return scale(desk, deployment, new, wanted).await;
    }
    let room = surge_room(deployment, old, new_size);
    if room > 0 {
        scale(desk, deployment, new, (new_size + room).min(wanted)).await?;
    }
    let (_, unavailable) = bounds(deployment);
    let total_available: i64 = old.iter().map(|set| available(set)).sum::<i64>() + available(new);
    let total: i64 = old.iter().map(|set| replicas(set)).sum::<i64>() + new_size;
    let not_yet = new_size - available(new);
    let mut spare = (total - (wanted - unavailable) - not_yet).max(0);
    // First what does not work anyway, then what does, as far as the budget goes.
    for set in old {
        let broken = replicas(set) - available(set);
        let cut = broken.min(spare).max(0);
        if cut > 0 {
            scale(desk, deployment, set, replicas(set) - cut).await?;
            spare -= cut;
        }
    }
    let mut budget = (total_available - (wanted - unavailable)).max(0);
    for set in old {
        let cut = available(set).min(budget);
        if cut > 0 {
            scale(desk, deployment, set, (replicas(set) - cut).max(0)).await?;
            budget -= cut;
        }
    }
    Ok(())
}

async fn scale(
    desk: &Desk,
    deployment: &DynamicObject,
    set: &DynamicObject,
    to: i64,
) -> Result<(), ActorError> {
    if replicas(set) != to {
        let change = json!({
            "metadata": {"annotations": sizes(deployment)}, "spec": {"replicas": to},
        });
        patch(desk, &kinds::replica_sets(), set, change).await?;
    }
    Ok(())
}

async fn clean_up(
    desk: &Desk,
    deployment: &DynamicObject,
    old: &[Arc<DynamicObject>],
) -> Result<(), ActorError> {
    let limit = deployment.data["spec"]["revisionHistoryLimit"].as_u64().unwrap_or(10);
    let idle: Vec<_> = old
        .iter()
        .filter(|set| {
            replicas(set) == 0 && set.data["status"]["replicas"].as_i64().unwrap_or_default() == 0
        })
        .collect();
    let surplus = idle.len().saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX));
    for set in idle.into_iter().take(surplus) {
        delete(desk, &kinds::replica_sets(), set).await?;
    }
    Ok(())
}

async fn report(desk: &Desk, deployment: &DynamicObject, sets: &Sets) -> Result<Again, ActorError> {
    let count =
        |set: &DynamicObject, field: &str| set.data["status"][field].as_i64().unwrap_or_default();
    let all = || sets.new.iter().chain(&sets.old);
    let sum = |field: &str| all().map(|set| count(set, field)).sum::<i64>();
    let wanted = replicas(deployment);
    let (total, ready, available) =
        (sum("replicas"), sum("readyReplicas"), sum("availableReplicas"));
    let updated = sets.new.as_ref().map_or(0, |set| count(set, "replicas"));
    let now = desk.stamp();
    let mut conditions =
        deployment.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let (_, may_miss) = if is_recreate(deployment) { (0, 0) } else { bounds(deployment) };
    if available >= wanted - may_miss {
        set_condition(
            &mut conditions,
            &now,
            ("Available", true, "MinimumReplicasAvailable", "Deployment has minimum availability."),
        );
    } else {
        set_condition(
            &mut conditions,
            &now,
            (
                "Available",
                false,
                "MinimumReplicasUnavailable",
                "Deployment does not have minimum availability.",
            ),
        );
    }
    let name = sets.new.as_ref().map_or_else(|| deployment.name_any(), |set| set.name_any());
    let complete =
        updated == wanted && total == wanted && available == wanted && sets.new.is_some();
    let mut again = None;
    if complete {
        set_condition(
            &mut conditions,
            &now,
            (
                "Progressing",
                true,
                "NewReplicaSetAvailable",
                &format!("ReplicaSet {name:?} has successfully progressed."),
            ),
        );
    } else {
        let moved = ["updatedReplicas", "availableReplicas", "readyReplicas"]
            .iter()
            .zip([updated, available, ready])
            .any(|(field, now)| {
                deployment.data["status"][*field].as_i64().unwrap_or_default() != now
            })
            || deployment.data["status"]["observedGeneration"]
                != json!(deployment.metadata.generation);
        let deadline = deployment.data["spec"]["progressDeadlineSeconds"].as_i64().unwrap_or(600);
        let since = condition(deployment, "Progressing")
            .filter(|c| c["reason"] != "NewReplicaSetAvailable")
            .and_then(|c| c["lastUpdateTime"].as_str()?.parse::<jiff::Timestamp>().ok());
        let stuck_for = since.map_or(0, |since| desk.now().duration_since(since).as_secs());
        if moved || since.is_none() {
            // A fresh update time: something moved.
            conditions.retain(|c| c["type"] != "Progressing");
            set_condition(
                &mut conditions,
                &now,
                (
                    "Progressing",
                    true,
                    "ReplicaSetUpdated",
                    &format!("ReplicaSet {name:?} is progressing."),
                ),
            );
            again = Some(Duration::from_secs(u64::try_from(deadline).unwrap_or(600) + 1));
        } else if stuck_for >= deadline {
            set_condition(
                &mut conditions,
                &now,
                (
                    "Progressing",
                    false,
                    "ProgressDeadlineExceeded",
                    &format!("ReplicaSet {name:?} has timed out progressing."),
                ),
            );
        } else {
            again = Some(Duration::from_secs(u64::try_from(deadline - stuck_for).unwrap_or(1) + 1));
        }
    }
    if let Some(failure) = sets.new.as_ref().and_then(|set| condition(set, "ReplicaFailure")) {
        let text = failure["message"].as_str().unwrap_or_default().to_owned();
        set_condition(&mut conditions, &now, ("ReplicaFailure", true, "FailedCreate", &text));
    } else {
        conditions.retain(|c| c["type"] != "ReplicaFailure");
    }
    conditions.sort_by_key(|c| c["type"].as_str().unwrap_or_default().to_owned());
    let terminating = all()
        .flat_map(|set| desk.cache.controlled("Pod", set))
        .filter(|pod| !is_active(pod) && pod.metadata.deletion_timestamp.is_some())
        .count();
    let mut status = json!({
        "observedGeneration": deployment.metadata.generation, "replicas": total,
        "updatedReplicas": updated, "readyReplicas": ready, "availableReplicas": available,
        "unavailableReplicas": (wanted.max(total) - available).max(0), "conditions": conditions,
        "terminatingReplicas": terminating,
    });
    if let Some(map) = status.as_object_mut() {
        for field in [
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
        ] {
            if map[field] == 0 {
                map.remove(field);
            }
        }
    }
    write_status(desk, &kinds::deployments(), deployment, status).await?;
    Ok(again)
}
