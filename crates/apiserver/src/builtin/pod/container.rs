//! What is wrong with containers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::probes::{lifecycle, probes};
use super::volumes::{descending_path, no_backsteps};
use super::{env, resources, security};
use crate::builtin::format::{dns_label, invalid_each, port_name, port_number};
use crate::builtin::value::Fields as _;
use crate::fields::{FieldError, Path};

/// What containers of a pod share.
pub struct Around<'a> {
    /// Volumes that may be mounted.
    pub volumes: BTreeMap<&'a str, &'a Value>,
    /// Names of the pod's resource claims.
    pub claims: BTreeSet<&'a str>,
    /// Seconds that a pod gets to end.
    pub grace: Option<i64>,
    /// The pod's restart policy.
    pub restart_policy: &'a str,
    /// Whether users are those of the host.
    pub host_users: bool,
}

/// Checks `containers`.
pub fn containers(containers: &[Value], around: &Around<'_>, field: &Path) -> Vec<FieldError> {
    if containers.is_empty() {
        return vec![FieldError::required(field, "")];
    }
    let mut wrong = Vec::new();
    let mut names = BTreeSet::new();
    for (index, container) in containers.iter().enumerate() {
        let field = field.index(index);
        wrong.extend(any(container, around, &field));
        let name = container.text("name");
        if !names.insert(name) {
            wrong.push(FieldError::duplicate(&field.child("name"), &Value::from(name)));
        }
        wrong.extend(lifecycle(container, around.grace, &field));
        wrong.extend(probes(container, around.grace, &field));
        wrong.extend(restart_rules(container, &field));
    }
    wrong.extend(host_ports(containers, field));
    wrong
}

/// Checks `initContainers`.
pub fn init_containers(
    containers: &[Value],
    regular: &[Value],
    around: &Around<'_>,
    field: &Path,
) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let mut names: BTreeSet<&str> = regular.iter().map(|c| c.text("name")).collect();
    for (index, container) in containers.iter().enumerate() {
        let at = field.index(index);
        wrong.extend(any(container, around, &at));
        wrong.extend(restart_rules(container, &at));
        let sidecar = container.text("restartPolicy") == "Always";
        let name = container.text("name");
        if names.contains(name) {
            wrong.push(FieldError::duplicate(&at.child("name"), &Value::from(name)));
        } else if !name.is_empty() {
            names.insert(name);
        }
        wrong.extend(host_ports(std::slice::from_ref(container), field));
        if sidecar {
            wrong.extend(lifecycle(container, around.grace, &at));
            wrong.extend(probes(container, around.grace, &at));
        } else {
            for key in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
                if container.part(key).is_some() {
                    wrong.push(FieldError::forbidden(
                        &at.child(key),
                        "may not be set for init containers without restartPolicy=Always",
                    ));
                }
            }
            for (index, policy) in container.list("resizePolicy").iter().enumerate() {
                if policy.text("restartPolicy") == "RestartContainer" {
                    wrong.push(FieldError::invalid(
                        &at.child("resizePolicy").index(index).child("restartPolicy"),
                        &Value::from("RestartContainer"),
                        "must not be set to 'RestartContainer' for non-sidecar initContainers",
                    ));
                }
            }
        }
    }
    wrong
}

/// Checks `ephemeralContainers`.
pub fn ephemeral_containers(
    containers: &[Value],
    others: &[&[Value]],
    around: &Around<'_>,
    field: &Path,
) -> Vec<FieldError> {
    const REFUSED: [&str; 9] = [
        "ports",
        "resources",
        "resizePolicy",
        "restartPolicy",
        "restartPolicyRules",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "lifecycle",
    ];
    let mut wrong = Vec::new();
    let targets: BTreeSet<&str> =
        others.iter().flat_map(|list| list.iter()).map(|c| c.text("name")).collect();
    let mut names = targets.clone();
    for (index, container) in containers.iter().enumerate() {
        let field = field.index(index);
        wrong.extend(any(container, around, &field));
        wrong.extend(untrimmed_image(container, &field));
        let name = container.text("name");
        if !names.insert(name) {
            wrong.push(FieldError::duplicate(&field.child("name"), &Value::from(name)));
        }
        let target = container.text("targetContainerName");
        if !target.is_empty() && !targets.contains(target) {
            wrong.push(FieldError::not_found(
                &field.child("targetContainerName"),
                &Value::from(target),
            ));
        }
        for key in REFUSED {
            let set = match container.part(key) {
                Some(Value::Array(items)) => !items.is_empty(),
                Some(Value::Object(map)) => key != "resources" || !map.is_empty(),
                Some(_) => true,
                None => false,
            };
            if set {
                wrong.push(FieldError::forbidden(
                    &field.child(key),
                    "cannot be set for an Ephemeral Container",
                ));
            }
        }
        for (index, mount) in container.list("volumeMounts").iter().enumerate() {
            for key in ["subPath", "subPathExpr"] {
                if !mount.text(key).is_empty() {
                    wrong.push(FieldError::forbidden(
                        &field.child("volumeMounts").index(index).child(key),
                        "cannot be set for an Ephemeral Container",
                    ));
                }
            }
        }
    }
    wrong
}

/// An image with space around it, which only pods refuse.
pub fn untrimmed_image(container: &Value, field: &Path) -> Option<FieldError> {
    let image = container.text("image");
    (image.trim() != image).then(|| {
        FieldError::invalid(
            &field.child("image"),
            &Value::from(image),
            "must not have leading or trailing whitespace",
        )
    })
}

fn any(container: &Value, around: &Around<'_>, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let name = container.text("name");
    if name.is_empty() {
        wrong.push(FieldError::required(&field.child("name"), ""));
    } else {
        wrong.extend(invalid_each(&field.child("name"), name, dns_label(name)));
    }
    if container.text("image").is_empty() {
        wrong.push(FieldError::required(&field.child("image"), ""));
    }
    let policy = container.text("terminationMessagePolicy");
    match policy {
        "File" | "FallbackToLogsOnError" => {}
        "" => wrong.push(FieldError::required(&field.child("terminationMessagePolicy"), "")),
        _ => wrong.push(FieldError::not_supported(
            &field.child("terminationMessagePolicy"),
            &Value::from(policy),
            &["File", "FallbackToLogsOnError"],
        )),
    }
    wrong.extend(ports(container.list("ports"), &field.child("ports")));
    wrong.extend(env::variables(container.list("env"), &field.child("env")));
    wrong.extend(env::sources(container.list("envFrom"), &field.child("envFrom")));
    wrong.extend(mounts(container, around, &field.child("volumeMounts")));
    wrong.extend(devices(container, around, &field.child("volumeDevices")));
    wrong.extend(pull_policy(container.text("imagePullPolicy"), &field.child("imagePullPolicy")));
    wrong.extend(resources::container(
        container.get_or_null("resources"),
        &around.claims,
        &field.child("resources"),
    ));
    wrong.extend(resize_policies(container, around, &field.child("resizePolicy")));
    if let Some(context) = container.part("securityContext") {
        wrong.extend(security::container(
            context,
            &field.child("securityContext"),
            around.host_users,
        ));
    }
    wrong
}

fn ports(ports: &[Value], field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let mut names = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let field = field.index(index);
        let name = port.text("name");
        if !name.is_empty() {
            let messages = port_name(name);
            if messages.is_empty() {
                if !names.insert(name) {
                    wrong.push(FieldError::duplicate(&field.child("name"), &Value::from(name)));
                }
            } else {
                wrong.extend(invalid_each(&field.child("name"), name, messages));
            }
        }
        let number = |key: &str, required: bool| -> Option<FieldError> {
            let number = port.int(key);
            if number == 0 {
                return required.then(|| FieldError::required(&field.child(key), ""));
            }
            port_number(number)
                .map(|detail| FieldError::invalid(&field.child(key), &Value::from(number), detail))
        };
        wrong.extend(number("containerPort", true));
        wrong.extend(number("hostPort", false));
        let protocol = port.text("protocol");
        if protocol.is_empty() {
            wrong.push(FieldError::required(&field.child("protocol"), ""));
        } else if !matches!(protocol, "TCP" | "UDP" | "SCTP") {
            wrong.push(FieldError::not_supported(
                &field.child("protocol"),
                &Value::from(protocol),
                &["SCTP", "TCP", "UDP"],
            ));
        }
    }
    wrong
}

fn host_ports(containers: &[Value], field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let mut taken = BTreeSet::new();
    for (index, container) in containers.iter().enumerate() {
        for (number, port) in container.list("ports").iter().enumerate() {
            if port.int("hostPort") == 0 {
                continue;
            }
            let key = format!(
                "{}/{}/{}",
                port.text("protocol"),
                port.text("hostIP"),
                port.int("hostPort")
            );
            if !taken.insert(key.clone()) {
                let at = field.index(index).child("ports").index(number).child("hostPort");
                wrong.push(FieldError::duplicate(&at, &Value::from(key)));
            }
        }
    }
    wrong
}

fn mounts(container: &Value, around: &Around<'_>, field: &Path) -> Vec<FieldError> {
    let devices: BTreeMap<&str, &str> = container
        .list("volumeDevices")
        .iter()
        .map(|d| (d.text("name"), d.text("devicePath")))
        .collect();
    let mut wrong = Vec::new();
    let mut points = BTreeSet::new();
    for (index, mount) in container.list("volumeMounts").iter().enumerate() {
        let at = field.index(index);
        let (name, path) = (mount.text("name"), mount.text("mountPath"));
        if name.is_empty() {
            wrong.push(FieldError::required(&at.child("name"), ""));
        }
        if !around.volumes.contains_key(name) {
            wrong.push(FieldError::not_found(&at.child("name"), &Value::from(name)));
        }
        if path.is_empty() {
            wrong.push(FieldError::required(&at.child("mountPath"), ""));
        }
        let mut refuse = |key: &str, text: &str, detail: &str| {
            wrong.push(FieldError::invalid(&at.child(key), &Value::from(text), detail));
        };
        if !points.insert(path) {
            refuse("mountPath", path, "must be unique");
        }
        if devices.contains_key(name) {
            refuse("name", name, "must not already exist in volumeDevices");
        }
        if devices.values().any(|device| *device == path) {
            refuse("mountPath", path, "must not already exist as a path in volumeDevices");
        }
        let (sub, expression) = (mount.text("subPath"), mount.text("subPathExpr"));
        if !sub.is_empty() {
            wrong.extend(descending_path(sub, &field.child("subPath")));
        }
        if !expression.is_empty() {
            if !sub.is_empty() {
                wrong.push(FieldError::invalid(
                    &at.child("subPathExpr"),
                    &Value::from(expression),
                    "subPathExpr and subPath are mutually exclusive",
                ));
            }
            wrong.extend(descending_path(expression, &field.child("subPathExpr")));
        }
        wrong.extend(propagation(mount, container, &field.child("mountPropagation")));
        wrong.extend(recursive_read_only(mount, &field.child("recursiveReadOnly")));
    }
    wrong
}

fn propagation(mount: &Value, container: &Value, field: &Path) -> Vec<FieldError> {
    let Some(mode) = mount.text_opt("mountPropagation") else { return Vec::new() };
    let modes = ["Bidirectional", "HostToContainer", "None"];
    let mut wrong = Vec::new();
    if !modes.contains(&mode) {
        wrong.push(FieldError::not_supported(field, &Value::from(mode), &modes));
    }
    if mode == "Bidirectional" && !container.get_or_null("securityContext").flag("privileged") {
        wrong.push(FieldError::forbidden(
            field,
            "Bidirectional mount propagation is available only to privileged containers",
        ));
    }
    wrong
}

fn recursive_read_only(mount: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    match mount.text_opt("recursiveReadOnly") {
        None | Some("Disabled") => {}
        Some("Enabled" | "IfPossible") => {
            if !mount.flag("readOnly") {
                wrong.push(FieldError::forbidden(
                    field,
                    "may only be specified when readOnly is true",
                ));
            }
            if mount.text_opt("mountPropagation").is_some_and(|mode| mode != "None") {
                wrong.push(FieldError::forbidden(
                    field,
                    "may only be specified when mountPropagation is None or not specified",
                ));
            }
        }
        Some(other) => wrong.push(FieldError::not_supported(
            field,
            &Value::from(other),
            &["Disabled", "Enabled", "IfPossible"],
        )),
    }
    wrong
}

fn devices(container: &Value, around: &Around<'_>, field: &Path) -> Vec<FieldError> {
    let mounts: BTreeMap<&str, &str> = container
        .list("volumeMounts")
        .iter()
        .map(|m| (m.text("name"), m.text("mountPath")))
        .collect();
    let mut wrong = Vec::new();
    let (mut paths, mut names) = (BTreeSet::new(), BTreeSet::new());
    for (index, device) in container.list("volumeDevices").iter().enumerate() {
        let at = field.index(index);
        let (name, path) = (device.text("name"), device.text("devicePath"));
        let invalid = |key: &str, text: &str, detail: &str| {
            FieldError::invalid(&at.child(key), &Value::from(text), detail)
        };
        let volume = around.volumes.get(name);
        if name.is_empty() {
            wrong.push(FieldError::required(&at.child("name"), ""));
        }
        if names.contains(name) {
            wrong.push(invalid("name", name, "must be unique"));
        }
        let claimed = volume.is_some_and(|v| {
            v.part("persistentVolumeClaim").is_some() || v.part("ephemeral").is_some()
        });
        if volume.is_none() {
            wrong.push(FieldError::not_found(&at.child("name"), &Value::from(name)));
        } else if !claimed {
            wrong.push(invalid(
                "name",
                name,
                "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
            ));
        }
        if path.is_empty() {
            wrong.push(FieldError::required(&at.child("devicePath"), ""));
        }
        if paths.contains(path) {
            wrong.push(invalid("devicePath", path, "must be unique"));
        }
        if !path.is_empty() && !no_backsteps(path, field).is_empty() {
            wrong.push(invalid("devicePath", path, "can not contain backsteps ('..')"));
        } else {
            paths.insert(path);
        }
        if mounts.contains_key(name) {
            wrong.push(invalid("name", name, "must not already exist in volumeMounts"));
        }
        if mounts.values().any(|mount| *mount == path) {
            wrong.push(invalid(
                "devicePath",
                path,
                "must not already exist as a path in volumeMounts",
            ));
        }
        if !name.is_empty() {
            names.insert(name);
        }
    }
    wrong
}

/// Checks how images are pulled.
pub fn pull_policy(policy: &str, field: &Path) -> Option<FieldError> {
    match policy {
        "Always" | "IfNotPresent" | "Never" => None,
        "" => Some(FieldError::required(field, "")),
        _ => Some(FieldError::not_supported(
            field,
            &Value::from(policy),
            &["Always", "IfNotPresent", "Never"],
        )),
    }
}

fn resize_policies(container: &Value, around: &Around<'_>, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, policy) in container.list("resizePolicy").iter().enumerate() {
        let (resource, restart) = (policy.text("resourceName"), policy.text("restartPolicy"));
        if !seen.insert(resource) {
            wrong.push(FieldError::duplicate(&field.index(index), &Value::from(resource)));
        }
        match resource {
            "cpu" | "memory" => {}
            "" => wrong.push(FieldError::required(field, "")),
            _ => wrong.push(FieldError::not_supported(
                field,
                &Value::from(resource),
                &["cpu", "memory"],
            )),
        }
        match restart {
            "NotRequired" | "RestartContainer" => {}
            "" => wrong.push(FieldError::required(field, "")),
            _ => wrong.push(FieldError::not_supported(
                field,
                &Value::from(restart),
                &["NotRequired", "RestartContainer"],
            )),
        }
        if around.restart_policy == "Never" && restart != "NotRequired" {
            wrong.push(FieldError::invalid(
                field,
                &Value::from(restart),
                "must be 'NotRequired' when pod `restartPolicy` is 'Never'",
            ));
        }
    }
    wrong
}

fn restart_rules(container: &Value, field: &Path) -> Vec<FieldError> {
    let policies = ["Always", "Never", "OnFailure"];
    let mut wrong = Vec::new();
    let rules = container.list("restartPolicyRules");
    let at = field.child("restartPolicy");
    match container.text_opt("restartPolicy") {
        None if rules.is_empty() => return wrong,
        None => wrong.push(FieldError::required(
            &at,
            "must specify restartPolicy when restart rules are used",
        )),
        Some(policy) if !policies.contains(&policy) => {
            wrong.push(FieldError::not_supported(&at, &Value::from(policy), &policies));
        }
        Some(_) => {}
    }
    let at = field.child("restartPolicyRules");
    if rules.len() > 20 {
        wrong.push(FieldError::too_many(&at, rules.len(), 20));
    }
    for (index, rule) in rules.iter().enumerate() {
        let at = at.index(index);
        let action = rule.text("action");
        if !matches!(action, "Restart" | "RestartAllContainers") {
            wrong.push(FieldError::not_supported(
                &at.child("action"),
                &Value::from(action),
                &["Restart", "RestartAllContainers"],
            ));
        }
        let at = at.child("exitCodes");
        let Some(codes) = rule.part("exitCodes") else {
            wrong.push(FieldError::required(&at, "must be specified"));
            continue;
        };
        let operator = codes.text("operator");
        if !matches!(operator, "In" | "NotIn") {
            wrong.push(FieldError::not_supported(
                &at.child("operator"),
                &Value::from(operator),
                &["In", "NotIn"],
            ));
        }
        let values = codes.list("values");
        if values.len() > 255 {
            wrong.push(FieldError::too_many(&at.child("values"), values.len(), 255));
        }
    }
    wrong
}
