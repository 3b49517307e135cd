//! PriorityClasses and RuntimeClasses.

use std::collections::BTreeSet;

use serde_json::Value;

use super::format::{dns_label, invalid_each};
use super::value::{Fields as _, Fill as _};
use super::{Generation, Strategy, form, labels, pod};
use crate::fields::{FieldError, Path};

/// The highest priority that is not Kubernetes' own.
const HIGHEST: i64 = 1_000_000_000;

/// Classes that every cluster has: name, value, description.
pub const SYSTEM_PRIORITIES: [(&str, i64, &str); 2] = [
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
];

/// The rules of PriorityClasses.
pub const PRIORITY_CLASS: Strategy = Strategy {
    defaults: |object| {
        form::settle("scheduling.k8s.io/v1", "PriorityClass", object);
        if object.part("preemptionPolicy").is_none() {
            object.put("preemptionPolicy", "PreemptLowerPriority");
        }
    },
    validate: priority,
    validate_update: |new, old| {
        let mut wrong = Vec::new();
        if new.int("value") != old.int("value") {
            wrong.push(FieldError::forbidden(
                &Path::new("value"),
                "may not be changed in an update.",
            ));
        }
        let policy = new.get_or_null("preemptionPolicy");
        if policy != old.get_or_null("preemptionPolicy") {
            wrong.push(FieldError::invalid(
                &Path::new("preemptionPolicy"),
                policy,
                "field is immutable",
            ));
        }
        wrong
    },
    revalidate: false,
    generation: Generation::Constant,
    ..Strategy::PLAIN
};

fn priority(class: &Value) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let (name, value) = (class.get_or_null("metadata").text("name"), class.int("value"));
    if name.starts_with("system-") {
        let fault = match SYSTEM_PRIORITIES.iter().find(|known| known.0 == name) {
            None => Some(format!("{name} is not a known system priority class")),
            Some((_, known, _)) if *known != value => {
                Some(format!("value of {name} PriorityClass must be {known}"))
            }
            Some(_) if class.flag("globalDefault") => {
                Some(format!("globalDefault of {name} PriorityClass must be false"))
            }
            Some(_) => None,
        };
        wrong.extend(fault.map(|fault| {
            FieldError::forbidden(
                &Path::new("metadata.name"),
                format!(
                    "priority class names with 'system-' prefix are reserved for system use only. error: {fault}"
                ),
            )
        }));
    } else if value > HIGHEST {
        wrong.push(FieldError::forbidden(
            &Path::new("value"),
            format!("maximum allowed value of a user defined priority is {HIGHEST}"),
        ));
    }
    let policies = ["PreemptLowerPriority", "Never"];
    wrong.extend(pod::choice(class, "preemptionPolicy", &policies, &Path::root()));
    wrong
}

/// The rules of RuntimeClasses.
pub const RUNTIME_CLASS: Strategy = Strategy {
    defaults: |object| {
        form::settle("node.k8s.io/v1", "RuntimeClass", object);
    },
    validate: runtime,
    validate_update: |new, old| {
        let handler = new.get_or_null("handler");
        if handler == old.get_or_null("handler") {
            return Vec::new();
        }
        vec![FieldError::invalid(&Path::new("handler"), handler, "field is immutable")]
    },
    unconditional_update: false,
    ..Strategy::PLAIN
};

fn runtime(class: &Value) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let (handler, at) = (class.text("handler"), Path::new("handler"));
    if handler.is_empty() {
        wrong.push(FieldError::required(&at, ""));
    } else {
        wrong.extend(invalid_each(&at, handler, dns_label(handler)));
    }
    if let Some(overhead) = class.part("overhead") {
        wrong.extend(pod::limits(overhead.get_or_null("podFixed"), &Path::new("overhead")));
    }
    if let Some(scheduling) = class.part("scheduling") {
        let field = Path::new("scheduling");
        wrong.extend(labels::labels(
            scheduling.get_or_null("nodeSelector"),
            &field.child("nodeSelector"),
        ));
        let at = field.child("tolerations");
        let tolerations = scheduling.list("tolerations");
        wrong.extend(pod::tolerations(tolerations, &at));
        let mut seen = BTreeSet::new();
        for (index, toleration) in tolerations.iter().enumerate() {
            let key = ["key", "operator", "value", "effect"].map(|k| toleration.text(k));
            if !seen.insert(key) {
                let mut error = FieldError::duplicate(&at.index(index), &Value::Null);
                error.shown = Some(form::internal("core.Toleration", toleration));
                wrong.push(error);
            }
        }
    }
    wrong
}
