//! Snapshots: one run each, and afterwards a row of the catalogue.

use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::staging::{self, Staged, origin, shown};
use super::work::{self, Work, Worked};
use super::{Trio, status_of, store, tell, tell_trio, word};
use crate::actors::kinds;
use crate::actors::movers::variable;
use crate::actors::objects::Objects;
use crate::actors::process::{ActorError, Again, Cache, Desk, Key, Reconciler, controller_of};
use crate::actors::workloads::pods::{patch, write_status};

/// This many deletions at once by others than kopiur are held, unless the repository says otherwise.
const MASS: u64 = 10;
const SOON: Again = Some(Duration::from_secs(5));

/// Runs snapshots.
pub(super) struct Snapshots {
    objects: Objects,
}

impl Snapshots {
    pub(super) fn new(objects: Objects) -> Self {
        Self { objects }
    }
}

/// Whether a snapshot has come to its end.
pub(super) fn is_over(snapshot: &DynamicObject) -> bool {
    matches!(
        snapshot.data["status"]["phase"].as_str(),
        Some("Succeeded" | "Failed" | "Unchanged" | "Discovered")
    )
}

impl Reconciler for Snapshots {
    fn name(&self) -> &'static str {
        "kopiur-snapshots"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, cache: &Cache) -> Vec<Key> {
        let namespace = object.namespace().unwrap_or_default();
        match (kind, controller_of(object)) {
            ("Snapshot", _) => vec![Key::of(object)],
            (_, Some(("Snapshot", name, _))) => vec![Key::new(&namespace, name)],
            ("Pod", Some(("Job", name, _))) => cache
                .get("Job", &Key::new(&namespace, name))
                .and_then(|job| controller_of(job))
                .filter(|(kind, _, _)| *kind == "Snapshot")
                .map(|(_, name, _)| vec![Key::new(&namespace, name)])
                .unwrap_or_default(),
            ("Repository" | "ClusterRepository" | "SnapshotPolicy", _) => cache
                .list("Snapshot", None)
                .filter(|row| !is_over(row) || row.metadata.deletion_timestamp.is_some())
                .map(|row| Key::of(row))
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

impl Snapshots {
    async fn sync(&self, key: &Key, desk: &Desk) -> Result<Again, ActorError> {
        let api = desk.api(&kinds::kopia_snapshots(), &key.namespace);
        let Some(row) = api.get_opt(&key.name).await? else { return Ok(None) };
        let mut status = status_of(&row);
        if row.metadata.deletion_timestamp.is_some() {
            return self.leave(&row, &mut status, desk).await;
        }
        let finalizer = word("snapshot-cleanup");
        if !row.finalizers().contains(&finalizer) {
            let mut all = row.finalizers().to_vec();
            all.push(finalizer);
            let change = json!({"metadata": {
                "finalizers": all, "resourceVersion": row.resource_version(),
            }});
            patch(desk, &kinds::kopia_snapshots(), &row, change).await?;
        }
        let again = if is_over(&row) {
            self.pin(&row, &mut status, desk).await?;
            None
        } else if row.labels().get(&word("origin")).is_some_and(|from| from == "discovered") {
            return Ok(None);
        } else {
            advance(&row, &mut status, desk).await?
        };
        status["observedGeneration"] = json!(row.metadata.generation);
        write_status(desk, &kinds::kopia_snapshots(), &row, status).await?;
        Ok(again)
    }

    /// Keeps the pin as it should be; the id changes with it.
    async fn pin(
        &self,
        row: &DynamicObject,
        status: &mut Value,
        desk: &Desk,
    ) -> Result<(), ActorError> {
        let wanted = row.data["spec"]["pin"] == true;
        let is = status["pinned"] == true;
        let Some(id) = status["snapshot"]["kopiaSnapshotID"].as_str().map(str::to_owned) else {
            return Ok(());
        };
        if wanted == is {
            return Ok(());
        }
        let namespace = row.namespace().unwrap_or_default();
        let reference = repository_of(row);
        let Some(repository) = store::find(desk, &reference, &namespace).await? else {
            return Ok(());
        };
        let Some(opened) = store::open(desk, &self.objects, &repository).await? else {
            return Err(ActorError::Other("the repository does not open".into()));
        };
        let new = opened
            .pin(&id, wanted, desk.now())
            .map_err(|error| ActorError::Other(error.to_string()))?;
        status["snapshot"]["kopiaSnapshotID"] = json!(new);
        status["pinned"] = json!(wanted);
        tell(status, desk, ("Pinned", wanted), ("Pinned", ""));
        Ok(())
    }

    /// A row goes with its snapshot, unless it says otherwise or too many go at once.
    async fn leave(
        &self,
        row: &DynamicObject,
        status: &mut Value,
        desk: &Desk,
    ) -> Result<Again, ActorError> {
        let finalizer = word("snapshot-cleanup");
        if !row.finalizers().contains(&finalizer) {
            return Ok(None);
        }
        let namespace = row.namespace().unwrap_or_default();
        let reference = repository_of(row);
        let destroys = policy_of_deletion(row) == "Delete"
            && !row.annotations().contains_key(&word("skip-snapshot-cleanup"));
        let id = status["snapshot"]["kopiaSnapshotID"].as_str().map(str::to_owned);
        if let (true, Some(id)) = (destroys, id)
            && let Some(repository) = store::find(desk, &reference, &namespace).await?
        {
            if held(row, &repository, desk) {
                status["phase"] = json!("Deleting");
                let why = "too many deletions at once";
                tell(status, desk, ("DeletionHeld", true), ("MassDeletionHeld", why));
                write_status(desk, &kinds::kopia_snapshots(), row, status.clone()).await?;
                return Ok(Some(Duration::from_secs(60)));
            }
            let Some(opened) = store::open(desk, &self.objects, &repository).await? else {
                return Err(ActorError::Other("the repository does not open".into()));
            };
            opened.drop_snapshot(&id).map_err(|error| ActorError::Other(error.to_string()))?;
        }
        let rest: Vec<_> = row.finalizers().iter().filter(|f| **f != finalizer).collect();
        let change = json!({"metadata": {
            "finalizers": rest, "resourceVersion": row.resource_version(),
        }});
        patch(desk, &kinds::kopia_snapshots(), row, change).await?;
        Ok(None)
    }
}

fn repository_of(row: &DynamicObject) -> Value {
    let resolved = &row.data["status"]["resolved"]["repository"];
    if resolved.is_object() { resolved.clone() } else { row.data["spec"]["repository"].clone() }
}

fn policy_of_deletion(row: &DynamicObject) -> &str {
    row.data["spec"]["deletionPolicy"]
        .as_str()
        .or_else(|| row.data["status"]["resolved"]["deletionPolicy"].as_str())
        .unwrap_or("Delete")
}

/// Whether this is one of too many deletions that kopiur did not begin itself.
fn held(row: &DynamicObject, repository: &DynamicObject, desk: &Desk) -> bool {
    let external = |row: &DynamicObject| {
        row.metadata.deletion_timestamp.is_some()
            && policy_of_deletion(row) == "Delete"
            && !row.annotations().contains_key(&word("pruned-by"))
    };
    let threshold =
        repository.data["spec"]["deletionProtection"]["threshold"].as_u64().unwrap_or(MASS);
    let since = row.metadata.deletion_timestamp.clone().map(|time| time.0);
    let allowed: Option<jiff::Timestamp> = repository
        .annotations()
        .get(&word("allow-mass-deletion"))
        .and_then(|text| text.parse().ok());
    if threshold == 0 || !external(row) || (allowed.is_some() && allowed >= since) {
        return false;
    }
    let same = repository_of(row);
    let pending = desk
        .cache
        .list("Snapshot", None)
        .filter(|other| external(other) && repository_of(other)["name"] == same["name"])
        .count();
    pending as u64 >= threshold
}

fn fail(status: &mut Value, desk: &Desk, reason: &str, said: &Value) {
    let message = said["message"].as_str().unwrap_or_default();
    status["phase"] = json!("Failed");
    status["timing"]["endTime"] = json!(desk.stamp());
    status["failure"] = json!({
        "kopiaErrorClass": said["class"].as_str().unwrap_or("Unknown"), "message": message,
        "op": "snapshot", "retryRecommended": said["class"] == "RepositoryUnavailable",
    });
    tell_trio(status, desk, Trio::Stalled, (reason, message));
}

/// Brings a run forward. What stands in its way leaves it Pending: its conditions say why.
async fn advance(
    row: &DynamicObject,
    status: &mut Value,
    desk: &Desk,
) -> Result<Again, ActorError> {
    let namespace = row.namespace().unwrap_or_default();
    if !status["phase"].is_string() {
        status["phase"] = json!("Pending");
        let scheduled = row.labels().contains_key(&word("schedule"));
        status["origin"] = json!(if scheduled { "scheduled" } else { "manual" });
    }
    let name = row.data["spec"]["policyRef"]["name"].as_str().unwrap_or_default();
    let policy = desk.api(&kinds::kopia_policies(), &namespace).get_opt(name).await?;
    let Some(policy) = policy.filter(|policy| policy.data["spec"]["suspend"] != true) else {
        let why = format!("SnapshotPolicy {name} does not exist or is suspended");
        tell_trio(status, desk, Trio::Reconciling, ("MissingDependency", &why));
        return Ok(SOON);
    };
    let pinned = &row.data["spec"]["repository"];
    let reference = if pinned.is_object() { pinned } else { &policy.data["spec"]["repository"] };
    let repository = store::find(desk, reference, &namespace).await?;
    let Some(repository) = repository.filter(store::is_ready) else {
        let why = ("RepositoryNotReady", "the repository is not Ready");
        tell_trio(status, desk, Trio::Reconciling, why);
        return Ok(SOON);
    };
    if repository.data["spec"]["mode"] == "ReadOnly" {
        let why = ("RepositoryReadOnly", "the repository is read-only");
        tell(status, desk, ("RepositoryWritable", false), why);
        fail(status, desk, why.0, &json!({"message": why.1, "class": "PermissionDenied"}));
        return Ok(None);
    }
    let chosen = row.data["spec"]["source"]["target"]["pvc"]["name"].as_str().or_else(|| {
        policy.data["spec"]["sources"].as_array()?.iter().find_map(|s| s["pvc"]["name"].as_str())
    });
    let claim = match chosen {
        Some(claim) => desk.api(&kinds::claims(), &namespace).get_opt(claim).await?,
        None => None,
    };
    let Some(claim) = claim else {
        tell(status, desk, ("SourceStaged", false), ("SourceMissing", "no such claim"));
        tell_trio(status, desk, Trio::Reconciling, ("MissingDependency", "no such claim"));
        return Ok(SOON);
    };
    let staged = match staging::stage(desk, row, &policy, &claim).await? {
        Staged::Claim(staged) => staged,
        Staged::Waits(reason) => {
            tell(status, desk, ("SourceStaged", false), (reason, ""));
            tell_trio(status, desk, Trio::Reconciling, (reason, ""));
            return Ok(SOON);
        }
    };
    tell(status, desk, ("SourceStaged", true), ("Staged", ""));
    let origin = origin(&policy, &repository, &claim.name_any());
    let identical = policy.data["spec"]["files"]["ignoreIdenticalSnapshots"] == true;
    let work = Work {
        owner: row,
        name: row.name_any(),
        claim: staged,
        repository: &repository,
        env: vec![
            variable("OPERATION", "snapshot"),
            variable("KOPIA_USERNAME", &origin.user),
            variable("KOPIA_HOSTNAME", &origin.host),
            variable("SOURCE_PATH", &origin.path),
            variable("TAGS", &row.data["spec"]["tags"].to_string()),
            variable("PIN", if row.data["spec"]["pin"] == true { "true" } else { "false" }),
            variable("IGNORE_IDENTICAL", if identical { "true" } else { "false" }),
        ],
        retries: row.data["spec"]["failurePolicy"]["backoffLimit"].as_i64().unwrap_or(2),
    };
    let projects = policy.data["spec"]["credentialProjection"]["enabled"] == true;
    status["resolved"] = json!({
        "repository": reference,
        "sources": [{"pvc": format!("{namespace}/{}", claim.name_any()), "sourcePath": origin.path}],
        "deletionPolicy":
            policy.data["spec"]["defaultDeletionPolicy"].as_str().unwrap_or("Delete"),
    });
    match work::run(desk, work, projects).await? {
        Worked::Lacks(why) => {
            tell(status, desk, ("CredentialsAvailable", false), ("MissingCredentialsSecret", &why));
            tell_trio(status, desk, Trio::Reconciling, ("MissingCredentialsSecret", &why));
            return Ok(SOON);
        }
        Worked::Running => {
            status["phase"] = json!("Running");
            status["job"] = json!({"name": row.name_any()});
            if !status["timing"]["startTime"].is_string() {
                status["timing"] = json!({"startTime": desk.stamp()});
            }
            tell(status, desk, ("CredentialsAvailable", true), ("Available", ""));
            tell_trio(status, desk, Trio::Reconciling, ("Running", ""));
            return Ok(SOON);
        }
        Worked::Failed(said) => fail(status, desk, "SnapshotFailed", &said),
        Worked::Done(said) if said["unchanged"] == true => {
            status["phase"] = json!("Unchanged");
            status["timing"]["endTime"] = json!(desk.stamp());
            tell_trio(status, desk, Trio::Ready, ("Unchanged", ""));
        }
        Worked::Done(said) => {
            status["phase"] = json!("Succeeded");
            status["timing"] = json!({"startTime": said["startTime"], "endTime": desk.stamp()});
            status["stats"] = said["stats"].clone();
            status["snapshot"] = json!({"kopiaSnapshotID": said["id"], "identity": shown(&origin)});
            status["pinned"] = json!(row.data["spec"]["pin"] == true);
            tell_trio(status, desk, Trio::Ready, ("SnapshotSucceeded", ""));
        }
    }
    staging::unstage(desk, row).await?;
    Ok(None)
}
