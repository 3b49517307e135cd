//! Versions that come from variables: `${TAG}` means what a Flux Kustomization, a ConfigMap it names or
//! the default says.

use super::inventory::{Inventory, Object};
use super::{Form, Place, Reference, Version, floats};
use crate::document::{Address, Identity};
use crate::yaml::Node;

/// `${NAME}` or `${NAME:=default}`, and nothing else.
pub(super) struct Variable<'a> {
    pub(super) name: &'a str,
    pub(super) default: Option<&'a str>,
}

impl<'a> Variable<'a> {
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let inner = text.strip_prefix("${")?.strip_suffix('}')?;
        let end =
            inner.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let (name, rest) = inner.split_at(end);
        if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
            return None;
        }
        let default =
            [":=", ":-", "=", "-"].iter().find_map(|operator| rest.strip_prefix(operator));
        match default {
            Some(default) if !default.contains(['$', '{', '}', '"', '\'']) => {
                Some(Self { name, default: Some(default) })
            }
            None if rest.is_empty() => Some(Self { name, default: None }),
            _ => None,
        }
    }
}

/// The version itself, or the places that give its variable a value.
pub(super) fn resolve(inventory: &Inventory, object: &Object, version: Version) -> Vec<Version> {
    let Some(written) = version.current.tag.clone().filter(|tag| tag.contains("${")) else {
        return vec![version];
    };
    if version.current.digest.is_some() && version.digest.is_none() {
        // The digest behind it decides, whatever the variable says.
        return vec![version];
    }
    let Some(variable) = Variable::parse(&written) else {
        let floating = Some(format!("`{written}` is put together from variables"));
        return vec![Version { floating, ..version }];
    };
    let mut found = Vec::new();
    for applier in inventory.appliers_of(&object.path) {
        found.extend(given(inventory, applier, &variable, &version));
    }
    if !found.is_empty() {
        return found;
    }
    let name = variable.name;
    let Some(default) = variable.default else {
        let floating = Some(format!("`{name}` has no value in these files"));
        return vec![Version { floating, ..version }];
    };
    let form = Form::Default { variable: name.to_owned(), text: default.to_owned() };
    let current = with_digest(Reference::parse_tag(default).unwrap_or_default(), &version);
    vec![Version {
        floating: if current.digest.is_some() { None } else { floats(current.tag.as_deref()) },
        explanation: format!("{}; it is the default of `{name}`", version.explanation),
        current,
        place: Place { form, ..version.place.clone() },
        ..version
    }]
}

/// The tag that a variable gives, with the digest that is written elsewhere.
fn with_digest(mut current: Reference, version: &Version) -> Reference {
    current.digest = current.digest.or_else(|| version.current.digest.clone());
    current
}

/// What one Flux Kustomization gives a variable.
fn given(
    inventory: &Inventory,
    applier: &Object,
    variable: &Variable<'_>,
    version: &Version,
) -> Option<Version> {
    let name = variable.name;
    let from = |object: &Object, address: Address, node: &Node, how: String| {
        let text = node.text()?;
        let current = with_digest(Reference::parse_tag(text)?, version);
        Some(Version {
            floating: if current.digest.is_some() { None } else { floats(current.tag.as_deref()) },
            current,
            place: Place {
                path: object.path.clone(),
                document: object.document,
                address,
                mark: node.mark,
                form: Form::Tag,
            },
            explanation: format!("{}; {how}", version.explanation),
            ..version.clone()
        })
    };
    let build = applier.node.at(&["spec", "postBuild"])?;
    if let Some(node) = build.at(&["substitute", name]) {
        let address = Address::keys(["spec", "postBuild", "substitute", name]);
        let how = format!("{} gives `{name}` its value", applier.identity);
        return from(applier, address, node, how);
    }
    // Later sources win over earlier ones.
    let sources = build.get("substituteFrom").and_then(Node::as_sequence).unwrap_or_default();
    sources.iter().rev().find_map(|source| {
        let text = |key: &str| source.get(key).and_then(Node::text);
        if text("kind") != Some("ConfigMap") {
            return None;
        }
        let identity = Identity {
            group: Some(String::new()),
            kind: "ConfigMap".to_owned(),
            namespace: applier.identity.namespace.clone(),
            name: text("name")?.to_owned(),
        };
        let map = inventory.nearest(&applier.path, inventory.find(&identity))?;
        let node = map.node.at(&["data", name])?;
        let how = format!("{} takes `{name}` from {}", applier.identity, map.identity);
        from(map, Address::keys(["data", name]), node, how)
    })
}
