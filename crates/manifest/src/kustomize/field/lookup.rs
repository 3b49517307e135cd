//! Following a path of keys, places and `[name=value]` to one node.

use super::setter::wrong_kind;
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::scalar::tag_in;
use crate::yaml::{Mapping, Node, Scalar, Style, Text};

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A key of a mapping.
    Key(Text),
    /// A place in a list.
    Place(usize),
    /// The last of a list.
    Last,
    /// The first of a list whose field has this text; of a list of scalars, if the field is empty.
    Match(Text, Text),
}

/// Reads the steps of a path; empty ones are left out.
pub fn parts<'a>(names: impl Iterator<Item = &'a str>) -> Result<Vec<Part>> {
    names.map(str::trim).filter(|name| !name.is_empty()).map(part).collect()
}

fn part(name: &str) -> Result<Part> {
    if let Ok(place) = name.parse::<i64>() {
        return usize::try_from(place)
            .map(Part::Place)
            .map_err(|_| Diagnostic::new(format!("array index {place} cannot be negative")));
    }
    if name == "*" {
        return Err(Diagnostic::new("wildcard is not supported in this path"));
    }
    if let Some(inner) = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let (field, text) = inner.split_once('=').ok_or_else(|| {
            Diagnostic::new(
                "list path element must contain fieldName=fieldValue for element to match",
            )
        })?;
        return Ok(Part::Match(field.into(), text.into()));
    }
    Ok(if name == "-" { Part::Last } else { Part::Key(name.into()) })
}

/// The node a path leads to, if it is there.
pub fn find<'a>(node: &'a Node, parts: &[Part]) -> Result<Option<&'a Node>> {
    let mut node = node;
    for part in parts {
        if node.is_null() {
            return Ok(None);
        }
        let next = match part {
            Part::Key(name) => {
                let mapping = node.as_mapping().ok_or_else(|| wrong_kind("MappingNode", node))?;
                mapping.get(name)
            }
            _ => {
                let items = node.as_sequence().ok_or_else(|| wrong_kind("SequenceNode", node))?;
                place_of(items, part).and_then(|place| items.get(place))
            }
        };
        match next {
            Some(next) => node = next,
            None => return Ok(None),
        }
    }
    Ok(Some(node))
}

/// The scalar a path leads to, which is made if it is not there; places in lists are not.
pub fn make<'a>(node: &'a mut Node, parts: &[Part]) -> Result<Option<&'a mut Node>> {
    let mut node = node;
    for (index, part) in parts.iter().enumerate() {
        if node.is_null() {
            return Ok(None);
        }
        node = match part {
            Part::Key(name) => {
                if node.as_mapping().is_none() {
                    return Err(wrong_kind("MappingNode", node));
                }
                let Some(mapping) = node.as_mapping_mut() else { return Ok(None) };
                mapping.get_or_insert_with(name, || match parts.get(index + 1) {
                    None => Node::string(""),
                    Some(Part::Place(_) | Part::Match(..)) => Node::sequence(Vec::new()),
                    Some(Part::Key(_) | Part::Last) => Node::mapping(),
                })
            }
            _ => {
                if node.as_sequence().is_none() {
                    return Err(wrong_kind("SequenceNode", node));
                }
                let Some(items) = node.as_sequence_mut() else { return Ok(None) };
                match (place_of(items, part), part) {
                    (Some(place), _) => match items.get_mut(place) {
                        Some(item) => item,
                        None => return Ok(None),
                    },
                    (None, Part::Match(field, text)) => {
                        items.push(item(field, text));
                        match items.last_mut() {
                            Some(item) => item,
                            None => return Ok(None),
                        }
                    }
                    (None, _) => return Ok(None),
                }
            }
        };
    }
    Ok(Some(node))
}

fn item(field: &Text, text: &Text) -> Node {
    let tag = tag_in(text, Style::Plain);
    let scalar: Node = Scalar { text: text.clone(), tag, style: Style::Plain }.into();
    if field.is_empty() {
        return scalar;
    }
    let mut mapping = Mapping::new();
    mapping.set(field.clone(), scalar);
    mapping.into()
}

fn place_of(items: &[Node], part: &Part) -> Option<usize> {
    match part {
        Part::Key(_) => None,
        Part::Place(place) if *place < items.len() => Some(*place),
        Part::Place(_) => None,
        Part::Last => items.len().checked_sub(1),
        Part::Match(field, text) => items.iter().position(|item| {
            let found = if field.is_empty() { Some(item) } else { item.get(field) };
            found.and_then(Node::as_scalar).is_some_and(|scalar| scalar.text == *text)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::documents;

    fn node(text: &str) -> Node {
        documents(text).unwrap().remove(0).root
    }

    fn path(text: &str) -> Vec<Part> {
        parts(text.split('.')).unwrap()
    }

    #[test]
    fn keys_places_and_matches_lead_to_nodes() {
        let object = node("{a: [{name: x, v: 1}, {name: y, v: 2}], s: [p, q]}");
        for (text, value) in
            [("a.0.v", "1"), ("a.[name=y].v", "2"), ("a.-.v", "2"), ("s.[=q]", "q")]
        {
            let found = find(&object, &path(text)).unwrap();
            assert_eq!(found.and_then(Node::text), Some(value), "{text}");
        }
        assert!(find(&object, &path("b.c")).unwrap().is_none());
        assert!(find(&object, &path("a.b")).is_err());
        assert!(find(&object, &path("a.7")).unwrap().is_none());
    }

    #[test]
    fn what_is_missing_is_made() {
        let mut object = node("{a: {}}");
        assert!(make(&mut object, &path("a.b.[name=x].v")).unwrap().is_some());
        assert_eq!(object, node("{a: {b: [{name: x, v: ''}]}}"));
    }
}
