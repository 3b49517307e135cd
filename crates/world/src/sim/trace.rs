//! What happened, line by line: the request log of a run.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};

/// Lines of a run. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    lines: Arc<Mutex<Vec<String>>>,
}

impl Trace {
    /// Adds a line at a virtual time.
    pub fn add(&self, at: std::time::Duration, who: &str, what: &str) {
        let mut line = String::with_capacity(what.len() + who.len() + 16);
        // Writing to a string cannot fail.
        let _ = write!(line, "{:>9.3} {who} {what}", at.as_secs_f64());
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    /// All lines so far.
    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A fingerprint of all lines.
    pub fn digest(&self) -> String {
        let mut hasher = Sha256::new();
        for line in self.lines.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            hasher.update(line.as_bytes());
            hasher.update(b"\n");
        }
        hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
