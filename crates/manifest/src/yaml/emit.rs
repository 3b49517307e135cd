//! From nodes to text, byte for byte as kustomize prints an object: upstream decodes it, turns it into
//! JSON, reads that with the second version of Go's YAML library and writes it with the same. Every
//! stage leaves its traces, and they are all here.

use std::borrow::Cow;
use std::fmt::Write;

use super::order::sort;
use super::scalar::{Resolved, decode_base64, needs_quotes, tag_of};
use super::{Entry, Mapping, Mark, Node, Style, Tag, Value, rewrite};
use crate::diagnostic::{Diagnostic, Result};

/// The longest key, in bytes, that stands on the line of its value.
const LONGEST_SIMPLE_KEY: usize = 128;

/// The longest key, in characters, that can be read back.
const LONGEST_KEY: usize = 1024;

/// From this column on, a space is where a line is broken.
const WIDTH: usize = 80;

/// Adds an object to the text as kustomize prints it, ended by a line break.
pub fn object(node: &Node, out: &mut String) -> Result<()> {
    let mut writer =
        Writer { out, indent: -1, column: 0, whitespace: true, indention: true, flow: 0 };
    match &node.value {
        Value::Mapping(mapping) => {
            writer.flow = usize::from(mapping.is_flow());
            writer.mapping(mapping, true)?;
        }
        Value::Sequence(items) => writer.sequence(items, false)?,
        Value::Scalar(scalar) if scalar.tag == Tag::Null => writer.raw("{}"),
        Value::Scalar(_) => {
            let message = format!("an object must be a mapping, not {}", node.shape());
            return Err(Diagnostic::new(message).at(node.mark));
        }
    }
    writer.indent = 0;
    writer.new_line();
    Ok(())
}

/// Adds objects, separated as kustomize separates them.
pub fn objects<'a>(nodes: impl IntoIterator<Item = &'a Node>, out: &mut String) -> Result<()> {
    for (place, node) in nodes.into_iter().enumerate() {
        if place > 0 {
            out.push_str("---\n");
        }
        object(node, out)?;
    }
    Ok(())
}

struct Writer<'o> {
    out: &'o mut String,
    indent: i32,
    /// Bytes since the line began; exact as long as `indention` holds.
    column: i32,
    /// Whether the last byte was white.
    whitespace: bool,
    /// Whether the line has nothing but indentation yet.
    indention: bool,
    /// In how many braces upstream writes the object before it reads it again.
    flow: usize,
}

impl Writer<'_> {
    fn mapping(&mut self, mapping: &Mapping, root: bool) -> Result<()> {
        let mut sorted: Vec<(Cow<'_, str>, &Entry)> = Vec::with_capacity(mapping.len());
        for entry in mapping {
            // Only the outermost keys are decoded into texts whatever they are.
            let key: Cow<'_, str> = match entry.key.tag {
                Tag::Str => entry.key.text.as_str().into(),
                // Written again, a key that is not there has quotes.
                Tag::Null if entry.key.text.is_empty() => "".into(),
                Tag::Null => return Err(not_a_text(entry)),
                Tag::Binary if root => decode_base64(&entry.key.text)?.into(),
                _ if root => entry.key.text.as_str().into(),
                _ => return Err(not_a_text(entry)),
            };
            if key.contains('\u{85}') {
                let message = "a key with a next-line character (U+0085) cannot be written";
                return Err(Diagnostic::new(message).at(entry.key.mark));
            }
            let key = printable(key, entry.key.mark)?;
            if key.len() > LONGEST_KEY - 2 && key.chars().count() > LONGEST_KEY - 2 {
                return Err(Diagnostic::new(
                    "a key of more than 1022 characters cannot be written",
                )
                .at(entry.key.mark));
            }
            sorted.push((key, entry));
        }
        if sorted.is_empty() {
            self.indicator("{}", false);
            return Ok(());
        }
        sort(&mut sorted);
        if sorted.array_windows().any(|[one, two]| one.0 == two.0) {
            // Here is where upstream notices keys that are written twice.
            mapping.check_unique()?;
        }
        let outer = self.indent;
        self.indent = if outer < 0 { 0 } else { outer + 2 };
        for (key, entry) in sorted {
            self.new_line();
            let simple = key.len() <= LONGEST_SIMPLE_KEY && !key.contains(is_break);
            if simple {
                self.text(&key, true);
                self.out.push(':');
                self.column += 1;
                (self.whitespace, self.indention) = (false, false);
            } else {
                self.indicator("?", true);
                self.text(&key, false);
                self.new_line();
                self.indicator(":", true);
            }
            self.node(&entry.value, simple)?;
        }
        self.indent = outer;
        Ok(())
    }

    /// `flush`: as the value of a key, whose indentation it shares.
    fn sequence(&mut self, items: &[Node], flush: bool) -> Result<()> {
        if items.is_empty() {
            self.indicator("[]", false);
            return Ok(());
        }
        let outer = self.indent;
        if outer < 0 {
            self.indent = 0;
        } else if !flush {
            self.indent += 2;
        }
        for item in items {
            self.new_line();
            self.indicator("-", true);
            self.node(item, false)?;
        }
        self.indent = outer;
        Ok(())
    }

    fn node(&mut self, node: &Node, after_key: bool) -> Result<()> {
        match &node.value {
            Value::Mapping(mapping) => {
                self.flow += usize::from(mapping.is_flow());
                self.mapping(mapping, false)?;
                self.flow -= usize::from(mapping.is_flow());
                Ok(())
            }
            Value::Sequence(items) => self.sequence(items, after_key),
            // Between braces, what has a colon needs quotes, and is a text with them.
            Value::Scalar(scalar)
                if self.flow > 0 && scalar.tag == Tag::Timestamp && scalar.text.contains(':') =>
            {
                self.text(&scalar.text, false);
                Ok(())
            }
            Value::Scalar(scalar) => {
                match scalar.resolved().map_err(|error| error.at(node.mark))? {
                    Resolved::Text(text) => {
                        // There are no blocks between braces.
                        let text = if self.flow > 0 {
                            text
                        } else {
                            rewrite::again(text, scalar.style)
                                .map_err(|error| error.at(node.mark))?
                        };
                        self.text(&printable(text, node.mark)?, false);
                    }
                    Resolved::Null => self.raw("null"),
                    Resolved::Bool(true) => self.raw("true"),
                    Resolved::Bool(false) => self.raw("false"),
                    Resolved::Int(number) => self.number(number),
                    Resolved::Unsigned(number) => self.number(number),
                    Resolved::Float(number) => {
                        let text = float(number).map_err(|error| error.at(node.mark))?;
                        self.raw(&text);
                    }
                }
                Ok(())
            }
        }
    }

    /// To the current indentation, on a new line if this one has anything on it.
    fn new_line(&mut self) {
        let indent = self.indent.max(0);
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.out.push('\n');
            self.column = 0;
        }
        while self.column < indent {
            self.out.push(' ');
            self.column += 1;
        }
        self.whitespace = true;
        self.indention = true;
    }

    fn space(&mut self) {
        if !self.whitespace {
            self.out.push(' ');
            self.column += 1;
        }
    }

    fn indicator(&mut self, indicator: &str, indention: bool) {
        self.space();
        self.out.push_str(indicator);
        self.column += i32::try_from(indicator.len()).unwrap_or(1);
        self.whitespace = false;
        self.indention &= indention;
    }

    fn raw(&mut self, text: &str) {
        self.space();
        self.out.push_str(text);
        (self.whitespace, self.indention) = (false, false);
    }

    fn number(&mut self, number: impl std::fmt::Display) {
        self.space();
        let _ = write!(self.out, "{number}");
        (self.whitespace, self.indention) = (false, false);
    }

    fn text(&mut self, text: &str, simple_key: bool) {
        let quoted = needs_quotes(text);
        if !quoted && is_harmless(text) {
            return self.raw(text);
        }
        let found = Analysis::of(text);
        if text.contains('\n') {
            if found.block && !simple_key {
                self.literal(text);
            } else {
                self.double_quoted(text, simple_key);
            }
        } else if quoted {
            self.double_quoted(text, simple_key);
        } else if found.plain {
            self.plain(text, simple_key);
        } else if found.single && !(simple_key && found.multi_line) {
            self.single_quoted(text, simple_key);
        } else {
            self.double_quoted(text, simple_key);
        }
    }

    /// Where the next character goes, in characters.
    fn exact_column(&self) -> usize {
        let line = self
            .out
            .rfind(is_break)
            .map_or(0, |at| at + self.out[at..].chars().next().map_or(1, char::len_utf8));
        self.out[line..].chars().count()
    }

    /// Breaks the line within a scalar, which is indented deeper than what it belongs to.
    fn fold(&mut self) -> usize {
        let indent = usize::try_from(self.indent.max(0)).unwrap_or(0) + 2;
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', indent));
        indent
    }

    fn plain(&mut self, text: &str, simple_key: bool) {
        self.space();
        if simple_key || text.len() < 8 || !text.contains(' ') {
            self.out.push_str(text);
        } else {
            let mut column = self.exact_column();
            let mut letters = text.chars().peekable();
            let mut after_space = false;
            while let Some(letter) = letters.next() {
                if letter != ' ' || after_space || column <= WIDTH || letters.peek() == Some(&' ') {
                    self.out.push(letter);
                    column += 1;
                } else {
                    column = self.fold();
                }
                after_space = letter == ' ';
            }
        }
        (self.whitespace, self.indention) = (false, false);
    }

    fn single_quoted(&mut self, text: &str, simple_key: bool) {
        self.space();
        self.out.push('\'');
        let mut column = self.exact_column();
        let (mut after_space, mut after_break) = (false, false);
        let mut letters = text.char_indices().peekable();
        while let Some((at, letter)) = letters.next() {
            let next = letters.peek().map(|(_, next)| *next);
            if letter == ' ' {
                let breaks = !simple_key && !after_space && column > WIDTH && at > 0;
                if breaks && next.is_some_and(|next| next != ' ') {
                    column = self.fold();
                } else {
                    self.out.push(' ');
                    column += 1;
                }
                after_space = true;
                continue;
            }
            if is_break(letter) {
                self.out.push(letter);
                column = 0;
                after_break = true;
                continue;
            }
            if after_break {
                let indent = usize::try_from(self.indent.max(0)).unwrap_or(0) + 2;
                self.out.extend(std::iter::repeat_n(' ', indent.saturating_sub(column)));
                column = column.max(indent);
            }
            if letter == '\'' {
                self.out.push('\'');
                column += 1;
            }
            self.out.push(letter);
            column += 1;
            (after_space, after_break) = (false, false);
        }
        self.out.push('\'');
        (self.whitespace, self.indention) = (false, false);
    }

    fn double_quoted(&mut self, text: &str, simple_key: bool) {
        self.space();
        self.out.push('"');
        let mut column = self.exact_column();
        // Upstream looks for the mark at the beginning only, whichever character it is asked about.
        let marked = text.starts_with('\u{feff}');
        let mut after_space = false;
        let mut letters = text.char_indices().peekable();
        while let Some((at, letter)) = letters.next() {
            let plain = is_printable(letter) && !is_break(letter) && !matches!(letter, '"' | '\\');
            let next = letters.peek().map(|(_, next)| *next);
            if !plain || marked {
                let before = self.out.len();
                escape(letter, self.out);
                column += self.out.len() - before;
                after_space = false;
            } else if letter == ' ' {
                let breaks = !simple_key && !after_space && column > WIDTH && at > 0;
                if breaks && next.is_some() {
                    column = self.fold();
                    if next == Some(' ') {
                        self.out.push('\\');
                        column += 1;
                    }
                } else {
                    self.out.push(' ');
                    column += 1;
                }
                after_space = true;
            } else {
                self.out.push(letter);
                column += 1;
                after_space = false;
            }
        }
        self.out.push('"');
        (self.whitespace, self.indention) = (false, false);
    }

    fn literal(&mut self, text: &str) {
        self.indicator("|", false);
        self.indent = if self.indent < 0 { 2 } else { self.indent + 2 };
        if text.starts_with(|first| first == ' ' || is_break(first)) {
            self.out.push('2');
        }
        let mut last = text.chars().rev();
        if !last.next().is_some_and(is_break) {
            self.out.push('-');
        } else if last.next().is_none_or(is_break) {
            self.out.push('+');
        }
        self.out.push('\n');
        self.column = 0;
        (self.whitespace, self.indention) = (true, true);
        for line in text.split_inclusive(is_break) {
            let content = line.trim_end_matches(is_break);
            if !content.is_empty() {
                self.new_line();
                self.out.push_str(content);
                self.indention = false;
            }
            if content.len() < line.len() {
                self.out.push_str(&line[content.len()..]);
                self.column = 0;
                self.indention = true;
            }
        }
        self.indent -= 2;
    }
}

fn not_a_text(entry: &Entry) -> Diagnostic {
    let message = format!("the key `{}` must be a text", entry.key.text);
    Diagnostic::new(message)
        .at(entry.key.mark)
        .hint(format!("write it in quotes: \"{}\"", entry.key.text))
}

/// Whether a text can stand without quotes for its characters alone; a quick yes for most texts.
fn is_harmless(text: &str) -> bool {
    let bytes = text.as_bytes();
    let safe = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'_');
    bytes.first().is_some_and(safe)
        && !text.starts_with("...")
        && bytes.iter().all(|byte| safe(byte) || matches!(byte, b'-' | b'+' | b'='))
}

/// The style a text is written in if nothing else is asked for.
pub(crate) fn style_of(text: &str) -> Style {
    if text.contains('\n') {
        return if Analysis::of(text).block { Style::Literal } else { Style::Double };
    }
    if needs_quotes(text) || tag_of(text) != Tag::Str {
        return Style::Double;
    }
    if is_harmless(text) {
        return Style::Plain;
    }
    match Analysis::of(text) {
        Analysis { plain: true, .. } => Style::Plain,
        Analysis { single: true, .. } => Style::Single,
        _ => Style::Double,
    }
}

/// What the characters of a text allow.
struct Analysis {
    plain: bool,
    single: bool,
    block: bool,
    multi_line: bool,
}

impl Analysis {
    fn of(text: &str) -> Self {
        let mut indicators = text.starts_with("---") || text.starts_with("...");
        let (mut special, mut multi_line, mut space_break, mut break_space) =
            (false, false, false, false);
        let mut before = None;
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            let blank_after = letters.peek().is_none_or(|next| matches!(next, ' ' | '\t'));
            let blank_before =
                before.is_none_or(|last| matches!(last, ' ' | '\t') || is_break(last));
            indicators |= match letter {
                ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%'
                | '@' | '`' => before.is_none(),
                '?' | '-' => before.is_none() && blank_after,
                ':' => blank_after,
                '#' => blank_before,
                _ => false,
            };
            special |= !is_printable(letter);
            if letter == ' ' {
                break_space |= before.is_some_and(is_break);
            } else if is_break(letter) {
                space_break |= before == Some(' ');
                multi_line = true;
            }
            before = Some(letter);
        }
        let trailing_space = text.ends_with(' ');
        let edges = text.starts_with(' ') || trailing_space;
        Self {
            plain: !(indicators || special || multi_line || edges),
            single: !(special || space_break || break_space),
            block: !(special || space_break || trailing_space),
            multi_line,
        }
    }
}

fn is_break(letter: char) -> bool {
    matches!(letter, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// What is written as it is. Upstream does not know the characters beyond the first plane.
fn is_printable(letter: char) -> bool {
    matches!(letter, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}')
        && letter != '\u{feff}'
}

fn escape(letter: char, out: &mut String) {
    let short = match letter {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        other => {
            let code = u32::from(other);
            let _ = match code {
                0..=0xff => write!(out, "\\x{code:02X}"),
                0x100..=0xffff => write!(out, "\\u{code:04X}"),
                _ => write!(out, "\\U{code:08X}"),
            };
            return;
        }
    };
    out.push('\\');
    out.push(short);
}

/// The text as it comes back from JSON: some characters do not survive, and next-line is folded.
fn printable(text: Cow<'_, str>, mark: Mark) -> Result<Cow<'_, str>> {
    if text.is_ascii() && !text.contains('\u{7f}') {
        return Ok(text);
    }
    let lost = |letter: char| matches!(letter, '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}');
    if let Some(lost) = text.chars().find(|letter| lost(*letter)) {
        let code = u32::from(lost);
        let message = format!("control characters are not allowed: U+{code:04X}");
        return Err(Diagnostic::new(message).at(mark));
    }
    Ok(if text.contains('\u{85}') { fold_next_lines(&text).into() } else { text })
}

fn fold_next_lines(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    let mut lines = text.split('\u{85}');
    folded.push_str(lines.next().unwrap_or_default());
    let mut empty = 0;
    let count = lines.clone().count();
    for (place, line) in lines.enumerate() {
        let line = line.trim_start_matches(' ');
        if line.is_empty() && place + 1 < count {
            empty += 1;
            continue;
        }
        folded.truncate(folded.trim_end_matches(' ').len());
        if empty == 0 {
            folded.push(' ');
        }
        folded.extend(std::iter::repeat_n('\n', empty));
        folded.push_str(line);
        empty = 0;
    }
    folded
}

/// A number as it is after JSON: whole numbers lose their fraction, others are written with an exponent
/// from a million on.
fn float(number: f64) -> Result<String> {
    if !number.is_finite() {
        let name = if number.is_nan() {
            "NaN"
        } else if number > 0.0 {
            "+Inf"
        } else {
            "-Inf"
        };
        return Err(Diagnostic::new(format!("json: unsupported value: {name}")));
    }
    if number == 0.0 {
        return Ok("0".to_owned());
    }
    let size = number.abs();
    if number.fract() == 0.0 && size < 1e21 {
        // The shortest digits, filled up with zeros: read again, it is whole if it fits.
        let whole = format!("{number}");
        if whole.parse::<i64>().is_ok() || whole.parse::<u64>().is_ok() {
            return Ok(whole);
        }
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return Ok(format!("{number}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    Ok(format!("{digits}e{sign}{:02}", exponent.abs()))
}

#[cfg(test)]
mod tests;
