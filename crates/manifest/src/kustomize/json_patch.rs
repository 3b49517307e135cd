//! JSON patches (RFC 6902), with the liberties upstream's library takes: `replace` of a key that is
//! not there adds it, `copy` of one adds null, indices count from the end if they are negative.

use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::scalar::{self, Resolved};
use crate::yaml::{
    self, Entry, Key, Mapping, Mark, Node, Scalar, Style, Tag, Text, Value, rewrite,
};

mod number;

pub(crate) use number::{go_float, json_float};

/// The operations of a patch.
#[derive(Clone, Debug, Default)]
pub struct JsonPatch {
    operations: Vec<Operation>,
}

#[derive(Clone, Debug)]
struct Operation {
    kind: Text,
    path: Option<Text>,
    from: Option<Text>,
    /// Null and missing are the same almost everywhere.
    value: Option<Node>,
    mark: Mark,
}

impl JsonPatch {
    /// From a text: JSON if it begins with a bracket, else YAML, of which the first document counts.
    pub fn parse(text: &str) -> Result<Self> {
        if text.starts_with('[') {
            let value: serde_json::Value = serde_json::from_str(text).map_err(|error| {
                let mark = Mark {
                    line: error.line() as u32,
                    column: error.column() as u32,
                    ..Mark::default()
                };
                Diagnostic::new(format!("invalid JSON: {error}")).at(mark)
            })?;
            return Self::read(&from_json(value, 0)?);
        }
        Self::read(&canonical(&yaml::configuration(text)?, false, false)?)
    }

    fn read(node: &Node) -> Result<Self> {
        if node.is_null() {
            return Ok(Self::default());
        }
        let Some(items) = node.as_sequence() else {
            return Err(Diagnostic::new(format!(
                "a JSON patch must be a list of operations, not {}",
                node.shape()
            ))
            .at(node.mark));
        };
        let operations = items.iter().map(operation).collect::<Result<_>>()?;
        Ok(Self { operations })
    }

    /// The same, written so many lines further down.
    pub(crate) fn moved(mut self, lines: u32) -> Self {
        for operation in self.operations.iter_mut().filter(|one| one.mark.is_known()) {
            operation.mark.line += lines;
        }
        self
    }

    /// Whether it has no operations.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Applies the operations in order. Numbers and texts of the object are written anew, as going
    /// through JSON writes them.
    pub fn apply(&self, object: &mut Node) -> Result<()> {
        let mut document = canonical(object, true, true)?;
        for operation in &self.operations {
            operation.apply(&mut document).map_err(|error| error.at(operation.mark))?;
        }
        if document.as_mapping().is_none() {
            return Err(Diagnostic::new(format!(
                "a JSON patch must leave an object, not {}",
                document.shape()
            )));
        }
        finish(&mut document)?;
        object.value = document.value;
        Ok(())
    }
}

fn operation(node: &Node) -> Result<Operation> {
    let text = |name: &str| {
        let node = node.get(name).filter(|node| !node.is_null())?;
        node.as_scalar().filter(|scalar| scalar.tag == Tag::Str).map(|scalar| scalar.text.clone())
    };
    if node.as_mapping().is_none() && !node.is_null() {
        return Err(Diagnostic::new(format!(
            "an operation of a JSON patch must be a mapping, not {}",
            node.shape()
        ))
        .at(node.mark));
    }
    Ok(Operation {
        kind: text("op").unwrap_or_else(|| "unknown".into()),
        path: text("path"),
        from: text("from"),
        value: node.get("value").cloned(),
        mark: node.mark,
    })
}

/// A place in the document: what contains it, and its key there.
struct Place<'a> {
    container: &'a mut Node,
    key: String,
}

impl Operation {
    fn apply(&self, document: &mut Node) -> Result<()> {
        match self.kind.as_str() {
            "add" => self.add(document),
            "remove" => self.remove(document),
            "replace" => self.replace(document),
            "move" => self.relocate(document),
            "copy" => self.duplicate(document),
            "test" => self.test(document),
            other => Err(Diagnostic::new(format!("Unexpected kind: {other}"))
                .hint("an operation is one of add, remove, replace, move, copy, test")),
        }
    }

    fn path(&self) -> Result<&str> {
        let missing = || {
            Diagnostic::new(format!("{} operation failed to decode path: missing value", self.kind))
        };
        self.path.as_deref().ok_or_else(missing)
    }

    fn from(&self) -> Result<&str> {
        let missing = || {
            Diagnostic::new(format!("{} operation failed to decode from: missing value", self.kind))
        };
        self.from.as_deref().ok_or_else(missing)
    }

    fn value(&self) -> Node {
        self.value.clone().unwrap_or_else(Node::null)
    }

    fn missing(&self, what: &str, path: &str) -> Diagnostic {
        Diagnostic::new(format!(
            "{} operation does not apply: doc is missing {what}: \"{path}\": missing value",
            self.kind
        ))
    }

    fn add(&self, document: &mut Node) -> Result<()> {
        let path = self.path()?;
        let place = find(document, path).ok_or_else(|| self.missing("path", path))?;
        place.add(self.value()).map_err(|error| within("add", path, &error))
    }

    fn remove(&self, document: &mut Node) -> Result<()> {
        let path = self.path()?;
        let place = find(document, path).ok_or_else(|| self.missing("path", path))?;
        place.remove().map_err(|error| within("remove", path, &error))?;
        Ok(())
    }

    fn replace(&self, document: &mut Node) -> Result<()> {
        let path = self.path()?;
        if path.is_empty() {
            let value = self.value();
            if value.as_scalar().is_some() {
                return Err(Diagnostic::new("replace operation value must be object or array"));
            }
            *document = value;
            return Ok(());
        }
        let place = find(document, path).ok_or_else(|| self.missing("path", path))?;
        match &mut place.container.value {
            Value::Mapping(mapping) => mapping.set(place.key, self.value()),
            Value::Sequence(items) => {
                let index = index(&place.key, items.len());
                let slot = index.ok().and_then(|index| items.get_mut(index));
                *slot.ok_or_else(|| self.missing("key", path))? = self.value();
            }
            Value::Scalar(_) => return Err(self.missing("path", path)),
        }
        Ok(())
    }

    fn relocate(&self, document: &mut Node) -> Result<()> {
        let from = self.from()?;
        let place = find(document, from).ok_or_else(|| self.missing("from path", from))?;
        let value = place.remove().map_err(|error| within("move", from, &error))?;
        let path = self.path()?;
        let place = find(document, path).ok_or_else(|| self.missing("destination path", path))?;
        place.add(value).map_err(|error| within("move", path, &error))
    }

    fn duplicate(&self, document: &mut Node) -> Result<()> {
        let from = self.from()?;
        let place = find(document, from).ok_or_else(|| self.missing("from path", from))?;
        let value = place.get().map_err(|error| within("copy", from, &error))?.cloned();
        let path = self.path()?;
        let place = find(document, path).ok_or_else(|| self.missing("destination path", path))?;
        place.add(value.unwrap_or_else(Node::null)).map_err(|error| within("copy", path, &error))
    }

    fn test(&self, document: &mut Node) -> Result<()> {
        let path = self.path()?;
        let failed = || {
            Diagnostic::new(format!("testing value {path} failed: test failed"))
                .hint("the object has another value there")
        };
        let found = if path.is_empty() {
            Some(document.clone())
        } else {
            let place = find(document, path).ok_or_else(|| self.missing("path", path))?;
            let found = place.get().map_err(|error| within("test", path, &error))?;
            found.filter(|found| !found.is_null()).cloned()
        };
        let wanted = self.value.as_ref().filter(|value| !value.is_null());
        match (found, wanted) {
            (None, None) => Ok(()),
            (Some(found), Some(wanted)) if found == *wanted => Ok(()),
            _ => Err(failed()),
        }
    }
}

fn within(kind: &str, path: &str, error: &Diagnostic) -> Diagnostic {
    Diagnostic::new(format!("error in {kind} for path: '{path}': {}", error.message()))
}

/// The place of a path; none if what should contain it is not there. What stands before the first
/// slash is ignored.
fn find<'a>(document: &'a mut Node, path: &str) -> Option<Place<'a>> {
    let (_, rest) = path.split_once('/')?;
    let mut container = document;
    let mut parts = rest.split('/').peekable();
    while let Some(part) = parts.next() {
        let key = part.replace("~1", "/").replace("~0", "~");
        if parts.peek().is_none() {
            return Some(Place { container, key });
        }
        container = match &mut container.value {
            Value::Mapping(mapping) => mapping.get_mut(&key)?,
            Value::Sequence(items) => {
                let index = index(&key, items.len()).ok()?;
                items.get_mut(index)?
            }
            Value::Scalar(_) => return None,
        };
        container.as_scalar().is_none().then_some(())?;
    }
    None
}

/// An index of a list, counted from the end if it is negative.
fn index(key: &str, count: usize) -> Result<usize> {
    let number = key
        .parse::<i64>()
        .map_err(|_| Diagnostic::new(format!("value was not a proper array index: '{key}'")))?;
    let index = if number < 0 { number + i64::try_from(count).unwrap_or(i64::MAX) } else { number };
    usize::try_from(index).map_err(|_| invalid(number))
}

fn invalid(index: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new(format!("Unable to access invalid index: {index}: invalid index referenced"))
}

impl<'a> Place<'a> {
    fn get(self) -> Result<Option<&'a Node>> {
        match &self.container.value {
            Value::Mapping(mapping) => Ok(mapping.get(&self.key)),
            Value::Sequence(items) => {
                let place = index(&self.key, items.len())?;
                items.get(place).map(Some).ok_or_else(|| invalid(place))
            }
            Value::Scalar(_) => Ok(None),
        }
    }

    fn add(self, value: Node) -> Result<()> {
        match &mut self.container.value {
            Value::Mapping(mapping) => mapping.set(self.key, value),
            Value::Sequence(items) if self.key == "-" => items.push(value),
            Value::Sequence(items) => {
                // The end counts, too: one more than there are.
                let place = index(&self.key, items.len() + 1)?;
                if place > items.len() {
                    return Err(invalid(place));
                }
                items.insert(place, value);
            }
            Value::Scalar(_) => {}
        }
        Ok(())
    }

    fn remove(self) -> Result<Node> {
        match &mut self.container.value {
            Value::Mapping(mapping) => mapping.remove(&self.key).ok_or_else(|| {
                Diagnostic::new(format!(
                    "Unable to remove nonexistent key: {}: missing value",
                    self.key
                ))
            }),
            Value::Sequence(items) => {
                let place = index(&self.key, items.len())?;
                if place >= items.len() {
                    return Err(invalid(place));
                }
                Ok(items.remove(place))
            }
            Value::Scalar(_) => Ok(Node::null()),
        }
    }
}

/// The node as JSON has it: numbers in one form only, dates as texts. Objects are written and read again
/// on their way there.
pub(crate) fn canonical(node: &Node, root: bool, again: bool) -> Result<Node> {
    let value = match &node.value {
        Value::Scalar(scalar) => {
            let resolved = scalar.resolved().map_err(|error| error.at(node.mark))?;
            Value::Scalar(match resolved {
                Resolved::Null => {
                    Scalar { text: "null".into(), tag: Tag::Null, style: Style::Plain }
                }
                Resolved::Bool(true) => plain("true", Tag::Bool),
                Resolved::Bool(false) => plain("false", Tag::Bool),
                Resolved::Int(number) => plain(&number.to_string(), Tag::Int),
                Resolved::Unsigned(number) => plain(&number.to_string(), Tag::Int),
                Resolved::Float(number) if number.is_finite() => {
                    plain(&number::json_float(number), Tag::Float)
                }
                Resolved::Float(number) => {
                    let message = format!("json: unsupported value: {number}");
                    return Err(Diagnostic::new(message).at(node.mark));
                }
                Resolved::Text(text) if !again => Scalar::string(text),
                Resolved::Text(text) => {
                    let text = rewrite::again(text, scalar.style);
                    Scalar::string(text.map_err(|error| error.at(node.mark))?)
                }
            })
        }
        Value::Sequence(items) => Value::Sequence(
            items.iter().map(|item| canonical(item, false, again)).collect::<Result<_>>()?,
        ),
        Value::Mapping(mapping) => {
            // There are no blocks between braces, so nothing happens to them.
            let again = again && !mapping.is_flow();
            let entry = |entry: &Entry| {
                if entry.key.tag != Tag::Str && !root {
                    let message = "json: unsupported type: a key that is no text";
                    return Err(Diagnostic::new(message).at(entry.key.mark));
                }
                let key = Key { tag: Tag::Str, ..entry.key.clone() };
                Ok(Entry { key, value: canonical(&entry.value, false, again)? })
            };
            Value::Mapping(mapping.iter().map(entry).collect::<Result<Mapping>>()?)
        }
    };
    Ok(Node { value, mark: node.mark })
}

fn plain(text: &str, tag: Tag) -> Scalar {
    Scalar { text: text.into(), tag, style: Style::Plain }
}

/// From JSON back to YAML: every number has been a float in between, keys are sorted, and texts that
/// look like something else are quoted.
fn finish(node: &mut Node) -> Result<()> {
    match &mut node.value {
        Value::Scalar(scalar) => match scalar.tag {
            Tag::Int | Tag::Float => {
                let number: f64 = scalar.text.parse().map_err(|_| {
                    Diagnostic::new(format!("`{}` is no number", scalar.text)).at(node.mark)
                })?;
                scalar.text = go_float(number).into();
                scalar.tag = scalar::tag_of(&scalar.text);
                scalar.style = Style::Plain;
            }
            Tag::Str => {
                scalar.style = yaml::emit::style_of(&scalar.text);
                if scalar.style == Style::Literal {
                    rewrite::again(scalar.text.as_str().into(), Style::Literal)
                        .map_err(|error| error.at(node.mark))?;
                }
            }
            _ => scalar.style = Style::Plain,
        },
        Value::Sequence(items) => items.iter_mut().try_for_each(finish)?,
        Value::Mapping(mapping) => {
            mapping.entries_mut().sort_by(|one, two| one.key.text.cmp(&two.key.text));
            mapping.iter_mut().try_for_each(|entry| finish(&mut entry.value))?;
        }
    }
    Ok(())
}

fn from_json(value: serde_json::Value, depth: usize) -> Result<Node> {
    use serde_json::Value as Json;
    if depth > 128 {
        return Err(Diagnostic::new("nested too deep"));
    }
    Ok(match value {
        Json::Null => Node::null(),
        Json::Bool(flag) => Node::scalar(if flag { "true" } else { "false" }, Tag::Bool),
        Json::Number(number) => {
            let tag = if number.is_f64() { Tag::Float } else { Tag::Int };
            Node::scalar(number.to_string(), tag)
        }
        Json::String(text) => Node::string(text),
        Json::Array(items) => Node::sequence(
            items.into_iter().map(|item| from_json(item, depth + 1)).collect::<Result<_>>()?,
        ),
        Json::Object(fields) => {
            let mut mapping = Mapping::new();
            for (key, value) in fields {
                mapping.set(key, from_json(value, depth + 1)?);
            }
            mapping.into()
        }
    })
}

#[cfg(test)]
mod tests;
