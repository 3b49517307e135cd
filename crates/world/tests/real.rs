//! The real cluster: needs Go the first time, so these run with `cargo xtask test` only.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests; the lint's own exception does not reach their helpers"
)]

use std::path::Path;
use std::time::Duration;

use holdfast_world::notes::Note;
use holdfast_world::real::{Cluster, Component, Options, RealError};
use holdfast_world::scenario::nobody;
use holdfast_world::scenarios;
use holdfast_world::sim::{FaultPlan, Plan, simulate};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{ListParams, PostParams};
use serde_json::json;

fn runs(id: u32) -> bool {
    Path::new("/proc").join(id.to_string()).exists()
}

async fn crds(client: &kube::Client) -> Result<Vec<String>, kube::Error> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let established = |crd: &CustomResourceDefinition| {
        let conditions = crd.status.as_ref().and_then(|status| status.conditions.as_ref());
        conditions.is_some_and(|all| {
            all.iter().any(|one| one.type_ == "Established" && one.status == "True")
        })
    };
    let list = api.list(&ListParams::default()).await?;
    Ok(list.items.into_iter().filter(established).filter_map(|crd| crd.metadata.name).collect())
}

#[tokio::test]
#[ignore = "needs the real cluster: cargo xtask test"]
async fn everything_starts_serves_and_ends() {
    let mut cluster = Cluster::start(Options::everything()).await.unwrap();
    let client = cluster.client();

    let names = crds(&client).await.unwrap();
    for name in [
        "gitrepositories.source.toolkit.fluxcd.io",
        "kustomizations.kustomize.toolkit.fluxcd.io",
        "helmreleases.helm.toolkit.fluxcd.io",
        "volumesnapshots.snapshot.storage.k8s.io",
        "volumegroupsnapshots.groupsnapshot.storage.k8s.io",
    ] {
        assert!(names.iter().any(|known| known == name), "{name} is not served: {names:?}");
    }

    let deployments: Api<Deployment> = Api::namespaced(client.clone(), "default");
    let wanted: Deployment = serde_json::from_value(json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "example.com/web:1"}]},
            },
        },
    }))
    .unwrap();
    deployments.create(&PostParams::default(), &wanted).await.unwrap();
    let ready = async {
        loop {
            let status = deployments.get("web").await.unwrap().status.unwrap_or_default();
            if status.ready_replicas == Some(3) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), ready).await.expect("the pods become ready");

    cluster.check().unwrap();
    let processes = cluster.processes();
    assert_eq!(processes.len(), 9, "{processes:?}");
    let (logs, kubeconfig) = (cluster.logs(), cluster.kubeconfig());
    assert!(kubeconfig.exists());
    cluster.stop();
    for (name, id) in processes {
        assert!(!runs(id), "{name} still runs");
    }
    assert!(!logs.exists() && !kubeconfig.exists(), "the folder of a good run goes with it");
}

#[tokio::test]
#[ignore = "needs the real cluster: cargo xtask test"]
async fn a_component_that_does_not_start_says_so() {
    let mut options = Options::with([Component::ControllerManager]);
    // Nothing is ready in no time, whatever it is.
    options.patience = Duration::ZERO;
    let error = Cluster::start(options).await.unwrap_err();
    let RealError::NotReady { component, log, .. } = &error else { panic!("{error}") };
    assert_eq!(component, "etcd");
    assert!(log.exists(), "the log is kept");
    assert!(error.to_string().contains("hint: "), "{error}");
    let folder = log.parent().and_then(Path::parent).unwrap();
    std::fs::remove_dir_all(folder).unwrap();
}

/// Plays a story on a cluster of its own and expects these actors beside the real controllers.
async fn plays(name: &str, mut options: Options, cast: &[&str]) {
    // The nodes come with the story.
    options.nodes = 0;
    let scenario = scenarios::all().into_iter().find(|one| one.name == name).unwrap();
    let mut cluster = Cluster::start(options).await.unwrap();
    let performance = cluster.play(&scenario, &nobody()).await;
    for told in &performance.told {
        eprintln!("{:>8} {:<12} {}", told.at, told.who, told.what);
    }
    cluster.check().unwrap();
    assert_eq!(performance.violation, None, "logs: {}", cluster.logs().display());
    assert!(!performance.told.is_empty());
    assert_eq!(performance.cast, cast);
    let plan = Plan { seed: 1, faults: FaultPlan::none() };
    let simulated = simulate(&scenario, &nobody(), plan);
    assert_eq!(simulated.violation, None);
    compare(name, &performance.notes, &simulated.notes);
    cluster.stop();
}

/// What the real controllers and the actors said at the same moments must be the same.
fn compare(story: &str, real: &[Note], simulated: &[Note]) {
    let show = |notes: &[Note]| serde_json::to_string_pretty(notes).unwrap();
    if real != simulated {
        let folder = std::env::temp_dir();
        let path = |side: &str| folder.join(format!("holdfast-{story}-{side}.json"));
        std::fs::write(path("real"), show(real)).unwrap();
        std::fs::write(path("simulated"), show(simulated)).unwrap();
        let (real, simulated) = (path("real"), path("simulated"));
        panic!("the notes differ: diff {} {}", real.display(), simulated.display());
    }
}

const WORKLOADS: [Component; 3] =
    [Component::ControllerManager, Component::Scheduler, Component::Kwok];

fn with_snapshots() -> Options {
    Options::with(WORKLOADS.into_iter().chain([Component::SnapshotController]))
}

#[tokio::test]
#[ignore = "needs the real cluster: cargo xtask test"]
async fn workloads_roll_as_in_the_story() {
    plays("rollout", Options::with(WORKLOADS), &[]).await;
}

#[tokio::test]
#[ignore = "needs the real cluster: cargo xtask test"]
async fn snapshots_bring_the_old_bytes_back() {
    plays("snapshot", with_snapshots(), &["csi-driver", "app"]).await;
}

#[tokio::test]
#[ignore = "needs the real cluster: cargo xtask test"]
async fn flux_rolls_out_what_a_person_commits() {
    plays("gitops", Options::everything(), &["csi-driver", "app"]).await;
}

#[tokio::test]
#[ignore = "needs the real cluster: cargo xtask test"]
async fn backups_bring_lost_rows_back() {
    plays("backup", with_snapshots(), &["csi-driver", "volsync", "movers", "app"]).await;
}

#[tokio::test]
#[ignore = "needs the real cluster: cargo xtask test"]
async fn each_new_claim_gets_the_newest_snapshot() {
    plays("catalogue", with_snapshots(), &["csi-driver", "kopiur", "movers", "app"]).await;
}

#[tokio::test]
#[ignore = "needs the real cluster: cargo xtask test"]
async fn sets_make_hold_and_prune() {
    plays("resources", Options::control_plane(), &["flux-operator"]).await;
}

#[tokio::test]
#[ignore = "needs the real cluster: cargo xtask test"]
async fn charts_come_from_git_and_go_with_it() {
    plays("releases", Options::everything(), &[]).await;
}
