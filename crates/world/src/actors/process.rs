//! One controller process: its caches, its queue, its pace.
//!
//! An ordinary controller in miniature: watches fill a cache, events name keys, keys are reconciled one
//! at a time. It is written for the simulation, where the order of everything must follow from the seed,
//! and runs on a real cluster just as well.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{SelectAll, StreamExt as _};
use kube::api::{Api, ApiResource, DynamicObject};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, ResourceExt as _};
use tokio::time::Instant;

use super::pace::Pace;

/// Namespace (empty for cluster scope) and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Empty for cluster-scoped kinds.
    pub namespace: String,
    /// Name.
    pub name: String,
}

impl Key {
    /// A key from its parts.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// Where an object lies.
    pub fn of(object: &DynamicObject) -> Self {
        Self { namespace: object.namespace().unwrap_or_default(), name: object.name_any() }
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}

/// What a process has seen of the cluster: possibly old, never newer than the truth.
#[derive(Debug, Default)]
pub struct Cache {
    kinds: BTreeMap<String, BTreeMap<Key, Arc<DynamicObject>>>,
}

impl Cache {
    /// One object of a kind.
    pub fn get(&self, kind: &str, key: &Key) -> Option<&Arc<DynamicObject>> {
        self.kinds.get(kind)?.get(key)
    }

    /// Objects of a kind in key order; all namespaces if none is named.
    pub fn list<'a>(
        &'a self,
        kind: &str,
        namespace: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Arc<DynamicObject>> {
        self.kinds
            .get(kind)
            .into_iter()
            .flatten()
            .filter(move |(key, _)| namespace.is_none_or(|ns| key.namespace == ns))
            .map(|(_, object)| object)
    }

    /// Objects of a kind that `owner` controls.
    pub fn controlled<'a>(
        &'a self,
        kind: &str,
        owner: &'a DynamicObject,
    ) -> impl Iterator<Item = &'a Arc<DynamicObject>> {
        let uid = owner.metadata.uid.as_deref().unwrap_or_default();
        self.list(kind, owner.metadata.namespace.as_deref())
            .filter(move |object| controller_of(object).is_some_and(|(_, _, of)| of == uid))
    }
}

/// Kind, name and uid of an object's controller.
pub fn controller_of(object: &DynamicObject) -> Option<(&str, &str, &str)> {
    object
        .metadata
        .owner_references
        .iter()
        .flatten()
        .find(|owner| owner.controller == Some(true))
        .map(|owner| (owner.kind.as_str(), owner.name.as_str(), owner.uid.as_str()))
}

/// What a reconciler works with.
pub struct Desk {
    /// Its way into the cluster.
    pub client: Client,
    /// What the process has seen.
    pub cache: Cache,
    /// Time and pace.
    pub pace: Pace,
    /// Under which name the process writes.
    pub manager: &'static str,
}

impl Desk {
    /// The current time.
    pub fn now(&self) -> jiff::Timestamp {
        self.pace.now()
    }

    /// The current time in whole seconds, as objects carry it.
    pub fn stamp(&self) -> String {
        self.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// An API of one kind in a namespace (empty: cluster scope).
    pub fn api(&self, resource: &ApiResource, namespace: &str) -> Api<DynamicObject> {
        if namespace.is_empty() {
            Api::all_with(self.client.clone(), resource)
        } else {
            Api::namespaced_with(self.client.clone(), namespace, resource)
        }
    }
}

/// Why a reconciler could not finish; it will be asked again.
#[derive(Debug, thiserror::Error)]
pub enum ActorError {
    /// The API server said no, or did not answer.
    #[error(transparent)]
    Kube(#[from] kube::Error),
    /// Something else, in words.
    #[error("{0}")]
    Other(String),
}

/// After a reconcile: when to look again without being woken.
pub type Again = Option<Duration>;

/// One control loop of a process.
pub trait Reconciler: Send {
    /// For the log.
    fn name(&self) -> &'static str;

    /// Which keys an event of `kind` makes worth a look. `object` is the new state, or the last one.
    fn wakes(&self, kind: &str, object: &DynamicObject, cache: &Cache) -> Vec<Key>;

    /// Brings one key a step nearer to what it should be.
    fn reconcile<'a>(
        &'a mut self,
        key: &'a Key,
        desk: &'a Desk,
    ) -> BoxFuture<'a, Result<Again, ActorError>>;
}

/// A kind that a process watches.
#[derive(Debug, Clone)]
pub struct Watched(pub ApiResource);

/// One process: a name, what it watches, what it does.
pub struct Process {
    /// `kube-controller-manager`
    pub name: &'static str,
    /// Kinds to cache.
    pub watches: Vec<ApiResource>,
    /// Its control loops.
    pub loops: Vec<Box<dyn Reconciler>>,
}

/// How long to wait after a failed reconcile.
const RETRY: Duration = Duration::from_secs(1);
/// How long a queue may gather before it is worked on.
const GATHER: Duration = Duration::from_millis(5);

impl Process {
    /// Runs until dropped.
    pub async fn run(mut self, client: Client, pace: Pace) {
        let manager = match self.name {
            "volume-controllers" => "kube-controller-manager",
            "nodes" => "kubelet",
            name => name,
        };
        let mut desk = Desk { client, cache: Cache::default(), pace, manager };
        let mut events = SelectAll::new();
        for resource in &self.watches {
            let api: Api<DynamicObject> = Api::all_with(desk.client.clone(), resource);
            let kind = resource.kind.clone();
            desk.cache.kinds.insert(kind.clone(), BTreeMap::new());
            let stream = kube::runtime::WatchStreamExt::default_backoff(watcher(
                api,
                watcher::Config::default(),
            ));
            // Items of a list come without their type; owners and events need it.
            let types = kube::api::TypeMeta {
                api_version: resource.api_version.clone(),
                kind: resource.kind.clone(),
            };
            let named = stream.map(move |event| {
                let event = event.map(|event| match event {
                    Event::Apply(object) => Event::Apply(typed(object, &types)),
                    Event::InitApply(object) => Event::InitApply(typed(object, &types)),
                    Event::Delete(object) => Event::Delete(typed(object, &types)),
                    other => other,
                });
                (kind.clone(), event)
            });
            events.push(named.boxed());
        }
        let mut unready: BTreeSet<String> =
            self.watches.iter().map(|resource| resource.kind.clone()).collect();
        let mut queue: BTreeMap<(usize, Key), Instant> = BTreeMap::new();
        loop {
            let next = queue.values().min().copied().filter(|_| unready.is_empty());
            tokio::select! {
                biased;
                event = events.next() => {
                    let Some((kind, event)) = event else { return };
                    self.see(&kind, event, &mut desk, &mut queue, &mut unready);
                }
                () = sleep_until(next) => {
                    self.work(&mut desk, &mut queue).await;
                }
            }
        }
    }

    fn see(
        &self,
        kind: &str,
        event: Result<Event<DynamicObject>, watcher::Error>,
        desk: &mut Desk,
        queue: &mut BTreeMap<(usize, Key), Instant>,
        unready: &mut BTreeSet<String>,
    ) {
        let objects = desk.cache.kinds.entry(kind.to_owned()).or_default();
        let touched = match event {
            Ok(Event::Apply(object) | Event::InitApply(object)) => {
                let object = Arc::new(object);
                objects.insert(Key::of(&object), object.clone());
                object
            }
            Ok(Event::Delete(object)) => {
                objects.remove(&Key::of(&object));
                Arc::new(object)
            }
            Ok(Event::Init) => {
                objects.clear();
                unready.insert(kind.to_owned());
                return;
            }
            Ok(Event::InitDone) => {
                unready.remove(kind);
                return;
            }
            Err(error) => {
                tracing::debug!(process = self.name, kind, %error, "watch failed");
                return;
            }
        };
        let due = Instant::now() + GATHER + desk.pace.reaction(self.name);
        for (index, reconciler) in self.loops.iter().enumerate() {
            for key in reconciler.wakes(kind, &touched, &desk.cache) {
                let slot = queue.entry((index, key)).or_insert(due);
                *slot = (*slot).min(due);
            }
        }
    }

    async fn work(&mut self, desk: &mut Desk, queue: &mut BTreeMap<(usize, Key), Instant>) {
        let now = Instant::now();
        let due: Vec<(usize, Key)> =
            queue.iter().filter(|(_, at)| **at <= now).map(|(slot, _)| slot.clone()).collect();
        let Some((index, key)) = due.into_iter().next() else { return };
        queue.remove(&(index, key.clone()));
        let Some(reconciler) = self.loops.get_mut(index) else { return };
        if desk.pace.fails(self.name) {
            queue.insert((index, key), Instant::now() + RETRY);
            return;
        }
        match reconciler.reconcile(&key, desk).await {
            Ok(None) => {}
            Ok(Some(again)) => {
                let at = Instant::now() + again;
                let slot = queue.entry((index, key)).or_insert(at);
                *slot = (*slot).min(at);
            }
            Err(error) => {
                tracing::debug!(process = self.name, actor = reconciler.name(), %key, %error, "retrying");
                queue.entry((index, key)).or_insert(Instant::now() + RETRY);
            }
        }
    }
}

fn typed(mut object: DynamicObject, types: &kube::api::TypeMeta) -> DynamicObject {
    object.types.get_or_insert_with(|| types.clone());
    object
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
