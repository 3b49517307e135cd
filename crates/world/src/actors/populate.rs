//! What volume populators share: a prime claim is filled, then its volume is given to the user's claim.

use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::kinds;
use super::process::{ActorError, Desk};
use super::workloads::pods::{create, delete, patch};

const SELECTED: &str = "volume.kubernetes.io/selected-node";

/// What a claim's data source of this group and kind is called.
pub(super) fn source<'a>(claim: &'a DynamicObject, group: &str, kind: &str) -> Option<&'a str> {
    let reference = &claim.data["spec"]["dataSourceRef"];
    let fits = reference["apiGroup"] == group && reference["kind"] == kind;
    reference["name"].as_str().filter(|_| fits)
}

/// The prime's name: `vs-prime-<uid>`
pub(super) fn prime_name(prefix: &str, claim: &DynamicObject) -> String {
    format!("{prefix}-{}", claim.metadata.uid.clone().unwrap_or_default())
}

/// The node that the claim's pod goes to (empty if it does not matter). None: its class waits for one.
pub(super) async fn node_for(
    desk: &Desk,
    claim: &DynamicObject,
) -> Result<Option<String>, ActorError> {
    let selected = claim.annotations().get(SELECTED).cloned();
    let class = claim.data["spec"]["storageClassName"].as_str().unwrap_or_default();
    let class = desk.api(&kinds::storage_classes(), "").get_opt(class).await?;
    let waits =
        class.is_some_and(|class| class.data["volumeBindingMode"] == "WaitForFirstConsumer");
    Ok(if waits { selected } else { Some(selected.unwrap_or_default()) })
}

/// Makes the prime: the user's class, modes and size.
pub(super) async fn make_prime(
    desk: &Desk,
    claim: &DynamicObject,
    mut metadata: Value,
    node: String,
    source: Option<Value>,
) -> Result<(), ActorError> {
    if !node.is_empty() {
        metadata["annotations"] = json!({SELECTED: node});
    }
    let wanted = &claim.data["spec"];
    let mut spec = json!({
        "accessModes": wanted["accessModes"], "resources": wanted["resources"],
        "storageClassName": wanted["storageClassName"], "volumeMode": wanted["volumeMode"],
    });
    if let Some(source) = source {
        spec["dataSourceRef"] = source;
    }
    let prime = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec,
    });
    create(desk, &kinds::claims(), prime).await
}

/// How far a prime is.
pub(super) enum Prime {
    /// Not bound yet.
    Waits,
    /// Its volume now names the user's claim.
    Filled(Box<DynamicObject>),
}

/// Gives a bound prime's volume to the user's claim.
pub(super) async fn rebind(
    desk: &Desk,
    claim: &DynamicObject,
    prime: &str,
) -> Result<Prime, ActorError> {
    let namespace = claim.namespace().unwrap_or_default();
    let prime = desk.api(&kinds::claims(), &namespace).get_opt(prime).await?;
    let bound = prime
        .as_ref()
        .filter(|prime| matches!(prime.data["status"]["phase"].as_str(), Some("Bound" | "Lost")));
    let Some(name) = bound.and_then(|prime| prime.data["spec"]["volumeName"].as_str()) else {
        return Ok(Prime::Waits);
    };
    let Some(volume) = desk.api(&kinds::volumes(), "").get_opt(name).await? else {
        return Ok(Prime::Waits);
    };
    if volume.data["spec"]["claimRef"]["uid"].as_str() == claim.metadata.uid.as_deref() {
        return Ok(Prime::Filled(Box::new(volume)));
    }
    let change = json!({
        "metadata": {"resourceVersion": volume.resource_version()},
        "spec": {"claimRef": {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": claim.name_any(),
            "namespace": namespace, "uid": claim.metadata.uid,
            "resourceVersion": claim.resource_version(),
        }},
    });
    let moved = patch(desk, &kinds::volumes(), &volume, change).await?;
    Ok(Prime::Filled(Box::new(moved)))
}

/// Removes the prime of a bound claim. Whether there was one.
pub(super) async fn finish(desk: &Desk, namespace: &str, prime: &str) -> Result<bool, ActorError> {
    let prime = desk.api(&kinds::claims(), namespace).get_opt(prime).await?;
    let Some(prime) = prime.filter(|prime| prime.metadata.deletion_timestamp.is_none()) else {
        return Ok(false);
    };
    // Until it is lost, its volume might still count as its own.
    if prime.data["status"]["phase"] != "Lost" {
        return Err(ActorError::Other("the prime claim is not lost yet".into()));
    }
    delete(desk, &kinds::claims(), &prime).await?;
    Ok(true)
}
