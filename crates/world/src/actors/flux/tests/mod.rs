//! What was seen on a real cluster, seen again here.

mod appliers;
mod charts;
mod holds;

use std::time::Duration;

use futures::future::BoxFuture;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use super::REQUESTED_AT;
use crate::actors::app::{self, app};
use crate::actors::git::{Change, Signature};
use crate::actors::{flux, kinds, volumes, workloads};
use crate::crds;
use crate::scenario::Stage;
use crate::sim::{FaultPlan, Lag};
use crate::world::World;

const REPOSITORY: &str = "ops/fleet";

/// Plays a story on a quiet world in which kustomize-controller's caches lag.
async fn play(lag: Lag, story: impl FnOnce(Bench) -> BoxFuture<'static, ()>) {
    let world = World::simulated(1, FaultPlan::none());
    world.pace().set_lag("kustomize-controller", lag);
    let stage = Stage::simulated(&world);
    stage.forge.host().create(REPOSITORY);
    let cast = vec![
        workloads::controller_manager(),
        workloads::nodes(),
        volumes::volume_controllers(),
        app(&stage.disks, &stage.witness),
        flux::source_controller(&stage.remote("source-controller"), &stage.artifacts),
        flux::kustomize_controller(&stage.artifacts),
        flux::helm_controller(&stage.artifacts),
    ];
    let bench = Bench { stage, world: world.clone() };
    let told = async {
        crds::install(&bench.stage.client, crds::flux()).await.unwrap();
        for namespace in ["flux-system", "shop"] {
            bench.put(&kinds::namespaces(), "", namespace, json!({})).await;
        }
        bench.put(&kinds::nodes(), "", "node-a", json!({})).await;
        story(bench.clone()).await;
    };
    tokio::select! {
        biased;
        () = told => {}
        () = world.turn() => panic!("the world ended before the story"),
        () = world.act(cast) => panic!("the cast left before the story ended"),
    }
}

#[derive(Clone)]
struct Bench {
    stage: Stage,
    world: World,
}

impl Bench {
    fn api(&self, resource: &ApiResource, namespace: &str) -> Api<DynamicObject> {
        let client = self.stage.client.clone();
        if namespace.is_empty() {
            Api::all_with(client, resource)
        } else {
            Api::namespaced_with(client, namespace, resource)
        }
    }

    /// Creates or changes an object as a person.
    async fn put(&self, resource: &ApiResource, namespace: &str, name: &str, body: Value) {
        let mut body = body;
        body["apiVersion"] = json!(resource.api_version);
        body["kind"] = json!(resource.kind);
        body["metadata"]["name"] = json!(name);
        let params = PatchParams::apply("person").force();
        self.api(resource, namespace).patch(name, &params, &Patch::Apply(&body)).await.unwrap();
    }

    async fn patch(&self, resource: &ApiResource, namespace: &str, name: &str, patch: Value) {
        let params =
            PatchParams { field_manager: Some("holdfast".into()), ..PatchParams::default() };
        self.api(resource, namespace).patch(name, &params, &Patch::Merge(patch)).await.unwrap();
    }

    async fn get(&self, resource: &ApiResource, namespace: &str, name: &str) -> Value {
        let found = self.api(resource, namespace).get_opt(name).await.unwrap();
        found.map(|found| serde_json::to_value(found).unwrap()).unwrap_or_default()
    }

    async fn until(
        &self,
        what: &str,
        (resource, namespace, name): (&ApiResource, &str, &str),
        holds: impl Fn(&Value) -> bool,
    ) -> Value {
        let mut last = Value::Null;
        for _ in 0..18_000 {
            last = self.get(resource, namespace, name).await;
            if holds(&last) {
                return last;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        panic!("waited an hour in vain until {what}: {last:#}");
    }

    async fn commit(&self, files: &[(&str, &str)]) -> String {
        let change: Change = files
            .iter()
            .map(|(path, text)| {
                let bytes = (!text.is_empty()).then(|| text.as_bytes().to_vec());
                ((*path).to_owned(), bytes)
            })
            .collect();
        let by = Signature::new("ada", self.world.pace().now());
        let git = self.stage.remote("person");
        let id = git.commit(REPOSITORY, "main", &change, &by, "change").await.unwrap();
        format!("main@sha1:{id}")
    }

    async fn source(&self, interval: &str) {
        let spec = json!({
            "interval": interval, "url": format!("http://git.world/{REPOSITORY}.git"),
            "ref": {"branch": "main"},
        });
        self.put(&kinds::git_repositories(), "flux-system", "fleet", json!({"spec": spec})).await;
    }

    /// Asks source-controller to look now, and waits until the API shows what it found.
    async fn fetch(&self, revision: &str) {
        let at = format!("{:?}", self.world.elapsed());
        let sources = kinds::git_repositories();
        let patch = json!({"metadata": {"annotations": {REQUESTED_AT: at}}});
        self.patch(&sources, "flux-system", "fleet", patch).await;
        self.until("the source is fetched", (&sources, "flux-system", "fleet"), |source| {
            source["status"]["artifact"]["revision"] == revision
        })
        .await;
    }

    async fn kustomization(&self, name: &str, path: &str, extra: Value) {
        let mut spec = json!({
            "interval": "10m", "path": path, "prune": true,
            "sourceRef": {"kind": "GitRepository", "name": "fleet"},
        });
        spec.as_object_mut().unwrap().extend(extra.as_object().cloned().unwrap_or_default());
        self.put(&kinds::kustomizations(), "flux-system", name, json!({"spec": spec})).await;
    }

    async fn applied(&self, name: &str, revision: &str) -> Value {
        let at = (&kinds::kustomizations(), "flux-system", name);
        self.until("the revision is applied", at, |one| {
            one["status"]["lastAppliedRevision"] == revision && ready(one) == "True"
        })
        .await
    }

    /// Suspends and asks for an acknowledgement in one patch.
    async fn suspend(&self, resource: &ApiResource, name: &str, token: &str) {
        let patch = json!({
            "metadata": {"annotations": {REQUESTED_AT: token}}, "spec": {"suspend": true},
        });
        self.patch(resource, "flux-system", name, patch).await;
    }

    async fn acknowledged(&self, resource: &ApiResource, name: &str, token: &str) {
        self.until("the request is handled", (resource, "flux-system", name), |one| {
            one["status"]["lastHandledReconcileAt"] == token
        })
        .await;
    }

    async fn resume(&self, resource: &ApiResource, name: &str) {
        self.patch(resource, "flux-system", name, json!({"spec": {"suspend": null}})).await;
    }

    async fn scale(&self, name: &str, replicas: u64) {
        let patch = json!({"spec": {"replicas": replicas}});
        self.patch(&kinds::deployments(), "shop", name, patch).await;
    }

    /// Waits until the Deployment has this many ready pods of its newest template and no other.
    async fn runs(&self, name: &str, replicas: u64) {
        self.until("the pods are there", (&kinds::deployments(), "shop", name), |one| {
            let status = &one["status"];
            let count = |field: &str| status[field].as_u64().unwrap_or_default();
            status["observedGeneration"] == one["metadata"]["generation"]
                && count("replicas") == replicas
                && count("updatedReplicas") == replicas
                && count("readyReplicas") == replicas
        })
        .await;
    }

    /// How often a pod of an image was created since line `from` of the trace.
    fn started(&self, image: &str, from: usize) -> usize {
        let lines = self.world.trace().lines();
        let line = |line: &&String| {
            line.contains("POST /api/v1/namespaces/shop/pods?") && line.contains(image)
        };
        lines[from..].iter().filter(line).count()
    }
}

fn ready(object: &Value) -> String {
    condition(object, "Ready")["status"].as_str().unwrap_or_default().to_owned()
}

fn condition(object: &Value, kind: &str) -> Value {
    let all = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    all.into_iter().find(|condition| condition["type"] == kind).unwrap_or_default()
}

/// A Deployment in namespace `shop`; `extra` is further YAML for its spec.
fn deployment(name: &str, image: &str, extra: &str) -> String {
    let gate = app::READY;
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: shop}}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: {name}}}}}
{extra}
  template:
    metadata:
      labels: {{app: {name}}}
    spec:
      readinessGates: [{{conditionType: {gate}}}]
      containers: [{{name: main, image: '{image}'}}]
"
    )
}

fn map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: shop}}\n")
}
