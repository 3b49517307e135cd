//! The operator against the simulated API server: what it chooses, how it leads, how it stops.

use std::sync::atomic::{AtomicUsize, Ordering};

use holdfast_api::crds;
use holdfast_apiserver::server::Server;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;
use tokio::time::timeout;

use super::*;
use crate::testing::{Fault, Faults, client, faulty, server};

const SECOND: Duration = Duration::from_secs(1);

/// A part that counts how many of its kind run at this moment, and the most that ever did.
#[derive(Clone, Default)]
struct Counter {
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

struct Running(Counter);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Counter {
    fn running(&self) -> usize {
        self.running.load(Ordering::SeqCst)
    }
}

struct Counting(Option<Capability>, Counter);

impl Part for Counting {
    fn capability(&self) -> Option<Capability> {
        self.0
    }

    fn controllers(&self, context: &Context) -> Vec<Controller> {
        let (counter, stop) = (self.1.clone(), context.tasks.stop().clone());
        vec![Box::pin(async move {
            let now = counter.running.fetch_add(1, Ordering::SeqCst) + 1;
            counter.most.fetch_max(now, Ordering::SeqCst);
            let _running = Running(counter);
            stop.cancelled().await;
            // What is at work ends what it is at.
            tokio::time::sleep(SECOND).await;
        })]
    }
}

async fn install(server: &Server, kinds: &[&str]) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client(server));
    for crd in crds::all() {
        if kinds.contains(&crd.spec.names.plural.as_str()) {
            definitions.create(&PostParams::default(), &crd).await.unwrap();
        }
    }
    server.tidy();
    let namespaces: Api<Namespace> = Api::all(client(server));
    let namespace: Namespace =
        serde_json::from_value(json!({ "metadata": { "name": "holdfast-system" } })).unwrap();
    namespaces.create(&PostParams::default(), &namespace).await.unwrap();
}

fn options(identity: &str, capabilities: Option<&[Capability]>) -> Options {
    Options {
        capabilities: capabilities.map(|list| list.iter().copied().collect()),
        lease: Some(LeaseOptions::new("holdfast-system", "holdfast", identity)),
    }
}

#[tokio::test(start_paused = true)]
async fn a_capability_without_its_kinds_gets_a_sentence() {
    let (server, clock) = server();
    install(&server, kinds(Capability::Record)).await;
    let (context, runner) = prepare(client(&server), clock, "holdfast-system", "a");
    let wanted = options("a", Some(&[Capability::Protect]));
    let ended = run(context, runner, wanted, vec![]).await.unwrap_err();
    assert_eq!(
        ended.to_string(),
        "the capability protect needs kinds that are not installed (backupclasses, protectedvolumes, volumeoperations, fences); install them with: holdfast crds | kubectl apply --server-side -f -"
    );
}

#[tokio::test(start_paused = true)]
async fn only_what_is_installed_runs() {
    let (server, clock) = server();
    install(&server, kinds(Capability::Record)).await;
    let (record, upgrade, shared) = (Counter::default(), Counter::default(), Counter::default());
    let parts: Vec<Box<dyn Part>> = vec![
        Box::new(Counting(Some(Capability::Record), record.clone())),
        Box::new(Counting(Some(Capability::Upgrade), upgrade.clone())),
        Box::new(Counting(None, shared.clone())),
    ];
    let (context, runner) = prepare(client(&server), clock, "holdfast-system", "a");
    let operator = run(context, runner, options("a", None), parts);
    assert!(timeout(60 * SECOND, operator).await.is_err(), "it ended");
    let most = |counter: &Counter| counter.most.load(Ordering::SeqCst);
    assert_eq!((most(&record), most(&upgrade), most(&shared)), (1, 0, 1));
    assert_eq!(record.running(), 0, "a dropped operator leaves nothing behind");
}

#[tokio::test(start_paused = true)]
async fn it_waits_for_kinds_that_come_later() {
    let (server, clock) = server();
    let (context, runner) = prepare(client(&server), clock, "holdfast-system", "a");
    let (readiness, stop) = (context.readiness.clone(), context.tasks.stop().clone());
    let counter = Counter::default();
    let parts: Vec<Box<dyn Part>> = vec![Box::new(Counting(None, counter.clone()))];
    let script = async {
        tokio::time::sleep(SECOND).await;
        let pending = readiness.pending().join(" ");
        assert!(pending.contains("none are installed"), "{pending}");
        install(&server, kinds(Capability::Guard)).await;
        tokio::time::sleep(10 * SECOND).await;
        assert_eq!(readiness.pending(), Vec::<String>::new());
        assert_eq!(counter.running(), 1);
        stop.cancel();
    };
    let (ended, ()) = tokio::join!(run(context, runner, options("a", None), parts), script);
    ended.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_work_and_gives_the_lease_back() {
    let (server, clock) = server();
    install(&server, kinds(Capability::Guard)).await;
    let counter = Counter::default();
    let operator = |identity: &str| {
        let (context, runner) =
            prepare(client(&server), clock.clone(), "holdfast-system", identity);
        let stop = context.tasks.stop().clone();
        let parts: Vec<Box<dyn Part>> = vec![Box::new(Counting(None, counter.clone()))];
        (stop, run(context, runner, options(identity, None), parts))
    };
    let ((stop_a, a), (stop_b, b)) = (operator("a"), operator("b"));
    let script = async {
        tokio::time::sleep(60 * SECOND).await;
        assert_eq!(counter.running(), 1);
        stop_a.cancel();
        tokio::time::sleep(5 * SECOND).await;
        let leases: Api<Lease> = Api::namespaced(client(&server), "holdfast-system");
        let spec = leases.get("holdfast").await.unwrap().spec.unwrap();
        assert_eq!(spec.holder_identity.as_deref(), Some("b"), "the next one need not wait");
        assert_eq!(counter.running(), 1);
        stop_b.cancel();
    };
    let (a, b, ()) = tokio::join!(a, b, script);
    a.unwrap();
    b.unwrap();
    assert_eq!(counter.most.load(Ordering::SeqCst), 1, "two led at once");
}

#[tokio::test(start_paused = true)]
async fn an_operator_that_is_cut_off_stops_before_the_next_one_works() {
    let (server, clock) = server();
    install(&server, kinds(Capability::Guard)).await;
    let (counter, faults) = (Counter::default(), Faults::default());
    let operator = |client: Client, identity: &str| {
        let (context, runner) = prepare(client, clock.clone(), "holdfast-system", identity);
        let readiness = context.readiness.clone();
        let parts: Vec<Box<dyn Part>> = vec![Box::new(Counting(None, counter.clone()))];
        (readiness, run(context, runner, options(identity, None), parts))
    };
    let (readiness, a) = operator(faulty(&server, &faults), "a");
    let cut = async {
        tokio::time::sleep(10 * SECOND).await;
        faults.all(Fault::Hang);
    };
    let follow = async {
        tokio::time::sleep(SECOND).await;
        let (_, b) = operator(client(&server), "b");
        timeout(120 * SECOND, b).await
    };
    let (a, (), b) = tokio::join!(a, cut, follow);
    let lost = a.unwrap_err();
    assert!(matches!(lost, OperatorError::Lost(Lost::NotRenewed { .. })), "{lost}");
    assert!(readiness.failure().is_some(), "the process has to be started again");
    assert!(b.is_err(), "the second one went on");
    assert_eq!(counter.most.load(Ordering::SeqCst), 1, "two led at once");
}
