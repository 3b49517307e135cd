//! What is wrong with volumes of particular storage systems.

use serde_json::Value;

use super::volumes::required;
use crate::builtin::format::{between, dns_label, invalid_each};
use crate::builtin::value::Fields as _;
use crate::fields::{FieldError, Path};

/// Checks `iscsi`.
pub fn iscsi(source: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = required(source, field, &["targetPortal"]);
    let name = source.text("iqn");
    if name.is_empty() {
        wrong.push(FieldError::required(&field.child("iqn"), ""));
    } else if let Some(detail) = qualified_initiator(name) {
        wrong.push(FieldError::invalid(&field.child("iqn"), &Value::from(name), detail));
    }
    let lun = source.int("lun");
    if !(0..=255).contains(&lun) {
        wrong.push(FieldError::invalid(&field.child("lun"), &Value::from(lun), between(0, 255)));
    }
    if (source.flag("chapAuthDiscovery") || source.flag("chapAuthSession"))
        && source.part("secretRef").is_none()
    {
        wrong.push(FieldError::required(&field.child("secretRef"), ""));
    }
    if let Some(name) = source.text_opt("initiatorName")
        && let Some(detail) = qualified_initiator(name)
    {
        wrong.push(FieldError::invalid(&field.child("initiatorname"), &Value::from(name), detail));
    }
    wrong
}

fn qualified_initiator(name: &str) -> Option<&'static str> {
    let alnum = |text: &str, length: usize| {
        text.len() == length && text.chars().all(|c| c.is_ascii_alphanumeric())
    };
    let fits = if name.starts_with("iqn") {
        iqn(name)
    } else if let Some(rest) = name.strip_prefix("eui") {
        rest.get(1..).is_some_and(|rest| alnum(rest, 16))
    } else if let Some(rest) = name.strip_prefix("naa") {
        rest.get(1..).is_some_and(|rest| alnum(rest, 32))
    } else {
        return Some("must be valid format starting with iqn, eui, or naa");
    };
    (!fits).then_some("must be valid format")
}

fn iqn(name: &str) -> bool {
    static IQN: std::sync::LazyLock<Option<regex::Regex>> = std::sync::LazyLock::new(|| {
        regex::Regex::new(r"iqn\.\d{4}-\d{2}\.([[:alnum:].-]+)(:[^,;*&$|\s]+)$").ok()
    });
    IQN.as_ref().is_some_and(|pattern| pattern.is_match(name))
}

/// Checks `flocker`.
pub fn flocker(source: &Value, field: &Path) -> Vec<FieldError> {
    let (name, id) = (source.text("datasetName"), source.text("datasetUUID"));
    let mut wrong = Vec::new();
    if name.is_empty() && id.is_empty() {
        wrong.push(FieldError::required(field, "one of datasetName and datasetUUID is required"));
    }
    if !name.is_empty() && !id.is_empty() {
        wrong.push(FieldError::invalid(
            field,
            &Value::from("resource"),
            "datasetName and datasetUUID can not be specified simultaneously",
        ));
    }
    if name.contains('/') {
        wrong.push(FieldError::invalid(
            &field.child("datasetName"),
            &Value::from(name),
            "must not contain '/'",
        ));
    }
    wrong
}

/// Checks `quobyte`.
pub fn quobyte(source: &Value, field: &Path) -> Vec<FieldError> {
    const PAIR: &str = "must be a host:port pair or multiple pairs separated by commas";
    let registry = source.text("registry");
    let mut wrong = Vec::new();
    if registry.is_empty() {
        wrong.push(FieldError::required(&field.child("registry"), PAIR));
    } else if source.text("tenant").len() >= 65 {
        wrong.push(FieldError::required(
            &field.child("tenant"),
            "must be a UUID and may not exceed a length of 64 characters",
        ));
    } else {
        for pair in registry.split(',') {
            let host_and_port = match pair.rsplit_once(':') {
                Some((host, port)) => {
                    !port.contains(']') && (!host.contains(':') || host.starts_with('['))
                }
                None => false,
            };
            if !host_and_port {
                wrong.push(FieldError::invalid(
                    &field.child("registry"),
                    &Value::from(registry),
                    PAIR,
                ));
            }
        }
    }
    wrong.extend(required(source, field, &["volume"]));
    wrong
}

/// Checks `fc`.
pub fn fibre_channel(source: &Value, field: &Path) -> Vec<FieldError> {
    let (targets, ids) = (source.list("targetWWNs"), source.list("wwids"));
    let mut wrong = Vec::new();
    if targets.is_empty() && ids.is_empty() {
        wrong.push(FieldError::required(
            &field.child("targetWWNs"),
            "must specify either targetWWNs or wwids, but not both",
        ));
    }
    if !targets.is_empty() && !ids.is_empty() {
        wrong.push(FieldError::invalid(
            &field.child("targetWWNs"),
            source.get_or_null("targetWWNs"),
            "targetWWNs and wwids can not be specified simultaneously",
        ));
    }
    if !targets.is_empty() {
        match source.int_opt("lun") {
            None => wrong.push(FieldError::required(
                &field.child("lun"),
                "lun is required if targetWWNs is specified",
            )),
            Some(lun) if !(0..=255).contains(&lun) => wrong.push(FieldError::invalid(
                &field.child("lun"),
                &Value::from(lun),
                between(0, 255),
            )),
            Some(_) => {}
        }
    }
    wrong
}

/// Checks `flexVolume`.
pub fn flex(source: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = required(source, field, &["driver"]);
    for key in source.entries("options").into_iter().flat_map(|m| m.keys()) {
        let domain = key.split_once('/').map_or(key.as_str(), |p| p.0);
        let domain = format!(".{}", domain.to_lowercase());
        if domain.ends_with(".kubernetes.io") || domain.ends_with(".k8s.io") {
            wrong.push(FieldError::invalid(
                &field.child("options").key(key),
                &Value::from(key.as_str()),
                "kubernetes.io and k8s.io namespaces are reserved",
            ));
        }
    }
    wrong
}

/// Checks `azureDisk`.
pub fn azure_disk(source: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = required(source, field, &["diskName", "diskURI"]);
    let modes = ["None", "ReadOnly", "ReadWrite"];
    if let Some(mode) = source.text_opt("cachingMode")
        && !modes.contains(&mode)
    {
        wrong.push(FieldError::not_supported(
            &field.child("cachingMode"),
            &Value::from(mode),
            &modes,
        ));
    }
    let Some(kind) = source.text_opt("kind") else { return wrong };
    let kinds = ["Dedicated", "Managed", "Shared"];
    if !kinds.contains(&kind) {
        wrong.push(FieldError::not_supported(&field.child("kind"), &Value::from(kind), &kinds));
    }
    let at = source.text("diskURI");
    let (start, form) = if kind == "Managed" {
        (
            "/subscriptions/",
            "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
        )
    } else {
        (
            "https://",
            "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd",
        )
    };
    if !at.starts_with(start) {
        wrong.push(FieldError::not_supported(&field.child("diskURI"), &Value::from(at), &[form]));
    }
    wrong
}

/// Checks `storageos`.
pub fn storageos(source: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let name = source.text("volumeName");
    if name.is_empty() {
        wrong.push(FieldError::required(&field.child("volumeName"), ""));
    } else {
        wrong.extend(invalid_each(&field.child("volumeName"), name, dns_label(name)));
    }
    let space = source.text("volumeNamespace");
    if !space.is_empty() {
        wrong.extend(invalid_each(&field.child("volumeNamespace"), space, dns_label(space)));
    }
    wrong.extend(secret_ref(source, field));
    wrong
}

/// Checks `secretRef`.
pub fn secret_ref(source: &Value, field: &Path) -> Vec<FieldError> {
    match source.part("secretRef") {
        Some(secret) if secret.text("name").is_empty() => {
            vec![FieldError::required(&field.child("secretRef").child("name"), "")]
        }
        _ => Vec::new(),
    }
}
