//! Mover Jobs of kopiur.

use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::store;
use crate::actors::kinds;
use crate::actors::movers::{MOVER, from_secret, variable, verdict_of};
use crate::actors::process::{ActorError, Desk};
use crate::actors::workloads::kubelet::RUNS;
use crate::actors::workloads::pods::{condition, controller_reference, create, delete};

/// One Job.
pub(super) struct Work<'a> {
    pub owner: &'a DynamicObject,
    pub name: String,
    pub claim: String,
    pub repository: &'a DynamicObject,
    pub env: Vec<Value>,
    pub retries: i64,
}

/// What came of it.
pub(super) enum Worked {
    Running,
    /// Not possible: what is missing.
    Lacks(String),
    Done(Value),
    Failed(Value),
}

/// Whether the Secrets that a mover reads are in its namespace; copied there if the policy says so.
async fn credentials(
    desk: &Desk,
    work: &Work<'_>,
    projects: bool,
) -> Result<Option<String>, ActorError> {
    let spec = &work.repository.data["spec"];
    let reference = &spec["encryption"]["passwordSecretRef"];
    let name = reference["name"].as_str().unwrap_or_default();
    let own = work.owner.namespace().unwrap_or_default();
    if desk.api(&kinds::secrets(), &own).get_opt(name).await?.is_some() {
        return Ok(None);
    }
    let home = work.repository.namespace().unwrap_or_default();
    let home = reference["namespace"].as_str().unwrap_or(&home);
    if projects && let Some(secret) = desk.api(&kinds::secrets(), home).get_opt(name).await? {
        let copy = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {
                "name": name, "namespace": own,
                "labels": {"app.kubernetes.io/managed-by": "kopiur"},
            },
            "data": secret.data["data"],
        });
        create(desk, &kinds::secrets(), copy).await?;
        return Ok(None);
    }
    Ok(Some(format!("Secret {own}/{name} does not exist")))
}

/// Runs a Job to its end.
pub(super) async fn run(desk: &Desk, work: Work<'_>, projects: bool) -> Result<Worked, ActorError> {
    let namespace = work.owner.namespace().unwrap_or_default();
    let Some(job) = desk.api(&kinds::jobs(), &namespace).get_opt(&work.name).await? else {
        if let Some(lack) = credentials(desk, &work, projects).await? {
            return Ok(Worked::Lacks(lack));
        }
        return start(desk, work, &namespace).await;
    };
    if job.metadata.deletion_timestamp.is_some() {
        return Ok(Worked::Running);
    }
    // A Job may have the name of one that filled an earlier claim.
    let volume = &job.data["spec"]["template"]["spec"]["volumes"][0];
    if volume["persistentVolumeClaim"]["claimName"] != work.claim.as_str() {
        delete(desk, &kinds::jobs(), &job).await?;
        return Ok(Worked::Running);
    }
    let holds = |kind: &str| condition(&job, kind).is_some_and(|c| c["status"] == "True");
    let pods: Vec<_> = desk.cache.controlled("Pod", &job).cloned().collect();
    let verdict = verdict_of(&pods).map(|(code, log)| {
        let said = serde_json::from_str(&log).unwrap_or_else(|_| json!({"message": log}));
        (code, said)
    });
    Ok(match verdict {
        Some((0, said)) if holds("Complete") => Worked::Done(said),
        Some((_, said)) if holds("Complete") || holds("Failed") => Worked::Failed(said),
        None if holds("Failed") => Worked::Failed(json!({"message": "the mover's pods are gone"})),
        _ => Worked::Running,
    })
}

async fn start(desk: &Desk, work: Work<'_>, namespace: &str) -> Result<Worked, ActorError> {
    let spec = &work.repository.data["spec"];
    let password = &spec["encryption"]["passwordSecretRef"];
    let secret = password["name"].as_str().unwrap_or_default();
    let key = password["key"].as_str().unwrap_or("KOPIA_PASSWORD");
    let mut env = vec![
        variable("KOPIA_REPOSITORY", &store::address(work.repository)),
        from_secret("KOPIA_PASSWORD", secret, key, false),
    ];
    if let Some(auth) = spec["backend"]["s3"]["auth"]["secretRef"]["name"].as_str() {
        for key in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
            env.push(from_secret(key, auth, key, true));
        }
    }
    env.extend(work.env);
    let labels = json!({"app.kubernetes.io/managed-by": "kopiur"});
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {
            "name": work.name, "namespace": namespace, "labels": labels,
            "ownerReferences": [controller_reference(work.owner)],
        },
        "spec": {
            "backoffLimit": work.retries, "ttlSecondsAfterFinished": 3600,
            "template": {
                // A mover ends when its work does; the nodes must not end it before.
                "metadata": {"labels": labels, "annotations": {MOVER: "kopia", RUNS: "86400"}},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{
                        "name": "mover", "image": "ghcr.io/home-operations/kopiur-mover:latest",
                        "env": env, "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                    }],
                    "volumes": [{
                        "name": "data", "persistentVolumeClaim": {"claimName": work.claim},
                    }],
                },
            },
        },
    });
    create(desk, &kinds::jobs(), job).await?;
    Ok(Worked::Running)
}
