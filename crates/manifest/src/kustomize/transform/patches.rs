//! `patches`: strategic merge and JSON patches, for objects that a target selects or that a patch names
//! itself.

use std::sync::Arc;

use super::strategic::{apply_one, apply_selected, placed, target};
use super::{json6902, settings};
use crate::diagnostic::{Diagnostic, Result};
use crate::kustomize::json_patch::JsonPatch;
use crate::kustomize::schema::Schema;
use crate::kustomize::select::Selector;
use crate::kustomize::{Loader, Origin, Resource, Resources, objects};
use crate::yaml::{Mark, Node, Style};

/// One entry of `patches`.
#[derive(Clone, Debug)]
pub struct Patch {
    content: Content,
    target: Option<Selector>,
    /// For messages: the path, or the patch itself.
    source: String,
    mark: Mark,
}

#[derive(Clone, Debug)]
enum Content {
    Strategic(Vec<Resource>),
    Json(JsonPatch, Option<Arc<str>>),
}

impl Patch {
    /// Reads an entry: `path` or `patch`, `target` and `options`.
    pub fn from_config(config: &Node, loader: &Loader<'_>) -> Result<Self> {
        let path = settings::text(config, "path")?;
        let written = settings::text(config, "patch")?;
        let patch = written.trim();
        let target = settings::field(config, "target").map(Selector::read).transpose()?;
        let (source, file, text, start) = match (patch, path.as_str()) {
            ("", "") => {
                return Err(Diagnostic::new("must specify one of patch and path").at(config.mark));
            }
            ("", path) => {
                let mark = settings::field(config, "path").map_or(config.mark, |node| node.mark);
                let file = loader.read(path).map_err(|error| {
                    error
                        .while_doing(format!("failed to get the patch file from path({path})"))
                        .at(mark)
                })?;
                let text = file.text()?.to_owned();
                (format!("[path: {path:?}]"), Some(file.path), text, 0)
            }
            (patch, "") => {
                // Of a block, the lines after its indicator are those of the patch.
                let node = settings::field(config, "patch");
                let is_block = node
                    .and_then(Node::as_scalar)
                    .is_some_and(|scalar| matches!(scalar.style, Style::Literal | Style::Folded));
                let start = node.filter(|_| is_block).map_or(0, |node| node.mark.line);
                (format!("[patch: {patch:?}]"), None, patch.to_owned(), start)
            }
            _ => {
                let message = "patch and path can't be set at the same time";
                return Err(Diagnostic::new(message).at(config.mark));
            }
        };
        let content = parse(&text, &source, file, start).map_err(|error| error.at(config.mark))?;
        let mut result = Self { content, target, source, mark: config.mark };
        if let Some(options) = settings::field(config, "options") {
            let rename = settings::flag(options, "allowNameChange")?;
            let change_kind = settings::flag(options, "allowKindChange")?;
            if let Content::Strategic(patches) = &mut result.content {
                for patch in patches.iter_mut().filter(|_| rename || change_kind) {
                    patch.allow_name_change = rename;
                    patch.allow_kind_change = change_kind;
                    patch.normalize_metadata("annotations");
                }
            }
        }
        Ok(result)
    }

    /// Applies the patch to the objects it is meant for.
    pub fn apply(&self, resources: &mut Resources, schema: &Schema) -> Result<()> {
        let result = match (&self.content, &self.target) {
            (Content::Strategic(patches), Some(target)) => {
                self.apply_to_selected(patches, target, resources, schema)
            }
            (Content::Strategic(patches), None) => self.apply_by_id(patches, resources, schema),
            (Content::Json(patch, _), _) if patch.is_empty() => Ok(()),
            (Content::Json(patch, file), Some(target)) => {
                let places = target.select(resources)?;
                let result = places.into_iter().try_for_each(|place| {
                    let Some(resource) = resources.list.get_mut(place) else { return Ok(()) };
                    resource.remember_id();
                    json6902::apply_to(resource, patch)
                });
                result.map_err(|error| match file {
                    Some(file) => error.in_file(file.clone()),
                    None => error,
                })
            }
            (Content::Json(..), None) => Err(Diagnostic::new(format!(
                "must specify a target for JSON patch {}",
                self.source
            ))),
        };
        result.map_err(|error| error.at(self.mark))
    }

    fn apply_to_selected(
        &self,
        patches: &[Resource],
        target: &Selector,
        resources: &mut Resources,
        schema: &Schema,
    ) -> Result<()> {
        let [patch] = patches else {
            if patches.is_empty() {
                return Ok(());
            }
            let message = format!(
                "Multiple Strategic-Merge Patches in one `patches` entry is not allowed to set `patches.target` field: {}",
                self.source
            );
            return Err(Diagnostic::new(message).hint("write one entry for each of them"));
        };
        let places = target.select(resources)?;
        apply_selected(resources, &places, patch, schema).map_err(|error| placed(error, patch))
    }

    fn apply_by_id(
        &self,
        patches: &[Resource],
        resources: &mut Resources,
        schema: &Schema,
    ) -> Result<()> {
        for patch in patches {
            let place = target(resources, patch, schema).map_err(|error| {
                let id = patch.current_id();
                let message = format!(
                    "no resource matches strategic merge patch \"{id}\": {}",
                    error.message()
                );
                let advice = error.advice().map(str::to_owned);
                let error = placed(Diagnostic::new(message), patch);
                match advice {
                    Some(advice) => error.hint(advice),
                    None => error,
                }
            })?;
            let Some(resource) = resources.list.get_mut(place) else { continue };
            let result = apply_one(resource, &mut patch.clone(), schema);
            result.map_err(|error| placed(error, patch))?;
        }
        resources.drop_empty();
        Ok(())
    }
}

/// Which kind of patch a text is: objects, or a list of operations.
fn parse(text: &str, source: &str, file: Option<Arc<str>>, start: u32) -> Result<Content> {
    let not_strategic = match objects(text) {
        Ok(nodes) => {
            let resource = |mut node: Node| {
                if file.is_none() {
                    // Places in a text within a text mean nothing by themselves.
                    node.mark = Mark::default();
                }
                let origin = Origin { file: file.clone(), line: node.mark.line };
                Resource::new(node, origin)
            };
            return Ok(Content::Strategic(nodes.into_iter().map(resource).collect()));
        }
        Err(error) => error,
    };
    let not_json = match JsonPatch::parse(text) {
        Ok(patch) if start > 0 => return Ok(Content::Json(patch.moved(start), file)),
        Ok(patch) => return Ok(Content::Json(patch, file)),
        Err(error) => error,
    };
    // A list was meant to be operations, all else an object.
    let is_list = text.trim_start().starts_with(['[', '-']) && !text.starts_with("---");
    let reason = if is_list { not_json } else { not_strategic };
    let message = format!("unable to parse SM or JSON patch from {source}: {}", reason.message());
    let mut error = Diagnostic::new(message);
    if let Some(mark) = reason.mark() {
        let known = file.is_some() || start > 0;
        error = if known { error.at(Mark { line: mark.line + start, ..mark }) } else { error };
    }
    if let Some(advice) = reason.advice() {
        error = error.hint(advice);
    }
    Err(match file {
        Some(file) => error.in_file(file),
        None => error,
    })
}
