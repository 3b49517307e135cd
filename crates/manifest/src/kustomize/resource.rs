//! One object on its way through the transformers, with what has to be remembered about it.

use std::sync::Arc;

use super::{Gvk, ResourceId};
use crate::yaml::{Node, Text};

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

/// Where an object came from, or what changed it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The file, from the root of the files; the kustomization's for what it generated.
    pub file: Option<Arc<str>>,
    /// The line the object begins at, if it was read.
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
    pub previous: Vec<ResourceId>,
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
    /// Whether its name ends with a hash of its content.
    pub needs_hash: bool,
    /// Whether a patch may rename it.
    pub allow_name_change: bool,
    /// Whether a patch may change its kind.
    pub allow_kind_change: bool,
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
            needs_hash: false,
            allow_name_change: false,
            allow_kind_change: false,
        }
    }

    /// Group, version and kind as they are now.
    pub fn gvk(&self) -> Gvk {
        Gvk::of(&self.node)
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
        ResourceId { gvk: self.gvk(), name: self.name().into(), namespace: self.namespace().into() }
    }

    /// What it was called at first.
    pub fn original_id(&self) -> ResourceId {
        self.previous.first().cloned().unwrap_or_else(|| self.current_id())
    }

    /// Remembers what it is called now, before a change.
    pub fn remember_id(&mut self) {
        let id = self.current_id();
        self.previous.push(id);
    }
}
