//! Objects as they come back from being created.

use serde_json::{Value, json};

use super::super::case::{Case, delete, get, post};
use super::{
    AUTOSCALERS, AUTOSCALERS_V1, BUDGETS, CONTROLLERS, CRON_JOBS, DAEMON_SETS, DEPLOYMENTS, JOBS,
    PODS, PRIORITIES, REPLICA_SETS, REVISIONS, RUNTIMES, STATEFUL_SETS, TEMPLATES, container, idle,
    job, job_template, named, one, pod, template, workload,
};

pub fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = table()
        .into_iter()
        .map(|(name, collection, body)| {
            Case::new(&format!("workloads/default-{name}")).compare(post(collection, body))
        })
        .collect();
    cases.extend([
        Case::new("workloads/default-priority-class")
            .compare(post(PRIORITIES, json!({"metadata": {"name": "{ns}"}, "value": 7, "description": ""})))
            .compare(post(PODS, pod(json!({"priorityClassName": "{ns}"}))))
            .compare(get(&format!("{PRIORITIES}/{{ns}}")))
            .finally(delete(&format!("{PRIORITIES}/{{ns}}"))),
        Case::new("workloads/default-runtime-class")
            .compare(post(
                RUNTIMES,
                json!({"metadata": {"name": "{ns}"}, "handler": "h", "overhead": {"podFixed": {"cpu": "0.5"}}}),
            ))
            .finally(delete(&format!("{RUNTIMES}/{{ns}}"))),
        Case::new("workloads/autoscaler-in-both-versions")
            .compare(post(AUTOSCALERS_V1, autoscaler(json!({"targetCPUUtilizationPercentage": 60}))).dry_run())
            .compare(post(AUTOSCALERS_V1, autoscaler(json!({}))).dry_run())
            .compare(post(AUTOSCALERS, autoscaler(json!({"metrics": [
                {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 40}}}]}))))
            .compare(get(&one(AUTOSCALERS_V1)).ignoring("/status").ignoring("/metadata/annotations")),
    ]);
    cases
}

fn autoscaler(mut more: Value) -> Value {
    let spec = json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}, "maxReplicas": 3});
    if let (Some(map), Some(base)) = (more.as_object_mut(), spec.as_object()) {
        map.extend(base.clone());
    }
    named(more)
}

fn table() -> Vec<(&'static str, &'static str, Value)> {
    let mut cases = vec![
        ("pod", PODS, pod(json!({}))),
        (
            "pod-latest",
            PODS,
            pod(
                json!({"containers": [{"name": "c", "image": "nginx"}, {"name": "d", "image": "a/b@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}]}),
            ),
        ),
        ("pod-account", PODS, pod(json!({"serviceAccount": "x"}))),
        (
            "pod-resources",
            PODS,
            pod(json!({"containers": [
            {"name": "c", "image": "i:1", "resources": {"limits": {"cpu": "0.5", "memory": "1024Mi", "example.com/x": 2}, "requests": {"memory": "1e3"}}},
            {"name": "d", "image": "i:1", "resources": {"requests": {"cpu": 1}}}]})),
        ),
        (
            "pod-guaranteed",
            PODS,
            pod(json!({"containers": [
            {"name": "c", "image": "i:1", "resources": {"limits": {"cpu": "100m", "memory": "1Gi"}}}]})),
        ),
        (
            "pod-level-resources",
            PODS,
            pod(json!({"resources": {"limits": {"cpu": "2", "memory": "2Gi"}}, "containers": [
            {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "500m"}}}]})),
        ),
        (
            "pod-host-network",
            PODS,
            pod(json!({"hostNetwork": true, "containers": [
            {"name": "c", "image": "i:1", "ports": [{"containerPort": 80}, {"name": "u", "containerPort": 81, "protocol": "UDP"}]}]})),
        ),
        ("pod-gated", PODS, pod(json!({"schedulingGates": [{"name": "example.com/wait"}]}))),
        (
            "pod-tolerations",
            PODS,
            pod(json!({"tolerations": [{"operator": "Exists", "effect": "NoExecute"}]})),
        ),
        (
            "pod-empty-fields",
            PODS,
            pod(
                json!({"volumes": [], "nodeSelector": {}, "hostPID": false, "affinity": {}, "containers": [
            {"name": "c", "image": "i:1", "env": [{"name": "A", "value": ""}], "args": [], "tty": false, "securityContext": {}}]}),
            ),
        ),
        ("pod-probes", PODS, pod(probes())),
        ("pod-environment", PODS, pod(environment())),
        ("pod-volumes", PODS, pod(volumes())),
        ("pod-old-volumes", PODS, pod(old_volumes())),
        ("pod-affinity", PODS, affinity()),
        (
            "pod-security",
            PODS,
            pod(json!({
            "hostUsers": true, "shareProcessNamespace": false, "os": {"name": "linux"}, "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["h"]}],
            "securityContext": {"runAsUser": 0, "fsGroup": 5, "supplementalGroups": [], "seccompProfile": {"type": "RuntimeDefault"}, "sysctls": [{"name": "net.a", "value": ""}]},
            "containers": [{"name": "c", "image": "i:1", "securityContext": {"runAsNonRoot": false, "capabilities": {"drop": ["ALL"]}, "appArmorProfile": {"type": "Unconfined"}}}]})),
        ),
        (
            "pod-sidecar",
            PODS,
            pod(json!({"initContainers": [
            {"name": "i", "image": "i:1"}, {"name": "s", "image": "i:1", "restartPolicy": "Always", "startupProbe": {"grpc": {"port": 5}}}],
            "dnsPolicy": "None", "dnsConfig": {"nameservers": ["1.1.1.1"], "searches": ["a_b.", "."]}})),
        ),
        (
            "pod-disabled-features",
            PODS,
            pod(json!({"os": {"name": "linux"}, "containers": [
            {"name": "c", "image": "i:1", "lifecycle": {"stopSignal": "SIGTERM", "preStop": {"sleep": {"seconds": 0}}}}]})),
        ),
        (
            "pod-apparmor-annotation",
            PODS,
            json!({"metadata": {"name": "a", "annotations": {"container.apparmor.security.beta.kubernetes.io/c": "runtime/default"}},
            "spec": {"schedulerName": "nobody", "containers": [container()]}}),
        ),
        (
            "pod-template",
            TEMPLATES,
            json!({"metadata": {"name": "a"}, "template": template(json!({}))}),
        ),
        (
            "replication-controller",
            CONTROLLERS,
            named(json!({"replicas": 0, "template": template(json!({}))})),
        ),
        ("replica-set", REPLICA_SETS, workload(json!({"minReadySeconds": 0}))),
        ("deployment", DEPLOYMENTS, workload(json!({}))),
        (
            "deployment-recreate",
            DEPLOYMENTS,
            idle(json!({"strategy": {"type": "Recreate"}, "paused": true})),
        ),
        (
            "deployment-strategy",
            DEPLOYMENTS,
            idle(
                json!({"strategy": {"rollingUpdate": {"maxSurge": 0}}, "revisionHistoryLimit": 0}),
            ),
        ),
        (
            "deployment-status-is-dropped",
            DEPLOYMENTS,
            json!({"metadata": {"name": "a", "generation": 7}, "status": {"replicas": 4},
            "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "a"}}, "template": template(json!({}))}}),
        ),
        ("stateful-set", STATEFUL_SETS, idle(json!({}))),
        (
            "stateful-set-claims",
            STATEFUL_SETS,
            idle(json!({"serviceName": "s", "volumeClaimTemplates": [
            {"metadata": {"name": "data", "labels": {"l": "v"}}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}}],
            "template": template(json!({"containers": [{"name": "c", "image": "i:1", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}]}))})),
        ),
        (
            "stateful-set-strategies",
            STATEFUL_SETS,
            idle(
                json!({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}, "ordinals": {"start": 3},
            "persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"}, "podManagementPolicy": "Parallel"}),
            ),
        ),
        (
            "stateful-set-on-delete",
            STATEFUL_SETS,
            idle(json!({"updateStrategy": {"type": "OnDelete"}})),
        ),
        ("daemon-set", DAEMON_SETS, workload(json!({}))),
        (
            "daemon-set-on-delete",
            DAEMON_SETS,
            workload(json!({"updateStrategy": {"type": "OnDelete"}})),
        ),
        (
            "controller-revision",
            REVISIONS,
            json!({"metadata": {"name": "a"}, "revision": 3, "data": {"b": {}, "a": [1]}}),
        ),
        ("job", JOBS, job(json!({}))),
        (
            "job-indexed",
            JOBS,
            job(
                json!({"completionMode": "Indexed", "completions": 3, "backoffLimitPerIndex": 1, "successPolicy": {"rules": [{"succeededIndexes": "0,2"}]}}),
            ),
        ),
        (
            "job-failure-policy",
            JOBS,
            job(
                json!({"parallelism": 2, "podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}}),
            ),
        ),
        (
            "job-manual-selector",
            JOBS,
            job(json!({"manualSelector": true, "selector": {"matchLabels": {"app": "a"}}})),
        ),
        (
            "job-own-labels",
            JOBS,
            json!({"metadata": {"name": "a", "labels": {"own": "1"}}, "spec": {"suspend": true, "managedBy": "example.com/nobody", "template": job_template(json!({}))}}),
        ),
        (
            "cron-job",
            CRON_JOBS,
            named(
                json!({"schedule": "@yearly", "jobTemplate": {"spec": {"template": job_template(json!({}))}}}),
            ),
        ),
        (
            "cron-job-zone",
            CRON_JOBS,
            named(
                json!({"schedule": "0 0 1 jan ?", "timeZone": "Europe/Berlin", "suspend": true, "jobTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": {"backoffLimit": 0, "template": job_template(json!({}))}}}),
            ),
        ),
        ("autoscaler", AUTOSCALERS, autoscaler(json!({}))),
        (
            "autoscaler-behavior",
            AUTOSCALERS,
            autoscaler(
                json!({"behavior": {"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 5}]}, "scaleDown": {"tolerance": "0.05"}}}),
            ),
        ),
        (
            "autoscaler-metrics",
            AUTOSCALERS,
            autoscaler(json!({"minReplicas": 2, "metrics": [
            {"type": "Pods", "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "1.5"}}},
            {"type": "External", "external": {"metric": {"name": "e", "selector": {"matchLabels": {"a": "b"}}}, "target": {"type": "Value", "value": "2k"}}}]})),
        ),
        (
            "budget",
            BUDGETS,
            named(json!({"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}})),
        ),
        ("pod-warnings", PODS, pod(warned())),
        (
            "deployment-warnings",
            DEPLOYMENTS,
            json!({"metadata": {"name": "a.b"}, "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "a"}}, "template": template(warned())}}),
        ),
        ("job-warnings", JOBS, job(json!({"template": job_template(warned())}))),
        ("budget-empty", BUDGETS, named(json!({}))),
    ];
    cases.extend(all_in_one());
    cases
}

/// One object with every list empty, and one whose numbers are written as fractions.
fn all_in_one() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        (
            "deployment-annotations",
            DEPLOYMENTS,
            json!({"metadata": {"name": "a", "annotations": {"x": "y"}, "labels": {}}, "spec": {
            "replicas": 0, "progressDeadlineSeconds": 30, "minReadySeconds": 5, "selector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]},
            "template": {"metadata": {"labels": {"app": "b"}, "annotations": {"k": "v"}}, "spec": {"containers": [container()], "terminationGracePeriodSeconds": 0}}}}),
        ),
        (
            "job-template-of-cron-job-keeps-silent",
            CRON_JOBS,
            named(
                json!({"schedule": "* * 29 2 *", "concurrencyPolicy": "Forbid", "successfulJobsHistoryLimit": 0, "jobTemplate": {"spec": {"completions": 2, "template": job_template(json!({}))}}}),
            ),
        ),
    ]
}

fn probes() -> Value {
    json!({"containers": [{
        "name": "c", "image": "i:1",
        "livenessProbe": {"httpGet": {"port": 8080}},
        "readinessProbe": {"tcpSocket": {"port": "web"}, "periodSeconds": 3},
        "startupProbe": {"exec": {"command": ["true"]}, "failureThreshold": 30, "terminationGracePeriodSeconds": 5},
        "lifecycle": {"postStart": {"httpGet": {"path": "p", "port": 1, "httpHeaders": [{"name": "A", "value": ""}]}}, "preStop": {"exec": {"command": ["x"]}}}
    }]})
}

fn environment() -> Value {
    json!({
        "volumes": [{"name": "files"}],
        "containers": [{"name": "c", "image": "i:1",
            "envFrom": [{"configMapRef": {"name": "m"}}, {"prefix": "P_", "secretRef": {"name": "s", "optional": true}}],
            "env": [
                {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['x']"}}},
                {"name": "B", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
                {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1024Ki"}}},
                {"name": "D", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}},
                {"name": "E", "valueFrom": {"fileKeyRef": {"volumeName": "files", "path": "p", "key": "K"}}}
            ]}]
    })
}

fn volumes() -> Value {
    json!({
        "serviceAccountName": "s",
        "volumes": [
            {"name": "none"},
            {"name": "empty", "emptyDir": {"sizeLimit": "1.5Gi", "medium": ""}},
            {"name": "host", "hostPath": {"path": "/x"}},
            {"name": "secret", "secret": {"secretName": "s", "items": [{"key": "k", "path": "p"}]}},
            {"name": "config", "configMap": {"name": "m", "defaultMode": 256}},
            {"name": "downward", "downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
            {"name": "projected", "projected": {"sources": [
                {"serviceAccountToken": {"path": "token"}},
                {"configMap": {"name": "m"}},
                {"downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}, {"path": "c", "resourceFieldRef": {"containerName": "c", "resource": "limits.cpu"}}]}}]}},
            {"name": "claim", "persistentVolumeClaim": {"claimName": "c", "readOnly": false}},
            {"name": "ephemeral", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}},
            {"name": "csi", "csi": {"driver": "d.example.com"}},
            {"name": "image", "image": {"reference": "i:1"}},
            {"name": "nfs", "nfs": {"server": "s", "path": "/p"}}
        ],
        "containers": [{"name": "c", "image": "i:1", "volumeMounts": [{"name": "empty", "mountPath": "/e"}, {"name": "secret", "mountPath": "/s", "subPath": "x", "readOnly": true}]}]
    })
}

fn warned() -> Value {
    json!({
        "nodeSelector": {"beta.kubernetes.io/os": "linux"}, "terminationGracePeriodSeconds": -1,
        "imagePullSecrets": [{"name": "s"}, {"name": "s"}, {}], "hostAliases": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.1"}],
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "failure-domain.beta.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}],
        "volumes": [{"name": "v", "secret": {"secretName": "s", "items": [{"key": "a", "path": "p"}, {"key": "b", "path": "p/q"}]}},
            {"name": "w", "projected": {"sources": [{"configMap": {"name": "m", "items": [{"key": "a", "path": "p"}]}}, {"secret": {"name": "s", "items": [{"key": "a", "path": "p/x"}]}}]}}],
        "containers": [{"name": "c", "image": "i:1",
            "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "$(A)2"}, {"name": "A", "value": "3"}],
            "ports": [{"name": "w", "containerPort": 80}, {"name": "x", "containerPort": 80, "hostPort": 8}, {"containerPort": 80}],
            "resources": {"limits": {"memory": "100m"}}}]
    })
}

fn old_volumes() -> Value {
    json!({"volumes": [
        {"name": "iscsi", "iscsi": {"targetPortal": "t", "iqn": "iqn.2001-04.com.example:s", "lun": 0}},
        {"name": "rbd", "rbd": {"monitors": ["m"], "image": "i"}},
        {"name": "azure", "azureDisk": {"diskName": "d", "diskURI": "https://x"}},
        {"name": "ceph", "cephfs": {"monitors": ["m"]}},
        {"name": "gce", "gcePersistentDisk": {"pdName": "p"}},
        {"name": "aws", "awsElasticBlockStore": {"volumeID": "v"}},
        {"name": "git", "gitRepo": {"repository": "r"}},
        {"name": "gluster", "glusterfs": {"endpoints": "e", "path": "p"}},
        {"name": "flex", "flexVolume": {"driver": "d"}},
        {"name": "fc", "fc": {"wwids": ["w"]}},
        {"name": "cinder", "cinder": {"volumeID": "v"}}
    ]})
}

fn affinity() -> Value {
    json!({"metadata": {"name": "a", "labels": {"app": "a", "hash": "1"}}, "spec": {
        "schedulerName": "nobody", "containers": [container()],
        "affinity": {
            "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {"matchExpressions": [{"key": "k", "operator": "Exists"}]}}]},
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "t", "labelSelector": {"matchLabels": {"app": "a"}}, "matchLabelKeys": ["hash"], "mismatchLabelKeys": ["app"]}],
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm": {"topologyKey": "t"}}]}},
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "t", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}, "matchLabelKeys": ["hash", "none"]}]
    }})
}
