//! Watches: a table's changes as one caller sees them.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, Sleep, sleep_until};

use super::respond::{Form, partial};
use super::view::View;
use crate::store::{Change, Did, event_line};

/// The longest a watch may run when the caller does not say.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(30);
/// How often a caller that wants bookmarks gets one.
const BOOKMARK_EVERY: Duration = Duration::from_mins(1);

/// One watch: what is already known, then what comes.
pub struct Watch {
    view: View,
    backlog: VecDeque<Bytes>,
    changes: Option<UnboundedReceiver<Arc<Change>>>,
    /// Latest revision that the caller knows about.
    revision: u64,
    bookmarks: bool,
    tables_sent: bool,
    deadline: Instant,
    timer: Pin<Box<Sleep>>,
}

impl Watch {
    /// A watch that first says `known`, then follows `changes`.
    pub fn new(
        view: View,
        changes: UnboundedReceiver<Arc<Change>>,
        revision: u64,
        bookmarks: bool,
        timeout: Option<u64>,
    ) -> Self {
        let now = Instant::now();
        let deadline = now + timeout.map_or(DEFAULT_TIMEOUT, Duration::from_secs);
        let first = if bookmarks { deadline.min(now + BOOKMARK_EVERY) } else { deadline };
        Self {
            view,
            backlog: VecDeque::new(),
            changes: Some(changes),
            revision,
            bookmarks,
            tables_sent: false,
            deadline,
            timer: Box::pin(sleep_until(first)),
        }
    }

    /// A watch that says one thing and ends: how an expired revision is reported.
    pub fn only(view: View, error: &Value) -> Self {
        let (_, changes) = tokio::sync::mpsc::unbounded_channel();
        let mut watch = Self::new(view, changes, 0, false, Some(0));
        watch.changes = None;
        watch.backlog.push_back(event_line("ERROR", error.to_string().as_bytes()));
        watch
    }

    /// Adds an object that the caller does not know yet.
    pub fn push_known(&mut self, object: &crate::store::Stored) {
        let line = self.line("ADDED", &object.value);
        self.backlog.push_back(line);
    }

    /// Adds the bookmark that ends the initial events.
    pub fn push_initial_end(&mut self) {
        let line = self.bookmark(Some(json!({ "k8s.io/initial-events-end": "true" })));
        self.backlog.push_back(line);
    }

    /// An event about a stored object.
    fn line(&mut self, event: &str, object: &Value) -> Bytes {
        let shown = match self.view.form {
            Form::Object => {
                let shown = self.view.show(object);
                return event_line(event, shown.to_string().as_bytes());
            }
            Form::PartialMetadata | Form::PartialMetadataList => partial(&self.view.show(object)),
            Form::Table => {
                let table = self.view.row(object);
                self.without_known_columns(table)
            }
        };
        event_line(event, shown.to_string().as_bytes())
    }

    fn bookmark(&mut self, annotations: Option<Value>) -> Bytes {
        let mut object = self.view.bookmark(self.revision, annotations);
        if self.view.form == Form::Table {
            object = self.without_known_columns(object);
        }
        event_line("BOOKMARK", object.to_string().as_bytes())
    }

    /// Columns are told once.
    fn without_known_columns(&mut self, mut table: Value) -> Value {
        if std::mem::replace(&mut self.tables_sent, true) {
            table["columnDefinitions"] = Value::Null;
        }
        table
    }

    fn see(&mut self, change: &Change) -> Option<Bytes> {
        self.revision = change.object.revision;
        if self.view.is_plain() {
            return Some(change.line());
        }
        let now = change.did != Did::Deleted && self.view.matches(&change.object.value);
        let before = change.previous.as_ref().is_some_and(|p| self.view.matches(&p.value));
        let (event, object) = match (change.did, before, now) {
            (Did::Deleted, true, _) => ("DELETED", &change.object.value),
            (Did::Added, _, true) | (Did::Modified, false, true) => ("ADDED", &change.object.value),
            (Did::Modified, true, true) => ("MODIFIED", &change.object.value),
            (Did::Modified, true, false) => {
                // The caller sees the object as it last matched, at the revision of the change.
                let mut last = change.previous.as_ref()?.value.clone();
                last["metadata"]["resourceVersion"] = Value::from(self.revision.to_string());
                return Some(self.line("DELETED", &last));
            }
            _ => return None,
        };
        Some(self.line(event, object))
    }

    /// The next event line; none when the watch ends.
    pub fn poll_line(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(line) = self.backlog.pop_front() {
            return Poll::Ready(Some(line));
        }
        loop {
            let Some(changes) = &mut self.changes else { return Poll::Ready(None) };
            match changes.poll_recv(cx) {
                Poll::Ready(Some(change)) => {
                    if let Some(line) = self.see(&change) {
                        return Poll::Ready(Some(line));
                    }
                }
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => break,
            }
        }
        while self.timer.as_mut().poll(cx).is_ready() {
            let now = self.timer.deadline();
            if now >= self.deadline {
                return Poll::Ready(None);
            }
            let next = (now + BOOKMARK_EVERY).min(self.deadline);
            self.timer.as_mut().reset(next);
            if self.bookmarks {
                // Register the new deadline before answering.
                let _ = self.timer.as_mut().poll(cx);
                return Poll::Ready(Some(self.bookmark(None)));
            }
        }
        Poll::Pending
    }
}
use std::future::Future as _;

impl Watch {
    /// Whether the caller's selectors match an object.
    pub fn wants(&self, object: &Value) -> bool {
        self.view.matches(object)
    }
}
