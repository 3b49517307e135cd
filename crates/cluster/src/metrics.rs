//! The numbers that Holdfast shows. They live in the context, not in statics, so that a restarted
//! operator starts at zero.

use std::fmt::{self, Debug};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// The numbers that every controller keeps, and a place for those of a capability.
pub struct Metrics {
    registry: Mutex<Registry>,
    reconciles: Family<ReconcileLabels, Counter>,
    durations: Family<ControllerLabels, Histogram, fn() -> Histogram>,
    leader: Gauge,
}

/// Whether a reconcile worked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
#[expect(non_camel_case_types, reason = "label values are written in lowercase")]
pub enum Outcome {
    /// It did.
    success,
    /// It did not and is tried again.
    error,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReconcileLabels {
    controller: &'static str,
    outcome: Outcome,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ControllerLabels {
    controller: &'static str,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("holdfast");
        let reconciles = Family::default();
        registry.register("reconciles", "How often objects were reconciled", reconciles.clone());
        let durations: Family<ControllerLabels, Histogram, fn() -> Histogram> =
            Family::new_with_constructor(|| {
                Histogram::new([0.005, 0.02, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0])
            });
        registry.register(
            "reconcile_duration_seconds",
            "How long a reconcile took",
            durations.clone(),
        );
        let leader = Gauge::default();
        registry.register("leader", "Whether this process holds the lease", leader.clone());
        Self { registry: Mutex::new(registry), reconciles, durations, leader }
    }
}

impl Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    /// Counts one reconcile.
    pub fn reconciled(&self, controller: &'static str, outcome: Outcome, took: Duration) {
        self.reconciles.get_or_create(&ReconcileLabels { controller, outcome }).inc();
        self.durations.get_or_create(&ControllerLabels { controller }).observe(took.as_secs_f64());
    }

    /// Says whether this process leads.
    pub fn leading(&self, leads: bool) {
        self.leader.set(i64::from(leads));
    }

    /// Lets a capability add numbers of its own.
    pub fn register(&self, add: impl FnOnce(&mut Registry)) {
        add(&mut self.registry.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Everything in the text form of OpenMetrics.
    pub fn encode(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        text::encode(&mut text, &registry)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown() {
        let metrics = Metrics::default();
        metrics.reconciled("destination", Outcome::error, Duration::from_millis(30));
        metrics.leading(true);
        let text = metrics.encode().unwrap();
        assert!(
            text.contains(
                r#"holdfast_reconciles_total{controller="destination",outcome="error"} 1"#
            ),
            "{text}"
        );
        assert!(text.contains("holdfast_leader 1"), "{text}");
        assert!(text.ends_with("# EOF\n"), "{text}");
    }
}
