//! A whole build: the layers, and what is done once at the end.

use super::accumulate::{Accumulated, Build, Layer, choose_schema, record};
use super::kustomization::{Kustomization, KustomizationFile};
use super::origin::{Place, TRANSFORMATIONS_ANNOTATION};
use super::resource::PreviousName;
use super::resources::placed;
use super::schema::Schema;
use super::{
    Loader, ORIGIN_ANNOTATION, Options, Resource, Resources, Step, generator, order, reference,
};
use crate::diagnostic::{Diagnostic, Result};
use crate::files::Files;
use crate::yaml::{Node, emit};

/// The kustomize whose results these are.
const VERSION: &str = "v5.8.1";

const LOCAL_ANNOTATION: &str = "config.kubernetes.io/local-config";
const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";

/// Annotations that other tools use among themselves, and that are taken away.
const INTERNAL_ANNOTATIONS: [&str; 19] = [
    "internal.config.kubernetes.io/previousKinds",
    "internal.config.kubernetes.io/previousNames",
    "internal.config.kubernetes.io/prefixes",
    "internal.config.kubernetes.io/suffixes",
    "internal.config.kubernetes.io/previousNamespaces",
    "internal.config.kubernetes.io/allowNameChange",
    "internal.config.kubernetes.io/allowKindChange",
    "internal.config.kubernetes.io/refBy",
    "internal.config.kubernetes.io/generatorBehavior",
    "internal.config.kubernetes.io/needsHashSuffix",
    "internal.config.kubernetes.io/path",
    "internal.config.kubernetes.io/index",
    "internal.config.kubernetes.io/seqindent",
    "internal.config.kubernetes.io/id",
    "internal.config.kubernetes.io/annotations-migration-resource-id",
    "config.kubernetes.io/path",
    "config.kubernetes.io/index",
    "config.k8s.io/id",
    "internal.config.kubernetes.io/helm-generated",
];

/// Builds the kustomization of a folder.
pub fn build(files: &dyn Files, path: &str, options: &Options<'_>) -> Result<Resources> {
    let loader = Loader::new(files, path, options)?;
    let file = KustomizationFile::find(&loader)?;
    build_file(&loader, &file)
}

/// Builds a kustomization that may not be in the files as it is.
pub fn build_file(loader: &Loader<'_>, file: &KustomizationFile) -> Result<Resources> {
    let says = file.read()?;
    let options = loader.options();
    let build = Build { options, schema: Schema::keeping(options.keep_schema) };
    choose_schema(&build.schema, loader, file, &says)?;
    let place = (!says.build_metadata.is_empty()).then(Place::default);
    let layer = Layer { build: &build, loader, file, says: &says, place, depth: 0 };
    let all = layer.accumulate(Accumulated::default())?;
    finish(&layer, all).map_err(|error| layer.here(error, crate::yaml::Mark::default()))
}

/// What is done once everything is there.
fn finish(layer: &Layer<'_>, all: Accumulated) -> Result<Resources> {
    let Accumulated { mut resources, config, variables } = all;
    let says = layer.says;
    let explain = layer.build.options.explain;
    let run = |resources: &mut Resources,
               name: &'static str,
               run: &mut dyn FnMut(&mut Resources) -> Result<()>|
     -> Result<()> {
        if explain {
            for resource in resources.iter_mut() {
                resource.before = Some(Box::new(resource.node.clone()));
            }
        }
        run(resources)?;
        if explain {
            let file = layer.file.path.clone();
            record(resources, &Step { name: name.into(), file, line: 0 });
        }
        Ok(())
    };
    refuse_commas(&resources)?;
    run(&mut resources, "hash of the content", &mut generator::hash::apply)?;
    run(&mut resources, "references to changed names", &mut |resources| {
        reference::fix_names(resources, &config)
    })?;
    run(&mut resources, "vars", &mut |resources| variables.resolve(resources, &config))?;
    drop_local(&mut resources)?;
    order::sort(&mut resources, says.sort.as_ref(), layer.build.options.reorder)?;
    let managed = says.wants("managedByLabel");
    for resource in &mut resources {
        if managed {
            set_managed_by(resource);
        }
        strip(resource, says)?;
    }
    Ok(resources)
}

/// Upstream keeps earlier names, namespaces and kinds in lists separated by commas and panics when a comma in
/// one of them makes the lists unequal, which Flux reports as a failed build: a name that SOPS encrypted does it.
fn refuse_commas(resources: &Resources) -> Result<()> {
    for resource in resources {
        let commas = |part: fn(&PreviousName) -> &str| -> usize {
            resource.previous.iter().map(|previous| part(previous).matches(',').count()).sum()
        };
        let names = commas(|previous| &previous.name);
        if names != commas(|previous| &previous.namespace)
            || names != commas(|previous| &previous.kind)
        {
            let error = Diagnostic::new("a comma in its name, namespace or kind cannot be renamed")
                .hint("do not encrypt names and kinds: restrict SOPS to `data` and `stringData`");
            return Err(placed(error, resource));
        }
    }
    Ok(())
}

/// Drops objects that only the build needs.
fn drop_local(resources: &mut Resources) -> Result<()> {
    for resource in resources.iter() {
        if resource.kind().is_empty() {
            return Err(placed(Diagnostic::new("missing kind in object"), resource));
        }
        if resource.name().is_empty() && !resource.kind().ends_with("List") {
            return Err(placed(Diagnostic::new("missing metadata.name in object"), resource));
        }
    }
    resources.list.retain(|resource| {
        resource.annotation(LOCAL_ANNOTATION).is_none_or(|value| value == "false")
    });
    resources.check_unique()
}

fn set_managed_by(resource: &mut Resource) {
    let labels = resource.metadata_mut().get_or_insert_with("labels", Node::mapping);
    if labels.is_null() {
        *labels = Node::mapping();
    }
    if let Some(labels) = labels.as_mapping_mut() {
        labels.set(MANAGED_BY_LABEL, Node::string(format!("kustomize-{VERSION}")));
    }
}

/// Takes away what only the build needs.
pub(super) fn strip(resource: &mut Resource, says: &Kustomization<'_>) -> Result<()> {
    if let Some(annotations) = resource.annotations() {
        if let Some(entry) = annotations.entry("") {
            let error = Diagnostic::new("an annotation has no name").at(entry.key.mark);
            return Err(placed(error, resource));
        }
        for key in INTERNAL_ANNOTATIONS {
            resource.remove_annotation(key);
        }
        if !says.wants("originAnnotations") {
            resource.remove_annotation(ORIGIN_ANNOTATION);
        }
        if !says.wants("transformerAnnotations") {
            resource.remove_annotation(TRANSFORMATIONS_ANNOTATION);
        }
    }
    resource.normalize_metadata("annotations");
    Ok(())
}

impl Resources {
    /// The objects as kustomize prints them.
    pub fn to_yaml(&self) -> Result<String> {
        let mut text = String::new();
        for (place, resource) in self.iter().enumerate() {
            if place > 0 {
                text.push_str("---\n");
            }
            emit::object(&resource.node, &mut text).map_err(|error| placed(error, resource))?;
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests;
