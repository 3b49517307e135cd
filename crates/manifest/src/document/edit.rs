//! The edits themselves, each as the bytes it replaces.

use super::tree::{Id, Pair, Shape, Tree};
use super::write::{self, Layout};
use super::{Address, Documents, Step};
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{Mapping, Mark, Node, Scalar, Style, Tag, Value};

/// Bytes of a text and what takes their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The first byte that is replaced.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
    /// What takes their place.
    pub text: String,
    /// Aliases that repeat what is edited: they change as well.
    pub also: Vec<Mark>,
}

/// The text with all edits made. They may come in any order but not overlap.
pub fn apply(text: &str, edits: &[Edit]) -> Result<String> {
    let mut sorted: Vec<&Edit> = edits.iter().collect();
    sorted.sort_by_key(|edit| (edit.start, edit.end));
    let mut edited = String::with_capacity(text.len() + 64);
    let mut from = 0;
    for edit in sorted {
        let before = text.get(from..edit.start).filter(|_| edit.end >= edit.start);
        let Some(before) = before.filter(|_| text.is_char_boundary(edit.end)) else {
            return Err(Diagnostic::new("two edits of the same text overlap")
                .hint("make one, read the text again, then make the other"));
        };
        edited.push_str(before);
        edited.push_str(&edit.text);
        from = edit.end;
    }
    edited.push_str(text.get(from..).unwrap_or_default());
    Ok(edited)
}

impl Documents {
    /// Replaces a scalar by a text, which stays a text: quoted if it would be read as something else.
    pub fn replace_text(&self, document: usize, address: &Address, text: &str) -> Result<Edit> {
        self.replace(document, address, &Node::string(text))
    }

    /// Replaces the node at an address.
    pub fn replace(&self, document: usize, address: &Address, node: &Node) -> Result<Edit> {
        let found = self.locate(document, address)?;
        let Some(id) = found.node else { return Err(self.missing(document, address, &found)) };
        let edit = Writer::new(self, document)?.replace(id, node)?;
        self.proven(document, address, edit, Some(node))
    }

    /// Sets the value at an address: replaces it if it is there, else puts it there, with the mappings
    /// on the way. An index must be the next one.
    pub fn set(&self, document: usize, address: &Address, node: &Node) -> Result<Edit> {
        let found = self.locate(document, address)?;
        let writer = Writer::new(self, document)?;
        if let Some(id) = found.node {
            return self.proven(document, address, writer.replace(id, node)?, Some(node));
        }
        let value = node;
        let mut node = node.clone();
        for step in address.0[found.steps + 1..].iter().rev() {
            node = match step {
                Step::Key(key) => {
                    let mut mapping = Mapping::new();
                    mapping.set(key.as_str(), node);
                    mapping.into()
                }
                Step::Index(0) => Node::sequence(vec![node]),
                _ => return Err(self.missing(document, address, &found)),
            };
        }
        let edit = match &address.0[found.steps] {
            Step::Key(key) => writer.insert(found.deepest, key, &node)?,
            Step::Index(index) => writer.append_at(found.deepest, Some(*index), &node)?,
            Step::Match(..) => return Err(self.missing(document, address, &found)),
        };
        self.proven(document, address, edit, Some(value))
    }

    /// Adds an item at the end of the list at an address.
    pub fn append(&self, document: usize, address: &Address, node: &Node) -> Result<Edit> {
        let found = self.locate(document, address)?;
        let Some(id) = found.node else { return Err(self.missing(document, address, &found)) };
        let edit = Writer::new(self, document)?.append_at(id, None, node)?;
        let count = match &self.tree(document)?.place(id).shape {
            Shape::Sequence { items, .. } => items.len(),
            _ => 0,
        };
        self.proven(document, &address.clone().index(count), edit, Some(node))
    }

    /// Takes out the node at an address, with its key or dash.
    pub fn remove(&self, document: usize, address: &Address) -> Result<Edit> {
        let found = self.locate(document, address)?;
        let Some(id) = found.node else { return Err(self.missing(document, address, &found)) };
        let edit = Writer::new(self, document)?.remove(id)?;
        self.proven(document, address, edit, None)
    }

    fn missing(&self, document: usize, address: &Address, found: &Located) -> Diagnostic {
        let step = Address(address.0.get(found.steps..=found.steps).unwrap_or_default().to_vec());
        let mark = self.trees.get(document).map(|tree| tree.place(found.deepest).mark);
        Diagnostic::new(format!("there is no `{step}` for `{address}`"))
            .at(mark.unwrap_or_default())
    }

    /// The node at an address, as far as it is written there and not repeated or merged.
    fn locate(&self, document: usize, address: &Address) -> Result<Located> {
        let tree = self.tree(document)?;
        let mut id = tree.root;
        for (steps, step) in address.0.iter().enumerate() {
            if let Shape::Alias { target } = tree.place(id).shape {
                return Err(tree.is_alias(id, target, address));
            }
            let Some(next) = tree.follow(id, step) else {
                return Ok(Located { node: None, deepest: id, steps });
            };
            if tree.place(next).parent != Some(id) {
                let message = format!("`{address}` comes from a merge key");
                return Err(Diagnostic::new(message).at(tree.place(next).mark).hint(format!(
                    "edit it where it is written, on line {}, or write the key out",
                    tree.place(next).mark.line
                )));
            }
            id = next;
        }
        Ok(Located { node: Some(id), deepest: id, steps: address.0.len() })
    }
}

struct Located {
    node: Option<Id>,
    /// The last node on the way that is there.
    deepest: Id,
    /// How many steps lead to it.
    steps: usize,
}

impl Tree {
    fn is_alias(&self, id: Id, target: Id, address: &Address) -> Diagnostic {
        let anchor = self.place(target);
        let name = anchor.anchor.as_deref().unwrap_or_default();
        let line = anchor.mark.line;
        Diagnostic::new(format!("`{address}` is written as an alias of `&{name}` on line {line}"))
            .at(self.place(id).mark)
            .hint(format!("edit the anchor on line {line}, or write the value out here"))
    }

    /// The aliases that repeat a node or what contains it.
    fn repeats(&self, id: Id) -> Vec<Mark> {
        let mut marks = Vec::new();
        let mut node = Some(id);
        while let Some(id) = node {
            marks.extend(&self.place(id).repeated);
            node = self.place(id).parent;
        }
        marks
    }

    /// Refuses to lose an anchor that is used.
    fn check_anchors(&self, id: Id, with_own: bool) -> Result<()> {
        let (start, end) = (self.place(id).first, self.place(id).end);
        for (other, place) in self.places.iter().enumerate() {
            let inside = place.first >= start && place.end <= end && (with_own || other != id);
            let outside = |mark: &&Mark| !(start..end).contains(&(mark.start as usize));
            if inside && let Some(used) = place.repeated.iter().find(outside) {
                let name = place.anchor.as_deref().unwrap_or_default();
                let message = format!("the anchor `&{name}` is used on line {}", used.line);
                return Err(Diagnostic::new(message)
                    .at(place.mark)
                    .hint("write the alias out before you take its anchor away"));
            }
        }
        Ok(())
    }

    fn is_flow(&self, id: Id) -> bool {
        let mut node = Some(id);
        while let Some(id) = node {
            match self.place(id).shape {
                Shape::Mapping { flow: true, .. } | Shape::Sequence { flow: true, .. } => {
                    return true;
                }
                _ => node = self.place(id).parent,
            }
        }
        false
    }

    fn pair_of(&self, value: Id) -> Option<Pair> {
        let parent = self.place(value).parent?;
        let Shape::Mapping { entries, .. } = &self.place(parent).shape else { return None };
        entries.iter().find(|pair| pair.value == value).copied()
    }

    fn dash_of(&self, item: Id) -> Option<usize> {
        let parent = self.place(item).parent?;
        let Shape::Sequence { items, dashes, .. } = &self.place(parent).shape else { return None };
        let place = items.iter().position(|other| *other == item)?;
        dashes.get(place).copied()
    }
}

struct Writer<'a> {
    text: &'a str,
    tree: &'a Tree,
    layout: Layout,
}

impl<'a> Writer<'a> {
    fn new(documents: &'a Documents, document: usize) -> Result<Self> {
        let tree = documents.tree(document)?;
        let text = documents.text.as_str();
        let windows = text.find('\n').is_some_and(|at| text[..at].ends_with('\r'));
        let eol = if windows { "\r\n" } else { "\n" };
        let writer = Self { text, tree, layout: Layout { eol, list: 2 } };
        let list = writer.list_indent();
        Ok(Self { layout: Layout { eol, list }, ..writer })
    }

    /// How much deeper than their keys this document's lists stand; two if it has none.
    fn list_indent(&self) -> usize {
        let offset = |id: Id| {
            let pair = self.tree.pair_of(id)?;
            let Shape::Sequence { dashes, .. } = &self.tree.place(id).shape else { return None };
            let key = self.tree.place(pair.key);
            let dash = *dashes.first()?;
            self.column(dash).checked_sub(self.column(key.first))
        };
        (0..self.tree.places.len()).find_map(offset).unwrap_or(2)
    }

    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |end| end + 1)
    }

    fn line_end(&self, at: usize) -> usize {
        let end = at + self.text[at..].find('\n').unwrap_or(self.text.len() - at);
        if self.text[at..end].ends_with('\r') { end - 1 } else { end }
    }

    fn column(&self, at: usize) -> usize {
        let line = &self.text[self.line_start(at)..at];
        line.strip_prefix('\u{feff}').unwrap_or(line).chars().count()
    }

    fn edit(&self, id: Id, start: usize, end: usize, text: String) -> Edit {
        Edit { start, end, text, also: self.tree.repeats(id) }
    }

    /// The column that what belongs to a node is indented from: its key's, or its dash's.
    fn base(&self, id: Id) -> usize {
        if let Some(pair) = self.tree.pair_of(id) {
            return self.column(self.tree.place(pair.key).first);
        }
        self.tree.dash_of(id).map_or(0, |dash| self.column(dash))
    }

    fn replace(&self, id: Id, node: &Node) -> Result<Edit> {
        let place = self.tree.place(id);
        if let Shape::Alias { target } = place.shape {
            return Err(self.tree.is_alias(id, target, &Address::root()));
        }
        self.tree.check_anchors(id, false)?;
        let flow = self.tree.is_flow(id);
        let (style, content, old_block) = match &place.shape {
            Shape::Scalar { style, content, .. } => (*style, *content, false),
            Shape::Mapping { flow, .. } | Shape::Sequence { flow, .. } => (Style::Plain, 0, !*flow),
            Shape::Alias { .. } => (Style::Plain, 0, false),
        };
        let block_scalar = matches!(style, Style::Literal | Style::Folded);
        match &node.value {
            Value::Scalar(scalar) if block_scalar => Ok(self.replace_block(id, scalar, content)),
            Value::Scalar(scalar) if !old_block => {
                let text = write::inline(scalar, style, flow);
                Ok(self.put(id, &text))
            }
            _ if flow || !(old_block || matches!(place.shape, Shape::Scalar { .. })) => {
                Ok(self.put(id, &write::flow(node)))
            }
            _ => {
                let start = self.after_properties(id);
                let mut text = String::new();
                let base = self.base(id);
                if self.tree.dash_of(id).is_some() {
                    write::item(node, base, self.layout, &mut text);
                } else if place.parent.is_some() {
                    write::value(node, base, self.layout, &mut text);
                } else {
                    return Err(Diagnostic::new("a whole document is not replaced")
                        .at(place.mark)
                        .hint("write a new file"));
                }
                Ok(self.edit(id, start, place.end, text))
            }
        }
    }

    /// Where a node's own text may begin: after its colon or dash, anchor and tag.
    fn after_properties(&self, id: Id) -> usize {
        let place = self.tree.place(id);
        if place.first == place.start {
            return match self.tree.pair_of(id) {
                Some(pair) => pair.colon,
                None => self.tree.dash_of(id).map_or(place.start, |dash| dash + 1),
            };
        }
        let properties = self.text[place.first..place.start].trim_end();
        place.first + properties.len()
    }

    /// Text in place of a node on one line, or where there is none yet.
    fn put(&self, id: Id, text: &str) -> Edit {
        let place = self.tree.place(id);
        if place.start < place.end {
            return self.edit(id, place.start, place.end, text.to_owned());
        }
        let colon = self.tree.pair_of(id).is_some_and(|_| !self.text[..place.start].ends_with(':'))
            && place.first == place.start;
        let colon = if colon { ":" } else { "" };
        let space = if self.text[..place.start].ends_with([' ', '\n']) { "" } else { " " };
        self.edit(id, place.start, place.start, format!("{colon}{space}{text}"))
    }

    fn replace_block(&self, id: Id, scalar: &Scalar, content: usize) -> Edit {
        let place = self.tree.place(id);
        let header_end = self.line_end(place.start).min(place.end.max(place.start));
        let header = &self.text[place.start..self.line_end(place.start)];
        let token = header.split([' ', '\t']).next().unwrap_or_default();
        let rest = header[token.len()..].trim_end();
        let rest = if header_end < self.line_end(place.start) { "" } else { rest };
        let indent = self.column(content);
        if scalar.tag == Tag::Str
            && indent > 0
            && content > place.start
            && let Some((header, block)) = write::literal(&scalar.text, indent, self.layout)
        {
            return self.edit(id, place.start, place.end, format!("{header}{rest}{block}"));
        }
        let text = write::inline(scalar, Style::Plain, false);
        self.edit(id, place.start, place.end, format!("{text}{rest}"))
    }

    /// Refuses to add a line below a block that ends the file without a line break: the block would get
    /// the break as well.
    fn check_last_line(&self, at: usize) -> Result<()> {
        let cut = at >= self.text.len() && !self.text.ends_with('\n');
        let block = self.tree.places.iter().find(|place| {
            matches!(place.shape, Shape::Scalar { style: Style::Literal | Style::Folded, .. })
                && place.end >= at
        });
        match block.filter(|_| cut) {
            None => Ok(()),
            Some(place) => Err(Diagnostic::new("the file ends within a block of text")
                .at(place.mark)
                .hint("end the last line with a line break")),
        }
    }

    fn insert(&self, id: Id, key: &str, node: &Node) -> Result<Edit> {
        let place = self.tree.place(id);
        let flow = self.tree.is_flow(id);
        match &place.shape {
            Shape::Alias { target } => Err(self.tree.is_alias(id, *target, &Address::root())),
            Shape::Scalar { tag: Tag::Null, .. } => {
                let mut mapping = Mapping::new();
                mapping.set(key, node.clone());
                self.replace(id, &mapping.into())
            }
            Shape::Mapping { flow: true, entries } => {
                if !self.text[place.start..].starts_with('{') {
                    return Err(Diagnostic::new("a pair without braces has room for one key")
                        .at(place.mark)
                        .hint("write braces around it"));
                }
                let pair = format!("{}: {}", write::key(key, flow), write::flow(node));
                let last =
                    entries.last().map(|pair| self.tree.place(pair.value).end.max(pair.colon));
                Ok(match last {
                    None => self.edit(id, place.start + 1, place.start + 1, pair),
                    Some(at) => self.edit(id, at, at, format!(", {pair}")),
                })
            }
            Shape::Mapping { entries, .. } => {
                let first =
                    entries.first().map_or(place.start, |pair| self.tree.place(pair.key).first);
                let indent = self.column(first);
                let at = self.line_end(place.end);
                self.check_last_line(at)?;
                let mut text = format!("{}{}", self.layout.eol, " ".repeat(indent));
                text.push_str(&write::key(key, false));
                text.push(':');
                write::value(node, indent, self.layout, &mut text);
                Ok(self.edit(id, at, at, text))
            }
            _ => Err(Diagnostic::new("a key can be put into a mapping only").at(place.mark)),
        }
    }

    fn append_at(&self, id: Id, index: Option<usize>, node: &Node) -> Result<Edit> {
        let place = self.tree.place(id);
        match &place.shape {
            Shape::Alias { target } => Err(self.tree.is_alias(id, *target, &Address::root())),
            Shape::Scalar { tag: Tag::Null, .. } if index.is_none_or(|index| index == 0) => {
                self.replace(id, &Node::sequence(vec![node.clone()]))
            }
            Shape::Sequence { items, .. } if index.is_some_and(|index| index != items.len()) => {
                let message = format!("the list has {} items", items.len());
                Err(Diagnostic::new(message).at(place.mark).hint("add items one after the other"))
            }
            Shape::Sequence { flow: true, items, .. } => {
                let text = write::flow(node);
                Ok(match items.last() {
                    None => self.edit(id, place.start + 1, place.start + 1, text),
                    Some(last) => {
                        let at = self.tree.place(*last).end;
                        self.edit(id, at, at, format!(", {text}"))
                    }
                })
            }
            Shape::Sequence { dashes, .. } => {
                let indent = dashes.first().map_or(0, |dash| self.column(*dash));
                let at = self.line_end(place.end);
                self.check_last_line(at)?;
                let mut text = format!("{}{}-", self.layout.eol, " ".repeat(indent));
                write::item(node, indent, self.layout, &mut text);
                Ok(self.edit(id, at, at, text))
            }
            _ => Err(Diagnostic::new("an item can be put into a list only").at(place.mark)),
        }
    }

    fn remove(&self, id: Id) -> Result<Edit> {
        self.tree.check_anchors(id, true)?;
        let Some(parent) = self.tree.place(id).parent else {
            return Err(Diagnostic::new("a whole document is not removed")
                .at(self.tree.place(id).mark)
                .hint("remove the file, or the document by hand"));
        };
        // Each part's first byte and the byte after its last.
        let (parts, flow, empty): (Vec<(usize, usize)>, bool, &str) = match &self
            .tree
            .place(parent)
            .shape
        {
            Shape::Mapping { flow, entries } => {
                let part = |pair: &Pair| {
                    let key = self.tree.place(pair.key).first;
                    let line = &self.text[self.line_start(key)..key];
                    let question = line.trim_end().ends_with('?');
                    let first = if question {
                        key - (line.len() - line.rfind('?').unwrap_or(0))
                    } else {
                        key
                    };
                    (first, self.tree.place(pair.value).end.max(pair.colon))
                };
                (entries.iter().map(part).collect(), *flow, "{}")
            }
            Shape::Sequence { flow: true, items, .. } => {
                let part = |item: &Id| (self.tree.place(*item).first, self.tree.place(*item).end);
                (items.iter().map(part).collect(), true, "[]")
            }
            Shape::Sequence { items, dashes, .. } => {
                let ends = items.iter().map(|item| self.tree.place(*item).end);
                let part = |(dash, end): (&usize, usize)| (*dash, end.max(dash + 1));
                (dashes.iter().zip(ends).map(part).collect(), false, "[]")
            }
            _ => return Err(Diagnostic::new("this cannot be removed").at(self.tree.place(id).mark)),
        };
        let own = self.tree.place(id);
        let place = parts.iter().position(|(start, end)| *start <= own.first && own.end <= *end);
        let Some(place) = place else {
            return Err(Diagnostic::new("this cannot be removed").at(own.mark));
        };
        if parts.len() == 1 {
            self.tree.check_anchors(parent, false)?;
            let around = self.tree.place(parent);
            if around.parent.is_none() && !flow {
                return Ok(self.edit(parent, parts[0].0, parts[0].1, empty.to_owned()));
            }
            if flow {
                if !self.text[around.start..].starts_with(['{', '[']) {
                    return Ok(self.edit(parent, around.start, around.end, empty.to_owned()));
                }
                let inner = around.end.saturating_sub(1).max(around.start + 1);
                return Ok(self.edit(parent, around.start + 1, inner, String::new()));
            }
            let start = self.after_properties(parent);
            return Ok(self.edit(parent, start, around.end, format!(" {empty}")));
        }
        let (start, end) = parts[place];
        if flow {
            let (from, to) = match parts.get(place + 1) {
                Some(next) => (start, next.0),
                None => (parts[place - 1].1, end),
            };
            return Ok(self.edit(parent, from, to, String::new()));
        }
        let line = self.line_start(start);
        let alone = self.text[line..start].trim_start_matches('\u{feff}').trim().is_empty();
        if !alone {
            // It shares its line with the dash before it, and the next one takes its place.
            let next = parts.get(place + 1).map_or(end, |next| next.0);
            return Ok(self.edit(parent, start, next, String::new()));
        }
        let from = if self.text[line..].starts_with('\u{feff}') { line + 3 } else { line };
        let after = self.line_end(end);
        let rest = &self.text[after..];
        let eol = if rest.starts_with("\r\n") { 2 } else { usize::from(rest.starts_with('\n')) };
        if eol == 0 && from > 0 {
            // The last line of the file takes the break before it along.
            let before = self.text[..from].trim_end_matches(['\n', '\r']).len();
            let cut = self.text[..from].strip_suffix('\n').map_or(from, str::len).max(before);
            let cut = if self.text[..cut].ends_with('\r') { cut - 1 } else { cut };
            return Ok(self.edit(parent, cut, after, String::new()));
        }
        Ok(self.edit(parent, from, after + eol, String::new()))
    }
}
