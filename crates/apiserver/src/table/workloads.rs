//! Rows of what runs pods, and of what watches over them.

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::age;
use super::row::{Row, int_or_text, quantity};
use crate::selector::Labels;

/// Cells of a workload; none if the kind is something else.
pub fn cells(kind: &str, row: &Row<'_>) -> Option<Vec<Value>> {
    Some(match kind {
        "Deployment" => deployment(row),
        "ReplicaSet" => replicas(row, row.selector("/spec/selector")),
        "ReplicationController" => replicas(row, row.labels("/spec/selector")),
        "StatefulSet" => {
            let [names, images] = row.containers(TEMPLATE);
            let ready = ready_of(row, "/spec/replicas");
            vec![row.name(), ready, row.age(), names, images]
        }
        "DaemonSet" => daemon_set(row),
        "Job" => job(row),
        "CronJob" => cron_job(row),
        "PodTemplate" => {
            let [names, images] = row.containers("/template/spec/containers");
            vec![row.name(), names, images, row.labels("/template/metadata/labels")]
        }
        "ControllerRevision" => {
            vec![row.name(), controller(row), json!(row.number("/revision")), row.age()]
        }
        "PodDisruptionBudget" => vec![
            row.name(),
            json!(int_or_text(row.at("/spec/minAvailable"), "N/A")),
            json!(int_or_text(row.at("/spec/maxUnavailable"), "N/A")),
            json!(row.number("/status/disruptionsAllowed")),
            row.age(),
        ],
        "HorizontalPodAutoscaler" => autoscaler(row),
        _ => return None,
    })
}

const TEMPLATE: &str = "/spec/template/spec/containers";

fn ready_of(row: &Row<'_>, wanted: &str) -> Value {
    json!(format!("{}/{}", row.number("/status/readyReplicas"), row.number(wanted)))
}

fn deployment(row: &Row<'_>) -> Vec<Value> {
    let [names, images] = row.containers(TEMPLATE);
    vec![
        row.name(),
        ready_of(row, "/spec/replicas"),
        json!(row.number("/status/updatedReplicas")),
        json!(row.number("/status/availableReplicas")),
        row.age(),
        names,
        images,
        json!(Labels::from_object(row.at("/spec/selector")).to_string()),
    ]
}

fn replicas(row: &Row<'_>, selector: Value) -> Vec<Value> {
    let [names, images] = row.containers(TEMPLATE);
    vec![
        row.name(),
        json!(row.number("/spec/replicas")),
        json!(row.number("/status/replicas")),
        json!(row.number("/status/readyReplicas")),
        row.age(),
        names,
        images,
        selector,
    ]
}

fn daemon_set(row: &Row<'_>) -> Vec<Value> {
    let [names, images] = row.containers(TEMPLATE);
    vec![
        row.name(),
        json!(row.number("/status/desiredNumberScheduled")),
        json!(row.number("/status/currentNumberScheduled")),
        json!(row.number("/status/numberReady")),
        json!(row.number("/status/updatedNumberScheduled")),
        json!(row.number("/status/numberAvailable")),
        row.labels("/spec/template/spec/nodeSelector"),
        row.age(),
        names,
        images,
        row.selector("/spec/selector"),
    ]
}

fn job(row: &Row<'_>) -> Vec<Value> {
    let succeeded = row.number("/status/succeeded");
    let completions = match (row.at("/spec/completions").as_i64(), row.number("/spec/parallelism"))
    {
        (Some(wanted), _) => format!("{succeeded}/{wanted}"),
        (None, parallel) if parallel > 1 => format!("{succeeded}/1 of {parallel}"),
        (None, _) => format!("{succeeded}/1"),
    };
    let (start, end) = (row.at("/status/startTime"), row.at("/status/completionTime"));
    let duration = match (start.is_null(), end.is_null()) {
        (true, _) => String::new(),
        (false, true) => age::since(start, row.now),
        (false, false) => age::between(start, end).unwrap_or_default(),
    };
    let status = if row.is("Complete") {
        "Complete"
    } else if row.is("Failed") {
        "Failed"
    } else if row.has("/metadata/deletionTimestamp") {
        "Terminating"
    } else {
        ["Suspended", "FailureTarget", "SuccessCriteriaMet"]
            .into_iter()
            .find(|condition| row.is(condition))
            .unwrap_or("Running")
    };
    let [names, images] = row.containers(TEMPLATE);
    vec![
        row.name(),
        json!(status),
        json!(completions),
        json!(duration),
        row.age(),
        names,
        images,
        row.selector("/spec/selector"),
    ]
}

fn cron_job(row: &Row<'_>) -> Vec<Value> {
    let suspended = match row.at("/spec/suspend").as_bool() {
        Some(true) => "True",
        Some(false) => "False",
        None => "<unset>",
    };
    let last = if row.has("/status/lastScheduleTime") {
        row.since("/status/lastScheduleTime")
    } else {
        "<none>".into()
    };
    let [names, images] = row.containers("/spec/jobTemplate/spec/template/spec/containers");
    vec![
        row.name(),
        json!(row.text("/spec/schedule")),
        json!(row.text_or("/spec/timeZone", "<none>")),
        json!(suspended),
        json!(row.count("/status/active")),
        json!(last),
        row.age(),
        names,
        images,
        row.selector("/spec/jobTemplate/spec/selector"),
    ]
}

fn controller(row: &Row<'_>) -> Value {
    let owner = row.items("/metadata/ownerReferences").iter().find(|o| o["controller"] == true);
    let Some(owner) = owner else { return json!("<none>") };
    let text = |field: &str| owner[field].as_str().unwrap_or_default();
    let kind = match text("apiVersion").split_once('/') {
        Some((group, _)) => format!("{}.{group}", text("kind")),
        None => text("kind").to_owned(),
    };
    json!(format!("{}/{}", kind.to_lowercase(), text("name")))
}

fn autoscaler(row: &Row<'_>) -> Vec<Value> {
    let target = "/spec/scaleTargetRef";
    vec![
        row.name(),
        json!(format!(
            "{}/{}",
            row.text(&format!("{target}/kind")),
            row.text(&format!("{target}/name"))
        )),
        json!(metrics(row)),
        json!(int_or_text(row.at("/spec/minReplicas"), "<unset>")),
        json!(row.number("/spec/maxReplicas")),
        json!(row.number("/status/currentReplicas")),
        row.age(),
    ]
}

fn metrics(row: &Row<'_>) -> String {
    let wanted = row.items("/spec/metrics");
    if wanted.is_empty() {
        return "<none>".into();
    }
    let found = row.items("/status/currentMetrics");
    let all: Vec<String> = wanted
        .iter()
        .enumerate()
        .map(|(index, metric)| one_metric(metric, found.get(index).unwrap_or(&Value::Null)))
        .collect();
    let most = 2;
    if all.len() > most {
        format!("{} + {} more...", all[..most].join(", "), all.len() - most)
    } else {
        all.join(", ")
    }
}

fn one_metric(metric: &Value, found: &Value) -> String {
    let (source, named) = match metric["type"].as_str().unwrap_or_default() {
        "External" => ("external", false),
        "Object" => ("object", false),
        "Pods" => ("pods", false),
        "Resource" => ("resource", true),
        "ContainerResource" => ("containerResource", true),
        _ => return "<unknown type>".into(),
    };
    let (target, current) = (&metric[source]["target"], &found[source]["current"]);
    let amount = |value: &Value| {
        if found[source].is_null() { "<unknown>".to_owned() } else { quantity(value) }
    };
    if named {
        let name = metric[source]["name"].as_str().unwrap_or_default();
        if !target["averageValue"].is_null() {
            let now = amount(&current["averageValue"]);
            return format!("{name}: {now}/{}", quantity(&target["averageValue"]));
        }
        let percent = |value: &Value, absent: &str| {
            value.as_i64().map_or_else(|| absent.to_owned(), |percent| format!("{percent}%"))
        };
        let now = percent(&current["averageUtilization"], "<unknown>");
        return format!("{name}: {now}/{}", percent(&target["averageUtilization"], "<auto>"));
    }
    if source == "pods" {
        let now = amount(&current["averageValue"]);
        return format!("{now}/{}", quantity(&target["averageValue"]));
    }
    if target["averageValue"].is_null() {
        return format!("{}/{}", amount(&current["value"]), quantity(&target["value"]));
    }
    let now = if current["averageValue"].is_null() {
        "<unknown>".to_owned()
    } else {
        quantity(&current["averageValue"])
    };
    format!("{now}/{} (avg)", quantity(&target["averageValue"]))
}

/// A number of seconds in few letters.
pub fn seconds(value: &Value) -> Option<String> {
    value.as_i64().map(|seconds| age::human(SignedDuration::from_secs(seconds)))
}
