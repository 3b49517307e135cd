//! PersistentVolume.

use serde_json::{Map, Value, json};

use super::claim::{VOLUME_MODES, access_modes};
use super::view::{
    at, default, fields, has, immutable, items, number, object, one_of, restore, take, text, wrong,
};
use super::{Strategy, form, format};
use crate::fields::{FieldError, Path};
use crate::quantity::Quantity;

/// The rules of PersistentVolume.
pub const VOLUME: Strategy = Strategy {
    defaults: |volume| {
        form::settle("v1", "PersistentVolume", volume);
        default(volume, "status", "phase", "Pending");
        default(volume, "spec", "persistentVolumeReclaimPolicy", "Retain");
        default(volume, "spec", "volumeMode", "Filesystem");
        if has(volume, "spec.hostPath") {
            // An empty type is a type: no check.
            let path = object(volume, "spec.hostPath");
            path.entry("type").or_insert(json!(""));
        }
        for (source, field, value) in [
            ("iscsi", "iscsiInterface", "default"),
            ("rbd", "pool", "rbd"),
            ("rbd", "user", "admin"),
            ("rbd", "keyring", "/etc/ceph/keyring"),
            ("scaleIO", "storageMode", "ThinProvisioned"),
            ("scaleIO", "fsType", "xfs"),
            ("azureDisk", "cachingMode", "ReadWrite"),
            ("azureDisk", "kind", "Shared"),
            ("azureDisk", "fsType", "ext4"),
        ] {
            let path = format!("spec.{source}");
            if has(volume, &path) {
                default(volume, &path, field, value);
            }
        }
    },
    prepare_create: |volume| {
        let mut status = json!({ "phase": "Pending" });
        if has(volume, "metadata.creationTimestamp") {
            status["lastPhaseTransitionTime"] = at(volume, "metadata.creationTimestamp").clone();
        }
        object(volume, "").insert("status".into(), status);
    },
    prepare_update: |new, old| restore(new, old, "status"),
    validate: |volume| validate_spec(at(volume, "spec"), &Path::new("spec"), false),
    validate_update,
    ..Strategy::PLAIN
};

/// Where a volume's bytes may be, in the order in which the server looks.
const SOURCES: &[&str] = &[
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

/// What is wrong with the spec of a volume, or of one inside an attachment (`inline`).
pub(super) fn validate_spec(spec: &Value, path: &Path, inline: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if inline {
        errors.extend(inline_errors(spec, path));
    }
    let modes = items(spec, "accessModes");
    if modes.is_empty() {
        errors.push(FieldError::required(&path.child("accessModes"), ""));
    }
    errors.extend(access_modes(modes, path));
    if !inline {
        errors.extend(capacity(spec, &path.child("capacity")));
        let policy = text(spec, "persistentVolumeReclaimPolicy");
        if !policy.is_empty() {
            errors.extend(one_of(
                &path.child("persistentVolumeReclaimPolicy"),
                policy,
                &["Delete", "Recycle", "Retain"],
            ));
        }
        if has(spec, "nodeAffinity") {
            errors.extend(node_affinity(at(spec, "nodeAffinity"), &path.child("nodeAffinity")));
        }
    }
    errors.extend(sources(spec, path));
    if text(spec, "hostPath.path").trim_end_matches('/').is_empty()
        && has(spec, "hostPath")
        && text(spec, "persistentVolumeReclaimPolicy") == "Recycle"
    {
        errors.push(FieldError::forbidden(
            &path.child("persistentVolumeReclaimPolicy"),
            "may not be 'recycle' for a hostPath mount of '/'",
        ));
    }
    if !inline {
        let class = text(spec, "storageClassName");
        if !class.is_empty() {
            errors.extend(wrong(
                &path.child("storageClassName"),
                class,
                format::dns_subdomain(class),
            ));
        }
        if has(spec, "volumeMode") {
            errors.extend(one_of(
                &path.child("volumeMode"),
                text(spec, "volumeMode"),
                VOLUME_MODES,
            ));
        }
    }
    if has(spec, "volumeAttributesClassName") {
        let (class, class_path) =
            (text(spec, "volumeAttributesClassName"), path.child("volumeAttributesClassName"));
        if class.is_empty() {
            errors.push(FieldError::required(&class_path, "an empty string is disallowed"));
        } else {
            errors.extend(wrong(&class_path, class, format::dns_subdomain(class)));
        }
        if !has(spec, "csi") {
            errors.push(FieldError::required(
                &path.child("csi"),
                "has to be specified when using volumeAttributesClassName",
            ));
        }
    }
    errors
}

fn inline_errors(spec: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for field in ["claimRef", "capacity"] {
        if has(spec, field) {
            errors.push(FieldError::forbidden(
                &path.child(field),
                "may not be specified in the context of inline volumes",
            ));
        }
    }
    if !has(spec, "csi") {
        errors.push(FieldError::required(
            &path.child("csi"),
            "has to be specified in the context of inline volumes",
        ));
    }
    errors
}

fn capacity(spec: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let count = fields(spec, "capacity").count();
    if count == 0 {
        errors.push(FieldError::required(path, ""));
    }
    if at(spec, "capacity").get("storage").is_none() || count > 1 {
        errors.push(FieldError::not_supported(path, at(spec, "capacity"), &["storage"]));
    }
    for (name, value) in fields(spec, "capacity") {
        let path = path.key(name);
        let Some(amount) = Quantity::read(value) else { continue };
        if amount.is_negative() {
            errors.push(FieldError::invalid_shown(
                &path,
                amount.value().to_string(),
                "must be a valid resource quantity",
            ));
        }
        if amount.is_negative() || amount.is_zero() {
            errors.push(FieldError::invalid(&path, value, "must be greater than zero"));
        }
    }
    errors
}

fn sources(spec: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut seen = false;
    for name in SOURCES.iter().filter(|name| has(spec, name)) {
        let source = at(spec, name);
        if seen && *name != "flexVolume" {
            let name = if *name == "cephfs" { "cephFS" } else { name };
            errors.push(FieldError::forbidden(
                &path.child(name),
                "may not specify more than 1 volume type",
            ));
            continue;
        }
        seen = true;
        errors.extend(source_errors(name, source, &path.child(name)));
        if *name == "local" && !has(spec, "nodeAffinity") {
            errors.push(FieldError::required(
                &path.child("nodeAffinity"),
                "Local volume requires node affinity",
            ));
        }
    }
    if !seen {
        errors.push(FieldError::required(path, "must specify a volume type"));
    }
    errors
}

fn source_errors(name: &str, source: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut required = |names: &[&str]| {
        for name in names.iter().filter(|name| text(source, name).is_empty()) {
            errors.push(FieldError::required(&path.child(name), ""));
        }
    };
    match name {
        "hostPath" | "local" => {
            let place = text(source, "path");
            required(&["path"]);
            if place.split('/').any(|part| part == "..") {
                errors.extend(wrong(
                    &path.child("path"),
                    place,
                    vec!["must not contain '..'".into()],
                ));
            }
            let kind = text(source, "type");
            if name == "hostPath" && !kind.is_empty() {
                errors.extend(one_of(
                    &path.child("type"),
                    kind,
                    &[
                        "",
                        "BlockDevice",
                        "CharDevice",
                        "Directory",
                        "DirectoryOrCreate",
                        "File",
                        "FileOrCreate",
                        "Socket",
                    ],
                ));
            }
        }
        "nfs" => {
            required(&["server", "path"]);
            let place = text(source, "path");
            if !place.starts_with('/') {
                errors.extend(wrong(
                    &path.child("path"),
                    place,
                    vec!["must be an absolute path".into()],
                ));
            }
        }
        "csi" => {
            errors.extend(driver_name(text(source, "driver"), &path.child("driver")));
            if text(source, "volumeHandle").is_empty() {
                errors.push(FieldError::required(&path.child("volumeHandle"), ""));
            }
            for secret in [
                "controllerPublishSecretRef",
                "controllerExpandSecretRef",
                "nodePublishSecretRef",
                "nodeExpandSecretRef",
            ] {
                if has(source, secret) {
                    for field in ["name", "namespace"] {
                        if text(source, &format!("{secret}.{field}")).is_empty() {
                            errors.push(FieldError::required(&path.child(secret).child(field), ""));
                        }
                    }
                }
            }
        }
        "glusterfs" => required(&["endpoints", "path"]),
        "flexVolume" => required(&["driver"]),
        "gcePersistentDisk" => required(&["pdName"]),
        "awsElasticBlockStore" | "cinder" | "portworxVolume" => required(&["volumeID"]),
        "azureFile" => required(&["secretName", "shareName"]),
        "azureDisk" => required(&["diskName", "diskURI"]),
        "vsphereVolume" => required(&["volumePath"]),
        "photonPersistentDisk" => required(&["pdID"]),
        "quobyte" => required(&["registry", "volume"]),
        "scaleIO" => required(&["gateway", "system", "volumeName"]),
        "rbd" => required(&["image"]),
        "iscsi" => {
            required(&["targetPortal", "iqn"]);
            let lun = number(source, "lun").unwrap_or_default();
            if !(0..=255).contains(&lun) {
                errors.push(FieldError::invalid(
                    &path.child("lun"),
                    &json!(lun),
                    format::between(0, 255),
                ));
            }
        }
        _ => {}
    }
    errors
}

/// What is wrong with the name of a CSI driver.
pub(super) fn driver_name(name: &str, path: &Path) -> Vec<FieldError> {
    if name.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let mut errors = Vec::new();
    if name.len() > 63 {
        errors.push(FieldError::too_long(path, 63));
    }
    errors.extend(wrong(path, name, format::dns_subdomain(&name.to_lowercase())));
    errors
}

fn node_affinity(affinity: &Value, path: &Path) -> Vec<FieldError> {
    let path = path.child("required");
    if !has(affinity, "required") {
        return vec![FieldError::required(&path, "must specify required node constraints")];
    }
    node_selector(at(affinity, "required"), &path)
}

/// What is wrong with a selector of nodes.
pub(super) fn node_selector(selector: &Value, path: &Path) -> Vec<FieldError> {
    let path = path.child("nodeSelectorTerms");
    let terms = items(selector, "nodeSelectorTerms");
    let mut errors = Vec::new();
    if terms.is_empty() {
        errors.push(FieldError::required(&path, "must have at least one node selector term"));
    }
    for (index, term) in terms.iter().enumerate() {
        for (at_rule, rule) in items(term, "matchExpressions").iter().enumerate() {
            let path = path.index(index).child("matchExpressions").index(at_rule);
            let values = items(rule, "values");
            match text(rule, "operator") {
                "In" | "NotIn" if values.is_empty() => errors.push(FieldError::required(
                    &path.child("values"),
                    "must be specified when `operator` is 'In' or 'NotIn'",
                )),
                "Exists" | "DoesNotExist" if !values.is_empty() => {
                    errors.push(FieldError::forbidden(
                        &path.child("values"),
                        "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                    ));
                }
                "Gt" | "Lt" if values.len() != 1 => errors.push(FieldError::required(
                    &path.child("values"),
                    "must be specified single value when `operator` is 'Lt' or 'Gt'",
                )),
                "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
                other => errors.extend(wrong(
                    &path.child("operator"),
                    other,
                    vec!["not a valid selector operator".into()],
                )),
            }
            let key = text(rule, "key");
            errors.extend(wrong(&path.child("key"), key, format::qualified_name(key)));
            for (index, value) in values.iter().enumerate() {
                let value = value.as_str().unwrap_or_default();
                errors.extend(wrong(
                    &path.child("values").index(index),
                    value,
                    format::label_value(value),
                ));
            }
        }
    }
    errors
}

/// The part of a spec that says where the bytes are.
fn source_of(spec: &Value) -> Value {
    let held: Map<String, Value> = SOURCES
        .iter()
        .filter(|name| has(spec, name))
        .map(|name| ((*name).to_owned(), at(spec, name).clone()))
        .collect();
    Value::Object(held)
}

fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    // The server validates a changed volume twice, and says so twice.
    let mut errors = validate_spec(at(new, "spec"), &Path::new("spec"), false);
    let (mut after, before) = (source_of(at(new, "spec")), source_of(at(old, "spec")));
    if has(&before, "csi") && !has(&before, "csi.controllerExpandSecretRef") {
        take(&mut after, "csi.controllerExpandSecretRef");
    }
    if after != before {
        errors.push(FieldError::forbidden(
            &Path::new("spec.persistentvolumesource"),
            format!(
                "spec.persistentvolumesource is immutable after creation\n{}",
                form::unified("core.PersistentVolumeSource", &before, &after)
            ),
        ));
    }
    errors.extend(immutable(
        &Path::new("volumeMode"),
        at(new, "spec.volumeMode"),
        at(old, "spec.volumeMode"),
    ));
    let affinity = at(new, "spec.nodeAffinity");
    if has(old, "spec.nodeAffinity") && affinity != at(old, "spec.nodeAffinity") {
        let shown = if affinity.is_null() {
            "null".to_owned()
        } else {
            form::internal("core.VolumeNodeAffinity", affinity)
        };
        errors.push(FieldError::invalid_shown(
            &Path::new("nodeAffinity"),
            shown,
            "field is immutable, except for updating from beta label to GA",
        ));
    }
    if has(old, "spec.volumeAttributesClassName") && !has(new, "spec.volumeAttributesClassName") {
        errors.push(FieldError::forbidden(
            &Path::new("spec.volumeAttributesClassName"),
            "update from non-nil value to nil is forbidden",
        ));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume() -> Value {
        let mut volume = json!({"metadata": {"name": "v"}, "spec": {"accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"}, "csi": {"driver": "ex.dev", "volumeHandle": "h"}}});
        (VOLUME.defaults)(&mut volume);
        volume
    }

    fn said(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn defaults() {
        assert_eq!(volume()["spec"]["persistentVolumeReclaimPolicy"], "Retain");
        assert_eq!(volume()["spec"]["volumeMode"], "Filesystem");
        assert!((VOLUME.validate)(&volume()).is_empty());
    }

    #[test]
    fn the_source_cannot_change_but_gain_a_secret() {
        let old = volume();
        let mut new = old.clone();
        new["spec"]["csi"]["controllerExpandSecretRef"] = json!({"name": "s", "namespace": "n"});
        assert!(validate_update(&new, &old).is_empty());
        new["spec"]["csi"]["volumeHandle"] = json!("other");
        let said = said(&validate_update(&new, &old));
        assert!(said[0].starts_with(
            "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n@@ -"
        ));
        assert!(
            said[0].contains("-  \"VolumeHandle\": \"h\",\n+  \"VolumeHandle\": \"other\",\n"),
            "{}",
            said[0]
        );
    }

    #[test]
    fn other_changes() {
        let mut old = volume();
        let mut new = old.clone();
        new["spec"]["capacity"]["storage"] = json!("2Gi");
        new["spec"]["persistentVolumeReclaimPolicy"] = json!("Delete");
        new["spec"]["storageClassName"] = json!("other");
        assert!(validate_update(&new, &old).is_empty());
        new["spec"]["volumeMode"] = json!("Block");
        assert_eq!(
            said(&validate_update(&new, &old)),
            ["volumeMode: Invalid value: \"Block\": field is immutable"]
        );
        old["spec"]["volumeAttributesClassName"] = json!("gold");
        new["spec"]["volumeMode"] = json!("Filesystem");
        assert_eq!(
            said(&validate_update(&new, &old)),
            [
                "spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is forbidden"
            ]
        );
    }

    #[test]
    fn faults() {
        assert_eq!(
            said(&validate_spec(&json!({}), &Path::new("spec"), false)),
            [
                "spec.accessModes: Required value",
                "spec.capacity: Required value",
                "spec.capacity: Unsupported value: null: supported values: \"storage\"",
                "spec: Required value: must specify a volume type",
            ]
        );
        assert_eq!(
            said(&validate_spec(
                &json!({"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "local": {"path": "/a/../b"}, "csi": {}}),
                &Path::new("spec"),
                false
            )),
            [
                "spec.local.path: Invalid value: \"/a/../b\": must not contain '..'",
                "spec.nodeAffinity: Required value: Local volume requires node affinity",
                "spec.csi: Forbidden: may not specify more than 1 volume type",
            ]
        );
    }
}
