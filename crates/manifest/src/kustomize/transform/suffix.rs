//! A suffix for names.

use std::sync::Arc;

use super::super::Resources;
use super::super::config::Config;
use super::super::field::setter::set_text;
use super::super::field::{FieldSpec, Leaf};
use super::super::resources::placed;
use super::prefix::{name_fields, renamed};
use super::settings;
use crate::diagnostic::Result;
use crate::yaml::{Node, Text};

/// Puts a suffix behind names.
#[derive(Clone, Debug)]
pub struct Suffix {
    /// The suffix.
    pub suffix: Text,
    /// The names.
    pub fields: Arc<[FieldSpec]>,
}

impl Suffix {
    /// `nameSuffix` of a kustomization.
    pub fn new(suffix: Text, config: &Config) -> Self {
        Self { suffix, fields: config.name_suffix.clone() }
    }

    /// From an object of kind `SuffixTransformer`.
    pub fn from_config(node: &Node) -> Result<Self> {
        let suffix = settings::text(node, "suffix")?;
        Ok(Self { suffix, fields: name_fields(node)? })
    }

    /// Puts it there.
    pub fn apply(&self, resources: &mut Resources) -> Result<()> {
        for resource in &mut resources.list {
            let Some(gvk) = renamed(resource) else { continue };
            for field in self.fields.iter().filter(|field| gvk.is_selected_by(&field.gvk)) {
                if field.path.as_str() == "metadata/name" && !self.suffix.is_empty() {
                    resource.suffixes.push(self.suffix.clone());
                    resource.remember_id();
                }
                let set = &mut |node: &mut Node| {
                    let old = node.as_scalar().map_or("", |scalar| scalar.text.as_str());
                    let new = format!("{old}{}", self.suffix);
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

#[cfg(test)]
mod tests {
    use super::super::super::fixture::{resources, same};
    use super::*;

    #[test]
    fn names_get_a_suffix() {
        let mut objects = resources("{apiVersion: v1, kind: Service, metadata: {name: a}}");
        Suffix::new("-s".into(), &Config::default()).apply(&mut objects).unwrap();
        same(&objects, "{apiVersion: v1, kind: Service, metadata: {name: a-s}}");
        assert_eq!(objects.list[0].suffixes, ["-s"]);
    }
}
