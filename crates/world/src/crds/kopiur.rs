//! kopiur's kinds, in both dialects.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

use super::build::Definition;
use crate::actors::kopiur::{Dialect, GROUP};

fn phase(definition: Definition) -> Definition {
    definition.column("Phase", ".status.phase", "string")
}

fn exactly_one(fields: &[&str]) -> Value {
    let count: Vec<String> =
        fields.iter().map(|field| format!("(has(self.{field}) ? 1 : 0)")).collect();
    json!([{
        "rule": format!("{} == 1", count.join(" + ")),
        "message": format!("exactly one of {} must be set", fields.join(", ")),
    }])
}

fn open(fields: &[&str]) -> Value {
    let mut properties = json!({});
    for field in fields {
        properties[*field] =
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    }
    json!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": properties,
    })
}

/// kopiur's kinds as one dialect defines them: `status.claims` of a Restore tells which it is.
pub fn kopiur(dialect: Dialect) -> Vec<CustomResourceDefinition> {
    let define = |kind, plural, short: &'static str| {
        phase(Definition::new(GROUP, "v1alpha1", kind, plural).short(&[short]))
    };
    let mode = json!({"type": "string", "enum": ["ReadWrite", "ReadOnly"], "default": "ReadWrite"});
    let repository = json!({
        "required": ["backend", "encryption"],
        "properties": {
            "backend": open(&["s3"]), "encryption": open(&["passwordSecretRef"]), "mode": mode,
            "suspend": {"type": "boolean"},
        },
    });
    let sources = json!({
        "type": "array", "minItems": 1, "items": open(&["pvc", "pvcSelector", "nfs", "stream"]),
    });
    let copies = json!({
        "type": "string", "enum": ["Snapshot", "Clone", "Direct"], "default": "Snapshot",
    });
    let after = json!({"type": "string", "enum": ["Delete", "Retain", "Orphan"]});
    let mut source = open(&["snapshotRef", "fromPolicy", "identity"]);
    source["x-kubernetes-validations"] = exactly_one(&["snapshotRef", "fromPolicy", "identity"]);
    let mut target = open(&["pvc", "pvcRef", "populator"]);
    target["x-kubernetes-validations"] = exactly_one(&["pvc", "pvcRef", "populator"]);
    let claims = match dialect {
        Dialect::One => json!({}),
        Dialect::PerClaim => json!({"properties": {"claims": {
            "type": "object",
            "additionalProperties": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        }}}),
    };
    vec![
        define("Repository", "repositories", "kopiarepo").spec(repository.clone()).build(),
        define("ClusterRepository", "clusterrepositories", "kopiacrepo")
            .cluster_scoped()
            .spec(repository)
            .build(),
        define("SnapshotPolicy", "snapshotpolicies", "kopiasp")
            .spec(json!({
                "required": ["sources"],
                "properties": {
                    "sources": sources, "copyMethod": copies, "suspend": {"type": "boolean"},
                    "defaultDeletionPolicy": after,
                },
            }))
            .build(),
        define("SnapshotSchedule", "snapshotschedules", "kopiasched")
            .spec(json!({
                "required": ["schedule"], "properties": {"schedule": open(&[])},
            }))
            .build(),
        define("Snapshot", "snapshots", "kopiasnap")
            .spec(json!({"properties": {
                "deletionPolicy": after, "pin": {"type": "boolean"},
                "tags": {
                    "type": "object", "maxProperties": 10,
                    "additionalProperties": {"type": "string"},
                },
                "description": {"type": "string", "maxLength": 1024},
            }}))
            .build(),
        define("Restore", "restores", "kopiarestore")
            .spec(json!({
                "required": ["source", "target"],
                "properties": {"source": source, "target": target},
            }))
            .status(claims)
            .build(),
        define("Maintenance", "maintenances", "kopiamaint").build(),
        define("RepositoryReplication", "repositoryreplications", "kopiarr").build(),
        define("SnapshotReplication", "snapshotreplications", "kopiasr").build(),
    ]
}
