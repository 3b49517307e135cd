//! What differs from forge to forge.

use serde_json::Value;

use super::call::ForgeError;
use super::{Address, Call, Proposal, Pull};
use crate::auth::Secret;

/// How a forge is asked, and how its answers read.
pub(super) trait Dialect {
    /// With the token.
    fn authorize(&self, call: Call, token: &Secret) -> Call;
    /// Opens a pull request.
    fn open(&self, at: &Address, proposal: &Proposal) -> Call;
    /// Lists those of the branches, open or not; may list more.
    fn list(&self, at: &Address, head: &str, base: &str) -> Call;
    /// One by number.
    fn get(&self, at: &Address, number: u64) -> Call;
    /// Changes title and body.
    fn update(&self, at: &Address, number: u64, title: &str, body: &str) -> Call;
    /// Closes without merging.
    fn close(&self, at: &Address, number: u64) -> Call;
    /// Lists comments.
    fn comments(&self, at: &Address, number: u64) -> Call;
    /// Writes a comment.
    fn comment(&self, at: &Address, number: u64, text: &str) -> Call;
    /// Reads a pull request.
    fn pull(&self, value: &Value) -> Option<Pull>;
    /// Whether opening failed because there is one already.
    fn is_open_already(&self, error: &ForgeError) -> bool;
}

/// The text at a path; empty if it is null or not there.
pub(super) fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}
