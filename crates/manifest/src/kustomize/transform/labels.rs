//! Labels for every object, and for the selectors that have to match them.

use std::sync::Arc;

use super::super::config::Config;
use super::super::field::setter::set_entry;
use super::super::field::{FieldSpec, Leaf, merge_all, merge_one};
use super::super::resources::placed;
use super::super::{Gvk, Resource, Resources, shared};
use super::settings;
use crate::diagnostic::Result;
use crate::yaml::{Fields, Node, Text};

/// The path of the labels in claim templates.
const CLAIM_TEMPLATES: &str = "spec/volumeClaimTemplates[]/metadata/labels";

/// Sets labels.
#[derive(Clone, Debug)]
pub struct Labels {
    /// The labels, by key.
    pub pairs: Vec<(Text, Text)>,
    /// Where they are set.
    pub fields: Arc<[FieldSpec]>,
}

/// An entry of `labels` in a kustomization.
#[derive(Clone, Debug, Default)]
pub struct LabelEntry {
    /// The labels.
    pub pairs: Vec<(Text, Text)>,
    /// Whether selectors get them, and templates with them.
    pub include_selectors: bool,
    /// Whether templates get them.
    pub include_templates: bool,
    /// Whether claim templates get them. If it is not said they do whenever templates do.
    pub include_volume_claim_templates: Option<bool>,
    /// Where else they are set.
    pub fields: Vec<FieldSpec>,
}

impl LabelEntry {
    /// As it stands in a kustomization.
    pub fn parse(node: &Node) -> Result<Self> {
        let mut fields = Fields::of(node, "an entry of `labels`")?;
        let entry = Self {
            pairs: fields.text_map("pairs")?,
            include_selectors: fields.flag("includeSelectors")?,
            include_templates: fields.flag("includeTemplates")?,
            include_volume_claim_templates: fields.boolean("includeVolumeClaimTemplates")?,
            fields: FieldSpec::parse_list(fields.list("fields")?)?,
        };
        fields.finish()?;
        Ok(entry)
    }
}

impl Labels {
    /// `commonLabels` of a kustomization.
    pub fn common(mut pairs: Vec<(Text, Text)>, config: &Config) -> Self {
        pairs.sort();
        Self { pairs, fields: config.common_labels.clone() }
    }

    /// An entry of `labels` of a kustomization.
    pub fn of_entry(entry: &LabelEntry, config: &Config) -> Result<Self> {
        let mut pairs = entry.pairs.clone();
        pairs.sort();
        if entry.include_selectors && entry.fields.is_empty() && config.is_default() {
            return Ok(Self { pairs, fields: config.common_labels.clone() });
        }
        let fields = fields_of(entry, config)
            .map_err(|error| error.while_doing("failed to merge labels"))?;
        Ok(Self { pairs, fields: fields.into() })
    }

    /// From an object of kind `LabelTransformer`.
    pub fn from_config(node: &Node) -> Result<Self> {
        let pairs = settings::texts(node, "labels")?;
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
        set_pairs(resource, &self.pairs, &self.fields)
    }
}

fn fields_of(entry: &LabelEntry, config: &Config) -> Result<Vec<FieldSpec>> {
    let mut fields = entry.fields.clone();
    merge_all(&mut fields, &config.labels)?;
    if entry.include_selectors {
        merge_all(&mut fields, &config.common_labels)?;
        return Ok(fields);
    }
    let claims = entry.include_volume_claim_templates;
    if entry.include_templates {
        let wanted =
            |field: &&FieldSpec| claims != Some(false) || field.path.as_str() != CLAIM_TEMPLATES;
        config
            .template_labels
            .iter()
            .filter(wanted)
            .try_for_each(|field| merge_one(&mut fields, field))?;
    }
    if claims == Some(true) {
        let gvk = Gvk { group: "apps".into(), kind: "StatefulSet".into(), ..Gvk::default() };
        merge_one(&mut fields, &FieldSpec::new(gvk, CLAIM_TEMPLATES, true))?;
        merge_all(&mut fields, &config.volume_claim_template_labels)?;
    }
    merge_one(&mut fields, &FieldSpec::new(Gvk::default(), "metadata/labels", true))?;
    Ok(fields)
}

/// Sets entries of mappings in one object.
pub(super) fn set_pairs(
    resource: &mut Resource,
    pairs: &[(Text, Text)],
    fields: &[FieldSpec],
) -> Result<()> {
    if pairs.is_empty() {
        return Ok(());
    }
    let fields: Vec<&FieldSpec> =
        fields.iter().filter(|field| field.matches(&resource.node)).collect();
    let mut created = vec![0_usize; pairs.len()];
    let last = resource.shared.last();
    for field in &fields {
        // What upstream remembers about an object it keeps in annotations, so there are some.
        if field.path.as_str() == "metadata/annotations" && resource.has_memory() {
            resource.metadata_mut().get_or_insert_with("annotations", Node::mapping);
        }
        field.apply(&mut resource.node, Leaf::Mapping, &mut |node| {
            for (number, ((key, value), created)) in
                (last + 1..).zip(pairs.iter().zip(&mut created))
            {
                *created += usize::from(set_entry(node, key, || shared::value(value, number))?);
            }
            Ok(())
        })?;
    }
    if created.iter().any(|created| *created > 0) {
        for ((_, value), created) in pairs.iter().zip(created) {
            resource.shared.add(value, created > 1);
        }
    }
    shared::settle(resource);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::super::fixture::{node, resources, same};
    use super::*;

    const SET: &str = "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a},
        spec: {volumeClaimTemplates: [{metadata: {name: data}}]}}";

    fn labelled(entry: &str) -> Resources {
        let entry = LabelEntry::parse(&node(entry)).unwrap();
        let mut objects = resources(SET);
        Labels::of_entry(&entry, &Config::default()).unwrap().apply(&mut objects).unwrap();
        objects
    }

    #[test]
    fn only_the_object_itself() {
        same(
            &labelled("{pairs: {a: b}}"),
            "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, labels: {a: b}},
              spec: {volumeClaimTemplates: [{metadata: {name: data}}]}}",
        );
    }

    #[test]
    fn templates_and_claims() {
        same(
            &labelled("{pairs: {a: b}, includeTemplates: true}"),
            "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, labels: {a: b}},
              spec: {volumeClaimTemplates: [{metadata: {name: data, labels: {a: b}}}],
                     template: {metadata: {labels: {a: b}}}}}",
        );
        same(
            &labelled(
                "{pairs: {a: b}, includeTemplates: true, includeVolumeClaimTemplates: false}",
            ),
            "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, labels: {a: b}},
              spec: {volumeClaimTemplates: [{metadata: {name: data}}],
                     template: {metadata: {labels: {a: b}}}}}",
        );
    }

    #[test]
    fn selectors_too() {
        same(
            &labelled("{pairs: {a: b}, includeSelectors: true}"),
            "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, labels: {a: b}},
              spec: {volumeClaimTemplates: [{metadata: {name: data, labels: {a: b}}}],
                     selector: {matchLabels: {a: b}},
                     template: {metadata: {labels: {a: b}}}}}",
        );
    }

    #[test]
    fn fields_of_its_own() {
        same(
            &labelled("{pairs: {a: '1'}, fields: [{path: spec/x, create: true}]}"),
            "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, labels: {a: '1'}},
              spec: {volumeClaimTemplates: [{metadata: {name: data}}], x: {a: '1'}}}",
        );
    }
}
