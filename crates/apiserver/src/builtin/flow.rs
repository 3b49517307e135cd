//! FlowSchema and PriorityLevelConfiguration.

use serde_json::{Value, json};

use super::view::{at, default, has, items, number, one_of, restore, take, text, wrong};
use super::{Generation, Strategy, form, format};
use crate::fields::{FieldError, Path};

const V1: &str = "flowcontrol.apiserver.k8s.io/v1";

/// The rules of FlowSchema.
pub const FLOW_SCHEMA: Strategy = Strategy {
    defaults: |schema| {
        form::settle(V1, "FlowSchema", schema);
        if number(schema, "spec.matchingPrecedence").unwrap_or_default() == 0 {
            take(schema, "spec.matchingPrecedence");
            default(schema, "spec", "matchingPrecedence", 1000);
        }
    },
    prepare_create: |schema| {
        take(schema, "status");
        form::settle(V1, "FlowSchema", schema);
    },
    prepare_update: |new, old| restore(new, old, "status"),
    validate: validate_schema,
    generation: Generation::Spec,
    ..Strategy::PLAIN
};

/// The rules of PriorityLevelConfiguration.
pub const PRIORITY_LEVEL: Strategy = Strategy {
    defaults: |level| {
        form::settle(V1, "PriorityLevelConfiguration", level);
        if has(level, "spec.limited") {
            default(level, "spec.limited", "nominalConcurrencyShares", 30);
            default(level, "spec.limited", "lendablePercent", 0);
            if has(level, "spec.limited.limitResponse.queuing") {
                let path = "spec.limited.limitResponse.queuing";
                for (field, value) in [("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)] {
                    if number(at(level, path), field).unwrap_or_default() == 0 {
                        take(level, &format!("{path}.{field}"));
                        default(level, path, field, value);
                    }
                }
            }
        }
        if has(level, "spec.exempt") {
            default(level, "spec.exempt", "nominalConcurrencyShares", 0);
            default(level, "spec.exempt", "lendablePercent", 0);
        }
    },
    prepare_create: |level| {
        take(level, "status");
        form::settle(V1, "PriorityLevelConfiguration", level);
    },
    prepare_update: |new, old| restore(new, old, "status"),
    validate: validate_level,
    generation: Generation::Spec,
    ..Strategy::PLAIN
};

fn validate_schema(schema: &Value) -> Vec<FieldError> {
    let path = Path::new("spec");
    let mut errors = Vec::new();
    let precedence = number(schema, "spec.matchingPrecedence").unwrap_or_default();
    let precedence_path = path.child("matchingPrecedence");
    if precedence <= 0 {
        errors.push(FieldError::invalid(
            &precedence_path,
            &json!(precedence),
            "must be a positive value",
        ));
    }
    if precedence > 10000 {
        errors.push(FieldError::invalid(
            &precedence_path,
            &json!(precedence),
            "must not be greater than 10000",
        ));
    }
    let name = text(schema, "metadata.name");
    if precedence == 1 && name != "exempt" {
        errors.push(FieldError::invalid(
            &precedence_path,
            &json!(1),
            "only the schema named 'exempt' may have matchingPrecedence 1",
        ));
    }
    if has(schema, "spec.distinguisherMethod") {
        errors.extend(one_of(
            &path.child("distinguisherMethod").child("type"),
            text(schema, "spec.distinguisherMethod.type"),
            &["ByNamespace", "ByUser"],
        ));
    }
    let level = text(schema, "spec.priorityLevelConfiguration.name");
    let level_path = path.child("priorityLevelConfiguration").child("name");
    if level.is_empty() {
        errors.push(FieldError::required(&level_path, "must reference a priority level"));
    } else {
        errors.extend(wrong(&level_path, level, format::dns_subdomain(level)));
    }
    for (index, rule) in items(schema, "spec.rules").iter().enumerate() {
        let path = path.child("rules").index(index);
        if items(rule, "subjects").is_empty() {
            errors.push(FieldError::required(
                &path.child("subjects"),
                "subjects must contain at least one value",
            ));
        }
        if items(rule, "resourceRules").is_empty() && items(rule, "nonResourceRules").is_empty() {
            errors.push(FieldError::required(
                &path,
                "at least one of resourceRules and nonResourceRules has to be non-empty",
            ));
        }
    }
    errors
}

fn validate_level(level: &Value) -> Vec<FieldError> {
    let path = Path::new("spec");
    let mut errors = Vec::new();
    let kind = text(level, "spec.type");
    if (text(level, "metadata.name") == "exempt") != (kind == "Exempt") {
        errors.push(FieldError::invalid(
            &path.child("type"),
            &json!(kind),
            "must be 'Exempt' if and only if `name` is 'exempt'",
        ));
    }
    match kind {
        "Exempt" => {
            if has(level, "spec.limited") {
                errors.push(FieldError::forbidden(
                    &path.child("limited"),
                    "must be nil if the type is not Limited",
                ));
            }
        }
        "Limited" => {
            if has(level, "spec.exempt") {
                errors.push(FieldError::forbidden(
                    &path.child("exempt"),
                    "must be nil if the type is Limited",
                ));
            }
            if has(level, "spec.limited") {
                errors.extend(limited(at(level, "spec.limited"), &path.child("limited")));
            } else {
                errors.push(FieldError::required(
                    &path.child("limited"),
                    "must not be empty when type is Limited",
                ));
            }
        }
        "" => errors.push(FieldError::required(&path.child("type"), "")),
        other => errors.extend(one_of(&path.child("type"), other, &["Exempt", "Limited"])),
    }
    errors
}

fn limited(limited: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut refuse = |path: Path, shown: i64, why: String| {
        errors.push(FieldError::invalid(&path, &json!(shown), why));
    };
    if let Some(shares) = number(limited, "nominalConcurrencyShares").filter(|&n| n < 0) {
        refuse(
            path.child("nominalConcurrencyShares"),
            shares,
            "must be a non-negative integer".into(),
        );
    }
    let response = path.child("limitResponse");
    let queuing = response.child("queuing");
    let mut rest = Vec::new();
    match text(limited, "limitResponse.type") {
        "Reject" => {
            if has(limited, "limitResponse.queuing") {
                rest.push(FieldError::forbidden(
                    &queuing,
                    "must be nil if limited.limitResponse.type is not Limited",
                ));
            }
        }
        "Queue" => {
            if has(limited, "limitResponse.queuing") {
                let get = |name: &str| {
                    number(at(limited, "limitResponse.queuing"), name).unwrap_or_default()
                };
                let (length, queues, hand) =
                    (get("queueLengthLimit"), get("queues"), get("handSize"));
                if length <= 0 {
                    refuse(queuing.child("queueLengthLimit"), length, "must be positive".into());
                }
                if queues <= 0 {
                    refuse(queuing.child("queues"), queues, "must be positive".into());
                } else if queues > 10_000_000 {
                    refuse(
                        queuing.child("queues"),
                        queues,
                        "must not be greater than 10000000".into(),
                    );
                }
                if hand <= 0 {
                    refuse(queuing.child("handSize"), hand, "must be positive".into());
                } else if hand > queues {
                    refuse(
                        queuing.child("handSize"),
                        hand,
                        format!("should not be greater than queues ({queues})"),
                    );
                }
            } else {
                rest.push(FieldError::required(
                    &queuing,
                    "must not be empty if limited.limitResponse.type is Limited",
                ));
            }
        }
        "" => rest.push(FieldError::required(&response.child("type"), "")),
        other => rest.extend(one_of(&response.child("type"), other, &["Queue", "Reject"])),
    }
    if let Some(percent) = number(limited, "lendablePercent").filter(|n| !(0..=100).contains(n)) {
        refuse(
            path.child("lendablePercent"),
            percent,
            "must be between 0 and 100, inclusive".into(),
        );
    }
    if let Some(percent) = number(limited, "borrowingLimitPercent").filter(|&n| n < 0) {
        refuse(
            path.child("borrowingLimitPercent"),
            percent,
            "if specified, must be a non-negative integer".into(),
        );
    }
    errors.extend(rest);
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels() {
        let mut level = json!({"metadata": {"name": "a"}, "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {"queues": 2}}}}});
        (PRIORITY_LEVEL.defaults)(&mut level);
        let limited = &level["spec"]["limited"];
        assert_eq!(limited["nominalConcurrencyShares"], 30);
        assert_eq!(
            limited["limitResponse"]["queuing"],
            json!({"queues": 2, "handSize": 8, "queueLengthLimit": 50})
        );
        let said: Vec<String> = validate_level(&level).iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "spec.limited.limitResponse.queuing.handSize: Invalid value: 8: should not be greater than queues (2)"
            ]
        );
    }

    #[test]
    fn schemas() {
        let mut schema = json!({"metadata": {"name": "a"}, "spec": {"rules": [{}]}});
        (FLOW_SCHEMA.defaults)(&mut schema);
        assert_eq!(schema["spec"]["matchingPrecedence"], 1000);
        assert_eq!(validate_schema(&schema).len(), 3);
    }
}
