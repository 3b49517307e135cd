//! Policies: what is protected, and which rows are kept.

use std::collections::BTreeMap;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::staging::{origin, shown};
use super::{Trio, status_of, store, tell, tell_trio, word};
use crate::actors::kinds;
use crate::actors::process::{ActorError, Again, Cache, Desk, Key, Reconciler};
use crate::actors::repository::Retention;
use crate::actors::workloads::pods::{delete, patch, selects, write_status};

/// Resolves policies and prunes their rows.
pub(super) struct Policies;

impl Reconciler for Policies {
    fn name(&self) -> &'static str {
        "kopiur-policies"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, cache: &Cache) -> Vec<Key> {
        let namespace = object.metadata.namespace.as_deref();
        match kind {
            "SnapshotPolicy" => vec![Key::of(object)],
            "Snapshot" => object.data["spec"]["policyRef"]["name"]
                .as_str()
                .map(|name| vec![Key::new(namespace.unwrap_or_default(), name)])
                .unwrap_or_default(),
            "Repository" | "ClusterRepository" => {
                cache.list("SnapshotPolicy", None).map(|policy| Key::of(policy)).collect()
            }
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
    let api = desk.api(&kinds::kopia_policies(), &key.namespace);
    let Some(policy) = api.get_opt(&key.name).await? else { return Ok(None) };
    if policy.metadata.deletion_timestamp.is_some() || policy.data["spec"]["suspend"] == true {
        return Ok(None);
    }
    let mut status = status_of(&policy);
    status["observedGeneration"] = json!(policy.metadata.generation);
    let reference = &policy.data["spec"]["repository"];
    let repository = store::find(desk, reference, &key.namespace).await?;
    match &repository {
        Some(repository) => resolve(&policy, repository, &mut status, desk),
        None => {
            let why = "the repository does not exist";
            tell(&mut status, desk, ("RepositoryReachable", false), ("MissingDependency", why));
            tell_trio(&mut status, desk, Trio::Stalled, ("MissingDependency", why));
        }
    }
    prune(&policy, &mut status, desk).await?;
    write_status(desk, &kinds::kopia_policies(), &policy, status).await?;
    Ok(None)
}

/// Claims that a policy covers.
pub(super) fn claims(policy: &DynamicObject, desk: &Desk) -> Vec<String> {
    let namespace = policy.namespace().unwrap_or_default();
    let mut names = Vec::new();
    for source in policy.data["spec"]["sources"].as_array().into_iter().flatten() {
        if let Some(name) = source["pvc"]["name"].as_str() {
            names.push(name.to_owned());
        }
        let selector = &source["pvcSelector"]["labelSelector"];
        if selector.is_object() {
            let found = desk.cache.list("PersistentVolumeClaim", Some(&namespace));
            names.extend(found.filter(|c| selects(selector, c)).map(|claim| claim.name_any()));
        }
    }
    names
}

fn resolve(policy: &DynamicObject, repository: &DynamicObject, status: &mut Value, desk: &Desk) {
    let namespace = policy.namespace().unwrap_or_default();
    let claims = claims(policy, desk);
    let sources: Vec<Value> = claims
        .iter()
        .map(|claim| {
            let path = origin(policy, repository, claim).path;
            json!({"pvc": format!("{namespace}/{claim}"), "sourcePath": path})
        })
        .collect();
    let first = claims.first().map(String::as_str).unwrap_or_default();
    status["resolved"] = json!({
        "identity": shown(&origin(policy, repository, first)), "sources": sources,
        "repositories": [policy.data["spec"]["repository"]],
    });
    let ready = store::is_ready(repository);
    let reason = if ready { "Reachable" } else { "RepositoryNotReady" };
    tell(status, desk, ("RepositoryReachable", ready), (reason, ""));
    let state = if ready { Trio::Ready } else { Trio::Reconciling };
    tell_trio(status, desk, state, (if ready { "PolicyReady" } else { reason }, ""));
}

/// Deletes rows that the retention does not keep. Without one nothing goes; pinned rows never do.
async fn prune(policy: &DynamicObject, status: &mut Value, desk: &Desk) -> Result<(), ActorError> {
    let namespace = policy.namespace().unwrap_or_default();
    let rows: Vec<_> = desk
        .cache
        .list("Snapshot", Some(&namespace))
        .filter(|row| {
            row.data["spec"]["policyRef"]["name"] == policy.name_any()
                && row.data["status"]["phase"] == "Succeeded"
                && row.metadata.deletion_timestamp.is_none()
        })
        .cloned()
        .collect();
    let time = |row: &DynamicObject| -> jiff::Timestamp {
        let start = row.data["status"]["timing"]["startTime"].as_str();
        start.and_then(|text| text.parse().ok()).unwrap_or_default()
    };
    if let Some(newest) = rows.iter().max_by_key(|row| time(row)) {
        status["lastSuccessfulSnapshot"] = newest.data["status"]["timing"]["endTime"].clone();
    }
    status["retention"]["activeSnapshotCount"] = json!(rows.len());
    let spec = &policy.data["spec"]["retention"];
    let count = |field: &str| spec[field].as_u64().unwrap_or_default();
    let retention = Retention {
        last: count("keepLatest"),
        hourly: count("keepHourly"),
        daily: count("keepDaily"),
        weekly: count("keepWeekly"),
        monthly: count("keepMonthly"),
        yearly: count("keepAnnual"),
        within: 0,
    };
    if retention.is_empty() {
        return Ok(());
    }
    // Each claim of a policy has a history of its own.
    let mut histories: BTreeMap<String, Vec<_>> = BTreeMap::default();
    for row in rows {
        let path = row.data["status"]["snapshot"]["identity"]["sourcePath"].to_string();
        histories.entry(path).or_default().push(row);
    }
    let mut gone = 0;
    for rows in histories.values() {
        let times: Vec<jiff::Timestamp> = rows.iter().map(|row| time(row)).collect();
        let kept = retention.keeps(&times, desk.now());
        for (at, row) in rows.iter().enumerate() {
            if kept.contains(&at) || row.data["spec"]["pin"] == true {
                continue;
            }
            let change = json!({"metadata": {"annotations": {word("pruned-by"): "retention"}}});
            match patch(desk, &kinds::kopia_snapshots(), row, change).await {
                Ok(_) => delete(desk, &kinds::kopia_snapshots(), row).await?,
                Err(ActorError::Kube(kube::Error::Api(status))) if status.code == 404 => continue,
                Err(error) => return Err(error),
            }
            gone += 1;
        }
    }
    if gone > 0 {
        status["retention"]["lastPruneAt"] = json!(desk.stamp());
        status["retention"]["lastPruneDeleted"] = json!(gone);
    }
    Ok(())
}
