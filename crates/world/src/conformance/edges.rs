//! Inputs at the edges: nulls where values are expected, empty lists that are not absent, bodies in protobuf.

use serde_json::json;

use super::case::{Case, apply, delete, get, merge_patch, post, put};

const CONFIG_MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";
const ONE: &str = "/api/v1/namespaces/{ns}/configmaps/a";
const AUTOSCALERS: &str = "/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers";
const TEMPLATES: &str = "/api/v1/namespaces/{ns}/podtemplates";
const TEMPLATE: &str = "/api/v1/namespaces/{ns}/podtemplates/a";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const BOXES: &str = "/apis/{ns}.ex.dev/v1/namespaces/{ns}/boxes";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// A ConfigMap as protobuf: name, one entry, immutable as given.
fn protobuf(name: &str, immutable: u8) -> Vec<u8> {
    let field =
        |number: u8, content: &[u8]| [&[number << 3 | 2, content.len() as u8], content].concat();
    let about = [field(1, b"v1"), field(2, b"ConfigMap")].concat();
    let metadata = [field(1, name.as_bytes()), field(8, b"")].concat();
    let entry = [field(1, b"k"), field(2, b"v")].concat();
    let raw = [field(1, &metadata), field(2, &entry), vec![4 << 3, immutable]].concat();
    let unknown = [field(1, &about), field(2, &raw), field(3, b""), field(4, b"")].concat();
    [b"k8s\0".to_vec(), unknown].concat()
}

fn bodies_in_protobuf() -> Case {
    Case::new("edges/bodies-in-protobuf")
        .compare(post(CONFIG_MAPS, json!({})).raw(&protobuf("a", 0), PROTOBUF))
        .compare(get(ONE))
        .compare(put(ONE, json!({})).raw(&protobuf("a", 1), PROTOBUF))
        .compare(put(ONE, json!({})).raw(&protobuf("b", 1), PROTOBUF))
        .compare(post(CONFIG_MAPS, json!({})).raw(&protobuf("A", 0), PROTOBUF))
        .compare(post(CONFIG_MAPS, json!({})).raw(b"{}", PROTOBUF))
        .compare(post(CONFIG_MAPS, json!({})).raw(b"", PROTOBUF))
        .compare(post(TEMPLATES, json!({})).raw(&protobuf("a", 0), PROTOBUF))
}

fn nulls_for_what_names_an_object() -> Case {
    Case::new("edges/nulls-for-what-names-an-object")
        .given(post(CONFIG_MAPS, json!({"metadata": {"name": "a"}})))
        .compare(merge_patch(ONE, json!({"apiVersion": null, "kind": null})))
        .compare(merge_patch(ONE, json!({"apiVersion": null, "kind": null, "data": {"a": "b"}})))
        .compare(
            merge_patch(ONE, json!({"apiVersion": null, "kind": null}))
                .query("fieldValidation", "Strict"),
        )
        .compare(merge_patch(ONE, json!({"metadata": null})))
        .compare(merge_patch(ONE, json!({"metadata": {"name": null}})))
}

fn empty_policies() -> Case {
    let scaler = |rules: serde_json::Value| {
        post(
            AUTOSCALERS,
            json!({"metadata": {"name": "a"}, "spec": {"maxReplicas": 3,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
                "behavior": {"scaleUp": rules}}}),
        )
        .dry_run()
    };
    Case::new("edges/empty-policies")
        .compare(scaler(json!({"policies": []})))
        .compare(scaler(json!({"policies": null})))
        .compare(scaler(json!({"policies": [], "selectPolicy": "Disabled"})))
}

fn nulls_in_an_apply() -> Case {
    let template = |spec: serde_json::Value| {
        json!({"apiVersion": "v1", "kind": "PodTemplate", "template": {
            "metadata": {"labels": {"a": "b"}}, "spec": spec}})
    };
    let main = json!({"name": "main", "image": "x"});
    Case::new("edges/nulls-in-an-apply")
        .compare(apply(
            TEMPLATE,
            "one",
            template(json!({"containers": [main], "volumes": [{"name": "v",
                "scaleIO": {"gateway": "g", "system": "s", "secretRef": null}}]})),
        ))
        .compare(apply(
            TEMPLATE,
            "one",
            template(json!({"containers": [{"name": "main", "image": "x", "ports": [
                {"containerPort": null}]}]})),
        ))
        .compare(apply(
            TEMPLATE,
            "one",
            template(json!({"containers": [main], "nodeSelector": null, "tolerations": null})),
        ))
        .compare(get(TEMPLATE))
}

fn windows_pods() -> Case {
    let pod = |host: bool, network: bool| {
        post(
            "/api/v1/namespaces/{ns}/pods",
            json!({"metadata": {"name": "a"}, "spec": {"hostNetwork": network,
                "securityContext": {"windowsOptions": {"hostProcess": host}},
                "containers": [{"name": "main", "image": "x"}]}}),
        )
        .dry_run()
        .ignoring("/spec/volumes")
        .ignoring("/spec/containers/0/volumeMounts")
    };
    Case::new("edges/windows-pods").compare(pod(true, false)).compare(pod(true, true))
}

fn embedded_objects() -> Vec<Case> {
    let kind = json!({"metadata": {"name": "boxes.{ns}.ex.dev"}, "spec": {
        "group": "{ns}.ex.dev", "scope": "Namespaced", "names": {"plural": "boxes", "kind": "Box"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
            "type": "object", "properties": {"spec": {"type": "object", "properties": {
                "held": {"type": "object", "x-kubernetes-embedded-resource": true,
                    "x-kubernetes-preserve-unknown-fields": true}}}}}}}]}});
    let held = |metadata: serde_json::Value| {
        json!({"apiVersion": "{ns}.ex.dev/v1", "kind": "Box", "metadata": {"name": "a"}, "spec": {
            "held": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}}})
    };
    let one = format!("{BOXES}/a");
    let boxes = |name: &str| {
        Case::new(name)
            .given(post(CRDS, kind.clone()))
            .finally(delete(&format!("{CRDS}/boxes.{{ns}}.ex.dev")))
            .until_status(get(BOXES), 200)
    };
    vec![
        boxes("edges/embedded-objects")
            .compare(apply(&one, "one", held(json!({"name": "x", "labels": {"a": "b"}}))))
            .compare(apply(&one, "one", held(json!({"name": "x"}))))
            .compare(apply(&one, "one", held(json!({}))))
            .compare(merge_patch(&one, json!({"spec": {"held": {"metadata": {"name": "y"}}}})))
            .compare(put(&one, held(json!(null))))
            .compare(post(BOXES, json!({})).raw(&protobuf("a", 0), PROTOBUF)),
        boxes("edges/embedded-objects-again")
            .given(apply(&one, "one", held(json!({"name": "x"}))))
            .given(apply(&one, "one", held(json!({}))))
            .compare(apply(&one, "one", held(json!({})))),
    ]
}

/// All of them.
pub fn cases() -> Vec<Case> {
    let mut cases = vec![
        bodies_in_protobuf(),
        nulls_for_what_names_an_object(),
        empty_policies(),
        nulls_in_an_apply(),
        windows_pods(),
    ];
    cases.extend(embedded_objects());
    cases
}
