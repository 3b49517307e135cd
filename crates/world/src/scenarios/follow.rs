//! A GitDestination follows its Flux source: the first thing the operator does, whatever happens to it.

use std::time::Duration;

use futures::FutureExt as _;
use holdfast_api::git_destination::GitDestination;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::actors::kinds;
use crate::crds;
use crate::scenario::{Scenario, Stage};
use crate::sim::Violation;

/// The story.
pub fn scenario() -> Scenario {
    Scenario {
        name: "follow-the-source",
        capability: "kernel",
        about: "a GitDestination follows its Flux GitRepository: URL, branch, and credentials",
        cast: |_| Vec::new(),
        play: |stage| play(stage).boxed(),
        patience: Duration::from_secs(3600),
    }
}

const PATIENCE: Duration = Duration::from_secs(600);

fn parse<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, Violation> {
    serde_json::from_value(value).map_err(|error| Violation(error.to_string()))
}

async fn play(stage: Stage) -> Result<(), Violation> {
    let client = stage.client.clone();
    let post = PostParams::default();
    let mut definitions = holdfast_api::crds::all();
    definitions.extend(crds::flux());
    crds::install(&client, definitions).await?;
    stage.tell("person", "installs the kinds of Holdfast and Flux");
    for name in ["holdfast-system", "shop"] {
        let namespace: Namespace = parse(json!({"metadata": {"name": name}}))?;
        Api::all(client.clone()).create(&post, &namespace).await?;
    }
    let destinations: Api<GitDestination> = Api::namespaced(client.clone(), "shop");
    destinations
        .create(
            &post,
            &parse(json!({
                "apiVersion": "holdfast.dev/v1alpha1", "kind": "GitDestination",
                "metadata": {"name": "shop"}, "spec": {"sourceRef": {"name": "fleet"}},
            }))?,
        )
        .await?;
    stage.tell("person", "points a GitDestination at the Flux source \"fleet\"");
    ready(&stage, &destinations, "False", "SourceNotFound").await?;
    stage.tell("holdfast", "says that there is no source \"fleet\" yet");

    let sources: Api<DynamicObject> =
        Api::namespaced_with(client.clone(), "shop", &kinds::git_repositories());
    sources
        .create(
            &post,
            &parse(json!({
                "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
                "metadata": {"name": "fleet"},
                "spec": {
                    "interval": "1m", "url": "https://git.example/fleet.git",
                    "ref": {"branch": "main"}, "secretRef": {"name": "fleet"},
                },
            }))?,
        )
        .await?;
    stage.tell("person", "adds the source, which needs a Secret");
    ready(&stage, &destinations, "False", "SecretNotFound").await?;
    stage.tell("holdfast", "says which Secret is missing");

    let secret: Secret = parse(json!({
        "metadata": {"name": "fleet"}, "stringData": {"username": "git", "password": "hunter2"},
    }))?;
    Api::namespaced(client.clone(), "shop").create(&post, &secret).await?;
    let found = ready(&stage, &destinations, "True", "Resolved").await?;
    expect(&found, "https://git.example/fleet.git", "main")?;
    stage.tell("holdfast", "is ready: commits will go to main of https://git.example/fleet.git");

    let branch = Patch::Merge(json!({"spec": {"ref": {"branch": "release"}}}));
    sources.patch("fleet", &PatchParams::default(), &branch).await?;
    stage.tell("person", "moves the source to the branch release");
    stage
        .until("the destination follows the branch", PATIENCE, || {
            let destinations = destinations.clone();
            async move {
                let seen = destinations.get("shop").await?.status.unwrap_or_default();
                Ok((seen.branch.as_deref() == Some("release")).then_some(()))
            }
        })
        .await?;
    stage.tell("holdfast", "follows: commits will go to release");

    sources.delete("fleet", &DeleteParams::default()).await?;
    stage.tell("person", "deletes the source");
    let lost = ready(&stage, &destinations, "False", "SourceNotFound").await?;
    if serde_json::to_string(&lost).unwrap_or_default().contains("hunter2") {
        return Err(Violation("a credential appears in the destination's status".into()));
    }
    stage.tell("holdfast", "says that the source is gone");
    Ok(())
}

async fn ready(
    stage: &Stage,
    destinations: &Api<GitDestination>,
    status: &str,
    reason: &str,
) -> Result<GitDestination, Violation> {
    let what = format!("the destination is Ready={status} ({reason})");
    stage
        .until(&what, PATIENCE, || async move {
            let found = destinations.get("shop").await?;
            let seen = found.status.clone().unwrap_or_default();
            let current = seen.observed_generation == found.metadata.generation;
            let said = seen
                .conditions
                .iter()
                .any(|c| c.type_ == "Ready" && c.status == status && c.reason == reason);
            Ok((current && said).then_some(found))
        })
        .await
}

fn expect(found: &GitDestination, url: &str, branch: &str) -> Result<(), Violation> {
    let seen = found.status.clone().unwrap_or_default();
    if seen.url.as_deref() == Some(url) && seen.branch.as_deref() == Some(branch) {
        return Ok(());
    }
    Err(Violation(format!("resolved to {:?} and {:?}", seen.url, seen.branch)))
}
