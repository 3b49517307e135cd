//! `patches`: strategic merge and JSON patches, for objects that a target selects or that a patch names
//! itself.

use std::sync::Arc;

use super::strategic::{apply_one, apply_selected, placed, target};
use super::{json6902, settings};
use crate::diagnostic::{Diagnostic, Result};
use crate::kustomize::json_patch::JsonPatch;
use crate::kustomize::schema::Schema;
use crate::kustomize::select::Selector;
use crate::kustomize::{Loader, Origin, Resource, Resources};
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
    let not_strategic = match crate::kustomize::patches(text) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Memory;
    use crate::kustomize::Options;
    use crate::yaml;

    const OBJECTS: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec: {replicas: 1}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, namespace: shop}
spec: {replicas: 1}
";

    fn patched(entry: &str) -> Result<Resources> {
        let list = crate::kustomize::objects(OBJECTS)?
            .into_iter()
            .map(|node| Resource::new(node, Origin::default()))
            .collect();
        let mut resources = Resources { list };
        let patch =
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 7}\n";
        let files = Memory::new().with("p.yaml", patch).with("bad.yaml", "a: [\n");
        let options = Options::default();
        let loader = Loader::new(&files, "", &options)?;
        let entry = yaml::documents(entry)?.remove(0).root;
        Patch::from_config(&entry, &loader)?.apply(&mut resources, &Schema::new())?;
        Ok(resources)
    }

    fn replicas(entry: &str) -> Vec<String> {
        let resources = patched(entry).unwrap();
        let text = |resource: &Resource| {
            resource.node.at(&["spec", "replicas"]).and_then(Node::text).unwrap_or("-").to_owned()
        };
        resources.iter().map(text).collect()
    }

    #[test]
    fn a_patch_finds_its_object_or_is_given_targets() {
        assert_eq!(replicas("path: p.yaml"), ["7", "1"]);
        assert_eq!(replicas("{path: p.yaml, target: {kind: Deployment}}"), ["7", "7"]);
        assert_eq!(replicas("{path: p.yaml, target: {namespace: shop}}"), ["1", "7"]);
        assert_eq!(replicas("{path: p.yaml, target: {labelSelector: app=web}}"), ["7", "1"]);
        assert_eq!(replicas("{path: p.yaml, target: {kind: Pod}}"), ["1", "1"]);
        let json = "{target: {name: api}, patch: '[{\"op\": \"replace\", \"path\": \"/spec/replicas\", \"value\": 3}]'}";
        assert_eq!(replicas(json), ["1", "3"]);
    }

    #[test]
    fn an_object_without_annotations_has_some_to_add_to() {
        let entry = "target: {name: api}\npatch: |\n  - op: add\n    path: /metadata/annotations/a\n    value: 1\n";
        let resources = patched(entry).unwrap();
        assert_eq!(resources.list[1].annotation("a"), Some("1"));
        assert_eq!(resources.list[1].annotations().map(crate::yaml::Mapping::len), Some(1));
    }

    #[test]
    fn names_stay_unless_they_may_change() {
        let entry =
            "target: {name: api}\npatch: |\n  kind: Other\n  metadata: {name: new, namespace: x}\n";
        let names = |entry: &str| {
            let resources = patched(entry).unwrap();
            let resource = &resources.list[1];
            format!("{} {} {}", resource.kind(), resource.namespace(), resource.name())
        };
        assert_eq!(names(entry), "Deployment shop api");
        assert_eq!(
            names(&format!("{entry}options: {{allowNameChange: true}}")),
            "Deployment shop new"
        );
        let both = "options: {allowNameChange: true, allowKindChange: true}";
        assert_eq!(names(&format!("{entry}{both}")), "Other shop new");
        let error = patched(
            "target: {kind: Deployment}\npatch: |\n  kind: Deployment\n  metadata: {name: one}\noptions: {allowNameChange: true}\n",
        );
        assert!(error.is_ok(), "they are in different namespaces");
    }

    #[test]
    fn an_object_can_be_deleted() {
        let entry = "target: {name: api}\npatch: |\n  $patch: delete\n  kind: Deployment\n  metadata: {name: any}\n";
        assert_eq!(patched(entry).unwrap().len(), 1);
    }

    #[test]
    fn what_is_no_patch_is_refused_with_its_place() {
        let cases = [
            ("{}", "must specify one of patch and path"),
            ("{path: p.yaml, patch: x}", "can't be set at the same time"),
            ("{path: gone.yaml}", "doesn't exist"),
            ("{path: bad.yaml}", "unable to parse SM or JSON patch from [path: \"bad.yaml\"]"),
            (
                "patch: '[{\"op\": \"remove\", \"path\": \"/spec\"}]'",
                "must specify a target for JSON patch",
            ),
            (
                "patch: |\n  kind: Pod\n  metadata: {name: x}\n",
                "no resource matches strategic merge patch",
            ),
            (
                "target: {name: web}\npatch: |\n  kind: A\n  metadata: {name: a}\n  ---\n  kind: B\n  metadata: {name: b}\n",
                "Multiple Strategic-Merge Patches",
            ),
            (
                "target: {name: web}\npatch: |\n  - op: remove\n    path: /gone\n",
                "nonexistent key: gone",
            ),
        ];
        for (entry, message) in cases {
            let error = patched(entry).unwrap_err();
            assert!(error.to_string().contains(message), "{entry}: {error}");
            assert!(error.mark().is_some(), "{entry}: {error}");
        }
        let error = patched("path: bad.yaml").unwrap_err();
        assert_eq!(error.file(), Some("bad.yaml"));
    }
}
