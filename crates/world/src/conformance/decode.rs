//! Bodies that are not what they should be: broken, of another type or kind, with unknown or repeated fields, in
//! other formats; and good ones that come back written differently.

use serde_json::{Value, json};

use super::case::{Case, Request, delete, get, post, put};

const CONFIG_MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";
const PODS: &str = "/api/v1/namespaces/{ns}/pods";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/{ns}/deployments";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/{ns}.ex.dev/v1/namespaces/{ns}/widgets";

/// A POST of bytes that changes nothing.
fn raw(path: &str, body: &[u8], content_type: &str) -> Request {
    Request::new(http::Method::POST, path).raw(body, content_type).dry_run()
}

fn all(path: &str, bodies: &[&str]) -> Vec<Request> {
    bodies.iter().map(|body| raw(path, body.as_bytes(), "application/json")).collect()
}

fn yaml(bodies: &[&str]) -> Vec<Request> {
    bodies.iter().map(|body| raw(CONFIG_MAPS, body.as_bytes(), "application/yaml")).collect()
}

fn broken_json() -> Case {
    Case::new("decode/broken-json").compare_all(all(
        CONFIG_MAPS,
        &[
            "{bad",
            "",
            "[]",
            "\"x\"",
            "5",
            "null",
            "{}",
            r#"{"metadata":{"name":"a"}} x"#,
            r#"{"a":tru}"#,
            r#"{"a":"\x"}"#,
            r#"{"a":1"#,
            r#"{"a" 1}"#,
            r#"{"a":1,}"#,
            r#"{"a":01}"#,
            r#"{"a":-}"#,
            "{\"a\":\"b\nc\"}",
            r#"{"a":1.}"#,
            r#"{"a":1e}"#,
            r#"{"a":"\uZZZZ"}"#,
            r#"{"kind":5}"#,
            "  a long body that does not begin with a brace and is cut in the message",
            r#"{"a long body that begins with a brace and is cut too": nul}"#,
        ],
    ))
}

fn wrong_types() -> Case {
    Case::new("decode/wrong-types")
        .compare_all(all(
            CONFIG_MAPS,
            &[
                r#"{"metadata":{"name":5}}"#,
                r#"{"metadata":[]}"#,
                r#"{"data":[]}"#,
                r#"{"data":{"a":5}}"#,
                r#"{"data":{"a":{}}}"#,
                r#"{"immutable":"x"}"#,
                r#"{"binaryData":{"a":"!!"}}"#,
                r#"{"binaryData":{"a":"YQ="}}"#,
                r#"{"binaryData":{"a":5}}"#,
                r#"{"metadata":{"generation":1.5}}"#,
                r#"{"metadata":{"generation":99999999999999999999}}"#,
                r#"{"metadata":{"creationTimestamp":"x"}}"#,
                r#"{"metadata":{"creationTimestamp":5}}"#,
                r#"{"metadata":{"creationTimestamp":"2020-01-01T00:00:00"}}"#,
                r#"{"metadata":{"ownerReferences":[{"uid":5}]}}"#,
                r#"{"metadata":{"finalizers":[5]}}"#,
                r#"{"metadata":{"finalizers":"x"}}"#,
                r#"{"metadata":{"name":5,"namespace":6}}"#,
            ],
        ))
        .compare_all(all(
            PODS,
            &[
                r#"{"spec":{"volumes":[{"emptyDir":5}]}}"#,
                r#"{"spec":{"containers":[{"resources":{"limits":{"cpu":"x"}}}]}}"#,
                r#"{"spec":{"containers":[{"resources":{"limits":{"cpu":true}}}]}}"#,
                r#"{"spec":{"containers":[{"resources":{"limits":{"cpu":"1KM"}}}]}}"#,
                r#"{"spec":{"containers":[{"resources":{"limits":[]}}]}}"#,
                r#"{"spec":{"containers":[{"imagePullPolicy":5}]}}"#,
                r#"{"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":true}}}]}}"#,
                r#"{"spec":{"containers":[{"ports":[{"containerPort":3000000000}]}]}}"#,
                r#"{"spec":{"containers":[{"env":[{"name":"A","value":1}]}]}}"#,
                r#"{"spec":{"nodeSelector":{"a":true}}}"#,
                r#"{"spec":{"containers":[[]]}}"#,
                r#"{"metadata":{"name":5},"spec":{"containers":[{"resources":{"limits":{"cpu":"x"}}}]}}"#,
            ],
        ))
        .compare_all(all(
            CRDS,
            &[
                r#"{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"properties":{"a":{"type":5}}}}}]}}"#,
                r#"{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"items":{"type":5}}}}]}}"#,
                r#"{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"additionalProperties":5}}}]}}"#,
            ],
        ))
}

fn other_kinds() -> Case {
    Case::new("decode/other-kinds")
        .compare_all(all(
            CONFIG_MAPS,
            &[
                r#"{"apiVersion":"v1","kind":"Secret"}"#,
                r#"{"apiVersion":"v1","kind":"Secret","data":{"a":"!"}}"#,
                r#"{"kind":"Secret"}"#,
                r#"{"apiVersion":"v9","kind":"Foo"}"#,
                r#"{"apiVersion":"v1","kind":"Foo"}"#,
                r#"{"apiVersion":"a/b/c","kind":"ConfigMap"}"#,
                r#"{"apiVersion":"apps/v1","kind":"ConfigMap"}"#,
                r#"{"apiVersion":"apps/v1"}"#,
                r#"{"kind":"ConfigMap","metadata":{"name":"a"}}"#,
                r#"{"apiVersion":"v1","metadata":{"name":"a"}}"#,
                r#"{"apiVersion":"v1","kind":"ConfigMapList"}"#,
                r#"{"apiVersion":"v1","kind":"Status"}"#,
            ],
        ))
        .compare_all(all(
            DEPLOYMENTS,
            &[
                r#"{"kind":"Deployment","apiVersion":"apps/v1beta1"}"#,
                r#"{"kind":"Scale","apiVersion":"autoscaling/v1"}"#,
                r#"{"kind":"DeleteOptions","apiVersion":"apps/v1"}"#,
            ],
        ))
        .compare_all(all(
            CRDS,
            &[
                r#"{"kind":"Secret","apiVersion":"v1"}"#,
                r#"{"kind":"DeleteOptions","apiVersion":"v1"}"#,
            ],
        ))
}

fn strictness() -> Case {
    let body = br#"{"metadata":{"name":"a","foo":1,"labels":{"a":"1","a":"2"}},"bogus":1,"bogus":2,"data":{"k":"v"},"data":{"l":"w"}}"#;
    let with =
        |value: &str| raw(CONFIG_MAPS, body, "application/json").query("fieldValidation", value);
    let pod = br#"{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i","x":{"y":1}},{"name":"d","image":"i","ports":[{"containerPort":1,"z":1}]}]}}"#;
    Case::new("decode/strict-and-warn")
        .compare(with("Strict"))
        .compare(with("Warn"))
        .compare(with("Ignore"))
        .compare(raw(CONFIG_MAPS, body, "application/json"))
        .compare(with("Bogus"))
        .compare(raw(PODS, pod, "application/json").query("fieldValidation", "Strict"))
        .compare(
            raw(
                CONFIG_MAPS,
                b"metadata:\n  name: a\ndata:\n  a: \"1\"\n  a: \"2\"\nbogus: 1\nalpha: 2\n",
                "application/yaml",
            )
            .query("fieldValidation", "Strict"),
        )
        .compare(raw(
            CONFIG_MAPS,
            b"metadata:\n  name: a\ndata:\n  a: \"1\"\n  a: \"2\"\nbogus: 1\nalpha: 2\n",
            "application/yaml",
        ))
        .given(post(CONFIG_MAPS, json!({"metadata": {"name": "a"}})))
        .compare(
            put(&format!("{CONFIG_MAPS}/a"), json!({"metadata": {"name": "a"}, "bogus": 1}))
                .query("fieldValidation", "Strict"),
        )
        .compare(put(&format!("{CONFIG_MAPS}/a"), json!({"metadata": {"name": "a"}, "bogus": 1})))
}

fn broken_yaml() -> Case {
    Case::new("decode/broken-yaml").compare_all(yaml(&[
        "metadata:\n  name: a\n bad: 1",
        "a: [",
        "a: b: c",
        "\tx: 1",
        "- a",
        "foo",
        "",
        "metadata:\n  name: y",
        "metadata:\n  name: a\ndata:\n  a: 0x10",
        "metadata:\n  name: a\nkind: \"x",
        "a: *foo",
        "{\"a\":1",
        "a: [1\n",
        "- a\nb: 1\n",
        "a: - b\n",
        "a: 1\n  b: 2\n",
        "metadata: {name: a}\ndata: {1: \"x\", true: \"y\"}\n",
        "metadata: {name: a}\n---\nmetadata: {name: b}\n",
        "metadata: {name: &n a, labels: {l: *n}}\n",
    ]))
}

fn media_types() -> Case {
    let body = br#"{"metadata":{"name":"a"}}"#;
    let put_of = |content_type: &str| {
        Request::new(http::Method::PUT, &format!("{CONFIG_MAPS}/a"))
            .raw(body, content_type)
            .dry_run()
    };
    Case::new("decode/media-types")
        .given(post(CONFIG_MAPS, json!({"metadata": {"name": "a"}})))
        .compare(raw(CONFIG_MAPS, body, "text/plain"))
        .compare(raw(CONFIG_MAPS, body, "application/xml; charset=utf-8"))
        .compare(raw(CONFIG_MAPS, body, "application/json; charset=utf-8"))
        .compare(raw(CONFIG_MAPS, body, "application/json;stream=watch"))
        .compare(raw(CONFIG_MAPS, body, "nonsense"))
        .compare(put_of("text/plain"))
        .compare(put_of("application/json; charset=utf-8"))
        .compare(
            raw(CONFIG_MAPS, br#"{"metadata":{"name":"b"}}"#, "application/json")
                .accept("text/plain"),
        )
        .compare(
            raw(CONFIG_MAPS, br#"{"metadata":{"name":"b"}}"#, "application/json")
                .accept("application/yaml"),
        )
}

fn hostile() -> Case {
    let deep = "{\"a\":".repeat(5000) + "1" + &"}".repeat(5000);
    let deeper = "[".repeat(10_001) + &"]".repeat(10_001);
    let unknown = format!(r#"{{"metadata":{{"name":"a"}},"x":{deep}}}"#);
    let mut large = br#"{"metadata":{"name":"a"},"data":{"k":""#.to_vec();
    large.resize(4 * 1024 * 1024, b'x');
    large.extend_from_slice(br#""}}"#);
    let mut data = br#"{"metadata":{"name":"a"},"data":{"k":""#.to_vec();
    data.resize(data.len() + 1024 * 1024, b'x');
    data.extend_from_slice(br#""}}"#);
    Case::new("decode/hostile-bodies")
        .compare(raw(CONFIG_MAPS, unknown.as_bytes(), "application/json"))
        .compare(raw(CONFIG_MAPS, deeper.as_bytes(), "application/json"))
        .compare(raw(CONFIG_MAPS, &large, "application/json"))
        .compare(raw(CONFIG_MAPS, &data, "application/json"))
        .compare(raw(CONFIG_MAPS, b"{\"metadata\":{\"name\":\"a\xff\"}}", "application/json"))
        .compare(raw(
            CONFIG_MAPS,
            b"{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"\xc3\x28\"}}",
            "application/json",
        ))
        .compare(raw(CONFIG_MAPS, b"\xff\xfe\x00", "application/json"))
        .compare(raw(CONFIG_MAPS, b"a: \xff", "application/yaml"))
        .compare(raw(CONFIG_MAPS, b"a: \xc3", "application/yaml"))
        .compare(raw(
            CONFIG_MAPS,
            br#"{"metadata":{"name":"a"},"data":{"k":"\ud83d"}}"#,
            "application/json",
        ))
}

fn written_differently() -> Case {
    let pod = json!({
        "metadata": {"name": "a", "labels": {}, "annotations": null, "finalizers": [], "creationTimestamp": null},
        "spec": {
            "hostNetwork": false, "terminationGracePeriodSeconds": 0, "nodeName": "", "hostname": null,
            "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "emptyDir": {"sizeLimit": "1024Mi"}}],
            "containers": [{"name": "c", "image": "i", "command": [], "env": [{"name": "E", "value": ""}],
                "resources": {"limits": {"memory": "1024Mi", "cpu": 0.5, "ephemeral-storage": "1.5Gi"}, "requests": {"cpu": "0.0001"}},
                "livenessProbe": {"httpGet": {"port": "http"}}}],
        },
    });
    let service = json!({
        "metadata": {"name": "a"},
        "spec": {"clusterIP": "None", "ports": [{"port": 80, "nodePort": 0, "protocol": "", "targetPort": null}]},
    });
    let deployment = json!({
        "metadata": {"name": "a"},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"a": "b"}, "matchExpressions": []},
            "strategy": {}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}},
        "status": null,
    });
    Case::new("decode/written-differently")
        .compare(post(PODS, pod))
        .compare(post("/api/v1/namespaces/{ns}/services", service))
        .compare(post(DEPLOYMENTS, deployment))
        .compare(post(CONFIG_MAPS, json!({"metadata": {"name": "a"}, "data": {"k": null}, "binaryData": {"b": "YR=="}})))
        .compare(post("/api/v1/namespaces/{ns}/resourcequotas", json!({"metadata": {"name": "a"},
            "spec": {"hard": {"cpu": "1000m", "memory": "1.5Gi", "pods": 5, "requests.cpu": "1e3", "limits.cpu": "+2000"}}})))
        .compare(post("/api/v1/namespaces/{ns}/secrets", json!({"metadata": {"name": "a"}, "data": {"k": "dg==\n"}, "type": ""})))
}

fn definition() -> Value {
    json!({
        "metadata": {"name": "widgets.{ns}.ex.dev"},
        "spec": {
            "group": "{ns}.ex.dev", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": {
                    "size": {"type": "integer"},
                    "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": {"type": "string"}}}},
                    "template": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
                }}}}}}],
        },
    })
}

fn custom() -> Case {
    let strictly = |body: Value| post(WIDGETS, body).dry_run().query("fieldValidation", "Strict");
    let widget = |rest: Value| {
        let mut body =
            json!({"apiVersion": "{ns}.ex.dev/v1", "kind": "Widget", "metadata": {"name": "a"}});
        if let (Value::Object(rest), Some(body)) = (rest, body.as_object_mut()) {
            body.extend(rest);
        }
        body
    };
    let unknown = widget(json!({"metadata": {"name": "a", "foo": 1}, "bogus": 1, "spec": {
        "zz": 1, "list": [{"a": "1", "b": 2}], "free": {"x": 1}, "map": {"k": {"x": "1", "y": 2}}}}));
    Case::new("decode/custom-objects")
        .given(post(CRDS, definition()))
        .until_status(get(WIDGETS), 200)
        .finally(delete(&format!("{CRDS}/widgets.{{ns}}.ex.dev")))
        .compare_all(all(WIDGETS, &["{bad", "", "[]", "null", "{}", r#"{"kind":"Widget"}"#, r#"{"kind":5}"#]))
        .compare(post(WIDGETS, json!({"apiVersion": "{ns}.ex.dev/v1"})))
        .compare(post(WIDGETS, json!({"apiVersion": "{ns}.ex.dev/v2", "kind": "Widget", "metadata": {"name": "a"}})))
        .compare(post(WIDGETS, json!({"apiVersion": "{ns}.ex.dev/v1", "kind": "Foo", "metadata": {"name": "a"}})))
        .compare(post(WIDGETS, json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}})))
        .compare(strictly(widget(json!({"metadata": {"name": 5}}))))
        .compare(strictly(widget(json!({"metadata": 5}))))
        .compare(strictly(widget(json!({"metadata": {"name": "a", "labels": {"a": 5}}}))))
        .compare(strictly(widget(json!({"metadata": {"name": "a", "finalizers": "x"}}))))
        .compare(strictly(widget(json!({"metadata": {"name": "a", "creationTimestamp": "x"}}))))
        .compare(strictly(widget(json!({"spec": {"template": {"apiVersion": "v1", "kind": "X", "metadata": {"name": 5}}}}))))
        .compare(strictly(unknown.clone()))
        .compare(post(WIDGETS, unknown.clone()).dry_run())
        .compare(post(WIDGETS, unknown).dry_run().query("fieldValidation", "Ignore"))
        .compare(post(WIDGETS, widget(json!({"metadata": {"name": "a", "labels": {}, "annotations": null}, "spec": {"free": {"n": 1.0, "e": null, "l": []}}}))))
}

/// Cases of request bodies.
pub fn cases() -> Vec<Case> {
    vec![
        broken_json(),
        wrong_types(),
        other_kinds(),
        strictness(),
        broken_yaml(),
        media_types(),
        hostile(),
        written_differently(),
        custom(),
    ]
}
