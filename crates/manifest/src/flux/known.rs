//! What the objects rendered so far say about the others: sources, variables, inputs.

use std::collections::BTreeMap;

use super::base64;
use super::kustomization::{Kustomization, Name, SourceRef};
use super::sops;
use super::substitute::Variables;
use crate::files::{Files, Found};
use crate::kustomize::Resource;
use crate::yaml::{Node, Text};

const SOURCES: &str = "source.toolkit.fluxcd.io";
const OPERATOR: &str = "fluxcd.controlplane.io";

/// Where a Kustomization's files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// In this repository.
    Own,
    /// Not here.
    Other(String),
    /// Nobody rendered the source yet.
    Unknown,
}

/// A ConfigMap or Secret that may hold variables.
#[derive(Clone, Debug, Default, PartialEq)]
struct Holder {
    values: Vec<(String, Option<String>)>,
    /// Where the values lie that cannot be read.
    encrypted_in: Option<String>,
}

/// What is known of the cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    own: Option<SourceRef>,
    addresses: Vec<String>,
    sources: BTreeMap<SourceRef, Node>,
    holders: BTreeMap<(Text, Name), Holder>,
    providers: BTreeMap<Name, Node>,
}

impl Known {
    /// `addresses` are those under which this repository is known.
    pub fn new(addresses: &[String]) -> Self {
        let addresses = addresses.iter().map(|address| plain_address(address)).collect();
        Self { addresses, ..Self::default() }
    }

    /// The entry's source is this repository.
    pub fn set_own(&mut self, source: &SourceRef) {
        self.own = Some(source.clone());
        self.note_own_address();
    }

    fn note_own_address(&mut self) {
        let Some(source) = self.own.as_ref().and_then(|own| self.sources.get(own)) else { return };
        if let Some(url) = source.at(&["spec", "url"]).and_then(Node::text) {
            let url = plain_address(url);
            if !self.addresses.contains(&url) {
                self.addresses.push(url);
            }
        }
    }

    /// The `spec.ignore` of this repository's own source.
    pub fn own_ignore(&self) -> Option<String> {
        let source = self.sources.get(self.own.as_ref()?)?;
        source.at(&["spec", "ignore"]).and_then(Node::text).map(str::to_owned)
    }

    /// Learns from an object. What has no namespace of its own is applied into `namespace`.
    pub fn learn(&mut self, resource: &Resource, namespace: &str, entry: &str) {
        let gvk = resource.gvk();
        let own = resource.namespace();
        let name = Name {
            namespace: if own.is_empty() { namespace } else { own }.into(),
            name: resource.name().into(),
        };
        match (gvk.group.as_str(), gvk.kind.as_str()) {
            (SOURCES, "GitRepository" | "OCIRepository" | "Bucket" | "ExternalArtifact") => {
                let source = SourceRef { kind: gvk.kind, name };
                self.sources.insert(source, resource.node.clone());
                self.note_own_address();
            }
            ("", "ConfigMap" | "Secret") => {
                self.holders.insert((gvk.kind, name), Holder::of(resource));
            }
            (OPERATOR, "ResourceSetInputProvider") => {
                self.providers.insert(name, resource.node.clone());
            }
            (OPERATOR, "FluxInstance") => self.learn_instance(&resource.node, &name, entry),
            _ => {}
        }
    }

    /// flux-operator makes source and entry itself, from this object.
    fn learn_instance(&mut self, object: &Node, name: &Name, entry: &str) {
        let Some(sync) = object.at(&["spec", "sync"]) else { return };
        let text = |field| sync.get(field).and_then(Node::text);
        if super::kustomization::clamp(text("path").unwrap_or_default()) != entry {
            return;
        }
        if self.own.is_none() {
            let kind = text("kind").unwrap_or("GitRepository").into();
            let source = text("name").unwrap_or(&name.namespace);
            let name = Name { namespace: name.namespace.clone(), name: source.into() };
            self.own = Some(SourceRef { kind, name });
        }
        if let Some(url) = text("url") {
            self.addresses.push(plain_address(url));
        }
    }

    /// Whether a Kustomization's files are here.
    pub fn whose(&self, kustomization: &Kustomization) -> Whose {
        let Some(source) = &kustomization.source else { return Whose::Own };
        if self.own.as_ref() == Some(source) {
            return Whose::Own;
        }
        let Some(object) = self.sources.get(source) else { return Whose::Unknown };
        let url = object.at(&["spec", "url"]).and_then(Node::text);
        match url {
            Some(url) if self.addresses.contains(&plain_address(url)) => Whose::Own,
            Some(url) => Whose::Other(format!("its files come from {source}, {}", shown(url))),
            None => Whose::Other(format!("its files come from {source}")),
        }
    }

    /// What to make of a source that nobody renders.
    pub fn guess(&self, kustomization: &Kustomization, files: &dyn Files) -> Whose {
        let Some(source) = &kustomization.source else { return Whose::Own };
        let is_here = files.find(&kustomization.path).is_ok_and(|found| found == Found::Folder);
        // Other kinds of sources are made of parts of a repository, whose paths are not its paths.
        let repository = source.kind == "GitRepository" || source.kind == "OCIRepository";
        let likely = self.own.is_none() || source.name.name == "flux-system";
        if repository && (likely || is_here) {
            Whose::Own
        } else {
            Whose::Other(format!("its files come from {source}, which is not in this repository"))
        }
    }

    /// Whether all ConfigMaps and Secrets of its variables were rendered.
    pub fn has_variables_of(&self, kustomization: &Kustomization) -> bool {
        let Some(post_build) = &kustomization.post_build else { return true };
        post_build.substitute_from.iter().all(|from| {
            let namespace = kustomization.name.namespace.clone();
            self.holders
                .contains_key(&(from.kind.clone(), Name { namespace, name: from.name.clone() }))
        })
    }

    /// The variables of a Kustomization, and what is to be said about them.
    pub fn variables(
        &self,
        kustomization: &Kustomization,
        strict: bool,
    ) -> (Variables, Vec<String>) {
        let mut notes = Vec::new();
        let Some(post_build) = &kustomization.post_build else { return (Variables::new(), notes) };
        let mut variables = Variables::new().strict(strict).always(post_build.always);
        for from in &post_build.substitute_from {
            let namespace = kustomization.name.namespace.clone();
            let name = Name { namespace, name: from.name.clone() };
            let Some(holder) = self.holders.get(&(from.kind.clone(), name.clone())) else {
                if !from.optional {
                    variables.leave_open();
                    notes.push(format!(
                        "{} {name} is not rendered from this repository: variables that only it can \
                         set stay as they are written",
                        from.kind
                    ));
                }
                continue;
            };
            let mut opaque = Vec::new();
            for (key, value) in &holder.values {
                match value {
                    Some(value) => variables.set(key.clone(), value),
                    None => {
                        variables.set_opaque(key.clone());
                        opaque.push(key.as_str());
                    }
                }
            }
            if let Some(file) = &holder.encrypted_in
                && !opaque.is_empty()
            {
                notes.push(format!(
                    "the values of {} are encrypted in {file}: they stay as they are written",
                    opaque.join(", ")
                ));
            }
        }
        for (name, value) in &post_build.substitute {
            variables.set(name.as_str(), value);
        }
        (variables, notes)
    }

    /// An input provider.
    pub fn provider(&self, name: &Name) -> Option<&Node> {
        self.providers.get(name)
    }

    /// All input providers.
    pub fn providers(&self) -> impl Iterator<Item = (&Name, &Node)> {
        self.providers.iter()
    }
}

impl Holder {
    fn of(resource: &Resource) -> Self {
        let mut holder = Self::default();
        let encrypted = sops::is_encrypted(&resource.node);
        if encrypted {
            let file = resource.origin.file.as_deref().unwrap_or("the repository");
            holder.encrypted_in = Some(file.to_owned());
        }
        let is_secret = resource.kind() == "Secret";
        let fields: &[&str] = if is_secret { &["data", "stringData"] } else { &["data"] };
        for field in fields {
            let Some(mapping) = resource.node.get(field).and_then(Node::as_mapping) else {
                continue;
            };
            for entry in mapping {
                let text = entry.value.text().unwrap_or_default();
                let value = if encrypted && sops::is_encrypted_value(text) {
                    None
                } else if is_secret && *field == "data" {
                    base64::decode(text).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
                } else {
                    Some(text.to_owned())
                };
                let key = entry.key.text.to_string();
                holder.values.retain(|(known, _)| *known != key);
                holder.values.push((key, value));
            }
        }
        holder
    }
}

/// An address without what does not change where it leads: scheme, user, `.git`, case of the host.
fn plain_address(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split_once('@').map_or(rest, |(_, rest)| rest);
    let rest = rest.trim_end_matches('/');
    let rest = rest.strip_suffix(".git").unwrap_or(rest);
    let end = rest.find(['/', ':']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    // The port of ssh is no part of where it leads.
    let path = path.strip_prefix(":22/").map_or_else(|| path.to_owned(), |path| format!("/{path}"));
    let path = path.strip_prefix(':').map_or_else(|| path.clone(), |path| format!("/{path}"));
    format!("{}{path}", host.to_ascii_lowercase())
}

/// An address without a password in it.
fn shown(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let rest = rest.split_once('@').map_or(rest, |(_, rest)| rest);
            format!("{scheme}://{rest}")
        }
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_compared_without_their_dress() {
        let plain = plain_address("https://github.com/me/home-ops");
        for url in [
            "https://GitHub.com/me/home-ops.git",
            "ssh://git@github.com/me/home-ops",
            "ssh://git@github.com:22/me/home-ops.git",
            "git@github.com:me/home-ops.git",
            "https://token:x@github.com/me/home-ops/",
        ] {
            assert_eq!(plain_address(url), plain, "{url}");
        }
        assert_ne!(plain_address("https://github.com/me/other"), plain);
        assert_eq!(shown("https://u:p@host/a"), "https://host/a");
    }
}
