//! The kinds of storage.k8s.io.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::labels::selector;
use super::view::{
    at, default, fields, has, immutable, items, number, one_of, restore, take, text, wrong,
};
use super::volume::{driver_name, validate_spec};
use super::{Generation, Strategy, form, format};
use crate::fields::{FieldError, Path};
use crate::quantity::Quantity;

const V1: &str = "storage.k8s.io/v1";
const PARAMETERS_LIMIT: usize = 512;
const SIZE_LIMIT: usize = 256 * 1024;

/// The rules of StorageClass.
pub const STORAGE_CLASS: Strategy = Strategy {
    defaults: |class| {
        form::settle(V1, "StorageClass", class);
        default(class, "", "reclaimPolicy", "Delete");
        default(class, "", "volumeBindingMode", "Immediate");
    },
    validate: validate_class,
    validate_update: |new, old| {
        let mut errors = Vec::new();
        for field in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
            errors.extend(immutable(&Path::new(field), at(new, field), at(old, field)));
        }
        errors
    },
    ..Strategy::PLAIN
};

/// The rules of VolumeAttributesClass.
pub const VOLUME_ATTRIBUTES_CLASS: Strategy = Strategy {
    defaults: |class| form::settle(V1, "VolumeAttributesClass", class),
    validate: |class| {
        let mut errors = provisioner(text(class, "driverName"), &Path::new("driverName"));
        errors.extend(parameters(class, false));
        errors
    },
    validate_update: |new, old| {
        let mut errors = Vec::new();
        for field in ["driverName", "parameters"] {
            if at(new, field) != at(old, field) {
                errors.push(FieldError::forbidden(
                    &Path::new(field),
                    format!("updates to {field} are forbidden."),
                ));
            }
        }
        errors.extend((VOLUME_ATTRIBUTES_CLASS.validate)(new));
        errors
    },
    revalidate: false,
    ..Strategy::PLAIN
};

/// The rules of CSIDriver.
pub const CSI_DRIVER: Strategy = Strategy {
    defaults: |driver| {
        form::settle(V1, "CSIDriver", driver);
        default(driver, "spec", "attachRequired", true);
        default(driver, "spec", "podInfoOnMount", false);
        default(driver, "spec", "storageCapacity", false);
        default(driver, "spec", "fsGroupPolicy", "ReadWriteOnceWithFSType");
        if items(driver, "spec.volumeLifecycleModes").is_empty() {
            default(driver, "spec", "volumeLifecycleModes", json!(["Persistent"]));
        }
        default(driver, "spec", "requiresRepublish", false);
        default(driver, "spec", "seLinuxMount", false);
    },
    validate: validate_driver,
    validate_update: |new, old| {
        let mut errors = immutable(
            &Path::new("spec.attachedRequired"),
            at(new, "spec.attachRequired"),
            at(old, "spec.attachRequired"),
        );
        errors.extend(immutable(
            &Path::new("spec.volumeLifecycleModes"),
            at(new, "spec.volumeLifecycleModes"),
            at(old, "spec.volumeLifecycleModes"),
        ));
        errors
    },
    unconditional_update: false,
    generation: Generation::SpecOnceChanged,
    warnings: |driver, _| {
        if items(driver, "spec.tokenRequests").is_empty()
            || has(driver, "spec.serviceAccountTokenInSecrets")
        {
            return Vec::new();
        }
        vec![
            "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes".into(),
        ]
    },
    ..Strategy::PLAIN
};

/// The rules of CSINode.
pub const CSI_NODE: Strategy = Strategy {
    defaults: |node| form::settle(V1, "CSINode", node),
    validate: validate_node,
    validate_update: |new, old| {
        let bare = |driver: &Value| {
            let mut driver = driver.clone();
            take(&mut driver, "allocatable");
            driver
        };
        let mut errors = Vec::new();
        for before in items(old, "spec.drivers") {
            for after in items(new, "spec.drivers") {
                let (after, before) = (bare(after), bare(before));
                if text(&after, "name") == text(&before, "name") && after != before {
                    errors.push(FieldError::invalid_shown(
                        &Path::new("spec.drivers"),
                        form::internal("storage.CSINodeDriver", &after),
                        "field is immutable",
                    ));
                }
            }
        }
        errors
    },
    unconditional_update: false,
    ..Strategy::PLAIN
};

/// The rules of CSIStorageCapacity.
pub const CSI_STORAGE_CAPACITY: Strategy = Strategy {
    defaults: |capacity| form::settle(V1, "CSIStorageCapacity", capacity),
    validate: |capacity| {
        let mut errors = Vec::new();
        if has(capacity, "nodeTopology") {
            errors.extend(selector(Some(at(capacity, "nodeTopology")), &Path::new("nodeTopology")));
        }
        let class = text(capacity, "storageClassName");
        errors.extend(wrong(&Path::new("storageClassName"), class, format::dns_subdomain(class)));
        if Quantity::read(at(capacity, "capacity")).is_some_and(|q| q.is_negative()) {
            errors.push(FieldError::invalid(
                &Path::new("capacity"),
                at(capacity, "capacity"),
                "must be greater than or equal to 0",
            ));
        }
        errors
    },
    validate_update: |new, old| {
        let mut errors = Vec::new();
        if at(new, "nodeTopology") != at(old, "nodeTopology") {
            let topology = at(new, "nodeTopology");
            let shown = if topology.is_null() {
                "null".to_owned()
            } else {
                form::public("meta/v1.LabelSelector", topology)
            };
            errors.push(FieldError::invalid_shown(
                &Path::new("nodeTopology"),
                shown,
                "field is immutable",
            ));
        }
        errors.extend(immutable(
            &Path::new("storageClassName"),
            at(new, "storageClassName"),
            at(old, "storageClassName"),
        ));
        errors
    },
    unconditional_update: false,
    ..Strategy::PLAIN
};

/// The rules of VolumeAttachment.
pub const VOLUME_ATTACHMENT: Strategy = Strategy {
    defaults: |attachment| form::settle(V1, "VolumeAttachment", attachment),
    prepare_create: |attachment| {
        take(attachment, "status");
        form::settle(V1, "VolumeAttachment", attachment);
    },
    prepare_update: |new, old| restore(new, old, "status"),
    validate: validate_attachment,
    validate_update: |new, old| {
        if at(new, "spec") == at(old, "spec") {
            return Vec::new();
        }
        vec![FieldError::invalid_shown(
            &Path::new("spec"),
            form::internal("storage.VolumeAttachmentSpec", at(new, "spec")),
            "field is immutable",
        )]
    },
    unconditional_update: false,
    ..Strategy::PLAIN
};

fn provisioner(name: &str, path: &Path) -> Vec<FieldError> {
    if name.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let lower = name.to_lowercase();
    wrong(path, &lower, format::qualified_name(&lower))
}

fn parameters(class: &Value, may_be_empty: bool) -> Vec<FieldError> {
    let path = Path::new("parameters");
    let mut errors = Vec::new();
    let (mut count, mut size) = (0, 0);
    for (key, value) in fields(class, "parameters") {
        count += 1;
        size += key.len() + value.as_str().map_or(0, str::len);
        if key.is_empty() {
            errors.push(FieldError::invalid(&path, &json!(""), "field can not be empty."));
        }
    }
    if count > PARAMETERS_LIMIT {
        errors.insert(0, FieldError::too_long(&path, PARAMETERS_LIMIT));
    }
    if size > SIZE_LIMIT {
        errors.push(FieldError::too_long(&path, SIZE_LIMIT));
    }
    if count == 0 && !may_be_empty {
        errors.push(FieldError::required(&path, "must contain at least one key/value pair"));
    }
    errors
}

fn validate_class(class: &Value) -> Vec<FieldError> {
    let mut errors = provisioner(text(class, "provisioner"), &Path::new("provisioner"));
    errors.extend(parameters(class, true));
    errors.extend(one_of(
        &Path::new("reclaimPolicy"),
        text(class, "reclaimPolicy"),
        &["Delete", "Retain"],
    ));
    errors.extend(one_of(
        &Path::new("volumeBindingMode"),
        text(class, "volumeBindingMode"),
        &["Immediate", "WaitForFirstConsumer"],
    ));
    errors.extend(topologies(class));
    errors
}

fn topologies(class: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut terms: Vec<Vec<(String, BTreeSet<String>)>> = Vec::new();
    for (index, term) in items(class, "allowedTopologies").iter().enumerate() {
        let path = Path::new("allowedTopologies").index(index).child("matchLabelExpressions");
        let mut keys: Vec<(String, BTreeSet<String>)> = Vec::new();
        for (at_rule, rule) in items(term, "matchLabelExpressions").iter().enumerate() {
            let path = path.index(at_rule);
            let (key, values) = (text(rule, "key"), items(rule, "values"));
            if values.is_empty() {
                errors.push(FieldError::required(&path.child("values"), ""));
            }
            errors.extend(wrong(&path.child("key"), key, format::qualified_name(key)));
            if keys.iter().any(|(seen, _)| seen == key) {
                errors.push(FieldError::duplicate(&path.child("key"), &json!(key)));
            }
            let mut set = BTreeSet::new();
            for (at_value, value) in values.iter().filter_map(Value::as_str).enumerate() {
                if !set.insert(value.to_owned()) {
                    errors.push(FieldError::duplicate(
                        &path.child("values").index(at_value),
                        &json!(value),
                    ));
                }
            }
            keys.push((key.to_owned(), set));
        }
        keys.sort();
        if terms.contains(&keys) {
            errors.push(FieldError::duplicate(&path, &json!("")));
        }
        terms.push(keys);
    }
    errors
}

fn validate_driver(driver: &Value) -> Vec<FieldError> {
    let path = Path::new("spec");
    let mut errors = Vec::new();
    if has(driver, "spec.fsGroupPolicy") {
        errors.extend(one_of(
            &path.child("fsGroupPolicy"),
            text(driver, "spec.fsGroupPolicy"),
            &["File", "None", "ReadWriteOnceWithFSType"],
        ));
    }
    let mut audiences = BTreeSet::new();
    for (index, request) in items(driver, "spec.tokenRequests").iter().enumerate() {
        let path = path.child("tokenRequests").index(index);
        let audience = text(request, "audience");
        if !audiences.insert(audience) {
            errors.push(FieldError::duplicate(&path.child("audience"), &json!(audience)));
            continue;
        }
        if let Some(seconds) = number(request, "expirationSeconds") {
            let path = path.child("expirationSeconds");
            if seconds < 600 {
                errors.push(FieldError::invalid(
                    &path,
                    &json!(seconds),
                    "may not specify a duration less than 10 minutes",
                ));
            }
            if seconds > 1 << 32 {
                errors.push(FieldError::invalid(
                    &path,
                    &json!(seconds),
                    "may not specify a duration larger than 2^32 seconds",
                ));
            }
        }
    }
    for mode in items(driver, "spec.volumeLifecycleModes") {
        errors.extend(one_of(
            &path.child("volumeLifecycleModes"),
            mode.as_str().unwrap_or_default(),
            &["Persistent", "Ephemeral"],
        ));
    }
    if let Some(seconds) =
        number(driver, "spec.nodeAllocatableUpdatePeriodSeconds").filter(|&seconds| seconds < 10)
    {
        errors.push(FieldError::invalid(
            &path.child("nodeAllocatableUpdatePeriodSeconds"),
            &json!(seconds),
            "must be greater than or equal to 10 seconds",
        ));
    }
    if has(driver, "spec.serviceAccountTokenInSecrets")
        && items(driver, "spec.tokenRequests").is_empty()
    {
        errors.push(FieldError::invalid(
            &path.child("serviceAccountTokenInSecrets"),
            at(driver, "spec.serviceAccountTokenInSecrets"),
            "serviceAccountTokenInSecrets is set but no tokenRequests are specified",
        ));
    }
    errors
}

fn validate_node(node: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut names = BTreeSet::new();
    for (index, driver) in items(node, "spec.drivers").iter().enumerate() {
        let path = Path::new("spec.drivers").index(index);
        let (name, id) = (text(driver, "name"), text(driver, "nodeID"));
        errors.extend(driver_name(name, &path.child("name")));
        if id.is_empty() {
            errors.push(FieldError::required(&path.child("nodeID"), ""));
        }
        if id.len() > 256 {
            errors.extend(wrong(
                &path.child("nodeID"),
                id,
                vec!["must be 256 characters or less".into()],
            ));
        }
        if let Some(count) = number(driver, "allocatable.count").filter(|&count| count < 0) {
            errors.push(FieldError::invalid(
                &path.child("allocatable").child("count"),
                &json!(count),
                "must be greater than or equal to 0",
            ));
        }
        if !names.insert(name) {
            errors.push(FieldError::duplicate(&path.child("name"), &json!(name)));
        }
        let mut keys = BTreeSet::new();
        for key in items(driver, "topologyKeys").iter().filter_map(Value::as_str) {
            if key.is_empty() {
                errors.push(FieldError::required(&path, ""));
            }
            if !keys.insert(key) {
                errors.push(FieldError::duplicate(&path, &json!(key)));
            }
            errors.extend(wrong(&path, key, format::qualified_name(key)));
        }
    }
    errors
}

fn validate_attachment(attachment: &Value) -> Vec<FieldError> {
    const ONE: &str = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    let path = Path::new("spec");
    let mut errors = driver_name(text(attachment, "spec.attacher"), &path.child("attacher"));
    let source = path.child("source");
    let inline = has(attachment, "spec.source.inlineVolumeSpec");
    let name = at(attachment, "spec.source.persistentVolumeName");
    match (inline, name.as_str()) {
        (false, None) => errors.push(FieldError::required(&source, ONE)),
        (true, Some(_)) => errors.push(FieldError::forbidden(&source, ONE)),
        (false, Some("")) => errors.push(FieldError::required(
            &source.child("persistentVolumeName"),
            "must specify non empty persistentVolumeName",
        )),
        (false, Some(_)) => {}
        (true, None) => errors.extend(validate_spec(
            at(attachment, "spec.source.inlineVolumeSpec"),
            &source.child("inlineVolumeSpec"),
            true,
        )),
    }
    let node = text(attachment, "spec.nodeName");
    errors.extend(wrong(&path.child("nodeName"), node, format::dns_subdomain(node)));
    if let Some(name) = name.as_str() {
        errors.extend(wrong(
            &Path::new("spec.source.persistentVolumeName"),
            name,
            format::dns_subdomain(name),
        ));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_class_cannot_change_where_volumes_come_from() {
        let mut old = json!({"provisioner": "a/b", "parameters": {"a": "1"}});
        (STORAGE_CLASS.defaults)(&mut old);
        assert_eq!(
            (old["reclaimPolicy"].clone(), old["volumeBindingMode"].clone()),
            (json!("Delete"), json!("Immediate"))
        );
        let new = json!({"provisioner": "c/d", "parameters": {"a": "2"}, "reclaimPolicy": "Retain", "volumeBindingMode": "WaitForFirstConsumer", "allowVolumeExpansion": true});
        assert_eq!(
            said(&(STORAGE_CLASS.validate_update)(&new, &old)),
            [
                "parameters: Invalid value: {\"a\":\"2\"}: field is immutable",
                "provisioner: Invalid value: \"c/d\": field is immutable",
                "reclaimPolicy: Invalid value: \"Retain\": field is immutable",
                "volumeBindingMode: Invalid value: \"WaitForFirstConsumer\": field is immutable",
            ]
        );
        let mut grown = old.clone();
        grown["allowVolumeExpansion"] = json!(true);
        grown["mountOptions"] = json!(["ro"]);
        assert!((STORAGE_CLASS.validate_update)(&grown, &old).is_empty());
    }

    #[test]
    fn attributes_classes() {
        let old = json!({"driverName": "a.b", "parameters": {"a": "1"}});
        assert_eq!(
            said(&(VOLUME_ATTRIBUTES_CLASS.validate_update)(&json!({"driverName": "c.d"}), &old)),
            [
                "driverName: Forbidden: updates to driverName are forbidden.",
                "parameters: Forbidden: updates to parameters are forbidden.",
                "parameters: Required value: must contain at least one key/value pair",
            ]
        );
    }

    #[test]
    fn drivers() {
        let mut old = json!({"metadata": {"name": "d"}, "spec": {}});
        (CSI_DRIVER.defaults)(&mut old);
        assert_eq!(old["spec"]["volumeLifecycleModes"], json!(["Persistent"]));
        let mut new = old.clone();
        new["spec"]["attachRequired"] = json!(false);
        new["spec"]["volumeLifecycleModes"] = json!(["Ephemeral"]);
        assert_eq!(
            said(&(CSI_DRIVER.validate_update)(&new, &old)),
            [
                "spec.attachedRequired: Invalid value: false: field is immutable",
                "spec.volumeLifecycleModes: Invalid value: [\"Ephemeral\"]: field is immutable",
            ]
        );
        new = old.clone();
        new["spec"]["fsGroupPolicy"] = json!("File");
        new["spec"]["storageCapacity"] = json!(true);
        assert!((CSI_DRIVER.validate_update)(&new, &old).is_empty());
    }
}
