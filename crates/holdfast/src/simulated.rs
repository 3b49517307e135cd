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

#[cfg(test)]
mod tests {
    use holdfast_world::real::{Cluster, Options};
    use holdfast_world::scenarios;

    #[tokio::test]
    #[ignore = "needs the real cluster: cargo xtask test"]
    async fn the_operator_follows_a_source_on_the_real_cluster() {
        let scenario = scenarios::all().remove(0);
        assert_eq!(scenario.name, "follow-the-source");
        // Flux's kinds come with the story: its own controllers would only look for a host that
        // is not there.
        let mut cluster = Cluster::start(Options::control_plane()).await.unwrap();
        let performance = cluster.play(&scenario, &super::operator()).await;
        cluster.check().unwrap();
        let (told, logs) = (performance.told, cluster.logs());
        assert_eq!(performance.violation, None, "{told:#?}, logs: {}", logs.display());
        assert_eq!(told.last().map(|one| one.who.as_str()), Some("holdfast"));
        cluster.stop();
    }
}
