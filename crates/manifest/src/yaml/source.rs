//! A text before it is parsed: cut at its separators, checked for what upstream refuses and the parser
//! does not, and repaired where the parser refuses what upstream reads.

use std::borrow::Cow;

use granit_parser::{ErrorKind, ScanError, Span};

use super::{Mark, Node, Style};
use crate::diagnostic::{Diagnostic, Result};

/// The longest text that is read. The largest bundles of definitions have less than a third of this.
pub(crate) const MOST_BYTES: usize = 32 << 20;

/// How often a text is repaired before the parser is believed.
const MOST_REPAIRS: usize = 100;

/// More than any line is indented that the parser takes.
const DEEP: usize = 600;

/// A part of a text between two separators, with its place in the whole.
#[derive(Clone, Debug)]
pub(crate) struct Source<'a> {
    written: &'a str,
    /// What the parser gets.
    parsed: Cow<'a, str>,
    /// Where something was put in, in what is parsed, and how long it is; sorted.
    inserted: Vec<(usize, usize)>,
    repairs: usize,
    tabs: bool,
    /// How many lines and bytes come before it.
    line: u32,
    start: u32,
}

/// The parts of a text between lines that begin with `---`, as kustomize cuts it before parsing.
pub(crate) fn sources(text: &str) -> Result<impl Iterator<Item = Result<Source<'_>>>> {
    let mut rest = Some(Source::whole(text)?);
    Ok(std::iter::from_fn(move || {
        let mut source = rest.take()?;
        let text = source.written;
        let Some((before, end)) = separator(text) else { return Some(Ok(source)) };
        let line = &text[before..end];
        let content = line[3..].trim();
        if !(content.is_empty() || content.starts_with('#')) {
            let message = format!("invalid document separator: {}", line.trim());
            return Some(Err(Diagnostic::new(message)
                .at(source.mark_at(before))
                .hint("put what follows `---` on a line of its own")));
        }
        let lines = source.line + lines_in(&text[..end]);
        rest = Some(Source::new(&text[end..], lines, source.start + number(end)));
        source = Source::new(&text[..before], source.line, source.start);
        Some(Ok(source))
    }))
}

/// Where the first separator begins and where the line after it does.
fn separator(text: &str) -> Option<(usize, usize)> {
    let start = text.find("\n---")? + 1;
    // A separator without a line break is the last line; the parser stops there by itself.
    let length = text[start..].find('\n')?;
    Some((start, start + length + 1))
}

impl<'a> Source<'a> {
    /// The whole text.
    pub(crate) fn whole(text: &'a str) -> Result<Self> {
        check_characters(text)?;
        Ok(Self::new(text, 0, 0))
    }

    fn new(text: &'a str, line: u32, start: u32) -> Self {
        // A next-line character is a line break for upstream and none for the parser; what stands in
        // its place is as long.
        let mut parsed: Cow<'_, str> = text.into();
        if text.contains('\u{85}') {
            parsed = text.replace('\u{85}', "\r\n").into();
        } else if text.ends_with(' ') {
            // Spaces after the last line break would be taken for a line of a block scalar, which they
            // are only if they are more than its indentation.
            let end = text.trim_end_matches(' ');
            let last = end.trim_end().rsplit('\n').next().unwrap_or_default();
            let indent = last.len() - last.trim_start_matches(' ').len();
            if end.ends_with(['\n', '\r']) && text.len() - end.len() <= indent {
                parsed = end.into();
            }
        }
        let tabs = text.contains('\t');
        Self { written: text, parsed, inserted: Vec::new(), repairs: 0, tabs, line, start }
    }

    /// Upstream takes the end of a document for one that is broken if nothing came before.
    pub(crate) fn check_beginning(&self) -> Result<()> {
        let text = self.written.trim_start_matches('\u{feff}');
        let mut lines = text.lines().skip_while(|line| {
            let line = line.trim_start();
            line.is_empty() || line.starts_with('#')
        });
        let ends = lines.next().and_then(|line| line.strip_prefix("..."));
        if ends.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r'])) {
            return Err(Diagnostic::new("did not find expected node content")
                .at(self.mark_at(self.written.find("...").unwrap_or(0)))
                .hint("remove the `...`, which ends a document that has not begun"));
        }
        Ok(())
    }

    /// What the parser gets.
    pub(crate) fn text(&self) -> &str {
        &self.parsed
    }

    /// The place in the whole text.
    pub(crate) fn mark(&self, span: Span) -> Mark {
        Mark {
            line: self.line + number(span.start.line()),
            column: number(span.start.col()) + 1,
            start: self.start + number(self.written_at(span.start.byte_offset().unwrap_or(0))),
            end: self.start + number(self.written_at(span.end.byte_offset().unwrap_or(0))),
        }
    }

    fn written_at(&self, parsed: usize) -> usize {
        let before = |(at, length): &(usize, usize)| parsed.saturating_sub(*at).min(*length);
        parsed - self.inserted.iter().map(before).sum::<usize>()
    }

    fn insert(&mut self, at: usize, text: &str) {
        self.parsed.to_mut().insert_str(at, text);
        for (place, _) in &mut self.inserted {
            if *place >= at {
                *place += text.len();
            }
        }
        self.inserted.push((at, text.len()));
        self.inserted.sort_unstable();
    }

    fn mark_at(&self, at: usize) -> Mark {
        let line = self.written[..at].rfind('\n').map_or(0, |end| end + 1);
        Mark {
            line: self.line + lines_in(&self.written[..at]) + 1,
            column: number(self.written[line..at].chars().count()) + 1,
            start: self.start + number(at),
            end: self.start + number(at) + 1,
        }
    }

    /// What the parser has against it.
    pub(crate) fn refuse(&self, error: &ScanError) -> Diagnostic {
        let at = error.marker();
        let mark = Mark {
            line: self.line + number(at.line()).max(1),
            column: number(at.col()) + 1,
            ..Mark::default()
        };
        Diagnostic::new(format!("invalid YAML: {}", error.info())).at(mark)
    }

    /// Says at least which part it was.
    pub(crate) fn widen(&self, error: Diagnostic) -> Diagnostic {
        error.at(Mark { line: self.line + 1, column: 1, start: self.start, end: self.start })
    }

    /// Changes what is parsed so that the parser gets further, if upstream would: lines of a quoted
    /// text may be indented less, those of a flow collection with tabs; a comment need not keep its
    /// distance, a dash may be an item, and a quote may be escaped. Whether it did.
    pub(crate) fn repair(&mut self, error: &ScanError) -> bool {
        let at = error.marker().byte_offset().unwrap_or(0).min(self.parsed.len());
        let line = self.parsed[..at].rfind(['\n', '\r']).map_or(0, |end| end + 1);
        self.repairs += 1;
        if self.repairs > MOST_REPAIRS {
            return false;
        }
        match error.kind() {
            ErrorKind::InvalidQuotedScalarIndent => {
                let again = self.inserted.iter().any(|(place, _)| *place == line);
                if !again {
                    self.insert(line, &" ".repeat(DEEP));
                }
                !again
            }
            ErrorKind::TabNotAllowed
            | ErrorKind::TabInBlockIndentation
            | ErrorKind::TabInIndentation => {
                let rest = &self.parsed[line..];
                let white = rest.len() - rest.trim_start_matches([' ', '\t']).len();
                let tabs = rest[..white].contains('\t');
                if tabs {
                    let range = line..line + white;
                    self.parsed.to_mut().replace_range(range, &" ".repeat(white));
                }
                tabs
            }
            ErrorKind::CommentNotSeparated => {
                let comment = self.parsed[at..].starts_with('#');
                if comment {
                    self.insert(at, " ");
                }
                comment
            }
            ErrorKind::PlainScalarStartsWithDashFlowIndicator => {
                let dash = self.parsed[at..].starts_with('-');
                if dash {
                    self.insert(at + 1, "\"");
                    self.insert(at, "\"");
                }
                dash
            }
            ErrorKind::UnknownQuotedScalarEscape => self.repair_escape(at),
            ErrorKind::UnknownAnchor | ErrorKind::SimpleKeyExpected => {
                self.parsed[at..].starts_with(['*', '&']) && self.repair_name(at)
            }
            _ => false,
        }
    }

    /// `\'` is a quote for upstream.
    fn repair_escape(&mut self, from: usize) -> bool {
        let mut letters = self.parsed[from..].char_indices();
        while let Some((at, letter)) = letters.next() {
            if letter != '\\' {
                continue;
            }
            if let Some((_, '\'')) = letters.next() {
                let at = from + at;
                self.parsed.to_mut().replace_range(at..at + 2, "\\x");
                self.insert(at + 2, "27");
                return true;
            }
        }
        false
    }

    /// The name of an anchor or an alias ends at a colon for upstream, with or without a space. `at` is
    /// in what is parsed.
    pub(crate) fn repair_name(&mut self, at: usize) -> bool {
        let Some(name) = self.parsed.get(at + 1..) else { return false };
        let end = name.bytes().take_while(|byte| is_name(*byte)).count();
        let ends = name[end..].starts_with(['?', ':', ',', ']', '}', '%', '@', '`']);
        if end == 0 || !ends || self.repairs > MOST_REPAIRS {
            return false;
        }
        self.repairs += 1;
        self.insert(at + 1 + end, " ");
        true
    }

    /// Whether there is a tab anywhere.
    pub(crate) fn has_tabs(&self) -> bool {
        self.tabs
    }

    /// Upstream does not take a tab for indentation, not even on a line that has nothing else. `loose`
    /// is where it does not matter: scalars and flow collections.
    pub(crate) fn check_tabs(&self, loose: &[(u32, u32)]) -> Result<()> {
        for (at, _) in self.written.match_indices('\t') {
            let line = self.written[..at].rfind(['\n', '\r']).map_or(0, |end| end + 1);
            let before = &self.written[line..at];
            let place = self.start + number(at);
            let indicator = |part: &str| matches!(part.trim_end_matches(' '), "" | "-" | "?");
            if before.split_inclusive(' ').all(indicator)
                && !loose.iter().any(|(start, end)| (*start..*end).contains(&place))
            {
                return Err(self.tab(at));
            }
        }
        Ok(())
    }

    fn tab(&self, at: usize) -> Diagnostic {
        Diagnostic::new("found a tab where a line is indented")
            .at(self.mark_at(at))
            .hint("indent with spaces")
    }

    /// The same for the lines of a block scalar: the first line may not begin with a tab, nor the others
    /// before the indentation of the first.
    pub(crate) fn check_block(&self, mark: Mark) -> Result<()> {
        let (from, to) = ((mark.start - self.start) as usize, (mark.end - self.start) as usize);
        let Some(block) = self.written.get(from..to).filter(|block| block.contains('\t')) else {
            return Ok(());
        };
        let line = self.written[..from].rfind('\n').map_or(0, |end| end + 1);
        let header = self.written[..line].trim_end().rsplit('\n').next().unwrap_or_default();
        let header = header.rsplit(['|', '>']).next().unwrap_or_default();
        let said = header.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit());
        if block.starts_with('\t') && !said {
            return Err(self.tab(from));
        }
        let mut at = from;
        for (place, text) in block.split_inclusive('\n').enumerate() {
            let spaces = text.len() - text.trim_start_matches(' ').len();
            if place > 0 && spaces < from - line && text[spaces..].starts_with('\t') {
                return Err(self.tab(at + spaces));
            }
            at += text.len();
        }
        Ok(())
    }

    /// Upstream does not know the escaped slash of JSON.
    pub(crate) fn check_escapes(&self, mark: Mark) -> Result<()> {
        let (from, to) = ((mark.start - self.start) as usize, (mark.end - self.start) as usize);
        let Some(text) = self.written.get(from..to).filter(|text| text.contains("\\/")) else {
            return Ok(());
        };
        let mut letters = text.char_indices();
        while let Some((at, letter)) = letters.next() {
            if letter == '\\' && letters.next().is_some_and(|(_, next)| next == '/') {
                return Err(Diagnostic::new("found unknown escape character")
                    .at(self.mark_at(from + at))
                    .hint("a slash needs no backslash"));
            }
        }
        Ok(())
    }

    /// Whether what stands here is the last and its line has no break.
    pub(crate) fn is_cut_off(&self, mark: Mark) -> bool {
        mark.end >= self.start + number(self.written.len()) && !self.written.ends_with(['\n', '\r'])
    }

    /// Upstream wants to see a key, or the question mark that stands for one.
    pub(crate) fn check_key(&self, key: &Node) -> Result<()> {
        let plain = key.as_scalar().is_some_and(|scalar| scalar.style == Style::Plain);
        if key.mark.start != key.mark.end || !plain {
            return Ok(());
        }
        let at = (key.mark.start.saturating_sub(self.start) as usize).min(self.written.len());
        let (before, after) = self.written.split_at(at);
        // An anchor or a tag makes a key of nothing.
        let token = before.trim_end().rsplit([' ', '\n', '\t']).next().unwrap_or_default();
        let said = token.ends_with('?') || token.starts_with(['&', '!']);
        if after.starts_with(':') && !said {
            return Err(Diagnostic::new("did not find expected key")
                .at(key.mark)
                .hint("write a key before the colon; an empty one is `\"\"`"));
        }
        Ok(())
    }
}

/// Whether upstream takes a byte for a part of an anchor's name.
pub(crate) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

pub(super) fn number(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn lines_in(text: &str) -> u32 {
    number(text.bytes().filter(|byte| *byte == b'\n').count())
}

/// Refuses what is too long, and the characters that upstream's reader refuses.
fn check_characters(text: &str) -> Result<()> {
    if text.len() > MOST_BYTES {
        let message = format!("the file has {} MiB, more than is read", text.len() >> 20);
        return Err(Diagnostic::new(message)
            .at(Mark { line: 1, column: 1, ..Mark::default() })
            .hint(format!("split it into files of at most {} MiB", MOST_BYTES >> 20)));
    }
    let suspicious = |byte: &u8| {
        *byte < b' ' && !matches!(byte, b'\n' | b'\t' | b'\r') || matches!(byte, 0x7f | 0xc2 | 0xef)
    };
    if !text.as_bytes().iter().any(suspicious) {
        return Ok(());
    }
    let forbidden = |letter: char| match letter {
        '\t' | '\n' | '\r' | '\u{85}' => false,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => true,
        _ => false,
    };
    let Some((at, letter)) = text.char_indices().find(|(_, letter)| forbidden(*letter)) else {
        return Ok(());
    };
    let code = u32::from(letter);
    Err(Diagnostic::new(format!("control characters are not allowed: U+{code:04X}"))
        .at(Source::new(text, 0, 0).mark_at(at))
        .hint(format!("remove it, or write it as \"\\x{code:02X}\" in double quotes")))
}
