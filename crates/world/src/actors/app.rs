//! The app: what a container would do with its volume.
//!
//! Pods whose image is `rows:N` keep rows in format N. A newer version migrates what it finds; an older
//! one cannot read it and does not start. Its readiness is the pod condition [`READY`], which the pod
//! names as a readiness gate, so that nodes without containers (KWOK's too) wait for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use super::kinds;
use super::process::{ActorError, Again, Cache, Desk, Key, Process, Reconciler};
use super::volumes::{Disk, Disks};
use super::workloads::pods::{condition, is_finished, is_leaving};
use super::workloads::scheduler::claims_of;

/// The readiness gate that the app drives.
pub const READY: &str = "world.holdfast.dev/app";
/// Makes a version start but never become healthy, as a broken release does; its value says why.
pub const FAILS: &str = "world.holdfast.dev/fails";
/// How often a running app writes a row.
const WRITES_EVERY: Duration = Duration::from_secs(60);

/// What went wrong that must never go wrong. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Witness {
    inner: Arc<Mutex<Vec<String>>>,
}

impl Witness {
    fn list(&self) -> MutexGuard<'_, Vec<String>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything seen so far.
    pub fn saw(&self) -> Vec<String> {
        self.list().clone()
    }

    fn report(&self, what: String) {
        self.list().push(what);
    }
}

/// The process that plays every app's containers.
pub fn app(disks: &Disks, witness: &Witness) -> Process {
    Process {
        name: "app",
        watches: vec![kinds::pods(), kinds::claims(), kinds::volumes()],
        loops: vec![Box::new(App {
            disks: disks.clone(),
            witness: witness.clone(),
            mounts: BTreeMap::new(),
            running: BTreeMap::new(),
        })],
    }
}

struct App {
    disks: Disks,
    witness: Witness,
    /// Pods by disk, to see two writers where only one may be.
    mounts: BTreeMap<String, BTreeSet<String>>,
    /// Disks by pod uid.
    running: BTreeMap<Key, (String, Vec<String>)>,
}

impl Reconciler for App {
    fn name(&self) -> &'static str {
        "app"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, cache: &Cache) -> Vec<Key> {
        match kind {
            "Pod" if format_of(object).is_some() => vec![Key::of(object)],
            "PersistentVolumeClaim" => cache
                .list("Pod", object.metadata.namespace.as_deref())
                .filter(|pod| {
                    format_of(pod).is_some() && claims_of(pod).contains(&object.name_any())
                })
                .map(|pod| Key::of(pod))
                .collect(),
            "PersistentVolume" => cache
                .list("Pod", object.data["spec"]["claimRef"]["namespace"].as_str())
                .filter(|pod| format_of(pod).is_some())
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
        self.sync(key, desk).boxed()
    }
}

/// The format that a pod's version reads and writes: `rows:3` is 3. None if it is not the app.
fn format_of(pod: &DynamicObject) -> Option<u64> {
    pod.data["spec"]["containers"].as_array()?.iter().find_map(|container| {
        let image = container["image"].as_str()?;
        let name = image.rsplit('/').next()?;
        let tag = name.strip_prefix("rows:")?.split('@').next()?;
        tag.trim_start_matches('v').split('.').next()?.parse().ok()
    })
}

impl App {
    async fn sync(&mut self, key: &Key, desk: &Desk) -> Result<Again, ActorError> {
        let pod = desk.cache.get("Pod", key).cloned();
        let stopped = pod.as_ref().is_none_or(|pod| is_leaving(pod) || is_finished(pod));
        if stopped {
            self.unmount(key);
            return Ok(None);
        }
        let Some(pod) = pod else { return Ok(None) };
        let Some(format) = format_of(&pod) else { return Ok(None) };
        if pod.data["spec"]["nodeName"].as_str().unwrap_or_default().is_empty() {
            return Ok(None);
        }
        let Some(disks) = self.disks_of(key, desk, &pod) else { return Ok(None) };
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        if self.running.get(key).is_some_and(|(known, _)| *known != uid) {
            self.unmount(key);
        }
        self.mount(key, &uid, &disks, desk);
        let first = !self.running.contains_key(key);
        let mut refused = None;
        for handle in &disks {
            let outcome =
                self.disks.write(handle, |disk| start(disk, format, &uid, &desk.stamp(), first));
            if let Some(Err(why)) = outcome {
                refused = Some(why);
            }
        }
        if let Some(why) = pod.annotations().get(FAILS) {
            refused = refused.or_else(|| Some(why.clone()));
        }
        if refused.is_none() || first {
            self.running.insert(key.clone(), (uid, disks));
        }
        self.say(desk, &pod, refused.as_deref()).await?;
        Ok(Some(WRITES_EVERY))
    }

    /// The disks behind the pod's claims; none while one is not bound.
    fn disks_of(&self, key: &Key, desk: &Desk, pod: &DynamicObject) -> Option<Vec<String>> {
        claims_of(pod)
            .iter()
            .map(|claim| {
                let claim =
                    desk.cache.get("PersistentVolumeClaim", &Key::new(&key.namespace, claim))?;
                let volume = claim.data["spec"]["volumeName"].as_str()?;
                let volume = desk.cache.get("PersistentVolume", &Key::new("", volume))?;
                let spec = &volume.data["spec"];
                let handle =
                    spec["csi"]["volumeHandle"].as_str().map(str::to_owned).or_else(|| {
                        spec["local"]["path"].as_str()?.rsplit('/').next().map(str::to_owned)
                    })?;
                Some(handle)
            })
            .collect()
    }

    fn mount(&mut self, key: &Key, uid: &str, disks: &[String], desk: &Desk) {
        let alive: BTreeSet<&str> = desk
            .cache
            .list("Pod", None)
            .filter(|pod| !is_finished(pod))
            .filter_map(|pod| pod.metadata.uid.as_deref())
            .collect();
        for handle in disks {
            let pods = self.mounts.entry(handle.clone()).or_default();
            // A pod that is gone no longer writes, even if we have not tidied up after it yet.
            pods.retain(|other| alive.contains(other.as_str()));
            let alone = pods.is_empty() || pods.contains(uid);
            pods.insert(uid.to_owned());
            let shared = desk.cache.list("PersistentVolume", None).any(|volume| {
                volume.data["spec"]["csi"]["volumeHandle"] == handle.as_str()
                    && volume.data["spec"]["accessModes"]
                        .as_array()
                        .is_some_and(|modes| modes.iter().any(|mode| mode == "ReadWriteMany"))
            });
            if !alone && !shared {
                self.witness.report(format!("two pods write to {handle} at once, one is {key}"));
            }
        }
    }

    fn unmount(&mut self, key: &Key) {
        let Some((uid, disks)) = self.running.remove(key) else { return };
        for handle in disks {
            if let Some(pods) = self.mounts.get_mut(&handle) {
                pods.remove(&uid);
            }
        }
    }

    async fn say(
        &self,
        desk: &Desk,
        pod: &DynamicObject,
        refused: Option<&str>,
    ) -> Result<(), ActorError> {
        let status = if refused.is_none() { "True" } else { "False" };
        let message = refused.unwrap_or("the app serves its rows");
        let old = condition(pod, READY);
        if old.is_some_and(|c| c["status"] == status && c["message"] == message) {
            return Ok(());
        }
        let new = json!({
            "type": READY, "status": status, "reason": if refused.is_none() { "Serving" } else { "Refused" },
            "message": message, "lastProbeTime": null, "lastTransitionTime": desk.stamp(),
        });
        // Conditions merge by type, so the kubelet's own stay untouched.
        let body = Patch::Strategic(json!({"status": {"conditions": [new]}}));
        let api = desk.api(&kinds::pods(), &key_namespace(pod));
        match api.patch_status(&pod.name_any(), &PatchParams::default(), &body).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn key_namespace(pod: &DynamicObject) -> String {
    pod.namespace().unwrap_or_default()
}

/// Starts on a disk: takes an empty one, migrates an older format, refuses a newer one. Then writes a row.
fn start(disk: &mut Disk, format: u64, pod: &str, now: &str, first: bool) -> Result<(), String> {
    let found = disk
        .files
        .get("format")
        .and_then(|bytes| std::str::from_utf8(bytes).ok()?.trim().parse::<u64>().ok());
    if let Some(found) = found.filter(|found| *found > format) {
        return Err(format!("the data is in format {found}, this version reads up to {format}"));
    }
    if found != Some(format) {
        let rows = disk.files.remove("rows").unwrap_or_default();
        let migrated: String = String::from_utf8_lossy(&rows)
            .lines()
            .filter_map(|line| {
                let mut row: Value = serde_json::from_str(line).ok()?;
                row["format"] = json!(format);
                Some(format!("{row}\n"))
            })
            .collect();
        disk.files.insert("rows".into(), migrated.into_bytes());
        disk.files.insert("format".into(), format.to_string().into_bytes());
    }
    let row = json!({
        "format": format, "pod": pod, "at": now, "event": if first { "start" } else { "tick" },
    });
    let rows = disk.files.entry("rows".into()).or_default();
    rows.extend_from_slice(format!("{row}\n").as_bytes());
    Ok(())
}

/// The rows of a disk.
pub fn rows(disk: &Disk) -> Vec<Value> {
    let bytes = disk.files.get("rows").cloned().unwrap_or_default();
    String::from_utf8_lossy(&bytes)
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// The format of a disk's rows, if it was ever used.
pub fn format(disk: &Disk) -> Option<u64> {
    std::str::from_utf8(disk.files.get("format")?).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_version_migrates_and_an_older_one_refuses() {
        let mut disk = Disk::empty(1);
        start(&mut disk, 1, "a", "t0", true).unwrap();
        start(&mut disk, 2, "b", "t1", true).unwrap();
        assert_eq!(format(&disk), Some(2));
        assert!(rows(&disk).iter().all(|row| row["format"] == 2));
        assert_eq!(rows(&disk).len(), 2);
        let before = disk.clone();
        let refused = start(&mut disk, 1, "c", "t2", true).unwrap_err();
        assert_eq!(refused, "the data is in format 2, this version reads up to 1");
        assert_eq!(disk, before, "refusing touches nothing");
    }
}
