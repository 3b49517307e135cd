//! Volume snapshots, their contents and classes, single and in groups.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

use super::build::Definition;

const GROUP: &str = "snapshot.storage.k8s.io";
const GROUPS: &str = "groupsnapshot.storage.k8s.io";

fn fixed(field: &str) -> Value {
    json!({
        "type": "string",
        "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": format!("{field} is immutable")}],
    })
}

/// The six kinds of the snapshot API.
pub fn snapshots() -> Vec<CustomResourceDefinition> {
    let class = json!({
        "driver": {"type": "string"},
        "deletionPolicy": {"type": "string", "enum": ["Delete", "Retain"]},
        "parameters": {"type": "object", "additionalProperties": {"type": "string"}},
    });
    let snapshot_source = json!({
        "type": "object",
        "properties": {
            "persistentVolumeClaimName": fixed("persistentVolumeClaimName"),
            "volumeSnapshotContentName": fixed("volumeSnapshotContentName"),
        },
        "x-kubernetes-validations": [
            {"rule": "!has(oldSelf.persistentVolumeClaimName) || has(self.persistentVolumeClaimName)",
             "message": "persistentVolumeClaimName is required once set"},
            {"rule": "!has(oldSelf.volumeSnapshotContentName) || has(self.volumeSnapshotContentName)",
             "message": "volumeSnapshotContentName is required once set"},
            {"rule": "has(self.volumeSnapshotContentName) != has(self.persistentVolumeClaimName)",
             "message": "exactly one of volumeSnapshotContentName and persistentVolumeClaimName must be set"},
        ],
    });
    let content_source = json!({
        "type": "object",
        "properties": {
            "volumeHandle": fixed("volumeHandle"), "snapshotHandle": fixed("snapshotHandle"),
        },
    });
    vec![
        Definition::new(GROUP, "v1", "VolumeSnapshot", "volumesnapshots")
            .short(&["vs"])
            .spec(json!({
                "required": ["source"],
                "properties": {
                    "source": snapshot_source,
                    "volumeSnapshotClassName": {"type": "string"},
                },
            }))
            .column("ReadyToUse", ".status.readyToUse", "boolean")
            .build(),
        Definition::new(GROUP, "v1", "VolumeSnapshotContent", "volumesnapshotcontents")
            .short(&["vsc", "vscs"])
            .cluster_scoped()
            .spec(json!({
                "required": ["deletionPolicy", "driver", "source", "volumeSnapshotRef"],
                "properties": {
                    "driver": {"type": "string"},
                    "deletionPolicy": {"type": "string", "enum": ["Delete", "Retain"]},
                    "source": content_source,
                    "volumeSnapshotRef": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                },
            }))
            .column("ReadyToUse", ".status.readyToUse", "boolean")
            .build(),
        Definition::new(GROUP, "v1", "VolumeSnapshotClass", "volumesnapshotclasses")
            .short(&["vsclass", "vsclasses"])
            .cluster_scoped()
            .top(class.clone())
            .build(),
        Definition::new(GROUPS, "v1beta1", "VolumeGroupSnapshot", "volumegroupsnapshots")
            .short(&["vgs"])
            .column("ReadyToUse", ".status.readyToUse", "boolean")
            .build(),
        Definition::new(GROUPS, "v1beta1", "VolumeGroupSnapshotContent", "volumegroupsnapshotcontents")
            .short(&["vgsc", "vgscs"])
            .cluster_scoped()
            .build(),
        Definition::new(GROUPS, "v1beta1", "VolumeGroupSnapshotClass", "volumegroupsnapshotclasses")
            .short(&["vgsclass", "vgsclasses"])
            .cluster_scoped()
            .top(class)
            .build(),
    ]
}
