//! The tree of a document. Aliases and merge keys are expanded when it is parsed; comments are not in
//! it: edits that keep them work on the text through the marks.

use super::Text;
use crate::diagnostic::{Diagnostic, Result};

/// A place in the text a node was read from. Made-up nodes have none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark {
    /// From 1; 0 if unknown.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
    /// Bytes of the text, quotes included.
    pub start: u32,
    /// The byte after the last one.
    pub end: u32,
}

impl Mark {
    /// Whether it is a place at all.
    pub fn is_known(self) -> bool {
        self.line > 0
    }
}

/// A value and where it was written.
#[derive(Clone, Debug)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it was written.
    pub mark: Mark,
}

/// The three shapes of a node.
#[derive(Clone, Debug)]
pub enum Value {
    /// Text with a type.
    Scalar(Scalar),
    /// Keys and values, in the order written.
    Mapping(Mapping),
    /// Values in order.
    Sequence(Vec<Node>),
}

/// A scalar's type, as Go's YAML library resolves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tag {
    /// `~`, `null`, nothing.
    Null,
    /// `true`, `false`.
    Bool,
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// Text.
    Str,
    /// A date or time, plain.
    Timestamp,
    /// `!!binary`.
    Binary,
}

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Style {
    /// Without quotes.
    Plain,
    /// 'so'.
    Single,
    /// "so".
    Double,
    /// `|`.
    Literal,
    /// `>`.
    Folded,
}

/// Text with a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalar {
    /// The text, unquoted and unescaped.
    pub text: Text,
    /// Its type.
    pub tag: Tag,
    /// How it was written.
    pub style: Style,
}

/// A key of a mapping.
#[derive(Clone, Debug)]
pub struct Key {
    /// The text, unquoted.
    pub text: Text,
    /// Its type: keys that are no text are refused where objects are written.
    pub tag: Tag,
    /// Where it was written.
    pub mark: Mark,
}

/// A key with its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: Key,
    /// The value.
    pub value: Node,
}

/// Keys and values, in the order written.
#[derive(Clone, Debug, Default)]
pub struct Mapping {
    entries: Vec<Entry>,
    flow: bool,
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Self { text: text.into(), tag: Tag::Str, mark: Mark::default() }
    }
}

impl Mapping {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether it is written between braces.
    pub fn is_flow(&self) -> bool {
        self.flow
    }

    /// Says whether it is written between braces.
    pub fn set_flow(&mut self, flow: bool) {
        self.flow = flow;
    }

    /// How many entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Entry> {
        self.entries.iter()
    }

    /// The entries in order, to change values.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Entry> {
        self.entries.iter_mut()
    }

    /// The entries themselves.
    pub fn entries_mut(&mut self) -> &mut Vec<Entry> {
        &mut self.entries
    }

    /// The entry of a key.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key.text == key)
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The value of a key, to change it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries.iter_mut().find(|entry| entry.key.text == key).map(|entry| &mut entry.value)
    }

    /// Whether the key is there.
    pub fn contains(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }

    /// Sets the value of a key: in its place if it is there, else at the end.
    pub fn set(&mut self, key: impl Into<Text>, value: Node) {
        let key = key.into();
        if let Some(found) = self.get_mut(&key) {
            *found = value;
        } else {
            let key = Key { text: key, tag: Tag::Str, mark: value.mark };
            self.entries.push(Entry { key, value });
        }
    }

    /// Sets the value of a key as kustomize's setters do: a new key is written without quotes, and is no
    /// text any more if it looks like something else.
    pub fn put(&mut self, key: impl Into<Text>, value: Node) {
        let key = key.into();
        if let Some(found) = self.get_mut(&key) {
            *found = value;
        } else {
            let key = Key { tag: super::scalar::tag_of(&key), text: key, mark: value.mark };
            self.entries.push(Entry { key, value });
        }
    }

    /// The value of a key, which is put there if it is not.
    pub fn get_or_insert_with(&mut self, key: &str, value: impl FnOnce() -> Node) -> &mut Node {
        let index = self.entries.iter().position(|entry| entry.key.text == key);
        let index = index.unwrap_or_else(|| {
            self.entries.push(Entry { key: key.into(), value: value() });
            self.entries.len() - 1
        });
        &mut self.entries[index].value
    }

    /// Refuses a key that is written twice, as upstream does when it decodes a mapping.
    pub fn check_unique(&self) -> Result<()> {
        let mut places: Vec<usize> = (0..self.entries.len()).collect();
        places.sort_by_key(|place| (&self.entries[*place].key.text, *place));
        let key = |place: usize| &self.entries[place].key;
        let twice = places.array_windows().filter(|[one, two]| key(*one).text == key(*two).text);
        let Some([one, two]) = twice.min_by_key(|[_, two]| *two) else { return Ok(()) };
        let (one, two) = (key(*one), key(*two));
        let line = one.mark.line;
        let message = format!("mapping key \"{}\" already defined at line {line}", two.text);
        Err(Diagnostic::new(message).at(two.mark).hint("remove one of the two"))
    }

    /// Takes a key out.
    pub fn remove(&mut self, key: &str) -> Option<Node> {
        let index = self.entries.iter().position(|entry| entry.key.text == key)?;
        Some(self.entries.remove(index).value)
    }
}

impl IntoIterator for Mapping {
    type Item = Entry;
    type IntoIter = std::vec::IntoIter<Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<'a> IntoIterator for &'a Mapping {
    type Item = &'a Entry;
    type IntoIter = std::slice::Iter<'a, Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut Mapping {
    type Item = &'a mut Entry;
    type IntoIter = std::slice::IterMut<'a, Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl FromIterator<Entry> for Mapping {
    fn from_iter<T: IntoIterator<Item = Entry>>(entries: T) -> Self {
        Self { entries: entries.into_iter().collect(), flow: false }
    }
}

impl Scalar {
    /// Text that stays text.
    pub fn string(text: impl Into<Text>) -> Self {
        Self { text: text.into(), tag: Tag::Str, style: Style::Plain }
    }
}

impl From<Value> for Node {
    fn from(value: Value) -> Self {
        Self { value, mark: Mark::default() }
    }
}

impl From<Scalar> for Node {
    fn from(scalar: Scalar) -> Self {
        Value::Scalar(scalar).into()
    }
}

impl From<Mapping> for Node {
    fn from(mapping: Mapping) -> Self {
        Value::Mapping(mapping).into()
    }
}

impl Node {
    /// Text that stays text.
    pub fn string(text: impl Into<Text>) -> Self {
        Scalar::string(text).into()
    }

    /// A scalar of a type.
    pub fn scalar(text: impl Into<Text>, tag: Tag) -> Self {
        Scalar { text: text.into(), tag, style: Style::Plain }.into()
    }

    /// Nothing.
    pub fn null() -> Self {
        Self::scalar("null", Tag::Null)
    }

    /// An empty mapping.
    pub fn mapping() -> Self {
        Mapping::new().into()
    }

    /// A sequence.
    pub fn sequence(items: Vec<Self>) -> Self {
        Value::Sequence(items).into()
    }

    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar(Scalar { tag: Tag::Null, .. }))
    }

    /// As a scalar.
    pub fn as_scalar(&self) -> Option<&Scalar> {
        if let Value::Scalar(scalar) = &self.value { Some(scalar) } else { None }
    }

    /// The text of a scalar of any type but null.
    pub fn text(&self) -> Option<&str> {
        self.as_scalar().filter(|scalar| scalar.tag != Tag::Null).map(|scalar| scalar.text.as_str())
    }

    /// As a mapping.
    pub fn as_mapping(&self) -> Option<&Mapping> {
        if let Value::Mapping(mapping) = &self.value { Some(mapping) } else { None }
    }

    /// As a mapping, to change it.
    pub fn as_mapping_mut(&mut self) -> Option<&mut Mapping> {
        if let Value::Mapping(mapping) = &mut self.value { Some(mapping) } else { None }
    }

    /// As a sequence.
    pub fn as_sequence(&self) -> Option<&[Self]> {
        if let Value::Sequence(items) = &self.value { Some(items) } else { None }
    }

    /// As a sequence, to change it.
    pub fn as_sequence_mut(&mut self) -> Option<&mut Vec<Self>> {
        if let Value::Sequence(items) = &mut self.value { Some(items) } else { None }
    }

    /// The value of a key, if this is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_mapping()?.get(key)
    }

    /// The value of a key, to change it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        self.as_mapping_mut()?.get_mut(key)
    }

    /// The value at a path of keys.
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// Refuses a key that is written twice, here or below, as upstream does when it decodes a node.
    pub fn check_unique_keys(&self) -> Result<()> {
        match &self.value {
            Value::Scalar(_) => Ok(()),
            Value::Sequence(items) => items.iter().try_for_each(Self::check_unique_keys),
            Value::Mapping(mapping) => {
                mapping.check_unique()?;
                mapping.iter().try_for_each(|entry| entry.value.check_unique_keys())
            }
        }
    }

    /// What kind of node it is, for a sentence.
    pub fn shape(&self) -> &'static str {
        match &self.value {
            Value::Mapping(_) => "a mapping",
            Value::Sequence(_) => "a list",
            Value::Scalar(scalar) => match scalar.tag {
                Tag::Null => "nothing",
                Tag::Bool => "a boolean",
                Tag::Int | Tag::Float => "a number",
                Tag::Str | Tag::Timestamp | Tag::Binary => "a text",
            },
        }
    }
}

/// Nodes are equal if they say the same, wherever and however it was written; keys in any order.
impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (Value::Scalar(one), Value::Scalar(two)) => {
                one.tag == two.tag && (one.tag == Tag::Null || one.text == two.text)
            }
            (Value::Sequence(one), Value::Sequence(two)) => one == two,
            (Value::Mapping(one), Value::Mapping(two)) => {
                one.len() == two.len()
                    && one.iter().all(|entry| two.get(&entry.key.text) == Some(&entry.value))
            }
            _ => false,
        }
    }
}
