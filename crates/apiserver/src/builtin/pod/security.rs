//! What is wrong with security contexts.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::volumes::descending_path;
use crate::builtin::form;
use crate::builtin::format::{between, dns_subdomain, invalid_each};
use crate::builtin::value::Fields as _;
use crate::fields::{FieldError, Path};

const MAX_ID: i64 = i32::MAX as i64;
/// Settings of the kernel that belong to the namespace of interprocess communication.
const IPC_SYSCTLS: [&str; 10] = [
    "kernel.sem",
    "kernel.shmall",
    "kernel.shmmax",
    "kernel.shmmni",
    "kernel.shm_rmid_forced",
    "kernel.shm",
    "kernel.msgmax",
    "kernel.msgmnb",
    "kernel.msgmni",
    "kernel.msg",
];
const SYSCTL: &str = r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";

fn id(value: i64, field: &Path) -> Option<FieldError> {
    (!(0..=MAX_ID).contains(&value))
        .then(|| FieldError::invalid(field, &Value::from(value), between(0, MAX_ID)))
}

/// Checks a pod's security context.
pub fn pod(spec: &Value, field: &Path) -> Vec<FieldError> {
    let Some(context) = spec.part("securityContext") else { return Vec::new() };
    let mut wrong = Vec::new();
    for key in ["fsGroup", "runAsUser", "runAsGroup"] {
        wrong.extend(context.int_opt(key).and_then(|value| id(value, &field.child(key))));
    }
    for (index, group) in context.list("supplementalGroups").iter().enumerate() {
        let at = field.child("supplementalGroups").index(index);
        wrong.extend(group.as_i64().and_then(|value| id(value, &at)));
    }
    if spec.flag("hostPID") && spec.flag("shareProcessNamespace") {
        wrong.push(FieldError::invalid(
            &field.child("shareProcessNamespace"),
            &Value::from(true),
            "ShareProcessNamespace and HostPID cannot both be enabled",
        ));
    }
    wrong.extend(sysctls(context.list("sysctls"), spec, &field.child("sysctls")));
    wrong.extend(one_of(context, "fsGroupChangePolicy", &["Always", "OnRootMismatch"], field));
    wrong.extend(seccomp(context, field));
    wrong.extend(windows(context, field));
    wrong.extend(apparmor(context, field));
    wrong.extend(one_of(context, "supplementalGroupsPolicy", &["Merge", "Strict"], field));
    wrong.extend(one_of(context, "seLinuxChangePolicy", &["Recursive"], field));
    wrong
}

fn one_of(context: &Value, key: &str, allowed: &[&str], field: &Path) -> Option<FieldError> {
    let value = context.text_opt(key)?;
    (!allowed.contains(&value))
        .then(|| FieldError::not_supported(&field.child(key), &Value::from(value), allowed))
}

fn sysctls(sysctls: &[Value], spec: &Value, field: &Path) -> Vec<FieldError> {
    static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(SYSCTL).ok());
    let mut wrong = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for (index, sysctl) in sysctls.iter().enumerate() {
        let field = field.index(index).child("name");
        let name = sysctl.text("name");
        let invalid = |detail: String| FieldError::invalid(&field, &Value::from(name), detail);
        if name.is_empty() {
            wrong.push(FieldError::required(&field, ""));
        } else if name.len() > 253 || !NAME.as_ref().is_some_and(|p| p.is_match(name)) {
            wrong.push(invalid(format!(
                "must have at most 253 characters and match regex {SYSCTL}"
            )));
        } else if seen.contains(name) {
            wrong.push(FieldError::duplicate(&field, &Value::from(name)));
        }
        let dotted = name.replace('/', ".");
        let of_ipc = IPC_SYSCTLS.contains(&dotted.as_str()) || dotted.starts_with("fs.mqueue.");
        if spec.flag("hostNetwork") && dotted.starts_with("net.") {
            wrong.push(invalid("may not be specified when 'hostNetwork' is true".to_owned()));
        } else if spec.flag("hostIPC") && of_ipc {
            wrong.push(invalid("may not be specified when 'hostIPC' is true".to_owned()));
        }
        seen.insert(name);
    }
    wrong
}

/// Checks a container's security context. Privileged containers are allowed, as clusters do.
pub fn container(context: &Value, field: &Path, host_users: bool) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    for key in ["runAsUser", "runAsGroup"] {
        wrong.extend(context.int_opt(key).and_then(|value| id(value, &field.child(key))));
    }
    if let Some(mount) = context.text_opt("procMount") {
        let field = field.child("procMount");
        if !matches!(mount, "Default" | "Unmasked") {
            wrong.push(FieldError::not_supported(
                &field,
                &Value::from(mount),
                &["Default", "Unmasked"],
            ));
        }
        if host_users && mount == "Unmasked" {
            wrong.push(FieldError::invalid(
                &field,
                &Value::from(mount),
                "`hostUsers` must be false to use `Unmasked`",
            ));
        }
    }
    wrong.extend(seccomp(context, field));
    if context.flag_opt("allowPrivilegeEscalation") == Some(false) {
        let shown = || form::internal("core.SecurityContext", context);
        if context.flag("privileged") {
            wrong.push(FieldError::invalid_shown(
                field,
                shown(),
                "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
            ));
        }
        for capability in context.get_or_null("capabilities").list("add") {
            if capability == "CAP_SYS_ADMIN" {
                wrong.push(FieldError::invalid_shown(
                    field,
                    shown(),
                    "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN",
                ));
            }
        }
    }
    wrong.extend(windows(context, field));
    wrong.extend(apparmor(context, field));
    wrong
}

fn seccomp(context: &Value, field: &Path) -> Vec<FieldError> {
    let Some(profile) = context.part("seccompProfile") else { return Vec::new() };
    let field = &field.child("seccompProfile");
    let mut wrong = Vec::new();
    let kind = profile.text("type");
    match kind {
        "Localhost" | "RuntimeDefault" | "Unconfined" => {}
        "" => wrong.push(FieldError::required(
            &field.child("type"),
            "type is required when seccompProfile is set",
        )),
        _ => wrong.push(FieldError::not_supported(
            &field.child("type"),
            &Value::from(kind),
            &["Localhost", "RuntimeDefault", "Unconfined"],
        )),
    }
    let at = field.child("localhostProfile");
    match (kind, profile.text_opt("localhostProfile")) {
        ("Localhost", None) => {
            wrong.push(FieldError::required(&at, "must be set when seccomp type is Localhost"));
        }
        ("Localhost", Some(path)) => wrong.extend(descending_path(path, &at)),
        (_, Some(_)) => wrong.push(FieldError::invalid_shown(
            &at,
            form::internal("core.SeccompProfile", profile),
            "can only be set when seccomp type is Localhost",
        )),
        (_, None) => {}
    }
    wrong
}

fn apparmor(context: &Value, field: &Path) -> Vec<FieldError> {
    let Some(profile) = context.part("appArmorProfile") else { return Vec::new() };
    let field = &field.child("appArmorProfile");
    let at = field.child("localhostProfile");
    let needed = "must be set when AppArmor type is Localhost";
    let local = profile.text_opt("localhostProfile");
    match profile.text("type") {
        "Localhost" => {
            let Some(local) = local else { return vec![FieldError::required(&at, needed)] };
            let mut wrong = Vec::new();
            if local.trim() != local {
                wrong.push(FieldError::invalid(
                    &at,
                    &Value::from(local),
                    "must not be padded with whitespace",
                ));
            } else if local.is_empty() {
                wrong.push(FieldError::required(&at, needed));
            }
            if local.len() > 4095 {
                wrong.push(FieldError::too_long(&at, 4095));
            }
            wrong
        }
        "RuntimeDefault" | "Unconfined" => local
            .map(|local| {
                FieldError::invalid(
                    &at,
                    &Value::from(local),
                    "can only be set when AppArmor type is Localhost",
                )
            })
            .into_iter()
            .collect(),
        "" => vec![FieldError::required(
            &field.child("type"),
            "type is required when appArmorProfile is set",
        )],
        other => vec![FieldError::not_supported(
            &field.child("type"),
            &Value::from(other),
            &["Localhost", "RuntimeDefault", "Unconfined"],
        )],
    }
}

fn windows(context: &Value, field: &Path) -> Vec<FieldError> {
    let Some(options) = context.part("windowsOptions") else { return Vec::new() };
    let field = &field.child("windowsOptions");
    let mut wrong = Vec::new();
    if let Some(name) = options.text_opt("gmsaCredentialSpecName") {
        wrong.extend(invalid_each(
            &field.child("gmsaCredentialSpecName"),
            name,
            dns_subdomain(name),
        ));
    }
    if let Some(spec) = options.text_opt("gmsaCredentialSpec") {
        let detail = match spec.len() {
            0 => Some("gmsaCredentialSpec cannot be an empty string"),
            1..=65536 => None,
            _ => Some("gmsaCredentialSpec size must be under 64 KiB"),
        };
        wrong.extend(detail.map(|detail| {
            FieldError::invalid(&field.child("gmsaCredentialSpec"), &Value::from(spec), detail)
        }));
    }
    if let Some(name) = options.text_opt("runAsUserName") {
        let field = field.child("runAsUserName");
        for detail in windows_user(name) {
            wrong.push(FieldError::invalid(&field, &Value::from(name), detail));
        }
    }
    wrong
}

fn windows_user(name: &str) -> Vec<&'static str> {
    static DNS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let label = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?";
        Regex::new(&format!(r"^{label}(?:\.{label})*$")).ok()
    });
    static NETBIOS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"^[^\\/:\*\?"<>|\.][^\\/:\*\?"<>|]{0,14}$"#).ok());
    if name.is_empty() {
        return vec!["runAsUserName cannot be an empty string"];
    }
    if name.contains(|c: char| c.is_ascii_control()) {
        return vec!["runAsUserName cannot contain control characters"];
    }
    let parts: Vec<&str> = name.split('\\').collect();
    let (domain, user) = match parts.as_slice() {
        [user] => (None, *user),
        [domain, user] => (Some(*domain), *user),
        _ => return vec!["runAsUserName cannot contain more than one backslash"],
    };
    let mut wrong = Vec::new();
    if let Some(domain) = domain {
        if domain.len() >= 256 {
            wrong.push("runAsUserName's Domain length must be under 256 characters");
        }
        let fits = |pattern: &Option<Regex>| pattern.as_ref().is_some_and(|p| p.is_match(domain));
        if !fits(&NETBIOS) && !fits(&DNS) {
            wrong.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
        }
    }
    if user.is_empty() {
        wrong.push("runAsUserName's User cannot be empty");
    } else if user.len() > 104 {
        wrong.push("runAsUserName's User length must not be longer than 104 characters");
    }
    if !user.is_empty() && user.chars().all(|c| matches!(c, '.' | ' ')) {
        wrong.push("runAsUserName's User cannot contain only periods or spaces");
    }
    if user.contains(|c| r#""/\:;|=,+*?<>@[]"#.contains(c)) {
        wrong.push(
            r#"runAsUserName's User cannot contain the following characters: "/\:;|=,+*?<>@[]"#,
        );
    }
    wrong
}
