//! A door into the cluster: the service behind one actor's `kube::Client`.
//!
//! Behind it lie the barrier (when), the gate (whether its owner still lives), the fault plan (what goes
//! wrong) and the trace (what was said).

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body::Frame;
use http_body_util::BodyExt as _;
use kube::client::Body;
use tokio::time::{Instant, Sleep};

use holdfast_apiserver::identity::User;
use holdfast_apiserver::server::{Body as ServerBody, Server};

use super::barrier::Barrier;
use super::faults::{Fault, FaultPlan, When};
use super::gate::Gate;
use super::random::Random;
use super::trace::Trace;
use crate::actors::git::PushFault;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// What every door of one world shares.
pub struct Hall {
    /// The cluster.
    pub server: Server,
    /// Whose turn it is.
    pub barrier: Barrier,
    /// What was said.
    pub trace: Trace,
    /// When the world began.
    pub start: Instant,
    /// What goes wrong for the operator.
    pub plan: FaultPlan,
    /// Luck of faults.
    pub faults: Mutex<Random>,
    /// Luck of latencies.
    pub latency: Mutex<Random>,
}

/// How far behind a caller's watches run, by plural (empty: all).
#[derive(Debug, Clone, Default)]
pub struct Lag(Vec<(String, Duration)>);

impl Lag {
    /// No lag.
    pub fn none() -> Self {
        Self::default()
    }

    /// The same with one more lagging kind, by plural; an empty plural means every kind.
    #[must_use]
    pub fn of(mut self, plural: &str, by: Duration) -> Self {
        self.0.push((plural.to_owned(), by));
        self
    }

    fn find(&self, path: &str) -> Duration {
        let plural = path.rsplit('/').next().unwrap_or_default();
        let found = self.0.iter().find(|(of, _)| of.is_empty() || of == plural);
        found.map_or(Duration::ZERO, |(_, by)| *by)
    }
}

/// What became of a request.
enum Fate {
    Dead,
    Broken(&'static str),
    /// An answer, and how long it takes to arrive.
    Answer(Box<Response<DoorBody>>, Duration),
}

/// The service behind one caller's client.
#[derive(Clone)]
pub struct Door {
    hall: Arc<Hall>,
    name: Arc<str>,
    user: User,
    gate: Option<Arc<Gate>>,
    lag: Arc<Lag>,
}

impl Door {
    /// The door of an actor, for whom nothing goes wrong by itself.
    pub fn new(hall: Arc<Hall>, name: &str, user: User) -> Self {
        Self { hall, name: name.into(), user, gate: None, lag: Arc::default() }
    }

    /// The same door with watches that lag.
    #[must_use]
    pub fn lagging(mut self, lag: Lag) -> Self {
        self.lag = Arc::new(lag);
        self
    }

    /// The same door for one incarnation of the operator: it can die, and its requests can fail.
    #[must_use]
    pub fn behind(mut self, gate: Arc<Gate>) -> Self {
        self.gate = Some(gate);
        self
    }

    async fn pass(self, request: Request<Body>) -> Result<Response<DoorBody>, Error> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let url = parts.uri.path_and_query().map_or_else(String::new, ToString::to_string);
        let what = format!("{} {url} {}", parts.method, String::from_utf8_lossy(&body));
        let request = Request::from_parts(parts, http_body_util::Full::new(body));
        let barrier = self.hall.barrier.clone();
        let key = format!("{} {what}", self.name);
        match barrier.act(key, self.served(request, what)).await {
            // The process is dead: whoever waits there waits for ever.
            Fate::Dead => std::future::pending().await,
            Fate::Broken(why) => Err(why.into()),
            Fate::Answer(response, wait) => {
                if !wait.is_zero() {
                    tokio::time::sleep(wait).await;
                }
                Ok(*response)
            }
        }
    }

    /// What becomes of a request when its turn has come.
    async fn served(self, mut request: Request<http_body_util::Full<Bytes>>, what: String) -> Fate {
        let path = request.uri().path().to_owned();
        let watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
        let write = request.method() != Method::GET;
        let mut fault = None;
        let mut number = 0;
        if let Some(gate) = &self.gate {
            if gate.is_dead() {
                return Fate::Dead;
            }
            number = gate.enter();
            if gate.dies(number, When::Before) {
                self.say(&format!("dies before {what}"));
                gate.kill();
                return Fate::Dead;
            }
            fault = self.hall.plan.strike(&mut lock(&self.hall.faults), write, watch);
        }
        let lag = self.lag.find(&path).max(self.draw_lag());
        let wait = self.draw_latency();
        request.extensions_mut().insert(self.user.clone());
        match fault {
            Some(Fault::Unreachable) => {
                self.say(&format!("{what} -> connection refused"));
                return Fate::Broken("connection refused");
            }
            Some(fault @ (Fault::Conflict | Fault::ServerError)) => {
                let (code, body) = refusal(fault);
                self.say(&format!("{what} -> {code} (injected)"));
                let mut response = Response::new(DoorBody::full(Bytes::from(body)));
                *response.status_mut() = code;
                return Fate::Answer(Box::new(response), wait);
            }
            _ => {}
        }
        let response = self.hall.server.answer(request).await;
        self.say(&format!("{what} -> {}", response.status().as_u16()));
        if let Some(gate) = &self.gate
            && gate.dies(number, When::After)
        {
            self.say("dies");
            gate.kill();
            return Fate::Dead;
        }
        if fault == Some(Fault::LostAnswer) {
            self.say("answer lost");
            return Fate::Broken("connection reset by peer");
        }
        let (parts, body) = response.into_parts();
        let body = if fault == Some(Fault::WatchDropped) {
            DoorBody::full(Bytes::new())
        } else {
            DoorBody::new(body, if watch { lag } else { Duration::ZERO })
        };
        Fate::Answer(Box::new(Response::from_parts(parts, body)), wait)
    }

    /// Lets the caller do something outside the API, such as a push to git: in turn, on the record, and
    /// through the same gate. What is done learns of its luck if it is a push.
    pub async fn aside<T: Send + 'static>(
        &self,
        what: String,
        act: impl FnOnce(Option<PushFault>) -> T + Send + 'static,
    ) -> T {
        let key = format!("{} {what}", self.name);
        let door = self.clone();
        let done = self.hall.barrier.act(key, async move { door.stepped_aside(&what, act) }).await;
        match done {
            Some((done, wait)) => {
                if !wait.is_zero() {
                    tokio::time::sleep(wait).await;
                }
                done
            }
            // The process is dead: whoever waits there waits for ever.
            None => std::future::pending().await,
        }
    }

    fn stepped_aside<T>(
        &self,
        what: &str,
        act: impl FnOnce(Option<PushFault>) -> T,
    ) -> Option<(T, Duration)> {
        let Some(gate) = &self.gate else {
            self.say(what);
            return Some((act(None), Duration::ZERO));
        };
        if gate.is_dead() {
            return None;
        }
        let number = gate.enter();
        if gate.dies(number, When::Before) {
            self.say(&format!("dies before {what}"));
            gate.kill();
            return None;
        }
        let fault = self.hall.plan.strike_push(&mut lock(&self.hall.faults));
        self.say(what);
        let done = act(fault);
        if gate.dies(number, When::After) {
            self.say("dies");
            gate.kill();
            return None;
        }
        Some((done, self.draw_latency()))
    }

    fn say(&self, what: &str) {
        self.hall.trace.add(self.hall.start.elapsed(), &self.name, what);
    }

    fn draw_lag(&self) -> Duration {
        if self.gate.is_none() || self.hall.plan.lag.is_zero() {
            return Duration::ZERO;
        }
        draw(&self.hall.latency, self.hall.plan.lag)
    }

    fn draw_latency(&self) -> Duration {
        if self.gate.is_none() || self.hall.plan.latency.is_zero() {
            return Duration::ZERO;
        }
        draw(&self.hall.latency, self.hall.plan.latency)
    }
}

fn draw(random: &Mutex<Random>, most: Duration) -> Duration {
    let most = u64::try_from(most.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(lock(random).below(most + 1))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn refusal(fault: Fault) -> (http::StatusCode, String) {
    let (code, reason, message) = match fault {
        Fault::Conflict => (
            http::StatusCode::CONFLICT,
            "Conflict",
            "the object has been modified; please apply your changes to the latest version and try again",
        ),
        _ => (
            http::StatusCode::INTERNAL_SERVER_ERROR,
            "InternalError",
            "etcdserver: request timed out",
        ),
    };
    let body = serde_json::json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code.as_u16(),
    });
    (code, body.to_string())
}

impl tower::Service<Request<Body>> for Door {
    type Response = Response<DoorBody>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<DoorBody>, Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.clone().pass(request))
    }
}

/// An answer's body, its events held back by the watch's lag.
pub struct DoorBody {
    inner: ServerBody,
    lag: Duration,
    held: VecDeque<(Instant, Bytes)>,
    ended: bool,
    timer: Option<Pin<Box<Sleep>>>,
}

impl DoorBody {
    fn new(inner: ServerBody, lag: Duration) -> Self {
        Self { inner, lag, held: VecDeque::new(), ended: false, timer: None }
    }

    fn full(bytes: Bytes) -> Self {
        let bytes = (!bytes.is_empty()).then_some(bytes);
        Self::new(ServerBody::Full(bytes), Duration::ZERO)
    }
}

impl http_body::Body for DoorBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        if this.lag.is_zero() {
            return Pin::new(&mut this.inner).poll_frame(cx);
        }
        while !this.ended {
            match Pin::new(&mut this.inner).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    if let Ok(bytes) = frame.into_data() {
                        this.held.push_back((Instant::now() + this.lag, bytes));
                    }
                }
                Poll::Ready(_) => this.ended = true,
                Poll::Pending => break,
            }
        }
        let Some((due, _)) = this.held.front() else {
            return if this.ended { Poll::Ready(None) } else { Poll::Pending };
        };
        let due = *due;
        let timer = this.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(due)));
        if timer.deadline() != due {
            timer.as_mut().reset(due);
        }
        if timer.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        Poll::Ready(this.held.pop_front().map(|(_, bytes)| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.lag.is_zero() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        if self.lag.is_zero() { self.inner.size_hint() } else { http_body::SizeHint::default() }
    }
}
