//! Failures as the API server words them: the `Status` object and its causes.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::fields::FieldError;

/// An error answer, rendered as a `Status` object.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The HTTP status, repeated in the body.
    pub code: u16,
    /// The machine-readable reason; plain 500s and some webhook denials have none.
    pub reason: Option<Cow<'static, str>>,
    /// The sentence for people.
    pub message: String,
    /// `details`, absent on most 400s.
    pub details: Option<Map<String, Value>>,
    /// `metadata.continue` of an expired list, with which the caller may go on.
    pub resume: Option<String>,
    /// Answer as text/plain instead of a `Status` (only the outermost 404).
    pub plain: bool,
    /// What was warned of before it failed.
    pub warnings: Option<Box<Vec<String>>>,
}

impl Failure {
    /// A failure without details.
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        let reason = (!reason.is_empty()).then_some(Cow::Borrowed(reason));
        Self {
            code,
            reason,
            message: message.into(),
            details: None,
            resume: None,
            plain: false,
            warnings: None,
        }
    }

    /// The same failure with `details`.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = match details {
            Value::Object(map) => Some(map),
            _ => None,
        };
        self
    }

    /// 404 for a path the server has no handler for; not a `Status`.
    pub fn page_not_found() -> Self {
        Self { plain: true, ..Self::new(404, "NotFound", "404 page not found\n") }
    }

    /// 404 for a resource type that does not exist in a known group version.
    pub fn unknown_resource() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource")
            .with_details(json!({}))
    }

    /// 404 for a missing object.
    pub fn not_found(group: &str, plural: &str, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{} {name:?} not found", qualified(plural, group)))
            .with_details(target(group, plural, name))
    }

    /// 409 for an object that exists.
    pub fn already_exists(group: &str, plural: &str, name: &str) -> Self {
        Self::new(
            409,
            "AlreadyExists",
            format!("{} {name:?} already exists", qualified(plural, group)),
        )
        .with_details(target(group, plural, name))
    }

    /// 409 for a write that lost against another, with the server's own explanation.
    pub fn conflict(group: &str, kind_or_plural: &str, name: &str, why: &str) -> Self {
        Self::new(
            409,
            "Conflict",
            format!(
                "Operation cannot be fulfilled on {} {name:?}: {why}",
                qualified(kind_or_plural, group)
            ),
        )
        .with_details(target(group, kind_or_plural, name))
    }

    /// 409 for a stale resourceVersion.
    pub fn modified(group: &str, plural: &str, name: &str) -> Self {
        Self::conflict(
            group,
            plural,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    /// 403 with the API server's frame around the reason.
    pub fn forbidden(group: &str, plural: &str, name: &str, why: &str) -> Self {
        let subject = if name.is_empty() {
            qualified(plural, group)
        } else {
            format!("{} {name:?}", qualified(plural, group))
        };
        let mut details = target(group, plural, name);
        if name.is_empty()
            && let Some(map) = details.as_object_mut()
        {
            map.remove("name");
        }
        Self::new(403, "Forbidden", format!("{subject} is forbidden: {why}")).with_details(details)
    }

    /// 400 without details.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 405.
    pub fn method_not_allowed() -> Self {
        Self::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
        .with_details(json!({}))
    }

    /// 500 without a reason, as the server gives for errors it did not expect.
    pub fn internal_plain(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// 422 with one cause per field error. `kind` is the Kind (`Deployment`), not the plural.
    pub fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let mut texts: Vec<String> = Vec::new();
        for error in errors {
            let text = error.to_string();
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        let mut message = format!("{} {name:?} is invalid", qualified(kind, group));
        match texts.as_slice() {
            [] => {}
            [one] => drop(write!(message, ": {one}")),
            many => drop(write!(message, ": [{}]", many.join(", "))),
        }
        let mut details = target(group, kind, name);
        if let Some(map) = details.as_object_mut() {
            if kind.is_empty() {
                map.remove("kind");
            }
            if name.is_empty() {
                map.remove("name");
            }
            if !errors.is_empty() {
                map.insert("causes".into(), errors.iter().map(FieldError::cause).collect());
            }
        }
        Self::new(422, "Invalid", message).with_details(details)
    }

    /// The body of the answer.
    pub fn body(&self) -> Value {
        let mut metadata = Map::new();
        if let Some(token) = &self.resume {
            metadata.insert("continue".into(), Value::from(token.as_str()));
        }
        let mut body = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if let Some(map) = body.as_object_mut() {
            if let Some(reason) = &self.reason {
                map.insert("reason".into(), Value::from(reason.as_ref()));
            }
            if let Some(details) = &self.details {
                map.insert("details".into(), Value::Object(details.clone()));
            }
        }
        body
    }
}

/// `deployments.apps`, or `configmaps` for the core group.
pub fn qualified(kind_or_plural: &str, group: &str) -> String {
    if group.is_empty() { kind_or_plural.to_owned() } else { format!("{kind_or_plural}.{group}") }
}

fn target(group: &str, kind: &str, name: &str) -> Value {
    let mut details = json!({ "name": name, "kind": kind });
    if !group.is_empty()
        && let Some(map) = details.as_object_mut()
    {
        map.insert("group".into(), Value::from(group));
    }
    details
}
