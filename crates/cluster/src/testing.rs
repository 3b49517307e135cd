//! A simulated API server for tests, with faults that a test switches on.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::task::{Context as Poll, Poll as Polled};

use futures::future::BoxFuture;
use holdfast_apiserver::identity::User;
use holdfast_apiserver::server::{Body, Config, Server};
use http::{Method, Request, Response};
use jiff::Timestamp;
use kube::Client;
use tower::{Service, ServiceExt as _};

use crate::clock::{Clock, VirtualClock};

/// The time at which every test begins.
pub const START: &str = "2026-03-01T12:00:00Z";

/// What a fault does to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It gets no answer, and has no effect.
    Hang,
    /// It has its effect, but the answer is lost.
    LoseAnswer,
    /// It is refused as a busy server would.
    Busy,
}

/// Faults by method, for as long as they are switched on.
#[derive(Clone, Default)]
pub struct Faults(Arc<Mutex<VecDeque<Planned>>>);

/// What happens to requests of this method, or of all.
type Planned = (Option<Method>, Fault);

impl Faults {
    /// Everything fails from now on.
    pub fn all(&self, fault: Fault) {
        self.0.lock().unwrap().push_back((None, fault));
    }

    /// One request of this method fails.
    pub fn once(&self, method: Method, fault: Fault) {
        self.0.lock().unwrap().push_back((Some(method), fault));
    }

    fn of(&self, request: &Method) -> Option<Fault> {
        let mut faults = self.0.lock().unwrap();
        let at =
            faults.iter().position(|(method, _)| method.as_ref().is_none_or(|m| m == request))?;
        let (method, fault) = faults[at].clone();
        if method.is_some() {
            faults.remove(at);
        }
        Some(fault)
    }
}

/// A server whose clock is the test's, and that clock.
pub fn server() -> (Server, Arc<dyn Clock>) {
    let clock = VirtualClock::starting_at(START.parse::<Timestamp>().unwrap());
    let now = Arc::new(move || clock.now());
    (Server::new(Config { now, ..Config::default() }), Arc::new(clock))
}

/// A client of the server.
pub fn client(server: &Server) -> Client {
    faulty(server, &Faults::default())
}

/// A client of the server whose requests may fail.
pub fn faulty(server: &Server, faults: &Faults) -> Client {
    Client::new(Faulty { server: server.clone(), faults: faults.clone() }, "default")
}

#[derive(Clone)]
struct Faulty {
    server: Server,
    faults: Faults,
}

impl Service<Request<kube::client::Body>> for Faulty {
    type Response = Response<Body>;
    type Error = std::io::Error;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Poll<'_>) -> Polled<Result<(), Self::Error>> {
        Polled::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<kube::client::Body>) -> Self::Future {
        let fault = self.faults.of(request.method());
        request.extensions_mut().insert(User::admin("test"));
        let server = self.server.clone();
        Box::pin(async move {
            if fault == Some(Fault::Hang) {
                return std::future::pending().await;
            }
            if fault == Some(Fault::Busy) {
                return Err(std::io::Error::other("connection refused"));
            }
            let answer = server.oneshot(request).await.unwrap();
            if fault == Some(Fault::LoseAnswer) {
                return Err(std::io::Error::other("connection reset"));
            }
            Ok(answer)
        })
    }
}
