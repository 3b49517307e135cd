//! Replication sources: a claim, copied or live, into a repository.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::{ApiResource, DynamicObject};
use serde_json::{Value, json};

use super::cycle::{Side, Step};
use super::parts::{self, Moved, Mover, SOON, Wish, ensure_claim, first, metadata, run_mover};
use crate::actors::kinds;
use crate::actors::movers::variable;
use crate::actors::process::{ActorError, Desk};
use crate::actors::workloads::pods::{create, event, patch};

const USE_TRIGGER: &str = "volsync.backube/use-copy-trigger";
const TRIGGER: &str = "volsync.backube/copy-trigger";
const LATEST: &str = "volsync.backube/latest-copy-trigger";
const LATEST_STATUS: &str = "volsync.backube/latest-copy-status";

/// Backs claims up.
pub(super) struct Source;

impl Side for Source {
    fn kind(&self) -> ApiResource {
        kinds::replication_sources()
    }

    fn synchronize<'a>(
        &'a self,
        owner: &'a DynamicObject,
        status: &'a mut Value,
        desk: &'a Desk,
    ) -> BoxFuture<'a, Result<Step, ActorError>> {
        synchronize(owner, status, desk).boxed()
    }

    fn clean_up<'a>(
        &'a self,
        owner: &'a DynamicObject,
        desk: &'a Desk,
    ) -> BoxFuture<'a, Result<(), ActorError>> {
        parts::clean_up(desk, owner).boxed()
    }
}

/// What the mover is to read.
enum Data {
    Claim(String),
    Wait,
    Wrong(String),
}

async fn synchronize(
    owner: &DynamicObject,
    status: &mut Value,
    desk: &Desk,
) -> Result<Step, ActorError> {
    let restic = &owner.data["spec"]["restic"];
    let claim = match data(owner, desk).await? {
        Data::Claim(claim) => claim,
        Data::Wait => return Ok(Step::Wait(SOON)),
        Data::Wrong(why) => return Ok(Step::Wrong(why)),
    };
    let unlock = restic["unlock"].as_str().unwrap_or_default();
    let unlocks = !unlock.is_empty() && status["restic"]["lastUnlocked"] != unlock;
    let prunes = prune_is_due(owner, status);
    let mover = Mover {
        direction: "src",
        claim,
        env: vec![
            variable("FORGET_OPTIONS", &options(&restic["retain"])),
            variable("UNLOCK", if unlocks { unlock } else { "" }),
            variable("PRUNE", if prunes { "true" } else { "false" }),
        ],
    };
    match run_mover(desk, owner, mover).await? {
        Moved::Running => Ok(Step::Wait(SOON)),
        Moved::Wrong(why) => Ok(Step::Wrong(why)),
        Moved::Failed(logs) => {
            status["latestMoverStatus"] = json!({"result": "Failed", "logs": logs});
            Ok(Step::Wait(SOON))
        }
        Moved::Succeeded(logs) => {
            let mut done = status["restic"].clone();
            if !done.is_object() {
                done = json!({});
            }
            if prunes {
                done["lastPruned"] = json!(desk.stamp());
            }
            if unlocks {
                done["lastUnlocked"] = json!(unlock);
            }
            Ok(Step::Done(json!({
                "latestMoverStatus": {"result": "Successful", "logs": logs}, "restic": done,
            })))
        }
    }
}

/// restic's options for a retention; without one only the newest stays.
fn options(retain: &Value) -> String {
    let fields = ["last", "hourly", "daily", "weekly", "monthly", "yearly", "within"];
    let options: Vec<String> = fields
        .iter()
        .filter_map(|field| match &retain[*field] {
            Value::Number(number) => Some(format!("--keep-{field} {number}")),
            Value::String(text) if !text.is_empty() => Some(format!("--keep-{field} {text}")),
            _ => None,
        })
        .collect();
    if options.is_empty() { "--keep-last 1".into() } else { options.join(" ") }
}

/// Counted from the run's start, so that a run does not change its mind.
fn prune_is_due(owner: &DynamicObject, status: &Value) -> bool {
    let days = owner.data["spec"]["restic"]["pruneIntervalDays"].as_i64().unwrap_or(7);
    let time = |value: &Value| value.as_str().and_then(|text| text.parse().ok());
    let last: Option<jiff::Timestamp> = time(&status["restic"]["lastPruned"])
        .or_else(|| owner.metadata.creation_timestamp.clone().map(|time| time.0));
    match (last, time(&status["lastSyncStartTime"])) {
        (Some(last), Some(start)) => start.duration_since(last).as_hours() >= days * 24,
        _ => false,
    }
}

async fn data(owner: &DynamicObject, desk: &Desk) -> Result<Data, ActorError> {
    let namespace = owner.namespace().unwrap_or_default();
    let restic = &owner.data["spec"]["restic"];
    let name = owner.data["spec"]["sourcePVC"].as_str().unwrap_or_default();
    let claims = desk.api(&kinds::claims(), &namespace);
    let Some(claim) = claims.get_opt(name).await? else {
        return Ok(Data::Wrong(format!("persistentvolumeclaims {name:?} not found")));
    };
    let copy = format!("volsync-{}-src", owner.name_any());
    let method = restic["copyMethod"].as_str().unwrap_or_default();
    if matches!(method, "Direct" | "None") {
        return Ok(Data::Claim(name.to_owned()));
    }
    if !matches!(method, "Clone" | "Snapshot") {
        return Ok(Data::Wrong(format!(
            "unsupported copyMethod: {method} -- must be Direct, None, Clone, or Snapshot"
        )));
    }
    if let Some(there) = claims.get_opt(&copy).await? {
        let leaves = there.metadata.deletion_timestamp.is_some();
        return Ok(if leaves { Data::Wait } else { Data::Claim(copy) });
    }
    let (source, size) = if method == "Clone" {
        if !triggered(desk, &claim, false).await? {
            return Ok(Data::Wait);
        }
        (json!({"kind": "PersistentVolumeClaim", "name": name}), Value::Null)
    } else {
        match snapshot(owner, &claim, &copy, desk).await? {
            None => return Ok(Data::Wait),
            Some(size) => (
                json!({
                    "apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": copy,
                }),
                size,
            ),
        }
    };
    let wish = Wish {
        capacity: first(&[
            &restic["capacity"],
            &size,
            &claim.data["status"]["capacity"]["storage"],
            &claim.data["spec"]["resources"]["requests"]["storage"],
        ]),
        access_modes: first(&[&restic["accessModes"], &claim.data["spec"]["accessModes"]]),
        class: first(&[&restic["storageClassName"], &claim.data["spec"]["storageClassName"]]),
        source,
    };
    let made = ensure_claim(desk, owner, (&copy, true), wish).await?;
    triggered(desk, &claim, true).await?;
    let text = format!("created {copy} from {name}");
    event(desk, owner, "volsync", ("Normal", "PersistentVolumeClaimCreated", &text)).await?;
    Ok(if made.is_some() { Data::Claim(copy) } else { Data::Wait })
}

/// The size of the point-in-time copy, once it can be read from.
async fn snapshot(
    owner: &DynamicObject,
    claim: &DynamicObject,
    name: &str,
    desk: &Desk,
) -> Result<Option<Value>, ActorError> {
    let api = desk.api(&kinds::snapshots(), &owner.namespace().unwrap_or_default());
    let Some(snapshot) = api.get_opt(name).await? else {
        if !triggered(desk, claim, false).await? {
            return Ok(None);
        }
        let mut spec = json!({"source": {"persistentVolumeClaimName": claim.name_any()}});
        let class = &owner.data["spec"]["restic"]["volumeSnapshotClassName"];
        if class.is_string() {
            spec["volumeSnapshotClassName"] = class.clone();
        }
        let object = json!({
            "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
            "metadata": metadata(owner, name, true), "spec": spec,
        });
        create(desk, &kinds::snapshots(), object).await?;
        let text = format!("created VolumeSnapshot {name}");
        event(desk, owner, "volsync", ("Normal", "VolumeSnapshotCreated", &text)).await?;
        return Ok(None);
    };
    let ready = snapshot.data["status"]["readyToUse"] == true
        && snapshot.metadata.deletion_timestamp.is_none();
    Ok(ready.then(|| snapshot.data["status"]["restoreSize"].clone()))
}

/// Whether the owner of the data says that a copy may be taken now; `taken` tells it that one was.
async fn triggered(desk: &Desk, claim: &DynamicObject, taken: bool) -> Result<bool, ActorError> {
    let annotations = claim.annotations();
    if !annotations.contains_key(USE_TRIGGER) {
        return Ok(true);
    }
    let wanted = annotations.get(TRIGGER).filter(|tag| !tag.is_empty());
    let goes = wanted.is_some() && wanted != annotations.get(LATEST);
    let (state, latest) = match (goes, taken) {
        (false, _) => ("WaitingForTrigger", annotations.get(LATEST)),
        (true, false) => ("InProgress", annotations.get(LATEST)),
        (true, true) => ("Completed", wanted),
    };
    let settled = !goes && annotations.get(LATEST_STATUS).is_some_and(|old| old == "Completed");
    if !settled && annotations.get(LATEST_STATUS).map(String::as_str) != Some(state) {
        let change = json!({"metadata": {"annotations": {LATEST_STATUS: state, LATEST: latest}}});
        patch(desk, &kinds::claims(), claim, change).await?;
    }
    Ok(goes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_retention_means_the_newest_alone() {
        assert_eq!(options(&Value::Null), "--keep-last 1");
        assert_eq!(options(&json!({})), "--keep-last 1");
        let some = json!({"daily": 7, "last": "3", "within": "2d"});
        assert_eq!(options(&some), "--keep-last 3 --keep-daily 7 --keep-within 2d");
    }
}
