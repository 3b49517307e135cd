//! From a name in a field to the object it means.

use std::collections::HashMap;

use super::super::field::setter::set_text;
use super::super::{Gvk, NO_NAMESPACE, Resource};
use super::candidate::{Candidate, same_affixes};
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{Mapping, Node, Text, Value};

/// One field that may refer to objects of one kind.
pub struct Referral<'a> {
    /// The objects; the referrer's own content is not among them while it is changed.
    pub resources: &'a [Resource],
    /// What is known of them.
    pub candidates: &'a [Candidate],
    /// Which of them had a name before.
    pub by_name: &'a HashMap<Text, Vec<usize>>,
    /// The one that refers.
    pub referrer: usize,
    /// The kind that is referred to.
    pub target: &'a Gvk,
    /// The kind of the role, if the field names one.
    pub role: Option<Gvk>,
    /// Other namespaces the referrer may refer into.
    pub namespaces: &'a [Text],
}

/// In which namespaces to look, if the reference names one.
enum Within<'a> {
    Any,
    Original(&'a str),
    Current(&'a str),
}

impl Referral<'_> {
    /// Updates the names in a node, and notes whom they mean.
    pub fn update(&self, node: &mut Node, referred: &mut Vec<usize>) -> Result<()> {
        match &mut node.value {
            Value::Sequence(items) => items.iter_mut().try_for_each(|item| match &item.value {
                Value::Sequence(_) => {
                    Err(Diagnostic::new("expected a name, or a mapping that has one").at(item.mark))
                }
                _ => self.update(item, referred),
            }),
            Value::Mapping(mapping) => {
                self.update_mapping(mapping, referred).map_err(|error| error.at(node.mark))
            }
            Value::Scalar(_) => self.update_name(node, referred),
        }
    }

    fn update_name(&self, node: &mut Node, referred: &mut Vec<usize>) -> Result<()> {
        let Some(scalar) = node.as_scalar().filter(|_| !node.is_null()) else { return Ok(()) };
        let same = |one: &Candidate, two: &Candidate| one.name == two.name;
        let found = self.select(&scalar.text, &Within::Any, same).map_err(|it| it.at(node.mark))?;
        let Some(found) = found else { return Ok(()) };
        referred.push(found);
        let name = &self.candidates[found].name;
        if scalar.text == *name || name.is_empty() { Ok(()) } else { set_text(node, name.clone()) }
    }

    fn update_mapping(&self, mapping: &mut Mapping, referred: &mut Vec<usize>) -> Result<()> {
        let text =
            |name: &str| mapping.get(name).and_then(Node::as_scalar).map(|it| it.text.clone());
        if !mapping.contains("name") {
            return Err(Diagnostic::new("path config error; no 'name' field in node").hint(
                "let the path of the field specification lead to a name, or to what has one",
            ));
        }
        let old = text("name").unwrap_or_default();
        let namespace = text("namespace");
        let within = self.within(mapping.contains("namespace"), namespace.as_deref());
        let same = |one: &Candidate, two: &Candidate| {
            one.name == two.name && one.namespace == two.namespace
        };
        let Some(found) = self.select(&old, &within, same)? else { return Ok(()) };
        referred.push(found);
        let found = &self.candidates[found];
        if found.name == old && found.namespace.is_empty() {
            return Ok(());
        }
        set(mapping, "name", &found.name)?;
        set(mapping, "namespace", &found.namespace)
    }

    /// A namespace that is named is an original one if any object has been in it, else a current one.
    fn within<'n>(&self, named: bool, namespace: Option<&'n str>) -> Within<'n> {
        if !named {
            return Within::Any;
        }
        let namespace = namespace.filter(|name| *name != NO_NAMESPACE).unwrap_or_default();
        let original = |place: usize| {
            self.candidates[place].original == namespace && self.is_within_reach(place)
        };
        if (0..self.candidates.len()).any(original) {
            Within::Original(namespace)
        } else {
            Within::Current(namespace)
        }
    }

    /// Whether the referrer could refer to an object, whatever the field.
    fn is_within_reach(&self, place: usize) -> bool {
        let (referrer, other) = (&self.candidates[self.referrer], &self.candidates[place]);
        referrer.cluster_scoped
            || other.cluster_scoped
            || referrer.effective == other.effective
            || self.namespaces.contains(&other.namespace)
    }

    fn is_meant(&self, place: usize, within: &Within<'_>) -> bool {
        let (candidate, resource) = (&self.candidates[place], &self.resources[place]);
        let referrer = &self.candidates[self.referrer];
        let namespace = match within {
            Within::Any => true,
            Within::Original(namespace) => candidate.original == *namespace,
            Within::Current(namespace) => candidate.effective == *namespace,
        };
        namespace
            && self.is_within_reach(place)
            && candidate.was(resource, self.target)
            && self.role.as_ref().is_none_or(|role| candidate.was(resource, role))
            && (referrer.cluster_scoped
                || candidate.cluster_scoped
                || candidate.gvk.kind == "ServiceAccount"
                || referrer.effective == candidate.effective)
    }

    /// The object that a name means, if it is one of those that were renamed.
    fn select(
        &self,
        old: &str,
        within: &Within<'_>,
        same: impl Fn(&Candidate, &Candidate) -> bool,
    ) -> Result<Option<usize>> {
        let Some(places) = self.by_name.get(old) else { return Ok(None) };
        let mut places: Vec<usize> =
            places.iter().copied().filter(|place| self.is_meant(*place, within)).collect();
        if let [only] = places[..] {
            return Ok(Some(only));
        }
        let referrer = &self.resources[self.referrer];
        places.retain(|place| same_affixes(&self.resources[*place], referrer, true));
        if places.len() > 1 {
            places.retain(|place| same_affixes(&self.resources[*place], referrer, false));
        }
        let Some((first, others)) = places.split_first() else { return Ok(None) };
        let first_one = &self.candidates[*first];
        if others.iter().all(|other| same(first_one, &self.candidates[*other])) {
            return Ok(Some(*first));
        }
        let ids: Vec<String> = places
            .iter()
            .map(|place| {
                let Candidate { gvk, name, namespace, .. } = &self.candidates[*place];
                let namespace = if namespace.is_empty() { "[noNs]" } else { namespace };
                format!("{gvk}/{name}.{namespace}")
            })
            .collect();
        Err(Diagnostic::new(format!("found multiple possible referrals: {}", ids.join(", "))).hint(
            format!("give the objects called '{old}' names or prefixes that tell them apart"),
        ))
    }
}

fn set(mapping: &mut Mapping, key: &str, text: &Text) -> Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    match mapping.get_mut(key) {
        Some(Node { value: value @ (Value::Mapping(_) | Value::Sequence(_)), .. }) => {
            *value = Node::string(text.clone()).value;
            Ok(())
        }
        Some(node) => set_text(node, text.clone()),
        None => {
            mapping.set(key, Node::string(text.clone()));
            Ok(())
        }
    }
}
