//! New text for a document: scalars in the style of the one they replace, and whole nodes in the
//! indentation of their place.

use crate::yaml::{Mapping, Node, Scalar, Style, Tag, Value, scalar};

/// How the lines of a document are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// What ends a line.
    pub(super) eol: &'static str,
    /// How much deeper than its key a list stands.
    pub(super) list: usize,
}

/// A scalar on one line. `style` is what the one before had, which is kept where that says the same.
pub(super) fn inline(scalar: &Scalar, style: Style, flow: bool) -> String {
    let text = scalar.text.as_str();
    match scalar.tag {
        Tag::Str => match style {
            Style::Double => double(text),
            Style::Single if is_line(text) => format!("'{}'", text.replace('\'', "''")),
            Style::Single => double(text),
            _ if is_plain(text, flow) => text.to_owned(),
            _ => double(text),
        },
        Tag::Null if text.is_empty() => "null".to_owned(),
        Tag::Binary => format!("!!binary {}", double(text)),
        tag if scalar::tag_of(text) == tag => text.to_owned(),
        tag => format!("{} {}", tag.short(), double(text)),
    }
}

/// Whether the text is one line of characters that can be seen.
fn is_line(text: &str) -> bool {
    let seen = |letter| matches!(letter, ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    text.chars().all(|letter| seen(letter) && !is_hidden(letter))
}

fn is_hidden(letter: char) -> bool {
    matches!(letter, '\u{feff}' | '\u{2028}' | '\u{2029}' | '\u{85}')
}

/// Whether a text stays the same text without quotes, for old readers and new ones.
pub(super) fn is_plain(text: &str, flow: bool) -> bool {
    if scalar::needs_quotes(text) || scalar::tag_of(text) != Tag::Str || !is_line(text) {
        return false;
    }
    let first = text.chars().next().unwrap_or(' ');
    let begins = !matches!(
        first,
        ' ' | ','
            | '['
            | ']'
            | '{'
            | '}'
            | '#'
            | '&'
            | '*'
            | '!'
            | '|'
            | '>'
            | '\''
            | '"'
            | '%'
            | '@'
            | '`'
            | '?'
            | ':'
            | '-'
            | '='
            | '<'
    ) || (first == '-' && text[1..].starts_with(|c: char| c.is_ascii_alphanumeric()));
    let flow_safe = !flow
        || !text.contains([',', '[', ']', '{', '}', '?'])
            && !text.match_indices(':').any(|(at, _)| {
                !text[at + 1..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/')
            });
    begins
        && flow_safe
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.starts_with("---")
        && !text.starts_with("...")
}

fn double(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            letter if is_hidden(letter) || !is_line(letter.encode_utf8(&mut [0; 4])) => {
                let code = u32::from(letter);
                let escaped = match code {
                    0..=0xff => format!("\\x{code:02X}"),
                    0x100..=0xffff => format!("\\u{code:04X}"),
                    _ => format!("\\U{code:08X}"),
                };
                out.push_str(&escaped);
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

/// The header and the lines of a literal block, if the text can be one without saying how deep it is.
pub(super) fn literal(text: &str, indent: usize, layout: Layout) -> Option<(&'static str, String)> {
    let lines = text.strip_suffix('\n').unwrap_or(text);
    let first = lines.chars().next()?;
    if matches!(first, ' ' | '\t' | '\n')
        || lines.ends_with('\n')
        || !text.contains('\n')
        || !lines.split('\n').all(|line| is_line(&line.replace('\t', " ")))
    {
        return None;
    }
    // A line of spaces alone would be shorter when it is read.
    if lines.split('\n').any(|line| !line.is_empty() && line.trim().is_empty()) {
        return None;
    }
    let header = if text.ends_with('\n') { "|" } else { "|-" };
    let mut block = String::new();
    for line in lines.split('\n') {
        block.push_str(layout.eol);
        if !line.is_empty() {
            block.extend(std::iter::repeat_n(' ', indent));
            block.push_str(line);
        }
    }
    Some((header, block))
}

/// A node between brackets, or a scalar.
pub(super) fn flow(node: &Node) -> String {
    match &node.value {
        Value::Scalar(scalar) => inline(scalar, scalar.style, true),
        Value::Sequence(items) => {
            format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", "))
        }
        Value::Mapping(mapping) => {
            let pair = |(key, value): (String, &Node)| format!("{key}: {}", flow(value));
            let pairs = mapping.iter().map(|entry| (key(&entry.key.text, true), &entry.value));
            format!("{{{}}}", pairs.map(pair).collect::<Vec<_>>().join(", "))
        }
    }
}

/// A key, in quotes if it needs them.
pub(super) fn key(text: &str, flow: bool) -> String {
    if is_plain(text, flow) { text.to_owned() } else { double(text) }
}

/// What follows a colon: a scalar on the same line, or lines below it. `indent` is the key's.
pub(super) fn value(node: &Node, indent: usize, layout: Layout, out: &mut String) {
    match &node.value {
        Value::Mapping(mapping) if !mapping.is_empty() => {
            entries(mapping, indent + 2, layout, true, out);
        }
        Value::Sequence(list) if !list.is_empty() => {
            items(list, indent + layout.list, layout, true, out);
        }
        _ => leaf(node, indent, layout, out),
    }
}

/// What follows a dash. `indent` is the dash's.
pub(super) fn item(node: &Node, indent: usize, layout: Layout, out: &mut String) {
    match &node.value {
        Value::Mapping(mapping) if !mapping.is_empty() => {
            out.push(' ');
            entries(mapping, indent + 2, layout, false, out);
        }
        Value::Sequence(list) if !list.is_empty() => {
            out.push(' ');
            items(list, indent + 2, layout, false, out);
        }
        _ => leaf(node, indent, layout, out),
    }
}

fn leaf(node: &Node, indent: usize, layout: Layout, out: &mut String) {
    out.push(' ');
    if let Value::Scalar(scalar) = &node.value
        && scalar.tag == Tag::Str
        && let Some((header, block)) = literal(&scalar.text, indent + 2, layout)
    {
        out.push_str(header);
        out.push_str(&block);
        return;
    }
    match &node.value {
        Value::Scalar(scalar) => out.push_str(&inline(scalar, scalar.style, false)),
        _ => out.push_str(&flow(node)),
    }
}

fn new_line(indent: usize, layout: Layout, out: &mut String) {
    out.push_str(layout.eol);
    out.extend(std::iter::repeat_n(' ', indent));
}

fn entries(mapping: &Mapping, indent: usize, layout: Layout, below: bool, out: &mut String) {
    for (place, entry) in mapping.iter().enumerate() {
        if below || place > 0 {
            new_line(indent, layout, out);
        }
        out.push_str(&key(&entry.key.text, false));
        out.push(':');
        value(&entry.value, indent, layout, out);
    }
}

fn items(list: &[Node], indent: usize, layout: Layout, below: bool, out: &mut String) {
    for (place, node) in list.iter().enumerate() {
        if below || place > 0 {
            new_line(indent, layout, out);
        }
        out.push('-');
        item(node, indent, layout, out);
    }
}
