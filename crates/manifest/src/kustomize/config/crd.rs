//! Fields named by the extensions of `crds` definitions: `x-kubernetes-annotation`,
//! `x-kubernetes-label-selector`, `x-kubernetes-identity`, `x-kubernetes-object-ref-*`.

use super::super::Gvk;
use super::super::field::{FieldSpec, merge_one};
use super::{NameReference, Tables, add_reference, rank};
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{Entry, Node, Text};

/// Definitions that refer to each other deeper than this refer to themselves.
const DEEPEST: usize = 64;

/// How many definitions are looked at, over and over: more is a bomb, not a schema.
const MOST: usize = 100_000;

#[derive(Default)]
struct Found {
    annotations: Vec<FieldSpec>,
    labels: Vec<FieldSpec>,
    names: Vec<FieldSpec>,
    references: Vec<NameReference>,
    read: usize,
}

/// The fields that a file of definitions names.
pub fn tables(definitions: &Node) -> Result<Tables> {
    let Some(mapping) = definitions.as_mapping() else {
        let message = format!(
            "unable to parse open API definition: expected a mapping of definitions, not {}",
            definitions.shape()
        );
        return Err(Diagnostic::new(message).at(definitions.mark));
    };
    let mut found = Found::default();
    for entry in mapping {
        let is_object = ["kind", "apiVersion", "metadata"]
            .iter()
            .all(|name| properties(&entry.value).is_some_and(|all| all.get(name).is_some()));
        if is_object {
            let kind = entry.key.text.rsplit('.').next().unwrap_or_default();
            let gvk = Gvk { kind: kind.into(), ..Gvk::default() };
            read(&mut found, &gvk, definitions, &entry.key.text, &mut Vec::new())?;
        }
    }
    for list in [&mut found.annotations, &mut found.labels, &mut found.names] {
        rank::sort(list, |field| &field.gvk);
    }
    rank::sort(&mut found.references, |reference| &reference.target);
    Ok(Tables {
        common_annotations: found.annotations.into(),
        common_labels: found.labels.into(),
        name_prefix: found.names.into(),
        name_reference: found.references,
        ..Tables::default()
    })
}

fn read(
    found: &mut Found,
    gvk: &Gvk,
    definitions: &Node,
    name: &str,
    path: &mut Vec<Text>,
) -> Result<()> {
    let Some(definition) = definitions.get(name) else { return Ok(()) };
    found.read += 1;
    if path.len() > DEEPEST || found.read > MOST {
        let message = format!("the definition {name} refers to itself, or to far too many others");
        return Err(Diagnostic::new(message).at(definition.mark));
    }
    for Entry { key, value: property } in
        properties(definition).and_then(Node::as_mapping).into_iter().flatten()
    {
        path.push(key.text.clone());
        let extension = |name: &str| text_of(property, name);
        let field = || FieldSpec::new(gvk.clone(), &path.join("/"), false);
        if extension("x-kubernetes-annotation").is_some() {
            merge_one(&mut found.annotations, &field())?;
        }
        if extension("x-kubernetes-label-selector").is_some() {
            merge_one(&mut found.labels, &field())?;
        }
        if extension("x-kubernetes-identity").is_some() {
            merge_one(&mut found.names, &field())?;
        }
        let version = extension("x-kubernetes-object-ref-api-version");
        if let (Some(version), Some(kind)) = (version, extension("x-kubernetes-object-ref-kind")) {
            let name = extension("x-kubernetes-object-ref-name-key").unwrap_or("name");
            let path = format!("{}/{name}", path.join("/"));
            let reference = NameReference {
                target: Gvk { group: Text::default(), version: version.into(), kind: kind.into() },
                referrers: vec![FieldSpec::new(gvk.clone(), &path, false)],
            };
            add_reference(&mut found.references, &reference)?;
        }
        if let Some(other) = extension("$ref") {
            read(found, gvk, definitions, other, path)?;
        }
        path.pop();
    }
    Ok(())
}

fn properties(definition: &Node) -> Option<&Node> {
    named(definition, "Schema")?.get("properties")
}

/// An entry whose name is written in any case, as Go's decoder finds it.
fn named<'a>(node: &'a Node, name: &str) -> Option<&'a Node> {
    let mapping = node.as_mapping()?;
    let entry = mapping.iter().find(|entry| entry.key.text.eq_ignore_ascii_case(name))?;
    Some(&entry.value)
}

fn text_of<'a>(property: &'a Node, name: &str) -> Option<&'a str> {
    named(property, name)?.text()
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use crate::yaml::documents;

    #[test]
    fn definitions_name_fields() {
        let text = r#"
github.com/example/v1.Bee:
  Schema:
    properties: {kind: {}, apiVersion: {}, metadata: {}, spec: {$ref: github.com/example/v1.BeeSpec}}
github.com/example/v1.BeeSpec:
  Schema:
    properties:
      hive: {x-kubernetes-object-ref-api-version: v1, x-kubernetes-object-ref-kind: Hive}
      who: {x-kubernetes-identity: ""}
      marks: {x-kubernetes-annotation: ""}
      select: {x-kubernetes-label-selector: ""}
"#;
        let config = Config::from_crds(&documents(text).unwrap().remove(0).root).unwrap();
        assert_eq!(config.name_reference[0].target.kind, "Hive");
        assert_eq!(config.name_reference[0].referrers[0].path.as_str(), "spec/hive/name");
        assert_eq!(config.name_prefix[0].path.as_str(), "spec/who");
        assert_eq!(config.name_prefix[0].gvk.kind, "Bee");
        assert_eq!(config.common_annotations[0].path.as_str(), "spec/marks");
        assert_eq!(config.common_labels[0].path.as_str(), "spec/select");
    }

    #[test]
    fn definitions_that_never_end_are_refused() {
        let text = "
A: {Schema: {properties: {kind: {}, apiVersion: {}, metadata: {}, a: {$ref: A}}}}";
        assert!(Config::from_crds(&documents(text).unwrap().remove(0).root).is_err());
    }
}
