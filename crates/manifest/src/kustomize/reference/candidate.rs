//! What is asked of every object while references are updated.

use super::super::{Gvk, Resource};
use crate::yaml::Text;

/// An object that could be referred to.
#[derive(Debug)]
pub struct Candidate {
    /// Its kind now.
    pub gvk: Gvk,
    /// Its name now.
    pub name: Text,
    /// Its namespace now, as it is written.
    pub namespace: Text,
    /// Whether it has none.
    pub cluster_scoped: bool,
    /// The namespace that counts.
    pub effective: Text,
    /// The namespace that counted at first.
    pub original: Text,
}

impl Candidate {
    /// What is known of an object.
    pub fn of(resource: &Resource) -> Self {
        let id = resource.current_id();
        let effective: Text = id.effective_namespace().into();
        let original = resource
            .previous
            .first()
            .map_or_else(|| effective.clone(), |first| first.namespace.clone());
        Self {
            gvk: id.gvk,
            name: id.name,
            namespace: id.namespace,
            cluster_scoped: id.cluster_scoped,
            effective,
            original,
        }
    }

    /// Reads again what a reference may have changed.
    pub fn refresh(&mut self, resource: &Resource) {
        if self.name != resource.name() || self.namespace != resource.namespace() {
            *self = Self::of(resource);
        }
    }

    /// The kind it had at first.
    pub fn original_gvk(&self, resource: &Resource) -> Gvk {
        let mut gvk = self.gvk.clone();
        if let Some(first) = resource.previous.first() {
            gvk.kind = first.kind.clone();
        }
        gvk
    }

    /// Whether it is or was of a kind.
    pub fn was(&self, resource: &Resource, kind: &Gvk) -> bool {
        (kind.group.is_empty() || kind.group == self.gvk.group)
            && (kind.version.is_empty() || kind.version == self.gvk.version)
            && resource
                .previous
                .iter()
                .any(|previous| kind.kind.is_empty() || kind.kind == previous.kind)
    }
}

/// Whether both were given the same prefixes and suffixes, from the outermost inwards as far as both
/// go. With `or_none`, having none of a sort fits every other.
pub fn same_affixes(one: &Resource, two: &Resource, or_none: bool) -> bool {
    let same = |one: &[Text], two: &[Text]| {
        let none = one.is_empty() || two.is_empty();
        if none { or_none || one.len() == two.len() } else { same_end(one, two) }
    };
    same(&one.prefixes, &two.prefixes) && same(&one.suffixes, &two.suffixes)
}

fn same_end(one: &[Text], two: &[Text]) -> bool {
    one.iter().rev().zip(two.iter().rev()).all(|(one, two)| one == two)
}
