//! The controller of GitDestination. It finds out where commits would go and whether what that needs
//! is there. It does not speak to the remote, and its conditions claim no more than it has checked.

mod decide;
mod observe;
mod remote;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::{Stream, StreamExt as _, stream};
use holdfast_api::condition::{ConditionType, Conditioned as _};
use holdfast_api::foreign::flux::GitRepository;
use holdfast_api::git_destination::{GitDestination, GitDestinationStatus};
use holdfast_api::names::REQUESTED_AT;
use k8s_openapi::api::core::v1::{ObjectReference, Secret};
use kube::api::PartialObjectMeta;
use kube::runtime::controller::Action;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::{Controller, watcher};
use kube::{Api, Resource as _, ResourceExt as _};
use serde_json::{Value, json};
use thiserror::Error;

use crate::apply::Manager;
use crate::call::CallError;
use crate::context::Context;
use crate::events::{self, Kind, Notice};
use crate::metrics::Outcome;
use crate::status::{self, Standing};
use crate::watch::{Pauses, touched};

pub use decide::{Resolution, decide};
pub use observe::{Observed, SecretFact, SourceFact};

const NAME: &str = "destination";

/// How soon a destination is looked at again when the API server could not be asked.
const AGAIN: Duration = Duration::from_secs(10);

/// Why a destination could not be reconciled.
#[derive(Debug, Error)]
pub enum DestinationError {
    /// Its status could not be written.
    #[error("the status could not be written: {0}")]
    Status(CallError),
    /// What it refers to could not be asked for.
    #[error("not observed: {0}")]
    Observe(CallError),
}

/// Which destinations an object matters to: filled while they are observed, so that a Secret that
/// arrives later wakes those that miss it.
#[derive(Clone, Debug, Default)]
struct Dependencies(Arc<Mutex<BTreeMap<Dependency, BTreeSet<Key>>>>);

/// Namespace and name.
type Key = (String, String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Depended {
    Source,
    Secret,
}

type Dependency = (Depended, Key);

impl Dependencies {
    fn add(&self, of: &Key, on: Depended, namespace: &str, name: &str) {
        let on = (on, (namespace.to_owned(), name.to_owned()));
        self.lock().entry(on).or_default().insert(of.clone());
    }

    fn forget(&self, of: &Key) {
        self.lock().retain(|_, keys| {
            keys.remove(of);
            !keys.is_empty()
        });
    }

    fn of(&self, on: Depended, namespace: Option<String>, name: String) -> Vec<Key> {
        let on = (on, (namespace.unwrap_or_default(), name));
        self.lock().get(&on).into_iter().flatten().cloned().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Dependency, BTreeSet<Key>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct State {
    context: Context,
    dependencies: Dependencies,
}

/// Runs until the context's tasks are asked to stop.
pub async fn run(context: Context) {
    let client = context.client.clone();
    let stop = context.tasks.stop().clone();
    let dependencies = Dependencies::default();
    let (on_source, on_secret) = (dependencies.clone(), dependencies.clone());
    let sources: Api<PartialObjectMeta<GitRepository>> = Api::all(client.clone());
    let sources = touched(sources, watcher::Config::default()).flat_map(move |source| {
        references(on_source.of(Depended::Source, source.namespace(), source.name_any()))
    });
    let secrets: Api<PartialObjectMeta<Secret>> = Api::all(client.clone());
    let secrets = touched(secrets, watcher::Config::default()).flat_map(move |secret| {
        references(on_secret.of(Depended::Secret, secret.namespace(), secret.name_any()))
    });
    let state = Arc::new(State { context, dependencies });
    Controller::new(Api::<GitDestination>::all(client), watcher::Config::default())
        .trigger_backoff(Pauses::default())
        .reconcile_on(sources)
        .reconcile_on(secrets)
        .graceful_shutdown_on(stop.cancelled_owned())
        .run(reconcile, again, state)
        .for_each(|ended| async move {
            if let Err(error) = ended {
                tracing::debug!(%error, controller = NAME, "not reconciled");
            }
        })
        .await;
}

fn references(keys: Vec<Key>) -> impl Stream<Item = ObjectRef<GitDestination>> {
    let references = |(namespace, name): Key| ObjectRef::new(&name).within(&namespace);
    stream::iter(keys.into_iter().map(references))
}

fn again(_: Arc<GitDestination>, error: &DestinationError, _: Arc<State>) -> Action {
    tracing::warn!(%error, controller = NAME, "trying again in {} s", AGAIN.as_secs());
    Action::requeue(AGAIN)
}

async fn reconcile(
    destination: Arc<GitDestination>,
    state: Arc<State>,
) -> Result<Action, DestinationError> {
    let begun = tokio::time::Instant::now();
    let done = examine(&destination, &state).await;
    let outcome = if done.is_ok() { Outcome::success } else { Outcome::error };
    state.context.metrics.reconciled(NAME, outcome, begun.elapsed());
    done
}

async fn examine(destination: &GitDestination, state: &State) -> Result<Action, DestinationError> {
    let context = &state.context;
    let key = (destination.namespace().unwrap_or_default(), destination.name_any());
    state.dependencies.forget(&key);
    if destination.meta().deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let watch = |on, namespace: &str, name: &str| state.dependencies.add(&key, on, namespace, name);
    let observed = observe::observe(&context.client, destination, &watch).await;
    let (resolution, failed) = match observed {
        Ok(observed) => (decide(destination, &observed), None),
        Err(error) => (Resolution::not_observed(&error), Some(error)),
    };
    record(context, destination, &resolution).await.map_err(DestinationError::Status)?;
    match failed {
        None => Ok(Action::await_change()),
        Some(error) => Err(DestinationError::Observe(error)),
    }
}

/// Writes what was decided, and says it where it is news.
async fn record(
    context: &Context,
    destination: &GitDestination,
    resolution: &Resolution,
) -> Result<(), CallError> {
    let before = destination.status.as_ref();
    let mut status = before.cloned().unwrap_or_default();
    resolution.write_to(&mut status);
    status.observed_generation = destination.meta().generation;
    status.last_handled_requested_at = destination.annotations().get(REQUESTED_AT).cloned();
    let reason: &'static str = resolution.reason.into();
    status::stand(
        &mut status.conditions,
        resolution.standing,
        reason,
        &resolution.message,
        destination.meta().generation,
        context.clock.now(),
    );
    if before == Some(&status) {
        return Ok(());
    }
    let api = Api::namespaced(
        context.client.clone(),
        destination.meta().namespace.as_deref().unwrap_or_default(),
    );
    let clock = context.clock.as_ref();
    status::write(clock, &api, destination, Manager::SHARED, &own(&status)).await?;
    if !is_news(destination, resolution) {
        return Ok(());
    }
    let kind = match resolution.standing {
        Standing::Ready | Standing::Reconciling => Kind::Normal,
        _ if resolution.reason == decide::Reason::Suspended => Kind::Normal,
        _ => Kind::Warning,
    };
    let notice = Notice { kind, reason, action: "Resolve", note: resolution.message.clone() };
    let about: Vec<ObjectReference> =
        [Some(events::reference(destination)), resolution.source()].into_iter().flatten().collect();
    context.events.publish(&about, &notice).await;
    Ok(())
}

/// The part of the status that is found out here; queue, commits and pushes belong to who pushes.
fn own(status: &GitDestinationStatus) -> Value {
    let kstatus = [ConditionType::Ready, ConditionType::Reconciling, ConditionType::Stalled];
    let mut own = json!({
        "observedGeneration": status.observed_generation,
        "conditions": status
            .conditions
            .iter()
            .filter(|condition| kstatus.iter().any(|kind| kind.name() == condition.type_))
            .collect::<Vec<_>>(),
        "lastHandledRequestedAt": status.last_handled_requested_at,
        "url": status.url,
        "branch": status.branch,
        "credentials": status.credentials,
    });
    if let Some(fields) = own.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    own
}

fn is_news(destination: &GitDestination, resolution: &Resolution) -> bool {
    let reason: &str = resolution.reason.into();
    destination
        .condition(ConditionType::Ready)
        .is_none_or(|ready| ready.reason != reason || ready.message != resolution.message)
}
