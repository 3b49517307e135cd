//! HorizontalPodAutoscalers, in the shape of autoscaling/v2 (stored) and v1.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::autoscaler_v1::{METRICS, from_v1};
use super::format::{dns_label, invalid_each, path_segment};
use super::pod::{container_name, counts};
use super::value::{Fields as _, Fill as _};
use super::workload::keep_status;
use super::{Strategy, form};
use crate::fields::{FieldError, Path};
use crate::quantity::Quantity;

const SOURCES: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];

/// The rules of HorizontalPodAutoscalers.
pub const AUTOSCALER: Strategy = Strategy {
    defaults,
    prepare_create: |object| {
        let status = if is_v1(object) {
            json!({"currentReplicas": 0, "desiredReplicas": 0})
        } else {
            json!({"desiredReplicas": 0, "currentMetrics": null})
        };
        object.put("status", status);
    },
    prepare_update: keep_status,
    validate: |object| spec(in_v2(object).get_or_null("spec"), None),
    validate_update: |new, old| {
        spec(in_v2(new).get_or_null("spec"), Some(in_v2(old).get_or_null("spec")))
    },
    validate_status: |new, _| {
        let keys = ["currentReplicas", "desiredReplicas"];
        counts(new.get_or_null("status"), &keys, &Path::new("status"))
    },
    revalidate: false,
    ..Strategy::PLAIN
};

/// Objects are completed and judged in the version in which they were sent.
fn is_v1(object: &Value) -> bool {
    object.text("apiVersion") == "autoscaling/v1"
}

fn in_v2(object: &Value) -> Cow<'_, Value> {
    if is_v1(object) { Cow::Owned(from_v1(object.clone())) } else { Cow::Borrowed(object) }
}

fn defaults(object: &mut Value) {
    if is_v1(object) {
        form::settle("autoscaling/v1", "HorizontalPodAutoscaler", object);
        let other =
            object.get_or_null("metadata").get_or_null("annotations").part(METRICS).is_some();
        let spec = object.object("spec");
        for (key, value) in [("minReplicas", 1), ("targetCPUUtilizationPercentage", 80)] {
            if spec.int_opt(key).is_none() && !(other && value == 80) {
                spec.put(key, value);
            }
        }
        return;
    }
    // Defaults and validation tell an empty list of policies from none.
    let rules = ["/spec/behavior/scaleUp", "/spec/behavior/scaleDown"];
    let emptied = rules.map(|at| {
        let rules = object.pointer(at).and_then(|rules| rules.get("policies"));
        rules.and_then(Value::as_array).is_some_and(Vec::is_empty)
    });
    form::settle("autoscaling/v2", "HorizontalPodAutoscaler", object);
    for (at, emptied) in rules.into_iter().zip(emptied) {
        if let (true, Some(rules)) = (emptied, object.pointer_mut(at)) {
            rules.put("policies", json!([]));
        }
    }
    let spec = object.object("spec");
    if spec.int_opt("minReplicas").is_none() {
        spec.put("minReplicas", 1);
    }
    if spec.list("metrics").is_empty() {
        spec.put("metrics", json!([cpu_metric(80)]));
    }
    let Some(behavior) = spec.part_mut("behavior") else { return };
    let policy =
        |kind: &str, value: i64| json!({"type": kind, "value": value, "periodSeconds": 15});
    let rules = behavior.object("scaleUp");
    if rules.int_opt("stabilizationWindowSeconds").is_none() {
        rules.put("stabilizationWindowSeconds", 0);
    }
    rules.fill("selectPolicy", "Max");
    if rules.part("policies").is_none() {
        rules.put("policies", json!([policy("Pods", 4), policy("Percent", 100)]));
    }
    let rules = behavior.object("scaleDown");
    rules.fill("selectPolicy", "Max");
    if rules.part("policies").is_none() {
        rules.put("policies", json!([policy("Percent", 100)]));
    }
}

/// The metric that autoscalers follow unless they say otherwise.
pub fn cpu_metric(utilization: i64) -> Value {
    json!({"type": "Resource", "resource": {
        "name": "cpu", "target": {"type": "Utilization", "averageUtilization": utilization}}})
}

fn spec(spec: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let field = Path::new("spec");
    let mut wrong = Vec::new();
    let least = spec.int_opt("minReplicas");
    let bound = i64::from(old.is_none_or(|old| old.int_opt("minReplicas") != Some(0)));
    if let Some(least) = least
        && least < bound
    {
        wrong.push(FieldError::invalid(
            &field.child("minReplicas"),
            &Value::from(least),
            format!("must be greater than or equal to {bound}"),
        ));
    }
    let most = spec.int("maxReplicas");
    let at = field.child("maxReplicas");
    if most == 0 {
        wrong.push(FieldError::required(&at, "must be set and greater than 0"));
    } else if most < 0 {
        wrong.push(FieldError::invalid(
            &at,
            &Value::from(most),
            "must be greater than or equal to 1",
        ));
    }
    if least.is_some_and(|least| most < least) {
        wrong.push(FieldError::invalid(
            &at,
            &Value::from(most),
            "must be greater than or equal to `minReplicas`",
        ));
    }
    let target = spec.get_or_null("scaleTargetRef");
    let kept = old.map(|old| old.get_or_null("scaleTargetRef")).is_some_and(|old| {
        old.text("apiVersion") == target.text("apiVersion")
            && old.text("kind") == target.text("kind")
    });
    let group = match (kept, target.text("kind")) {
        (true, _) => Group::Any,
        (false, "ReplicationController") => Group::MayBeEmpty,
        (false, _) => Group::Needed,
    };
    wrong.extend(reference(target, &field.child("scaleTargetRef"), group));
    wrong.extend(metrics(spec, least, &field.child("metrics")));
    if let Some(behavior) = spec.part("behavior") {
        for key in ["scaleUp", "scaleDown"] {
            if let Some(rules) = behavior.part(key) {
                wrong.extend(scaling_rules(rules, &field.child("behavior").child(key)));
            }
        }
    }
    wrong
}

/// What a reference's API version must name.
#[derive(Clone, Copy, PartialEq)]
enum Group {
    Needed,
    MayBeEmpty,
    Any,
}

fn reference(reference: &Value, field: &Path, group: Group) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    for key in ["kind", "name"] {
        let text = reference.text(key);
        if text.is_empty() {
            wrong.push(FieldError::required(&field.child(key), ""));
        } else {
            wrong.extend(invalid_each(&field.child(key), text, path_segment(text)));
        }
    }
    let version = reference.text("apiVersion");
    let detail = match (group, version.matches('/').count()) {
        (Group::Any, _) | (_, 1) | (Group::MayBeEmpty, 0) => return wrong,
        (Group::Needed, 0) => "apiVersion must specify API group".to_owned(),
        _ => format!("unexpected GroupVersion string: {version}"),
    };
    wrong.push(FieldError::invalid(&field.child("apiVersion"), &Value::from(version), detail));
    wrong
}

fn metrics(spec: &Value, least: Option<i64>, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let metrics = spec.list("metrics");
    for (index, one) in metrics.iter().enumerate() {
        wrong.extend(metric(one, &field.index(index)));
    }
    let outside = metrics.iter().any(|m| matches!(m.text("type"), "Object" | "External"));
    if least == Some(0) && !outside {
        wrong.push(FieldError::forbidden(
            field,
            "must specify at least one Object or External metric to support scaling to zero replicas",
        ));
    }
    wrong
}

fn metric(metric: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let kind = metric.text("type");
    let at = field.child("type");
    if kind.is_empty() {
        wrong.push(FieldError::required(&at, "must specify a metric source type"));
    }
    let known = SOURCES.contains(&kind);
    let unknown = || FieldError::not_supported(&at, &Value::from(kind), &SOURCES);
    if !known {
        wrong.push(unknown());
    }
    let mut present = BTreeSet::new();
    for key in ["object", "external", "pods", "resource", "containerResource"] {
        let Some(source) = metric.part(key) else { continue };
        present.insert(key);
        if present.len() == 1 {
            wrong.extend(source_of(key, source, &field.child(key)));
        }
    }
    let expected = match kind {
        "Object" => "object",
        "Pods" => "pods",
        "Resource" => "resource",
        "External" => "external",
        "ContainerResource" => "containerResource",
        _ => "",
    };
    if known {
        if metric.part(expected).is_none() {
            wrong.push(FieldError::required(
                &field.child(expected),
                "must populate information for the given metric source",
            ));
        }
    } else {
        wrong.push(unknown());
    }
    if present.len() != 1 {
        present.remove(expected);
        for key in present {
            wrong.push(FieldError::forbidden(
                &field.child(key),
                "must populate the given metric source only",
            ));
        }
    }
    wrong
}

fn source_of(key: &str, source: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let target = source.get_or_null("target");
    let at = field.child("target");
    match key {
        "object" => {
            wrong.extend(reference(
                source.get_or_null("describedObject"),
                &field.child("describedObject"),
                Group::MayBeEmpty,
            ));
            wrong.extend(identifier(source, field));
        }
        "external" | "pods" => wrong.extend(identifier(source, field)),
        _ => {
            let name = source.text("name");
            if name.is_empty() {
                wrong.push(FieldError::required(
                    &field.child("name"),
                    "must specify a resource name",
                ));
            } else if key == "containerResource" {
                wrong.extend(container_name(name, &field.child("name")));
            }
            if key == "containerResource" {
                let container = source.text("container");
                let at = field.child("container");
                if container.is_empty() {
                    wrong.push(FieldError::required(&at, "must specify a container"));
                } else {
                    wrong.extend(invalid_each(&at, container, dns_label(container)));
                }
            }
        }
    }
    wrong.extend(metric_target(target, &at));
    let (value, average) = (target.part("value"), target.part("averageValue"));
    let share = target.part("averageUtilization");
    match key {
        "object" if value.is_none() && average.is_none() => wrong.push(FieldError::required(
            &at.child("averageValue"),
            "must set either a target value or averageValue",
        )),
        "external" => {
            if value.is_none() && average.is_none() {
                wrong.push(FieldError::required(
                    &at.child("averageValue"),
                    "must set either a target value for metric or a per-pod target",
                ));
            }
            if value.is_some() && average.is_some() {
                wrong.push(FieldError::forbidden(
                    &at.child("value"),
                    "may not set both a target value for metric and a per-pod target",
                ));
            }
        }
        "pods" if average.is_none() => wrong.push(FieldError::required(
            &at.child("averageValue"),
            "must specify a positive target averageValue",
        )),
        "resource" | "containerResource" => {
            if share.is_none() && average.is_none() {
                wrong.push(FieldError::required(
                    &at.child("averageUtilization"),
                    "must set either a target raw value or a target utilization",
                ));
            }
            if share.is_some() && average.is_some() {
                wrong.push(FieldError::forbidden(
                    &at.child("averageValue"),
                    "may not set both a target raw value and a target utilization",
                ));
            }
        }
        _ => {}
    }
    wrong
}

fn identifier(source: &Value, field: &Path) -> Vec<FieldError> {
    let name = source.get_or_null("metric").text("name");
    let at = field.child("metric").child("name");
    if name.is_empty() {
        return vec![FieldError::required(&at, "must specify a metric name")];
    }
    invalid_each(&at, name, path_segment(name))
}

fn metric_target(target: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let kind = target.text("type");
    if kind.is_empty() {
        wrong.push(FieldError::required(&field.child("type"), "must specify a metric target type"));
    }
    if !matches!(kind, "Utilization" | "Value" | "AverageValue") {
        wrong.push(FieldError::invalid(
            &field.child("type"),
            &Value::from(kind),
            "must be either Utilization, Value, or AverageValue",
        ));
    }
    for key in ["value", "averageValue"] {
        let amount = target.part(key).and_then(Quantity::read);
        if let Some(amount) = amount.filter(|a| *a <= Quantity::ZERO) {
            wrong.push(FieldError::invalid(
                &field.child(key),
                &Value::from(amount.to_string()),
                "must be positive",
            ));
        }
    }
    if let Some(share) = target.int_opt("averageUtilization")
        && share < 1
    {
        wrong.push(FieldError::invalid(
            &field.child("averageUtilization"),
            &Value::from(share),
            "must be greater than 0",
        ));
    }
    wrong
}

fn scaling_rules(rules: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    if let Some(window) = rules.int_opt("stabilizationWindowSeconds") {
        let at = field.child("stabilizationWindowSeconds");
        if window < 0 {
            wrong.push(FieldError::invalid(
                &at,
                &Value::from(window),
                "must be greater than or equal to zero",
            ));
        }
        if window > 3600 {
            wrong.push(FieldError::invalid(
                &at,
                &Value::from(window),
                "must be less than or equal to 3600",
            ));
        }
    }
    let choices = ["Disabled", "Max", "Min"];
    if let Some(choice) = rules.text_opt("selectPolicy")
        && !choices.contains(&choice)
    {
        wrong.push(FieldError::not_supported(
            &field.child("selectPolicy"),
            &Value::from(choice),
            &choices,
        ));
    }
    let at = field.child("policies");
    if rules.list("policies").is_empty() {
        wrong.push(FieldError::required(&at, "must specify at least one Policy"));
    }
    for (index, policy) in rules.list("policies").iter().enumerate() {
        let at = at.index(index);
        let kind = policy.text("type");
        if !matches!(kind, "Pods" | "Percent") {
            wrong.push(FieldError::not_supported(
                &at.child("type"),
                &Value::from(kind),
                &["Percent", "Pods"],
            ));
        }
        for key in ["value", "periodSeconds"] {
            if policy.int(key) <= 0 {
                wrong.push(FieldError::invalid(
                    &at.child(key),
                    &Value::from(policy.int(key)),
                    "must be greater than zero",
                ));
            }
        }
        if policy.int("periodSeconds") > 1800 {
            wrong.push(FieldError::invalid(
                &at.child("periodSeconds"),
                &Value::from(policy.int("periodSeconds")),
                "must be less than or equal to 1800",
            ));
        }
    }
    if let Some(tolerance) = rules.part("tolerance").and_then(Quantity::read)
        && tolerance.is_negative()
    {
        wrong.push(FieldError::invalid(
            &field.child("tolerance"),
            &Value::from(tolerance.to_string()),
            "must be greater than or equal to 0",
        ));
    }
    wrong
}
