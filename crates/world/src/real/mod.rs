//! The real cluster beside the simulated one: etcd, the Kubernetes control plane, KWOK nodes, Flux and
//! the snapshot-controller as processes on loopback, without a container engine.
//!
//! ```no_run
//! # async fn example() -> Result<(), holdfast_world::real::RealError> {
//! use holdfast_world::real::{Cluster, Options};
//!
//! let cluster = Cluster::start(Options::control_plane()).await?;
//! let client = cluster.client();
//! # drop(client);
//! cluster.stop();
//! # Ok(())
//! # }
//! ```
//!
//! Only this module starts programs and reads the wall clock: what it talks to lives in real time.

mod command;
mod error;
mod files;
mod go;
mod health;
mod identity;
pub mod module;
mod ports;
mod process;
mod start;
mod story;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use identity::Trust;
use module::{Built, Module};
use process::{Guardian, Process};

pub use error::RealError;
pub use story::Performance;

/// What runs beside etcd and the API server, which always do.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Component {
    /// Deployments, garbage collection, namespaces, volume binding and the other built-in controllers.
    ControllerManager,
    /// Gives pods to nodes.
    Scheduler,
    /// Nodes on which pods become ready without containers.
    Kwok,
    /// Flux's source, kustomize and helm controllers.
    Flux,
    /// Snapshots and group snapshots.
    SnapshotController,
}

impl Component {
    /// All of them, in the order in which they start.
    pub const ALL: [Self; 5] = [
        Self::ControllerManager,
        Self::Scheduler,
        Self::Kwok,
        Self::SnapshotController,
        Self::Flux,
    ];

    /// How it is called on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ControllerManager => "controller-manager",
            Self::Scheduler => "scheduler",
            Self::Kwok => "kwok",
            Self::Flux => "flux",
            Self::SnapshotController => "snapshot-controller",
        }
    }

    const fn module(self) -> &'static Module {
        match self {
            Self::ControllerManager | Self::Scheduler => &module::KUBE,
            Self::Kwok => &module::KWOK,
            Self::Flux => &module::FLUX,
            Self::SnapshotController => &module::SNAPSHOTTER,
        }
    }
}

/// Told what takes long, one line each.
pub type Progress = Arc<dyn Fn(&str) + Send + Sync>;

/// What the cluster consists of.
#[derive(Clone)]
pub struct Options {
    /// What runs beside etcd and the API server.
    pub components: BTreeSet<Component>,
    /// How many KWOK nodes there are.
    pub nodes: usize,
    /// How long one component may take to become ready.
    pub patience: Duration,
    /// Where built modules and running clusters are kept.
    pub cache: PathBuf,
    /// Told what takes long.
    pub progress: Progress,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("components", &self.components)
            .field("nodes", &self.nodes)
            .field("cache", &self.cache)
            .finish_non_exhaustive()
    }
}

impl Options {
    /// With these components.
    pub fn with(components: impl IntoIterator<Item = Component>) -> Self {
        Self {
            components: components.into_iter().collect(),
            nodes: 3,
            patience: Duration::from_mins(2),
            cache: module::cache_directory(),
            progress: Arc::new(|line| eprintln!("testbed: {line}")),
        }
    }

    /// Enough to ask the API server and see its objects cared for.
    pub fn control_plane() -> Self {
        Self::with([Component::ControllerManager])
    }

    /// Everything.
    pub fn everything() -> Self {
        Self::with(Component::ALL)
    }
}

/// A running real cluster. Dropping it ends every process; its logs stay if the thread is panicking or
/// [`Cluster::keep_logs`] was called.
pub struct Cluster {
    // Processes end before the guardian is told farewell: fields drop in this order.
    processes: Vec<Process>,
    guardian: Guardian,
    client: kube::Client,
    config: kube::Config,
    trust: Trust,
    built: BTreeMap<&'static str, Built>,
    components: BTreeSet<Component>,
    run: files::Run,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.processes.iter().map(|process| process.name.as_str()).collect();
        f.debug_struct("Cluster")
            .field("url", &self.url())
            .field("processes", &names)
            .finish_non_exhaustive()
    }
}

impl Cluster {
    /// Builds what the cache does not have, starts everything and waits until it is healthy. If
    /// something does not start, what already runs is ended and the error names the log.
    pub async fn start(options: Options) -> Result<Self, RealError> {
        let built = build(&options).await?;
        let mut attempts = 3;
        loop {
            attempts -= 1;
            match Self::start_once(&options, built.clone()).await {
                Err(RealError::Ended { component, tail, .. })
                    if attempts > 0 && tail.contains("address already in use") =>
                {
                    (options.progress)(&format!("{component} lost its port; starting again"));
                }
                outcome => return outcome,
            }
        }
    }

    /// A client with every right.
    pub fn client(&self) -> kube::Client {
        self.client.clone()
    }

    /// A client with every right that does not retry what the server refuses for now.
    pub fn impatient_client(&self) -> Result<kube::Client, RealError> {
        let mut config = self.config.clone();
        config.default_retry = false;
        kube::Client::try_from(config).map_err(error::asking("a client for the cluster"))
    }

    /// A kubeconfig with every right; gone once the cluster is stopped.
    pub fn kubeconfig(&self) -> PathBuf {
        self.trust.kubeconfig(identity::ADMIN)
    }

    /// Where the API server answers.
    pub fn url(&self) -> String {
        self.config.cluster_url.to_string().trim_end_matches('/').to_owned()
    }

    /// The path of `kubectl` in the version of the cluster.
    pub fn kubectl(&self) -> PathBuf {
        self.built.get(module::KUBE.name).map(|built| built.program("kubectl")).unwrap_or_default()
    }

    /// Where the components' logs are.
    pub fn logs(&self) -> PathBuf {
        self.run.path().join("logs")
    }

    /// The components that run, with their process ids, in the order in which they were started.
    pub fn processes(&self) -> Vec<(String, u32)> {
        self.processes.iter().map(|process| (process.name.clone(), process.id())).collect()
    }

    /// An error that names the first component that ended by itself.
    pub fn check(&mut self) -> Result<(), RealError> {
        self.processes.iter_mut().try_for_each(Process::check)
    }

    /// Lets the logs stay when the cluster ends.
    pub fn keep_logs(&self) {
        self.run.keep();
    }

    /// Ends every process and removes what they wrote.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.run.keep();
        }
        // Those that started last need those that started first.
        while let Some(process) = self.processes.pop() {
            drop(process);
        }
    }
}

/// Builds what the components need into the cache, so that a later start does not have to.
pub async fn prepare(options: &Options) -> Result<(), RealError> {
    build(options).await.map(drop)
}

/// Builds the modules that the components need; the builds run on a thread that may block.
async fn build(options: &Options) -> Result<BTreeMap<&'static str, Built>, RealError> {
    let mut modules: BTreeMap<&'static str, &'static Module> = BTreeMap::new();
    for part in [&module::ETCD, &module::KUBE] {
        modules.insert(part.name, part);
    }
    for component in &options.components {
        modules.insert(component.module().name, component.module());
    }
    let (cache, progress) = (options.cache.clone(), Arc::clone(&options.progress));
    let built = tokio::task::spawn_blocking(move || {
        let mut built = BTreeMap::new();
        for (name, part) in modules {
            built.insert(name, part.build(&cache, &*progress)?);
        }
        Ok(built)
    });
    built.await.unwrap_or_else(|error| {
        Err(RealError::Malformed {
            what: "building the modules".to_owned(),
            why: error.to_string(),
        })
    })
}
