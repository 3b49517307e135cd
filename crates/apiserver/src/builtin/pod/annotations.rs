//! Annotations that mean something on pods.

use serde_json::{Value, json};

use super::affinity;
use super::platform::containers;
use super::volumes::descending_path;
use crate::builtin::value::{Fields as _, Fill as _};
use crate::fields::{FieldError, Path};

const MIRROR: &str = "kubernetes.io/config.mirror";
const TOLERATIONS: &str = "scheduler.alpha.kubernetes.io/tolerations";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APPARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// Checks the annotations of a pod or template.
pub fn pod(meta: &Value, spec: &Value, field: &Path) -> Vec<FieldError> {
    let annotations = meta.get_or_null("annotations");
    let mut wrong = Vec::new();
    if let Some(value) = annotations.text_opt(MIRROR)
        && spec.text("nodeName").is_empty()
    {
        wrong.push(FieldError::invalid(
            &field.key(MIRROR),
            &Value::from(value),
            "must set spec.nodeName if mirror pod annotation is set",
        ));
    }
    let tolerations = annotations.text(TOLERATIONS);
    if !tolerations.is_empty() {
        match serde_json::from_str::<Vec<Value>>(tolerations) {
            Ok(list) => wrong.extend(affinity::tolerations(&list, &field.child(TOLERATIONS))),
            Err(error) => {
                wrong.push(FieldError::invalid(
                    field,
                    &Value::from(TOLERATIONS),
                    error.to_string(),
                ));
            }
        }
    }
    if let Some(cost) = annotations.text_opt(DELETION_COST)
        && !is_deletion_cost(cost)
    {
        wrong.push(FieldError::invalid(
            &field.key(DELETION_COST),
            &Value::from(cost),
            "must be a 32bit integer",
        ));
    }
    if let Some(profile) = annotations.text_opt(SECCOMP_POD) {
        wrong.extend(seccomp(profile, &field.child(SECCOMP_POD)));
    }
    for (key, value) in annotations.as_object().into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        if key.starts_with(SECCOMP_CONTAINER) {
            wrong.extend(seccomp(value, &field.child(key)));
        }
        if let Some(name) = key.strip_prefix(APPARMOR) {
            let known = containers(spec, field).iter().any(|(c, _)| c.text("name") == name);
            if !known {
                wrong.push(FieldError::invalid(
                    &field.key(key),
                    &Value::from(name),
                    "container not found",
                ));
            }
            let fits = matches!(value, "" | "runtime/default" | "unconfined")
                || value.starts_with("localhost/");
            if !fits {
                wrong.push(FieldError::invalid(
                    &field.key(key),
                    &Value::from(value),
                    format!("invalid AppArmor profile name: {value:?}"),
                ));
            }
        }
    }
    wrong
}

/// A 32-bit number without plus sign or leading zeros.
fn is_deletion_cost(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = digits == "0" || digits.starts_with(|c: char| ('1'..='9').contains(&c));
    plain && text != "-0" && text.parse::<i32>().is_ok()
}

fn seccomp(profile: &str, field: &Path) -> Vec<FieldError> {
    match profile {
        "runtime/default" | "docker/default" | "unconfined" => Vec::new(),
        _ => match profile.strip_prefix("localhost/") {
            Some(path) => descending_path(path, field),
            None => vec![FieldError::invalid(
                field,
                &Value::from(profile),
                "must be a valid seccomp profile",
            )],
        },
    }
}

/// Annotations and fields that both name a profile must name the same.
pub fn profiles_agree(meta: &Value, spec: &Value, field: &Path) -> Vec<FieldError> {
    let annotations = meta.get_or_null("annotations");
    let mut wrong = Vec::new();
    let of_pod = spec.get_or_null("securityContext");
    if let (Some(said), Some(profile)) =
        (annotations.text_opt(SECCOMP_POD), of_pod.part("seccompProfile"))
    {
        let at = field.child("securityContext").child("seccompProfile");
        let fits = ["runtime/default", "docker/default"];
        wrong.extend(agrees(said, profile, &at, "seccomp", &fits));
    }
    for (container, at) in containers(spec, field) {
        let context = container.get_or_null("securityContext");
        let key = format!("{SECCOMP_CONTAINER}{}", container.text("name"));
        if let (Some(said), Some(profile)) =
            (annotations.text_opt(&key), context.part("seccompProfile"))
        {
            let at = at.child("securityContext").child("seccompProfile");
            let fits = ["runtime/default", "docker/default"];
            wrong.extend(agrees(said, profile, &at, "seccomp", &fits));
        }
    }
    if spec.get_or_null("os").text("name") == "windows" {
        return wrong;
    }
    for (container, at) in containers(spec, field) {
        let own = container.get_or_null("securityContext").part("appArmorProfile");
        let key = format!("{APPARMOR}{}", container.text("name"));
        if let (Some(said), Some(profile)) =
            (annotations.text_opt(&key), own.or(of_pod.part("appArmorProfile")))
        {
            let at = at.child("securityContext").child("appArmorProfile");
            wrong.extend(agrees(said, profile, &at, "apparmor", &["runtime/default"]));
        }
    }
    wrong
}

fn agrees(
    said: &str,
    profile: &Value,
    field: &Path,
    what: &str,
    defaults: &[&str],
) -> Option<FieldError> {
    let differs = || {
        Some(FieldError::forbidden(
            &field.child("type"),
            format!("{what} type in annotation and field must match"),
        ))
    };
    match profile.text("type") {
        "Unconfined" if said != "unconfined" => differs(),
        "RuntimeDefault" if !defaults.contains(&said) => differs(),
        "Localhost" => match said.strip_prefix("localhost/") {
            None => differs(),
            Some(path) if profile.text_opt("localhostProfile") != Some(path) => {
                Some(FieldError::forbidden(
                    &field.child("localhostProfile"),
                    format!("{what} profile in annotation and field must match"),
                ))
            }
            Some(_) => None,
        },
        _ => None,
    }
}

/// Checks a change of annotations that mean something.
pub fn update(new: &Value, old: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let of = |pod: &'_ Value| pod.get_or_null("metadata").get_or_null("annotations").clone();
    let (now, before) = (of(new), of(old));
    for (key, value) in before.as_object().into_iter().flatten() {
        if now.get(key) == Some(value) {
            continue;
        }
        if key.starts_with(APPARMOR) {
            wrong.push(FieldError::forbidden(
                &field.key(key),
                "may not remove or update AppArmor annotations",
            ));
        }
        if key == MIRROR {
            wrong.push(FieldError::forbidden(
                &field.key(key),
                "may not remove or update mirror pod annotation",
            ));
        }
    }
    for key in now.as_object().into_iter().flat_map(|m| m.keys()) {
        if before.get(key).is_some() {
            continue;
        }
        if key.starts_with(APPARMOR) {
            wrong.push(FieldError::forbidden(&field.key(key), "may not add AppArmor annotations"));
        }
        if key == MIRROR {
            wrong.push(FieldError::forbidden(&field.key(key), "may not add mirror pod annotation"));
        }
    }
    wrong.extend(pod(new.get_or_null("metadata"), new.get_or_null("spec"), field));
    wrong
}

/// Whether a pod is the reflection of one that a kubelet runs by itself.
pub fn is_mirror(pod: &Value) -> bool {
    pod.get_or_null("metadata").get_or_null("annotations").part(MIRROR).is_some()
}

/// Warns of profiles that are named in annotations. `field` is empty for pods, whose AppArmor profiles
/// have become fields.
pub fn old_profiles(meta: &Value, spec: &Value, field: &Path) -> Vec<String> {
    const USE: &str = "use the \"seccompProfile\" field instead";
    let annotations = meta.get_or_null("annotations");
    let noted = field.child("metadata").child("annotations");
    let of_pod = spec.get_or_null("securityContext");
    let mut said = Vec::new();
    if of_pod.part("seccompProfile").is_none() && annotations.part(SECCOMP_POD).is_some() {
        said.push(format!("{}: non-functional in v1.27+; {USE}", noted.key(SECCOMP_POD)));
    }
    for (container, _) in containers(spec, field) {
        let context = container.get_or_null("securityContext");
        let key = format!("{SECCOMP_CONTAINER}{}", container.text("name"));
        if context.part("seccompProfile").is_none() && annotations.part(&key).is_some() {
            said.push(format!("{}: non-functional in v1.27+; {USE}", noted.key(&key)));
        }
        let key = format!("{APPARMOR}{}", container.text("name"));
        let Some(value) = annotations.text_opt(&key) else { continue };
        let named = apparmor_field(value);
        let own = context.part("appArmorProfile");
        let warned = if field.as_str().is_empty() {
            // The field was just made from the annotation.
            named.is_none() || (own.is_some() && own == named.as_ref())
        } else {
            own.is_none() && named.as_ref() != of_pod.part("appArmorProfile")
        };
        if warned {
            said.push(format!(
                "{}: deprecated since v1.30; use the \"appArmorProfile\" field instead",
                noted.key(&key)
            ));
        }
    }
    said
}

fn apparmor_field(annotation: &str) -> Option<Value> {
    match annotation {
        "unconfined" => Some(json!({"type": "Unconfined"})),
        "runtime/default" => Some(json!({"type": "RuntimeDefault"})),
        _ => match annotation.strip_prefix("localhost/") {
            Some(path) if !path.is_empty() && path.trim() == path => {
                Some(json!({"type": "Localhost", "localhostProfile": path}))
            }
            _ => None,
        },
    }
}

/// AppArmor profiles that old clients name in annotations become fields.
pub fn to_fields(pod: &mut Value) {
    if pod.get_or_null("spec").get_or_null("os").text("name") == "windows" {
        return;
    }
    let annotations = pod.get_or_null("metadata").get_or_null("annotations").clone();
    let spec = pod.object("spec");
    let of_pod = spec.get_or_null("securityContext").get_or_null("appArmorProfile").clone();
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for container in spec.items_mut(list) {
            let key = format!("{APPARMOR}{}", container.text("name"));
            let own = container.get_or_null("securityContext").part("appArmorProfile").is_some();
            let Some(said) = annotations.text_opt(&key).filter(|_| !own) else { continue };
            let Some(profile) = apparmor_field(said) else { continue };
            if profile != of_pod {
                container.object("securityContext").put("appArmorProfile", profile);
            }
        }
    }
}
