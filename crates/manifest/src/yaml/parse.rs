//! From text to nodes, as kustomize reads it: the file is cut at its separators first and only the first
//! document of each piece counts, aliases and merge keys are expanded, and scalars have the types that
//! Go's YAML library gives them.

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span, StructureStyle};

use super::scalar::{self, Rules};
use super::source::{Source, is_name, sources};
use super::{Entry, Key, Mapping, Mark, Node, Scalar, Style, Tag, Value};
use crate::diagnostic::{Diagnostic, Result};

/// How many nodes aliases may add to a text: more is a bomb, not a manifest.
const MOST_EXPANDED: usize = 1_000_000;

/// How much text aliases may add.
const MOST_EXPANDED_BYTES: usize = 64 << 20;

/// One document of a file.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its content; null if it has none.
    pub root: Node,
}

/// The documents of a text of objects. Upstream notices equal keys when an object is decoded, which is
/// when it is printed: a patch may have them, and an object may lose them on the way.
pub fn documents(text: &str) -> Result<Vec<Document>> {
    let mut documents = Vec::new();
    for source in sources(text)? {
        documents.extend(read(source?, Rules::Third, Equal::Kept)?.map(|root| Document { root }));
    }
    Ok(documents)
}

/// The documents of a text of strategic merge patches, in which nobody looks for equal keys.
pub fn patches(text: &str) -> Result<Vec<Document>> {
    documents(text)
}

/// What happens to equal keys of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Equal {
    /// They are an error.
    Refused,
    /// The last one counts.
    Last,
    /// All stay.
    Kept,
}

/// The first document of a text of settings, which upstream reads with an older library: `yes` and `on`
/// are booleans, keys are texts whatever they look like, and of two equal keys the last one counts.
pub fn configuration(text: &str) -> Result<Node> {
    let root = read(Source::whole(text)?, Rules::Second, Equal::Last)?;
    Ok(root.unwrap_or_else(Node::null))
}

/// The same, with equal keys refused: so upstream reads the fields of transformers.
pub fn strict_configuration(text: &str) -> Result<Node> {
    let root = read(Source::whole(text)?, Rules::Second, Equal::Refused)?;
    Ok(root.unwrap_or_else(Node::null))
}

/// The first document of a source, if it has one.
fn read(mut source: Source<'_>, rules: Rules, equal: Equal) -> Result<Option<Node>> {
    source.check_beginning()?;
    loop {
        let mut builder = Builder::new(&source, rules, equal);
        let error = match builder.document() {
            Ok(document) => return Ok(document),
            Err(error) => error,
        };
        let (refusal, name) = (builder.refusal.take(), builder.bad_name.take());
        let repaired = match name {
            Some(at) => source.repair_name(at),
            None => refusal.is_some_and(|refusal| source.repair(&refusal)),
        };
        if !repaired {
            return Err(source.widen(error));
        }
    }
}

/// Upstream knows fewer names of anchors than YAML allows.
pub(crate) fn check_name(name: &str) -> Result<()> {
    if name.bytes().all(is_name) {
        return Ok(());
    }
    Err(Diagnostic::new(format!("the anchor `{name}` has a name that upstream does not read"))
        .hint("use letters, digits, `_` and `-`"))
}

struct Builder<'a> {
    source: &'a Source<'a>,
    parser: Parser<'a, granit_parser::StrInput<'a>>,
    /// Why the parser gave up, if it did.
    refusal: Option<ScanError>,
    /// Where an anchor stands whose name upstream does not read so.
    bad_name: Option<usize>,
    rules: Rules,
    /// Whether equal keys are refused.
    equal: Equal,
    /// Whether anything can refer to an anchor.
    aliases: bool,
    anchors: Vec<(usize, Node)>,
    expanded: usize,
    expanded_bytes: usize,
    /// How many brackets are open.
    flow: usize,
    /// Where tabs are welcome: scalars and flow collections. Empty if there are none.
    loose: Vec<(u32, u32)>,
}

impl<'a> Builder<'a> {
    fn new(source: &'a Source<'a>, rules: Rules, equal: Equal) -> Self {
        let mut options = granit_parser::options! { emit_comments: false };
        options.emit_anchor_events = source.text().contains('&');
        Self {
            source,
            parser: Parser::new_from_str_with_options(source.text(), options),
            refusal: None,
            bad_name: None,
            rules,
            equal,
            aliases: source.text().contains('*'),
            anchors: Vec::new(),
            expanded: 0,
            expanded_bytes: 0,
            flow: 0,
            loose: Vec::new(),
        }
    }

    /// The first document, if there is one.
    fn document(&mut self) -> Result<Option<Node>> {
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => {
                    self.source.check_tabs(&self.loose)?;
                    return Ok(None);
                }
                (Event::DocumentStart(..), _) => {
                    let (event, span) = self.next()?;
                    let node = self.node(event, span)?;
                    self.next()?;
                    self.source.check_tabs(&self.loose)?;
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
                    if let Err(error) = check_name(&name) {
                        self.bad_name = span.start.byte_offset();
                        return Err(error.at(self.source.mark(span)));
                    }
                }
                Some(Ok(next)) => return Ok(next),
                Some(Err(error)) => {
                    let diagnostic = self.source.refuse(&error);
                    self.refusal = Some(error);
                    return Err(diagnostic);
                }
                None => return Ok((Event::StreamEnd, Span::default())),
            }
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span) -> Result<Node> {
        let mut mark = self.source.mark(span);
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                // What is not there at all comes as a tilde.
                let missing = mark.start == mark.end && style == ScalarStyle::Plain;
                let mut text = if missing { "".into() } else { text };
                if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded)
                    && self.source.is_cut_off(mark)
                    && text.ends_with('\n')
                {
                    // A last line without a break does not get one by being read.
                    text.to_mut().pop();
                }
                if text.contains(['\u{2028}', '\u{2029}']) && style != ScalarStyle::DoubleQuoted {
                    let message = "a line separator (U+2028, U+2029) ends the line for upstream";
                    return Err(Diagnostic::new(message)
                        .at(mark)
                        .hint("remove it, or write it as \"\\L\" or \"\\P\" in double quotes"));
                }
                self.loosen(mark, true);
                if style == ScalarStyle::DoubleQuoted {
                    self.source.check_escapes(mark)?;
                }
                if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) {
                    self.source.check_block(mark)?;
                }
                let mut scalar = self.scalar(&text, style_of(style), tag.as_deref());
                if missing && self.flow > 0 && scalar.tag == Tag::Null {
                    // Nothing between brackets is written with quotes, and read again as a text.
                    scalar.style = Style::Single;
                }
                if self.flow > 0 && scalar.tag == Tag::Timestamp && scalar.text.contains(':') {
                    // So is a time, for its colons.
                    scalar.tag = Tag::Str;
                }
                (Value::Scalar(scalar), anchor)
            }
            Event::SequenceStart(shape, anchor, _) => {
                let mut items = Vec::new();
                self.flow += usize::from(shape == StructureStyle::Flow);
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, end) => {
                            mark.end = self.source.mark(end).end.max(mark.end);
                            self.loosen(mark, shape == StructureStyle::Flow);
                            self.flow -= usize::from(shape == StructureStyle::Flow);
                            break;
                        }
                        (event, span) => items.push(self.node(event, span)?),
                    }
                }
                (Value::Sequence(items), anchor)
            }
            Event::MappingStart(shape, anchor, _) => {
                self.flow += usize::from(shape == StructureStyle::Flow);
                let (mut mapping, end) = self.mapping()?;
                mapping.set_flow(shape == StructureStyle::Flow);
                self.flow -= usize::from(shape == StructureStyle::Flow);
                mark.end = end.max(mark.end);
                self.loosen(mark, shape == StructureStyle::Flow);
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

    fn loosen(&mut self, mark: Mark, loose: bool) {
        if loose && self.source.has_tabs() {
            self.loose.push((mark.start, mark.end));
        }
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
                break self.source.mark(span).end;
            }
            let explicit = matches!(&event, Event::Scalar(_, _, _, Some(_)));
            let key = self.node(event, span)?;
            self.source.check_key(&key)?;
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
        match self.equal {
            Equal::Refused => check_unique(&entries)?,
            Equal::Last => keep_last(&mut entries),
            Equal::Kept => {}
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

pub(crate) fn style_of(style: ScalarStyle) -> Style {
    match style {
        ScalarStyle::Plain => Style::Plain,
        ScalarStyle::SingleQuoted => Style::Single,
        ScalarStyle::DoubleQuoted => Style::Double,
        ScalarStyle::Literal => Style::Literal,
        ScalarStyle::Folded => Style::Folded,
    }
}

/// The type an explicit tag gives. Private tags leave text, whatever it looks like.
pub(crate) fn explicit_tag(tag: &granit_parser::Tag, text: &str, style: Style) -> Tag {
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
