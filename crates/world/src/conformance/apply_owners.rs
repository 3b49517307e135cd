//! Who owns what after a create: one object of most kinds, with its defaults.
//!
//! The creator owns every field it set or left to a default, but not the structs that the kind always
//! has, so the answers show whether the simulated server knows which those are.

use serde_json::{Value, json};

use super::case::{Case, Request, delete, post};

fn created(path: &str, body: Value) -> Request {
    post(path, body).manager("maker")
}

/// A namespaced object of the name `a`.
fn one(name: &str, group: &str, plural: &str, body: Value) -> Case {
    let path = match group {
        "v1" => format!("/api/v1/namespaces/{{ns}}/{plural}"),
        group => format!("/apis/{group}/namespaces/{{ns}}/{plural}"),
    };
    Case::new(&format!("apply/owners-of-{name}")).compare(created(&path, named(body, "a")))
}

/// A cluster-scoped object named after the case.
fn wide(name: &str, group: &str, plural: &str, body: Value) -> Case {
    let path = match group {
        "v1" => format!("/api/v1/{plural}"),
        group => format!("/apis/{group}/{plural}"),
    };
    Case::new(&format!("apply/owners-of-{name}"))
        .compare(created(&path, named(body, "{ns}-o")))
        .finally(delete(&format!("{path}/{{ns}}-o")))
}

fn named(mut body: Value, name: &str) -> Value {
    if body["metadata"].is_null() {
        body["metadata"] = json!({});
    }
    body["metadata"]["name"] = Value::from(name);
    body
}

/// Cases of ownership after a create.
pub fn cases() -> Vec<Case> {
    let pod = json!({"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "name": "p"}],
        "readinessProbe": {"httpGet": {"path": "/", "port": 80}}, "securityContext": {"runAsUser": 1},
        "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}], "envFrom": [{"configMapRef": {"name": "m"}}],
        "volumeMounts": [{"name": "v", "mountPath": "/v"}]}],
        "initContainers": [{"name": "i", "image": "i"}],
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "p"}}, {"name": "w", "secret": {"secretName": "s"}},
            {"name": "x", "projected": {"sources": [{"configMap": {"name": "m"}}]}}],
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "k", "labelSelector": {"matchLabels": {"a": "b"}}}]}},
        "tolerations": [{"key": "a", "operator": "Exists"}], "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "k", "whenUnsatisfiable": "ScheduleAnyway"}],
        "hostAliases": [{"ip": "1.1.1.1", "hostnames": ["h"]}], "imagePullSecrets": [{"name": "s"}]});
    let never = {
        let mut pod = pod.clone();
        pod["restartPolicy"] = json!("Never");
        pod
    };
    let template =
        json!({"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}, "spec": pod});
    let selector = json!({"matchLabels": {"a": "b"}});
    let claim = json!({"accessModes": ["ReadWriteOnce"], "storageClassName": "none", "resources": {"requests": {"storage": "1Gi"}}});
    let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nothings"]});
    let hook = json!([{"name": "h.ex.dev", "clientConfig": {"url": "https://127.0.0.1:1/"}, "rules": [rule], "sideEffects": "None",
        "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore", "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "{ns}"}}}]);
    vec![
        one("a-pod-template", "v1", "podtemplates", json!({"template": template})),
        one("a-replication-controller", "v1", "replicationcontrollers", json!({"spec": {"replicas": 0, "selector": {"a": "b"}, "template": template}})),
        one("a-replica-set", "apps/v1", "replicasets", json!({"spec": {"replicas": 0, "selector": selector, "template": template}})),
        one("a-deployment", "apps/v1", "deployments", json!({"spec": {"replicas": 0, "paused": true, "selector": selector, "template": template}})),
        one("a-stateful-set", "apps/v1", "statefulsets", json!({"spec": {"replicas": 0, "serviceName": "s", "selector": selector, "template": template,
            "volumeClaimTemplates": [{"metadata": {"name": "v"}, "spec": claim}]}})),
        one("a-daemon-set", "apps/v1", "daemonsets", json!({"spec": {"selector": selector, "template": template}})),
        one("a-controller-revision", "apps/v1", "controllerrevisions", json!({"revision": 1, "data": {"a": {"b": 1}}})),
        one("a-job", "batch/v1", "jobs", json!({"spec": {"suspend": true, "template": {"spec": never}}})),
        one("a-cron-job", "batch/v1", "cronjobs", json!({"spec": {"schedule": "0 0 1 1 *", "suspend": true, "jobTemplate": {"spec": {"template": {"spec": never}}}}})),
        one("an-autoscaler", "autoscaling/v2", "horizontalpodautoscalers", json!({"spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"},
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}]}})),
        one("a-disruption-budget", "policy/v1", "poddisruptionbudgets", json!({"spec": {"minAvailable": "50%", "selector": selector}})),
        one("a-claim", "v1", "persistentvolumeclaims", json!({"spec": claim})),
        one("a-quota", "v1", "resourcequotas", json!({"spec": {"hard": {"pods": "4"}}})),
        one("a-limit-range", "v1", "limitranges", json!({"spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}}]}})),
        one("a-secret", "v1", "secrets", json!({"data": {"a": "eA=="}, "type": "ex.dev/x"})),
        one("a-service-account", "v1", "serviceaccounts", json!({"automountServiceAccountToken": false, "imagePullSecrets": [{"name": "s"}]})),
        one("endpoints", "v1", "endpoints", json!({"subsets": [{"addresses": [{"ip": "1.2.3.4"}], "ports": [{"port": 80}]}]})),
        one("an-endpoint-slice", "discovery.k8s.io/v1", "endpointslices", json!({"addressType": "IPv4", "endpoints": [{"addresses": ["1.2.3.4"]}], "ports": [{"port": 80}]})),
        one("an-event", "v1", "events", json!({"involvedObject": {"kind": "Pod", "name": "p", "namespace": "{ns}"}, "reason": "R", "message": "m", "type": "Normal",
            "firstTimestamp": "2024-01-01T00:00:00Z", "lastTimestamp": "2024-01-01T00:00:00Z", "count": 1, "source": {"component": "c"}})),
        one("a-new-event", "events.k8s.io/v1", "events", json!({"regarding": {"kind": "Pod", "name": "p", "namespace": "{ns}"}, "reason": "R", "note": "m", "type": "Normal", "action": "A",
            "eventTime": "2024-01-01T00:00:00.000000Z", "reportingController": "c.d/e", "reportingInstance": "i"})),
        one("a-lease", "coordination.k8s.io/v1", "leases", json!({"spec": {"holderIdentity": "x", "renewTime": "2024-01-01T00:00:00.000000Z"}})),
        one("an-ingress", "networking.k8s.io/v1", "ingresses", json!({"spec": {"ingressClassName": "c", "tls": [{"hosts": ["a.b"], "secretName": "s"}], "defaultBackend": {"service": {"name": "s", "port": {"name": "http"}}}}})),
        one("a-network-policy", "networking.k8s.io/v1", "networkpolicies", json!({"spec": {"podSelector": {}, "ingress": [{"from": [{"podSelector": selector}], "ports": [{"port": 80}]}]}})),
        one("a-role", "rbac.authorization.k8s.io/v1", "roles", json!({"rules": []})),
        one("a-role-binding", "rbac.authorization.k8s.io/v1", "rolebindings", json!({"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"},
            "subjects": [{"kind": "ServiceAccount", "name": "s", "namespace": "{ns}"}]})),
        wide("a-namespace", "v1", "namespaces", json!({"metadata": {"labels": {"a": "b"}}})),
        wide("a-node", "v1", "nodes", json!({"spec": {"podCIDR": "10.9.9.0/24", "unschedulable": true, "taints": [{"key": "a", "effect": "NoSchedule"}]}})),
        wide("a-volume", "v1", "persistentvolumes", json!({"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "none",
            "csi": {"driver": "d.ex.dev", "volumeHandle": "h"}}})),
        wide("a-storage-class", "storage.k8s.io/v1", "storageclasses", json!({"provisioner": "p.ex.dev", "parameters": {"a": "b"}})),
        wide("a-csi-driver", "storage.k8s.io/v1", "csidrivers", json!({"spec": {"attachRequired": false}})),
        wide("a-cluster-role", "rbac.authorization.k8s.io/v1", "clusterroles", json!({"rules": [{"nonResourceURLs": ["/x"], "verbs": ["get"]}],
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"nothing": "{ns}"}}]}})),
        wide("a-cluster-role-binding", "rbac.authorization.k8s.io/v1", "clusterrolebindings", json!({"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "none"},
            "subjects": [{"kind": "User", "name": "u"}]})),
        wide("a-priority-class", "scheduling.k8s.io/v1", "priorityclasses", json!({"value": 5})),
        wide("an-ingress-class", "networking.k8s.io/v1", "ingressclasses", json!({"spec": {"controller": "c.d/e"}})),
        wide("a-runtime-class", "node.k8s.io/v1", "runtimeclasses", json!({"handler": "h"})),
        wide("a-validating-webhook", "admissionregistration.k8s.io/v1", "validatingwebhookconfigurations", json!({"webhooks": hook})),
        wide("a-mutating-webhook", "admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations", json!({"webhooks": hook})),
        wide("a-validating-policy", "admissionregistration.k8s.io/v1", "validatingadmissionpolicies", json!({"spec": {
            "matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "true"}]}})),
        wide("a-policy-binding", "admissionregistration.k8s.io/v1", "validatingadmissionpolicybindings", json!({"spec": {
            "policyName": "none", "validationActions": ["Audit"]}})),
        Case::new("apply/owners-of-a-definition")
            .compare(created("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json!({
                "metadata": {"name": "things.{ns}.ex.dev"},
                "spec": {"group": "{ns}.ex.dev", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
                    "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]},
            })))
            .finally(delete("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.{ns}.ex.dev")),
    ]
}
