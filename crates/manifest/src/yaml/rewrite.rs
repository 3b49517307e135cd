//! Upstream writes an object and reads it again before it prints it, and a block scalar does not always
//! survive that: folded lines come apart, and a tab at the beginning cannot be read.

use std::borrow::Cow;

use super::Style;
use crate::diagnostic::{Diagnostic, Result};

/// A text of several lines after it was written in its style and read again.
pub(crate) fn again(text: Cow<'_, str>, style: Style) -> Result<Cow<'_, str>> {
    let block = match style {
        Style::Single | Style::Double => false,
        Style::Plain => text.contains('\n'),
        Style::Literal | Style::Folded => !text.is_empty(),
    };
    if !block || !may_be_a_block(&text) {
        return Ok(text);
    }
    if text.starts_with('\t') {
        let message = "found a tab character where an indentation space is expected";
        return Err(Diagnostic::new(message)
            .hint("upstream cannot write a block that begins with a tab; use double quotes"));
    }
    Ok(if style == Style::Folded { read(&written(&text), &text).into() } else { text })
}

fn may_be_a_block(text: &str) -> bool {
    let special = |letter: char| match letter {
        '\n' | '\t' | ' '..='~' | '\u{a0}'..='\u{d7ff}' => false,
        '\u{e000}'..='\u{fffd}' => letter == '\u{feff}',
        _ => true,
    };
    !text.ends_with(' ') && !text.contains(" \n") && !text.contains(special)
}

fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t')
}

/// The lines of a folded scalar. Upstream looks at the beginning of the text to decide whether a break
/// has to be doubled, not at what comes after the break.
fn written(text: &str) -> String {
    let doubled = text.trim_start_matches('\n').starts_with(|first| !is_blank(first));
    let mut lines = String::with_capacity(text.len() + 8);
    let (mut after_break, mut indented) = (true, true);
    for letter in text.chars() {
        if letter == '\n' {
            if !after_break && !indented && doubled {
                lines.push('\n');
            }
            after_break = true;
        } else {
            if after_break {
                indented = is_blank(letter);
            }
            after_break = false;
        }
        lines.push(letter);
    }
    lines
}

/// What those lines say, with the breaks at the end that the text's own end asks for.
fn read(lines: &str, text: &str) -> String {
    let mut read = String::with_capacity(lines.len());
    let (mut pending, mut empty, mut indented) = (false, 0, false);
    let mut rest = lines.split('\n').peekable();
    while let Some(line) = rest.next() {
        if line.is_empty() {
            empty += usize::from(rest.peek().is_some());
            continue;
        }
        let blank = line.starts_with(is_blank);
        if pending && !indented && !blank {
            if empty == 0 {
                read.push(' ');
            }
        } else if pending {
            read.push('\n');
        }
        read.extend(std::iter::repeat_n('\n', empty));
        read.push_str(line);
        (pending, empty, indented) = (rest.peek().is_some(), 0, blank);
    }
    let kept = text.ends_with("\n\n") || text == "\n";
    if pending && text.ends_with('\n') {
        read.push('\n');
    }
    if kept {
        read.extend(std::iter::repeat_n('\n', empty));
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folded_lines_come_apart_before_indented_ones() {
        let again = |text: &'static str| again(text.into(), Style::Folded).expect("read");
        assert_eq!(again("a b\n  c\nd\n"), "a b\n\n  c\nd\n");
        assert_eq!(again("a b\n\n"), "a b\n\n\n");
        assert_eq!(again("a\nb\n"), "a\nb\n");
        assert_eq!(again(" a\nb\nc\n"), " a\nb c\n");
        assert_eq!(again("a"), "a");
    }

    #[test]
    fn a_tab_at_the_beginning_cannot_be_read_again() {
        assert!(again("\ta\nb".into(), Style::Plain).is_err());
        assert!(again("\ta\nb".into(), Style::Double).is_ok());
        assert!(again("\ta".into(), Style::Plain).is_ok());
    }
}
