//! PersistentVolumeClaim.

use serde_json::{Value, json};

use super::labels::selector;
use super::view::{at, default, has, immutable, items, object, one_of, restore, take, text, wrong};
use super::{Strategy, form, format};
use crate::fields::{FieldError, Path};
use crate::quantity::Quantity;

const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
const IMMUTABLE: &str = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";

/// Ways to mount a volume, sorted.
pub(super) const ACCESS_MODES: &[&str] =
    &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
/// What a volume looks like to a container, sorted.
pub(super) const VOLUME_MODES: &[&str] = &["Block", "Filesystem"];

/// The rules of PersistentVolumeClaim.
pub const CLAIM: Strategy = Strategy {
    defaults: |claim| {
        form::settle("v1", "PersistentVolumeClaim", claim);
        default(claim, "status", "phase", "Pending");
        default_spec(spec_of(claim));
    },
    prepare_create: |claim| {
        object(claim, "").insert("status".into(), json!({ "phase": "Pending" }));
        join_sources(spec_of(claim));
    },
    prepare_update: |new, old| {
        restore(new, old, "status");
        join_sources(spec_of(new));
    },
    validate: |claim| validate_spec(at(claim, "spec"), &Path::new("spec")),
    validate_update,
    validate_status: |new, _| {
        let mut errors = Vec::new();
        for (name, amount) in super::view::fields(new, "status.capacity") {
            let path = Path::new("status.capacity").key(name);
            if Quantity::read(amount).is_some_and(|q| q.is_negative()) {
                errors.push(FieldError::invalid(
                    &path,
                    amount,
                    "must be a valid resource quantity",
                ));
            }
        }
        errors
    },
    ..Strategy::PLAIN
};

fn spec_of(claim: &mut Value) -> &mut Value {
    object(claim, "spec");
    &mut claim["spec"]
}

/// Fills the spec of a claim or of a claim template.
pub fn default_spec(spec: &mut Value) {
    default(spec, "", "volumeMode", "Filesystem");
}

/// Keeps `dataSource` and `dataSourceRef` the same, whichever was given.
fn join_sources(spec: &mut Value) {
    // Sources of other groups than core and snapshots only work through the reference.
    if has(spec, "dataSource") && !has(spec, "dataSourceRef") {
        let source = at(spec, "dataSource").clone();
        object(spec, "").insert("dataSourceRef".into(), source);
    } else if has(spec, "dataSourceRef")
        && !has(spec, "dataSource")
        && text(spec, "dataSourceRef.namespace").is_empty()
    {
        let mut source = at(spec, "dataSourceRef").clone();
        take(&mut source, "namespace");
        object(spec, "").insert("dataSource".into(), source);
    }
}

/// What is wrong with the spec of a claim or of a claim template.
pub fn validate_spec(spec: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let modes = items(spec, "accessModes");
    if modes.is_empty() {
        errors.push(FieldError::required(
            &path.child("accessModes"),
            "at least 1 access mode is required",
        ));
    }
    if has(spec, "selector") {
        errors.extend(selector(Some(at(spec, "selector")), &path.child("selector")));
    }
    errors.extend(access_modes(modes, path));
    let storage = path.child("resources").key("storage");
    match at(spec, "resources.requests").get("storage") {
        None => errors.push(FieldError::required(&storage, "")),
        Some(amount) => {
            if Quantity::read(amount).is_none_or(|q| q.is_negative() || q.is_zero()) {
                errors.push(FieldError::invalid(&storage, amount, "must be greater than zero"));
            }
        }
    }
    for field in ["storageClassName", "volumeAttributesClassName"] {
        let class = text(spec, field);
        if field == "volumeAttributesClassName" {
            // Reported after the data sources.
            errors.extend(one_mode(spec, path));
            errors.extend(sources(spec, path));
        }
        if !class.is_empty() {
            errors.extend(wrong(&path.child(field), class, format::dns_subdomain(class)));
        }
    }
    errors
}

fn one_mode(spec: &Value, path: &Path) -> Option<FieldError> {
    if has(spec, "volumeMode") {
        one_of(&path.child("volumeMode"), text(spec, "volumeMode"), VOLUME_MODES)
    } else {
        None
    }
}

/// What is wrong with a list of access modes.
pub(super) fn access_modes(modes: &[Value], path: &Path) -> Vec<FieldError> {
    let path = path.child("accessModes");
    let mut errors: Vec<FieldError> = modes
        .iter()
        .filter_map(|mode| one_of(&path, mode.as_str().unwrap_or_default(), ACCESS_MODES))
        .collect();
    let single = modes.iter().any(|mode| mode == "ReadWriteOncePod");
    let shared = modes
        .iter()
        .filter_map(Value::as_str)
        .any(|mode| mode != "ReadWriteOncePod" && ACCESS_MODES.contains(&mode));
    if single && shared {
        errors.push(FieldError::forbidden(
            &path,
            "may not use ReadWriteOncePod with other access modes",
        ));
    }
    errors
}

fn sources(spec: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in ["dataSource", "dataSourceRef"] {
        if !has(spec, name) {
            continue;
        }
        let (source, path) = (at(spec, name), path.child(name));
        for field in ["name", "kind"] {
            if text(source, field).is_empty() {
                errors.push(FieldError::required(&path.child(field), ""));
            }
        }
        let group = text(source, "apiGroup");
        if group.is_empty() {
            if text(source, "kind") != "PersistentVolumeClaim" {
                errors.push(FieldError::invalid(
                    &path,
                    &Value::from(text(source, "kind")),
                    "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
                ));
            }
        } else {
            errors.extend(wrong(&path.child("apiGroup"), group, format::dns_subdomain(group)));
        }
        let namespace = text(source, "namespace");
        if !namespace.is_empty() {
            errors.extend(wrong(&path.child("namespace"), namespace, format::dns_label(namespace)));
        }
    }
    let (source, reference) = (at(spec, "dataSource"), at(spec, "dataSourceRef"));
    // The server prints the path itself where the value should be.
    let shown = "{}".to_owned();
    if !text(reference, "namespace").is_empty() {
        if !source.is_null() {
            errors.push(FieldError::invalid_shown(
                path,
                shown,
                "may not be specified when dataSourceRef.namespace is specified",
            ));
        }
    } else if !source.is_null()
        && !reference.is_null()
        && ["apiGroup", "kind", "name"].iter().any(|f| at(source, f) != at(reference, f))
    {
        errors.push(FieldError::invalid_shown(path, shown, "must match dataSourceRef"));
    }
    errors
}

fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (mut left, mut right) = (at(new, "spec").clone(), at(old, "spec").clone());
    if text(old, "spec.volumeName").is_empty() {
        restore(&mut right, &left, "volumeName");
    }
    let annotation = |object: &Value| {
        at(object, "metadata.annotations")
            .get(CLASS_ANNOTATION)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let (was, now) = (annotation(old), annotation(new));
    let class = at(new, "spec.storageClassName");
    let unset = !has(old, "spec.storageClassName");
    if let Some(was) = &was
        && unset
        && class.as_str() == Some(was)
        && now.as_ref().is_none_or(|now| now == was)
    {
        take(&mut left, "storageClassName");
    } else {
        if was != now {
            errors.push(FieldError::invalid(
                &Path::new("metadata.annotations").child(CLASS_ANNOTATION),
                &Value::from(now.unwrap_or_default()),
                "field is immutable",
            ));
        }
        if !class.is_null() && unset && was.as_deref().is_none_or(|was| class.as_str() == Some(was))
        {
            restore(&mut left, &right, "storageClassName");
        }
    }
    if text(new, "status.phase") == "Bound" {
        if has(&left, "resources.requests") {
            restore(&mut left, &right, "resources.requests.storage");
        }
        restore(&mut left, &right, "volumeAttributesClassName");
    }
    let amount = |object: &Value, path: &str| {
        Quantity::read(at(object, path).get("storage").unwrap_or(&Value::Null))
            .unwrap_or(Quantity::ZERO)
    };
    if left != right {
        errors.push(FieldError::forbidden(
            &Path::new("spec"),
            format!(
                "{IMMUTABLE}\n{}",
                form::unified("core.PersistentVolumeClaimSpec", &right, &left)
            ),
        ));
    }
    let wanted = amount(new, "spec.resources.requests");
    if wanted < amount(old, "spec.resources.requests") && wanted <= amount(old, "status.capacity") {
        errors.push(FieldError::forbidden(
            &Path::new("spec.resources.requests.storage"),
            "field can not be less than status.capacity",
        ));
    }
    errors.extend(immutable(
        &Path::new("volumeMode"),
        at(new, "spec.volumeMode"),
        at(old, "spec.volumeMode"),
    ));
    let attributes = at(new, "spec.volumeAttributesClassName");
    if attributes != at(old, "spec.volumeAttributesClassName")
        && has(old, "status.currentVolumeAttributesClassName")
    {
        let to = match attributes.as_str() {
            None => Some("nil"),
            Some("") => Some("empty string"),
            Some(_) => None,
        };
        if let Some(to) = to {
            errors.push(FieldError::forbidden(
                &Path::new("spec.volumeAttributesClassName"),
                format!("update to {to} is forbidden when status.currentVolumeAttributesClassName is not nil"),
            ));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(phase: &str) -> Value {
        let mut claim = json!({"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOnce"],
            "storageClassName": "x", "resources": {"requests": {"storage": "1Gi"}}}});
        (CLAIM.defaults)(&mut claim);
        claim["status"] = json!({"phase": phase, "capacity": {"storage": "1Gi"}});
        claim
    }

    fn change(old: &Value, patch: &Value) -> Vec<String> {
        let mut new = old.clone();
        for (name, value) in patch.as_object().unwrap() {
            new["spec"][name] = value.clone();
            if value.is_null() {
                new["spec"].as_object_mut().unwrap().remove(name);
            }
        }
        validate_update(&new, old).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_class_cannot_change() {
        assert_eq!(
            change(&claim("Pending"), &json!({"storageClassName": "y"})),
            [
                "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n@@ -10,7 +10,7 @@\n   }\n  },\n  \"VolumeName\": \"\",\n- \"StorageClassName\": \"x\",\n+ \"StorageClassName\": \"y\",\n  \"VolumeMode\": \"Filesystem\",\n  \"DataSource\": null,\n  \"DataSourceRef\": null,\n"
            ]
        );
    }

    #[test]
    fn what_may_change_does() {
        let mut unset = claim("Pending");
        unset["spec"].as_object_mut().unwrap().remove("storageClassName");
        assert!(change(&unset, &json!({"storageClassName": "y"})).is_empty());
        assert!(change(&claim("Pending"), &json!({"volumeName": "pv"})).is_empty());
        let bigger = json!({"resources": {"requests": {"storage": "2Gi"}}});
        assert!(change(&claim("Bound"), &bigger).is_empty());
        assert_eq!(change(&claim("Pending"), &bigger).len(), 1);
        assert!(change(&claim("Bound"), &json!({"volumeAttributesClassName": "gold"})).is_empty());
        assert_eq!(
            change(&claim("Bound"), &json!({"resources": {"requests": {"storage": "512Mi"}}})),
            [
                "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
            ]
        );
    }

    #[test]
    fn a_failed_expansion_may_shrink_to_above_the_capacity() {
        let mut asked = claim("Bound");
        asked["spec"]["resources"]["requests"]["storage"] = json!("10Gi");
        assert!(change(&asked, &json!({"resources": {"requests": {"storage": "2Gi"}}})).is_empty());
        assert_eq!(
            change(&asked, &json!({"resources": {"requests": {"storage": "1Gi"}}})).len(),
            1
        );
    }

    #[test]
    fn attributes_cannot_be_taken_back() {
        let mut applied = claim("Bound");
        applied["spec"]["volumeAttributesClassName"] = json!("gold");
        applied["status"]["currentVolumeAttributesClassName"] = json!("gold");
        assert_eq!(
            change(&applied, &json!({"volumeAttributesClassName": null})),
            [
                "spec.volumeAttributesClassName: Forbidden: update to nil is forbidden when status.currentVolumeAttributesClassName is not nil"
            ]
        );
    }

    #[test]
    fn sources_are_joined_and_checked() {
        let mut made =
            json!({"spec": {"dataSource": {"kind": "PersistentVolumeClaim", "name": "a"}}});
        (CLAIM.defaults)(&mut made);
        (CLAIM.prepare_create)(&mut made);
        assert_eq!(
            made["spec"]["dataSourceRef"],
            json!({"apiGroup": null, "kind": "PersistentVolumeClaim", "name": "a"})
        );
        let said: Vec<String> = validate_spec(&made["spec"], &Path::new("spec"))
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            said,
            [
                "spec.accessModes: Required value: at least 1 access mode is required",
                "spec.resources[storage]: Required value"
            ]
        );
    }
}
