//! A prefix for names.

use std::sync::Arc;

use super::super::config::Config;
use super::super::field::setter::set_text;
use super::super::field::{FieldSpec, Leaf};
use super::super::resources::placed;
use super::super::{Gvk, Resource, Resources};
use super::settings;
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{Node, Text};

/// Puts a prefix in front of names.
#[derive(Clone, Debug)]
pub struct Prefix {
    /// The prefix.
    pub prefix: Text,
    /// The names.
    pub fields: Arc<[FieldSpec]>,
}

impl Prefix {
    /// `namePrefix` of a kustomization.
    pub fn new(prefix: Text, config: &Config) -> Self {
        Self { prefix, fields: config.name_prefix.clone() }
    }

    /// From an object of kind `PrefixTransformer`.
    pub fn from_config(node: &Node) -> Result<Self> {
        let prefix = settings::text(node, "prefix")?;
        Ok(Self { prefix, fields: name_fields(node)? })
    }

    /// Puts it there.
    pub fn apply(&self, resources: &mut Resources) -> Result<()> {
        for resource in &mut resources.list {
            let Some(gvk) = renamed(resource) else { continue };
            for field in self.fields.iter().filter(|field| gvk.is_selected_by(&field.gvk)) {
                if field.path.as_str() == "metadata/name" && !self.prefix.is_empty() {
                    resource.prefixes.push(self.prefix.clone());
                    resource.remember_id();
                }
                let set = &mut |node: &mut Node| {
                    let old = node.as_scalar().map_or("", |scalar| scalar.text.as_str());
                    let new = format!("{}{old}", self.prefix);
                    set_text(node, new)
                };
                field
                    .apply_if_matching(&mut resource.node, Leaf::Scalar, set)
                    .map_err(|error| placed(error, resource))?;
            }
        }
        Ok(())
    }
}

/// The kind an object had at first, unless objects of that kind are never renamed.
pub(super) fn renamed(resource: &Resource) -> Option<Gvk> {
    let mut gvk = resource.gvk();
    if let Some(first) = resource.previous.first() {
        gvk.kind = first.kind.clone();
    }
    let fixed = match gvk.kind.as_str() {
        "CustomResourceDefinition" | "Namespace" => true,
        "APIService" => gvk.group == "apiregistration.k8s.io",
        _ => false,
    };
    (!fixed).then_some(gvk)
}

/// The names a configuration wants to change; it has to say which.
pub(super) fn name_fields(node: &Node) -> Result<Arc<[FieldSpec]>> {
    if settings::field(node, "fieldSpecs").is_none() {
        return Err(Diagnostic::new("fieldSpecs is not expected to be nil")
            .at(node.mark)
            .hint("name the fields to change, as in `fieldSpecs: [{path: metadata/name}]`"));
    }
    Ok(settings::field_specs(node)?.into())
}

#[cfg(test)]
mod tests {
    use super::super::super::fixture::{node, resources, same};
    use super::*;

    #[test]
    fn names_are_prefixed_but_not_all() {
        let mut objects = resources(
            "{apiVersion: v1, kind: Service, metadata: {name: a}}
--- 
{apiVersion: v1, kind: Namespace, metadata: {name: a}}",
        );
        Prefix::new("p-".into(), &Config::default()).apply(&mut objects).unwrap();
        same(
            &objects,
            "{apiVersion: v1, kind: Service, metadata: {name: p-a}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: a}}",
        );
        assert_eq!(objects.list[0].previous[0].name, "a");
        assert_eq!(objects.list[0].prefixes, ["p-"]);
        assert!(objects.list[1].previous.is_empty());
    }

    #[test]
    fn a_configuration_names_its_fields() {
        assert!(Prefix::from_config(&node("{prefix: a}")).is_err());
        let own = "{prefix: a-, fieldSpecs: [{kind: Foo, path: spec/name}]}";
        let mut objects =
            resources("{apiVersion: v1, kind: Foo, metadata: {name: b}, spec: {name: c}}");
        Prefix::from_config(&node(own)).unwrap().apply(&mut objects).unwrap();
        same(&objects, "{apiVersion: v1, kind: Foo, metadata: {name: b}, spec: {name: a-c}}");
        assert!(objects.list[0].previous.is_empty());
    }
}
