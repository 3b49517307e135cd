//! Which documents of a file are objects.

use std::collections::VecDeque;

use super::is_nothing;
use super::json_patch::canonical;
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{self, Node, Style, Tag, Value};

/// The objects of a text, with lists taken apart.
pub fn objects(text: &str) -> Result<Vec<Node>> {
    let documents = yaml::documents(text)?;
    objects_of(documents.into_iter().map(|document| document.root), text)
}

/// The strategic merge patches of a text, in which equal keys are not looked for.
pub fn patches(text: &str) -> Result<Vec<Node>> {
    let documents = yaml::patches(text)?;
    objects_of(documents.into_iter().map(|document| document.root), text)
}

/// The objects among the documents of a text.
pub(super) fn objects_of(roots: impl Iterator<Item = Node>, text: &str) -> Result<Vec<Node>> {
    let single = !has_separator(text);
    let mut queue = Vec::new();
    for root in roots.filter(|root| !root.is_null()) {
        if single {
            unwrap_list(root, &mut queue);
        } else {
            queue.push(root);
        }
    }
    queue.retain(|node| !is_nothing(node));
    queue.iter().try_for_each(check)?;
    take_apart(queue)
}

/// A single document that is a list stands for what is in it.
fn unwrap_list(mut node: Node, into: &mut Vec<Node>) {
    let kind = node.get("kind").and_then(Node::text).unwrap_or_default();
    if matches!(kind, "List" | "ResourceList")
        && (node.get("items").is_some() || node.get("functionConfig").is_some())
    {
        match node.get_mut("items").map(|items| &mut items.value) {
            Some(Value::Sequence(items)) => into.append(items),
            // Upstream takes what is in there for objects, keys included.
            Some(Value::Mapping(items)) => into.extend(items.iter().map(|item| item.value.clone())),
            _ => {}
        }
    } else {
        into.push(node);
    }
}

/// What is in lists comes after everything else.
fn take_apart(nodes: Vec<Node>) -> Result<Vec<Node>> {
    let is_list = |node: &Node| {
        let kind = node.get("kind").and_then(Node::text).unwrap_or_default();
        kind.ends_with("List") && node.get("items").is_some()
    };
    if !nodes.iter().any(is_list) {
        return Ok(nodes);
    }
    let mut queue = VecDeque::from(nodes);
    let mut result = Vec::new();
    while let Some(mut node) = queue.pop_front() {
        if !is_list(&node) {
            result.push(node);
            continue;
        }
        node.check_unique_keys()?;
        let kind = node.get("kind").and_then(Node::text).unwrap_or_default().to_owned();
        let Some(items) = node.get_mut("items") else { continue };
        if items.is_null() {
            continue;
        }
        let Some(items) = items.as_sequence_mut() else {
            let message = format!("expected array in {kind}/items, but found {}", items.shape());
            return Err(Diagnostic::new(message).at(items.mark));
        };
        for item in items.drain(..) {
            let mut item = canonical(&item, false, false)?;
            as_json(&mut item);
            let mut inner = Vec::new();
            unwrap_list(item, &mut inner);
            for node in inner.into_iter().filter(|node| !is_nothing(node)) {
                check(&node)?;
                queue.push_back(node);
            }
        }
    }
    Ok(result)
}

/// What is in a list of a kind is taken out as JSON: everything stands between braces, and texts in
/// quotes.
fn as_json(node: &mut Node) {
    match &mut node.value {
        Value::Scalar(scalar) => match scalar.tag {
            Tag::Float => *scalar = super::plain(&scalar.text),
            Tag::Str => scalar.style = Style::Double,
            _ => {}
        },
        Value::Sequence(items) => items.iter_mut().for_each(as_json),
        Value::Mapping(mapping) => {
            mapping.set_flow(true);
            mapping.iter_mut().for_each(|entry| as_json(&mut entry.value));
        }
    }
}

/// Whether the node is an object: it has a kind, and a name unless it is a list.
fn check(node: &Node) -> Result<()> {
    let present = |node: Option<&Node>| node.is_some_and(|node| !is_nothing(node));
    let metadata = node.get("metadata").filter(|metadata| !is_nothing(metadata));
    let kind = node.get("kind").filter(|kind| !is_nothing(kind));
    let fields = ["name", "namespace", "labels", "annotations"];
    let mut inside = fields.iter().map(|field| metadata.and_then(|node| node.get(field)));
    if kind.is_none() && !present(node.get("apiVersion")) && !inside.any(present) {
        let message = format!("missing Resource metadata: this is {}, no object", node.shape());
        return Err(Diagnostic::new(message)
            .at(node.mark)
            .hint("an object needs `apiVersion`, `kind` and `metadata.name`"));
    }
    let kind = kind.and_then(Node::text).unwrap_or_default();
    if kind.is_empty() {
        return Err(Diagnostic::new("missing kind in object").at(node.mark));
    }
    let name = metadata.and_then(|metadata| metadata.get("name")).and_then(Node::text);
    if name.unwrap_or_default().is_empty() && !kind.ends_with("List") {
        let message = format!("missing metadata.name in object of kind {kind}");
        return Err(Diagnostic::new(message).at(metadata.map_or(node.mark, |node| node.mark)));
    }
    Ok(())
}

/// Whether the text is cut into several documents.
fn has_separator(text: &str) -> bool {
    text.match_indices("\n---").any(|(at, _)| text[at + 4..].contains('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let nodes = objects(text).unwrap();
        nodes
            .iter()
            .map(|node| node.at(&["metadata", "name"]).unwrap().text().unwrap().into())
            .collect()
    }

    #[test]
    fn lists_are_taken_apart() {
        let list = "kind: List\nitems:\n- kind: A\n  metadata: {name: a}\n- kind: B\n  metadata: {name: b}\n";
        assert_eq!(names(list), ["a", "b"]);
        let after = "kind: FooList\nitems:\n- kind: A\n  metadata: {name: a}\n---\nkind: B\nmetadata: {name: b}\n";
        assert_eq!(names(after), ["b", "a"]);
        assert!(objects("kind: List\nitems: null\n").unwrap().is_empty());
        assert_eq!(objects("kind: FooList\n").unwrap().len(), 1);
    }

    #[test]
    fn what_is_no_object_is_refused_with_its_line() {
        let error = objects("kind: A\nmetadata: {name: a}\n---\na: 1\n").unwrap_err();
        assert_eq!(error.mark().unwrap().line, 4);
        assert!(objects("- a\n").is_err());
        assert!(objects("kind: A\n").is_err());
        assert!(objects("# nothing\n---\n{}\n").unwrap().is_empty());
        let error = objects("kind: A\nmetadata: {name: a}\n--- text\n").unwrap_err();
        assert_eq!(error.mark().unwrap().line, 3);
    }
}
