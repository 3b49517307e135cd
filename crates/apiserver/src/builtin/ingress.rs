//! Ingress and IngressClass.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::address::address_errors;
use super::view::{at, default, has, immutable, items, number, one_of, restore, take, text, wrong};
use super::{Generation, Strategy, form, format};
use crate::fields::{FieldError, Path};

const V1: &str = "networking.k8s.io/v1";
const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

/// The rules of Ingress.
pub const INGRESS: Strategy = Strategy {
    defaults: |ingress| form::settle(V1, "Ingress", ingress),
    prepare_create: |ingress| {
        take(ingress, "status");
        form::settle(V1, "Ingress", ingress);
    },
    prepare_update: |new, old| restore(new, old, "status"),
    validate: |ingress| {
        let mut errors = validate(ingress);
        let annotated =
            at(ingress, "metadata.annotations").get(CLASS_ANNOTATION).and_then(Value::as_str);
        if let (Some(annotated), Some(class)) =
            (annotated, at(ingress, "spec.ingressClassName").as_str())
            && annotated != class
        {
            errors.extend(wrong(
                &Path::new("annotations").child(CLASS_ANNOTATION),
                annotated,
                vec!["must match `ingressClassName` when both are specified".into()],
            ));
        }
        errors
    },
    validate_update: |new, _| validate(new),
    revalidate: false,
    generation: Generation::Spec,
    validate_status: |new, _| {
        let mut errors = Vec::new();
        for (index, point) in items(new, "status.loadBalancer.ingress").iter().enumerate() {
            let path = Path::new("status.loadBalancer.ingress").index(index);
            let (ip, host) = (text(point, "ip"), text(point, "hostname"));
            if !ip.is_empty() {
                errors.extend(address_errors(&path.child("ip"), ip));
            }
            if !host.is_empty() {
                errors.extend(host_errors(host, &path.child("hostname"), false));
            }
        }
        errors
    },
    ..Strategy::PLAIN
};

/// The rules of IngressClass.
pub const INGRESS_CLASS: Strategy = Strategy {
    defaults: |class| {
        form::settle(V1, "IngressClass", class);
        if has(class, "spec.parameters") {
            default(class, "spec.parameters", "scope", "Cluster");
        }
    },
    validate: validate_class,
    validate_update: |new, old| {
        let path = Path::new("spec.controller");
        let mut errors = immutable(&path, at(new, "spec.controller"), at(old, "spec.controller"));
        errors.extend(validate_class(new));
        errors
    },
    revalidate: false,
    generation: Generation::Spec,
    ..Strategy::PLAIN
};

fn validate(ingress: &Value) -> Vec<FieldError> {
    let path = Path::new("spec");
    let rules = items(ingress, "spec.rules");
    let mut errors = Vec::new();
    if rules.is_empty() && !has(ingress, "spec.defaultBackend") {
        errors.push(FieldError::invalid(
            &path,
            at(ingress, "spec.rules"),
            "either `defaultBackend` or `rules` must be specified",
        ));
    }
    if has(ingress, "spec.defaultBackend") {
        errors.extend(backend(at(ingress, "spec.defaultBackend"), &path.child("defaultBackend")));
    }
    for (index, rule) in rules.iter().enumerate() {
        let path = path.child("rules").index(index);
        let host = text(rule, "host");
        if !host.is_empty() {
            errors.extend(host_errors(host, &path.child("host"), true));
        }
        if has(rule, "http") {
            let path = path.child("http").child("paths");
            let paths = items(rule, "http.paths");
            if paths.is_empty() {
                errors.push(FieldError::required(&path, ""));
            }
            for (index, one) in paths.iter().enumerate() {
                errors.extend(path_errors(one, &path.index(index)));
            }
        }
    }
    for (index, tls) in items(ingress, "spec.tls").iter().enumerate() {
        let path = path.child("tls").index(index);
        for (at_host, host) in items(tls, "hosts").iter().filter_map(Value::as_str).enumerate() {
            let sentences =
                if host.contains('*') { wildcard(host) } else { format::dns_subdomain(host) };
            errors.extend(wrong(&path.child("hosts").index(at_host), host, sentences));
        }
        let secret = text(tls, "secretName");
        if !secret.is_empty() {
            errors.extend(wrong(&path.child("secretName"), secret, format::dns_subdomain(secret)));
        }
    }
    if has(ingress, "spec.ingressClassName") {
        let class = text(ingress, "spec.ingressClassName");
        errors.extend(wrong(&path.child("ingressClassName"), class, format::dns_subdomain(class)));
    }
    errors
}

fn host_errors(host: &str, path: &Path, wildcards: bool) -> Vec<FieldError> {
    let not_a_name = || {
        if host.parse::<IpAddr>().is_ok() {
            wrong(path, host, vec!["must be a DNS name, not an IP address".into()])
        } else {
            Vec::new()
        }
    };
    let mut errors = Vec::new();
    if wildcards {
        errors.extend(not_a_name());
    }
    let sentences =
        if wildcards && host.contains('*') { wildcard(host) } else { format::dns_subdomain(host) };
    errors.extend(wrong(path, host, sentences));
    if !wildcards {
        errors.extend(not_a_name());
    }
    errors
}

/// What is wrong with a host name that begins with `*.`.
fn wildcard(host: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    if host.len() > 253 {
        sentences.push("must be no more than 253 characters".to_owned());
    }
    if !host.strip_prefix("*.").is_some_and(|rest| format::dns_subdomain(rest).is_empty()) {
        sentences.push(
            r"a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')".to_owned(),
        );
    }
    sentences
}

fn path_errors(one: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if !has(one, "pathType") {
        return vec![FieldError::required(&path.child("pathType"), "pathType must be specified")];
    }
    let place = text(one, "path");
    let mut refuse = |why: String| {
        errors.push(FieldError::invalid(&path.child("path"), &json!(place), why));
    };
    match text(one, "pathType") {
        "Exact" | "Prefix" => {
            if !place.starts_with('/') {
                refuse("must be an absolute path".to_owned());
            }
            for part in ["//", "/./", "/../", "%2f", "%2F"] {
                if place.contains(part) {
                    refuse(format!("must not contain '{part}'"));
                }
            }
            for end in ["/..", "/."] {
                if place.ends_with(end) {
                    refuse(format!("cannot end with '{end}'"));
                }
            }
        }
        "ImplementationSpecific" => {
            if !place.is_empty() && !place.starts_with('/') {
                refuse("must be an absolute path".to_owned());
            }
        }
        other => errors.extend(one_of(
            &path.child("pathType"),
            other,
            &["Exact", "ImplementationSpecific", "Prefix"],
        )),
    }
    errors.extend(backend(at(one, "backend"), &path.child("backend")));
    errors
}

fn backend(backend: &Value, path: &Path) -> Vec<FieldError> {
    let invalid = |why: &str| FieldError::invalid(path, &json!(""), why);
    let mut errors = Vec::new();
    match (has(backend, "resource"), has(backend, "service")) {
        (true, true) => errors.push(invalid("cannot set both resource and service backends")),
        (true, false) => {
            errors.extend(reference(at(backend, "resource"), &path.child("resource")));
        }
        (false, true) => {
            let name = text(backend, "service.name");
            let name_path = path.child("service").child("name");
            if name.is_empty() {
                errors.push(FieldError::required(&name_path, ""));
            } else {
                errors.extend(wrong(&name_path, name, format::dns_label(name)));
            }
            let port_path = path.child("service").child("port");
            let port_name = text(backend, "service.port.name");
            let port = number(backend, "service.port.number").unwrap_or_default();
            match (port_name.is_empty(), port) {
                (false, 1.. | ..0) => {
                    errors.push(invalid("cannot set both port name & port number"));
                }
                (false, 0) => {
                    errors.extend(wrong(
                        &port_path.child("name"),
                        port_name,
                        format::port_name(port_name),
                    ));
                }
                (true, 0) => {
                    errors.push(FieldError::required(path, "port name or number is required"));
                }
                (true, _) => {
                    if let Some(message) = format::port_number(port) {
                        errors.push(FieldError::invalid(
                            &port_path.child("number"),
                            &json!(port),
                            message,
                        ));
                    }
                }
            }
        }
        (false, false) => errors.push(invalid("resource or service backend is required")),
    }
    errors
}

fn reference(target: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if has(target, "apiGroup") {
        let group = text(target, "apiGroup");
        errors.extend(wrong(&path.child("apiGroup"), group, format::dns_subdomain(group)));
    }
    for field in ["kind", "name"] {
        let value = text(target, field);
        if value.is_empty() {
            errors.push(FieldError::required(&path.child(field), ""));
        } else {
            errors.extend(wrong(&path.child(field), value, format::path_segment(value)));
        }
    }
    errors
}

fn validate_class(class: &Value) -> Vec<FieldError> {
    let path = Path::new("spec");
    let controller = text(class, "spec.controller");
    let mut errors = Vec::new();
    if controller.len() > 250 {
        errors.push(FieldError::too_long(&path.child("controller"), 250));
    }
    errors.extend(format::domain_prefixed_path(&path.child("controller"), controller));
    if has(class, "spec.parameters") {
        let (parameters, path) = (at(class, "spec.parameters"), path.child("parameters"));
        errors.extend(reference(parameters, &path));
        let scope = text(parameters, "scope");
        let namespace_path = path.child("namespace");
        let namespace = at(parameters, "namespace").as_str();
        match scope {
            "Namespace" => match namespace {
                None => errors.push(FieldError::required(
                    &namespace_path,
                    "`parameters.scope` is set to 'Namespace'",
                )),
                Some(name) => errors.extend(wrong(&namespace_path, name, format::dns_label(name))),
            },
            "Cluster" => {
                if namespace.is_some() {
                    errors.push(FieldError::forbidden(
                        &namespace_path,
                        "`parameters.scope` is set to 'Cluster'",
                    ));
                }
            }
            other => {
                errors.extend(one_of(&path.child("scope"), other, &["Cluster", "Namespace"]));
            }
        }
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
    fn something_must_be_served() {
        assert_eq!(
            said(&validate(&json!({"spec": {}}))),
            ["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"]
        );
        let rule = json!({"host": "10.0.0.1", "http": {"paths": [
            {"path": "a//b", "pathType": "Exact", "backend": {}},
            {"path": "/", "pathType": "Some", "backend": {"service": {"name": "s", "port": {}}}},
            {"path": "/"}]}});
        assert_eq!(
            said(&validate(&json!({"spec": {"rules": [rule]}}))),
            [
                "spec.rules[0].host: Invalid value: \"10.0.0.1\": must be a DNS name, not an IP address",
                "spec.rules[0].http.paths[0].path: Invalid value: \"a//b\": must be an absolute path",
                "spec.rules[0].http.paths[0].path: Invalid value: \"a//b\": must not contain '//'",
                "spec.rules[0].http.paths[0].backend: Invalid value: \"\": resource or service backend is required",
                "spec.rules[0].http.paths[1].pathType: Unsupported value: \"Some\": supported values: \"Exact\", \"ImplementationSpecific\", \"Prefix\"",
                "spec.rules[0].http.paths[1].backend: Required value: port name or number is required",
                "spec.rules[0].http.paths[2].pathType: Required value: pathType must be specified",
            ]
        );
    }

    #[test]
    fn the_controller_of_a_class_stays() {
        let old = json!({"spec": {"controller": "a.b/c"}});
        let mut new =
            json!({"spec": {"controller": "a.b/d", "parameters": {"kind": "K", "name": "n"}}});
        (INGRESS_CLASS.defaults)(&mut new);
        assert_eq!(
            said(&(INGRESS_CLASS.validate_update)(&new, &old)),
            ["spec.controller: Invalid value: \"a.b/d\": field is immutable"]
        );
        new["spec"]["controller"] = json!("a.b/c");
        assert!((INGRESS_CLASS.validate_update)(&new, &old).is_empty());
    }
}
