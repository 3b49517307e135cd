//! Time, slowness and failure of actors: the knobs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::sim::{Lag, Random};

/// How one process behaves beyond its duty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Knob {
    /// It reacts this much later than it could.
    pub latency: Duration,
    /// This many of its reconciles per thousand fail and are tried again.
    pub failures: u64,
    /// It does nothing at all while true.
    pub stopped: bool,
}

/// The clock and the knobs of a world's actors. Clones share them.
#[derive(Clone)]
pub struct Pace {
    epoch: jiff::Timestamp,
    start: Instant,
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    knobs: BTreeMap<String, Knob>,
    lags: BTreeMap<String, Lag>,
    /// The longest an actor dawdles, drawn anew for each event.
    slow: Duration,
    random: Random,
}

impl Pace {
    /// A clock that shows `epoch` at `start` and runs with tokio's time.
    pub fn new(epoch: jiff::Timestamp, start: Instant, seed: u64, slow: Duration) -> Self {
        let inner = Inner {
            knobs: BTreeMap::new(),
            lags: BTreeMap::new(),
            slow,
            random: Random::new(seed, "actors"),
        };
        Self { epoch, start, inner: Arc::new(Mutex::new(inner)) }
    }

    /// The current time.
    pub fn now(&self) -> jiff::Timestamp {
        let elapsed = jiff::SignedDuration::try_from(self.start.elapsed()).unwrap_or_default();
        self.epoch.checked_add(elapsed).unwrap_or(self.epoch)
    }

    /// Turns a process's knob.
    pub fn set(&self, process: &str, knob: Knob) {
        self.lock().knobs.insert(process.to_owned(), knob);
    }

    /// Makes a process's caches lag, each kind by its own time. For processes that start afterwards.
    pub fn set_lag(&self, process: &str, lag: Lag) {
        self.lock().lags.insert(process.to_owned(), lag);
    }

    /// How far a process's caches lag behind.
    pub fn lag(&self, process: &str) -> Lag {
        self.lock().lags.get(process).cloned().unwrap_or_default()
    }

    /// How long this process waits before it reacts to what it just saw.
    pub fn reaction(&self, process: &str) -> Duration {
        let mut inner = self.lock();
        let knob = inner.knobs.get(process).copied().unwrap_or_default();
        let slow = u64::try_from(inner.slow.as_millis()).unwrap_or(u64::MAX);
        let dawdle = if slow == 0 { 0 } else { inner.random.below(slow) };
        knob.latency + Duration::from_millis(dawdle)
    }

    /// Whether this process fails now.
    pub fn fails(&self, process: &str) -> bool {
        let mut inner = self.lock();
        let knob = inner.knobs.get(process).copied().unwrap_or_default();
        knob.stopped || (knob.failures > 0 && inner.random.per_mille(knob.failures))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
