//! The objects of a build, in order.

use std::collections::BTreeSet;

use super::{Behavior, Resource, ResourceId};
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{Mapping, Mark, Node, Scalar, Text, Value, emit};

/// The objects of a build, in the order they were added.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// The objects.
    pub list: Vec<Resource>,
}

/// From how many objects on a set of names pays off.
const MANY: usize = 32;

impl Resources {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// These, of which no two may have the same id.
    pub fn from_list(list: Vec<Resource>) -> Result<Self> {
        let mut resources = Self::new();
        resources.append_all(Self { list })?;
        Ok(resources)
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The objects in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Resource> {
        self.list.iter()
    }

    /// The objects in order, to change them.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Resource> {
        self.list.iter_mut()
    }

    /// The places of those that are called so now.
    pub fn called(&self, id: &ResourceId) -> Vec<usize> {
        self.places(|resource| resource.is_called(id))
    }

    /// The places of those that are or were called so.
    pub fn ever_called(&self, id: &ResourceId) -> Vec<usize> {
        self.places(|resource| !resource.is_empty() && resource.was_called(id))
    }

    /// The places of those of which the test is true for a name they have or had.
    pub fn with_any_id(&self, test: impl Fn(&ResourceId) -> bool) -> Vec<usize> {
        self.places(|resource| !resource.is_empty() && resource.ids().any(|id| test(&id)))
    }

    fn places(&self, test: impl Fn(&Resource) -> bool) -> Vec<usize> {
        let found = self.list.iter().enumerate().filter(|(_, resource)| test(resource));
        found.map(|(place, _)| place).collect()
    }

    /// Adds an object whose id is new.
    pub fn append(&mut self, resource: Resource) -> Result<()> {
        let id = resource.current_id();
        if let Some(known) = self.list.iter().find(|known| known.is_called(&id)) {
            return Err(conflict(&resource, known, &id));
        }
        self.list.push(resource);
        Ok(())
    }

    /// Adds objects whose ids are new.
    pub fn append_all(&mut self, other: Self) -> Result<()> {
        if self.list.len() + other.list.len() < MANY {
            return other.list.into_iter().try_for_each(|resource| self.append(resource));
        }
        let mut names: BTreeSet<Text> =
            self.list.iter().map(|resource| resource.name().into()).collect();
        for resource in other.list {
            if names.insert(resource.name().into()) {
                self.list.push(resource);
            } else {
                self.append(resource)?;
            }
        }
        Ok(())
    }

    /// Whether no two have the same id.
    pub fn check_unique(&self) -> Result<()> {
        let mut names = BTreeSet::new();
        for (place, resource) in self.list.iter().enumerate() {
            if names.insert(resource.name()) {
                continue;
            }
            let id = resource.current_id();
            if let Some(known) = self.list[..place].iter().find(|known| known.is_called(&id)) {
                return Err(conflict(resource, known, &id));
            }
        }
        Ok(())
    }

    /// Drops those of which nothing is left.
    pub fn drop_empty(&mut self) {
        self.list.retain(|resource| !resource.is_empty());
    }

    /// Adds what a generator made: new ones, or into those that are there.
    pub fn absorb_all(&mut self, other: Self) -> Result<()> {
        other.list.into_iter().try_for_each(|resource| self.absorb(resource))
    }

    /// Adds what a generator made, as its behavior says.
    pub fn absorb(&mut self, mut new: Resource) -> Result<()> {
        let id = new.current_id();
        match self.ever_called(&id).as_slice() {
            [] if matches!(new.behavior, Behavior::Merge | Behavior::Replace) => {
                let behavior = new.behavior.as_str();
                let message = format!("id {id} does not exist; cannot merge or replace");
                Err(placed(Diagnostic::new(message), &new).hint(format!(
                    "remove `behavior: {behavior}`, or add the base that has it to `resources`"
                )))
            }
            [] => self.append(new),
            [place] => {
                let old = &self.list[*place];
                match new.behavior {
                    Behavior::Replace => new.take_metadata_of(old),
                    Behavior::Merge => {
                        new.take_metadata_of(old);
                        new.origin = old.origin.clone();
                        merge_data(&mut new.node, &old.node, "data");
                        merge_data(&mut new.node, &old.node, "binaryData");
                        if let Some(origin) = old.annotation(super::ORIGIN_ANNOTATION) {
                            new.set_annotation(super::ORIGIN_ANNOTATION, origin);
                        }
                    }
                    behavior => {
                        let message = format!(
                            "id {id} exists; can not use behavior: '{}', behavior must be merge or replace",
                            behavior.as_str()
                        );
                        return Err(placed(Diagnostic::new(message), &new).hint(
                            "set `behavior: merge` or `behavior: replace`, or another name",
                        ));
                    }
                }
                if self.called(&new.current_id()) != [*place] {
                    let id = new.current_id();
                    let message = format!("cannot find resource with id {id} to replace");
                    return Err(placed(Diagnostic::new(message), &new));
                }
                self.list[*place] = new;
                Ok(())
            }
            several => {
                let names: Vec<String> = several
                    .iter()
                    .map(|place| self.list[*place].current_id().to_string())
                    .collect();
                let message = format!(
                    "found multiple objects [{}] that could accept merge of {id}",
                    names.join(", ")
                );
                Err(placed(Diagnostic::new(message), &new))
            }
        }
    }
}

impl IntoIterator for Resources {
    type Item = Resource;
    type IntoIter = std::vec::IntoIter<Resource>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

impl<'a> IntoIterator for &'a Resources {
    type Item = &'a Resource;
    type IntoIter = std::slice::Iter<'a, Resource>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut Resources {
    type Item = &'a mut Resource;
    type IntoIter = std::slice::IterMut<'a, Resource>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl Resource {
    /// Takes over name, namespace, memory, and the labels and annotations that are not set here.
    pub fn take_metadata_of(&mut self, other: &Self) {
        merge_texts(self, other, "labels");
        merge_texts(self, other, "annotations");
        self.set_name(other.name());
        self.set_namespace(other.namespace());
        self.previous.clone_from(&other.previous);
        self.prefixes.clone_from(&other.prefixes);
        self.suffixes.clone_from(&other.suffixes);
        self.referred_by.clone_from(&other.referred_by);
        self.variables.clone_from(&other.variables);
        self.behavior = other.behavior;
        self.generated = other.generated;
        self.needs_hash &= other.needs_hash;
        self.allow_name_change = other.allow_name_change;
        self.allow_kind_change = other.allow_kind_change;
        self.cluster_scoped = other.cluster_scoped;
        let mut history = other.history.clone();
        history.append(&mut self.history);
        self.history = history;
    }
}

/// The texts of a mapping.
fn texts(mapping: Option<&Mapping>) -> impl Iterator<Item = (&Text, Text)> {
    mapping.into_iter().flatten().map(|entry| {
        let text = entry.value.as_scalar().map(|scalar| scalar.text.clone());
        (&entry.key.text, text.unwrap_or_default())
    })
}

fn merge_texts(new: &mut Resource, old: &Resource, field: &str) {
    let old = old.node.at(&["metadata", field]).and_then(Node::as_mapping);
    for (key, value) in texts(old) {
        let metadata = new.metadata_mut().get_or_insert_with(field, Node::mapping);
        if let Value::Mapping(mapping) = &mut metadata.value
            && !mapping.contains(key)
        {
            mapping.put(key.clone(), Scalar::string(value).into());
        }
    }
    new.normalize_metadata(field);
}

fn merge_data(new: &mut Node, old: &Node, field: &str) {
    let mut merged = Mapping::new();
    let both = [old.get(field), new.get(field)];
    for entry in both.into_iter().flatten().filter_map(Node::as_mapping).flatten() {
        let text = entry.value.text().unwrap_or_default();
        // Upstream writes it out before anything else is done to it, and quotes stay.
        let style = emit::style_of(text);
        let scalar = Scalar { style, ..Scalar::string(text) };
        merged.put(entry.key.text.clone(), scalar.into());
    }
    let Some(new) = new.as_mapping_mut() else { return };
    new.remove(field);
    if !merged.is_empty() {
        new.set(field, merged.into());
    }
}

/// The diagnostic at the place the object came from.
pub(super) fn placed(diagnostic: Diagnostic, resource: &Resource) -> Diagnostic {
    let mark = Mark { line: resource.origin.line, column: 1, ..Mark::default() };
    match &resource.origin.file {
        Some(file) => diagnostic.in_file(file.clone()).at(mark),
        None => diagnostic,
    }
}

fn conflict(new: &Resource, known: &Resource, id: &ResourceId) -> Diagnostic {
    let message = format!("may not add resource with an already registered id: {id}");
    let diagnostic = placed(Diagnostic::new(message), new);
    match &known.origin.file {
        Some(file) if known.origin.line > 0 => {
            diagnostic.hint(format!("it is also in {file}, line {}", known.origin.line))
        }
        Some(file) => diagnostic.hint(format!("it also comes from {file}")),
        None => diagnostic,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kustomize::Origin;

    fn resource(text: &str) -> Resource {
        let node = crate::yaml::documents(text).unwrap().remove(0).root;
        Resource::new(node, Origin::default())
    }

    fn config_map(name: &str, data: &str) -> Resource {
        resource(&format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{{data}}}\n"
        ))
    }

    #[test]
    fn an_id_is_registered_once() {
        let mut resources = Resources::new();
        resources.append(config_map("one", "a: b")).unwrap();
        let error = resources.append(config_map("one", "c: d")).unwrap_err();
        assert_eq!(
            error.message(),
            "may not add resource with an already registered id: ConfigMap.v1.[noGrp]/one.[noNs]"
        );
        resources.append(config_map("two", "a: b")).unwrap();
        assert_eq!(resources.len(), 2);
    }

    #[test]
    fn a_generator_merges_into_what_was_renamed() {
        let mut resources = Resources::new();
        let mut old = config_map("one", "a: old, b: old");
        old.remember_id();
        old.set_name("my-one");
        old.prefixes.push("my-".into());
        resources.append(old).unwrap();
        let mut new = config_map("one", "b: new, c: new");
        new.behavior = Behavior::Merge;
        resources.absorb(new).unwrap();
        let merged = &resources.list[0];
        assert_eq!(merged.name(), "my-one");
        assert_eq!(merged.prefixes, ["my-"]);
        let data = |key| merged.node.at(&["data", key]).and_then(Node::text);
        assert_eq!([data("a"), data("b"), data("c")], [Some("old"), Some("new"), Some("new")]);
    }

    #[test]
    fn a_generator_says_what_to_do_with_what_is_there() {
        let mut resources = Resources::new();
        resources.append(config_map("one", "a: b")).unwrap();
        let error = resources.absorb(config_map("one", "a: b")).unwrap_err();
        assert!(error.message().contains("behavior must be merge or replace"), "{error}");
        let mut missing = config_map("two", "a: b");
        missing.behavior = Behavior::Merge;
        let error = resources.absorb(missing).unwrap_err();
        assert!(error.message().contains("cannot merge or replace"), "{error}");
    }

    #[test]
    fn many_are_compared_by_name_first() {
        let list = (0..100).map(|index| config_map(&format!("c{index}"), "a: b")).collect();
        let mut resources = Resources::from_list(list).unwrap();
        assert!(resources.append_all(Resources { list: vec![config_map("c7", "")] }).is_err());
        resources.list.push(config_map("c7", ""));
        assert!(resources.check_unique().is_err());
    }
}
