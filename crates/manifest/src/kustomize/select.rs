//! Which objects something is meant for: by group, version, kind, name and namespace, each a regular
//! expression that must match as a whole, and by labels and annotations.

use std::fmt;

use super::transform::settings;
use super::{Resource, ResourceId, Resources};
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{Mark, Node, Text};

mod label;
mod pattern;

pub use label::LabelSelector;
pub use pattern::Pattern;
pub(crate) use pattern::compile;

/// Which objects something is meant for. Parts that are empty match anything.
#[derive(Clone, Debug, Default)]
pub struct Selector {
    /// Group.
    pub group: Pattern,
    /// Version.
    pub version: Pattern,
    /// Kind.
    pub kind: Pattern,
    /// `metadata.name`.
    pub name: Pattern,
    /// `metadata.namespace`.
    pub namespace: Pattern,
    /// Annotations, in the syntax of label selectors.
    pub annotations: LabelSelector,
    /// Labels.
    pub labels: LabelSelector,
    /// Where it is written.
    pub mark: Mark,
}

impl Selector {
    /// Reads it. Fields that are not known are ignored, as upstream ignores them here.
    pub fn read(node: &Node) -> Result<Self> {
        let text = |name| settings::text(node, name);
        let pattern = |name| -> Result<Pattern> {
            let text = text(name)?;
            let mark = settings::field(node, name).map_or(node.mark, |node| node.mark);
            Pattern::new(text).map_err(|error| error.at(mark))
        };
        Ok(Self {
            group: pattern("group")?,
            version: pattern("version")?,
            kind: pattern("kind")?,
            name: pattern("name")?,
            namespace: pattern("namespace")?,
            annotations: LabelSelector::new(text("annotationSelector")?),
            labels: LabelSelector::new(text("labelSelector")?),
            mark: node.mark,
        })
    }

    /// The places of the objects that are selected. Name and namespace may be those of now or those at
    /// first.
    pub fn select(&self, resources: &Resources) -> Result<Vec<usize>> {
        let mut places = Vec::new();
        for (place, resource) in resources.list.iter().enumerate() {
            if self.selects(resource)? {
                places.push(place);
            }
        }
        Ok(places)
    }

    fn selects(&self, resource: &Resource) -> Result<bool> {
        if !self.name.is_empty() || !self.namespace.is_empty() {
            let first = resource.previous.first();
            let name = |name: &str| self.name.matches(name);
            if !first.is_some_and(|first| name(&first.name)) && !name(resource.name()) {
                return Ok(false);
            }
            let namespace = |namespace: &str| self.namespace.matches(namespace);
            if !self.namespace.is_empty()
                && !first.is_some_and(|first| namespace(&first.namespace))
                && !namespace(&resource.effective_namespace())
            {
                return Ok(false);
            }
        }
        let (group, version) = group_and_version(resource.api_version());
        if !self.matches_kind(group, version, resource.kind()) {
            return Ok(false);
        }
        self.matches_labels(&resource.node)
    }

    /// Whether labels and annotations fit. A selector that cannot be read fails here, not before.
    pub fn matches_labels(&self, object: &Node) -> Result<bool> {
        let of = |field| object.at(&["metadata", field]).and_then(Node::as_mapping);
        let fits =
            self.labels.matches(of("labels"))? && self.annotations.matches(of("annotations"))?;
        Ok(fits)
    }

    /// Whether an id fits, with its namespace as it is written.
    pub fn matches_id(&self, id: &ResourceId) -> bool {
        self.matches_kind(&id.gvk.group, &id.gvk.version, &id.gvk.kind)
            && self.name.matches(&id.name)
            && self.namespace.matches(&id.namespace)
    }

    /// Whether it says nothing about ids.
    pub fn has_no_id(&self) -> bool {
        [&self.group, &self.version, &self.kind, &self.name, &self.namespace]
            .iter()
            .all(|pattern| pattern.is_empty())
    }

    fn matches_kind(&self, group: &str, version: &str, kind: &str) -> bool {
        self.group.matches(group) && self.version.matches(version) && self.kind.matches(kind)
    }
}

/// The parts of an `apiVersion`.
fn group_and_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

impl fmt::Display for Selector {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or = |pattern: &Pattern, without: &str| -> Text {
            if pattern.is_empty() { without.into() } else { pattern.as_str().into() }
        };
        write!(
            out,
            "{}.{}.{}/{}.{}:a={}:l={}",
            or(&self.kind, "[noKind]"),
            or(&self.version, "[noVer]"),
            or(&self.group, "[noGrp]"),
            or(&self.name, "[noName]"),
            or(&self.namespace, "[noNs]"),
            self.annotations.as_str(),
            self.labels.as_str(),
        )
    }
}

/// An error about a selector that selects nothing it must select.
pub(crate) fn selects_nothing(what: impl fmt::Display) -> Diagnostic {
    Diagnostic::new(format!("nothing selected by {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kustomize::Origin;

    fn resource(text: &str) -> Resource {
        let node = crate::yaml::documents(text).unwrap().remove(0).root;
        Resource::new(node, Origin::default())
    }

    fn selector(text: &str) -> Selector {
        Selector::read(&crate::yaml::documents(text).unwrap().remove(0).root).unwrap()
    }

    #[test]
    fn names_are_matched_as_a_whole_and_as_they_were_at_first() {
        let mut object = resource("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}");
        assert!(selector("{kind: Deployment, name: we.}").selects(&object).unwrap());
        assert!(!selector("{kind: Deploy}").selects(&object).unwrap());
        assert!(
            selector("{kind: Deploy.*, group: apps, version: v1|v2}").selects(&object).unwrap()
        );
        assert!(selector("{namespace: default}").selects(&object).unwrap());
        object.remember_id();
        object.set_name("my-web");
        assert!(selector("{name: web}").selects(&object).unwrap());
        assert!(selector("{name: my-web}").selects(&object).unwrap());
        assert!(!selector("{name: my}").selects(&object).unwrap());
    }

    #[test]
    fn labels_and_annotations_are_asked_too() {
        let object = resource(
            "{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: x}, annotations: {b: c}}}",
        );
        assert!(selector("{labelSelector: app=x}").selects(&object).unwrap());
        assert!(!selector("{labelSelector: app!=x}").selects(&object).unwrap());
        assert!(selector("{annotationSelector: 'b in (c,d)'}").selects(&object).unwrap());
        assert!(selector("{labelSelector: '==='}").selects(&object).is_err());
        assert!(!selector("{kind: Service, labelSelector: '==='}").selects(&object).unwrap());
    }

    #[test]
    fn a_selector_is_shown_as_upstream_shows_it() {
        assert_eq!(
            selector("{kind: Pod, labelSelector: a}").to_string(),
            "Pod.[noVer].[noGrp]/[noName].[noNs]:a=:l=a"
        );
    }
}
