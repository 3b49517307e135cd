//! What VolSync makes around a run: claims, the Job and its service account.

use std::time::Duration;

use kube::ResourceExt as _;
use kube::api::{ApiResource, DynamicObject, ListParams};
use serde_json::{Value, json};

use crate::actors::kinds;
use crate::actors::movers::{MOVER, from_secret, secret_value, variable, verdict_of};
use crate::actors::process::{ActorError, Desk};
use crate::actors::workloads::kubelet::RUNS;
use crate::actors::workloads::pods::{
    condition, controller_reference, create, delete, patch, template_hash,
};

/// Who made it.
pub(super) const CREATED_BY: &str = "app.kubernetes.io/created-by";
/// Goes with the run of the object with this uid.
pub(super) const CLEANUP: &str = "volsync.backube/cleanup";
/// Keeps a snapshot that VolSync would remove.
pub(super) const KEEP: &str = "volsync.backube/do-not-delete";
/// Which template a Job was made from.
const TEMPLATE: &str = "world.holdfast.dev/template";
/// A mover that fails this often is started afresh.
const BACKOFF_LIMIT: i64 = 8;
/// Optional keys of a repository Secret that reach the mover.
const PASSED_ON: [&str; 6] = [
    "RESTIC_COMPRESSION",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_DEFAULT_REGION",
    "RESTIC_REST_USERNAME",
];

/// Metadata of something that VolSync makes for `owner`.
pub(super) fn metadata(owner: &DynamicObject, name: &str, goes: bool) -> Value {
    let mut labels = json!({CREATED_BY: "volsync"});
    if goes {
        labels[CLEANUP] = json!(owner.metadata.uid);
    }
    json!({
        "name": name, "namespace": owner.namespace(), "labels": labels,
        "ownerReferences": [controller_reference(owner)],
    })
}

/// A claim's wish.
pub(super) struct Wish {
    pub capacity: Value,
    pub access_modes: Value,
    pub class: Value,
    pub source: Value,
}

/// Makes a claim unless it is there. None while an older one of that name is on its way out.
pub(super) async fn ensure_claim(
    desk: &Desk,
    owner: &DynamicObject,
    (name, goes): (&str, bool),
    wish: Wish,
) -> Result<Option<DynamicObject>, ActorError> {
    let api = desk.api(&kinds::claims(), &owner.namespace().unwrap_or_default());
    if let Some(claim) = api.get_opt(name).await? {
        return Ok(claim.metadata.deletion_timestamp.is_none().then_some(claim));
    }
    let mut spec = json!({
        "accessModes": wish.access_modes,
        "resources": {"requests": {"storage": wish.capacity}},
    });
    if wish.class.is_string() {
        spec["storageClassName"] = wish.class;
    }
    if wish.source.is_object() {
        spec["dataSource"] = wish.source;
    }
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": metadata(owner, name, goes), "spec": spec,
    });
    create(desk, &kinds::claims(), claim).await?;
    Ok(api.get_opt(name).await?)
}

/// The first of these that says something.
pub(super) fn first(choices: &[&Value]) -> Value {
    choices
        .iter()
        .find(|choice| match choice {
            Value::Null => false,
            Value::Array(list) => !list.is_empty(),
            Value::String(text) => !text.is_empty(),
            _ => true,
        })
        .map_or(Value::Null, |choice| (*choice).clone())
}

/// What a mover's Job works with.
pub(super) struct Mover {
    /// `src` or `dst`
    pub direction: &'static str,
    pub claim: String,
    pub env: Vec<Value>,
}

/// What came of a Job.
pub(super) enum Moved {
    Running,
    /// The Secret, or something else, is not as it must be.
    Wrong(String),
    Failed(String),
    Succeeded(String),
}

/// Runs a mover: Secret, cache, service account, Job, in this order.
pub(super) async fn run_mover(
    desk: &Desk,
    owner: &DynamicObject,
    mover: Mover,
) -> Result<Moved, ActorError> {
    let namespace = owner.namespace().unwrap_or_default();
    let restic = &owner.data["spec"]["restic"];
    let secret = restic["repository"].as_str().unwrap_or_default();
    if secret.is_empty() {
        return Ok(Moved::Wrong("a repository Secret name must be specified".into()));
    }
    let Some(found) = desk.api(&kinds::secrets(), &namespace).get_opt(secret).await? else {
        return Ok(Moved::Wrong(format!("secrets {secret:?} not found")));
    };
    for key in ["RESTIC_REPOSITORY", "RESTIC_PASSWORD"] {
        if secret_value(&found, key).is_none() {
            return Ok(Moved::Wrong(format!("secret {secret} is missing field: {key}")));
        }
    }
    let name = format!("volsync-{}-{}", mover.direction, owner.name_any());
    let cache = format!("{name}-cache");
    let one = json!(["ReadWriteOnce"]);
    let wish = Wish {
        capacity: first(&[&restic["cacheCapacity"], &json!("1Gi")]),
        access_modes: first(&[&restic["cacheAccessModes"], &restic["accessModes"], &one]),
        class: first(&[&restic["cacheStorageClassName"], &restic["storageClassName"]]),
        source: Value::Null,
    };
    let goes = restic["cleanupCachePVC"] == true;
    if ensure_claim(desk, owner, (&cache, goes), wish).await?.is_none() {
        return Ok(Moved::Running);
    }
    let account = restic["moverServiceAccount"].as_str().unwrap_or(&name).to_owned();
    if account == name {
        let object = json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(owner, &name, false),
        });
        create(desk, &kinds::service_accounts(), object).await?;
    }
    ensure_job(desk, owner, mover, (&name, &account, &cache, secret)).await
}

async fn ensure_job(
    desk: &Desk,
    owner: &DynamicObject,
    mover: Mover,
    (name, account, cache, secret): (&str, &str, &str, &str),
) -> Result<Moved, ActorError> {
    let namespace = owner.namespace().unwrap_or_default();
    let restic = &owner.data["spec"]["restic"];
    let side = if mover.direction == "src" { "source" } else { "destination" };
    let mut env = vec![
        variable("DIRECTION", side),
        variable("DATA_DIR", "/data"),
        variable("RESTIC_CACHE_DIR", "/cache"),
        from_secret("RESTIC_REPOSITORY", secret, "RESTIC_REPOSITORY", false),
        from_secret("RESTIC_PASSWORD", secret, "RESTIC_PASSWORD", false),
    ];
    env.extend(PASSED_ON.iter().map(|key| from_secret(key, secret, key, true)));
    env.extend(mover.env);
    let mut labels = restic["moverPodLabels"].clone();
    if !labels.is_object() {
        labels = json!({});
    }
    labels[CREATED_BY] = json!("volsync");
    let mut pod = json!({
        "restartPolicy": "Never", "serviceAccountName": account,
        "containers": [{
            "name": "restic", "image": "quay.io/backube/volsync:latest",
            "command": ["/mover-restic/entry.sh"], "env": env,
            "volumeMounts": [
                {"name": "data", "mountPath": "/data"}, {"name": "cache", "mountPath": "/cache"},
                {"name": "tempdir", "mountPath": "/tmp"},
            ],
        }],
        "volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": mover.claim}},
            {"name": "cache", "persistentVolumeClaim": {"claimName": cache}},
            {"name": "tempdir", "emptyDir": {"medium": "Memory"}},
        ],
    });
    if restic["moverSecurityContext"].is_object() {
        pod["securityContext"] = restic["moverSecurityContext"].clone();
    }
    let template = json!({
        // A mover ends when its work does; the nodes must not end it before.
        "metadata": {"labels": labels, "annotations": {MOVER: "restic", RUNS: "86400"}},
        "spec": pod,
    });
    let paused = owner.data["spec"]["paused"] == true;
    let parallelism = i64::from(!paused);
    let hash = template_hash(&template);
    let api = desk.api(&kinds::jobs(), &namespace);
    let Some(job) = api.get_opt(name).await? else {
        let mut metadata = metadata(owner, name, true);
        metadata["annotations"] = json!({TEMPLATE: hash});
        let job = json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata,
            "spec": {
                "backoffLimit": BACKOFF_LIMIT, "parallelism": parallelism, "template": template,
            },
        });
        create(desk, &kinds::jobs(), job).await?;
        return Ok(Moved::Running);
    };
    if job.metadata.deletion_timestamp.is_some() {
        return Ok(Moved::Running);
    }
    if job.annotations().get(TEMPLATE) != Some(&hash) {
        delete(desk, &kinds::jobs(), &job).await?;
        return Ok(Moved::Running);
    }
    if job.data["spec"]["parallelism"].as_i64() != Some(parallelism) {
        let change = json!({"spec": {"parallelism": parallelism}});
        patch(desk, &kinds::jobs(), &job, change).await?;
    }
    let status = &job.data["status"];
    let over = condition(&job, "Failed").is_some_and(|c| c["status"] == "True");
    let pods: Vec<_> = desk.cache.controlled("Pod", &job).cloned().collect();
    let verdict = verdict_of(&pods);
    if over || status["failed"].as_i64().unwrap_or_default() >= BACKOFF_LIMIT {
        delete(desk, &kinds::jobs(), &job).await?;
        return Ok(Moved::Failed(verdict.map(|(_, log)| log).unwrap_or_default()));
    }
    if status["succeeded"].as_i64().unwrap_or_default() == 0 {
        return Ok(Moved::Running);
    }
    match verdict {
        None => Ok(Moved::Running),
        Some((0, log)) => Ok(Moved::Succeeded(log)),
        Some((_, log)) => {
            delete(desk, &kinds::jobs(), &job).await?;
            Ok(Moved::Failed(log))
        }
    }
}

/// How long to wait for what no watch may tell.
pub(super) const SOON: Option<Duration> = Some(Duration::from_secs(2));

/// Removes what goes with a run.
pub(super) async fn clean_up(desk: &Desk, owner: &DynamicObject) -> Result<(), ActorError> {
    let namespace = owner.namespace().unwrap_or_default();
    let uid = owner.metadata.uid.clone().unwrap_or_default();
    let params = ListParams::default().labels(&format!("{CLEANUP}={uid}"));
    for resource in [kinds::jobs(), kinds::claims(), kinds::snapshots()] {
        for object in desk.api(&resource, &namespace).list(&params).await?.items {
            if object.labels().contains_key(KEEP) {
                unlabel(desk, &resource, &object).await?;
            } else if object.metadata.deletion_timestamp.is_none() {
                delete(desk, &resource, &object).await?;
            }
        }
    }
    Ok(())
}

/// What must stay is no longer ours.
async fn unlabel(
    desk: &Desk,
    resource: &ApiResource,
    object: &DynamicObject,
) -> Result<(), ActorError> {
    let change = json!({"metadata": {"labels": {CLEANUP: null}, "ownerReferences": null}});
    patch(desk, resource, object, change).await?;
    Ok(())
}
