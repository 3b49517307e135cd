//! The objects of some files, and which kustomization uses which file.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostic::{Diagnostic, Result};
use crate::document::{Address, Documents, Identity};
use crate::files::{self, Files, Found};
use crate::yaml::Node;

/// How many files one inventory reads.
const MOST_FILES: usize = 100_000;

/// An object and where it is written.
#[derive(Clone, Debug)]
pub struct Object {
    /// The file, from the root.
    pub path: String,
    /// Which document of the file.
    pub document: usize,
    /// Its group, kind, namespace and name.
    pub identity: Identity,
    /// The object.
    pub node: Node,
}

/// The objects of some files.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// The objects, in the order of files and documents.
    pub objects: Vec<Object>,
    /// Files that could not be read, and why. They are no reason to stop: most repositories have files
    /// that only look like manifests.
    pub skipped: Vec<(String, Diagnostic)>,
    /// The kustomization of each folder that has one.
    kustomizations: BTreeMap<String, Object>,
    /// Files that are no objects, such as the values of a chart; their first document.
    plain: BTreeMap<String, Object>,
}

impl Inventory {
    /// The objects of these files.
    pub fn read<'a>(files: &dyn Files, paths: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let mut inventory = Self::default();
        for path in paths {
            let Some(blob) = files.read(path)? else { continue };
            let documents = files::text(path, &blob)
                .and_then(|text| Documents::parse(text).map_err(|error| error.in_file(path)));
            match documents {
                Ok(documents) => inventory.add(path, &documents),
                Err(error) => inventory.skipped.push((path.to_owned(), error)),
            }
        }
        Ok(inventory)
    }

    /// The objects of all YAML files in a folder and below.
    pub fn walk(files: &dyn Files, folder: &str) -> Result<Self> {
        let mut folders = vec![folder.to_owned()];
        let mut paths = BTreeSet::new();
        while let Some(folder) = folders.pop() {
            for (name, found) in files.list(&folder)?.unwrap_or_default() {
                let path =
                    if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
                match found {
                    Found::Folder if !name.starts_with('.') => folders.push(path),
                    Found::File if matches!(extension(&name), "yaml" | "yml") => {
                        paths.insert(path);
                    }
                    _ => {}
                }
                if paths.len() > MOST_FILES {
                    return Err(Diagnostic::new(format!("more than {MOST_FILES} files"))
                        .hint("name the folders that matter"));
                }
            }
        }
        Self::read(files, paths.iter().map(String::as_str))
    }

    fn add(&mut self, path: &str, documents: &Documents) {
        for document in 0..documents.len() {
            let Ok(Some(node)) = documents.get(document, &Address::root()) else { continue };
            let text = |keys: &[&str]| node.at(keys).and_then(Node::text).map(str::to_owned);
            let version = text(&["apiVersion"]).unwrap_or_default();
            let identity = Identity {
                group: Some(version.split_once('/').map_or("", |(group, _)| group).to_owned()),
                kind: text(&["kind"]).unwrap_or_default(),
                namespace: text(&["metadata", "namespace"]),
                name: text(&["metadata", "name"]).unwrap_or_default(),
            };
            let (folder, file) = files::split(path);
            let named =
                matches!(file, "kustomization.yaml" | "kustomization.yml" | "Kustomization");
            let object = Object { path: path.to_owned(), document, identity, node };
            if named {
                self.kustomizations.insert(folder.to_owned(), object);
            } else if !object.identity.kind.is_empty() {
                self.objects.push(object);
            } else if document == 0 {
                self.plain.insert(path.to_owned(), object);
            }
        }
    }

    /// The objects that are called so. A namespace that a file does not say matches any.
    pub fn find(&self, identity: &Identity) -> Vec<&Object> {
        let matches = |object: &&Object| {
            let own = &object.identity;
            own.kind == identity.kind
                && own.name == identity.name
                && (identity.group.is_none() || own.group == identity.group)
                && same_namespace(own.namespace.as_deref(), identity.namespace.as_deref())
        };
        self.objects.iter().filter(matches).collect()
    }

    /// Of several objects, the one that is written nearest to a file. Nothing if two are as near.
    pub fn nearest<'a>(&self, path: &str, objects: Vec<&'a Object>) -> Option<&'a Object> {
        let near = |object: &&Object| {
            object.path.split('/').zip(path.split('/')).take_while(|(one, two)| one == two).count()
        };
        let best = objects.iter().map(near).max()?;
        let mut nearest = objects.iter().filter(|object| near(object) == best);
        match (nearest.next(), nearest.next()) {
            (Some(one), None) => Some(one),
            _ => None,
        }
    }

    /// The kustomizations that use a file, directly or through others.
    pub fn kustomizations_of(&self, path: &str) -> Vec<&Object> {
        let uses = |(folder, _): &(&String, &Object)| self.uses(folder, path, &mut BTreeSet::new());
        self.kustomizations.iter().filter(uses).map(|(_, object)| object).collect()
    }

    fn uses(&self, folder: &str, path: &str, seen: &mut BTreeSet<String>) -> bool {
        if !seen.insert(folder.to_owned()) {
            return false;
        }
        let Some(object) = self.kustomizations.get(folder) else { return false };
        ["resources", "components", "bases"].iter().any(|key| {
            let entries = object.node.get(key).and_then(Node::as_sequence).unwrap_or_default();
            entries.iter().filter_map(Node::text).any(|entry| {
                let target = files::join(folder, entry);
                target.is_some_and(|target| target == path || self.uses(&target, path, seen))
            })
        })
    }

    /// The file that a kustomization which uses `path` makes a ConfigMap's key from, and the kustomization.
    pub(super) fn generated(&self, path: &str, name: &str, key: &str) -> Vec<(&Object, &Object)> {
        let mut found = Vec::new();
        for kustomization in self.kustomizations_of(path) {
            let folder = files::split(&kustomization.path).0;
            let maps = kustomization.node.get("configMapGenerator").and_then(Node::as_sequence);
            for map in maps.unwrap_or_default() {
                if map.get("name").and_then(Node::text) != Some(name) {
                    continue;
                }
                let entries = map.get("files").and_then(Node::as_sequence).unwrap_or_default();
                for entry in entries.iter().filter_map(Node::text) {
                    let (own, file) =
                        entry.split_once('=').unwrap_or((files::split(entry).1, entry));
                    let path = files::join(folder, file).filter(|_| own == key);
                    let file = path.and_then(|path| self.plain.get(&path));
                    found.extend(file.map(|file| (file, kustomization)));
                }
            }
        }
        found
    }

    /// The Flux Kustomizations that apply a file: their path is above it, or they use it.
    pub fn appliers_of(&self, path: &str) -> Vec<&Object> {
        let applies = |object: &&Object| {
            let own = &object.identity;
            if own.kind != "Kustomization"
                || own.group.as_deref() != Some("kustomize.toolkit.fluxcd.io")
            {
                return false;
            }
            let root = object.node.at(&["spec", "path"]).and_then(Node::text).unwrap_or_default();
            let Some(root) = files::join("", root) else { return false };
            if self.kustomizations.contains_key(&root) {
                return self.uses(&root, path, &mut BTreeSet::new())
                    || self.components(object, &root, path);
            }
            root.is_empty() || path.strip_prefix(&root).is_some_and(|rest| rest.starts_with('/'))
        };
        self.objects.iter().filter(applies).collect()
    }

    /// Whether one of a Flux Kustomization's own components uses the file.
    fn components(&self, object: &Object, root: &str, path: &str) -> bool {
        let components = object.node.at(&["spec", "components"]).and_then(Node::as_sequence);
        components.unwrap_or_default().iter().filter_map(Node::text).any(|component| {
            let folder = files::join(root, component);
            folder.is_some_and(|folder| self.uses(&folder, path, &mut BTreeSet::new()))
        })
    }
}

fn extension(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

/// Whether two namespaces can be the same: one that is not said can be any.
pub(super) fn same_namespace(one: Option<&str>, two: Option<&str>) -> bool {
    one.is_none() || two.is_none() || one == two
}
