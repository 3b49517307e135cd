//! Lease.

use serde_json::{Value, json};

use super::view::{number, take};
use super::{Strategy, form};
use crate::fields::{FieldError, Path};

/// The rules of Lease.
pub const LEASE: Strategy = Strategy {
    defaults: |lease| {
        // Both belong to coordinated leader election, which is off.
        take(lease, "spec.strategy");
        take(lease, "spec.preferredHolder");
        form::settle("coordination.k8s.io/v1", "Lease", lease);
    },
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
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_bounds() {
        let said: Vec<String> =
            validate(&json!({"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1}}))
                .iter()
                .map(ToString::to_string)
                .collect();
        assert_eq!(
            said,
            [
                "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
                "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
            ]
        );
        assert!(validate(&json!({"spec": {"leaseDurationSeconds": 15}})).is_empty());
    }
}
