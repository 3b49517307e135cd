//! Leader election on a Lease. Every write carries the resourceVersion that was read, so that of two
//! candidates at most one wins; and a candidate waits for as long as the lease lasts *by its own
//! clock* since it last saw the lease change, so that clocks that differ do no harm.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::api::PostParams;
use kube::{Api, Client};
use thiserror::Error;
use tokio::time::Instant;

use crate::call::{CallError, within};
use crate::clock::{Clock, micro_time};

/// Which lease, and how long things take.
#[derive(Clone, Debug)]
pub struct Options {
    /// The namespace of the lease.
    pub namespace: String,
    /// The name of the lease.
    pub name: String,
    /// The name of this candidate; no two at a time share one.
    pub identity: String,
    /// How long a lease lasts that is not renewed.
    pub duration: Duration,
    /// How long a holder that cannot renew goes on. Shorter than `duration`, so that it stops
    /// before another one starts.
    pub renew_deadline: Duration,
    /// How often a holder renews and a candidate looks.
    pub period: Duration,
}

impl Options {
    /// The usual times: 15, 10 and 2 seconds.
    pub fn new(namespace: &str, name: &str, identity: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            identity: identity.to_owned(),
            duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            period: Duration::from_secs(2),
        }
    }
}

/// Why a lease is held no more.
#[derive(Debug, Error)]
pub enum Lost {
    /// Another candidate has it.
    #[error("another process took the lease: {0}")]
    Taken(String),
    /// It was deleted.
    #[error("the lease was deleted")]
    Deleted,
    /// It could not be renewed in time.
    #[error("the lease could not be renewed for {} s: {last}", .waited.as_secs())]
    NotRenewed {
        /// How long it was tried.
        waited: Duration,
        /// The last error.
        last: CallError,
    },
}

/// A candidate.
pub struct Candidate {
    leases: Api<Lease>,
    clock: Arc<dyn Clock>,
    options: Options,
}

/// A lease that is held. Renew it, or lose it.
#[derive(Debug)]
pub struct Held {
    lease: Lease,
    renewed: Instant,
}

impl Candidate {
    /// A candidate for a lease.
    pub fn new(client: Client, clock: Arc<dyn Clock>, options: Options) -> Self {
        Self { leases: Api::namespaced(client, &options.namespace), clock, options }
    }

    /// Waits until the lease is held.
    pub async fn acquire(&self) -> Held {
        // What was seen of the lease, and since when it has not changed.
        let mut seen: Option<(LeaseSpec, Instant)> = None;
        loop {
            match self.attempt(&mut seen).await {
                Ok(Some(held)) => return held,
                Ok(None) => {}
                Err(error) if error.is_conflict() => {
                    tracing::debug!(%error, "another candidate was faster");
                }
                Err(error) => tracing::warn!(%error, "the lease could not be asked for"),
            }
            self.clock.sleep(self.options.period).await;
        }
    }

    async fn attempt(
        &self,
        seen: &mut Option<(LeaseSpec, Instant)>,
    ) -> Result<Option<Held>, CallError> {
        let begun = Instant::now();
        let found = within(self.options.renew_deadline, self.leases.get_opt(&self.options.name));
        let Some(mut lease) = found.await? else {
            let mut lease = Lease::default();
            lease.metadata.name = Some(self.options.name.clone());
            self.claim(&mut lease);
            let params = PostParams::default();
            let created = self.leases.create(&params, &lease);
            let lease = within(self.options.renew_deadline, created).await?;
            return Ok(Some(Held { lease, renewed: begun }));
        };
        let spec = lease.spec.clone().unwrap_or_default();
        let holder = spec.holder_identity.clone().unwrap_or_default();
        let lasts = spec
            .lease_duration_seconds
            .and_then(|seconds| u64::try_from(seconds).ok())
            .map_or(self.options.duration, Duration::from_secs);
        let since = match seen {
            Some((before, since)) if *before == spec => *since,
            _ => {
                *seen = Some((spec, begun));
                begun
            }
        };
        let free = holder.is_empty() || holder == self.options.identity;
        if !free && begun.duration_since(since) < lasts {
            return Ok(None);
        }
        self.claim(&mut lease);
        let lease = self.replace(self.options.renew_deadline, &lease).await?;
        Ok(Some(Held { lease, renewed: begun }))
    }

    /// Renews for as long as that works, and answers why it does no more. From then on the holder
    /// must not write: the process stops.
    pub async fn keep(&self, held: &mut Held) -> Lost {
        loop {
            self.clock.sleep(self.options.period).await;
            let error = match self.renew(held).await {
                Ok(None) => continue,
                Ok(Some(lost)) => return lost,
                Err(error) => error,
            };
            let waited = held.renewed.elapsed();
            tracing::warn!(%error, ?waited, "the lease could not be renewed");
            if waited >= self.options.renew_deadline {
                return Lost::NotRenewed { waited, last: error };
            }
        }
    }

    async fn renew(&self, held: &mut Held) -> Result<Option<Lost>, CallError> {
        let begun = Instant::now();
        let left = self.options.renew_deadline.saturating_sub(held.renewed.elapsed());
        let limit = left.max(Duration::from_millis(1));
        let mut lease = held.lease.clone();
        self.claim(&mut lease);
        match self.replace(limit, &lease).await {
            Ok(lease) => {
                *held = Held { lease, renewed: begun };
                Ok(None)
            }
            Err(error) if error.is_conflict() => {
                // Our own write whose answer was lost, or a label that somebody added: look.
                let found = within(limit, self.leases.get_opt(&self.options.name)).await?;
                let Some(found) = found else { return Ok(Some(Lost::Deleted)) };
                match found.spec.as_ref().and_then(|spec| spec.holder_identity.clone()) {
                    Some(holder) if holder == self.options.identity => {
                        held.lease = found;
                        Err(error)
                    }
                    holder => Ok(Some(Lost::Taken(holder.unwrap_or_default()))),
                }
            }
            Err(error) if error.is_not_found() => Ok(Some(Lost::Deleted)),
            Err(error) => Err(error),
        }
    }

    /// Gives the lease back, so that the next candidate need not wait. A lease that is another's by
    /// now is left alone.
    pub async fn release(&self, held: Held) {
        let mut lease = held.lease;
        if let Some(spec) = &mut lease.spec {
            spec.holder_identity = None;
            spec.lease_duration_seconds = Some(1);
            spec.renew_time = Some(micro_time(self.clock.now()));
        }
        if let Err(error) = self.replace(self.options.period, &lease).await {
            tracing::debug!(%error, "the lease was not given back");
        }
    }

    async fn replace(&self, limit: Duration, lease: &Lease) -> Result<Lease, CallError> {
        let params = PostParams::default();
        within(limit, self.leases.replace(&self.options.name, &params, lease)).await
    }

    fn claim(&self, lease: &mut Lease) {
        let now = micro_time(self.clock.now());
        let spec = lease.spec.get_or_insert_default();
        if spec.holder_identity.as_deref() != Some(&self.options.identity) {
            if spec.acquire_time.is_some() {
                spec.lease_transitions = Some(spec.lease_transitions.unwrap_or(0) + 1);
            }
            spec.holder_identity = Some(self.options.identity.clone());
            spec.acquire_time = Some(now.clone());
        }
        spec.lease_duration_seconds = i32::try_from(self.options.duration.as_secs()).ok();
        spec.renew_time = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use http::Method;
    use tokio::time::timeout;

    use super::*;
    use crate::testing::{Fault, Faults, client, faulty, server};

    const SECOND: Duration = Duration::from_secs(1);

    fn options(identity: &str) -> Options {
        Options::new("default", "holdfast", identity)
    }

    async fn holder(client: &Client) -> LeaseSpec {
        let leases: Api<Lease> = Api::namespaced(client.clone(), "default");
        leases.get("holdfast").await.unwrap().spec.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn one_of_two_candidates_leads() {
        let (server, clock) = server();
        let client = client(&server);
        let a = Candidate::new(client.clone(), clock.clone(), options("a"));
        let b = Candidate::new(client.clone(), clock.clone(), options("b"));
        let mut held = a.acquire().await;
        tokio::select! {
            biased;
            lost = a.keep(&mut held) => panic!("{lost}"),
            _ = b.acquire() => panic!("two leaders"),
            () = tokio::time::sleep(601 * SECOND) => {}
        }
        let spec = holder(&client).await;
        assert_eq!(spec.holder_identity.as_deref(), Some("a"));
        assert_eq!(spec.lease_transitions, None);
        let renewed = serde_json::to_value(&spec.renew_time).unwrap();
        assert_eq!(renewed, "2026-03-01T12:10:00.000000Z");
        assert_eq!(spec.acquire_time.unwrap().0.to_string(), "2026-03-01T12:00:00Z");
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_crash_the_next_one_waits_for_the_lease_to_end() {
        let (server, clock) = server();
        let client = client(&server);
        let a = Candidate::new(client.clone(), clock.clone(), options("a"));
        drop(a.acquire().await);
        let b = Candidate::new(client.clone(), clock.clone(), options("b"));
        assert!(timeout(14 * SECOND, b.acquire()).await.is_err(), "too early");
        let begun = Instant::now();
        b.acquire().await;
        assert!(begun.elapsed() <= 17 * SECOND, "a candidate that starts late waits a whole term");
        let spec = holder(&client).await;
        assert_eq!(spec.holder_identity.as_deref(), Some("b"));
        assert_eq!(spec.lease_transitions, Some(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_is_wrong_does_not_take_a_lease() {
        let (server, clock) = server();
        let client = client(&server);
        let a = Candidate::new(client.clone(), clock.clone(), options("a"));
        let mut held = a.acquire().await;
        let late = crate::clock::VirtualClock::starting_at("2030-01-01T00:00:00Z".parse().unwrap());
        let b = Candidate::new(client.clone(), Arc::new(late), options("b"));
        tokio::select! {
            biased;
            lost = a.keep(&mut held) => panic!("{lost}"),
            _ = b.acquire() => panic!("two leaders"),
            () = tokio::time::sleep(120 * SECOND) => {}
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_that_is_given_back_is_free_at_once() {
        let (server, clock) = server();
        let client = client(&server);
        let a = Candidate::new(client.clone(), clock.clone(), options("a"));
        a.release(a.acquire().await).await;
        let b = Candidate::new(client.clone(), clock.clone(), options("b"));
        timeout(SECOND, b.acquire()).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_holder_that_is_cut_off_stops_before_another_starts() {
        let (server, clock) = server();
        let faults = Faults::default();
        let cut = Candidate::new(faulty(&server, &faults), clock.clone(), options("a"));
        let mut held = cut.acquire().await;
        faults.all(Fault::Hang);
        let begun = Instant::now();
        let b = Candidate::new(client(&server), clock.clone(), options("b"));
        let stopped = async {
            let lost = cut.keep(&mut held).await;
            assert!(matches!(lost, Lost::NotRenewed { .. }), "{lost}");
            begun.elapsed()
        };
        let started = async {
            b.acquire().await;
            begun.elapsed()
        };
        let (stopped, started) = tokio::join!(stopped, started);
        assert!(stopped < started, "stopped after {stopped:?}, other started after {started:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_lost_answer_is_not_a_lost_lease() {
        let (server, clock) = server();
        let faults = Faults::default();
        let a = Candidate::new(faulty(&server, &faults), clock.clone(), options("a"));
        let mut held = a.acquire().await;
        faults.once(Method::PUT, Fault::LoseAnswer);
        let kept = timeout(60 * SECOND, a.keep(&mut held)).await;
        assert!(kept.is_err(), "{kept:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_that_is_taken_or_deleted_is_lost() {
        let (server, clock) = server();
        let client = client(&server);
        let leases: Api<Lease> = Api::namespaced(client.clone(), "default");
        let a = Candidate::new(client.clone(), clock.clone(), options("a"));
        let mut held = a.acquire().await;
        let mut other = leases.get("holdfast").await.unwrap();
        other.spec.get_or_insert_default().holder_identity = Some("b".into());
        leases.replace("holdfast", &PostParams::default(), &other).await.unwrap();
        let lost = timeout(5 * SECOND, a.keep(&mut held)).await.unwrap();
        assert!(matches!(&lost, Lost::Taken(by) if by == "b"), "{lost}");

        leases.delete("holdfast", &kube::api::DeleteParams::default()).await.unwrap();
        let mut held = a.acquire().await;
        leases.delete("holdfast", &kube::api::DeleteParams::default()).await.unwrap();
        let lost = timeout(5 * SECOND, a.keep(&mut held)).await.unwrap();
        assert!(matches!(lost, Lost::Deleted), "{lost}");
    }
}
