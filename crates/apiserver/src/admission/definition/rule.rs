//! Rules: which operations on which resources.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Errors, items, one_of};
use crate::builtin::{format, labels};
use crate::fields::{FieldError, Path};

/// A name that begins with a letter: versions, kinds.
pub(super) fn dns_1035(text: &str) -> Vec<String> {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    let mut wrong = Vec::new();
    if text.len() > 63 {
        wrong.push("must be no more than 63 characters".to_owned());
    }
    let fine = text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(inner)
        && !text.ends_with('-');
    if !fine {
        wrong.push(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
                .to_owned(),
        );
    }
    wrong
}

/// `matchConstraints` and `matchResources`.
pub(super) fn constraints(constraints: &Value, at: &Path, errors: &mut Errors) {
    let policies = ["Equivalent", "Exact"];
    one_of(&constraints["matchPolicy"], &policies, &at.child("matchPolicy"), errors);
    for field in ["namespaceSelector", "objectSelector"] {
        if constraints[field].is_object() {
            errors.extend(labels::selector(Some(&constraints[field]), &at.child(field)));
        }
    }
    for field in ["resourceRules", "excludeResourceRules"] {
        for (index, rule) in items(&constraints[field]).iter().enumerate() {
            named(rule, &at.child(field).index(index), errors);
        }
    }
}

/// Mutating policies cannot be about deletions.
pub(super) fn only_mutable(constraints: &Value, at: &Path, errors: &mut Errors) {
    let place = at.child("resourceRules").child("operations");
    for rule in items(&constraints["resourceRules"]) {
        for operation in items(&rule["operations"]) {
            one_of(operation, &["*", "CONNECT", "CREATE", "UPDATE"], &place, errors);
        }
    }
}

fn named(rule: &Value, at: &Path, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for (index, name) in items(&rule["resourceNames"]).iter().enumerate() {
        let here = at.child("resourceNames").index(index);
        let name = name.as_str().unwrap_or_default();
        errors.extend(format::invalid_each(&here, name, format::path_segment(name)));
        if !seen.insert(name) {
            errors.push(FieldError::duplicate(&here, &name.into()));
        }
    }
    with_operations(rule, at, errors);
}

/// A rule with operations.
pub(super) fn with_operations(rule: &Value, at: &Path, errors: &mut Errors) {
    let supported = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
    let here = at.child("operations");
    listed(&rule["operations"], "operations", &here, errors);
    for (index, operation) in items(&rule["operations"]).iter().enumerate() {
        one_of(operation, &supported, &here.index(index), errors);
    }
    listed(&rule["apiGroups"], "API groups", &at.child("apiGroups"), errors);
    let here = at.child("apiVersions");
    listed(&rule["apiVersions"], "API versions", &here, errors);
    for (index, version) in items(&rule["apiVersions"]).iter().enumerate() {
        if version == "" {
            errors.push(FieldError::required(&here.index(index), ""));
        }
    }
    resources(&rule["resources"], &at.child("resources"), errors);
    one_of(&rule["scope"], &["*", "Cluster", "Namespaced"], &at.child("scope"), errors);
}

/// A list that is not empty and has nothing beside `*`.
fn listed(list: &Value, what: &str, at: &Path, errors: &mut Errors) {
    let all = items(list);
    if all.is_empty() {
        errors.push(FieldError::required(at, ""));
    }
    if all.len() > 1 && all.iter().any(|item| item == "*") {
        let why = format!("if '*' is present, must not specify other {what}");
        errors.push(FieldError::invalid(at, list, why));
    }
}

fn resources(list: &Value, at: &Path, errors: &mut Errors) {
    let all = items(list);
    if all.is_empty() {
        errors.push(FieldError::required(at, ""));
    }
    let (mut whole, mut every) = (BTreeSet::new(), BTreeSet::new());
    let mut plain = false;
    for (index, written) in all.iter().enumerate() {
        let here = at.index(index);
        let written = written.as_str().unwrap_or_default();
        if written.is_empty() {
            errors.push(FieldError::required(&here, ""));
            continue;
        }
        let Some((resource, sub)) = written.split_once('/') else {
            // Only the last one counts, as in the server.
            plain = written != "*";
            continue;
        };
        if whole.contains(resource) {
            let why = format!("if '{resource}/*' is present, must not specify {written}");
            errors.push(FieldError::invalid(&here, &written.into(), why));
        }
        if every.contains(sub) {
            let why = format!("if '*/{sub}' is present, must not specify {written}");
            errors.push(FieldError::invalid(&here, &written.into(), why));
        }
        if sub == "*" {
            whole.insert(resource);
        }
        if resource == "*" {
            every.insert(sub);
        }
    }
    if all.len() > 1 && all.iter().any(|written| written == "*/*") {
        let why = "if '*/*' is present, must not specify other resources";
        errors.push(FieldError::invalid(at, list, why));
    }
    if plain && all.iter().any(|written| written == "*") {
        let why = "if '*' is present, must not specify other resources without subresources";
        errors.push(FieldError::invalid(at, list, why));
    }
}
