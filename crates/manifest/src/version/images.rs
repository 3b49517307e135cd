//! Images: whole references, tags beside repositories, and what kustomizations make of them.

use super::inventory::{Inventory, Object};
use super::{Form, Place, Reference, Subject, Version, floats};
use crate::document::Address;
use crate::yaml::{Mapping, Node, Value};

/// The images an object names, with the places that decide about them.
pub(super) fn find(inventory: &Inventory, object: &Object) -> Vec<Version> {
    let mut search = Search { object, how: object.identity.to_string(), found: Vec::new() };
    if let Some(mapping) = object.node.as_mapping() {
        for entry in mapping {
            let key = entry.key.text.as_str();
            if !matches!(key, "metadata" | "status" | "apiVersion" | "kind") {
                search.walk(&entry.value, &Address::root().key(key), key, false);
            }
        }
    }
    let mut found = search.found;
    found.extend(values(inventory, object));
    let mut versions = Vec::new();
    for version in found {
        let decided = overrides(inventory, object, &version);
        if decided.is_empty() { versions.push(version) } else { versions.extend(decided) }
    }
    versions
}

/// The images in files that become a release's values.
fn values(inventory: &Inventory, object: &Object) -> Vec<Version> {
    let sources = object.node.at(&["spec", "valuesFrom"]).and_then(Node::as_sequence);
    let mut versions = Vec::new();
    for source in sources.unwrap_or_default() {
        let text = |key: &str| source.get(key).and_then(Node::text);
        let (Some("ConfigMap"), Some(name)) = (text("kind"), text("name")) else { continue };
        let key = text("valuesKey").unwrap_or("values.yaml");
        for (file, kustomization) in inventory.generated(&object.path, name, key) {
            let how = format!(
                "{} takes values from ConfigMap {name}, which {} makes from {}, which",
                object.identity, kustomization.path, file.path
            );
            let mut search = Search { object: file, how, found: Vec::new() };
            search.walk(&file.node, &Address::root(), "", false);
            versions.append(&mut search.found);
        }
    }
    versions
}

struct Search<'a> {
    object: &'a Object,
    /// What leads to the object.
    how: String,
    found: Vec<Version>,
}

impl Search<'_> {
    fn walk(&mut self, node: &Node, address: &Address, key: &str, containers: bool) {
        match &node.value {
            Value::Sequence(items) => {
                let containers = matches!(
                    key,
                    "containers" | "initContainers" | "ephemeralContainers" | "sidecars"
                );
                for (index, item) in items.iter().enumerate() {
                    self.walk(item, &address.clone().index(index), key, containers);
                }
            }
            Value::Mapping(mapping) => {
                let beside = self.beside(mapping, address, key);
                for entry in mapping {
                    let name = entry.key.text.as_str();
                    // What is said by tag and repository together is not said again by one of them.
                    if beside && matches!(name, "repository" | "image" | "tag" | "digest" | "name")
                    {
                        continue;
                    }
                    self.walk(&entry.value, &address.clone().key(name), name, containers);
                }
            }
            Value::Scalar(_) => {
                let named = key == "image" || key == "imageName" || key.ends_with("Image");
                let volume = key == "reference"
                    && address
                        .split()
                        .is_some_and(|(parent, _)| parent.to_string().ends_with("image"));
                if named || volume {
                    self.reference(node, address, containers);
                }
            }
        }
    }

    fn place(&self, node: &Node, address: Address, form: Form) -> Place {
        Place {
            path: self.object.path.clone(),
            document: self.object.document,
            address,
            mark: node.mark,
            form,
        }
    }

    /// A whole reference in one scalar.
    fn reference(&mut self, node: &Node, address: &Address, containers: bool) {
        let Some(current) = node.text().and_then(Reference::parse) else { return };
        let bare = current.tag.is_none() && current.digest.is_none();
        let registry =
            current.name.split_once('/').is_some_and(|(host, _)| host.contains(['.', ':']));
        if bare && !containers && !registry {
            return;
        }
        let floating = if current.digest.is_some() { None } else { floats(current.tag.as_deref()) };
        let explanation = format!("{} names the image at `{address}`", self.how);
        let place = self.place(node, address.clone(), Form::Image);
        self.found.push(Version {
            subject: Subject::Image,
            name: current.name.clone(),
            current,
            place,
            digest: None,
            explanation,
            shared: Vec::new(),
            floating,
        });
    }

    /// `repository` and `tag` side by side, or `image` and a tag of its own. Whether they are.
    fn beside(&mut self, mapping: &Mapping, address: &Address, key: &str) -> bool {
        let text = |key: &str| {
            mapping.get(key).and_then(Node::text).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let is_image = key == "image" || key.ends_with("Image");
        let tag_key = ["tag", "imageTag"].into_iter().find(|key| text(key).is_some());
        let repository = text("repository").or_else(|| {
            let image = text("image")
                .filter(|image| Reference::parse(image).is_some_and(|image| image.tag.is_none()));
            image.or_else(|| text("name").filter(|_| is_image))
        });
        let (digest, tag) = (text("digest"), tag_key.and_then(text));
        // A tag alone is an image's only under that name: the chart knows which image.
        if (tag.is_none() && digest.is_none()) || (repository.is_none() && !is_image) {
            return false;
        }
        let name = match (text("registry"), repository) {
            (Some(registry), Some(repository)) => format!("{registry}/{repository}"),
            (_, repository) => repository.unwrap_or_default(),
        };
        let parsed = tag.as_deref().map(Reference::parse_tag);
        let Some(parsed) = parsed.unwrap_or_else(|| Some(Reference::default())) else {
            return false;
        };
        let at = |key: &str| address.clone().key(key);
        let digest_place = digest.as_ref().and_then(|_| {
            mapping.get("digest").map(|node| self.place(node, at("digest"), Form::Digest))
        });
        let current =
            Reference { name: String::new(), tag: parsed.tag, digest: parsed.digest.or(digest) };
        let floating = if current.digest.is_some() { None } else { floats(current.tag.as_deref()) };
        let (place, digest) = match (tag_key, digest_place) {
            (Some(key), digest) => {
                let Some(node) = mapping.get(key) else { return false };
                (self.place(node, at(key), Form::Tag), digest)
            }
            (None, Some(digest)) => (digest, None),
            (None, None) => return false,
        };
        let what =
            if name.is_empty() { "the chart's image".to_owned() } else { format!("`{name}`") };
        let explanation = format!("{} has the tag of {what} at `{}`", self.how, place.address);
        self.found.push(Version {
            subject: Subject::Image,
            name,
            current,
            place,
            digest,
            explanation,
            shared: Vec::new(),
            floating,
        });
        true
    }
}

/// The places in kustomizations that replace an image's tag or digest.
fn overrides(inventory: &Inventory, object: &Object, version: &Version) -> Vec<Version> {
    if version.place.form != Form::Image {
        return Vec::new();
    }
    let folders = inventory.kustomizations_of(&object.path);
    let files =
        folders.into_iter().map(|found| (found, Address::keys(["images"]), "kustomization"));
    let flux = inventory.appliers_of(&object.path);
    let flux = flux
        .into_iter()
        .map(|found| (found, Address::keys(["spec", "images"]), "Flux Kustomization"));
    let mut versions = Vec::new();
    for (source, list, what) in files.chain(flux) {
        let keys: Vec<&str> =
            if what == "kustomization" { vec!["images"] } else { vec!["spec", "images"] };
        let entries = source.node.at(&keys).and_then(Node::as_sequence).unwrap_or_default();
        for (index, entry) in entries.iter().enumerate() {
            let text =
                |key: &str| entry.get(key).filter(|node| !node.is_null()).and_then(Node::text);
            if text("name") != Some(version.name.as_str()) {
                continue;
            }
            let place = |key: &str, form| Place {
                path: source.path.clone(),
                document: source.document,
                address: list.clone().index(index).key(key),
                mark: entry.get(key).unwrap_or(entry).mark,
                form,
            };
            let digest_place = text("digest").map(|_| place("digest", Form::Digest));
            let (place, digest) = match (text("newTag"), digest_place) {
                (Some(_), digest) => (place("newTag", Form::Tag), digest),
                (None, Some(digest)) => (digest, None),
                (None, None) => continue,
            };
            let current = Reference {
                name: String::new(),
                tag: text("newTag").map(str::to_owned),
                digest: text("digest").map(str::to_owned),
            };
            versions.push(Version {
                subject: Subject::Image,
                name: text("newName").unwrap_or(&version.name).to_owned(),
                floating: if current.digest.is_some() {
                    None
                } else {
                    floats(current.tag.as_deref())
                },
                current,
                explanation: format!(
                    "{}; the {what} {} replaces it at `{}`",
                    version.explanation, source.path, place.address
                ),
                place,
                digest,
                shared: Vec::new(),
            });
        }
    }
    versions
}
