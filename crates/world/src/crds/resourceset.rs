//! flux-operator's ResourceSet and its input providers.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

use super::build::Definition;

const GROUP: &str = "fluxcd.controlplane.io";

fn open() -> Value {
    json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

/// The kinds of flux-operator that render objects.
pub fn flux_operator() -> Vec<CustomResourceDefinition> {
    let list = json!({"type": "array", "items": open()});
    let ready = r#".status.conditions[?(@.type=="Ready")].status"#;
    vec![
        Definition::new(GROUP, "v1", "ResourceSet", "resourcesets")
            .short(&["rset"])
            .spec(json!({"properties": {
                "inputs": list, "inputsFrom": list, "resources": list, "dependsOn": list,
                "resourcesTemplate": {"type": "string"}, "commonMetadata": open(),
                "serviceAccountName": {"type": "string"}, "wait": {"type": "boolean"},
                "steps": {"type": "array", "maxItems": 20, "items": open()},
            }}))
            .column("Ready", ready, "string")
            .build(),
        Definition::new(GROUP, "v1", "ResourceSetInputProvider", "resourcesetinputproviders")
            .short(&["rsip"])
            .spec(json!({
                "required": ["type"],
                "properties": {"type": {"type": "string"}, "defaultValues": open()},
            }))
            .column("Ready", ready, "string")
            .build(),
    ]
}
