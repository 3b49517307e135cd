//! A schema of the user's own: `openapi.path` of a kustomization, JSON or YAML.

use std::collections::BTreeMap;

use super::{Reference, Type};
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{self, Node, Text};

/// The definitions of an OpenAPI document.
#[derive(Debug, Default)]
pub struct Document {
    definitions: BTreeMap<Text, Type>,
    /// By version and kind.
    kinds: BTreeMap<(Text, Text), Text>,
    /// Whether objects of a version and kind live in namespaces.
    namespaced: BTreeMap<(Text, Text), bool>,
    /// Why it cannot be read: that matters when it is first needed, not before.
    failure: Option<Diagnostic>,
}

const KINDS: &str = "x-kubernetes-group-version-kind";

impl Document {
    /// From the text of a file. What is wrong with it is said by the first merge.
    pub fn parse(text: &str) -> Self {
        let read = yaml::documents(text).and_then(|documents| match documents.first() {
            Some(document) => Self::read(&document.root),
            None => Ok(Self::default()),
        });
        read.unwrap_or_else(|error| Self {
            failure: Some(error.while_doing("invalid schema file")),
            ..Self::default()
        })
    }

    /// The same, of a file.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<std::sync::Arc<str>>) -> Self {
        self.failure = self.failure.map(|error| error.in_file(file));
        self
    }

    /// Whether it could be read.
    pub(super) fn check(&self) -> Result<()> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    /// From a parsed file.
    pub fn read(root: &Node) -> Result<Self> {
        let mut document = Self::default();
        if root.is_null() {
            return Ok(document);
        }
        if root.as_mapping().is_none() {
            return Err(Diagnostic::new(format!("it must be a mapping, not {}", root.shape()))
                .at(root.mark));
        }
        for entry in root.get("definitions").and_then(Node::as_mapping).into_iter().flatten() {
            let kinds = entry.value.get(KINDS).and_then(Node::as_sequence).unwrap_or_default();
            for kind in kinds.iter().filter_map(kind_of) {
                document.kinds.insert(kind, entry.key.text.clone());
            }
            document.definitions.insert(entry.key.text.clone(), type_of(&entry.value));
        }
        for entry in root.get("paths").and_then(Node::as_mapping).into_iter().flatten() {
            let kind = entry.value.at(&["get", KINDS]).and_then(kind_of);
            let Some(kind) = kind else { continue };
            if entry.key.text.contains("namespaces/{namespace}") {
                document.namespaced.insert(kind, true);
            } else {
                document.namespaced.entry(kind).or_insert(false);
            }
        }
        Ok(document)
    }

    pub(super) fn kind(&self, api_version: &str, kind: &str) -> Option<&Type> {
        let name = self.kinds.get(&(api_version.into(), kind.into()))?;
        self.definitions.get(name)
    }

    pub(super) fn named(&self, name: &str) -> Option<&Type> {
        self.definitions.get(name)
    }

    pub(super) fn is_namespaced(&self, api_version: &str, kind: &str) -> Option<bool> {
        self.namespaced.get(&(api_version.into(), kind.into())).copied()
    }
}

fn kind_of(node: &Node) -> Option<(Text, Text)> {
    let text = |name| node.get(name).and_then(Node::text);
    let (version, kind) = (text("version")?, text("kind")?);
    let api_version = match text("group") {
        Some(group) if !group.is_empty() => format!("{group}/{version}").into(),
        _ => version.into(),
    };
    Some((api_version, kind.into()))
}

fn type_of(node: &Node) -> Type {
    let mut result = Type::default();
    if let Some(reference) = node.get("$ref").and_then(Node::text) {
        let name = reference.strip_prefix("#/definitions/").unwrap_or(reference);
        result.reference =
            Some(Reference::Named(name.replace("~1", "/").replace("~0", "~").into()));
        return result;
    }
    for entry in node.get("properties").and_then(Node::as_mapping).into_iter().flatten() {
        result.fields.push((entry.key.text.clone(), type_of(&entry.value)));
    }
    result.fields.sort_by(|one, two| one.0.cmp(&two.0));
    let values = node.get("additionalProperties").filter(|values| values.as_mapping().is_some());
    result.values = values.map(|values| Box::new(type_of(values)));
    let is_list = node.get("type").is_some_and(|found| {
        found.text() == Some("array")
            || matches!(found.as_sequence(), Some([only]) if only.text() == Some("array"))
    });
    if let Some(items) = node.get("items").filter(|items| is_list && items.as_mapping().is_some()) {
        result.items = Some(Box::new(type_of(items)));
    }
    let strategy = node.get("x-kubernetes-patch-strategy").and_then(Node::text);
    if strategy.is_some_and(|strategy| strategy.split(',').any(|part| part == "merge")) {
        let keys = node.get("x-kubernetes-list-map-keys").and_then(Node::as_sequence);
        let key = node.get("x-kubernetes-patch-merge-key");
        result.merge = Some(match keys {
            Some(keys) => keys.iter().filter_map(Node::text).map(Text::from).collect(),
            None => key.and_then(Node::text).map(Text::from).into_iter().collect(),
        });
    }
    result
}
