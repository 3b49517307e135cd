//! A kustomization file as Flux reads it before kustomize does: what it does not know is dropped, not
//! refused, names are found in any case, and numbers become texts where texts are wanted.

use super::number::{self, Plain};
use super::substitute::retype;
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{Entry, Mapping, Node, Scalar, Style, Tag, Value};

enum Shape {
    /// Anything, as it is.
    Any,
    Text,
    TextMap,
    List(&'static Shape),
    Object(&'static [(&'static str, Shape)]),
}

use Shape::{Any, List, Object, Text, TextMap};

const SELECTOR: Shape = Object(&[
    ("group", Text),
    ("version", Text),
    ("kind", Text),
    ("name", Text),
    ("namespace", Text),
    ("annotationSelector", Text),
    ("labelSelector", Text),
]);
const PATCH: Shape =
    Object(&[("path", Text), ("patch", Text), ("target", SELECTOR), ("options", Any)]);
const IMAGE: Shape = Object(&[
    ("name", Text),
    ("newName", Text),
    ("tagSuffix", Text),
    ("newTag", Text),
    ("digest", Text),
]);
const GENERATOR_OPTIONS: Shape = Object(&[
    ("labels", TextMap),
    ("annotations", TextMap),
    ("disableNameSuffixHash", Any),
    ("immutable", Any),
]);
const GENERATOR: Shape = Object(&[
    ("namespace", Text),
    ("name", Text),
    ("behavior", Text),
    ("literals", List(&Text)),
    ("files", List(&Text)),
    ("envs", List(&Text)),
    ("env", Text),
    ("options", GENERATOR_OPTIONS),
    ("type", Text),
]);
const FIELD_SPEC: Shape =
    Object(&[("group", Text), ("version", Text), ("kind", Text), ("path", Text), ("create", Any)]);
const LABEL: Shape = Object(&[
    ("pairs", TextMap),
    ("includeSelectors", Any),
    ("includeTemplates", Any),
    ("fields", List(&FIELD_SPEC)),
]);
const REPLICA: Shape = Object(&[("name", Text), ("count", Any)]);

const KUSTOMIZATION: Shape = Object(&[
    ("kind", Text),
    ("apiVersion", Text),
    ("metadata", Any),
    ("openapi", TextMap),
    ("namePrefix", Text),
    ("nameSuffix", Text),
    ("namespace", Text),
    ("commonLabels", TextMap),
    ("labels", List(&LABEL)),
    ("commonAnnotations", TextMap),
    ("patchesStrategicMerge", List(&Text)),
    ("patchesJson6902", List(&PATCH)),
    ("patches", List(&PATCH)),
    ("images", List(&IMAGE)),
    ("imageTags", List(&IMAGE)),
    ("replacements", Any),
    ("replicas", List(&REPLICA)),
    ("vars", Any),
    ("sortOptions", Any),
    ("resources", List(&Text)),
    ("components", List(&Text)),
    ("crds", List(&Text)),
    ("bases", List(&Text)),
    ("configMapGenerator", List(&GENERATOR)),
    ("secretGenerator", List(&GENERATOR)),
    ("helmGlobals", Any),
    ("helmCharts", Any),
    ("helmChartInflationGenerator", Any),
    ("generatorOptions", GENERATOR_OPTIONS),
    ("configurations", List(&Text)),
    ("generators", List(&Text)),
    ("transformers", List(&Text)),
    ("validators", List(&Text)),
    ("buildMetadata", List(&Text)),
]);

/// A kustomization as Flux hands it on.
pub(super) struct Read {
    /// What is left of it.
    pub content: Mapping,
    /// Whether that is all of it, as it was written.
    pub unchanged: bool,
}

/// Reads a kustomization file's content.
pub(super) fn read(node: &Node) -> Result<Read> {
    let mut reader = Reader { unchanged: true };
    if node.is_null() {
        return Ok(Read { content: Mapping::new(), unchanged: false });
    }
    let read = reader.node(node, &KUSTOMIZATION, "the kustomization")?;
    match read.map(|node| node.value) {
        Some(Value::Mapping(content)) => Ok(Read { content, unchanged: reader.unchanged }),
        _ => Ok(Read { content: Mapping::new(), unchanged: false }),
    }
}

struct Reader {
    unchanged: bool,
}

impl Reader {
    fn node(&mut self, node: &Node, shape: &Shape, what: &str) -> Result<Option<Node>> {
        let wrong = |wanted: &str| {
            Diagnostic::new(format!("{what} must be {wanted}, not {}", node.shape())).at(node.mark)
        };
        if node.is_null() {
            return Ok(None);
        }
        let value = match shape {
            Any => {
                let mut node = node.clone();
                retype::as_json(&mut node)?;
                node.value
            }
            Text => match &node.value {
                Value::Scalar(scalar) => Value::Scalar(self.text(scalar)),
                _ => return Err(wrong("a text")),
            },
            TextMap => {
                let mapping = node.as_mapping().ok_or_else(|| wrong("a mapping of texts"))?;
                let mut texts = Mapping::new();
                for Entry { key, value } in mapping {
                    let value = if value.is_null() {
                        self.unchanged = false;
                        Node::string("")
                    } else {
                        value.clone()
                    };
                    let Value::Scalar(scalar) = &value.value else {
                        return Err(wrong("a mapping of texts"));
                    };
                    let node = Node { value: Value::Scalar(self.text(scalar)), mark: value.mark };
                    texts.entries_mut().push(Entry { key: key.clone(), value: node });
                }
                Value::Mapping(texts)
            }
            List(items) => {
                let list = node.as_sequence().ok_or_else(|| wrong("a list"))?;
                let mut read = Vec::with_capacity(list.len());
                for item in list {
                    let empty = || match items {
                        Text => Node::string(""),
                        _ => Node::mapping(),
                    };
                    read.push(match self.node(item, items, what)? {
                        Some(item) => item,
                        None => {
                            self.unchanged = false;
                            empty()
                        }
                    });
                }
                Value::Sequence(read)
            }
            Object(fields) => {
                let mapping = node.as_mapping().ok_or_else(|| wrong("a mapping"))?;
                let mut known = Mapping::new();
                for Entry { key, value } in mapping {
                    let exact = fields.iter().find(|(name, _)| *name == key.text);
                    let any =
                        || fields.iter().find(|(name, _)| name.eq_ignore_ascii_case(&key.text));
                    let Some((name, shape)) = exact.or_else(any) else {
                        self.unchanged = false;
                        continue;
                    };
                    self.unchanged &= *name == key.text;
                    if let Some(value) = self.node(value, shape, &format!("`{name}`"))? {
                        let mut key = key.clone();
                        key.text = (*name).into();
                        known.remove(name);
                        known.entries_mut().push(Entry { key, value });
                    }
                }
                Value::Mapping(known)
            }
        };
        Ok(Some(Node { value, mark: node.mark }))
    }

    /// A scalar that is a text from now on: what YAML 1.1 takes for something else is written anew.
    fn text(&mut self, scalar: &Scalar) -> Scalar {
        if scalar.style != Style::Plain || scalar.tag == Tag::Binary {
            return scalar.clone();
        }
        let text: crate::yaml::Text = match number::resolve(&scalar.text) {
            Plain::Text => return Scalar { tag: Tag::Str, ..scalar.clone() },
            Plain::Null => "".into(),
            Plain::Bool(value) => if value { "true" } else { "false" }.into(),
            Plain::Int(number) => number.to_string().into(),
            Plain::Float(number) => number::general_short(number).into(),
        };
        self.unchanged = false;
        Scalar { text, tag: Tag::Str, style: Style::Double }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> (String, bool) {
        let node = crate::yaml::documents(text).unwrap().remove(0).root;
        let read = read(&node).unwrap();
        let mut out = String::new();
        crate::yaml::emit::object(&read.content.into(), &mut out).unwrap();
        (out, read.unchanged)
    }

    #[test]
    fn what_is_known_stays() {
        let text = "namespace: a\npatches:\n- patch: |\n    a: b\n  target:\n    kind: X\nresources:\n- a.yaml\n";
        assert_eq!(read_text(text), (text.to_owned(), true));
    }

    #[test]
    fn what_is_unknown_goes_and_numbers_become_texts() {
        let (text, unchanged) = read_text(
            "Resources: [a.yaml]\nunknown: 1\nnamePrefix: 5\nimages: [{name: a, newTag: 1, x: y}]\n",
        );
        assert_eq!(
            text,
            "images:\n- name: a\n  newTag: \"1\"\nnamePrefix: \"5\"\nresources:\n- a.yaml\n"
        );
        assert!(!unchanged);
    }
}
