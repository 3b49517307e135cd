//! YAML bodies: read as YAML 1.1, as the API server does, into the JSON they stand for.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use serde_saphyr::{Budget, DuplicateKeyPolicy, Options, Spanned};

/// How deep YAML may nest: values are walked recursively.
const MAX_DEPTH: usize = 200;

/// What a YAML body says.
#[derive(Debug, Clone, PartialEq)]
pub struct Yaml {
    /// The first document; of repeated keys the last.
    pub value: Value,
    /// One message per repeated key: `line 5: key "a" already set in map`.
    pub repeated: Vec<String>,
}

/// Reads the first document of a body. The error is worded as the API server words it: `yaml: line 2: …`.
pub fn read(body: &[u8]) -> Result<Yaml, String> {
    let Ok(text) = std::str::from_utf8(body) else {
        return Err(broken_utf8(body));
    };
    let mut budget = Budget::default();
    budget.max_depth = MAX_DEPTH;
    budget.max_nodes = 3_000_000;
    let mut options = Options::default();
    options.budget = Some(budget);
    options.duplicate_keys = DuplicateKeyPolicy::LastWins;
    options.legacy_octal_numbers = true;
    options.with_snippet = false;
    let first = first_document(text);
    if first.starts_with('\t') {
        return Err("yaml: found character that cannot start any token".into());
    }
    if first.lines().all(|line| {
        let line = line.trim();
        line.is_empty() || line.starts_with('#') || line == "---"
    }) {
        return Ok(Yaml { value: Value::Null, repeated: Vec::new() });
    }
    match serde_saphyr::from_str_with_options::<Node>(first, options) {
        Ok(node) => {
            let mut repeated = Vec::new();
            let value = node.value(&mut repeated);
            Ok(Yaml { value, repeated })
        }
        Err(error) => Err(worded(&error, first)),
    }
}

/// The text up to the end of the first document that is not empty.
fn first_document(text: &str) -> &str {
    let mut at = 0;
    let mut content = false;
    for line in text.split_inclusive('\n') {
        let marker = line.strip_prefix("---").or_else(|| line.strip_prefix("..."));
        let marker =
            marker.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace));
        if marker && content {
            return text.get(..at).unwrap_or(text);
        }
        content |= !line.trim().is_empty() && !line.starts_with('#') && !line.starts_with('%');
        at += line.len();
    }
    text
}

fn broken_utf8(body: &[u8]) -> String {
    let at = std::str::from_utf8(body).err().map_or(0, |e| e.valid_up_to());
    match body.get(at) {
        Some(0x80..=0xbf | 0xf8..) => "yaml: invalid leading UTF-8 octet".into(),
        _ if body.len() - at < 4 => "yaml: incomplete UTF-8 octet sequence".into(),
        _ => "yaml: invalid trailing UTF-8 octet".into(),
    }
}

/// A parser's complaint in libyaml's words, as far as the two know the same complaints.
///
/// libyaml counts lines from zero when it parses and from one when it scans, sees the end of the text on a line
/// of its own, and does not mention line zero.
fn worded(error: &serde_saphyr::Error, text: &str) -> String {
    let said = error.without_snippet().to_string();
    let line = error.location().map_or(0, |place| usize::try_from(place.line()).unwrap_or(0));
    let column = error.location().map_or(0, |place| usize::try_from(place.column()).unwrap_or(0));
    let end = text.lines().count();
    let at = |line: usize, message: &str| match line {
        0 => format!("yaml: {message}"),
        line => format!("yaml: line {line}: {message}"),
    };
    let scanned = |message: &str| at(if line > 1 { line } else { 0 }, message);
    let says = |part: &str| said.contains(part);
    let found = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let rest: String = found.chars().skip(column.saturating_sub(1)).collect();
    if says("mapping values are not allowed") {
        return scanned("mapping values are not allowed in this context");
    }
    if says("block sequence entries") {
        return scanned("block sequence entries are not allowed in this context");
    }
    if says("unclosed quote") || says("multiline quoted") {
        let last = if text.ends_with('\n') { end + 1 } else { end };
        return at(if last > 1 { last } else { 0 }, "found unexpected end of stream");
    }
    if says("unknown anchor") {
        let name: String =
            rest.trim_start_matches('*').chars().take_while(|c| c.is_alphanumeric()).collect();
        return format!("yaml: unknown anchor '{name}' referenced");
    }
    if says("unclosed bracket") {
        let message = match text.trim_end().chars().next_back() {
            Some('[' | '{') => "did not find expected node content",
            _ if rest.starts_with('{') => "did not find expected ',' or '}'",
            _ => "did not find expected ',' or ']'",
        };
        return at(end, message);
    }
    if says("expected ',' or") || says("flow") || says("illegal placement of ':'") {
        let open = if says("mapping") {
            "did not find expected ',' or '}'"
        } else {
            "did not find expected ',' or ']'"
        };
        return at(line.saturating_sub(1), open);
    }
    if says("unexpected character") || says("tab") || rest.starts_with(['@', '`', '\t']) {
        return scanned("found character that cannot start any token");
    }
    if says("escape") {
        return scanned("found unknown escape character");
    }
    if says("directive") {
        return scanned("found unknown directive name");
    }
    if says("expected ':'") {
        return at(end + 1, "could not find expected ':'");
    }
    if says("'-' indicator") || says("block collection") {
        return at(line.saturating_sub(1), "did not find expected '-' indicator");
    }
    if says("recursion") || says("epth") || says("udget") {
        return "yaml: exceeded max depth of 10000".into();
    }
    at(line.saturating_sub(1), "did not find expected key")
}

enum Node {
    Scalar(Value),
    List(Vec<Node>),
    Map(Vec<(String, u64, Node)>),
}

impl Node {
    fn value(self, repeated: &mut Vec<String>) -> Value {
        match self {
            Self::Scalar(value) => value,
            Self::List(list) => {
                Value::Array(list.into_iter().map(|one| one.value(repeated)).collect())
            }
            Self::Map(entries) => {
                let mut map = Map::new();
                for (key, line, node) in entries {
                    if map.contains_key(&key) {
                        let key = super::text::quote(&key);
                        repeated.push(format!("line {line}: key {key} already set in map"));
                    }
                    let value = node.value(repeated);
                    map.insert(key, value);
                }
                Value::Object(map)
            }
        }
    }
}

/// A key, whatever YAML takes it for, as the text it becomes in JSON.
struct Key(String);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Self(match Value::deserialize(from)? {
            Value::String(text) => text,
            other => other.to_string(),
        }))
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Scalar(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Scalar(Value::from(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Scalar(Value::from(value)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Scalar(super::scan::number(&value.to_string()).unwrap_or(Value::Null)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Scalar(Value::from(value)))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Scalar(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Scalar(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Node, D::Error> {
        Node::deserialize(from)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(one) = access.next_element()? {
            list.push(one);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = access.next_key::<Spanned<Key>>()? {
            let line = key.referenced.line();
            entries.push((key.value.0, line, access.next_value()?));
        }
        Ok(Node::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn yaml_is_version_1_1() {
        let yaml =
            read(b"a: y\nb: 0755\nc: 0x10\nd: \"y\"\n1: ~\nf: 1.0\ntrue: no\ng: 1_000\n").unwrap();
        assert_eq!(
            yaml.value,
            json!({"a": true, "b": 493, "c": 16, "d": "y", "1": null, "f": 1, "true": false, "g": 1000})
        );
    }

    #[test]
    fn repeated_keys_are_told_and_the_last_wins() {
        let yaml = read(b"metadata:\n  name: a\ndata:\n  a: \"1\"\n  a: \"2\"\n").unwrap();
        assert_eq!(yaml.value["data"], json!({"a": "2"}));
        assert_eq!(yaml.repeated, [r#"line 5: key "a" already set in map"#]);
    }

    #[test]
    fn only_the_first_document_counts() {
        assert_eq!(read(b"a: 1\n---\nb: 2\n").unwrap().value, json!({"a": 1}));
        assert_eq!(read(b"---\na: 1\n").unwrap().value, json!({"a": 1}));
        assert_eq!(read(b"").unwrap().value, Value::Null);
        assert_eq!(read(b"---").unwrap().value, Value::Null);
        assert_eq!(read(b"a: &x 1\nb: *x").unwrap().value, json!({"a": 1, "b": 1}));
    }

    #[test]
    fn errors_sound_like_libyaml() {
        for (body, message) in [
            ("metadata:\n  name: a\n bad: 1", "yaml: line 2: did not find expected key"),
            ("a: [", "yaml: line 1: did not find expected node content"),
            ("a: b: c", "yaml: mapping values are not allowed in this context"),
            ("\tx: 1", "yaml: found character that cannot start any token"),
            ("@a", "yaml: found character that cannot start any token"),
            ("metadata:\n  name: a\nkind: \"x", "yaml: line 3: found unexpected end of stream"),
            ("\"a", "yaml: found unexpected end of stream"),
            ("a: *foo", "yaml: unknown anchor 'foo' referenced"),
            ("{\"a\":1", "yaml: line 1: did not find expected ',' or '}'"),
            ("a: [1\n", "yaml: line 1: did not find expected ',' or ']'"),
            ("a: {\n", "yaml: line 1: did not find expected node content"),
            ("b: 1\na: [1, 2\nc: 3\n", "yaml: line 2: did not find expected ',' or ']'"),
            ("b: 1\na: {x: 1\nc: 3\n", "yaml: line 2: did not find expected ',' or '}'"),
            ("a:\n\tb: 1\n", "yaml: line 2: found character that cannot start any token"),
            ("a: \"\\q\"\n", "yaml: found unknown escape character"),
            ("a: 'x\n", "yaml: line 2: found unexpected end of stream"),
            ("- a\nb: 1\n", "yaml: line 1: did not find expected '-' indicator"),
            ("a: - b\n", "yaml: block sequence entries are not allowed in this context"),
            ("a: 1\n  b: 2\n", "yaml: line 2: mapping values are not allowed in this context"),
            ("a: b\nc", "yaml: line 3: could not find expected ':'"),
            ("x: 1\ny: @a", "yaml: line 2: found character that cannot start any token"),
        ] {
            assert_eq!(read(body.as_bytes()).unwrap_err(), message, "{body}");
        }
    }

    #[test]
    fn hostile_bodies_end() {
        assert!(read(&b"[".repeat(100_000)).is_err());
        assert!(read(b"a: \xff").is_err());
        let bomb = "a: &a [x,x]\nb: &b [*a,*a]\n".to_owned() + &"c: [*b,*b,*b]\n".repeat(60);
        let _ = read(bomb.as_bytes());
    }
}
