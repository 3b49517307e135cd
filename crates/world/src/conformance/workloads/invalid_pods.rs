//! Pods that are refused, and why.

use serde_json::{Value, json};

use super::super::case::{Case, Request, post};
use super::{PODS, container, pod};

pub fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = groups()
        .into_iter()
        .map(|(name, specs)| {
            let requests = specs.into_iter().map(|spec| post(PODS, pod(spec)));
            Case::new(&format!("workloads/refuse-pod-{name}")).compare_all(requests)
        })
        .collect();
    cases.push(Case::new("workloads/refuse-pod-in-any-order").compare_all(
        unordered().into_iter().map(|spec| post(PODS, pod(spec)).causes_in_any_order()),
    ));
    cases.push(Case::new("workloads/refuse-pod-annotations").compare_all(annotated()));
    cases
}

/// A spec with one container of these fields.
fn with(mut container: Value) -> Value {
    super::fill(&mut container, "name", json!("c"));
    super::fill(&mut container, "image", json!("i:1"));
    json!({"containers": [container]})
}

fn groups() -> Vec<(&'static str, Vec<Value>)> {
    vec![
        (
            "containers",
            vec![
                json!({"containers": []}),
                json!({"containers": [{}]}),
                json!({"containers": [container(), container()], "initContainers": [container()]}),
                json!({"containers": [{"name": "A_b", "image": " x "}]}),
                with(json!({"imagePullPolicy": "Maybe", "terminationMessagePolicy": "Tell"})),
                with(
                    json!({"ports": [{"containerPort": 0}, {"name": "Bad--", "containerPort": 70000, "hostPort": -1, "protocol": "X"}, {"name": "a", "containerPort": 1}, {"name": "a", "containerPort": 1}]}),
                ),
                with(
                    json!({"ports": [{"containerPort": 1, "hostPort": 5}, {"containerPort": 2, "hostPort": 5}]}),
                ),
                json!({"initContainers": [{"name": "i", "image": "i:1", "lifecycle": {}, "livenessProbe": {"exec": {}}, "readinessProbe": {}, "startupProbe": {}}]}),
                json!({"ephemeralContainers": [{"name": "e", "image": "i:1", "targetContainerName": "x", "ports": [{"containerPort": 5}]}]}),
                with(
                    json!({"resizePolicy": [{"resourceName": "disk", "restartPolicy": "Maybe"}, {"resourceName": "cpu", "restartPolicy": ""}]}),
                ),
                with(
                    json!({"restartPolicy": "Perhaps", "restartPolicyRules": [{"action": "Stop"}]}),
                ),
            ],
        ),
        (
            "environment",
            vec![
                with(
                    json!({"env": [{}, {"name": "a=b"}, {"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}),
                ),
                with(
                    json!({"env": [{"name": "A", "valueFrom": {}}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "spec.nothing"}}}, {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels"}}}]}),
                ),
                with(
                    json!({"env": [{"name": "A", "valueFrom": {"fieldRef": {"apiVersion": "v9", "fieldPath": "metadata.name"}}}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name['x']"}}}, {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a b']"}}}]}),
                ),
                with(
                    json!({"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.gold"}}}, {"name": "B", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "2"}}}, {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "3"}}}]}),
                ),
                with(
                    json!({"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "A B", "key": ".."}}}, {"name": "B", "valueFrom": {"secretKeyRef": {"key": ""}}}]}),
                ),
                with(
                    json!({"env": [{"name": "A", "valueFrom": {"fileKeyRef": {"key": "", "path": "../x", "volumeName": "nope"}}}]}),
                ),
                with(
                    json!({"envFrom": [{}, {"prefix": "a=", "configMapRef": {"name": "m"}, "secretRef": {"name": ""}}]}),
                ),
            ],
        ),
        (
            "volumes",
            vec![
                json!({"volumes": [{"name": "a"}, {"name": "a"}, {"name": "B"}, {}]}),
                json!({"volumes": [{"name": "a", "emptyDir": {}, "hostPath": {"path": "/"}, "secret": {"secretName": "s"}, "downwardAPI": {}, "cephfs": {"monitors": ["m"]}}]}),
                json!({"volumes": [{"name": "a", "hostPath": {"path": "../x", "type": "Odd"}}, {"name": "b", "hostPath": {"path": ""}}]}),
                json!({"volumes": [{"name": "a", "secret": {"items": [{"key": "", "path": "/x"}, {"key": "k", "path": "..x", "mode": 9999}]}}, {"name": "b", "configMap": {"defaultMode": -1}}]}),
                json!({"volumes": [{"name": "a", "projected": {"sources": [{"secret": {}}, {"serviceAccountToken": {"path": "", "expirationSeconds": 5}}, {"configMap": {"name": "m", "items": [{"key": "k", "path": "p"}, {"key": "l", "path": "p"}]}, "secret": {"name": "s"}}]}}]}),
                json!({"volumes": [{"name": "a", "downwardAPI": {"items": [{"path": ""}, {"path": "x", "fieldRef": {"fieldPath": "status.podIP"}}, {"path": "y", "resourceFieldRef": {"resource": "limits.cpu"}}]}}]}),
                json!({"volumes": [{"name": "a", "persistentVolumeClaim": {"claimName": ""}}, {"name": "b", "csi": {"driver": ""}}, {"name": "c", "csi": {"driver": "A_b", "nodePublishSecretRef": {}}}, {"name": "d", "nfs": {"path": "x"}}]}),
                json!({"volumes": [{"name": "a", "ephemeral": {}}, {"name": "b", "ephemeral": {"volumeClaimTemplate": {"metadata": {"name": "x"}, "spec": {"accessModes": ["Some"]}}}}]}),
                json!({"volumes": [{"name": "a", "iscsi": {"iqn": "x", "lun": 300}}, {"name": "b", "rbd": {}}, {"name": "c", "fc": {}}, {"name": "d", "azureDisk": {"kind": "Odd"}}, {"name": "e", "glusterfs": {}}, {"name": "f", "flexVolume": {"options": {"a.k8s.io/x": ""}}}, {"name": "g", "quobyte": {"registry": "x"}}, {"name": "h", "gcePersistentDisk": {"partition": 999}}]}),
                json!({"volumes": [{"name": "a", "image": {"pullPolicy": "Odd"}}, {"name": "b", "emptyDir": {"sizeLimit": "-1"}}, {"name": "c", "gitRepo": {"directory": "/x"}}]}),
            ],
        ),
        (
            "mounts",
            vec![
                with(
                    json!({"volumeMounts": [{"name": "nope", "mountPath": "/x"}, {"name": "", "mountPath": ""}]}),
                ),
                json!({"volumes": [{"name": "v"}], "containers": [{"name": "c", "image": "i", "volumeMounts": [
                {"name": "v", "mountPath": "/x", "subPath": "/abs", "subPathExpr": "../y"}, {"name": "v", "mountPath": "/x", "mountPropagation": "Odd"}, {"name": "v", "mountPath": "/y", "recursiveReadOnly": "Enabled"}, {"name": "v", "mountPath": "/z", "mountPropagation": "Bidirectional"}]}]}),
                json!({"volumes": [{"name": "v"}, {"name": "p", "persistentVolumeClaim": {"claimName": "p"}}], "containers": [{"name": "c", "image": "i", "volumeMounts": [{"name": "p", "mountPath": "/d"}],
                "volumeDevices": [{"name": "v", "devicePath": "/a"}, {"name": "p", "devicePath": "/d"}, {"name": "p", "devicePath": "/../x"}, {"name": "q", "devicePath": ""}]}]}),
            ],
        ),
        (
            "probes",
            vec![
                with(
                    json!({"livenessProbe": {}, "readinessProbe": {"httpGet": {"port": 0, "scheme": "FTP"}, "terminationGracePeriodSeconds": 5}, "startupProbe": {"exec": {}, "successThreshold": 2, "periodSeconds": -1, "terminationGracePeriodSeconds": 0}}),
                ),
                with(
                    json!({"livenessProbe": {"exec": {"command": ["x"]}, "tcpSocket": {"port": "BAD"}}, "lifecycle": {"preStop": {"sleep": {"seconds": 100}}, "postStart": {"httpGet": {"port": 70000, "httpHeaders": [{"name": "a b", "value": ""}]}}}}),
                ),
                with(
                    json!({"livenessProbe": {"grpc": {"port": 0}, "initialDelaySeconds": -1, "timeoutSeconds": -1, "failureThreshold": -1}}),
                ),
            ],
        ),
        (
            "security",
            vec![
                json!({"securityContext": {"runAsUser": -1, "fsGroup": -1, "runAsGroup": 3_000_000_000_i64, "supplementalGroups": [-5], "fsGroupChangePolicy": "Odd", "supplementalGroupsPolicy": "Odd", "seLinuxChangePolicy": "Odd"}}),
                json!({"hostPID": true, "shareProcessNamespace": true, "hostNetwork": true, "hostIPC": true, "securityContext": {"sysctls": [{"name": "net.x", "value": ""}, {"name": "kernel.shm_x", "value": ""}, {"name": "A", "value": ""}, {"name": "a", "value": ""}, {"name": "a", "value": ""}]}}),
                json!({"securityContext": {"seccompProfile": {"type": "Odd", "localhostProfile": "x"}, "appArmorProfile": {"type": "Localhost"}, "windowsOptions": {"runAsUserName": "a\\b\\c", "gmsaCredentialSpec": ""}}}),
                with(
                    json!({"securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"add": ["CAP_SYS_ADMIN"]}, "procMount": "Odd", "runAsUser": -1, "seccompProfile": {"type": "Localhost"}, "appArmorProfile": {}}}),
                ),
                with(
                    json!({"securityContext": {"procMount": "Unmasked", "seccompProfile": {"type": "Localhost", "localhostProfile": "/x"}, "appArmorProfile": {"type": "RuntimeDefault", "localhostProfile": "x"}}}),
                ),
                json!({"os": {"name": "windows"}, "hostPID": true, "securityContext": {"fsGroup": 5}, "containers": [{"name": "c", "image": "i", "securityContext": {"runAsUser": 5, "capabilities": {}}}]}),
                json!({"os": {"name": "linux"}, "securityContext": {"windowsOptions": {"runAsUserName": "x"}}}),
                json!({"os": {"name": "plan9"}, "hostUsers": false, "hostNetwork": true, "hostIPC": true}),
            ],
        ),
        (
            "placement",
            vec![
                json!({"nodeSelector": {"a b": "c d"}, "nodeName": "A_B", "schedulingGates": [{"name": "a b"}, {"name": "x"}, {"name": "x"}], "readinessGates": [{"conditionType": ""}]}),
                json!({"nodeName": "n", "schedulingGates": [{"name": "x"}]}),
                json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}, "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 0, "preference": {"matchFields": [{"key": "x", "operator": "Exists"}]}}]}}}),
                json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "In"}, {"key": "k", "operator": "Exists", "values": ["x"]}, {"key": "k", "operator": "Gt", "values": []}, {"key": "", "operator": "Odd", "values": ["a b"]}], "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "B"]}]}]}}}}),
                json!({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"namespaces": ["A"], "matchLabelKeys": ["x"]}], "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 200, "podAffinityTerm": {"topologyKey": "a b", "labelSelector": {"matchLabels": {"-": ""}}, "matchLabelKeys": ["k"], "mismatchLabelKeys": ["k"]}}]}}}),
                json!({"topologySpreadConstraints": [{"maxSkew": 0, "whenUnsatisfiable": "Odd", "minDomains": 0}, {"maxSkew": 1, "topologyKey": "t", "whenUnsatisfiable": "ScheduleAnyway", "nodeAffinityPolicy": "Odd", "matchLabelKeys": ["a"]}, {"maxSkew": 1, "topologyKey": "t", "whenUnsatisfiable": "ScheduleAnyway"}]}),
                json!({"tolerations": [{"key": "a b"}, {"operator": "Equal"}, {"key": "k", "operator": "Exists", "value": "x", "effect": "Odd"}, {"key": "k", "operator": "Gt", "value": "1"}, {"key": "k", "operator": "Odd", "tolerationSeconds": 5}, {"key": "k", "value": "a b"}]}),
            ],
        ),
        (
            "rest",
            vec![
                json!({"restartPolicy": "Odd", "dnsPolicy": "Odd", "preemptionPolicy": "PreemptLowerPriority", "activeDeadlineSeconds": 0, "hostname": "A", "subdomain": "a.b", "serviceAccountName": "A", "runtimeClassName": "A_"}),
                json!({"dnsPolicy": "None"}),
                json!({"dnsPolicy": "None", "dnsConfig": {}}),
                json!({"dnsConfig": {"nameservers": ["x", "1.1.1.1", "1.1.1.2", "01.1.1.1"], "searches": ["A"], "options": [{}]}}),
                json!({"hostAliases": [{"ip": "x", "hostnames": ["A_"]}], "hostnameOverride": "A", "setHostnameAsFQDN": true}),
                json!({"hostNetwork": true, "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 5, "hostPort": 6}]}]}),
                json!({"resourceClaims": [{"name": "a"}, {"name": "a", "resourceClaimName": "x"}, {"resourceClaimName": "X", "resourceClaimTemplateName": "y"}], "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "a"}, {"name": "a"}, {"name": "z"}, {}]}}]}),
                json!({"terminationGracePeriodSeconds": -5, "volumes": [{"name": "t", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]}),
                json!({"priorityClassName": "nothing-like-it"}),
                json!({"priority": 5}),
                json!({"preemptionPolicy": "Never"}),
                with(json!({"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}})),
                with(json!({"resources": {"limits": {"gold": "1"}}})),
                with(json!({"resources": {"requests": {"example.com/x": "1"}}})),
                with(json!({"resources": {"limits": {"example.com/x": "1.5"}}})),
                with(json!({"resources": {"limits": {"hugepages-2Mi": "3Mi"}}})),
                json!({"resources": {"limits": {"ephemeral-storage": "1"}}}),
                json!({"resources": {"requests": {"cpu": "1"}}, "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}]}),
            ],
        ),
    ]
}

fn unordered() -> Vec<Value> {
    vec![
        with(
            json!({"resources": {"limits": {"cpu": "-1", "memory": "-2"}, "requests": {"silver": "1"}}}),
        ),
        json!({"nodeSelector": {"a b": "x", "c": "-"}}),
    ]
}

fn annotated() -> Vec<Request> {
    [
        json!({"controller.kubernetes.io/pod-deletion-cost": "x"}),
        json!({"kubernetes.io/config.mirror": "x"}),
        json!({"seccomp.security.alpha.kubernetes.io/pod": "odd"}),
        json!({"container.apparmor.security.beta.kubernetes.io/other": "runtime/default"}),
    ]
    .into_iter()
    .map(|annotations| {
        let mut body = pod(json!({}));
        if let Some(meta) = body.get_mut("metadata").and_then(Value::as_object_mut) {
            meta.insert("annotations".into(), annotations);
        }
        post(PODS, body)
    })
    .collect()
}
