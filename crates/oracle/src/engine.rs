//! The one place that knows how the engine is called.

use std::fs;
use std::path::Path;

use holdfast_manifest::files::{Files, Memory};
use holdfast_manifest::kustomize::{self, Reorder, Restriction};

/// How to build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether the result is sorted as `kustomize build` does by default.
    pub legacy_order: bool,
    /// Whether files must lie in or below the folder that names them.
    pub stay_in_folder: bool,
}

/// Builds a folder.
pub fn build(files: &dyn Files, path: &str, options: Options) -> Result<String, String> {
    let options = kustomize::Options {
        reorder: if options.legacy_order { Reorder::Legacy } else { Reorder::None },
        restriction: if options.stay_in_folder { Restriction::RootOnly } else { Restriction::None },
        ..kustomize::Options::default()
    };
    let built = kustomize::build(files, path, &options).and_then(|built| built.to_yaml());
    built.map_err(|error| error.to_string())
}

/// Applies the transformer or generator of a configuration to the objects of a text. Paths in the
/// configuration are relative to the root.
pub fn plugin(root: &Path, config: &str, input: Option<&str>) -> Result<String, String> {
    let mut files = Memory::new();
    read_all(root, "", &mut files)?;
    let options = kustomize::Options::default();
    let run = || {
        let loader = kustomize::Loader::new(&files, "", &options)?;
        kustomize::run_plugin(&loader, config, input)?.to_yaml()
    };
    run().map_err(|error| error.to_string())
}

fn read_all(folder: &Path, prefix: &str, files: &mut Memory) -> Result<(), String> {
    if !folder.is_dir() {
        return Ok(());
    }
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            read_all(&entry.path(), &format!("{name}/"), files)?;
        } else {
            files.insert(&name, fs::read(entry.path()).map_err(failed)?);
        }
    }
    Ok(())
}
