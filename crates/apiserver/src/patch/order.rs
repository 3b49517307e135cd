//! The order of a list after a strategic merge: what the patch names as the patch has it, the rest as it lived.

use serde_json::Value;

use super::strategic::no_merge_key;
use crate::status::Failure;

type List = Vec<Value>;

/// A merged list, parted into what an order names and what it does not.
pub(super) struct Partition {
    named: List,
    others: List,
}

/// Whether two items are the same one: by their key, or whole if there is none.
pub(super) fn same_key(left: &Value, right: &Value, key: &str) -> Result<bool, Failure> {
    if key.is_empty() {
        return Ok(left == right);
    }
    let of = |item: &Value| item.get(key).cloned().ok_or_else(|| no_merge_key(item, key));
    Ok(of(left)? == of(right)?)
}

fn place(list: &[Value], item: &Value, key: &str) -> Option<usize> {
    if key.is_empty() {
        return list.iter().position(|one| one == item);
    }
    let wanted = item.get(key)?;
    list.iter().position(|one| one.get(key) == Some(wanted))
}

impl Partition {
    pub fn by(merged: List, order: &[Value], key: &str) -> Result<Self, Failure> {
        let mut parts = Self { named: Vec::new(), others: Vec::new() };
        for item in merged {
            if !key.is_empty() && item.get(key).is_none() {
                return Err(no_merge_key(&item, key));
            }
            let into = if place(order, &item, key).is_some() {
                &mut parts.named
            } else {
                &mut parts.others
            };
            into.push(item);
        }
        Ok(parts)
    }

    /// One list again: named items in the patch's order, the others in theirs, woven together by where both lived.
    pub fn ordered(
        self,
        patch: &[Value],
        live: &[Value],
        key: &str,
        maps: bool,
    ) -> Result<List, Failure> {
        if maps {
            for item in self.named.iter().chain(patch).chain(&self.others).chain(live) {
                if item.get(key).is_none() {
                    return Err(no_merge_key(item, key));
                }
            }
        }
        let named = sorted(self.named, patch, key);
        let others = sorted(self.others, live, key);
        let mut woven = Vec::with_capacity(named.len() + others.len());
        let mut others = others.into_iter().peekable();
        for item in named {
            while let Some(other) = others.peek() {
                let before = match (place(live, other, key), place(live, &item, key)) {
                    (Some(other), Some(item)) => other < item,
                    _ => false,
                };
                if !before {
                    break;
                }
                woven.extend(others.next());
            }
            woven.push(item);
        }
        woven.extend(others);
        Ok(woven)
    }
}

/// Sorts by an order, in place of which items that it does not name come first.
fn sorted(mut list: List, order: &[Value], key: &str) -> List {
    list.sort_by_key(|item| place(order, item, key).map_or(0, |at| at + 1));
    list
}
