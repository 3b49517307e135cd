//! VolSync's replication sources and destinations.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

use super::build::Definition;

const GROUP: &str = "volsync.backube";

fn open() -> Value {
    json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

fn quantity() -> Value {
    json!({"x-kubernetes-int-or-string": true})
}

fn trigger() -> Value {
    json!({
        "type": "object",
        "properties": {"schedule": {"type": "string"}, "manual": {"type": "string"}},
    })
}

fn restic() -> Value {
    let modes = json!({"type": "array", "items": {"type": "string"}});
    json!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "copyMethod": {"type": "string", "enum": ["Direct", "None", "Clone", "Snapshot"]},
            "repository": {"type": "string"}, "capacity": quantity(), "accessModes": modes,
            "storageClassName": {"type": "string"}, "volumeSnapshotClassName": {"type": "string"},
            "cacheCapacity": quantity(), "cacheAccessModes": modes,
            "cacheStorageClassName": {"type": "string"},
            "retain": {
                "type": "object",
                "properties": {
                    "hourly": {"type": "integer", "format": "int32"},
                    "daily": {"type": "integer", "format": "int32"},
                    "weekly": {"type": "integer", "format": "int32"},
                    "monthly": {"type": "integer", "format": "int32"},
                    "yearly": {"type": "integer", "format": "int32"},
                    "within": {"type": "string"}, "last": {"type": "string"},
                },
            },
            "pruneIntervalDays": {"type": "integer", "format": "int32"},
            "unlock": {"type": "string"}, "destinationPVC": {"type": "string"},
            "previous": {"type": "integer", "format": "int32"},
            "restoreAsOf": {"type": "string", "format": "date-time"},
            "enableFileDeletion": {"type": "boolean"}, "cleanupTempPVC": {"type": "boolean"},
            "cleanupCachePVC": {"type": "boolean"}, "moverSecurityContext": open(),
        },
    })
}

/// VolSync's two kinds.
pub fn volsync() -> Vec<CustomResourceDefinition> {
    let columns = |definition: Definition| {
        definition
            .column("Last sync", ".status.lastSyncTime", "string")
            .column("Duration", ".status.lastSyncDuration", "string")
            .column("Next sync", ".status.nextSyncTime", "string")
            .build()
    };
    let source = Definition::new(GROUP, "v1alpha1", "ReplicationSource", "replicationsources")
        .spec(json!({"properties": {
            "sourcePVC": {"type": "string"}, "paused": {"type": "boolean"}, "trigger": trigger(),
            "restic": restic(),
        }}))
        .column("Source", ".spec.sourcePVC", "string");
    let destination =
        Definition::new(GROUP, "v1alpha1", "ReplicationDestination", "replicationdestinations")
            .spec(json!({"properties": {
                "paused": {"type": "boolean"}, "trigger": trigger(), "restic": restic(),
            }}));
    vec![columns(source), columns(destination)]
}
