//! What is wrong with a container's environment.

use serde_json::Value;

use super::volumes::no_backsteps;
use crate::builtin::format::{
    config_key, dns_label, dns_subdomain, env_name, invalid_each, qualified_name,
};
use crate::builtin::value::Fields as _;
use crate::fields::{FieldError, Path};
use crate::quantity::Quantity;

/// Fields of a pod that a file may show.
pub const VOLUME_FIELDS: [&str; 5] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];

const VARIABLE_FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// Checks `env`.
pub fn variables(variables: &[Value], field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    for (index, variable) in variables.iter().enumerate() {
        let field = field.index(index);
        let name = variable.text("name");
        if name.is_empty() {
            wrong.push(FieldError::required(&field.child("name"), ""));
        } else {
            wrong.extend(invalid_each(&field.child("name"), name, env_name(name)));
        }
        if let Some(from) = variable.part("valueFrom") {
            let field = field.child("valueFrom");
            wrong.extend(value_from(from, !variable.text("value").is_empty(), &field));
        }
    }
    wrong
}

fn value_from(from: &Value, has_value: bool, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let mut sources = 0;
    if let Some(reference) = from.part("fieldRef") {
        sources += 1;
        wrong.extend(object_field(reference, &VARIABLE_FIELDS, &field.child("fieldRef")));
    }
    if let Some(reference) = from.part("resourceFieldRef") {
        sources += 1;
        wrong.extend(resource_field(reference, &field.child("resourceFieldRef"), false));
    }
    for key in ["configMapKeyRef", "secretKeyRef"] {
        if let Some(reference) = from.part(key) {
            sources += 1;
            wrong.extend(key_selector(reference, &field.child(key)));
        }
    }
    if let Some(reference) = from.part("fileKeyRef") {
        sources += 1;
        wrong.extend(file_key(reference, &field.child("fileKeyRef")));
    }
    let detail = match sources {
        0 => {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        }
        _ if has_value => "may not be specified when `value` is not empty",
        1 => return wrong,
        _ => "may not have more than one field specified at a time",
    };
    wrong.push(FieldError::invalid(field, &Value::from(""), detail));
    wrong
}

/// A reference to a field of the pod.
pub fn object_field(reference: &Value, allowed: &[&str], field: &Path) -> Vec<FieldError> {
    let version = reference.text("apiVersion");
    if version.is_empty() {
        return vec![FieldError::required(&field.child("apiVersion"), "")];
    }
    let path = reference.text("fieldPath");
    let at = field.child("fieldPath");
    if path.is_empty() {
        return vec![FieldError::required(&at, "")];
    }
    let refuse = |why: String| {
        vec![FieldError::invalid(
            &at,
            &Value::from(path),
            format!("error converting fieldPath: {why}"),
        )]
    };
    if version != "v1" {
        return refuse(format!("unsupported pod version: {version}"));
    }
    if let Some((base, key)) = subscript(path) {
        return match base {
            "metadata.annotations" => {
                let key = key.to_lowercase();
                invalid_each(field, &key, qualified_name(&key))
            }
            "metadata.labels" => invalid_each(field, key, qualified_name(key)),
            _ => refuse(format!("field label does not support subscript: {path}")),
        };
    }
    let path = match path {
        "metadata.annotations"
        | "metadata.labels"
        | "metadata.name"
        | "metadata.namespace"
        | "metadata.uid"
        | "spec.nodeName"
        | "spec.restartPolicy"
        | "spec.serviceAccountName"
        | "spec.schedulerName"
        | "status.phase"
        | "status.hostIP"
        | "status.hostIPs"
        | "status.podIP"
        | "status.podIPs" => path,
        "spec.host" => "spec.nodeName",
        _ => return refuse(format!("field label not supported: {path}")),
    };
    if allowed.contains(&path) {
        Vec::new()
    } else {
        vec![FieldError::not_supported(&at, &Value::from(path), allowed)]
    }
}

/// `metadata.labels['key']` in its two parts.
fn subscript(path: &str) -> Option<(&str, &str)> {
    let (base, key) = path.strip_suffix("']")?.split_once("['")?;
    (!base.is_empty()).then_some((base, key))
}

/// A reference to a container's limits or requests.
pub fn resource_field(reference: &Value, field: &Path, in_volume: bool) -> Vec<FieldError> {
    let resource = reference.text("resource");
    let huge = ["requests.hugepages-", "limits.hugepages-"].iter().any(|p| resource.starts_with(p));
    let mut wrong = Vec::new();
    if in_volume && reference.text("containerName").is_empty() {
        wrong.push(FieldError::required(&field.child("containerName"), ""));
    } else if resource.is_empty() {
        wrong.push(FieldError::required(&field.child("resource"), ""));
    } else if !RESOURCES.contains(&resource) && !huge {
        wrong.push(FieldError::not_supported(
            &field.child("resource"),
            &Value::from(resource),
            &RESOURCES,
        ));
    }
    wrong.extend(divisor(resource, huge, reference.get_or_null("divisor"), field));
    wrong
}

fn divisor(resource: &str, huge: bool, divisor: &Value, field: &Path) -> Option<FieldError> {
    const SIZES: &str = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei";
    let divisor = Quantity::read(divisor).filter(|d| !d.is_zero())?.to_string();
    let what = match resource {
        "limits.cpu" | "requests.cpu" => {
            return (divisor != "1m" && divisor != "1").then(|| {
                FieldError::invalid(
                    &field.child("divisor"),
                    &Value::from(resource),
                    "only divisor's values 1m and 1 are supported with the cpu resource",
                )
            });
        }
        "limits.memory" | "requests.memory" => "memory",
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => "local ephemeral storage",
        _ if huge => "hugepages",
        _ => return None,
    };
    (!SIZES.split(", ").any(|size| size == divisor)).then(|| {
        FieldError::invalid(
            &field.child("divisor"),
            &Value::from(resource),
            format!("only divisor's values {SIZES} are supported with the {what} resource"),
        )
    })
}

fn key_selector(reference: &Value, field: &Path) -> Vec<FieldError> {
    let name = reference.text("name");
    let mut wrong = invalid_each(&field.child("name"), name, dns_subdomain(name));
    let key = reference.text("key");
    if key.is_empty() {
        wrong.push(FieldError::required(&field.child("key"), ""));
    } else {
        wrong.extend(invalid_each(&field.child("key"), key, config_key(key)));
    }
    wrong
}

fn file_key(reference: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let mut check = |name: &str, judge: &dyn Fn(&str, &Path) -> Vec<FieldError>| {
        let text = reference.text(name);
        let at = field.child(name);
        if text.is_empty() {
            wrong.push(FieldError::required(&at, ""));
        } else {
            wrong.extend(judge(text, &at));
        }
    };
    check("key", &|text, at| invalid_each(at, text, env_name(text)));
    check("volumeName", &|text, at| invalid_each(at, text, dns_label(text)));
    check("path", &no_backsteps);
    wrong
}

/// Checks `envFrom`.
pub fn sources(sources: &[Value], field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        let at = field.index(index);
        let prefix = source.text("prefix");
        if !prefix.is_empty() {
            wrong.extend(invalid_each(&at.child("prefix"), prefix, env_name(prefix)));
        }
        let mut count = 0;
        for key in ["configMapRef", "secretRef"] {
            let Some(reference) = source.part(key) else { continue };
            count += 1;
            let at = at.child(key).child("name");
            let name = reference.text("name");
            if name.is_empty() {
                wrong.push(FieldError::required(&at, ""));
            } else {
                // Names are taken as prefixes here, whose last hyphen is forgiven.
                let judged = name.strip_suffix('-').map_or(name.to_owned(), |n| format!("{n}a"));
                wrong.extend(invalid_each(&at, name, dns_subdomain(&judged)));
            }
        }
        if count != 1 {
            let detail = if count == 0 {
                "must specify one of: `configMapRef` or `secretRef`"
            } else {
                "may not have more than one field specified at a time"
            };
            wrong.push(FieldError::invalid(field, &Value::from(""), detail));
        }
    }
    wrong
}
