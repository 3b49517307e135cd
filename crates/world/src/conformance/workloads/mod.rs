//! Pods and the kinds that make them: what they default, refuse and let change.

mod defaults;
mod invalid;
mod invalid_pods;
mod status;
mod updates;

use serde_json::{Value, json};

use super::case::Case;

const PODS: &str = "/api/v1/namespaces/{ns}/pods";
const TEMPLATES: &str = "/api/v1/namespaces/{ns}/podtemplates";
const CONTROLLERS: &str = "/api/v1/namespaces/{ns}/replicationcontrollers";
const REPLICA_SETS: &str = "/apis/apps/v1/namespaces/{ns}/replicasets";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/{ns}/deployments";
const STATEFUL_SETS: &str = "/apis/apps/v1/namespaces/{ns}/statefulsets";
const DAEMON_SETS: &str = "/apis/apps/v1/namespaces/{ns}/daemonsets";
const REVISIONS: &str = "/apis/apps/v1/namespaces/{ns}/controllerrevisions";
const JOBS: &str = "/apis/batch/v1/namespaces/{ns}/jobs";
const CRON_JOBS: &str = "/apis/batch/v1/namespaces/{ns}/cronjobs";
const AUTOSCALERS: &str = "/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers";
const AUTOSCALERS_V1: &str = "/apis/autoscaling/v1/namespaces/{ns}/horizontalpodautoscalers";
const BUDGETS: &str = "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets";
const PRIORITIES: &str = "/apis/scheduling.k8s.io/v1/priorityclasses";
const RUNTIMES: &str = "/apis/node.k8s.io/v1/runtimeclasses";

/// Cases of pods and workloads.
pub fn cases() -> Vec<Case> {
    let mut cases = defaults::cases();
    cases.extend(updates::cases());
    cases.extend(status::cases());
    cases.extend(invalid::cases());
    cases.extend(invalid_pods::cases());
    cases
}

/// An object of a name.
fn named(spec: Value) -> Value {
    json!({"metadata": {"name": "a"}, "spec": spec})
}

/// One container that no one pulls.
fn container() -> Value {
    json!({"name": "c", "image": "example.com/c:1"})
}

/// A pod that no scheduler looks at.
fn pod(mut spec: Value) -> Value {
    fill(&mut spec, "schedulerName", json!("nobody"));
    fill(&mut spec, "containers", json!([container()]));
    named(spec)
}

/// A template whose label is `app: a`.
fn template(mut spec: Value) -> Value {
    fill(&mut spec, "containers", json!([container()]));
    fill(&mut spec, "schedulerName", json!("nobody"));
    json!({"metadata": {"labels": {"app": "a"}}, "spec": spec})
}

/// A workload without pods: its selector and template, and what is said beside them.
fn workload(mut spec: Value) -> Value {
    fill(&mut spec, "selector", json!({"matchLabels": {"app": "a"}}));
    fill(&mut spec, "template", template(json!({})));
    named(spec)
}

/// The same with no replicas, so that controllers have nothing to do.
fn idle(mut spec: Value) -> Value {
    fill(&mut spec, "replicas", json!(0));
    workload(spec)
}

/// A Job that the cluster's own controller leaves alone.
fn job(mut spec: Value) -> Value {
    fill(&mut spec, "managedBy", json!("example.com/nobody"));
    fill(&mut spec, "template", job_template(json!({})));
    named(spec)
}

fn job_template(mut spec: Value) -> Value {
    fill(&mut spec, "restartPolicy", json!("Never"));
    template(spec)
}

fn fill(spec: &mut Value, key: &str, value: Value) {
    if spec.get(key).is_none()
        && let Some(map) = spec.as_object_mut()
    {
        map.insert(key.to_owned(), value);
    }
}

/// The one object of a collection.
fn one(collection: &str) -> String {
    format!("{collection}/a")
}
