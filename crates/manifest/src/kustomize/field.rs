//! Where a transformer writes: kinds and a path of keys, with lists passed through on the way.

use std::sync::Arc;

use super::{Gvk, Origin, Resource};
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{Fields, Node, Tag, Text, Value};

pub mod lookup;
pub mod setter;

/// A field of some kinds of object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldSpec {
    /// The kinds that have it; empty parts match anything.
    pub gvk: Gvk,
    /// The path to it.
    pub path: FieldPath,
    /// Whether it is made where it is missing.
    pub create: bool,
}

/// A path of keys, split once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPath {
    text: Text,
    steps: Arc<[Step]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    name: Text,
    /// Written `name[]`: the field is a list, and is not made.
    list: bool,
}

/// What is put where a path ends at nothing, if the field is one that is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaf {
    /// Nothing: the path has to be there.
    Nothing,
    /// A scalar.
    Scalar,
    /// A mapping.
    Mapping,
}

impl FieldPath {
    /// Splits at slashes; `\/` is a slash in a key, and one slash in front is ignored.
    pub fn new(text: &str) -> Self {
        let trimmed = text.strip_prefix('/').unwrap_or(text);
        let mut names: Vec<String> = Vec::new();
        for part in trimmed.split('/') {
            match names.last_mut() {
                Some(last) if last.ends_with('\\') => {
                    last.pop();
                    last.push('/');
                    last.push_str(part);
                }
                _ => names.push(part.to_owned()),
            }
        }
        let step = |name: String| match name.strip_suffix("[]") {
            Some(name) => Step { name: name.into(), list: true },
            None => Step { name: name.into(), list: false },
        };
        Self { text: text.into(), steps: names.into_iter().map(step).collect() }
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl FieldSpec {
    /// A field of some kinds.
    pub fn new(gvk: Gvk, path: &str, create: bool) -> Self {
        Self { gvk, path: FieldPath::new(path), create }
    }

    /// As it stands in a configuration.
    pub fn parse(node: &Node) -> Result<Self> {
        let mut fields = Fields::of(node, "a field specification")?;
        let gvk = Gvk {
            group: fields.text_or_empty("group")?,
            version: fields.text_or_empty("version")?,
            kind: fields.text_or_empty("kind")?,
        };
        let path = fields.text_or_empty("path")?;
        let create = fields.flag("create")?;
        fields.finish()?;
        Ok(Self::new(gvk, &path, create))
    }

    /// Several of them.
    pub fn parse_list(nodes: &[Node]) -> Result<Vec<Self>> {
        nodes.iter().map(Self::parse).collect()
    }

    /// Whether an object is of one of the kinds.
    pub fn matches(&self, object: &Node) -> bool {
        let text = |name| object.get(name).and_then(Node::text).unwrap_or_default();
        if !self.gvk.kind.is_empty() && self.gvk.kind != text("kind") {
            return false;
        }
        if self.gvk.group.is_empty() && self.gvk.version.is_empty() {
            return true;
        }
        let api_version = text("apiVersion");
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        (self.gvk.group.is_empty() || self.gvk.group == group)
            && (self.gvk.version.is_empty() || self.gvk.version == version)
    }

    /// Calls `set` on every node the path leads to. The object is known to match.
    pub fn apply(
        &self,
        object: &mut Node,
        leaf: Leaf,
        set: &mut dyn FnMut(&mut Node) -> Result<()>,
    ) -> Result<()> {
        let leaf = if self.create { leaf } else { Leaf::Nothing };
        walk(object, &self.path.steps, leaf, set).map_err(|error| {
            let id = Resource::new(object.clone(), Origin::default()).current_id();
            error.while_doing(format!("considering field '{}' of object {id}", self.path.text))
        })
    }

    /// Calls `set` on every node the path leads to, if the object matches.
    pub fn apply_if_matching(
        &self,
        object: &mut Node,
        leaf: Leaf,
        set: &mut dyn FnMut(&mut Node) -> Result<()>,
    ) -> Result<()> {
        if self.matches(object) { self.apply(object, leaf, set) } else { Ok(()) }
    }
}

/// Adds a field to a list. One that the list has already, for the same kinds or for some of them, is
/// not added again; the two have to agree on whether the field is made.
pub fn merge_one(list: &mut Vec<FieldSpec>, field: &FieldSpec) -> Result<()> {
    let known = |known: &&FieldSpec| {
        known.path.text == field.path.text && known.gvk.is_selected_by(&field.gvk)
    };
    match list.iter().find(known) {
        Some(known) if known.create != field.create => Err(Diagnostic::new(format!(
            "conflicting fieldspecs: '{}' of {} is created by one and not by the other",
            field.path.text, field.gvk
        ))),
        Some(_) => Ok(()),
        None => {
            list.push(field.clone());
            Ok(())
        }
    }
}

/// Adds fields to a list, as [`merge_one`] does.
pub fn merge_all(list: &mut Vec<FieldSpec>, fields: &[FieldSpec]) -> Result<()> {
    fields.iter().try_for_each(|field| merge_one(list, field))
}

fn walk(
    node: &mut Node,
    steps: &[Step],
    leaf: Leaf,
    set: &mut dyn FnMut(&mut Node) -> Result<()>,
) -> Result<()> {
    let Some((step, rest)) = steps.split_first() else { return set(node) };
    if node.is_null() {
        return Ok(());
    }
    let mark = node.mark;
    let mapping = match &mut node.value {
        Value::Sequence(items) => {
            return items.iter_mut().try_for_each(|item| walk(item, steps, leaf, set));
        }
        Value::Scalar(_) => {
            return Err(Diagnostic::new("expected sequence or mapping node").at(mark));
        }
        Value::Mapping(mapping) => mapping,
    };
    let name = step.name.as_str();
    if name.is_empty() {
        return Err(Diagnostic::new("cannot set or create an empty field name"));
    }
    // Upstream reads such a step as the place of an item, which a mapping does not have.
    if name == "-" || name == "*" || name.bytes().all(|byte| byte.is_ascii_digit()) {
        let message = format!("fieldName: {name}: expected SequenceNode but got MappingNode");
        return Err(Diagnostic::new(message).at(mark));
    }
    let made = if step.list { Leaf::Nothing } else { leaf };
    let found = if made == Leaf::Nothing {
        mapping.get_mut(name)
    } else {
        Some(mapping.get_or_insert_with(name, || match (rest, made) {
            ([], Leaf::Scalar) => Node::string(""),
            _ => Node::mapping(),
        }))
    };
    let Some(field) = found else { return Ok(()) };
    if field.is_null() {
        if step.list {
            field.value = Value::Sequence(Vec::new());
        } else if made != Leaf::Nothing {
            match (&mut field.value, rest, made) {
                (Value::Scalar(scalar), [], Leaf::Scalar) => scalar.tag = Tag::Str,
                (value, ..) => *value = Node::mapping().value,
            }
        }
    }
    walk(field, rest, leaf, set)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::documents;

    fn node(text: &str) -> Node {
        documents(text).unwrap().remove(0).root
    }

    fn seen(spec: &FieldSpec, object: &mut Node, leaf: Leaf) -> Vec<String> {
        let mut seen = Vec::new();
        spec.apply_if_matching(object, leaf, &mut |node| {
            seen.push(node.as_scalar().map_or("-".to_owned(), |scalar| scalar.text.to_string()));
            Ok(())
        })
        .unwrap();
        seen
    }

    fn spec(kind: &str, path: &str, create: bool) -> FieldSpec {
        FieldSpec::new(Gvk { kind: kind.into(), ..Gvk::default() }, path, create)
    }

    #[test]
    fn lists_on_the_way_are_passed_through() {
        let mut object = node("kind: Pod\nspec: {containers: [{image: a}, {image: b}, {}, ~]}");
        assert_eq!(
            seen(&spec("Pod", "spec/containers/image", false), &mut object, Leaf::Scalar),
            ["a", "b"]
        );
        assert!(
            seen(&spec("Job", "spec/containers/image", false), &mut object, Leaf::Scalar)
                .is_empty()
        );
    }

    #[test]
    fn missing_fields_are_made_only_if_said_so() {
        let mut object = node("kind: Pod");
        assert!(seen(&spec("", "a/b", false), &mut object, Leaf::Scalar).is_empty());
        assert_eq!(object, node("kind: Pod"));
        assert_eq!(seen(&spec("", "a/b", true), &mut object, Leaf::Scalar), [""]);
        assert_eq!(object, node("kind: Pod\na: {b: ''}"));
    }

    #[test]
    fn a_list_that_is_null_becomes_empty_and_is_not_made() {
        let mut object = node("kind: Pod\nspec: {containers: ~}");
        assert!(
            seen(&spec("", "spec/containers[]/image", true), &mut object, Leaf::Nothing).is_empty()
        );
        assert_eq!(object, node("kind: Pod\nspec: {containers: []}"));
    }

    #[test]
    fn a_mapping_that_is_null_is_made_anew() {
        let mut object = node("metadata: {labels: ~}");
        assert_eq!(seen(&spec("", "metadata/labels", true), &mut object, Leaf::Mapping), ["-"]);
        assert_eq!(object, node("metadata: {labels: {}}"));
    }

    #[test]
    fn slashes_in_keys_are_escaped() {
        let path = FieldPath::new(r"/metadata/annotations/a.io\/b");
        let names: Vec<&str> = path.steps.iter().map(|step| step.name.as_str()).collect();
        assert_eq!(names, ["metadata", "annotations", "a.io/b"]);
    }

    #[test]
    fn scalars_on_the_way_are_refused() {
        let mut object = node("kind: Pod\nmetadata: {name: web}\nspec: text");
        let error = spec("", "spec/a/b", true)
            .apply(&mut object, Leaf::Scalar, &mut |_| Ok(()))
            .unwrap_err();
        assert!(error.to_string().contains("considering field 'spec/a/b'"), "{error}");
        assert!(error.to_string().contains("expected sequence or mapping node"), "{error}");
    }

    #[test]
    fn the_same_field_is_not_added_twice() {
        let mut list = vec![spec("Pod", "a/b", true)];
        merge_one(&mut list, &spec("Pod", "a/b", true)).unwrap();
        // A field of any kind covers the known one, so it counts as known.
        merge_one(&mut list, &spec("", "a/b", true)).unwrap();
        assert_eq!(list.len(), 1);
        merge_one(&mut list, &spec("Job", "a/b", false)).unwrap();
        assert_eq!(list.len(), 2);
        assert!(merge_one(&mut list, &spec("Pod", "a/b", false)).is_err());
    }
}
