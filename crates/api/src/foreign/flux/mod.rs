//! Flux: sources, Kustomizations, HelmReleases, and flux-operator's ResourceSets.

mod helm_release;
mod kustomization;
mod resource_set;
mod source;

pub use helm_release::*;
pub use kustomization::*;
pub use resource_set::*;
pub use source::*;

use serde::{Deserialize, Serialize};

use super::Extra;

/// Asks a Flux object to reconcile now; any new value counts.
pub const REQUESTED_AT: &str = "reconcile.fluxcd.io/requestedAt";
/// On an applied object: `disabled` keeps Flux from applying it.
pub const RECONCILE: &str = "kustomize.toolkit.fluxcd.io/reconcile";
/// On an applied object: `disabled` keeps Flux from pruning it.
pub const PRUNE: &str = "kustomize.toolkit.fluxcd.io/prune";
/// The label that names the Kustomization of an applied object.
pub const KUSTOMIZATION_NAME: &str = "kustomize.toolkit.fluxcd.io/name";
/// The label that names the namespace of that Kustomization.
pub const KUSTOMIZATION_NAMESPACE: &str = "kustomize.toolkit.fluxcd.io/namespace";
/// The label that names the HelmRelease of an installed object.
pub const HELM_RELEASE_NAME: &str = "helm.toolkit.fluxcd.io/name";
/// The label that names the namespace of that HelmRelease.
pub const HELM_RELEASE_NAMESPACE: &str = "helm.toolkit.fluxcd.io/namespace";

/// The name of an object of the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LocalName {
    /// The name.
    #[serde(default)]
    pub name: String,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A reference that may cross namespaces and may name a kind.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reference {
    /// The API version, where kinds of several groups fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,

    /// The kind.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,

    /// The name.
    #[serde(default)]
    pub name: String,

    /// The namespace; the referring object's own if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Reference {
    /// The namespace that is meant when the referring object lies in `own`.
    pub fn namespace_or<'a>(&'a self, own: &'a str) -> &'a str {
        self.namespace.as_deref().unwrap_or(own)
    }
}

/// The objects that an applier has applied.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Inventory {
    /// One entry an object.
    #[serde(default)]
    pub entries: Vec<InventoryEntry>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// One applied object.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InventoryEntry {
    /// `<namespace>_<name>_<group>_<kind>`.
    pub id: String,

    /// The version of its API.
    pub v: String,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

impl InventoryEntry {
    /// Namespace, name, group and kind; nothing if the id is malformed. A name may itself hold
    /// underscores in the escaped form `__` for a colon.
    pub fn parts(&self) -> Option<(&str, String, &str, &str)> {
        let (namespace, rest) = self.id.split_once('_')?;
        let (rest, kind) = rest.rsplit_once('_')?;
        let (name, group) = rest.rsplit_once('_')?;
        Some((namespace, name.replace("__", ":"), group, kind))
    }
}

#[cfg(test)]
mod tests {
    use kube::Resource as _;
    use serde_json::json;

    use super::*;

    #[test]
    fn inventory_ids_are_taken_apart() {
        let entry =
            |id: &str| InventoryEntry { id: id.into(), v: "v1".into(), ..Default::default() };
        assert_eq!(
            entry("apps_podinfo_apps_Deployment").parts(),
            Some(("apps", "podinfo".into(), "apps", "Deployment"))
        );
        assert_eq!(
            entry("_system__basic_rbac.authorization.k8s.io_ClusterRole").parts(),
            Some(("", "system:basic".into(), "rbac.authorization.k8s.io", "ClusterRole"))
        );
        assert_eq!(entry("apps_web__Service").parts(), Some(("apps", "web".into(), "", "Service")));
        assert_eq!(entry("nonsense").parts(), None);
    }

    #[test]
    fn unknown_fields_survive() {
        let object = json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
            "kind": "Kustomization",
            "metadata": { "name": "apps", "namespace": "flux-system" },
            "spec": {
                "interval": "10m",
                "path": "./apps",
                "prune": true,
                "sourceRef": { "kind": "GitRepository", "name": "flux-system", "later": 1 },
                "postBuild": { "substitute": { "A": "b" }, "strategy": "new" },
                "deletionPolicy": "Orphan",
            },
            "status": {
                "inventory": { "entries": [{ "id": "a_b__Service", "v": "v1", "w": 2 }] },
                "history": [{ "digest": "sha256:0" }],
            },
        });
        let read: Kustomization = serde_json::from_value(object.clone()).unwrap();
        assert_eq!(Kustomization::kind(&()), "Kustomization");
        assert_eq!(read.spec.source_ref.name, "flux-system");
        assert_eq!(serde_json::to_value(&read).unwrap(), object);
    }

    #[test]
    fn a_release_survives() {
        let object = json!({
            "apiVersion": "helm.toolkit.fluxcd.io/v2",
            "kind": "HelmRelease",
            "metadata": { "name": "web" },
            "spec": {
                "interval": "1h",
                "chart": { "spec": {
                    "chart": "web", "version": "1.2.3", "verify": { "provider": "cosign" },
                    "sourceRef": { "kind": "HelmRepository", "name": "charts" },
                }},
                "upgrade": { "remediation": { "retries": 3 }, "crds": "CreateReplace" },
                "values": { "image": { "tag": "1@sha256:0" } },
                "driftDetection": { "mode": "enabled" },
            },
            "status": {
                "lastAttemptedGeneration": 3,
                "history": [{ "name": "web", "version": 2, "status": "deployed", "ociDigest": "x" }],
            },
        });
        let read: HelmRelease = serde_json::from_value(object.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), object);
    }
}
