//! StatefulSets: numbered pods with claims of their own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::pods::{
    controller_reference, create, delete, event, is_finished, is_leaving, is_ready, patch,
    pod_from, replicas, template_hash, write_status,
};
use crate::actors::kinds;
use crate::actors::process::{ActorError, Again, Cache, Desk, Key, Reconciler, controller_of};

const REVISION: &str = "controller-revision-hash";
/// The same on the revision itself.
const HASH: &str = "controller.kubernetes.io/hash";

/// Keeps the numbered pods of every StatefulSet.
#[derive(Default)]
pub struct StatefulSets {
    failures: BTreeMap<Key, u32>,
}

impl Reconciler for StatefulSets {
    fn name(&self) -> &'static str {
        "statefulset"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, _: &Cache) -> Vec<Key> {
        match kind {
            "StatefulSet" => vec![Key::of(object)],
            "Pod" | "ControllerRevision" => match controller_of(object) {
                Some(("StatefulSet", name, _)) => {
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
        self.sync(key, desk).boxed()
    }
}

/// A StatefulSet with its pods by number and its revisions.
struct Set<'a> {
    object: &'a DynamicObject,
    name: String,
    namespace: String,
    pods: BTreeMap<i64, Arc<DynamicObject>>,
    update: String,
    current: String,
}

impl StatefulSets {
    async fn sync(&mut self, key: &Key, desk: &Desk) -> Result<Again, ActorError> {
        let Some(object) = desk.cache.get("StatefulSet", key).cloned() else { return Ok(None) };
        let pods: BTreeMap<i64, Arc<DynamicObject>> = desk
            .cache
            .controlled("Pod", &object)
            .filter_map(|pod| Some((ordinal(&key.name, &pod.name_any())?, pod.clone())))
            .collect();
        let update = format!("{}-{}", key.name, template_hash(&object.data["spec"]["template"]));
        if object.metadata.deletion_timestamp.is_none() {
            self.keep_revision(desk, &object, &update).await?;
        }
        let current = object.data["status"]["currentRevision"]
            .as_str()
            .map_or_else(|| update.clone(), str::to_owned);
        let set = Set {
            object: &object,
            name: key.name.clone(),
            namespace: key.namespace.clone(),
            pods,
            update,
            current,
        };
        let mut again = None;
        if object.metadata.deletion_timestamp.is_none()
            && let Err(error) = set.step(desk).await
        {
            let times = self.failures.entry(key.clone()).or_default();
            *times += 1;
            let wait = Duration::from_millis(5 << (*times).min(17)).min(Duration::from_secs(960));
            again = Some(wait);
            let text = format!("create Pod in StatefulSet {} failed error: {error}", key.name);
            event(desk, &object, "statefulset-controller", ("Warning", "FailedCreate", &text))
                .await?;
        } else {
            self.failures.remove(key);
        }
        set.report(desk).await?;
        Ok(again)
    }

    async fn keep_revision(
        &self,
        desk: &Desk,
        object: &DynamicObject,
        name: &str,
    ) -> Result<(), ActorError> {
        let namespace = object.namespace().unwrap_or_default();
        if desk.cache.get("ControllerRevision", &Key::new(&namespace, name)).is_some() {
            return Ok(());
        }
        let number = desk
            .cache
            .controlled("ControllerRevision", object)
            .filter_map(|revision| revision.data["revision"].as_i64())
            .max()
            .unwrap_or_default();
        let mut labels = object.data["spec"]["selector"]["matchLabels"].clone();
        labels[HASH] = json!(name.rsplit('-').next());
        let mut template = object.data["spec"]["template"].clone();
        template["$patch"] = json!("replace");
        create(
            desk,
            &kinds::controller_revisions(),
            json!({
                "apiVersion": "apps/v1", "kind": "ControllerRevision",
                "metadata": {
                    "name": name, "namespace": namespace, "labels": labels,
                    "ownerReferences": [controller_reference(object)],
                },
                "data": {"spec": {"template": template}},
                "revision": number + 1,
            }),
        )
        .await
    }
}

fn ordinal(set: &str, pod: &str) -> Option<i64> {
    pod.strip_prefix(set)?.strip_prefix('-')?.parse().ok()
}

impl Set<'_> {
    fn start(&self) -> i64 {
        self.object.data["spec"]["ordinals"]["start"].as_i64().unwrap_or_default()
    }

    fn wanted(&self) -> std::ops::Range<i64> {
        self.start()..self.start() + replicas(self.object)
    }

    fn is_parallel(&self) -> bool {
        self.object.data["spec"]["podManagementPolicy"] == "Parallel"
    }

    /// One step: create the lowest missing pod, remove the highest surplus one, or replace an outdated one.
    async fn step(&self, desk: &Desk) -> Result<(), ActorError> {
        for number in self.wanted() {
            match self.pods.get(&number) {
                None => {
                    self.create_pod(desk, number).await?;
                    if !self.is_parallel() {
                        return Ok(());
                    }
                }
                Some(pod) if is_finished(pod) && !is_leaving(pod) => {
                    return delete(desk, &kinds::pods(), pod).await;
                }
                Some(pod) if !self.is_parallel() && (is_leaving(pod) || !is_ready(pod)) => {
                    // A pod of the old template that never gets ready does not stop the new one.
                    if self.revision_for(number) == self.revision_of(pod) || is_leaving(pod) {
                        return Ok(());
                    }
                }
                Some(_) => {}
            }
        }
        let surplus: Vec<_> =
            self.pods.iter().rev().filter(|(number, _)| !self.wanted().contains(number)).collect();
        for (number, pod) in surplus {
            if !is_leaving(pod) {
                self.claims_follow_scale_down(desk, *number, pod).await?;
                delete(desk, &kinds::pods(), pod).await?;
            }
            if !self.is_parallel() {
                return Ok(());
            }
        }
        if self.object.data["spec"]["updateStrategy"]["type"] == "OnDelete" {
            return Ok(());
        }
        for (number, pod) in self.pods.iter().rev() {
            if is_leaving(pod) {
                return Ok(());
            }
            if self.revision_for(*number) != self.revision_of(pod) {
                return delete(desk, &kinds::pods(), pod).await;
            }
            if !is_ready(pod) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn revision_of<'a>(&self, pod: &'a DynamicObject) -> &'a str {
        pod.labels().get(REVISION).map(String::as_str).unwrap_or_default()
    }

    /// Pods below the partition stay at the current revision.
    fn revision_for(&self, number: i64) -> &str {
        let partition =
            self.object.data["spec"]["updateStrategy"]["rollingUpdate"]["partition"].as_i64();
        if number < partition.unwrap_or_default() { &self.current } else { &self.update }
    }

    async fn create_pod(&self, desk: &Desk, number: i64) -> Result<(), ActorError> {
        let name = format!("{}-{number}", self.name);
        let templates = self.object.data["spec"]["volumeClaimTemplates"].as_array();
        for template in templates.into_iter().flatten() {
            self.create_claim(desk, template, number).await?;
        }
        let revision = self.revision_for(number);
        let template = if revision == self.update {
            self.object.data["spec"]["template"].clone()
        } else {
            let key = Key::new(&self.namespace, revision);
            let kept = desk.cache.get("ControllerRevision", &key);
            kept.map_or_else(
                || self.object.data["spec"]["template"].clone(),
                |kept| kept.data["data"]["spec"]["template"].clone(),
            )
        };
        let mut pod = pod_from(&template, self.object, Ok(name.clone()));
        pod["metadata"]["labels"][REVISION] = json!(revision);
        pod["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] = json!(name);
        pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] = json!(number.to_string());
        pod["spec"]["hostname"] = json!(name);
        pod["spec"]["subdomain"] = self.object.data["spec"]["serviceName"].clone();
        let mut volumes = pod["spec"]["volumes"].as_array().cloned().unwrap_or_default();
        for template in templates.into_iter().flatten() {
            let volume = template["metadata"]["name"].as_str().unwrap_or_default();
            volumes.retain(|v| v["name"] != volume);
            volumes.push(json!({
                "name": volume,
                "persistentVolumeClaim": {"claimName": self.claim_name(template, number)},
            }));
        }
        if !volumes.is_empty() {
            pod["spec"]["volumes"] = json!(volumes);
        }
        create(desk, &kinds::pods(), pod).await
    }

    fn claim_name(&self, template: &Value, number: i64) -> String {
        format!(
            "{}-{}-{number}",
            template["metadata"]["name"].as_str().unwrap_or_default(),
            self.name
        )
    }

    async fn create_claim(
        &self,
        desk: &Desk,
        template: &Value,
        number: i64,
    ) -> Result<(), ActorError> {
        let name = self.claim_name(template, number);
        if desk.cache.get("PersistentVolumeClaim", &Key::new(&self.namespace, &name)).is_some() {
            return Ok(());
        }
        let mut metadata = template["metadata"].clone();
        metadata["name"] = json!(name);
        metadata["namespace"] = json!(self.namespace);
        let mut labels = self.object.data["spec"]["selector"]["matchLabels"].clone();
        if let (Some(labels), Some(own)) = (labels.as_object_mut(), metadata["labels"].as_object())
        {
            labels.extend(own.clone());
        }
        metadata["labels"] = labels;
        let policy = &self.object.data["spec"]["persistentVolumeClaimRetentionPolicy"];
        if policy["whenDeleted"] == "Delete" {
            metadata["ownerReferences"] = json!([{
                "apiVersion": "apps/v1", "kind": "StatefulSet", "name": self.name,
                "uid": self.object.metadata.uid, "controller": true, "blockOwnerDeletion": true,
            }]);
        }
        create(
            desk,
            &kinds::claims(),
            json!({
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": metadata, "spec": template["spec"],
            }),
        )
        .await
    }

    /// With `whenScaled: Delete` the claims of a pod that goes belong to it, and go with it.
    async fn claims_follow_scale_down(
        &self,
        desk: &Desk,
        number: i64,
        pod: &DynamicObject,
    ) -> Result<(), ActorError> {
        let policy = &self.object.data["spec"]["persistentVolumeClaimRetentionPolicy"];
        if policy["whenScaled"] != "Delete" {
            return Ok(());
        }
        for template in
            self.object.data["spec"]["volumeClaimTemplates"].as_array().into_iter().flatten()
        {
            let key = Key::new(&self.namespace, &self.claim_name(template, number));
            let Some(claim) = desk.cache.get("PersistentVolumeClaim", &key) else { continue };
            let owners = json!([{
                "apiVersion": "v1", "kind": "Pod", "name": pod.name_any(), "uid": pod.metadata.uid,
            }]);
            patch(desk, &kinds::claims(), claim, json!({"metadata": {"ownerReferences": owners}}))
                .await?;
        }
        Ok(())
    }

    async fn report(&self, desk: &Desk) -> Result<(), ActorError> {
        let live: Vec<_> = self.pods.values().collect();
        let of = |revision: &str| {
            live.iter().filter(|pod| self.revision_of(pod) == revision && !is_leaving(pod)).count()
        };
        let ready = live.iter().filter(|pod| is_ready(pod) && !is_leaving(pod)).count();
        let updated = of(&self.update);
        let wanted = usize::try_from(replicas(self.object)).unwrap_or_default();
        let finished = updated == wanted && ready == wanted && live.len() == wanted;
        let partition = self.object.data["spec"]["updateStrategy"]["rollingUpdate"]["partition"]
            .as_i64()
            .unwrap_or_default();
        let current = if finished && partition == 0 { &self.update } else { &self.current };
        let mut status = json!({
            "observedGeneration": self.object.metadata.generation,
            "replicas": live.len(), "readyReplicas": ready, "availableReplicas": ready,
            "currentReplicas": of(current), "updatedReplicas": updated,
            "currentRevision": current, "updateRevision": self.update,
            "collisionCount": 0,
        });
        if let Some(map) = status.as_object_mut() {
            for field in ["readyReplicas", "currentReplicas", "updatedReplicas"] {
                if map[field] == 0 {
                    map.remove(field);
                }
            }
        }
        write_status(desk, &kinds::stateful_sets(), self.object, status).await
    }
}
