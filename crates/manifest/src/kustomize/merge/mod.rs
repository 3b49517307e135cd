//! Strategic merge: a patch laid over an object, lists merged by the keys their schema names.
//!
//! What upstream does is defined by its code, which passes nodes by reference: the merged value of a
//! field is the object's node or the patch's, and what a step changes in the patch is seen by the next. [`Outcome`] says which of them it is.

use super::schema::{Schema, Type, View};
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{Entry, Key, Mapping, Mark, Node, Style, Tag, Text, Value, scalar};

mod directive;
mod list;

use directive::Directive;

/// Deeper than any manifest: what is nested deeper is refused instead of exhausting the stack.
const DEEPEST: usize = 512;

/// Lays a patch over an object. Says whether the object is still there. Directives are taken out of the
/// patch on the way.
pub fn merge(object: &mut Node, patch: &mut Node, schema: &Schema) -> Result<bool> {
    let walker = Walker { view: schema.view()? };
    match walker.walk(Some(object), Some(patch), None, 0)? {
        Outcome::Nothing => Ok(false),
        // Upstream drops a patch that asks to take the whole object's place: the object stays.
        Outcome::Object | Outcome::Patch => Ok(true),
    }
}

/// Which node is the merged one.
#[derive(Debug)]
enum Outcome {
    /// None: the field goes away.
    Nothing,
    /// The object's, changed in place.
    Object,
    /// The patch's, changed in place.
    Patch,
}

struct Walker<'a> {
    view: View<'a>,
}

impl<'a> Walker<'a> {
    fn walk(
        &self,
        object: Option<&mut Node>,
        patch: Option<&mut Node>,
        known: Option<&'a Type>,
        depth: usize,
    ) -> Result<Outcome> {
        let known = known.or_else(|| self.infer(object.as_deref(), patch.as_deref()));
        let first = present(object.as_deref()).or_else(|| present(patch.as_deref()));
        let Some(first) = first else { return Ok(neither(object.as_deref(), patch.as_deref())) };
        if depth > DEEPEST {
            return Err(too_deep(first));
        }
        for other in [object.as_deref(), patch.as_deref()] {
            if let Some(other) = present(other).filter(|other| !same_shape(first, other)) {
                return Err(wrong_shape(first, other));
            }
        }
        match &first.value {
            Value::Scalar(_) => Ok(if patch.is_some() { Outcome::Patch } else { Outcome::Object }),
            Value::Mapping(_) => self.walk_mapping(object, patch, known, depth),
            Value::Sequence(_) => match known.and_then(Type::merge_keys) {
                Some(keys) => self.walk_list(object, patch, known, keys, depth),
                None if patch.is_some() => Ok(Outcome::Patch),
                None => Ok(Outcome::Object),
            },
        }
    }

    /// A node that is the object's and the patch's at once: what a patch adds. Says whether it stays.
    fn walk_same(&self, node: &mut Node, known: Option<&'a Type>, depth: usize) -> Result<bool> {
        if depth > DEEPEST {
            return Err(too_deep(node));
        }
        let known = known.or_else(|| self.view.object(node));
        match &mut node.value {
            Value::Scalar(scalar) => Ok(scalar.tag != Tag::Null),
            Value::Mapping(mapping) => {
                if directive::of_mapping(mapping)? == Directive::Delete {
                    return Ok(false);
                }
                self.walk_same_fields(mapping, known, depth)?;
                Ok(true)
            }
            Value::Sequence(items) => {
                let Some(keys) = known.and_then(Type::merge_keys) else { return Ok(true) };
                if directive::of_list(items)? == Directive::Delete {
                    return Ok(false);
                }
                let merged = self.merge_same_list(std::mem::take(items), known, keys, depth)?;
                *items = merged;
                Ok(true)
            }
        }
    }

    fn walk_same_fields(
        &self,
        mapping: &mut Mapping,
        known: Option<&'a Type>,
        depth: usize,
    ) -> Result<()> {
        let mut failed = None;
        mapping.entries_mut().retain_mut(|entry| {
            let field = known.and_then(|known| self.view.field(known, &entry.key.text));
            match self.walk_same(&mut entry.value, field, depth + 1) {
                Ok(stays) => {
                    quote(&mut entry.value);
                    stays
                }
                Err(error) => {
                    failed.get_or_insert(error);
                    true
                }
            }
        });
        failed.map_or(Ok(()), Err)
    }

    fn walk_mapping(
        &self,
        object: Option<&mut Node>,
        patch: Option<&mut Node>,
        known: Option<&'a Type>,
        depth: usize,
    ) -> Result<Outcome> {
        let Some(object) = object.filter(|object| !object.is_null()) else {
            // The patch adds it. A directive that is not known is written out as it stands.
            let Some(mapping) = patch.and_then(Node::as_mapping_mut) else {
                return Ok(Outcome::Nothing);
            };
            if directive::of_mapping(mapping).ok() == Some(Directive::Delete) {
                return Ok(Outcome::Nothing);
            }
            self.walk_same_fields(mapping, known, depth)?;
            return Ok(Outcome::Patch);
        };
        let Some(target) = object.as_mapping_mut() else { return Ok(Outcome::Object) };
        let Some(patch) = patch else {
            self.walk_fields(target, None, known, depth)?;
            return Ok(Outcome::Object);
        };
        let Some(patch) = patch.as_mapping_mut() else { return Ok(Outcome::Nothing) };
        match directive::of_mapping(patch)? {
            Directive::Delete => Ok(Outcome::Nothing),
            Directive::Replace => {
                self.walk_same_fields(patch, known, depth)?;
                Ok(Outcome::Patch)
            }
            Directive::Merge => {
                self.walk_fields(target, Some(patch), known, depth)?;
                Ok(Outcome::Object)
            }
        }
    }

    fn walk_fields(
        &self,
        object: &mut Mapping,
        mut patch: Option<&mut Mapping>,
        known: Option<&'a Type>,
        depth: usize,
    ) -> Result<()> {
        let of = |name: &str| known.and_then(|known| self.view.field(known, name));
        // A mapping with nothing in it gives way to the patch's.
        if let (true, Some(patch)) = (object.is_empty(), &patch) {
            object.set_flow(patch.is_flow());
        }
        // Before what the object has: a directive is followed once, and taken out of the patch.
        let mut added = Vec::new();
        for entry in patch.iter_mut().flat_map(|patch| patch.iter_mut()) {
            // Of equal keys, the first counts.
            let known = |added: &Entry| added.key.text == entry.key.text;
            if object.contains(&entry.key.text) || added.iter().any(known) {
                continue;
            }
            let name = entry.key.text.clone();
            let outcome = self
                .walk(None, Some(&mut entry.value), of(&name), depth + 1)
                .map_err(|error| error.while_doing(name.as_str()))?;
            let mut value = match outcome {
                Outcome::Patch => transplanted(&entry.value),
                Outcome::Nothing | Outcome::Object => continue,
            };
            if !value.is_null() {
                quote(&mut value);
                let key = Key { text: name, tag: entry.key.tag, mark: Mark::default() };
                added.push(Entry { key, value });
            }
        }
        added.sort_by(|one, two| one.key.text.cmp(&two.key.text));
        let mut place = 0;
        while let Some(entry) = object.entries_mut().get_mut(place) {
            let name = entry.key.text.clone();
            let mut other = patch.as_deref_mut().and_then(|patch| patch.get_mut(&name));
            let outcome = self
                .walk(Some(&mut entry.value), other.as_deref_mut(), of(&name), depth + 1)
                .map_err(|error| error.while_doing(name.as_str()))?;
            let value = match outcome {
                Outcome::Object => {
                    quote(&mut entry.value);
                    place += 1;
                    continue;
                }
                Outcome::Nothing => None,
                Outcome::Patch => other.map(|other| transplanted(other)),
            };
            match value.filter(|value| !value.is_null()) {
                Some(value) => {
                    put(&mut entry.value, value);
                    place += 1;
                }
                None => {
                    object.entries_mut().remove(place);
                }
            }
        }
        object.entries_mut().extend(added);
        Ok(())
    }

    /// What is known of an object in the midst of what nothing is known of.
    fn infer(&self, object: Option<&Node>, patch: Option<&Node>) -> Option<&'a Type> {
        [object, patch].into_iter().flatten().find_map(|node| self.view.object(node))
    }
}

/// What becomes of a field that is null, or not there, on both sides. A null that is written out in the
/// object stays; one that is written as nothing goes.
fn neither(object: Option<&Node>, patch: Option<&Node>) -> Outcome {
    let written = object.and_then(Node::as_scalar).is_some_and(|null| !null.text.is_empty());
    match patch {
        Some(_) => Outcome::Patch,
        None if written => Outcome::Object,
        None => Outcome::Nothing,
    }
}

fn present(node: Option<&Node>) -> Option<&Node> {
    node.filter(|node| !node.is_null())
}

fn same_shape(one: &Node, two: &Node) -> bool {
    std::mem::discriminant(&one.value) == std::mem::discriminant(&two.value)
}

fn wrong_shape(first: &Node, other: &Node) -> Diagnostic {
    Diagnostic::new(format!(
        "wrong node kind: expected {} but got {}",
        kind_name(first),
        kind_name(other)
    ))
    .hint("the patch and the object must have the same shape here")
}

fn kind_name(node: &Node) -> &'static str {
    match &node.value {
        Value::Scalar(_) => "ScalarNode",
        Value::Mapping(_) => "MappingNode",
        Value::Sequence(_) => "SequenceNode",
    }
}

fn too_deep(node: &Node) -> Diagnostic {
    Diagnostic::new(format!("nested deeper than {DEEPEST} levels")).at(node.mark)
}

/// Puts a value in the place of another, which keeps its style: upstream writes new values as the old
/// ones were written, and a number in quotes is a text.
fn put(place: &mut Node, mut value: Node) {
    if let (Value::Scalar(old), Value::Scalar(new)) = (&place.value, &mut value.value) {
        new.style = old.style;
        if old.style != Style::Plain && scalar::tag_of(&new.text) == new.tag {
            new.tag = Tag::Str;
        }
    }
    place.value = value.value;
}

/// Quotes what YAML 1.1 takes for a boolean, as upstream does with every field it passes: what takes its
/// place later is quoted, too.
fn quote(node: &mut Node) {
    if let Value::Scalar(text) = &mut node.value
        && text.tag == Tag::Str
        && text.style == Style::Plain
        && scalar::is_old_boolean(&text.text)
    {
        text.style = Style::Double;
    }
}

/// A copy for another file: places in the patch's text mean nothing there.
fn transplanted(node: &Node) -> Node {
    let value = match &node.value {
        Value::Scalar(scalar) => Value::Scalar(scalar.clone()),
        Value::Sequence(items) => Value::Sequence(items.iter().map(transplanted).collect()),
        Value::Mapping(mapping) => {
            let entry = |entry: &Entry| Entry {
                key: Key { mark: Mark::default(), ..entry.key.clone() },
                value: transplanted(&entry.value),
            };
            let mut moved: Mapping = mapping.iter().map(entry).collect();
            moved.set_flow(mapping.is_flow());
            Value::Mapping(moved)
        }
    };
    value.into()
}

/// The text of a scalar of any type; nothing for others.
fn raw(node: &Node) -> &str {
    node.as_scalar().map_or("", |scalar| scalar.text.as_str())
}

/// Whether there is nothing in it.
fn is_empty(node: &Node) -> bool {
    match &node.value {
        Value::Scalar(scalar) => scalar.tag == Tag::Null,
        Value::Mapping(mapping) => mapping.is_empty(),
        Value::Sequence(items) => items.is_empty(),
    }
}

/// The text of an element's key; nothing if it has none.
fn key_of(node: &Node, key: &str) -> Text {
    node.get(key)
        .filter(|value| !is_empty(value))
        .map(|value| raw(value).into())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
