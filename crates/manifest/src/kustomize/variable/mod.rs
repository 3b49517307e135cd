//! `vars`: values of fields that are written into other fields where `$(NAME)` stands.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::config::Config;
use super::field::{FieldSpec, Leaf};
use super::resources::placed;
use super::shared::settle;
use super::{Gvk, ResourceId, Resources};
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{Fields, Mark, Node, Tag, Text, Value};

mod expansion;

pub use expansion::Content;
pub(super) use expansion::shortest;

/// A variable.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: Text,
    /// The object the value is taken from, under any of its names; without a namespace, in any.
    pub object: ResourceId,
    /// The field the value is taken from.
    pub field: Text,
    /// The file it was written in.
    pub file: Option<Arc<str>>,
    /// Where it was written.
    pub mark: Mark,
}

/// The variables of a build.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    by_name: BTreeMap<Text, Variable>,
}

impl Variable {
    /// An entry of `vars` of a kustomization.
    pub fn parse(node: &Node) -> Result<Self> {
        let mut fields = Fields::of(node, "an entry of `vars`")?;
        let name = fields.text_or_empty("name")?;
        let object = match fields.node("objref") {
            Some(node) => object(node)?,
            None => ResourceId::default(),
        };
        let mut field = Text::default();
        if let Some(node) = fields.node("fieldref") {
            let mut fields = Fields::of(node, "`fieldref` of a variable")?;
            field = fields.text_or_empty("fieldPath")?;
            fields.finish()?;
        }
        fields.finish()?;
        let field = if field.is_empty() { "metadata.name".into() } else { field };
        Ok(Self { name, object, field, file: None, mark: node.mark })
    }
}

fn object(node: &Node) -> Result<ResourceId> {
    let mut fields = Fields::of(node, "`objref` of a variable")?;
    let api_version = fields.text_or_empty("apiVersion")?;
    let mut gvk = Gvk {
        group: fields.text_or_empty("group")?,
        version: fields.text_or_empty("version")?,
        kind: fields.text_or_empty("kind")?,
    };
    let name = fields.text_or_empty("name")?;
    let namespace = fields.text_or_empty("namespace")?;
    fields.finish()?;
    match api_version.split('/').collect::<Vec<_>>()[..] {
        [""] => {}
        [version] => gvk.version = version.into(),
        [group, version] => {
            gvk.group = group.into();
            gvk.version = version.into();
        }
        _ => {}
    }
    Ok(ResourceId { gvk, name, namespace, cluster_scoped: false })
}

impl Variables {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Adds the variables of a kustomization and notes which of its objects they are taken from, so
    /// that they are found again under whatever name.
    pub fn claim(&mut self, incoming: &[Variable], resources: &mut Resources) -> Result<()> {
        for variable in incoming {
            let wanted = &variable.object;
            let fits = |id: &ResourceId| {
                if wanted.namespace.is_empty() {
                    id.same_but_namespace(wanted)
                } else {
                    id.same(wanted)
                }
            };
            let places: Vec<usize> = (0..resources.list.len())
                .filter(|place| {
                    let resource = &resources.list[*place];
                    !resource.is_empty() && resource.ids().any(|id| fits(&id))
                })
                .collect();
            match places[..] {
                [] => {}
                [only] => resources.list[only].variables.push(variable.name.clone()),
                _ => {
                    let message = format!(
                        "found {} resId matches for var {} (unable to disambiguate)",
                        places.len(),
                        variable.name
                    );
                    return Err(variable
                        .placed(Diagnostic::new(message))
                        .hint("name the namespace of the object in `objref`"));
                }
            }
        }
        incoming.iter().try_for_each(|variable| self.add(variable.clone()))
    }

    /// Adds the variables of another kustomization.
    pub fn merge(&mut self, other: Self) -> Result<()> {
        other.by_name.into_values().try_for_each(|variable| self.add(variable))
    }

    fn add(&mut self, variable: Variable) -> Result<()> {
        if self.by_name.contains_key(&variable.name) {
            let message = format!("var '{}' already encountered", variable.name);
            let known = &self.by_name[&variable.name];
            let hint = match &known.file {
                Some(file) => format!("the other one is in {file}, line {}", known.mark.line),
                None => "rename one of the two".to_owned(),
            };
            return Err(variable.placed(Diagnostic::new(message)).hint(hint));
        }
        self.by_name.insert(variable.name.clone(), variable);
        Ok(())
    }

    /// Writes the values where the variables stand.
    pub fn resolve(&self, resources: &mut Resources, config: &Config) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let mut values = BTreeMap::new();
        for (name, variable) in &self.by_name {
            values.insert(name.clone(), variable.value(resources)?);
        }
        for resource in &mut resources.list {
            for field in config.var_reference.iter() {
                expand(&mut resource.node, field, &|name| values.get(name).cloned())
                    .map_err(|error| placed(error, resource))?;
            }
            settle(resource);
        }
        Ok(())
    }
}

impl Variable {
    /// With the file it was written in.
    #[must_use]
    pub fn in_file(mut self, file: Arc<str>) -> Self {
        self.file = Some(file);
        self
    }

    fn placed(&self, error: Diagnostic) -> Diagnostic {
        match &self.file {
            Some(file) => error.at(self.mark).in_file(file.clone()),
            None => error.at(self.mark),
        }
    }

    fn value(&self, resources: &Resources) -> Result<Content> {
        let Some(resource) =
            resources.list.iter().find(|resource| resource.variables.contains(&self.name))
        else {
            let message = format!(
                "var '{}' cannot be mapped to a field in the set of known resources: there is no {}",
                self.name, self.object
            );
            return Err(self.placed(Diagnostic::new(message)));
        };
        expansion::value_at(&resource.node, &self.field)
            .and_then(|found| {
                found.ok_or_else(|| Diagnostic::new(format!("{} has no such field", self.object)))
            })
            .map_err(|error| {
                // The place is the variable's, not the object's.
                let message = format!(
                    "field '{}' specified in var '{}' not found in corresponding resource: {}",
                    self.field,
                    self.name,
                    error.message()
                );
                self.placed(Diagnostic::new(message))
            })
    }
}

/// Expands variables in a field of an object. `value` knows them by name.
pub fn expand(
    object: &mut Node,
    field: &FieldSpec,
    value: &dyn Fn(&str) -> Option<Content>,
) -> Result<()> {
    field.apply_if_matching(object, Leaf::Nothing, &mut |node| {
        match &mut node.value {
            Value::Scalar(_) => expansion::expand(node, value),
            Value::Mapping(mapping) => {
                for entry in mapping.iter_mut() {
                    if entry.key.tag != Tag::Str {
                        let message = format!("invalid map key: value='{}'", entry.key.text);
                        return Err(Diagnostic::new(message).at(entry.key.mark));
                    }
                    expansion::expand(&mut entry.value, value);
                }
            }
            Value::Sequence(items) => {
                for item in items {
                    if item.as_scalar().is_none_or(|scalar| scalar.tag != Tag::Str) {
                        return Err(Diagnostic::new("invalid value type expect a string")
                            .at(item.mark)
                            .hint("put the value in quotes: variables are expanded in this list"));
                    }
                    expansion::expand(item, value);
                }
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests;
