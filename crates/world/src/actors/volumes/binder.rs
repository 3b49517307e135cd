//! The binder: claims to volumes, and what happens to a volume when its claim goes.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::actors::kinds;
use crate::actors::process::{ActorError, Again, Cache, Desk, Key, Reconciler};
use crate::actors::workloads::pods::{patch, write_status};

const PROVISIONER: &str = "volume.kubernetes.io/storage-provisioner";
const OLD_PROVISIONER: &str = "volume.beta.kubernetes.io/storage-provisioner";
pub(super) const SELECTED: &str = "volume.kubernetes.io/selected-node";
const COMPLETED: &str = "pv.kubernetes.io/bind-completed";
const BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";

/// Binds claims and volumes.
pub struct Binder;

impl Reconciler for Binder {
    fn name(&self) -> &'static str {
        "binder"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, cache: &Cache) -> Vec<Key> {
        match kind {
            "PersistentVolumeClaim" => {
                let mut keys = vec![Key::of(object)];
                // A claim that went frees its volume.
                keys.extend(
                    object.data["spec"]["volumeName"].as_str().map(|name| Key::new("", name)),
                );
                keys
            }
            "PersistentVolume" => {
                let mut keys = vec![Key::of(object)];
                let pending = cache.list("PersistentVolumeClaim", None).filter(|claim| {
                    claim.data["status"]["phase"] != "Bound"
                        || claim.data["spec"]["volumeName"] == object.name_any()
                });
                keys.extend(pending.map(|claim| Key::of(claim)));
                keys
            }
            "StorageClass" => {
                cache.list("PersistentVolumeClaim", None).map(|claim| Key::of(claim)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn reconcile<'a>(
        &'a mut self,
        key: &'a Key,
        desk: &'a Desk,
    ) -> BoxFuture<'a, Result<Again, ActorError>> {
        async move {
            if key.namespace.is_empty() { volume(key, desk).await } else { claim(key, desk).await }
        }
        .boxed()
    }
}

fn class_of(claim: &DynamicObject) -> &str {
    claim.data["spec"]["storageClassName"].as_str().unwrap_or_default()
}

/// Whether a volume's claimRef names this claim; a reference without uid waits for a claim of that name.
fn refers(volume: &DynamicObject, claim: &DynamicObject) -> bool {
    let reference = &volume.data["spec"]["claimRef"];
    reference["name"] == claim.name_any()
        && reference["namespace"] == claim.namespace().unwrap_or_default()
        && reference["uid"].as_str().is_none_or(|uid| Some(uid) == claim.metadata.uid.as_deref())
}

async fn claim(key: &Key, desk: &Desk) -> Result<Again, ActorError> {
    let Some(claim) = desk.cache.get("PersistentVolumeClaim", key).cloned() else {
        return Ok(None);
    };
    if claim.metadata.deletion_timestamp.is_some() {
        return Ok(None);
    }
    if let Some(name) = claim.data["spec"]["volumeName"].as_str() {
        let Some(volume) = desk.cache.get("PersistentVolume", &Key::new("", name)).cloned() else {
            if claim.annotations().contains_key(COMPLETED) {
                let mut status = claim.data["status"].clone();
                status["phase"] = json!("Lost");
                write_status(desk, &kinds::claims(), &claim, status).await?;
            }
            return Ok(None);
        };
        let taken = !volume.data["spec"]["claimRef"].is_null() && !refers(&volume, &claim);
        if !taken {
            bind(desk, &claim, &volume).await?;
        } else if claim.annotations().contains_key(COMPLETED)
            && claim.data["status"]["phase"] != "Lost"
        {
            // A cache may lag behind a volume that was given to this claim: ask before losing it.
            let live = desk.api(&kinds::volumes(), "").get_opt(name).await?;
            if live.is_some_and(|live| !refers(&live, &claim)) {
                let mut status = claim.data["status"].clone();
                status["phase"] = json!("Lost");
                write_status(desk, &kinds::claims(), &claim, status).await?;
            }
        }
        return Ok(None);
    }
    let best = desk
        .cache
        .list("PersistentVolume", None)
        .filter(|volume| fits(volume, &claim))
        // A volume reserved for this claim comes first, then the smallest that is large enough.
        .min_by_key(|volume| {
            (volume.data["spec"]["claimRef"].is_null(), capacity(volume), volume.name_any())
        })
        .cloned();
    let class = desk.cache.get("StorageClass", &Key::new("", class_of(&claim))).cloned();
    let waits = class
        .as_ref()
        .is_some_and(|class| class.data["volumeBindingMode"] == "WaitForFirstConsumer");
    let chosen = claim.annotations().contains_key(SELECTED);
    if let Some(volume) = best
        && (!waits || chosen || !volume.data["spec"]["claimRef"].is_null())
    {
        bind(desk, &claim, &volume).await?;
        return Ok(None);
    }
    if let Some(class) = class
        && (!waits || chosen)
        && let Some(provisioner) = class.data["provisioner"].as_str()
        && provisioner != super::STATIC
        && claim.annotations().get(PROVISIONER).map(String::as_str) != Some(provisioner)
    {
        let annotations = json!({PROVISIONER: provisioner, OLD_PROVISIONER: provisioner});
        let change = json!({"metadata": {"annotations": annotations}});
        patch(desk, &kinds::claims(), &claim, change).await?;
    }
    Ok(None)
}

fn fits(volume: &DynamicObject, claim: &DynamicObject) -> bool {
    let spec = &volume.data["spec"];
    if volume.metadata.deletion_timestamp.is_some() {
        return false;
    }
    if !spec["claimRef"].is_null() {
        return refers(volume, claim);
    }
    let modes = claim.data["spec"]["accessModes"].as_array().into_iter().flatten();
    let has_modes = modes
        .into_iter()
        .all(|mode| spec["accessModes"].as_array().is_some_and(|offered| offered.contains(mode)));
    let same_class = spec["storageClassName"].as_str().unwrap_or_default() == class_of(claim);
    let mode = |object: &Value| object["volumeMode"].as_str().unwrap_or("Filesystem").to_owned();
    let selector = &claim.data["spec"]["selector"];
    volume.data["status"]["phase"] == "Available"
        && has_modes
        && same_class
        && mode(spec) == mode(&claim.data["spec"])
        && capacity(volume) >= request(claim)
        && (selector.is_null() || crate::actors::workloads::pods::selects(selector, volume))
}

/// Bytes a volume holds.
pub(super) fn capacity(volume: &DynamicObject) -> u64 {
    bytes(&volume.data["spec"]["capacity"]["storage"])
}

/// Bytes a claim asks for.
pub(super) fn request(claim: &DynamicObject) -> u64 {
    bytes(&claim.data["spec"]["resources"]["requests"]["storage"])
}

/// A quantity in bytes.
pub(super) fn bytes(quantity: &Value) -> u64 {
    let text = quantity.as_str().unwrap_or_default();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().unwrap_or_default();
    let unit = match &text[digits..] {
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        _ => 1,
    };
    number.saturating_mul(unit)
}

/// Both sides name each other, then both say Bound.
async fn bind(
    desk: &Desk,
    claim: &DynamicObject,
    volume: &DynamicObject,
) -> Result<(), ActorError> {
    let reference = &volume.data["spec"]["claimRef"];
    if reference["uid"].as_str() != claim.metadata.uid.as_deref() {
        let annotations =
            if reference.is_null() { json!({BY_CONTROLLER: "yes"}) } else { json!({}) };
        let change = json!({
            "metadata": {"annotations": annotations, "resourceVersion": volume.resource_version()},
            "spec": {"claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": claim.name_any(),
                "namespace": claim.namespace(), "uid": claim.metadata.uid,
                "resourceVersion": claim.resource_version(),
            }},
        });
        patch(desk, &kinds::volumes(), volume, change).await?;
    }
    if volume.data["status"]["phase"] != "Bound" {
        let status = json!({"phase": "Bound", "lastPhaseTransitionTime": desk.stamp()});
        write_status(desk, &kinds::volumes(), volume, status).await?;
    }
    if claim.data["spec"]["volumeName"].as_str().is_none()
        || !claim.annotations().contains_key(COMPLETED)
    {
        let mut annotations = json!({COMPLETED: "yes"});
        if claim.data["spec"]["volumeName"].as_str().is_none() {
            annotations[BY_CONTROLLER] = json!("yes");
        }
        let change = json!({
            "metadata": {"annotations": annotations}, "spec": {"volumeName": volume.name_any()},
        });
        patch(desk, &kinds::claims(), claim, change).await?;
    }
    if claim.data["status"]["phase"] != "Bound" {
        let mut status = claim.data["status"].clone();
        status["phase"] = json!("Bound");
        status["capacity"] = volume.data["spec"]["capacity"].clone();
        status["accessModes"] = volume.data["spec"]["accessModes"].clone();
        write_status(desk, &kinds::claims(), claim, status).await?;
    }
    Ok(())
}

async fn volume(key: &Key, desk: &Desk) -> Result<Again, ActorError> {
    let Some(volume) = desk.cache.get("PersistentVolume", key).cloned() else { return Ok(None) };
    let reference = &volume.data["spec"]["claimRef"];
    let phase = volume.data["status"]["phase"].as_str().unwrap_or_default();
    let wanted = if reference.is_null() || reference["uid"].is_null() {
        "Available"
    } else {
        let text = |field: &str| reference[field].as_str().unwrap_or_default();
        let claim = desk
            .cache
            .get("PersistentVolumeClaim", &Key::new(text("namespace"), text("name")))
            .filter(|claim| claim.metadata.uid.as_deref() == Some(text("uid")));
        match claim {
            Some(_) => return Ok(None),
            // A cache may lag: a claim that is not there is asked for before its volume is let go.
            None => {
                let api = desk.api(&kinds::claims(), text("namespace"));
                let live = api.get_opt(text("name")).await?;
                if live.is_some_and(|live| live.metadata.uid.as_deref() == Some(text("uid"))) {
                    return Ok(None);
                }
                "Released"
            }
        }
    };
    if phase != wanted && !(wanted == "Released" && phase == "Failed") {
        let status = json!({"phase": wanted, "lastPhaseTransitionTime": desk.stamp()});
        write_status(desk, &kinds::volumes(), &volume, status).await?;
    }
    Ok(None)
}
