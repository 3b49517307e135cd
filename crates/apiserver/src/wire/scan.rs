//! JSON read as Go's `encoding/json` reads it: the same errors, duplicate keys kept, nothing recursive.

use std::borrow::Cow;

use serde_json::{Map, Number, Value};

use super::text;

/// How deep Go lets a document nest.
const MAX_DEPTH: usize = 10_000;
/// How deep a value may be that is kept as a tree: trees are walked recursively, so this bounds the stack.
pub(crate) const MAX_TREE_DEPTH: usize = 256;

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Bool,
    Number,
    Text,
    Array,
    Object,
}

impl Kind {
    /// The word for it in `cannot unmarshal …`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Number => "number",
            Self::Text => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Token {
    kind: Kind,
    /// The bytes of the value.
    start: usize,
    end: usize,
    /// The first token after this value.
    next: usize,
}

/// A well-formed document: its values in order, each knowing where it ends.
#[derive(Debug)]
pub(crate) struct Document<'a> {
    body: &'a [u8],
    tokens: Vec<Token>,
    /// How deep it nests.
    depth: usize,
}

/// One value of a document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Item<'a> {
    document: &'a Document<'a>,
    at: usize,
}

struct Scanner<'a> {
    body: &'a [u8],
    at: usize,
    tokens: Vec<Token>,
    /// The containers being read.
    open: Vec<usize>,
    depth: usize,
}

type Syntax<T> = Result<T, String>;

impl<'a> Document<'a> {
    /// Reads a whole body; the error is Go's message.
    pub fn read(body: &'a [u8]) -> Syntax<Self> {
        let mut scanner = Scanner { body, at: 0, tokens: Vec::new(), open: Vec::new(), depth: 0 };
        scanner.document()?;
        Ok(Self { body, tokens: scanner.tokens, depth: scanner.depth })
    }

    /// The outermost value.
    pub fn root(&'a self) -> Item<'a> {
        Item { document: self, at: 0 }
    }
}

impl Scanner<'_> {
    fn document(&mut self) -> Syntax<()> {
        self.value()?;
        // A container stays open until its end is read here, so that depth costs no stack.
        while let Some(&container) = self.open.last() {
            let object = self.tokens.get(container).is_some_and(|t| t.kind == Kind::Object);
            let context =
                if object { "after object key:value pair" } else { "after array element" };
            match self.peek()? {
                b',' => {
                    self.at += 1;
                    if object {
                        if self.peek()? != b'"' {
                            return self.wrong("looking for beginning of object key string");
                        }
                        self.key()?;
                    }
                    self.value()?;
                }
                b'}' if object => self.close(),
                b']' if !object => self.close(),
                _ => return self.wrong(context),
            }
        }
        self.spaces();
        if self.at < self.body.len() {
            return self.wrong("after top-level value");
        }
        Ok(())
    }

    /// Reads a scalar whole, or opens a container and reads up to and with its first scalar.
    fn value(&mut self) -> Syntax<()> {
        loop {
            let first = self.peek()?;
            let start = self.at;
            match first {
                b'{' => {
                    self.enter(Kind::Object, start)?;
                    match self.peek()? {
                        b'}' => {
                            self.close();
                            return Ok(());
                        }
                        b'"' => self.key()?,
                        _ => return self.wrong("looking for beginning of object key string"),
                    }
                }
                b'[' => {
                    self.enter(Kind::Array, start)?;
                    if self.peek()? == b']' {
                        self.close();
                        return Ok(());
                    }
                }
                b'"' => return self.string(),
                b't' => return self.literal("true", Kind::Bool),
                b'f' => return self.literal("false", Kind::Bool),
                b'n' => return self.literal("null", Kind::Null),
                b'-' | b'0'..=b'9' => return self.number(),
                _ => return self.wrong("looking for beginning of value"),
            }
        }
    }

    fn enter(&mut self, kind: Kind, start: usize) -> Syntax<()> {
        if self.open.len() >= MAX_DEPTH {
            return self.wrong("exceeded max depth");
        }
        self.open.push(self.tokens.len());
        self.depth = self.depth.max(self.open.len());
        self.tokens.push(Token { kind, start, end: start, next: 0 });
        self.at += 1;
        Ok(())
    }

    fn close(&mut self) {
        self.at += 1;
        let next = self.tokens.len();
        if let Some(token) = self.open.pop().and_then(|at| self.tokens.get_mut(at)) {
            token.end = self.at;
            token.next = next;
        }
    }

    fn key(&mut self) -> Syntax<()> {
        self.string()?;
        if self.peek()? != b':' {
            return self.wrong("after object key");
        }
        self.at += 1;
        Ok(())
    }

    fn spaces(&mut self) {
        while matches!(self.body.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> Syntax<u8> {
        self.spaces();
        self.byte()
    }

    fn byte(&self) -> Syntax<u8> {
        self.body.get(self.at).copied().ok_or_else(|| "unexpected end of JSON input".to_owned())
    }

    fn wrong<T>(&self, context: &str) -> Syntax<T> {
        let shown = match self.byte()? {
            b'\'' => r"'\''".to_owned(),
            b'"' => "'\"'".to_owned(),
            other => {
                let quoted = text::quote(&char::from(other).to_string());
                format!("'{}'", quoted.trim_matches('"'))
            }
        };
        Err(format!("invalid character {shown} {context}"))
    }

    fn done(&mut self, kind: Kind, start: usize) {
        let next = self.tokens.len() + 1;
        self.tokens.push(Token { kind, start, end: self.at, next });
    }

    fn string(&mut self) -> Syntax<()> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.byte()? {
                b'"' => break,
                b'\\' => {
                    self.at += 1;
                    match self.byte()? {
                        b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => {}
                        b'u' => {
                            for _ in 0..4 {
                                self.at += 1;
                                if !self.byte()?.is_ascii_hexdigit() {
                                    return self.wrong("in \\u hexadecimal character escape");
                                }
                            }
                        }
                        _ => return self.wrong("in string escape code"),
                    }
                }
                0..0x20 => return self.wrong("in string literal"),
                _ => {}
            }
            self.at += 1;
        }
        self.at += 1;
        self.done(Kind::Text, start);
        Ok(())
    }

    fn literal(&mut self, word: &str, kind: Kind) -> Syntax<()> {
        let start = self.at;
        for expected in word.bytes() {
            if self.byte()? != expected {
                let expected = char::from(expected);
                return self.wrong(&format!("in literal {word} (expecting '{expected}')"));
            }
            self.at += 1;
        }
        self.done(kind, start);
        Ok(())
    }

    fn number(&mut self) -> Syntax<()> {
        let start = self.at;
        if self.byte()? == b'-' {
            self.at += 1;
        }
        match self.byte()? {
            b'0' => self.at += 1,
            b'1'..=b'9' => self.digits(),
            _ => return self.wrong("in numeric literal"),
        }
        if self.body.get(self.at) == Some(&b'.') {
            self.at += 1;
            if !self.byte()?.is_ascii_digit() {
                return self.wrong("after decimal point in numeric literal");
            }
            self.digits();
        }
        if matches!(self.body.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.byte()?, b'+' | b'-') {
                self.at += 1;
            }
            if !self.byte()?.is_ascii_digit() {
                return self.wrong("in exponent of numeric literal");
            }
            self.digits();
        }
        self.done(Kind::Number, start);
        Ok(())
    }

    fn digits(&mut self) {
        while self.body.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
    }
}

impl<'a> Item<'a> {
    fn token(self) -> Token {
        let end = self.document.body.len();
        let none = Token { kind: Kind::Null, start: end, end, next: usize::MAX };
        self.document.tokens.get(self.at).copied().unwrap_or(none)
    }

    pub fn kind(self) -> Kind {
        self.token().kind
    }

    /// How deep the whole document nests.
    pub fn depth(self) -> usize {
        self.document.depth
    }

    /// The bytes as they were sent.
    pub fn raw(self) -> &'a [u8] {
        let token = self.token();
        self.document.body.get(token.start..token.end).unwrap_or_default()
    }

    /// A number's digits, or the bytes of any scalar, as text.
    pub fn literal(self) -> &'a str {
        std::str::from_utf8(self.raw()).unwrap_or_default()
    }

    /// The content of a string; broken UTF-8 and lone surrogates become U+FFFD.
    pub fn text(self) -> Cow<'a, str> {
        let raw = self.raw();
        let inner = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
        if inner.contains(&b'\\') { Cow::Owned(unescaped(inner)) } else { lossy(inner) }
    }

    /// `true`; false for anything else.
    pub fn is_true(self) -> bool {
        self.raw() == b"true"
    }

    /// The values of an array, or the keys and values of an object in turn.
    fn inner(self) -> impl Iterator<Item = Item<'a>> {
        let token = self.token();
        let container = matches!(token.kind, Kind::Array | Kind::Object);
        let mut at = if container { self.at + 1 } else { token.next };
        let document = self.document;
        std::iter::from_fn(move || {
            if at >= token.next {
                return None;
            }
            let item = Item { document, at };
            at = item.token().next;
            Some(item)
        })
    }

    /// The values of an array.
    pub fn items(self) -> impl Iterator<Item = Item<'a>> {
        let array = self.kind() == Kind::Array;
        self.inner().take_while(move |_| array)
    }

    /// The fields of an object as they were sent, repeated ones too.
    pub fn entries(self) -> impl Iterator<Item = (Cow<'a, str>, Item<'a>)> {
        let object = self.kind() == Kind::Object;
        let mut inner = self.inner().take_while(move |_| object);
        std::iter::from_fn(move || {
            let key = inner.next()?;
            Some((key.text(), inner.next()?))
        })
    }

    /// The value as a tree; of repeated fields the last. Fails on nesting that no real object has.
    pub fn value(self) -> Syntax<Value> {
        self.tree(0)
    }

    fn tree(self, depth: usize) -> Syntax<Value> {
        if depth > MAX_TREE_DEPTH {
            return Err("exceeded max depth".into());
        }
        Ok(match self.kind() {
            Kind::Null => Value::Null,
            Kind::Bool => Value::Bool(self.is_true()),
            Kind::Number => number(self.literal())?,
            Kind::Text => Value::String(self.text().into_owned()),
            Kind::Array => {
                Value::Array(self.items().map(|item| item.tree(depth + 1)).collect::<Syntax<_>>()?)
            }
            Kind::Object => {
                let mut map = Map::new();
                for (key, item) in self.entries() {
                    map.insert(key.into_owned(), item.tree(depth + 1)?);
                }
                Value::Object(map)
            }
        })
    }
}

/// A number of no particular type: an integer if it is written as one and fits, else a float. Whole floats are
/// integers again, since that is how Go prints them.
pub(crate) fn number(literal: &str) -> Syntax<Value> {
    if let Ok(whole) = literal.parse::<i64>() {
        return Ok(Value::from(whole));
    }
    let float = literal.parse::<f64>().unwrap_or(f64::INFINITY);
    if !float.is_finite() {
        return Err(format!(
            "json: cannot unmarshal number {literal} into Go value of type float64"
        ));
    }
    Ok(whole(float)
        .map_or_else(|| Number::from_f64(float).map_or(Value::Null, Value::Number), Value::from))
}

/// The integer that a float is, if it is one and JSON prints it without an exponent.
#[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
fn whole(float: f64) -> Option<i64> {
    (float.fract() == 0.0 && float.abs() < 9.2e18).then_some(float as i64)
}

/// Bytes as text, each broken byte replaced by one U+FFFD.
fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(bytes.len());
    push_lossy(&mut out, bytes);
    Cow::Owned(out)
}

fn push_lossy(out: &mut String, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|_| '\u{fffd}'));
    }
}

fn unescaped(mut inner: &[u8]) -> String {
    let mut out = String::with_capacity(inner.len());
    while let Some(at) = inner.iter().position(|&b| b == b'\\') {
        let (plain, rest) = inner.split_at(at);
        push_lossy(&mut out, plain);
        let (c, used) = match rest.get(1) {
            Some(b'b') => ('\u{8}', 2),
            Some(b'f') => ('\u{c}', 2),
            Some(b'n') => ('\n', 2),
            Some(b'r') => ('\r', 2),
            Some(b't') => ('\t', 2),
            Some(b'u') => unicode(rest),
            Some(&other) => (char::from(other), 2),
            None => break,
        };
        out.push(c);
        inner = rest.get(used..).unwrap_or_default();
    }
    push_lossy(&mut out, inner);
    out
}

/// The character of `\uXXXX`, or of two of them that form a surrogate pair, and the bytes it took.
fn unicode(rest: &[u8]) -> (char, usize) {
    let high = unit(rest);
    if let Some(c) = high.and_then(char::from_u32) {
        return (c, 6);
    }
    let low = rest.get(6..).and_then(unit);
    if let (Some(high @ 0xd800..0xdc00), Some(low @ 0xdc00..0xe000)) = (high, low)
        && let Some(c) = char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00))
    {
        return (c, 12);
    }
    ('\u{fffd}', 6)
}

fn unit(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn error(body: &str) -> String {
        Document::read(body.as_bytes()).map(|_| ()).unwrap_err()
    }

    #[test]
    fn errors_are_those_of_go() {
        for (body, message) in [
            ("{bad", "invalid character 'b' looking for beginning of object key string"),
            ("", "unexpected end of JSON input"),
            (r#"{"a":1} x"#, "invalid character 'x' after top-level value"),
            (r#"{"a":tru}"#, "invalid character '}' in literal true (expecting 'e')"),
            (r#"{"a":"\x"}"#, "invalid character 'x' in string escape code"),
            (r#"{"a":1"#, "unexpected end of JSON input"),
            (r#"{"a" 1}"#, "invalid character '1' after object key"),
            (r#"{"a":1,}"#, "invalid character '}' looking for beginning of object key string"),
            (r#"{"a":01}"#, "invalid character '1' after object key:value pair"),
            (r#"{"a":-}"#, "invalid character '}' in numeric literal"),
            ("{\"a\":\"b\nc\"}", r"invalid character '\n' in string literal"),
            (r#"{"a":1.}"#, "invalid character '}' after decimal point in numeric literal"),
            (r#"{"a":1e}"#, "invalid character '}' in exponent of numeric literal"),
            (r#"{"a":"\uZZZZ"}"#, r"invalid character 'Z' in \u hexadecimal character escape"),
            ("{,}", "invalid character ',' looking for beginning of object key string"),
            ("[1 2]", "invalid character '2' after array element"),
            ("[,]", "invalid character ',' looking for beginning of value"),
            ("'", r"invalid character '\'' looking for beginning of value"),
            ("\u{ff}", "invalid character 'Ã' looking for beginning of value"),
        ] {
            assert_eq!(error(body), message, "{body}");
        }
    }

    #[test]
    fn depth_is_limited_as_in_go_and_costs_no_stack() {
        let deep = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert!(Document::read(deep(10_000).as_bytes()).is_ok());
        let too_deep = "invalid character '[' exceeded max depth";
        assert_eq!(error(&deep(10_001)), too_deep);
        assert_eq!(error(&"[".repeat(1_000_000)), too_deep);
        assert!(Document::read(deep(1000).as_bytes()).unwrap().root().value().is_err());
    }

    #[test]
    fn strings_are_repaired_like_go() {
        let body = b"[\"a\xffb\",\"\\ud83d\\ude00\\ud83dx\\n\"]";
        let document = Document::read(body).unwrap();
        assert_eq!(document.root().value().unwrap(), json!(["a\u{fffd}b", "😀\u{fffd}x\n"]));
    }

    #[test]
    fn numbers_keep_their_kind() {
        let document = Document::read(b"[1,1.0,1e3,1.5,99999999999999999999]").unwrap();
        let value = document.root().value().unwrap();
        assert_eq!(value.to_string(), "[1,1,1000,1.5,1e+20]");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(".{0,3}", inner, 0..4)
                    .prop_map(|m| Value::Object(m.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn reads_what_was_written(value in any_json()) {
            let mut body = String::new();
            text::write_value(&mut body, &value);
            let document = Document::read(body.as_bytes()).unwrap();
            prop_assert_eq!(document.root().value().unwrap(), value);
        }

        #[test]
        fn never_panics(body in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(document) = Document::read(&body) {
                let _ = document.root().value();
            }
        }
    }
}
