//! DaemonSets.

use serde_json::Value;

use super::{
    collisions, drop_disabled, fresh_status, keep_status, mismatch, pod_warnings, runs_forever,
    selector_stays, shown_selector,
};
use crate::builtin::pod::{self, nonnegative};
use crate::builtin::value::{Fields as _, Fill as _, same};
use crate::builtin::{Generation, Strategy, form, labels, share};
use crate::fields::{FieldError, Path};

/// Counts changes of the template, for clients of an older version.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// The rules of DaemonSets.
pub const DAEMON_SET: Strategy = Strategy {
    defaults,
    prepare_create: |object| {
        fresh_status(object, "apps/v1.DaemonSetStatus");
        let generation = template_generation(object).max(1);
        set_template_generation(object, generation);
        drop_disabled(object);
    },
    prepare_update: |new, old| {
        drop_disabled(new);
        keep_status(new, old);
        let template = |object: &Value| object.get_or_null("spec").get_or_null("template").clone();
        let changed = !same(&template(new), &template(old));
        set_template_generation(new, template_generation(old) + i64::from(changed));
    },
    validate: |object| spec(object.get_or_null("spec"), &Path::new("spec")),
    validate_update: |new, old| {
        let (now, before) = (new.get_or_null("spec"), old.get_or_null("spec"));
        let field = Path::new("spec");
        let mut wrong: Vec<FieldError> = selector_stays(now, before, &field).into_iter().collect();
        wrong.extend(spec(now, &field));
        wrong
    },
    validate_status: |new, old| {
        let (now, before) = (new.get_or_null("status"), old.get_or_null("status"));
        let keys = [
            "currentNumberScheduled",
            "numberMisscheduled",
            "desiredNumberScheduled",
            "numberReady",
            "observedGeneration",
            "updatedNumberScheduled",
            "numberAvailable",
            "numberUnavailable",
            "collisionCount",
        ];
        let mut wrong = pod::counts(now, &keys, &Path::new("status"));
        wrong.extend(collisions(now, before));
        wrong
    },
    revalidate: false,
    warnings: |object, old| pod_warnings(object, old, false),
    generation: Generation::Spec,
    ..Strategy::PLAIN
};

fn template_generation(object: &Value) -> i64 {
    let annotations = object.get_or_null("metadata").get_or_null("annotations");
    annotations.text(TEMPLATE_GENERATION).parse().unwrap_or_default()
}

fn set_template_generation(object: &mut Value, generation: i64) {
    object
        .object("metadata")
        .object("annotations")
        .put(TEMPLATE_GENERATION, generation.to_string());
}

fn defaults(object: &mut Value) {
    form::settle("apps/v1", "DaemonSet", object);
    // The number is a field inside the server, so that whoever writes the object also writes it.
    let generation = template_generation(object);
    set_template_generation(object, generation);
    let spec = object.object("spec");
    pod::defaults::template(spec.object("template"));
    let strategy = spec.object("updateStrategy");
    strategy.fill("type", "RollingUpdate");
    if strategy.text("type") == "RollingUpdate" {
        let rolling = strategy.object("rollingUpdate");
        for (key, value) in [("maxUnavailable", 1), ("maxSurge", 0)] {
            if rolling.part(key).is_none() {
                rolling.put(key, value);
            }
        }
    }
    if spec.int_opt("revisionHistoryLimit").is_none() {
        spec.put("revisionHistoryLimit", 10);
    }
}

fn spec(spec: &Value, field: &Path) -> Vec<FieldError> {
    let selector = spec.part("selector");
    let mut wrong = labels::selector(selector, &field.child("selector"));
    let (template, at) = (spec.get_or_null("template"), field.child("template"));
    if labels::selector_is_usable(selector) {
        wrong.extend(mismatch(selector, template, &at));
    }
    if selector.is_some_and(labels::selector_is_empty) {
        wrong.push(FieldError::invalid_shown(
            &field.child("selector"),
            shown_selector(selector),
            "empty selector is invalid for daemonset",
        ));
    }
    wrong.extend(pod::template(template, &at));
    wrong.extend(runs_forever(template, &at, "DaemonSet"));
    wrong.extend(nonnegative(spec.int("minReadySeconds"), &field.child("minReadySeconds")));
    wrong.extend(strategy(spec.get_or_null("updateStrategy"), &field.child("updateStrategy")));
    let limit = spec.int("revisionHistoryLimit");
    wrong.extend(nonnegative(limit, &field.child("revisionHistoryLimit")));
    wrong
}

fn strategy(strategy: &Value, field: &Path) -> Vec<FieldError> {
    match strategy.text("type") {
        "OnDelete" => Vec::new(),
        "RollingUpdate" => match strategy.part("rollingUpdate") {
            Some(rolling) => rolling_update(rolling, &field.child("rollingUpdate")),
            None => vec![FieldError::required(&field.child("rollingUpdate"), "")],
        },
        _ => {
            let mut error =
                FieldError::not_supported(field, &Value::Null, &["RollingUpdate", "OnDelete"]);
            error.shown = Some(form::internal("apps.DaemonSetUpdateStrategy", strategy));
            vec![error]
        }
    }
}

fn rolling_update(rolling: &Value, field: &Path) -> Vec<FieldError> {
    let (down, up) = (rolling.get_or_null("maxUnavailable"), rolling.get_or_null("maxSurge"));
    let (at_down, at_up) = (field.child("maxUnavailable"), field.child("maxSurge"));
    let mut wrong = Vec::new();
    wrong.extend(share::positive(down, &at_down));
    wrong.extend(share::positive(up, &at_up));
    wrong.extend(share::at_most_all(down, &at_down));
    wrong.extend(share::at_most_all(up, &at_up));
    match (share::amount(down) != 0, share::amount(up) != 0) {
        (true, true) => wrong.push(FieldError::invalid(
            &at_up,
            up,
            "may not be set when maxUnavailable is non-zero",
        )),
        (false, false) => {
            wrong.push(FieldError::required(&at_down, "cannot be 0 when maxSurge is 0"));
        }
        _ => {}
    }
    wrong
}
