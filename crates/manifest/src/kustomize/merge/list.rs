//! Lists merged by keys, or by value if there is no key.

use std::collections::BTreeSet;

use super::{Outcome, Walker, directive, is_empty, key_of, raw, transplanted};
use crate::diagnostic::{Diagnostic, Result};
use crate::kustomize::merge::directive::Directive;
use crate::kustomize::schema::Type;
use crate::yaml::{Node, Text, Value};

/// The elements of both lists, by their places in one pool: an element that both lists hold is the
/// same node in both.
struct Lists {
    pool: Vec<Node>,
    object: Vec<usize>,
    patch: Other,
}

/// The patch's list.
enum Other {
    Missing,
    /// The same list as the object's.
    Same,
    List(Vec<usize>),
}

impl Lists {
    fn patch(&self) -> Option<&[usize]> {
        match &self.patch {
            Other::Missing => None,
            Other::Same => Some(&self.object),
            Other::List(list) => Some(list),
        }
    }
}

impl<'a> Walker<'a> {
    pub(super) fn walk_list(
        &self,
        object: Option<&mut Node>,
        patch: Option<&mut Node>,
        known: Option<&'a Type>,
        keys: &[Text],
        depth: usize,
    ) -> Result<Outcome> {
        let object = object.and_then(Node::as_sequence_mut);
        let is_null = patch.as_deref().is_some_and(Node::is_null);
        let patch = patch.and_then(Node::as_sequence_mut);
        let (object, patch) = match (object, patch) {
            (None, None) => return Ok(Outcome::Nothing),
            (None, Some(patch)) => {
                *patch = self.merge_same_list(std::mem::take(patch), known, keys, depth)?;
                return Ok(Outcome::Patch);
            }
            (Some(_), None) if is_null => return Ok(Outcome::Nothing),
            (object, patch) => (object, patch),
        };
        let Some(object) = object else { return Ok(Outcome::Nothing) };
        let Some(patch) = patch else {
            if is_orderly(object, keys) {
                let element = known.and_then(|known| self.view.items(known));
                for item in object.iter_mut() {
                    self.walk(Some(item), None, element, depth + 1)?;
                }
                return Ok(Outcome::Object);
            }
            let pool = std::mem::take(object);
            let lists = Lists { object: (0..pool.len()).collect(), pool, patch: Other::Missing };
            *object = self.merge_lists(lists, known, keys, depth)?.0;
            return Ok(Outcome::Object);
        };
        match directive::of_list(patch)? {
            Directive::Delete => Ok(Outcome::Nothing),
            Directive::Replace => {
                *patch = self.merge_same_list(std::mem::take(patch), known, keys, depth)?;
                Ok(Outcome::Patch)
            }
            Directive::Merge => {
                let mut pool = std::mem::take(object);
                let count = pool.len();
                pool.append(patch);
                let lists = Lists {
                    object: (0..count).collect(),
                    patch: Other::List((count..pool.len()).collect()),
                    pool,
                };
                let (merged, rest) = self.merge_lists(lists, known, keys, depth)?;
                *patch = rest;
                *object = merged;
                Ok(Outcome::Object)
            }
        }
    }

    /// A list that is the object's and the patch's at once.
    pub(super) fn merge_same_list(
        &self,
        pool: Vec<Node>,
        known: Option<&'a Type>,
        keys: &[Text],
        depth: usize,
    ) -> Result<Vec<Node>> {
        let lists = Lists { object: (0..pool.len()).collect(), pool, patch: Other::Same };
        Ok(self.merge_lists(lists, known, keys, depth)?.0)
    }

    /// The merged list, and what is left of the patch's.
    fn merge_lists(
        &self,
        mut lists: Lists,
        known: Option<&'a Type>,
        keys: &[Text],
        depth: usize,
    ) -> Result<(Vec<Node>, Vec<Node>)> {
        let by_value = [Text::default()];
        let (keys, mut wanted) = if keys.is_empty() {
            (by_value.as_slice(), values(&lists, |node| vec![raw(node).into()]))
        } else {
            (keys, values(&lists, |node| keys.iter().map(|key| key_of(node, key)).collect()))
        };
        if keys.len() > 1 {
            unite(&mut wanted);
        }
        let element = known.and_then(|known| self.view.items(known));
        let mut merged: Vec<usize> = Vec::new();
        let mut used: Vec<Text> = Vec::new();
        for values in &wanted {
            let (some_keys, some_values) = usable(&wanted, values, keys);
            let (few_keys, few_values) =
                usable(std::slice::from_ref(&some_values), &some_values, &some_keys);
            let find = |list: &[usize]| find(&lists.pool, list, &few_keys, &few_values);
            let (mine, theirs) = (find(&lists.object), lists.patch().and_then(find));
            let found = self.walk_element(&mut lists.pool, mine, theirs, element, depth)?;
            let gone = |place: &usize| {
                let node = &lists.pool[*place];
                is_empty(node) && !matches!(node.value, Value::Sequence(_))
            };
            match found.filter(|place| !gone(place)) {
                None => {
                    set(&lists.pool, &mut lists.object, None, &some_keys, &some_values)?;
                }
                Some(place) => {
                    if let Some(mapping) = lists.pool[place].as_mapping_mut() {
                        for (key, value) in some_keys.iter().zip(&some_values) {
                            if !value.is_empty() && !mapping.contains(key) {
                                let tag = crate::yaml::scalar::tag_of(value);
                                mapping.set(key.clone(), Node::scalar(value.clone(), tag));
                            }
                        }
                    }
                    set(&lists.pool, &mut merged, Some(place), &some_keys, &some_values)?;
                }
            }
            used = some_keys;
        }
        let result = if wanted.is_empty() {
            lists.object.clone()
        } else {
            append(&lists.pool, &mut merged, &lists.object, &used)?;
            merged
        };
        let rest = match &lists.patch {
            Other::List(list) => list.iter().map(|place| lists.pool[*place].clone()).collect(),
            Other::Missing | Other::Same => Vec::new(),
        };
        Ok((taken(lists, &result), rest))
    }

    /// The place of the merged element, if there is one.
    fn walk_element(
        &self,
        pool: &mut [Node],
        mine: Option<usize>,
        theirs: Option<usize>,
        known: Option<&'a Type>,
        depth: usize,
    ) -> Result<Option<usize>> {
        let outcome = match (mine, theirs) {
            (None, None) => return Ok(None),
            (Some(mine), Some(theirs)) if mine == theirs => {
                return Ok(self.walk_same(&mut pool[mine], known, depth + 1)?.then_some(mine));
            }
            (Some(mine), Some(theirs)) => match pool.get_disjoint_mut([mine, theirs]) {
                Ok([mine, theirs]) => self.walk(Some(mine), Some(theirs), known, depth + 1)?,
                Err(_) => return Ok(None),
            },
            (Some(mine), None) => self.walk(Some(&mut pool[mine]), None, known, depth + 1)?,
            (None, Some(theirs)) => self.walk(None, Some(&mut pool[theirs]), known, depth + 1)?,
        };
        Ok(match outcome {
            Outcome::Nothing => None,
            Outcome::Object => mine,
            Outcome::Patch => theirs,
        })
    }
}

/// Whether every element has all keys, and no two have the same: without a patch such a list stays as it
/// is, which is what most lists of an object are.
fn is_orderly(items: &[Node], keys: &[Text]) -> bool {
    if keys.is_empty() {
        return false;
    }
    let mut seen: Vec<Vec<&str>> = Vec::with_capacity(items.len());
    for item in items {
        let value = |key: &Text| item.get(key).filter(|value| !is_empty(value)).map(raw);
        let values: Vec<&str> = keys.iter().filter_map(value).collect();
        if values.len() < keys.len() || values.iter().any(|value| value.is_empty()) {
            return false;
        }
        seen.push(values);
    }
    seen.sort_unstable();
    seen.windows(2).all(|pair| pair[0] != pair[1])
}

/// The nodes at these places; a place may be there more than once.
fn taken(lists: Lists, places: &[usize]) -> Vec<Node> {
    let own = match &lists.patch {
        Other::List(list) => list.first().copied(),
        Other::Missing | Other::Same => None,
    };
    let mut pool: Vec<Option<Node>> = lists.pool.into_iter().map(Some).collect();
    let last: BTreeSet<(usize, usize)> = {
        let mut seen = BTreeSet::new();
        let turn = |(turn, place): (usize, &usize)| seen.insert(*place).then_some((*place, turn));
        places.iter().enumerate().rev().filter_map(turn).collect()
    };
    let take = |(turn, place): (usize, &usize)| {
        let slot = pool.get_mut(*place)?;
        let foreign = own.is_some_and(|first| *place >= first);
        if foreign {
            slot.as_ref().map(transplanted)
        } else if last.contains(&(*place, turn)) {
            slot.take()
        } else {
            slot.clone()
        }
    };
    places.iter().enumerate().filter_map(take).collect()
}

/// What the elements are told apart by, each once: the patch's first, as new elements come first.
fn values(lists: &Lists, of: impl Fn(&Node) -> Vec<Text>) -> Vec<Vec<Text>> {
    let mut result: Vec<Vec<Text>> = Vec::new();
    let patch = lists.patch().unwrap_or_default();
    for place in patch.iter().chain(&lists.object) {
        let values = of(&lists.pool[*place]);
        if !result.contains(&values) {
            result.push(values);
        }
    }
    result
}

/// Elements of which one leaves out what the other says are the same: a port without a protocol and
/// one with.
fn unite(wanted: &mut [Vec<Text>]) {
    for one in 0..wanted.len() {
        // As it was before this turn, whatever the turn makes of it.
        let first = wanted[one].clone();
        for two in 0..wanted.len() {
            if let Some(both) = united(&first, &wanted[two]) {
                wanted[one].clone_from(&both);
                wanted[two] = both;
            }
        }
    }
}

fn united(one: &[Text], two: &[Text]) -> Option<Vec<Text>> {
    let mut common = false;
    let mut both = Vec::with_capacity(one.len());
    for (one, two) in one.iter().zip(two) {
        if one == two {
            common = true;
        } else if !one.is_empty() && !two.is_empty() {
            return None;
        }
        both.push(if one.is_empty() { two.clone() } else { one.clone() });
    }
    common.then_some(both)
}

/// The keys that any element has, and these values of them; all if no element has any.
fn usable(all: &[Vec<Text>], values: &[Text], keys: &[Text]) -> (Vec<Text>, Vec<Text>) {
    let is_used = |place: usize| {
        all.iter().any(|values| values.get(place).is_some_and(|value| !value.is_empty()))
    };
    let used: Vec<usize> = (0..keys.len()).filter(|place| is_used(*place)).collect();
    if used.is_empty() {
        return (keys.to_vec(), values.to_vec());
    }
    let pick = |list: &[Text]| used.iter().filter_map(|place| list.get(*place).cloned()).collect();
    (pick(keys), pick(values))
}

/// The first element with these values.
fn find(pool: &[Node], list: &[usize], keys: &[Text], values: &[Text]) -> Option<usize> {
    let matches = |place: &usize| {
        let node = &pool[*place];
        if keys.first().is_none_or(Text::is_empty) {
            return values.first().is_some_and(|value| raw(node) == value);
        }
        keys.len() == values.len()
            && keys.iter().zip(values).all(|(key, value)| node.get(key).map(raw) == Some(value))
    };
    list.iter().copied().find(matches)
}

/// Puts an element in the place of those with these values, or at the end; without one, takes them out.
/// Where values are missing, upstream is not exact, and neither is this.
fn set(
    pool: &[Node],
    list: &mut Vec<usize>,
    element: Option<usize>,
    keys: &[Text],
    values: &[Text],
) -> Result<()> {
    let wants_mapping = keys.first().is_some_and(|key| !key.is_empty())
        && values.first().is_some_and(|value| !value.is_empty());
    let mut result = Vec::with_capacity(list.len() + 1);
    let mut found_any = false;
    for place in list.iter() {
        let node = &pool[*place];
        if is_empty(node) && !matches!(node.value, Value::Sequence(_)) {
            continue;
        }
        if wants_mapping && node.as_mapping().is_none() {
            result.push(*place);
            continue;
        }
        let mut found = false;
        for (turn, key) in keys.iter().enumerate() {
            if let Some(value) = values.get(turn) {
                found = has(node, key, value)?;
            }
            if !found {
                break;
            }
        }
        if found {
            found_any = true;
            result.extend(element);
        } else if !values.is_empty() {
            result.push(*place);
        }
    }
    if !found_any {
        result.extend(element.filter(|place| !pool[*place].is_null()));
    }
    *list = result;
    Ok(())
}

/// Whether an element has a key with this value; with any if none is given.
fn has(node: &Node, key: &str, value: &str) -> Result<bool> {
    let wrong = |wanted| {
        Err(Diagnostic::new(format!("wrong node kind: expected {wanted} but got {}", node.shape()))
            .at(node.mark))
    };
    match (&node.value, key.is_empty()) {
        (Value::Scalar(_), true) => Ok(raw(node) == value),
        (_, true) => wrong("ScalarNode"),
        (Value::Mapping(mapping), false) => {
            Ok(mapping.get(key).is_some_and(|found| value.is_empty() || raw(found) == value))
        }
        (_, false) => wrong("MappingNode"),
    }
}

/// Puts each element of a list into another: in the place of the one with the same values, or at the
/// end.
fn append(pool: &[Node], list: &mut Vec<usize>, from: &[usize], keys: &[Text]) -> Result<()> {
    for place in from {
        let node = &pool[*place];
        if keys.first().is_none_or(Text::is_empty) {
            set(pool, list, Some(*place), &[Text::default()], &[raw(node).into()])?;
            continue;
        }
        let mut values: Vec<Text> = Vec::new();
        for key in keys {
            if !node.is_null() && node.as_mapping().is_none() {
                has(node, key, "")?;
            }
            match node.get(key) {
                Some(value) => values.push(raw(value).into()),
                None => list.push(*place),
            }
        }
        if keys.len() > 1 {
            set(pool, list, None, keys, &values)?;
        }
        set(pool, list, Some(*place), keys, &values)?;
    }
    Ok(())
}
