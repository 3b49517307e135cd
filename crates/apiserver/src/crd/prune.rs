//! Dropping what a schema does not know.

use serde_json::Value;

use crate::fields::Path;
use crate::schema::Node;

const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Drops fields that the schema does not declare and returns their paths, sorted.
pub fn prune(node: Node<'_>, object: &mut Value) -> Vec<String> {
    let mut dropped = Vec::new();
    walk(Some(node), true, &Path::root(), object, &mut dropped);
    dropped.sort();
    dropped
}

/// The same for a part of an object that stands at this node.
pub(super) fn part(node: Node<'_>, value: &mut Value) -> Vec<String> {
    let mut dropped = Vec::new();
    walk(Some(node), false, &Path::root(), value, &mut dropped);
    dropped
}

fn walk(
    node: Option<Node<'_>>,
    resource: bool,
    path: &Path,
    value: &mut Value,
    dropped: &mut Vec<String>,
) {
    let preserves = node.is_some_and(|node| node.schema.preserve_unknown);
    let resource = resource || node.is_some_and(|node| node.schema.embedded_resource);
    match value {
        Value::Object(fields) => {
            let values = node.and_then(Node::values);
            fields.retain(|name, inner| {
                if resource && META.contains(&name.as_str()) {
                    return true;
                }
                let place = path.child(name);
                if let Some(property) = node.and_then(|node| node.property(name)) {
                    walk(Some(property), false, &place, inner, dropped);
                    return true;
                }
                if values.is_some() {
                    walk(values, false, &place, inner, dropped);
                    return true;
                }
                if !preserves {
                    dropped.push(place.as_str().to_owned());
                }
                preserves
            });
        }
        Value::Array(items) => {
            let of = node.and_then(Node::items);
            for (index, item) in items.iter_mut().enumerate() {
                if of.is_some() || !preserves {
                    let place = path.index(index);
                    if preserves && of.is_none_or(|of| of.schema.preserve_unknown) {
                        continue;
                    }
                    walk(of, false, &place, item, dropped);
                }
            }
        }
        _ => {}
    }
}
