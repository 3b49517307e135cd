//! One request to a forge and its answer, apart from the network.

use serde_json::Value;
use thiserror::Error;

use super::Address;
use crate::auth::Secret;

/// How many items a page has.
pub(super) const PAGE: usize = 50;
/// How many pages are read: a thousand pull requests for one branch are nobody's.
pub(super) const MOST_PAGES: usize = 20;
/// How much of a refusal is shown.
const SHOWN: usize = 300;

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// `GET`, `POST`, `PATCH` or `PUT`.
    pub method: &'static str,
    /// The whole address.
    pub url: String,
    /// Names and values; a value may be secret.
    pub headers: Vec<(&'static str, Secret)>,
    /// JSON, if there is a body.
    pub body: Option<Value>,
}

/// What the forge answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The http status.
    pub status: u16,
    /// `Retry-After`, in seconds, if the forge asks to wait.
    pub retry_after: Option<u64>,
    /// JSON; null if the body is none.
    pub body: Value,
}

/// Sends a request and gives the answer, whatever its status.
pub trait Exchange {
    /// Sends it, in bounded time, following no redirect.
    fn exchange(&self, call: &Call) -> Result<Answer, Reason>;
}

/// A forge did not do what it was asked. Names the forge and carries no credential.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{forge}: {reason}")]
pub struct ForgeError {
    /// The API and the repository.
    pub forge: String,
    /// Why not.
    pub reason: Reason,
}

/// Why a forge did not do it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Reason {
    /// No answer.
    #[error("not reachable: {0}")]
    Unreachable(String),
    /// Another host would have to be trusted with the token.
    #[error(
        "it redirects to {0}, and the token is not sent there: write that address as apiURL if it is the forge"
    )]
    Redirected(String),
    /// The token is not accepted.
    #[error("the token is not accepted: {0}")]
    Unauthorized(String),
    /// The token may not do this.
    #[error("the token may not do this: {0}")]
    Forbidden(String),
    /// Too many requests.
    #[error("too many requests; it asks to wait {0} s")]
    Busy(u64),
    /// The repository or the pull request is not there, or the token may not see it.
    #[error("not found, or the token may not see it: {0}")]
    NotFound(String),
    /// It refused the request.
    #[error("refused with {status}: {said}")]
    Refused {
        /// The http status.
        status: u16,
        /// What it said.
        said: String,
    },
    /// The answer makes no sense.
    #[error("{0}; is this the address of the API?")]
    Odd(String),
    /// The credential cannot be used.
    #[error("{0}")]
    Credential(String),
}

impl Reason {
    /// Whether the same may work a little later, without anybody's doing.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Busy(_) => true,
            Self::Refused { status, .. } => *status >= 500,
            _ => false,
        }
    }
}

impl Call {
    pub(super) fn new(method: &'static str, url: String) -> Self {
        Self { method, url, headers: Vec::new(), body: None }
    }

    pub(super) fn body(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    pub(super) fn header(mut self, name: &'static str, value: Secret) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(super) fn page(mut self, page: usize) -> Self {
        let sign = if self.url.contains('?') { '&' } else { '?' };
        self.url.push_str(&format!("{sign}page={page}"));
        self
    }
}

impl Address {
    /// An answer that is a success, or the reason why it is none.
    pub(super) fn judge(
        &self,
        answer: Result<Answer, Reason>,
        token: &Secret,
    ) -> Result<Answer, ForgeError> {
        let answer = answer.map_err(|reason| self.failed(reason))?;
        if (200..300).contains(&answer.status) {
            return Ok(answer);
        }
        let said = said(&answer.body).replace(token.reveal(), "***");
        Err(self.failed(match (answer.status, answer.retry_after) {
            (429, wait) => Reason::Busy(wait.unwrap_or(60)),
            (403, Some(wait)) => Reason::Busy(wait),
            (401, _) => Reason::Unauthorized(said),
            (403, _) => Reason::Forbidden(said),
            (404, _) => Reason::NotFound(said),
            (status, _) => Reason::Refused { status, said },
        }))
    }
}

/// What a refusal says, in one line.
fn said(body: &Value) -> String {
    let mut texts = Vec::new();
    gather(body, &mut texts);
    let text = texts.join("; ");
    let text = if text.is_empty() { body.to_string() } else { text };
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN).collect()
}

/// Messages are `message`, `error` or `errors`, texts, lists or mappings of lists.
fn gather(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| gather(item, texts)),
        Value::Object(fields) => {
            for (name, value) in fields {
                match name.as_str() {
                    "message" | "error" | "errors" | "error_description" => gather(value, texts),
                    "url" | "documentation_url" | "status" | "resource" | "code" | "field" => {}
                    _ if value.is_array() => gather(value, texts),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

/// A part of a path or query.
pub(super) fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            byte => format!("%{byte:02X}"),
        })
        .collect()
}
