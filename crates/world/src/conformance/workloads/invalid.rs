//! Workloads that are refused, and why.

use serde_json::{Value, json};

use super::super::case::{Case, post};
use super::{
    AUTOSCALERS, BUDGETS, CONTROLLERS, CRON_JOBS, DAEMON_SETS, DEPLOYMENTS, JOBS, PRIORITIES,
    REPLICA_SETS, REVISIONS, RUNTIMES, STATEFUL_SETS, TEMPLATES, idle, job, job_template, named,
    template, workload,
};

pub fn cases() -> Vec<Case> {
    table()
        .into_iter()
        .map(|(name, collection, bodies)| {
            let requests = bodies.into_iter().map(|body| post(collection, body));
            Case::new(&format!("workloads/refuse-{name}")).compare_all(requests)
        })
        .collect()
}

fn table() -> Vec<(&'static str, &'static str, Vec<Value>)> {
    vec![
        (
            "deployment",
            DEPLOYMENTS,
            vec![
                named(json!({})),
                workload(json!({"selector": {}})),
                workload(json!({"selector": {"matchLabels": {"a b": "-"}}})),
                workload(
                    json!({"selector": {"matchExpressions": [{"key": "app", "operator": "Near", "values": ["a"]}]}}),
                ),
                workload(
                    json!({"replicas": -1, "minReadySeconds": -1, "revisionHistoryLimit": -1, "progressDeadlineSeconds": -5}),
                ),
                workload(json!({"strategy": {"type": "Blue", "rollingUpdate": {"maxSurge": 1}}})),
                workload(
                    json!({"strategy": {"rollingUpdate": {"maxSurge": "0%", "maxUnavailable": 0}}}),
                ),
                workload(
                    json!({"strategy": {"rollingUpdate": {"maxSurge": "x", "maxUnavailable": "101%"}}}),
                ),
                workload(
                    json!({"strategy": {"rollingUpdate": {"maxSurge": -1, "maxUnavailable": -2}}}),
                ),
                workload(
                    json!({"template": template(json!({"restartPolicy": "Never", "activeDeadlineSeconds": 5}))}),
                ),
                workload(
                    json!({"template": {"metadata": {"labels": {"app": "a", "x": "not valid!"}, "annotations": {"a b": ""}}, "spec": {}}}),
                ),
                workload(json!({"minReadySeconds": 600})),
            ],
        ),
        (
            "replica-set",
            REPLICA_SETS,
            vec![
                named(json!({})),
                workload(json!({"selector": {}, "replicas": -1, "minReadySeconds": -1})),
                workload(
                    json!({"template": template(json!({"restartPolicy": "OnFailure", "activeDeadlineSeconds": 1}))}),
                ),
            ],
        ),
        (
            "replication-controller",
            CONTROLLERS,
            vec![
                named(json!({})),
                named(
                    json!({"replicas": -1, "minReadySeconds": -1, "template": template(json!({}))}),
                ),
                named(
                    json!({"selector": {"x": "y"}, "template": template(json!({"restartPolicy": "Never"}))}),
                ),
            ],
        ),
        (
            "stateful-set",
            STATEFUL_SETS,
            vec![
                named(json!({})),
                idle(
                    json!({"podManagementPolicy": "Random", "serviceName": "A_b", "ordinals": {"start": -1}}),
                ),
                idle(json!({"updateStrategy": {"type": "Sometimes"}})),
                idle(
                    json!({"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 1}}}),
                ),
                idle(json!({"updateStrategy": {"rollingUpdate": {"partition": -1}}})),
                idle(
                    json!({"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Keep", "whenScaled": "Lose"}}),
                ),
                idle(json!({"volumeClaimTemplates": [{"metadata": {"name": "d"}, "spec": {}}]})),
                idle(json!({"replicas": -1, "minReadySeconds": -1, "selector": {}})),
                idle(
                    json!({"template": template(json!({"restartPolicy": "Never", "activeDeadlineSeconds": 3}))}),
                ),
                json!({"metadata": {"name": "a.b"}, "spec": {"selector": {"matchLabels": {"app": "a"}}, "template": template(json!({}))}}),
            ],
        ),
        (
            "daemon-set",
            DAEMON_SETS,
            vec![
                named(json!({})),
                workload(json!({"selector": {}})),
                workload(json!({"updateStrategy": {"type": "Later"}})),
                workload(
                    json!({"updateStrategy": {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 1}}}),
                ),
                workload(json!({"updateStrategy": {"rollingUpdate": {"maxUnavailable": 0}}})),
                workload(json!({"updateStrategy": {"rollingUpdate": {"maxUnavailable": "200%"}}})),
                workload(
                    json!({"minReadySeconds": -1, "revisionHistoryLimit": -1, "template": template(json!({"restartPolicy": "Never", "activeDeadlineSeconds": 3}))}),
                ),
            ],
        ),
        (
            "controller-revision",
            REVISIONS,
            vec![
                json!({"metadata": {"name": "a"}, "revision": 1}),
                json!({"metadata": {"name": "a"}, "revision": -1, "data": {"a": 1}}),
                json!({"metadata": {"name": "a"}, "revision": 1, "data": 5}),
            ],
        ),
        ("pod-template", TEMPLATES, vec![json!({"metadata": {"name": "a"}})]),
        (
            "job",
            JOBS,
            vec![
                named(json!({})),
                job(json!({"template": job_template(json!({"restartPolicy": "Sometimes"}))})),
                job(json!({"template": template(json!({}))})),
                job(
                    json!({"parallelism": -1, "completions": -1, "activeDeadlineSeconds": -1, "backoffLimit": -1, "ttlSecondsAfterFinished": -1}),
                ),
                job(json!({"completionMode": "Some"})),
                job(json!({"completionMode": "Indexed", "parallelism": 200_000})),
                job(json!({"backoffLimitPerIndex": 1, "maxFailedIndexes": 1})),
                job(json!({"completionMode": "Indexed", "completions": 2, "maxFailedIndexes": 3})),
                job(json!({"managedBy": "nobody"})),
                job(json!({"selector": {"matchLabels": {"x": "y"}}})),
                job(json!({"manualSelector": true})),
                job(json!({"manualSelector": true, "selector": {"matchLabels": {"x": "y"}}})),
                job(json!({"podReplacementPolicy": "Never"})),
                job(json!({"successPolicy": {"rules": [{}]}})),
                job(
                    json!({"completionMode": "Indexed", "completions": 2, "successPolicy": {"rules": [{}, {"succeededIndexes": "5"}, {"succeededCount": 9, "succeededIndexes": "0"}]}}),
                ),
                job(
                    json!({"podFailurePolicy": {"rules": [{"action": "Nothing"}, {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [2, 0, 2], "containerName": "x"}, "onPodConditions": [{"type": "a b", "status": "Maybe"}]}, {"action": "Count", "onExitCodes": {"operator": "Between", "values": []}}]}}),
                ),
                json!({"metadata": {"name": "a.b"}, "spec": {"completionMode": "Indexed", "completions": 2, "template": job_template(json!({}))}}),
            ],
        ),
        ("cron-job", CRON_JOBS, cron_jobs()),
        (
            "autoscaler",
            AUTOSCALERS,
            vec![
                named(json!({})),
                scaler(json!({"minReplicas": 0, "maxReplicas": -1})),
                scaler(json!({"minReplicas": 5})),
                scaler(
                    json!({"scaleTargetRef": {"apiVersion": "a/b/c", "kind": "x/y", "name": ".."}}),
                ),
                scaler(json!({"scaleTargetRef": {"kind": "Deployment", "name": "d"}})),
                scaler(json!({"metrics": [{"type": "Some"}, {"type": "Pods"}, {}]})),
                scaler(
                    json!({"metrics": [{"type": "Resource", "resource": {"name": "", "target": {"type": "Utilization", "averageUtilization": 0}}}]}),
                ),
                scaler(
                    json!({"metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Half", "averageUtilization": 5, "averageValue": "-1"}}}]}),
                ),
                scaler(
                    json!({"metrics": [{"type": "Pods", "pods": {"metric": {"name": ""}, "target": {"type": "AverageValue"}}}]}),
                ),
                scaler(
                    json!({"metrics": [{"type": "Object", "object": {"metric": {"name": "m"}, "describedObject": {"kind": "Service", "name": "s"}, "target": {"type": "Value"}}}]}),
                ),
                scaler(
                    json!({"metrics": [{"type": "ContainerResource", "containerResource": {"name": "gold", "container": "A", "target": {"type": "Utilization"}}}]}),
                ),
                scaler(
                    json!({"behavior": {"scaleUp": {"selectPolicy": "Best", "stabilizationWindowSeconds": -1, "policies": [{"type": "Cats", "value": 0, "periodSeconds": 5000}]}, "scaleDown": {"stabilizationWindowSeconds": 4000, "tolerance": "-1"}}}),
                ),
            ],
        ),
        (
            "budget",
            BUDGETS,
            vec![
                named(json!({"minAvailable": 1, "maxUnavailable": "5%"})),
                named(json!({"minAvailable": "x"})),
                named(json!({"minAvailable": "150%"})),
                named(json!({"maxUnavailable": -1, "selector": {"matchLabels": {"-": "-"}}})),
                named(json!({"unhealthyPodEvictionPolicy": "Never"})),
            ],
        ),
        (
            "priority-class",
            PRIORITIES,
            vec![
                json!({"metadata": {"name": "{ns}"}, "value": 1_000_000_001}),
                json!({"metadata": {"name": "system-mine"}, "value": 5}),
                json!({"metadata": {"name": "{ns}"}, "value": 5, "preemptionPolicy": "Sometimes"}),
            ],
        ),
        (
            "runtime-class",
            RUNTIMES,
            vec![
                json!({"metadata": {"name": "{ns}"}}),
                json!({"metadata": {"name": "{ns}"}, "handler": "A.b"}),
                json!({"metadata": {"name": "{ns}"}, "handler": "h", "overhead": {"podFixed": {"gold": "-1"}}, "scheduling": {"nodeSelector": {"-": "a"}, "tolerations": [{"operator": "Exists"}, {"operator": "Exists"}]}}),
            ],
        ),
    ]
}

fn scaler(mut spec: Value) -> Value {
    super::fill(
        &mut spec,
        "scaleTargetRef",
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}),
    );
    super::fill(&mut spec, "maxReplicas", json!(3));
    named(spec)
}

fn cron_jobs() -> Vec<Value> {
    let with = |mut spec: Value| {
        super::fill(
            &mut spec,
            "jobTemplate",
            json!({"spec": {"template": job_template(json!({}))}}),
        );
        super::fill(&mut spec, "schedule", json!("@daily"));
        named(spec)
    };
    let mut bodies: Vec<Value> = [
        "",
        "* * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * * 13 *",
        "* * * * 7",
        "5-1 * * * *",
        "*/0 * * * *",
        "1-2-3 * * * *",
        "1/2/3 * * * *",
        "x * * * *",
        "-1 * * * *",
        "99999999999999999999 * * * *",
        "@never",
        "@every x",
        "@every 5",
        "@every 1d",
        "TZ=UTC 0 0 * * *",
        "CRON_TZ=Nowhere 0 0 * * *",
        "TZ=UTC",
    ]
    .into_iter()
    .map(|schedule| with(json!({ "schedule": schedule })))
    .collect();
    for zone in [
        "",
        "Local",
        "local",
        "Nowhere/Land",
        "europe/berlin",
        "../x",
        "Europe/-x",
        "Way/Too_Long_For_A_Part",
    ] {
        bodies.push(with(json!({ "timeZone": zone })));
    }
    bodies.extend([
        with(json!({"concurrencyPolicy": "Maybe", "startingDeadlineSeconds": -1, "successfulJobsHistoryLimit": -1, "failedJobsHistoryLimit": -2})),
        with(json!({"jobTemplate": {"spec": {"manualSelector": true, "selector": {"matchLabels": {"a": "b"}}, "template": job_template(json!({}))}}})),
        with(json!({"jobTemplate": {"spec": {"template": template(json!({}))}}})),
        json!({"metadata": {"name": "a123456789-123456789-123456789-123456789-123456789-12"}, "spec": {"schedule": "@daily", "jobTemplate": {"spec": {"template": job_template(json!({}))}}}}),
        named(json!({})),
    ]);
    bodies
}
