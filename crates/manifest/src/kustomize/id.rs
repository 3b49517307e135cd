//! What names an object.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::yaml::{Node, Text};

mod scope;

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
#[derive(Clone, Debug, Default)]
pub struct ResourceId {
    /// Group, version and kind.
    pub gvk: Gvk,
    /// `metadata.name`.
    pub name: Text,
    /// `metadata.namespace`.
    pub namespace: Text,
    /// Whether the object is known to have no namespace, whatever is written.
    pub cluster_scoped: bool,
}

/// What stands for the namespace of objects that have none.
pub const NO_NAMESPACE: &str = "_non_namespaceable_";

/// The namespace of objects that name none.
pub const DEFAULT_NAMESPACE: &str = "default";

impl Gvk {
    /// From `apiVersion` and `kind`.
    pub fn new(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self { group: group.into(), version: version.into(), kind: kind.into() }
    }

    /// From its three parts.
    pub fn from_parts(
        group: impl Into<Text>,
        version: impl Into<Text>,
        kind: impl Into<Text>,
    ) -> Self {
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

    /// Whether objects of this kind are certain to live outside of namespaces; kinds that Kubernetes
    /// does not come with are taken to live in one.
    pub fn is_cluster_scoped(&self) -> bool {
        scope::is_cluster_scoped(&self.group, &self.version, &self.kind)
    }

    /// Whether it is known if objects of this kind live in namespaces.
    pub fn has_known_scope(&self) -> bool {
        self.is_cluster_scoped() || scope::is_namespaced(&self.group, &self.version, &self.kind)
    }

    /// Whether the selector's parts that are not empty are the same here.
    pub fn is_selected_by(&self, selector: &Self) -> bool {
        let fits = |wanted: &Text, found: &Text| wanted.is_empty() || wanted == found;
        fits(&selector.group, &self.group)
            && fits(&selector.version, &self.version)
            && fits(&selector.kind, &self.kind)
    }
}

impl ResourceId {
    /// An id; whether it has a namespace is told by its kind.
    pub fn new(gvk: Gvk, name: impl Into<Text>, namespace: impl Into<Text>) -> Self {
        let cluster_scoped = gvk.is_cluster_scoped();
        Self { gvk, name: name.into(), namespace: namespace.into(), cluster_scoped }
    }

    /// The namespace that counts when ids are compared: none and `default` are the same, and objects
    /// outside of namespaces share one of their own.
    pub fn effective_namespace(&self) -> &str {
        effective_namespace(self.cluster_scoped, &self.namespace)
    }

    /// Whether both name the same object.
    pub fn same(&self, other: &Self) -> bool {
        self.same_but_namespace(other) && self.same_namespace(other)
    }

    /// Whether both have the same kind and name.
    pub fn same_but_namespace(&self, other: &Self) -> bool {
        self.name == other.name && self.gvk == other.gvk
    }

    /// Whether both are in the same namespace.
    pub fn same_namespace(&self, other: &Self) -> bool {
        self.effective_namespace() == other.effective_namespace()
    }

    /// Whether the selector's parts that are not empty are the same here.
    pub fn is_selected_by(&self, selector: &Self) -> bool {
        (selector.name.is_empty() || selector.name == self.name)
            && (selector.namespace.is_empty() || selector.same_namespace(self))
            && self.gvk.is_selected_by(&selector.gvk)
    }
}

/// The namespace that counts when ids are compared.
pub(super) fn effective_namespace(cluster_scoped: bool, namespace: &str) -> &str {
    if cluster_scoped {
        NO_NAMESPACE
    } else if namespace.is_empty() {
        DEFAULT_NAMESPACE
    } else {
        namespace
    }
}

impl PartialEq for ResourceId {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ResourceId {}

impl PartialOrd for ResourceId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ResourceId {
    fn cmp(&self, other: &Self) -> Ordering {
        (&self.gvk, &self.name, &self.namespace).cmp(&(&other.gvk, &other.name, &other.namespace))
    }
}

impl Hash for ResourceId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.gvk, &self.name, &self.namespace).hash(state);
    }
}

/// As upstream's messages write it: `Deployment.v1.apps`.
impl fmt::Display for Gvk {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or = |text: &Text, without: &'static str| {
            if text.is_empty() { Text::new_static(without) } else { text.clone() }
        };
        let (kind, version) = (or(&self.kind, "[noKind]"), or(&self.version, "[noVer]"));
        write!(out, "{kind}.{version}.{}", or(&self.group, "[noGrp]"))
    }
}

/// As upstream's messages write it: `Deployment.v1.apps/web.[noNs]`.
impl fmt::Display for ResourceId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.name.is_empty() { "[noName]" } else { &self.name };
        let namespace = if self.namespace.is_empty() { "[noNs]" } else { &self.namespace };
        write!(out, "{}/{name}.{namespace}", self.gvk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_and_no_namespace_are_the_same() {
        let id = |namespace| ResourceId::new(Gvk::new("apps/v1", "Deployment"), "web", namespace);
        assert!(id("").same(&id("default")));
        assert!(!id("").same(&id("shop")));
        assert_eq!(id("").to_string(), "Deployment.v1.apps/web.[noNs]");
    }

    #[test]
    fn objects_outside_of_namespaces_ignore_theirs() {
        let id = |namespace| ResourceId::new(Gvk::new("v1", "Namespace"), "shop", namespace);
        assert!(id("one").same(&id("two")));
        assert_eq!(id("one").effective_namespace(), NO_NAMESPACE);
    }

    #[test]
    fn an_empty_selector_selects_everything() {
        let id = ResourceId::new(Gvk::new("apps/v1", "Deployment"), "web", "shop");
        assert!(id.is_selected_by(&ResourceId::default()));
        let other = ResourceId::new(Gvk::from_parts("", "", "Service"), "", "");
        assert!(!id.is_selected_by(&other));
    }
}
