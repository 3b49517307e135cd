//! Annotations for every object.

use std::sync::Arc;

use super::super::config::Config;
use super::super::field::FieldSpec;
use super::super::resources::placed;
use super::super::{Resource, Resources};
use super::{labels, settings};
use crate::diagnostic::Result;
use crate::yaml::{Node, Text};

/// Sets annotations.
#[derive(Clone, Debug)]
pub struct Annotations {
    /// The annotations, by key.
    pub pairs: Vec<(Text, Text)>,
    /// Where they are set.
    pub fields: Arc<[FieldSpec]>,
}

impl Annotations {
    /// `commonAnnotations` of a kustomization.
    pub fn common(mut pairs: Vec<(Text, Text)>, config: &Config) -> Self {
        pairs.sort();
        Self { pairs, fields: config.common_annotations.clone() }
    }

    /// From an object of kind `AnnotationsTransformer`.
    pub fn from_config(node: &Node) -> Result<Self> {
        let pairs = settings::texts(node, "annotations")?;
        Ok(Self { pairs, fields: settings::field_specs(node)?.into() })
    }

    /// Sets them.
    pub fn apply(&self, resources: &mut Resources) -> Result<()> {
        resources.list.iter_mut().try_for_each(|resource| {
            self.apply_to(resource).map_err(|error| placed(error, resource))
        })
    }

    /// Sets them in one object.
    pub fn apply_to(&self, resource: &mut Resource) -> Result<()> {
        labels::set_pairs(resource, &self.pairs, &self.fields)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::fixture::{resources, same};
    use super::*;

    #[test]
    fn templates_are_annotated_too() {
        let mut objects = resources(
            "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, annotations: {x: 1}}}",
        );
        let pairs = vec![("z".into(), "true".into()), ("x".into(), "y".into())];
        Annotations::common(pairs, &Config::default()).apply(&mut objects).unwrap();
        same(
            &objects,
            "{apiVersion: apps/v1, kind: Deployment,
              metadata: {name: a, annotations: {x: 'y', z: 'true'}},
              spec: {template: {metadata: {annotations: {x: 'y', z: 'true'}}}}}",
        );
    }
}
