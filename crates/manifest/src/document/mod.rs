//! Edits that touch nothing but what they are about: comments, blank lines, indentation, quotes, anchors,
//! separators, line ends and byte order mark stay as they are.

mod address;
mod edit;
mod proof;
mod tree;
mod write;

use std::fmt;

pub use address::{Address, Step};
pub use edit::{Edit, apply};

use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::source::sources;
use crate::yaml::{Entry, Key, Mapping, Mark, Node, Scalar, Value};
use tree::{Id, Shape, Tree};

/// How many nodes are read from one address: more is a bomb of aliases.
const MOST_NODES: usize = 1_000_000;

/// What names an object in a file. Empty parts match anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// `apps`; not the version.
    pub group: Option<String>,
    /// `Deployment`.
    pub kind: String,
    /// `metadata.namespace`; where the file does not say one, it matches as well.
    pub namespace: Option<String>,
    /// `metadata.name`.
    pub name: String,
}

impl fmt::Display for Identity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ", self.kind)?;
        if let Some(namespace) = &self.namespace {
            write!(out, "{namespace}/")?;
        }
        out.write_str(&self.name)
    }
}

/// The documents of a file, as they are written.
#[derive(Clone, Debug)]
pub struct Documents {
    text: String,
    trees: Vec<Tree>,
}

impl Documents {
    /// Reads a text. Documents that have no content count, comments alone are none.
    pub fn parse(text: &str) -> Result<Self> {
        let mut trees = Vec::new();
        for source in sources(text)? {
            trees.extend(Tree::read(source?, text)?);
        }
        Ok(Self { text: text.to_owned(), trees })
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.trees.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.trees.is_empty()
    }

    /// The documents that are this object.
    pub fn find(&self, identity: &Identity) -> Vec<usize> {
        (0..self.len()).filter(|document| self.is(*document, identity)).collect()
    }

    /// The one document that is this object.
    pub fn find_one(&self, identity: &Identity) -> Result<usize> {
        match self.find(identity).as_slice() {
            [one] => Ok(*one),
            [] => Err(Diagnostic::new(format!("{identity} is not in this file"))),
            several => {
                let message = format!("{identity} is in this file {} times", several.len());
                let mark = self.trees[several[1]].place(self.trees[several[1]].root).mark;
                Err(Diagnostic::new(message).at(mark).hint("say which document is meant"))
            }
        }
    }

    fn is(&self, document: usize, identity: &Identity) -> bool {
        let text = |keys: &[&str]| self.scalar_at(document, keys);
        let group = || {
            let version = text(&["apiVersion"]).unwrap_or_default();
            version.split_once('/').map_or(String::new(), |(group, _)| group.to_owned())
        };
        text(&["kind"]).is_some_and(|kind| kind == identity.kind)
            && text(&["metadata", "name"]).is_some_and(|name| name == identity.name)
            && identity.group.as_ref().is_none_or(|wanted| *wanted == group())
            && identity.namespace.as_ref().is_none_or(|wanted| {
                text(&["metadata", "namespace"]).is_none_or(|namespace| namespace == *wanted)
            })
    }

    fn scalar_at(&self, document: usize, keys: &[&str]) -> Option<String> {
        let address = Address::keys(keys.iter().copied());
        let node = self.get(document, &address).ok()??;
        node.text().map(str::to_owned)
    }

    /// What a document says at an address, with aliases and merge keys followed; nothing if there is
    /// nothing.
    pub fn get(&self, document: usize, address: &Address) -> Result<Option<Node>> {
        let tree = self.tree(document)?;
        let mut id = tree.root;
        for step in &address.0 {
            let Some(next) = tree.follow(tree.target(id), step) else { return Ok(None) };
            id = next;
        }
        let mut budget = MOST_NODES;
        tree.node(id, &mut budget).map(Some)
    }

    /// Where the node at an address is written, if it is; the mark of an alias is the alias itself.
    pub fn mark(&self, document: usize, address: &Address) -> Result<Option<Mark>> {
        let tree = self.tree(document)?;
        let mut id = tree.root;
        for step in &address.0 {
            let Some(next) = tree.follow(tree.target(id), step) else { return Ok(None) };
            id = next;
        }
        Ok(Some(tree.place(id).mark))
    }

    /// The address at which what an address says is written: another one if an alias or a merge key is
    /// on the way, the same if nothing is there.
    pub fn origin(&self, document: usize, address: &Address) -> Result<Address> {
        let tree = self.tree(document)?;
        let mut id = tree.root;
        for (steps, step) in address.0.iter().enumerate() {
            let target = tree.target(id);
            let Some(next) = tree.follow(target, step) else {
                let mut origin = tree.address(target).unwrap_or_default();
                origin.0.extend_from_slice(&address.0[steps..]);
                return Ok(origin);
            };
            id = next;
        }
        Ok(tree.address(tree.target(id)).unwrap_or_else(|| address.clone()))
    }

    fn tree(&self, document: usize) -> Result<&Tree> {
        self.trees.get(document).ok_or_else(|| {
            let count = self.len();
            Diagnostic::new(format!("there is no document {document}, only {count}"))
        })
    }
}

impl Tree {
    /// What an alias stands for.
    pub(super) fn target(&self, id: Id) -> Id {
        match self.place(id).shape {
            Shape::Alias { target } => target,
            _ => id,
        }
    }

    /// The address of a node that is no key.
    fn address(&self, id: Id) -> Option<Address> {
        let Some(parent) = self.place(id).parent else { return Some(Address::root()) };
        let address = self.address(parent)?;
        match &self.place(parent).shape {
            Shape::Mapping { entries, .. } => {
                let pair = entries.iter().find(|pair| pair.value == id)?;
                Some(address.key(self.text(pair.key)?))
            }
            Shape::Sequence { items, .. } => {
                Some(address.index(items.iter().position(|item| *item == id)?))
            }
            _ => None,
        }
    }

    /// The text of a scalar, or of what an alias stands for.
    pub(super) fn text(&self, id: Id) -> Option<&str> {
        match &self.place(self.target(id)).shape {
            Shape::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// One step further, merge keys included.
    pub(super) fn follow(&self, id: Id, step: &Step) -> Option<Id> {
        match (&self.place(id).shape, step) {
            (Shape::Mapping { entries, .. }, Step::Key(key)) => {
                let own = entries
                    .iter()
                    .find(|pair| !pair.merge && self.text(pair.key) == Some(key.as_str()));
                own.map(|pair| pair.value).or_else(|| {
                    let merge = entries.iter().find(|pair| pair.merge)?;
                    let merged = self.target(merge.value);
                    match &self.place(merged).shape {
                        Shape::Sequence { items, .. } => {
                            items.iter().find_map(|item| self.follow(self.target(*item), step))
                        }
                        Shape::Mapping { .. } => self.follow(merged, step),
                        _ => None,
                    }
                })
            }
            (Shape::Sequence { items, .. }, Step::Index(index)) => items.get(*index).copied(),
            (Shape::Sequence { items, .. }, Step::Match(key, value)) => {
                let step = Step::Key(key.clone());
                let matches = |item: &&Id| {
                    self.follow(self.target(**item), &step)
                        .is_some_and(|found| self.text(found) == Some(value.as_str()))
                };
                items.iter().find(matches).copied()
            }
            _ => None,
        }
    }

    /// The node with aliases and merge keys expanded.
    fn node(&self, id: Id, budget: &mut usize) -> Result<Node> {
        let mark = self.place(id).mark;
        let place = self.place(self.target(id));
        *budget = budget.checked_sub(1).ok_or_else(|| {
            Diagnostic::new("aliases expand this document beyond all measure").at(mark)
        })?;
        let value = match &place.shape {
            Shape::Scalar { text, tag, style, .. } => {
                Value::Scalar(Scalar { text: text.as_str().into(), tag: *tag, style: *style })
            }
            Shape::Sequence { items, .. } => {
                let nodes = items.iter().map(|item| self.node(*item, budget));
                Value::Sequence(nodes.collect::<Result<_>>()?)
            }
            Shape::Mapping { entries, .. } => {
                let mut mapping = Mapping::new();
                for pair in entries.iter().filter(|pair| !pair.merge) {
                    let place = self.place(self.target(pair.key));
                    let Shape::Scalar { text, tag, .. } = &place.shape else {
                        return Err(Diagnostic::new("a key must be a text").at(place.mark));
                    };
                    let key = Key { text: text.as_str().into(), tag: *tag, mark: place.mark };
                    let value = self.node(pair.value, budget)?;
                    mapping.entries_mut().push(Entry { key, value });
                }
                for pair in entries.iter().filter(|pair| pair.merge) {
                    self.merge(pair.value, &mut mapping, budget)?;
                }
                Value::Mapping(mapping)
            }
            Shape::Alias { .. } => {
                return Err(Diagnostic::new("an alias of an alias").at(mark));
            }
        };
        Ok(Node { value, mark })
    }

    fn merge(&self, id: Id, into: &mut Mapping, budget: &mut usize) -> Result<()> {
        match self.node(id, budget)?.value {
            Value::Mapping(mapping) => {
                for entry in mapping {
                    if !into.contains(&entry.key.text) {
                        into.entries_mut().push(entry);
                    }
                }
                Ok(())
            }
            Value::Sequence(_) => {
                let Shape::Sequence { items, .. } = &self.place(self.target(id)).shape else {
                    return Ok(());
                };
                items.iter().try_for_each(|item| self.merge(*item, into, budget))
            }
            Value::Scalar(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
