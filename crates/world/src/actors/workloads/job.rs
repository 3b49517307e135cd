//! Jobs: pods that run to their end.

use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::json;

use super::pods::{
    condition, create, delete, is_active, is_ready, owned_now, pod_from, write_status,
};
use crate::actors::kinds;
use crate::actors::process::{ActorError, Again, Cache, Desk, Key, Reconciler, controller_of};

/// Runs every Job.
pub struct Jobs;

impl Reconciler for Jobs {
    fn name(&self) -> &'static str {
        "job"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, _: &Cache) -> Vec<Key> {
        match kind {
            "Job" => vec![Key::of(object)],
            "Pod" => match controller_of(object) {
                Some(("Job", name, _)) => {
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

fn seconds(desk: &Desk, since: &serde_json::Value) -> Option<i64> {
    let since: jiff::Timestamp = since.as_str()?.parse().ok()?;
    Some(desk.now().duration_since(since).as_secs())
}

async fn sync(key: &Key, desk: &Desk) -> Result<Again, ActorError> {
    let Some(job) = desk.cache.get("Job", key).cloned() else { return Ok(None) };
    if job.metadata.deletion_timestamp.is_some() {
        return Ok(None);
    }
    let spec = &job.data["spec"];
    let old = &job.data["status"];
    let ended = ["Complete", "Failed"]
        .iter()
        .any(|kind| condition(&job, kind).is_some_and(|c| c["status"] == "True"));
    if ended {
        let Some(ttl) = spec["ttlSecondsAfterFinished"].as_i64() else { return Ok(None) };
        let at = if old["completionTime"].is_string() {
            &old["completionTime"]
        } else {
            &condition(&job, "Failed").unwrap_or(&serde_json::Value::Null)["lastTransitionTime"]
        };
        let left = ttl - seconds(desk, at).unwrap_or_default();
        if left <= 0 {
            delete(desk, &kinds::jobs(), &job).await?;
            return Ok(None);
        }
        return Ok(Some(Duration::from_secs(u64::try_from(left).unwrap_or(1))));
    }
    let pods: Vec<_> = desk.cache.controlled("Pod", &job).cloned().collect();
    let phase =
        |wanted: &str| pods.iter().filter(|pod| pod.data["status"]["phase"] == wanted).count();
    let (succeeded, failed) = (phase("Succeeded"), phase("Failed"));
    let active: Vec<_> = pods.iter().filter(|pod| is_active(pod)).collect();
    let number = |field: &str, default: u64| {
        usize::try_from(spec[field].as_u64().unwrap_or(default)).unwrap_or(usize::MAX)
    };
    let parallelism = number("parallelism", 1);
    let completions =
        spec["completions"].as_u64().map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    let now = desk.stamp();
    let mut conditions = old["conditions"].as_array().cloned().unwrap_or_default();
    let mut end = |kind: &str, reason: &str, message: &str| {
        conditions.push(json!({
            "type": kind, "status": "True", "reason": reason, "message": message,
            "lastProbeTime": now, "lastTransitionTime": now,
        }));
    };
    let suspended = spec["suspend"] == true;
    let started = if suspended {
        serde_json::Value::Null
    } else if old["startTime"].is_string() {
        old["startTime"].clone()
    } else {
        json!(now)
    };
    let mut again = None;
    let mut completed = None;
    let enough =
        completions.map_or(succeeded > 0 && active.is_empty(), |wanted| succeeded >= wanted);
    let overdue = spec["activeDeadlineSeconds"]
        .as_i64()
        .map(|limit| limit - seconds(desk, &started).unwrap_or_default());
    let mut running = active.len();
    if enough {
        completed = Some(now.clone());
        end(
            "SuccessCriteriaMet",
            "CompletionsReached",
            "Reached expected number of succeeded pods",
        );
        end("Complete", "CompletionsReached", "Reached expected number of succeeded pods");
    } else if failed > number("backoffLimit", 6) {
        end("FailureTarget", "BackoffLimitExceeded", "Job has reached the specified backoff limit");
        end("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit");
        for pod in &active {
            delete(desk, &kinds::pods(), pod).await?;
        }
        running = 0;
    } else if overdue.is_some_and(|left| left <= 0) && !suspended {
        end("FailureTarget", "DeadlineExceeded", "Job was active longer than specified deadline");
        end("Failed", "DeadlineExceeded", "Job was active longer than specified deadline");
        for pod in &active {
            delete(desk, &kinds::pods(), pod).await?;
        }
        running = 0;
    } else if suspended {
        for pod in &active {
            delete(desk, &kinds::pods(), pod).await?;
        }
        running = 0;
        if condition(&job, "Suspended").is_none() {
            end("Suspended", "JobSuspended", "Job suspended");
        }
    } else {
        conditions.retain(|c| c["type"] != "Suspended");
        let left = completions.map_or(parallelism, |wanted| wanted.saturating_sub(succeeded));
        let wanted = if completions.is_none() && succeeded > 0 { 0 } else { parallelism.min(left) };
        for pod in active.iter().skip(parallelism) {
            delete(desk, &kinds::pods(), pod).await?;
            running -= 1;
        }
        let there = if active.len() < wanted {
            owned_now(desk, &job).await?.iter().filter(|pod| is_active(pod)).count()
        } else {
            wanted
        };
        for _ in there..wanted {
            let pod = pod_from(&spec["template"], &job, Err(format!("{}-", key.name)));
            create(desk, &kinds::pods(), pod).await?;
            running += 1;
        }
        again = overdue.map(|left| Duration::from_secs(u64::try_from(left).unwrap_or(1)));
    }
    let mut status = json!({
        "active": running, "succeeded": succeeded, "failed": failed,
        "ready": active.iter().filter(|pod| is_ready(pod)).count(),
        "terminating": pods.iter().filter(|pod| pod.metadata.deletion_timestamp.is_some()).count(),
        "uncountedTerminatedPods": {},
    });
    if let Some(map) = status.as_object_mut() {
        for field in ["active", "succeeded", "failed"] {
            if map[field] == 0 {
                map.remove(field);
            }
        }
        if !started.is_null() {
            map.insert("startTime".into(), started);
        }
        if let Some(at) = completed {
            map.insert("completionTime".into(), json!(at));
        }
        if !conditions.is_empty() {
            map.insert("conditions".into(), json!(conditions));
        }
    }
    write_status(desk, &kinds::jobs(), &job, status).await?;
    Ok(again)
}
