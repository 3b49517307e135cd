//! The steps of a kustomization that change objects, in upstream's order.

use super::accumulate::{Accumulated, Layer};
use super::origin::Maker;
use super::plugin;
use super::replacement::Replacements;
use super::resources::placed;
use super::transform::annotations::Annotations;
use super::transform::images::{Image, Images};
use super::transform::json6902::Json6902Patch;
use super::transform::labels::{LabelEntry, Labels};
use super::transform::namespace::Namespace;
use super::transform::patches::Patch;
use super::transform::prefix::Prefix;
use super::transform::replicas::Replicas;
use super::transform::strategic::StrategicMergePatches;
use super::transform::suffix::Suffix;
use crate::diagnostic::Result;
use crate::yaml::Mark;

impl Layer<'_> {
    /// Runs all steps of this kustomization.
    pub(super) fn transform(&self, all: &mut Accumulated) -> Result<()> {
        self.patch(all)?;
        self.rename(all)?;
        self.label(all)?;
        self.set_values(all)?;
        for config in self.plugins(&self.says.transformers)? {
            let maker = self.place.is_some().then(|| Maker::config(&config)).flatten();
            let name = || format!("transformers: {} {}", config.kind(), config.name());
            let run = |resources: &mut _| {
                plugin::transform(&config, resources, self).map_err(|error| placed(error, &config))
            };
            self.step(&mut all.resources, name, Mark::default(), maker.as_ref(), run)?;
        }
        Ok(())
    }

    /// What `buildMetadata` says about a step.
    fn maker(&self, kind: &str) -> Option<Maker> {
        self.place.as_ref().map(|place| Maker::builtin(place, self.file.name, kind))
    }

    fn patch(&self, all: &mut Accumulated) -> Result<()> {
        let schema = &self.build.schema;
        if let Some((_, mark)) = self.says.strategic_patches.first() {
            let maker = self.maker("PatchStrategicMergeTransformer");
            let name = || "patchesStrategicMerge".to_owned();
            self.step(&mut all.resources, name, *mark, maker.as_ref(), |resources| {
                StrategicMergePatches::new(&self.says.strategic_patches, self.loader)?
                    .apply(resources, schema)
            })?;
        }
        let maker = self.maker("PatchTransformer");
        for (index, node) in self.says.patches.iter().enumerate() {
            let name = || format!("patches[{index}]");
            self.step(&mut all.resources, name, node.mark, maker.as_ref(), |resources| {
                Patch::from_config(node, self.loader)?.apply(resources, schema)
            })?;
        }
        Ok(())
    }

    fn rename(&self, all: &mut Accumulated) -> Result<()> {
        let Accumulated { resources, config, .. } = all;
        if let Some((namespace, mark)) = &self.says.namespace {
            let maker = self.maker("NamespaceTransformer");
            let name = || "namespace".to_owned();
            self.step(resources, name, *mark, maker.as_ref(), |resources| {
                Namespace::new(namespace.clone(), config).apply(resources)
            })?;
        }
        if let Some((prefix, mark)) = &self.says.name_prefix {
            let maker = self.maker("PrefixTransformer");
            let name = || "namePrefix".to_owned();
            self.step(resources, name, *mark, maker.as_ref(), |resources| {
                Prefix::new(prefix.clone(), config).apply(resources)
            })?;
        }
        if let Some((suffix, mark)) = &self.says.name_suffix {
            let maker = self.maker("SuffixTransformer");
            let name = || "nameSuffix".to_owned();
            self.step(resources, name, *mark, maker.as_ref(), |resources| {
                Suffix::new(suffix.clone(), config).apply(resources)
            })?;
        }
        Ok(())
    }

    fn label(&self, all: &mut Accumulated) -> Result<()> {
        let Accumulated { resources, config, .. } = all;
        let maker = self.maker("LabelTransformer");
        for (index, node) in self.says.labels.iter().enumerate() {
            let name = || format!("labels[{index}]");
            self.step(resources, name, node.mark, maker.as_ref(), |resources| {
                Labels::of_entry(&LabelEntry::parse(node)?, config)?.apply(resources)
            })?;
        }
        // Upstream runs this one too where only `labels` are given, which can be seen in what
        // `buildMetadata` adds.
        if self.says.common_labels.is_some() || !self.says.labels.is_empty() {
            let (pairs, mark) = self.says.common_labels.clone().unwrap_or_default();
            let name = || "commonLabels".to_owned();
            self.step(resources, name, mark, maker.as_ref(), |resources| {
                Labels::common(pairs, config).apply(resources)
            })?;
        }
        if let Some((pairs, mark)) = &self.says.common_annotations {
            let maker = self.maker("AnnotationsTransformer");
            let name = || "commonAnnotations".to_owned();
            self.step(resources, name, *mark, maker.as_ref(), |resources| {
                Annotations::common(pairs.clone(), config).apply(resources)
            })?;
        }
        Ok(())
    }

    fn set_values(&self, all: &mut Accumulated) -> Result<()> {
        let Accumulated { resources, config, .. } = all;
        let maker = self.maker("PatchJson6902Transformer");
        for (index, node) in self.says.json_patches.iter().enumerate() {
            let name = || format!("patchesJson6902[{index}]");
            self.step(resources, name, node.mark, maker.as_ref(), |resources| {
                Json6902Patch::from_entry(node, self.loader)?.apply(resources)
            })?;
        }
        let maker = self.maker("ReplicaCountTransformer");
        for (index, node) in self.says.replicas.iter().enumerate() {
            let name = || format!("replicas[{index}]");
            self.step(resources, name, node.mark, maker.as_ref(), |resources| {
                Replicas::parse(node, config)?.apply(resources)
            })?;
        }
        let maker = self.maker("ImageTagTransformer");
        for (index, node) in self.says.images.iter().enumerate() {
            let name = || format!("images[{index}]");
            self.step(resources, name, node.mark, maker.as_ref(), |resources| {
                Images::new(Image::parse(node)?, node.mark, config)?.apply(resources)
            })?;
        }
        if let Some(node) = self.says.replacements.first() {
            let maker = self.maker("ReplacementTransformer");
            let name = || "replacements".to_owned();
            self.step(resources, name, node.mark, maker.as_ref(), |resources| {
                let mut replacements = Replacements::default();
                for entry in self.says.replacements {
                    replacements.add(entry, self.loader).map_err(|error| error.at(entry.mark))?;
                }
                replacements.apply(resources)
            })?;
        }
        Ok(())
    }
}
