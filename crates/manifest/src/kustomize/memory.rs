//! What is remembered about an object, in the form upstream keeps it: as annotations of the object
//! itself. They are seen where annotations as a whole are patched or copied.

use super::{PreviousName, Resource};
use crate::yaml::{Node, Text};

/// The annotations upstream's object would have besides its own.
pub(super) fn annotations(resource: &Resource) -> Vec<(&'static str, Text)> {
    let mut result = Vec::new();
    let mut add = |key, values: Vec<&str>| {
        let values: Vec<&str> = values.into_iter().filter(|value| !value.is_empty()).collect();
        if !values.is_empty() {
            result.push((key, Text::from(values.join(","))));
        }
    };
    let previous = |of: fn(&PreviousName) -> &str| resource.previous.iter().map(of).collect();
    let texts = |list: &'_ [Text]| -> Vec<String> { list.iter().map(Text::to_string).collect() };
    let (prefixes, suffixes) = (texts(&resource.prefixes), texts(&resource.suffixes));
    add("internal.config.kubernetes.io/prefixes", prefixes.iter().map(String::as_str).collect());
    add("internal.config.kubernetes.io/suffixes", suffixes.iter().map(String::as_str).collect());
    add("internal.config.kubernetes.io/previousKinds", previous(|it| &it.kind));
    add("internal.config.kubernetes.io/previousNames", previous(|it| &it.name));
    add("internal.config.kubernetes.io/previousNamespaces", previous(|it| &it.namespace));
    if resource.generated {
        add("internal.config.kubernetes.io/generatorBehavior", vec![resource.behavior.as_str()]);
    }
    if resource.needs_hash {
        add("internal.config.kubernetes.io/needsHashSuffix", vec!["enabled"]);
    }
    let referred: Vec<String> = resource.referred_by.iter().map(ToString::to_string).collect();
    add("internal.config.kubernetes.io/refBy", referred.iter().map(String::as_str).collect());
    result
}

/// Adds them to a copy of `metadata` or of its annotations.
pub(super) fn add_to(annotations: &mut Node, remembered: Vec<(&'static str, Text)>) {
    if annotations.is_null() {
        *annotations = Node::mapping();
    }
    if let Some(mapping) = annotations.as_mapping_mut() {
        for (key, value) in remembered {
            mapping.set(key, Node::string(value));
        }
    }
}
