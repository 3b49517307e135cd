//! `$patch`: what a patch wants done with a mapping or a list.

use super::{is_empty, raw};
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{Mapping, Node};

const KEY: &str = "$patch";

/// What a patch wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Directive {
    Merge,
    Replace,
    Delete,
}

impl Directive {
    fn parse(node: &Node) -> Result<Self> {
        match raw(node) {
            "merge" => Ok(Self::Merge),
            "replace" => Ok(Self::Replace),
            "delete" => Ok(Self::Delete),
            other => Err(Diagnostic::new(format!("unknown patch strategy '{other}'"))
                .at(node.mark)
                .hint("`$patch` is one of delete, merge, replace")),
        }
    }
}

/// The directive of a mapping, taken out of it.
pub(super) fn of_mapping(mapping: &mut Mapping) -> Result<Directive> {
    let Some(node) = mapping.get(KEY) else { return Ok(Directive::Merge) };
    let directive = Directive::parse(node)?;
    mapping.remove(KEY);
    Ok(directive)
}

/// The directive of a list: an element that says nothing else. Elements that say the same of
/// themselves go with it.
pub(super) fn of_list(items: &mut Vec<Node>) -> Result<Directive> {
    let element = items.iter().filter_map(Node::as_mapping).find(|item| item.contains(KEY));
    let Some(node) = element.filter(|item| item.len() == 1).and_then(|item| item.get(KEY)) else {
        return Ok(Directive::Merge);
    };
    let directive = Directive::parse(node)?;
    let said = raw(node).to_owned();
    items.retain(|item| !is_empty_element(item) && item.get(KEY).map(raw) != Some(&said));
    Ok(directive)
}

fn is_empty_element(item: &Node) -> bool {
    is_empty(item) && item.as_sequence().is_none()
}
