//! PodDisruptionBudgets.

use serde_json::Value;

use super::format::{condition_reason, invalid_each, qualified_name};
use super::pod::counts;
use super::value::{Fields as _, Fill as _};
use super::workload::keep_status;
use super::{Generation, Strategy, form, labels, share};
use crate::fields::{FieldError, Path};

/// The rules of PodDisruptionBudgets.
pub const DISRUPTION_BUDGET: Strategy = Strategy {
    defaults: |object| form::settle("policy/v1", "PodDisruptionBudget", object),
    prepare_create: |object| {
        let mut status = Value::Null;
        form::settle_part("policy/v1.PodDisruptionBudgetStatus", &mut status);
        object.put("status", status);
    },
    prepare_update: keep_status,
    validate: |object| spec(object.get_or_null("spec"), &Path::new("spec")),
    validate_status: |new, _| {
        let (status, field) = (new.get_or_null("status"), Path::new("status"));
        let mut wrong = conditions(status, &field.child("conditions"));
        let keys = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];
        wrong.extend(counts(status, &keys, &field));
        wrong
    },
    generation: Generation::Spec,
    unconditional_update: false,
    ..Strategy::PLAIN
};

fn spec(spec: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let bounds = ["minAvailable", "maxUnavailable"];
    if bounds.iter().all(|key| spec.part(key).is_some()) {
        wrong.push(FieldError::invalid_shown(
            field,
            form::internal("policy.PodDisruptionBudgetSpec", spec),
            "minAvailable and maxUnavailable cannot be both set",
        ));
    }
    for key in bounds {
        if let Some(bound) = spec.part(key) {
            wrong.extend(share::positive(bound, &field.child(key)));
            wrong.extend(share::at_most_all(bound, &field.child(key)));
        }
    }
    wrong.extend(labels::selector(spec.part("selector"), &field.child("selector")));
    if let Some(policy) = spec.text_opt("unhealthyPodEvictionPolicy")
        && !matches!(policy, "AlwaysAllow" | "IfHealthyBudget")
    {
        wrong.push(FieldError::not_supported(
            &field.child("unhealthyPodEvictionPolicy"),
            &Value::from(policy),
            &["AlwaysAllow", "IfHealthyBudget"],
        ));
    }
    wrong
}

/// What is wrong with conditions of the common form.
fn conditions(status: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for (index, condition) in status.list("conditions").iter().enumerate() {
        let field = field.index(index);
        let kind = condition.text("type");
        if !seen.insert(kind) {
            wrong.push(FieldError::duplicate(&field.child("type"), &Value::from(kind)));
        }
        wrong.extend(invalid_each(&field.child("type"), kind, qualified_name(kind)));
        let state = condition.text("status");
        if !matches!(state, "True" | "False" | "Unknown") {
            wrong.push(FieldError::not_supported(
                &field.child("status"),
                &Value::from(state),
                &["False", "True", "Unknown"],
            ));
        }
        if condition.int("observedGeneration") < 0 {
            wrong.push(FieldError::invalid(
                &field.child("observedGeneration"),
                condition.get_or_null("observedGeneration"),
                "must be greater than or equal to zero",
            ));
        }
        if condition.text("lastTransitionTime").is_empty() {
            wrong.push(FieldError::required(&field.child("lastTransitionTime"), ""));
        }
        let reason = condition.text("reason");
        if reason.is_empty() {
            wrong.push(FieldError::required(&field.child("reason"), ""));
        } else {
            wrong.extend(invalid_each(&field.child("reason"), reason, condition_reason(reason)));
        }
    }
    wrong
}
