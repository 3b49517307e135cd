//! Restores: into a claim, or passively as the data source of claims.

use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::staging::{origin, shown};
use super::work::{self, Work, Worked};
use super::{Dialect, GROUP, Trio, populator, status_of, store, tell, tell_trio};
use crate::actors::kinds;
use crate::actors::movers::variable;
use crate::actors::objects::Objects;
use crate::actors::populate;
use crate::actors::process::{ActorError, Again, Cache, Desk, Key, Reconciler, controller_of};
use crate::actors::repository::Origin;
use crate::actors::workloads::pods::{create, write_status};

/// How soon to look again.
pub(super) const SOON: Again = Some(Duration::from_secs(5));

/// Runs restores.
pub(super) struct Restores {
    objects: Objects,
    dialect: Dialect,
}

impl Restores {
    pub(super) fn new(objects: Objects, dialect: Dialect) -> Self {
        Self { objects, dialect }
    }
}

/// The claims that name a Restore as their source.
pub(super) fn names(claim: &DynamicObject) -> Option<&str> {
    populate::source(claim, GROUP, "Restore")
}

impl Reconciler for Restores {
    fn name(&self) -> &'static str {
        "kopiur-restores"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, cache: &Cache) -> Vec<Key> {
        let namespace = object.namespace().unwrap_or_default();
        let every = |filter: &dyn Fn(&DynamicObject) -> bool| {
            cache.list("Restore", None).filter(|r| filter(r)).map(|r| Key::of(r)).collect()
        };
        match (kind, controller_of(object)) {
            ("Restore", _) => vec![Key::of(object)],
            (_, Some(("Restore", name, _))) => vec![Key::new(&namespace, name)],
            ("PersistentVolumeClaim", Some(("PersistentVolumeClaim", name, _))) => cache
                .get("PersistentVolumeClaim", &Key::new(&namespace, name))
                .and_then(|claim| names(claim))
                .map(|name| vec![Key::new(&namespace, name)])
                .unwrap_or_default(),
            ("PersistentVolumeClaim", _) => {
                names(object).map(|name| vec![Key::new(&namespace, name)]).unwrap_or_default()
            }
            ("Pod", Some(("Job", name, _))) => cache
                .get("Job", &Key::new(&namespace, name))
                .and_then(|job| controller_of(job))
                .filter(|(kind, _, _)| *kind == "Restore")
                .map(|(_, name, _)| vec![Key::new(&namespace, name)])
                .unwrap_or_default(),
            ("Repository" | "ClusterRepository" | "SnapshotPolicy", _) => every(&|restore| {
                !matches!(restore.data["status"]["phase"].as_str(), Some("Completed" | "Failed"))
            }),
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

/// What a Restore is to bring back, and from where.
pub(super) struct Wanted {
    pub repository: DynamicObject,
    pub reference: Value,
    pub origin: Origin,
    pub id: String,
    pub as_of: String,
    pub offset: u64,
    /// `Continue` or `Fail`
    pub on_missing: String,
}

/// Why a Restore cannot go on yet: reason and message.
pub(super) type Parked = (&'static str, String);

/// Finds out what a Restore wants for one claim.
pub(super) async fn wanted(
    desk: &Desk,
    restore: &DynamicObject,
    claim: &str,
) -> Result<Result<Wanted, Parked>, ActorError> {
    let namespace = restore.namespace().unwrap_or_default();
    let source = &restore.data["spec"]["source"];
    let missing = |what: &str| Ok(Err(("RestoreReferentMissing", format!("{what} is missing"))));
    let chosen = |given: &Value, default: &str| {
        given["policy"]["onMissingSnapshot"].as_str().unwrap_or(default).to_owned()
    };
    let (reference, known, id, from, default) = if source["fromPolicy"].is_object() {
        let from = &source["fromPolicy"];
        let home = from["namespace"].as_str().unwrap_or(&namespace);
        let name = from["name"].as_str().unwrap_or_default();
        let Some(policy) = desk.api(&kinds::kopia_policies(), home).get_opt(name).await? else {
            return missing("the SnapshotPolicy");
        };
        let reference = policy.data["spec"]["repository"].clone();
        (reference, Err(policy), String::new(), from.clone(), "Continue")
    } else if source["snapshotRef"].is_object() {
        let from = &source["snapshotRef"];
        let home = from["namespace"].as_str().unwrap_or(&namespace);
        let name = from["name"].as_str().unwrap_or_default();
        let Some(row) = desk.api(&kinds::kopia_snapshots(), home).get_opt(name).await? else {
            return missing("the Snapshot");
        };
        let resolved = &row.data["status"]["resolved"]["repository"];
        let reference =
            if resolved.is_object() { resolved } else { &row.data["spec"]["repository"] }.clone();
        let found = &row.data["status"]["snapshot"];
        let id = found["kopiaSnapshotID"].as_str().unwrap_or("none").to_owned();
        (reference, Ok(read(&found["identity"])), id, json!({}), "Fail")
    } else {
        let from = &source["identity"];
        let id = from["snapshotID"].as_str().unwrap_or_default().to_owned();
        let reference = restore.data["spec"]["repository"].clone();
        (reference, Ok(read(from)), id, from.clone(), "Fail")
    };
    let Some(repository) = store::find(desk, &reference, &namespace).await? else {
        return missing("the repository");
    };
    if !store::is_ready(&repository) {
        return Ok(Err(("RepositoryNotReady", "the repository is not Ready".into())));
    }
    let origin = match known {
        Ok(origin) => origin,
        Err(policy) => {
            let covered = policy.data["spec"]["sources"][0]["pvc"]["name"].as_str();
            let mut origin = origin(&policy, &repository, covered.unwrap_or(claim));
            if let Some(path) = from["sourcePath"].as_str() {
                path.clone_into(&mut origin.path);
            }
            origin
        }
    };
    Ok(Ok(Wanted {
        repository,
        reference,
        origin,
        id,
        as_of: from["asOf"].as_str().unwrap_or_default().to_owned(),
        offset: from["offset"].as_u64().unwrap_or_default(),
        on_missing: chosen(&restore.data["spec"], default),
    }))
}

fn read(identity: &Value) -> Origin {
    let text = |field: &str| identity[field].as_str().unwrap_or_default().to_owned();
    Origin { host: text("hostname"), user: text("username"), path: text("sourcePath") }
}

/// What a mover's result means for a record: `resolved`.
pub(super) fn resolved(wanted: &Wanted, said: &Value, desk: &Desk) -> Value {
    let mut resolved = json!({
        "resolution": said["resolution"], "repository": wanted.reference,
        "identity": shown(&wanted.origin), "pinnedAt": desk.stamp(),
    });
    if said["id"].is_string() {
        resolved["kopiaSnapshotID"] = said["id"].clone();
    }
    resolved
}

/// Runs the Job of a restore.
pub(super) async fn move_back(
    desk: &Desk,
    restore: &DynamicObject,
    (job, claim): (String, String),
    wanted: &Wanted,
) -> Result<Worked, ActorError> {
    let exact = restore.data["spec"]["options"]["enableFileDeletion"] == true;
    let work = Work {
        owner: restore,
        name: job,
        claim,
        repository: &wanted.repository,
        env: vec![
            variable("OPERATION", "restore"),
            variable("KOPIA_USERNAME", &wanted.origin.user),
            variable("KOPIA_HOSTNAME", &wanted.origin.host),
            variable("SOURCE_PATH", &wanted.origin.path),
            variable("SNAPSHOT_ID", &wanted.id),
            variable("AS_OF", &wanted.as_of),
            variable("OFFSET", &wanted.offset.to_string()),
            variable("ON_MISSING", &wanted.on_missing),
            variable("DELETE_EXTRA", if exact { "true" } else { "false" }),
        ],
        retries: restore.data["spec"]["failurePolicy"]["backoffLimit"].as_i64().unwrap_or(2),
    };
    let projects = restore.data["spec"]["credentialProjection"]["enabled"] == true;
    work::run(desk, work, projects).await
}

/// A failure as statuses show it.
pub(super) fn failure(said: &Value) -> Value {
    json!({
        "kopiaErrorClass": said["class"].as_str().unwrap_or("Unknown"),
        "message": said["message"], "op": "restore", "retryRecommended": false,
    })
}

impl Restores {
    async fn sync(&self, key: &Key, desk: &Desk) -> Result<Again, ActorError> {
        let api = desk.api(&kinds::kopia_restores(), &key.namespace);
        let Some(restore) = api.get_opt(&key.name).await? else { return Ok(None) };
        if restore.metadata.deletion_timestamp.is_some() {
            return Ok(None);
        }
        let mut status = status_of(&restore);
        let before = status.clone();
        let again = if restore.data["spec"]["target"]["populator"].is_object() {
            match self.dialect {
                Dialect::One => populator::one(desk, &self.objects, &restore, &mut status).await?,
                Dialect::PerClaim => {
                    populator::each(desk, &self.objects, &restore, &mut status).await?
                }
            }
        } else if matches!(status["phase"].as_str(), Some("Completed" | "Failed")) {
            // A finished Restore is not looked at again, not even its generation.
            return Ok(None);
        } else {
            direct(desk, &restore, &mut status).await?
        };
        let over = matches!(before["phase"].as_str(), Some("Completed" | "Failed"));
        if !over || before != status {
            status["observedGeneration"] = json!(restore.metadata.generation);
        }
        write_status(desk, &kinds::kopia_restores(), &restore, status).await?;
        Ok(again)
    }
}

/// A restore into a named claim: once.
async fn direct(
    desk: &Desk,
    restore: &DynamicObject,
    status: &mut Value,
) -> Result<Again, ActorError> {
    let namespace = restore.namespace().unwrap_or_default();
    let target = &restore.data["spec"]["target"];
    let makes = target["pvc"].is_object();
    let named = if makes { &target["pvc"] } else { &target["pvcRef"] };
    let name = named["name"].as_str().unwrap_or_default().to_owned();
    if !status["phase"].is_string() {
        status["phase"] = json!("Pending");
    }
    let wanted = match wanted(desk, restore, &name).await? {
        Ok(wanted) => wanted,
        Err((reason, message)) => {
            park(status, desk, reason, &message);
            return Ok(SOON);
        }
    };
    tell(status, desk, ("ReferentAvailable", true), ("Available", ""));
    let claims = desk.api(&kinds::claims(), &namespace);
    if makes && claims.get_opt(&name).await?.is_none() {
        let mut spec = json!({
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": named["capacity"]}},
        });
        for field in ["accessModes", "storageClassName"] {
            if !named[field].is_null() {
                spec[field] = named[field].clone();
            }
        }
        let claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": name, "namespace": namespace,
                "labels": {"app.kubernetes.io/managed-by": "kopiur"},
            },
            "spec": spec,
        });
        create(desk, &kinds::claims(), claim).await?;
    }
    status["target"] = json!({"pvcRef": {"name": name}});
    let job = (restore.name_any(), name);
    match move_back(desk, restore, job, &wanted).await? {
        Worked::Running => {
            status["phase"] = json!("Restoring");
            tell_trio(status, desk, Trio::Reconciling, ("Restoring", ""));
            return Ok(SOON);
        }
        Worked::Lacks(why) => {
            tell(status, desk, ("CredentialsAvailable", false), ("MissingCredentialsSecret", &why));
            park(status, desk, "MissingCredentialsSecret", &why);
            return Ok(SOON);
        }
        Worked::Failed(said) => {
            status["phase"] = json!("Failed");
            status["failure"] = failure(&said);
            let reason = said["reason"].as_str().unwrap_or("MoverJobFailed").to_owned();
            let message = said["message"].as_str().unwrap_or_default();
            tell_trio(status, desk, Trio::Stalled, (&reason, message));
        }
        Worked::Done(said) => {
            status["phase"] = json!("Completed");
            status["resolved"] = resolved(&wanted, &said, desk);
            status["progress"] =
                json!({"bytesRestored": said["bytes"], "filesRestored": said["files"]});
            tell_trio(status, desk, Trio::Ready, ("RestoreSucceeded", ""));
        }
    }
    Ok(None)
}

/// Not an end: what is missing may come.
pub(super) fn park(status: &mut Value, desk: &Desk, reason: &str, message: &str) {
    status["phase"] = json!("Pending");
    if reason == "RestoreReferentMissing" {
        tell(status, desk, ("ReferentAvailable", false), (reason, message));
    }
    tell_trio(status, desk, Trio::Reconciling, (reason, message));
}
