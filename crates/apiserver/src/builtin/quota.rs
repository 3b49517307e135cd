//! LimitRange and ResourceQuota.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::view::{at, fields, has, items, object, restore, text, wrong};
use super::{Strategy, form, format};
use crate::fields::{FieldError, Path};
use crate::quantity::Quantity;

/// The rules of LimitRange.
pub const LIMIT_RANGE: Strategy = Strategy {
    defaults: |range| {
        form::settle("v1", "LimitRange", range);
        default_limits(range);
    },
    validate: validate_limits,
    create_on_update: true,
    ..Strategy::PLAIN
};

/// The rules of ResourceQuota.
pub const RESOURCE_QUOTA: Strategy = Strategy {
    defaults: |quota| form::settle("v1", "ResourceQuota", quota),
    prepare_create: |quota| {
        drop(object(quota, "").insert("status".into(), Value::Object(Map::new())));
    },
    prepare_update: |new, old| restore(new, old, "status"),
    validate: |quota| validate_quota(at(quota, "spec")),
    validate_update: |new, old| {
        let set = |object: &Value| -> BTreeSet<String> {
            items(object, "spec.scopes")
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect()
        };
        if set(new) == set(old) {
            Vec::new()
        } else {
            let scopes = at(new, "spec.scopes");
            vec![FieldError::invalid(&Path::new("spec.scopes"), scopes, "field is immutable")]
        }
    },
    ..Strategy::PLAIN
};

fn default_limits(range: &mut Value) {
    let Some(limits) = range.pointer_mut("/spec/limits").and_then(Value::as_array_mut) else {
        return;
    };
    for limit in limits.iter_mut().filter(|limit| text(limit, "type") == "Container") {
        let read = |limit: &Value, name: &str| -> Map<String, Value> {
            at(limit, name).as_object().cloned().unwrap_or_default()
        };
        let (max, min) = (read(limit, "max"), read(limit, "min"));
        let mut defaults = read(limit, "default");
        for (name, amount) in max {
            defaults.entry(name).or_insert(amount);
        }
        let mut requests = read(limit, "defaultRequest");
        for (name, amount) in &defaults {
            requests.entry(name.clone()).or_insert_with(|| amount.clone());
        }
        for (name, amount) in min {
            requests.entry(name).or_insert(amount);
        }
        for (name, map) in [("default", defaults), ("defaultRequest", requests)] {
            if !map.is_empty() {
                object(limit, "").insert(name.to_owned(), Value::Object(map));
            }
        }
    }
}

fn qualified(path: &Path, name: &str, standard: bool, otherwise: &str) -> Vec<FieldError> {
    let errors = wrong(path, name, format::qualified_name(name));
    if errors.is_empty() && !name.contains('/') && !standard {
        return wrong(path, name, vec![otherwise.to_owned()]);
    }
    errors
}

const COMPUTE: &[&str] = &["cpu", "memory", "ephemeral-storage"];

fn is_standard_resource(name: &str) -> bool {
    COMPUTE.contains(&name)
        || is_quota_resource(name)
        || matches!(name, "storage" | "requests.hugepages-" | "hugepages-")
        || name.starts_with("hugepages-")
}

fn is_quota_resource(name: &str) -> bool {
    COMPUTE.contains(&name)
        || matches!(
            name,
            "requests.cpu"
                | "requests.memory"
                | "requests.storage"
                | "requests.ephemeral-storage"
                | "limits.cpu"
                | "limits.memory"
                | "limits.ephemeral-storage"
                | "pods"
                | "resourcequotas"
                | "services"
                | "replicationcontrollers"
                | "secrets"
                | "persistentvolumeclaims"
                | "configmaps"
                | "services.nodeports"
                | "services.loadbalancers"
        )
        || name.starts_with("hugepages-")
        || name.starts_with("requests.hugepages-")
}

/// Counts come in whole numbers.
fn is_count(name: &str) -> bool {
    matches!(
        name,
        "pods"
            | "resourcequotas"
            | "services"
            | "replicationcontrollers"
            | "secrets"
            | "persistentvolumeclaims"
            | "configmaps"
            | "services.nodeports"
            | "services.loadbalancers"
    ) || (name.contains('/') && !name.contains("kubernetes.io/") && !name.starts_with("requests."))
}

/// What is wrong with an amount of a resource.
pub(super) fn amount(path: &Path, name: &str, value: &Value) -> Vec<FieldError> {
    let Some(quantity) = Quantity::read(value) else { return Vec::new() };
    let mut errors = Vec::new();
    if quantity.is_negative() {
        errors.push(FieldError::invalid(path, value, "must be greater than or equal to 0"));
    }
    if is_count(name) && quantity.milli_value() % 1000 != 0 {
        errors.push(FieldError::invalid(path, value, "must be an integer"));
    }
    errors
}

fn limit_resource(path: &Path, limit_type: &str, name: &str) -> Vec<FieldError> {
    let errors = qualified(
        path,
        name,
        is_standard_resource(name),
        "must be a standard resource type or fully qualified",
    );
    if errors.is_empty()
        && matches!(limit_type, "Pod" | "Container")
        && !name.contains('/')
        && !COMPUTE.contains(&name)
        && !name.starts_with("hugepages-")
    {
        return wrong(path, name, vec!["must be a standard resource for containers".into()]);
    }
    errors
}

fn validate_limits(range: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut types = BTreeSet::new();
    for (index, limit) in items(range, "spec.limits").iter().enumerate() {
        let path = Path::new("spec.limits").index(index);
        let limit_type = text(limit, "type");
        errors.extend(qualified(
            &path.child("type"),
            limit_type,
            matches!(limit_type, "Pod" | "Container" | "PersistentVolumeClaim"),
            "must be a standard limit type or fully qualified",
        ));
        if !types.insert(limit_type) {
            errors.push(FieldError::duplicate(&path.child("type"), &Value::from(limit_type)));
        }
        let mut names = BTreeSet::new();
        let mut read = |name: &str, errors: &mut Vec<FieldError>| {
            for (resource, _) in fields(limit, name) {
                errors.extend(limit_resource(
                    &path.child(name).key(resource),
                    limit_type,
                    resource,
                ));
                names.insert(resource.to_owned());
            }
        };
        read("max", &mut errors);
        read("min", &mut errors);
        if limit_type == "Pod" {
            for name in ["default", "defaultRequest"] {
                if fields(limit, name).next().is_some() {
                    errors.push(FieldError::forbidden(
                        &path.child(name),
                        "may not be specified when `type` is 'Pod'",
                    ));
                }
            }
        } else {
            read("default", &mut errors);
            read("defaultRequest", &mut errors);
        }
        if limit_type == "PersistentVolumeClaim"
            && !has(limit, "min.storage")
            && !has(limit, "max.storage")
        {
            errors.push(FieldError::required(
                &path.child("limits"),
                "either minimum or maximum storage value is required, but neither was provided",
            ));
        }
        read("maxLimitRequestRatio", &mut errors);
        for name in &names {
            errors.extend(compare(limit, &path, name));
        }
    }
    errors
}

/// Whether the amounts of one resource fit together.
fn compare(limit: &Value, path: &Path, name: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let get = |which: &str| {
        let value = at(limit, which).get(name)?;
        Quantity::read(value).map(|quantity| (value, quantity))
    };
    // Lower and higher amount, the field and the value that are shown, and the words for both.
    for (low, high, field, shown, words, word) in [
        ("min", "max", "min", "min", "min value", "max"),
        (
            "min",
            "defaultRequest",
            "defaultRequest",
            "defaultRequest",
            "min value",
            "default request",
        ),
        (
            "defaultRequest",
            "max",
            "defaultRequest",
            "defaultRequest",
            "default request value",
            "max",
        ),
        (
            "defaultRequest",
            "default",
            "defaultRequest",
            "defaultRequest",
            "default request value",
            "default limit",
        ),
        ("min", "default", "default", "min", "min value", "default"),
        ("default", "max", "default", "max", "default value", "max"),
    ] {
        if let (Some((_, low)), Some((_, high)), Some((shown, _))) =
            (get(low), get(high), get(shown))
            && low > high
        {
            errors.push(FieldError::invalid(
                &path.child(field).key(name),
                shown,
                format!("{words} {low} is greater than {word} value {high}"),
            ));
        }
    }
    if let Some((shown, ratio)) = get("maxLimitRequestRatio")
        && ratio < Quantity::parse("1").unwrap_or(Quantity::ZERO)
    {
        errors.push(FieldError::invalid(
            &path.child("maxLimitRequestRatio").key(name),
            shown,
            format!("ratio {ratio} is less than 1"),
        ));
    }
    errors
}

const SCOPES: &[&str] = &[
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
];

fn scope_fits(scope: &str, resource: &str) -> bool {
    match scope {
        "Terminating"
        | "NotTerminating"
        | "NotBestEffort"
        | "PriorityClass"
        | "CrossNamespacePodAffinity" => {
            resource == "pods"
                || COMPUTE.contains(&resource)
                || resource.starts_with("requests.") && resource != "requests.storage"
                || resource.starts_with("limits.")
        }
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => {
            matches!(resource, "persistentvolumeclaims" | "requests.storage")
        }
        _ => true,
    }
}

fn validate_quota(spec: &Value) -> Vec<FieldError> {
    let path = Path::new("spec");
    let mut errors = Vec::new();
    for (name, value) in fields(spec, "hard") {
        let path = path.child("hard").key(name);
        let mut named = qualified(
            &path,
            name,
            is_standard_resource(name),
            "must be a standard resource type or fully qualified",
        );
        if !name.contains('/') && !is_quota_resource(name) {
            named.extend(wrong(&path, name, vec!["must be a standard resource for quota".into()]));
        }
        errors.extend(named);
        errors.extend(amount(&path, name, value));
    }
    let scopes = items(spec, "scopes");
    let path_of_scopes = path.child("scopes");
    let bad = |detail: &str| FieldError::invalid(&path_of_scopes, at(spec, "scopes"), detail);
    for scope in scopes.iter().map(|scope| scope.as_str().unwrap_or_default()) {
        if !SCOPES.contains(&scope) {
            errors.push(bad("unsupported scope"));
        }
        for (name, _) in fields(spec, "hard") {
            if is_quota_resource(name) && !scope_fits(scope, name) {
                errors.push(bad("unsupported scope applied to resource"));
            }
        }
    }
    for pair in [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]] {
        if pair.iter().all(|scope| scopes.iter().any(|s| s == scope)) {
            errors.push(bad("conflicting scopes"));
        }
    }
    errors.extend(scope_selector(spec));
    errors
}

fn scope_selector(spec: &Value) -> Vec<FieldError> {
    let path = Path::new("spec.scopeSelector.matchExpressions");
    let mut errors = Vec::new();
    for rule in items(spec, "scopeSelector.matchExpressions") {
        let (scope, operator) = (text(rule, "scopeName"), text(rule, "operator"));
        if !SCOPES.contains(&scope) {
            errors.extend(wrong(&path.child("scopeName"), scope, vec!["unsupported scope".into()]));
        }
        for (name, _) in fields(spec, "hard") {
            if is_quota_resource(name) && !scope_fits(scope, name) {
                errors.push(FieldError::invalid_shown(
                    &path,
                    form::internal("core.ScopeSelector", at(spec, "scopeSelector")),
                    "unsupported scope applied to resource",
                ));
            }
        }
        if SCOPES.contains(&scope)
            && !matches!(scope, "PriorityClass" | "VolumeAttributesClass")
            && operator != "Exists"
        {
            errors.extend(wrong(&path.child("operator"), operator, vec![
                "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity".into(),
            ]));
        }
        let values = items(rule, "values");
        match operator {
            "In" | "NotIn" if values.is_empty() => errors.push(FieldError::required(
                &path.child("values"),
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
            )),
            "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(FieldError::invalid(
                &path.child("values"),
                at(rule, "values"),
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
            )),
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => errors.extend(wrong(
                &path.child("operator"),
                other,
                vec!["not a valid selector operator".into()],
            )),
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn container_limits_default_from_each_other() {
        let mut range = json!({"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "1", "memory": "1Gi"}}]}});
        (LIMIT_RANGE.defaults)(&mut range);
        let limit = &range["spec"]["limits"][0];
        assert_eq!(limit["default"], json!({"cpu": "2"}));
        assert_eq!(limit["defaultRequest"], json!({"cpu": "2", "memory": "1Gi"}));
    }

    #[test]
    fn scopes_cannot_change() {
        let old = json!({"spec": {"scopes": ["BestEffort"]}});
        let new = json!({"spec": {"scopes": ["NotBestEffort"]}});
        assert_eq!(
            (RESOURCE_QUOTA.validate_update)(&new, &old)[0].to_string(),
            "spec.scopes: Invalid value: [\"NotBestEffort\"]: field is immutable"
        );
        assert!((RESOURCE_QUOTA.validate_update)(&old, &old).is_empty());
    }

    #[test]
    fn quota_names_and_amounts() {
        let said: Vec<String> =
            validate_quota(&json!({"hard": {"pods": "1500m", "wrong": "1", "cpu": "-1"}}))
                .iter()
                .map(ToString::to_string)
                .collect();
        assert_eq!(
            said,
            [
                "spec.hard[cpu]: Invalid value: \"-1\": must be greater than or equal to 0",
                "spec.hard[pods]: Invalid value: \"1500m\": must be an integer",
                "spec.hard[wrong]: Invalid value: \"wrong\": must be a standard resource type or fully qualified",
                "spec.hard[wrong]: Invalid value: \"wrong\": must be a standard resource for quota",
            ]
        );
    }
}
