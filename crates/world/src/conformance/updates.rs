//! What may not change after creation, and what may although it is often believed not to.

use serde_json::{Value, json};

use super::case::{Case, delete, get, merge_patch, post, put};
use super::kinds::sample;

/// Begins with the sample object of a kind, then sends merge patches.
fn changes(name: &str, kind: &str, patches: impl IntoIterator<Item = Value>) -> Case {
    let sample = sample(kind);
    let mut case =
        sample.case(&format!("updates/{name}")).given(post(sample.path, sample.object()));
    for patch in patches {
        case = case.compare(merge_patch(&sample.item(), patch));
    }
    case
}

/// Like [`changes`] for a kind whose status a controller writes meanwhile.
fn changes_beside_a_controller(
    name: &str,
    kind: &str,
    patches: impl IntoIterator<Item = Value>,
) -> Case {
    let sample = sample(kind);
    let mut case =
        sample.case(&format!("updates/{name}")).given(post(sample.path, sample.object()));
    for patch in patches {
        case = case.compare(
            merge_patch(&sample.item(), patch)
                .ignoring("/status")
                .ignoring("/metadata/managedFields"),
        );
    }
    case
}

/// Cases of updates.
pub fn cases() -> Vec<Case> {
    let mut cases = core();
    cases.extend(services());
    cases.extend(volumes());
    cases.extend(bound_claims());
    cases.extend(others());
    cases
}

fn core() -> Vec<Case> {
    let frozen = |path: &str, name: &str| {
        Case::new(&format!("updates/{name}-immutable"))
            .given(post(
                path,
                json!({"metadata": {"name": "a"}, "immutable": true, "data": {"a": "dg=="}}),
            ))
            .compare(merge_patch(&format!("{path}/a"), json!({"data": {"a": "dw=="}})))
            .compare(merge_patch(&format!("{path}/a"), json!({"immutable": false})))
            .compare(merge_patch(&format!("{path}/a"), json!({"immutable": null, "data": null})))
            .compare(merge_patch(
                &format!("{path}/a"),
                json!({"metadata": {"labels": {"x": "y"}, "annotations": {"z": "z"}}}),
            ))
    };
    vec![
        frozen("/api/v1/namespaces/{ns}/configmaps", "configmap"),
        frozen("/api/v1/namespaces/{ns}/secrets", "secret"),
        changes(
            "configmap-becomes-immutable",
            "configmap",
            [json!({"immutable": true}), json!({"binaryData": {"b": "dg=="}})],
        ),
        changes(
            "secret-type",
            "secret",
            [json!({"type": "other"}), json!({"type": null}), json!({"stringData": {"n": "m"}})],
        ),
        Case::new("updates/secret-put-without-type")
            .given(post(
                "/api/v1/namespaces/{ns}/secrets",
                json!({"metadata": {"name": "a"}, "type": "x/y"}),
            ))
            .compare(put("/api/v1/namespaces/{ns}/secrets/a", json!({"metadata": {"name": "a"}}))),
        changes_beside_a_controller(
            "quota-scopes",
            "resourcequota",
            [
                json!({"spec": {"scopes": ["BestEffort"], "hard": {"requests.cpu": null}}}),
                json!({"spec": {"hard": {"pods": "20"}}}),
            ],
        ),
        changes_beside_a_controller(
            "quota-selector",
            "resourcequota",
            [
                json!({"spec": {"hard": {"requests.cpu": null}, "scopeSelector": {"matchExpressions": [{"scopeName": "BestEffort", "operator": "Exists"}]}}}),
            ],
        ),
        changes(
            "limitrange",
            "limitrange",
            [json!({"spec": {"limits": [{"type": "Pod", "max": {"cpu": "1"}}]}})],
        ),
        changes(
            "endpoints",
            "endpoints",
            [json!({"subsets": [{"notReadyAddresses": [{"ip": "10.1.2.4"}]}]})],
        ),
        changes(
            "endpointslice",
            "endpointslice",
            [
                json!({"addressType": "IPv6"}),
                json!({"endpoints": [{"addresses": ["10.1.2.4"]}]}),
                json!({"ports": null}),
            ],
        ),
        changes(
            "lease",
            "lease",
            [
                json!({"spec": {"holderIdentity": "other", "leaseDurationSeconds": 30}}),
                json!({"spec": {"leaseDurationSeconds": 0}}),
            ],
        ),
        Case::new("updates/lease-put-creates")
            .compare(put(
                "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases/a",
                json!({"metadata": {"name": "a"}, "spec": {}}),
            ))
            .compare(put(
                "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases/a",
                json!({"metadata": {"name": "a"}, "spec": {}}),
            )),
        changes(
            "event",
            "event",
            [
                json!({"count": 2, "message": "n"}),
                json!({"involvedObject": {"namespace": "other"}}),
            ],
        ),
        changes(
            "events-event",
            "event-events",
            [
                json!({"note": "n"}),
                json!({"reason": "other", "type": "Warning"}),
                json!({"series": {"count": 2, "lastObservedTime": "2026-11-15T11:00:01.000000Z"}}),
            ],
        ),
    ]
}

fn services() -> Vec<Case> {
    let path = "/api/v1/namespaces/{ns}/services";
    let item = "/api/v1/namespaces/{ns}/services/a";
    let balanced = || {
        post(
            path,
            json!({"metadata": {"name": "a"}, "spec": {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{"port": 80, "nodePort": 30080}], "healthCheckNodePort": 30081}}),
        )
    };
    vec![
        changes("service-address", "service", [
            json!({"spec": {"clusterIP": "10.96.0.77"}}),
            json!({"spec": {"clusterIPs": ["10.96.0.77"]}}),
            json!({"spec": {"clusterIP": "None"}}),
            json!({"spec": {"clusterIP": null}}),
            json!({"spec": {"clusterIP": null, "clusterIPs": null}}),

        ]),
        changes("service-often-believed-fixed", "service", [
            json!({"spec": {"selector": {"a": "b"}}}),
            json!({"spec": {"ports": [{"port": 81, "name": "x", "protocol": "UDP"}]}}),
            json!({"spec": {"sessionAffinity": "ClientIP"}}),
            json!({"spec": {"type": "ExternalName", "externalName": "x.y"}}),
            json!({"spec": {"type": "ClusterIP", "externalName": null}}),
        ]),
        Case::new("updates/service-headless-stays")
            .given(post(path, json!({"metadata": {"name": "a"}, "spec": {"clusterIP": "None", "selector": {"a": "b"}, "ports": [{"port": 80}]}})))
            .compare(merge_patch(item, json!({"spec": {"clusterIP": "10.96.0.78"}})))
            .compare(merge_patch(item, json!({"spec": {"clusterIP": "None", "ports": [{"port": 81}]}}))),
        Case::new("updates/service-balancer")
            .alone()
            .given(balanced())
            .compare(merge_patch(item, json!({"spec": {"healthCheckNodePort": 30082}})))
            .compare(merge_patch(item, json!({"spec": {"healthCheckNodePort": null, "ports": [{"port": 80, "protocol": "TCP"}]}})))
            .compare(merge_patch(item, json!({"spec": {"loadBalancerClass": "a.b/c"}})))
            .compare(merge_patch(&format!("{item}/status"), json!({"status": {"loadBalancer": {"ingress": [{"ip": "10.2.3.4"}, {"hostname": "10.2.3.4"}]}}})))
            .compare(merge_patch(&format!("{item}/status"), json!({"status": {"loadBalancer": {"ingress": [{"ip": "10.2.3.4"}]}}})))
            .compare(merge_patch(item, json!({"spec": {"type": "ClusterIP"}}))),
        Case::new("updates/service-put-keeps-numbers")
            .alone()
            .given(post(path, json!({"metadata": {"name": "a"}, "spec": {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30083}]}})))
            .compare(put(item, json!({"metadata": {"name": "a"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}})))
            .compare(put(item, json!({"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}))),
        Case::new("updates/service-port-taken")
            .alone()
            .given(post(path, json!({"metadata": {"name": "a"}, "spec": {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30084}]}})))
            .compare(post(path, json!({"metadata": {"name": "b"}, "spec": {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30084}]}}))),
    ]
}

fn volumes() -> Vec<Case> {
    let claims = "/api/v1/namespaces/{ns}/persistentvolumeclaims";
    let claim = "/api/v1/namespaces/{ns}/persistentvolumeclaims/a";
    let volume = |spec: Value, patches: Vec<Value>, name: &str| {
        let mut case = Case::new(&format!("updates/volume-{name}"))
            .given(post(
                "/api/v1/persistentvolumes",
                json!({"metadata": {"name": "{ns}"}, "spec": spec}),
            ))
            .until_at(
                get("/api/v1/persistentvolumes/{ns}"),
                "/spec/volumeMode",
                json!("Filesystem"),
            )
            .finally(delete("/api/v1/persistentvolumes/{ns}"));
        for patch in patches {
            // A controller moves the phase along meanwhile.
            case = case.compare(
                merge_patch("/api/v1/persistentvolumes/{ns}", patch)
                    .ignoring("/status")
                    .ignoring("/metadata/managedFields")
                    .ignoring("/metadata/resourceVersion"),
            );
        }
        case
    };
    let csi = json!({"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "csi": {"driver": "ex.dev", "volumeHandle": "h", "volumeAttributes": {"a": "b"}}});
    let mut local = json!({"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "local": {"path": "/x"}});
    local["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}]}});
    vec![
        changes("claim", "claim", [
            json!({"spec": {"storageClassName": "other"}}),
            json!({"spec": {"accessModes": ["ReadWriteMany", "ReadOnlyMany"]}}),
            json!({"spec": {"volumeMode": "Block"}}),
            json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}}),
            json!({"spec": {"resources": {"requests": {"storage": "512Mi"}}}}),
            json!({"spec": {"selector": {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}}}),
            json!({"spec": {"dataSource": {"kind": "PersistentVolumeClaim", "name": "b"}}}),
            json!({"spec": {"volumeAttributesClassName": "gold"}}),
            json!({"spec": {"storageClassName": null}}),
            json!({"metadata": {"labels": {"x": "y"}}}),
        ]),
        Case::new("updates/claim-name-of-the-volume")
            .given(post(claims, json!({"metadata": {"name": "a"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "none-such", "resources": {"requests": {"storage": "1Gi"}}}})))
            .compare(merge_patch(claim, json!({"spec": {"volumeName": "one"}})).ignoring("/status").ignoring("/metadata"))
            .compare(merge_patch(claim, json!({"spec": {"volumeName": "two"}}))),
        Case::new("updates/claim-takes-a-class-once")
            .alone()
            .given(post(claims, json!({"metadata": {"name": "a"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})))
            .compare(merge_patch(claim, json!({"spec": {"storageClassName": "one"}})))
            .compare(merge_patch(claim, json!({"spec": {"storageClassName": "two"}}))),
        volume(csi, vec![
            json!({"spec": {"csi": {"volumeHandle": "other"}}}),
            json!({"spec": {"csi": null, "hostPath": {"path": "/y"}}}),
            json!({"spec": {"volumeMode": "Block"}}),
            json!({"spec": {"csi": {"controllerExpandSecretRef": {"name": "s", "namespace": "n"}}}}),
            json!({"spec": {"capacity": {"storage": "2Gi"}, "persistentVolumeReclaimPolicy": "Delete", "mountOptions": ["ro"]}}),
            json!({"spec": {"storageClassName": "other", "accessModes": ["ReadWriteMany"]}}),
            json!({"spec": {"volumeAttributesClassName": "gold"}}),
            json!({"spec": {"volumeAttributesClassName": null}}),
        ], "source"),
        volume(local, vec![
            json!({"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "Exists"}]}]}}}}),
            json!({"spec": {"nodeAffinity": null}}),
            json!({"spec": {"local": {"path": "/y"}}}),
        ], "affinity"),
        changes("storageclass", "storageclass", [
            json!({"provisioner": "other/p"}),
            json!({"parameters": {"a": "2"}}),
            json!({"parameters": null}),
            json!({"reclaimPolicy": "Retain"}),
            json!({"volumeBindingMode": "WaitForFirstConsumer"}),
            json!({"allowVolumeExpansion": true, "mountOptions": ["ro"], "allowedTopologies": [{"matchLabelExpressions": [{"key": "k", "values": ["v"]}]}]}),
        ]),
        changes("attributesclass", "volumeattributesclass", [
            json!({"driverName": "other"}), json!({"parameters": {"a": "2"}}), json!({"metadata": {"labels": {"x": "y"}}}),
        ]),
        changes("csidriver", "csidriver", [
            json!({"spec": {"attachRequired": false}}),
            json!({"spec": {"volumeLifecycleModes": ["Ephemeral"]}}),
            json!({"spec": {"fsGroupPolicy": "File", "podInfoOnMount": true, "storageCapacity": true, "requiresRepublish": true}}),
            json!({"spec": {"tokenRequests": [{"audience": "a"}], "seLinuxMount": true}}),
        ]),
        changes("csinode", "csinode", [
            json!({"spec": {"drivers": [{"name": "ex.dev", "nodeID": "other", "topologyKeys": ["k"]}]}}),
            json!({"spec": {"drivers": [{"name": "ex.dev", "nodeID": "n", "topologyKeys": ["k"], "allocatable": {"count": 3}}]}}),
            json!({"spec": {"drivers": [{"name": "ex.dev", "nodeID": "n", "topologyKeys": ["k"]}, {"name": "two.dev", "nodeID": "n", "topologyKeys": ["l"]}]}}),
        ]),
        changes("csistoragecapacity", "csistoragecapacity", [
            json!({"storageClassName": "y"}), json!({"nodeTopology": {"matchLabels": {"a": "b"}}}), json!({"capacity": "2Gi", "maximumVolumeSize": "1Gi"}),
        ]),
        Case::new("updates/volumeattachment")
            .given(post("/apis/storage.k8s.io/v1/volumeattachments", json!({"metadata": {"name": "{ns}"}, "spec": {"attacher": "ex.dev", "nodeName": "n", "source": {"persistentVolumeName": "{ns}-none"}}})))
            .compare(merge_patch("/apis/storage.k8s.io/v1/volumeattachments/{ns}", json!({"spec": {"nodeName": "m"}})))
            .finally(delete("/apis/storage.k8s.io/v1/volumeattachments/{ns}")),
    ]
}

/// Claims that a controller (or, without one, the case itself) has bound.
fn bound_claims() -> Vec<Case> {
    let claim = "/api/v1/namespaces/{ns}/persistentvolumeclaims/a";
    let bound = |name: &str, expands: bool| {
        Case::new(&format!("updates/bound-claim-{name}"))
            .given(post("/apis/storage.k8s.io/v1/storageclasses", json!({"metadata": {"name": "{ns}"}, "provisioner": "ex.dev/p", "allowVolumeExpansion": expands})))
            .given(post("/api/v1/persistentvolumes", json!({"metadata": {"name": "{ns}"}, "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "storageClassName": "{ns}", "csi": {"driver": "ex.dev", "volumeHandle": "h"}, "claimRef": {"namespace": "{ns}", "name": "a"}}})))
            .given(post("/api/v1/namespaces/{ns}/persistentvolumeclaims", json!({"metadata": {"name": "a"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "{ns}", "volumeName": "{ns}", "resources": {"requests": {"storage": "1Gi"}}}})))
            .given(merge_patch(&format!("{claim}/status"), json!({"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}})))
            .until_at(get(claim), "/status/phase", json!("Bound"))
            .finally(delete("/api/v1/persistentvolumes/{ns}"))
            .finally(delete("/apis/storage.k8s.io/v1/storageclasses/{ns}"))
    };
    let try_to = |patch: Value| merge_patch(claim, patch).ignoring("/status").ignoring("/metadata");
    vec![
        bound("grows", true)
            .compare(try_to(json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}})))
            .compare(try_to(json!({"spec": {"resources": {"requests": {"storage": "512Mi"}}}})))
            .compare(try_to(json!({"spec": {"resources": {"requests": {"storage": "1536Mi"}}}})))
            .compare(try_to(json!({"spec": {"volumeAttributesClassName": "gold"}})))
            .compare(try_to(json!({"spec": {"accessModes": ["ReadWriteMany"]}}))),
        bound("of-a-fixed-class", false)
            .compare(try_to(json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}})))
            .compare(try_to(json!({"spec": {"volumeName": "other"}}))),
    ]
}

fn others() -> Vec<Case> {
    let role_ref = |kind: &str, name: &str| json!({"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}});
    vec![
        changes("rolebinding", "rolebinding", [role_ref("Role", "y"), role_ref("ClusterRole", "x"), json!({"subjects": null})]),
        changes("clusterrolebinding", "clusterrolebinding", [role_ref("ClusterRole", "y"), json!({"subjects": [{"kind": "Group", "name": "g"}]})]),
        changes("role", "role", [json!({"rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]}), json!({"rules": [{"verbs": []}]})]),
        changes("ingress", "ingress", [json!({"spec": {"ingressClassName": "other"}}), json!({"spec": {"rules": null}}), json!({"spec": {"rules": null, "defaultBackend": {"service": {"name": "s", "port": {"name": "web"}}}}})]),
        changes("ingressclass", "ingressclass", [json!({"spec": {"controller": "other.dev/c"}}), json!({"spec": {"parameters": null}})]),
        changes("networkpolicy", "networkpolicy", [json!({"spec": {"podSelector": {"matchLabels": {"a": "b"}}}}), json!({"spec": {"egress": null, "policyTypes": ["Ingress"]}})]),
        changes("resourceclaim", "resourceclaim", [json!({"spec": {"devices": {"requests": [{"name": "s", "exactly": {"deviceClassName": "c"}}]}}}), json!({"metadata": {"labels": {"x": "y"}}})]),
        changes("resourceclaimtemplate", "resourceclaimtemplate", [json!({"spec": {"spec": {"devices": {"requests": null}}}})]),
        changes("deviceclass", "deviceclass", [json!({"spec": {"selectors": [{"cel": {"expression": "true"}}]}})]),
        changes("resourceslice", "resourceslice", [json!({"spec": {"driver": "other.dev"}}), json!({"spec": {"pool": {"name": "q"}}}), json!({"spec": {"pool": {"generation": 2}}})]),
        changes("webhooks", "validatingwebhooks", [json!({"webhooks": null})]),
        changes("flowschema", "flowschema", [json!({"spec": {"matchingPrecedence": 20000}})]),
        Case::new("updates/apiservice-name")
            .compare(post("/apis/apiregistration.k8s.io/v1/apiservices", json!({"metadata": {"name": "wrong"}, "spec": {"group": "x.{ns}", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10}}))),
        Case::new("updates/node")
            .given(post("/api/v1/nodes", json!({"metadata": {"name": "{ns}"}, "spec": {"podCIDR": "10.200.0.0/24", "providerID": "a"}})))
            .compare(merge_patch("/api/v1/nodes/{ns}", json!({"spec": {"providerID": "b"}})).ignoring("/spec/taints").ignoring("/metadata/managedFields").ignoring("/metadata/annotations").ignoring("/metadata/labels").ignoring("/status"))
            .compare(merge_patch("/api/v1/nodes/{ns}", json!({"spec": {"podCIDR": "10.201.0.0/24", "podCIDRs": ["10.201.0.0/24"]}})))
            .compare(merge_patch("/api/v1/nodes/{ns}", json!({"spec": {"unschedulable": true}})).ignoring("/spec").ignoring("/metadata").ignoring("/status"))
            .finally(delete("/api/v1/nodes/{ns}")),
        Case::new("updates/csr-keeps-what-was-asked")
            .compare(post("/apis/certificates.k8s.io/v1/certificatesigningrequests", json!({"metadata": {"name": "{ns}"}, "spec": {"request": "eA==", "signerName": "x", "usages": ["signing", "signing", "odd"]}}))),
    ]
}
