//! Names of objects inside of others follow when the objects are renamed.
//!
//! A field that may hold a name is compared with what objects of the right kind were called before;
//! of those that fit, the one nearest to the referrer is meant: in its namespace, and given the same
//! prefixes and suffixes.

use std::collections::HashMap;

use super::config::Config;
use super::field::{FieldSpec, Leaf};
use super::resources::placed;
use super::{Gvk, Resource, Resources};
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{Node, Text};

mod candidate;
mod referral;

use candidate::Candidate;
use referral::Referral;

/// Renames what refers to renamed objects.
pub fn fix_names(resources: &mut Resources, config: &Config) -> Result<()> {
    if config.name_reference.is_empty() {
        return Ok(());
    }
    let mut candidates: Vec<Candidate> = resources.list.iter().map(Candidate::of).collect();
    let by_name = by_previous_name(resources);
    for place in 0..resources.list.len() {
        let original = candidates[place].original_gvk(&resources.list[place]);
        let mut references = config
            .references_of(&original.kind)
            .filter(|(_, field)| original.is_selected_by(&field.gvk))
            .peekable();
        if references.peek().is_none() {
            continue;
        }
        let namespaces = namespaces_of_subjects(&resources.list[place])
            .map_err(|error| placed(error, &resources.list[place]))?;
        // The object is changed while the others, and what is known of itself, are looked at.
        let mut object = std::mem::replace(&mut resources.list[place].node, Node::null());
        let mut referred = Vec::new();
        let outcome = references.try_for_each(|(target, field)| {
            let referral = Referral {
                resources: &resources.list,
                candidates: &candidates,
                by_name: &by_name,
                referrer: place,
                target,
                role: role_of(field, &object),
                namespaces: &namespaces,
            };
            field
                .apply(&mut object, Leaf::Nothing, &mut |node| referral.update(node, &mut referred))
                .map_err(|error| {
                    let field = field.path.as_str();
                    error.while_doing(format!("updating name reference in '{field}'"))
                })
        });
        resources.list[place].node = object;
        outcome.map_err(|error| placed(error, &resources.list[place]))?;
        if !referred.is_empty() {
            let id = resources.list[place].current_id();
            for target in referred {
                resources.list[target].referred_by.push(id.clone());
            }
            candidates[place].refresh(&resources.list[place]);
        }
    }
    Ok(())
}

/// Which objects had a name before.
fn by_previous_name(resources: &Resources) -> HashMap<Text, Vec<usize>> {
    let mut by_name: HashMap<Text, Vec<usize>> = HashMap::new();
    for (place, resource) in resources.list.iter().enumerate() {
        for previous in &resource.previous {
            let places = by_name.entry(previous.name.clone()).or_default();
            if places.last() != Some(&place) {
                places.push(place);
            }
        }
    }
    by_name
}

/// The kind a role binding says its role is of.
fn role_of(field: &FieldSpec, object: &Node) -> Option<Gvk> {
    if !field.path.as_str().ends_with("roleRef/name") {
        return None;
    }
    let text = |name| {
        let scalar = object.at(&["roleRef", name])?.as_scalar()?;
        Some(scalar.text.clone())
    };
    Some(Gvk { group: text("apiGroup")?, version: Text::default(), kind: text("kind")? })
}

/// The namespaces of the service accounts that a role binding names: it may refer into them.
fn namespaces_of_subjects(resource: &Resource) -> Result<Vec<Text>> {
    if resource.kind() != "RoleBinding" {
        return Ok(Vec::new());
    }
    let subjects = resource.node.get("subjects").and_then(Node::as_sequence).unwrap_or_default();
    let mut namespaces = Vec::new();
    for subject in subjects {
        if subject.as_mapping().is_none() {
            let message = format!("a subject must be a mapping, not {}", subject.shape());
            return Err(Diagnostic::new(message).at(subject.mark));
        }
        let kind = subject.get("kind").and_then(Node::text);
        if let (Some(namespace), Some("ServiceAccount")) = (subject.get("namespace"), kind) {
            let Some(text) = namespace.text() else {
                let message = format!(
                    "the namespace of a subject is blank in {}: name one, or remove the field",
                    resource.current_id()
                );
                return Err(Diagnostic::new(message).at(namespace.mark));
            };
            namespaces.push(text.into());
        }
    }
    Ok(namespaces)
}

#[cfg(test)]
mod tests;
