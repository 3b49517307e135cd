//! Which fields the transformers write: what upstream comes with, and what `configurations` and
//! `crds` add to it.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, OnceLock};

use super::Gvk;
use super::field::{FieldSpec, merge_all};
use crate::diagnostic::Result;
use crate::yaml::{Fields, Node, Text};

mod crd;
mod defaults;
mod rank;

/// The fields of every transformer.
#[derive(Clone, Debug)]
pub struct Config(Arc<Tables>);

/// Objects of a kind and the fields of others that hold their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameReference {
    /// The kind that is referred to.
    pub target: Gvk,
    /// The fields that refer to it.
    pub referrers: Vec<FieldSpec>,
}

/// The fields themselves.
#[derive(Debug, Default)]
pub struct Tables {
    /// Names that get a prefix.
    pub name_prefix: Arc<[FieldSpec]>,
    /// Names that get a suffix.
    pub name_suffix: Arc<[FieldSpec]>,
    /// Namespaces.
    pub namespace: Arc<[FieldSpec]>,
    /// Labels, and the selectors that match them.
    pub common_labels: Arc<[FieldSpec]>,
    /// Labels of every entry of `labels`.
    pub labels: Arc<[FieldSpec]>,
    /// Labels of objects and of what they are templates of.
    pub template_labels: Arc<[FieldSpec]>,
    /// Labels of claim templates.
    pub volume_claim_template_labels: Arc<[FieldSpec]>,
    /// Annotations.
    pub common_annotations: Arc<[FieldSpec]>,
    /// Where variables are expanded.
    pub var_reference: Arc<[FieldSpec]>,
    /// Images.
    pub images: Arc<[FieldSpec]>,
    /// Counts of replicas.
    pub replicas: Arc<[FieldSpec]>,
    /// Names of other objects.
    pub name_reference: Vec<NameReference>,
    by_referrer: OnceLock<ByReferrer>,
}

/// For a kind of referrer, the places of its fields in the list of references, in order.
#[derive(Debug, Default)]
struct ByReferrer {
    kinds: HashMap<Text, Vec<(usize, usize)>>,
    others: Vec<(usize, usize)>,
}

static EMPTY: LazyLock<Config> = LazyLock::new(|| Config(Arc::default()));
static DEFAULT: LazyLock<Config> = LazyLock::new(|| Config(Arc::new(defaults::tables())));

impl Default for Config {
    /// What upstream comes with.
    fn default() -> Self {
        DEFAULT.clone()
    }
}

impl std::ops::Deref for Config {
    type Target = Tables;

    fn deref(&self) -> &Tables {
        &self.0
    }
}

impl Config {
    /// One that writes nowhere.
    pub fn empty() -> Self {
        EMPTY.clone()
    }

    /// Whether it is what upstream comes with, unchanged.
    pub fn is_default(&self) -> bool {
        Arc::ptr_eq(&self.0, &DEFAULT.0)
    }

    /// A file of `configurations`.
    pub fn parse(node: &Node) -> Result<Self> {
        if node.is_null() {
            return Ok(Self::empty());
        }
        let mut fields = Fields::of(node, "a transformer configuration")?;
        let mut list = |name| -> Result<Arc<[FieldSpec]>> {
            let mut list = FieldSpec::parse_list(fields.list(name)?)?;
            rank::sort(&mut list, |field| &field.gvk);
            Ok(list.into())
        };
        let mut tables = Tables {
            name_prefix: list("namePrefix")?,
            name_suffix: list("nameSuffix")?,
            namespace: list("namespace")?,
            common_labels: list("commonLabels")?,
            labels: list("labels")?,
            template_labels: list("templateLabels")?,
            volume_claim_template_labels: list("volumeClaimTemplateLabels")?,
            common_annotations: list("commonAnnotations")?,
            var_reference: list("varReference")?,
            images: list("images")?,
            replicas: list("replicas")?,
            ..Tables::default()
        };
        let references = fields.list("nameReference")?;
        tables.name_reference =
            references.iter().map(NameReference::parse).collect::<Result<_>>()?;
        rank::sort(&mut tables.name_reference, |reference| &reference.target);
        fields.finish()?;
        Ok(Self(Arc::new(tables)))
    }

    /// A file of `crds`: definitions by name, whose properties tell what they refer to.
    pub fn from_crds(node: &Node) -> Result<Self> {
        Ok(Self(Arc::new(crd::tables(node)?)))
    }

    /// Both. Fields that are known already are not repeated; two that contradict are an error.
    pub fn merge(&self, other: &Self) -> Result<Self> {
        let is_empty = |config: &Self| Arc::ptr_eq(&config.0, &EMPTY.0);
        // The fields upstream comes with do not repeat themselves, so these need no comparison.
        if is_empty(other) || (self.is_default() && other.is_default()) {
            return Ok(self.clone());
        }
        if is_empty(self) && other.is_default() {
            return Ok(other.clone());
        }
        let (one, two) = (&*self.0, &*other.0);
        let both = |what: &str, one: &Arc<[FieldSpec]>, two: &Arc<[FieldSpec]>| {
            let mut list = one.to_vec();
            merge_all(&mut list, two)
                .map_err(|error| error.while_doing(format!("failed to merge {what} fieldSpec")))?;
            rank::sort(&mut list, |field| &field.gvk);
            Ok(list.into())
        };
        let mut tables = Tables {
            name_prefix: both("NamePrefix", &one.name_prefix, &two.name_prefix)?,
            name_suffix: both("NameSuffix", &one.name_suffix, &two.name_suffix)?,
            namespace: both("NameSpace", &one.namespace, &two.namespace)?,
            common_annotations: both(
                "CommonAnnotations",
                &one.common_annotations,
                &two.common_annotations,
            )?,
            common_labels: both("CommonLabels", &one.common_labels, &two.common_labels)?,
            labels: both("Labels", &one.labels, &two.labels)?,
            template_labels: both("TemplateLabels", &one.template_labels, &two.template_labels)?,
            volume_claim_template_labels: both(
                "VolumeClaimTemplateLabels",
                &one.volume_claim_template_labels,
                &two.volume_claim_template_labels,
            )?,
            var_reference: both("VarReference", &one.var_reference, &two.var_reference)?,
            images: both("Images", &one.images, &two.images)?,
            replicas: both("Replicas", &one.replicas, &two.replicas)?,
            name_reference: one.name_reference.clone(),
            by_referrer: OnceLock::new(),
        };
        for reference in &two.name_reference {
            add_reference(&mut tables.name_reference, reference)
                .map_err(|error| error.while_doing("failed to merge NameReference fieldSpec"))?;
        }
        rank::sort(&mut tables.name_reference, |reference| &reference.target);
        Ok(Self(Arc::new(tables)))
    }
}

impl Tables {
    /// The fields of a kind that may hold names of other objects, with what they refer to, in order.
    pub fn references_of(&self, kind: &str) -> impl Iterator<Item = (&Gvk, &FieldSpec)> {
        let index = self.by_referrer.get_or_init(|| ByReferrer::new(&self.name_reference));
        let places = index.kinds.get(kind).unwrap_or(&index.others);
        places.iter().map(|&(target, field)| {
            let reference = &self.name_reference[target];
            (&reference.target, &reference.referrers[field])
        })
    }
}

impl ByReferrer {
    fn new(references: &[NameReference]) -> Self {
        let mut index = Self::default();
        for referrer in references.iter().flat_map(|reference| &reference.referrers) {
            if !referrer.gvk.kind.is_empty() {
                index.kinds.entry(referrer.gvk.kind.clone()).or_default();
            }
        }
        for (target, reference) in references.iter().enumerate() {
            for (field, referrer) in reference.referrers.iter().enumerate() {
                if referrer.gvk.kind.is_empty() {
                    index.kinds.values_mut().for_each(|places| places.push((target, field)));
                    index.others.push((target, field));
                } else if let Some(places) = index.kinds.get_mut(&referrer.gvk.kind) {
                    places.push((target, field));
                }
            }
        }
        index
    }
}

impl NameReference {
    fn parse(node: &Node) -> Result<Self> {
        let mut fields = Fields::of(node, "a name reference")?;
        let target = Gvk {
            group: fields.text_or_empty("group")?,
            version: fields.text_or_empty("version")?,
            kind: fields.text_or_empty("kind")?,
        };
        let referrers = FieldSpec::parse_list(fields.list("fieldSpecs")?)?;
        fields.finish()?;
        Ok(Self { target, referrers })
    }
}

fn add_reference(list: &mut Vec<NameReference>, reference: &NameReference) -> Result<()> {
    let mut known = false;
    for other in list.iter_mut().filter(|other| other.target == reference.target) {
        merge_all(&mut other.referrers, &reference.referrers)?;
        known = true;
    }
    if !known {
        list.push(reference.clone());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::documents;

    fn config(text: &str) -> Result<Config> {
        Config::parse(&documents(text).unwrap().remove(0).root)
    }

    #[test]
    fn defaults_merged_with_themselves_are_the_defaults() {
        let config = Config::empty().merge(&Config::default()).unwrap();
        assert!(config.merge(&Config::default()).unwrap().is_default());
    }

    #[test]
    fn the_quick_way_through_the_defaults_is_the_long_way() {
        let own = Config(Arc::new(defaults::tables()));
        let merged = Config::empty().merge(&own).unwrap();
        assert!(!merged.is_default());
        assert_eq!(merged.common_labels, own.common_labels);
        assert_eq!(merged.name_reference, own.name_reference);
        assert_eq!(merged.var_reference, own.var_reference);
    }

    #[test]
    fn own_fields_are_added() {
        let own = config("images: [{kind: Foo, path: spec/image}]\nnameReference: [{kind: Secret, version: v1, fieldSpecs: [{kind: Foo, path: spec/secret}]}]").unwrap();
        let config = Config::default().merge(&own).unwrap();
        assert!(config.images.iter().any(|field| field.path.as_str() == "spec/image"));
        let references: Vec<_> = config.references_of("Foo").collect();
        assert_eq!(references.len(), 1);
        assert_eq!(references[0].0.kind, "Secret");
    }

    #[test]
    fn contradictions_are_refused() {
        let own = config("commonLabels: [{path: metadata/labels, create: false}]").unwrap();
        let error = Config::default().merge(&own).unwrap_err();
        assert!(error.to_string().contains("conflicting fieldspecs"), "{error}");
    }

    #[test]
    fn unknown_fields_are_refused() {
        assert!(config("image: []").is_err());
        assert!(config("images: [{paths: x}]").is_err());
    }

    #[test]
    fn references_of_a_kind_are_in_order() {
        let config = Config::default();
        let targets: Vec<_> =
            config.references_of("ClusterRole").map(|(gvk, _)| gvk.kind.as_str()).collect();
        assert_eq!(targets, ["ConfigMap", "Secret", "PersistentVolume"]);
        assert_eq!(config.references_of("Unknown").count(), 0);
    }
}
