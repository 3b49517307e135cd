//! kopiur's volume populator: claims that name a Restore are filled through a prime claim.

use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::restore::{SOON, failure, move_back, names, park, resolved, wanted};
use super::work::Worked;
use super::{Trio, store, tell, tell_trio, word};
use crate::actors::kinds;
use crate::actors::objects::Objects;
use crate::actors::populate::{self, Prime};
use crate::actors::process::{ActorError, Again, Desk};
use crate::actors::workloads::pods::{controller_reference, patch, template_hash};

/// The claims that name this Restore, oldest first.
async fn claims(desk: &Desk, restore: &DynamicObject) -> Result<Vec<DynamicObject>, ActorError> {
    let api = desk.api(&kinds::claims(), &restore.namespace().unwrap_or_default());
    let mut all: Vec<DynamicObject> = api
        .list(&kube::api::ListParams::default())
        .await?
        .items
        .into_iter()
        .filter(|claim| names(claim) == Some(&restore.name_any()))
        .map(|mut claim| {
            claim.types = Some(kube::api::TypeMeta {
                api_version: "v1".into(),
                kind: "PersistentVolumeClaim".into(),
            });
            claim
        })
        .collect();
    all.sort_by_key(|c| (c.metadata.creation_timestamp.clone().map(|t| t.0), c.name_any()));
    Ok(all)
}

/// Up to 0.10.8: the first claim alone, and what was chosen once is chosen for good.
pub(super) async fn one(
    desk: &Desk,
    objects: &Objects,
    restore: &DynamicObject,
    status: &mut Value,
) -> Result<Again, ActorError> {
    if status["phase"] == "Failed" {
        return Ok(None);
    }
    let claims = claims(desk, restore).await?;
    let Some(claim) = claims.first() else {
        tell(status, desk, ("AwaitingClaim", true), ("AwaitingPvcDataSourceRef", ""));
        if status["phase"] != "Completed" {
            park(status, desk, "AwaitingPvcDataSourceRef", "no claim names this Restore");
        }
        return Ok(None);
    };
    tell(status, desk, ("AwaitingClaim", false), ("ClaimFound", ""));
    let prime = populate::prime_name("prime", claim);
    let mut record = json!({"uid": claim.metadata.uid, "phase": "Pending"});
    if status["resolved"].is_object() {
        record["resolved"] = status["resolved"].clone();
    }
    if status["target"]["pvcPrime"] == prime.as_str() {
        record["pvcPrime"] = json!(prime);
    }
    let job = format!("{}-populate", restore.name_any());
    let again = fill(desk, objects, (restore, claim), &mut record, job).await?;
    if record["resolved"].is_object() {
        status["resolved"] = record["resolved"].clone();
    }
    status["target"] = json!({"pvcRef": {"name": claim.name_any()}, "pvcPrime": prime});
    if !record["failure"].is_null() {
        status["failure"] = record["failure"].clone();
    }
    if !record["waitStartedAt"].is_null() {
        status["waitStartedAt"] = record["waitStartedAt"].clone();
    }
    let reason = record["reason"].as_str().unwrap_or("PopulatingPrimePvc").to_owned();
    let message = record["message"].as_str().unwrap_or_default();
    conclude(status, desk, record["phase"].as_str().unwrap_or_default(), (&reason, message));
    Ok(again)
}

/// Later: a record per claim, made anew for a claim that was made anew.
pub(super) async fn each(
    desk: &Desk,
    objects: &Objects,
    restore: &DynamicObject,
    status: &mut Value,
) -> Result<Again, ActorError> {
    let claims = claims(desk, restore).await?;
    let mut records = json!({});
    let mut again = None;
    for claim in &claims {
        let old = &status["claims"][claim.name_any()];
        let uid = json!(claim.metadata.uid);
        let mut record =
            if old["uid"] == uid { old.clone() } else { json!({"uid": uid, "phase": "Pending"}) };
        if !matches!(record["phase"].as_str(), Some("Populated" | "AlreadyBound" | "Failed")) {
            let digest = template_hash(&json!({"spec": claim.metadata.uid}));
            let job = format!("{}-populate-{digest}", restore.name_any());
            let next = fill(desk, objects, (restore, claim), &mut record, job).await?;
            again = again.or(next);
            if record != *old {
                record["observedAt"] = json!(desk.stamp());
            }
            // A merge keeps what is not named: the choice for an earlier claim must not survive.
            for (field, _) in old.as_object().into_iter().flatten() {
                if record[field].is_null() {
                    record[field] = Value::Null;
                }
            }
        }
        records[claim.name_any()] = record;
    }
    // A merge cannot take keys away: claims that are gone are nulled.
    for (name, _) in status["claims"].as_object().cloned().unwrap_or_default() {
        if records[&name].is_null() {
            records[name] = Value::Null;
        }
    }
    let live: Vec<Value> =
        records.as_object().into_iter().flatten().map(|(_, r)| r.clone()).collect();
    let live: Vec<&Value> = live.iter().filter(|record| record.is_object()).collect();
    status["claims"] = records.clone();
    tell(status, desk, ("AwaitingClaim", live.is_empty()), ("Claims", ""));
    if live.is_empty() {
        if status["phase"] != "Completed" {
            park(status, desk, "AwaitingPvcDataSourceRef", "no claim names this Restore");
        }
        return Ok(None);
    }
    let order = ["Failed", "Rebinding", "Populating", "Pending", "Populated", "AlreadyBound"];
    let worst =
        live.iter().min_by_key(|record| order.iter().position(|phase| record["phase"] == *phase));
    if let Some(worst) = worst {
        let text = |field: &str| worst[field].as_str().unwrap_or_default().to_owned();
        conclude(status, desk, &text("phase"), (&text("reason"), &text("message")));
    }
    Ok(again)
}

/// The Restore's own phase, from a claim's.
fn conclude(status: &mut Value, desk: &Desk, phase: &str, (reason, message): (&str, &str)) {
    let (shown, state) = match phase {
        "Failed" => ("Failed", Trio::Stalled),
        "Populated" | "AlreadyBound" => ("Completed", Trio::Ready),
        "Populating" | "Rebinding" => ("Restoring", Trio::Reconciling),
        _ => ("Pending", Trio::Reconciling),
    };
    status["phase"] = json!(shown);
    tell(
        status,
        desk,
        ("ReferentAvailable", reason != "RestoreReferentMissing"),
        (if reason == "RestoreReferentMissing" { reason } else { "Available" }, ""),
    );
    tell_trio(status, desk, state, (reason, message));
}

fn note(record: &mut Value, phase: &str, reason: &str, message: &str) {
    record["phase"] = json!(phase);
    record["reason"] = json!(reason);
    record["message"] = json!(message);
}

/// Brings one claim forward.
async fn fill(
    desk: &Desk,
    objects: &Objects,
    (restore, claim): (&DynamicObject, &DynamicObject),
    record: &mut Value,
    job: String,
) -> Result<Again, ActorError> {
    let namespace = claim.namespace().unwrap_or_default();
    let prime = populate::prime_name("prime", claim);
    let primes = desk.api(&kinds::claims(), &namespace);
    if claim.data["status"]["phase"] == "Bound" {
        return bound(desk, claim, record, &prime).await;
    }
    let mut wanted = match wanted(desk, restore, &claim.name_any()).await? {
        Ok(wanted) => wanted,
        Err((reason, message)) => {
            note(record, "Pending", reason, &message);
            return Ok(SOON);
        }
    };
    // What was chosen before stays chosen: a snapshot by its id, nothing as nothing.
    let pin = record["resolved"].clone();
    if let Some(id) = pin["kopiaSnapshotID"].as_str() {
        id.clone_into(&mut wanted.id);
    }
    if pin.is_null() && waits(desk, objects, restore, record, &wanted).await? {
        note(record, "Pending", "WaitingForSnapshot", "no snapshot yet");
        return Ok(SOON);
    }
    if primes.get_opt(&prime).await?.is_none() {
        let Some(node) = populate::node_for(desk, claim).await? else {
            note(record, "Pending", "AwaitingPodSchedule", "no pod uses the claim yet");
            return Ok(None);
        };
        let metadata = json!({
            "name": prime, "namespace": namespace,
            "labels": {
                word("op"): "restore-populate", "app.kubernetes.io/managed-by": "kopiur",
            },
            "ownerReferences": [controller_reference(claim)],
        });
        populate::make_prime(desk, claim, metadata, node, None).await?;
        record["pvcPrime"] = json!(prime);
        note(record, "Populating", "PopulatingPrimePvc", "");
        return Ok(SOON);
    }
    record["pvcPrime"] = json!(prime);
    record["job"] = json!({"name": job});
    let empty = pin["resolution"] == "NoSnapshot";
    let worked = if empty {
        Worked::Done(json!({"resolution": "NoSnapshot"}))
    } else {
        move_back(desk, restore, (job, prime.clone()), &wanted).await?
    };
    match worked {
        Worked::Running => {
            note(record, "Populating", "PopulatingPrimePvc", "");
            return Ok(SOON);
        }
        Worked::Lacks(why) => {
            note(record, "Pending", "MissingCredentialsSecret", &why);
            return Ok(SOON);
        }
        Worked::Failed(said) => {
            record["failure"] = failure(&said);
            let reason = said["reason"].as_str().unwrap_or("MoverJobFailed").to_owned();
            note(record, "Failed", &reason, said["message"].as_str().unwrap_or_default());
            return Ok(None);
        }
        Worked::Done(said) => {
            if pin.is_null() {
                record["resolved"] = resolved(&wanted, &said, desk);
            }
        }
    }
    keep_volume(desk, &namespace, &prime).await?;
    let reason = if record["resolved"]["resolution"] == "NoSnapshot" {
        "NoSnapshotContinue"
    } else {
        "SourceResolved"
    };
    note(record, "Rebinding", reason, "");
    match populate::rebind(desk, claim, &prime).await? {
        Prime::Filled(_) | Prime::Waits => Ok(SOON),
    }
}

/// Whether the window for a first snapshot is still open and there is none.
async fn waits(
    desk: &Desk,
    objects: &Objects,
    restore: &DynamicObject,
    record: &mut Value,
    wanted: &super::restore::Wanted,
) -> Result<bool, ActorError> {
    let given = restore.data["spec"]["policy"]["waitTimeout"].as_str().unwrap_or_default();
    let window: jiff::SignedDuration = given.parse().unwrap_or_default();
    if window.is_zero() || !wanted.id.is_empty() {
        return Ok(false);
    }
    let Some(opened) = store::open(desk, objects, &wanted.repository).await? else {
        return Ok(false);
    };
    let found = opened
        .select(&wanted.origin, wanted.as_of.parse().ok(), 0)
        .map_err(|error| ActorError::Other(error.to_string()))?;
    if found.is_some() {
        return Ok(false);
    }
    if !record["waitStartedAt"].is_string() {
        record["waitStartedAt"] = json!(desk.stamp());
    }
    let since = record["waitStartedAt"].as_str().and_then(|text| text.parse().ok());
    let since: jiff::Timestamp = since.unwrap_or_else(|| desk.now());
    Ok(desk.now().duration_since(since) < window)
}

/// The volume must outlive its prime, whatever its policy says.
async fn keep_volume(desk: &Desk, namespace: &str, prime: &str) -> Result<(), ActorError> {
    let original = word("populator-original-reclaim-policy");
    let prime = desk.api(&kinds::claims(), namespace).get_opt(prime).await?;
    let name = prime.as_ref().and_then(|prime| prime.data["spec"]["volumeName"].as_str());
    let Some(name) = name else { return Ok(()) };
    let Some(volume) = desk.api(&kinds::volumes(), "").get_opt(name).await? else {
        return Ok(());
    };
    if !volume.annotations().contains_key(&original) {
        let policy = &volume.data["spec"]["persistentVolumeReclaimPolicy"];
        let change = json!({
            "metadata": {"annotations": {original: policy}},
            "spec": {"persistentVolumeReclaimPolicy": "Retain"},
        });
        patch(desk, &kinds::volumes(), &volume, change).await?;
    }
    Ok(())
}

/// A bound claim: ours, and then all traces go; or someone else's, and then nothing was done.
async fn bound(
    desk: &Desk,
    claim: &DynamicObject,
    record: &mut Value,
    prime: &str,
) -> Result<Again, ActorError> {
    if !record["pvcPrime"].is_string() {
        note(record, "AlreadyBound", "TargetAlreadyBound", "the claim was bound before");
        return Ok(None);
    }
    let original = word("populator-original-reclaim-policy");
    let name = claim.data["spec"]["volumeName"].as_str().unwrap_or_default();
    let volume = desk.api(&kinds::volumes(), "").get_opt(name).await?;
    if let Some(volume) = volume
        && let Some(policy) = volume.annotations().get(&original)
    {
        let change = json!({
            "metadata": {"annotations": {original: null}},
            "spec": {"persistentVolumeReclaimPolicy": policy},
        });
        patch(desk, &kinds::volumes(), &volume, change).await?;
    }
    populate::finish(desk, &claim.namespace().unwrap_or_default(), prime).await?;
    let empty = record["resolved"]["resolution"] == "NoSnapshot";
    let reason = if empty { "NoSnapshotContinue" } else { "RestoreSucceeded" };
    note(record, "Populated", reason, "");
    Ok(None)
}
