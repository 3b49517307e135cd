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

use super::action::sha;
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
const POLL: Duration = Duration::from_secs(5);
/// As good as never.
const NEVER: Duration = Duration::from_hours(10 * 365 * 24);
/// How many reconciliations a status tells of.
const HISTORY: usize = 5;

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
    /// Fingerprint of what was applied.
    digest: String,
    targets: Vec<Entry>,
    /// When the reconciliation began.
    since: Instant,
    /// When the health check did.
    began: Instant,
    timeout: Duration,
}

/// What is in place and only has to become healthy.
struct Brought {
    revision: String,
    digest: String,
    targets: Vec<Entry>,
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
    /// Fingerprint and revision of what was built, if it came so far.
    built: Option<(String, String)>,
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
        let since = Instant::now();
        let outcome = match self.prepare(desk, &object, artifact.as_ref()) {
            Ok((revision, url)) => {
                let limit = show(timeout(&object));
                draft.wait("Reconciliation in progress");
                draft.progress(&format!(
                    "Fetching manifests for revision {revision} with a timeout of {limit}"
                ));
                self.memory.write(desk, &resource, (key, &object), &draft).await?;
                self.bring(key, desk, &object, &mut draft, (&revision, &url)).await?
            }
            Err(failed) => Err(failed),
        };
        match outcome {
            Ok(Brought { revision, digest, targets }) if targets.is_empty() => {
                draft.unset("Healthy");
                succeed(&mut draft, &revision);
                let now = desk.stamp();
                remember(
                    &mut draft.status,
                    (&digest, &revision),
                    "ReconciliationSucceeded",
                    (&now, since.elapsed()),
                );
                draft.close(token(&object).as_deref());
                self.memory.write(desk, &resource, (key, &object), &draft).await?;
                Ok(Some(self.memory.rest(key, cause, interval(&object))))
            }
            Ok(Brought { revision, digest, targets }) => {
                let timeout = timeout(&object);
                let message = format!(
                    "Running health checks for revision {revision} with a timeout of {}",
                    show(timeout)
                );
                draft.progress(&message);
                draft.set("Healthy", "Unknown", "Progressing", &message);
                self.memory.write(desk, &resource, (key, &object), &draft).await?;
                let began = Instant::now();
                let run =
                    Run { object, cause, draft, revision, digest, targets, since, began, timeout };
                self.poll(key, desk, run).await
            }
            Err(failed) => {
                if let Some((digest, revision)) = &failed.built {
                    let now = (desk.stamp(), since.elapsed());
                    let now = (now.0.as_str(), now.1);
                    remember(&mut draft.status, (digest, revision), failed.reason, now);
                }
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
        let fail = |reason, message, after| Err(Failed { reason, message, after, built: None });
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
            let name = source["name"].as_str().unwrap_or_default();
            let message = format!("GitRepository.source.toolkit.fluxcd.io \"{name}\" not found");
            return fail("ArtifactFailed", message, retry);
        };
        let (Some(revision), Some(url)) = (artifact["revision"].as_str(), artifact["url"].as_str())
        else {
            let message = "Source artifact not found, retrying in 30s".to_owned();
            return fail("ArtifactFailed", message, DEPENDENCY);
        };
        if let Err(why) = self.dependencies(desk, object, revision) {
            return fail("DependencyNotReady", why, DEPENDENCY);
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
                return Err(format!(
                    "dependency '{key}' not found: kustomizations.kustomize.toolkit.fluxcd.io \"{}\" not found",
                    key.name
                ));
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
    ) -> Result<Result<Brought, Failed>, ActorError> {
        let retry = spec_duration(object, "retryInterval").unwrap_or_else(|| interval(object));
        let fail = |reason, message, after| Ok(Err(Failed { reason, message, after, built: None }));
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
        if !build::exists(&files, path) {
            let message = format!(
                "kustomization path not found: stat /tmp/kustomization-0/{}: no such file or directory",
                path.trim_start_matches("./")
            );
            return fail("ArtifactFailed", message, retry);
        }
        draft.status["lastAttemptedRevision"] = json!(revision);
        let limit = show(timeout(object));
        draft.progress(&format!(
            "Building manifests for revision {revision} with a timeout of {limit}"
        ));
        let objects = match build::manifests(&files, path) {
            Ok(objects) => objects,
            Err(why) => {
                return fail("BuildFailed", format!("kustomize build failed: {why}"), retry);
            }
        };
        let (owner, target) = (owner(key), spec["targetNamespace"].as_str());
        let digest = sha(&serde_json::to_string(&objects).unwrap_or_default());
        let fail = |reason, message, after| {
            let built = Some((digest.clone(), revision.to_owned()));
            Ok(Err(Failed { reason, message, after, built }))
        };
        draft.progress(&format!(
            "Detecting drift for revision {revision} with a timeout of {limit}"
        ));
        let entries = match self.applier.apply(desk, &owner, objects, target).await {
            Ok((entries, _)) => entries,
            // A list of what was changed before follows, which is empty: all is tried dry first.
            Err(Stop::Refused(why)) => {
                return fail("ReconciliationFailed", format!("{why}\n"), retry);
            }
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
        Ok(Ok(Brought { revision: revision.to_owned(), digest, targets }))
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
        let failed = |(_, health): &&(String, Health)| matches!(health, Health::Failed(_));
        let bad: Vec<String> = open
            .iter()
            .filter(failed)
            .map(|(title, _)| format!("{title} status: 'Failed'"))
            .collect();
        let late = run.began.elapsed() >= run.timeout;
        if !open.is_empty() && bad.is_empty() && !late {
            self.running.insert(key.clone(), run);
            return Ok(Some(POLL));
        }
        let Run { object, cause, mut draft, revision, digest, since, began, .. } = run;
        let retry = spec_duration(&object, "retryInterval").unwrap_or_else(|| interval(&object));
        let after = if open.is_empty() {
            let took = show(began.elapsed());
            draft.set("Healthy", "True", "Succeeded", &format!("Health check passed in {took}"));
            succeed(&mut draft, &revision);
            interval(&object)
        } else {
            let why = if late {
                let shown = |(title, health): &(String, Health)| {
                    let word =
                        if matches!(health, Health::Failed(_)) { "Failed" } else { "InProgress" };
                    format!("{title} status: '{word}'")
                };
                let names: Vec<String> = open.iter().map(shown).collect();
                format!("timeout waiting for: [{}]", names.join(", "))
            } else {
                format!("failed early due to stalled resources: [{}]", bad.join(", "))
            };
            let took = show(began.elapsed());
            draft.set("Healthy", "False", "HealthCheckFailed", &why);
            draft.fail("HealthCheckFailed", &format!("health check failed after {took}: {why}"));
            retry
        };
        let outcome = if open.is_empty() { "ReconciliationSucceeded" } else { "HealthCheckFailed" };
        let now = desk.stamp();
        remember(&mut draft.status, (&digest, &revision), outcome, (&now, since.elapsed()));
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

/// Adds a reconciliation to the history; one with the same outcome of the same objects is counted.
fn remember(
    status: &mut Value,
    (digest, revision): (&str, &str),
    outcome: &str,
    (now, took): (&str, Duration),
) {
    let mut history = status["history"].as_array().cloned().unwrap_or_default();
    let known = history
        .iter()
        .position(|one| one["digest"] == digest && one["lastReconciledStatus"] == outcome);
    let mut entry = match known {
        Some(at) => history.remove(at),
        None => json!({"digest": digest, "firstReconciled": now, "totalReconciliations": 0}),
    };
    entry["lastReconciled"] = json!(now);
    entry["lastReconciledDuration"] = json!(show(took));
    entry["lastReconciledStatus"] = json!(outcome);
    entry["totalReconciliations"] =
        json!(entry["totalReconciliations"].as_i64().unwrap_or_default() + 1);
    entry["metadata"] = json!({"revision": revision});
    history.insert(0, entry);
    history.truncate(HISTORY);
    status["history"] = history.into();
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
