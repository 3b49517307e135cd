//! The cycle both kinds go through: synchronize, clean up, wait for the trigger.

use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::{ApiResource, DynamicObject};
use serde_json::{Value, json};

use crate::actors::process::{ActorError, Again, Cache, Desk, Key, Reconciler, controller_of};
use crate::actors::workloads::Schedule;
use crate::actors::workloads::pods::write_status;

/// What a step of a synchronization came to.
pub(super) enum Step {
    /// Not yet; look again when something changes, or after this long.
    Wait(Again),
    /// Done; these fields go into the status.
    Done(Value),
    /// The user must change something first.
    Wrong(String),
}

/// What differs between sources and destinations.
pub(super) trait Side: Send + Sync {
    fn kind(&self) -> ApiResource;
    /// Brings a running synchronization forward. `status` may be changed even while it runs.
    fn synchronize<'a>(
        &'a self,
        owner: &'a DynamicObject,
        status: &'a mut Value,
        desk: &'a Desk,
    ) -> BoxFuture<'a, Result<Step, ActorError>>;
    /// Removes what a finished synchronization leaves.
    fn clean_up<'a>(
        &'a self,
        owner: &'a DynamicObject,
        desk: &'a Desk,
    ) -> BoxFuture<'a, Result<(), ActorError>>;
}

/// One kind's control loop.
pub(super) struct Cycle<S> {
    side: S,
}

impl<S: Side> Cycle<S> {
    pub(super) fn new(side: S) -> Self {
        Self { side }
    }
}

impl<S: Side> Reconciler for Cycle<S> {
    fn name(&self) -> &'static str {
        "volsync"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, cache: &Cache) -> Vec<Key> {
        let own = self.side.kind().kind;
        let namespace = object.namespace().unwrap_or_default();
        if kind == own {
            return vec![Key::of(object)];
        }
        match (kind, controller_of(object)) {
            (_, Some((owner, name, _))) if owner == own => vec![Key::new(&namespace, name)],
            ("Pod", Some(("Job", name, _))) => cache
                .get("Job", &Key::new(&namespace, name))
                .and_then(|job| controller_of(job))
                .filter(|(owner, _, _)| *owner == own)
                .map(|(_, name, _)| vec![Key::new(&namespace, name)])
                .unwrap_or_default(),
            // A source may wait for its claim, or for a word on it.
            ("PersistentVolumeClaim", _) => cache
                .list(&own, Some(&namespace))
                .filter(|owner| owner.data["spec"]["sourcePVC"] == object.name_any())
                .map(|owner| Key::of(owner))
                .collect(),
            _ => Vec::new(),
        }
    }

    fn reconcile<'a>(
        &'a mut self,
        key: &'a Key,
        desk: &'a Desk,
    ) -> BoxFuture<'a, Result<Again, ActorError>> {
        self.turn(key, desk).boxed()
    }
}

impl<S: Side> Cycle<S> {
    async fn turn(&self, key: &Key, desk: &Desk) -> Result<Again, ActorError> {
        // A cycle must not begin twice because a cache is behind: its own object is read afresh.
        let api = desk.api(&self.side.kind(), &key.namespace);
        let Some(owner) = api.get_opt(&key.name).await? else { return Ok(None) };
        if owner.metadata.deletion_timestamp.is_some() {
            return Ok(None);
        }
        let mut status = owner.data["status"].clone();
        if !status.is_object() {
            status = json!({});
        }
        let again = self.advance(&owner, &mut status, desk).await?;
        write_status(desk, &self.side.kind(), &owner, status).await?;
        Ok(again)
    }

    async fn advance(
        &self,
        owner: &DynamicObject,
        status: &mut Value,
        desk: &Desk,
    ) -> Result<Again, ActorError> {
        let spec = &owner.data["spec"];
        let methods = ["restic", "rclone", "rsync", "rsyncTLS", "syncthing", "external"];
        let chosen: Vec<&str> =
            methods.into_iter().filter(|method| spec[*method].is_object()).collect();
        match chosen.as_slice() {
            ["restic"] => {}
            ["external"] => return Ok(None),
            [] => {
                condition(status, desk, "False", "Error", "a replication method must be specified");
                return Ok(None);
            }
            [_] => {
                condition(status, desk, "False", "Error", "the method is not played in this world");
                return Ok(None);
            }
            _ => {
                let why = "only a single replication method can be provided";
                condition(status, desk, "False", "Error", why);
                return Ok(None);
            }
        }
        schedule_next(owner, status, desk);
        let running = status["lastSyncStartTime"].is_string();
        let begun = running || status["lastSyncTime"].is_string();
        if !running {
            if begun {
                if status["conditions"][0]["reason"] == "CleaningUp" {
                    self.side.clean_up(owner, desk).await?;
                }
                if let Some(wait) = waiting(owner, status, desk) {
                    return Ok(wait);
                }
            }
            begin(status, desk);
            return Ok(Some(Duration::from_millis(100)));
        }
        match self.side.synchronize(owner, status, desk).await? {
            Step::Wait(again) => {
                let message = "Synchronization in-progress";
                condition(status, desk, "True", "SyncInProgress", message);
                Ok(again)
            }
            Step::Wrong(why) => {
                condition(status, desk, "False", "Error", &why);
                Ok(Some(Duration::from_secs(30)))
            }
            Step::Done(fields) => {
                finish(owner, status, fields, desk);
                Ok(Some(Duration::from_millis(100)))
            }
        }
    }
}

fn begin(status: &mut Value, desk: &Desk) {
    status["lastSyncStartTime"] = json!(desk.stamp());
    condition(status, desk, "True", "SyncInProgress", "Synchronization in-progress");
}

fn finish(owner: &DynamicObject, status: &mut Value, fields: Value, desk: &Desk) {
    let since = status["lastSyncStartTime"].as_str().and_then(|text| text.parse().ok());
    let since: jiff::Timestamp = since.unwrap_or_else(|| desk.now());
    let lasted = desk.now().duration_since(since);
    if let (Some(map), Some(fields)) = (status.as_object_mut(), fields.as_object()) {
        map.remove("lastSyncStartTime");
        map.extend(fields.clone());
    }
    status["lastSyncTime"] = json!(desk.stamp());
    status["lastSyncDuration"] = json!(go_duration(lasted));
    match owner.data["spec"]["trigger"]["manual"].as_str().filter(|tag| !tag.is_empty()) {
        Some(tag) => status["lastManualSync"] = json!(tag),
        None => {
            if let Some(map) = status.as_object_mut() {
                map.remove("lastManualSync");
            }
        }
    }
    condition(status, desk, "False", "CleaningUp", "Cleaning up");
    schedule_next(owner, status, desk);
}

/// How Go prints a duration.
fn go_duration(lasted: jiff::SignedDuration) -> String {
    let total = lasted.as_secs().max(0);
    let (hours, minutes) = (total / 3600, total / 60 % 60);
    let nanoseconds = lasted.subsec_nanos().max(0);
    let mut seconds = (total % 60).to_string();
    if nanoseconds > 0 {
        let fraction = format!("{nanoseconds:09}");
        seconds = format!("{seconds}.{}", fraction.trim_end_matches('0'));
    }
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m{seconds}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

/// When the schedule runs next: counted from the last completion, so that missed times become one.
fn schedule_next(owner: &DynamicObject, status: &mut Value, desk: &Desk) {
    let trigger = &owner.data["spec"]["trigger"];
    let manual = trigger["manual"].as_str().is_some_and(|tag| !tag.is_empty());
    let schedule = trigger["schedule"].as_str().and_then(Schedule::parse).filter(|_| !manual);
    let since = status["lastSyncTime"]
        .as_str()
        .and_then(|text| text.parse().ok())
        .or_else(|| owner.metadata.creation_timestamp.clone().map(|time| time.0))
        .unwrap_or_else(|| desk.now());
    let next = schedule.and_then(|schedule| schedule.next(since, &jiff::tz::TimeZone::UTC));
    match next {
        Some(next) => {
            status["nextSyncTime"] = json!(next.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
        }
        None => {
            if let Some(map) = status.as_object_mut() {
                map.remove("nextSyncTime");
            }
        }
    }
}

/// Whether the trigger says to wait, and how long. Manual goes before schedule; none never waits.
fn waiting(owner: &DynamicObject, status: &mut Value, desk: &Desk) -> Option<Again> {
    let trigger = &owner.data["spec"]["trigger"];
    if let Some(tag) = trigger["manual"].as_str().filter(|tag| !tag.is_empty()) {
        if status["lastManualSync"] == tag {
            let message = "Waiting for manual trigger";
            condition(status, desk, "False", "WaitingForManual", message);
            return Some(None);
        }
        return None;
    }
    let next: jiff::Timestamp = status["nextSyncTime"].as_str()?.parse().ok()?;
    let left = Duration::try_from(next.duration_since(desk.now())).ok()?;
    if left.is_zero() {
        return None;
    }
    let message = "Waiting for next scheduled synchronization";
    condition(status, desk, "False", "WaitingForSchedule", message);
    Some(Some(left))
}

/// Sets the one condition there is.
fn condition(status: &mut Value, desk: &Desk, value: &str, reason: &str, message: &str) {
    let old = &status["conditions"][0];
    let since = if old["status"] == value {
        old["lastTransitionTime"].clone()
    } else {
        json!(desk.stamp())
    };
    status["conditions"] = json!([{
        "type": "Synchronizing", "status": value, "reason": reason, "message": message,
        "lastTransitionTime": since,
    }]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_look_like_go_prints_them() {
        let shown = |millis| go_duration(jiff::SignedDuration::from_millis(millis));
        assert_eq!(shown(5_000), "5s");
        assert_eq!(shown(5_250), "5.25s");
        assert_eq!(shown(65_000), "1m5s");
        assert_eq!(shown(3_600_000), "1h0m0s");
    }
}
