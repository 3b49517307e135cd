//! `patchesJson6902`: JSON patches for objects of a name.

use super::settings;
use crate::diagnostic::{Diagnostic, Result};
use crate::kustomize::json_patch::JsonPatch;
use crate::kustomize::select::Selector;
use crate::kustomize::{Loader, Resource, Resources, memory};
use crate::yaml::{Mapping, Node};

/// One entry of `patchesJson6902`.
#[derive(Clone, Debug)]
pub struct Json6902Patch {
    patch: JsonPatch,
    target: Selector,
}

impl Json6902Patch {
    /// Reads an entry of a kustomization: `target`, and `path` or `patch`.
    pub fn from_entry(entry: &Node, loader: &Loader<'_>) -> Result<Self> {
        Self::read(entry, "patch", loader).map_err(|error| error.at(entry.mark))
    }

    /// From a configuration of its own: `target`, and `path` or `jsonOp`.
    pub fn from_config(config: &Node, loader: &Loader<'_>) -> Result<Self> {
        Self::read(config, "jsonOp", loader).map_err(|error| error.at(config.mark))
    }

    fn read(node: &Node, field: &str, loader: &Loader<'_>) -> Result<Self> {
        let target = settings::field(node, "target").map(Selector::read).transpose()?;
        let Some(target) = target.filter(|target| !target.name.is_empty()) else {
            return Err(Diagnostic::new("must specify the target name"));
        };
        let path = settings::text(node, "path")?;
        let written = settings::text(node, field)?;
        let (text, file) = match (path.as_str(), written.as_str()) {
            ("", "") => return Err(Diagnostic::new("empty file path and empty jsonOp")),
            ("", text) => (text.to_owned(), None),
            (path, "") => {
                let source = loader.read(path)?;
                let text = source.text()?.to_owned();
                if text.is_empty() {
                    let message = format!("patch file '{path}' empty seems to be empty");
                    return Err(Diagnostic::new(message));
                }
                (text, Some(source.path))
            }
            _ => {
                return Err(Diagnostic::new("must specify a file path or jsonOp, not both"));
            }
        };
        let patch = JsonPatch::parse(&text).map_err(|error| match &file {
            Some(file) => error.in_file(file.clone()),
            None => Diagnostic::new(error.message()),
        })?;
        if patch.is_empty() {
            let message = format!("patch appears to be empty; file={path}, JsonOp={text}");
            return Err(Diagnostic::new(message));
        }
        Ok(Self { patch, target })
    }

    /// Applies the patch to the objects of the target.
    pub fn apply(&self, resources: &mut Resources) -> Result<()> {
        for place in self.target.select(resources)? {
            if let Some(resource) = resources.list.get_mut(place) {
                apply_to(resource, &self.patch)?;
            }
        }
        Ok(())
    }
}

/// Applies a patch to an object.
///
/// Upstream remembers things in annotations: an object that something is remembered about has
/// annotations to add to, though none are written.
pub(super) fn apply_to(resource: &mut Resource, patch: &JsonPatch) -> Result<()> {
    let remembered = memory::annotations(resource);
    if !remembered.is_empty() {
        let annotations = resource.metadata_mut().get_or_insert_with("annotations", Node::mapping);
        memory::add_to(annotations, remembered.clone());
    }
    let result = patch.apply(&mut resource.node);
    if let Some(annotations) = annotations(resource) {
        for (key, _) in &remembered {
            annotations.remove(key);
        }
    }
    result.map_err(|error| {
        let id = resource.current_id();
        error.while_doing(format!("{id}"))
    })?;
    resource.normalize_metadata("annotations");
    resource.shared.separate();
    Ok(())
}

fn annotations(resource: &mut Resource) -> Option<&mut Mapping> {
    resource.node.get_mut("metadata")?.get_mut("annotations")?.as_mapping_mut()
}
