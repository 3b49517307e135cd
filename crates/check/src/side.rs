//! What one revision applies.

use std::sync::Arc;

use holdfast_manifest::files::{Files, Found, text};
use holdfast_manifest::flux::{Applied, Cluster};
use holdfast_manifest::render::to_json;
use holdfast_manifest::{Diagnostic, Result, yaml};
use serde_json::Value;

use crate::finding::Id;

/// An object as Flux would apply it.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Which one.
    pub id: Id,
    /// All of it.
    pub value: Value,
    /// Where it is written.
    pub file: String,
    /// The line it begins at; 0 if it was generated.
    pub line: u32,
    /// Who applies it; empty for plain files.
    pub applier: String,
}

/// A Kustomization that does not build.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Which one.
    pub applier: Id,
    /// Why not, and where.
    pub error: Diagnostic,
}

/// Everything one revision applies.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// The objects.
    pub objects: Vec<Object>,
    /// What does not build.
    pub failures: Vec<Failure>,
}

impl Side {
    /// What Flux applies to a cluster.
    pub fn of(cluster: &Cluster) -> Self {
        let mut side = Self::default();
        for applied in cluster.applied.iter().filter(|applied| !applied.elsewhere) {
            let applier = applied.applier.to_string();
            for object in applied.objects() {
                // What is encrypted is for the cluster alone to read.
                if object.encrypted {
                    continue;
                }
                let origin = &object.resource.origin;
                let value = match to_json(&object.resource.node) {
                    Ok(value) => value,
                    Err(error) => {
                        side.fail(applied, &error, origin.file.as_ref());
                        continue;
                    }
                };
                side.objects.push(Object {
                    id: id_of(&value),
                    value,
                    file: origin.file.as_deref().unwrap_or_default().to_owned(),
                    line: origin.line,
                    applier: applier.clone(),
                });
            }
        }
        for (applied, error) in cluster.failures() {
            side.fail(applied, error, applied.origin.file.as_ref());
        }
        side
    }

    fn fail(&mut self, applied: &Applied, error: &Diagnostic, file: Option<&Arc<str>>) {
        let name = &applied.applier.name;
        let applier = Id {
            api_version: "kustomize.toolkit.fluxcd.io/v1".to_owned(),
            kind: format!("{:?}", applied.applier.kind),
            namespace: name.namespace.to_string(),
            name: name.name.to_string(),
        };
        let error = match file {
            Some(file) => error.clone().in_file(file.clone()),
            None => error.clone(),
        };
        self.failures.push(Failure { applier, error });
    }

    /// The objects in a file, or in every YAML file of a folder, as they are.
    pub fn plain(files: &dyn Files, path: &str) -> Result<Self> {
        let mut side = Self::default();
        side.read(files, path, true)?;
        Ok(side)
    }

    fn read(&mut self, files: &dyn Files, path: &str, asked: bool) -> Result<()> {
        match files.find(path)? {
            Found::Folder => {
                for (name, found) in files.list(path)?.unwrap_or_default() {
                    let inside =
                        if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
                    let manifest =
                        matches!(name.rsplit_once('.'), Some((_, "yaml" | "yml" | "json")));
                    if (found == Found::Folder && !name.starts_with('.'))
                        || (found == Found::File && manifest)
                    {
                        self.read(files, &inside, false)?;
                    }
                }
                Ok(())
            }
            Found::File => {
                let Some(blob) = files.read(path)? else { return Ok(()) };
                let documents =
                    yaml::documents(text(path, &blob)?).map_err(|error| error.in_file(path))?;
                for document in documents {
                    self.take(&document.root, path)?;
                }
                Ok(())
            }
            Found::Nothing if asked => {
                Err(Diagnostic::new("there is no such file or folder").in_file(path))
            }
            Found::Nothing => Ok(()),
        }
    }

    fn take(&mut self, node: &yaml::Node, file: &str) -> Result<()> {
        if let Some(items) = node.get("items").and_then(yaml::Node::as_sequence)
            && node
                .get("kind")
                .and_then(yaml::Node::text)
                .is_some_and(|kind| kind.ends_with("List"))
        {
            return items.iter().try_for_each(|item| self.take(item, file));
        }
        if node.get("kind").is_none() || node.get("apiVersion").is_none() {
            return Ok(());
        }
        let value = to_json(node).map_err(|error| error.in_file(file))?;
        self.objects.push(Object {
            id: id_of(&value),
            value,
            file: file.to_owned(),
            line: node.mark.line,
            applier: String::new(),
        });
        Ok(())
    }
}

fn id_of(value: &Value) -> Id {
    let text = |pointer: &str| {
        value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    Id {
        api_version: text("/apiVersion"),
        kind: text("/kind"),
        namespace: text("/metadata/namespace"),
        name: text("/metadata/name"),
    }
}
