//! What the health endpoints answer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What has to be so before the operator counts as ready, and whether it still lives.
#[derive(Clone, Debug, Default)]
pub struct Readiness(Arc<Mutex<Parts>>);

#[derive(Debug, Default)]
struct Parts {
    waiting: BTreeMap<&'static str, String>,
    failed: Option<String>,
}

impl Readiness {
    /// Says that a part is not ready, and why.
    pub fn waiting(&self, part: &'static str, why: impl Into<String>) {
        self.parts().waiting.insert(part, why.into());
    }

    /// Says that a part is ready.
    pub fn ready(&self, part: &'static str) {
        self.parts().waiting.remove(part);
    }

    /// Says that the operator cannot go on and has to be started again.
    pub fn failed(&self, why: impl Into<String>) {
        self.parts().failed = Some(why.into());
    }

    /// What is waited for; empty once everything is ready.
    pub fn pending(&self) -> Vec<String> {
        let parts = self.parts();
        let waiting = parts.waiting.iter().map(|(part, why)| format!("{part}: {why}"));
        parts.failed.iter().cloned().chain(waiting).collect()
    }

    /// Why the operator cannot go on.
    pub fn failure(&self) -> Option<String> {
        self.parts().failed.clone()
    }

    fn parts(&self) -> std::sync::MutexGuard<'_, Parts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
