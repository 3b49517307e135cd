//! The custom resource definitions, as objects and as the files in `deploy/crds`.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt as _;
use serde_json::{Map, Value, json};

use crate::backup_class::BackupClass;
use crate::cluster_watch_rule::ClusterWatchRule;
use crate::fence::Fence;
use crate::git_destination::GitDestination;
use crate::hands_off::HandsOff;
use crate::incident::Incident;
use crate::managed_app::ManagedApp;
use crate::protected_volume::ProtectedVolume;
use crate::prune_hold::PruneHold;
use crate::reconcile_record::ReconcileRecord;
use crate::recovery_policy::RecoveryPolicy;
use crate::rollback_request::RollbackRequest;
use crate::staged_kustomization::StagedKustomization;
use crate::upgrade_request::UpgradeRequest;
use crate::volume_operation::VolumeOperation;
use crate::watch_rule::WatchRule;

/// Every definition, sorted by name.
pub fn all() -> Vec<CustomResourceDefinition> {
    let mut definitions: Vec<_> = [
        BackupClass::crd(),
        ClusterWatchRule::crd(),
        Fence::crd(),
        GitDestination::crd(),
        HandsOff::crd(),
        Incident::crd(),
        ManagedApp::crd(),
        ProtectedVolume::crd(),
        PruneHold::crd(),
        ReconcileRecord::crd(),
        RecoveryPolicy::crd(),
        RollbackRequest::crd(),
        StagedKustomization::crd(),
        UpgradeRequest::crd(),
        VolumeOperation::crd(),
        WatchRule::crd(),
    ]
    .into_iter()
    .map(finished)
    .collect();
    definitions.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    definitions
}

/// The name of the file that holds a definition.
pub fn file_name(crd: &CustomResourceDefinition) -> String {
    format!("{}.yaml", crd.spec.names.plural)
}

/// One definition as YAML. Descriptions stay on one line, so that a changed word is a changed line.
pub fn yaml(crd: &CustomResourceDefinition) -> Result<String, serde_saphyr::ser::Error> {
    serde_saphyr::to_string_with_options(
        crd,
        serde_saphyr::ser_options! { prefer_block_scalars: false },
    )
}

/// What the derived schema does not say by itself. A schema that cannot be read back is left as it
/// was derived; a test sees to it that there is none.
fn finished(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        let schema = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut());
        let Some(schema) = schema else { continue };
        let Ok(mut value) = serde_json::to_value(&*schema) else { continue };
        if let Some(root) = value.as_object_mut() {
            root.remove("title");
        }
        tidy(&mut value);
        if let Ok(tidied) = serde_json::from_value(value) {
            *schema = tidied;
        }
    }
    crd
}

/// An optional field is one that may be left out, not one that may be null: the server then drops a
/// null before any rule asks `has()`. Wrapped doc comments become lines again.
fn tidy(value: &mut Value) {
    match value {
        Value::Object(object) => {
            let is_schema = object.get("type").is_some_and(Value::is_string);
            if is_schema {
                object.remove("nullable");
                if let Some(Value::String(description)) = object.get_mut("description") {
                    *description = unwrapped(description);
                }
                bound_condition(object);
            }
            for child in object.values_mut() {
                tidy(child);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// Joins the lines of each paragraph.
fn unwrapped(description: &str) -> String {
    description
        .split("\n\n")
        .map(|paragraph| paragraph.split('\n').map(str::trim).collect::<Vec<_>>().join(" "))
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// The limits that Kubernetes itself puts on a condition, which the type does not carry.
fn bound_condition(schema: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    if !["lastTransitionTime", "reason", "status", "type"]
        .iter()
        .all(|key| properties.contains_key(*key))
    {
        return;
    }
    let limits = [
        ("message", json!({ "maxLength": 32768 })),
        ("observedGeneration", json!({ "minimum": 0 })),
        (
            "reason",
            json!({ "maxLength": 1024, "minLength": 1, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$" }),
        ),
        ("status", json!({ "enum": ["True", "False", "Unknown"] })),
        ("type", json!({ "maxLength": 316 })),
    ];
    for (key, limit) in limits {
        if let (Some(Value::Object(property)), Value::Object(limit)) =
            (properties.get_mut(key), limit)
        {
            property.extend(limit);
        }
    }
}
