//! Paths to fields: `spec.containers.[name=web].image`, with indices, `*` and escaped dots.

use regex::Regex;

use crate::diagnostic::{Diagnostic, Result};
use crate::kustomize::select::compile;
use crate::yaml::{self, Node, Scalar, Style, Tag, Text, Value};

/// A path to fields.
#[derive(Clone, Debug)]
pub(super) struct FieldPath {
    pub(super) parts: Vec<Text>,
}

/// What is made at the end of a path that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Created {
    Scalar,
    Mapping,
    Sequence,
}

impl Created {
    /// What can take the value.
    pub(super) fn like(value: &Node) -> Self {
        match &value.value {
            Value::Scalar(_) => Self::Scalar,
            Value::Mapping(_) => Self::Mapping,
            Value::Sequence(_) => Self::Sequence,
        }
    }

    fn node(self) -> Node {
        match self {
            Self::Scalar => Node::string(""),
            Self::Mapping => Node::mapping(),
            Self::Sequence => Node::sequence(Vec::new()),
        }
    }
}

/// What is done with a field that was found, or made on the way.
pub(super) type Visit<'a> = &'a mut dyn FnMut(&mut Node, bool) -> Result<()>;

impl FieldPath {
    /// Splits at dots, except escaped ones and those in brackets. Brackets stay around what selects an
    /// element.
    pub(super) fn new(text: &str) -> Self {
        let mut split: Vec<String> = Vec::new();
        let mut pieces = text.split('.').peekable();
        if text.starts_with('.') {
            pieces.next();
        }
        for piece in pieces {
            match split.last_mut() {
                Some(last) if last.ends_with('\\') => {
                    last.pop();
                    last.push('.');
                    last.push_str(piece);
                }
                _ => split.push(piece.to_owned()),
            }
        }
        let mut parts: Vec<Text> = Vec::new();
        let mut rest = split.into_iter();
        while let Some(mut part) = rest.next() {
            if !part.starts_with('[') || part.ends_with(']') {
                parts.push(part.into());
                continue;
            }
            for next in rest.by_ref() {
                part.push('.');
                part.push_str(&next);
                if next.ends_with(']') {
                    break;
                }
            }
            let part =
                if part.contains('=') { part.as_str() } else { part.trim_matches(['[', ']']) };
            parts.push(part.into());
        }
        Self { parts }
    }

    /// The field, if it is there.
    pub(super) fn get<'a>(&self, node: &'a Node) -> Result<Option<&'a Node>> {
        lookup(node, &self.parts)
    }

    /// Does something with every field the path leads to, which is made if it is not there and may be.
    /// Says how many there were.
    pub(super) fn visit(
        &self,
        node: &mut Node,
        create: Option<Created>,
        visit: Visit<'_>,
    ) -> Result<usize> {
        walk(node, &self.parts, create, false, visit)
    }
}

/// The field at the end of the parts, if it is there.
pub(super) fn lookup<'a>(node: &'a Node, parts: &[Text]) -> Result<Option<&'a Node>> {
    let mut found = node;
    for part in parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()) {
        let next = match Part::parse(part)? {
            Part::Index(index) => match elements(found)? {
                Some(items) => items.get(index),
                None => None,
            },
            Part::Last => match elements(found)? {
                Some([]) | None => None,
                Some(items) => items.last(),
            },
            Part::Every => {
                return Err(Diagnostic::new("wildcard is not supported in PathGetter"));
            }
            Part::Element(key, value) => match elements(found)? {
                Some(items) => items.iter().find(|item| {
                    if key.is_empty() {
                        raw(item) == value
                    } else {
                        item.get(key).map(raw) == Some(value)
                    }
                }),
                None => None,
            },
            Part::Field(name) => match &found.value {
                Value::Mapping(mapping) => mapping.get(name),
                Value::Scalar(scalar) if scalar.tag == Tag::Null => None,
                Value::Scalar(_) | Value::Sequence(_) => return Err(wrong("MappingNode", found)),
            },
        };
        match next {
            Some(next) => found = next,
            None => return Ok(None),
        }
    }
    Ok(Some(found))
}

/// The steps that lead to a node within another: places of entries and elements.
pub(super) fn steps(within: &Node, wanted: &Node) -> Option<Vec<usize>> {
    if std::ptr::eq(within, wanted) {
        return Some(Vec::new());
    }
    let step = |(place, node): (usize, &Node)| {
        let mut rest = steps(node, wanted)?;
        rest.insert(0, place);
        Some(rest)
    };
    match &within.value {
        Value::Scalar(_) => None,
        Value::Sequence(items) => items.iter().enumerate().find_map(step),
        Value::Mapping(mapping) => {
            mapping.iter().map(|entry| &entry.value).enumerate().find_map(step)
        }
    }
}

/// Where the steps lead now.
pub(super) fn follow<'a>(node: &'a Node, steps: &[usize]) -> Option<&'a Node> {
    steps.iter().try_fold(node, |node, step| match &node.value {
        Value::Scalar(_) => None,
        Value::Sequence(items) => items.get(*step),
        Value::Mapping(mapping) => mapping.iter().nth(*step).map(|entry| &entry.value),
    })
}

/// The node at an address within another.
pub(super) fn find_mut(node: &mut Node, wanted: *const Node) -> Option<&mut Node> {
    if std::ptr::eq(node, wanted) {
        return Some(node);
    }
    match &mut node.value {
        Value::Scalar(_) => None,
        Value::Mapping(mapping) => {
            mapping.iter_mut().find_map(|entry| find_mut(&mut entry.value, wanted))
        }
        Value::Sequence(items) => items.iter_mut().find_map(|item| find_mut(item, wanted)),
    }
}

enum Part<'a> {
    Index(usize),
    Last,
    Every,
    Element(&'a str, &'a str),
    Field(&'a str),
}

impl<'a> Part<'a> {
    fn parse(part: &'a str) -> Result<Self> {
        if let Ok(number) = part.parse::<i64>() {
            return usize::try_from(number)
                .map(Self::Index)
                .map_err(|_| Diagnostic::new(format!("array index {number} cannot be negative")));
        }
        if part == "-" {
            return Ok(Self::Last);
        }
        Self::parse_common(part)
    }

    fn parse_common(part: &'a str) -> Result<Self> {
        if part == "*" {
            return Ok(Self::Every);
        }
        let inner = part.strip_prefix('[').and_then(|part| part.strip_suffix(']'));
        let Some(inner) = inner else { return Ok(Self::Field(part)) };
        match inner.split_once('=') {
            Some((key, value)) => Ok(Self::Element(key, value)),
            None => Err(Diagnostic::new(
                "list path element must contain fieldName=fieldValue for element to match",
            )),
        }
    }

    /// As the matching of several fields reads it: a negative number is a name.
    fn parse_matching(part: &'a str) -> Result<Self> {
        match part.parse::<i64>().ok().and_then(|number| usize::try_from(number).ok()) {
            Some(index) => Ok(Self::Index(index)),
            None => Self::parse_common(part),
        }
    }
}

fn walk(
    node: &mut Node,
    parts: &[Text],
    create: Option<Created>,
    made: bool,
    visit: Visit<'_>,
) -> Result<usize> {
    let Some((part, rest)) = parts.split_first() else {
        visit(node, made)?;
        return Ok(1);
    };
    if node.is_null() && create.is_some() && !part.starts_with('*') {
        // Upstream hangs what it makes below a null, which is written as null all the same.
        let first = !matches!(Part::parse_matching(part)?, Part::Index(index) if index > 0);
        return if first { Ok(1) } else { Err(out_of_bounds(1, 0)) };
    }
    match Part::parse_matching(part)? {
        Part::Field(name) => walk_field(node, name, rest, create, made, visit),
        Part::Last => walk_field(node, "-", rest, create, made, visit),
        Part::Every => {
            let mut count = 0;
            for item in elements_mut(node)?.into_iter().flatten() {
                count += walk(item, rest, create, made, visit)?;
            }
            Ok(count)
        }
        Part::Index(index) => {
            let items = elements_mut(node)?;
            let Some(items) = items else { return Err(out_of_bounds(index, 0)) };
            let mut made = made;
            if let (true, Some(create)) = (items.len() == index, create) {
                items.push(next_kind(rest, create).node());
                made = true;
            }
            let count = items.len();
            let item = items.get_mut(index).ok_or_else(|| out_of_bounds(index, count))?;
            walk(item, rest, create, made, visit)
        }
        Part::Element(key, expression) => {
            let regex = Matcher::new(expression)?;
            let Some(items) = elements_mut(node)? else { return Ok(0) };
            let mut count = walk_elements(items, key, &regex, rest, create, made, visit)?;
            if count == 0 && create.is_some() {
                items.push(element(key, expression));
                let last = items.len() - 1;
                count = walk_elements(&mut items[last..], key, &regex, rest, create, true, visit)?;
            }
            Ok(count)
        }
    }
}

/// An element that a path asks for.
fn element(key: &str, value: &str) -> Node {
    let value = Node::scalar(value, yaml::scalar::tag_of(value));
    if key.is_empty() {
        return value;
    }
    let mut node = Node::mapping();
    if let Some(mapping) = node.as_mapping_mut() {
        mapping.set(key, value);
    }
    node
}

/// An expression an element must match somewhere in its text. Words are found without compiling them.
enum Matcher {
    Word(String),
    Expression(Regex),
}

impl Matcher {
    fn new(expression: &str) -> Result<Self> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_/: ,@=".contains(c);
        if expression.chars().all(is_plain) {
            return Ok(Self::Word(expression.to_owned()));
        }
        compile(expression).map(Self::Expression)
    }

    fn matches(&self, node: &Node) -> bool {
        let shown = shown(node);
        let text = shown.trim();
        match self {
            Self::Word(word) => text.contains(word.as_str()),
            Self::Expression(regex) => regex.is_match(text),
        }
    }
}

/// The text of a node as it would be written.
fn shown(node: &Node) -> String {
    match &node.value {
        Value::Scalar(scalar) => match scalar.style {
            Style::Double => format!("\"{}\"", scalar.text),
            Style::Single => format!("'{}'", scalar.text),
            _ if scalar.tag == Tag::Str && yaml::scalar::tag_of(&scalar.text) != Tag::Str => {
                format!("\"{}\"", scalar.text)
            }
            _ => scalar.text.to_string(),
        },
        Value::Mapping(_) | Value::Sequence(_) => {
            let mut out = String::new();
            // What cannot be written matches nothing.
            let _ = yaml::emit::object(node, &mut out);
            out
        }
    }
}

fn walk_elements(
    items: &mut [Node],
    key: &str,
    regex: &Matcher,
    rest: &[Text],
    create: Option<Created>,
    made: bool,
    visit: Visit<'_>,
) -> Result<usize> {
    let mut count = 0;
    for item in items {
        if key.is_empty() {
            // What follows is ignored: a scalar has no fields.
            if regex.matches(item) {
                visit(item, made)?;
                count += 1;
            }
            continue;
        }
        if item.get(key).is_some_and(|value| regex.matches(value)) {
            count += walk(item, rest, create, made, visit)?;
        }
    }
    Ok(count)
}

fn walk_field(
    node: &mut Node,
    name: &str,
    rest: &[Text],
    create: Option<Created>,
    made: bool,
    visit: Visit<'_>,
) -> Result<usize> {
    if node.is_null() {
        return Ok(0);
    }
    let Some(mapping) = node.as_mapping_mut() else { return Err(wrong("MappingNode", node)) };
    if !mapping.contains(name) {
        let Some(create) = create else { return Ok(0) };
        mapping.set(name, next_kind(rest, create).node());
        let Some(field) = mapping.get_mut(name) else { return Ok(0) };
        return walk(field, rest, Some(create), true, visit);
    }
    let Some(field) = mapping.get_mut(name) else { return Ok(0) };
    if let (Value::Scalar(scalar), false) = (&field.value, rest.is_empty()) {
        // The text of a scalar is looked into, but what is changed there is lost.
        let mut inner = parsed(scalar)?;
        return walk(&mut inner, rest, create, false, &mut |_, _| Ok(()));
    }
    walk(field, rest, create, made, visit)
}

/// A scalar that was made has the type its text looks like.
pub(super) fn settle(node: &mut Node) {
    if let Value::Scalar(scalar) = &mut node.value {
        let is_text = scalar.text.contains('\n');
        scalar.tag = if is_text { Tag::Str } else { yaml::scalar::tag_of(&scalar.text) };
    }
}

/// What the text of a scalar says, read as YAML.
pub(super) fn parsed(scalar: &Scalar) -> Result<Node> {
    let mut documents = yaml::documents(&scalar.text)?;
    Ok(if documents.is_empty() { Node::string("") } else { documents.remove(0).root })
}

/// What a field must be so that the path can go on.
fn next_kind(rest: &[Text], create: Created) -> Created {
    match rest.first().map(Text::as_str) {
        None | Some("") => create,
        Some(next) if next.starts_with('[') && next.ends_with(']') => Created::Sequence,
        Some(next) if next.parse::<i64>().is_ok_and(|index| index >= 0) => Created::Sequence,
        Some(_) => Created::Mapping,
    }
}

fn elements(node: &Node) -> Result<Option<&[Node]>> {
    match &node.value {
        Value::Sequence(items) => Ok(Some(items)),
        Value::Scalar(scalar) if scalar.tag == Tag::Null => Ok(None),
        Value::Scalar(_) | Value::Mapping(_) => Err(wrong("SequenceNode", node)),
    }
}

fn elements_mut(node: &mut Node) -> Result<Option<&mut Vec<Node>>> {
    elements(node)?;
    Ok(node.as_sequence_mut())
}

fn raw(node: &Node) -> &str {
    node.as_scalar().map_or("", |scalar| scalar.text.as_str())
}

fn out_of_bounds(index: usize, count: usize) -> Diagnostic {
    Diagnostic::new(format!("index {index} specified but only {count} elements found"))
}

fn wrong(wanted: &str, node: &Node) -> Diagnostic {
    let found = match &node.value {
        Value::Scalar(_) => "ScalarNode",
        Value::Mapping(_) => "MappingNode",
        Value::Sequence(_) => "SequenceNode",
    };
    Diagnostic::new(format!("wrong node kind: expected {wanted} but got {found}"))
}
