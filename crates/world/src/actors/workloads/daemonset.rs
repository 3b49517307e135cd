//! DaemonSets: one pod on every node.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::json;

use super::pods::{
    controller_reference, create, delete, is_finished, is_leaving, is_ready, owned_now, pod_from,
    template_hash, write_status,
};
use crate::actors::kinds;
use crate::actors::process::{ActorError, Again, Cache, Desk, Key, Reconciler, controller_of};

const REVISION: &str = "controller-revision-hash";

/// Keeps a pod of every DaemonSet on every node.
pub struct DaemonSets;

impl Reconciler for DaemonSets {
    fn name(&self) -> &'static str {
        "daemonset"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, cache: &Cache) -> Vec<Key> {
        match kind {
            "DaemonSet" => vec![Key::of(object)],
            "Node" => cache.list("DaemonSet", None).map(|set| Key::of(set)).collect(),
            "Pod" => match controller_of(object) {
                Some(("DaemonSet", name, _)) => {
                    vec![Key::new(&object.namespace().unwrap_or_default(), name)]
                }
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

async fn sync(key: &Key, desk: &Desk) -> Result<Again, ActorError> {
    let Some(set) = desk.cache.get("DaemonSet", key).cloned() else { return Ok(None) };
    if set.metadata.deletion_timestamp.is_some() {
        return Ok(None);
    }
    let template = &set.data["spec"]["template"];
    let hash = template_hash(template);
    keep_revision(desk, &set, &hash).await?;
    let wanted = template["spec"]["nodeSelector"].clone();
    let fits = |node: &DynamicObject| {
        wanted
            .as_object()
            .into_iter()
            .flatten()
            .all(|(key, value)| node.labels().get(key).map(String::as_str) == value.as_str())
    };
    let nodes: Vec<String> = desk
        .cache
        .list("Node", None)
        .filter(|node| fits(node))
        .map(|node| node.name_any())
        .collect();
    let pods: Vec<_> = desk.cache.controlled("Pod", &set).cloned().collect();
    let on =
        |pod: &DynamicObject| pod.data["spec"]["nodeName"].as_str().unwrap_or_default().to_owned();
    let missing = nodes.iter().any(|node| !pods.iter().any(|pod| on(pod) == *node));
    let there = if missing { owned_now(desk, &set).await? } else { Vec::new() };
    for node in nodes.iter().filter(|_| missing) {
        if !there.iter().any(|pod| on(pod) == *node) {
            let mut pod = pod_from(template, &set, Err(format!("{}-", key.name)));
            pod["metadata"]["labels"][REVISION] = json!(hash);
            pod["spec"]["nodeName"] = json!(node);
            create(desk, &kinds::pods(), pod).await?;
        }
    }
    let rolling = set.data["spec"]["updateStrategy"]["type"] != "OnDelete";
    let current = |pod: &DynamicObject| pod.labels().get(REVISION).is_some_and(|h| *h == hash);
    let down = pods.iter().any(|pod| is_leaving(pod) || (current(pod) && !is_ready(pod)));
    for pod in &pods {
        let misplaced = !nodes.contains(&on(pod));
        let outdated = rolling && !current(pod) && !down;
        if (misplaced || outdated || is_finished(pod)) && !is_leaving(pod) {
            delete(desk, &kinds::pods(), pod).await?;
            if outdated {
                break;
            }
        }
    }
    let ready = pods.iter().filter(|pod| is_ready(pod)).count();
    let mut status = json!({
        "observedGeneration": set.metadata.generation,
        "desiredNumberScheduled": nodes.len(), "currentNumberScheduled": pods.len().min(nodes.len()),
        "numberMisscheduled": 0, "numberReady": ready, "numberAvailable": ready,
        "updatedNumberScheduled": pods.iter().filter(|pod| current(pod)).count(),
        "numberUnavailable": nodes.len().saturating_sub(ready),
    });
    if let Some(map) = status.as_object_mut() {
        for field in ["numberAvailable", "updatedNumberScheduled", "numberUnavailable"] {
            if map[field] == 0 {
                map.remove(field);
            }
        }
    }
    write_status(desk, &kinds::daemon_sets(), &set, status).await?;
    Ok(None)
}

/// The template as it was, under its hash.
async fn keep_revision(desk: &Desk, set: &DynamicObject, hash: &str) -> Result<(), ActorError> {
    let namespace = set.namespace().unwrap_or_default();
    let name = format!("{}-{hash}", set.name_any());
    if desk.cache.get("ControllerRevision", &Key::new(&namespace, &name)).is_some() {
        return Ok(());
    }
    let number = desk
        .cache
        .controlled("ControllerRevision", set)
        .filter_map(|revision| revision.data["revision"].as_i64())
        .max()
        .unwrap_or_default();
    let mut labels = set.data["spec"]["template"]["metadata"]["labels"].clone();
    if !labels.is_object() {
        labels = json!({});
    }
    labels[REVISION] = json!(hash);
    let mut template = set.data["spec"]["template"].clone();
    template["$patch"] = json!("replace");
    let revision = json!({
        "apiVersion": "apps/v1", "kind": "ControllerRevision",
        "metadata": {
            "name": name, "namespace": namespace, "labels": labels,
            "annotations": set.annotations(), "ownerReferences": [controller_reference(set)],
        },
        "data": {"spec": {"template": template}}, "revision": number + 1,
    });
    create(desk, &kinds::controller_revisions(), revision).await
}
