//! What names an object.

use std::fmt;

use crate::yaml::{Node, Text};

/// Group, version and kind; empty parts are not known, or match anything where one selects.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gvk {
    /// Empty for the core group.
    pub group: Text,
    /// `v1`.
    pub version: Text,
    /// `Deployment`.
    pub kind: Text,
}

/// Group, version, kind, name and namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceId {
    /// Group, version and kind.
    pub gvk: Gvk,
    /// `metadata.name`.
    pub name: Text,
    /// `metadata.namespace`.
    pub namespace: Text,
}

impl Gvk {
    /// From `apiVersion` and `kind`.
    pub fn new(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self { group: group.into(), version: version.into(), kind: kind.into() }
    }

    /// Of an object.
    pub fn of(node: &Node) -> Self {
        let text = |name| node.get(name).and_then(Node::text).unwrap_or_default();
        Self::new(text("apiVersion"), text("kind"))
    }

    /// `apps/v1`, `v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_string()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

impl fmt::Display for ResourceId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let namespace = if self.namespace.is_empty() { "" } else { "/" };
        write!(out, "{} {}{namespace}{}", self.gvk.kind, self.namespace, self.name)
    }
}
