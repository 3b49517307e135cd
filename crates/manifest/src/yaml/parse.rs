//! From text to nodes, as kustomize reads it: the file is cut at its separators first and only the first
//! document of each piece counts, aliases and merge keys are expanded, and scalars have the types that
//! Go's YAML library gives them.

use std::borrow::Cow;

use granit_parser::{Event, Parser, ScalarStyle, Span};

use super::scalar::{self, Rules};
use super::{Entry, Key, Mapping, Mark, Node, Scalar, Style, Tag, Value};
use crate::diagnostic::{Diagnostic, Result};

/// How many nodes aliases may add to a text: more is a bomb, not a manifest.
const MOST_EXPANDED: usize = 1_000_000;

/// How much text aliases may add.
const MOST_EXPANDED_BYTES: usize = 64 << 20;

/// The longest text that is read. The largest bundles of definitions have less than a third of this.
pub(crate) const MOST_BYTES: usize = 32 << 20;

/// One document of a file.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its content; null if it has none.
    pub root: Node,
}

/// The documents of a text of objects.
pub fn documents(text: &str) -> Result<Vec<Document>> {
    check_characters(text)?;
    let text = &*line_breaks(text);
    let mut documents = Vec::new();
    for piece in pieces(text) {
        let piece = piece?;
        let mut builder = Builder::new(piece, Rules::Third);
        if let Some(root) = builder.document().map_err(|error| piece.widen(error))? {
            documents.push(Document { root });
        }
    }
    Ok(documents)
}

/// The first document of a text of settings, which upstream reads with an older library: `yes` and `on`
/// are booleans, keys are texts whatever they look like, and of two equal keys the last one counts.
pub fn configuration(text: &str) -> Result<Node> {
    check_characters(text)?;
    let text = &*line_breaks(text);
    let piece = Piece { text, line: 0, start: 0 };
    let mut builder = Builder::new(piece, Rules::Second);
    Ok(builder.document()?.unwrap_or_else(Node::null))
}

/// The text with a line break for every next-line character, which is one for upstream and none for the
/// parser; it is as long as before.
fn line_breaks(text: &str) -> Cow<'_, str> {
    if text.contains('\u{85}') { text.replace('\u{85}', "\r\n").into() } else { text.into() }
}

/// A part of a text between two separators.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) text: &'a str,
    /// How many lines and bytes come before it.
    pub(crate) line: u32,
    pub(crate) start: u32,
}

impl Piece<'_> {
    /// The place in the whole text.
    pub(crate) fn mark(self, span: Span) -> Mark {
        let offset = |marker: granit_parser::Marker| {
            self.start + u32::try_from(marker.byte_offset().unwrap_or(0)).unwrap_or(u32::MAX)
        };
        Mark {
            line: self.line + number(span.start.line()),
            column: number(span.start.col()) + 1,
            start: offset(span.start),
            end: offset(span.end),
        }
    }

    pub(crate) fn refuse(self, error: &granit_parser::ScanError) -> Diagnostic {
        let at = error.marker();
        let mark = Mark {
            line: self.line + number(at.line()).max(1),
            column: number(at.col()) + 1,
            ..Mark::default()
        };
        Diagnostic::new(format!("invalid YAML: {}", error.info())).at(mark)
    }

    /// Says at least which piece it was.
    fn widen(self, error: Diagnostic) -> Diagnostic {
        error.at(Mark { line: self.line + 1, column: 1, start: self.start, end: self.start })
    }
}

fn number(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The parts of a text between lines that begin with `---`, as kustomize cuts it before parsing.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = Result<Piece<'_>>> {
    let mut rest = Some(Piece { text, line: 0, start: 0 });
    std::iter::from_fn(move || {
        let piece = rest.take()?;
        let separator = separator(piece.text);
        let Some((before, end)) = separator else { return Some(Ok(piece)) };
        let line = &piece.text[before..end];
        let lines = |text: &str| number(text.bytes().filter(|byte| *byte == b'\n').count());
        let content = line[3..].trim();
        if !(content.is_empty() || content.starts_with('#')) {
            let mark = Mark {
                line: piece.line + lines(&piece.text[..before]) + 1,
                column: 1,
                start: piece.start + number(before),
                end: piece.start + number(end),
            };
            let message = format!("invalid document separator: {}", line.trim());
            return Some(Err(Diagnostic::new(message)
                .at(mark)
                .hint("put what follows `---` on a line of its own")));
        }
        rest = Some(Piece {
            text: &piece.text[end..],
            line: piece.line + lines(&piece.text[..end]),
            start: piece.start + number(end),
        });
        Some(Ok(Piece { text: &piece.text[..before], ..piece }))
    })
}

/// Where the first separator begins and where the line after it does.
fn separator(text: &str) -> Option<(usize, usize)> {
    let start = text.find("\n---")? + 1;
    // A separator without a line break is the last line; the parser stops there by itself.
    let length = text[start..].find('\n')?;
    Some((start, start + length + 1))
}

/// Refuses what is too long, and the characters that upstream's reader refuses.
pub(crate) fn check_characters(text: &str) -> Result<()> {
    if text.len() > MOST_BYTES {
        let message = format!("the file has {} MiB, more than is read", text.len() >> 20);
        return Err(Diagnostic::new(message)
            .at(Mark { line: 1, column: 1, ..Mark::default() })
            .hint(format!("split it into files of at most {} MiB", MOST_BYTES >> 20)));
    }
    let suspicious = |byte: &u8| {
        *byte < b' ' && !matches!(byte, b'\n' | b'\t' | b'\r') || matches!(byte, 0x7f | 0xc2 | 0xef)
    };
    if !text.as_bytes().iter().any(suspicious) {
        return Ok(());
    }
    let forbidden = |letter: char| match letter {
        '\t' | '\n' | '\r' | '\u{85}' => false,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => true,
        _ => false,
    };
    let Some((at, letter)) = text.char_indices().find(|(_, letter)| forbidden(*letter)) else {
        return Ok(());
    };
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let mark = Mark {
        line: number(text[..at].bytes().filter(|byte| *byte == b'\n').count()) + 1,
        column: number(text[line..at].chars().count()) + 1,
        start: number(at),
        end: number(at + letter.len_utf8()),
    };
    let code = u32::from(letter);
    Err(Diagnostic::new(format!("control characters are not allowed: U+{code:04X}"))
        .at(mark)
        .hint(format!("remove it, or write it as \"\\x{code:02X}\" in double quotes")))
}

/// Upstream knows fewer names of anchors than YAML allows.
fn check_name(name: &str) -> Result<()> {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if name.bytes().all(known) {
        return Ok(());
    }
    Err(Diagnostic::new(format!("the anchor `{name}` has a name that upstream does not read"))
        .hint("use letters, digits, `_` and `-`"))
}

struct Builder<'a> {
    piece: Piece<'a>,
    parser: Parser<'a, granit_parser::StrInput<'a>>,
    rules: Rules,
    /// Whether anything can refer to an anchor.
    aliases: bool,
    anchors: Vec<(usize, Node)>,
    expanded: usize,
    expanded_bytes: usize,
}

impl<'a> Builder<'a> {
    fn new(piece: Piece<'a>, rules: Rules) -> Self {
        let mut options = granit_parser::options! { emit_comments: false };
        options.emit_anchor_events = piece.text.contains('&');
        Self {
            piece,
            parser: Parser::new_from_str_with_options(piece.text, options),
            rules,
            aliases: piece.text.contains('*'),
            anchors: Vec::new(),
            expanded: 0,
            expanded_bytes: 0,
        }
    }

    /// The first document, if there is one.
    fn document(&mut self) -> Result<Option<Node>> {
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => return Ok(None),
                (Event::DocumentStart(..), _) => {
                    let (event, span) = self.next()?;
                    let node = self.node(event, span)?;
                    self.next()?;
                    return Ok(Some(node));
                }
                _ => {}
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'a>, Span)> {
        loop {
            match self.parser.next_event() {
                Some(Ok((Event::Anchor(_, name), span))) => {
                    check_name(&name).map_err(|error| error.at(self.piece.mark(span)))?;
                }
                Some(Ok(next)) => return Ok(next),
                Some(Err(error)) => return Err(self.piece.refuse(&error)),
                None => return Ok((Event::StreamEnd, Span::default())),
            }
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span) -> Result<Node> {
        let mut mark = self.piece.mark(span);
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                // What is not there at all comes as a tilde.
                let missing = mark.start == mark.end && style == ScalarStyle::Plain;
                let text = if missing { "".into() } else { text };
                if text.contains(['\u{2028}', '\u{2029}']) && style != ScalarStyle::DoubleQuoted {
                    let message = "a line separator (U+2028, U+2029) ends the line for upstream";
                    return Err(Diagnostic::new(message)
                        .at(mark)
                        .hint("remove it, or write it as \"\\L\" or \"\\P\" in double quotes"));
                }
                let scalar = self.scalar(&text, style_of(style), tag.as_deref());
                (Value::Scalar(scalar), anchor)
            }
            Event::SequenceStart(_, anchor, _) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, end) => {
                            mark.end = self.piece.mark(end).end.max(mark.end);
                            break;
                        }
                        (event, span) => items.push(self.node(event, span)?),
                    }
                }
                (Value::Sequence(items), anchor)
            }
            Event::MappingStart(_, anchor, _) => {
                let (mapping, end) = self.mapping()?;
                mark.end = end.max(mark.end);
                (Value::Mapping(mapping), anchor)
            }
            Event::Alias(id) => return self.alias(id, mark),
            _ => return Err(Diagnostic::new("invalid YAML").at(mark)),
        };
        let node = Node { value, mark };
        if anchor != 0 && self.aliases {
            // Anchors within anchors copy the same nodes again and again.
            self.count(&node)?;
            self.anchors.push((anchor, node.clone()));
        }
        Ok(node)
    }

    fn scalar(&self, text: &str, style: Style, tag: Option<&granit_parser::Tag>) -> Scalar {
        let tag = match tag {
            Some(tag) => explicit_tag(tag, text, style),
            None => scalar::tag_in(text, style),
        };
        match self.rules {
            Rules::Third => Scalar { text: text.into(), tag, style },
            Rules::Second => scalar::second(text, tag, style),
        }
    }

    fn alias(&mut self, id: usize, mark: Mark) -> Result<Node> {
        // Nearly always one of the last.
        let found = self.anchors.iter().rev().find(|(anchor, _)| *anchor == id);
        let Some((_, node)) = found else {
            return Err(Diagnostic::new("an alias inside of its own anchor")
                .at(mark)
                .hint("a value cannot contain itself"));
        };
        let node = Node { value: node.value.clone(), mark };
        self.count(&node)?;
        Ok(node)
    }

    fn count(&mut self, node: &Node) -> Result<()> {
        let (nodes, bytes) = size(node);
        self.expanded += nodes;
        self.expanded_bytes += bytes;
        if self.expanded > MOST_EXPANDED || self.expanded_bytes > MOST_EXPANDED_BYTES {
            return Err(Diagnostic::new("aliases expand this document beyond all measure")
                .at(node.mark)
                .hint("write the values out, or remove the aliases"));
        }
        Ok(())
    }

    fn mapping(&mut self) -> Result<(Mapping, u32)> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut merged: Option<Node> = None;
        let end = loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                break self.piece.mark(span).end;
            }
            let explicit = matches!(&event, Event::Scalar(_, _, _, Some(_)));
            let key = self.node(event, span)?;
            let Value::Scalar(scalar) = key.value else {
                return Err(Diagnostic::new(format!("a key must be a text, not {}", key.shape()))
                    .at(key.mark)
                    .hint("only scalars can be keys of an object"));
            };
            let (event, span) = self.next()?;
            let alias = matches!(event, Event::Alias(_));
            let value = self.node(event, span)?;
            if scalar.text == "<<" && scalar.style == Style::Plain && !explicit {
                check_merge(&value, alias)?;
                match self.rules {
                    Rules::Second => overwrite(&mut entries, value),
                    Rules::Third if merged.is_some() => {
                        return Err(Diagnostic::new("duplicate merge key")
                            .at(key.mark)
                            .hint("merge several mappings with one key: `<<: [*one, *two]`"));
                    }
                    Rules::Third => merged = Some(value),
                }
                continue;
            }
            if scalar.text == "<<" && self.rules == Rules::Third {
                // Upstream takes the merge key out by its text, quoted or not.
                continue;
            }
            let key = match self.rules {
                Rules::Third => Key { text: scalar.text, tag: scalar.tag, mark: key.mark },
                Rules::Second => Key { text: scalar.text, tag: Tag::Str, mark: key.mark },
            };
            entries.push(Entry { key, value });
        };
        match self.rules {
            Rules::Third => check_unique(&entries)?,
            Rules::Second => keep_last(&mut entries),
        }
        if let Some(node) = merged {
            merge(&mut entries, node);
        }
        Ok((Mapping::from_iter(entries), end))
    }
}

/// What a merge key may say: a mapping, or a list of mappings written in place.
fn check_merge(node: &Node, alias: bool) -> Result<()> {
    let refuse = |message: &str, mark| Err(Diagnostic::new(message).at(mark));
    match &node.value {
        Value::Mapping(_) => Ok(()),
        Value::Sequence(_) if alias => {
            refuse("invalid map merge: received alias for a non-map value", node.mark)
        }
        Value::Sequence(items) => match items.iter().find(|item| item.as_mapping().is_none()) {
            None => Ok(()),
            Some(item) if item.as_sequence().is_some() => {
                refuse("invalid map merge: received a nested sequence", item.mark)
            }
            Some(item) => {
                refuse("map merge requires map or sequence of maps as the value", item.mark)
            }
        },
        Value::Scalar(_) => {
            refuse("map merge requires map or sequence of maps as the value", node.mark)
        }
    }
}

/// Adds what is merged and not there yet; of a list, the first mapping counts most.
fn merge(entries: &mut Vec<Entry>, node: Node) {
    let mut added = Vec::new();
    overwrite(&mut added, node);
    added.retain(|entry: &Entry| entries.iter().all(|known| known.key.text != entry.key.text));
    entries.append(&mut added);
}

/// Sets what is merged, whether it is there or not.
fn overwrite(entries: &mut Vec<Entry>, node: Node) {
    match node.value {
        Value::Mapping(mapping) => {
            for entry in mapping {
                match entries.iter_mut().find(|known| known.key.text == entry.key.text) {
                    Some(known) => *known = entry,
                    None => entries.push(entry),
                }
            }
        }
        Value::Sequence(items) => {
            items.into_iter().rev().for_each(|item| overwrite(entries, item));
        }
        Value::Scalar(_) => {}
    }
}

/// How many entries are compared with each other before sorting them is cheaper.
const FEW: usize = 24;

fn check_unique(entries: &[Entry]) -> Result<()> {
    let twice = if entries.len() <= FEW {
        let known = |(place, entry): (usize, &Entry)| {
            entries[..place].iter().position(|known| known.key.text == entry.key.text)
        };
        entries.iter().enumerate().find_map(|next| known(next).map(|first| (first, next.0)))
    } else {
        let mut places: Vec<usize> = (0..entries.len()).collect();
        places.sort_by_key(|place| (&entries[*place].key.text, *place));
        let same = |pair: &&[usize]| entries[pair[0]].key.text == entries[pair[1]].key.text;
        places.windows(2).filter(same).map(|pair| (pair[0], pair[1])).min_by_key(|pair| pair.1)
    };
    let Some((first, second)) = twice else { return Ok(()) };
    let (first, second) = (&entries[first].key, &entries[second].key);
    let message =
        format!("mapping key \"{}\" already defined at line {}", second.text, first.mark.line);
    Err(Diagnostic::new(message).at(second.mark).hint("remove one of the two"))
}

fn keep_last(entries: &mut Vec<Entry>) {
    let mut places: Vec<usize> = (0..entries.len()).collect();
    places.sort_by_key(|place| (&entries[*place].key.text, *place));
    let same = |pair: &&[usize]| entries[pair[0]].key.text == entries[pair[1]].key.text;
    let mut dropped: Vec<usize> = places.windows(2).filter(same).map(|pair| pair[0]).collect();
    dropped.sort_unstable();
    for place in dropped.into_iter().rev() {
        entries.remove(place);
    }
}

/// How many nodes and how much text.
fn size(node: &Node) -> (usize, usize) {
    let add = |sum: (usize, usize), more: (usize, usize)| (sum.0 + more.0, sum.1 + more.1);
    match &node.value {
        Value::Scalar(scalar) => (1, scalar.text.len()),
        Value::Sequence(items) => items.iter().map(size).fold((1, 0), add),
        Value::Mapping(mapping) => {
            let entry = |entry: &Entry| add((1, entry.key.text.len()), size(&entry.value));
            mapping.iter().map(entry).fold((1, 0), add)
        }
    }
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
        return scalar::tag_in(text, style);
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

#[cfg(test)]
mod tests;
