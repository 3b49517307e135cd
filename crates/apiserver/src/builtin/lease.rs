//! Lease.

use serde_json::{Value, json};

use super::view::{has, number, text};
use super::{Strategy, form};
use crate::fields::{FieldError, Path};

/// The rules of Lease.
pub const LEASE: Strategy = Strategy {
    defaults: |lease| form::settle("coordination.k8s.io/v1", "Lease", lease),
    validate,
    create_on_update: true,
    unconditional_update: false,
    ..Strategy::PLAIN
};

fn validate(lease: &Value) -> Vec<FieldError> {
    let path = Path::new("spec");
    let mut errors = Vec::new();
    if let Some(seconds) = number(lease, "spec.leaseDurationSeconds").filter(|&s| s <= 0) {
        errors.push(FieldError::invalid(
            &path.child("leaseDurationSeconds"),
            &json!(seconds),
            "must be greater than 0",
        ));
    }
    if let Some(count) = number(lease, "spec.leaseTransitions").filter(|&n| n < 0) {
        errors.push(FieldError::invalid(
            &path.child("leaseTransitions"),
            &json!(count),
            "must be greater than or equal to 0",
        ));
    }
    if !text(lease, "spec.preferredHolder").is_empty() && !has(lease, "spec.strategy") {
        errors.push(FieldError::forbidden(
            &path.child("preferredHolder"),
            "may only be specified if `strategy` is defined",
        ));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_bounds() {
        let said: Vec<String> = validate(&json!({"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1, "preferredHolder": "a"}}))
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            said,
            [
                "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
                "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
                "spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined",
            ]
        );
        assert!(validate(&json!({"spec": {"leaseDurationSeconds": 15}})).is_empty());
    }
}
