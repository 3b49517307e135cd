//! What may change, and what is said of what may not.

use serde_json::{Value, json};

use super::super::case::{
    Case, Request, delete, get, json_patch, merge_patch, post, put, strategic,
};
use super::{
    AUTOSCALERS, BUDGETS, CONTROLLERS, CRON_JOBS, DAEMON_SETS, DEPLOYMENTS, JOBS, PODS, PRIORITIES,
    REPLICA_SETS, REVISIONS, RUNTIMES, STATEFUL_SETS, TEMPLATES, container, idle, job,
    job_template, named, one, pod, template, workload,
};

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (kind, collection, object, changes) in kinds() {
        let mut case =
            Case::new(&format!("workloads/change-{kind}")).given(post(collection, object));
        for change in changes {
            case = case.compare(quiet(merge_patch(&one(collection), change).dry_run()));
        }
        cases.push(case);
    }
    cases.extend(pods());
    cases.extend(classes());
    cases.push(generations());
    cases
}

/// Without what controllers write meanwhile.
fn quiet(request: Request) -> Request {
    request
        .ignoring("/status")
        .ignoring("/metadata/managedFields")
        .ignoring("/metadata/resourceVersion")
}

type Changes = (&'static str, &'static str, Value, Vec<Value>);

fn kinds() -> Vec<Changes> {
    let other = json!({"spec": {"selector": {"matchLabels": {"app": "b"}}, "template": {"metadata": {"labels": {"app": "b"}}}}});
    let mismatch = json!({"spec": {"selector": {"matchLabels": {"app": "b"}}}});
    let labelled = json!({"spec": {"template": {"metadata": {"labels": {"more": "1"}}}}});
    vec![
        (
            "deployment",
            DEPLOYMENTS,
            revised(),
            vec![
                other.clone(),
                mismatch.clone(),
                labelled.clone(),
                json!({"spec": {"strategy": {"type": "Recreate"}}}),
                json!({"spec": {"strategy": {"type": "Recreate", "rollingUpdate": null}}}),
                json!({"spec": {"replicas": -1}}),
                json!({"spec": {"replicas": null, "paused": true}}),
                json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "example.com/c:2"}]}}}}),
                json!({"spec": {"selector": null}}),
            ],
        ),
        (
            "replica-set",
            REPLICA_SETS,
            idle(json!({})),
            vec![
                other.clone(),
                mismatch.clone(),
                labelled.clone(),
                json!({"spec": {"minReadySeconds": 5}}),
            ],
        ),
        (
            "replication-controller",
            CONTROLLERS,
            named(json!({"replicas": 0, "template": template(json!({}))})),
            vec![
                json!({"spec": {"selector": {"app": "b"}}}),
                json!({"spec": {"selector": {"app": null, "more": "1"}, "template": {"metadata": {"labels": {"more": "1"}}}}}),
                json!({"spec": {"replicas": -2}}),
                json!({"spec": {"template": null}}),
            ],
        ),
        (
            "daemon-set",
            DAEMON_SETS,
            workload(json!({})),
            vec![
                other,
                mismatch,
                labelled,
                json!({"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": null}}}),
                json!({"spec": {"updateStrategy": {"rollingUpdate": {"maxSurge": 1}}}}),
                json!({"spec": {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 0}}}}),
            ],
        ),
        (
            "stateful-set",
            STATEFUL_SETS,
            idle(json!({"serviceName": "s", "volumeClaimTemplates": [claim("1Gi")]})),
            vec![
                json!({"spec": {"serviceName": "t"}}),
                json!({"spec": {"podManagementPolicy": "Parallel"}}),
                json!({"spec": {"volumeClaimTemplates": [claim("2Gi")]}}),
                json!({"spec": {"volumeClaimTemplates": null}}),
                json!({"spec": {"selector": {"matchLabels": {"more": "1"}}}}),
                json!({"spec": {"revisionHistoryLimit": 3, "minReadySeconds": 1, "ordinals": {"start": 2}, "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}}}),
                json!({"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": null}}}),
                json!({"spec": {"updateStrategy": {"type": "OnDelete"}}}),
                json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": ""}]}}}}),
                json!({"spec": {"template": {"metadata": {"labels": {"app": "b"}}}}}),
            ],
        ),
        (
            "controller-revision",
            REVISIONS,
            json!({"metadata": {"name": "a"}, "revision": 1, "data": {"k": 1}}),
            vec![json!({"data": {"k": 2}}), json!({"revision": 9}), json!({"revision": -1})],
        ),
        (
            "pod-template",
            TEMPLATES,
            json!({"metadata": {"name": "a"}, "template": template(json!({}))}),
            vec![
                json!({"template": {"metadata": {"labels": {"app": "z"}}}}),
                json!({"template": {"spec": {"containers": null}}}),
            ],
        ),
        (
            "job",
            JOBS,
            job(json!({"activeDeadlineSeconds": 100})),
            vec![
                json!({"spec": {"completions": 4}}),
                json!({"spec": {"selector": {"matchLabels": {"x": "y"}}}}),
                json!({"spec": {"completionMode": "Indexed"}}),
                json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "example.com/c:2"}]}}}}),
                json!({"spec": {"template": {"metadata": {"labels": {"more": "1"}}}}}),
                json!({"spec": {"parallelism": 3, "backoffLimit": 1, "activeDeadlineSeconds": 5, "ttlSecondsAfterFinished": 0, "suspend": true}}),
                json!({"spec": {"managedBy": null}}),
                json!({"spec": {"managedBy": "example.com/other"}}),
                json!({"spec": {"podReplacementPolicy": "Failed"}}),
                json!({"spec": {"podFailurePolicy": {"rules": []}}}),
                json!({"spec": {"backoffLimitPerIndex": 1}}),
            ],
        ),
        (
            "job-indexed",
            JOBS,
            job(json!({"completionMode": "Indexed", "completions": 2, "parallelism": 2})),
            vec![
                json!({"spec": {"completions": 3, "parallelism": 3}}),
                json!({"spec": {"completions": 3}}),
                json!({"spec": {"successPolicy": {"rules": [{"succeededCount": 1}]}}}),
            ],
        ),
        (
            "job-suspended",
            JOBS,
            job(json!({"suspend": true})),
            vec![
                json!({"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}, "tolerations": [{"operator": "Exists"}], "schedulingGates": [{"name": "g"}],
                "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "Exists"}]}]}}}}}}}),
                json!({"spec": {"template": {"metadata": {"labels": {"more": "1"}, "annotations": {"x": "y"}}}}}),
                json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "example.com/c:1", "resources": {"requests": {"cpu": "1"}}}]}}}}),
                json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "example.com/c:2"}]}}}}),
                json!({"spec": {"template": {"spec": {"affinity": {"podAffinity": {}}}}}}),
            ],
        ),
        (
            "cron-job",
            CRON_JOBS,
            cron_job(),
            vec![
                json!({"spec": {"schedule": "5 * * * *", "timeZone": "UTC", "concurrencyPolicy": "Replace"}}),
                json!({"spec": {"schedule": "TZ=UTC 5 * * * *"}}),
                json!({"spec": {"timeZone": "Nowhere/Land"}}),
                json!({"spec": {"jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "OnFailure"}}}}}}),
                json!({"spec": {"schedule": null}}),
            ],
        ),
        (
            "autoscaler",
            AUTOSCALERS,
            named(
                json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}, "maxReplicas": 3}),
            ),
            vec![
                json!({"spec": {"scaleTargetRef": {"kind": "StatefulSet", "name": "s"}, "maxReplicas": 9}}),
                json!({"spec": {"minReplicas": 0}}),
                json!({"spec": {"minReplicas": 5}}),
                json!({"spec": {"scaleTargetRef": {"apiVersion": "v1", "kind": "Node"}}}),
                json!({"spec": {"behavior": {"scaleUp": {"selectPolicy": "Some"}}}}),
            ],
        ),
        (
            "budget",
            BUDGETS,
            named(json!({"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}})),
            vec![
                json!({"spec": {"selector": {"matchLabels": {"app": "b"}}, "minAvailable": "50%"}}),
                json!({"spec": {"maxUnavailable": 1}}),
                json!({"spec": {"maxUnavailable": "5%", "minAvailable": null}}),
                json!({"spec": {"minAvailable": "x"}}),
            ],
        ),
    ]
}

/// A Deployment that says the revision that the controller would write.
fn revised() -> Value {
    let mut object = idle(json!({}));
    if let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        meta.insert("annotations".into(), json!({"deployment.kubernetes.io/revision": "1"}));
    }
    object
}

fn claim(size: &str) -> Value {
    json!({"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}})
}

fn cron_job() -> Value {
    named(
        json!({"schedule": "@yearly", "suspend": true, "jobTemplate": {"spec": {"template": job_template(json!({}))}}}),
    )
}

fn pods() -> Vec<Case> {
    let change = |name: &str, spec: Value, changes: Vec<Value>| {
        let mut case =
            Case::new(&format!("workloads/change-pod{name}")).given(post(PODS, pod(spec)));
        for change in changes {
            case = case.compare(merge_patch(&one(PODS), json!({ "spec": change })));
        }
        case
    };
    vec![
        change("", json!({"activeDeadlineSeconds": 100, "initContainers": [{"name": "i", "image": "i:1"}]}), vec![
            json!({"containers": [container(), {"name": "d", "image": "i:1"}]}),
            json!({"initContainers": null}),
            json!({"hostNetwork": true, "nodeName": "n"}),
            json!({"dnsPolicy": "Default", "volumes": [{"name": "v", "emptyDir": {}}]}),
            json!({"terminationGracePeriodSeconds": 1}),
            json!({"activeDeadlineSeconds": 200}),
            json!({"activeDeadlineSeconds": null}),
            json!({"activeDeadlineSeconds": 50}),
            json!({"tolerations": [{"operator": "Exists"}]}),
            json!({"schedulingGates": [{"name": "g"}]}),
            json!({"containers": [{"name": "c", "image": " x"}]}),
            json!({"priority": 5}),
        ]),
        Case::new("workloads/change-pod-image")
            .given(post(PODS, pod(json!({}))))
            .compare(json_patch(&one(PODS), json!([{"op": "replace", "path": "/spec/containers/0/image", "value": "example.com/c:2"}])))
            .compare(json_patch(&one(PODS), json!([{"op": "add", "path": "/spec/tolerations/-", "value": {"key": "k", "operator": "Exists"}}])))
            .compare(json_patch(&one(PODS), json!([{"op": "replace", "path": "/spec/tolerations/0/tolerationSeconds", "value": 5}])))
            .compare(json_patch(&one(PODS), json!([{"op": "add", "path": "/spec/containers/0/env", "value": [{"name": "A", "value": "<&>"}]}])))
            .compare(json_patch(&one(PODS), json!([{"op": "add", "path": "/spec/containers/0/resources", "value": {"limits": {"cpu": "1"}}}])))
            .compare(json_patch(&one(PODS), json!([{"op": "replace", "path": "/metadata/labels", "value": {"a": "b"}}])))
            .compare(get(&one(PODS))),
        change("-gated", json!({"schedulingGates": [{"name": "g"}, {"name": "h"}], "nodeSelector": {"a": "b"}}), vec![
            json!({"nodeSelector": {"c": "d"}}),
            json!({"nodeSelector": {"a": "x"}}),
            json!({"schedulingGates": [{"name": "g"}]}),
            json!({"schedulingGates": [{"name": "g"}, {"name": "new"}]}),
            json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "Exists"}]}]}}}}),
            json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "z", "operator": "Exists"}]}]}}}}),
            json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}, {}]}}}}),
            json!({"schedulingGates": null}),
        ]),
        resized(),
        ephemeral(),
        Case::new("workloads/pod-status-may-not-change-class")
            .given(post(PODS, pod(json!({}))))
            .compare(merge_patch(&format!("{PODS}/a/status"), json!({"status": {"qosClass": "Guaranteed"}})))
            .compare(merge_patch(&format!("{PODS}/a/status"), json!({"status": {"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]}})))
            .compare(merge_patch(&format!("{PODS}/a/status"), json!({"status": {"conditions": [{"type": "a b", "status": "True"}]}}))),
    ]
}

fn resized() -> Case {
    let path = format!("{PODS}/a/resize");
    let to = |resources: Value| {
        let spec = json!({"containers": [{"name": "c", "resources": resources}]});
        strategic(&path, json!({ "spec": spec }))
    };
    Case::new("workloads/resize-pod")
        .given(post(
            PODS,
            pod(json!({"containers": [{"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]})),
        ))
        .compare(to(json!({"requests": {"cpu": "2"}})))
        .compare(to(json!({"requests": {"cpu": null}})))
        .compare(to(json!({"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "2"}})))
        .compare(to(json!({"requests": {"ephemeral-storage": "1Gi"}})))
        .compare(to(json!({"limits": {"cpu": "1"}})))
        .compare(strategic(&path, json!({"spec": {"containers": [{"name": "d", "image": "i:1"}]}})))
        .compare(strategic(&path, json!({"metadata": {"labels": {"a": "b"}}, "spec": {"hostNetwork": true}})))
        .compare(get(&one(PODS)))
}

fn ephemeral() -> Case {
    let path = format!("{PODS}/a/ephemeralcontainers");
    let with =
        |container: Value| strategic(&path, json!({"spec": {"ephemeralContainers": [container]}}));
    Case::new("workloads/ephemeral-containers")
        .given(post(PODS, pod(json!({}))))
        .compare(with(json!({"name": "c", "image": "i:1"})))
        .compare(with(json!({"name": "e", "image": "i:1", "targetContainerName": "c"})))
        .compare(with(json!({"name": "e", "image": "i:2"})))
        .compare(with(json!({"name": "f", "image": "i:1", "ports": [{"containerPort": 5}], "resources": {"limits": {"cpu": "1"}}, "targetContainerName": "x"})))
        .compare(merge_patch(&path, json!({"spec": {"ephemeralContainers": []}})))
        .compare(merge_patch(&one(PODS), json!({"spec": {"ephemeralContainers": null}})))
        .compare(get(&one(PODS)))
}

fn classes() -> Vec<Case> {
    let priority = format!("{PRIORITIES}/{{ns}}");
    let runtime = format!("{RUNTIMES}/{{ns}}");
    vec![
        Case::new("workloads/change-priority-class")
            .given(post(PRIORITIES, json!({"metadata": {"name": "{ns}"}, "value": 7})))
            .compare(merge_patch(&priority, json!({"value": 8})))
            .compare(merge_patch(&priority, json!({"preemptionPolicy": "Never"})))
            .compare(merge_patch(&priority, json!({"description": "d"})))
            .finally(delete(&priority)),
        Case::new("workloads/change-runtime-class")
            .given(post(RUNTIMES, json!({"metadata": {"name": "{ns}"}, "handler": "h"})))
            .compare(merge_patch(&runtime, json!({"handler": "i"})))
            .compare(merge_patch(&runtime, json!({"overhead": {"podFixed": {"memory": "1Mi"}}})))
            .compare(put(&runtime, json!({"metadata": {"name": "{ns}"}, "handler": "h"})))
            .finally(delete(&runtime)),
        Case::new("workloads/replace-budget-without-version")
            .given(post(BUDGETS, named(json!({"minAvailable": 1}))))
            .compare(put(&one(BUDGETS), named(json!({"minAvailable": 2})))),
    ]
}

fn generations() -> Case {
    let path = one(CRON_JOBS);
    Case::new("workloads/generation-moves-with-the-spec")
        .given(post(CRON_JOBS, cron_job()))
        .compare(merge_patch(&path, json!({"metadata": {"labels": {"a": "b"}}})))
        .compare(merge_patch(&path, json!({"spec": {"schedule": "@monthly"}})))
        .compare(merge_patch(&path, json!({"spec": {"schedule": "@monthly"}})))
        .compare(merge_patch(
            &path,
            json!({"status": {"lastScheduleTime": "2026-01-01T00:00:00Z"}}),
        ))
}
