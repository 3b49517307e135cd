//! The one place that knows how the engine is called.

use std::path::Path;

use holdfast_manifest::Diagnostic;
use holdfast_manifest::files::{Files, Folder, Memory};
use holdfast_manifest::flux::{self, BuildOptions, Kustomization, Variables};
use holdfast_manifest::kustomize::{self, Loader, Origin, Reorder, Resources, Restriction};
use holdfast_manifest::yaml::{self, emit};
use serde_json::Value;

use crate::generate::Template;

/// How to build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether the result is sorted as `kustomize build` does by default.
    pub legacy_order: bool,
    /// Whether files must lie in or below the folder that names them.
    pub stay_in_folder: bool,
}

impl From<Options> for kustomize::Options<'static> {
    fn from(options: Options) -> Self {
        Self {
            restriction: if options.stay_in_folder {
                Restriction::RootOnly
            } else {
                Restriction::None
            },
            reorder: if options.legacy_order { Reorder::Legacy } else { Reorder::None },
            ..Self::default()
        }
    }
}

/// Builds a folder.
pub fn build(files: &dyn Files, path: &str, options: Options) -> Result<String, String> {
    print(kustomize::build(files, path, &options.into()))
}

/// Applies the transformer or generator of a configuration to the objects of a text. Paths in the
/// configuration are relative to the root.
pub fn plugin(root: &Path, config: &str, input: Option<&str>) -> Result<String, String> {
    let options = Options { legacy_order: false, stay_in_folder: true }.into();
    let empty = Memory::new();
    let folder = if root.is_dir() { Some(Folder::new(root).map_err(said)?) } else { None };
    let files: &dyn Files = match &folder {
        Some(folder) => folder,
        None => &empty,
    };
    let loader = Loader::new(files, "", &options).map_err(said)?;
    print(kustomize::run_plugin(&loader, config, input))
}

/// Builds a Flux Kustomization, with the ConfigMaps and Secrets of the cluster.
pub fn flux(
    files: &dyn Files,
    kustomization: &Value,
    objects: &[Value],
    strict: bool,
) -> Result<String, String> {
    let object = yaml::documents(&kustomization.to_string()).map_err(said)?.swap_remove(0).root;
    let read = Kustomization::read(&object, Origin::default(), "flux-system").map_err(said)?;
    let post = &kustomization["spec"]["postBuild"];
    let mut variables =
        Variables::new().strict(strict).always(post["substituteStrategy"] == "Always");
    for from in post["substituteFrom"].as_array().into_iter().flatten() {
        let held = objects.iter().find(|object| object["metadata"]["name"] == from["name"]);
        for (name, value) in held.and_then(|held| held["data"].as_object()).into_iter().flatten() {
            variables.set(name.as_str(), value.as_str().unwrap_or_default());
        }
    }
    for (name, value) in post["substitute"].as_object().into_iter().flatten() {
        variables.set(name.as_str(), value.as_str().unwrap_or_default());
    }
    let built = flux::build(files, &read, &variables, &BuildOptions::default()).map_err(said)?;
    let mut text = String::new();
    emit::objects(built.objects.iter().map(|object| &object.resource.node), &mut text)
        .map_err(said)?;
    Ok(text)
}

/// Puts variables into a text.
pub fn substitute(template: &Template) -> Result<String, String> {
    let mut variables = Variables::new().strict(template.strict);
    for (name, value) in &template.variables {
        variables.set(name.as_str(), value);
    }
    variables.text(&template.text).map(|done| done.content).map_err(said)
}

fn print(built: Result<Resources, Diagnostic>) -> Result<String, String> {
    let built = built.map_err(said)?;
    let mut text = String::new();
    emit::objects(built.iter().map(|resource| &resource.node), &mut text).map_err(said)?;
    Ok(text)
}

fn said(error: Diagnostic) -> String {
    error.to_string()
}
