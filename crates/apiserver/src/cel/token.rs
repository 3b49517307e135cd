//! The words of an expression.

use std::sync::Arc;

use super::error::Issue;
use super::value::Value;

/// One word and where it begins, in characters.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub at: usize,
    pub kind: Kind,
    /// The word as written, for messages.
    pub text: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Ident(Arc<str>),
    Literal(Value),
    /// An operator or bracket; `in` is one too.
    Sign(&'static str),
    End,
}

const SIGNS: [&str; 28] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "(", ")", "[", "]", "{", "}", ".", ",", "-", "!",
    "?", ":", "+", "*", "/", "%", "=", "&", "|", ";",
];

/// Splits an expression into words, of which the last is [`Kind::End`], and says what it could not read.
pub(super) fn tokens(source: &str) -> (Vec<Token>, Vec<Issue>) {
    let chars: Vec<char> = source.chars().collect();
    let mut out = Vec::new();
    let mut issues = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        if matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}') {
            at += 1;
            continue;
        }
        if c == '/' && chars.get(at + 1) == Some(&'/') {
            while at < chars.len() && chars[at] != '\n' {
                at += 1;
            }
            continue;
        }
        let start = at;
        if let Some((prefix, raw, bytes)) = string_start(&chars[at..]) {
            match string(&chars, at + prefix, raw, bytes) {
                Ok((value, end)) => {
                    at = end;
                    push(&mut out, &chars, start, at, Kind::Literal(value));
                }
                Err(issue) => {
                    issues.push(issue);
                    at = chars.len();
                }
            }
        } else if c.is_ascii_digit()
            || (c == '.' && chars.get(at + 1).is_some_and(char::is_ascii_digit))
        {
            match number(&chars, at) {
                Ok((value, end)) => {
                    at = end;
                    push(&mut out, &chars, start, at, Kind::Literal(value));
                }
                Err((issue, end)) => {
                    issues.push(issue);
                    at = end;
                }
            }
        } else if c.is_ascii_alphabetic() || c == '_' {
            while at < chars.len() && (chars[at].is_ascii_alphanumeric() || chars[at] == '_') {
                at += 1;
            }
            let word: String = chars[start..at].iter().collect();
            let kind = match word.as_str() {
                "true" => Kind::Literal(Value::Bool(true)),
                "false" => Kind::Literal(Value::Bool(false)),
                "null" => Kind::Literal(Value::Null),
                "in" => Kind::Sign("in"),
                _ => Kind::Ident(word.into()),
            };
            push(&mut out, &chars, start, at, kind);
        } else {
            let rest: String = chars[at..chars.len().min(at + 2)].iter().collect();
            match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                Some(sign) if !matches!(*sign, "=" | "&" | "|" | ";") => {
                    at += sign.chars().count();
                    push(&mut out, &chars, start, at, Kind::Sign(sign));
                }
                found => {
                    // A sign that might have become a longer one takes the next character along.
                    let length = if found.is_some() { rest.chars().count() } else { 1 };
                    let text: String = rest.chars().take(length).collect();
                    issues.push(Issue::new(
                        at,
                        format!("Syntax error: token recognition error at: '{text}'"),
                    ));
                    at += length;
                }
            }
        }
    }
    out.push(Token { at: chars.len(), kind: Kind::End, text: "<EOF>".into() });
    (out, issues)
}

fn push(out: &mut Vec<Token>, chars: &[char], start: usize, end: usize, kind: Kind) {
    out.push(Token { at: start, kind, text: chars[start..end].iter().collect() });
}

/// Length of the prefix, raw, bytes: if a string literal starts here.
fn string_start(rest: &[char]) -> Option<(usize, bool, bool)> {
    let mut prefix = 0;
    let (mut raw, mut bytes) = (false, false);
    while let Some(c) = rest.get(prefix) {
        match c {
            '"' | '\'' => return Some((prefix, raw, bytes)),
            'r' | 'R' if !raw => raw = true,
            'b' | 'B' if !bytes => bytes = true,
            _ => return None,
        }
        prefix += 1;
        if prefix > 2 {
            return None;
        }
    }
    None
}

fn string(chars: &[char], open: usize, raw: bool, bytes: bool) -> Result<(Value, usize), Issue> {
    let quote = chars[open];
    let triple = chars.get(open + 1) == Some(&quote) && chars.get(open + 2) == Some(&quote);
    let mut at = open + if triple { 3 } else { 1 };
    let mut text: Vec<u8> = Vec::new();
    let unfinished = || {
        let rest: String = chars[open..].iter().collect();
        Issue::new(open, format!("Syntax error: token recognition error at: '{rest}'"))
    };
    let mut buffer = [0u8; 4];
    loop {
        let c = *chars.get(at).ok_or_else(unfinished)?;
        if c == quote
            && (!triple || (chars.get(at + 1) == Some(&quote) && chars.get(at + 2) == Some(&quote)))
        {
            at += if triple { 3 } else { 1 };
            break;
        }
        if !triple && (c == '\n' || c == '\r') {
            return Err(unfinished());
        }
        if c == '\\' && !raw {
            let (decoded, end) = escape(chars, at, bytes).ok_or_else(unfinished)?;
            match decoded {
                Escaped::Char(c) => text.extend(c.encode_utf8(&mut buffer).as_bytes()),
                Escaped::Byte(byte) => text.push(byte),
            }
            at = end;
            continue;
        }
        text.extend(c.encode_utf8(&mut buffer).as_bytes());
        at += 1;
    }
    let value = if bytes {
        Value::Bytes(text.into())
    } else {
        Value::String(String::from_utf8_lossy(&text).into())
    };
    Ok((value, at))
}

enum Escaped {
    Char(char),
    Byte(u8),
}

fn escape(chars: &[char], at: usize, bytes: bool) -> Option<(Escaped, usize)> {
    let code = *chars.get(at + 1)?;
    let simple = match code {
        'a' => Some('\u{7}'),
        'b' => Some('\u{8}'),
        'f' => Some('\u{c}'),
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        'v' => Some('\u{b}'),
        '\\' | '\'' | '"' | '`' | '?' => Some(code),
        _ => None,
    };
    if let Some(c) = simple {
        return Some((Escaped::Char(c), at + 2));
    }
    let (digits, radix, from) = match code {
        'x' | 'X' => (2, 16, at + 2),
        'u' => (4, 16, at + 2),
        'U' => (8, 16, at + 2),
        '0'..='3' => (3, 8, at + 1),
        _ => return None,
    };
    let text: String = chars.get(from..from + digits)?.iter().collect();
    let number = u32::from_str_radix(&text, radix).ok()?;
    let escaped = match u8::try_from(number) {
        Ok(byte) if bytes && digits < 4 => Escaped::Byte(byte),
        _ => Escaped::Char(char::from_u32(number)?),
    };
    Some((escaped, from + digits))
}

fn number(chars: &[char], start: usize) -> Result<(Value, usize), (Issue, usize)> {
    let mut at = start;
    let digits = |mut at: usize, hex: bool| {
        while chars
            .get(at)
            .is_some_and(|c| if hex { c.is_ascii_hexdigit() } else { c.is_ascii_digit() })
        {
            at += 1;
        }
        at
    };
    let hex = chars[at] == '0' && matches!(chars.get(at + 1), Some('x' | 'X'));
    if hex {
        at = digits(at + 2, true);
    } else {
        at = digits(at, false);
        let mut float = false;
        if chars.get(at) == Some(&'.') && chars.get(at + 1).is_some_and(char::is_ascii_digit) {
            float = true;
            at = digits(at + 1, false);
        }
        if matches!(chars.get(at), Some('e' | 'E')) {
            let sign = usize::from(matches!(chars.get(at + 1), Some('+' | '-')));
            if chars.get(at + 1 + sign).is_some_and(char::is_ascii_digit) {
                float = true;
                at = digits(at + 1 + sign, false);
            }
        }
        if float {
            let text: String = chars[start..at].iter().collect();
            return match text.parse::<f64>() {
                Ok(value) => Ok((Value::Double(value), at)),
                Err(_) => Err((Issue::new(start, "invalid double literal"), at)),
            };
        }
    }
    let text: String = chars[start..at].iter().collect();
    let parsed = if hex { u64::from_str_radix(&text[2..], 16) } else { text.parse::<u64>() };
    if matches!(chars.get(at), Some('u' | 'U')) {
        return match parsed {
            Ok(value) => Ok((Value::Uint(value), at + 1)),
            Err(_) => Err((Issue::new(start, "invalid uint literal"), at + 1)),
        };
    }
    match parsed {
        Ok(value) if i64::try_from(value).is_ok() => Ok((Value::Int(value.cast_signed()), at)),
        // Only `-9223372036854775808` may hold this; the parser turns it around.
        Ok(value) if value == i64::MAX as u64 + 1 => Ok((Value::Uint(value), at)),
        _ => Err((Issue::new(start, "invalid int literal"), at)),
    }
}
