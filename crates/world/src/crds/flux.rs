//! Flux: sources, Kustomizations, HelmReleases.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

use super::build::Definition;

const SOURCE: &str = "source.toolkit.fluxcd.io";

fn interval() -> Value {
    json!({"type": "string", "pattern": r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"})
}

fn source(
    kind: &'static str,
    plural: &'static str,
    short: &'static str,
) -> CustomResourceDefinition {
    Definition::new(SOURCE, "v1", kind, plural)
        .short(&[short])
        .spec(json!({
            "required": ["interval"],
            "properties": {
                "interval": interval(), "url": {"type": "string"}, "suspend": {"type": "boolean"},
            },
        }))
        .column("URL", ".spec.url", "string")
        .column("Ready", r#".status.conditions[?(@.type=="Ready")].status"#, "string")
        .build()
}

/// The kinds of Flux's source, kustomize and helm controllers.
pub fn flux() -> Vec<CustomResourceDefinition> {
    let applier = |group, version, kind, plural, short: &'static str| {
        Definition::new(group, version, kind, plural)
            .short(&[short])
            .spec(json!({
                "required": ["interval"],
                "properties": {"interval": interval(), "suspend": {"type": "boolean"}},
            }))
            .column("Ready", r#".status.conditions[?(@.type=="Ready")].status"#, "string")
            .column("Status", r#".status.conditions[?(@.type=="Ready")].message"#, "string")
            .build()
    };
    vec![
        source("GitRepository", "gitrepositories", "gitrepo"),
        source("OCIRepository", "ocirepositories", "ocirepo"),
        source("HelmRepository", "helmrepositories", "helmrepo"),
        source("HelmChart", "helmcharts", "hc"),
        applier("kustomize.toolkit.fluxcd.io", "v1", "Kustomization", "kustomizations", "ks"),
        applier("helm.toolkit.fluxcd.io", "v2", "HelmRelease", "helmreleases", "hr"),
    ]
}
