//! What is wrong with requests and limits.

use std::collections::BTreeSet;

use serde_json::Value;

use super::defaults::aggregate;
use crate::builtin::format::{dns_label, invalid_each, qualified_name};
use crate::builtin::value::Fields as _;
use crate::fields::{FieldError, Path};
use crate::quantity::Quantity;

const STANDARD: [&str; 20] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "storage",
    "requests.storage",
    "services.nodeports",
    "services.loadbalancers",
];

const COUNTED: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// Whether a name is one of Kubernetes' own resources.
pub fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

fn is_huge(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// More of it may be promised than there is.
fn may_overcommit(name: &str) -> bool {
    is_native(name) && !is_huge(name)
}

fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && qualified_name(&format!("requests.{name}")).is_empty()
}

/// Checks a container's requests, limits and claims.
pub fn container(resources: &Value, claims: &BTreeSet<&str>, field: &Path) -> Vec<FieldError> {
    requirements(resources, container_name, claims, field)
}

/// Checks limits alone, as overheads are.
pub fn limits(limits: &Value, field: &Path) -> Vec<FieldError> {
    requirements(&serde_json::json!({ "limits": limits }), container_name, &BTreeSet::new(), field)
}

fn requirements(
    resources: &Value,
    name_rule: fn(&str, &Path) -> Vec<FieldError>,
    claims: &BTreeSet<&str>,
    field: &Path,
) -> Vec<FieldError> {
    let (limits_at, requests_at) = (field.child("limits"), field.child("requests"));
    let mut wrong = Vec::new();
    let (mut huge, mut compute) = (false, false);
    for (name, amount) in resources.entries("limits").into_iter().flatten() {
        let at = limits_at.key(name);
        wrong.extend(name_rule(name, &at));
        let Some(amount) = Quantity::read(amount) else { continue };
        wrong.extend(amount_of(name, &amount, &at));
        huge |= is_huge(name);
        compute |= matches!(name.as_str(), "cpu" | "memory");
        wrong.extend(whole_pages(name, &amount, &at));
    }
    for (name, amount) in resources.entries("requests").into_iter().flatten() {
        let at = requests_at.key(name);
        wrong.extend(name_rule(name, &at));
        let Some(amount) = Quantity::read(amount) else { continue };
        wrong.extend(amount_of(name, &amount, &at));
        let limit = resources.get_or_null("limits").get(name).and_then(Quantity::read);
        match limit {
            Some(limit) if limit != amount && !may_overcommit(name) => {
                wrong.push(FieldError::invalid(
                    &requests_at,
                    &Value::from(amount.to_string()),
                    format!("must be equal to {name} limit of {limit}"),
                ));
            }
            Some(limit) if amount > limit => wrong.push(FieldError::invalid(
                &requests_at,
                &Value::from(amount.to_string()),
                format!("must be less than or equal to {name} limit of {limit}"),
            )),
            None if !may_overcommit(name) => wrong.push(FieldError::required(
                &limits_at,
                "Limit must be set for non overcommitable resources",
            )),
            _ => {}
        }
        huge |= is_huge(name);
        compute |= matches!(name.as_str(), "cpu" | "memory");
        wrong.extend(whole_pages(name, &amount, &at));
    }
    if huge && !compute {
        wrong.push(FieldError::forbidden(field, "HugePages require cpu or memory"));
    }
    wrong.extend(claim_names(resources.list("claims"), claims, &field.child("claims")));
    wrong
}

fn resource_name(name: &str, field: &Path) -> Vec<FieldError> {
    let wrong = invalid_each(field, name, qualified_name(name));
    if !wrong.is_empty() {
        return wrong;
    }
    let known =
        STANDARD.contains(&name) || is_huge(name) || name.starts_with("requests.hugepages-");
    if !name.contains('/') && !known {
        return vec![FieldError::invalid(
            field,
            &Value::from(name),
            "must be a standard resource type or fully qualified",
        )];
    }
    Vec::new()
}

/// Checks the name of something a container can ask for.
pub fn container_name(name: &str, field: &Path) -> Vec<FieldError> {
    let mut wrong = resource_name(name, field);
    if !name.contains('/') {
        if !matches!(name, "cpu" | "memory" | "ephemeral-storage") && !is_huge(name) {
            wrong.push(FieldError::invalid(
                field,
                &Value::from(name),
                "must be a standard resource for containers",
            ));
        }
    } else if !is_native(name) && !is_extended(name) {
        wrong.push(FieldError::invalid(
            field,
            &Value::from(name),
            "doesn't follow extended resource name standard",
        ));
    }
    wrong
}

fn pod_level_name(name: &str, field: &Path) -> Vec<FieldError> {
    let wrong = resource_name(name, field);
    if wrong.is_empty() && !matches!(name, "cpu" | "memory") && !is_huge(name) {
        return vec![FieldError::not_supported(
            field,
            &Value::from(name),
            &["cpu", "hugepages-", "memory"],
        )];
    }
    wrong
}

fn amount_of(name: &str, amount: &Quantity, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let shown = Value::from(amount.to_string());
    if amount.is_negative() {
        wrong.push(FieldError::invalid(field, &shown, "must be greater than or equal to 0"));
    }
    if (COUNTED.contains(&name) || is_extended(name)) && amount.milli_value() % 1000 != 0 {
        wrong.push(FieldError::invalid(field, &shown, "must be an integer"));
    }
    wrong
}

fn whole_pages(name: &str, amount: &Quantity, field: &Path) -> Option<FieldError> {
    let size = name.strip_prefix("hugepages-")?;
    let whole = Quantity::parse(size)
        .is_some_and(|size| size.value() > 0 && amount.value() % size.value() == 0);
    (!whole).then(|| {
        FieldError::invalid(
            field,
            &Value::from(amount.to_string()),
            format!("{amount} is not positive integer multiple of {name}"),
        )
    })
}

fn claim_names(claims: &[Value], known: &BTreeSet<&str>, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for (index, claim) in claims.iter().enumerate() {
        let field = field.index(index);
        let (name, request) = (claim.text("name"), claim.text("request"));
        if name.is_empty() {
            wrong.push(FieldError::required(&field, ""));
            continue;
        }
        if seen.contains(name) {
            wrong.push(FieldError::duplicate(&field, &Value::from(name)));
        } else {
            let mut key = name.to_owned();
            if !request.is_empty() {
                wrong.extend(invalid_each(&field.child("request"), request, dns_label(request)));
                key = format!("{name}/{request}");
            }
            if seen.contains(&key) {
                wrong.push(FieldError::duplicate(&field, &Value::from(key.as_str())));
            } else if request.is_empty() {
                for other in &seen {
                    if other.split_once('/').is_some_and(|(other, _)| other == name) {
                        wrong.push(FieldError::duplicate(&field, &Value::from(name)));
                    }
                }
            }
            seen.insert(key);
        }
        if !known.contains(name) {
            let mut error = FieldError::not_found(&field, &Value::from(name));
            "must be one of the names in pod.spec.resourceClaims".clone_into(&mut error.detail);
            if known.is_empty() {
                error.detail.push_str(" which is empty");
            } else {
                let known: Vec<&str> = known.iter().copied().collect();
                error.detail.push_str(": ");
                error.detail.push_str(&known.join(", "));
            }
            wrong.push(error);
        }
    }
    wrong
}

/// Checks what the pod asks for as a whole.
pub fn pod_level(spec: &Value, claims: &BTreeSet<&str>, field: &Path) -> Vec<FieldError> {
    let Some(resources) = spec.part("resources") else { return Vec::new() };
    let field = &field.child("resources");
    if spec.get_or_null("os").text("name") == "windows" {
        return vec![FieldError::forbidden(field, "may not be set for a windows pod")];
    }
    let mut wrong = Vec::new();
    if resources.part("claims").is_some() {
        wrong.push(FieldError::forbidden(
            &field.child("claims"),
            "claims may not be set for Resources at pod-level",
        ));
    }
    wrong.extend(requirements(resources, pod_level_name, claims, field));
    wrong.extend(consistency(spec, resources, field));
    wrong
}

fn consistency(spec: &Value, resources: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let of_pod =
        |list: &str, name: &str| resources.get_or_null(list).get(name).and_then(Quantity::read);
    for (name, sum) in aggregate(spec, "requests") {
        if let Some(whole) = of_pod("requests", &name)
            && sum > whole
        {
            wrong.push(FieldError::invalid(
                &field.child("requests").key(&name),
                &Value::from(whole.to_string()),
                format!("must be greater than or equal to aggregate container requests of {sum}"),
            ));
        }
    }
    for (name, sum) in aggregate(spec, "limits").into_iter().filter(|(name, _)| is_huge(name)) {
        if let Some(whole) = of_pod("limits", &name)
            && sum > whole
        {
            wrong.push(FieldError::invalid(
                &field.child("limits").key(&name),
                &Value::from(whole.to_string()),
                format!("must be greater than or equal to aggregate container limits of {sum}"),
            ));
        }
    }
    for (index, container) in spec.list("containers").iter().enumerate() {
        let limits = container.get_or_null("resources").entries("limits");
        for (name, limit) in limits.into_iter().flatten() {
            let (Some(limit), Some(whole)) = (Quantity::read(limit), of_pod("limits", name)) else {
                continue;
            };
            if limit > whole {
                wrong.push(FieldError::invalid(
                    &field.child("containers").index(index).key(name).child("limits"),
                    &Value::from(limit.to_string()),
                    format!("must be less than or equal to pod limits of {whole}"),
                ));
            }
        }
    }
    wrong
}
