//! Scenarios: stories that must end well, on the simulated cluster and on the real one.

use std::fmt::Display;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, TypeMeta};
use serde::Serialize;
use tokio::time::Instant;

use crate::actors::Process;
use crate::actors::app::Witness;
use crate::actors::flux::Artifacts;
use crate::actors::forge::Forge;
use crate::actors::git::{GitHost, Remote};
use crate::actors::movers::Movers;
use crate::actors::volumes::Disks;
use crate::notes::{self, Note};
use crate::sim::Violation;
use crate::world::World;

/// The longest wait for one thing on a cluster in real time.
const LIVE_PATIENCE: Duration = Duration::from_mins(4);

/// What the world gives an operator when it starts one.
pub struct Start {
    /// Its way into the cluster.
    pub client: Client,
    /// Which life this is, from 1.
    pub incarnation: u64,
    /// What the clock showed when the world began.
    pub epoch: jiff::Timestamp,
    /// When that was, on tokio's clock.
    pub began: Instant,
    /// For whatever chance the operator needs.
    pub seed: u64,
}

/// How an operator's process ended by itself: why, in words, if it is to be started again.
pub type Exit = Result<(), String>;

/// The operator, as the world knows it: a future that it starts, kills and starts again.
pub type Operator = Arc<dyn Fn(Start) -> BoxFuture<'static, Exit> + Send + Sync>;

/// An operator that does nothing, for scenarios about the world itself.
pub fn nobody() -> Operator {
    Arc::new(|_| Box::pin(std::future::pending()))
}

impl Start {
    /// What the clock shows now.
    pub fn now(&self) -> jiff::Timestamp {
        let elapsed = jiff::SignedDuration::try_from(self.began.elapsed()).unwrap_or_default();
        self.epoch.checked_add(elapsed).unwrap_or(self.epoch)
    }
}

/// A story.
#[derive(Clone)]
pub struct Scenario {
    /// `follow-the-source`
    pub name: &'static str,
    /// `kernel`, `upgrade`, `protect`, `guard`, `record`
    pub capability: &'static str,
    /// One sentence for people.
    pub about: &'static str,
    /// Who plays besides the API server.
    pub cast: fn(&Stage) -> Vec<Process>,
    /// The story itself; an error is a broken promise.
    pub play: fn(Stage) -> BoxFuture<'static, Result<(), Violation>>,
    /// Virtual time after which it has failed.
    pub patience: Duration,
}

/// Something the story told, with its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Told {
    /// Virtual milliseconds since the beginning.
    pub at: u128,
    /// Who.
    pub who: String,
    /// What.
    pub what: String,
}

/// What a story can reach.
#[derive(Clone)]
pub struct Stage {
    /// A person with full rights.
    pub client: Client,
    /// The disks behind the volumes.
    pub disks: Disks,
    /// The movers of backup engines, and the object store they work with.
    pub movers: Movers,
    /// Who sees what must never happen.
    pub witness: Witness,
    /// Pull requests, and the git host below them.
    pub forge: Forge,
    /// What source-controller keeps for the others.
    pub artifacts: Artifacts,
    start: Instant,
    world: Option<World>,
    /// Where git answers: scheme and host.
    git: String,
    told: Arc<Mutex<Vec<Told>>>,
    notes: Arc<Mutex<Vec<Note>>>,
    #[expect(clippy::type_complexity, reason = "a callback")]
    listener: Option<Arc<dyn Fn(&Told) + Send + Sync>>,
}

impl Stage {
    /// A stage on a simulated cluster.
    pub fn simulated(world: &World) -> Self {
        Self {
            client: world.client("person"),
            disks: Disks::default(),
            movers: Movers::default(),
            witness: Witness::default(),
            forge: world.forge().clone(),
            artifacts: Artifacts::default(),
            start: world.start(),
            world: Some(world.clone()),
            git: "http://git.world".into(),
            told: Arc::default(),
            notes: Arc::default(),
            listener: None,
        }
    }

    /// A stage on any cluster, in real time.
    pub fn on(client: Client) -> Self {
        Self {
            client,
            disks: Disks::default(),
            movers: Movers::default(),
            witness: Witness::default(),
            forge: Forge::new(GitHost::default()),
            artifacts: Artifacts::default(),
            start: Instant::now(),
            world: None,
            git: "http://git.world".into(),
            told: Arc::default(),
            notes: Arc::default(),
            listener: None,
        }
    }

    /// The same stage with git at another address: scheme and host.
    #[must_use]
    pub fn with_git(mut self, address: String) -> Self {
        self.git = address;
        self
    }

    /// The URL of a repository, for whoever clones it.
    pub fn git_url(&self, repository: &str) -> String {
        format!("{}/{repository}.git", self.git)
    }

    /// How long a story waits in vain: what is hours of virtual time must be minutes of a person's.
    fn patience(&self, patience: Duration) -> Duration {
        if self.world.is_some() { patience } else { patience.min(LIVE_PATIENCE) }
    }

    /// The same stage with someone who hears what is told as it happens.
    #[must_use]
    pub fn heard_by(mut self, listener: impl Fn(&Told) + Send + Sync + 'static) -> Self {
        self.listener = Some(Arc::new(listener));
        self
    }

    /// The simulated world, if this is one.
    pub fn world(&self) -> Option<&World> {
        self.world.as_ref()
    }

    /// Git as a named caller reaches it.
    pub fn remote(&self, name: &str) -> Remote {
        match &self.world {
            Some(world) => world.remote(name),
            None => Remote::new(self.forge.host().clone(), None),
        }
    }

    /// Tells what happens, for the timeline.
    pub fn tell(&self, who: &str, what: impl Display) {
        let told = Told {
            at: self.start.elapsed().as_millis(),
            who: who.to_owned(),
            what: what.to_string(),
        };
        if let Some(listener) = &self.listener {
            listener(&told);
        }
        self.told.lock().unwrap_or_else(PoisonError::into_inner).push(told);
    }

    /// What was told so far.
    pub fn told(&self) -> Vec<Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Writes an object down as it is now, to be compared with the same moment on another cluster.
    pub fn note(&self, when: &str, object: &DynamicObject) {
        let note = notes::of(when, object, &self.git);
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(note);
    }

    /// Writes all objects of a kind in a namespace (all of them if none is named) down, once nothing
    /// changes them any more.
    pub async fn note_all(
        &self,
        when: &str,
        resource: &ApiResource,
        namespace: &str,
    ) -> Result<(), Violation> {
        let api: Api<DynamicObject> = if namespace.is_empty() {
            Api::all_with(self.client.clone(), resource)
        } else {
            Api::namespaced_with(self.client.clone(), namespace, resource)
        };
        let mut before = Vec::new();
        for _ in 0..60 {
            let found = api.list(&ListParams::default()).await?.items;
            let versions: Vec<Option<String>> =
                found.iter().map(|one| one.metadata.resource_version.clone()).collect();
            if versions == before {
                let mut notes: Vec<Note> = found
                    .into_iter()
                    .map(|mut one| {
                        one.types = Some(TypeMeta {
                            api_version: resource.api_version.clone(),
                            kind: resource.kind.clone(),
                        });
                        notes::of(when, &one, &self.git)
                    })
                    .collect();
                // Names may be random; what is said of the objects is not.
                notes.sort_by_cached_key(|note| (note.what.clone(), note.object.to_string()));
                self.notes.lock().unwrap_or_else(PoisonError::into_inner).extend(notes);
                return Ok(());
            }
            before = versions;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        Err(Violation(format!("the objects of kind {} do not rest", resource.kind)))
    }

    /// What was written down so far.
    pub fn notes(&self) -> Vec<Note> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets time pass to show that nothing happens; of a person's time no more than some seconds.
    pub async fn pass(&self, time: Duration) {
        let most = if self.world.is_some() { time } else { time.min(Duration::from_secs(5)) };
        tokio::time::sleep(most).await;
    }

    /// Asks until the answer is there, at most `patience` long.
    pub async fn until<T, F>(
        &self,
        what: &str,
        patience: Duration,
        mut ask: impl FnMut() -> F,
    ) -> Result<T, Violation>
    where
        F: Future<Output = Result<Option<T>, kube::Error>>,
    {
        let patience = self.patience(patience);
        let deadline = Instant::now() + patience;
        let mut last = String::new();
        loop {
            match ask().await {
                Ok(Some(found)) => return Ok(found),
                Ok(None) => {}
                Err(error) => last = format!(" (last error: {error})"),
            }
            if Instant::now() >= deadline {
                return Err(Violation(format!(
                    "waited {} s in vain until {what}{last}",
                    patience.as_secs()
                )));
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}
