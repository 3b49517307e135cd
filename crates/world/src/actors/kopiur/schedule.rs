//! Schedules: snapshots at their times, none at the creation unless asked for.

use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::snapshot::is_over;
use super::{Trio, policy, status_of, tell, tell_trio, word};
use crate::actors::kinds;
use crate::actors::process::{ActorError, Again, Cache, Desk, Key, Reconciler};
use crate::actors::workloads::Schedule;
use crate::actors::workloads::pods::{create, delete, patch, write_status};

/// Starts snapshots.
pub(super) struct Schedules;

impl Reconciler for Schedules {
    fn name(&self) -> &'static str {
        "kopiur-schedules"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, _: &Cache) -> Vec<Key> {
        let namespace = object.namespace().unwrap_or_default();
        match kind {
            "SnapshotSchedule" => vec![Key::of(object)],
            "Snapshot" => object
                .labels()
                .get(&word("schedule"))
                .map(|name| vec![Key::new(&namespace, name)])
                .unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    fn reconcile<'a>(
        &'a mut self,
        key: &'a Key,
        desk: &'a Desk,
    ) -> BoxFuture<'a, Result<Again, ActorError>> {
        sync(key, desk).boxed()
    }
}

/// A cron line whose bare `H` fields are chosen by the name.
fn cron(text: &str, name: &str) -> Option<Schedule> {
    let digest = Sha256::digest(name.as_bytes());
    let limits: [u8; 5] = [60, 24, 28, 12, 7];
    let fields: Vec<String> = text
        .split_whitespace()
        .enumerate()
        .map(|(at, field)| match (field, limits.get(at)) {
            ("H", Some(limit)) => {
                let least = u8::from(at == 2 || at == 3);
                (digest[at] % limit + least).to_string()
            }
            _ => field.to_owned(),
        })
        .collect();
    Schedule::parse(&fields.join(" "))
}

async fn sync(key: &Key, desk: &Desk) -> Result<Again, ActorError> {
    let api = desk.api(&kinds::kopia_schedules(), &key.namespace);
    let Some(schedule) = api.get_opt(&key.name).await? else { return Ok(None) };
    let spec = &schedule.data["spec"]["schedule"];
    if schedule.metadata.deletion_timestamp.is_some() || spec["suspend"] == true {
        return Ok(None);
    }
    let mut status = status_of(&schedule);
    status["observedGeneration"] = json!(schedule.metadata.generation);
    let Some(cron) = cron(spec["cron"].as_str().unwrap_or_default(), &key.name) else {
        tell_trio(&mut status, desk, Trio::Stalled, ("InvalidSchedule", "the cron is not valid"));
        write_status(desk, &kinds::kopia_schedules(), &schedule, status).await?;
        return Ok(None);
    };
    let rows: Vec<_> = desk
        .cache
        .list("Snapshot", Some(&key.namespace))
        .filter(|row| row.labels().get(&word("schedule")) == Some(&key.name))
        .cloned()
        .collect();
    remember(&schedule, &rows, &mut status, desk).await?;
    let zone = spec["timezone"]
        .as_str()
        .and_then(|name| jiff::tz::TimeZone::get(name).ok())
        .unwrap_or(jiff::tz::TimeZone::UTC);
    let parse = |value: &Value| -> Option<jiff::Timestamp> { value.as_str()?.parse().ok() };
    let made = schedule.metadata.creation_timestamp.clone().map(|time| time.0);
    let last = parse(&status["lastSchedule"]["at"]);
    let since = last.or(made).unwrap_or_else(|| desk.now());
    let due = if last.is_none() && spec["runOnCreate"] == true {
        Some(since)
    } else {
        // Times that were missed become one run.
        cron.next(since, &zone).filter(|next| *next <= desk.now())
    };
    let busy = rows.iter().any(|row| !is_over(row));
    let policy_name = schedule.data["spec"]["policyRef"]["name"].as_str().unwrap_or_default();
    if let Some(due) = due
        && (!busy || spec["concurrencyPolicy"] == "Allow")
    {
        let policy =
            desk.api(&kinds::kopia_policies(), &key.namespace).get_opt(policy_name).await?;
        let Some(policy) = policy else {
            let why = "the policy does not exist";
            tell_trio(&mut status, desk, Trio::Stalled, ("MissingDependency", why));
            write_status(desk, &kinds::kopia_schedules(), &schedule, status).await?;
            return Ok(Some(Duration::from_secs(30)));
        };
        let now = desk.now();
        let name = format!("{}-{}", key.name, due.as_second() / 60);
        for (at, claim) in policy::claims(&policy, desk).iter().enumerate() {
            let name = if at == 0 { name.clone() } else { format!("{name}-{at}") };
            let row = json!({
                "apiVersion": "kopiur.home-operations.com/v1alpha1", "kind": "Snapshot",
                "metadata": {
                    "name": name, "namespace": key.namespace,
                    "labels": {
                        word("origin"): "scheduled", word("schedule"): key.name,
                        word("config"): policy_name, "app.kubernetes.io/managed-by": "kopiur",
                    },
                },
                "spec": {
                    "policyRef": {"name": policy_name},
                    "source": {"target": {"pvc": {"name": claim}}},
                },
            });
            create(desk, &kinds::kopia_snapshots(), row).await?;
        }
        let at = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        status["lastSchedule"] = json!({"at": at, "snapshotRef": {"name": name}});
    }
    let next = cron.next(desk.now(), &zone);
    if let Some(next) = next {
        let at = next.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        status["nextSchedule"] = json!({"at": at});
    }
    tell(&mut status, desk, ("ScheduleRunnable", true), ("Runnable", ""));
    tell_trio(&mut status, desk, Trio::Ready, ("ScheduleReady", ""));
    write_status(desk, &kinds::kopia_schedules(), &schedule, status).await?;
    Ok(next.map(|next| {
        let wait = Duration::try_from(next.duration_since(desk.now())).unwrap_or_default();
        wait.max(Duration::from_secs(1))
    }))
}

/// What became of earlier runs; failed rows beyond the limit go.
async fn remember(
    schedule: &DynamicObject,
    rows: &[std::sync::Arc<DynamicObject>],
    status: &mut Value,
    desk: &Desk,
) -> Result<(), ActorError> {
    let mut over: Vec<_> = rows.iter().filter(|row| is_over(row)).collect();
    over.sort_by_key(|row| (row.metadata.creation_timestamp.clone().map(|t| t.0), row.name_any()));
    let failed = |row: &DynamicObject| row.data["status"]["phase"] == "Failed";
    let streak = over.iter().rev().take_while(|row| failed(row)).count();
    status["consecutiveFailures"] = json!(streak);
    if let Some(good) = over.iter().rev().find(|row| !failed(row)) {
        status["lastSuccessfulSchedule"] = json!({
            "at": good.data["status"]["timing"]["endTime"],
            "snapshotRef": {"name": good.name_any()},
        });
    }
    let limit = schedule.data["spec"]["failedJobsHistoryLimit"].as_u64().unwrap_or(10);
    let all: Vec<_> = over.into_iter().filter(|row| failed(row)).collect();
    let excess = all.len().saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX));
    for row in all.into_iter().take(excess) {
        if row.metadata.deletion_timestamp.is_none() {
            let change =
                json!({"metadata": {"annotations": {word("pruned-by"): "failed-history"}}});
            patch(desk, &kinds::kopia_snapshots(), row, change).await?;
            delete(desk, &kinds::kopia_snapshots(), row).await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_h_is_the_same_minute_every_hour() {
        let zone = jiff::tz::TimeZone::UTC;
        let schedule = cron("H * * * *", "shop").unwrap();
        let first = schedule.next("2026-01-01T00:00:00Z".parse().unwrap(), &zone).unwrap();
        let second = schedule.next(first, &zone).unwrap();
        assert_eq!(second.duration_since(first), jiff::SignedDuration::from_hours(1));
        assert!(cron("H/2 * * * *", "shop").is_none());
    }
}
