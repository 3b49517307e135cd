//! What the server sets on pods, and takes away.

use serde_json::{Value, json};

use super::{annotations, qos};
use crate::builtin::value::{Fields as _, Fill as _};

/// A new pod waits, in the class that its resources give it.
pub fn create(pod: &mut Value) {
    let class = qos::class(pod.get_or_null("spec"));
    let mut status = json!({"phase": "Pending", "qosClass": class});
    drop_disabled(pod.object("spec"));
    if !pod.get_or_null("spec").list("schedulingGates").is_empty() {
        status.put(
            "conditions",
            json!([{
                "type": "PodScheduled", "status": "False", "lastProbeTime": null,
                "lastTransitionTime": pod.get_or_null("metadata").get_or_null("creationTimestamp"),
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }]),
        );
    }
    pod.put("status", status);
    merge_label_keys(pod);
    annotations::to_fields(pod);
}

/// The status stays, and nothing disabled comes in.
pub fn update(pod: &mut Value, old: &Value) {
    pod.put("status", old.get_or_null("status").clone());
    drop_disabled(pod.object("spec"));
}

/// Drops fields of features that are off: signals for containers, bundles and certificates in
/// projected volumes, groups of pods.
pub fn drop_disabled(spec: &mut Value) {
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for container in spec.items_mut(list) {
            if let Some(lifecycle) = container.part_mut("lifecycle") {
                lifecycle.drop_field("stopSignal");
            }
        }
    }
    for volume in spec.items_mut("volumes") {
        let Some(projected) = volume.part_mut("projected") else { continue };
        for source in projected.items_mut("sources") {
            source.drop_field("clusterTrustBundle");
            source.drop_field("podCertificate");
        }
    }
    spec.drop_field("schedulingGroup");
}

/// Label keys become expressions with the pod's own values.
fn merge_label_keys(pod: &mut Value) {
    let labels = pod.get_or_null("metadata").get_or_null("labels").clone();
    let spec = pod.object("spec");
    for constraint in spec.items_mut("topologySpreadConstraints") {
        merge_into(constraint, &labels);
    }
    let Some(affinity) = spec.part_mut("affinity") else { return };
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(terms) = affinity.part_mut(kind) else { continue };
        for term in terms.items_mut("requiredDuringSchedulingIgnoredDuringExecution") {
            merge_into(term, &labels);
        }
        for term in terms.items_mut("preferredDuringSchedulingIgnoredDuringExecution") {
            merge_into(term.object("podAffinityTerm"), &labels);
        }
    }
}

fn merge_into(term: &mut Value, labels: &Value) {
    if term.part("labelSelector").is_none() {
        return;
    }
    let mut rules = Vec::new();
    for (list, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        for key in term.list(list).iter().filter_map(Value::as_str) {
            if let Some(value) = labels.get(key) {
                rules.push(json!({"key": key, "operator": operator, "values": [value]}));
            }
        }
    }
    if rules.is_empty() {
        return;
    }
    let selector = term.object("labelSelector");
    let mut all = selector.list("matchExpressions").to_vec();
    all.extend(rules);
    selector.put("matchExpressions", all);
}
