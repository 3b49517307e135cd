//! One object on its way through the transformers, with what has to be remembered about it.
//!
//! Upstream keeps that memory in annotations of the object itself. Here it lies beside it; where the
//! difference can be seen (a patch that takes all annotations away), [`Resource::forget`] and
//! [`Resource::has_memory`] make up for it.

use std::sync::Arc;

use super::id::effective_namespace;
use super::shared::Shared;
use super::{Gvk, ResourceId};
use crate::yaml::{Entry, Mapping, Node, Scalar, Style, Text, Value, scalar};

/// What a generator does with an object that is there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Behavior {
    /// Not said.
    #[default]
    Unspecified,
    /// It must not be there.
    Create,
    /// It takes the place of the one that is there.
    Replace,
    /// It is merged into the one that is there.
    Merge,
}

impl Behavior {
    /// As it is written; what is unknown is not said.
    pub fn from_text(text: &str) -> Self {
        match text {
            "create" => Self::Create,
            "replace" => Self::Replace,
            "merge" => Self::Merge,
            _ => Self::Unspecified,
        }
    }

    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unspecified => "unspecified",
            Self::Create => "create",
            Self::Replace => "replace",
            Self::Merge => "merge",
        }
    }
}

/// Where an object came from, or what changed it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The file, from the root of the files; the kustomization's for what it generated.
    pub file: Option<Arc<str>>,
    /// The line the object begins at, if it was read.
    pub line: u32,
}

/// Name, namespace and kind an object had before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviousName {
    /// `metadata.name`.
    pub name: Text,
    /// The namespace that counts when ids are compared.
    pub namespace: Text,
    /// `kind`.
    pub kind: Text,
}

/// A step that changed an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What it is called: `namePrefix`, `patches[1]`.
    pub name: Text,
    /// The kustomization it is written in.
    pub file: Arc<str>,
    /// The line it is written at.
    pub line: u32,
}

/// One object, with its names at each layer.
#[derive(Clone, Debug)]
pub struct Resource {
    /// The object.
    pub node: Node,
    /// Where it came from.
    pub origin: Origin,
    /// What it was called before each change of name, namespace or kind; oldest first.
    pub previous: Vec<PreviousName>,
    /// Prefixes it was given, innermost first.
    pub prefixes: Vec<Text>,
    /// Suffixes it was given, innermost first.
    pub suffixes: Vec<Text>,
    /// Objects that refer to it.
    pub referred_by: Vec<ResourceId>,
    /// Variables that are taken from it.
    pub variables: Vec<Text>,
    /// How a generator wants it to be added.
    pub behavior: Behavior,
    /// Whether a generator made it.
    pub generated: bool,
    /// Whether its name ends with a hash of its content.
    pub needs_hash: bool,
    /// Whether this is a patch that may rename.
    pub allow_name_change: bool,
    /// Whether this is a patch that may change the kind.
    pub allow_kind_change: bool,
    /// Whether a schema given by the user says that the kind lives outside of namespaces.
    pub cluster_scoped: bool,
    /// Values that stand in several places.
    pub shared: Shared,
    /// What changed it, if that is recorded.
    pub history: Vec<Step>,
    /// What it was before the step that runs, if that is recorded.
    pub(super) before: Option<Box<Node>>,
}

impl Resource {
    /// A new one.
    pub fn new(node: Node, origin: Origin) -> Self {
        Self {
            node,
            origin,
            previous: Vec::new(),
            prefixes: Vec::new(),
            suffixes: Vec::new(),
            referred_by: Vec::new(),
            variables: Vec::new(),
            behavior: Behavior::default(),
            generated: false,
            needs_hash: false,
            allow_name_change: false,
            allow_kind_change: false,
            cluster_scoped: false,
            shared: Shared::default(),
            history: Vec::new(),
            before: None,
        }
    }

    /// Group, version and kind as they are now.
    pub fn gvk(&self) -> Gvk {
        Gvk::of(&self.node)
    }

    /// The kind as it is now.
    pub fn kind(&self) -> &str {
        self.node.get("kind").and_then(Node::text).unwrap_or_default()
    }

    /// The `apiVersion` as it is now.
    pub fn api_version(&self) -> &str {
        self.node.get("apiVersion").and_then(Node::text).unwrap_or_default()
    }

    /// The name as it is now.
    pub fn name(&self) -> &str {
        self.node.at(&["metadata", "name"]).and_then(Node::text).unwrap_or_default()
    }

    /// The namespace as it is now.
    pub fn namespace(&self) -> &str {
        self.node.at(&["metadata", "namespace"]).and_then(Node::text).unwrap_or_default()
    }

    /// What it is called now.
    pub fn current_id(&self) -> ResourceId {
        let mut id = ResourceId::new(self.gvk(), self.name(), self.namespace());
        id.cluster_scoped |= self.cluster_scoped;
        id
    }

    /// What it was called at first.
    pub fn original_id(&self) -> ResourceId {
        self.previous_ids().next().unwrap_or_else(|| self.current_id())
    }

    /// What it was called before; oldest first. Group and version are those of now.
    pub fn previous_ids(&self) -> impl Iterator<Item = ResourceId> + '_ {
        let api_version = self.api_version();
        self.previous.iter().map(move |previous| ResourceId {
            gvk: Gvk::new(api_version, &previous.kind),
            name: previous.name.clone(),
            namespace: previous.namespace.clone(),
            cluster_scoped: false,
        })
    }

    /// What it was called before and is called now.
    pub fn ids(&self) -> impl Iterator<Item = ResourceId> + '_ {
        self.previous_ids().chain(std::iter::once_with(|| self.current_id()))
    }

    /// Whether this is its id now. Cheaper than to compare with [`Self::current_id`].
    pub fn is_called(&self, id: &ResourceId) -> bool {
        self.name() == id.name && self.current_id().same(id)
    }

    /// Whether this is or was its id.
    pub fn was_called(&self, id: &ResourceId) -> bool {
        self.is_called(id)
            || (self.previous.iter().any(|previous| previous.name == id.name)
                && self.previous_ids().any(|previous| previous.same(id)))
    }

    /// The namespace that counts when ids are compared.
    pub fn effective_namespace(&self) -> Text {
        let cluster_scoped = self.cluster_scoped || self.gvk().is_cluster_scoped();
        effective_namespace(cluster_scoped, self.namespace()).into()
    }

    /// Remembers what it is called now, before a change.
    pub fn remember_id(&mut self) {
        let previous = PreviousName {
            name: self.name().into(),
            namespace: self.effective_namespace(),
            kind: self.kind().into(),
        };
        self.previous.push(previous);
        // Upstream remembers it in the annotations, which take the place of a text, or of an empty list.
        let other = |node: &Node| match &node.value {
            Value::Scalar(_) => !node.is_null(),
            Value::Sequence(items) => items.is_empty(),
            Value::Mapping(_) => false,
        };
        if self.node.at(&["metadata", "annotations"]).is_some_and(other) {
            self.metadata_mut().remove("annotations");
        }
    }

    /// Whether something is remembered about it: upstream's object then has annotations, even if none
    /// are written.
    pub fn has_memory(&self) -> bool {
        self.generated
            || self.needs_hash
            || !self.previous.is_empty()
            || !self.prefixes.is_empty()
            || !self.suffixes.is_empty()
            || !self.referred_by.is_empty()
    }

    /// Forgets everything, as upstream does where all annotations are replaced or removed.
    pub fn forget(&mut self) {
        self.previous.clear();
        self.prefixes.clear();
        self.suffixes.clear();
        self.referred_by.clear();
        self.behavior = Behavior::Unspecified;
        self.generated = false;
        self.needs_hash = false;
    }

    /// Remembers what is written in annotations of the kind that upstream remembers things in.
    pub fn recall(&mut self) {
        const PREFIX: &str = "internal.config.kubernetes.io/";
        let is_internal =
            |mapping: &Mapping| mapping.iter().any(|entry| entry.key.text.starts_with(PREFIX));
        if !self.annotations().is_some_and(is_internal) {
            return;
        }
        let texts = |name: &str| -> Vec<Text> {
            let list = self.annotation(&format!("{PREFIX}{name}"));
            list.map(|list| list.split(',').map(Text::from).collect()).unwrap_or_default()
        };
        let (names, namespaces, kinds) =
            (texts("previousNames"), texts("previousNamespaces"), texts("previousKinds"));
        let (prefixes, suffixes) = (texts("prefixes"), texts("suffixes"));
        let names = names.into_iter().zip(namespaces).zip(kinds);
        self.previous =
            names.map(|((name, namespace), kind)| PreviousName { name, namespace, kind }).collect();
        self.needs_hash = self
            .annotation("internal.config.kubernetes.io/needsHashSuffix")
            .is_some_and(|value| value == "enabled");
        self.prefixes = prefixes;
        self.suffixes = suffixes;
    }

    /// Whether nothing of the object is left: it is to be dropped.
    pub fn is_empty(&self) -> bool {
        is_nothing(&self.node)
    }

    /// Names it.
    pub fn set_name(&mut self, name: &str) {
        set_text(self.metadata_mut(), "name", name);
    }

    /// Moves it to a namespace, or takes the namespace away if the text is empty.
    pub fn set_namespace(&mut self, namespace: &str) {
        if namespace.is_empty() {
            if let Some(metadata) = self.node.get_mut("metadata").and_then(Node::as_mapping_mut) {
                metadata.remove("namespace");
            }
        } else {
            set_text(self.metadata_mut(), "namespace", namespace);
        }
    }

    /// Sets `kind`.
    pub fn set_kind(&mut self, kind: &str) {
        set_text(as_mapping(&mut self.node), "kind", kind);
    }

    /// Sets `apiVersion` and `kind`.
    pub fn set_gvk(&mut self, gvk: &Gvk) {
        self.set_kind(&gvk.kind);
        set_text(as_mapping(&mut self.node), "apiVersion", &gvk.api_version());
    }

    /// `metadata`, which is put there if it is not.
    pub fn metadata_mut(&mut self) -> &mut Mapping {
        as_mapping(as_mapping(&mut self.node).get_or_insert_with("metadata", Node::mapping))
    }

    /// The annotations.
    pub fn annotations(&self) -> Option<&Mapping> {
        self.node.at(&["metadata", "annotations"]).and_then(Node::as_mapping)
    }

    /// The text of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations()?.get(key)?.as_scalar().map(|scalar| scalar.text.as_str())
    }

    /// Adds an annotation and leaves the others alone.
    pub fn add_annotation(&mut self, key: &str, value: impl Into<Text>) {
        let annotations = self.metadata_mut().get_or_insert_with("annotations", Node::mapping);
        as_mapping(annotations).put(key, Node::string(value));
    }

    /// Sets an annotation. All of them are texts then: upstream sets them as a whole.
    pub fn set_annotation(&mut self, key: &str, value: impl Into<Text>) {
        self.add_annotation(key, value);
        self.normalize_metadata("annotations");
    }

    /// Takes an annotation away.
    pub fn remove_annotation(&mut self, key: &str) -> Option<Node> {
        let metadata = self.node.get_mut("metadata")?;
        metadata.get_mut("annotations")?.as_mapping_mut()?.remove(key)
    }

    /// The labels.
    pub fn labels(&self) -> Option<&Mapping> {
        self.node.at(&["metadata", "labels"]).and_then(Node::as_mapping)
    }

    /// The text of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels()?.get(key)?.as_scalar().map(|scalar| scalar.text.as_str())
    }

    /// A mapping of the metadata with nothing but texts in it, or nothing at all if it is empty: what
    /// setting labels or annotations as a whole does.
    pub fn normalize_metadata(&mut self, field: &str) {
        let metadata = self.metadata_mut();
        let Some(values) = metadata.get_mut(field) else { return };
        match &mut values.value {
            Value::Mapping(mapping) if !mapping.is_empty() => {
                keep_last(mapping.entries_mut());
                for entry in mapping.entries_mut() {
                    entry.key.tag = scalar::tag_of(&entry.key.text);
                    let text = match &mut entry.value.value {
                        Value::Scalar(scalar) if scalar.tag == crate::yaml::Tag::Str => {
                            scalar.style = Style::Plain;
                            continue;
                        }
                        Value::Scalar(scalar) => scalar.text.clone(),
                        _ => Text::default(),
                    };
                    entry.value.value = Value::Scalar(Scalar::string(text));
                }
            }
            // Upstream takes a list's items for keys and values in turn.
            Value::Sequence(items) if items.len() > 1 => {
                let text = |node: &Node| node.text().map(Text::from).unwrap_or_default();
                let mut mapping = Mapping::new();
                for pair in items.chunks_exact(2) {
                    mapping.put(text(&pair[0]), Node::string(text(&pair[1])));
                }
                values.value = Value::Mapping(mapping);
            }
            _ => {
                metadata.remove(field);
            }
        }
    }
}

/// Of equal keys, the last counts.
fn keep_last(entries: &mut Vec<Entry>) {
    let mut place = 0;
    while place < entries.len() {
        let key = &entries[place].key.text;
        if entries[place + 1..].iter().any(|other| other.key.text == *key) {
            entries.remove(place);
        } else {
            place += 1;
        }
    }
}

/// Whether the node is null, or a mapping or list with nothing in it.
pub fn is_nothing(node: &Node) -> bool {
    match &node.value {
        Value::Mapping(mapping) => mapping.is_empty(),
        Value::Sequence(items) => items.is_empty(),
        Value::Scalar(_) => node.is_null(),
    }
}

/// The node as a mapping, which it becomes if it is not.
fn as_mapping(node: &mut Node) -> &mut Mapping {
    if node.as_mapping().is_none() {
        node.value = Value::Mapping(Mapping::new());
    }
    match &mut node.value {
        Value::Mapping(mapping) => mapping,
        Value::Scalar(_) | Value::Sequence(_) => unreachable!("it has just been made a mapping"),
    }
}

/// Sets a text the way upstream sets names: where a plain value stood, the new one is written plain
/// too, and is read again by what it looks like.
pub fn set_text(mapping: &mut Mapping, key: &str, text: &str) {
    match mapping.get_mut(key) {
        Some(node) => match &mut node.value {
            Value::Scalar(scalar) if scalar.style != Style::Plain => {
                scalar.text = text.into();
                scalar.tag = crate::yaml::Tag::Str;
            }
            _ => node.value = Value::Scalar(plain(text)),
        },
        None => mapping.set(key, Node::string(text)),
    }
}

/// A plain scalar, with the type it looks like.
pub fn plain(text: &str) -> Scalar {
    Scalar { text: text.into(), tag: scalar::tag_of(text), style: Style::Plain }
}
