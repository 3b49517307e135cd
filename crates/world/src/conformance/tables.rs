//! Objects as rows: what `kubectl get` prints.

use serde_json::{Value, json};

use super::case::{Case, Request, get, post, put, watch};

const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json";

fn table(path: &str) -> Request {
    get(path).accept(TABLE)
}

/// A table whose rows say how old things are at this cell.
fn aged(path: &str, cell: usize) -> Request {
    table(path).ignoring(&format!("/rows/*/cells/{cell}"))
}

/// Cases of tables, of built-in kinds and of a custom one.
pub fn cases() -> Vec<Case> {
    vec![
        workloads(),
        pods(),
        services(),
        claims(),
        policies(),
        batch(),
        small_kinds(),
        cluster_kinds(),
        custom(),
        plain_custom(),
        watched(),
    ]
}

fn template() -> Value {
    json!({
        "metadata": {"labels": {"app": "w"}},
        "spec": {
            "nodeSelector": {"disk": "none"},
            "containers": [
                {"name": "a", "image": "example.com/a:1"},
                {"name": "b", "image": "example.com/b:2"},
            ],
        },
    })
}

fn workloads() -> Case {
    let at = |plural: &str| format!("/apis/apps/v1/namespaces/{{ns}}/{plural}");
    let selector = json!({"matchLabels": {"app": "w"}, "matchExpressions": [
        {"key": "tier", "operator": "DoesNotExist"},
    ]});
    // Zero replicas: nothing happens to them on a cluster that has controllers.
    let spec = json!({"replicas": 0, "selector": selector, "template": template()});
    let stateful = json!({
        "replicas": 0, "selector": {"matchLabels": {"app": "w"}}, "serviceName": "s",
        "template": template(),
    });
    let object = |name: &str, spec: &Value| json!({"metadata": {"name": name}, "spec": spec});
    Case::new("tables/workloads")
        .given(post(&at("deployments"), object("d", &spec)))
        .given(post(&at("replicasets"), object("r", &spec)))
        .given(post(&at("statefulsets"), object("s", &stateful)))
        .compare(
            aged(&format!("{}/d", at("deployments")), 4)
                .ignoring("/rows/*/object")
                .ignoring("/metadata"),
        )
        .compare(
            aged(&format!("{}/r", at("replicasets")), 4)
                .ignoring("/rows/*/object")
                .ignoring("/metadata"),
        )
        .compare(
            aged(&format!("{}/s", at("statefulsets")), 2)
                .ignoring("/rows/*/object")
                .ignoring("/metadata"),
        )
}

fn pods() -> Case {
    let pods = "/api/v1/namespaces/{ns}/pods";
    let pod = |name: &str| {
        let spec = json!({
            "nodeName": "nowhere",
            "terminationGracePeriodSeconds": 0,
            "readinessGates": [{"conditionType": "example.com/open"}],
            "initContainers": [{"name": "i", "image": "i"}],
            "containers": [{"name": "c", "image": "c"}, {"name": "d", "image": "d"}],
        });
        json!({"metadata": {"name": name}, "spec": spec})
    };
    let with = |name: &str, status: Value| {
        let mut pod = pod(name);
        pod["status"] = status;
        put(&format!("{pods}/{name}/status"), pod)
    };
    let done = json!({"name": "i", "image": "i", "imageID": "i", "ready": false, "restartCount": 0,
        "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}});
    let main = |name: &str, ready: bool, restarts: i64, state: Value| {
        json!({"name": name, "image": name, "imageID": name, "ready": ready,
            "restartCount": restarts, "state": state})
    };
    let row = |name: &str| {
        aged(&format!("{pods}/{name}"), 4).ignoring("/rows/*/object").ignoring("/metadata")
    };
    Case::new("tables/pods")
        .given(post(pods, pod("new")))
        .given(post(pods, pod("running")))
        .given(post(pods, pod("failing")))
        .given(post(pods, pod("initial")))
        .given(with("running", json!({
            "phase": "Running", "podIP": "10.9.8.7", "podIPs": [{"ip": "10.9.8.7"}],
            "initContainerStatuses": [done],
            "containerStatuses": [
                main("c", true, 0, json!({"running": {}})),
                main("d", true, 2, json!({"running": {}})),
            ],
            "conditions": [
                {"type": "Ready", "status": "True"},
                {"type": "example.com/open", "status": "True"},
            ],
        })))
        .given(with("failing", json!({
            "phase": "Failed",
            "containerStatuses": [
                main("c", false, 0, json!({"terminated": {"exitCode": 0, "reason": "Completed"}})),
                main("d", false, 0, json!({"terminated": {"exitCode": 3}})),
            ],
        })))
        .given(with("initial", json!({
            "phase": "Pending",
            "initContainerStatuses": [
                main("i", false, 0, json!({"waiting": {"reason": "ImagePullBackOff"}})),
            ],
        })))
        .compare(row("new"))
        .compare(row("running"))
        .compare(row("failing"))
        .compare(row("initial"))
}

fn services() -> Case {
    let services = "/api/v1/namespaces/{ns}/services";
    let service =
        |name: &str, spec: Value| post(services, json!({"metadata": {"name": name}, "spec": spec}));
    let selected = "/apis/networking.k8s.io/v1/namespaces/{ns}/networkpolicies";
    let ingresses = "/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses";
    let rule = |host: &str| {
        json!({"host": host, "http": {"paths": [{
            "path": "/", "pathType": "Prefix",
            "backend": {"service": {"name": "s", "port": {"number": 80}}},
        }]}})
    };
    let slices = "/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices";
    Case::new("tables/network")
        .given(service("a", json!({"clusterIP": "None", "selector": {"b": "2", "a": "1"}, "ports": [
            {"name": "one", "port": 80}, {"name": "two", "port": 53, "protocol": "UDP"},
        ]})))
        .given(service("b", json!({"type": "ExternalName", "externalName": "example.com"})))
        .given(service("c", json!({"clusterIP": "None", "externalIPs": ["192.0.2.7"], "ports": [{"port": 1}]})))
        .given(post(selected, json!({"metadata": {"name": "n"}, "spec": {"podSelector": {
            "matchLabels": {"app": "a"},
            "matchExpressions": [{"key": "t", "operator": "In", "values": ["y", "x"]}],
        }}})))
        .given(post(ingresses, json!({"metadata": {"name": "i"}, "spec": {
            "ingressClassName": "c", "tls": [{"hosts": ["a.example"]}],
            "rules": [rule("a.example"), rule("b.example"), rule("c.example"), rule("d.example")],
        }})))
        .given(post(slices, json!({
            "metadata": {"name": "s"}, "addressType": "IPv4",
            "ports": [{"name": "p", "port": 80}, {"name": "q"}],
            "endpoints": [{"addresses": ["10.0.0.1"]}, {"addresses": ["10.0.0.2"]},
                {"addresses": ["10.0.0.3"]}, {"addresses": ["10.0.0.4"]}],
        })))
        .compare(aged(services, 5))
        .compare(aged(selected, 2))
        .compare(aged(ingresses, 5))
        .compare(aged(&format!("{slices}/s"), 4))
}

fn claims() -> Case {
    let claims = "/api/v1/namespaces/{ns}/persistentvolumeclaims";
    let volume = "/api/v1/persistentvolumes/{ns}-v";
    let class = "/apis/storage.k8s.io/v1/storageclasses/{ns}-c";
    Case::new("tables/storage")
        .given(post(
            claims,
            json!({"metadata": {"name": "c"}, "spec": {
                "accessModes": ["ReadWriteMany", "ReadWriteOnce"], "storageClassName": "none",
                "volumeAttributesClassName": "gold",
                "resources": {"requests": {"storage": "1024Mi"}},
            }}),
        ))
        .given(post(
            "/api/v1/persistentvolumes",
            json!({"metadata": {"name": "{ns}-v"}, "spec": {
                "accessModes": ["ReadWriteOncePod"], "storageClassName": "slow",
                "capacity": {"storage": "1536Mi"}, "persistentVolumeReclaimPolicy": "Retain",
                "claimRef": {"namespace": "x", "name": "y"},
                "csi": {"driver": "d", "volumeHandle": "h"},
            }}),
        ))
        .given(post(
            "/apis/storage.k8s.io/v1/storageclasses",
            json!({
                "metadata": {"name": "{ns}-c"}, "provisioner": "example.com/p",
                "allowVolumeExpansion": true, "volumeBindingMode": "WaitForFirstConsumer",
            }),
        ))
        .compare(aged(&format!("{claims}/c"), 7).ignoring("/rows/*/object").ignoring("/metadata"))
        .compare(
            aged(volume, 9)
                .ignoring("/rows/*/cells/4")
                .ignoring("/rows/*/object")
                .ignoring("/metadata"),
        )
        .compare(aged(class, 5))
        .finally(super::case::delete(volume))
        .finally(super::case::delete(class))
}

fn policies() -> Case {
    let budgets = "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets";
    let scalers = "/namespaces/{ns}/horizontalpodautoscalers";
    let bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings";
    let roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles";
    let only = |request: Request| request.ignoring("/rows/*/object").ignoring("/metadata");
    Case::new("tables/policies")
        .given(post(budgets, json!({"metadata": {"name": "p"}, "spec": {
            "maxUnavailable": "30%", "selector": {"matchLabels": {"a": "b"}},
        }})))
        .given(post(&format!("/apis/autoscaling/v2{scalers}"), json!({"metadata": {"name": "h"}, "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "gone"},
            "maxReplicas": 5,
            "metrics": [
                {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}},
                {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "512Mi"}}},
                {"type": "Pods", "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "1k"}}},
            ],
        }})))
        .given(post(roles, json!({"metadata": {"name": "r"}, "rules": []})))
        .given(post(bindings, json!({
            "metadata": {"name": "b"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
            "subjects": [
                {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "alice"},
                {"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "devs"},
                {"kind": "ServiceAccount", "namespace": "n", "name": "s"},
                {"kind": "ServiceAccount", "namespace": "n", "name": "t"},
            ],
        })))
        .compare(only(aged(budgets, 4)))
        .compare(only(aged(&format!("/apis/autoscaling/v2{scalers}"), 6)))
        .compare(only(aged(&format!("/apis/autoscaling/v1{scalers}"), 6)))
        .compare(aged(bindings, 2))
        .compare(table(roles))
}

fn batch() -> Case {
    let jobs = "/apis/batch/v1/namespaces/{ns}/jobs";
    let crons = "/apis/batch/v1/namespaces/{ns}/cronjobs";
    let pod =
        json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "c"}]}});
    let only = |request: Request| request.ignoring("/rows/*/object").ignoring("/metadata");
    Case::new("tables/batch")
        .given(post(
            crons,
            json!({"metadata": {"name": "c"}, "spec": {
                "schedule": "0 0 1 1 *", "suspend": true, "timeZone": "Etc/UTC",
                "jobTemplate": {"spec": {"template": pod}},
            }}),
        ))
        .given(post(
            jobs,
            json!({"metadata": {"name": "j"}, "spec": {
                "suspend": true, "completions": 3, "parallelism": 2, "template": pod,
            }}),
        ))
        .compare(only(aged(crons, 6)))
        // The job controller says that it is suspended.
        .compare(only(aged(jobs, 4)).ignoring("/rows/*/cells/1").ignoring("/rows/*/cells/7"))
}

fn small_kinds() -> Case {
    let at = |plural: &str| format!("/api/v1/namespaces/{{ns}}/{plural}");
    let leases = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases";
    let event = json!({
        "metadata": {"name": "e"}, "type": "Normal", "reason": "Because", "message": " it was so\n",
        "involvedObject": {"kind": "ConfigMap", "namespace": "{ns}", "name": "a", "fieldPath": "data"},
        "source": {"component": "me", "host": "here"}, "count": 3,
    });
    let revisions = "/apis/apps/v1/namespaces/{ns}/controllerrevisions";
    Case::new("tables/small-kinds")
        .given(post(
            &at("configmaps"),
            json!({
                "metadata": {"name": "a"}, "data": {"a": "1"}, "binaryData": {"b": "AA=="},
            }),
        ))
        .given(post(&at("secrets"), json!({"metadata": {"name": "s"}, "stringData": {"a": "b"}})))
        .given(post(&at("serviceaccounts"), json!({"metadata": {"name": "robot"}})))
        .given(post(
            &at("limitranges"),
            json!({"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Pod"}]}}),
        ))
        .given(post(
            &at("podtemplates"),
            json!({"metadata": {"name": "t"}, "template": template()}),
        ))
        .given(post(&at("events"), event))
        .given(post(leases, json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}})))
        .given(post(revisions, json!({"metadata": {"name": "r"}, "revision": 7, "data": {}})))
        .compare(aged(&format!("{}/a", at("configmaps")), 2))
        .compare(aged(&at("secrets"), 3))
        .compare(aged(&format!("{}/robot", at("serviceaccounts")), 1))
        .compare(table(&at("limitranges")))
        .compare(table(&at("podtemplates")))
        .compare(aged(&at("events"), 0).ignoring("/rows/*/cells/7"))
        .compare(
            aged("/apis/events.k8s.io/v1/namespaces/{ns}/events", 0).ignoring("/rows/*/cells/7"),
        )
        .compare(aged(leases, 2))
        .compare(aged(revisions, 3))
        .compare(
            aged("/api/v1/namespaces/{ns}", 2).ignoring("/rows/*/object").ignoring("/metadata"),
        )
        .compare(table(&at("configmaps")).query("includeObject", "Bogus"))
        .compare(table(&format!("{}/missing", at("configmaps"))))
}

fn cluster_kinds() -> Case {
    let node = "/api/v1/nodes/{ns}-n";
    let classes = "/apis/networking.k8s.io/v1/ingressclasses/{ns}-i";
    let priorities = "/apis/scheduling.k8s.io/v1/priorityclasses/{ns}-p";
    let drivers = "/apis/storage.k8s.io/v1/csidrivers/{ns}-d";
    let runtimes = "/apis/node.k8s.io/v1/runtimeclasses/{ns}-r";
    let hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{ns}-w";
    let above =
        |path: &str| path.rsplit_once('/').map(|(above, _)| above.to_owned()).unwrap_or_default();
    let only = |request: Request| request.ignoring("/rows/*/object").ignoring("/metadata");
    [node, classes, priorities, drivers, runtimes, hooks].into_iter().fold(
        Case::new("tables/cluster-kinds")
            .given(post(&above(node), json!({
                "metadata": {"name": "{ns}-n", "labels": {
                    "node-role.kubernetes.io/worker": "", "kubernetes.io/role": "edge",
                }},
                "spec": {"unschedulable": true},
            })))
            .given(post(&above(classes), json!({"metadata": {"name": "{ns}-i"}, "spec": {
                "controller": "example.com/c",
                "parameters": {"apiGroup": "example.com", "kind": "P", "name": "p"},
            }})))
            .given(post(&above(priorities), json!({"metadata": {"name": "{ns}-p"}, "value": 7})))
            .given(post(&above(drivers), json!({"metadata": {"name": "{ns}-d"}, "spec": {
                "attachRequired": false, "tokenRequests": [{"audience": "a"}, {"audience": "b"}],
            }})))
            .given(post(&above(runtimes), json!({"metadata": {"name": "{ns}-r"}, "handler": "h"})))
            .given(post(&above(hooks), json!({"metadata": {"name": "{ns}-w"}, "webhooks": []})))
            .compare(only(aged(node, 3)).ignoring("/rows/*/cells/1"))
            .compare(aged(classes, 3))
            .compare(aged(priorities, 3))
            .compare(aged(drivers, 7))
            .compare(aged(runtimes, 2))
            .compare(aged(hooks, 2))
            .compare(aged("/apis/storage.k8s.io/v1/csinodes?fieldSelector=metadata.name%3Dnone", 2)),
        |case, path| case.finally(super::case::delete(path)),
    )
}

fn definition(group: &str, columns: Option<Value>) -> Value {
    let mut version = json!({
        "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {
            "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        }},
    });
    if let Some(columns) = columns {
        version["additionalPrinterColumns"] = columns;
    }
    json!({
        "metadata": {"name": format!("gadgets.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"plural": "gadgets", "kind": "Gadget"},
            "versions": [version],
        },
    })
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn defined(name: &str, group: &str, columns: Option<Value>) -> Case {
    let gadgets = format!("/apis/{group}/v1/namespaces/{{ns}}/gadgets");
    Case::new(name)
        .given(post(DEFINITIONS, definition(group, columns)))
        .until_status(get(&gadgets), 200)
        .finally(super::case::delete(&format!("{DEFINITIONS}/gadgets.{group}")))
}

fn custom() -> Case {
    let group = "{ns}.tables.example";
    let gadgets = format!("/apis/{group}/v1/namespaces/{{ns}}/gadgets");
    let column =
        |name: &str, kind: &str, path: &str| json!({"name": name, "type": kind, "jsonPath": path});
    let columns = json!([
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "description": "How big", "format": "int32"},
        {"name": "Ready", "type": "string", "jsonPath": ".spec.conditions[?(@.type==\"Ready\")].status", "priority": 1},
        column("Text", "string", ".spec.size"),
        column("List", "string", ".spec.list"),
        column("First", "string", ".spec.list[0]"),
        column("All", "string", ".spec.list[*]"),
        column("Map", "string", ".spec.map"),
        column("Flag", "boolean", ".spec.flag"),
        column("Number", "number", ".spec.part"),
        column("Wrong", "integer", ".spec.list"),
        column("When", "date", ".spec.when"),
        column("Never", "date", ".spec.never"),
        column("Label", "string", ".metadata.labels.example\\.com/name"),
        column("Null", "string", ".spec.null"),
        column("Missing", "string", ".spec.missing"),
    ]);
    let object = json!({
        "apiVersion": format!("{group}/v1"), "kind": "Gadget",
        "metadata": {"name": "g", "labels": {"example.com/name": "me"}},
        "spec": {
            "size": 3, "part": 2.5, "flag": true, "list": ["a", "b"], "map": {"k": "v"},
            "when": "1999-01-01T00:00:00Z", "never": "yesterday", "null": null,
            "conditions": [{"type": "Stalled", "status": "False"}, {"type": "Ready", "status": "True"}],
        },
    });
    defined("tables/custom-columns", group, Some(columns))
        .given(post(&gadgets, object))
        .compare(table(&gadgets))
        .compare(table(&format!("{gadgets}/g")))
        .compare(table(&gadgets).query("includeObject", "None"))
        .compare(table(&gadgets).query("includeObject", "Object"))
}

fn plain_custom() -> Case {
    let group = "{ns}.plain.example";
    let gadgets = format!("/apis/{group}/v1/namespaces/{{ns}}/gadgets");
    let object = json!({
        "apiVersion": format!("{group}/v1"), "kind": "Gadget", "metadata": {"name": "g"},
    });
    defined("tables/custom-without-columns", group, None)
        .compare(table(&gadgets))
        .given(post(&gadgets, object))
        .compare(aged(&gadgets, 1))
}

fn watched() -> Case {
    let secrets = "/api/v1/namespaces/{ns}/secrets";
    let secret = |name: &str| post(secrets, json!({"metadata": {"name": name}}));
    let events = |path: &str| watch(path).accept(TABLE).ignoring("/*/object/rows/*/cells/3");
    Case::new("tables/watch")
        .given(secret("a"))
        .given(secret("b").named("b"))
        // Columns come with the first event only.
        .compare(events(secrets).stop_after(2))
        .compare(
            events(secrets)
                .query("allowWatchBookmarks", "true")
                .query("sendInitialEvents", "true")
                .query("resourceVersionMatch", "NotOlderThan")
                .query("labelSelector", "none")
                // The moment of a bookmark depends on what else happens in the cluster.
                .ignoring("/*/object/rows/*/object/metadata/resourceVersion")
                .stop_at_bookmark(),
        )
}
