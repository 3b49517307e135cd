//! Reviews: asking the authorizer through the API instead of running into it.

use serde_json::{Map, Value, json};

use super::{Access, Roles, authorize, list, rules_for, text};
use crate::fields::{FieldError, Path};
use crate::identity::User;
use crate::status::Failure;

const GROUP: &str = "authorization.k8s.io";

/// Answers a created review of the groups `authorization.k8s.io` and `authentication.k8s.io`, or `None` if
/// the kind is no review. `object` is the decoded body, with the managed fields the server gave it; `now` is
/// the creation time of the kind that shows one.
pub fn answer(
    kind: &str,
    mut object: Value,
    user: &User,
    now: &str,
    roles: &(impl Roles + ?Sized),
) -> Option<Result<Value, Failure>> {
    let status = match kind {
        "SelfSubjectAccessReview" | "SubjectAccessReview" | "LocalSubjectAccessReview" => {
            let errors = wrong_with(kind, &object);
            if !errors.is_empty() {
                // The server looks for the kind in the body and finds none.
                return Some(Err(Failure::invalid(GROUP, "", "", &errors)));
            }
            access(kind, &object, user, roles)
        }
        "SelfSubjectRulesReview" => {
            let namespace = text(&object["spec"], "namespace");
            if namespace.is_empty() {
                return Some(Err(Failure::bad_request("no namespace on request")));
            }
            let status = rules(user, namespace, roles);
            object["metadata"] = json!({});
            object["spec"] = json!({});
            status
        }
        "SelfSubjectReview" => {
            object["metadata"] = json!({ "creationTimestamp": now });
            if let Some(map) = object.as_object_mut() {
                map.remove("spec");
            }
            json!({ "userInfo": user.info() })
        }
        _ => return None,
    };
    object["status"] = status;
    Some(Ok(object))
}

fn access(kind: &str, object: &Value, user: &User, roles: &(impl Roles + ?Sized)) -> Value {
    let spec = &object["spec"];
    let asked = if kind == "SelfSubjectAccessReview" {
        user.clone()
    } else {
        User {
            name: text(spec, "user").to_owned(),
            uid: text(spec, "uid").to_owned(),
            groups: super::strings(spec, "groups").map(str::to_owned).collect(),
            extra: serde_json::from_value(spec["extra"].clone()).unwrap_or_default(),
        }
    };
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let wanted = if resource.is_object() {
        Access::Resource {
            verb: text(resource, "verb"),
            group: text(resource, "group"),
            resource: text(resource, "resource"),
            subresource: text(resource, "subresource"),
            namespace: text(resource, "namespace"),
            name: text(resource, "name"),
        }
    } else {
        Access::Path { verb: text(path, "verb"), path: text(path, "path") }
    };
    let decision = authorize(&asked, &wanted, roles);
    let mut status = json!({ "allowed": decision.allowed });
    if !decision.reason.is_empty() {
        status["reason"] = decision.reason.into();
    }
    status
}

fn rules(user: &User, namespace: &str, roles: &(impl Roles + ?Sized)) -> Value {
    let (all, missing) = rules_for(user, namespace, roles);
    let pick = |rule: &Value, keys: &[&str]| {
        let mut map = Map::new();
        for key in keys {
            if !list(rule, key).is_empty() {
                map.insert((*key).into(), rule[key].clone());
            }
        }
        Value::Object(map)
    };
    let (mut resources, mut paths) = (Vec::new(), Vec::new());
    for rule in &all {
        if !list(rule, "resources").is_empty() {
            resources.push(pick(rule, &["verbs", "apiGroups", "resources", "resourceNames"]));
        }
        if !list(rule, "nonResourceURLs").is_empty() {
            paths.push(pick(rule, &["verbs", "nonResourceURLs"]));
        }
    }
    let mut status =
        json!({ "resourceRules": resources, "nonResourceRules": paths, "incomplete": false });
    if !missing.is_empty() {
        status["evaluationError"] = missing.into();
    }
    status
}

fn wrong_with(kind: &str, object: &Value) -> Vec<FieldError> {
    let spec = &object["spec"];
    let at = Path::new("spec");
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let mut errors = Vec::new();
    if resource.is_object() && path.is_object() {
        // Printed as the server's own struct.
        let shown = format!(
            "{{\"Path\":{},\"Verb\":{}}}",
            Value::from(text(path, "path")),
            Value::from(text(path, "verb"))
        );
        errors.push(FieldError::invalid_shown(
            &at.child("nonResourceAttributes"),
            shown,
            "cannot be specified in combination with resourceAttributes",
        ));
    }
    if !resource.is_object() && !path.is_object() {
        errors.push(FieldError::invalid(
            &at.child("resourceAttributes"),
            &Value::Null,
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        ));
    }
    if kind != "SelfSubjectAccessReview"
        && text(spec, "user").is_empty()
        && list(spec, "groups").is_empty()
    {
        errors.push(FieldError::invalid(
            &at.child("user"),
            &"".into(),
            "at least one of user or group must be specified",
        ));
    }
    let local = kind == "LocalSubjectAccessReview";
    let spare = |key: &str| key == "managedFields" || local && key == "namespace";
    if object["metadata"].as_object().is_some_and(|map| map.keys().any(|key| !spare(key))) {
        let detail = if local { "must be empty except for namespace" } else { "must be empty" };
        errors.push(FieldError::invalid(&Path::new("metadata"), &object["metadata"], detail));
    }
    if local {
        let namespace = text(resource, "namespace");
        if resource.is_object() && namespace != text(&object["metadata"], "namespace") {
            errors.push(FieldError::invalid(
                &at.child("resourceAttributes").child("namespace"),
                &namespace.into(),
                "must match metadata.namespace",
            ));
        }
        if path.is_object() {
            errors.push(FieldError::invalid(
                &at.child("nonResourceAttributes"),
                path,
                "disallowed on this kind of request",
            ));
        }
    }
    errors
}
