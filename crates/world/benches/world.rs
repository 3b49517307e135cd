//! How fast the simulated cluster is, through `kube::Client`, in this process, on one core.
//!
//! Prints one JSON object; `cargo xtask bench world` runs it and writes the figures down.
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
#![expect(clippy::print_stdout, reason = "the result goes to standard output")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run has nothing to say")]

use std::time::{Duration, Instant};

use holdfast_apiserver::identity::User;
use holdfast_apiserver::server::{Config, Server};
use holdfast_world::scenario::nobody;
use holdfast_world::scenarios;
use holdfast_world::sim::{FaultPlan, Plan, simulate};
use http_body_util::BodyExt as _;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;
use tower::ServiceExt as _;

const LONG_ENOUGH: Duration = Duration::from_secs(3);

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let read = runtime.block_on(gets());
    let written = runtime.block_on(writes(0));
    let watched = runtime.block_on(writes(100));
    let told = stories();
    println!(
        "{}",
        json!({
            "gets_per_second": read, "writes_per_second": written,
            "writes_per_second_with_100_watchers": watched, "scenarios_per_second": told,
        })
    );
}

fn client(server: &Server) -> Client {
    let service = server.clone().map_request(|mut request: http::Request<kube::client::Body>| {
        request.extensions_mut().insert(User::admin("bench"));
        request
    });
    Client::new(service, "default")
}

async fn prepared() -> (Client, Api<Pod>) {
    let server = Server::new(Config::default());
    let client = client(&server);
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": "t"}})).unwrap();
    Api::all(client.clone()).create(&PostParams::default(), &namespace).await.unwrap();
    let pods: Api<Pod> = Api::namespaced(client.clone(), "t");
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": "p", "labels": {"app": "p"}},
        "spec": {"containers": [{"name": "main", "image": "rows:1"}]},
    }))
    .unwrap();
    pods.create(&PostParams::default(), &pod).await.unwrap();
    (client, pods)
}

fn rate(count: u64, since: Instant) -> u64 {
    (count as f64 / since.elapsed().as_secs_f64()) as u64
}

async fn gets() -> u64 {
    let (_, pods) = prepared().await;
    let start = Instant::now();
    let mut count = 0;
    while start.elapsed() < LONG_ENOUGH {
        pods.get("p").await.unwrap();
        count += 1;
    }
    rate(count, start)
}

/// Status patches, each seen by so many raw watches, which are drained before the next one.
async fn writes(watchers: usize) -> u64 {
    let (client, pods) = prepared().await;
    let mut bodies = Vec::new();
    for _ in 0..watchers {
        let request =
            http::Request::get("/api/v1/namespaces/t/pods?watch=true&timeoutSeconds=3600")
                .body(kube::client::Body::empty())
                .unwrap();
        let mut body = client.send(request).await.unwrap().into_body();
        body.frame().await.unwrap().unwrap();
        bodies.push(body);
    }
    let start = Instant::now();
    let mut count = 0_u64;
    while start.elapsed() < LONG_ENOUGH {
        let message = format!("{count}");
        let patch = Patch::Merge(json!({"status": {"message": message}}));
        pods.patch_status("p", &PatchParams::default(), &patch).await.unwrap();
        for body in &mut bodies {
            body.frame().await.unwrap().unwrap();
        }
        count += 1;
    }
    rate(count, start)
}

/// Whole stories: an app with a volume starts, is snapshotted, migrates and is restored.
fn stories() -> f64 {
    let story = scenarios::all().into_iter().find(|one| one.name == "snapshot").unwrap();
    let start = Instant::now();
    let mut seed = 0;
    while start.elapsed() < LONG_ENOUGH {
        seed += 1;
        let outcome = simulate(&story, &nobody(), Plan { seed, faults: FaultPlan::none() });
        assert_eq!(outcome.violation, None, "seed {seed}");
    }
    (seed as f64 / start.elapsed().as_secs_f64() * 10.0).round() / 10.0
}
