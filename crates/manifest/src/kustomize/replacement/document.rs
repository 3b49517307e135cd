//! YAML within a text, written anew with its own styles: keys in order, quotes, flow and block as they
//! were, comments where they were.

use crate::diagnostic::Result;
use crate::yaml::scalar::tag_of;
use crate::yaml::{self, Mapping, Node, Scalar, Style, Tag, Value};

/// The text of a document that was parsed from another text.
pub(super) fn written(node: &Node, before: &str) -> Result<String> {
    let mut writer = Writer { before, out: String::new(), comments: comments(before), done: 0 };
    match &node.value {
        Value::Scalar(scalar) => writer.scalar(node, scalar, 0, false)?,
        Value::Mapping(mapping) if writer.is_block(node) => writer.mapping(mapping, 0)?,
        Value::Sequence(items) if writer.is_block(node) => writer.sequence(items, 0)?,
        Value::Mapping(_) | Value::Sequence(_) => writer.flow(node)?,
    }
    writer.comments_before(u32::MAX, 0);
    Ok(writer.out.trim().to_owned())
}

/// A comment, its line, and whether it stands alone there.
struct Comment<'a> {
    line: u32,
    alone: bool,
    text: &'a str,
}

struct Writer<'a> {
    before: &'a str,
    out: String,
    comments: Vec<Comment<'a>>,
    /// How many comments have been written.
    done: usize,
}

impl Writer<'_> {
    /// Whether a mapping or list is written on lines of its own.
    fn is_block(&self, node: &Node) -> bool {
        let is_empty = match &node.value {
            Value::Mapping(mapping) => mapping.is_empty(),
            Value::Sequence(items) => items.is_empty(),
            Value::Scalar(_) => return false,
        };
        let first = self.before.as_bytes().get(node.mark.start as usize);
        let is_flow = node.mark.end > node.mark.start && matches!(first, Some(b'{' | b'['));
        !is_empty && !is_flow
    }

    fn indent(&mut self, indent: usize) {
        self.out.extend(std::iter::repeat_n(' ', indent));
    }

    /// Writes the comments that stand alone above a line.
    fn comments_before(&mut self, line: u32, indent: usize) {
        while let Some(comment) = self.comments.get(self.done).filter(|it| it.line < line) {
            let (text, alone) = (comment.text.to_owned(), comment.alone);
            self.done += 1;
            if alone {
                self.indent(indent);
                self.out.push_str(&text);
                self.out.push('\n');
            }
        }
    }

    /// Ends a line, with the comment that stood at its end.
    fn end(&mut self, line: u32) {
        let comment = self.comments.get(self.done).filter(|it| it.line == line && !it.alone);
        if let Some(text) = comment.map(|comment| comment.text.to_owned()) {
            self.done += 1;
            self.out.push(' ');
            self.out.push_str(&text);
        }
        self.out.push('\n');
    }

    fn mapping(&mut self, mapping: &Mapping, indent: usize) -> Result<()> {
        for (place, entry) in mapping.iter().enumerate() {
            let line = entry.key.mark.line;
            if place > 0 || indent == 0 {
                self.comments_before(line, indent);
                self.indent(indent);
            }
            self.key(entry)?;
            self.out.push(':');
            self.value(&entry.value, line, indent)?;
        }
        Ok(())
    }

    fn key(&mut self, entry: &yaml::Entry) -> Result<()> {
        let mark = entry.key.mark;
        let source = self.before.get(mark.start as usize..mark.end as usize);
        match source.filter(|source| mark.is_known() && !source.is_empty()) {
            Some(source) => self.out.push_str(source),
            None => self.out.push_str(&plain(&Scalar::string(entry.key.text.clone()))?),
        }
        Ok(())
    }

    /// What follows a key or a dash of a list within a mapping.
    fn value(&mut self, node: &Node, line: u32, indent: usize) -> Result<()> {
        match &node.value {
            Value::Mapping(mapping) if self.is_block(node) => {
                self.end(line);
                self.comments_before(first_line(node), indent + 2);
                self.indent(indent + 2);
                self.mapping(mapping, indent + 2)
            }
            Value::Sequence(items) if self.is_block(node) => {
                self.end(line);
                self.sequence(items, indent)
            }
            Value::Scalar(scalar) => {
                self.out.push(' ');
                self.scalar(node, scalar, indent, true)
            }
            Value::Mapping(_) | Value::Sequence(_) => {
                self.out.push(' ');
                self.flow(node)?;
                self.end(node.mark.line);
                Ok(())
            }
        }
    }

    fn sequence(&mut self, items: &[Node], indent: usize) -> Result<()> {
        for item in items {
            self.comments_before(item.mark.line, indent);
            self.indent(indent);
            self.out.push('-');
            match &item.value {
                Value::Mapping(mapping) if self.is_block(item) => {
                    self.out.push(' ');
                    self.mapping(mapping, indent + 2)?;
                }
                Value::Sequence(inner) if self.is_block(item) => {
                    let at = self.out.len() + 1;
                    self.sequence(inner, indent + 2)?;
                    let nested = self.out.split_off(at - 1);
                    self.out.push_str(&nested[indent + 1..]);
                }
                _ => self.value(item, item.mark.line, indent)?,
            }
        }
        Ok(())
    }

    fn flow(&mut self, node: &Node) -> Result<()> {
        match &node.value {
            Value::Scalar(scalar) => {
                let text = self.source(node, scalar).map(str::to_owned);
                let text = text.map_or_else(|| plain(scalar), Ok)?;
                self.out.push_str(&text);
            }
            Value::Sequence(items) => {
                self.out.push('[');
                for (place, item) in items.iter().enumerate() {
                    self.out.push_str(if place > 0 { ", " } else { "" });
                    self.flow(item)?;
                }
                self.out.push(']');
            }
            Value::Mapping(mapping) => {
                self.out.push('{');
                for (place, entry) in mapping.iter().enumerate() {
                    self.out.push_str(if place > 0 { ", " } else { "" });
                    self.key(entry)?;
                    self.out.push_str(": ");
                    self.flow(&entry.value)?;
                }
                self.out.push('}');
            }
        }
        Ok(())
    }

    /// A scalar as it stands in the text, if it has not been changed and stands on one line.
    fn source(&self, node: &Node, scalar: &Scalar) -> Option<&str> {
        let source = self.before.get(node.mark.start as usize..node.mark.end as usize)?;
        let is_one_line = !source.contains('\n') && !source.is_empty();
        let is_block = matches!(scalar.style, Style::Literal | Style::Folded);
        (node.mark.is_known() && is_one_line && !is_block).then_some(source)
    }

    fn scalar(&mut self, node: &Node, scalar: &Scalar, indent: usize, ends: bool) -> Result<()> {
        if let Some(source) = self.source(node, scalar).map(str::to_owned) {
            self.out.push_str(&source);
        } else if scalar.text.contains('\n')
            && !matches!(scalar.style, Style::Single | Style::Double)
        {
            let breaks = scalar.text.len() - scalar.text.trim_end_matches('\n').len();
            self.out.push('|');
            self.out.push_str(match breaks {
                0 => "-",
                1 => "",
                _ => "+",
            });
            for line in scalar.text.strip_suffix('\n').unwrap_or(&scalar.text).split('\n') {
                self.out.push('\n');
                if !line.is_empty() {
                    self.indent(indent + 2);
                    self.out.push_str(line);
                }
            }
        } else if scalar.tag == Tag::Null && scalar.text.is_empty() {
            let end = self.out.trim_end_matches(' ').len();
            self.out.truncate(end);
        } else {
            self.out.push_str(&plain(scalar)?);
        }
        if ends {
            self.end(node.mark.line);
        }
        Ok(())
    }
}

/// A scalar on one line, in its style if that can hold it.
fn plain(scalar: &Scalar) -> Result<String> {
    let text = scalar.text.as_str();
    if scalar.style == Style::Single && !text.contains('\n') {
        return Ok(format!("'{}'", text.replace('\'', "''")));
    }
    let must_quote = scalar.tag == Tag::Str && tag_of(text) != Tag::Str;
    if scalar.style == Style::Double || must_quote {
        return Ok(format!("{text:?}").replace("\\'", "'"));
    }
    if scalar.tag != Tag::Str {
        return Ok(text.to_owned());
    }
    // Only what is written as text is of interest: the key is thrown away.
    let mut object = Node::mapping();
    if let Some(mapping) = object.as_mapping_mut() {
        mapping.set("k", scalar.clone().into());
    }
    let mut out = String::new();
    yaml::emit::object(&object, &mut out)?;
    Ok(out.trim_start_matches("k:").trim().to_owned())
}

fn first_line(node: &Node) -> u32 {
    match &node.value {
        Value::Mapping(mapping) => mapping.iter().next().map_or(0, |entry| entry.key.mark.line),
        Value::Sequence(items) => items.first().map_or(0, |item| item.mark.line),
        Value::Scalar(_) => node.mark.line,
    }
}

/// The comments of a text: a hash at the beginning of a line or after a space, outside of quotes. In
/// blocks of text there are none.
fn comments(text: &str) -> Vec<Comment<'_>> {
    let mut comments = Vec::new();
    let mut block: Option<usize> = None;
    for (place, line) in text.lines().enumerate() {
        let depth = line.len() - line.trim_start().len();
        if let Some(outside) = block {
            if line.trim().is_empty() || depth > outside {
                continue;
            }
            block = None;
        }
        let mut quote = None;
        let mut previous = ' ';
        let mut end = line.len();
        for (at, letter) in line.char_indices() {
            match (quote, letter) {
                (Some(open), letter) if open == letter && previous != '\\' => quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') if " [{,:-".contains(previous) => quote = Some(letter),
                (None, '#') if previous == ' ' || previous == '\t' => {
                    let line_number = u32::try_from(place + 1).unwrap_or(u32::MAX);
                    let alone = line[..at].trim().is_empty();
                    comments.push(Comment {
                        line: line_number,
                        alone,
                        text: line[at..].trim_end(),
                    });
                    end = at;
                    break;
                }
                _ => {}
            }
            previous = letter;
        }
        let code = line[..end].trim_end();
        let indicator = code.rsplit([' ', ':']).next().unwrap_or_default();
        if indicator.starts_with(['|', '>'])
            && indicator[1..].chars().all(|c| c.is_ascii_digit() || "+-".contains(c))
        {
            block = Some(depth);
        }
    }
    comments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(text: &str) -> String {
        written(&yaml::documents(text).unwrap().remove(0).root, text).unwrap()
    }

    #[test]
    fn styles_order_and_comments_stay() {
        let text = "# head\nb: \"x\" # why\na:\n  - 'y'\n  # above\n  - {p: [1, 2], q: \"r\"}\nc: |-\n  l1\n  # no comment\nd:\n    e: {\n      f: 1,\n    }";
        assert_eq!(
            again(text),
            "# head\nb: \"x\" # why\na:\n- 'y'\n# above\n- {p: [1, 2], q: \"r\"}\nc: |-\n  l1\n  # no comment\nd:\n  e: {f: 1}"
        );
    }

    #[test]
    fn lists_in_lists_and_empty_ones() {
        assert_eq!(
            again("a:\n- - x\n  - y\n- {}\nb: []\nc:\nd: ~"),
            "a:\n- - x\n  - y\n- {}\nb: []\nc:\nd: ~"
        );
    }
}
