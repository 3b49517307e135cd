//! The request log: who asked what, and what came of it.

use super::Call;

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Name of the caller.
    pub user: String,
    /// User-Agent up to the first `/`.
    pub agent: String,
    /// HTTP method.
    pub method: String,
    /// Path and query.
    pub url: String,
    /// Body as text.
    pub body: String,
    /// HTTP status of the answer.
    pub code: u16,
}

/// Requests in the order they were answered; off until asked for.
#[derive(Debug, Default)]
pub struct RequestLog {
    on: bool,
    entries: Vec<Entry>,
}

impl RequestLog {
    pub(super) fn record(&mut self, on: bool) {
        self.on = on;
    }

    pub(super) fn take(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.entries)
    }

    pub(super) fn add(&mut self, call: &Call, path: &str, query: Option<&str>, code: u16) {
        if !self.on {
            return;
        }
        let url = query.map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
        self.entries.push(Entry {
            user: call.user.name.clone(),
            agent: call.agent().split('/').next().unwrap_or_default().to_owned(),
            method: call.method.to_string(),
            url,
            body: String::from_utf8_lossy(&call.body).into_owned(),
            code,
        });
    }
}
