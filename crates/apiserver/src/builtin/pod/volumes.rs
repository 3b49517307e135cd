//! What is wrong with a pod's volumes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::env;
use super::vendors::{
    azure_disk, fibre_channel, flex, flocker, iscsi, quobyte, secret_ref, storageos,
};
use crate::builtin::claim;
use crate::builtin::format::{between, dns_label, dns_subdomain, invalid_each};
use crate::builtin::labels;
use crate::builtin::value::Fields as _;
use crate::fields::{FieldError, Path};
use crate::quantity::Quantity;

const MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";

/// The kinds of volumes, in the order in which a second one is noticed, with the name that is then said.
const SOURCES: [(&str, &str); 30] = [
    ("emptyDir", "emptyDir"),
    ("hostPath", "hostPath"),
    ("gitRepo", "gitRepo"),
    ("gcePersistentDisk", "gcePersistentDisk"),
    ("awsElasticBlockStore", "awsElasticBlockStore"),
    ("secret", "secret"),
    ("nfs", "nfs"),
    ("iscsi", "iscsi"),
    ("glusterfs", "glusterfs"),
    ("flocker", "flocker"),
    ("persistentVolumeClaim", "persistentVolumeClaim"),
    ("rbd", "rbd"),
    ("cinder", "cinder"),
    ("cephfs", "cephFS"),
    ("quobyte", "quobyte"),
    ("downwardAPI", "downwarAPI"),
    ("fc", "fc"),
    ("flexVolume", "flexVolume"),
    ("configMap", "configMap"),
    ("azureFile", "azureFile"),
    ("vsphereVolume", "vsphereVolume"),
    ("photonPersistentDisk", "photonPersistentDisk"),
    ("portworxVolume", "portworxVolume"),
    ("azureDisk", "azureDisk"),
    ("storageos", "storageos"),
    ("projected", "projected"),
    ("scaleIO", "scaleIO"),
    ("csi", "csi"),
    ("ephemeral", "ephemeral"),
    ("image", "image"),
];

/// Checks all volumes; also gives those that containers may mount, by name.
pub fn volumes<'a>(
    volumes: &'a [Value],
    pod: Option<&Value>,
    field: &Path,
    is_pod: bool,
) -> (BTreeMap<&'a str, &'a Value>, Vec<FieldError>) {
    let pod_name = pod.map(|meta| meta.text("name")).unwrap_or_default();
    let made: BTreeSet<String> = volumes
        .iter()
        .filter(|v| !pod_name.is_empty() && v.part("ephemeral").is_some())
        .map(|v| format!("{pod_name}-{}", v.text("name")))
        .collect();
    let mut good = BTreeMap::new();
    let mut wrong = Vec::new();
    for (index, volume) in volumes.iter().enumerate() {
        let field = field.index(index);
        let name = volume.text("name");
        let mut own = source(volume, &field, pod_name, is_pod);
        let at = field.child("name");
        if name.is_empty() {
            own.push(FieldError::required(&at, ""));
        } else {
            own.extend(invalid_each(&at, name, dns_label(name)));
        }
        if good.contains_key(name) {
            own.push(FieldError::duplicate(&at, &Value::from(name)));
        }
        if own.is_empty() {
            good.insert(name, volume);
        } else {
            wrong.extend(own);
        }
        if let Some(claim) = volume.part("persistentVolumeClaim")
            && made.contains(claim.text("claimName"))
        {
            wrong.push(FieldError::invalid(
                &field.child("persistentVolumeClaim").child("claimName"),
                claim.get_or_null("claimName"),
                "must not reference a PVC that gets created for an ephemeral volume",
            ));
        }
    }
    (good, wrong)
}

fn source(volume: &Value, field: &Path, pod_name: &str, is_pod: bool) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let mut found = false;
    for (key, said) in SOURCES {
        let Some(source) = volume.part(key) else { continue };
        if found {
            wrong.push(FieldError::forbidden(
                &field.child(said),
                "may not specify more than 1 volume type",
            ));
        } else {
            found = true;
            let name = volume.text("name");
            wrong.extend(one_source(key, source, field, name, pod_name, is_pod));
        }
        if key == "iscsi"
            && source.part("initiatorName").is_some()
            && volume.text("name").len() + 1 + source.text("targetPortal").len() > 64
        {
            wrong.push(FieldError::invalid(
                &field.child("name"),
                volume.get_or_null("name"),
                "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.",
            ));
        }
    }
    if !found {
        wrong.push(FieldError::required(field, "must specify a volume type"));
    }
    wrong
}

fn one_source(
    key: &str,
    source: &Value,
    volume: &Path,
    name: &str,
    pod_name: &str,
    is_pod: bool,
) -> Vec<FieldError> {
    let field = &volume.child(if key == "gcePersistentDisk" { "persistentDisk" } else { key });
    match key {
        "emptyDir" => {
            let negative = source
                .part("sizeLimit")
                .and_then(Quantity::read)
                .is_some_and(|limit| limit.is_negative());
            if negative {
                vec![FieldError::forbidden(
                    &field.child("sizeLimit"),
                    "SizeLimit field must be a valid resource quantity",
                )]
            } else {
                Vec::new()
            }
        }
        "hostPath" => host_path(source, field),
        "gitRepo" => {
            let mut wrong = required(source, field, &["repository"]);
            wrong.extend(descending_path(source.text("directory"), &field.child("directory")));
            wrong
        }
        "gcePersistentDisk" => partitioned(source, field, "pdName"),
        "awsElasticBlockStore" => partitioned(source, field, "volumeID"),
        "secret" => keyed(source, field, "secretName"),
        "configMap" => keyed(source, field, "name"),
        "nfs" => {
            let mut wrong = required(source, field, &["server", "path"]);
            if !source.text("path").starts_with('/') {
                wrong.push(FieldError::invalid(
                    &field.child("path"),
                    &Value::from(source.text("path")),
                    "must be an absolute path",
                ));
            }
            wrong
        }
        "iscsi" => iscsi(source, field),
        "glusterfs" => required(source, field, &["endpoints", "path"]),
        "flocker" => flocker(source, field),
        "persistentVolumeClaim" => required(source, field, &["claimName"]),
        "rbd" => {
            let mut wrong = Vec::new();
            if source.list("monitors").is_empty() {
                wrong.push(FieldError::required(&field.child("monitors"), ""));
            }
            wrong.extend(required(source, field, &["image"]));
            wrong
        }
        "cinder" => {
            let mut wrong = required(source, field, &["volumeID"]);
            wrong.extend(secret_ref(source, field));
            wrong
        }
        "cephfs" => {
            if source.list("monitors").is_empty() {
                vec![FieldError::required(&field.child("monitors"), "")]
            } else {
                Vec::new()
            }
        }
        "quobyte" => quobyte(source, field),
        "downwardAPI" => {
            let mut wrong = mode(source, field, "defaultMode");
            for item in source.list("items") {
                wrong.extend(downward_file(item, field));
            }
            wrong
        }
        "fc" => fibre_channel(source, field),
        "flexVolume" => flex(source, field),
        "azureFile" => required(source, field, &["secretName", "shareName"]),
        "vsphereVolume" => required(source, field, &["volumePath"]),
        "photonPersistentDisk" => required(source, field, &["pdID"]),
        "portworxVolume" => required(source, field, &["volumeID"]),
        "azureDisk" => azure_disk(source, field),
        "storageos" => storageos(source, field),
        "projected" => {
            let mut wrong = mode(source, field, "defaultMode");
            wrong.extend(super::projected::sources(source, field));
            wrong
        }
        "scaleIO" => required(source, field, &["gateway", "system", "volumeName"]),
        "csi" => csi(source, field),
        "ephemeral" => ephemeral(source, volume, name, pod_name),
        "image" => {
            let mut wrong = Vec::new();
            if is_pod && source.text("reference").is_empty() {
                wrong.push(FieldError::required(&field.child("reference"), ""));
            }
            wrong.extend(super::container::pull_policy(
                source.text("pullPolicy"),
                &field.child("pullPolicy"),
            ));
            wrong
        }
        _ => Vec::new(),
    }
}

/// `Required value` for each text field that is empty.
pub fn required(source: &Value, field: &Path, keys: &[&str]) -> Vec<FieldError> {
    keys.iter()
        .filter(|key| source.text(key).is_empty())
        .map(|key| FieldError::required(&field.child(key), ""))
        .collect()
}

fn host_path(source: &Value, field: &Path) -> Vec<FieldError> {
    let path = source.text("path");
    if path.is_empty() {
        return vec![FieldError::required(&field.child("path"), "")];
    }
    let mut wrong = no_backsteps(path, &field.child("path"));
    let types = [
        "",
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    ];
    if let Some(kind) = source.text_opt("type")
        && !types.contains(&kind)
    {
        wrong.push(FieldError::not_supported(&field.child("type"), &Value::from(kind), &types));
    }
    wrong
}

fn partitioned(source: &Value, field: &Path, id: &str) -> Vec<FieldError> {
    let mut wrong = required(source, field, &[id]);
    let partition = source.int("partition");
    if !(0..=255).contains(&partition) {
        wrong.push(FieldError::invalid(
            &field.child("partition"),
            &Value::from(partition),
            between(1, 255),
        ));
    }
    wrong
}

/// A mode of files that is none.
pub fn mode(source: &Value, field: &Path, key: &str) -> Vec<FieldError> {
    match source.int_opt(key) {
        Some(mode) if !(0..=0o777).contains(&mode) => {
            vec![FieldError::invalid(&field.child(key), &Value::from(mode), MODE)]
        }
        _ => Vec::new(),
    }
}

fn keyed(source: &Value, field: &Path, name: &str) -> Vec<FieldError> {
    let mut wrong = required(source, field, &[name]);
    wrong.extend(mode(source, field, "defaultMode"));
    for (index, item) in source.list("items").iter().enumerate() {
        wrong.extend(key_to_path(item, &field.child("items").index(index)));
    }
    wrong
}

/// One key and the file it becomes.
pub fn key_to_path(item: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = required(item, field, &["key", "path"]);
    wrong.extend(local_path(item.text("path"), &field.child("path")));
    wrong.extend(mode(item, field, "mode"));
    wrong
}

fn csi(source: &Value, field: &Path) -> Vec<FieldError> {
    let driver = source.text("driver");
    let at = field.child("driver");
    let mut wrong = Vec::new();
    if driver.is_empty() {
        wrong.push(FieldError::required(&at, ""));
    } else {
        if driver.len() > 63 {
            wrong.push(FieldError::too_long(&at, 63));
        }
        wrong.extend(invalid_each(&at, driver, dns_subdomain(&driver.to_lowercase())));
    }
    if let Some(secret) = source.part("nodePublishSecretRef") {
        let name = secret.text("name");
        if name.is_empty() {
            wrong
                .push(FieldError::required(&field.child("nodePublishSecretRef").child("name"), ""));
        } else {
            wrong.extend(invalid_each(&field.child("name"), name, dns_subdomain(name)));
        }
    }
    wrong
}

fn ephemeral(source: &Value, volume: &Path, name: &str, pod_name: &str) -> Vec<FieldError> {
    let field = volume.child("ephemeral").child("volumeClaimTemplate");
    let mut wrong = Vec::new();
    match source.part("volumeClaimTemplate") {
        None => wrong.push(FieldError::required(&field, "")),
        Some(template) => {
            let meta = template.get_or_null("metadata");
            let at = field.child("metadata");
            wrong.extend(labels::annotations(
                meta.get_or_null("annotations"),
                &at.child("annotations"),
            ));
            wrong.extend(labels::labels(meta.get_or_null("labels"), &at.child("labels")));
            for key in meta.as_object().into_iter().flat_map(|m| m.keys()) {
                if !matches!(key.as_str(), "annotations" | "labels") {
                    let said = if key == "uid" { "uID" } else { key };
                    wrong.push(FieldError::forbidden(&at.child(said), "cannot be set"));
                }
            }
            wrong.extend(claim::validate_spec(template.get_or_null("spec"), &field.child("spec")));
        }
    }
    if !pod_name.is_empty() && !name.is_empty() {
        let claim = format!("{pod_name}-{name}");
        for message in dns_subdomain(&claim) {
            wrong.push(FieldError::invalid(
                &volume.child("name"),
                &Value::from(name),
                format!("PVC name {claim:?}: {message}"),
            ));
        }
    }
    wrong
}

/// One file of a downward API volume.
pub fn downward_file(file: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = required(file, field, &["path"]);
    wrong.extend(local_path(file.text("path"), &field.child("path")));
    match (file.part("fieldRef"), file.part("resourceFieldRef")) {
        (Some(reference), other) => {
            wrong.extend(env::object_field(
                reference,
                &env::VOLUME_FIELDS,
                &field.child("fieldRef"),
            ));
            if other.is_some() {
                wrong.push(FieldError::invalid(
                    field,
                    &Value::from("resource"),
                    "fieldRef and resourceFieldRef can not be specified simultaneously",
                ));
            }
        }
        (None, Some(reference)) => {
            wrong.extend(env::resource_field(reference, &field.child("resourceFieldRef"), true));
        }
        (None, None) => wrong
            .push(FieldError::required(field, "one of fieldRef and resourceFieldRef is required")),
    }
    wrong.extend(mode(file, field, "mode"));
    wrong
}

/// A path below some folder.
pub fn descending_path(path: &str, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    if path.starts_with('/') {
        wrong.push(FieldError::invalid(field, &Value::from(path), "must be a relative path"));
    }
    wrong.extend(no_backsteps(path, field));
    wrong
}

/// A path that does not climb.
pub fn no_backsteps(path: &str, field: &Path) -> Vec<FieldError> {
    if path.split('/').any(|part| part == "..") {
        vec![FieldError::invalid(field, &Value::from(path), "must not contain '..'")]
    } else {
        Vec::new()
    }
}

/// A path below some folder that does not look like one of the kubelet's own.
pub fn local_path(path: &str, field: &Path) -> Vec<FieldError> {
    let mut wrong = descending_path(path, field);
    if path.starts_with("..") && !path.starts_with("../") {
        wrong.push(FieldError::invalid(field, &Value::from(path), "must not start with '..'"));
    }
    wrong
}
