//! Movers: what the containers of backup engines' Jobs do with volumes and repositories.
//!
//! A mover knows only what its container would: its environment (Secrets included, as they are when it
//! starts), the volume at `data`, and the store. Its verdict is the pod's exit code and log.

mod kopia;
mod restic;

pub(super) use kopia::class;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::kinds;
use super::objects::{Credentials, Objects};
use super::process::{ActorError, Again, Cache, Desk, Key, Process, Reconciler};
use super::repository::{Place, RepositoryError};
use super::volumes::Disks;
use super::workloads::kubelet::{EXIT, RUNS};
use super::workloads::pods::{is_leaving, patch};

/// Which mover plays a pod: `restic` or `kopia`.
pub const MOVER: &str = "world.holdfast.dev/mover";
/// What a mover printed, on its pod.
pub const LOG: &str = "world.holdfast.dev/log";
/// The most of a log that anyone keeps.
const LOG_LIMIT: usize = 1024;

/// The movers' knobs, and the object store they work with. Clones share them.
#[derive(Debug, Clone)]
pub struct Movers {
    objects: Objects,
    knobs: Arc<Mutex<Knobs>>,
}

#[derive(Debug)]
struct Knobs {
    takes: Duration,
    kills: u64,
}

impl Default for Movers {
    fn default() -> Self {
        let knobs = Knobs { takes: Duration::from_secs(5), kills: 0 };
        Self { objects: Objects::default(), knobs: Arc::new(Mutex::new(knobs)) }
    }
}

impl Movers {
    fn knobs(&self) -> MutexGuard<'_, Knobs> {
        self.knobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The object store.
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// How long a mover works.
    pub fn set_duration(&self, takes: Duration) {
        self.knobs().takes = takes;
    }

    /// The next movers that are to be killed in the middle of a backup.
    pub fn kill_next(&self, count: u64) {
        self.knobs().kills = count;
    }

    fn takes(&self) -> Duration {
        self.knobs().takes
    }

    fn killed(&self) -> bool {
        let mut knobs = self.knobs();
        let killed = knobs.kills > 0;
        knobs.kills = knobs.kills.saturating_sub(1);
        killed
    }
}

/// The process that plays every mover's container.
pub fn movers(disks: &Disks, movers: &Movers) -> Process {
    Process {
        name: "movers",
        watches: vec![kinds::pods(), kinds::claims(), kinds::volumes()],
        loops: vec![Box::new(Player {
            disks: disks.clone(),
            movers: movers.clone(),
            verdicts: BTreeMap::new(),
        })],
    }
}

/// How a mover ended.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Verdict {
    code: i32,
    log: String,
}

impl Verdict {
    fn failed(error: &RepositoryError, log: &[String]) -> Self {
        let mut lines = log.to_vec();
        lines.push(error.to_string());
        Self { code: error.exit(), log: lines.join("\n") }
    }
}

/// What a mover's container is started with.
struct Run<'a> {
    env: BTreeMap<String, String>,
    /// Its host name.
    pod: String,
    /// The disk at its data volume, if it has one.
    disk: Option<String>,
    disks: &'a Disks,
    movers: &'a Movers,
    now: jiff::Timestamp,
}

impl Run<'_> {
    fn get(&self, name: &str) -> &str {
        self.env.get(name).map(String::as_str).unwrap_or_default()
    }

    /// Where the repository is.
    fn address(&self) -> &str {
        let restic = self.get("RESTIC_REPOSITORY");
        if restic.is_empty() { self.get("KOPIA_REPOSITORY") } else { restic }
    }

    fn credentials(&self) -> Credentials {
        Credentials {
            key: self.get("AWS_ACCESS_KEY_ID").to_owned(),
            secret: self.get("AWS_SECRET_ACCESS_KEY").to_owned(),
        }
    }

    /// The repository that the environment leads to.
    fn place(&self, password: &str) -> Place {
        let (bucket, prefix) = split(self.address());
        Place {
            objects: self.movers.objects().clone(),
            bucket,
            prefix,
            credentials: self.credentials(),
            password: password.to_owned(),
        }
    }
}

/// Bucket and path of `s3:https://host/bucket/path`, `s3:host/bucket/path` or `bucket/path`.
fn split(address: &str) -> (String, String) {
    let rest = match address.strip_prefix("s3:") {
        Some(rest) => {
            let rest = rest.split_once("://").map_or(rest, |(_, rest)| rest);
            rest.split_once('/').map_or("", |(_, rest)| rest)
        }
        None => address,
    };
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    (bucket.to_owned(), prefix.trim_matches('/').to_owned())
}

struct Player {
    disks: Disks,
    movers: Movers,
    /// By pod uid: what was done is not done twice.
    verdicts: BTreeMap<String, Verdict>,
}

impl Reconciler for Player {
    fn name(&self) -> &'static str {
        "mover"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, cache: &Cache) -> Vec<Key> {
        let plays = |pod: &DynamicObject| pod.annotations().contains_key(MOVER);
        match kind {
            "Pod" if plays(object) => vec![Key::of(object)],
            "PersistentVolumeClaim" | "PersistentVolume" => cache
                .list("Pod", None)
                .filter(|pod| plays(pod) && !pod.annotations().contains_key(EXIT))
                .map(|pod| Key::of(pod))
                .collect(),
            _ => Vec::new(),
        }
    }

    fn reconcile<'a>(
        &'a mut self,
        key: &'a Key,
        desk: &'a Desk,
    ) -> BoxFuture<'a, Result<Again, ActorError>> {
        self.play(key, desk).boxed()
    }
}

impl Player {
    async fn play(&mut self, key: &Key, desk: &Desk) -> Result<Again, ActorError> {
        let Some(pod) = desk.cache.get("Pod", key).cloned() else { return Ok(None) };
        let Some(started) = pod.data["status"]["startTime"].as_str() else { return Ok(None) };
        if is_leaving(&pod) || pod.annotations().contains_key(EXIT) {
            return Ok(None);
        }
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        let verdict = match self.verdicts.get(&uid) {
            Some(verdict) => verdict.clone(),
            None => {
                let Some(env) = environment(desk, &pod).await? else {
                    return Ok(Some(Duration::from_secs(5)));
                };
                let claim = pod.data["spec"]["volumes"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .find(|volume| volume["name"] == "data")
                    .and_then(|volume| volume["persistentVolumeClaim"]["claimName"].as_str());
                let disk = match claim {
                    None => None,
                    Some(claim) => match disk_of(desk, &key.namespace, claim) {
                        Some(disk) => Some(disk),
                        None => return Ok(None),
                    },
                };
                let run = Run {
                    env,
                    pod: key.name.clone(),
                    disk,
                    disks: &self.disks,
                    movers: &self.movers,
                    now: desk.now(),
                };
                let since: jiff::Timestamp = started.parse().unwrap_or_else(|_| desk.now());
                let (bucket, _) = split(run.address());
                let takes = self.movers.takes() + self.movers.objects().delay(&bucket);
                let worked =
                    Duration::try_from(desk.now().duration_since(since)).unwrap_or_default();
                if worked < takes {
                    return Ok(Some(takes.saturating_sub(worked)));
                }
                let verdict = match pod.annotations().get(MOVER).map(String::as_str) {
                    Some("restic") => restic::run(&run),
                    Some("kopia") => kopia::run(&run),
                    _ => return Ok(None),
                };
                self.verdicts.insert(uid, verdict.clone());
                verdict
            }
        };
        let log = tail(&verdict.log);
        let annotations = json!({EXIT: verdict.code.to_string(), RUNS: "0", LOG: log});
        match patch(desk, &kinds::pods(), &pod, json!({"metadata": {"annotations": annotations}}))
            .await
        {
            Ok(_) => Ok(None),
            Err(ActorError::Kube(kube::Error::Api(status))) if status.code == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The end of a log, as much of it as is kept.
fn tail(log: &str) -> &str {
    let from = log.len().saturating_sub(LOG_LIMIT);
    (from..log.len()).find_map(|at| log.get(at..)).unwrap_or_default()
}

/// A container's environment; none while a Secret that it must have is missing.
async fn environment(
    desk: &Desk,
    pod: &DynamicObject,
) -> Result<Option<BTreeMap<String, String>>, ActorError> {
    let namespace = pod.namespace().unwrap_or_default();
    let api = desk.api(&kinds::secrets(), &namespace);
    let mut secrets: BTreeMap<String, Option<DynamicObject>> = BTreeMap::new();
    let mut env = BTreeMap::new();
    for variable in pod.data["spec"]["containers"][0]["env"].as_array().into_iter().flatten() {
        let name = variable["name"].as_str().unwrap_or_default().to_owned();
        let reference = &variable["valueFrom"]["secretKeyRef"];
        if !reference.is_object() {
            env.insert(name, variable["value"].as_str().unwrap_or_default().to_owned());
            continue;
        }
        let secret = reference["name"].as_str().unwrap_or_default().to_owned();
        if !secrets.contains_key(&secret) {
            secrets.insert(secret.clone(), api.get_opt(&secret).await?);
        }
        let key = reference["key"].as_str().unwrap_or_default();
        let found = secrets.get(&secret).and_then(Option::as_ref);
        match found.and_then(|found| secret_value(found, key)) {
            Some(value) => {
                env.insert(name, value);
            }
            None if reference["optional"] == true => {}
            None => return Ok(None),
        }
    }
    Ok(Some(env))
}

/// A decoded value of a Secret.
pub(super) fn secret_value(secret: &DynamicObject, key: &str) -> Option<String> {
    let encoded = secret.data["data"][key].as_str()?;
    let bytes = base64::engine::general_purpose::STANDARD.decode(encoded).ok()?;
    String::from_utf8(bytes).ok()
}

/// The handle of the disk behind a bound claim.
pub(super) fn disk_of(desk: &Desk, namespace: &str, claim: &str) -> Option<String> {
    let claim = desk.cache.get("PersistentVolumeClaim", &Key::new(namespace, claim))?;
    let volume = claim.data["spec"]["volumeName"].as_str()?;
    let volume = desk.cache.get("PersistentVolume", &Key::new("", volume))?;
    let spec = &volume.data["spec"];
    spec["csi"]["volumeHandle"]
        .as_str()
        .or_else(|| spec["local"]["path"].as_str()?.rsplit('/').next())
        .map(str::to_owned)
}

/// What a Job's mover said: exit code and log of its last pod that ended.
///
/// Nodes without containers end a Job's pods at once, so a pod's phase alone says nothing.
pub(super) fn verdict_of(pods: &[std::sync::Arc<DynamicObject>]) -> Option<(i32, String)> {
    let mut said: Vec<_> = pods
        .iter()
        .filter_map(|pod| {
            let code: i32 = pod.annotations().get(EXIT)?.parse().ok()?;
            let log = pod.annotations().get(LOG).cloned().unwrap_or_default();
            let at = pod.metadata.creation_timestamp.clone().map(|time| time.0);
            // One that worked outweighs those that failed before it.
            Some((code == 0, at, pod.name_any(), code, log))
        })
        .collect();
    said.sort();
    said.pop().map(|(_, _, _, code, log)| (code, log))
}

/// An environment variable.
pub(super) fn variable(name: &str, value: &str) -> Value {
    json!({"name": name, "value": value})
}

/// An environment variable out of a Secret.
pub(super) fn from_secret(name: &str, secret: &str, key: &str, optional: bool) -> Value {
    json!({"name": name, "valueFrom": {"secretKeyRef": {
        "name": secret, "key": key, "optional": optional,
    }}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_bucket_and_path() {
        let pair = |bucket: &str, path: &str| (bucket.to_owned(), path.to_owned());
        assert_eq!(split("s3:https://store:9000/backups/shop/data"), pair("backups", "shop/data"));
        assert_eq!(split("s3:s3.example.com/backups"), pair("backups", ""));
        assert_eq!(split("backups/shop/"), pair("backups", "shop"));
    }

    #[test]
    fn logs_keep_their_end() {
        let log = format!("{}é{}", "x".repeat(2000), "y".repeat(1023));
        assert_eq!(tail(&log), "y".repeat(1023));
        assert_eq!(tail("short"), "short");
    }
}
