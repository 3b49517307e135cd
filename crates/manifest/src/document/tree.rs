//! A document as it is written: every node with the bytes it takes, its anchor and tag, and where its
//! dash, colon or bracket stands.

use std::collections::BTreeMap;

use granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle};

use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::source::Source;
use crate::yaml::{Mark, Style, Tag, check_name, explicit_tag, scalar, style_of};

/// A node's number in its tree.
pub(super) type Id = usize;

/// A node as it is written.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) shape: Shape,
    /// Line and column.
    pub(super) mark: Mark,
    /// Where its anchor or tag begins, or else what it says.
    pub(super) first: usize,
    /// Where what it says begins: a quote, a bracket, `|`; where it would begin, if there is nothing.
    pub(super) start: usize,
    /// Where it ends, without comments or the line break.
    pub(super) end: usize,
    /// The name of its anchor.
    pub(super) anchor: Option<String>,
    /// Where aliases repeat it.
    pub(super) repeated: Vec<Mark>,
    pub(super) parent: Option<Id>,
}

#[derive(Clone, Debug)]
pub(super) enum Shape {
    Scalar {
        text: String,
        tag: Tag,
        style: Style,
        /// Where the first line of a block begins, after its indentation.
        content: usize,
    },
    Mapping {
        flow: bool,
        entries: Vec<Pair>,
    },
    Sequence {
        flow: bool,
        items: Vec<Id>,
        /// Where each item's dash stands, unless it is in brackets.
        dashes: Vec<usize>,
    },
    Alias {
        target: Id,
    },
}

/// A key and its value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) key: Id,
    pub(super) value: Id,
    /// Where the colon ends, or the key if it has none.
    pub(super) colon: usize,
    /// Whether it is a merge key.
    pub(super) merge: bool,
}

/// The nodes of one document.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    pub(super) places: Vec<Place>,
    pub(super) root: Id,
}

impl Tree {
    /// The first document of a source, if it has one.
    pub(super) fn read(mut source: Source<'_>, text: &str) -> Result<Option<Self>> {
        loop {
            let mut reader = Reader::new(&source);
            match reader.document() {
                Ok(None) => return Ok(None),
                Ok(Some((root, start))) => {
                    let mut tree = Self { places: reader.places, root };
                    tree.measure(text, root, start)?;
                    return Ok(Some(tree));
                }
                Err(error) => {
                    let (refusal, name) = (reader.refusal.take(), reader.bad_name.take());
                    let repaired = match name {
                        Some(at) => source.repair_name(at),
                        None => refusal.is_some_and(|refusal| source.repair(&refusal)),
                    };
                    if !repaired {
                        return Err(source.widen(error));
                    }
                }
            }
        }
    }

    pub(super) fn place(&self, id: Id) -> &Place {
        &self.places[id]
    }

    /// Finds what the parser does not say: colons, dashes, headers, and where things really end. `from`
    /// is after whatever comes before the node. Returns where it ends.
    fn measure(&mut self, text: &str, id: Id, from: usize) -> Result<usize> {
        let end = match self.places[id].shape.clone() {
            Shape::Alias { .. } => self.places[id].end,
            Shape::Scalar { style, .. } => self.measure_scalar(text, id, style, from),
            Shape::Mapping { flow, mut entries } => {
                let mut after = self.places[id].start;
                for pair in &mut entries {
                    let key_from = if flow { after } else { after.max(from) };
                    let key_end = self.measure(text, pair.key, key_from)?;
                    let colon = skip(text, key_end);
                    let has_colon = text[colon..].starts_with(':');
                    pair.colon = if has_colon { colon + 1 } else { key_end };
                    after = self.measure(text, pair.value, pair.colon)?;
                }
                let end = if flow { self.places[id].end.max(after) } else { after };
                self.places[id].shape = Shape::Mapping { flow, entries };
                end
            }
            Shape::Sequence { flow, items, mut dashes } => {
                let mut after = if flow { self.places[id].start } else { from };
                for item in &items {
                    if !flow {
                        let dash = self.dash(text, skip(text, after), *item)?;
                        dashes.push(dash);
                        after = dash + 1;
                    }
                    after = self.measure(text, *item, after)?;
                }
                let end = if flow { self.places[id].end.max(after) } else { after };
                if let Some(dash) = dashes.first() {
                    let place = &mut self.places[id];
                    let bare = place.first == place.start;
                    place.start = *dash;
                    if bare {
                        place.first = *dash;
                    }
                }
                self.places[id].shape = Shape::Sequence { flow, items, dashes };
                end
            }
        };
        self.places[id].end = end;
        Ok(end)
    }

    /// The dash of an item; an anchor or a tag of the list may stand before the first.
    fn dash(&self, text: &str, at: usize, item: Id) -> Result<usize> {
        let mut at = at;
        while let Some(letter) = text[at..].chars().next() {
            match letter {
                '-' => return Ok(at),
                '&' | '!' => {
                    let rest = &text[at..];
                    let end = rest.find(|c: char| c.is_whitespace()).unwrap_or(rest.len());
                    at = skip(text, at + end);
                }
                _ => break,
            }
        }
        Err(Diagnostic::new("this list is written in a way that cannot be edited")
            .at(self.places[item].mark))
    }

    fn measure_scalar(&mut self, text: &str, id: Id, style: Style, from: usize) -> usize {
        let place = &mut self.places[id];
        let block = matches!(style, Style::Literal | Style::Folded);
        if !block && place.start < place.end {
            return place.end;
        }
        // After the anchor and the tag, if it has any.
        let mut at = from;
        let mut properties = from;
        loop {
            let next = skip(text, at);
            if !text[next..].starts_with(['&', '!']) || next >= place.start.max(from) {
                break;
            }
            let rest = &text[next..];
            at = next
                + rest.find(|c: char| c.is_whitespace() || ",]}".contains(c)).unwrap_or(rest.len());
            properties = at;
        }
        if !block {
            (place.start, place.end) = (properties, properties);
            if properties == from {
                place.first = properties;
            }
            return properties;
        }
        let header = skip(text, properties);
        let bare = place.first == place.start;
        let (content, span_end) = (place.start, place.end);
        place.start = header;
        if bare {
            place.first = header;
        }
        let header_end = header + text[header..].find(['\n', '\r']).unwrap_or(text.len() - header);
        let token = &text[header..header_end];
        let token = token.split([' ', '\t']).next().unwrap_or_default();
        if let Shape::Scalar { content: begins, .. } = &mut place.shape {
            *begins = content;
        }
        let body = &text[content.min(span_end)..span_end];
        if body.trim().is_empty() && !token.contains('+') {
            return header + token.len();
        }
        let kept = if token.contains('+') {
            body.strip_suffix('\n').map_or(body, |body| body.strip_suffix('\r').unwrap_or(body))
        } else {
            // The spaces at the end of the last line belong to it; lines of spaces alone do not.
            let seen = body.trim_end().len();
            &body[..seen + body[seen..].find(['\n', '\r']).unwrap_or(body.len() - seen)]
        };
        content + kept.len()
    }
}

/// The next byte that is neither white nor in a comment.
pub(super) fn skip(text: &str, from: usize) -> usize {
    let mut at = from;
    loop {
        let rest = &text[at..];
        let white = rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
        at += white;
        let opens = text[at..].starts_with('#')
            && (at == 0 || text[..at].ends_with([' ', '\t', '\n', '\r']));
        if !opens {
            return at;
        }
        at += text[at..].find('\n').unwrap_or(text.len() - at);
    }
}

struct Reader<'a> {
    source: &'a Source<'a>,
    parser: Parser<'a, granit_parser::StrInput<'a>>,
    refusal: Option<granit_parser::ScanError>,
    bad_name: Option<usize>,
    places: Vec<Place>,
    anchors: BTreeMap<usize, Id>,
}

impl<'a> Reader<'a> {
    fn new(source: &'a Source<'a>) -> Self {
        let mut options = granit_parser::options! { emit_comments: false };
        options.emit_anchor_events = true;
        Self {
            source,
            parser: Parser::new_from_str_with_options(source.text(), options),
            refusal: None,
            bad_name: None,
            places: Vec::new(),
            anchors: BTreeMap::new(),
        }
    }

    fn next(&mut self) -> Result<(Event<'a>, Span)> {
        match self.parser.next_event() {
            Some(Ok(next)) => Ok(next),
            Some(Err(error)) => {
                let diagnostic = self.source.refuse(&error);
                self.refusal = Some(error);
                Err(diagnostic)
            }
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    /// The next event that is not about the anchor of the node before, which is noted.
    fn following(&mut self, node: Id) -> Result<(Event<'a>, Span)> {
        let (event, span) = self.next()?;
        let Event::Anchor(id, name) = event else { return Ok((event, span)) };
        if let Err(error) = check_name(&name) {
            self.bad_name = span.start.byte_offset();
            return Err(error.at(self.source.mark(span)));
        }
        let first = self.source.mark(span).start as usize;
        let place = &mut self.places[node];
        place.anchor = Some(name.into_owned());
        place.first = place.first.min(first);
        self.anchors.insert(id, node);
        self.next()
    }

    fn document(&mut self) -> Result<Option<(Id, usize)>> {
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(None),
                Event::DocumentStart(explicit, _) => {
                    let mark = self.source.mark(span);
                    let start = if explicit { mark.end } else { mark.start };
                    let first = self.next()?;
                    let (root, _) = self.node(first, None)?;
                    return Ok(Some((root, start as usize)));
                }
                _ => {}
            }
        }
    }

    /// Adds a node; returns it and the event after it.
    fn node(
        &mut self,
        (event, span): (Event<'a>, Span),
        parent: Option<Id>,
    ) -> Result<(Id, (Event<'a>, Span))> {
        let mark = self.source.mark(span);
        let (start, end) = (mark.start as usize, mark.end as usize);
        let first = span.tag_span().map_or(start, |tag| self.source.mark(tag).start as usize);
        let id = self.places.len();
        let place = |shape| Place {
            shape,
            mark,
            first: first.min(start),
            start,
            end,
            anchor: None,
            repeated: Vec::new(),
            parent,
        };
        match event {
            Event::Scalar(text, style, _, tag) => {
                let missing = start == end && style == ScalarStyle::Plain;
                let text = if missing { String::new() } else { text.into_owned() };
                let style = style_of(style);
                let tag = match tag {
                    Some(tag) => explicit_tag(&tag, &text, style),
                    None => scalar::tag_in(&text, style),
                };
                self.places.push(place(Shape::Scalar { text, tag, style, content: start }));
                let next = self.following(id)?;
                Ok((id, next))
            }
            Event::Alias(anchor) => {
                let target = self.anchors.get(&anchor).copied();
                let Some(target) = target.filter(|target| !self.is_inside(parent, *target)) else {
                    return Err(Diagnostic::new("an alias inside of its own anchor").at(mark));
                };
                self.places[target].repeated.push(mark);
                self.places.push(place(Shape::Alias { target }));
                let next = self.next()?;
                Ok((id, next))
            }
            Event::SequenceStart(shape, ..) => {
                let flow = shape == StructureStyle::Flow;
                let empty = Shape::Sequence { flow, items: Vec::new(), dashes: Vec::new() };
                self.places.push(place(empty));
                let mut children = Vec::new();
                let mut next = self.following(id)?;
                while !matches!(next.0, Event::SequenceEnd) {
                    let (child, after) = self.node(next, Some(id))?;
                    children.push(child);
                    next = after;
                }
                self.close(id, next.1);
                if let Shape::Sequence { items, .. } = &mut self.places[id].shape {
                    *items = children;
                }
                let next = self.next()?;
                Ok((id, next))
            }
            Event::MappingStart(shape, ..) => {
                let flow = shape == StructureStyle::Flow;
                self.places.push(place(Shape::Mapping { flow, entries: Vec::new() }));
                let mut pairs = Vec::new();
                let mut next = self.following(id)?;
                while !matches!(next.0, Event::MappingEnd) {
                    let (key, after) = self.node(next, Some(id))?;
                    let (value, after) = self.node(after, Some(id))?;
                    let merge = matches!(&self.places[key].shape,
                        Shape::Scalar { text, style: Style::Plain, .. } if text == "<<");
                    pairs.push(Pair { key, value, colon: 0, merge });
                    next = after;
                }
                self.close(id, next.1);
                if let Shape::Mapping { entries, .. } = &mut self.places[id].shape {
                    *entries = pairs;
                }
                let next = self.next()?;
                Ok((id, next))
            }
            _ => Err(Diagnostic::new("invalid YAML").at(mark)),
        }
    }

    fn close(&mut self, id: Id, span: Span) {
        let end = self.source.mark(span).end as usize;
        self.places[id].end = end.max(self.places[id].end);
    }

    fn is_inside(&self, mut node: Option<Id>, of: Id) -> bool {
        while let Some(id) = node {
            if id == of {
                return true;
            }
            node = self.places[id].parent;
        }
        false
    }
}
