//! The server: a [`tower::Service`] that answers Kubernetes' REST requests.

mod admit;
mod apply;
mod create;
mod delete;
mod discovery;
mod housekeeping;
mod kinds;
mod log;
mod options;
mod read;
pub(crate) mod respond;
mod route;
mod scale;
mod subresource;
mod update;
pub(crate) mod view;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, USER_AGENT};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::Value;
use tokio::sync::Notify;

pub use kinds::Kinds;
pub use log::{Entry, RequestLog};
pub use respond::Body;

use crate::admission::{self, Admission, Caller, Found, Unreachable};
use crate::identity::User;
use crate::openapi::Documents;
use crate::rbac::{self, Access};
use crate::resource::Resource;
use crate::status::Failure;
use crate::store::{Key, Store};
use options::Query;
use respond::{Answer, Media};
use route::{Place, Target};

/// The largest body that is read.
const BODY_LIMIT: usize = 3 * 1024 * 1024;

/// What the server takes from outside: time, chance and who may come in.
pub struct Config {
    /// The time to write into objects.
    pub now: Arc<dyn Fn() -> jiff::Timestamp + Send + Sync>,
    /// Random numbers for uids and generated names.
    pub entropy: Box<dyn FnMut() -> u64 + Send>,
    /// Bearer tokens and whose they are.
    pub tokens: BTreeMap<String, User>,
    /// Whether RBAC is asked for callers outside `system:masters`.
    pub rbac: bool,
    /// How webhooks are called.
    pub caller: Box<dyn Caller>,
}

/// A server without random parts, for tests: time stands at a fixed second, chance counts up.
impl Default for Config {
    fn default() -> Self {
        let mut counter = 0_u64;
        Self {
            now: Arc::new(|| jiff::Timestamp::constant(1_767_225_600, 0)),
            entropy: Box::new(move || {
                // A Weyl sequence through a mixer: well spread and always the same.
                counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mixed = (counter ^ (counter >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                mixed ^ (mixed >> 31)
            }),
            tokens: BTreeMap::new(),
            rbac: true,
            caller: Box::new(Unreachable),
        }
    }
}

/// Everything that changes while the server runs.
pub(crate) struct State {
    pub store: Store,
    pub kinds: Kinds,
    entropy: Box<dyn FnMut() -> u64 + Send>,
    /// Objects that the housekeepers should look at.
    pub chores: housekeeping::Chores,
    pub log: RequestLog,
    /// Cluster IPs that are taken.
    pub addresses: BTreeSet<String>,
}

pub(crate) struct Shared {
    state: Mutex<State>,
    now: Arc<dyn Fn() -> jiff::Timestamp + Send + Sync>,
    tokens: BTreeMap<String, User>,
    rbac: bool,
    caller: Box<dyn Caller>,
    admission: Admission,
    documents: Documents,
    /// Woken when there are chores.
    chores: Notify,
}

/// A Kubernetes API server in this process. Clones share one cluster.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
}

/// A request that has been read and whose caller is known.
pub(crate) struct Call {
    pub method: Method,
    pub query: Query,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub user: User,
}

impl Call {
    fn header(&self, name: http::HeaderName) -> &str {
        self.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default()
    }

    fn agent(&self) -> &str {
        self.header(USER_AGENT)
    }

    /// The media type of the body, without parameters.
    fn content_type(&self) -> &str {
        self.header(CONTENT_TYPE).split(';').next().unwrap_or_default().trim()
    }
}

impl Server {
    /// An empty cluster with what every cluster has (namespaces, cluster-admin).
    pub fn new(config: Config) -> Self {
        let state = State {
            store: Store::default(),
            kinds: Kinds::default(),
            entropy: config.entropy,
            chores: housekeeping::Chores::default(),
            log: RequestLog::default(),
            addresses: BTreeSet::new(),
        };
        let server = Self {
            shared: Arc::new(Shared {
                state: Mutex::new(state),
                now: config.now,
                tokens: config.tokens,
                rbac: config.rbac,
                caller: config.caller,
                admission: Admission::default(),
                documents: Documents::default(),
                chores: Notify::new(),
            }),
        };
        server.bootstrap();
        server
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // A poisoned lock means a panic in a handler; the state itself is never left half-written.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> jiff::Timestamp {
        (self.shared.now)()
    }

    /// Now, as objects carry it: whole seconds.
    pub(crate) fn timestamp(&self) -> String {
        self.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// Forgets the past up to a revision (0: up to now), so that older watches expire.
    pub fn compact(&self, revision: u64) {
        let mut state = self.state();
        let until = if revision == 0 { state.store.revision() } else { revision };
        state.store.compact(until);
    }

    /// Ends all watches, as a broken connection does.
    pub fn drop_watches(&self) {
        self.state().store.drop_watches();
    }

    /// The revision of the latest write.
    pub fn revision(&self) -> u64 {
        self.state().store.revision()
    }

    /// Starts or stops recording requests; see [`RequestLog`].
    pub fn record_requests(&self, on: bool) {
        self.state().log.record(on);
    }

    /// The requests recorded so far, taken out.
    pub fn take_requests(&self) -> Vec<Entry> {
        self.state().log.take()
    }

    /// A read of the store past all protocol, for tests and invariants: an object by group, plural, namespace, name.
    pub fn peek(&self, group: &str, plural: &str, namespace: &str, name: &str) -> Option<Value> {
        let state = self.state();
        let resource = state.kinds.stored(group, plural)?;
        state
            .store
            .get(&resource.table, &Key::new(namespace, name))
            .map(|stored| stored.value.clone())
    }

    /// All objects of a kind, in order, past all protocol.
    pub fn peek_all(&self, group: &str, plural: &str) -> Vec<Value> {
        let state = self.state();
        let Some(resource) = state.kinds.stored(group, plural) else { return Vec::new() };
        state.store.range(&resource.table, None, None).map(|(_, s)| s.value.clone()).collect()
    }

    /// Answers one request.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let pretty = query.flag("pretty");
        let media = respond::negotiate(&parts.headers).map_or(Media::Json, |wanted| wanted.media);
        let body = match Limited::new(body, BODY_LIMIT).collect().await {
            Ok(collected) => collected.to_bytes(),
            Err(error) => {
                let failure = if error.downcast_ref::<LengthLimitError>().is_some() {
                    Failure::new(
                        413,
                        "RequestEntityTooLarge",
                        format!("Request entity too large: limit is {BODY_LIMIT}"),
                    )
                } else {
                    Failure::bad_request(format!("the body could not be read: {error}"))
                };
                return Answer::failure(&failure).into_response(media, pretty);
            }
        };
        let user = parts.extensions.get::<User>().cloned();
        let path = parts.uri.path();
        let answer = match self.authenticate(user, &parts.headers) {
            Err(failure) => Err(failure),
            Ok(user) => {
                let call = Call {
                    method: parts.method.clone(),
                    query,
                    headers: parts.headers,
                    body,
                    user,
                };
                let answer = self.dispatch(&call, path).await;
                let code = answer.as_ref().map_or_else(|failure| failure.code, |a| a.code);
                self.state().log.add(&call, path, parts.uri.query(), code);
                answer
            }
        };
        let refused = matches!(&answer, Err(failure) if matches!(failure.code, 401 | 403));
        let mut answer = answer.unwrap_or_else(|failure| Answer::failure(&failure));
        if let Some(warning) = deprecation(path).filter(|_| !refused) {
            answer.warnings.insert(0, warning.to_owned());
        }
        answer.into_response(media, pretty)
    }

    fn authenticate(&self, known: Option<User>, headers: &HeaderMap) -> Result<User, Failure> {
        let header = |name: &str| headers.get(name).and_then(|v| v.to_str().ok());
        let user = match (known, header(AUTHORIZATION.as_str())) {
            (Some(user), _) => user,
            (None, Some(text)) => match text.strip_prefix("Bearer ") {
                Some(token) => self
                    .shared
                    .tokens
                    .get(token.trim())
                    .cloned()
                    .ok_or_else(|| Failure::new(401, "Unauthorized", "Unauthorized"))?,
                None => return Err(Failure::new(401, "Unauthorized", "Unauthorized")),
            },
            (None, None) => User::anonymous(),
        };
        let Some(name) = header("impersonate-user") else { return Ok(user) };
        if !user.is_master() {
            return Err(Failure::forbidden(
                "",
                "users",
                name,
                &format!(
                    "User {:?} cannot impersonate resource \"users\" in API group \"\" at the cluster scope",
                    user.name
                ),
            ));
        }
        let mut groups: Vec<String> = headers
            .get_all("impersonate-group")
            .iter()
            .filter_map(|v| v.to_str().ok().map(str::to_owned))
            .collect();
        groups.push("system:authenticated".into());
        let mut impersonated = User { name: name.to_owned(), groups, ..User::default() };
        if let Some(uid) = header("impersonate-uid") {
            uid.clone_into(&mut impersonated.uid);
        }
        for (key, value) in headers {
            if let (Some(key), Ok(value)) =
                (key.as_str().strip_prefix("impersonate-extra-"), value.to_str())
            {
                let key = route::percent_decode(key);
                impersonated.extra.entry(key).or_default().push(value.to_owned());
            }
        }
        if let Some(rest) = name.strip_prefix("system:serviceaccount:")
            && let Some((namespace, _)) = rest.split_once(':')
        {
            impersonated.groups.push("system:serviceaccounts".into());
            impersonated.groups.push(format!("system:serviceaccounts:{namespace}"));
        }
        Ok(impersonated)
    }

    async fn dispatch(&self, call: &Call, path: &str) -> Result<Answer, Failure> {
        let place = match route::parse(path) {
            Ok(Target::Resource(place)) => place,
            other => {
                // Whoever may not ask does not learn whether there is an answer.
                let verb = call.method.as_str().to_lowercase();
                self.allow(call, &Access::Path { verb: &verb, path })?;
                return self.discover(call, &other?);
            }
        };
        let resource = match self.resource(&place) {
            Ok(resource) => resource,
            Err(failure) => {
                self.authorize(call, &place, verb(call, &place, false))?;
                return Err(failure);
            }
        };
        let verb = verb(call, &place, resource.namespaced);
        self.authorize(call, &place, verb)?;
        if verb.is_empty() {
            return Err(Failure::method_not_allowed());
        }
        if !place.subresource.is_empty() {
            return self.subresource(call, &place, &resource, verb).await;
        }
        if !resource.verbs.iter().any(|allowed| allowed == verb) {
            return Err(Failure::method_not_allowed());
        }
        match verb {
            "get" => self.get(call, &place, &resource),
            "list" => self.list(call, &place, &resource),
            "watch" => self.watch(call, &place, &resource),
            "create" => self.create(call, &place, &resource).await,
            "update" => self.put(call, &place, &resource).await,
            "patch" => self.patch(call, &place, &resource).await,
            "delete" => self.delete(call, &place, &resource).await,
            "deletecollection" => self.delete_collection(call, &place, &resource).await,
            _ => Err(Failure::method_not_allowed()),
        }
    }

    fn resource(&self, place: &Place) -> Result<Arc<Resource>, Failure> {
        let state = self.state();
        let kinds = &state.kinds;
        let Some(resource) = kinds.get(&place.group, &place.version, &place.plural) else {
            let (group, version) = kinds.has(&place.group, &place.version);
            let custom = !kinds.is_built_in(&place.group);
            return Err(match (group, version, custom) {
                (false, _, _) | (_, _, true) => Failure::page_not_found(),
                _ => Failure::unknown_resource(),
            });
        };
        let named_without_namespace =
            resource.namespaced && place.namespace.is_none() && place.name.is_some();
        if named_without_namespace || (!resource.namespaced && place.namespace.is_some()) {
            return Err(Failure::unknown_resource());
        }
        Ok(resource.clone())
    }

    fn authorize(&self, call: &Call, place: &Place, verb: &str) -> Result<(), Failure> {
        self.allow(
            call,
            &Access::Resource {
                verb: if verb.is_empty() { "get" } else { verb },
                group: &place.group,
                resource: &place.plural,
                subresource: &place.subresource,
                // A Namespace is asked about in itself.
                namespace: place.namespace.as_deref().unwrap_or(
                    if place.group.is_empty() && place.plural == "namespaces" {
                        place.name.as_deref().unwrap_or_default()
                    } else {
                        ""
                    },
                ),
                name: place.name.as_deref().unwrap_or_default(),
            },
        )
    }

    /// Whether the caller may do this; masters may do everything.
    fn allow(&self, call: &Call, access: &Access<'_>) -> Result<(), Failure> {
        if call.user.is_master() || !self.shared.rbac {
            return Ok(());
        }
        let decision = rbac::authorize(&call.user, access, &self.lookup());
        if decision.allowed { Ok(()) } else { Err(rbac::forbidden(&call.user, access, &decision)) }
    }
}

/// What every request for a deprecated kind is told.
fn deprecation(path: &str) -> Option<&'static str> {
    let mut parts = path.strip_prefix("/api/v1/")?.split('/');
    let plural = match parts.next()? {
        "namespaces" => parts.nth(1)?,
        plural => plural,
    };
    match plural {
        "endpoints" => {
            Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
        }
        "componentstatuses" => Some("v1 ComponentStatus is deprecated in v1.19+"),
        _ => None,
    }
}

fn verb(call: &Call, place: &Place, namespaced: bool) -> &'static str {
    let watch = place.watch || call.query.flag("watch");
    match (call.method.as_str(), place.name.is_some()) {
        ("GET" | "HEAD", false) if watch => "watch",
        ("GET" | "HEAD", false) => "list",
        ("GET" | "HEAD", true) if place.watch => "watch",
        ("GET" | "HEAD", true) => "get",
        ("POST", false) if namespaced && place.namespace.is_none() => "",
        ("POST", false) => "create",
        ("POST", true) if !place.subresource.is_empty() => "create",
        ("PUT", true) => "update",
        ("PATCH", true) => "patch",
        ("DELETE", true) => "delete",
        ("DELETE", false) => "deletecollection",
        _ => "",
    }
}

/// The store as admission and authorization read it.
pub(crate) struct Lookup {
    server: Server,
}

impl Server {
    pub(crate) fn lookup(&self) -> Lookup {
        Lookup { server: self.clone() }
    }
}

impl admission::Lookup for Lookup {
    fn get(&self, group: &str, plural: &str, namespace: Option<&str>, name: &str) -> Option<Found> {
        let state = self.server.state();
        let resource = state.kinds.stored(group, plural)?;
        let key = Key::new(namespace.unwrap_or_default(), name);
        state.store.get(&resource.table, &key).cloned().map(Found::from)
    }

    fn list(&self, group: &str, plural: &str, namespace: Option<&str>) -> Vec<Found> {
        let state = self.server.state();
        let Some(resource) = state.kinds.stored(group, plural) else { return Vec::new() };
        let all = state.store.range(&resource.table, namespace, None);
        all.map(|(_, stored)| stored.clone().into()).collect()
    }

    fn resource(&self, group: &str, kind: &str) -> Option<Resource> {
        self.server.state().kinds.by_kind(group, "", kind).map(|resource| (**resource).clone())
    }

    fn equivalents(&self, resource: &Resource, _: &str) -> Vec<Resource> {
        let state = self.server.state();
        let mut found = Vec::new();
        for group in state.kinds.groups() {
            for version in state.kinds.versions(group) {
                let all = state.kinds.resources(group, version);
                let same = all.into_iter().filter(|one| one.table == resource.table);
                found.extend(same.map(|one| (**one).clone()));
            }
        }
        found
    }

    fn convert(&self, object: &Value, to: &Resource) -> Value {
        view::in_version(to, object).into_owned()
    }

    fn fill_defaults(&self, resource: &Resource, object: &mut Value) {
        if resource.custom {
            crate::crd::default(resource.shape.node(), object);
        } else {
            (crate::builtin::strategy(&resource.group, &resource.kind).defaults)(object);
        }
    }
}

impl<B> tower::Service<Request<B>> for Server
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move { Ok(server.answer(request).await) })
    }
}
