//! Deployments.

use serde_json::Value;

use super::{
    collisions, drop_disabled, fresh_status, keep_status, pod_warnings, replicated_template,
    required_selector, selector_stays, status_counts,
};
use crate::builtin::pod::{self, nonnegative};
use crate::builtin::value::{Fields as _, Fill as _};
use crate::builtin::{Generation, Strategy, form, share};
use crate::fields::{FieldError, Path};

/// The rules of Deployments.
pub const DEPLOYMENT: Strategy = Strategy {
    defaults,
    prepare_create: |object| {
        fresh_status(object, "apps/v1.DeploymentStatus");
        drop_disabled(object);
    },
    prepare_update: |new, old| {
        keep_status(new, old);
        drop_disabled(new);
    },
    validate: |object| spec(object.get_or_null("spec"), &Path::new("spec")),
    validate_update: |new, old| {
        let (now, before) = (new.get_or_null("spec"), old.get_or_null("spec"));
        selector_stays(now, before, &Path::new("spec")).into_iter().collect()
    },
    validate_status: |new, old| {
        let (now, before) = (new.get_or_null("status"), old.get_or_null("status"));
        let mut wrong = status_counts(
            now,
            &[
                "observedGeneration",
                "replicas",
                "updatedReplicas",
                "readyReplicas",
                "availableReplicas",
                "unavailableReplicas",
                "terminatingReplicas",
                "collisionCount",
            ],
            &["updatedReplicas", "readyReplicas", "availableReplicas"],
            "readyReplicas",
        );
        wrong.extend(collisions(now, before));
        wrong
    },
    warnings: |object, old| pod_warnings(object, old, true),
    generation: Generation::SpecAndAnnotations,
    ..Strategy::PLAIN
};

fn defaults(object: &mut Value) {
    form::settle("apps/v1", "Deployment", object);
    let spec = object.object("spec");
    pod::defaults::template(spec.object("template"));
    if spec.int_opt("replicas").is_none() {
        spec.put("replicas", 1);
    }
    let strategy = spec.object("strategy");
    strategy.fill("type", "RollingUpdate");
    if strategy.text("type") == "RollingUpdate" {
        let rolling = strategy.object("rollingUpdate");
        for key in ["maxUnavailable", "maxSurge"] {
            if rolling.part(key).is_none() {
                rolling.put(key, "25%");
            }
        }
    }
    for (key, value) in [("revisionHistoryLimit", 10), ("progressDeadlineSeconds", 600)] {
        if spec.int_opt(key).is_none() {
            spec.put(key, value);
        }
    }
}

fn spec(spec: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    wrong.extend(nonnegative(spec.int("replicas"), &field.child("replicas")));
    wrong.extend(required_selector(spec, field, "deployment"));
    wrong.extend(replicated_template(spec, field));
    wrong.extend(strategy(spec.get_or_null("strategy"), &field.child("strategy")));
    let ready = spec.int("minReadySeconds");
    wrong.extend(nonnegative(ready, &field.child("minReadySeconds")));
    let limit = spec.int("revisionHistoryLimit");
    wrong.extend(nonnegative(limit, &field.child("revisionHistoryLimit")));
    if let Some(deadline) = spec.int_opt("progressDeadlineSeconds") {
        let field = field.child("progressDeadlineSeconds");
        wrong.extend(nonnegative(deadline, &field));
        if deadline <= ready {
            wrong.push(FieldError::invalid(
                &field,
                &Value::from(deadline),
                "must be greater than minReadySeconds",
            ));
        }
    }
    wrong
}

fn strategy(strategy: &Value, field: &Path) -> Vec<FieldError> {
    let rolling = strategy.part("rollingUpdate");
    match strategy.text("type") {
        "Recreate" => rolling
            .map(|_| {
                FieldError::forbidden(
                    &field.child("rollingUpdate"),
                    "may not be specified when strategy `type` is 'Recreate'",
                )
            })
            .into_iter()
            .collect(),
        "RollingUpdate" => {
            let Some(rolling) = rolling else {
                return vec![FieldError::required(
                    &field.child("rollingUpdate"),
                    "this should be defaulted and never be nil",
                )];
            };
            rolling_update(rolling, &field.child("rollingUpdate"))
        }
        _ => {
            let mut error =
                FieldError::not_supported(field, &Value::Null, &["Recreate", "RollingUpdate"]);
            error.shown = Some(form::internal("apps.DeploymentStrategy", strategy));
            vec![error]
        }
    }
}

fn rolling_update(rolling: &Value, field: &Path) -> Vec<FieldError> {
    let (down, up) = (rolling.get_or_null("maxUnavailable"), rolling.get_or_null("maxSurge"));
    let at = field.child("maxUnavailable");
    let mut wrong = Vec::new();
    wrong.extend(share::positive(down, &at));
    wrong.extend(share::positive(up, &field.child("maxSurge")));
    if share::amount(down) == 0 && share::amount(up) == 0 {
        wrong.push(FieldError::invalid(&at, down, "may not be 0 when `maxSurge` is 0"));
    }
    wrong.extend(share::at_most_all(down, &at));
    wrong
}
