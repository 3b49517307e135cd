use super::*;
use crate::server::Kinds;

const NOW: Timestamp = Timestamp::constant(1_767_225_600, 0);

fn cells(group: &str, version: &str, plural: &str, mut object: Value) -> Vec<Value> {
    object["metadata"]["creationTimestamp"] = json!("2025-12-31T23:00:00Z");
    let kinds = Kinds::default();
    let resource = kinds.get(group, version, plural).unwrap();
    let table = table(resource, &[object], "None", NOW);
    table["rows"][0]["cells"].as_array().unwrap().clone()
}

fn pod(status: &Value) -> Vec<Value> {
    let spec = json!({
        "initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}],
        "containers": [{"name": "a"}, {"name": "b"}],
        "nodeName": "n1",
    });
    cells("", "v1", "pods", json!({"metadata": {"name": "p"}, "spec": spec, "status": status}))
}

#[test]
fn a_pod_is_told_in_one_word() {
    let done = json!({"name": "i", "state": {"terminated": {"exitCode": 0}}});
    let sidecar = json!({"name": "s", "started": true, "ready": true, "state": {"running": {}}});
    let running = |name: &str| json!({"name": name, "ready": true, "state": {"running": {}}});
    let ready = pod(&json!({
        "phase": "Running",
        "initContainerStatuses": [done, sidecar],
        "containerStatuses": [running("a"), running("b")],
        "podIPs": [{"ip": "10.0.0.1"}],
    }));
    assert_eq!(ready, ["p", "3/3", "Running", "0", "60m", "10.0.0.1", "n1", "<none>", "<none>"]);

    let starting = pod(&json!({
        "phase": "Pending",
        "initContainerStatuses": [{"name": "i", "state": {"running": {}}}],
    }));
    assert_eq!(starting[1..3], ["0/3", "Init:0/2"]);

    let crashing = pod(&json!({
        "phase": "Running",
        "containerStatuses": [
            {"name": "a", "restartCount": 4, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
             "lastState": {"terminated": {"finishedAt": "2025-12-31T23:59:00Z"}}},
            running("b"),
        ],
    }));
    assert_eq!(crashing[1..4], ["1/3", "CrashLoopBackOff", "4 (60s ago)"]);

    let failed = pod(&json!({
        "phase": "Failed",
        "containerStatuses": [
            {"name": "a", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}},
            {"name": "b", "state": {"terminated": {"exitCode": 3}}},
        ],
    }));
    assert_eq!(failed[2], "ExitCode:3");
}

#[test]
fn workloads_count_their_replicas() {
    let spec = json!({
        "replicas": 3,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"spec": {"containers": [{"name": "web", "image": "web:1"}]}},
    });
    let object = json!({"metadata": {"name": "w"}, "spec": spec, "status": {"readyReplicas": 2}});
    assert_eq!(
        cells("apps", "v1", "deployments", object.clone()),
        [
            json!("w"),
            json!("2/3"),
            json!(0),
            json!(0),
            json!("60m"),
            json!("web"),
            json!("web:1"),
            json!("app=web")
        ]
    );
    assert_eq!(cells("apps", "v1", "statefulsets", object), ["w", "2/3", "60m", "web", "web:1"]);
}

#[test]
fn a_version_that_is_not_stored_has_the_same_cells() {
    let object = json!({
        "metadata": {"name": "h"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "maxReplicas": 3,
                 "metrics": [{"type": "Resource", "resource": {
                     "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}]},
        "status": {},
    });
    let old = cells("autoscaling", "v1", "horizontalpodautoscalers", object);
    assert_eq!(old[1..3], ["Deployment/d", "cpu: <unknown>/80%"]);
}

#[test]
fn a_kind_without_columns_shows_when_it_was_made() {
    let object = json!({"metadata": {"name": "r"}, "rules": []});
    assert_eq!(
        cells("rbac.authorization.k8s.io", "v1", "roles", object),
        ["r", "2025-12-31T23:00:00Z"]
    );
}

#[test]
fn rows_carry_what_was_asked_for() {
    let kinds = Kinds::default();
    let resource = kinds.get("", "v1", "configmaps").unwrap();
    let object = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}});
    let shown = |include| {
        table(resource, std::slice::from_ref(&object), include, NOW)["rows"][0]["object"].clone()
    };
    assert_eq!(shown("None"), Value::Null);
    assert_eq!(shown("Object"), object);
    assert_eq!(shown("Metadata")["kind"], "PartialObjectMetadata");
}

#[test]
fn a_custom_column_keeps_its_type() {
    let columns = [
        json!({"name": "Size", "type": "integer", "jsonPath": ".size"}),
        json!({"name": "Text", "type": "string", "jsonPath": ".size"}),
        json!({"name": "List", "type": "string", "jsonPath": ".list"}),
        json!({"name": "When", "type": "date", "jsonPath": ".when"}),
        json!({"name": "None", "type": "boolean", "jsonPath": ".size"}),
    ];
    let object = json!({
        "metadata": {"name": "g"}, "size": 3, "list": ["a"], "when": "2025-12-31T00:00:00Z",
    });
    assert_eq!(
        custom(&columns, &object, NOW),
        [json!("g"), json!(3), json!("3"), json!("[\"a\"]"), json!("24h"), Value::Null]
    );
}
