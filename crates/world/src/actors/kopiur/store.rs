//! Repositories: connected to now and then, never made again silently.

use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::{ApiResource, DynamicObject};
use serde_json::{Value, json};

use super::{Trio, status_of, tell, tell_trio, word};
use crate::actors::kinds;
use crate::actors::movers::secret_value;
use crate::actors::objects::{Credentials, Objects};
use crate::actors::process::{ActorError, Again, Cache, Desk, Key, Reconciler};
use crate::actors::repository::{Place, Repository, RepositoryError, Snapshot};
use crate::actors::workloads::pods::{create, write_status};

/// How often a repository is looked at without being asked to.
const PROBE: Duration = Duration::from_secs(30 * 60);

/// Connects to repositories.
pub(super) struct Stores {
    objects: Objects,
}

impl Stores {
    pub(super) fn new(objects: Objects) -> Self {
        Self { objects }
    }
}

impl Reconciler for Stores {
    fn name(&self) -> &'static str {
        "kopiur-repositories"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, _: &Cache) -> Vec<Key> {
        match kind {
            "Repository" | "ClusterRepository" => vec![Key::of(object)],
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

fn resource(namespace: &str) -> ApiResource {
    if namespace.is_empty() {
        kinds::kopia_cluster_repositories()
    } else {
        kinds::kopia_repositories()
    }
}

/// The repository that a reference means.
pub(super) async fn find(
    desk: &Desk,
    reference: &Value,
    namespace: &str,
) -> Result<Option<DynamicObject>, ActorError> {
    let name = reference["name"].as_str().unwrap_or_default();
    let namespace = if reference["kind"] == "ClusterRepository" {
        ""
    } else {
        reference["namespace"].as_str().unwrap_or(namespace)
    };
    Ok(desk.api(&resource(namespace), namespace).get_opt(name).await?)
}

/// Whether a repository may be worked with.
pub(super) fn is_ready(repository: &DynamicObject) -> bool {
    repository.data["status"]["phase"] == "Ready"
}

/// Where a repository's data lies: `bucket/prefix`.
pub(super) fn address(repository: &DynamicObject) -> String {
    let s3 = &repository.data["spec"]["backend"]["s3"];
    let text = |field: &str| s3[field].as_str().unwrap_or_default().trim_matches('/').to_owned();
    format!("{}/{}", text("bucket"), text("prefix"))
}

/// The way into a repository, or what is missing for it.
pub(super) async fn place(
    desk: &Desk,
    objects: &Objects,
    repository: &DynamicObject,
) -> Result<Result<Place, String>, ActorError> {
    let spec = &repository.data["spec"];
    let own = repository.namespace().unwrap_or_default();
    let reference = &spec["encryption"]["passwordSecretRef"];
    let namespace = reference["namespace"].as_str().unwrap_or(&own).to_owned();
    let name = reference["name"].as_str().unwrap_or_default();
    let key = reference["key"].as_str().unwrap_or("KOPIA_PASSWORD");
    let secrets = desk.api(&kinds::secrets(), &namespace);
    let secret = secrets.get_opt(name).await?;
    let Some(password) = secret.as_ref().and_then(|secret| secret_value(secret, key)) else {
        return Ok(Err(format!("Secret {namespace}/{name} has no {key}")));
    };
    let auth = spec["backend"]["s3"]["auth"]["secretRef"]["name"].as_str();
    let auth = match auth {
        Some(auth) => secrets.get_opt(auth).await?,
        None => None,
    };
    let read = |key: &str| auth.as_ref().and_then(|secret| secret_value(secret, key));
    let address = address(repository);
    let (bucket, prefix) = address.split_once('/').unwrap_or((&address, ""));
    Ok(Ok(Place {
        objects: objects.clone(),
        bucket: bucket.to_owned(),
        prefix: prefix.to_owned(),
        credentials: Credentials {
            key: read("AWS_ACCESS_KEY_ID").unwrap_or_default(),
            secret: read("AWS_SECRET_ACCESS_KEY").unwrap_or_default(),
        },
        password,
    }))
}

/// Opens a repository for the operator itself.
pub(super) async fn open(
    desk: &Desk,
    objects: &Objects,
    repository: &DynamicObject,
) -> Result<Option<Repository>, ActorError> {
    Ok(place(desk, objects, repository).await?.ok().and_then(|place| Repository::open(place).ok()))
}

impl Stores {
    async fn sync(&self, key: &Key, desk: &Desk) -> Result<Again, ActorError> {
        let api = desk.api(&resource(&key.namespace), &key.namespace);
        let Some(repository) = api.get_opt(&key.name).await? else { return Ok(None) };
        if repository.metadata.deletion_timestamp.is_some()
            || repository.data["spec"]["suspend"] == true
        {
            return Ok(None);
        }
        let mut status = status_of(&repository);
        if let Some(left) = fresh(&repository, &status, desk) {
            return Ok(Some(left));
        }
        let again = self.probe(&repository, &mut status, desk).await?;
        status["observedGeneration"] = json!(repository.metadata.generation);
        if let Some(asked) = repository.annotations().get(&word("reverify-requested-at")) {
            status["lastReverifyAt"] = json!(asked);
        }
        write_status(desk, &resource(&key.namespace), &repository, status).await?;
        Ok(again)
    }

    async fn probe(
        &self,
        repository: &DynamicObject,
        status: &mut Value,
        desk: &Desk,
    ) -> Result<Again, ActorError> {
        let now = desk.stamp();
        let place = match place(desk, &self.objects, repository).await? {
            Ok(place) => place,
            Err(why) => {
                status["phase"] = json!("Pending");
                tell_trio(status, desk, Trio::Reconciling, ("MissingCredentialsSecret", &why));
                return Ok(Some(Duration::from_secs(30)));
            }
        };
        status["health"]["lastProbeAt"] = json!(now);
        let pinned = status["uniqueId"].as_str().map(str::to_owned);
        let mut opened = Repository::open(place.clone());
        if matches!(opened, Err(RepositoryError::Missing(_))) {
            let allowed = repository.annotations().get(&word("allow-reinitialize"));
            let first = pinned.is_none() && repository.data["spec"]["create"]["enabled"] == true;
            if first || (pinned.is_some() && pinned.as_ref() == allowed) {
                opened = Repository::init(place, desk.now());
            }
        } else if let (Ok(found), Some(pinned)) = (&opened, &pinned)
            && found.id() != pinned
        {
            opened = Err(RepositoryError::Missing("another repository is in its place".into()));
        }
        match opened {
            Ok(opened) => {
                self.healthy(repository, &opened, status, desk).await?;
                Ok(Some(PROBE))
            }
            Err(error) => Ok(Some(unhealthy(status, desk, &error, pinned.is_some()))),
        }
    }

    async fn healthy(
        &self,
        repository: &DynamicObject,
        opened: &Repository,
        status: &mut Value,
        desk: &Desk,
    ) -> Result<(), ActorError> {
        let now = desk.stamp();
        let first = !status["uniqueId"].is_string();
        status["phase"] = json!("Ready");
        status["uniqueId"] = json!(opened.id());
        status["health"] = json!({
            "lastProbeAt": now, "lastHealthyAt": now, "consecutiveProbeFailures": 0,
        });
        tell(status, desk, ("Bootstrapped", true), ("Bootstrapped", ""));
        tell(status, desk, ("BackendReachable", true), ("Reachable", ""));
        tell_trio(status, desk, Trio::Ready, ("RepositoryReady", ""));
        let snapshots = opened.snapshots().map_err(|error| ActorError::Other(error.to_string()))?;
        let bytes: u64 = snapshots.iter().map(|(_, s)| s.summary.data_added).sum();
        status["storageStats"] = json!({
            "snapshotCount": snapshots.len(), "totalSizeBytes": bytes, "lastObservedAt": now,
        });
        let asked = repository.annotations().get(&word("catalog-scan-requested-at"));
        let honoured = status["catalog"]["scanRequestHonored"].as_str();
        let changed = status["observedGeneration"] != json!(repository.metadata.generation);
        let requested = asked.is_some() && asked.map(String::as_str) != honoured;
        if first || changed || requested {
            let found = discover(repository, &snapshots, desk).await?;
            status["catalog"] = json!({"discoveredBackupCount": found, "lastRefreshAt": now});
            if let Some(asked) = asked {
                status["catalog"]["scanRequestHonored"] = json!(asked);
            }
        }
        Ok(())
    }
}

/// How long what is known stays good enough, unless someone asks for more.
fn fresh(repository: &DynamicObject, status: &Value, desk: &Desk) -> Option<Duration> {
    let annotation = |name: &str| repository.annotations().get(&word(name)).map(String::as_str);
    let asked = annotation("catalog-scan-requested-at")
        .is_some_and(|at| status["catalog"]["scanRequestHonored"] != at)
        || annotation("reverify-requested-at").is_some_and(|at| status["lastReverifyAt"] != at)
        || annotation("allow-reinitialize").is_some_and(|id| status["uniqueId"] == id);
    if asked || status["observedGeneration"] != json!(repository.metadata.generation) {
        return None;
    }
    let last: jiff::Timestamp = status["health"]["lastProbeAt"].as_str()?.parse().ok()?;
    let interval = if status["phase"] == "Ready" { PROBE } else { Duration::from_secs(60) };
    let age = Duration::try_from(desk.now().duration_since(last)).unwrap_or_default();
    interval.checked_sub(age).filter(|left| !left.is_zero())
}

/// Records a failed look. One that was never ready fails at once; others degrade first.
fn unhealthy(
    status: &mut Value,
    desk: &Desk,
    error: &RepositoryError,
    was_ready: bool,
) -> Duration {
    let failures = status["health"]["consecutiveProbeFailures"].as_u64().unwrap_or_default() + 1;
    status["health"]["consecutiveProbeFailures"] = json!(failures);
    if failures == 1 {
        status["health"]["firstFailureAt"] = json!(desk.stamp());
    }
    let message = error.to_string();
    let vanished = was_ready && matches!(error, RepositoryError::Missing(_));
    let reason = if vanished { "RepositoryVanished" } else { "BackendUnreachable" };
    tell(status, desk, ("BackendReachable", false), (reason, &message));
    if !was_ready {
        status["phase"] = json!("Failed");
        let reason = crate::actors::movers::class(error);
        tell_trio(status, desk, Trio::Stalled, (reason, &message));
    } else if vanished && failures >= 3 {
        status["phase"] = json!("Failed");
        tell_trio(status, desk, Trio::Stalled, ("RepositoryReinitializeBlocked", &message));
    } else if vanished || failures >= 3 {
        status["phase"] = json!("Degraded");
        tell_trio(status, desk, Trio::Reconciling, (reason, &message));
    }
    Duration::from_secs(60)
}

/// Makes a row for each snapshot that has none. How many there are.
async fn discover(
    repository: &DynamicObject,
    snapshots: &[(String, Snapshot)],
    desk: &Desk,
) -> Result<usize, ActorError> {
    let fallback = &repository.data["spec"]["catalog"]["fallbackNamespace"];
    let namespace = repository.namespace().or_else(|| fallback.as_str().map(str::to_owned));
    let Some(namespace) = namespace else { return Ok(0) };
    let api = desk.api(&kinds::kopia_snapshots(), &namespace);
    let rows = desk
        .api(&kinds::kopia_snapshots(), "")
        .list(&kube::api::ListParams::default())
        .await?
        .items;
    let mut count = 0;
    for (id, snapshot) in snapshots {
        let start = snapshot.time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        // An id changes with a pin; whose it is and when it began do not.
        let known = rows.iter().any(|row| {
            let row = &row.data["status"];
            row["timing"]["startTime"] == start.as_str()
                && row["snapshot"]["identity"]["sourcePath"] == snapshot.origin.path.as_str()
                && row["snapshot"]["identity"]["hostname"] == snapshot.origin.host.as_str()
                && row["snapshot"]["identity"]["username"] == snapshot.origin.user.as_str()
        });
        if known {
            continue;
        }
        count += 1;
        let name = format!("discovered-{}", id.get(..12).unwrap_or_default());
        let row = json!({
            "apiVersion": "kopiur.home-operations.com/v1alpha1", "kind": "Snapshot",
            "metadata": {
                "name": name, "namespace": namespace,
                "labels": {
                    word("origin"): "discovered", "app.kubernetes.io/managed-by": "kopiur",
                    word("snapshot-id"): id.get(..32),
                    word("repository-uid"): repository.metadata.uid,
                },
            },
            "spec": {
                "deletionPolicy": "Retain",
                "repository": {
                    "kind": if repository.namespace().is_some() { "Repository" } else { "ClusterRepository" },
                    "name": repository.name_any(),
                },
            },
        });
        create(desk, &kinds::kopia_snapshots(), row).await?;
        let Some(row) = api.get_opt(&name).await? else { continue };
        let mut status = status_of(&row);
        status["phase"] = json!("Discovered");
        status["origin"] = json!("discovered");
        status["snapshot"] = json!({"kopiaSnapshotID": id, "identity": {
            "username": snapshot.origin.user, "hostname": snapshot.origin.host,
            "sourcePath": snapshot.origin.path,
        }});
        status["timing"] = json!({"startTime": start, "endTime": start});
        tell_trio(&mut status, desk, Trio::Ready, ("Discovered", ""));
        write_status(desk, &kinds::kopia_snapshots(), &row, status).await?;
    }
    Ok(count)
}
