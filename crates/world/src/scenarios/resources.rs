//! A ResourceSet makes an object per input, follows its inputs, lets itself be held, and cleans up.

use std::time::Duration;

use futures::FutureExt as _;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::backup::{api, create, when};
use crate::actors::{flux, kinds};
use crate::crds;
use crate::scenario::{Scenario, Stage};
use crate::sim::Violation;

const PATIENCE: Duration = Duration::from_secs(1800);

/// The story.
pub fn scenario() -> Scenario {
    Scenario {
        name: "resources",
        capability: "world",
        about: "a ResourceSet renders its inputs, prunes what is gone, and rests while it is held",
        cast: |_| vec![flux::flux_operator()],
        play: |stage| play(stage).boxed(),
        patience: 4 * PATIENCE,
    }
}

async fn maps(stage: &Stage) -> Result<Vec<String>, kube::Error> {
    let own = ListParams::default().labels("resourceset.fluxcd.controlplane.io/name=apps");
    let all = api(stage, &kinds::configmaps()).list(&own).await?;
    Ok(all.items.into_iter().filter_map(|map| map.metadata.name).collect())
}

async fn until_maps(stage: &Stage, wanted: &[&str]) -> Result<(), Violation> {
    stage
        .until(&format!("the maps are {wanted:?}"), PATIENCE, || async move {
            Ok((maps(stage).await? == wanted).then_some(()))
        })
        .await
}

async fn change(stage: &Stage, body: Value) -> Result<(), Violation> {
    let sets = api(stage, &kinds::resource_sets());
    sets.patch("apps", &PatchParams::default(), &Patch::Merge(body)).await?;
    Ok(())
}

async fn play(stage: Stage) -> Result<(), Violation> {
    crds::install(&stage.client, crds::flux_operator()).await?;
    create(&stage, kinds::namespaces(), json!({"metadata": {"name": "shop"}})).await?;
    let provider = json!({
        "metadata": {"name": "more", "namespace": "shop"},
        "spec": {"type": "Static", "defaultValues": {"app": "c", "keep": "disabled"}},
    });
    create(&stage, kinds::input_providers(), provider).await?;
    let set = json!({
        "metadata": {"name": "apps", "namespace": "shop"},
        "spec": {
            "inputs": [{"app": "a", "keep": "no"}, {"app": "b", "keep": "no"}],
            "inputsFrom": [{"name": "more"}],
            "resources": [{
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {
                    "name": "<< inputs.app >>", "namespace": "shop",
                    "annotations": {"fluxcd.controlplane.io/prune": "<< inputs.keep >>"},
                },
                "data": {"app": "<< inputs.app >>"},
            }],
        },
    });
    create(&stage, kinds::resource_sets(), set).await?;
    until_maps(&stage, &["a", "b", "c"]).await?;
    let ready = |set: &DynamicObject| {
        let status = &set.data["status"];
        status["conditions"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
            && status["inventory"]["entries"].as_array().is_some_and(|all| all.len() == 3)
    };
    when(&stage, "the set is ready", (kinds::resource_sets(), "apps"), ready).await?;
    stage.tell("flux-operator", "made a, b and c");

    let held = "fluxcd.controlplane.io/reconcile";
    change(&stage, json!({"metadata": {"annotations": {held: "disabled"}}})).await?;
    // The hold is told first; what follows it must not be acted on.
    stage.pass(Duration::from_secs(60)).await;
    let fewer = json!([{"app": "a", "keep": "no"}]);
    change(&stage, json!({"spec": {"inputs": fewer, "inputsFrom": null}})).await?;
    stage.pass(Duration::from_secs(300)).await;
    if maps(&stage).await? != ["a", "b", "c"] {
        return Err(Violation("a set that is held changed something".into()));
    }
    change(&stage, json!({"metadata": {"annotations": {held: "enabled"}}})).await?;
    until_maps(&stage, &["a", "c"]).await?;
    stage.tell("flux-operator", "pruned b and kept c, which says so");

    change(&stage, json!({"spec": {"inputs": [{"other": "x"}]}})).await?;
    let stalled =
        |set: &DynamicObject| {
            set.data["status"]["conditions"].as_array().into_iter().flatten().any(|condition| {
                condition["type"] == "Stalled" && condition["reason"] == "BuildFailed"
            })
        };
    when(&stage, "the set is stalled", (kinds::resource_sets(), "apps"), stalled).await?;
    api(&stage, &kinds::resource_sets()).delete("apps", &DeleteParams::default()).await?;
    until_maps(&stage, &["c"]).await
}

#[cfg(test)]
mod tests {
    use crate::scenario::nobody;
    use crate::sim::{FaultPlan, Plan, simulate};

    #[test]
    fn sets_make_hold_and_prune() {
        for seed in 1..=10 {
            let plan = Plan { seed, faults: FaultPlan::from_seed(seed, 100) };
            let outcome = simulate(&super::scenario(), &nobody(), plan);
            let tail: Vec<_> =
                outcome.trace.iter().filter(|line| !line.contains(" GET ")).collect();
            let tail = &tail[tail.len().saturating_sub(40)..];
            assert_eq!(outcome.violation, None, "seed {seed}: {tail:#?}");
        }
    }
}
