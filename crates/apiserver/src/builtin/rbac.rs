//! Roles and their bindings.

use serde_json::Value;

use super::labels::selector;
use super::view::{at, default, has, items, one_of, text, wrong};
use super::{Strategy, form, format};
use crate::fields::{FieldError, Path};

const GROUP: &str = "rbac.authorization.k8s.io";

/// The rules of Role.
pub const ROLE: Strategy = Strategy {
    defaults: |role| form::settle("rbac.authorization.k8s.io/v1", "Role", role),
    validate: |role| rules(role, true),
    create_on_update: true,
    ..Strategy::PLAIN
};

/// The rules of ClusterRole.
pub const CLUSTER_ROLE: Strategy = Strategy {
    defaults: |role| form::settle("rbac.authorization.k8s.io/v1", "ClusterRole", role),
    validate: |role| {
        let mut errors = rules(role, false);
        if has(role, "aggregationRule") {
            let path = Path::new("aggregationRule.clusterRoleSelectors");
            let selectors = items(role, "aggregationRule.clusterRoleSelectors");
            if selectors.is_empty() {
                errors.push(FieldError::required(
                    &path,
                    "at least one clusterRoleSelector required if aggregationRule is non-nil",
                ));
            }
            for (index, one) in selectors.iter().enumerate() {
                errors.extend(selector(Some(one), &path.index(index)));
            }
        }
        errors
    },
    create_on_update: true,
    ..Strategy::PLAIN
};

/// The rules of RoleBinding.
pub const ROLE_BINDING: Strategy = Strategy {
    defaults: |binding| {
        default_binding(binding);
        form::settle("rbac.authorization.k8s.io/v1", "RoleBinding", binding);
    },
    validate: |binding| validate_binding(binding, true),
    validate_update: role_change,
    create_on_update: true,
    ..Strategy::PLAIN
};

/// The rules of ClusterRoleBinding.
pub const CLUSTER_ROLE_BINDING: Strategy = Strategy {
    defaults: |binding| {
        default_binding(binding);
        form::settle("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", binding);
    },
    validate: |binding| validate_binding(binding, false),
    validate_update: role_change,
    create_on_update: true,
    ..Strategy::PLAIN
};

fn rules(role: &Value, namespaced: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, rule) in items(role, "rules").iter().enumerate() {
        let path = Path::new("rules").index(index);
        if items(rule, "verbs").is_empty() {
            errors.push(FieldError::required(
                &path.child("verbs"),
                "verbs must contain at least one value",
            ));
        }
        if !items(rule, "nonResourceURLs").is_empty() {
            let (path, shown) = (path.child("nonResourceURLs"), at(rule, "nonResourceURLs"));
            if namespaced {
                errors.push(FieldError::invalid(
                    &path,
                    shown,
                    "namespaced rules cannot apply to non-resource URLs",
                ));
            }
            if ["apiGroups", "resources", "resourceNames"]
                .iter()
                .any(|name| !items(rule, name).is_empty())
            {
                errors.push(FieldError::invalid(
                    &path,
                    shown,
                    "rules cannot apply to both regular resources and non-resource URLs",
                ));
            }
            continue;
        }
        for (name, what) in [("apiGroups", "api group"), ("resources", "resource")] {
            if items(rule, name).is_empty() {
                errors.push(FieldError::required(
                    &path.child(name),
                    format!("resource rules must supply at least one {what}"),
                ));
            }
        }
    }
    errors
}

fn default_binding(binding: &mut Value) {
    default(binding, "roleRef", "apiGroup", GROUP);
    for subject in binding.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten() {
        if matches!(text(subject, "kind"), "User" | "Group") {
            default(subject, "", "apiGroup", GROUP);
        }
    }
}

fn validate_binding(binding: &Value, namespaced: bool) -> Vec<FieldError> {
    let path = Path::new("roleRef");
    let mut errors = Vec::new();
    errors.extend(one_of(&path.child("apiGroup"), text(binding, "roleRef.apiGroup"), &[GROUP]));
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    errors.extend(one_of(&path.child("kind"), text(binding, "roleRef.kind"), kinds));
    let name = text(binding, "roleRef.name");
    if name.is_empty() {
        errors.push(FieldError::required(&path.child("name"), ""));
    } else {
        errors.extend(wrong(&path.child("name"), name, format::path_segment(name)));
    }
    for (index, subject) in items(binding, "subjects").iter().enumerate() {
        errors.extend(subject_errors(subject, namespaced, &Path::new("subjects").index(index)));
    }
    errors
}

fn subject_errors(subject: &Value, namespaced: bool, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (name, group) = (text(subject, "name"), text(subject, "apiGroup"));
    if name.is_empty() {
        errors.push(FieldError::required(&path.child("name"), ""));
    }
    match text(subject, "kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                errors.extend(wrong(&path.child("name"), name, format::dns_subdomain(name)));
            }
            errors.extend(one_of(&path.child("apiGroup"), group, &[""]));
            if !namespaced && text(subject, "namespace").is_empty() {
                errors.push(FieldError::required(&path.child("namespace"), ""));
            }
        }
        "User" | "Group" => errors.extend(one_of(&path.child("apiGroup"), group, &[GROUP])),
        other => {
            errors.extend(one_of(&path.child("kind"), other, &["ServiceAccount", "User", "Group"]));
        }
    }
    errors
}

fn role_change(new: &Value, old: &Value) -> Vec<FieldError> {
    if at(new, "roleRef") == at(old, "roleRef") {
        return Vec::new();
    }
    vec![FieldError::invalid_shown(
        &Path::new("roleRef"),
        form::internal("rbac.RoleRef", at(new, "roleRef")),
        "cannot change roleRef",
    )]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn rules_name_what_they_are_about() {
        let role = json!({"rules": [{}, {"verbs": ["get"], "nonResourceURLs": ["/x"], "resources": ["a"]}]});
        assert_eq!(
            said(&(ROLE.validate)(&role)),
            [
                "rules[0].verbs: Required value: verbs must contain at least one value",
                "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
                "rules[0].resources: Required value: resource rules must supply at least one resource",
                "rules[1].nonResourceURLs: Invalid value: [\"/x\"]: namespaced rules cannot apply to non-resource URLs",
                "rules[1].nonResourceURLs: Invalid value: [\"/x\"]: rules cannot apply to both regular resources and non-resource URLs",
            ]
        );
    }

    #[test]
    fn bindings() {
        let mut binding = json!({"roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s"}]});
        (CLUSTER_ROLE_BINDING.defaults)(&mut binding);
        assert_eq!(binding["roleRef"]["apiGroup"], GROUP);
        assert_eq!(binding["subjects"][0]["apiGroup"], GROUP);
        assert_eq!(
            said(&(CLUSTER_ROLE_BINDING.validate)(&binding)),
            [
                "roleRef.kind: Unsupported value: \"Role\": supported values: \"ClusterRole\"",
                "subjects[1].namespace: Required value",
            ]
        );
        let mut other = binding.clone();
        other["roleRef"]["name"] = json!("x");
        assert_eq!(
            said(&role_change(&other, &binding)),
            [
                "roleRef: Invalid value: {\"APIGroup\":\"rbac.authorization.k8s.io\",\"Kind\":\"Role\",\"Name\":\"x\"}: cannot change roleRef"
            ]
        );
    }
}
