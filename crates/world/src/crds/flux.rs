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
    more: Value,
) -> CustomResourceDefinition {
    let properties = with(
        json!({
            "interval": interval(), "url": {"type": "string"}, "suspend": {"type": "boolean"},
        }),
        more,
    );
    Definition::new(SOURCE, "v1", kind, plural)
        .short(&[short])
        .spec(json!({"required": ["interval"], "properties": properties}))
        .status(unseen())
        .column("URL", ".spec.url", "string")
        .column("Ready", r#".status.conditions[?(@.type=="Ready")].status"#, "string")
        .build()
}

/// A status before anyone has looked.
fn unseen() -> Value {
    json!({"default": {"observedGeneration": -1}})
}

fn with(mut properties: Value, more: Value) -> Value {
    if let (Some(all), Value::Object(more)) = (properties.as_object_mut(), more) {
        all.extend(more);
    }
    properties
}

/// Where a release's chart is; its defaults are seen by whoever reads it back.
fn chart_template() -> Value {
    let spec = json!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "version": {"type": "string", "default": "*"},
            "reconcileStrategy": {"type": "string", "default": "ChartVersion"},
        },
    });
    json!({"chart": {
        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "properties": {"spec": spec},
    }})
}

/// The kinds of Flux's source, kustomize and helm controllers.
pub fn flux() -> Vec<CustomResourceDefinition> {
    let applier = |group, version, kind, plural, (short, more): (&'static str, Value)| {
        let properties =
            with(json!({"interval": interval(), "suspend": {"type": "boolean"}}), more);
        Definition::new(group, version, kind, plural)
            .short(&[short])
            .spec(json!({"required": ["interval"], "properties": properties}))
            .status(unseen())
            .column("Ready", r#".status.conditions[?(@.type=="Ready")].status"#, "string")
            .column("Status", r#".status.conditions[?(@.type=="Ready")].message"#, "string")
            .build()
    };
    let timeout = json!({"timeout": {"type": "string", "default": "60s"}});
    let force = json!({"force": {"type": "boolean", "default": false}});
    let (kustomize, helm) = ("kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io");
    vec![
        source("GitRepository", "gitrepositories", "gitrepo", timeout.clone()),
        source("OCIRepository", "ocirepositories", "ocirepo", timeout),
        source("HelmRepository", "helmrepositories", "helmrepo", json!({})),
        source("HelmChart", "helmcharts", "hc", json!({})),
        applier(kustomize, "v1", "Kustomization", "kustomizations", ("ks", force)),
        applier(helm, "v2", "HelmRelease", "helmreleases", ("hr", chart_template())),
    ]
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use kube::api::{Api, DynamicObject, PostParams};
    use serde_json::json;

    use crate::actors::kinds;
    use crate::scenario::{Scenario, Stage, nobody};
    use crate::scenarios;
    use crate::sim::{FaultPlan, Plan, Violation, simulate};

    async fn play(stage: Stage) -> Result<(), Violation> {
        crate::crds::install(&stage.client, super::flux()).await?;
        let api: Api<DynamicObject> =
            Api::namespaced_with(stage.client.clone(), "default", &kinds::kustomizations());
        let object = json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": "a"}, "spec": {"interval": "1m"},
        });
        let object =
            serde_json::from_value(object).map_err(|error| Violation(error.to_string()))?;
        let made = api.create(&PostParams::default(), &object).await?;
        let seen = api.get("a").await?;
        for one in [made, seen] {
            if one.data["status"] != json!({"observedGeneration": -1}) {
                return Err(Violation(format!("it was {}", one.data)));
            }
        }
        Ok(())
    }

    #[test]
    fn what_nobody_looked_at_says_so() {
        let story = Scenario {
            cast: |_| Vec::new(),
            play: |stage| play(stage).boxed(),
            ..scenarios::all().remove(0)
        };
        let plan = Plan { seed: 1, faults: FaultPlan::none() };
        assert_eq!(simulate(&story, &nobody(), plan).violation, None);
    }
}
