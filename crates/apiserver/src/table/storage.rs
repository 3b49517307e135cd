//! Rows of what keeps data.

use serde_json::{Value, json};

use super::row::{Row, quantity};

/// Cells of a storage kind; none if the kind is something else.
pub fn cells(kind: &str, row: &Row<'_>) -> Option<Vec<Value>> {
    Some(match kind {
        "PersistentVolume" => volume(row),
        "PersistentVolumeClaim" => claim(row),
        "StorageClass" => storage_class(row),
        "VolumeAttributesClass" => vec![row.name(), json!(row.text("/driverName")), row.age()],
        "CSINode" => vec![row.name(), json!(row.count("/spec/drivers")), row.age()],
        "CSIDriver" => driver(row),
        "VolumeAttachment" => vec![
            row.name(),
            json!(row.text("/spec/attacher")),
            json!(row.text("/spec/source/persistentVolumeName")),
            json!(row.text("/spec/nodeName")),
            json!(row.flag("/status/attached")),
            row.age(),
        ],
        _ => return None,
    })
}

fn phase(row: &Row<'_>) -> Value {
    json!(if row.has("/metadata/deletionTimestamp") {
        "Terminating"
    } else {
        row.text("/status/phase")
    })
}

/// The class is in an annotation of old objects, in the spec of all others.
fn class(row: &Row<'_>) -> Value {
    let old = row.at("/metadata/annotations/volume.beta.kubernetes.io~1storage-class");
    json!(old.as_str().unwrap_or_else(|| row.text("/spec/storageClassName")))
}

fn modes(row: &Row<'_>, pointer: &str) -> String {
    let short = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let all: Vec<&str> = short
        .into_iter()
        .filter(|(mode, _)| row.items(pointer).iter().any(|one| one == mode))
        .map(|(_, short)| short)
        .collect();
    all.join(",")
}

fn volume(row: &Row<'_>) -> Vec<Value> {
    let claim = if row.has("/spec/claimRef") {
        format!("{}/{}", row.text("/spec/claimRef/namespace"), row.text("/spec/claimRef/name"))
    } else {
        String::new()
    };
    vec![
        row.name(),
        json!(quantity(row.at("/spec/capacity/storage"))),
        json!(modes(row, "/spec/accessModes")),
        json!(row.text("/spec/persistentVolumeReclaimPolicy")),
        phase(row),
        json!(claim),
        class(row),
        json!(row.text_or("/spec/volumeAttributesClassName", "<unset>")),
        json!(row.text("/status/reason")),
        row.age(),
        json!(row.text_or("/spec/volumeMode", "<unset>")),
    ]
}

fn claim(row: &Row<'_>) -> Vec<Value> {
    let bound = !row.text("/spec/volumeName").is_empty();
    let (capacity, access) = if bound {
        (quantity(row.at("/status/capacity/storage")), modes(row, "/status/accessModes"))
    } else {
        (String::new(), String::new())
    };
    vec![
        row.name(),
        phase(row),
        json!(row.text("/spec/volumeName")),
        json!(capacity),
        json!(access),
        class(row),
        json!(row.text_or("/spec/volumeAttributesClassName", "<unset>")),
        row.age(),
        json!(row.text_or("/spec/volumeMode", "<unset>")),
    ]
}

fn storage_class(row: &Row<'_>) -> Vec<Value> {
    let chosen = ["storageclass.kubernetes.io", "storageclass.beta.kubernetes.io"]
        .into_iter()
        .any(|by| row.text(&format!("/metadata/annotations/{by}~1is-default-class")) == "true");
    let name = row.text("/metadata/name");
    let name = if chosen { format!("{name} (default)") } else { name.to_owned() };
    vec![
        json!(name),
        json!(row.text("/provisioner")),
        json!(row.text_or("/reclaimPolicy", "Delete")),
        json!(row.text_or("/volumeBindingMode", "Immediate")),
        json!(row.flag("/allowVolumeExpansion")),
        row.age(),
    ]
}

fn driver(row: &Row<'_>) -> Vec<Value> {
    let modes = row.joined("/spec/volumeLifecycleModes");
    let tokens = if row.has("/spec/tokenRequests") {
        let all: Vec<&str> = row
            .items("/spec/tokenRequests")
            .iter()
            .map(|one| one["audience"].as_str().unwrap_or_default())
            .collect();
        all.join(",")
    } else {
        "<unset>".into()
    };
    vec![
        row.name(),
        json!(row.at("/spec/attachRequired").as_bool().unwrap_or(true)),
        json!(row.flag("/spec/podInfoOnMount")),
        json!(row.flag("/spec/storageCapacity")),
        json!(tokens),
        json!(row.flag("/spec/requiresRepublish")),
        json!(if modes.is_empty() { "<none>" } else { &modes }),
        row.age(),
    ]
}
