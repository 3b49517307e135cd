//! Kustomizations: apply, prune, then wait for health.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::apply::{Applier, Entry, Owner, Stop};
use super::health::Health;
use super::state::{
    Cause, Draft, Memory, hold, holds, interval, release, show, spec_duration, suspended, token,
};
use super::{Artifacts, build};
use crate::actors::kinds;
use crate::actors::process::{ActorError, Again, Cache, Desk, Key, Reconciler};

/// How soon dependencies and missing artifacts are looked at again.
const DEPENDENCY: Duration = Duration::from_secs(30);
/// How often a health check looks.
const POLL: Duration = Duration::from_secs(2);
/// As good as never.
const NEVER: Duration = Duration::from_hours(10 * 365 * 24);

/// Fields of a spec that are played; any other is refused by name.
const PLAYED: [&str; 12] = [
    "interval",
    "retryInterval",
    "timeout",
    "path",
    "prune",
    "sourceRef",
    "suspend",
    "dependsOn",
    "wait",
    "healthChecks",
    "targetNamespace",
    "deletionPolicy",
];

/// A health check that runs. Until it ends, nothing else happens to its Kustomization: no newer revision
/// is picked up and no suspension is acknowledged.
struct Run {
    object: Arc<DynamicObject>,
    cause: Cause,
    draft: Draft,
    revision: String,
    targets: Vec<Entry>,
    began: Instant,
    timeout: Duration,
}

/// Brings the cluster to what every Kustomization says.
pub struct Kustomizations {
    artifacts: Artifacts,
    applier: Applier,
    memory: Memory,
    running: BTreeMap<Key, Run>,
}

impl Kustomizations {
    pub fn new(artifacts: Artifacts) -> Self {
        let (applier, memory) = (Applier::default(), Memory::default());
        Self { artifacts, applier, memory, running: BTreeMap::new() }
    }
}

impl Reconciler for Kustomizations {
    fn name(&self) -> &'static str {
        "kustomization"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, cache: &Cache) -> Vec<Key> {
        match kind {
            "Kustomization" => vec![Key::of(object)],
            "GitRepository" => cache
                .list("Kustomization", None)
                .filter(|one| source_key(one) == Key::of(object))
                .map(|one| Key::of(one))
                .collect(),
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

fn source_key(object: &DynamicObject) -> Key {
    let source = &object.data["spec"]["sourceRef"];
    let own = object.namespace().unwrap_or_default();
    let namespace = source["namespace"].as_str().unwrap_or(&own);
    Key::new(namespace, source["name"].as_str().unwrap_or_default())
}

fn owner(key: &Key) -> Owner {
    Owner {
        group: "kustomize.toolkit.fluxcd.io",
        manager: "kustomize-controller",
        namespace: key.namespace.clone(),
        name: key.name.clone(),
    }
}

/// How long a reconciliation may take: half a minute less than the interval, if nothing is said.
fn timeout(object: &DynamicObject) -> Duration {
    let half_a_minute = Duration::from_secs(30);
    spec_duration(object, "timeout")
        .unwrap_or_else(|| interval(object).saturating_sub(half_a_minute))
        .max(half_a_minute)
}

/// A failure with its reason and when to try again.
struct Failed {
    reason: &'static str,
    message: String,
    after: Duration,
}

impl Kustomizations {
    async fn sync(&mut self, key: &Key, desk: &Desk) -> Result<Again, ActorError> {
        if let Some(run) = self.running.remove(key) {
            return self.poll(key, desk, run).await;
        }
        let resource = kinds::kustomizations();
        let Some(object) = desk.cache.get("Kustomization", key).cloned() else {
            self.memory.forget(key);
            return Ok(None);
        };
        if object.metadata.deletion_timestamp.is_some() {
            return self.finalize(key, desk, &object).await;
        }
        let artifact = desk
            .cache
            .get("GitRepository", &source_key(&object))
            .map(|source| source.data["status"]["artifact"].clone());
        let mut cause = Cause::of(&object);
        cause.source = artifact.as_ref().and_then(|a| Some(a["revision"].as_str()?.to_owned()));
        if let Some(left) = self.memory.idle(key, &cause) {
            return Ok(Some(left));
        }
        if hold(desk, &resource, &object).await? {
            return Ok(None);
        }
        let mut draft = Draft::new(&object, self.memory.status(key, &object), desk.stamp());
        if suspended(&object) {
            draft.close(token(&object).as_deref());
            self.memory.write(desk, &resource, (key, &object), &draft).await?;
            self.memory.rest(key, cause, NEVER);
            return Ok(None);
        }
        let outcome = match self.prepare(desk, &object, artifact.as_ref()) {
            Ok((revision, url)) => {
                let limit = show(timeout(&object));
                draft.progress(&format!(
                    "Fetching manifests for revision {revision} with a timeout of {limit}"
                ));
                draft.status["lastAttemptedRevision"] = json!(revision);
                self.memory.write(desk, &resource, (key, &object), &draft).await?;
                self.bring(key, desk, &object, &mut draft, (&revision, &url)).await?
            }
            Err(failed) => Err(failed),
        };
        match outcome {
            Ok((revision, targets)) if targets.is_empty() => {
                draft.unset("Healthy");
                succeed(&mut draft, &revision);
                draft.close(token(&object).as_deref());
                self.memory.write(desk, &resource, (key, &object), &draft).await?;
                Ok(Some(self.memory.rest(key, cause, interval(&object))))
            }
            Ok((revision, targets)) => {
                let timeout = timeout(&object);
                let message = format!(
                    "Running health checks for revision {revision} with a timeout of {}",
                    show(timeout)
                );
                draft.progress(&message);
                draft.set("Healthy", "Unknown", "Progressing", &message);
                self.memory.write(desk, &resource, (key, &object), &draft).await?;
                let began = Instant::now();
                let run = Run { object, cause, draft, revision, targets, began, timeout };
                self.poll(key, desk, run).await
            }
            Err(failed) => {
                draft.fail(failed.reason, &failed.message);
                draft.close(token(&object).as_deref());
                self.memory.write(desk, &resource, (key, &object), &draft).await?;
                Ok(Some(self.memory.rest(key, cause, failed.after)))
            }
        }
    }

    /// Revision and URL of what is to be applied, if everything before it is in order.
    fn prepare(
        &self,
        desk: &Desk,
        object: &DynamicObject,
        artifact: Option<&Value>,
    ) -> Result<(String, String), Failed> {
        let retry = spec_duration(object, "retryInterval").unwrap_or_else(|| interval(object));
        let source = &object.data["spec"]["sourceRef"];
        let fail = |reason, message, after| Err(Failed { reason, message, after });
        let title = format!(
            "{}/{}",
            source["kind"].as_str().unwrap_or_default(),
            source["name"].as_str().unwrap_or_default()
        );
        if source["kind"] != "GitRepository" {
            let message = format!("the source {title} is not played here: only a GitRepository is");
            return fail("ArtifactFailed", message, retry);
        }
        let Some(artifact) = artifact else {
            return fail("ArtifactFailed", format!("Source '{title}' not found"), retry);
        };
        let (Some(revision), Some(url)) = (artifact["revision"].as_str(), artifact["url"].as_str())
        else {
            let message = "Source artifact not found, retrying in 30s".to_owned();
            return fail("ArtifactFailed", message, DEPENDENCY);
        };
        if let Err(why) = self.dependencies(desk, object, revision) {
            let message =
                format!("Dependencies do not meet ready condition, retrying in 30s: {why}");
            return fail("DependencyNotReady", message, DEPENDENCY);
        }
        Ok((revision.to_owned(), url.to_owned()))
    }

    fn dependencies(
        &self,
        desk: &Desk,
        object: &DynamicObject,
        revision: &str,
    ) -> Result<(), String> {
        let own = object.namespace().unwrap_or_default();
        for wanted in object.data["spec"]["dependsOn"].as_array().into_iter().flatten() {
            let namespace = wanted["namespace"].as_str().unwrap_or(&own);
            let key = Key::new(namespace, wanted["name"].as_str().unwrap_or_default());
            if !wanted["readyExpr"].is_null() {
                return Err(format!("readyExpr of '{key}' is not played here"));
            }
            let Some(found) = desk.cache.get("Kustomization", &key) else {
                return Err(format!("dependency '{key}' not found"));
            };
            // Its own writes may be newer than the cache.
            let status = self.memory.status(&key, found);
            if !holds(&status, "Ready")
                || status["observedGeneration"] != json!(found.metadata.generation)
            {
                return Err(format!("dependency '{key}' is not ready"));
            }
            let same = source_key(found) == source_key(object);
            if same && status["lastAppliedRevision"] != revision {
                return Err(format!("dependency '{key}' revision is not up to date"));
            }
        }
        Ok(())
    }

    /// Builds, applies and prunes. Gives what is to be waited for.
    async fn bring(
        &mut self,
        key: &Key,
        desk: &Desk,
        object: &DynamicObject,
        draft: &mut Draft,
        (revision, url): (&str, &str),
    ) -> Result<Result<(String, Vec<Entry>), Failed>, ActorError> {
        let retry = spec_duration(object, "retryInterval").unwrap_or_else(|| interval(object));
        let fail = |reason, message, after| Ok(Err(Failed { reason, message, after }));
        let spec = &object.data["spec"];
        let odd =
            spec.as_object().into_iter().flatten().map(|(field, _)| field.as_str()).find(|field| {
                !PLAYED.contains(field) && (*field != "force" || spec["force"] != false)
            });
        if let Some(field) = odd {
            return fail("BuildFailed", format!("spec.{field} is not played here"), retry);
        }
        let Some(files) = self.artifacts.get(url) else {
            let message = format!("failed to download archive: GET {url}: 404 Not Found");
            return fail("ArtifactFailed", message, DEPENDENCY);
        };
        let path = spec["path"].as_str().unwrap_or("./");
        let objects = match build::manifests(&files, path) {
            Ok(objects) => objects,
            Err(why) => {
                return fail("BuildFailed", format!("kustomize build failed: {why}"), retry);
            }
        };
        let (owner, target) = (owner(key), spec["targetNamespace"].as_str());
        let entries = match self.applier.apply(desk, &owner, objects, target).await {
            Ok((entries, _)) => entries,
            Err(Stop::Refused(why)) => return fail("ReconciliationFailed", why, retry),
            Err(Stop::Again(error)) => return Err(error),
        };
        let old = Entry::list(&draft.status["inventory"]);
        let mut kept = entries.clone();
        if spec["prune"] == true {
            let same = |entry: &Entry| entries.iter().any(|new| new.id == entry.id);
            let stale: Vec<Entry> = old.into_iter().filter(|entry| !same(entry)).collect();
            let failed = self.applier.prune(desk, &owner, &stale).await?;
            if !failed.is_empty() {
                // What could not be deleted stays listed, and is tried again.
                kept.extend(failed.iter().map(|(entry, _)| entry.clone()));
                draft.status["inventory"] = Entry::inventory(&kept);
                let whys: Vec<String> = failed.into_iter().map(|(_, why)| why).collect();
                return fail("PruneFailed", whys.join("; "), retry);
            }
        }
        draft.status["inventory"] = Entry::inventory(&kept);
        let targets = if spec["wait"] == true {
            // Waiting for itself would never end.
            let own =
                format!("{}_{}_kustomize.toolkit.fluxcd.io_Kustomization", key.namespace, key.name);
            entries.into_iter().filter(|entry| entry.id != own).collect()
        } else {
            checks(key, spec)
        };
        Ok(Ok((revision.to_owned(), targets)))
    }

    /// Looks once at what a running health check waits for.
    async fn poll(&mut self, key: &Key, desk: &Desk, run: Run) -> Result<Again, ActorError> {
        let open = match self.applier.check(desk, &run.targets).await {
            Ok(open) => open,
            Err(error) => {
                self.running.insert(key.clone(), run);
                return Err(error);
            }
        };
        let bad = open.iter().find_map(|(title, health)| match health {
            Health::Failed(why) => Some(format!("{title} status: 'Failed': {why}")),
            _ => None,
        });
        let late = run.began.elapsed() >= run.timeout;
        if !open.is_empty() && bad.is_none() && !late {
            self.running.insert(key.clone(), run);
            return Ok(Some(POLL));
        }
        let Run { object, cause, mut draft, revision, began, timeout, .. } = run;
        let retry = spec_duration(&object, "retryInterval").unwrap_or_else(|| interval(&object));
        let after = if open.is_empty() {
            let took = show(began.elapsed());
            draft.set("Healthy", "True", "Succeeded", &format!("Health check passed in {took}"));
            succeed(&mut draft, &revision);
            interval(&object)
        } else {
            let names: Vec<String> =
                open.iter().map(|(title, _)| format!("{title} status: 'InProgress'")).collect();
            let why = bad.unwrap_or_else(|| {
                format!("timeout waiting for: [{}] after {}", names.join(", "), show(timeout))
            });
            let message = format!("health check failed: {why}");
            draft.set("Healthy", "False", "HealthCheckFailed", &message);
            draft.fail("HealthCheckFailed", &message);
            retry
        };
        draft.close(token(&object).as_deref());
        self.memory.write(desk, &kinds::kustomizations(), (key, &object), &draft).await?;
        self.memory.rest(key, cause, after);
        // What happened meanwhile is looked at now.
        Ok(Some(Duration::from_millis(10)))
    }

    /// On deletion: prunes, unless it is suspended or was never to prune.
    async fn finalize(
        &mut self,
        key: &Key,
        desk: &Desk,
        object: &DynamicObject,
    ) -> Result<Again, ActorError> {
        // As in Flux this does not ask for the own finalizer: a child that someone else's finalizer keeps
        // is pruned when it is un-suspended on its way out.
        let spec = &object.data["spec"];
        let prune = match spec["deletionPolicy"].as_str() {
            Some("Delete" | "WaitForTermination") => true,
            Some("Orphan") => false,
            _ => spec["prune"] == true,
        };
        if prune && !suspended(object) {
            let status = self.memory.status(key, object);
            let entries = Entry::list(&status["inventory"]);
            let failed = self.applier.prune(desk, &owner(key), &entries).await?;
            if let Some((_, why)) = failed.into_iter().next() {
                return Err(ActorError::Other(why));
            }
        }
        release(desk, &kinds::kustomizations(), object).await?;
        Ok(None)
    }
}

fn succeed(draft: &mut Draft, revision: &str) {
    draft.status["lastAppliedRevision"] = json!(revision);
    let message = format!("Applied revision: {revision}");
    draft.set("Ready", "True", "ReconciliationSucceeded", &message);
}

fn checks(key: &Key, spec: &Value) -> Vec<Entry> {
    let listed = spec["healthChecks"].as_array().cloned().unwrap_or_default();
    listed
        .into_iter()
        .map(|check| {
            let namespace = check["namespace"].as_str().unwrap_or(&key.namespace);
            Entry::of(&json!({
                "apiVersion": check["apiVersion"], "kind": check["kind"],
                "metadata": {"name": check["name"], "namespace": namespace},
            }))
        })
        .collect()
}
