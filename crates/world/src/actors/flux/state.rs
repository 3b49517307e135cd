//! What Flux's controllers share: conditions, requests, intervals and statuses.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::ResourceExt as _;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{FINALIZER, REQUESTED_AT};
use crate::actors::process::{ActorError, Desk, Key};

/// A duration in Go's spelling: `1h30m`, `500ms`.
pub fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let unit = match &rest[..end] {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        rest = &rest[end..];
        total += Duration::try_from_secs_f64(number * unit).ok()?;
    }
    Some(total)
}

/// A duration as Go prints it.
pub fn show(duration: Duration) -> String {
    let decimal = |whole: u64, part: u64, digits: usize| {
        let fraction = format!("{part:0digits$}");
        let fraction = fraction.trim_end_matches('0');
        if fraction.is_empty() { whole.to_string() } else { format!("{whole}.{fraction}") }
    };
    let (seconds, nanos) = (duration.as_secs(), u64::from(duration.subsec_nanos()));
    if seconds == 0 {
        return match nanos {
            0 => "0s".to_owned(),
            1..1_000 => format!("{nanos}ns"),
            1_000..1_000_000 => format!("{}µs", decimal(nanos / 1_000, nanos % 1_000, 3)),
            _ => format!("{}ms", decimal(nanos / 1_000_000, nanos % 1_000_000, 6)),
        };
    }
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let rest = decimal(rest, nanos, 9);
    match (hours, minutes) {
        (0, 0) => format!("{rest}s"),
        (0, _) => format!("{minutes}m{rest}s"),
        _ => format!("{hours}h{minutes}m{rest}s"),
    }
}

/// A duration in an object's spec.
pub fn spec_duration(object: &DynamicObject, field: &str) -> Option<Duration> {
    duration(object.data["spec"][field].as_str()?)
}

/// `spec.interval`, a minute if it cannot be read.
pub fn interval(object: &DynamicObject) -> Duration {
    spec_duration(object, "interval").unwrap_or(Duration::from_mins(1))
}

/// The token of the last request to look now.
pub fn token(object: &DynamicObject) -> Option<String> {
    object.annotations().get(REQUESTED_AT).cloned()
}

/// Whether someone suspended it.
pub fn suspended(object: &DynamicObject) -> bool {
    object.data["spec"]["suspend"] == true
}

/// A condition by type.
pub fn find<'a>(status: &'a Value, kind: &str) -> Option<&'a Value> {
    status["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)
}

/// Whether a condition says True.
pub fn holds(status: &Value, kind: &str) -> bool {
    find(status, kind).is_some_and(|condition| condition["status"] == "True")
}

/// Where a condition stands among the others: what people look for comes first, then the newest.
fn place(condition: &Value) -> (u8, std::cmp::Reverse<i64>, String) {
    let kind = condition["type"].as_str().unwrap_or_default();
    let weight = match kind {
        "Stalled" => 0,
        "Reconciling" => 1,
        "Ready" => 2,
        _ => return (3, std::cmp::Reverse(generation(condition)), kind.to_owned()),
    };
    (weight, std::cmp::Reverse(0), String::new())
}

fn generation(condition: &Value) -> i64 {
    condition["observedGeneration"].as_i64().unwrap_or_default()
}

/// The field manager under which a kind's controller writes the kind itself.
fn manager(kind: &str) -> &'static str {
    match kind {
        "Kustomization" => "gotk-kustomize-controller",
        "HelmRelease" => "helm-controller",
        "ResourceSet" | "ResourceSetInputProvider" => "flux-operator",
        _ => "source-controller",
    }
}

/// A status under construction.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The status itself.
    pub status: Value,
    generation: i64,
    now: String,
}

impl Draft {
    /// A draft from what is known of an object.
    pub fn new(object: &DynamicObject, status: Value, now: String) -> Self {
        let status = if status.is_object() { status } else { json!({}) };
        Self { status, generation: object.metadata.generation.unwrap_or_default(), now }
    }

    /// Sets a condition; its time moves only with its status.
    pub fn set(&mut self, kind: &str, status: &str, reason: &str, message: &str) {
        let mut all = self.status["conditions"].as_array().cloned().unwrap_or_default();
        let since = all
            .iter()
            .find(|c| c["type"] == kind && c["status"] == status)
            .map_or_else(|| json!(self.now), |c| c["lastTransitionTime"].clone());
        let new = json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": since, "observedGeneration": self.generation,
        });
        match all.iter_mut().find(|c| c["type"] == kind) {
            Some(old) => *old = new,
            None => all.push(new),
        }
        all.sort_by_key(place);
        self.status["conditions"] = all.into();
    }

    /// Removes a condition.
    pub fn unset(&mut self, kind: &str) {
        if let Some(all) = self.status["conditions"].as_array_mut() {
            all.retain(|condition| condition["type"] != kind);
        }
    }

    /// Reconciling while something is under way.
    pub fn progress(&mut self, message: &str) {
        self.set("Reconciling", "True", "Progressing", message);
    }

    /// Ready while it cannot be told.
    pub fn wait(&mut self, message: &str) {
        self.set("Ready", "Unknown", "Progressing", message);
    }

    /// Ready says no.
    pub fn fail(&mut self, reason: &str, message: &str) {
        self.set("Ready", "False", reason, message);
    }

    /// What every Flux controller does last, suspended or not: it acknowledges a request, and takes the
    /// generation for observed whenever Ready is still true.
    pub fn close(&mut self, token: Option<&str>) {
        if let Some(token) = token {
            self.status["lastHandledReconcileAt"] = json!(token);
        }
        if holds(&self.status, "Ready") {
            self.unset("Reconciling");
            self.status["observedGeneration"] = json!(self.generation);
        }
        let says = |kind: &str, part: &str| {
            find(&self.status, kind).and_then(|one| Some(one[part].as_str()?.to_owned()))
        };
        if says("Ready", "status").is_some_and(|status| status == "False")
            && let Some(message) = says("Reconciling", "message")
        {
            self.set("Reconciling", "True", "ProgressingWithRetry", &message);
        }
    }
}

/// What of an object makes a controller look before its interval has passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    uid: Option<String>,
    generation: Option<i64>,
    token: Option<String>,
    leaving: bool,
    /// Revision of the source, where there is one.
    pub source: Option<String>,
}

impl Cause {
    /// The causes in an object.
    pub fn of(object: &DynamicObject) -> Self {
        Self {
            uid: object.metadata.uid.clone(),
            generation: object.metadata.generation,
            token: token(object),
            leaving: object.metadata.deletion_timestamp.is_some(),
            source: None,
        }
    }
}

/// What a controller remembers of its own objects between two looks.
#[derive(Debug, Default)]
pub struct Memory {
    looked: BTreeMap<Key, (Cause, Instant)>,
    /// Objects as last written: a cache may not have them yet.
    written: BTreeMap<Key, DynamicObject>,
}

fn version(object: &DynamicObject) -> u64 {
    object.resource_version().and_then(|version| version.parse().ok()).unwrap_or_default()
}

impl Memory {
    /// How long nothing needs to be done, unless there is a new cause.
    pub fn idle(&self, key: &Key, cause: &Cause) -> Option<Duration> {
        let (known, due) = self.looked.get(key)?;
        let left = due.saturating_duration_since(Instant::now());
        (known == cause && !left.is_zero()).then_some(left)
    }

    /// Nothing needs to be done for this cause until `after` has passed.
    pub fn rest(&mut self, key: &Key, cause: Cause, after: Duration) -> Duration {
        self.looked.insert(key.clone(), (cause, Instant::now() + after));
        after
    }

    /// The newest status that this controller can know.
    pub fn status(&self, key: &Key, cached: &DynamicObject) -> Value {
        match self.written.get(key) {
            Some(own)
                if own.metadata.uid == cached.metadata.uid && version(own) > version(cached) =>
            {
                own.data["status"].clone()
            }
            _ => cached.data["status"].clone(),
        }
    }

    /// Forgets an object.
    pub fn forget(&mut self, key: &Key) {
        self.looked.remove(key);
        self.written.remove(key);
    }

    /// Writes a status if it says something new.
    pub async fn write(
        &mut self,
        desk: &Desk,
        resource: &ApiResource,
        (key, cached): (&Key, &DynamicObject),
        draft: &Draft,
    ) -> Result<(), ActorError> {
        let old = self.status(key, cached);
        if old == draft.status {
            return Ok(());
        }
        let mut merged = draft.status.clone();
        if let (Some(old), Some(new)) = (old.as_object(), merged.as_object_mut()) {
            for field in old.keys() {
                new.entry(field.clone()).or_insert(Value::Null);
            }
        }
        let params = PatchParams {
            field_manager: Some(manager(&resource.kind).to_owned()),
            ..PatchParams::default()
        };
        let body = Patch::Merge(json!({ "status": merged }));
        match desk.api(resource, &key.namespace).patch_status(&key.name, &params, &body).await {
            Ok(object) => {
                self.written.insert(key.clone(), object);
                Ok(())
            }
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Adds Flux's finalizer; true if it had to.
pub async fn hold(
    desk: &Desk,
    resource: &ApiResource,
    object: &DynamicObject,
) -> Result<bool, ActorError> {
    if object.finalizers().iter().any(|finalizer| finalizer == FINALIZER) {
        return Ok(false);
    }
    let mut all = object.finalizers().to_vec();
    all.push(FINALIZER.to_owned());
    finalizers(desk, resource, object, &all).await?;
    Ok(true)
}

/// Removes Flux's finalizer.
pub async fn release(
    desk: &Desk,
    resource: &ApiResource,
    object: &DynamicObject,
) -> Result<(), ActorError> {
    let all = object.finalizers();
    let rest: Vec<String> = all.iter().filter(|one| *one != FINALIZER).cloned().collect();
    if rest.len() == all.len() {
        return Ok(());
    }
    finalizers(desk, resource, object, &rest).await
}

async fn finalizers(
    desk: &Desk,
    resource: &ApiResource,
    object: &DynamicObject,
    all: &[String],
) -> Result<(), ActorError> {
    let namespace = object.namespace().unwrap_or_default();
    // The version guards against someone else's finalizer that the cache has not seen.
    let body = Patch::Merge(json!({"metadata": {
        "finalizers": all, "resourceVersion": object.resource_version(),
    }}));
    let api = desk.api(resource, &namespace);
    let params = PatchParams {
        field_manager: Some(manager(&resource.kind).to_owned()),
        ..PatchParams::default()
    };
    match api.patch(&object.name_any(), &params, &body).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_spelled_as_in_go() {
        assert_eq!(duration("1h30m"), Some(Duration::from_mins(90)));
        assert_eq!(duration("1.5s"), Some(Duration::from_millis(1500)));
        assert_eq!(duration("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(duration("5 apples"), None);
        assert_eq!(show(Duration::from_secs(3570)), "59m30s");
        assert_eq!(show(Duration::from_hours(1)), "1h0m0s");
        assert_eq!(show(Duration::from_millis(5264)), "5.264s");
        assert_eq!(show(Duration::from_micros(228_500)), "228.5ms");
        assert_eq!(show(Duration::ZERO), "0s");
    }
}
