//! What controllers may say of workloads.

use serde_json::{Value, json};

use super::super::case::{Case, merge_patch, post};
use super::{
    AUTOSCALERS, BUDGETS, DAEMON_SETS, JOBS, STATEFUL_SETS, TEMPLATES, job, named, one, template,
};

pub fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = table()
        .into_iter()
        .map(|(name, collection, object, statuses)| {
            let path = format!("{}/status", one(collection));
            let requests = statuses
                .into_iter()
                .map(|status| merge_patch(&path, json!({ "status": status })).ignoring("/status"));
            Case::new(&format!("workloads/status-{name}"))
                .given(post(collection, object))
                .compare_all(requests)
        })
        .collect();
    cases.push(
        Case::new("workloads/status-of-nothing")
            .given(post(
                TEMPLATES,
                json!({"metadata": {"name": "a"}, "template": template(json!({}))}),
            ))
            .compare(merge_patch(&format!("{}/status", one(TEMPLATES)), json!({}))),
    );
    cases
}

type Statuses = (&'static str, &'static str, Value, Vec<Value>);

fn table() -> Vec<Statuses> {
    let condition = |kind: &str| json!({"type": kind, "status": "True"});
    vec![
        (
            "stateful-set",
            STATEFUL_SETS,
            super::idle(json!({})),
            vec![
                json!({"replicas": -1, "readyReplicas": 2, "currentReplicas": -5, "updatedReplicas": 1, "availableReplicas": 3}),
            ],
        ),
        (
            "daemon-set",
            DAEMON_SETS,
            super::workload(json!({})),
            vec![
                json!({"numberReady": -1, "currentNumberScheduled": -1, "numberMisscheduled": -2, "desiredNumberScheduled": -3}),
            ],
        ),
        (
            "autoscaler",
            AUTOSCALERS,
            named(
                json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}, "maxReplicas": 3}),
            ),
            vec![json!({"currentReplicas": -1, "desiredReplicas": -1})],
        ),
        (
            "budget",
            BUDGETS,
            named(json!({})),
            vec![
                json!({"disruptionsAllowed": -1, "currentHealthy": -1, "desiredHealthy": -1, "expectedPods": -1}),
                json!({"conditions": [{"type": "a b", "status": "Maybe", "reason": "-", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}, {"type": "a b", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}),
            ],
        ),
        (
            "job",
            JOBS,
            job(json!({})),
            vec![
                json!({"active": -1, "succeeded": -1, "failed": -1, "ready": 5}),
                json!({"conditions": [condition("Complete")]}),
                json!({"conditions": [condition("Failed")]}),
                json!({"conditions": [condition("Complete"), condition("Failed"), condition("FailureTarget"), condition("SuccessCriteriaMet")], "active": 1}),
                json!({"completionTime": "2026-01-01T00:00:00Z", "completedIndexes": "1", "failedIndexes": "1"}),
                json!({"uncountedTerminatedPods": {"succeeded": ["", "a", "a"], "failed": ["a"]}}),
                json!({"startTime": "2026-01-01T00:00:05Z", "completionTime": "2026-01-01T00:00:00Z", "conditions": [condition("SuccessCriteriaMet"), condition("Complete")]}),
                json!({"startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:00:05Z", "succeeded": 1, "conditions": [condition("SuccessCriteriaMet"), condition("Complete")]}),
                json!({"conditions": null, "completionTime": null}),
                json!({"startTime": "2026-01-02T00:00:00Z", "succeeded": 0, "completionTime": "2026-01-03T00:00:05Z"}),
            ],
        ),
        (
            "job-indexed",
            JOBS,
            job(
                json!({"completionMode": "Indexed", "completions": 3, "parallelism": 3, "backoffLimitPerIndex": 1}),
            ),
            vec![
                json!({"completedIndexes": "2,1", "failedIndexes": "a"}),
                json!({"completedIndexes": "0-1", "failedIndexes": "1"}),
                json!({"completedIndexes": "0,5"}),
                json!({"completedIndexes": "0,2", "failedIndexes": "1"}),
            ],
        ),
    ]
}
