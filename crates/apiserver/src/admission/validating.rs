//! Validating policies: what must hold for a request to pass.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::expression::{Expression, Inputs};
use super::policy::{Binding, Bound, Policy, Validation, namespace_of};
use super::{Attributes, Lookup, Verdict};
use crate::cel::Value;
use crate::status::Failure;

/// Longest value of an audit annotation.
const MOST_AUDIT: usize = 10 * 1024;
/// Longest message that an expression may make.
const MOST_MESSAGE: usize = 5 * 1024;

/// Why a request is refused, and by whom.
struct Denial {
    who: String,
    message: String,
    reason: &'static str,
}

/// One condition that does not hold.
struct Broken {
    index: usize,
    message: String,
    reason: &'static str,
}

/// Runs all policies; the first denial is the answer, after all have had their say in warnings.
pub(super) fn validate(
    policies: &[Bound],
    attributes: &Attributes<'_>,
    lookup: &dyn Lookup,
    verdict: &mut Verdict,
) -> Result<(), Failure> {
    let mut denials: Vec<Denial> = Vec::new();
    for bound in policies {
        let policy = &*bound.policy;
        let alone = format!("ValidatingAdmissionPolicy '{}'", policy.name);
        let misconfigured = |denials: &mut Vec<Denial>, who: &str, what: &str, why: &str| {
            if !policy.ignores_errors {
                let message = format!("failed to configure {what}: {why}");
                denials.push(Denial { who: who.to_owned(), message, reason: "Invalid" });
            }
        };
        let matched = match policy.constraints.matches(attributes, attributes.object, lookup) {
            Ok(None) => continue,
            Ok(Some(matched)) => matched,
            Err(failure) => {
                misconfigured(&mut denials, &alone, "policy", &failure.message);
                continue;
            }
        };
        let resource = match policy.param_resource(lookup) {
            Ok(resource) => resource,
            Err(why) => {
                misconfigured(&mut denials, &alone, "policy", &why);
                continue;
            }
        };
        let mut inputs = None;
        let mut audit: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for binding in &bound.bindings {
            let who = format!("{alone} with binding '{}'", binding.name);
            match binding.matches(attributes, attributes.object, lookup) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(failure) => {
                    misconfigured(&mut denials, &who, "binding", &failure.message);
                    continue;
                }
            }
            let params = match binding.params(policy, resource.as_ref(), attributes, lookup) {
                Ok(params) => params,
                Err(why) => {
                    misconfigured(&mut denials, &who, "binding", &why);
                    continue;
                }
            };
            let namespace = namespace_of(attributes, lookup)?;
            let inputs = inputs.get_or_insert_with(|| {
                policy.inputs(attributes, &matched, attributes.object, lookup)
            });
            for param in &params {
                let inputs = inputs.clone().with_params(param.as_ref());
                let conditions = inputs.clone().with_variables(&policy.variables);
                let inputs =
                    inputs.with_namespace(namespace.as_deref()).with_variables(&policy.variables);
                let found = match policy.applies(&conditions) {
                    Ok(true) => broken(policy, &inputs),
                    Err(message) if !policy.ignores_errors => {
                        let error = Broken { index: 0, message, reason: "Invalid" };
                        act(binding, policy, &who, error, verdict, &mut denials);
                        continue;
                    }
                    Ok(false) | Err(_) => continue,
                };
                for broken in found {
                    act(binding, policy, &who, broken, verdict, &mut denials);
                }
                for message in audited(policy, &inputs, &mut audit) {
                    denials.push(Denial { who: who.clone(), message, reason: "Invalid" });
                }
            }
        }
        for (key, values) in audit {
            verdict.audit.insert(format!("{}/{key}", policy.name), values.join(", "));
        }
    }
    match denials.into_iter().next() {
        None => Ok(()),
        Some(denial) => Err(refusal(attributes, &denial)),
    }
}

fn act(
    binding: &Binding,
    policy: &Policy,
    who: &str,
    broken: Broken,
    verdict: &mut Verdict,
    denials: &mut Vec<Denial>,
) {
    let Broken { index, message, reason } = broken;
    for action in &binding.actions {
        match action.as_str() {
            "Deny" => {
                denials.push(Denial { who: who.to_owned(), message: message.clone(), reason });
            }
            "Warn" => verdict.warnings.push(format!("Validation failed for {who}: {message}")),
            "Audit" => {
                let value = json!([{
                    "message": message, "policy": policy.name, "binding": binding.name,
                    "expressionIndex": index, "validationActions": binding.actions,
                }]);
                let key = "validation.policy.admission.k8s.io/validation_failure";
                verdict.audit.entry(key.to_owned()).or_insert_with(|| value.to_string());
            }
            _ => {}
        }
    }
}

/// The conditions that do not hold, errors among them unless the policy ignores errors.
fn broken(policy: &Policy, inputs: &Inputs) -> Vec<Broken> {
    let error = |index, message| {
        (!policy.ignores_errors).then_some(Broken { index, message, reason: "Invalid" })
    };
    policy
        .validations
        .iter()
        .enumerate()
        .filter_map(|(index, validation)| match validation.expression.run(inputs) {
            Err(why) => error(index, why),
            Ok(Value::Bool(true)) => None,
            Ok(_) => Some(Broken {
                index,
                message: message(validation, inputs),
                reason: match validation.reason.as_str() {
                    "Unauthorized" => "Unauthorized",
                    "Forbidden" => "Forbidden",
                    "RequestEntityTooLarge" => "RequestEntityTooLarge",
                    _ => "Invalid",
                },
            }),
        })
        .collect()
}

fn message(validation: &Validation, inputs: &Inputs) -> String {
    let made = validation
        .message_expression
        .as_ref()
        .and_then(|expression| expression.run(inputs).ok())
        .and_then(|value| value.as_str().map(|text| text.trim().to_owned()))
        .filter(|text| !text.is_empty() && text.len() <= MOST_MESSAGE && !text.contains('\n'));
    match made {
        Some(text) => text,
        None if validation.message.is_empty() => {
            format!("failed expression: {}", validation.expression.text.trim())
        }
        None => validation.message.clone(),
    }
}

/// Collects audit annotations and returns those that could not be computed.
fn audited<'p>(
    policy: &'p Policy,
    inputs: &Inputs,
    audit: &mut BTreeMap<&'p str, Vec<String>>,
) -> Vec<String> {
    let mut failed = Vec::new();
    for (key, expression) in &policy.audits {
        match value(expression, inputs) {
            Ok(None) => {}
            Ok(Some(text)) => {
                let values = audit.entry(key).or_default();
                if !values.contains(&text) {
                    values.push(text);
                }
            }
            Err(_) if policy.ignores_errors => {}
            Err(why) => failed.push(why),
        }
    }
    failed
}

fn value(expression: &Expression, inputs: &Inputs) -> Result<Option<String>, String> {
    match expression.run(inputs)? {
        Value::Null => Ok(None),
        Value::String(text) => {
            let mut text = text.trim().to_owned();
            let mut end = text.len().min(MOST_AUDIT);
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
            Ok((!text.is_empty()).then_some(text))
        }
        other => Err(format!(
            "valueExpression '{}' resulted in unsupported return type: {}. Return type must be either string or null.",
            expression.text,
            other.type_name()
        )),
    }
}

fn refusal(attributes: &Attributes<'_>, denial: &Denial) -> Failure {
    let message = format!("{} denied request: {}", denial.who, denial.message);
    let mut failure = attributes.forbidden(&message);
    failure.code = match denial.reason {
        "Unauthorized" => 401,
        "Forbidden" => 403,
        "RequestEntityTooLarge" => 413,
        _ => 422,
    };
    failure.reason = Some(denial.reason.into());
    let causes: Json = json!([{ "message": message }]);
    failure.details.get_or_insert_default().insert("causes".into(), causes);
    failure
}
