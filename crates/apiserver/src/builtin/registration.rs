//! What is registered with the server: webhooks, admission policies and other API servers.
//!
//! Webhooks and policies are only filled in here; what is wrong with them, expressions and all, is
//! judged where they are run (`admission`).

use serde_json::{Value, json};

use super::view::{at, default, has, number, object, restore, take, text, wrong};
use super::{Generation, Strategy, form, format};
use crate::fields::{FieldError, Path};

const V1: &str = "admissionregistration.k8s.io/v1";

const REGISTERED: Strategy =
    Strategy { generation: Generation::Spec, unconditional_update: false, ..Strategy::PLAIN };

/// The rules of ValidatingWebhookConfiguration.
pub const VALIDATING_WEBHOOKS: Strategy = Strategy {
    defaults: |hooks| {
        form::settle(V1, "ValidatingWebhookConfiguration", hooks);
        default_hooks(hooks);
    },
    ..REGISTERED
};

/// The rules of MutatingWebhookConfiguration.
pub const MUTATING_WEBHOOKS: Strategy = Strategy {
    defaults: |hooks| {
        form::settle(V1, "MutatingWebhookConfiguration", hooks);
        default_hooks(hooks);
        for hook in parts(hooks, "/webhooks") {
            default(hook, "", "reinvocationPolicy", "Never");
        }
    },
    ..REGISTERED
};

/// The rules of ValidatingAdmissionPolicy.
pub const VALIDATING_POLICY: Strategy = Strategy {
    defaults: |policy| {
        form::settle(V1, "ValidatingAdmissionPolicy", policy);
        default(policy, "spec", "failurePolicy", "Fail");
        default_match(policy, "spec.matchConstraints");
    },
    prepare_create: |policy| drop(object(policy, "").insert("status".into(), json!({}))),
    prepare_update: |new, old| restore(new, old, "status"),
    ..REGISTERED
};

/// The rules of MutatingAdmissionPolicy.
pub const MUTATING_POLICY: Strategy = Strategy {
    defaults: |policy| {
        form::settle(V1, "MutatingAdmissionPolicy", policy);
        default(policy, "spec", "failurePolicy", "Fail");
        default_match(policy, "spec.matchConstraints");
    },
    ..REGISTERED
};

/// The rules of ValidatingAdmissionPolicyBinding.
pub const VALIDATING_BINDING: Strategy = Strategy {
    defaults: |binding| {
        form::settle(V1, "ValidatingAdmissionPolicyBinding", binding);
        default_match(binding, "spec.matchResources");
    },
    ..REGISTERED
};

/// The rules of MutatingAdmissionPolicyBinding.
pub const MUTATING_BINDING: Strategy = Strategy {
    defaults: |binding| {
        form::settle(V1, "MutatingAdmissionPolicyBinding", binding);
        default_match(binding, "spec.matchResources");
    },
    ..REGISTERED
};

/// The rules of APIService.
pub const API_SERVICE: Strategy = Strategy {
    defaults: |service| {
        form::settle("apiregistration.k8s.io/v1", "APIService", service);
        if has(service, "spec.service") {
            default(service, "spec.service", "port", 443);
        }
    },
    prepare_create: |service| {
        take(service, "status");
        if !has(service, "spec.service") {
            // The server vouches for what it serves itself.
            let made = at(service, "metadata.creationTimestamp").clone();
            let condition = json!({
                "type": "Available", "status": "True", "reason": "Local",
                "message": "Local APIServices are always available", "lastTransitionTime": made,
            });
            object(service, "status").insert("conditions".into(), json!([condition]));
        }
        form::settle("apiregistration.k8s.io/v1", "APIService", service);
    },
    prepare_update: |new, old| restore(new, old, "status"),
    validate: validate_service,
    ..Strategy::PLAIN
};

fn parts<'a>(value: &'a mut Value, pointer: &str) -> impl Iterator<Item = &'a mut Value> {
    value.pointer_mut(pointer).and_then(Value::as_array_mut).into_iter().flatten()
}

fn default_hooks(hooks: &mut Value) {
    for hook in parts(hooks, "/webhooks") {
        default(hook, "", "failurePolicy", "Fail");
        default_selectors(hook);
        default(hook, "", "timeoutSeconds", 10);
        default_scopes(parts(hook, "/rules"));
        if has(hook, "clientConfig.service") {
            default(hook, "clientConfig.service", "port", 443);
        }
    }
}

fn default_scopes<'a>(rules: impl Iterator<Item = &'a mut Value>) {
    for rule in rules {
        default(rule, "", "scope", "*");
    }
}

fn default_selectors(held: &mut Value) {
    default(held, "", "matchPolicy", "Equivalent");
    for name in ["namespaceSelector", "objectSelector"] {
        if !has(held, name) {
            object(held, "").insert(name.to_owned(), json!({}));
        }
    }
}

fn default_match(holder: &mut Value, path: &str) {
    if !has(holder, path) {
        return;
    }
    let pointer = format!("/{}", path.replace('.', "/"));
    if let Some(matched) = holder.pointer_mut(&pointer) {
        default_selectors(matched);
        default_scopes(parts(matched, "/resourceRules"));
        default_scopes(parts(matched, "/excludeResourceRules"));
    }
}

fn validate_service(service: &Value) -> Vec<FieldError> {
    let path = Path::new("spec");
    let (group, version) = (text(service, "spec.group"), text(service, "spec.version"));
    let mut errors = Vec::new();
    let (name, required) = (text(service, "metadata.name"), format!("{version}.{group}"));
    if format::path_segment(name).is_empty() && name != required {
        errors.extend(wrong(
            &Path::new("metadata.name"),
            name,
            vec![format!("must be `spec.version+\".\"+spec.group`: {required:?}")],
        ));
    }
    if group.is_empty() {
        if version != "v1" {
            errors.push(FieldError::required(
                &path.child("group"),
                "only v1 may have an empty group and it better be legacy kube",
            ));
        }
    } else {
        errors.extend(wrong(&path.child("group"), group, format::dns_subdomain(group)));
    }
    errors.extend(wrong(&path.child("version"), version, version_label(version)));
    for (field, limit) in [("groupPriorityMinimum", 20000), ("versionPriority", 1000)] {
        let priority = number(at(service, "spec"), field).unwrap_or_default();
        if !(1..=limit).contains(&priority) {
            errors.push(FieldError::invalid(
                &path.child(field),
                &json!(priority),
                format!("must be positive and less than {limit}"),
            ));
        }
    }
    let insecure = at(service, "spec.insecureSkipTLSVerify") == &json!(true);
    let insecure_path = path.child("insecureSkipTLSVerify");
    let bundled = !text(service, "spec.caBundle").is_empty();
    if !has(service, "spec.service") {
        if insecure {
            errors.push(FieldError::invalid(
                &insecure_path,
                &json!(true),
                "local APIServices may not have insecureSkipTLSVerify",
            ));
        }
        return errors;
    }
    let target = path.child("service");
    for field in ["namespace", "name"] {
        if text(at(service, "spec.service"), field).is_empty() {
            errors.push(FieldError::required(&target.child(field), ""));
        }
    }
    let port = number(service, "spec.service.port").unwrap_or_default();
    if let Some(message) = format::port_number(port) {
        errors.push(FieldError::invalid(
            &target.child("port"),
            &json!(port),
            format!("port is not valid: {message}"),
        ));
    }
    if insecure && bundled {
        errors.push(FieldError::invalid(
            &insecure_path,
            &json!(true),
            "may not be true if caBundle is present",
        ));
    }
    errors
}

/// A version is a DNS label that begins with a letter.
fn version_label(label: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    if label.len() > 63 {
        sentences.push("must be no more than 63 characters".to_owned());
    }
    let valid = label.starts_with(|c: char| c.is_ascii_lowercase())
        && label.ends_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && label.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-');
    if !valid {
        sentences.push("a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')".to_owned());
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn webhooks_are_filled_in() {
        let mut hooks = json!({"webhooks": [{"name": "a.b.c", "clientConfig": {"service": {"name": "s", "namespace": "n"}}, "rules": [{}]}]});
        (MUTATING_WEBHOOKS.defaults)(&mut hooks);
        let hook = &hooks["webhooks"][0];
        assert_eq!(hook["timeoutSeconds"], 10);
        assert_eq!(hook["rules"][0]["scope"], "*");
        assert_eq!(hook["reinvocationPolicy"], "Never");
        assert_eq!(hook["clientConfig"]["service"]["port"], 443);
        assert_eq!(hook["namespaceSelector"], json!({}));
    }

    #[test]
    fn policies_are_filled_in() {
        let mut policy =
            json!({"spec": {"matchConstraints": {"resourceRules": [{"resources": ["a"]}]}}});
        (VALIDATING_POLICY.defaults)(&mut policy);
        assert_eq!(policy["spec"]["failurePolicy"], "Fail");
        assert_eq!(policy["spec"]["matchConstraints"]["matchPolicy"], "Equivalent");
        assert_eq!(policy["spec"]["matchConstraints"]["resourceRules"][0]["scope"], "*");
        let mut binding = json!({"spec": {"policyName": "p"}});
        (VALIDATING_BINDING.defaults)(&mut binding);
        assert!(binding["spec"].get("matchResources").is_none());
    }

    #[test]
    fn a_service_is_named_after_its_version() {
        let service = json!({"metadata": {"name": "x"}, "spec": {"group": "a.b", "version": "v1", "groupPriorityMinimum": 0, "versionPriority": 1, "service": {"name": "s", "namespace": "n", "port": 443}}});
        let said: Vec<String> =
            validate_service(&service).iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "metadata.name: Invalid value: \"x\": must be `spec.version+\".\"+spec.group`: \"v1.a.b\"",
                "spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000",
            ]
        );
    }
}
