//! What every controller is given. There is nothing in statics: a new operator gets a new context.

use std::sync::Arc;

use kube::Client;

use crate::clock::Clock;
use crate::events::Publisher;
use crate::metrics::Metrics;
use crate::readiness::Readiness;
use crate::tasks::Tasks;

/// What every controller is given. Cheap to clone.
#[derive(Clone)]
pub struct Context {
    /// The API server.
    pub client: Client,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Says what happened, as Kubernetes events.
    pub events: Publisher,
    /// The numbers.
    pub metrics: Arc<Metrics>,
    /// What the health endpoints answer.
    pub readiness: Readiness,
    /// The namespace that Holdfast lives in.
    pub namespace: Arc<str>,
    /// The name of this process among those that want to lead; no two at a time share one.
    pub identity: Arc<str>,
    /// Starts tasks that end with the operator.
    pub tasks: Tasks,
}

impl Context {
    /// A context with new metrics and nothing ready yet.
    pub fn new(
        client: Client,
        clock: Arc<dyn Clock>,
        namespace: impl Into<Arc<str>>,
        identity: impl Into<Arc<str>>,
        tasks: Tasks,
    ) -> Self {
        let identity = identity.into();
        Self {
            events: Publisher::new(client.clone(), clock.clone(), identity.clone()),
            client,
            clock,
            metrics: Arc::default(),
            readiness: Readiness::default(),
            namespace: namespace.into(),
            identity,
            tasks,
        }
    }
}
