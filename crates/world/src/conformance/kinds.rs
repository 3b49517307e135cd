//! What a new object of each built-in kind is filled with, and what a bad one is refused for.

use serde_json::{Value, json};

use super::case::{Case, delete, get, merge_patch, post};

/// Where a kind's objects live and what the smallest of them says.
pub(super) struct Sample {
    /// Lower-case kind.
    pub name: &'static str,
    /// Path of the collection.
    pub path: &'static str,
    /// Name of the object.
    pub object: &'static str,
    /// The object without its metadata.
    pub body: fn() -> Value,
}

impl Sample {
    pub(super) fn object(&self) -> Value {
        let mut object = (self.body)();
        object["metadata"] = json!({ "name": self.object });
        object
    }

    pub(super) fn item(&self) -> String {
        format!("{}/{}", self.path, self.object)
    }

    /// A case that begins with this object and, if it is the cluster's, ends without it.
    pub(super) fn case(&self, name: &str) -> Case {
        let case = Case::new(name);
        if self.path.contains("/namespaces/{ns}/") {
            case
        } else {
            case.finally(delete(&self.item()))
        }
    }
}

fn hooks() -> Value {
    json!({"webhooks": [{
        "name": "w.holdfast.dev", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": "s", "namespace": "{ns}"}},
        "namespaceSelector": {"matchLabels": {"no": "such"}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["nothings"], "operations": ["CREATE"]}],
    }]})
}

fn devices() -> Value {
    json!({"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}})
}

/// One object of every kind that is not a workload.
pub(super) const SAMPLES: &[Sample] = &[
    Sample {
        name: "configmap",
        path: "/api/v1/namespaces/{ns}/configmaps",
        object: "a",
        body: || json!({"data": {"k": "v"}, "binaryData": {}}),
    },
    Sample {
        name: "secret",
        path: "/api/v1/namespaces/{ns}/secrets",
        object: "a",
        body: || json!({"data": {"k": "dg=="}, "stringData": {"k": "w", "l": ""}}),
    },
    Sample {
        name: "serviceaccount",
        path: "/api/v1/namespaces/{ns}/serviceaccounts",
        object: "a",
        body: || json!({"secrets": []}),
    },
    Sample {
        name: "service",
        path: "/api/v1/namespaces/{ns}/services",
        object: "a",
        body: || json!({"spec": {"ports": [{"port": 80}]}}),
    },
    Sample {
        name: "endpoints",
        path: "/api/v1/namespaces/{ns}/endpoints",
        object: "a",
        body: || json!({"subsets": [{"addresses": [{"ip": "10.1.2.3"}], "ports": [{"port": 80}]}]}),
    },
    Sample {
        name: "endpointslice",
        path: "/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices",
        object: "a",
        body: || json!({"addressType": "IPv4", "endpoints": [{"addresses": ["10.1.2.3"]}], "ports": [{"port": 80}]}),
    },
    Sample {
        name: "event",
        path: "/api/v1/namespaces/{ns}/events",
        object: "a",
        body: || json!({"involvedObject": {"namespace": "{ns}", "kind": "Pod", "name": "x"}, "message": "m", "count": 1}),
    },
    Sample {
        name: "event-events",
        path: "/apis/events.k8s.io/v1/namespaces/{ns}/events",
        object: "a",
        body: || json!({"eventTime": "2026-11-15T11:00:00.000000Z", "type": "Normal", "reason": "r", "action": "a", "reportingController": "x.dev/c", "reportingInstance": "i", "regarding": {"namespace": "{ns}", "kind": "Pod", "name": "x"}}),
    },
    Sample {
        name: "limitrange",
        path: "/api/v1/namespaces/{ns}/limitranges",
        object: "a",
        body: || json!({"spec": {"limits": [{"type": "Container", "max": {"cpu": "2000m"}, "min": {"cpu": "0.5", "memory": "1024Mi"}}]}}),
    },
    Sample {
        name: "resourcequota",
        path: "/api/v1/namespaces/{ns}/resourcequotas",
        object: "a",
        body: || json!({"spec": {"hard": {"pods": "10", "requests.cpu": "1.5"}}}),
    },
    Sample {
        name: "claim",
        path: "/api/v1/namespaces/{ns}/persistentvolumeclaims",
        object: "a",
        body: || json!({"spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "none-such", "resources": {"requests": {"storage": "1024Mi"}}}}),
    },
    Sample {
        name: "volume",
        path: "/api/v1/persistentvolumes",
        object: "{ns}",
        body: || json!({"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/tmp/x"}}}),
    },
    Sample {
        name: "storageclass",
        path: "/apis/storage.k8s.io/v1/storageclasses",
        object: "{ns}",
        body: || json!({"provisioner": "ex.dev/p", "parameters": {"a": "1"}}),
    },
    Sample {
        name: "volumeattributesclass",
        path: "/apis/storage.k8s.io/v1/volumeattributesclasses",
        object: "{ns}",
        body: || json!({"driverName": "ex.dev", "parameters": {"a": "1"}}),
    },
    Sample {
        name: "csidriver",
        path: "/apis/storage.k8s.io/v1/csidrivers",
        object: "{ns}",
        body: || json!({"spec": {}}),
    },
    Sample {
        name: "csinode",
        path: "/apis/storage.k8s.io/v1/csinodes",
        object: "{ns}",
        body: || json!({"spec": {"drivers": [{"name": "ex.dev", "nodeID": "n", "topologyKeys": ["k"]}]}}),
    },
    Sample {
        name: "csistoragecapacity",
        path: "/apis/storage.k8s.io/v1/namespaces/{ns}/csistoragecapacities",
        object: "a",
        body: || json!({"storageClassName": "x", "capacity": "1024Mi"}),
    },
    Sample {
        name: "volumeattachment",
        path: "/apis/storage.k8s.io/v1/volumeattachments",
        object: "{ns}",
        body: || json!({"spec": {"attacher": "ex.dev", "nodeName": "n", "source": {"persistentVolumeName": "{ns}-none"}}}),
    },
    Sample {
        name: "role",
        path: "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles",
        object: "a",
        body: || json!({}),
    },
    Sample {
        name: "clusterrole",
        path: "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        object: "{ns}",
        body: || json!({"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]}),
    },
    Sample {
        name: "rolebinding",
        path: "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings",
        object: "a",
        body: || json!({"roleRef": {"kind": "Role", "name": "x"}, "subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s"}]}),
    },
    Sample {
        name: "clusterrolebinding",
        path: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        object: "{ns}",
        body: || json!({"roleRef": {"kind": "ClusterRole", "name": "{ns}-none"}}),
    },
    Sample {
        name: "ingress",
        path: "/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses",
        object: "a",
        body: || json!({"spec": {"rules": [{"host": "a.b", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}}]}}]}}),
    },
    Sample {
        name: "ingressclass",
        path: "/apis/networking.k8s.io/v1/ingressclasses",
        object: "{ns}",
        body: || json!({"spec": {"controller": "ex.dev/c", "parameters": {"kind": "K", "name": "n"}}}),
    },
    Sample {
        name: "networkpolicy",
        path: "/apis/networking.k8s.io/v1/namespaces/{ns}/networkpolicies",
        object: "a",
        body: || json!({"spec": {"podSelector": {}, "egress": [{"ports": [{"port": 80}]}]}}),
    },
    Sample {
        name: "lease",
        path: "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases",
        object: "a",
        body: || json!({"spec": {"holderIdentity": "h", "leaseDurationSeconds": 15, "renewTime": "2026-11-15T11:00:00.000000Z"}}),
    },
    Sample {
        name: "resourceclaim",
        path: "/apis/resource.k8s.io/v1/namespaces/{ns}/resourceclaims",
        object: "a",
        body: || json!({"spec": devices()}),
    },
    Sample {
        name: "resourceclaimtemplate",
        path: "/apis/resource.k8s.io/v1/namespaces/{ns}/resourceclaimtemplates",
        object: "a",
        body: || json!({"spec": {"spec": devices()}}),
    },
    Sample {
        name: "deviceclass",
        path: "/apis/resource.k8s.io/v1/deviceclasses",
        object: "{ns}",
        body: || json!({"spec": {}}),
    },
    Sample {
        name: "resourceslice",
        path: "/apis/resource.k8s.io/v1/resourceslices",
        object: "{ns}",
        body: || json!({"spec": {"driver": "ex.dev", "allNodes": true, "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}}}),
    },
    Sample {
        name: "validatingwebhooks",
        path: "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        object: "{ns}",
        body: hooks,
    },
    Sample {
        name: "mutatingwebhooks",
        path: "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
        object: "{ns}",
        body: hooks,
    },
    Sample {
        name: "validatingbinding",
        path: "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
        object: "{ns}",
        body: || json!({"spec": {"policyName": "{ns}-none", "validationActions": ["Deny"], "matchResources": {}}}),
    },
    Sample {
        name: "flowschema",
        path: "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
        object: "{ns}",
        body: || json!({"spec": {"priorityLevelConfiguration": {"name": "{ns}-none"}}}),
    },
    Sample {
        name: "prioritylevel",
        path: "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
        object: "{ns}",
        body: || json!({"spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 1, "limitResponse": {"type": "Queue", "queuing": {"queues": 16}}}}}),
    },
];

pub(super) fn sample(name: &str) -> &'static Sample {
    // A name that is not there shows as cases about configmaps, and two of one name fail the suite.
    SAMPLES.iter().find(|sample| sample.name == name).unwrap_or(&SAMPLES[0])
}

const SERVICES: &str = "/api/v1/namespaces/{ns}/services";
const SECRETS: &str = "/api/v1/namespaces/{ns}/secrets";
const CLAIMS: &str = "/api/v1/namespaces/{ns}/persistentvolumeclaims";

fn service(spec: &Value) -> Value {
    json!({"metadata": {"name": "a"}, "spec": spec})
}

/// Cases of creation.
pub fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = SAMPLES
        .iter()
        .map(|sample| {
            sample
                .case(&format!("kinds/create-{}", sample.name))
                .compare(post(sample.path, sample.object()))
        })
        .collect();
    cases.extend(services());
    cases.extend(refusals());
    cases.push(
        Case::new("kinds/create-namespace")
            .compare(post("/api/v1/namespaces", json!({"metadata": {"name": "{ns}-b", "labels": {"kubernetes.io/metadata.name": "wrong"}}})))
            .compare(merge_patch("/api/v1/namespaces/{ns}-b", json!({"metadata": {"labels": {"kubernetes.io/metadata.name": null, "x": "y"}}, "spec": {"finalizers": []}, "status": {"phase": "Terminating"}})))
            .finally(delete("/api/v1/namespaces/{ns}-b")),
    );
    cases.push(
        Case::new("kinds/event-in-the-other-shape")
            .given(post("/api/v1/namespaces/{ns}/events", sample("event").object()))
            .compare(get("/apis/events.k8s.io/v1/namespaces/{ns}/events/a")),
    );
    cases.push(
        Case::new("kinds/events-event-in-the-other-shape")
            .given(post(
                "/apis/events.k8s.io/v1/namespaces/{ns}/events",
                sample("event-events").object(),
            ))
            .compare(get("/api/v1/namespaces/{ns}/events/a")),
    );
    cases.push(
        Case::new("kinds/claim-takes-its-source-twice")
            .compare(post(CLAIMS, json!({"metadata": {"name": "a"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "none-such", "resources": {"requests": {"storage": "1Gi"}}, "dataSource": {"kind": "PersistentVolumeClaim", "name": "b"}}})))
            .compare(post(CLAIMS, json!({"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "none-such", "resources": {"requests": {"storage": "1Gi"}}, "dataSourceRef": {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "b"}}}))),
    );
    cases
}

fn services() -> Vec<Case> {
    [
        ("headless", json!({"clusterIP": "None", "selector": {"a": "b"}, "ports": [{"port": 80}]})),
        ("headless-without-selector", json!({"clusterIP": "None"})),
        ("external", json!({"type": "ExternalName", "externalName": "a.b"})),
        ("sticky", json!({"sessionAffinity": "ClientIP", "ports": [{"port": 80, "targetPort": "web"}]})),
        ("prefer-dual-stack", json!({"ipFamilyPolicy": "PreferDualStack", "ports": [{"port": 80}]})),
        ("without-ports", json!({})),
        ("external-with-address", json!({"type": "ExternalName", "clusterIP": "10.96.0.3", "ipFamilies": ["IPv4"]})),
        ("low-node-port", json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]})),
        ("foreign-address", json!({"clusterIP": "1.2.3.4", "ports": [{"port": 80}]})),
        ("no-address", json!({"clusterIP": "x", "ports": [{"port": 80}]})),
        ("wrong-words", json!({"type": "X", "sessionAffinity": "Y", "ports": [{"port": 0, "protocol": "Z", "targetPort": "A_B", "appProtocol": "a b"}]})),
        ("no-patience", json!({"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 0}}, "ports": [{"port": 80}]})),
        ("balancer-fields", json!({"loadBalancerClass": "a/b", "allocateLoadBalancerNodePorts": true, "loadBalancerSourceRanges": ["x"], "externalTrafficPolicy": "Local", "healthCheckNodePort": 30000, "trafficDistribution": "x", "internalTrafficPolicy": "x", "ports": [{"port": 80}]})),
        ("dual-stack", json!({"ipFamilyPolicy": "RequireDualStack", "ports": [{"port": 80}]})),
        ("ipv6", json!({"ipFamilies": ["IPv6"], "ports": [{"port": 80}]})),
        ("external-addresses", json!({"externalIPs": ["x", "127.0.0.1", "01.2.3.4"], "ports": [{"port": 80}]})),
        ("unnamed-ports", json!({"selector": {"a b": "c"}, "ports": [{"port": 80, "name": "A"}, {"port": 81}]})),
        ("headless-node-port", json!({"type": "NodePort", "clusterIP": "None", "ports": [{"port": 80}]})),
        ("same-port-twice", json!({"ports": [{"port": 80, "name": "a"}, {"port": 80, "name": "a"}]})),
    ]
    .into_iter()
    .map(|(name, spec)| {
        Case::new(&format!("kinds/service-{name}")).compare(post(SERVICES, service(&spec)))
    })
    .collect()
}

fn refusals() -> Vec<Case> {
    let named = |mut body: Value| {
        body["metadata"] = json!({"name": "a"});
        body
    };
    let mut cases: Vec<Case> = [
        ("secret-tls", SECRETS, json!({"type": "kubernetes.io/tls"})),
        ("secret-docker", SECRETS, json!({"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "x"}})),
        ("secret-login", SECRETS, json!({"type": "kubernetes.io/basic-auth"})),
        ("secret-ssh", SECRETS, json!({"type": "kubernetes.io/ssh-auth", "data": {"ssh-privatekey": ""}})),
        ("secret-token", SECRETS, json!({"type": "kubernetes.io/service-account-token"})),
        ("secret-key", SECRETS, json!({"data": {"a b": ""}})),
        ("configmap-key", "/api/v1/namespaces/{ns}/configmaps", json!({"data": {"..a": ""}})),
        ("configmap-key-twice", "/api/v1/namespaces/{ns}/configmaps", json!({"data": {"a": ""}, "binaryData": {"a": ""}})),
        ("claim-empty", CLAIMS, json!({"spec": {}})),
        ("claim-modes", CLAIMS, json!({"spec": {"accessModes": ["ReadWriteOncePod", "ReadWriteOnce", "X"], "volumeMode": "Y", "storageClassName": "A", "resources": {"requests": {"storage": "0"}}}})),
        ("claim-sources", CLAIMS, json!({"spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "x", "resources": {"requests": {"storage": "1Gi"}}, "dataSource": {"kind": "Pod", "name": ""}, "dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "b"}}})),
        ("limitrange-order", "/api/v1/namespaces/{ns}/limitranges", json!({"spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "2"}}]}})),
        ("limitrange-type", "/api/v1/namespaces/{ns}/limitranges", json!({"spec": {"limits": [{"type": "Thing"}, {"type": "Pod", "default": {"cpu": "1"}}, {"type": "PersistentVolumeClaim"}]}})),
        ("quota-name", "/api/v1/namespaces/{ns}/resourcequotas", json!({"spec": {"hard": {"things": "1"}}})),
        ("quota-fraction", "/api/v1/namespaces/{ns}/resourcequotas", json!({"spec": {"hard": {"pods": "1500m"}}})),
        ("quota-scopes", "/api/v1/namespaces/{ns}/resourcequotas", json!({"spec": {"hard": {"pods": "1"}, "scopes": ["BestEffort", "NotBestEffort", "X"]}})),
        ("role-rules", "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles", json!({"rules": [{}, {"verbs": ["get"], "nonResourceURLs": ["/x"], "resources": ["a"]}]})),
        ("binding-subjects", "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings", json!({"roleRef": {"apiGroup": "x", "kind": "X", "name": ""}, "subjects": [{"kind": "X", "name": ""}, {"kind": "User", "apiGroup": "x", "name": "u"}]})),
        ("ingress-empty", "/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses", json!({"spec": {}})),
        ("ingress-paths", "/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses", json!({"spec": {"tls": [{"hosts": ["*a"]}], "rules": [{"host": "10.0.0.1", "http": {"paths": [{"path": "a//b", "pathType": "Exact", "backend": {}}, {"path": "/", "pathType": "X", "backend": {"service": {"name": "s", "port": {}}}}, {"path": "/", "backend": {}}]}}]}})),
        ("networkpolicy-peers", "/apis/networking.k8s.io/v1/namespaces/{ns}/networkpolicies", json!({"spec": {"podSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}, "policyTypes": ["X"], "egress": [{"to": [{}, {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/9"]}}], "ports": [{"port": 80, "endPort": 70}, {"endPort": 7}]}]}})),
        ("endpoints-empty", "/api/v1/namespaces/{ns}/endpoints", json!({"subsets": [{"ports": [{"port": 0}]}, {"addresses": [{"ip": "127.0.0.1"}]}]})),
        ("endpointslice-addresses", "/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices", json!({"addressType": "IPv4", "endpoints": [{"addresses": []}, {"addresses": ["::2"]}], "ports": [{"port": 80}, {"port": 81}]})),
        ("endpointslice-type", "/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices", json!({"addressType": "X", "endpoints": []})),
        ("lease-numbers", "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases", json!({"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1, "preferredHolder": "a"}})),
        ("event-elsewhere", "/api/v1/namespaces/{ns}/events", json!({"involvedObject": {"namespace": "other"}})),
        ("events-event-empty", "/apis/events.k8s.io/v1/namespaces/{ns}/events", json!({"regarding": {"namespace": "{ns}"}})),
        ("events-event-half", "/apis/events.k8s.io/v1/namespaces/{ns}/events", json!({"regarding": {"namespace": "{ns}"}, "eventTime": "2026-11-15T11:00:00.000000Z", "type": "Odd", "series": {"count": 1}, "deprecatedCount": 1})),
        ("resourceclaim-requests", "/apis/resource.k8s.io/v1/namespaces/{ns}/resourceclaims", json!({"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": ""}}]}}})),
        ("capacity-class", "/apis/storage.k8s.io/v1/namespaces/{ns}/csistoragecapacities", json!({"storageClassName": "A", "capacity": "-1"})),
    ]
    .into_iter()
    .map(|(name, path, body)| {
        Case::new(&format!("kinds/refuse-{name}")).compare(post(path, named(body)))
    })
    .collect();
    let cluster = |mut body: Value| {
        body["metadata"] = json!({"name": "{ns}"});
        body
    };
    cases.extend(
        [
            ("volume-empty", "/api/v1/persistentvolumes", json!({"spec": {}})),
            ("volume-sources", "/api/v1/persistentvolumes", json!({"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "0"}, "persistentVolumeReclaimPolicy": "X", "local": {"path": "/a/../b"}, "csi": {"driver": "", "volumeHandle": ""}}})),
            ("storageclass-words", "/apis/storage.k8s.io/v1/storageclasses", json!({"provisioner": "", "reclaimPolicy": "X", "volumeBindingMode": "Y"})),
            ("attributesclass-empty", "/apis/storage.k8s.io/v1/volumeattributesclasses", json!({"driverName": "A b"})),
            ("csidriver-words", "/apis/storage.k8s.io/v1/csidrivers", json!({"spec": {"fsGroupPolicy": "X", "volumeLifecycleModes": ["Y"], "tokenRequests": [{"audience": "", "expirationSeconds": 1}]}})),
            ("csinode-drivers", "/apis/storage.k8s.io/v1/csinodes", json!({"spec": {"drivers": [{"name": "", "nodeID": "", "allocatable": {"count": -1}}]}})),
            ("attachment-source", "/apis/storage.k8s.io/v1/volumeattachments", json!({"spec": {"attacher": "", "nodeName": "", "source": {}}})),
            ("clusterrolebinding-role", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", json!({"roleRef": {"kind": "Role", "name": "x"}, "subjects": [{"kind": "ServiceAccount", "name": "s"}]})),
            ("ingressclass-controller", "/apis/networking.k8s.io/v1/ingressclasses", json!({"spec": {"controller": "x", "parameters": {"kind": "", "name": "", "scope": "Namespace"}}})),
            ("servicecidr-ranges", "/apis/networking.k8s.io/v1/servicecidrs", json!({"spec": {"cidrs": ["x", "10.0.0.1/8"]}})),
            ("flowschema-precedence", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", json!({"spec": {"matchingPrecedence": 20000, "priorityLevelConfiguration": {"name": ""}}})),
            ("prioritylevel-kind", "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations", json!({"spec": {"type": "Limited"}})),
            ("node-taints", "/api/v1/nodes", json!({"spec": {"taints": [{"key": "a b", "effect": "X"}, {"key": "k", "effect": "NoSchedule"}, {"key": "k", "effect": "NoSchedule"}]}})),
            ("apiservice-name", "/apis/apiregistration.k8s.io/v1/apiservices", json!({"spec": {"group": "a.b", "version": "v1", "groupPriorityMinimum": 0, "versionPriority": 0, "service": {"name": "s", "namespace": "n"}}})),
        ]
        .into_iter()
        .map(|(name, path, body)| {
            Case::new(&format!("kinds/refuse-{name}")).compare(post(path, cluster(body)))
        }),
    );
    cases
}
