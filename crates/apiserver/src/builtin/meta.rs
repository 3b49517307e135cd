//! What `metadata` may say, on create and on update, for every kind.

use std::collections::BTreeSet;

use serde_json::Value;

use super::labels::{annotations, labels};
use super::view::{at, immutable, items, number, text, wrong};
use super::{form, format};
use crate::fields::{FieldError, Path};
use crate::resource::Resource;

/// How a kind names its objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Naming {
    Subdomain,
    Label,
    /// Whatever can stand in a URL.
    Segment,
    /// An IP address in its canonical form.
    Address,
}

/// How a kind's own validation treats metadata, on top of the checks that all kinds share.
///
/// On update the server runs the shared checks and then the kind's, so that a fault is reported once
/// by each of them; a client that counts causes sees how many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Manner {
    naming: Naming,
    /// The kind checks the change of metadata itself.
    change: bool,
    /// The kind checks the new metadata as a whole itself.
    whole: bool,
    /// A finalizer without a domain must be one of Kubernetes' own.
    strict: bool,
}

fn manner(resource: &Resource) -> Manner {
    let manner = |naming, change, whole, strict| Manner { naming, change, whole, strict };
    if resource.custom {
        return manner(Naming::Subdomain, true, false, false);
    }
    match resource.kind.as_str() {
        "Namespace" => manner(Naming::Label, true, true, true),
        "Service" | "StatefulSet" => manner(Naming::Label, true, false, true),
        "Role" | "ClusterRole" | "RoleBinding" | "ClusterRoleBinding" => {
            manner(Naming::Segment, true, true, true)
        }
        "IPAddress" => manner(Naming::Address, true, true, true),
        "EndpointSlice"
        | "LimitRange"
        | "CSINode"
        | "VolumeAttachment"
        | "FlowSchema"
        | "PriorityLevelConfiguration"
        | "PersistentVolume" => manner(Naming::Subdomain, false, true, true),
        "Event" if resource.group.is_empty() => manner(Naming::Segment, false, false, false),
        "CertificateSigningRequest" => manner(Naming::Segment, true, false, true),
        "Event"
        | "ResourceQuota"
        | "CSIDriver"
        | "NetworkPolicy"
        | "ServiceCIDR"
        | "ResourceSlice"
        | "PriorityClass"
        | "PodTemplate"
        | "ReplicationController"
        | "Deployment"
        | "ReplicaSet"
        | "DaemonSet"
        | "CronJob"
        | "HorizontalPodAutoscaler" => manner(Naming::Subdomain, true, false, true),
        "Lease" | "CustomResourceDefinition" => manner(Naming::Subdomain, true, false, false),
        "APIService" => manner(Naming::Segment, true, true, false),
        "RuntimeClass" => manner(Naming::Subdomain, true, true, false),
        "PodDisruptionBudget" => manner(Naming::Segment, false, false, false),
        "ValidatingWebhookConfiguration"
        | "MutatingWebhookConfiguration"
        | "ValidatingAdmissionPolicy"
        | "ValidatingAdmissionPolicyBinding"
        | "MutatingAdmissionPolicy"
        | "MutatingAdmissionPolicyBinding" => manner(Naming::Subdomain, false, true, false),
        _ => manner(Naming::Subdomain, true, true, true),
    }
}

/// Kinds that look at the new metadata before they look at the change.
fn whole_first(resource: &Resource) -> bool {
    matches!(
        resource.kind.as_str(),
        "StorageClass"
            | "CSIStorageCapacity"
            | "Role"
            | "ClusterRole"
            | "RoleBinding"
            | "ClusterRoleBinding"
            | "IPAddress"
            | "ResourceClaim"
            | "ResourceClaimTemplate"
            | "DeviceClass"
    )
}

/// What is wrong with the metadata of a new object.
pub fn validate_create(resource: &Resource, object: &Value) -> Vec<FieldError> {
    let manner = manner(resource);
    whole(manner.naming, manner.strict, resource.namespaced, at(object, "metadata"))
}

/// What is wrong with a change of metadata.
///
/// Expects what the server fills in before it validates: an absent uid, creation and deletion time
/// and the generation are those of the stored object.
pub fn validate_update(resource: &Resource, new: &Value, old: &Value) -> Vec<FieldError> {
    let manner = manner(resource);
    let (new, old) = (at(new, "metadata"), at(old, "metadata"));
    let mut errors = whole(Naming::Segment, false, resource.namespaced, new);
    errors.extend(change(false, new, old));
    let mut own = Vec::new();
    if manner.change {
        own.push(change(manner.strict, new, old));
    }
    if manner.whole {
        own.push(whole(manner.naming, manner.strict, resource.namespaced, new));
    }
    if whole_first(resource) {
        own.reverse();
    }
    if resource.kind == "PersistentVolume" && !resource.custom {
        own.extend_from_within(..);
    }
    errors.extend(own.into_iter().flatten());
    errors
}

fn name_errors(naming: Naming, path: &Path, name: &str, prefix: bool) -> Vec<FieldError> {
    let judged = if prefix { masked(name) } else { name.to_owned() };
    match naming {
        Naming::Subdomain => wrong(path, name, format::dns_subdomain(&judged)),
        Naming::Label => wrong(path, name, format::dns_label(&judged)),
        Naming::Segment => wrong(
            path,
            name,
            if prefix { segment_prefix(name) } else { format::path_segment(name) },
        ),
        Naming::Address => match name.parse::<std::net::IpAddr>() {
            Err(_) => {
                let message = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
                wrong(path, name, vec![message.into()])
            }
            Ok(address) if address.to_string() != name => {
                wrong(path, name, vec![format!("must be in canonical form (\"{address}\")")])
            }
            Ok(_) => Vec::new(),
        },
    }
}

/// A prefix for generated names, judged as if something followed its dash.
fn masked(prefix: &str) -> String {
    match prefix.strip_suffix('-') {
        // The server also eats the character before the dash.
        Some(rest) if !rest.is_empty() => {
            let mut kept = rest.to_owned();
            kept.pop();
            kept + "a"
        }
        _ => prefix.to_owned(),
    }
}

fn segment_prefix(prefix: &str) -> Vec<String> {
    if matches!(prefix, "." | "..") { Vec::new() } else { format::path_segment(prefix) }
}

fn shown_owners(owners: &[Value]) -> String {
    let shown: Vec<String> =
        owners.iter().map(|owner| form::public("meta/v1.OwnerReference", owner)).collect();
    format!("[{}]", shown.join(","))
}

fn whole(naming: Naming, strict: bool, namespaced: bool, meta: &Value) -> Vec<FieldError> {
    let path = Path::new("metadata");
    let mut errors = Vec::new();
    let prefix = text(meta, "generateName");
    if !prefix.is_empty() {
        errors.extend(name_errors(naming, &path.child("generateName"), prefix, true));
    }
    let name = text(meta, "name");
    if name.is_empty() {
        errors.push(FieldError::required(&path.child("name"), "name or generateName is required"));
    } else {
        errors.extend(name_errors(naming, &path.child("name"), name, false));
    }
    let namespace = text(meta, "namespace");
    if !namespaced {
        if !namespace.is_empty() {
            errors
                .push(FieldError::forbidden(&path.child("namespace"), "not allowed on this type"));
        }
    } else if namespace.is_empty() {
        errors.push(FieldError::required(&path.child("namespace"), ""));
    } else {
        errors.extend(wrong(&path.child("namespace"), namespace, format::dns_label(namespace)));
    }
    if let Some(generation) = number(meta, "generation").filter(|&n| n < 0) {
        errors.push(FieldError::invalid(
            &path.child("generation"),
            &Value::from(generation),
            "must be greater than or equal to 0",
        ));
    }
    errors.extend(labels(at(meta, "labels"), &path.child("labels")));
    errors.extend(annotations(at(meta, "annotations"), &path.child("annotations")));
    errors.extend(owners(meta));
    errors.extend(finalizers(meta));
    if strict {
        errors.extend(standard_finalizers(meta));
    }
    errors
}

fn change(strict: bool, new: &Value, old: &Value) -> Vec<FieldError> {
    let path = Path::new("metadata");
    let mut errors = Vec::new();
    if !text(old, "deletionTimestamp").is_empty() {
        let before: BTreeSet<&str> =
            items(old, "finalizers").iter().filter_map(Value::as_str).collect();
        let added: BTreeSet<&str> = items(new, "finalizers")
            .iter()
            .filter_map(Value::as_str)
            .filter(|f| !before.contains(f))
            .collect();
        if !added.is_empty() {
            let list: Vec<String> = added.iter().map(|f| format!("{f:?}")).collect();
            errors.push(FieldError::forbidden(
                &path.child("finalizers"),
                format!(
                    "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                    list.join(", ")
                ),
            ));
        }
    }
    if text(new, "resourceVersion").is_empty() {
        errors.push(FieldError::invalid(
            &path.child("resourceVersion"),
            &Value::from(""),
            "must be specified for an update",
        ));
    }
    let generation = number(new, "generation").unwrap_or_default();
    if generation < number(old, "generation").unwrap_or_default() {
        errors.push(FieldError::invalid(
            &path.child("generation"),
            &Value::from(generation),
            "must not be decremented",
        ));
    }
    for field in ["name", "namespace", "uid"] {
        let (new, old) = (Value::from(text(new, field)), Value::from(text(old, field)));
        errors.extend(immutable(&path.child(field), &new, &old));
    }
    for field in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        errors.extend(immutable(&path.child(field), at(new, field), at(old, field)));
    }
    errors.extend(labels(at(new, "labels"), &path.child("labels")));
    errors.extend(annotations(at(new, "annotations"), &path.child("annotations")));
    errors.extend(owners(new));
    if strict {
        errors.extend(standard_finalizers(new));
    }
    errors
}

fn owners(meta: &Value) -> Vec<FieldError> {
    let path = Path::new("metadata.ownerReferences");
    let mut errors = Vec::new();
    let mut controller: Option<String> = None;
    let owners = items(meta, "ownerReferences");
    for owner in owners {
        let api_version = text(owner, "apiVersion");
        let version = api_version.rsplit('/').next().unwrap_or_default();
        if version.is_empty() || api_version.matches('/').count() > 1 {
            errors.push(FieldError::invalid(
                &path.child("apiVersion"),
                &Value::from(api_version),
                "version must not be empty",
            ));
        }
        for field in ["kind", "name", "uid"] {
            if text(owner, field).is_empty() {
                errors.push(FieldError::invalid(
                    &path.child(field),
                    &Value::from(""),
                    "must not be empty",
                ));
            }
        }
        if api_version == "v1" && text(owner, "kind") == "Event" {
            errors.push(FieldError::invalid_shown(
                &path,
                form::public("meta/v1.OwnerReference", owner),
                "/v1, Kind=Event is disallowed from being an owner",
            ));
        }
        if at(owner, "controller").as_bool() == Some(true) {
            let this = format!("{}/{}", text(owner, "kind"), text(owner, "name"));
            match &controller {
                None => controller = Some(this),
                Some(first) => errors.push(FieldError::invalid_shown(
                    &path,
                    shown_owners(owners),
                    format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}"
                    ),
                )),
            }
        }
    }
    errors
}

fn finalizers(meta: &Value) -> Vec<FieldError> {
    let path = Path::new("metadata.finalizers");
    let list = items(meta, "finalizers");
    let mut errors = Vec::new();
    for finalizer in list.iter().filter_map(Value::as_str) {
        errors.extend(wrong(&path, finalizer, format::qualified_name(finalizer)));
    }
    let has = |name| list.iter().any(|f| f == name);
    if has("orphan") && has("foregroundDeletion") {
        errors.push(FieldError::invalid(
            &path,
            at(meta, "finalizers"),
            "finalizer orphan and foregroundDeletion cannot be both set",
        ));
    }
    errors
}

fn standard_finalizers(meta: &Value) -> Vec<FieldError> {
    let path = Path::new("metadata.finalizers");
    let mut errors = Vec::new();
    for (index, finalizer) in items(meta, "finalizers").iter().enumerate() {
        let finalizer = finalizer.as_str().unwrap_or_default();
        if !finalizer.contains('/')
            && !matches!(finalizer, "kubernetes" | "orphan" | "foregroundDeletion")
        {
            errors.push(FieldError::invalid(
                &path.index(index),
                &Value::from(finalizer),
                "name is neither a standard finalizer name nor is it fully qualified",
            ));
        }
    }
    errors
}

/// What the server warns of about finalizers that a write adds to a custom object.
pub fn finalizer_warnings(resource: &Resource, new: &Value, old: Option<&Value>) -> Vec<String> {
    if !resource.custom {
        return Vec::new();
    }
    let before = old.map_or(&[][..], |old| items(old, "metadata.finalizers"));
    let added: BTreeSet<&str> = items(new, "metadata.finalizers")
        .iter()
        .filter(|finalizer| !before.contains(finalizer))
        .filter_map(Value::as_str)
        .collect();
    added
        .into_iter()
        .filter(|f| {
            !f.contains('/') && !matches!(*f, "kubernetes" | "orphan" | "foregroundDeletion")
        })
        .map(|f| {
            let path = if f.contains('.') { " including a path (/)" } else { "" };
            format!(
                "metadata.finalizers: {f:?}: prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other finalizer writers"
            )
        })
        .collect()
}

/// Drops owner references that say the same twice, and warns of them.
pub fn dedup_owners(object: &mut Value) -> Vec<String> {
    let Some(owners) =
        object.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut)
    else {
        return Vec::new();
    };
    let mut seen: Vec<Value> = Vec::new();
    let mut repeated: Vec<String> = Vec::new();
    owners.retain(|owner| {
        let fresh = !seen.contains(owner);
        if fresh {
            seen.push(owner.clone());
        } else {
            repeated.push(text(owner, "uid").to_owned());
        }
        fresh
    });
    if repeated.is_empty() {
        return Vec::new();
    }
    vec![format!(
        ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
        repeated.join(", ")
    )]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resource(group: &str, kind: &str) -> Resource {
        let custom = group == "ex.dev";
        let wanted = if custom { "ConfigMap" } else { kind };
        let found = crate::builtin::resources().iter().find(|r| r.kind == wanted).unwrap();
        let mut resource = Resource::clone(found);
        resource.custom = custom;
        resource
    }

    fn create(kind: &str, meta: &Value) -> Vec<String> {
        let object = json!({ "metadata": meta });
        validate_create(&resource("", kind), &object).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn names_by_kind() {
        assert_eq!(
            create("ConfigMap", &json!({"namespace": "t"})),
            ["metadata.name: Required value: name or generateName is required"]
        );
        assert_eq!(
            create("Namespace", &json!({"name": "a.b"})),
            ["metadata.name: Invalid value: \"a.b\": must not contain dots"]
        );
        assert_eq!(
            create("Service", &json!({"name": "a.b", "namespace": "t"})),
            ["metadata.name: Invalid value: \"a.b\": must not contain dots"]
        );
        assert!(create("Service", &json!({"name": "1bad", "namespace": "t"})).is_empty());
        assert_eq!(
            create("Role", &json!({"name": "a/b%", "namespace": "t"})),
            [
                "metadata.name: Invalid value: \"a/b%\": may not contain '/'",
                "metadata.name: Invalid value: \"a/b%\": may not contain '%'"
            ]
        );
        let generated = create(
            "ConfigMap",
            &json!({"generateName": "Bad_-", "name": "Bad_-x", "namespace": "t"}),
        );
        assert!(
            generated[0]
                .starts_with("metadata.generateName: Invalid value: \"Bad_-\": a lowercase")
        );
        assert!(generated[1].starts_with("metadata.name: Invalid value: \"Bad_-x\": a lowercase"));
        assert_eq!(
            create("Node", &json!({"name": "n", "namespace": "t"})),
            ["metadata.namespace: Forbidden: not allowed on this type"]
        );
    }

    #[test]
    fn owners_and_finalizers() {
        let owner = |kind: &str, name: &str| json!({"apiVersion": "v1", "kind": kind, "name": name, "uid": "u", "controller": true});
        assert_eq!(
            create(
                "ConfigMap",
                &json!({"name": "x", "namespace": "t", "ownerReferences": [owner("A", "x"), owner("B", "y")]})
            ),
            [
                "metadata.ownerReferences: Invalid value: [{\"apiVersion\":\"v1\",\"kind\":\"A\",\"name\":\"x\",\"uid\":\"u\",\"controller\":true},{\"apiVersion\":\"v1\",\"kind\":\"B\",\"name\":\"y\",\"uid\":\"u\",\"controller\":true}]: Only one reference can have Controller set to true. Found \"true\" in references for A/x and B/y"
            ]
        );
        assert_eq!(
            create(
                "ConfigMap",
                &json!({"name": "x", "namespace": "t", "ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "x", "uid": "u"}]})
            ),
            [
                "metadata.ownerReferences: Invalid value: {\"apiVersion\":\"v1\",\"kind\":\"Event\",\"name\":\"x\",\"uid\":\"u\"}: /v1, Kind=Event is disallowed from being an owner"
            ]
        );
        assert_eq!(
            create(
                "ConfigMap",
                &json!({"name": "x", "namespace": "t", "finalizers": ["bare", "orphan"]})
            ),
            [
                "metadata.finalizers[0]: Invalid value: \"bare\": name is neither a standard finalizer name nor is it fully qualified"
            ]
        );
        let custom = resource("ex.dev", "Widget");
        let object = json!({"metadata": {"name": "a", "namespace": "t", "finalizers": ["bare"]}});
        assert!(validate_create(&custom, &object).is_empty());
        assert_eq!(
            finalizer_warnings(&custom, &object, None),
            [
                "metadata.finalizers: \"bare\": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"
            ]
        );
    }

    #[test]
    fn a_fault_is_reported_once_by_each_check() {
        let old = json!({"metadata": {"name": "a", "namespace": "t", "uid": "u", "resourceVersion": "1"}});
        let mut labelled = old.clone();
        labelled["metadata"]["labels"] = json!({"x": "bad value!"});
        let mut other = old.clone();
        other["metadata"]["uid"] = json!("zz");
        for (kind, faults, uids) in [
            ("ConfigMap", 4, 2),
            ("Deployment", 3, 2),
            ("EndpointSlice", 3, 1),
            ("PodDisruptionBudget", 2, 1),
        ] {
            let resource = resource("", kind);
            assert_eq!(validate_update(&resource, &labelled, &old).len(), faults, "{kind}");
            assert_eq!(validate_update(&resource, &other, &old).len(), uids, "{kind}");
            assert!(validate_update(&resource, &old, &old).is_empty());
        }
    }

    #[test]
    fn no_new_finalizers_while_deleting() {
        let old = json!({"metadata": {"name": "a", "namespace": "t", "uid": "u", "resourceVersion": "1",
            "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["n.w/a"]}});
        let mut new = old.clone();
        new["metadata"]["finalizers"] = json!(["n.w/a", "n.w/q"]);
        let errors = validate_update(&resource("ex.dev", "Widget"), &new, &old);
        assert_eq!(
            errors[0].to_string(),
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{\"n.w/q\"}"
        );
        assert_eq!(errors.len(), 2);
    }

    #[test]
    fn annotations_have_a_size() {
        let big = "x".repeat(256 * 1024);
        assert_eq!(
            create("ConfigMap", &json!({"name": "a", "namespace": "t", "annotations": {"k": big}})),
            ["metadata.annotations: Too long: may not be more than 262144 bytes"]
        );
        assert!(
            create(
                "ConfigMap",
                &json!({"name": "a", "namespace": "t", "annotations": {"Ex.dev/K": "v"}})
            )
            .is_empty()
        );
    }

    #[test]
    fn equal_owners_are_merged_with_a_warning() {
        let owner = json!({"apiVersion": "v1", "kind": "A", "name": "x", "uid": "u1"});
        let mut object = json!({"metadata": {"ownerReferences": [owner, owner]}});
        assert_eq!(
            dedup_owners(&mut object),
            [
                ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: u1"
            ]
        );
        assert_eq!(object["metadata"]["ownerReferences"].as_array().unwrap().len(), 1);
        assert!(dedup_owners(&mut object).is_empty());
    }
}
