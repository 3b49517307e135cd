//! JSON, merge and strategic merge patches: what they do and what is wrong with them.

use serde_json::{Value, json};

use super::case::{Case, Request, delete, get, json_patch, merge_patch, patch, post, strategic};

const CONFIG_MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";
const ONE: &str = "/api/v1/namespaces/{ns}/configmaps/a";
const SERVICE: &str = "/api/v1/namespaces/{ns}/services/a";
const TEMPLATE: &str = "/api/v1/namespaces/{ns}/podtemplates/a";
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/{ns}/deployments/a";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGET: &str = "/apis/{ns}.ex.dev/v1/namespaces/{ns}/widgets/a";
const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

fn on_config_map(name: &str) -> Case {
    Case::new(name).given(post(
        CONFIG_MAPS,
        json!({"metadata": {"name": "a", "labels": {"x": "1", "ex.dev/y": "2"}, "finalizers": ["ex.dev/a", "ex.dev/b"]},
            "data": {"k": "v", "l": "e"}}),
    )).finally(json_patch(ONE, json!([{"op": "remove", "path": "/metadata/finalizers"}])))
}

fn on_service(name: &str) -> Case {
    Case::new(name).given(post(
        "/api/v1/namespaces/{ns}/services",
        json!({"metadata": {"name": "a"}, "spec": {"clusterIP": "None", "selector": {"a": "1", "b": "2"},
            "ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]}}),
    ))
}

/// A template of pods, which no controller touches.
fn on_template(name: &str) -> Case {
    Case::new(name).given(post(
        "/api/v1/namespaces/{ns}/podtemplates",
        json!({"metadata": {"name": "a"}, "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"volumes": [{"name": "v", "emptyDir": {}}], "tolerations": [{"key": "t", "operator": "Exists"}],
                "containers": [
                    {"name": "a", "image": "x", "env": [{"name": "E", "value": "1"}, {"name": "F", "value": "2"}], "args": ["1", "2"]},
                    {"name": "b", "image": "y", "ports": [{"containerPort": 80}]}]}}}),
    ))
}

fn on_deployment(name: &str) -> Case {
    Case::new(name).given(post(
        "/apis/apps/v1/namespaces/{ns}/deployments",
        // The annotation is there from the start, so that it does not matter whether a controller has set it.
        json!({"metadata": {"name": "a", "annotations": {"deployment.kubernetes.io/revision": "1"}}, "spec": {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": {
            "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "x"}]}}}}),
    ))
}

/// Without what the Deployment controller writes in the meantime.
fn quietly(request: Request) -> Request {
    ["/metadata/annotations", "/metadata/managedFields", "/metadata/resourceVersion", "/status"]
        .iter()
        .fold(request, |request, pointer| request.ignoring(pointer))
}

/// A patch sent as bytes that changes nothing.
fn raw(path: &str, content_type: &str, body: &str) -> Request {
    patch(path, content_type).raw(body.as_bytes(), content_type).dry_run()
}

fn dry(requests: impl IntoIterator<Item = Request>) -> Vec<Request> {
    requests.into_iter().map(Request::dry_run).collect()
}

fn json_operations() -> Case {
    on_config_map("patch/json-operations")
        .compare_all(dry([
            json_patch(ONE, json!([{"op": "add", "path": "/data/new", "value": "1"}])),
            json_patch(ONE, json!([{"op": "add", "path": "/data", "value": {"z": "1"}}])),
            json_patch(ONE, json!([{"op": "replace", "path": "/data/k", "value": "w"}])),
            json_patch(ONE, json!([{"op": "replace", "path": "/data/absent", "value": "w"}])),
            json_patch(ONE, json!([{"op": "replace", "path": "/metadata/labels/ex.dev~1y", "value": "w"}])),
            json_patch(ONE, json!([{"op": "remove", "path": "/data/k"}])),
            json_patch(ONE, json!([{"op": "remove", "path": "/metadata/finalizers/0"}])),
            json_patch(ONE, json!([{"op": "add", "path": "/metadata/finalizers/-", "value": "ex.dev/c"}])),
            json_patch(ONE, json!([{"op": "add", "path": "/metadata/finalizers/1", "value": "ex.dev/c"}])),
            json_patch(ONE, json!([{"op": "replace", "path": "/metadata/finalizers/-1", "value": "ex.dev/c"}])),
            json_patch(ONE, json!([{"op": "move", "from": "/data/k", "path": "/data/m"}])),
            json_patch(ONE, json!([{"op": "copy", "from": "/data/k", "path": "/data/m"}])),
            json_patch(ONE, json!([{"op": "copy", "from": "/data/absent", "path": "/data/m"}])),
            json_patch(ONE, json!([{"op": "test", "path": "/data/k", "value": "v"}, {"op": "remove", "path": "/data/k"}])),
            json_patch(ONE, json!([{"op": "test", "path": "/metadata/annotations", "value": null}])),
            json_patch(ONE, json!([{"op": "test", "path": "/data", "value": {"l": "e", "k": "v"}}])),
            json_patch(ONE, json!([])),
            json_patch(ONE, json!([{"op": "add", "path": "no/slash", "value": 1}])),
            json_patch(ONE, json!([{"op": "add", "path": "/data/k", "value": null}])),
        ]))
        .compare(json_patch(ONE, json!([{"op": "add", "path": "/data/x", "value": "1"}])))
        .compare(json_patch(ONE, json!([{"op": "add", "path": "/data/x", "value": "1"}])))
        .compare(get(ONE))
}

fn json_failures() -> Case {
    let many: Vec<Value> =
        (0..10_001).map(|_| json!({"op": "test", "path": "/data/k", "value": "v"})).collect();
    on_config_map("patch/json-failures")
        .compare_all(dry([
            json_patch(ONE, json!([{"op": "test", "path": "/data/k", "value": "x"}])),
            json_patch(ONE, json!([{"op": "test", "path": "/data/k", "value": null}])),
            json_patch(ONE, json!([{"op": "remove", "path": "/data/absent"}])),
            json_patch(ONE, json!([{"op": "remove", "path": "/metadata/finalizers/7"}])),
            json_patch(ONE, json!([{"op": "add", "path": "/metadata/finalizers/7", "value": "x"}])),
            json_patch(ONE, json!([{"op": "add", "path": "/metadata/finalizers/x", "value": "x"}])),
            json_patch(ONE, json!([{"op": "add", "path": "/absent/x", "value": "x"}])),
            json_patch(ONE, json!([{"op": "add", "value": "x"}])),
            json_patch(ONE, json!([{"op": "bogus", "path": "/data/k"}])),
            json_patch(ONE, json!([{"path": "/data/k"}])),
            json_patch(ONE, json!([{"op": "move", "path": "/data/k"}])),
            json_patch(ONE, json!([{"op": "add", "path": "noslash", "value": 1}])),
            json_patch(ONE, json!({"op": "add"})),
            json_patch(ONE, json!([5])),
            json_patch(ONE, json!([{"op": 5, "path": "/data/k"}])),
            json_patch(ONE, json!([{"op": "add", "path": "/data/k", "value": "x", "foo": 1}])),
            json_patch(ONE, json!([{"op": "add", "path": "/data/k", "value": "x", "foo": 1}]))
                .query("fieldValidation", "Strict")
                .ignoring("/message")
                .ignoring("/details/causes/*/message"),
            json_patch(ONE, json!({"op": "add"})).query("fieldValidation", "Ignore"),
            json_patch(ONE, json!([5])).query("fieldValidation", "Ignore"),
            json_patch(ONE, json!([{"op": "add", "path": "/bogus", "value": 1}])),
            json_patch(ONE, json!([{"op": "add", "path": "/data/k", "value": 5}])),
            json_patch(ONE, json!([{"op": "replace", "path": "/kind", "value": "Foo"}])),
            json_patch(ONE, json!([{"op": "replace", "path": "/metadata/name", "value": "b"}])),
            json_patch(
                ONE,
                json!([{"op": "replace", "path": "/metadata/namespace", "value": "b"}]),
            ),
            json_patch(ONE, Value::Array(many)),
        ]))
        .compare(raw(ONE, JSON, "{bad"))
        .compare(raw(ONE, JSON, ""))
        .compare(raw(ONE, JSON, "null"))
        .compare(raw(ONE, JSON, "\"x\""))
        .compare(json_patch(&format!("{CONFIG_MAPS}/absent"), json!([])))
}

fn merge() -> Case {
    on_config_map("patch/merge")
        .compare_all(dry([
            merge_patch(ONE, json!({"data": {"k": "w", "new": "1"}})),
            merge_patch(ONE, json!({"data": {"k": null, "absent": null}})),
            merge_patch(ONE, json!({"data": null})),
            merge_patch(
                ONE,
                json!({"metadata": {"labels": {"y": "2"}, "finalizers": ["ex.dev/c"]}}),
            ),
            merge_patch(ONE, json!({"metadata": {"annotations": {"a": "b", "c": null}}})),
            merge_patch(ONE, json!({})),
            merge_patch(
                ONE,
                json!({"metadata": {"creationTimestamp": null, "generation": 7, "uid": null}}),
            ),
            merge_patch(ONE, json!({"bogus": 1, "metadata": {"foo": 2}})),
            merge_patch(ONE, json!({"bogus": 1, "data": {"k": "w"}}))
                .query("fieldValidation", "Ignore"),
            merge_patch(ONE, json!({"bogus": 1, "data": {"k": "w"}}))
                .query("fieldValidation", "Strict"),
            merge_patch(ONE, json!({"data": {"k": 5}})),
            merge_patch(ONE, json!({"data": []})),
            merge_patch(ONE, json!({"data": {"k": {"a": "<b>"}}})),
            merge_patch(ONE, json!({"kind": "Foo"})),
            merge_patch(ONE, json!({"kind": "Secret"})),
            merge_patch(ONE, json!({"apiVersion": "v9"})),
            merge_patch(ONE, json!({"metadata": {"name": "b"}})),
            merge_patch(ONE, json!({"metadata": null})),
            merge_patch(ONE, json!({"metadata": {"resourceVersion": "1"}})),
            merge_patch(ONE, json!({"metadata": {"resourceVersion": "abc"}})),
            merge_patch(ONE, json!([])),
            merge_patch(ONE, json!("x")),
            merge_patch(ONE, Value::Null),
            merge_patch(ONE, json!([])).query("fieldValidation", "Ignore"),
            merge_patch(ONE, json!("x")).query("fieldValidation", "Ignore"),
        ]))
        .compare(raw(ONE, MERGE, "{bad"))
        .compare(raw(ONE, MERGE, "{bad").query("fieldValidation", "Ignore"))
        .compare(raw(ONE, MERGE, r#"{"data":{"a":"1","a":"2"}}"#))
        .compare(
            raw(ONE, MERGE, r#"{"data":{"a":"1","a":"2"}}"#).query("fieldValidation", "Strict"),
        )
        .compare(merge_patch(ONE, json!({"data": {"k": "w"}})))
        .compare(merge_patch(ONE, json!({"data": {"k": "w"}})))
        .compare(merge_patch(&format!("{CONFIG_MAPS}/absent"), json!({})))
}

fn strategic_lists() -> Case {
    let ports = |ports: Value| strategic(SERVICE, json!({"spec": ports}));
    on_service("patch/strategic-lists").compare_all(dry([
        ports(json!({"ports": [{"port": 81, "name": "c"}]})),
        ports(json!({"ports": [{"port": 82, "name": "c"}]})),
        ports(json!({"ports": [{"port": 80, "$patch": "delete"}]})),
        ports(json!({"ports": [{"port": 9, "name": "n"}, {"$patch": "replace"}]})),
        ports(json!({"$setElementOrder/ports": [{"port": 81}, {"port": 80}]})),
        ports(json!({"$setElementOrder/ports": [{"port": 80}, {"port": 82}, {"port": 81}], "ports": [{"port": 82, "name": "c"}]})),
        ports(json!({"$setElementOrder/ports": [{"port": 81}], "ports": [{"port": 80, "$patch": "delete"}]})),
        ports(json!({"ports": []})),
        ports(json!({"selector": {"$patch": "replace", "c": "3"}})),
        ports(json!({"selector": {"$patch": "delete"}})),
        ports(json!({"selector": {"a": null, "c": "3"}})),
        strategic(SERVICE, json!({"metadata": {"finalizers": ["ex.dev/a"]}})),
        strategic(SERVICE, json!({})),
        strategic(SERVICE, Value::Null),
    ]))
}

fn strategic_failures() -> Case {
    let bodies = [
        json!({"spec": {"ports": "x"}}),
        json!({"spec": 5}),
        json!({"spec": {"clusterIP": 5}}),
        json!({"spec": {"clusterIP": true}}),
        json!({"spec": {"type": 5}}),
        json!({"spec": {"publishNotReadyAddresses": "x"}}),
        json!({"spec": {"healthCheckNodePort": "x"}}),
        json!({"spec": {"healthCheckNodePort": 1.5}}),
        json!({"spec": {"selector": []}}),
        json!({"spec": {"selector": {"a": 5}}}),
        json!({"spec": {"ports": [{"port": 80, "targetPort": true}]}}),
        json!({"spec": {"ports": [5]}}),
        json!({"spec": {"ports": [{"name": "x"}]}}),
        json!({"metadata": {"creationTimestamp": "x"}}),
        json!({"spec": {"ports": [{"$patch": "bogus", "port": 80}]}}),
        json!({"$patch": "bogus"}),
        json!({"spec": {"ports": [{"$patch": "merge", "port": 80}]}}),
        json!({"spec": {"ports": [{"$patch": "delete", "name": "a"}]}}),
        json!({"spec": {"$setElementOrder/ports": 5}}),
        json!({"spec": {"$setElementOrder/ports": [{"port": 80}], "ports": [{"port": 99}]}}),
        json!({"spec": {"$setElementOrder/ports": [{"name": "a"}], "ports": [{"port": 80}]}}),
        json!({"spec": {"$setElementOrder": []}}),
        json!({"spec": {"$setElementOrder/bogus": [{"a": 1}], "bogus": [{"a": 1}]}}),
        json!({"spec": {"$retainKeys": 5}}),
        json!({"spec": {"$retainKeys": ["type"], "ports": []}}),
        json!({"metadata": {"$deleteFromPrimitiveList": ["x"]}}),
        json!([]),
        json!("x"),
        json!({"bogus": {"a": 1}}),
        json!({"metadata": {"labels": {"a": {"b": 1}}}}),
        json!({"metadata": {"name": "b"}}),
        json!({"metadata": {"resourceVersion": "1"}}),
    ];
    on_service("patch/strategic-failures")
        .compare_all(dry(bodies.into_iter().map(|body| strategic(SERVICE, body))))
        .compare(
            strategic(SERVICE, json!({"foo": {"x": null}, "spec": {"b": 1}}))
                .dry_run()
                .query("fieldValidation", "Strict"),
        )
        .compare(raw(SERVICE, STRATEGIC, "{bad"))
        .compare(raw(SERVICE, STRATEGIC, ""))
        .compare(raw(SERVICE, STRATEGIC, r#"{"metadata":{"labels":{"a":"1","a":"2"}}}"#))
        .compare(
            raw(SERVICE, STRATEGIC, r#"{"metadata":{"labels":{"a":"1","a":"2"}}}"#)
                .query("fieldValidation", "Strict"),
        )
}

fn strategic_deep() -> Case {
    let template = |spec: Value| strategic(TEMPLATE, json!({"template": {"spec": spec}}));
    on_template("patch/strategic-deep")
        .compare_all(dry([
            template(json!({"containers": [{"name": "a", "image": "z"}]})),
            template(json!({"containers": [{"name": "a", "env": [{"name": "E", "$patch": "delete"}, {"name": "G", "value": "3"}]}]})),
            template(json!({"containers": [{"name": "a", "args": ["3"]}]})),
            template(json!({"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}], "containers": [{"name": "a", "image": "z"}]})),
            template(json!({"containers": [{"name": "c", "image": "w"}]})),
            template(json!({"containers": [{"name": "b", "ports": [{"containerPort": 81}]}]})),
            template(json!({"volumes": [{"name": "v", "$retainKeys": ["name", "configMap"], "configMap": {"name": "m"}}]})),
            template(json!({"volumes": [{"name": "v", "configMap": {"name": "m"}}]})),
            template(json!({"tolerations": [{"key": "u", "operator": "Exists"}]})),
            strategic(TEMPLATE, json!({"metadata": {"annotations": {"x": "y"}}})),
        ]))
        .compare(template(json!({"containers": [{"name": "a", "image": "z"}]})).manager("someone"))
}

fn strategic_unions() -> Case {
    let requests = dry([
        strategic(
            DEPLOYMENT,
            json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
        ),
        strategic(DEPLOYMENT, json!({"spec": {"strategy": {"type": "Recreate"}}})),
        strategic(DEPLOYMENT, json!({"spec": {"replicas": null}})),
    ]);
    on_deployment("patch/strategic-unions").compare_all(requests.into_iter().map(quietly))
}

fn content_types() -> Case {
    let body = json!({"data": {"k": "w"}});
    let of = |content_type: &str| patch(ONE, content_type).json(body.clone()).dry_run();
    on_config_map("patch/content-types")
        .compare(of("application/json"))
        .compare(of("text/plain"))
        .compare(of("application/merge-patch+json; charset=utf-8"))
        .compare(of("application/apply-patch+json"))
        .compare(of("application/yaml"))
        .compare(Request::new(http::Method::PATCH, ONE))
        .compare(merge_patch(ONE, body.clone()).query("force", "true"))
        .compare(merge_patch(CONFIG_MAPS, body))
}

fn custom() -> Case {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "size": {"type": "integer"}, "list": {"type": "array", "items": {"type": "string"}}, "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}});
    Case::new("patch/custom-objects")
        .given(post(CRDS, json!({"metadata": {"name": "widgets.{ns}.ex.dev"}, "spec": {
            "group": "{ns}.ex.dev", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}})))
        .until_status(get("/apis/{ns}.ex.dev/v1/namespaces/{ns}/widgets"), 200)
        .finally(delete(&format!("{CRDS}/widgets.{{ns}}.ex.dev")))
        .given(post(
            "/apis/{ns}.ex.dev/v1/namespaces/{ns}/widgets",
            json!({"apiVersion": "{ns}.ex.dev/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 1, "list": ["x"], "free": {"a": 1}}}),
        ))
        .compare_all(dry([
            merge_patch(WIDGET, json!({"spec": {"size": 2, "free": {"b": {"c": null}}}})),
            merge_patch(WIDGET, json!({"spec": {"size": null, "bogus": 1}})),
            merge_patch(WIDGET, json!({"spec": {"bogus": 1}})).query("fieldValidation", "Strict"),
            merge_patch(WIDGET, json!({"spec": {"size": "x"}})),
            merge_patch(WIDGET, json!({"kind": "Foo"})),
            merge_patch(WIDGET, json!({"kind": null})),
            merge_patch(WIDGET, json!({"apiVersion": "v1"})),
            merge_patch(WIDGET, json!({"metadata": {"labels": {"a": 5}}})),
            merge_patch(WIDGET, json!({"metadata": {"name": "b"}})),
            json_patch(WIDGET, json!([{"op": "add", "path": "/spec/list/-", "value": "y"}])),
            json_patch(WIDGET, json!([{"op": "add", "path": "/spec/bogus", "value": "y"}])),
            json_patch(WIDGET, json!([{"op": "test", "path": "/spec/size", "value": 2}])),
            json_patch(WIDGET, json!([{"op": "test", "path": "/spec/size", "value": 1.0}])),
            strategic(WIDGET, json!({"spec": {"size": 2}})),
        ]))
        .compare(merge_patch(WIDGET, json!({"spec": {"size": 2}})))
        .compare(merge_patch(WIDGET, json!({"spec": {"size": 2, "bogus": 1}})))
}

fn scale() -> Case {
    let scale = format!("{DEPLOYMENT}/scale");
    let put = |body: Value| Request::new(http::Method::PUT, &scale).json(body);
    on_deployment("patch/scale").compare_all([
        quietly(merge_patch(&scale, json!({"bogus": 1})).dry_run()),
        strategic(&scale, json!({"spec": {"replicas": true}})),
        quietly(
            json_patch(&scale, json!([{"op": "replace", "path": "/spec/replicas", "value": 1}]))
                .dry_run(),
        ),
        json_patch(&scale, json!([{"op": "test", "path": "/spec/replicas", "value": 1}])),
        put(json!({"metadata": {"name": "a"}, "spec": {"replicas": "x"}})),
        put(json!({"kind": "Scale", "apiVersion": "apps/v1", "metadata": {"name": "a"}})),
        Request::new(http::Method::PUT, &scale).text("spec: [", "application/yaml"),
    ])
}

/// Cases of patches other than apply.
pub fn cases() -> Vec<Case> {
    vec![
        json_operations(),
        json_failures(),
        merge(),
        strategic_lists(),
        strategic_failures(),
        strategic_deep(),
        strategic_unions(),
        content_types(),
        custom(),
        scale(),
    ]
}
