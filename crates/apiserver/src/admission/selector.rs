//! Label selectors as they are written in objects.

use serde::Deserialize;
use serde_json::Value;

use crate::builtin::labels;

/// `{matchLabels, matchExpressions}`; the empty one matches everything.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(transparent)]
pub(super) struct Selector(Value);

impl Default for Selector {
    fn default() -> Self {
        Self(Value::Object(serde_json::Map::new()))
    }
}

impl Selector {
    /// Whether it has no requirement at all.
    pub fn is_empty(&self) -> bool {
        labels::selector_is_empty(&self.0)
    }

    /// Whether the labels of an object satisfy every requirement.
    pub fn matches(&self, object: &Value) -> bool {
        labels::selector_matches(Some(&self.0), &object["metadata"]["labels"])
    }
}
