//! The operator: one future that leads, runs its controllers and stops. The command, the demo and
//! the simulation run the same one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _, join_all};
use holdfast_api::timeline::Capability;
use holdfast_api::{GROUP, VERSION};
use kube::Client;
use strum::IntoEnumIterator as _;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use crate::call::bounded;
use crate::clock::Clock;
use crate::context::Context;
use crate::destination;
use crate::lease::{Candidate, Lost, Options as LeaseOptions};
use crate::tasks::{self, Runner};

/// How long controllers may take to end what they are at.
const GRACE: Duration = Duration::from_secs(25);

/// How often the API server is asked for kinds that are not there yet.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// What the operator is to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// The capabilities; those whose kinds are installed if nothing is said.
    pub capabilities: Option<BTreeSet<Capability>>,
    /// The lease to lead by; nothing to lead at once, where there is no other operator.
    pub lease: Option<LeaseOptions>,
}

/// A controller: a future that runs until it is asked to stop.
pub type Controller = BoxFuture<'static, ()>;

/// A part of the operator that is plugged in: its controllers, once it leads.
pub trait Part: Send + Sync {
    /// The capability that it belongs to; nothing for what all share.
    fn capability(&self) -> Option<Capability>;

    /// Its controllers. Each runs until the context's tasks are asked to stop.
    fn controllers(&self, context: &Context) -> Vec<Controller>;
}

/// Why the operator ended.
#[derive(Debug, Error)]
pub enum OperatorError {
    /// It may write no more.
    #[error("no longer the leader: {0}")]
    Lost(#[from] Lost),
    /// A capability was asked for whose kinds are not there.
    #[error(
        "the capability {} needs kinds that are not installed ({}); install them with: holdfast crds | kubectl apply --server-side -f -",
        .capability.to_string().to_lowercase(), .missing.join(", ")
    )]
    NotInstalled {
        /// The capability.
        capability: Capability,
        /// The kinds in the plural.
        missing: Vec<&'static str>,
    },
    /// A controller ended although nobody asked it to.
    #[error("a controller ended by itself")]
    Ended,
}

/// The kinds that a capability needs, in the plural.
pub fn kinds(capability: Capability) -> &'static [&'static str] {
    match capability {
        Capability::Upgrade => {
            &["managedapps", "upgraderequests", "rollbackrequests", "gitdestinations", "fences"]
        }
        Capability::Protect => &["backupclasses", "protectedvolumes", "volumeoperations", "fences"],
        Capability::Guard => &[
            "stagedkustomizations",
            "recoverypolicies",
            "incidents",
            "reconcilerecords",
            "handsoffs",
            "pruneholds",
        ],
        Capability::Record => &["watchrules", "clusterwatchrules", "gitdestinations"],
    }
}

/// What all capabilities share.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shared;

impl Part for Shared {
    fn capability(&self) -> Option<Capability> {
        None
    }

    fn controllers(&self, context: &Context) -> Vec<Controller> {
        vec![destination::run(context.clone()).boxed()]
    }
}

/// A context for a new operator, and what runs its tasks. `identity` is its name among those that
/// want to lead.
pub fn prepare(
    client: Client,
    clock: Arc<dyn Clock>,
    namespace: &str,
    identity: &str,
) -> (Context, Runner) {
    let (tasks, runner) = tasks::tasks();
    (Context::new(client, clock, namespace, identity, tasks), runner)
}

/// Runs until it is asked to stop by the context's tasks, or may not lead any more. Dropping the
/// future ends everything at once, as a crash would.
pub async fn run(
    context: Context,
    runner: Runner,
    options: Options,
    parts: Vec<Box<dyn Part>>,
) -> Result<(), OperatorError> {
    let stop = context.tasks.stop().clone();
    tokio::select! {
        biased;
        ended = lead(&context, &options, &parts, &stop) => ended,
        () = runner.run() => Err(OperatorError::Ended),
    }
}

async fn lead(
    context: &Context,
    options: &Options,
    parts: &[Box<dyn Part>],
    stop: &CancellationToken,
) -> Result<(), OperatorError> {
    context.readiness.waiting("kinds", "not asked for yet");
    let Some(chosen) = stop.run_until_cancelled(choose(context, options)).await else {
        return Ok(());
    };
    let chosen = chosen?;
    context.readiness.ready("kinds");
    let names: Vec<String> = chosen.iter().map(|one| one.to_string().to_lowercase()).collect();
    tracing::info!(capabilities = names.join(","), "started");

    let Some(lease) = &options.lease else {
        return work(context, parts, &chosen, stop).await;
    };
    let candidate = Candidate::new(context.client.clone(), context.clock.clone(), lease.clone());
    let Some(mut held) = stop.run_until_cancelled(candidate.acquire()).await else {
        return Ok(());
    };
    tracing::info!(identity = lease.identity, "leading");
    context.metrics.leading(true);
    let ended = tokio::select! {
        biased;
        lost = candidate.keep(&mut held) => Err(lost.into()),
        ended = work(context, parts, &chosen, stop) => ended,
    };
    context.metrics.leading(false);
    match &ended {
        Err(OperatorError::Lost(lost)) => context.readiness.failed(lost.to_string()),
        // What could still write has ended: the next one may begin.
        _ => candidate.release(held).await,
    }
    ended
}

async fn work(
    context: &Context,
    parts: &[Box<dyn Part>],
    chosen: &BTreeSet<Capability>,
    stop: &CancellationToken,
) -> Result<(), OperatorError> {
    let controllers = parts
        .iter()
        .filter(|part| part.capability().is_none_or(|one| chosen.contains(&one)))
        .flat_map(|part| part.controllers(context));
    let controllers = join_all(controllers);
    tokio::pin!(controllers);
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        _ = &mut controllers => {
            return if stop.is_cancelled() { Ok(()) } else { Err(OperatorError::Ended) };
        }
    }
    tracing::info!("stopping");
    if tokio::time::timeout(GRACE, controllers).await.is_err() {
        tracing::warn!("controllers did not end in time and are dropped");
    }
    Ok(())
}

/// The capabilities that were asked for, or those whose kinds are installed. While none is, it
/// waits: kinds may arrive after the operator.
async fn choose(
    context: &Context,
    options: &Options,
) -> Result<BTreeSet<Capability>, OperatorError> {
    loop {
        let served = match served(context).await {
            Ok(served) => served,
            Err(error) => {
                tracing::warn!(%error, "the API server could not be asked for its kinds");
                context.readiness.waiting("kinds", error.to_string());
                context.clock.sleep(LOOK_AGAIN).await;
                continue;
            }
        };
        let missing = |capability: Capability| -> Vec<&'static str> {
            kinds(capability).iter().copied().filter(|kind| !served.contains(*kind)).collect()
        };
        if let Some(chosen) = &options.capabilities {
            for &capability in chosen {
                let missing = missing(capability);
                if !missing.is_empty() {
                    return Err(OperatorError::NotInstalled { capability, missing });
                }
            }
            return Ok(chosen.clone());
        }
        let installed: BTreeSet<Capability> =
            Capability::iter().filter(|capability| missing(*capability).is_empty()).collect();
        if !installed.is_empty() {
            return Ok(installed);
        }
        context.readiness.waiting(
            "kinds",
            "none are installed; install them with: holdfast crds | kubectl apply --server-side -f -",
        );
        context.clock.sleep(LOOK_AGAIN).await;
    }
}

async fn served(context: &Context) -> Result<BTreeSet<String>, crate::call::CallError> {
    let version = format!("{GROUP}/{VERSION}");
    match bounded(context.client.list_api_group_resources(&version)).await {
        Ok(list) => Ok(list.resources.into_iter().map(|resource| resource.name).collect()),
        Err(error) if error.is_not_found() => Ok(BTreeSet::new()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
