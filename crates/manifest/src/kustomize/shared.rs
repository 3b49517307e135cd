//! Values that are one value in several places.
//!
//! Where upstream writes a new label into an object's metadata, selector and template, it puts the
//! very same node there, and whatever changes it later (a patch of the metadata, a label of an
//! overlay) changes all of them. Here each place has a copy that carries a number; after a step that
//! may have changed one of them, the others follow.

use super::Resource;
use crate::yaml::{Mark, Node, Scalar, Text, Value};

/// The values of an object that stand in several places.
#[derive(Clone, Debug, Default)]
pub struct Shared {
    /// As they were last written everywhere; nothing where no two places share.
    values: Vec<Option<Scalar>>,
}

impl Shared {
    /// The number that comes before the next one.
    pub fn last(&self) -> u32 {
        u32::try_from(self.values.len()).unwrap_or(u32::MAX)
    }

    /// Notes the next value: written to several places, or not.
    pub fn add(&mut self, text: &Text, several: bool) {
        self.values.push(several.then(|| Scalar::string(text.clone())));
    }

    /// Every place has a value of its own from now on.
    pub fn separate(&mut self) {
        self.values.fill(None);
    }

    fn is_none(&self) -> bool {
        self.values.iter().all(Option::is_none)
    }

    fn of(&self, node: &Node) -> Option<(usize, &Scalar)> {
        let index = number(node)?;
        Some((index, self.values.get(index)?.as_ref()?))
    }
}

/// A new value that is one of several with this number.
pub fn value(text: &Text, number: u32) -> Node {
    let mark = Mark { start: number, ..Mark::default() };
    Node { value: Value::Scalar(Scalar::string(text.clone())), mark }
}

/// The place of the value in the list. Nodes that were read have a line; those that were made have none.
fn number(node: &Node) -> Option<usize> {
    let number = usize::try_from(node.mark.start).ok()?;
    if node.mark.is_known() { None } else { number.checked_sub(1) }
}

/// Lets every place of a value that was changed in one of them follow.
pub fn settle(resource: &mut Resource) {
    if resource.shared.is_none() {
        return;
    }
    let mut changed = Vec::new();
    collect(&resource.node, &resource.shared, &mut changed);
    if changed.is_empty() {
        return;
    }
    for (index, scalar) in changed {
        resource.shared.values[index] = Some(scalar);
    }
    follow(&mut resource.node, &resource.shared);
}

fn collect(node: &Node, shared: &Shared, changed: &mut Vec<(usize, Scalar)>) {
    match &node.value {
        Value::Mapping(mapping) => {
            mapping.iter().for_each(|entry| collect(&entry.value, shared, changed));
        }
        Value::Sequence(items) => items.iter().for_each(|item| collect(item, shared, changed)),
        Value::Scalar(scalar) => {
            if let Some((index, known)) = shared.of(node)
                && (known.text != scalar.text || known.tag != scalar.tag)
            {
                changed.push((index, scalar.clone()));
            }
        }
    }
}

fn follow(node: &mut Node, shared: &Shared) {
    if let Some((_, known)) = shared.of(node) {
        if node.as_scalar().is_some_and(|scalar| scalar != known) {
            node.value = Value::Scalar(known.clone());
        }
        return;
    }
    match &mut node.value {
        Value::Mapping(mapping) => {
            mapping.iter_mut().for_each(|entry| follow(&mut entry.value, shared));
        }
        Value::Sequence(items) => items.iter_mut().for_each(|item| follow(item, shared)),
        Value::Scalar(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::Config;
    use super::super::field::setter::set_text;
    use super::super::fixture::{node, resources, same};
    use super::super::transform::labels::{LabelEntry, Labels};
    use super::*;

    const DEPLOYMENT: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}";

    fn labelled(label: &str) -> String {
        format!(
            "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: a, labels: {{app: {label}}}}},
               spec: {{selector: {{matchLabels: {{app: {label}}}}},
                       template: {{metadata: {{labels: {{app: {label}}}}}}}}}}}"
        )
    }

    #[test]
    fn a_change_in_one_place_is_one_in_all() {
        let config = Config::default();
        let mut objects = resources(DEPLOYMENT);
        Labels::common(vec![("app".into(), "one".into())], &config).apply(&mut objects).unwrap();
        same(&objects, &labelled("one"));
        let entry = LabelEntry::parse(&node("{pairs: {app: two}}")).unwrap();
        Labels::of_entry(&entry, &config).unwrap().apply(&mut objects).unwrap();
        same(&objects, &labelled("two"));
        let labels = objects.list[0].node.get_mut("metadata").unwrap().get_mut("labels").unwrap();
        set_text(labels.get_mut("app").unwrap(), "three").unwrap();
        settle(&mut objects.list[0]);
        same(&objects, &labelled("three"));
    }

    #[test]
    fn values_that_were_there_are_not_shared() {
        let config = Config::default();
        let mut objects = resources(&labelled("one"));
        Labels::common(vec![("app".into(), "two".into())], &config).apply(&mut objects).unwrap();
        let entry = LabelEntry::parse(&node("{pairs: {app: three}}")).unwrap();
        Labels::of_entry(&entry, &config).unwrap().apply(&mut objects).unwrap();
        assert_eq!(objects.list[0].label("app"), Some("three"));
        let template = ["spec", "template", "metadata", "labels", "app"];
        assert_eq!(objects.list[0].node.at(&template).and_then(Node::text), Some("two"));
    }
}
