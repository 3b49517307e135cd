//! What is wrong with a pod spec, in a pod or in a template.

use serde_json::Value;

use super::container::{
    Around, containers, ephemeral_containers, init_containers, untrimmed_image,
};
use super::{affinity, annotations, platform, resources, security, volumes};
use crate::builtin::format::{
    between, dns_label, dns_subdomain, dns_subdomain_underscore, invalid_each, ip_address,
    qualified_name,
};
use crate::builtin::labels;
use crate::builtin::value::Fields as _;
use crate::fields::{FieldError, Path};

/// Checks a pod spec. `meta` is the pod's metadata; templates have none.
pub fn spec(spec: &Value, meta: Option<&Value>, field: &Path, is_pod: bool) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let grace = spec.int_opt("terminationGracePeriodSeconds");
    if grace.is_none() {
        wrong.push(FieldError::required(&field.child("terminationGracePeriodSeconds"), ""));
    }
    let (mountable, errors) =
        volumes::volumes(spec.list("volumes"), meta, &field.child("volumes"), is_pod);
    wrong.extend(errors);
    let claims = spec.list("resourceClaims");
    wrong.extend(resource_claims(claims, meta, &field.child("resourceClaims")));
    let around = Around {
        volumes: mountable,
        claims: claims.iter().map(|c| c.text("name")).filter(|n| !n.is_empty()).collect(),
        grace,
        restart_policy: spec.text("restartPolicy"),
        host_users: spec.flag_opt("hostUsers").unwrap_or(true),
    };
    let (regular, init) = (spec.list("containers"), spec.list("initContainers"));
    wrong.extend(containers(regular, &around, &field.child("containers")));
    wrong.extend(init_containers(init, regular, &around, &field.child("initContainers")));
    wrong.extend(ephemeral_containers(
        spec.list("ephemeralContainers"),
        &[regular, init],
        &around,
        &field.child("ephemeralContainers"),
    ));
    wrong.extend(resources::pod_level(spec, &around.claims, field));
    wrong.extend(host_network(spec, field, is_pod));
    wrong.extend(choice(spec, "restartPolicy", &["Always", "OnFailure", "Never"], field));
    wrong.extend(choice(
        spec,
        "dnsPolicy",
        &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"],
        field,
    ));
    wrong.extend(labels::labels(spec.get_or_null("nodeSelector"), &field.child("nodeSelector")));
    wrong.extend(security::pod(spec, &field.child("securityContext")));
    if let Some(wish) = spec.part("affinity") {
        wrong.extend(affinity::affinity(wish, &field.child("affinity")));
    }
    wrong.extend(dns_config(spec, &field.child("dnsConfig")));
    for (index, gate) in spec.list("readinessGates").iter().enumerate() {
        let name = gate.text("conditionType");
        let at = field.child("readinessGates").index(index).child("conditionType");
        wrong.extend(invalid_each(&at, name, qualified_name(name)));
    }
    wrong.extend(affinity::scheduling_gates(
        spec.list("schedulingGates"),
        &field.child("schedulingGates"),
    ));
    wrong.extend(affinity::spread(
        spec.list("topologySpreadConstraints"),
        &field.child("topologySpreadConstraints"),
    ));
    wrong.extend(platform::host_process(spec, field));
    wrong.extend(platform::host_users(spec, field));
    wrong.extend(hostname_override(spec, field));
    for key in ["serviceAccountName", "nodeName"] {
        wrong.extend(optional_subdomain(spec.text(key), &field.child(key)));
    }
    if let Some(seconds) = spec.int_opt("activeDeadlineSeconds")
        && !(1..=i64::from(i32::MAX)).contains(&seconds)
    {
        wrong.push(FieldError::invalid(
            &field.child("activeDeadlineSeconds"),
            &Value::from(seconds),
            between(1, i64::from(i32::MAX)),
        ));
    }
    for key in ["hostname", "subdomain"] {
        let name = spec.text(key);
        if !name.is_empty() {
            wrong.extend(invalid_each(&field.child(key), name, dns_label(name)));
        }
    }
    wrong.extend(affinity::tolerations(spec.list("tolerations"), &field.child("tolerations")));
    wrong.extend(host_aliases(spec.list("hostAliases"), &field.child("hostAliases")));
    wrong.extend(optional_subdomain(
        spec.text("priorityClassName"),
        &field.child("priorityClassName"),
    ));
    if let Some(name) = spec.text_opt("runtimeClassName") {
        wrong.extend(invalid_each(&field.child("runtimeClassName"), name, dns_subdomain(name)));
    }
    if spec.part("preemptionPolicy").is_some() {
        wrong.extend(choice(spec, "preemptionPolicy", &["PreemptLowerPriority", "Never"], field));
    }
    if let Some(overhead) = spec.part("overhead") {
        wrong.extend(resources::limits(overhead, &field.child("overhead")));
    }
    wrong.extend(platform::operating_system(spec, field));
    wrong.extend(file_keys(spec, field));
    wrong
}

/// Checks a pod: its own annotations, its spec, and what only pods refuse.
pub fn pod(pod: &Value) -> Vec<FieldError> {
    let (meta, spec) = (pod.get_or_null("metadata"), pod.get_or_null("spec"));
    let at = Path::new("spec");
    let mut wrong = annotations::pod(meta, spec, &Path::new("metadata.annotations"));
    wrong.extend(self::spec(spec, Some(meta), &at, true));
    if spec.text("serviceAccountName").is_empty() {
        for (index, volume) in spec.list("volumes").iter().enumerate() {
            let sources = volume.get_or_null("projected").list("sources");
            for (number, source) in sources.iter().enumerate() {
                if source.part("serviceAccountToken").is_some() {
                    wrong.push(FieldError::forbidden(
                        &at.child("volumes")
                            .index(index)
                            .child("projected")
                            .child("sources")
                            .index(number)
                            .child("serviceAccountToken"),
                        "must not be specified when serviceAccountName is not set",
                    ));
                }
            }
        }
    }
    for list in ["containers", "initContainers"] {
        for (index, container) in spec.list(list).iter().enumerate() {
            wrong.extend(untrimmed_image(container, &at.child(list).index(index)));
        }
    }
    wrong
}

/// Checks a new pod.
pub fn create(pod: &Value) -> Vec<FieldError> {
    let mut wrong = self::pod(pod);
    let spec = pod.get_or_null("spec");
    let at = Path::new("spec");
    if !spec.list("ephemeralContainers").is_empty() {
        wrong.push(FieldError::forbidden(
            &at.child("ephemeralContainers"),
            "cannot be set on create",
        ));
    }
    if !spec.text("nodeName").is_empty() && !spec.list("schedulingGates").is_empty() {
        wrong.push(FieldError::forbidden(
            &at.child("nodeName"),
            "cannot be set until all schedulingGates have been cleared",
        ));
    }
    wrong.extend(annotations::profiles_agree(pod.get_or_null("metadata"), spec, &at));
    wrong
}

/// Checks the template of a workload.
pub fn template(template: &Value, field: &Path) -> Vec<FieldError> {
    let (meta, spec) = (template.get_or_null("metadata"), template.get_or_null("spec"));
    let mut wrong = labels::labels(meta.get_or_null("labels"), &field.child("labels"));
    let at = field.child("annotations");
    wrong.extend(labels::annotations(meta.get_or_null("annotations"), &at));
    wrong.extend(annotations::pod(meta, spec, &at));
    let at = field.child("spec");
    wrong.extend(self::spec(spec, None, &at, false));
    wrong.extend(annotations::profiles_agree(meta, spec, &at));
    if !spec.list("ephemeralContainers").is_empty() {
        wrong.push(FieldError::forbidden(
            &at.child("ephemeralContainers"),
            "ephemeral containers not allowed in pod template",
        ));
    }
    wrong
}

/// A field that must hold one of a few words.
pub fn choice(spec: &Value, key: &str, allowed: &[&str], field: &Path) -> Option<FieldError> {
    let value = spec.text(key);
    if value.is_empty() {
        return Some(FieldError::required(&field.child(key), ""));
    }
    (!allowed.contains(&value))
        .then(|| FieldError::not_supported(&field.child(key), &Value::from(value), allowed))
}

fn optional_subdomain(name: &str, field: &Path) -> Vec<FieldError> {
    if name.is_empty() { Vec::new() } else { invalid_each(field, name, dns_subdomain(name)) }
}

fn resource_claims(claims: &[Value], meta: Option<&Value>, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let mut names = std::collections::BTreeSet::new();
    for (index, claim) in claims.iter().enumerate() {
        let mirror = meta.is_some_and(|m| {
            m.get_or_null("annotations").part("kubernetes.io/config.mirror").is_some()
        });
        if mirror {
            wrong.push(FieldError::forbidden(
                &Path::root(),
                "static pods do not support resource claims",
            ));
            continue;
        }
        let field = field.index(index);
        let name = claim.text("name");
        if name.is_empty() {
            wrong.push(FieldError::required(&field.child("name"), ""));
        } else if names.contains(name) {
            wrong.push(FieldError::duplicate(&field.child("name"), &Value::from(name)));
        } else {
            wrong.extend(invalid_each(&field.child("name"), name, dns_label(name)));
            names.insert(name);
        }
        let (direct, template) =
            (claim.text_opt("resourceClaimName"), claim.text_opt("resourceClaimTemplateName"));
        let shown = || crate::builtin::form::internal("core.PodResourceClaim", claim);
        if direct.is_some() && template.is_some() {
            wrong.push(FieldError::invalid_shown(
                &field,
                shown(),
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
            ));
        }
        if direct.is_none() && template.is_none() {
            wrong.push(FieldError::invalid_shown(
                &field,
                shown(),
                "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
            ));
        }
        for (key, name) in [("resourceClaimName", direct), ("resourceClaimTemplateName", template)]
        {
            if let Some(name) = name {
                wrong.extend(invalid_each(&field.child(key), name, dns_subdomain(name)));
            }
        }
    }
    wrong
}

fn host_network(spec: &Value, field: &Path, is_pod: bool) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    if !spec.flag("hostNetwork") {
        return wrong;
    }
    for (index, container) in spec.list("containers").iter().enumerate() {
        for (number, port) in container.list("ports").iter().enumerate() {
            let (host, own) = (port.int("hostPort"), port.int("containerPort"));
            if (is_pod || host != 0) && host != own {
                wrong.push(FieldError::invalid(
                    &field
                        .child("containers")
                        .index(index)
                        .child("ports")
                        .index(number)
                        .child("hostPort"),
                    &Value::from(host),
                    "must match `containerPort` when `hostNetwork` is true",
                ));
            }
        }
    }
    wrong
}

fn dns_config(spec: &Value, field: &Path) -> Vec<FieldError> {
    let config = spec.part("dnsConfig");
    let servers = config.map(|c| c.list("nameservers")).unwrap_or_default();
    if spec.text("dnsPolicy") == "None" {
        if config.is_none() {
            return vec![FieldError::required(
                field,
                "must provide `dnsConfig` when `dnsPolicy` is None",
            )];
        }
        if servers.is_empty() {
            return vec![FieldError::required(
                &field.child("nameservers"),
                "must provide at least one DNS nameserver when `dnsPolicy` is None",
            )];
        }
    }
    let Some(config) = config else { return Vec::new() };
    let mut wrong = Vec::new();
    if servers.len() > 3 {
        wrong.push(FieldError::invalid(
            &field.child("nameservers"),
            config.get_or_null("nameservers"),
            "must not have more than 3 nameservers",
        ));
    }
    for (index, server) in servers.iter().enumerate() {
        wrong.extend(ip_address(
            &field.child("nameservers").index(index),
            server.as_str().unwrap_or_default(),
        ));
    }
    let searches: Vec<&str> = config.list("searches").iter().filter_map(Value::as_str).collect();
    let at = field.child("searches");
    if searches.len() > 32 {
        wrong.push(FieldError::invalid(
            &at,
            config.get_or_null("searches"),
            "must not have more than 32 search paths",
        ));
    }
    if searches.join(" ").len() > 2048 {
        wrong.push(FieldError::invalid(
            &at,
            config.get_or_null("searches"),
            "must not have more than 2048 characters (including spaces) in the search list",
        ));
    }
    for (index, search) in searches.iter().enumerate().filter(|(_, search)| **search != ".") {
        let search = search.strip_suffix('.').unwrap_or(search);
        wrong.extend(invalid_each(&at.index(index), search, dns_subdomain_underscore(search)));
    }
    for (index, option) in config.list("options").iter().enumerate() {
        if option.text("name").is_empty() {
            wrong.push(FieldError::required(
                &field.child("options").index(index),
                "must not be empty",
            ));
        }
    }
    wrong
}

fn hostname_override(spec: &Value, field: &Path) -> Vec<FieldError> {
    let Some(name) = spec.text_opt("hostnameOverride") else { return Vec::new() };
    let field = &field.child("hostnameOverride");
    let mut wrong = Vec::new();
    for key in ["setHostnameAsFQDN", "hostNetwork"] {
        if spec.flag(key) {
            wrong.push(FieldError::forbidden(
                field,
                format!("may not be specified when {key} is true"),
            ));
        }
    }
    if name.len() > 64 {
        wrong.push(FieldError::too_long(field, 64));
    }
    wrong.extend(invalid_each(field, name, dns_subdomain(name)));
    wrong
}

fn host_aliases(aliases: &[Value], field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    for (index, alias) in aliases.iter().enumerate() {
        let field = field.index(index);
        wrong.extend(ip_address(&field.child("ip"), alias.text("ip")));
        for (number, name) in alias.list("hostnames").iter().enumerate() {
            let name = name.as_str().unwrap_or_default();
            wrong.extend(invalid_each(
                &field.child("hostnames").index(number),
                name,
                dns_subdomain(name),
            ));
        }
    }
    wrong
}

/// Variables read from a file need the volume that the file is in.
fn file_keys(spec: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    for (container, at) in platform::containers(spec, field) {
        for (index, variable) in container.list("env").iter().enumerate() {
            let from = variable.get_or_null("valueFrom");
            let Some(reference) = from.part("fileKeyRef") else { continue };
            let name = reference.text("volumeName");
            let at = at
                .child("env")
                .index(index)
                .child("valueFrom")
                .child("fileKeyRef")
                .child("volumeName");
            match spec.list("volumes").iter().rfind(|v| v.text("name") == name) {
                None => wrong.push(FieldError::not_found(&at, &Value::from(name))),
                Some(volume) if volume.part("emptyDir").is_none() => {
                    wrong.push(FieldError::invalid(
                        &at,
                        &Value::from(name),
                        "referenced volume must be of type emptyDir",
                    ));
                }
                Some(_) => {}
            }
        }
    }
    wrong
}
