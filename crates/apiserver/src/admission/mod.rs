//! Admission: what policies and webhooks say to a write, between authorization and the store.
//!
//! Order of a write: mutating policies, mutating webhooks (both again where they ask for it), then the kind's
//! own defaults and validation, then validating policies and validating webhooks. [`Admission`] keeps what it
//! compiled; everything else is looked up per request, so that a policy takes effect with its creation.

mod authorizer;
mod definition;
mod expression;
pub mod https;
mod matching;
mod merge;
mod mutating;
mod policy;
mod review;
mod selector;
mod validating;
mod webhook;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::builtin;
use crate::identity::User;
use crate::resource::Resource;
use crate::status::Failure;
use crate::store::Stored;

pub use definition::{validate_policy, validate_policy_update};

const GROUP: &str = "admissionregistration.k8s.io";

/// What a request does to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// POST, and an apply or PUT that creates.
    Create,
    /// PUT, PATCH and an apply that changes.
    Update,
    /// DELETE, once per object of a collection.
    Delete,
    /// `exec`, `portforward`, `proxy`.
    Connect,
}

impl Operation {
    /// `CREATE`
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

/// A request, as admission sees it.
#[derive(Debug, Clone)]
pub struct Attributes<'a> {
    /// What it does.
    pub operation: Operation,
    /// The resource in the URL.
    pub resource: &'a Resource,
    /// Subresource, or empty.
    pub subresource: &'a str,
    /// Namespace in the URL.
    pub namespace: Option<&'a str>,
    /// Name in the URL or, on create, in the object; empty if it is still to be generated and for each object
    /// of a deleted collection.
    pub name: &'a str,
    /// The object to be stored; none on delete.
    pub object: Option<&'a Value>,
    /// The object that is stored; none on create.
    pub old: Option<&'a Value>,
    /// Who asks.
    pub user: &'a User,
    /// Whether nothing will be stored.
    pub dry_run: bool,
    /// `CreateOptions`, `UpdateOptions`, `PatchOptions` or `DeleteOptions` with kind and apiVersion.
    pub options: Value,
    /// A unique id for the review that webhooks get; calls after the first derive theirs from it.
    pub uid: String,
}

/// Group, version and kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    /// API group, empty for core.
    pub group: String,
    /// Version.
    pub version: String,
    /// Kind.
    pub kind: String,
}

impl Kind {
    fn of(resource: &Resource) -> Self {
        Self {
            group: resource.group.clone(),
            version: resource.version.clone(),
            kind: resource.kind.clone(),
        }
    }

    fn new(group: &str, version: &str, kind: &str) -> Self {
        Self { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}, Kind={}", self.group, self.version, self.kind)
    }
}

impl Attributes<'_> {
    /// The namespace that rules and reviews see: a Namespace lives in itself.
    fn scope(&self) -> &str {
        if self.is_namespace() { self.name } else { self.namespace.unwrap_or_default() }
    }

    fn is_namespace(&self) -> bool {
        self.resource.group.is_empty() && self.resource.plural == "namespaces"
    }

    /// The kind of the object in the request, which some subresources change.
    fn kind(&self) -> Kind {
        let own = self.resource;
        let body = own.subresources.iter().find(|one| one.name == self.subresource);
        match body.filter(|body| !body.kind.is_empty()) {
            Some(body) if body.version.is_empty() => {
                Kind::new(&own.group, &own.version, &body.kind)
            }
            Some(body) => Kind::new(&body.group, &body.version, &body.kind),
            None => Kind::of(own),
        }
    }

    /// 403 around a reason, naming the object even if its name is still to be generated.
    fn forbidden(&self, why: &str) -> Failure {
        let metadata = |key: &str| {
            let text = self.object.and_then(|object| object["metadata"][key].as_str());
            text.filter(|text| !text.is_empty())
        };
        let name = if self.name.is_empty() {
            metadata("name").or_else(|| metadata("generateName")).unwrap_or("Unknown")
        } else {
            self.name
        };
        Failure::forbidden(&self.resource.group, &self.resource.plural, name, why)
    }

    /// Admission kinds and reviews are never intercepted, or a bad policy could not be removed.
    fn exempt(&self) -> bool {
        let (group, plural) = (self.resource.group.as_str(), self.resource.plural.as_str());
        match group {
            GROUP => matches!(
                plural,
                "validatingadmissionpolicies"
                    | "validatingadmissionpolicybindings"
                    | "mutatingadmissionpolicies"
                    | "mutatingadmissionpolicybindings"
                    | "validatingwebhookconfigurations"
                    | "mutatingwebhookconfigurations"
            ),
            "authentication.k8s.io" => matches!(plural, "selfsubjectreviews" | "tokenreviews"),
            "authorization.k8s.io" => plural.ends_with("reviews"),
            _ => false,
        }
    }
}

/// An object that somebody else keeps.
#[derive(Clone)]
pub struct Found(Arc<dyn Holds>);

trait Holds: Send + Sync {
    fn value(&self) -> &Value;
}

impl Holds for Value {
    fn value(&self) -> &Value {
        self
    }
}

impl Holds for Stored {
    fn value(&self) -> &Value {
        &self.value
    }
}

impl From<Value> for Found {
    fn from(value: Value) -> Self {
        Self(Arc::new(value))
    }
}

impl From<Arc<Stored>> for Found {
    fn from(stored: Arc<Stored>) -> Self {
        Self(stored)
    }
}

impl std::ops::Deref for Found {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.0.value()
    }
}

impl std::fmt::Debug for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.value().fmt(f)
    }
}

/// What admission asks of the server.
pub trait Lookup: Send + Sync {
    /// One object.
    fn get(&self, group: &str, plural: &str, namespace: Option<&str>, name: &str) -> Option<Found>;

    /// All objects of a namespace, or of all namespaces, in order of name.
    fn list(&self, group: &str, plural: &str, namespace: Option<&str>) -> Vec<Found>;

    /// The resource that serves a kind, in its preferred version.
    fn resource(&self, group: &str, kind: &str) -> Option<Resource>;

    /// Other versions under which the same objects are served.
    fn equivalents(&self, _resource: &Resource, _subresource: &str) -> Vec<Resource> {
        Vec::new()
    }

    /// The object as another version shows it.
    fn convert(&self, object: &Value, to: &Resource) -> Value {
        let mut object = object.clone();
        object["apiVersion"] = to.api_version().into();
        object
    }

    /// Fills absent fields again after a mutation.
    fn fill_defaults(&self, resource: &Resource, object: &mut Value) {
        (builtin::strategy(&resource.group, &resource.kind).defaults)(object);
    }
}

/// Where a webhook is to be reached.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// The whole URL without query; for a service `https://name.namespace.svc:port/path`.
    pub url: String,
    /// The service behind the URL, if it is one: namespace, name, port.
    pub service: Option<(String, String, u16)>,
    /// PEM certificates to trust; the system's if empty.
    pub ca_bundle: Vec<u8>,
}

/// Why a webhook could not be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The connection failed, with the words of the transport: `dial tcp 127.0.0.1:1: connect: connection refused`.
    #[error("{0}")]
    Connect(String),
    /// No answer in time.
    #[error("context deadline exceeded")]
    Timeout,
    /// An answer that is no review: `an error on the server ("unknown") has prevented the request from succeeding`.
    #[error("{0}")]
    Answer(String),
    /// The call could not even be prepared: `unable to load root certificates: …`.
    #[error("{0}")]
    Client(String),
}

/// How webhooks are called: over HTTPS, or in the process where a simulation answers for them.
pub trait Caller: Send + Sync {
    /// Sends a review and returns the review that came back.
    fn call(
        &self,
        target: Target,
        review: Value,
        timeout: Duration,
    ) -> BoxFuture<'_, Result<Value, CallError>>;
}

/// A caller for servers without webhooks: nobody can be reached.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unreachable;

impl Caller for Unreachable {
    fn call(
        &self,
        target: Target,
        _: Value,
        _: Duration,
    ) -> BoxFuture<'_, Result<Value, CallError>> {
        let why = match target.service {
            Some((_, name, _)) => format!("service {name:?} not found"),
            None => "dial tcp: connect: connection refused".to_owned(),
        };
        Box::pin(async move { Err(CallError::Connect(why)) })
    }
}

/// The admission of one server, with everything it has compiled.
#[derive(Default)]
pub struct Admission {
    validating: Kept<policy::Policy>,
    mutating: Kept<policy::Policy>,
    validating_bindings: Kept<policy::Binding>,
    mutating_bindings: Kept<policy::Binding>,
    changers: Kept<webhook::Configuration>,
    judges: Kept<webhook::Configuration>,
}

impl std::fmt::Debug for Admission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Admission")
    }
}

impl Admission {
    /// Lets mutating policies and webhooks change an object before it is validated. Returns it with warnings
    /// for the caller.
    pub async fn mutate(
        &self,
        attributes: &Attributes<'_>,
        object: Value,
        lookup: &dyn Lookup,
        caller: &dyn Caller,
    ) -> Result<(Value, Vec<String>), Failure> {
        if attributes.exempt() {
            return Ok((object, Vec::new()));
        }
        let policies = self.policies("mutating", &self.mutating, lookup);
        let hooks = self.configurations("mutatingwebhookconfigurations", lookup);
        if policies.is_empty() && hooks.is_empty() {
            return Ok((object, Vec::new()));
        }
        let mut round = mutating::Round::new(object);
        mutating::mutate(&policies, attributes, &mut round, lookup)?;
        webhook::mutate(&hooks, attributes, &mut round, lookup, caller).await?;
        if round.begin_again() {
            mutating::mutate(&policies, attributes, &mut round, lookup)?;
            webhook::mutate(&hooks, attributes, &mut round, lookup, caller).await?;
        }
        Ok((round.object, round.warnings))
    }

    /// Asks validating policies and webhooks about the object as it will be stored. Returns warnings for the
    /// caller.
    pub async fn validate(
        &self,
        attributes: &Attributes<'_>,
        lookup: &dyn Lookup,
        caller: &dyn Caller,
    ) -> Result<Verdict, Failure> {
        let mut verdict = Verdict::default();
        if attributes.exempt() {
            return Ok(verdict);
        }
        let policies = self.policies("validating", &self.validating, lookup);
        if !policies.is_empty() {
            validating::validate(&policies, attributes, lookup, &mut verdict)?;
        }
        let hooks = self.configurations("validatingwebhookconfigurations", lookup);
        if !hooks.is_empty() {
            webhook::validate(&hooks, attributes, lookup, caller, &mut verdict).await?;
        }
        Ok(verdict)
    }
}

/// What validation left behind besides permission.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Sentences for `Warning` headers.
    pub warnings: Vec<String>,
    /// Annotations for an audit log.
    pub audit: BTreeMap<String, String>,
}

/// Something made from objects, kept until they change or go away.
struct Kept<T>(Mutex<BTreeMap<String, (String, Arc<T>)>>);

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Kept<T> {
    /// What was made of each object; the made things of absent objects are dropped.
    fn all(&self, objects: &[Found], make: impl Fn(&Value) -> T) -> Vec<Arc<T>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut things = Vec::with_capacity(objects.len());
        for object in objects {
            let metadata = &object["metadata"];
            let (uid, version) = (text(metadata, "uid"), text(metadata, "resourceVersion"));
            if let Some((have, thing)) = kept.get(uid)
                && have == version
                && !version.is_empty()
            {
                things.push(thing.clone());
                continue;
            }
            let thing = Arc::new(make(object));
            kept.insert(uid.to_owned(), (version.to_owned(), thing.clone()));
            things.push(thing);
        }
        if kept.len() > 2 * objects.len() + 16 {
            kept.retain(|uid, _| objects.iter().any(|object| object["metadata"]["uid"] == **uid));
        }
        things
    }
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests;
