//! `service-without-pods`: a Service that no longer selects anything.

use serde_json::{Map, Value};

use super::Part;
use crate::finding::{Finding, Severity};
use crate::side::{Object, Side};

pub(super) fn services(base: &Side, head: &Side) -> Part {
    let mut part = Part::default();
    let (before, after) = (Pods::of(base), Pods::of(head));
    for service in head.objects.iter().filter(|object| object.id.kind == "Service") {
        let Some(selector) = selector_of(service) else { continue };
        if after.any(&service.id.namespace, selector) {
            continue;
        }
        let old = base.objects.iter().find(|object| object.id.key() == service.id.key());
        let had = old.and_then(|old| selector_of(old).map(|s| before.any(&old.id.namespace, s)));
        let finding = Finding {
            rule: "service-without-pods".to_owned(),
            severity: Severity::Warning,
            object: service.id.clone(),
            file: service.file.clone(),
            line: service.line,
            cause: "its selector matches no pod template that is applied to its namespace"
                .to_owned(),
            way_out: "in place: let the selector name labels that the pods have".to_owned(),
        };
        match had {
            Some(true) => part.report.findings.push(finding),
            // Its pods may come from a chart or an operator: only a loss is news.
            Some(false) => part.standing.push(finding),
            None => {}
        }
    }
    part
}

fn selector_of(object: &Object) -> Option<&Map<String, Value>> {
    object.value.pointer("/spec/selector")?.as_object().filter(|selector| !selector.is_empty())
}

/// Labels of pods by namespace.
struct Pods<'a>(Vec<(&'a str, &'a Map<String, Value>)>);

impl<'a> Pods<'a> {
    fn of(side: &'a Side) -> Self {
        let labels = |object: &'a Object| {
            let at = match object.id.kind.as_str() {
                "Pod" => "/metadata/labels",
                "Deployment"
                | "StatefulSet"
                | "DaemonSet"
                | "ReplicaSet"
                | "Job"
                | "ReplicationController" => "/spec/template/metadata/labels",
                "CronJob" => "/spec/jobTemplate/spec/template/metadata/labels",
                _ => return None,
            };
            Some((object.id.namespace.as_str(), object.value.pointer(at)?.as_object()?))
        };
        Self(side.objects.iter().filter_map(labels).collect())
    }

    fn any(&self, namespace: &str, selector: &Map<String, Value>) -> bool {
        self.0.iter().any(|(inside, labels)| {
            *inside == namespace
                && selector.iter().all(|(key, value)| labels.get(key) == Some(value))
        })
    }
}
