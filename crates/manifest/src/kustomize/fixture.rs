//! What the tests of this module share.

use super::{Origin, Resource, Resources};
use crate::yaml::{Node, documents};

/// The first document of a text.
pub fn node(text: &str) -> Node {
    documents(text).unwrap().remove(0).root
}

/// The documents of a text as objects.
pub fn resources(text: &str) -> Resources {
    let documents = documents(text).unwrap().into_iter();
    let list = documents.map(|document| Resource::new(document.root, Origin::default())).collect();
    Resources { list }
}

/// Fails unless the objects are those of the text.
pub fn same(found: &Resources, wanted: &str) {
    let wanted = resources(wanted);
    assert_eq!(found.list.len(), wanted.list.len());
    for (found, wanted) in found.list.iter().zip(&wanted.list) {
        assert_eq!(found.node, wanted.node);
    }
}
