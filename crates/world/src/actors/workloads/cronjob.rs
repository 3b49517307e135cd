//! CronJobs: Jobs at their times.

use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::tz::TimeZone;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::json;

use super::pods::{condition, controller_reference, create, delete, write_status};
use crate::actors::kinds;
use crate::actors::process::{ActorError, Again, Cache, Desk, Key, Reconciler, controller_of};

/// Starts the Jobs of every CronJob.
pub struct CronJobs;

impl Reconciler for CronJobs {
    fn name(&self) -> &'static str {
        "cronjob"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, _: &Cache) -> Vec<Key> {
        match kind {
            "CronJob" => vec![Key::of(object)],
            "Job" => match controller_of(object) {
                Some(("CronJob", name, _)) => {
                    vec![Key::new(&object.namespace().unwrap_or_default(), name)]
                }
                _ => Vec::new(),
            },
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

async fn sync(key: &Key, desk: &Desk) -> Result<Again, ActorError> {
    let Some(cron) = desk.cache.get("CronJob", key).cloned() else { return Ok(None) };
    if cron.metadata.deletion_timestamp.is_some() {
        return Ok(None);
    }
    let jobs: Vec<_> = desk.cache.controlled("Job", &cron).cloned().collect();
    let ended = |job: &DynamicObject, kind: &str| {
        condition(job, kind).is_some_and(|c| c["status"] == "True")
    };
    let active: Vec<_> =
        jobs.iter().filter(|job| !ended(job, "Complete") && !ended(job, "Failed")).collect();
    for (kind, field, default) in
        [("Complete", "successfulJobsHistoryLimit", 3), ("Failed", "failedJobsHistoryLimit", 1)]
    {
        let mut done: Vec<_> = jobs.iter().filter(|job| ended(job, kind)).collect();
        done.sort_by_key(|job| {
            (job.metadata.creation_timestamp.clone().map(|t| t.0), job.name_any())
        });
        let keep =
            usize::try_from(cron.data["spec"][field].as_u64().unwrap_or(default)).unwrap_or(3);
        for job in done.iter().take(done.len().saturating_sub(keep)) {
            delete(desk, &kinds::jobs(), job).await?;
        }
    }
    let mut status = cron.data["status"].clone();
    if !status.is_object() {
        status = json!({});
    }
    let references: Vec<_> = active
        .iter()
        .map(|job| {
            json!({
                "apiVersion": "batch/v1", "kind": "Job", "name": job.name_any(),
                "namespace": job.namespace(), "uid": job.metadata.uid,
                "resourceVersion": job.resource_version(),
            })
        })
        .collect();
    if let Some(map) = status.as_object_mut() {
        if references.is_empty() {
            map.remove("active");
        } else {
            map.insert("active".into(), json!(references));
        }
    }
    let schedule = Schedule::parse(cron.data["spec"]["schedule"].as_str().unwrap_or_default());
    let Some(schedule) = schedule.filter(|_| cron.data["spec"]["suspend"] != true) else {
        write_status(desk, &kinds::cron_jobs(), &cron, status).await?;
        return Ok(None);
    };
    let zone = cron.data["spec"]["timeZone"]
        .as_str()
        .and_then(|name| TimeZone::get(name).ok())
        .unwrap_or(TimeZone::UTC);
    let since = status["lastScheduleTime"]
        .as_str()
        .and_then(|text| text.parse::<jiff::Timestamp>().ok())
        .or_else(|| cron.metadata.creation_timestamp.clone().map(|t| t.0))
        .unwrap_or_else(|| desk.now());
    let due = schedule.latest(since, desk.now(), &zone);
    if let Some(due) = due {
        let forbid = cron.data["spec"]["concurrencyPolicy"] == "Forbid" && !active.is_empty();
        if !forbid {
            if cron.data["spec"]["concurrencyPolicy"] == "Replace" {
                for job in &active {
                    delete(desk, &kinds::jobs(), job).await?;
                }
            }
            let template = &cron.data["spec"]["jobTemplate"];
            let mut metadata = template["metadata"].clone();
            if !metadata.is_object() {
                metadata = json!({});
            }
            // One name per scheduled time: a controller that died after the create does not start it twice.
            metadata["name"] = json!(format!("{}-{}", key.name, due.as_second() / 60));
            metadata["namespace"] = json!(key.namespace);
            metadata["ownerReferences"] = json!([controller_reference(&cron)]);
            create(
                desk,
                &kinds::jobs(),
                json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": template["spec"]}),
            )
            .await?;
            status["lastScheduleTime"] = json!(due.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
        }
    }
    write_status(desk, &kinds::cron_jobs(), &cron, status).await?;
    let next = schedule.next(desk.now(), &zone);
    Ok(next.map(|next| {
        let wait = next.duration_since(desk.now());
        Duration::try_from(wait).unwrap_or(Duration::from_secs(60)).max(Duration::from_secs(1))
    }))
}

/// A cron schedule: minute, hour, day of month, month, day of week.
pub struct Schedule {
    fields: [u64; 5],
    any_day: bool,
    any_weekday: bool,
}

impl Schedule {
    /// Five fields, or a name such as `@daily`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = match text.trim() {
            "@hourly" => "0 * * * *",
            "@daily" | "@midnight" => "0 0 * * *",
            "@weekly" => "0 0 * * 0",
            "@monthly" => "0 0 1 * *",
            "@yearly" | "@annually" => "0 0 1 1 *",
            other => other,
        };
        let parts: Vec<&str> = text.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = parts.as_slice() else { return None };
        Some(Self {
            fields: [
                bits(minute, 0, 59)?,
                bits(hour, 0, 23)?,
                bits(day, 1, 31)?,
                bits(month, 1, 12)?,
                bits(weekday, 0, 7).map(|set| set | (set >> 7 & 1))?,
            ],
            any_day: matches!(*day, "*" | "?"),
            any_weekday: matches!(*weekday, "*" | "?"),
        })
    }

    fn matches(&self, at: &jiff::Zoned) -> bool {
        let has = |field: usize, value: i8| self.fields[field] >> value & 1 == 1;
        let day = has(2, at.day());
        let weekday = has(4, at.weekday().to_sunday_zero_offset());
        let either = match (self.any_day, self.any_weekday) {
            (true, _) => weekday,
            (_, true) => day,
            _ => day || weekday,
        };
        has(0, at.minute()) && has(1, at.hour()) && has(3, at.month()) && either
    }

    /// The first time after another.
    pub fn next(&self, after: jiff::Timestamp, zone: &TimeZone) -> Option<jiff::Timestamp> {
        // A year of minutes is the most a schedule can skip, leap days aside.
        let start = after.as_second() / 60 + 1;
        (start..start + 366 * 24 * 60)
            .filter_map(|minute| jiff::Timestamp::from_second(minute * 60).ok())
            .find(|at| self.matches(&at.to_zoned(zone.clone())))
    }

    /// The last time in (since, until].
    fn latest(
        &self,
        since: jiff::Timestamp,
        until: jiff::Timestamp,
        zone: &TimeZone,
    ) -> Option<jiff::Timestamp> {
        let mut found = None;
        let mut at = since;
        while let Some(next) = self.next(at, zone).filter(|next| *next <= until) {
            found = Some(next);
            at = next;
        }
        found
    }
}

fn bits(field: &str, least: u64, most: u64) -> Option<u64> {
    let mut set = 0;
    for part in field.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, step.parse::<u64>().ok().filter(|step| *step > 0)?),
            None => (part, 1),
        };
        let (from, to) = match range.split_once('-') {
            _ if matches!(range, "*" | "?") => (least, most),
            Some((from, to)) => (number(from)?, number(to)?),
            None if part.contains('/') => (number(range)?, most),
            None => (number(range)?, number(range)?),
        };
        if from < least || to > most || from > to {
            return None;
        }
        let mut at = from;
        while at <= to {
            set |= 1 << at;
            at += step;
        }
    }
    Some(set)
}

fn number(text: &str) -> Option<u64> {
    const NAMES: [&str; 19] = [
        "sun", "mon", "tue", "wed", "thu", "fri", "sat", "jan", "feb", "mar", "apr", "may", "jun",
        "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    if let Some(at) = NAMES.iter().position(|name| *name == text.to_ascii_lowercase()) {
        return u64::try_from(if at < 7 { at } else { at - 6 }).ok();
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(schedule: &str, after: &str) -> String {
        let after: jiff::Timestamp = after.parse().unwrap();
        Schedule::parse(schedule).unwrap().next(after, &TimeZone::UTC).unwrap().to_string()
    }

    #[test]
    fn schedules_name_their_next_time() {
        assert_eq!(next("*/15 * * * *", "2026-01-01T00:01:00Z"), "2026-01-01T00:15:00Z");
        assert_eq!(next("30 3 * * mon", "2026-01-01T00:00:00Z"), "2026-01-05T03:30:00Z");
        assert_eq!(next("@daily", "2026-01-01T00:00:00Z"), "2026-01-02T00:00:00Z");
        assert_eq!(next("0 0 29 2 *", "2028-01-01T00:00:00Z"), "2028-02-29T00:00:00Z");
        assert!(Schedule::parse("61 * * * *").is_none());
        assert!(Schedule::parse("* * *").is_none());
    }
}
