//! The operator as the simulated world starts, kills and starts it: the same future that
//! `holdfast operator` runs.

use std::sync::Arc;

use holdfast_api::names::NAMESPACE;
use holdfast_cluster::clock::VirtualClock;
use holdfast_cluster::lease::Options as LeaseOptions;
use holdfast_cluster::operator::{self, Options};
use holdfast_world::scenario::{Operator, Start};

use crate::commands::operator::parts;

/// The operator for a world.
pub fn operator() -> Operator {
    Arc::new(|start: Start| {
        Box::pin(async move {
            let clock = Arc::new(VirtualClock::starting_at(start.now()));
            // A restarted process is a new candidate: it waits until the old one's lease is over.
            let identity = format!("holdfast-{}", start.incarnation);
            let (context, runner) = operator::prepare(start.client, clock, NAMESPACE, &identity);
            let lease = Some(LeaseOptions::new(NAMESPACE, "holdfast", &identity));
            let options = Options { capabilities: None, lease };
            operator::run(context, runner, options, parts())
                .await
                .map_err(|error| error.to_string())
        })
    })
}
