//! Creating, reading, replacing and deleting one object: what every kind has in common.

use serde_json::{Value, json};

use super::case::{Case, delete, get, post, put};

const CONFIG_MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";
const ONE: &str = "/api/v1/namespaces/{ns}/configmaps/a";

fn config_map(data: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": data}})
}

/// Cases of the plain verbs.
pub fn cases() -> Vec<Case> {
    vec![
        Case::new("verbs/create-read-delete")
            .compare(post(CONFIG_MAPS, config_map("v")))
            .compare(get(ONE))
            .compare(delete(ONE))
            .compare(get(ONE))
            .compare(delete(ONE)),
        Case::new("verbs/create-twice")
            .compare(post(CONFIG_MAPS, config_map("v")))
            .compare(post(CONFIG_MAPS, config_map("w"))),
        Case::new("verbs/create-generated-name")
            .compare(post(CONFIG_MAPS, json!({"metadata": {"generateName": "a-"}})).named("a"))
            .compare(get("/api/v1/namespaces/{ns}/configmaps/{name:a}")),
        Case::new("verbs/create-dry-run")
            .compare(post(CONFIG_MAPS, config_map("v")).dry_run())
            .compare(get(ONE)),
        Case::new("verbs/create-without-name").compare(post(CONFIG_MAPS, json!({}))),
        Case::new("verbs/create-in-a-missing-namespace").compare(post(
            "/api/v1/namespaces/{ns}-missing/configmaps",
            config_map("v"),
        )),
        Case::new("verbs/create-in-another-namespace-than-the-path").compare(post(
            CONFIG_MAPS,
            json!({"metadata": {"name": "a", "namespace": "elsewhere"}}),
        )),
        Case::new("verbs/create-with-resource-version").compare(post(
            CONFIG_MAPS,
            json!({"metadata": {"name": "a", "resourceVersion": "1"}}),
        )),
        Case::new("verbs/replace-the-read-version")
            .given(post(CONFIG_MAPS, config_map("v")).named("first"))
            .compare(
                put(ONE, json!({"metadata": {"name": "a", "resourceVersion": "{rv:first}"}, "data": {"k": "w"}}))
                    .named("second"),
            )
            .compare(put(ONE, json!({"metadata": {"name": "a", "resourceVersion": "{rv:first}"}})))
            .compare(put(ONE, json!({"metadata": {"name": "a", "resourceVersion": "{rv:second}"}, "data": {"k": "w"}})))
            .compare(get(ONE)),
        Case::new("verbs/replace-whatever-is-there")
            .given(post(CONFIG_MAPS, config_map("v")))
            .compare(put(ONE, config_map("w")))
            .compare(put(ONE, config_map("w"))),
        Case::new("verbs/replace-another-name")
            .given(post(CONFIG_MAPS, config_map("v")))
            .compare(put(ONE, json!({"metadata": {"name": "b"}}))),
        Case::new("verbs/replace-another-uid")
            .given(post(CONFIG_MAPS, config_map("v")))
            .compare(put(ONE, json!({"metadata": {"name": "a", "uid": "00000000-0000-0000-0000-000000000001"}}))),
        Case::new("verbs/replace-a-missing-object").compare(put(ONE, config_map("v"))),
        Case::new("verbs/read-a-missing-kind").compare_all([
            get("/api/v1/namespaces/{ns}/nothings"),
            get("/apis/nothing.example/v1/things"),
            get("/apis/apps/v0/deployments"),
        ]),
        Case::new("verbs/not-allowed").compare_all([
            put(CONFIG_MAPS, config_map("v")),
            post(ONE, config_map("v")),
            get("/api/v1/namespaces/{ns}/bindings"),
        ]),
    ]
}
