//! The one place that knows how the engine is called.

use std::fs;
use std::path::Path;

use holdfast_manifest::files::{Files, Memory};

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
    let _ = (files, path, options);
    Err("the engine cannot build yet".to_owned())
}

/// Applies the transformer or generator of a configuration to the objects of a text. Paths in the
/// configuration are relative to the root.
pub fn plugin(root: &Path, config: &str, input: Option<&str>) -> Result<String, String> {
    const CONFIG: &str = ".config.yaml";
    const INPUT: &str = ".input.yaml";
    let mut files = Memory::new();
    read_all(root, "", &mut files)?;
    files.insert(CONFIG, config);
    let generates = config.lines().any(|line| {
        line.strip_prefix("kind:").is_some_and(|kind| kind.trim().ends_with("Generator"))
    });
    let field = if generates { "generators" } else { "transformers" };
    let mut kustomization = format!("{field}: [{CONFIG}]\n");
    if let Some(input) = input {
        files.insert(INPUT, input);
        kustomization += &format!("resources: [{INPUT}]\n");
    }
    files.insert("kustomization.yaml", kustomization);
    build(&files, "", Options { legacy_order: false, stay_in_folder: true })
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
