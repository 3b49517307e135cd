//! From text to nodes.

use std::collections::BTreeMap;

use granit_parser::{Event, Parser, ScalarStyle, Span};

use super::{Entry, Key, Mapping, Mark, Node, Scalar, Style, Tag, Value};
use crate::diagnostic::{Diagnostic, Result};

/// How many nodes aliases may add to a document: more is a bomb, not a manifest.
const MOST_EXPANDED: usize = 1_000_000;

/// One document of a file.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its content; null if it has none.
    pub root: Node,
}

/// The documents of a text.
pub fn documents(text: &str) -> Result<Vec<Document>> {
    let options = granit_parser::options! { emit_comments: false };
    let mut builder = Builder {
        parser: Parser::new_from_str_with_options(text, options),
        anchors: BTreeMap::new(),
        expanded: 0,
    };
    let mut documents = Vec::new();
    loop {
        match builder.next()? {
            (Event::StreamStart | Event::DocumentEnd, _) => {}
            (Event::StreamEnd, _) => return Ok(documents),
            (Event::DocumentStart(..), _) => {
                builder.anchors.clear();
                let (event, span) = builder.next()?;
                documents.push(Document { root: builder.node(event, span)? });
            }
            (_, span) => {
                return Err(Diagnostic::new("content outside of a document").at(mark(span)));
            }
        }
    }
}

struct Builder<'a> {
    parser: Parser<'a, granit_parser::StrInput<'a>>,
    anchors: BTreeMap<usize, Node>,
    expanded: usize,
}

impl<'a> Builder<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span)> {
        match self.parser.next_event() {
            Some(Ok(next)) => Ok(next),
            Some(Err(error)) => {
                let at = error.marker();
                let place =
                    Mark { line: at.line() as u32, column: at.col() as u32 + 1, ..Mark::default() };
                Err(Diagnostic::new(format!("invalid YAML: {}", error.info())).at(place))
            }
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span) -> Result<Node> {
        let mut mark = mark(span);
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let style = style_of(style);
                let tag = match tag {
                    Some(tag) => explicit_tag(&tag, &text, style),
                    None => super::scalar::tag_in(&text, style),
                };
                (Value::Scalar(Scalar { text: text.into(), tag, style }), anchor)
            }
            Event::SequenceStart(_, anchor, _) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, end) => {
                            mark.end = offset(end, true);
                            break;
                        }
                        (event, span) => items.push(self.node(event, span)?),
                    }
                }
                (Value::Sequence(items), anchor)
            }
            Event::MappingStart(_, anchor, _) => {
                let mut entries: Vec<Entry> = Vec::new();
                let mut merged: Vec<Node> = Vec::new();
                loop {
                    let key = match self.next()? {
                        (Event::MappingEnd, end) => {
                            mark.end = offset(end, true);
                            break;
                        }
                        (event, span) => self.node(event, span)?,
                    };
                    let Value::Scalar(scalar) = key.value else {
                        return Err(Diagnostic::new("a key must be a text").at(key.mark));
                    };
                    let (event, span) = self.next()?;
                    let value = self.node(event, span)?;
                    if scalar.text == "<<" && scalar.style == Style::Plain {
                        merged.push(value);
                        continue;
                    }
                    if entries.iter().any(|entry| entry.key.text == scalar.text) {
                        let message =
                            format!("the key \"{}\" is written twice in one mapping", scalar.text);
                        return Err(Diagnostic::new(message)
                            .at(key.mark)
                            .hint("remove one of them"));
                    }
                    let key = Key { text: scalar.text, tag: scalar.tag, mark: key.mark };
                    entries.push(Entry { key, value });
                }
                for node in merged {
                    merge(&mut entries, node)?;
                }
                (Value::Mapping(Mapping::from_iter(entries)), anchor)
            }
            Event::Alias(id) => {
                let Some(node) = self.anchors.get(&id) else {
                    return Err(Diagnostic::new("an alias inside of its own anchor").at(mark));
                };
                self.expanded += count(node);
                if self.expanded > MOST_EXPANDED {
                    return Err(Diagnostic::new("aliases expand this document beyond all measure")
                        .at(mark)
                        .hint("write the values out, or remove the aliases"));
                }
                return Ok(Node { value: node.value.clone(), mark });
            }
            _ => return Err(Diagnostic::new("invalid YAML").at(mark)),
        };
        let node = Node { value, mark };
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }
}

fn merge(entries: &mut Vec<Entry>, node: Node) -> Result<()> {
    match node.value {
        Value::Mapping(mapping) => {
            for entry in mapping {
                if !entries.iter().any(|known| known.key.text == entry.key.text) {
                    entries.push(entry);
                }
            }
            Ok(())
        }
        Value::Sequence(items) => items.into_iter().try_for_each(|item| merge(entries, item)),
        Value::Scalar(_) => {
            Err(Diagnostic::new("a merge key needs a mapping, or a list of mappings").at(node.mark))
        }
    }
}

fn count(node: &Node) -> usize {
    1 + match &node.value {
        Value::Scalar(_) => 0,
        Value::Mapping(mapping) => mapping.iter().map(|entry| count(&entry.value)).sum(),
        Value::Sequence(items) => items.iter().map(count).sum(),
    }
}

fn mark(span: Span) -> Mark {
    Mark {
        line: span.start.line() as u32,
        column: span.start.col() as u32 + 1,
        start: offset(span, false),
        end: offset(span, true),
    }
}

fn offset(span: Span, end: bool) -> u32 {
    let marker = if end { span.end } else { span.start };
    marker.byte_offset().unwrap_or(0) as u32
}

fn style_of(style: ScalarStyle) -> Style {
    match style {
        ScalarStyle::Plain => Style::Plain,
        ScalarStyle::SingleQuoted => Style::Single,
        ScalarStyle::DoubleQuoted => Style::Double,
        ScalarStyle::Literal => Style::Literal,
        ScalarStyle::Folded => Style::Folded,
    }
}

/// The type an explicit tag gives. Private tags leave text, whatever it looks like.
fn explicit_tag(tag: &granit_parser::Tag, text: &str, style: Style) -> Tag {
    if tag.parts() == ("!", "") || tag.parts() == ("", "!") {
        return super::scalar::tag_in(text, style);
    }
    match tag.suffix_in_namespace("tag:yaml.org,2002:").as_deref() {
        Some("null") => Tag::Null,
        Some("bool") => Tag::Bool,
        Some("int") => Tag::Int,
        Some("float") => Tag::Float,
        Some("binary") => Tag::Binary,
        Some("timestamp") => Tag::Timestamp,
        _ => Tag::Str,
    }
}
