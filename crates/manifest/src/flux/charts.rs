//! Charts behind HelmReleases: rendered by whoever can.

use crate::diagnostic::Result;
use crate::yaml::Node;

/// A HelmRelease with what it needs.
#[derive(Clone, Copy, Debug)]
pub struct Release<'a> {
    /// The HelmRelease.
    pub object: &'a Node,
    /// Where its chart comes from: the object behind `chartRef`, or behind `chart.spec.sourceRef`.
    pub source: Option<&'a Node>,
}

/// What renders charts.
pub trait Charts: Send + Sync {
    /// The objects a release would install.
    fn render(&self, release: &Release<'_>) -> Result<Vec<Node>>;
}

/// Whether the object is a HelmRelease.
pub fn is_release(object: &Node) -> bool {
    let text = |name| object.get(name).and_then(Node::text).unwrap_or_default();
    text("kind") == "HelmRelease" && text("apiVersion").starts_with("helm.toolkit.fluxcd.io/")
}

/// Kind, namespace and name of the object a release's chart comes from.
pub fn chart_source(release: &Node) -> Option<(&str, &str, &str)> {
    let own = release.at(&["metadata", "namespace"]).and_then(Node::text).unwrap_or_default();
    let reference = release
        .at(&["spec", "chartRef"])
        .or_else(|| release.at(&["spec", "chart", "spec", "sourceRef"]))?;
    let text = |field| reference.get(field).and_then(Node::text);
    Some((text("kind")?, text("namespace").unwrap_or(own), text("name")?))
}
