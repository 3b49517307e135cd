//! What is wrong with where a pod wants to run.

use std::collections::BTreeSet;

use serde_json::Value;

use super::probes::nonnegative;
use crate::builtin::format::{dns_label, dns_subdomain, invalid_each, label_value, qualified_name};
use crate::builtin::labels;
use crate::builtin::value::Fields as _;
use crate::fields::{FieldError, Path};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Checks `affinity`.
pub fn affinity(affinity: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    if let Some(node) = affinity.part("nodeAffinity") {
        wrong.extend(node_affinity(node, &field.child("nodeAffinity")));
    }
    for key in ["podAffinity", "podAntiAffinity"] {
        let Some(terms) = affinity.part(key) else { continue };
        let field = field.child(key);
        for (index, term) in terms.list(REQUIRED).iter().enumerate() {
            wrong.extend(pod_term(term, &field.child(REQUIRED).index(index)));
        }
        for (index, term) in terms.list(PREFERRED).iter().enumerate() {
            let field = field.child(PREFERRED).index(index);
            wrong.extend(weight(term, &field));
            wrong.extend(pod_term(
                term.get_or_null("podAffinityTerm"),
                &field.child("podAffinityTerm"),
            ));
        }
    }
    wrong
}

fn weight(term: &Value, field: &Path) -> Option<FieldError> {
    let weight = term.int("weight");
    (!(1..=100).contains(&weight)).then(|| {
        FieldError::invalid(
            &field.child("weight"),
            &Value::from(weight),
            "must be in the range 1-100",
        )
    })
}

fn node_affinity(node: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    if let Some(required) = node.part(REQUIRED) {
        let field = field.child(REQUIRED).child("nodeSelectorTerms");
        let terms = required.list("nodeSelectorTerms");
        if terms.is_empty() {
            wrong.push(FieldError::required(&field, "must have at least one node selector term"));
        }
        for (index, term) in terms.iter().enumerate() {
            wrong.extend(node_term(term, &field.index(index), true));
        }
    }
    for (index, term) in node.list(PREFERRED).iter().enumerate() {
        let field = field.child(PREFERRED).index(index);
        wrong.extend(weight(term, &field));
        // Values of preferences are not judged, for the sake of those written before the rule.
        wrong.extend(node_term(term.get_or_null("preference"), &field.child("preference"), false));
    }
    wrong
}

fn node_term(term: &Value, field: &Path, judge_values: bool) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    for (index, rule) in term.list("matchExpressions").iter().enumerate() {
        wrong.extend(node_expression(
            rule,
            &field.child("matchExpressions").index(index),
            judge_values,
        ));
    }
    for (index, rule) in term.list("matchFields").iter().enumerate() {
        wrong.extend(node_field(rule, &field.child("matchFields").index(index)));
    }
    wrong
}

fn node_expression(rule: &Value, field: &Path, judge_values: bool) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let values = rule.list("values");
    let at = field.child("values");
    match rule.text("operator") {
        "In" | "NotIn" => {
            if values.is_empty() {
                wrong.push(FieldError::required(
                    &at,
                    "must be specified when `operator` is 'In' or 'NotIn'",
                ));
            }
        }
        "Exists" | "DoesNotExist" => {
            if !values.is_empty() {
                wrong.push(FieldError::forbidden(
                    &at,
                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                ));
            }
        }
        "Gt" | "Lt" => {
            if values.len() != 1 {
                wrong.push(FieldError::required(
                    &at,
                    "must be specified single value when `operator` is 'Lt' or 'Gt'",
                ));
            }
        }
        other => wrong.push(FieldError::invalid(
            &field.child("operator"),
            &Value::from(other),
            "not a valid selector operator",
        )),
    }
    let key = rule.text("key");
    wrong.extend(invalid_each(&field.child("key"), key, qualified_name(key)));
    if judge_values {
        for (index, value) in values.iter().enumerate() {
            let value = value.as_str().unwrap_or_default();
            wrong.extend(invalid_each(&at.index(index), value, label_value(value)));
        }
    }
    wrong
}

fn node_field(rule: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let values = rule.list("values");
    match rule.text("operator") {
        "In" | "NotIn" => {
            if values.len() != 1 {
                wrong.push(FieldError::required(
                    &field.child("values"),
                    "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
                ));
            }
        }
        other => wrong.push(FieldError::invalid(
            &field.child("operator"),
            &Value::from(other),
            "not a valid selector operator",
        )),
    }
    let key = rule.text("key");
    if key == "metadata.name" {
        for (index, value) in values.iter().enumerate() {
            let value = value.as_str().unwrap_or_default();
            wrong.extend(invalid_each(
                &field.child("values").index(index),
                value,
                dns_subdomain(value),
            ));
        }
    } else {
        wrong.push(FieldError::invalid(
            &field.child("key"),
            &Value::from(key),
            "not a valid field selector key",
        ));
    }
    wrong
}

fn pod_term(term: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = labels::selector(term.part("labelSelector"), &field.child("labelSelector"));
    wrong.extend(labels::selector(
        term.part("namespaceSelector"),
        &field.child("namespaceSelector"),
    ));
    for name in term.list("namespaces") {
        let name = name.as_str().unwrap_or_default();
        wrong.extend(invalid_each(&field.child("namespace"), name, dns_label(name)));
    }
    wrong.extend(label_keys(term, field));
    let key = term.text("topologyKey");
    let at = field.child("topologyKey");
    if key.is_empty() {
        wrong.push(FieldError::required(&at, "can not be empty"));
    }
    wrong.extend(invalid_each(&at, key, qualified_name(key)));
    wrong
}

/// Keys whose values a pod's own labels bring in: they need a selector and must not repeat it.
fn label_keys(term: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let selector = term.part("labelSelector");
    for list in ["matchLabelKeys", "mismatchLabelKeys"] {
        let keys = term.list(list);
        let field = field.child(list);
        if keys.is_empty() {
            continue;
        }
        if selector.is_none() {
            wrong.push(FieldError::forbidden(
                &field,
                "must not be specified when labelSelector is not set",
            ));
            continue;
        }
        for (index, key) in keys.iter().enumerate() {
            let key = key.as_str().unwrap_or_default();
            wrong.extend(invalid_each(&field.index(index), key, qualified_name(key)));
        }
    }
    let matched = term.list("matchLabelKeys");
    if let Some(selector) = selector {
        let mut seen: BTreeSet<&str> = selector
            .entries("matchLabels")
            .into_iter()
            .flat_map(|m| m.keys().map(String::as_str))
            .collect();
        for rule in selector.list("matchExpressions") {
            let key = rule.text("key");
            if let Some(index) = matched.iter().rposition(|k| k == key)
                && seen.contains(key)
            {
                wrong.push(FieldError::invalid(
                    &field.index(index),
                    &Value::from(key),
                    "exists in both matchLabelKeys and labelSelector",
                ));
            }
            seen.insert(key);
        }
    }
    for (index, key) in matched.iter().enumerate() {
        if term.list("mismatchLabelKeys").contains(key) {
            wrong.push(FieldError::invalid(
                &field.child("matchLabelKeys").index(index),
                key,
                "exists in both matchLabelKeys and mismatchLabelKeys",
            ));
        }
    }
    wrong
}

/// Checks `topologySpreadConstraints`.
pub fn spread(constraints: &[Value], field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let positive = |value: i64, field: &Path| {
        (value <= 0)
            .then(|| FieldError::invalid(field, &Value::from(value), "must be greater than zero"))
    };
    for (index, constraint) in constraints.iter().enumerate() {
        let field = field.index(index);
        wrong.extend(positive(constraint.int("maxSkew"), &field.child("maxSkew")));
        let key = constraint.text("topologyKey");
        if key.is_empty() {
            wrong.push(FieldError::required(&field.child("topologyKey"), "can not be empty"));
        }
        let action = constraint.text("whenUnsatisfiable");
        if !matches!(action, "DoNotSchedule" | "ScheduleAnyway") {
            wrong.push(FieldError::not_supported(
                &field.child("whenUnsatisfiable"),
                &Value::from(action),
                &["DoNotSchedule", "ScheduleAnyway"],
            ));
        }
        let repeats = constraints.iter().skip(index + 1).any(|other| {
            other.text("topologyKey") == key && other.text("whenUnsatisfiable") == action
        });
        if repeats {
            wrong.push(FieldError::duplicate(
                &field.child("{topologyKey, whenUnsatisfiable}"),
                &Value::from(format!("{{{key}, {action}}}")),
            ));
        }
        if let Some(least) = constraint.int_opt("minDomains") {
            let field = field.child("minDomains");
            wrong.extend(positive(least, &field));
            if action != "DoNotSchedule" {
                wrong.push(FieldError::invalid(
                    &field,
                    &Value::from(least),
                    format!(
                        "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
                    ),
                ));
            }
        }
        for policy in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            if let Some(value) = constraint.text_opt(policy)
                && !matches!(value, "Honor" | "Ignore")
            {
                wrong.push(FieldError::not_supported(
                    &field.child(policy),
                    &Value::from(value),
                    &["Honor", "Ignore"],
                ));
            }
        }
        wrong.extend(label_keys(constraint, &field));
        wrong.extend(labels::selector(
            constraint.part("labelSelector"),
            &field.child("labelSelector"),
        ));
    }
    wrong
}

/// Checks `tolerations`.
pub fn tolerations(tolerations: &[Value], field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    for (index, toleration) in tolerations.iter().enumerate() {
        let field = field.index(index);
        let (key, operator) = (toleration.text("key"), toleration.text("operator"));
        let (value, effect) = (toleration.text("value"), toleration.text("effect"));
        if !key.is_empty() {
            wrong.extend(invalid_each(&field.child("key"), key, qualified_name(key)));
        } else if operator != "Exists" {
            wrong.push(FieldError::invalid(
                &field.child("operator"),
                &Value::from(operator),
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
            ));
        }
        if toleration.int_opt("tolerationSeconds").is_some() && effect != "NoExecute" {
            wrong.push(FieldError::invalid(
                &field.child("effect"),
                &Value::from(effect),
                "effect must be 'NoExecute' when `tolerationSeconds` is set",
            ));
        }
        let at = field.child("operator");
        match operator {
            "Equal" | "" => {
                let messages = label_value(value);
                if !messages.is_empty() {
                    wrong.push(FieldError::invalid(&at, &Value::from(value), messages.join(";")));
                }
            }
            "Exists" => {
                if !value.is_empty() {
                    wrong.push(FieldError::invalid(
                        &at,
                        &Value::from(value),
                        "value must be empty when `operator` is 'Exists'",
                    ));
                }
            }
            "Lt" | "Gt" => wrong.push(FieldError::not_supported(
                &at,
                &Value::from(operator),
                &["Equal", "Exists", "Lt", "Gt"],
            )),
            _ => wrong.push(FieldError::not_supported(
                &at,
                &Value::from(operator),
                &["Equal", "Exists"],
            )),
        }
        if !matches!(effect, "" | "NoSchedule" | "PreferNoSchedule" | "NoExecute") {
            wrong.push(FieldError::not_supported(
                &field.child("effect"),
                &Value::from(effect),
                &["NoSchedule", "PreferNoSchedule", "NoExecute"],
            ));
        }
    }
    wrong
}

/// Checks the names of gates and that none repeats.
pub fn scheduling_gates(gates: &[Value], field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, gate) in gates.iter().enumerate() {
        let name = gate.text("name");
        wrong.extend(invalid_each(&field.index(index), name, qualified_name(name)));
        if !seen.insert(name) {
            wrong.push(FieldError::duplicate(&field.index(index), &Value::from(name)));
        }
    }
    wrong
}

/// Values of numbers in a status that must not be negative.
pub fn counts(status: &Value, keys: &[&str], field: &Path) -> Vec<FieldError> {
    keys.iter().filter_map(|key| nonnegative(status.int(key), &field.child(key))).collect()
}
