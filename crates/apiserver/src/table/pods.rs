//! The row of a pod: one word for how all its containers are.

use serde_json::{Value, json};

use super::age;
use super::row::Row;

/// A finished pod's row says so.
pub fn conditions(pod: &Value) -> Option<Value> {
    let message = match pod["status"]["phase"].as_str()? {
        "Succeeded" => "The pod has completed successfully.",
        "Failed" => "The pod failed.",
        _ => return None,
    };
    let reason = &pod["status"]["phase"];
    Some(json!([{ "type": "Completed", "status": "True", "reason": reason, "message": message }]))
}

/// Cells of a pod.
pub fn cells(row: &Row<'_>) -> Vec<Value> {
    let told = Told::of(row);
    let none = |pointer: &str| match row.text(pointer) {
        "" => json!("<none>"),
        text => json!(text),
    };
    let restarts = match told.last_restart {
        Some(when) if told.restarts != 0 => {
            format!("{} ({} ago)", told.restarts, age::since(when, row.now))
        }
        _ => told.restarts.to_string(),
    };
    vec![
        row.name(),
        json!(format!("{}/{}", told.ready, told.containers)),
        json!(told.reason),
        json!(restarts),
        row.age(),
        none("/status/podIPs/0/ip"),
        none("/spec/nodeName"),
        none("/status/nominatedNodeName"),
        gates(row),
    ]
}

fn gates(row: &Row<'_>) -> Value {
    let gates = row.items("/spec/readinessGates");
    if gates.is_empty() {
        return json!("<none>");
    }
    let open = gates.iter().filter_map(|gate| gate["conditionType"].as_str()).filter(|g| row.is(g));
    json!(format!("{}/{}", open.count(), gates.len()))
}

/// What is told of a pod's containers.
struct Told<'a> {
    containers: usize,
    ready: usize,
    restarts: i64,
    last_restart: Option<&'a Value>,
    reason: String,
}

/// Restarts of some containers and the last of them.
#[derive(Default)]
struct Restarts<'a> {
    count: i64,
    last: Option<&'a Value>,
}

impl<'a> Restarts<'a> {
    fn add(&mut self, status: &'a Value) {
        self.count += status["restartCount"].as_i64().unwrap_or_default();
        if let Some(when) = status.pointer("/lastState/terminated/finishedAt")
            && self.last.is_none_or(|last| last.as_str() < when.as_str())
        {
            self.last = Some(when);
        }
    }
}

impl<'a> Told<'a> {
    fn of(row: &Row<'a>) -> Self {
        let phase = row.text("/status/phase");
        let mut reason = match row.text("/status/reason") {
            "" => phase,
            reason => reason,
        }
        .to_owned();
        let gated = row
            .items("/status/conditions")
            .iter()
            .any(|one| one["type"] == "PodScheduled" && one["reason"] == "SchedulingGated");
        if gated {
            "SchedulingGated".clone_into(&mut reason);
        }
        let inits = row.items("/spec/initContainers");
        let sidecar = |name: &Value| {
            inits.iter().any(|one| one["name"] == *name && one["restartPolicy"] == "Always")
        };
        let sidecars = inits.iter().filter(|one| one["restartPolicy"] == "Always").count();
        let mut told = Told {
            containers: row.items("/spec/containers").len() + sidecars,
            ready: 0,
            restarts: 0,
            last_restart: None,
            reason,
        };
        let (mut all, mut of_sidecars) = (Restarts::default(), Restarts::default());
        let mut initializing = false;
        for (index, status) in row.items("/status/initContainerStatuses").iter().enumerate() {
            all.add(status);
            let is_sidecar = sidecar(&status["name"]);
            if is_sidecar {
                of_sidecars.add(status);
            }
            match initial(status, is_sidecar) {
                Initial::Done => continue,
                Initial::Started => {
                    told.ready += usize::from(status["ready"] == true);
                    continue;
                }
                Initial::Stuck(why) => told.reason = format!("Init:{why}"),
                Initial::Running => told.reason = format!("Init:{index}/{}", inits.len()),
            }
            initializing = true;
            break;
        }
        if !initializing || row.is("Initialized") {
            all = of_sidecars;
            told.main(row, &mut all);
        }
        told.restarts = all.count;
        told.last_restart = all.last;
        if row.has("/metadata/deletionTimestamp") {
            if row.text("/status/reason") == "NodeLost" {
                "Unknown".clone_into(&mut told.reason);
            } else if !matches!(phase, "Succeeded" | "Failed") {
                "Terminating".clone_into(&mut told.reason);
            }
        }
        told
    }

    /// What the main containers say; the first one has the last word.
    fn main(&mut self, row: &Row<'a>, restarts: &mut Restarts<'a>) {
        let (mut running, mut failed) = (false, None);
        for status in row.items("/status/containerStatuses").iter().rev() {
            restarts.add(status);
            let waiting = status.pointer("/state/waiting/reason").and_then(Value::as_str);
            if let Some(why) = waiting.filter(|why| !why.is_empty()) {
                why.clone_into(&mut self.reason);
            } else if let Some(ended) = status.pointer("/state/terminated") {
                self.reason = ending(ended);
                if ended["exitCode"].as_i64().unwrap_or_default() != 0 {
                    failed = Some(self.reason.clone());
                }
            } else if status["ready"] == true && status["state"]["running"].is_object() {
                running = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" {
            if running && row.is("Ready") {
                "Running".clone_into(&mut self.reason);
            } else if let Some(why) = failed {
                self.reason = why;
            } else if running {
                "NotReady".clone_into(&mut self.reason);
            }
        }
    }
}

/// How an init container is.
enum Initial {
    Done,
    Started,
    Stuck(String),
    Running,
}

fn initial(status: &Value, sidecar: bool) -> Initial {
    let ended = status.pointer("/state/terminated");
    let waiting = status.pointer("/state/waiting/reason").and_then(Value::as_str);
    match (ended, waiting) {
        (Some(ended), _) if ended["exitCode"].as_i64().unwrap_or_default() == 0 => Initial::Done,
        _ if sidecar && status["started"] == true => Initial::Started,
        (Some(ended), _) => Initial::Stuck(ending(ended)),
        (None, Some(why)) if !matches!(why, "" | "PodInitializing") => Initial::Stuck(why.into()),
        _ => Initial::Running,
    }
}

fn ending(ended: &Value) -> String {
    match (ended["reason"].as_str().unwrap_or_default(), ended["signal"].as_i64()) {
        ("", Some(signal)) if signal != 0 => format!("Signal:{signal}"),
        ("", _) => format!("ExitCode:{}", ended["exitCode"].as_i64().unwrap_or_default()),
        (reason, _) => reason.to_owned(),
    }
}
