//! Strategic merge patches: `patchesStrategicMerge`, and what `patches` shares with it.

use crate::diagnostic::{Diagnostic, Result};
use crate::kustomize::merge::merge;
use crate::kustomize::schema::Schema;
use crate::kustomize::shared::settle;
use crate::kustomize::transform::settings;
use crate::kustomize::{Loader, Origin, Resource, Resources, is_nothing, patches as patches_of};
use crate::yaml::{Mark, Node, Text};

/// Patches that find their objects by their own kind and name.
#[derive(Clone, Debug, Default)]
pub struct StrategicMergePatches {
    patches: Vec<Resource>,
}

impl StrategicMergePatches {
    /// From `patchesStrategicMerge`: each entry a path, or a patch itself.
    pub fn new(entries: &[(Text, Mark)], loader: &Loader<'_>) -> Result<Self> {
        let mut patches = Vec::new();
        for (entry, mark) in entries {
            if let Ok(nodes) = patches_of(entry) {
                patches.extend(nodes.into_iter().map(written_in_place));
                continue;
            }
            let source = loader.read(entry).map_err(|error| error.at(*mark))?;
            patches.extend(source.patches()?);
        }
        if patches.is_empty() {
            let files: Vec<_> = entries.iter().map(|(entry, _)| entry.as_str()).collect();
            let message = format!("patch appears to be empty; files={files:?}, Patch=");
            let mark = entries.first().map(|(_, mark)| *mark).unwrap_or_default();
            return Err(Diagnostic::new(message).at(mark));
        }
        Ok(Self { patches })
    }

    /// From a configuration of its own: `paths` and `patches`.
    pub fn from_config(config: &Node, loader: &Loader<'_>) -> Result<Self> {
        let paths = settings::list(config, "paths")?;
        let text = settings::text(config, "patches")?;
        if paths.is_empty() && text.is_empty() {
            return Err(Diagnostic::new("empty file path and empty patch content").at(config.mark));
        }
        let paths: Vec<(Text, Mark)> =
            paths.iter().map(|path| (path.text().unwrap_or_default().into(), path.mark)).collect();
        let mut result = if paths.is_empty() {
            Self::default()
        } else {
            let loaded = Self::new(&paths, loader);
            if text.is_empty() { loaded? } else { loaded.unwrap_or_default() }
        };
        if !text.is_empty() {
            result.patches.extend(patches_of(&text)?.into_iter().map(written_in_place));
        }
        if result.patches.is_empty() {
            return Err(Diagnostic::new(format!(
                "patch appears to be empty; files=[], Patch={text}"
            ))
            .at(config.mark));
        }
        Ok(result)
    }

    /// Lays each patch over the object of its id.
    pub fn apply(&self, resources: &mut Resources, schema: &Schema) -> Result<()> {
        for patch in &self.patches {
            let place = target(resources, patch, schema).map_err(|error| placed(error, patch))?;
            let result = apply_selected(resources, &[place], patch, schema);
            result.map_err(|error| placed(error, patch))?;
        }
        Ok(())
    }
}

fn written_in_place(node: Node) -> Resource {
    Resource::new(node, Origin::default())
}

/// Says where the patch is written, unless something more precise is known.
pub(super) fn placed(error: Diagnostic, patch: &Resource) -> Diagnostic {
    match &patch.origin.file {
        Some(file) => error.at(patch.node.mark).in_file(file.clone()),
        None => error,
    }
}

/// The one object that is or was called like the patch.
pub(super) fn target(resources: &Resources, patch: &Resource, schema: &Schema) -> Result<usize> {
    let mut id = patch.current_id();
    id.cluster_scoped |= schema.is_cluster_scoped(&id.gvk);
    let failed = |how: &str| {
        let message = format!("{how} for Id {id}; failed to find unique target for patch {id}");
        Err(Diagnostic::new(message))
    };
    match resources.ever_called(&id).as_slice() {
        [place] => Ok(*place),
        [] => {
            let near = resources.iter().find(|resource| resource.name() == patch.name());
            failed("no matches").map_err(|error| match near {
                Some(near) => error.hint(format!("there is {}", near.current_id())),
                None => {
                    error.hint("a patch names its object by apiVersion, kind, name and namespace")
                }
            })
        }
        _ => failed("multiple matches"),
    }
}

/// Lays a patch over the objects at these places, whatever the patch calls them, and drops what is
/// empty then.
pub(super) fn apply_selected(
    resources: &mut Resources,
    places: &[usize],
    patch: &Resource,
    schema: &Schema,
) -> Result<()> {
    for place in places {
        let Some(resource) = resources.list.get_mut(*place) else { continue };
        let mut copy = patch.clone();
        copy.normalize_metadata("labels");
        copy.normalize_metadata("annotations");
        let namespace = copy.namespace().to_owned();
        copy.set_namespace(&namespace);
        let versioned = !resource.api_version().is_empty();
        let kind = copy.kind().to_owned();
        if versioned {
            copy.set_gvk(&resource.gvk());
            copy.set_kind(&kind);
        } else if let Some(patch) = copy.node.as_mapping_mut() {
            patch.remove("apiVersion");
        }
        apply_one(resource, &mut copy, schema)?;
        if let Some(object) = resource.node.as_mapping_mut().filter(|_| !versioned) {
            // Upstream gives the patch the object's version, and no version is written as null.
            object.set("apiVersion", Node::null());
        }
    }
    resources.drop_empty();
    if !places.is_empty() {
        resources.check_unique()?;
    }
    Ok(())
}

/// Lays a patch over an object. Its name and kind stay unless the patch may change them; its namespace
/// stays in any case.
pub(super) fn apply_one(
    resource: &mut Resource,
    patch: &mut Resource,
    schema: &Schema,
) -> Result<()> {
    let (name, namespace) = (resource.name().to_owned(), resource.namespace().to_owned());
    let kind = resource.kind().to_owned();
    if patch.allow_name_change || patch.allow_kind_change {
        resource.remember_id();
    }
    let forgets = takes_annotations_away(&patch.node);
    if !merge(&mut resource.node, &mut patch.node, schema)? {
        resource.node = Node::null();
        return Ok(());
    }
    if is_nothing(&resource.node) {
        return Ok(());
    }
    if forgets {
        resource.forget();
    }
    if !patch.allow_kind_change && resource.kind() != kind {
        resource.set_kind(&kind);
    }
    if !patch.allow_name_change && resource.name() != name {
        resource.set_name(&name);
    }
    // One that is there and empty goes, too.
    if namespace.is_empty() || resource.namespace() != namespace {
        resource.set_namespace(&namespace);
    }
    settle(resource);
    Ok(())
}

/// Whether a patch removes or replaces all annotations, those included that upstream remembers things
/// in.
fn takes_annotations_away(patch: &Node) -> bool {
    let drops = |node: &Node| {
        let directive = node.get("$patch").and_then(Node::text);
        node.is_null() || matches!(directive, Some("delete" | "replace"))
    };
    let Some(metadata) = patch.get("metadata") else { return false };
    drops(metadata) || metadata.get("annotations").is_some_and(drops)
}
