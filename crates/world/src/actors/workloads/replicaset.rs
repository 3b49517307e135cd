//! ReplicaSets: so many pods of one template.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::json;

use super::pods::{
    condition, create, delete, event, forget_update_times, is_active, is_ready, owned_now, patch,
    pod_from, replicas, selects, set_condition, write_status,
};
use crate::actors::kinds;
use crate::actors::process::{ActorError, Again, Cache, Desk, Key, Reconciler, controller_of};

/// Keeps the pods of every ReplicaSet.
#[derive(Default)]
pub struct ReplicaSets {
    /// Failed creates in a row, for the back-off.
    failures: BTreeMap<Key, u32>,
}

impl Reconciler for ReplicaSets {
    fn name(&self) -> &'static str {
        "replicaset"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, cache: &Cache) -> Vec<Key> {
        match kind {
            "ReplicaSet" => vec![Key::of(object)],
            "Pod" => match controller_of(object) {
                Some(("ReplicaSet", name, _)) => {
                    vec![Key::new(&object.namespace().unwrap_or_default(), name)]
                }
                Some(_) => Vec::new(),
                None => cache
                    .list("ReplicaSet", object.metadata.namespace.as_deref())
                    .filter(|set| selects(&set.data["spec"]["selector"], object))
                    .map(|set| Key::of(set))
                    .collect(),
            },
            _ => Vec::new(),
        }
    }

    fn reconcile<'a>(
        &'a mut self,
        key: &'a Key,
        desk: &'a Desk,
    ) -> BoxFuture<'a, Result<Again, ActorError>> {
        self.sync(key, desk).boxed()
    }
}

impl ReplicaSets {
    async fn sync(&mut self, key: &Key, desk: &Desk) -> Result<Again, ActorError> {
        let Some(set) = desk.cache.get("ReplicaSet", key).cloned() else { return Ok(None) };
        for orphan in desk.cache.list("Pod", Some(&key.namespace)) {
            let adoptable = controller_of(orphan).is_none()
                && is_active(orphan)
                && set.metadata.deletion_timestamp.is_none()
                && selects(&set.data["spec"]["selector"], orphan);
            if adoptable {
                let mut owners =
                    serde_json::to_value(&orphan.metadata.owner_references).unwrap_or_default();
                if !owners.is_array() {
                    owners = json!([]);
                }
                if let Some(list) = owners.as_array_mut() {
                    list.push(super::pods::controller_reference(&set));
                }
                patch(
                    desk,
                    &kinds::pods(),
                    orphan,
                    json!({"metadata": {"ownerReferences": owners}}),
                )
                .await?;
            }
        }
        let all: Vec<_> = desk.cache.controlled("Pod", &set).cloned().collect();
        let mut active: Vec<_> = all.iter().filter(|pod| is_active(pod)).cloned().collect();
        let wanted = usize::try_from(replicas(&set)).unwrap_or_default();
        let mut again = None;
        let mut conditions =
            set.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
        if set.metadata.deletion_timestamp.is_none() {
            if active.len() < wanted {
                let mut failed = None;
                let now = owned_now(desk, &set).await?;
                let there = now.iter().filter(|pod| is_active(pod)).count();
                for _ in there..wanted {
                    let pod = pod_from(
                        &set.data["spec"]["template"],
                        &set,
                        Err(format!("{}-", key.name)),
                    );
                    if let Err(error) = create(desk, &kinds::pods(), pod).await {
                        failed = Some(error);
                        break;
                    }
                }
                match failed {
                    None => {
                        self.failures.remove(key);
                        conditions.retain(|c| c["type"] != "ReplicaFailure");
                    }
                    Some(error) => {
                        let times = self.failures.entry(key.clone()).or_default();
                        *times += 1;
                        // The real controller backs off from 5 ms to 16 minutes.
                        let wait = Duration::from_millis(5 << (*times).min(17))
                            .min(Duration::from_secs(960));
                        again = Some(wait);
                        let text = error.to_string();
                        set_condition(
                            &mut conditions,
                            &desk.stamp(),
                            ("ReplicaFailure", true, "FailedCreate", &text),
                        );
                        forget_update_times(&mut conditions);
                        event(
                            desk,
                            &set,
                            "replicaset-controller",
                            ("Warning", "FailedCreate", &format!("Error creating: {text}")),
                        )
                        .await?;
                    }
                }
            } else if active.len() > wanted {
                // Unready and young pods go first, as they are missed least.
                active.sort_by_key(|pod| {
                    (
                        is_ready(pod),
                        std::cmp::Reverse(pod.metadata.creation_timestamp.clone().map(|t| t.0)),
                        pod.name_any(),
                    )
                });
                for pod in active.iter().take(active.len() - wanted) {
                    delete(desk, &kinds::pods(), pod).await?;
                }
            }
        }
        let ready = active.iter().filter(|pod| is_ready(pod)).count();
        let labelled = active
            .iter()
            .filter(|pod| {
                set.data["spec"]["template"]["metadata"]["labels"].as_object().is_none_or(
                    |labels| {
                        labels
                            .iter()
                            .all(|(k, v)| pod.labels().get(k).map(String::as_str) == v.as_str())
                    },
                )
            })
            .count();
        let terminating =
            all.iter().filter(|pod| pod.metadata.deletion_timestamp.is_some()).count();
        let mut status = json!({
            "replicas": active.len(), "fullyLabeledReplicas": labelled, "readyReplicas": ready,
            "availableReplicas": ready, "observedGeneration": set.metadata.generation,
            "terminatingReplicas": terminating,
        });
        if let Some(map) = status.as_object_mut() {
            for field in ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"] {
                if map[field] == 0 {
                    map.remove(field);
                }
            }
        }
        if !conditions.is_empty() {
            status["conditions"] = json!(conditions);
        } else if condition(&set, "ReplicaFailure").is_some() {
            status["conditions"] = json!([]);
        }
        write_status(desk, &kinds::replica_sets(), &set, status).await?;
        Ok(again)
    }
}
