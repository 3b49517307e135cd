//! What is wrong with a policy, a binding or a webhook configuration.
//!
//! Fields that the server fills with defaults are taken as filled if they are absent.

use std::collections::BTreeSet;

use serde_json::Value;

use super::expression::{Names, Sees, Wanted};
use super::text;
use crate::builtin::{format, labels};
use crate::fields::{FieldError, Path};

mod client;
mod rule;

type Errors = Vec<FieldError>;

/// What is wrong with an object of the admission group; nothing for other kinds. Metadata is validated elsewhere.
pub fn validate_policy(kind: &str, object: &Value) -> Vec<FieldError> {
    let mut errors = Errors::new();
    let (spec, at) = (&object["spec"], Path::new("spec"));
    match kind {
        "ValidatingAdmissionPolicy" => {
            validating(text(&object["metadata"], "name"), spec, &at, &mut errors);
        }
        "MutatingAdmissionPolicy" => mutating(spec, &at, &mut errors),
        "ValidatingAdmissionPolicyBinding" => {
            binding(spec, &at, &mut errors);
            actions(&spec["validationActions"], &at.child("validationActions"), &mut errors);
        }
        "MutatingAdmissionPolicyBinding" => {
            binding(spec, &at, &mut errors);
            rule::only_mutable(&spec["matchResources"], &at.child("matchResources"), &mut errors);
        }
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => {
            webhooks(kind.starts_with("Mutating"), &object["webhooks"], &mut errors);
        }
        _ => {}
    }
    errors
}

/// What is wrong with a changed object of the admission group: match conditions that did not change are not
/// compiled again.
pub fn validate_policy_update(kind: &str, object: &Value, old: &Value) -> Vec<FieldError> {
    let mut object = object.clone();
    if kind.ends_with("AdmissionPolicy")
        && object["spec"]["paramKind"] == old["spec"]["paramKind"]
        && object["spec"]["matchConditions"] == old["spec"]["matchConditions"]
        && let Some(spec) = object["spec"].as_object_mut()
    {
        spec.remove("matchConditions");
    }
    validate_policy(kind, &object)
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The value is one of those supported; absent is fine where a default fills it.
fn one_of(value: &Value, supported: &[&str], at: &Path, errors: &mut Errors) {
    if let Some(chosen) = value.as_str()
        && !supported.contains(&chosen)
    {
        errors.push(FieldError::not_supported(at, value, supported));
    }
}

const FAILURE_POLICIES: [&str; 2] = ["Fail", "Ignore"];
const REINVOCATION_POLICIES: [&str; 2] = ["IfNeeded", "Never"];

fn head(spec: &Value, at: &Path, errors: &mut Errors) {
    one_of(&spec["failurePolicy"], &FAILURE_POLICIES, &at.child("failurePolicy"), errors);
    if spec["paramKind"].is_object() {
        param_kind(&spec["paramKind"], &at.child("paramKind"), errors);
    }
    let constraints = &spec["matchConstraints"];
    let here = at.child("matchConstraints");
    if constraints.is_object() {
        rule::constraints(constraints, &here, errors);
        if items(&constraints["resourceRules"]).is_empty() {
            errors.push(FieldError::required(&here.child("resourceRules"), ""));
        }
    } else {
        errors.push(FieldError::required(&here, ""));
    }
}

fn validating(name: &str, spec: &Value, at: &Path, errors: &mut Errors) {
    head(spec, at, errors);
    let params = spec["paramKind"].is_object();
    conditions(&spec["matchConditions"], params, &at.child("matchConditions"), errors);
    let names = variables(spec, at, errors);
    let (validations, audits) = (items(&spec["validations"]), items(&spec["auditAnnotations"]));
    if validations.is_empty() && audits.is_empty() {
        for field in ["validations", "auditAnnotations"] {
            errors.push(FieldError::required(
                &at.child(field),
                "validations or auditAnnotations must contain at least one item",
            ));
        }
    }
    for (index, one) in validations.iter().enumerate() {
        validation(&names, one, &at.child("validations").index(index), errors);
    }
    let here = at.child("auditAnnotations");
    if audits.len() > 20 {
        let all = &spec["auditAnnotations"];
        errors.push(FieldError::invalid(&here, all, "must not have more than 20 auditAnnotations"));
    }
    let mut keys = BTreeSet::new();
    for (index, audit) in audits.iter().enumerate() {
        let here = here.index(index);
        let key = text(audit, "key");
        let full = format!("{name}/{key}");
        errors.extend(format::invalid_each(
            &here.child("key"),
            &full,
            format::qualified_name(&full),
        ));
        let written = text(audit, "valueExpression");
        let place = here.child("valueExpression");
        if written.trim().is_empty() {
            errors.push(FieldError::required(&place, "valueExpression is not specified"));
        } else if let Err(why) = names.compile(written.trim(), Sees::All, Wanted::StringOrNull) {
            errors.push(FieldError::invalid(&place, &written.into(), why));
        }
        if !keys.insert(key) {
            errors.push(FieldError::duplicate(&here.child("key"), &key.into()));
        }
    }
}

fn mutating(spec: &Value, at: &Path, errors: &mut Errors) {
    head(spec, at, errors);
    rule::only_mutable(&spec["matchConstraints"], &at.child("matchConstraints"), errors);
    let params = spec["paramKind"].is_object();
    conditions(&spec["matchConditions"], params, &at.child("matchConditions"), errors);
    let mut names = variables(spec, at, errors);
    names.variables.get_or_insert_default();
    let mutations = items(&spec["mutations"]);
    if mutations.is_empty() {
        let why = "mutations must contain at least one item";
        errors.push(FieldError::required(&at.child("mutations"), why));
    }
    for (index, one) in mutations.iter().enumerate() {
        mutation(&names, one, &at.child("mutations").index(index), errors);
    }
    let here = at.child("reinvocationPolicy");
    if text(spec, "reinvocationPolicy").is_empty() {
        errors.push(FieldError::required(&here, ""));
    } else {
        one_of(&spec["reinvocationPolicy"], &REINVOCATION_POLICIES, &here, errors);
    }
}

fn mutation(names: &Names, mutation: &Value, at: &Path, errors: &mut Errors) {
    let here = at.child("patchType");
    let (own, other, wanted) = match text(mutation, "patchType") {
        "" => return errors.push(FieldError::required(&here, "")),
        "JSONPatch" => ("jsonPatch", "applyConfiguration", Wanted::Patch),
        "ApplyConfiguration" => ("applyConfiguration", "jsonPatch", Wanted::Object),
        _ => {
            let supported = ["ApplyConfiguration", "JSONPatch"];
            return one_of(&mutation["patchType"], &supported, &here, errors);
        }
    };
    let sort = text(mutation, "patchType");
    let place = at.child(own);
    if mutation[own].is_object() {
        let written = text(&mutation[own], "expression").trim();
        let place = place.child("expression");
        if written.is_empty() {
            errors.push(FieldError::required(&place, ""));
        } else if let Err(why) = names.compile(written, Sees::Mutation, wanted) {
            errors.push(FieldError::invalid(&place, &written.into(), why));
        }
    } else {
        let why = format!("must be specified when patchType is {sort}");
        errors.push(FieldError::required(&place, why));
    }
    if mutation[other].is_object() {
        let why = format!("must not be specified when patchType is {sort}");
        let shown = format!("{{{other}}}");
        errors.push(FieldError::invalid(&at.child(other), &shown.into(), why));
    }
}

fn param_kind(kind: &Value, at: &Path, errors: &mut Errors) {
    let version = text(kind, "apiVersion");
    let here = at.child("apiVersion");
    let parts: Vec<&str> = version.split('/').collect();
    match parts.as_slice() {
        [""] => errors.push(FieldError::required(&here, "")),
        [version] => of_version("", version, &here, errors),
        [group, version] => of_version(group, version, &here, errors),
        _ => {
            let why = format!("unexpected GroupVersion string: {version}");
            errors.push(FieldError::invalid(&here, &version.into(), why));
        }
    }
    let name = text(kind, "kind");
    let here = at.child("kind");
    let wrong = rule::dns_1035(&name.to_lowercase());
    if name.is_empty() {
        errors.push(FieldError::required(&here, ""));
    } else if !wrong.is_empty() {
        let why = format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
        errors.push(FieldError::invalid(&here, &name.into(), why));
    }
}

fn of_version(group: &str, version: &str, at: &Path, errors: &mut Errors) {
    if !group.is_empty() {
        let wrong = format::dns_subdomain(group);
        if !wrong.is_empty() {
            errors.push(FieldError::invalid(at, &group.into(), wrong.join(",")));
        }
    }
    let wrong = rule::dns_1035(version);
    if version.is_empty() {
        errors.push(FieldError::invalid(at, &version.into(), "version must be specified"));
    } else if !wrong.is_empty() {
        errors.push(FieldError::invalid(at, &version.into(), wrong.join(",")));
    }
}

fn conditions(conditions: &Value, params: bool, at: &Path, errors: &mut Errors) {
    let conditions = items(conditions);
    if conditions.len() > 64 {
        errors.push(FieldError::too_many(at, conditions.len(), 64));
    }
    // Conditions are compiled without the policy's variables.
    let names = Names { params, variables: None };
    let mut seen = BTreeSet::new();
    for (index, condition) in conditions.iter().enumerate() {
        let here = at.index(index);
        let written = text(condition, "expression").trim();
        if written.is_empty() {
            errors.push(FieldError::required(&here.child("expression"), ""));
        } else if let Err(why) = names.compile(written, Sees::All, Wanted::Bool) {
            errors.push(FieldError::invalid(&here.child("expression"), &written.into(), why));
        }
        let name = text(condition, "name");
        let place = here.child("name");
        if name.is_empty() {
            errors.push(FieldError::required(&place, ""));
            continue;
        }
        errors.extend(format::invalid_each(&place, name, format::qualified_name(name)));
        if !seen.insert(name) {
            errors.push(FieldError::duplicate(&place, &name.into()));
        }
    }
}

/// Checks variables in order and returns what later expressions may mention.
fn variables(spec: &Value, at: &Path, errors: &mut Errors) -> Names {
    let mut names = Names { params: spec["paramKind"].is_object(), variables: None };
    for (index, variable) in items(&spec["variables"]).iter().enumerate() {
        let here = at.child("variables").index(index);
        let name = text(variable, "name");
        if name.trim().is_empty() {
            errors.push(FieldError::required(&here.child("name"), "name is not specified"));
        } else if !is_identifier(name) {
            let why = "must be a valid CEL identifier";
            errors.push(FieldError::invalid(&here.child("name"), &name.into(), why));
        }
        let written = text(variable, "expression");
        let place = here.child("expression");
        if written.trim().is_empty() {
            errors.push(FieldError::required(&place, "expression is not specified"));
        } else {
            names.variables.get_or_insert_default();
            if let Err(why) = names.declare(name, written) {
                errors.push(FieldError::invalid(&place, &written.into(), why));
            }
        }
    }
    names
}

fn is_identifier(name: &str) -> bool {
    const RESERVED: [&str; 21] = [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ];
    !RESERVED.contains(&name)
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn validation(names: &Names, validation: &Value, at: &Path, errors: &mut Errors) {
    let written = text(validation, "expression");
    let place = at.child("expression");
    if written.trim().is_empty() {
        errors.push(FieldError::required(&place, "expression is not specified"));
    } else if let Err(why) = names.compile(written, Sees::All, Wanted::Bool) {
        errors.push(FieldError::invalid(&place, &written.into(), why));
    }
    let blank = "must be non-empty if specified";
    let written = text(validation, "messageExpression");
    let place = at.child("messageExpression");
    if !written.is_empty() && written.trim().is_empty() {
        errors.push(FieldError::invalid(&place, &written.into(), blank));
    } else if !written.is_empty()
        && let Err(why) = names.compile(written, Sees::NoAuthorizer, Wanted::String)
    {
        errors.push(FieldError::invalid(&place, &written.into(), why));
    }
    let written = text(validation, "message");
    let place = at.child("message");
    if !written.is_empty() && written.trim().is_empty() {
        errors.push(FieldError::invalid(&place, &written.into(), blank));
    } else if written.trim().contains(['\n', '\r']) {
        let why = "must not contain line breaks";
        errors.push(FieldError::invalid(&place, &written.into(), why));
    }
    let reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
    one_of(&validation["reason"], &reasons, &at.child("reason"), errors);
}

fn binding(spec: &Value, at: &Path, errors: &mut Errors) {
    let name = text(spec, "policyName");
    let place = at.child("policyName");
    if name.is_empty() {
        errors.push(FieldError::required(&place, ""));
    } else {
        errors.extend(format::invalid_each(&place, name, format::dns_subdomain(name)));
    }
    if spec["paramRef"].is_object() {
        param_ref(&spec["paramRef"], &at.child("paramRef"), errors);
    }
    if spec["matchResources"].is_object() {
        rule::constraints(&spec["matchResources"], &at.child("matchResources"), errors);
    }
}

fn param_ref(reference: &Value, at: &Path, errors: &mut Errors) {
    let name = text(reference, "name");
    let selected = reference["selector"].is_object();
    let both = "name and selector are mutually exclusive";
    if !name.is_empty() {
        let place = at.child("name");
        errors.extend(format::invalid_each(&place, name, format::path_segment(name)));
        if selected {
            errors.push(FieldError::forbidden(&place, both));
        }
    }
    if selected {
        let place = at.child("selector");
        errors.extend(labels::selector(Some(&reference["selector"]), &place));
        if !name.is_empty() {
            errors.push(FieldError::forbidden(&place, both));
        }
    } else if name.is_empty() {
        errors.push(FieldError::required(at, "one of name or selector must be specified"));
    }
    let place = at.child("parameterNotFoundAction");
    if text(reference, "parameterNotFoundAction").is_empty() {
        errors.push(FieldError::required(&place, ""));
    } else {
        one_of(&reference["parameterNotFoundAction"], &["Deny", "Allow"], &place, errors);
    }
}

fn actions(actions: &Value, at: &Path, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for (index, action) in items(actions).iter().enumerate() {
        let here = at.index(index);
        one_of(action, &["Audit", "Deny", "Warn"], &here, errors);
        if !seen.insert(action.as_str().unwrap_or_default()) {
            errors.push(FieldError::duplicate(&here, action));
        }
    }
    if seen.contains("Deny") && seen.contains("Warn") {
        let why = "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
        errors.push(FieldError::invalid(at, actions, why));
    }
    if seen.is_empty() {
        errors.push(FieldError::required(at, "at least one validation action is required"));
    }
}

fn webhooks(mutating: bool, hooks: &Value, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for (index, hook) in items(hooks).iter().enumerate() {
        let at = Path::new("webhooks").index(index);
        webhook(mutating, hook, &at, errors);
        client::versions(
            &hook["admissionReviewVersions"],
            &at.child("admissionReviewVersions"),
            errors,
        );
        let name = text(hook, "name");
        if !name.is_empty() && !seen.insert(name) {
            errors.push(FieldError::duplicate(&at.child("name"), &name.into()));
        }
    }
}

fn webhook(mutating: bool, hook: &Value, at: &Path, errors: &mut Errors) {
    let name = text(hook, "name");
    let place = at.child("name");
    if name.is_empty() {
        errors.push(FieldError::required(&place, ""));
    } else {
        let wrong = format::dns_subdomain(name);
        if !wrong.is_empty() {
            errors.push(FieldError::invalid(&place, &name.into(), wrong.join(",")));
        } else if name.split('.').count() < 3 {
            let why = "should be a domain with at least three segments separated by dots";
            errors.push(FieldError::invalid(&place, &name.into(), why));
        }
    }
    for (index, one) in items(&hook["rules"]).iter().enumerate() {
        rule::with_operations(one, &at.child("rules").index(index), errors);
    }
    one_of(&hook["failurePolicy"], &FAILURE_POLICIES, &at.child("failurePolicy"), errors);
    one_of(&hook["matchPolicy"], &["Equivalent", "Exact"], &at.child("matchPolicy"), errors);
    let place = at.child("sideEffects");
    if hook["sideEffects"].is_string() {
        one_of(&hook["sideEffects"], &["None", "NoneOnDryRun"], &place, errors);
    } else {
        errors.push(FieldError::required(&place, "must specify one of None, NoneOnDryRun"));
    }
    if hook["timeoutSeconds"].as_i64().is_some_and(|seconds| !(1..=30).contains(&seconds)) {
        let why = "the timeout value must be between 1 and 30 seconds";
        errors.push(FieldError::invalid(&at.child("timeoutSeconds"), &hook["timeoutSeconds"], why));
    }
    for field in ["namespaceSelector", "objectSelector"] {
        if hook[field].is_object() {
            errors.extend(labels::selector(Some(&hook[field]), &at.child(field)));
        }
    }
    if mutating {
        let place = at.child("reinvocationPolicy");
        one_of(&hook["reinvocationPolicy"], &REINVOCATION_POLICIES, &place, errors);
    }
    client::config(&hook["clientConfig"], &at.child("clientConfig"), errors);
    conditions(&hook["matchConditions"], false, &at.child("matchConditions"), errors);
}

#[cfg(test)]
mod tests;
