//! HelmReleases: install, upgrade, and what follows when they fail.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::api::{DeleteParams, DynamicObject};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Artifacts;
use super::action::{
    Action, FAILURES, HISTORY, Record, Wanted, adorn, ask_for_chart, chart_key, decide, record,
    sha, shorten,
};
use super::apply::{Applier, Entry, Owner, Stop};
use super::build;
use super::health::Health;
use super::release::{self, Release};
use super::state::{
    Cause, Draft, Memory, hold, holds, interval, release as let_go, show, spec_duration, suspended,
    token,
};
use super::storage::gone;
use crate::actors::kinds;
use crate::actors::process::{ActorError, Again, Cache, Desk, Key, Reconciler};

const DEPENDENCY: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_secs(2);
const NEVER: Duration = Duration::from_hours(10 * 365 * 24);
/// How Go writes that there is no time.
const NO_TIME: &str = "0001-01-01T00:00:00Z";
/// How long an action may take if nothing is said.
const TIMEOUT: Duration = Duration::from_mins(5);

/// Fields of a spec that are played; any other is refused by name.
const PLAYED: [&str; 15] = [
    "interval",
    "timeout",
    "suspend",
    "chart",
    "releaseName",
    "targetNamespace",
    "storageNamespace",
    "values",
    "install",
    "upgrade",
    "rollback",
    "uninstall",
    "maxHistory",
    "dependsOn",
    "persistentClient",
];

/// An action whose objects are waited for; nothing else happens to its HelmRelease meanwhile.
struct Run {
    object: Arc<DynamicObject>,
    cause: Cause,
    draft: Draft,
    action: Action,
    release: Release,
    wanted: Wanted,
    targets: Vec<Entry>,
    began: Instant,
    /// The version that a rollback goes back to.
    back: Option<u64>,
    /// The version that made room.
    dropped: Option<Release>,
}

/// Brings every HelmRelease to its chart and values.
pub struct HelmReleases {
    artifacts: Artifacts,
    applier: Applier,
    memory: Memory,
    running: BTreeMap<Key, Run>,
    /// Versions by release, as they are in the secrets.
    pub(super) stored: BTreeMap<Key, Vec<Release>>,
}

impl HelmReleases {
    pub fn new(artifacts: Artifacts) -> Self {
        let (applier, memory) = (Applier::default(), Memory::default());
        Self { artifacts, applier, memory, running: BTreeMap::new(), stored: BTreeMap::new() }
    }
}

impl Reconciler for HelmReleases {
    fn name(&self) -> &'static str {
        "helmrelease"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, cache: &Cache) -> Vec<Key> {
        match kind {
            "HelmRelease" => vec![Key::of(object)],
            "HelmChart" => cache
                .list("HelmRelease", None)
                .filter(|one| chart_key(one) == Key::of(object))
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

fn owner(key: &Key) -> Owner {
    Owner {
        group: "helm.toolkit.fluxcd.io",
        manager: "helm-controller",
        namespace: key.namespace.clone(),
        name: key.name.clone(),
    }
}

impl HelmReleases {
    async fn sync(&mut self, key: &Key, desk: &Desk) -> Result<Again, ActorError> {
        if let Some(run) = self.running.remove(key) {
            return self.poll(key, desk, run).await;
        }
        let resource = kinds::helm_releases();
        let Some(object) = desk.cache.get("HelmRelease", key).cloned() else {
            self.memory.forget(key);
            self.stored.remove(key);
            return Ok(None);
        };
        if object.metadata.deletion_timestamp.is_some() {
            return self.finalize(key, desk, &object).await;
        }
        let chart = desk.cache.get("HelmChart", &chart_key(&object)).cloned();
        let mut cause = Cause::of(&object);
        cause.source = chart.as_ref().and_then(|chart| {
            Some(chart.data["status"]["artifact"]["digest"].as_str()?.to_owned())
        });
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
        ask_for_chart(desk, key, &object).await?;
        draft.status["helmChart"] = json!(chart_key(&object).to_string());
        match self.wanted(desk, key, &object, chart.as_deref()) {
            Ok(wanted) => self.step(key, desk, (object, cause), draft, wanted).await,
            Err((reason, why, after)) => {
                draft.fail(reason, &why);
                draft.close(token(&object).as_deref());
                self.memory.write(desk, &resource, (key, &object), &draft).await?;
                Ok(Some(self.memory.rest(key, cause, after)))
            }
        }
    }

    fn wanted(
        &self,
        desk: &Desk,
        key: &Key,
        object: &DynamicObject,
        chart: Option<&DynamicObject>,
    ) -> Result<Wanted, (&'static str, String, Duration)> {
        let spec = &object.data["spec"];
        let odd =
            spec.as_object().into_iter().flatten().find(|(f, _)| !PLAYED.contains(&f.as_str()));
        if let Some((field, _)) = odd {
            return Err(("ArtifactFailed", format!("spec.{field} is not played here"), NEVER));
        }
        for wanted in spec["dependsOn"].as_array().into_iter().flatten() {
            let namespace = wanted["namespace"].as_str().unwrap_or(&key.namespace);
            let other = Key::new(namespace, wanted["name"].as_str().unwrap_or_default());
            let ready = desk.cache.get("HelmRelease", &other).is_some_and(|found| {
                let status = self.memory.status(&other, found);
                holds(&status, "Ready")
                    && status["observedGeneration"] == json!(found.metadata.generation)
            });
            if !ready {
                let why = format!("dependency '{other}' is not ready");
                return Err(("DependencyNotReady", why, DEPENDENCY));
            }
        }
        let title = chart_key(object).to_string();
        let Some(chart) = chart else {
            return Err((
                "SourceNotReady",
                format!("HelmChart '{title}' is not ready"),
                DEPENDENCY,
            ));
        };
        let status = &chart.data["status"];
        let files = status["artifact"]["url"].as_str().and_then(|url| self.artifacts.get(url));
        let current = status["observedGeneration"] == json!(chart.metadata.generation);
        let stalled = holds(status, "Stalled");
        // As long as there is an artifact it is used, whatever became of the next one.
        let (true, false, Some(files)) = (current, stalled, files) else {
            let why = status["conditions"]
                .as_array()
                .and_then(|all| all.iter().find(|c| c["type"] == "Ready"))
                .and_then(|ready| ready["message"].as_str())
                .unwrap_or("latest generation of object has not been reconciled");
            let why = format!("HelmChart '{title}' is not ready: {why}");
            return Err(("SourceNotReady", why, DEPENDENCY));
        };
        let word = |field: &str| spec[field].as_str().filter(|word| !word.is_empty());
        let namespace = word("targetNamespace").unwrap_or(&key.namespace).to_owned();
        let name = match (word("releaseName"), word("targetNamespace")) {
            (Some(name), _) => name.to_owned(),
            (None, Some(target)) => format!("{target}-{}", key.name),
            (None, None) => key.name.clone(),
        };
        let broken = |why: String| ("InstallFailed", why, NEVER);
        let config = release::values(&files, &spec["values"]).map_err(broken)?;
        let mut objects = release::render(&files, &config, &name).map_err(broken)?;
        for (_, object) in &mut objects {
            owner(key).mark(object);
        }
        let about = files.get("Chart.yaml").and_then(|bytes| std::str::from_utf8(bytes).ok());
        let about = about.and_then(|text| serde_saphyr::from_str(text).ok()).unwrap_or_default();
        let about: Value = about;
        let chart = about["name"].as_str().unwrap_or_default();
        let manifest = release::manifest(chart, &objects).map_err(broken)?;
        Ok(Wanted {
            name,
            namespace,
            storage: word("storageNamespace").unwrap_or(&key.namespace).to_owned(),
            chart: about,
            version: status["artifact"]["revision"].as_str().unwrap_or_default().to_owned(),
            digest: sha(&spec["values"].to_string()),
            config: spec["values"].clone(),
            manifest,
        })
    }

    async fn step(
        &mut self,
        key: &Key,
        desk: &Desk,
        (object, cause): (Arc<DynamicObject>, Cause),
        mut draft: Draft,
        wanted: Wanted,
    ) -> Result<Again, ActorError> {
        let resource = kinds::helm_releases();
        let generation = json!(object.metadata.generation);
        let tried = [
            ("lastAttemptedGeneration", generation),
            ("lastAttemptedRevision", json!(wanted.version)),
            ("lastAttemptedConfigDigest", json!(wanted.digest)),
        ];
        if tried.iter().any(|(field, value)| draft.status[*field] != *value) {
            if let Some(status) = draft.status.as_object_mut() {
                status.retain(|field, _| !FAILURES.contains(&field.as_str()));
            }
            draft.unset("Stalled");
        }
        for (field, value) in tried {
            draft.status[field] = value;
        }
        draft.status["storageNamespace"] = json!(wanted.storage);
        let action = match decide(&object.data["spec"], &draft.status, &wanted) {
            Ok(Some(action)) => action,
            Ok(None) => {
                shorten(&mut draft.status);
                let released = super::state::find(&draft.status, "Released").cloned();
                let word = |field: &str| {
                    let released = released.as_ref();
                    released.and_then(|c| c[field].as_str()).unwrap_or_default().to_owned()
                };
                draft.set("Ready", "True", &word("reason"), &word("message"));
                draft.close(token(&object).as_deref());
                self.memory.write(desk, &resource, (key, &object), &draft).await?;
                return Ok(Some(self.memory.rest(key, cause, interval(&object))));
            }
            Err(why) => {
                draft.set("Stalled", "True", "RetriesExceeded", &why);
                draft.unset("Reconciling");
                let said = |kind: &str| super::state::find(&draft.status, kind).cloned();
                // What was done about it counts more than what it was.
                let released = said("Released").filter(|one| one["status"] == "False");
                if let Some(failed) = said("Remediated").or(released) {
                    let word = |field: &str| failed[field].as_str().unwrap_or_default().to_owned();
                    draft.fail(&word("reason"), &word("message"));
                } else {
                    draft.fail("RetriesExceeded", &why);
                }
                draft.status["observedGeneration"] = json!(object.metadata.generation);
                draft.close(token(&object).as_deref());
                self.memory.write(desk, &resource, (key, &object), &draft).await?;
                self.memory.rest(key, cause, NEVER);
                return Ok(None);
            }
        };
        let limit = show(limit(&object));
        let message = format!("Running '{}' action with timeout of {limit}", action.word());
        draft.progress(&message);
        // Clearing up must not hide what went wrong before it.
        if action.releases() {
            draft.status["lastAttemptedReleaseAction"] = json!(action.word());
            draft.unset("Remediated");
            draft.wait(&message);
        }
        self.memory.write(desk, &resource, (key, &object), &draft).await?;
        self.act(key, desk, (object, cause), draft, wanted, action).await
    }

    async fn act(
        &mut self,
        key: &Key,
        desk: &Desk,
        (object, cause): (Arc<DynamicObject>, Cause),
        mut draft: Draft,
        wanted: Wanted,
        action: Action,
    ) -> Result<Again, ActorError> {
        let owner = owner(key);
        let old = Entry::list(&draft.status["inventory"]);
        if action == Action::Uninstall {
            let failed = self.applier.prune(desk, &owner, &old).await?;
            if let Some((_, why)) = failed.into_iter().next() {
                return Err(ActorError::Other(why));
            }
            self.forget_versions(desk, key, &wanted.storage).await?;
            draft.status["history"][0]["status"] = json!("uninstalled");
            let message = format!(
                "Helm uninstall remediation for {} succeeded",
                full_title(&draft.status["history"][0])
            );
            draft.set("Remediated", "True", "UninstallSucceeded", &message);
            draft.fail("UninstallSucceeded", &message);
            draft.set("Reconciling", "True", "ProgressingWithRetry", &message);
            self.memory.write(desk, &kinds::helm_releases(), (key, &object), &draft).await?;
            return Ok(Some(Duration::from_millis(10)));
        }
        self.load(desk, key, (&wanted.storage, &wanted.name)).await?;
        let versions = self.stored.entry(key.clone()).or_default();
        let number = versions.last().map_or(1, |last| last.version() + 1);
        let good =
            versions.iter().rev().find(|one| matches!(one.status(), "deployed" | "superseded"));
        let back = if action == Action::Rollback { good.cloned() } else { None };
        if action == Action::Rollback && back.is_none() {
            return Err(ActorError::Other("there is nothing to roll back to".into()));
        }
        let (chart, config, manifest) = match &back {
            Some(back) => (
                back.0["chart"]["metadata"].clone(),
                back.0["config"].clone(),
                back.manifest().to_owned(),
            ),
            None => (wanted.chart.clone(), wanted.config.clone(), wanted.manifest.clone()),
        };
        let first = versions.first().map(|one| one.0["info"]["first_deployed"].clone());
        let now = desk.stamp();
        let release = Release(json!({
            "name": wanted.name, "namespace": wanted.namespace, "version": number,
            "info": {
                "status": format!("pending-{}", action.word()),
                "first_deployed": first.unwrap_or_else(|| json!(now)), "last_deployed": now,
                "description": "",
            },
            "chart": {
                "metadata": chart, "lock": null, "templates": [], "values": {},
                "modtime": NO_TIME, "schemamodtime": NO_TIME,
            },
            "config": config, "manifest": manifest, "apply_method": "ssa",
        }));
        let place = (wanted.storage.as_str(), most(&object));
        let dropped = self.keep(desk, key, place, release.clone()).await?;
        let mut run = Run {
            object,
            cause,
            draft,
            action,
            release,
            wanted,
            targets: Vec::new(),
            began: Instant::now(),
            back: back.map(|back| back.version()),
            dropped,
        };
        let mut objects = match build::parse(&manifest) {
            Ok(objects) => objects,
            Err(why) => return self.finish(key, desk, run, Some(why)).await,
        };
        for object in &mut objects {
            adorn(object, &run.wanted);
        }
        let namespace = run.wanted.namespace.clone();
        match self.applier.apply_each(desk, &owner, objects, &namespace).await {
            Ok((entries, Some(why))) => {
                run.draft.status["inventory"] = Entry::inventory(&entries);
                self.finish(key, desk, run, Some(why)).await
            }
            Ok((entries, None)) => {
                let same = |entry: &Entry| entries.iter().any(|new| new.id == entry.id);
                let stale: Vec<Entry> = old.into_iter().filter(|entry| !same(entry)).collect();
                let failed = self.applier.prune(desk, &owner, &stale).await?;
                run.draft.status["inventory"] = Entry::inventory(&entries);
                if let Some((_, why)) = failed.into_iter().next() {
                    return self.finish(key, desk, run, Some(why)).await;
                }
                let spec = &run.object.data["spec"];
                if spec[action.word()]["disableWait"] != true {
                    run.targets = entries;
                }
                self.poll(key, desk, run).await
            }
            Err(Stop::Refused(why)) => self.finish(key, desk, run, Some(why)).await,
            Err(Stop::Again(error)) => Err(error),
        }
    }

    /// Looks once at what a running action waits for.
    async fn poll(&mut self, key: &Key, desk: &Desk, run: Run) -> Result<Again, ActorError> {
        let open = match self.applier.check(desk, &run.targets).await {
            Ok(open) => open,
            Err(error) => {
                self.running.insert(key.clone(), run);
                return Err(error);
            }
        };
        if open.is_empty() {
            return self.finish(key, desk, run, None).await;
        }
        let bad = open.iter().any(|(_, health)| matches!(health, Health::Failed(_)));
        let late = run.began.elapsed() >= limit(&run.object);
        if !bad && !late {
            self.running.insert(key.clone(), run);
            return Ok(Some(POLL));
        }
        let shown = |(title, health): &(String, Health)| match health {
            Health::Failed(_) => Some(format!("{title} status: 'Failed'")),
            _ if late => Some(format!("{title} status: 'InProgress'")),
            _ => None,
        };
        let names: Vec<String> = open.iter().filter_map(shown).collect();
        let what =
            if late { "timeout waiting for" } else { "failed early due to stalled resources" };
        let why = format!("{what}: [{}]", names.join(", "));
        self.finish(key, desk, run, Some(why)).await
    }

    async fn finish(
        &mut self,
        key: &Key,
        desk: &Desk,
        run: Run,
        failed: Option<String>,
    ) -> Result<Again, ActorError> {
        let Run { object, cause, mut draft, action, mut release, wanted, .. } = run;
        let (began, back, dropped) = (run.began, run.back, run.dropped);
        let state = if failed.is_none() { "deployed" } else { "failed" };
        release.0["info"]["status"] = json!(state);
        let said = match (&failed, action) {
            (None, Action::Rollback) => format!("Rollback to {}", back.unwrap_or_default()),
            (None, _) => format!("{} complete", action.title()),
            (Some(why), Action::Install) => format!("Release \"{}\" failed: {why}", wanted.name),
            (Some(why), _) => format!("{} \"{}\" failed: {why}", action.title(), wanted.name),
        };
        release.0["info"]["description"] = json!(said);
        let number = release.version();
        let place = (wanted.storage.as_str(), most(&object));
        let versions = self.stored.entry(key.clone()).or_default();
        let before: Vec<Release> =
            versions.iter().filter(|one| one.version() != number).cloned().collect();
        for mut old in before {
            if failed.is_none() && old.status() == "deployed" {
                old.0["info"]["status"] = json!("superseded");
                self.keep(desk, key, place, old).await?;
            }
        }
        self.keep(desk, key, place, release.clone()).await?;
        if action == Action::Rollback {
            shorten(&mut draft.status);
        }
        let target = previous(&draft.status);
        let versions = self.stored.get(key).map(Vec::as_slice).unwrap_or_default();
        let what = Record { action, release: &release, dropped: dropped.as_ref(), versions };
        record(&mut draft.status, &wanted, &what);
        let title = full_title(&draft.status["history"][0]);
        if action.releases() {
            draft.status["lastAttemptedReleaseActionDuration"] = json!(show(began.elapsed()));
        }
        let mut after = Duration::from_millis(10);
        match (&failed, action) {
            (None, Action::Rollback) => {
                let message = format!("Helm rollback to previous {target} succeeded");
                draft.set("Remediated", "True", "RollbackSucceeded", &message);
                draft.fail("RollbackSucceeded", &message);
            }
            (Some(why), Action::Rollback) => {
                let message = format!("Helm rollback to previous {target} failed: {why}");
                draft.set("Remediated", "False", "RollbackFailed", &message);
                draft.fail("RollbackFailed", &message);
                let count = draft.status["failures"].as_i64().unwrap_or_default();
                draft.status["failures"] = json!(count + 1);
                after = interval(&object);
            }
            (None, _) => {
                let reason = format!("{}Succeeded", action.title());
                let message = format!("Helm {} succeeded for {title}", action.word());
                draft.set("Released", "True", &reason, &message);
                draft.set("Ready", "True", &reason, &message);
                draft.unset("Stalled");
                shorten(&mut draft.status);
                after = interval(&object);
            }
            (Some(why), _) => {
                let reason = format!("{}Failed", action.title());
                let (at, name) = (&wanted.namespace, &wanted.name);
                let chart = full_title(&draft.status["history"][0]);
                let chart = chart.rsplit(' ').next().unwrap_or_default();
                let word = action.word();
                let message =
                    format!("Helm {word} failed for release {at}/{name} with chart {chart}: {why}");
                draft.set("Released", "False", &reason, &message);
                draft.fail(&reason, &message);
                let mut more = vec!["failures"];
                more.extend(match action {
                    Action::Install => Some("installFailures"),
                    Action::Upgrade => Some("upgradeFailures"),
                    _ => None,
                });
                for field in more {
                    let count = draft.status[field].as_i64().unwrap_or_default();
                    draft.status[field] = json!(count + 1);
                }
            }
        }
        draft.close(token(&object).as_deref());
        self.memory.write(desk, &kinds::helm_releases(), (key, &object), &draft).await?;
        let changed = failed.is_some() || action == Action::Rollback;
        if changed && after < POLL {
            return Ok(Some(after));
        }
        self.memory.rest(key, cause, after);
        // What happened meanwhile is looked at now.
        Ok(Some(Duration::from_millis(10)))
    }

    /// On deletion: uninstalls, unless it is suspended.
    async fn finalize(
        &mut self,
        key: &Key,
        desk: &Desk,
        object: &DynamicObject,
    ) -> Result<Again, ActorError> {
        if !suspended(object) {
            let status = self.memory.status(key, object);
            let entries = Entry::list(&status["inventory"]);
            let failed = self.applier.prune(desk, &owner(key), &entries).await?;
            if let Some((_, why)) = failed.into_iter().next() {
                return Err(ActorError::Other(why));
            }
            let storage = status["storageNamespace"].as_str().unwrap_or(&key.namespace).to_owned();
            self.forget_versions(desk, key, &storage).await?;
            let chart = chart_key(object);
            let api = desk.api(&kinds::helm_charts(), &chart.namespace);
            gone(api.delete(&chart.name, &DeleteParams::default()).await.map(drop))?;
        }
        let_go(desk, &kinds::helm_releases(), object).await?;
        Ok(None)
    }
}

/// `release shop/web.v3 with chart web@1.0.0` of an entry of the history.
fn full_title(entry: &Value) -> String {
    let word = |field: &str| entry[field].as_str().unwrap_or_default();
    format!(
        "release {}/{}.v{} with chart {}@{}",
        word("namespace"),
        word("name"),
        entry["version"],
        word("chartName"),
        word("chartVersion")
    )
}

/// What a rollback goes back to.
fn previous(status: &Value) -> String {
    let good = |entry: &&Value| matches!(entry["status"].as_str(), Some("deployed" | "superseded"));
    let history = status["history"].as_array();
    history.and_then(|all| all.iter().skip(1).find(good)).map(full_title).unwrap_or_default()
}

/// How many versions are kept; 0 for all.
fn most(object: &DynamicObject) -> usize {
    let most = object.data["spec"]["maxHistory"].as_u64();
    most.and_then(|most| usize::try_from(most).ok()).unwrap_or(HISTORY)
}

fn limit(object: &DynamicObject) -> Duration {
    spec_duration(object, "timeout").unwrap_or(TIMEOUT)
}
