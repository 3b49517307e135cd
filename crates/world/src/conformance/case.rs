//! What a conformance case says: requests to send to both servers, in order, in a namespace of its own.
//!
//! ```
//! use holdfast_world::conformance::case::{Case, apply, get, post};
//! use serde_json::json;
//!
//! Case::new("apply/conflict-with-one-manager")
//!     .given(post("/api/v1/namespaces/{ns}/configmaps", json!({"metadata": {"name": "a"}})))
//!     .compare(apply("/api/v1/namespaces/{ns}/configmaps/a", "other", json!({
//!         "apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v"},
//!     })))
//!     .compare(get("/api/v1/namespaces/{ns}/configmaps/a"));
//! ```
//!
//! Texts in paths, headers and bodies may hold `{ns}` and, once a request was [named](Request::named),
//! `{rv:NAME}`, `{uid:NAME}`, `{name:NAME}`, `{continue:NAME}` and `{at:NAME:/json/pointer}`.

use std::fmt;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::answer::Answer;

/// A named list of steps that runs on both servers.
#[derive(Debug)]
pub struct Case {
    /// `group/what-it-shows`; unique.
    pub name: String,
    /// Runs while no other case does, because it changes what others would see.
    pub alone: bool,
    /// What is done, in order.
    pub steps: Vec<Step>,
    /// What is done at the end whatever happened, without looking at the answers.
    pub cleanup: Vec<Request>,
}

/// One step of a [`Case`].
pub enum Step {
    /// Must succeed on both servers; not counted.
    Given(Request),
    /// Sent to both, and the answers are compared: one data point.
    Compare(Request),
    /// Repeated on each server until the condition holds or the time is up; not counted.
    Until(Request, Condition),
}

/// What an [`Step::Until`] waits for.
pub type Condition = Box<dyn Fn(&Answer) -> bool + Send + Sync>;

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given(request) => f.debug_tuple("Given").field(request).finish(),
            Self::Compare(request) => f.debug_tuple("Compare").field(request).finish(),
            Self::Until(request, _) => f.debug_tuple("Until").field(request).finish(),
        }
    }
}

impl Case {
    /// A case without steps. The part of the name before the slash is its group.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), alone: false, steps: Vec::new(), cleanup: Vec::new() }
    }

    /// A request that must succeed on both servers and is not counted.
    #[must_use]
    pub fn given(mut self, request: Request) -> Self {
        self.steps.push(Step::Given(request));
        self
    }

    /// A request whose answers are compared.
    #[must_use]
    pub fn compare(mut self, request: Request) -> Self {
        self.steps.push(Step::Compare(request));
        self
    }

    /// Several requests whose answers are compared, in order.
    #[must_use]
    pub fn compare_all(mut self, requests: impl IntoIterator<Item = Request>) -> Self {
        self.steps.extend(requests.into_iter().map(Step::Compare));
        self
    }

    /// Waits, on each server, until an answer to the request satisfies the condition.
    #[must_use]
    pub fn until(
        mut self,
        request: Request,
        condition: impl Fn(&Answer) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.steps.push(Step::Until(request, Box::new(condition)));
        self
    }

    /// Waits, on each server, until the answer has this value at the JSON pointer.
    #[must_use]
    pub fn until_at(self, request: Request, pointer: &'static str, value: Value) -> Self {
        self.until(request, move |answer| answer.at(pointer) == Some(&value))
    }

    /// Waits, on each server, until the request is answered with this HTTP status.
    #[must_use]
    pub fn until_status(self, request: Request, status: u16) -> Self {
        self.until(request, move |answer| answer.status == status)
    }

    /// Sent at the end whatever happened, for cluster-scoped objects (name them with `{ns}`).
    #[must_use]
    pub fn finally(mut self, request: Request) -> Self {
        self.cleanup.push(request);
        self
    }

    /// Runs while no other case does: for cases whose cluster-scoped objects others would notice.
    #[must_use]
    pub fn alone(mut self) -> Self {
        self.alone = true;
        self
    }

    /// The part of the name before the slash.
    pub fn group(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }

    /// Names this form of the case: another step or body gives another digest.
    pub fn digest(&self) -> String {
        // Where the webhook of this process listens is no part of the case.
        let hook = super::hook::running();
        let text = format!("{:?}", self.steps);
        let text = [&hook.url, &hook.ca_bundle]
            .into_iter()
            .filter(|part| !part.is_empty())
            .fold(text, |text, part| text.replace(part.as_str(), ""));
        let digest = format!("{:x}", Sha256::digest(text.as_bytes()));
        digest.get(..16).unwrap_or_default().to_owned()
    }

    /// How many of its steps are compared.
    pub fn interactions(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step, Step::Compare(_))).count()
    }
}

/// What is sent, before `{ns}` and captured values are put in.
#[derive(Clone, Debug)]
pub struct Request {
    /// The HTTP verb.
    pub method: http::Method,
    /// Path and query.
    pub path: String,
    /// Headers beside those that the runner adds.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Body,
    /// Under which name later steps know the answer.
    pub name: Option<String>,
    /// When to stop reading, for a watch.
    pub stop: Option<Stop>,
    /// The server gives the causes in random order.
    pub causes_in_any_order: bool,
    /// JSON pointers whose values are not compared; `*` stands for every item of a list.
    pub ignored: Vec<String>,
}

/// The body of a [`Request`].
#[derive(Clone, Debug)]
pub enum Body {
    /// No body.
    Empty,
    /// JSON; texts inside may hold `{ns}` and captured values.
    Json(Value),
    /// Text, for example YAML; may hold `{ns}` and captured values.
    Text(String),
    /// Bytes as they are.
    Raw(Vec<u8>),
}

/// When to stop reading a watch. Whatever else is said, the stream's end and the time stop it.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    /// After this many events.
    pub events: Option<usize>,
    /// After the first bookmark.
    pub bookmark: bool,
    /// After this many milliseconds.
    pub millis: u64,
}

impl Request {
    /// A request without a body.
    pub fn new(method: http::Method, path: &str) -> Self {
        Self {
            method,
            path: path.to_owned(),
            headers: Vec::new(),
            body: Body::Empty,
            name: None,
            stop: None,
            causes_in_any_order: false,
            ignored: Vec::new(),
        }
    }

    /// Sets a header, replacing one of the same name.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets `Content-Type`.
    #[must_use]
    pub fn content_type(self, value: &str) -> Self {
        self.header("Content-Type", value)
    }

    /// Sets `Accept`.
    #[must_use]
    pub fn accept(self, value: &str) -> Self {
        self.header("Accept", value)
    }

    /// Sets `User-Agent`, the field manager's name where none is given.
    #[must_use]
    pub fn user_agent(self, value: &str) -> Self {
        self.header("User-Agent", value)
    }

    /// Asks as another user, in one further group if that is not empty.
    #[must_use]
    pub fn impersonate(mut self, user: &str, groups: &[&str]) -> Self {
        self = self.header("Impersonate-User", user);
        for group in groups {
            self.headers.push(("Impersonate-Group".to_owned(), (*group).to_owned()));
        }
        self
    }

    /// Sets a JSON body, with the content type for it unless one is set.
    #[must_use]
    pub fn json(self, body: Value) -> Self {
        self.body(Body::Json(body), "application/json")
    }

    /// Sets a text body of the content type.
    #[must_use]
    pub fn text(self, body: &str, content_type: &str) -> Self {
        self.body(Body::Text(body.to_owned()), content_type)
    }

    /// Sets a body of bytes of the content type.
    #[must_use]
    pub fn raw(self, body: &[u8], content_type: &str) -> Self {
        self.body(Body::Raw(body.to_vec()), content_type)
    }

    fn body(mut self, body: Body, content_type: &str) -> Self {
        self.body = body;
        if self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            return self;
        }
        self.content_type(content_type)
    }

    /// Adds a query parameter; the value is sent as it is.
    #[must_use]
    pub fn query(mut self, name: &str, value: &str) -> Self {
        self.path.push(if self.path.contains('?') { '&' } else { '?' });
        self.path.push_str(name);
        self.path.push('=');
        self.path.push_str(value);
        self
    }

    /// Adds `fieldManager`.
    #[must_use]
    pub fn manager(self, name: &str) -> Self {
        self.query("fieldManager", name)
    }

    /// Adds `force=true`: take fields over from other managers.
    #[must_use]
    pub fn force(self) -> Self {
        self.query("force", "true")
    }

    /// Adds `dryRun=All`.
    #[must_use]
    pub fn dry_run(self) -> Self {
        self.query("dryRun", "All")
    }

    /// Later steps know the answer under this name.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// The server gives the causes in random order (it ranges over a map): compare them as a set.
    #[must_use]
    pub fn causes_in_any_order(mut self) -> Self {
        self.causes_in_any_order = true;
        self
    }

    /// Leaves the value at this JSON pointer out of the comparison; `*` stands for every item of a list.
    /// Only for what neither server promises, such as a counter of attempts.
    #[must_use]
    pub fn ignoring(mut self, pointer: &str) -> Self {
        self.ignored.push(pointer.to_owned());
        self
    }

    /// Stops a watch after so many events.
    #[must_use]
    pub fn stop_after(mut self, events: usize) -> Self {
        self.stop_mut().events = Some(events);
        self
    }

    /// Stops a watch at the first bookmark.
    #[must_use]
    pub fn stop_at_bookmark(mut self) -> Self {
        self.stop_mut().bookmark = true;
        self
    }

    /// Stops a watch after so many milliseconds.
    #[must_use]
    pub fn stop_after_millis(mut self, millis: u64) -> Self {
        self.stop_mut().millis = millis;
        self
    }

    fn stop_mut(&mut self) -> &mut Stop {
        self.stop.get_or_insert(Stop { events: None, bookmark: false, millis: 5_000 })
    }
}

/// `GET`.
pub fn get(path: &str) -> Request {
    Request::new(http::Method::GET, path)
}

/// `POST` of a JSON body.
pub fn post(path: &str, body: Value) -> Request {
    Request::new(http::Method::POST, path).json(body)
}

/// `PUT` of a JSON body.
pub fn put(path: &str, body: Value) -> Request {
    Request::new(http::Method::PUT, path).json(body)
}

/// `DELETE` without options; add them with [`Request::json`].
pub fn delete(path: &str) -> Request {
    Request::new(http::Method::DELETE, path)
}

/// `PATCH` with an RFC 6902 patch.
pub fn json_patch(path: &str, body: Value) -> Request {
    patch(path, "application/json-patch+json").json(body)
}

/// `PATCH` with an RFC 7386 merge patch.
pub fn merge_patch(path: &str, body: Value) -> Request {
    patch(path, "application/merge-patch+json").json(body)
}

/// `PATCH` with a strategic merge patch.
pub fn strategic(path: &str, body: Value) -> Request {
    patch(path, "application/strategic-merge-patch+json").json(body)
}

/// Server-side apply under a field manager; add [`Request::force`] to take fields over.
pub fn apply(path: &str, manager: &str, body: Value) -> Request {
    patch(path, "application/apply-patch+yaml").json(body).manager(manager)
}

/// `PATCH` of a content type, still without a body.
pub fn patch(path: &str, content_type: &str) -> Request {
    Request::new(http::Method::PATCH, path).content_type(content_type)
}

/// `GET` with `watch=true`; say with `stop_…` when to stop reading (else after five seconds). The
/// answer's body is the list of events.
pub fn watch(path: &str) -> Request {
    let mut request = get(path).query("watch", "true");
    request.stop_mut();
    request
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_apply_carries_manager_force_and_content_type() {
        let request = apply("/x", "m", json!({})).force();
        assert_eq!(request.path, "/x?fieldManager=m&force=true");
        assert_eq!(
            request.headers,
            [("Content-Type".to_owned(), "application/apply-patch+yaml".to_owned())]
        );
    }

    #[test]
    fn the_group_is_what_stands_before_the_slash() {
        let case = Case::new("lists/limit").given(get("/a")).compare(get("/b")).compare(get("/c"));
        assert_eq!((case.group(), case.interactions()), ("lists", 2));
    }

    #[test]
    fn another_body_is_another_form_of_the_case() {
        let case = |data: &str| Case::new("a/b").compare(post("/c", json!({"k": data})));
        assert_eq!(case("1").digest(), case("1").digest());
        assert_ne!(case("1").digest(), case("2").digest());
    }

    #[test]
    fn a_header_replaces_its_elder() {
        let request = post("/x", json!({})).content_type("text/plain");
        assert_eq!(request.headers.len(), 1);
        assert_eq!(request.headers[0].1, "text/plain");
    }
}
