//! How many replicas an object has.

use std::sync::Arc;

use super::super::config::Config;
use super::super::field::setter::set_number;
use super::super::field::{FieldSpec, Leaf};
use super::super::resources::placed;
use super::super::{Gvk, Resource, Resources};
use super::settings;
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{Fields, Mark, Node, Text};

/// Sets the replicas of the objects of one name.
#[derive(Clone, Debug)]
pub struct Replicas {
    /// The name, now or before.
    pub name: Text,
    /// How many.
    pub count: i64,
    /// Where the count is written.
    pub fields: Arc<[FieldSpec]>,
    /// Where this was asked for.
    pub mark: Mark,
}

impl Replicas {
    /// An entry of `replicas` of a kustomization.
    pub fn parse(node: &Node, config: &Config) -> Result<Self> {
        let mut fields = Fields::of(node, "an entry of `replicas`")?;
        let name = fields.text_or_empty("name")?;
        let count = fields.number("count")?.unwrap_or(0);
        fields.finish()?;
        Ok(Self { name, count, fields: config.replicas.clone(), mark: node.mark })
    }

    /// From an object of kind `ReplicaCountTransformer`.
    pub fn from_config(node: &Node) -> Result<Self> {
        let empty = Node::mapping();
        let replica = settings::mapping(node, "replica")?.unwrap_or(&empty);
        Ok(Self {
            name: settings::text(replica, "name")?,
            count: settings::number(replica, "count")?,
            fields: settings::field_specs(node)?.into(),
            mark: node.mark,
        })
    }

    /// Sets it; no object of that name is an error.
    pub fn apply(&self, resources: &mut Resources) -> Result<()> {
        let mut found = false;
        for field in self.fields.iter() {
            for resource in &mut resources.list {
                if self.means(resource, &field.gvk) {
                    found = true;
                    self.apply_field(field, &mut resource.node)
                        .map_err(|error| placed(error, resource))?;
                }
            }
        }
        if found {
            return Ok(());
        }
        let kinds: Vec<String> = self.fields.iter().map(|field| field.gvk.to_string()).collect();
        let message = format!(
            "resource with name {} does not match a config with the following GVK [{}]",
            self.name,
            kinds.join(" ")
        );
        let hint = format!("nothing of these kinds is or was called `{}`", self.name);
        Err(Diagnostic::new(message).at(self.mark).hint(hint))
    }

    /// Sets it in one field of an object.
    pub fn apply_field(&self, field: &FieldSpec, object: &mut Node) -> Result<()> {
        field.apply_if_matching(object, Leaf::Scalar, &mut |node| set_number(node, self.count))
    }

    fn means(&self, resource: &Resource, selector: &Gvk) -> bool {
        let selected = |kind: &str| selector.kind.is_empty() || selector.kind == kind;
        let gvk = resource.gvk();
        let of_group = (selector.group.is_empty() || selector.group == gvk.group)
            && (selector.version.is_empty() || selector.version == gvk.version);
        let before =
            || resource.previous.iter().any(|id| id.name == self.name && selected(&id.kind));
        of_group && ((resource.name() == self.name && selected(&gvk.kind)) || before())
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::fixture::{node, resources, same};
    use super::*;

    #[test]
    fn the_named_one_by_any_of_its_names() {
        let mut objects = resources(
            "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: b}, spec: {replicas: 1}}",
        );
        objects.list[1].remember_id();
        set_name(&mut objects.list[1], "c");
        let five = Replicas::parse(&node("{name: b, count: 5}"), &Config::default()).unwrap();
        five.apply(&mut objects).unwrap();
        same(
            &objects,
            "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: c}, spec: {replicas: 5}}",
        );
    }

    fn set_name(resource: &mut Resource, name: &str) {
        resource
            .node
            .get_mut("metadata")
            .unwrap()
            .as_mapping_mut()
            .unwrap()
            .set("name", Node::string(name));
    }

    #[test]
    fn nobody_of_that_name_is_an_error() {
        let mut objects = resources("{apiVersion: v1, kind: Service, metadata: {name: b}}");
        let five = Replicas::parse(&node("{name: b, count: 5}"), &Config::default()).unwrap();
        assert!(five.apply(&mut objects).is_err());
    }
}
