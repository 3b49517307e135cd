//! What all workload controllers know about pods.

use kube::ResourceExt as _;
use kube::api::{
    DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, Preconditions,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::actors::kinds;
use crate::actors::process::{ActorError, Desk, controller_of};

/// A short name for a pod template: equal templates have equal hashes.
pub fn template_hash(template: &Value) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut plain = template.clone();
    if let Some(labels) = plain["metadata"]["labels"].as_object_mut() {
        labels.remove("pod-template-hash");
    }
    let digest = Sha256::digest(plain.to_string().as_bytes());
    digest
        .iter()
        .take(9)
        .map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()]))
        .collect()
}

/// Whether two templates are the same but for the hash label.
pub fn same_template(a: &Value, b: &Value) -> bool {
    template_hash(a) == template_hash(b)
}

/// Whether labels satisfy a label selector object.
pub fn selects(selector: &Value, object: &DynamicObject) -> bool {
    let labels = object.labels();
    let equal = selector["matchLabels"]
        .as_object()
        .into_iter()
        .flatten()
        .all(|(key, value)| labels.get(key).map(String::as_str) == value.as_str());
    let expressions = selector["matchExpressions"].as_array().into_iter().flatten().all(|rule| {
        let found = labels.get(rule["key"].as_str().unwrap_or_default());
        let listed = |value: &String| {
            rule["values"].as_array().is_some_and(|values| values.iter().any(|v| v == value))
        };
        match rule["operator"].as_str().unwrap_or_default() {
            "In" => found.is_some_and(listed),
            "NotIn" => !found.is_some_and(listed),
            "Exists" => found.is_some(),
            "DoesNotExist" => found.is_none(),
            _ => false,
        }
    });
    equal && expressions
}

/// Whether the object is on its way out.
pub fn is_leaving(object: &DynamicObject) -> bool {
    object.metadata.deletion_timestamp.is_some()
}

/// Whether a pod has ended.
pub fn is_finished(pod: &DynamicObject) -> bool {
    matches!(pod.data["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
}

/// Whether a pod counts for its controller.
pub fn is_active(pod: &DynamicObject) -> bool {
    !is_leaving(pod) && !is_finished(pod)
}

/// Whether a pod is ready.
pub fn is_ready(pod: &DynamicObject) -> bool {
    condition(pod, "Ready").is_some_and(|c| c["status"] == "True")
}

/// A condition by type.
pub fn condition<'a>(object: &'a DynamicObject, kind: &str) -> Option<&'a Value> {
    object.data["status"]["conditions"].as_array()?.iter().find(|c| c["type"] == kind)
}

/// Sets a condition in a list, moving its transition time only when the status changes.
pub fn set_condition(conditions: &mut Vec<Value>, now: &str, new: (&str, bool, &str, &str)) {
    let (kind, holds, reason, message) = new;
    let status = if holds { "True" } else { "False" };
    let old = conditions.iter().find(|c| c["type"] == kind).cloned();
    let since = match &old {
        Some(old) if old["status"] == status => old["lastTransitionTime"].clone(),
        _ => json!(now),
    };
    let updated = match &old {
        Some(old)
            if old["status"] == status && old["reason"] == reason && old["message"] == message =>
        {
            old["lastUpdateTime"].clone()
        }
        _ => json!(now),
    };
    conditions.retain(|c| c["type"] != kind);
    conditions.push(json!({
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": since, "lastUpdateTime": updated,
    }));
}

/// Most kinds' conditions have no update time; one that is sent is dropped and would look like a change.
pub fn forget_update_times(conditions: &mut [Value]) {
    for condition in conditions {
        if let Some(map) = condition.as_object_mut() {
            map.remove("lastUpdateTime");
        }
    }
}

/// An owner reference that controls and blocks.
pub fn controller_reference(owner: &DynamicObject) -> Value {
    let types = owner.types.clone().unwrap_or_default();
    json!({
        "apiVersion": types.api_version, "kind": types.kind, "name": owner.name_any(),
        "uid": owner.metadata.uid, "controller": true, "blockOwnerDeletion": true,
    })
}

/// A pod of a template, owned by `owner`.
pub fn pod_from(template: &Value, owner: &DynamicObject, name: Result<String, String>) -> Value {
    let mut metadata = template["metadata"].clone();
    if !metadata.is_object() {
        metadata = json!({});
    }
    metadata["namespace"] = json!(owner.namespace());
    match name {
        Ok(name) => metadata["name"] = json!(name),
        Err(prefix) => metadata["generateName"] = json!(prefix),
    }
    metadata["ownerReferences"] = json!([controller_reference(owner)]);
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"] })
}

/// Creates any object; one that exists already is fine.
pub async fn create(
    desk: &Desk,
    resource: &kube::api::ApiResource,
    object: Value,
) -> Result<(), ActorError> {
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
    let object: DynamicObject =
        serde_json::from_value(object).map_err(|error| ActorError::Other(error.to_string()))?;
    let params = PostParams { field_manager: Some(desk.manager.into()), ..PostParams::default() };
    match desk.api(resource, &namespace).create(&params, &object).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Deletes exactly this object; one that is gone already is fine.
pub async fn delete(
    desk: &Desk,
    resource: &kube::api::ApiResource,
    object: &DynamicObject,
) -> Result<(), ActorError> {
    let params = DeleteParams {
        preconditions: Some(Preconditions {
            uid: object.metadata.uid.clone(),
            resource_version: None,
        }),
        ..DeleteParams::background()
    };
    let namespace = object.namespace().unwrap_or_default();
    match desk.api(resource, &namespace).delete(&object.name_any(), &params).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Merges a patch into an object's main part.
pub async fn patch(
    desk: &Desk,
    resource: &kube::api::ApiResource,
    object: &DynamicObject,
    patch: Value,
) -> Result<DynamicObject, ActorError> {
    patch_as(desk, desk.manager, resource, object, patch).await
}

/// Merges a patch into an object's main part under a name of one's own.
pub async fn patch_as(
    desk: &Desk,
    manager: &str,
    resource: &kube::api::ApiResource,
    object: &DynamicObject,
    patch: Value,
) -> Result<DynamicObject, ActorError> {
    let namespace = object.namespace().unwrap_or_default();
    let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
    Ok(desk
        .api(resource, &namespace)
        .patch(&object.name_any(), &params, &Patch::Merge(patch))
        .await?)
}

/// Writes a status if it differs from what was seen.
pub async fn write_status(
    desk: &Desk,
    resource: &kube::api::ApiResource,
    object: &DynamicObject,
    status: Value,
) -> Result<(), ActorError> {
    if object.data["status"] == status {
        return Ok(());
    }
    write_status_with(desk, resource, object, json!({}), status).await
}

/// Writes a status together with annotations, as far as the kind's status takes them along.
pub async fn write_status_with(
    desk: &Desk,
    resource: &kube::api::ApiResource,
    object: &DynamicObject,
    annotations: Value,
    status: Value,
) -> Result<(), ActorError> {
    // A merge patch cannot remove keys; absent ones are nulled.
    let mut merged = status;
    if let (Some(old), Some(new)) = (object.data["status"].as_object(), merged.as_object_mut()) {
        for key in old.keys() {
            new.entry(key.clone()).or_insert(Value::Null);
        }
    }
    let namespace = object.namespace().unwrap_or_default();
    let mut body = json!({ "status": merged });
    if annotations.as_object().is_some_and(|map| !map.is_empty()) {
        body["metadata"] = json!({ "annotations": annotations });
    }
    let params = PatchParams { field_manager: Some(desk.manager.into()), ..PatchParams::default() };
    let api = desk.api(resource, &namespace);
    match api.patch_status(&object.name_any(), &params, &Patch::Merge(body)).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Records an event about an object, once per reason and second.
pub async fn event(
    desk: &Desk,
    object: &DynamicObject,
    component: &str,
    (kind, reason, message): (&str, &str, &str),
) -> Result<(), ActorError> {
    let types = object.types.clone().unwrap_or_default();
    let now = desk.stamp();
    let namespace = object.namespace().unwrap_or_else(|| "default".into());
    let digest = Sha256::digest(format!(
        "{}{reason}{now}{message}",
        object.metadata.uid.clone().unwrap_or_default()
    ));
    let suffix: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let body = json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": format!("{}.{suffix}", object.name_any()), "namespace": namespace},
        "involvedObject": {
            "apiVersion": types.api_version, "kind": types.kind, "name": object.name_any(),
            "namespace": object.namespace(), "uid": object.metadata.uid,
        },
        "type": kind, "reason": reason, "message": message, "count": 1,
        "firstTimestamp": now, "lastTimestamp": now, "source": {"component": component},
    });
    create(desk, &kinds::events(), body).await
}

/// The pods that `owner` controls, asked of the server: a cache may not show yet what was just created,
/// and creating by it would create twice.
pub async fn owned_now(
    desk: &Desk,
    owner: &DynamicObject,
) -> Result<Vec<DynamicObject>, ActorError> {
    let namespace = owner.namespace().unwrap_or_default();
    let all = desk.api(&kinds::pods(), &namespace).list(&ListParams::default()).await?;
    let uid = owner.metadata.uid.as_deref().unwrap_or_default();
    let owned = |pod: &DynamicObject| controller_of(pod).is_some_and(|(_, _, of)| of == uid);
    Ok(all.items.into_iter().filter(owned).collect())
}

/// `spec.replicas`, 1 if absent.
pub fn replicas(object: &DynamicObject) -> i64 {
    object.data["spec"]["replicas"].as_i64().unwrap_or(1)
}
