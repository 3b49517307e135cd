//! The simulated server as a [`Target`].

use std::sync::Arc;
use std::time::Duration;

use holdfast_apiserver::admission::https::Https;
use holdfast_apiserver::identity::User;
use holdfast_apiserver::server::{Config, Server};
use tower::ServiceExt as _;

use super::answer::Target;

/// How long the housekeepers wait before they act: like the real ones, not at once.
const LATENCY: Duration = Duration::from_millis(5);

/// A simulated server with its housekeepers, for the suite.
pub struct Simulated {
    server: Server,
    /// How it is asked.
    pub target: Target,
}

impl Simulated {
    /// A new cluster whose objects carry the time that `now` gives.
    pub fn new(prefix: &str, now: Arc<dyn Fn() -> jiff::Timestamp + Send + Sync>) -> Self {
        let server =
            Server::new(Config { now, caller: Box::new(Https::default()), ..Config::default() });
        let service =
            server.clone().map_request(|mut request: http::Request<kube::client::Body>| {
                request.extensions_mut().insert(User::admin("admin"));
                request
            });
        let client = kube::Client::new(service, "default");
        let target = Target { name: "simulated", client, prefix: prefix.to_owned(), tidy: true };
        Self { server, target }
    }

    /// The answer of a future during which the housekeepers work.
    pub async fn while_keeping_house<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.server.housekeeping(LATENCY) => None,
            result = work => Some(result),
        }
    }
}
