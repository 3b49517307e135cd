//! The controller against the simulated API server.
#![allow(clippy::large_futures, reason = "a test is one future with all that it does")]

use std::sync::Arc;
use std::time::Duration;

use holdfast_api::crds;
use holdfast_api::git_destination::GitDestination;
use holdfast_apiserver::server::Server;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::DynamicObject;
use kube::discovery::ApiResource;
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

use crate::operator::{self, Options, Shared};
use crate::testing::{client, server};

struct Cluster {
    server: Server,
    client: Client,
}

impl Cluster {
    async fn new() -> (Self, Arc<dyn crate::clock::Clock>) {
        let (server, clock) = server();
        let client = client(&server);
        let cluster = Self { server, client };
        for crd in crds::all() {
            cluster.create(&crd).await;
        }
        for name in ["apps", "flux-system", "holdfast-system"] {
            let namespace: Namespace =
                serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap();
            let api: Api<Namespace> = Api::all(cluster.client.clone());
            api.create(&PostParams::default(), &namespace).await.unwrap();
        }
        (cluster, clock)
    }

    async fn create(&self, crd: &CustomResourceDefinition) {
        let api: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        api.create(&PostParams::default(), crd).await.unwrap();
        self.server.tidy();
    }

    /// The kind that Flux would bring, with nothing but what the tests need.
    async fn install_flux(&self) {
        let crd = serde_json::from_value(json!({
            "metadata": { "name": "gitrepositories.source.toolkit.fluxcd.io" },
            "spec": {
                "group": "source.toolkit.fluxcd.io",
                "scope": "Namespaced",
                "names": {
                    "kind": "GitRepository", "listKind": "GitRepositoryList",
                    "plural": "gitrepositories", "singular": "gitrepository",
                },
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": { "openAPIV3Schema": {
                        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                    }},
                }],
            },
        }))
        .unwrap();
        self.create(&crd).await;
    }

    async fn apply(&self, namespace: &str, object: Value) {
        let api_version = object["apiVersion"].as_str().unwrap();
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let kind = object["kind"].as_str().unwrap();
        let plural = match kind {
            "GitRepository" => "gitrepositories".to_owned(),
            kind => format!("{}s", kind.to_lowercase()),
        };
        let resource = ApiResource {
            group: group.into(),
            version: version.into(),
            api_version: api_version.into(),
            kind: kind.into(),
            plural,
        };
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), namespace, &resource);
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let params = PatchParams::apply("person").force();
        api.patch(&name, &params, &Patch::Apply(object)).await.unwrap();
    }

    async fn source(&self, spec: Value) {
        let object = json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": { "name": "flux" }, "spec": spec,
        });
        self.apply("apps", object).await;
    }

    async fn destination(&self, spec: Value) {
        let object = json!({
            "apiVersion": "holdfast.dev/v1alpha1", "kind": "GitDestination",
            "metadata": { "name": "home" }, "spec": spec,
        });
        self.apply("apps", object).await;
    }

    /// `status reason` of Ready once the operator has had time to look.
    async fn ready(&self) -> String {
        tokio::time::sleep(Duration::from_secs(5)).await;
        let status = self.get().await.status.unwrap_or_default();
        let ready = status.conditions.iter().find(|one| one.type_ == "Ready");
        ready.map_or("none".to_owned(), |ready| format!("{} {}", ready.status, ready.reason))
    }

    async fn get(&self) -> GitDestination {
        let api: Api<GitDestination> = Api::namespaced(self.client.clone(), "apps");
        api.get("home").await.unwrap()
    }

    async fn events(&self) -> Vec<String> {
        let api: Api<Event> = Api::namespaced(self.client.clone(), "apps");
        let list = api.list(&ListParams::default()).await.unwrap();
        let mut events: Vec<String> = list
            .items
            .into_iter()
            .map(|event| {
                let about = event.regarding.unwrap_or_default();
                format!(
                    "{} {} {} {} x{}",
                    event.event_time.unwrap().0,
                    about.kind.unwrap_or_default(),
                    event.type_.unwrap_or_default(),
                    event.reason.unwrap_or_default(),
                    event.series.map_or(1, |series| series.count),
                )
            })
            .collect();
        events.sort();
        events
    }
}

/// Runs the operator beside a test.
async fn beside<T>(
    cluster: &Cluster,
    clock: Arc<dyn crate::clock::Clock>,
    test: impl Future<Output = T>,
) -> T {
    let (context, runner) =
        operator::prepare(client(&cluster.server), clock, "holdfast-system", "a");
    let options = Options { capabilities: None, lease: None };
    let operator = operator::run(context, runner, options, vec![Box::new(Shared)]);
    tokio::select! {
        biased;
        ended = operator => panic!("the operator ended: {ended:?}"),
        () = cluster.server.housekeeping(Duration::from_millis(5)) => unreachable!(),
        result = test => result,
    }
}

#[tokio::test(start_paused = true)]
async fn things_arrive_in_any_order() {
    let (cluster, clock) = Cluster::new().await;
    beside(&cluster, clock, async {
        cluster.destination(json!({ "sourceRef": { "name": "flux" } })).await;
        assert_eq!(cluster.ready().await, "False FluxNotInstalled");

        cluster.install_flux().await;
        // The watch on a kind that was not there is tried again within half a minute.
        tokio::time::sleep(Duration::from_mins(1)).await;
        let source = json!({
            "url": "https://git.example.org/home.git", "interval": "1m",
            "ref": { "branch": "main" }, "secretRef": { "name": "key" },
        });
        cluster.source(source).await;
        assert_eq!(cluster.ready().await, "False SecretNotFound");

        let mut secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": { "name": "key" }, "stringData": { "username": "me" },
        });
        cluster.apply("apps", secret.clone()).await;
        assert_eq!(cluster.ready().await, "False SecretKeysInvalid");

        secret["stringData"]["password"] = json!("hunter2");
        cluster.apply("apps", secret).await;
        assert_eq!(cluster.ready().await, "True Resolved");

        let found = cluster.get().await;
        let status = found.status.unwrap();
        assert_eq!(status.url.as_deref(), Some("https://git.example.org/home.git"));
        assert_eq!(status.branch.as_deref(), Some("main"));
        assert_eq!(status.observed_generation, found.metadata.generation);
        let shown = serde_json::to_string(&status).unwrap();
        assert!(!shown.contains("hunter2"), "{shown}");

        let secrets: Api<Secret> = Api::namespaced(cluster.client.clone(), "apps");
        secrets.delete("key", &DeleteParams::default()).await.unwrap();
        assert_eq!(cluster.ready().await, "False SecretNotFound");
    })
    .await;
    insta::assert_snapshot!(cluster.events().await.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_source_is_followed() {
    let (cluster, clock) = Cluster::new().await;
    cluster.install_flux().await;
    beside(&cluster, clock, async {
        cluster.source(json!({ "url": "https://a/x.git", "ref": { "branch": "main" } })).await;
        cluster.destination(json!({ "sourceRef": { "name": "flux" } })).await;
        assert_eq!(cluster.ready().await, "True Resolved");
        cluster.source(json!({ "url": "https://b/x.git", "ref": { "branch": "next" } })).await;
        assert_eq!(cluster.ready().await, "True Resolved");
        let status = cluster.get().await.status.unwrap();
        assert_eq!(status.url.as_deref(), Some("https://b/x.git"));
        assert_eq!(status.branch.as_deref(), Some("next"));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_another_writes_into_the_status_stays() {
    let (cluster, clock) = Cluster::new().await;
    beside(&cluster, clock, async {
        cluster.destination(json!({ "url": "https://a/x.git", "branch": "main" })).await;
        assert_eq!(cluster.ready().await, "True Resolved");
        let api: Api<GitDestination> = Api::namespaced(cluster.client.clone(), "apps");
        let pushed = |depth: i64| {
            json!({
                "apiVersion": "holdfast.dev/v1alpha1", "kind": "GitDestination",
                "metadata": { "name": "home" },
                "status": { "queueDepth": depth, "conditions": [{
                    "type": "Pushed", "status": "True", "reason": "Pushed", "message": "",
                    "lastTransitionTime": "2026-03-01T12:00:00Z",
                }]},
            })
        };
        // Without force: a field that the controller owned would be a conflict.
        let params = PatchParams::apply("pusher");
        api.patch_status("home", &params, &Patch::Apply(pushed(3))).await.unwrap();
        cluster.destination(json!({ "url": "https://b/x.git", "branch": "main" })).await;
        assert_eq!(cluster.ready().await, "True Resolved");
        let status = cluster.get().await.status.unwrap();
        assert_eq!(status.url.as_deref(), Some("https://b/x.git"));
        assert_eq!(status.queue_depth, 3);
        assert_eq!(status.conditions.len(), 2);
        api.patch_status("home", &params, &Patch::Apply(pushed(0))).await.unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn requests_and_suspension_are_handled() {
    let (cluster, clock) = Cluster::new().await;
    beside(&cluster, clock, async {
        let spec = json!({ "url": "https://a/x.git", "branch": "main" });
        cluster.destination(spec.clone()).await;
        assert_eq!(cluster.ready().await, "True Resolved");
        let before = cluster.get().await;
        tokio::time::sleep(Duration::from_hours(1)).await;
        assert_eq!(
            cluster.get().await.resource_version(),
            before.resource_version(),
            "idle writes"
        );

        let annotated = json!({
            "apiVersion": "holdfast.dev/v1alpha1", "kind": "GitDestination",
            "metadata": { "name": "home", "annotations": { "holdfast.dev/requestedAt": "now" } },
            "spec": spec,
        });
        cluster.apply("apps", annotated).await;
        assert_eq!(cluster.ready().await, "True Resolved");
        let handled = cluster.get().await.status.unwrap().last_handled_requested_at;
        assert_eq!(handled.as_deref(), Some("now"));

        cluster
            .destination(json!({ "url": "https://a/x.git", "branch": "main", "suspend": true }))
            .await;
        assert_eq!(cluster.ready().await, "False Suspended");
        let status = cluster.get().await.status.unwrap();
        assert_eq!(status.url.as_deref(), Some("https://a/x.git"), "what was known stays");
    })
    .await;
}
