//! ReplicaSets, ReplicationControllers and PodTemplates.

use serde_json::{Value, json};

use super::{
    drop_disabled, fresh_status, keep_status, mismatch, pod_warnings, replicated_template,
    required_selector, runs_forever, selector_stays, status_counts,
};
use crate::builtin::pod::{self, nonnegative};
use crate::builtin::value::{Fields as _, Fill as _};
use crate::builtin::{Generation, Strategy, form};
use crate::fields::{FieldError, Path};

const COUNTS: [&str; 6] = [
    "replicas",
    "fullyLabeledReplicas",
    "readyReplicas",
    "availableReplicas",
    "observedGeneration",
    "terminatingReplicas",
];
const WITHIN: [&str; 3] = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];

/// The rules of ReplicaSets.
pub const REPLICA_SET: Strategy = Strategy {
    defaults: |object| {
        form::settle("apps/v1", "ReplicaSet", object);
        let spec = object.object("spec");
        pod::defaults::template(spec.object("template"));
        if spec.int_opt("replicas").is_none() {
            spec.put("replicas", 1);
        }
    },
    prepare_create: |object| {
        fresh_status(object, "apps/v1.ReplicaSetStatus");
        drop_disabled(object);
    },
    prepare_update: |new, old| {
        keep_status(new, old);
        drop_disabled(new);
    },
    validate: |object| {
        let (spec, field) = (object.get_or_null("spec"), Path::new("spec"));
        let mut wrong = counts(spec, &field);
        wrong.extend(required_selector(spec, &field, "deployment"));
        wrong.extend(replicated_template(spec, &field));
        wrong
    },
    validate_update: |new, old| {
        let (now, before) = (new.get_or_null("spec"), old.get_or_null("spec"));
        selector_stays(now, before, &Path::new("spec")).into_iter().collect()
    },
    validate_status: |new, _| {
        status_counts(new.get_or_null("status"), &COUNTS, &WITHIN, "readyReplicas")
    },
    warnings: |object, old| pod_warnings(object, old, true),
    generation: Generation::Spec,
    ..Strategy::PLAIN
};

fn counts(spec: &Value, field: &Path) -> Vec<FieldError> {
    ["replicas", "minReadySeconds"]
        .iter()
        .filter_map(|key| nonnegative(spec.int(key), &field.child(key)))
        .collect()
}

/// The rules of ReplicationControllers.
pub const REPLICATION_CONTROLLER: Strategy = Strategy {
    defaults: |object| {
        form::settle("v1", "ReplicationController", object);
        let spec = object.object("spec");
        let mut labels = Value::Null;
        if let Some(template) = spec.part_mut("template") {
            pod::defaults::template(template);
            labels = template.get_or_null("metadata").get_or_null("labels").clone();
        }
        if spec.int_opt("replicas").is_none() {
            spec.put("replicas", 1);
        }
        if labels.is_null() {
            return;
        }
        let empty = |labels: Option<&serde_json::Map<String, Value>>| {
            labels.is_none_or(serde_json::Map::is_empty)
        };
        if empty(spec.entries("selector")) {
            spec.put("selector", labels.clone());
        }
        let meta = object.object("metadata");
        if empty(meta.entries("labels")) {
            meta.put("labels", labels);
        }
    },
    prepare_create: |object| {
        fresh_status(object, "core/v1.ReplicationControllerStatus");
        drop_disabled(object);
    },
    prepare_update: |new, old| {
        keep_status(new, old);
        drop_disabled(new);
    },
    validate: controller,
    validate_status: |new, _| {
        status_counts(new.get_or_null("status"), &COUNTS, &WITHIN, "readyReplicas")
    },
    warnings: |object, old| pod_warnings(object, old, true),
    generation: Generation::Spec,
    ..Strategy::PLAIN
};

fn controller(object: &Value) -> Vec<FieldError> {
    let (spec, field) = (object.get_or_null("spec"), Path::new("spec"));
    let mut wrong = Vec::new();
    wrong.extend(nonnegative(spec.int("minReadySeconds"), &field.child("minReadySeconds")));
    let selector = spec.part("selector");
    if selector.is_none() {
        wrong.push(FieldError::required(&field.child("selector"), ""));
    }
    wrong.extend(nonnegative(spec.int("replicas"), &field.child("replicas")));
    let at = field.child("template");
    let Some(template) = spec.part("template") else {
        wrong.push(FieldError::required(&at, ""));
        return wrong;
    };
    if let Some(selector) = selector {
        let selector = json!({ "matchLabels": selector });
        wrong.extend(mismatch(Some(&selector), template, &at));
    }
    wrong.extend(pod::template(template, &at));
    wrong.extend(runs_forever(template, &at, "ReplicationController"));
    wrong
}

/// The rules of PodTemplates.
pub const POD_TEMPLATE: Strategy = Strategy {
    defaults: |object| {
        form::settle("v1", "PodTemplate", object);
        pod::defaults::template(object.object("template"));
    },
    prepare_create: |object| {
        pod::drop_disabled(object.object("template").object("spec"));
    },
    prepare_update: |new, _| pod::drop_disabled(new.object("template").object("spec")),
    validate: |object| pod::template(object.get_or_null("template"), &Path::new("template")),
    warnings: |object, _| {
        pod::template_warnings(object.get_or_null("template"), &Path::new("template"))
    },
    generation: Generation::Spec,
    ..Strategy::PLAIN
};
