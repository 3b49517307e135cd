//! The registry of resource types: built-in ones and those that CRDs define.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::builtin;
use crate::resource::Resource;

/// Group → version → plural → resource.
#[derive(Debug, Clone)]
pub struct Kinds {
    groups: BTreeMap<String, BTreeMap<String, BTreeMap<String, Arc<Resource>>>>,
    /// Built-in groups in discovery's order.
    order: Vec<String>,
}

impl Default for Kinds {
    fn default() -> Self {
        let mut kinds = Self { groups: BTreeMap::new(), order: Vec::new() };
        for resource in builtin::resources() {
            if !kinds.order.contains(&resource.group) {
                kinds.order.push(resource.group.clone());
            }
            kinds.insert(resource.clone());
        }
        kinds
    }
}

impl Kinds {
    /// Adds or replaces a resource.
    pub fn insert(&mut self, resource: Arc<Resource>) {
        self.groups
            .entry(resource.group.clone())
            .or_default()
            .entry(resource.version.clone())
            .or_default()
            .insert(resource.plural.clone(), resource);
    }

    /// Removes every version of a custom resource.
    pub fn remove(&mut self, group: &str, plural: &str) {
        if let Some(versions) = self.groups.get_mut(group) {
            for resources in versions.values_mut() {
                resources.remove(plural);
            }
            versions.retain(|_, resources| !resources.is_empty());
            if versions.is_empty() {
                self.groups.remove(group);
            }
        }
    }

    /// One resource type.
    pub fn get(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.groups.get(group)?.get(version)?.get(plural)
    }

    /// The resource of a kind, in the given version or, if empty, the stored one.
    pub fn by_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<Resource>> {
        let versions = self.groups.get(group)?;
        let mut found = versions
            .iter()
            .filter(|(name, _)| version.is_empty() || *name == version)
            .flat_map(|(_, resources)| resources.values())
            .filter(|resource| resource.kind == kind);
        let first = found.next()?;
        Some(if first.storage { first } else { found.find(|r| r.storage).unwrap_or(first) })
    }

    /// The version of a resource that is stored.
    pub fn stored(&self, group: &str, plural: &str) -> Option<&Arc<Resource>> {
        let versions = self.groups.get(group)?;
        let mut found = versions.values().filter_map(|resources| resources.get(plural));
        let first = found.next()?;
        Some(if first.storage { first } else { found.find(|r| r.storage).unwrap_or(first) })
    }

    /// The resource whose objects lie in this table, in its stored version.
    pub fn of_table(&self, table: &str) -> Option<&Arc<Resource>> {
        let (group, plural) = table.split_once('/')?;
        self.stored(group, plural)
    }

    /// Whether the group exists, and the version in it.
    pub fn has(&self, group: &str, version: &str) -> (bool, bool) {
        match self.groups.get(group) {
            None => (false, false),
            Some(versions) => (true, versions.contains_key(version)),
        }
    }

    /// Whether the group is one of the server's own.
    pub fn is_built_in(&self, group: &str) -> bool {
        self.order.iter().any(|own| own == group)
    }

    /// All groups: the server's own in their order, then custom ones by name.
    pub fn groups(&self) -> Vec<&str> {
        let own = self.order.iter().map(String::as_str);
        let custom = self.groups.keys().map(String::as_str).filter(|g| !self.is_built_in(g));
        own.chain(custom).collect()
    }

    /// Versions of a group, the preferred one first.
    pub fn versions(&self, group: &str) -> Vec<&str> {
        let mut versions: Vec<&str> = self
            .groups
            .get(group)
            .map(|versions| versions.keys().map(String::as_str).collect())
            .unwrap_or_default();
        versions.sort_by(|a, b| version_rank(b).cmp(&version_rank(a)).then(a.cmp(b)));
        versions
    }

    /// Resources of a group version, by plural.
    pub fn resources(&self, group: &str, version: &str) -> Vec<&Arc<Resource>> {
        self.groups
            .get(group)
            .and_then(|versions| versions.get(version))
            .map(|resources| resources.values().collect())
            .unwrap_or_default()
    }

    /// Every stored resource, for those who must look at all objects.
    pub fn all_stored(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.groups
            .values()
            .flat_map(BTreeMap::values)
            .flat_map(BTreeMap::values)
            .filter(|resource| resource.storage)
    }
}

/// Kubernetes' order of versions: v2, v1, v1beta2, v1beta1, v1alpha1, anything else.
fn version_rank(version: &str) -> (u8, u32, u8, u32) {
    let parse = || {
        let rest = version.strip_prefix('v')?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let major: u32 = rest[..digits].parse().ok()?;
        let (stage, minor) = match &rest[digits..] {
            "" => (2, 0),
            rest => match (rest.strip_prefix("beta"), rest.strip_prefix("alpha")) {
                (Some(minor), _) => (1, minor.parse().ok()?),
                (_, Some(minor)) => (0, minor.parse().ok()?),
                _ => return None,
            },
        };
        Some((stage, major, minor))
    };
    match parse() {
        Some((stage, major, minor)) => (1, 0, stage, major * 1000 + minor),
        None => (0, 0, 0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ranked_as_kubernetes_ranks_them() {
        let mut versions = vec!["v1beta1", "foo", "v2", "v1alpha3", "v1", "v11", "v2beta1"];
        versions.sort_by(|a, b| version_rank(b).cmp(&version_rank(a)).then(a.cmp(b)));
        assert_eq!(versions, ["v11", "v2", "v1", "v2beta1", "v1beta1", "v1alpha3", "foo"]);
    }

    #[test]
    fn events_of_both_groups_lie_in_one_table() {
        let kinds = Kinds::default();
        let core = kinds.get("", "v1", "events").unwrap();
        let modern = kinds.get("events.k8s.io", "v1", "events").unwrap();
        assert_eq!(core.table, modern.table);
        assert_eq!(
            kinds.by_kind("autoscaling", "", "HorizontalPodAutoscaler").unwrap().version,
            "v2"
        );
    }
}
