//! What a snapshot reads: the claim itself, a clone of it, or a copy from a volume snapshot.

use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::actors::kinds;
use crate::actors::process::{ActorError, Desk};
use crate::actors::repository::Origin;
use crate::actors::workloads::pods::{controller_reference, create, delete};

/// How far the source is.
pub(super) enum Staged {
    Claim(String),
    /// Why not yet.
    Waits(&'static str),
}

/// Whose snapshots a policy's are, for one of its claims.
pub(super) fn origin(policy: &DynamicObject, repository: &DynamicObject, claim: &str) -> Origin {
    let spec = &policy.data["spec"];
    let namespace = policy.namespace().unwrap_or_default();
    let cluster = repository.data["spec"]["identityDefaults"]["cluster"].as_str();
    let host = cluster.map_or_else(|| namespace.clone(), |name| format!("{namespace}.{name}"));
    let source = spec["sources"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|source| source["pvc"]["name"] == claim || source["pvcSelector"].is_object());
    let given = source.and_then(|source| source["sourcePathOverride"].as_str());
    Origin {
        host: spec["identity"]["hostname"].as_str().map_or(host, str::to_owned),
        user: spec["identity"]["username"]
            .as_str()
            .map_or_else(|| policy.name_any(), str::to_owned),
        path: given.map_or_else(|| format!("/pvc/{claim}"), str::to_owned),
    }
}

/// An origin as statuses show it.
pub(super) fn shown(origin: &Origin) -> Value {
    json!({"username": origin.user, "hostname": origin.host, "sourcePath": origin.path})
}

/// Stages a claim for a snapshot.
pub(super) async fn stage(
    desk: &Desk,
    owner: &DynamicObject,
    policy: &DynamicObject,
    claim: &DynamicObject,
) -> Result<Staged, ActorError> {
    let spec = &policy.data["spec"];
    let namespace = owner.namespace().unwrap_or_default();
    let name = format!("{}-src", owner.name_any());
    let claims = desk.api(&kinds::claims(), &namespace);
    let method = spec["copyMethod"].as_str().unwrap_or("Snapshot");
    if method == "Direct" {
        return Ok(Staged::Claim(claim.name_any()));
    }
    if claims.get_opt(&name).await?.is_some() {
        return Ok(Staged::Claim(name));
    }
    let metadata = json!({
        "name": name, "namespace": namespace,
        "labels": {"app.kubernetes.io/managed-by": "kopiur"},
        "ownerReferences": [controller_reference(owner)],
    });
    let source = if method == "Clone" {
        json!({"kind": "PersistentVolumeClaim", "name": claim.name_any()})
    } else {
        let api = desk.api(&kinds::snapshots(), &namespace);
        let Some(snapshot) = api.get_opt(&name).await? else {
            let mut wanted = json!({"source": {"persistentVolumeClaimName": claim.name_any()}});
            if spec["volumeSnapshotClassName"].as_str().is_some_and(|class| !class.is_empty()) {
                wanted["volumeSnapshotClassName"] = spec["volumeSnapshotClassName"].clone();
            }
            let snapshot = json!({
                "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
                "metadata": metadata, "spec": wanted,
            });
            create(desk, &kinds::snapshots(), snapshot).await?;
            return Ok(Staged::Waits("WaitingForVolumeSnapshot"));
        };
        if snapshot.data["status"]["readyToUse"] != true {
            return Ok(Staged::Waits("WaitingForVolumeSnapshot"));
        }
        json!({"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": name})
    };
    let staging = &spec["staging"];
    let own = &claim.data["spec"];
    let choose = |given: &Value, own: &Value| if given.is_null() { own } else { given }.clone();
    let copy = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata,
        "spec": {
            "accessModes": choose(&staging["accessModes"], &own["accessModes"]),
            "storageClassName": choose(&staging["storageClassName"], &own["storageClassName"]),
            "resources": own["resources"], "dataSource": source,
        },
    });
    create(desk, &kinds::claims(), copy).await?;
    Ok(Staged::Claim(name))
}

/// Removes what was staged.
pub(super) async fn unstage(desk: &Desk, owner: &DynamicObject) -> Result<(), ActorError> {
    let namespace = owner.namespace().unwrap_or_default();
    let name = format!("{}-src", owner.name_any());
    for resource in [kinds::claims(), kinds::snapshots()] {
        let found = desk.api(&resource, &namespace).get_opt(&name).await?;
        if let Some(object) = found.filter(|object| object.metadata.deletion_timestamp.is_none()) {
            delete(desk, &resource, &object).await?;
        }
    }
    Ok(())
}
