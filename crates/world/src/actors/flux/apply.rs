//! Server-side apply, field managers, inventories and pruning.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::ResourceExt as _;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, Preconditions};
use kube::core::GroupVersionKind;
use kube::discovery::Scope;
use serde_json::{Value, json};

use super::build::identity;
use super::health::{self, Health};
use crate::actors::process::{ActorError, Desk};

/// On whose behalf objects are applied.
#[derive(Debug, Clone)]
pub struct Owner {
    /// `kustomize.toolkit.fluxcd.io`: the group of labels and annotations.
    pub group: &'static str,
    /// The field manager.
    pub manager: &'static str,
    /// The applier's namespace.
    pub namespace: String,
    /// The applier's name.
    pub name: String,
}

impl Owner {
    fn key(&self, word: &str) -> String {
        format!("{}/{word}", self.group)
    }

    /// Puts the owner's labels on an object.
    pub fn mark(&self, object: &mut Value) {
        let labels = &mut object["metadata"]["labels"];
        if !labels.is_object() {
            *labels = json!({});
        }
        labels[self.key("name")] = json!(self.name);
        labels[self.key("namespace")] = json!(self.namespace);
    }

    fn owns(&self, object: &DynamicObject) -> bool {
        object.labels().get(&self.key("name")) == Some(&self.name)
            && object.labels().get(&self.key("namespace")) == Some(&self.namespace)
    }

    fn says(&self, object: &Value, word: &str, value: &str) -> bool {
        object["metadata"]["annotations"][self.key(word)]
            .as_str()
            .is_some_and(|found| found.eq_ignore_ascii_case(value))
    }
}

/// Where an object lies: id and version, as inventories have it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// `namespace_name_group_kind`
    pub id: String,
    /// The version.
    pub v: String,
}

impl Entry {
    /// The entry of an object.
    pub fn of(object: &Value) -> Self {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let version = word(&object["apiVersion"]);
        let (group, v) = version.split_once('/').unwrap_or(("", &version));
        let metadata = &object["metadata"];
        let name = word(&metadata["name"]).replace(':', "__");
        let namespace = word(&metadata["namespace"]);
        Self {
            id: format!("{namespace}_{name}_{group}_{}", word(&object["kind"])),
            v: v.to_owned(),
        }
    }

    /// Entries of a status.
    pub fn list(inventory: &Value) -> Vec<Self> {
        let entries = inventory["entries"].as_array().cloned().unwrap_or_default();
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        entries.iter().map(|e| Self { id: word(&e["id"]), v: word(&e["v"]) }).collect()
    }

    /// A status of entries.
    pub fn inventory(entries: &[Self]) -> Value {
        let shown: Vec<Value> = entries.iter().map(|e| json!({"id": e.id, "v": e.v})).collect();
        json!({ "entries": shown })
    }

    /// apiVersion, kind, namespace and name.
    pub fn place(&self) -> Option<(String, String, String, String)> {
        let (namespace, rest) = self.id.split_once('_')?;
        let (rest, kind) = rest.rsplit_once('_')?;
        let (name, group) = rest.rsplit_once('_')?;
        let version = if group.is_empty() { self.v.clone() } else { format!("{group}/{}", self.v) };
        Some((version, kind.to_owned(), namespace.to_owned(), name.replace("__", ":")))
    }
}

/// Why applying stopped: in words for the status, or for another try.
#[derive(Debug)]
pub enum Stop {
    /// The API server refused.
    Refused(String),
    /// Something to be tried again at once.
    Again(ActorError),
}

impl From<ActorError> for Stop {
    fn from(error: ActorError) -> Self {
        Self::Again(error)
    }
}

/// Knows kinds and applies objects.
#[derive(Debug, Default)]
pub struct Applier {
    known: BTreeMap<(String, String), (ApiResource, bool)>,
}

/// What came of applying: the entries of everything that was not skipped, and whether anything changed.
pub type Applied = (Vec<Entry>, bool);

struct Step {
    object: Value,
    resource: ApiResource,
    namespace: String,
    name: String,
    title: String,
}

impl Applier {
    /// The resource of a kind, and whether it has namespaces.
    pub async fn resource(
        &mut self,
        desk: &Desk,
        version: &str,
        kind: &str,
    ) -> Result<(ApiResource, bool), String> {
        let key = (version.to_owned(), kind.to_owned());
        if let Some(found) = self.known.get(&key) {
            return Ok(found.clone());
        }
        let (group, short) = version.split_once('/').unwrap_or(("", version));
        let gvk = GroupVersionKind::gvk(group, short, kind);
        let (resource, abilities) = kube::discovery::pinned_kind(&desk.client, &gvk)
            .await
            .map_err(|_| format!("no matches for kind \"{kind}\" in version \"{version}\""))?;
        let found = (resource, abilities.scope == Scope::Namespaced);
        self.known.insert(key, found.clone());
        Ok(found)
    }

    /// Applies everything: definitions and namespaces first, each stage tried dry before anything of it
    /// changes.
    pub async fn apply(
        &mut self,
        desk: &Desk,
        owner: &Owner,
        mut objects: Vec<Value>,
        target: Option<&str>,
    ) -> Result<Applied, Stop> {
        objects.sort_by_key(|object| rank(object["kind"].as_str().unwrap_or_default()));
        let (first, rest): (Vec<Value>, Vec<Value>) = objects
            .into_iter()
            .partition(|object| rank(object["kind"].as_str().unwrap_or_default()) < 3);
        let mut applied: Applied = (Vec::new(), false);
        for stage in [first, rest] {
            let mut steps = Vec::new();
            for object in stage {
                if let Some(step) = self.prepare(desk, owner, object, target).await? {
                    steps.push(step);
                }
            }
            let mut changes = Vec::new();
            for step in &steps {
                if let Some(drifted) = consider(desk, owner, step).await? {
                    applied.0.push(Entry::of(&step.object));
                    if drifted {
                        changes.push(step);
                    }
                }
            }
            for step in changes {
                let params = PatchParams::apply(owner.manager).force();
                let api = desk.api(&step.resource, &step.namespace);
                let sent = api.patch(&step.name, &params, &Patch::Apply(&step.object)).await;
                sent.map_err(|error| refused(error, &format!("{} apply failed", step.title)))?;
                applied.1 = true;
                if step.resource.kind == "CustomResourceDefinition" {
                    established(desk, step).await?;
                }
            }
        }
        Ok(applied)
    }

    /// Applies one after the other as Helm does: nothing is tried dry, and what was applied before a
    /// refusal stays. What names no namespace goes into `namespace`. Gives the entries of all, and why
    /// one was refused.
    pub async fn apply_each(
        &mut self,
        desk: &Desk,
        owner: &Owner,
        objects: Vec<Value>,
        namespace: &str,
    ) -> Result<(Vec<Entry>, Option<String>), Stop> {
        let mut steps = Vec::new();
        for mut object in objects {
            let word = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
            let known = self.resource(desk, &word("apiVersion"), &word("kind")).await;
            if known.is_ok_and(|(_, namespaced)| namespaced)
                && object["metadata"]["namespace"].is_null()
            {
                object["metadata"]["namespace"] = json!(namespace);
            }
            steps.extend(self.prepare(desk, owner, object, None).await?);
        }
        let entries = steps.iter().map(|step| Entry::of(&step.object)).collect();
        for step in &steps {
            let params = PatchParams::apply(owner.manager).force();
            let api = desk.api(&step.resource, &step.namespace);
            match api.patch(&step.name, &params, &Patch::Apply(&step.object)).await {
                Ok(_) => {}
                Err(kube::Error::Api(status)) if status.code < 500 => {
                    let (at, name) = (&step.namespace, &step.name);
                    let (version, kind) = (&step.resource.api_version, &step.resource.kind);
                    let why = format!(
                        "server-side apply failed for object {at}/{name} {version}, Kind={kind}: {}",
                        status.message
                    );
                    return Ok((entries, Some(why)));
                }
                Err(other) => return Err(Stop::Again(other.into())),
            }
        }
        Ok((entries, None))
    }

    async fn prepare(
        &mut self,
        desk: &Desk,
        owner: &Owner,
        mut object: Value,
        target: Option<&str>,
    ) -> Result<Option<Step>, Stop> {
        let title = identity(&object).map_err(Stop::Refused)?;
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (version, kind) = (word(&object["apiVersion"]), word(&object["kind"]));
        let found = self.resource(desk, &version, &kind).await;
        let (resource, namespaced) =
            found.map_err(|why| Stop::Refused(format!("{title} dry-run failed: {why}")))?;
        if namespaced && let Some(target) = target {
            object["metadata"]["namespace"] = json!(target);
        }
        let namespace = word(&object["metadata"]["namespace"]);
        if namespaced && namespace.is_empty() {
            return Err(Stop::Refused(format!("{title} namespace not specified")));
        }
        if owner.says(&object, "reconcile", "disabled") || owner.says(&object, "ssa", "ignore") {
            return Ok(None);
        }
        owner.mark(&mut object);
        let title = identity(&object).map_err(Stop::Refused)?;
        let name = word(&object["metadata"]["name"]);
        Ok(Some(Step { object, resource, namespace, name, title }))
    }

    /// Deletes what entries name, as far as it is the owner's and may be deleted. Gives back those that
    /// could not be, with the reasons.
    pub async fn prune(
        &mut self,
        desk: &Desk,
        owner: &Owner,
        entries: &[Entry],
    ) -> Result<Vec<(Entry, String)>, ActorError> {
        let mut failed = Vec::new();
        for entry in entries {
            let Some((version, kind, namespace, name)) = entry.place() else { continue };
            // A kind that is gone took its objects along.
            let Ok((resource, _)) = self.resource(desk, &version, &kind).await else { continue };
            let api = desk.api(&resource, &namespace);
            let Some(live) = api.get_opt(&name).await? else { continue };
            let shown = serde_json::to_value(&live.metadata).unwrap_or_default();
            let shown = json!({ "metadata": shown });
            if !owner.owns(&live)
                || owner.says(&shown, "prune", "disabled")
                || owner.says(&shown, "reconcile", "disabled")
                || shown["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
            {
                continue;
            }
            let params = DeleteParams {
                preconditions: Some(Preconditions {
                    uid: live.metadata.uid.clone(),
                    resource_version: None,
                }),
                ..DeleteParams::background()
            };
            match api.delete(&name, &params).await {
                Ok(_) => {}
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(kube::Error::Api(status)) => {
                    let at =
                        if namespace.is_empty() { name } else { format!("{namespace}/{name}") };
                    let why = format!("{kind}/{at} delete failed: {}", status.message);
                    failed.push((entry.clone(), why));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(failed)
    }

    /// How the worst of these is; none if all are current.
    pub async fn check(
        &mut self,
        desk: &Desk,
        targets: &[Entry],
    ) -> Result<Vec<(String, Health)>, ActorError> {
        let mut open = Vec::new();
        for entry in targets {
            let Some((version, kind, namespace, name)) = entry.place() else { continue };
            let title = format!("{kind}/{namespace}/{name}");
            let health = match self.resource(desk, &version, &kind).await {
                Err(why) => Health::Failed(why),
                Ok((resource, _)) => match desk.api(&resource, &namespace).get_opt(&name).await? {
                    None => Health::InProgress,
                    Some(live) => {
                        let mut shown = serde_json::to_value(&live).unwrap_or_default();
                        shown["kind"] = json!(kind);
                        shown["apiVersion"] = json!(version);
                        health::of(&shown)
                    }
                },
            };
            if health != Health::Current {
                open.push((title, health));
            }
        }
        Ok(open)
    }
}

/// Tries one object dry. None if it is to be left alone; else whether it would change.
async fn consider(desk: &Desk, owner: &Owner, step: &Step) -> Result<Option<bool>, Stop> {
    let api = desk.api(&step.resource, &step.namespace);
    let live = api.get_opt(&step.name).await.map_err(|error| Stop::Again(error.into()))?;
    if let Some(live) = &live {
        let shown = json!({"metadata": {"annotations": live.annotations()}});
        if owner.says(&shown, "reconcile", "disabled") {
            return Ok(None);
        }
        if owner.says(&step.object, "ssa", "ifnotpresent") {
            return Ok(Some(false));
        }
        if !owner.says(&step.object, "ssa", "merge") {
            take_over(desk, owner, step, live).await?;
        }
    }
    let params = PatchParams::apply(owner.manager).force().dry_run();
    let tried = api.patch(&step.name, &params, &Patch::Apply(&step.object)).await;
    match tried {
        Ok(result) => Ok(Some(live.is_none_or(|live| plain(&live) != plain(&result)))),
        // The namespace comes with this very stage, or is missing: the real try will tell.
        Err(kube::Error::Api(status)) if status.code == 404 && live.is_none() => Ok(Some(true)),
        Err(error) => Err(refused(error, &format!("{} dry-run failed", step.title))),
    }
}

/// Fields that people set with kubectl become the owner's, so that applying without them removes them.
async fn take_over(
    desk: &Desk,
    owner: &Owner,
    step: &Step,
    live: &DynamicObject,
) -> Result<(), Stop> {
    let all = serde_json::to_value(live.managed_fields()).unwrap_or_default();
    let all = all.as_array().cloned().unwrap_or_default();
    let foreign = |entry: &Value| {
        entry["subresource"].is_null()
            && entry["manager"].as_str().is_some_and(|name| name.starts_with("kubectl"))
    };
    if !all.iter().any(foreign) {
        return Ok(());
    }
    let (taken, mut kept): (Vec<Value>, Vec<Value>) = all.into_iter().partition(foreign);
    let own = kept.iter().position(|entry| {
        entry["manager"] == owner.manager
            && entry["operation"] == "Apply"
            && entry["subresource"].is_null()
    });
    let mut entry = match own {
        Some(at) => kept.remove(at),
        None => json!({
            "manager": owner.manager, "operation": "Apply", "fieldsType": "FieldsV1",
            "apiVersion": step.resource.api_version, "time": desk.stamp(), "fieldsV1": {},
        }),
    };
    for other in &taken {
        merge(&mut entry["fieldsV1"], &other["fieldsV1"]);
    }
    kept.push(entry);
    let body = json!({"metadata": {
        "managedFields": kept, "resourceVersion": live.resource_version(),
    }});
    let api = desk.api(&step.resource, &step.namespace);
    match api.patch(&step.name, &PatchParams::default(), &Patch::Merge(body)).await {
        Ok(_) => Ok(()),
        Err(error) => Err(Stop::Again(error.into())),
    }
}

fn merge(into: &mut Value, from: &Value) {
    let Some(from) = from.as_object() else { return };
    if !into.is_object() {
        *into = json!({});
    }
    for (key, value) in from {
        merge(&mut into[key.as_str()], value);
        if into[key.as_str()].is_null() {
            into[key.as_str()] = json!({});
        }
    }
}

/// What of an object counts for drift.
fn plain(object: &DynamicObject) -> Value {
    let mut plain = serde_json::to_value(object).unwrap_or_default();
    if let Some(map) = plain.as_object_mut() {
        map.remove("status");
    }
    if let Some(metadata) = plain["metadata"].as_object_mut() {
        for field in ["managedFields", "resourceVersion", "generation", "creationTimestamp", "uid"]
        {
            metadata.remove(field);
        }
    }
    plain
}

fn refused(error: kube::Error, what: &str) -> Stop {
    match error {
        kube::Error::Api(status) if status.code < 500 => {
            Stop::Refused(format!("{what} ({}): {}", status.reason, status.message))
        }
        other => Stop::Again(other.into()),
    }
}

async fn established(desk: &Desk, step: &Step) -> Result<(), Stop> {
    for _ in 0..600 {
        let found = desk.api(&step.resource, "").get_opt(&step.name).await;
        let found = found.map_err(|error| Stop::Again(error.into()))?;
        let shown = found.and_then(|found| serde_json::to_value(&found).ok()).unwrap_or_default();
        let ready = shown["status"]["conditions"].as_array().is_some_and(|all| {
            all.iter().any(|c| c["type"] == "Established" && c["status"] == "True")
        });
        if ready {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err(Stop::Refused(format!("{} was not established within a minute", step.title)))
}

/// The order in which kinds are applied.
fn rank(kind: &str) -> u8 {
    match kind {
        "CustomResourceDefinition" => 0,
        "Namespace" => 1,
        "StorageClass"
        | "VolumeSnapshotClass"
        | "IngressClass"
        | "PriorityClass"
        | "RuntimeClass" => 2,
        "ServiceAccount" | "Role" | "RoleBinding" | "ClusterRole" | "ClusterRoleBinding" => 3,
        "ConfigMap" | "Secret" => 4,
        "PersistentVolume" | "PersistentVolumeClaim" => 5,
        "Service" => 6,
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "Job" | "CronJob" | "Pod" => 7,
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_name_places() {
        let object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "shop", "namespace": "web"},
        });
        let entry = Entry::of(&object);
        assert_eq!((entry.id.as_str(), entry.v.as_str()), ("web_shop_apps_Deployment", "v1"));
        let place = entry.place().unwrap();
        assert_eq!(place, ("apps/v1".into(), "Deployment".into(), "web".into(), "shop".into()));
        let plain = Entry::of(&json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"},
        }));
        assert_eq!(plain.id, "_web__Namespace");
        assert_eq!(plain.place().unwrap().3, "web");
    }
}
