//! HorizontalPodAutoscalers of autoscaling/v1, stored as v2.

use serde_json::{Value, json};

use super::autoscaler::cpu_metric;
use super::form;
use super::value::{Fields as _, Fill as _};

/// The stored object in the shape of autoscaling/v1, which knows only the processor's utilization.
/// What it cannot say stands in annotations.
pub fn to_v1(object: &Value) -> Value {
    let mut shown = object.clone();
    shown.put("apiVersion", "autoscaling/v1");
    let mut annotations = shown.get_or_null("metadata").get_or_null("annotations").clone();
    let spec = shown.object("spec");
    let (cpu, others): (Vec<Value>, Vec<Value>) =
        spec.list("metrics").iter().cloned().partition(is_cpu_utilization);
    spec.drop_field("metrics");
    if let Some(metric) = cpu.first() {
        let share = metric.get_or_null("resource").get_or_null("target").int("averageUtilization");
        spec.put("targetCPUUtilizationPercentage", share);
    }
    if !others.is_empty() {
        let old: Vec<Value> = others.iter().map(metric_to_v1).collect();
        let texts: Vec<String> =
            old.iter().map(|m| form::public("autoscaling/v1.MetricSpec", m)).collect();
        annotations.put(METRICS, format!("[{}]", texts.join(",")));
    }
    if let Some(behavior) = spec.part("behavior") {
        let text = form::internal("autoscaling.HorizontalPodAutoscalerBehavior", behavior);
        annotations.put(BEHAVIOR, text);
        spec.drop_field("behavior");
    }
    let status = shown.object("status");
    let current = status.list("currentMetrics").iter().find_map(|m| {
        let resource = m.get_or_null("resource");
        let cpu = resource.text("name") == "cpu";
        resource.get_or_null("current").int_opt("averageUtilization").filter(|_| cpu)
    });
    if let Some(share) = current {
        status.put("currentCPUUtilizationPercentage", share);
    }
    let conditions = status.list("conditions");
    if !conditions.is_empty() {
        let texts: Vec<String> = conditions
            .iter()
            .map(|c| form::public("autoscaling/v1.HorizontalPodAutoscalerCondition", c))
            .collect();
        annotations.put(CONDITIONS, format!("[{}]", texts.join(",")));
    }
    status.drop_field("conditions");
    status.drop_field("currentMetrics");
    if annotations.is_object() {
        shown.object("metadata").put("annotations", annotations);
    }
    form::settle("autoscaling/v1", "HorizontalPodAutoscaler", &mut shown);
    shown
}

/// An object in the shape of autoscaling/v1 as it is stored.
pub fn from_v1(object: Value) -> Value {
    let mut stored = object;
    stored.put("apiVersion", "autoscaling/v2");
    let annotations = stored.get_or_null("metadata").get_or_null("annotations").clone();
    let spec = stored.object("spec");
    let mut metrics: Vec<Value> = serde_json::from_str::<Vec<Value>>(annotations.text(METRICS))
        .unwrap_or_default()
        .iter()
        .map(metric_from_v1)
        .collect();
    metrics.extend(spec.int_opt("targetCPUUtilizationPercentage").map(cpu_metric));
    spec.drop_field("targetCPUUtilizationPercentage");
    if !metrics.is_empty() {
        spec.put("metrics", metrics);
    }
    if let Some(map) = stored.object("metadata").part_mut("annotations") {
        for key in [METRICS, BEHAVIOR, CONDITIONS, STATUSES] {
            map.drop_field(key);
        }
    }
    let status = stored.object("status");
    status.drop_field("currentCPUUtilizationPercentage");
    stored
}

/// Metrics other than the processor's utilization.
pub const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const STATUSES: &str = "autoscaling.alpha.kubernetes.io/current-metrics";

fn is_cpu_utilization(metric: &Value) -> bool {
    let resource = metric.get_or_null("resource");
    metric.text("type") == "Resource"
        && resource.text("name") == "cpu"
        && resource.get_or_null("target").part("averageUtilization").is_some()
}

/// A metric in the older form, whose targets are fields of their own.
fn metric_to_v1(metric: &Value) -> Value {
    let mut old = json!({"type": metric.text("type")});
    for key in ["resource", "containerResource", "pods", "object", "external"] {
        let Some(source) = metric.part(key) else { continue };
        let target = source.get_or_null("target");
        let mut out = json!({});
        for name in ["name", "container"] {
            if let Some(value) = source.part(name) {
                out.put(name, value.clone());
            }
        }
        let identity = source.get_or_null("metric");
        if let Some(name) = identity.part("name") {
            out.put("metricName", name.clone());
        }
        if let Some(selector) = identity.part("selector") {
            out.put(
                if key == "external" { "metricSelector" } else { "selector" },
                selector.clone(),
            );
        }
        if let Some(described) = source.part("describedObject") {
            out.put("target", described.clone());
        }
        let names = match key {
            "object" => [("value", "targetValue"), ("averageValue", "averageValue"), ("", "")],
            "external" => {
                [("value", "targetValue"), ("averageValue", "targetAverageValue"), ("", "")]
            }
            _ => [
                ("averageUtilization", "targetAverageUtilization"),
                ("averageValue", "targetAverageValue"),
                ("", ""),
            ],
        };
        for (from, to) in names {
            if let Some(value) = target.part(from) {
                out.put(to, value.clone());
            }
        }
        old.put(key, out);
    }
    old
}

fn metric_from_v1(old: &Value) -> Value {
    let mut metric = json!({"type": old.text("type")});
    for key in ["resource", "containerResource", "pods", "object", "external"] {
        let Some(source) = old.part(key) else { continue };
        let mut out = json!({});
        for name in ["name", "container"] {
            if let Some(value) = source.part(name) {
                out.put(name, value.clone());
            }
        }
        if let Some(name) = source.part("metricName") {
            out.object("metric").put("name", name.clone());
        }
        for name in ["selector", "metricSelector"] {
            if let Some(selector) = source.part(name) {
                out.object("metric").put("selector", selector.clone());
            }
        }
        if let Some(described) = source.part("target") {
            out.put("describedObject", described.clone());
        }
        let mut target = json!({});
        for (from, to, kind) in [
            ("targetAverageUtilization", "averageUtilization", "Utilization"),
            ("targetAverageValue", "averageValue", "AverageValue"),
            ("averageValue", "averageValue", "AverageValue"),
            ("targetValue", "value", "Value"),
        ] {
            if let Some(value) = source.part(from) {
                target.put(to, value.clone());
                target.fill("type", kind);
            }
        }
        out.put("target", target);
        metric.put(key, out);
    }
    metric
}
