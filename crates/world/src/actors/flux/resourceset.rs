//! flux-operator's ResourceSets: objects from templates and inputs, applied, pruned, waited for.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::apply::{Applier, Entry, Owner, Stop};
use super::health::Health;
use super::inputs::render;
use super::state::{Cause, Draft, Memory, duration, token};
use crate::actors::kinds;
use crate::actors::process::{ActorError, Again, Cache, Desk, Key, Reconciler};
use crate::actors::workloads::pods::{patch, selects, write_status};

const GROUP: &str = "fluxcd.controlplane.io";
const FINALIZER: &str = "fluxcd.controlplane.io/finalizer";
/// How often a wait looks.
const POLL: Duration = Duration::from_secs(2);
/// How soon a refused set is tried again.
const RETRY: Duration = Duration::from_secs(30);
/// As good as never: a set that cannot be built waits for its next version.
const NEVER: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
/// Parts of a spec that are not played; a set with one of them is refused by its name.
const NOT_PLAYED: [&str; 2] = ["steps", "serviceAccountName"];

/// Brings the cluster to what every ResourceSet says.
#[derive(Default)]
pub struct ResourceSets {
    applier: Applier,
    memory: Memory,
    /// Sets whose objects are waited for, and since when.
    waiting: BTreeMap<Key, (Cause, Instant)>,
}

fn says(object: &DynamicObject, word: &str) -> Option<String> {
    object.annotations().get(&format!("{GROUP}/{word}")).cloned()
}

fn is_disabled(object: &DynamicObject) -> bool {
    says(object, "reconcile").is_some_and(|word| word == "disabled")
}

fn owner(key: &Key) -> Owner {
    Owner {
        group: "resourceset.fluxcd.controlplane.io",
        manager: "flux-operator",
        namespace: key.namespace.clone(),
        name: key.name.clone(),
    }
}

/// Whether a set takes inputs of a provider.
fn takes(set: &DynamicObject, provider: &DynamicObject) -> bool {
    set.metadata.namespace == provider.metadata.namespace
        && set.data["spec"]["inputsFrom"].as_array().into_iter().flatten().any(|from| {
            from["name"] == provider.name_any()
                || (from["selector"].is_object() && selects(&from["selector"], provider))
        })
}

impl Reconciler for ResourceSets {
    fn name(&self) -> &'static str {
        "resourceset"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, cache: &Cache) -> Vec<Key> {
        match kind {
            "ResourceSet" => vec![Key::of(object)],
            "ResourceSetInputProvider" => cache
                .list("ResourceSet", object.metadata.namespace.as_deref())
                .filter(|set| takes(set, object))
                .map(|set| Key::of(set))
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

impl ResourceSets {
    async fn sync(&mut self, key: &Key, desk: &Desk) -> Result<Again, ActorError> {
        let resource = kinds::resource_sets();
        let Some(set) = desk.cache.get("ResourceSet", key).cloned() else {
            self.memory.forget(key);
            self.waiting.remove(key);
            return Ok(None);
        };
        if set.metadata.deletion_timestamp.is_some() {
            return self.finalize(key, desk, &set).await;
        }
        // Held by hand: nothing happens and nothing is said, its last Ready stays.
        if is_disabled(&set) {
            return Ok(None);
        }
        let inputs = inputs(desk, &set);
        let mut cause = Cause::of(&set);
        cause.source = Some(json!([set.annotations(), inputs]).to_string());
        if let Some(left) = self.memory.idle(key, &cause) {
            return Ok(Some(left));
        }
        if !set.finalizers().iter().any(|one| one == FINALIZER) {
            let mut all = set.finalizers().to_vec();
            all.push(FINALIZER.to_owned());
            let change = json!({"metadata": {
                "finalizers": all, "resourceVersion": set.resource_version(),
            }});
            patch(desk, &resource, &set, change).await?;
        }
        let mut draft = Draft::new(&set, self.memory.status(key, &set), desk.stamp());
        let waits = self.waiting.get(key).is_some_and(|(known, _)| *known == cause);
        if !waits {
            self.waiting.remove(key);
            if let Err((reason, why, after)) =
                self.bring(key, desk, &set, inputs, &mut draft).await?
            {
                if reason == "BuildFailed" {
                    draft.set("Stalled", "True", reason, &why);
                    draft.unset("Reconciling");
                }
                draft.fail(reason, &why);
                draft.close(token(&set).as_deref());
                self.memory.write(desk, &resource, (key, &set), &draft).await?;
                return Ok(Some(self.memory.rest(key, cause, after)));
            }
        }
        if set.data["spec"]["wait"] == true {
            let since = self
                .waiting
                .entry(key.clone())
                .or_insert_with(|| (cause.clone(), Instant::now()))
                .1;
            let open = self.applier.check(desk, &Entry::list(&draft.status["inventory"])).await?;
            let limit = says(&set, "reconcileTimeout").and_then(|text| duration(&text));
            let late = since.elapsed() >= limit.unwrap_or(Duration::from_secs(300));
            let failed = open.iter().any(|(_, health)| matches!(health, Health::Failed(_)));
            if !open.is_empty() && !late && !failed {
                draft.progress("Health check in progress");
                draft.wait("Health check in progress");
                self.memory.write(desk, &resource, (key, &set), &draft).await?;
                return Ok(Some(POLL));
            }
            self.waiting.remove(key);
            if !open.is_empty() {
                let names: Vec<String> = open.into_iter().map(|(title, _)| title).collect();
                let why = format!("health check failed: [{}]", names.join(", "));
                draft.fail("ReconciliationFailed", &why);
                draft.close(token(&set).as_deref());
                self.memory.write(desk, &resource, (key, &set), &draft).await?;
                return Ok(Some(self.memory.rest(key, cause, RETRY)));
            }
        }
        draft.unset("Stalled");
        draft.set("Ready", "True", "ReconciliationSucceeded", "Reconciliation finished");
        draft.close(token(&set).as_deref());
        self.memory.write(desk, &resource, (key, &set), &draft).await?;
        let every = says(&set, "reconcileEvery").and_then(|text| duration(&text));
        Ok(Some(self.memory.rest(key, cause, every.unwrap_or(Duration::from_secs(3600)))))
    }

    /// Renders, applies and prunes; or reason, message and when to try again.
    async fn bring(
        &mut self,
        key: &Key,
        desk: &Desk,
        set: &DynamicObject,
        inputs: Result<Vec<Value>, String>,
        draft: &mut Draft,
    ) -> Result<Result<(), (&'static str, String, Duration)>, ActorError> {
        let spec = &set.data["spec"];
        if let Some(field) = NOT_PLAYED.iter().find(|field| !spec[**field].is_null()) {
            let why = format!("spec.{field} is not played here");
            return Ok(Err(("BuildFailed", why, NEVER)));
        }
        if let Some(why) = self.dependency(desk, key, spec).await? {
            return Ok(Err(("DependencyNotReady", why, RETRY)));
        }
        let objects = match inputs.and_then(|inputs| objects(spec, &inputs)) {
            Ok(objects) => objects,
            Err(why) => return Ok(Err(("BuildFailed", format!("build failed: {why}"), NEVER))),
        };
        let digest = Sha256::digest(json!(objects).to_string().as_bytes());
        let revision = format!("sha256:{}", super::hex(&digest));
        let owner = owner(key);
        let entries = match self.applier.apply(desk, &owner, objects, None).await {
            Ok((entries, _)) => entries,
            Err(Stop::Refused(why)) => return Ok(Err(("ReconciliationFailed", why, RETRY))),
            Err(Stop::Again(error)) => return Err(error),
        };
        let kept: BTreeSet<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
        let stale: Vec<Entry> = Entry::list(&draft.status["inventory"])
            .into_iter()
            .filter(|entry| !kept.contains(entry.id.as_str()))
            .collect();
        if let Some(why) = self.collect(desk, &owner, stale).await? {
            return Ok(Err(("ReconciliationFailed", why, RETRY)));
        }
        draft.status["inventory"] = Entry::inventory(&entries);
        draft.status["lastAppliedRevision"] = json!(revision);
        Ok(Ok(()))
    }

    /// Deletes what is no longer rendered, but for what says that it stays.
    async fn collect(
        &mut self,
        desk: &Desk,
        owner: &Owner,
        stale: Vec<Entry>,
    ) -> Result<Option<String>, ActorError> {
        let mut goes = Vec::new();
        for entry in stale {
            let Some((version, kind, namespace, name)) = entry.place() else { continue };
            let Ok((resource, _)) = self.applier.resource(desk, &version, &kind).await else {
                continue;
            };
            let live = desk.api(&resource, &namespace).get_opt(&name).await?;
            if live.is_some_and(|live| says(&live, "prune").is_none_or(|word| word != "disabled")) {
                goes.push(entry);
            }
        }
        let failed = self.applier.prune(desk, owner, &goes).await?;
        Ok(failed.into_iter().next().map(|(_, why)| why))
    }

    /// What a set waits for, in words.
    async fn dependency(
        &mut self,
        desk: &Desk,
        key: &Key,
        spec: &Value,
    ) -> Result<Option<String>, ActorError> {
        for wanted in spec["dependsOn"].as_array().into_iter().flatten() {
            let text = |field: &str| wanted[field].as_str().unwrap_or_default();
            let title = format!("{}/{}", text("kind"), text("name"));
            if wanted["readyExpr"].is_string() {
                return Ok(Some(format!("readyExpr of {title} is not played here")));
            }
            let namespace = wanted["namespace"].as_str().unwrap_or(&key.namespace);
            let found = self.applier.resource(desk, text("apiVersion"), text("kind")).await;
            let (resource, namespaced) = match found {
                Ok(found) => found,
                Err(why) => return Ok(Some(format!("dependency {title}: {why}"))),
            };
            let namespace = if namespaced { namespace } else { "" };
            if desk.api(&resource, namespace).get_opt(text("name")).await?.is_none() {
                return Ok(Some(format!("dependency {title} not found")));
            }
            let entry = Entry::of(&json!({
                "apiVersion": wanted["apiVersion"], "kind": wanted["kind"],
                "metadata": {"name": wanted["name"], "namespace": namespace},
            }));
            if wanted["ready"] == true && !self.applier.check(desk, &[entry]).await?.is_empty() {
                return Ok(Some(format!("dependency {title} is not ready")));
            }
        }
        Ok(None)
    }

    /// On deletion everything goes, unless the set is held: then nothing does.
    async fn finalize(
        &mut self,
        key: &Key,
        desk: &Desk,
        set: &DynamicObject,
    ) -> Result<Again, ActorError> {
        if !set.finalizers().iter().any(|one| one == FINALIZER) {
            return Ok(None);
        }
        if !is_disabled(set) {
            let status = self.memory.status(key, set);
            let entries = Entry::list(&status["inventory"]);
            if let Some(why) = self.collect(desk, &owner(key), entries).await? {
                return Err(ActorError::Other(why));
            }
        }
        let rest: Vec<_> = set.finalizers().iter().filter(|one| *one != FINALIZER).collect();
        let change = json!({"metadata": {
            "finalizers": rest, "resourceVersion": set.resource_version(),
        }});
        patch(desk, &kinds::resource_sets(), set, change).await?;
        Ok(None)
    }
}

/// The inputs of a set: its own, then those of its providers. Null alone if it takes none at all.
fn inputs(desk: &Desk, set: &DynamicObject) -> Result<Vec<Value>, String> {
    let spec = &set.data["spec"];
    if spec["inputStrategy"]["name"].as_str().is_some_and(|name| name != "Flatten") {
        return Err("an inputStrategy other than Flatten is not played here".into());
    }
    let mut all: Vec<Value> = spec["inputs"].as_array().cloned().unwrap_or_default();
    for input in &mut all {
        input["provider"] = json!({
            "apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSet",
            "name": set.name_any(), "namespace": set.namespace(),
        });
    }
    let providers = desk
        .cache
        .list("ResourceSetInputProvider", set.metadata.namespace.as_deref())
        .filter(|provider| takes(set, provider));
    for provider in providers {
        let exported = provider.data["status"]["exportedInputs"].as_array();
        for mut input in exported.cloned().unwrap_or_default() {
            input["provider"] = json!({
                "apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSetInputProvider",
                "name": provider.name_any(), "namespace": provider.namespace(),
            });
            all.push(input);
        }
    }
    let takes_none = all.is_empty() && spec["inputsFrom"].as_array().is_none_or(Vec::is_empty);
    Ok(if takes_none { vec![Value::Null] } else { all })
}

/// Everything a set renders to: each object once, held ones not at all.
fn objects(spec: &Value, inputs: &[Value]) -> Result<Vec<Value>, String> {
    let mut all: Vec<Value> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut add = |mut object: Value| {
        for field in ["labels", "annotations"] {
            for (key, value) in spec["commonMetadata"][field].as_object().into_iter().flatten() {
                if !object["metadata"][field].is_object() {
                    object["metadata"][field] = json!({});
                }
                object["metadata"][field][key] = value.clone();
            }
        }
        let held = object["metadata"]["annotations"][format!("{GROUP}/reconcile")] == "disabled";
        if !held && seen.insert(Entry::of(&object).id) {
            all.push(object);
        }
    };
    for input in inputs {
        for resource in spec["resources"].as_array().into_iter().flatten() {
            add(render(resource, input)?);
        }
    }
    if let Some(template) = spec["resourcesTemplate"].as_str() {
        for input in inputs {
            let text = super::inputs::text(template, input)?;
            for object in super::build::parse(&text)? {
                if !object.is_null() {
                    add(object);
                }
            }
        }
    }
    Ok(all)
}

/// Static input providers export what they are given.
pub struct Providers;

impl Reconciler for Providers {
    fn name(&self) -> &'static str {
        "resourcesetinputprovider"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, _: &Cache) -> Vec<Key> {
        if kind == "ResourceSetInputProvider" { vec![Key::of(object)] } else { Vec::new() }
    }

    fn reconcile<'a>(
        &'a mut self,
        key: &'a Key,
        desk: &'a Desk,
    ) -> BoxFuture<'a, Result<Again, ActorError>> {
        async move {
            let Some(provider) = desk.cache.get("ResourceSetInputProvider", key).cloned() else {
                return Ok(None);
            };
            if is_disabled(&provider) || provider.data["spec"]["type"] != "Static" {
                return Ok(None);
            }
            let mut draft = Draft::new(&provider, provider.data["status"].clone(), desk.stamp());
            let mut values = provider.data["spec"]["defaultValues"].clone();
            if !values.is_object() {
                values = json!({});
            }
            // A number that stays the same as long as the name does.
            let uid = provider.metadata.uid.clone().unwrap_or_default();
            let sum = Sha256::digest(uid.as_bytes());
            values["id"] = json!(super::hex(&sum[..4]));
            draft.status["exportedInputs"] = json!([values]);
            let done = "Reconciliation finished";
            draft.set("Ready", "True", "ReconciliationSucceeded", done);
            draft.close(token(&provider).as_deref());
            write_status(desk, &kinds::input_providers(), &provider, draft.status).await?;
            Ok(None)
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_object_per_input_each_once_and_none_that_is_held() {
        let spec = json!({
            "resources": [
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "<< inputs.app >>"}},
                {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "same"}},
            ],
            "resourcesTemplate":
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: {late: 'yes'}\n",
            "commonMetadata": {"labels": {"team": "one"}},
        });
        let made = objects(&spec, &[json!({"app": "a"}), json!({"app": "b"})]).unwrap();
        let names: Vec<&str> =
            made.iter().map(|object| object["metadata"]["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["a", "same", "b"]);
        assert!(made.iter().all(|object| object["metadata"]["labels"]["team"] == "one"));
        assert!(made[0]["metadata"]["labels"]["late"].is_null(), "resources win over the template");
        assert_eq!(objects(&spec, &[]).unwrap(), Vec::<Value>::new());
        let held = json!({"resources": [{
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "annotations": {"fluxcd.controlplane.io/reconcile": "disabled"}},
        }]});
        assert_eq!(objects(&held, &[Value::Null]).unwrap(), Vec::<Value>::new());
    }
}
