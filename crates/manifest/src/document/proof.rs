//! No edit leaves this module without a look at what it does: the edited text is read again and compared.

use super::{Address, Documents, Edit, Step, apply};
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{Node, Value};

impl Documents {
    /// The edit, if the edited text reads as it should: the address has the new value or none, and
    /// nothing else is different.
    pub(super) fn proven(
        &self,
        document: usize,
        address: &Address,
        edit: Edit,
        value: Option<&Node>,
    ) -> Result<Edit> {
        let unsafe_here = || {
            let mark = self.mark(document, address).ok().flatten().unwrap_or_default();
            Diagnostic::new(format!("`{address}` is written in a way that cannot be edited safely"))
                .at(mark)
                .hint("edit it by hand")
        };
        let edited = apply(&self.text, std::slice::from_ref(&edit)).map_err(|_| unsafe_here())?;
        let edited = Self::parse(&edited).map_err(|_| unsafe_here())?;
        if edited.len() != self.len() {
            return Err(unsafe_here());
        }
        for place in 0..self.len() {
            let (Some(mut wanted), Some(found)) =
                (self.get(place, &Address::root())?, edited.get(place, &Address::root())?)
            else {
                return Err(unsafe_here());
            };
            if place == document {
                if !edit.also.is_empty() {
                    let found = edited.get(place, address)?;
                    if found.as_ref() != value {
                        return Err(unsafe_here());
                    }
                    continue;
                }
                change(&mut wanted, &address.0, value).ok_or_else(unsafe_here)?;
            }
            if wanted != found {
                return Err(unsafe_here());
            }
        }
        Ok(edit)
    }
}

/// Makes the change that an edit is meant to make. Nothing if it cannot be made.
fn change(node: &mut Node, steps: &[Step], value: Option<&Node>) -> Option<()> {
    let Some((step, rest)) = steps.split_first() else {
        *node = value?.clone();
        return Some(());
    };
    if node.is_null() {
        *node = match step {
            Step::Key(_) => Node::mapping(),
            _ => Node::sequence(Vec::new()),
        };
    }
    match (&mut node.value, step) {
        (Value::Mapping(mapping), Step::Key(key)) => {
            if rest.is_empty() && value.is_none() {
                return mapping.remove(key).map(|_| ());
            }
            change(mapping.get_or_insert_with(key, Node::null), rest, value)
        }
        (Value::Sequence(items), step) => {
            let index = match step {
                Step::Index(index) => *index,
                Step::Match(key, wanted) => items
                    .iter()
                    .position(|item| item.get(key).and_then(Node::text) == Some(wanted))?,
                Step::Key(_) => return None,
            };
            if rest.is_empty() && value.is_none() {
                return (index < items.len()).then(|| drop(items.remove(index)));
            }
            if index == items.len() {
                items.push(Node::null());
            }
            change(items.get_mut(index)?, rest, value)
        }
        _ => None,
    }
}
