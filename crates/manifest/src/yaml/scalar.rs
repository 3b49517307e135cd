//! What a plain scalar is: the rules of Go's YAML library, third version for reading and second for
//! deciding what has to be quoted. They differ: `yes` is text for the third, a boolean for the second.

use std::borrow::Cow;

use super::timestamp::{self, Timestamp};
use super::{Scalar, Style, Tag};
use crate::diagnostic::{Diagnostic, Result};

/// A scalar's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolved<'a> {
    /// Nothing.
    Null,
    /// A boolean.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number beyond the signed ones.
    Unsigned(u64),
    /// A number.
    Float(f64),
    /// Text.
    Text(Cow<'a, str>),
}

impl Scalar {
    /// The value, as it is decoded without a type in mind. Fails if the text does not fit its tag.
    pub fn resolved(&self) -> Result<Resolved<'_>> {
        let wrong = |found: &str, wanted: &str| {
            Diagnostic::new(format!("cannot decode {found} `{}` as a {wanted}", self.text))
        };
        let text = self.text.as_str();
        Ok(match self.tag {
            Tag::Str => Resolved::Text(text.into()),
            Tag::Binary => Resolved::Text(decode_base64(text)?.into()),
            // Nothing, written between brackets: see the parser.
            Tag::Null if text.is_empty() && self.style == Style::Single => {
                Resolved::Text("".into())
            }
            Tag::Null => match resolve(text).0 {
                Tag::Null => Resolved::Null,
                other => return Err(wrong(other.short(), "!!null")),
            },
            Tag::Timestamp => match timestamp::parse(text).and_then(Timestamp::to_json) {
                Some(text) => Resolved::Text(text.into()),
                None => return Err(wrong("!!str", "!!timestamp")),
            },
            Tag::Bool | Tag::Int => match resolve_number(text, self.tag) {
                (tag, Some(value)) if tag == self.tag => value,
                (tag, _) => return Err(wrong(tag.short(), self.tag.short())),
            },
            Tag::Float => match resolve_number(text, self.tag) {
                (Tag::Float, Some(value)) => value,
                #[expect(clippy::cast_precision_loss, reason = "as upstream converts it")]
                (Tag::Int, Some(Resolved::Int(number))) => Resolved::Float(number as f64),
                (tag, _) => return Err(wrong(tag.short(), "!!float")),
            },
        })
    }
}

impl Tag {
    /// `!!str`.
    pub fn short(self) -> &'static str {
        match self {
            Self::Null => "!!null",
            Self::Bool => "!!bool",
            Self::Int => "!!int",
            Self::Float => "!!float",
            Self::Str => "!!str",
            Self::Timestamp => "!!timestamp",
            Self::Binary => "!!binary",
        }
    }
}

/// The type of a plain scalar, for reading.
pub fn tag_of(plain: &str) -> Tag {
    resolve(plain).0
}

/// The type a text would be read as if it were written in this style without a tag.
pub fn tag_in(text: &str, style: Style) -> Tag {
    if style == Style::Plain { tag_of(text) } else { Tag::Str }
}

fn resolve(text: &str) -> (Tag, Option<Resolved<'_>>) {
    match text.as_bytes().first() {
        None => (Tag::Null, Some(Resolved::Null)),
        Some(b'~' | b'n' | b'N' | b't' | b'T' | b'f' | b'F') => words(text),
        Some(b'0'..=b'9' | b'+' | b'-') => match timestamp::parse(text) {
            Some(_) => (Tag::Timestamp, None),
            None => resolve_number(text, Tag::Str),
        },
        Some(b'.') => resolve_number(text, Tag::Str),
        Some(_) => (Tag::Str, None),
    }
}

fn words(text: &str) -> (Tag, Option<Resolved<'_>>) {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => (Tag::Null, Some(Resolved::Null)),
        "true" | "True" | "TRUE" => (Tag::Bool, Some(Resolved::Bool(true))),
        "false" | "False" | "FALSE" => (Tag::Bool, Some(Resolved::Bool(false))),
        _ => (Tag::Str, None),
    }
}

/// Without the timestamps, which an explicit tag of another type rules out.
fn resolve_number(text: &str, wanted: Tag) -> (Tag, Option<Resolved<'_>>) {
    let float = |value| (Tag::Float, Some(Resolved::Float(value)));
    match text {
        ".nan" | ".NaN" | ".NAN" => return float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return float(f64::NEG_INFINITY),
        _ => {}
    }
    match text.as_bytes().first() {
        Some(b'.') => match decimal(text) {
            Some(value) => float(value),
            None => (Tag::Str, None),
        },
        Some(b'0'..=b'9' | b'+' | b'-') => match number(text, Rules::Third) {
            Some(Resolved::Float(value)) => float(value),
            Some(whole) => (Tag::Int, Some(whole)),
            None => (Tag::Str, None),
        },
        _ if wanted == Tag::Str => (Tag::Str, None),
        _ => words(text),
    }
}

/// Whose rules: those of the library's second version, or of its third.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rules {
    Second,
    Third,
}

/// A scalar under the second version's rules: more words are booleans, and times are texts.
pub(super) fn second(text: &str, tag: Tag, style: Style) -> Scalar {
    let (text, tag) = match tag {
        Tag::Str if style == Style::Plain && is_old_boolean(text) => {
            let yes = matches!(text.as_bytes(), [b'y' | b'Y', ..] | [b'o' | b'O', b'n' | b'N']);
            (if yes { "true" } else { "false" }, Tag::Bool)
        }
        Tag::Timestamp => (text, Tag::Str),
        tag => (text, tag),
    };
    Scalar { text: text.into(), tag, style }
}

/// A number that begins with a digit or a sign.
fn number(text: &str, rules: Rules) -> Option<Resolved<'static>> {
    let plain: Cow<'_, str> =
        if text.contains('_') { text.replace('_', "").into() } else { text.into() };
    let plain = plain.as_ref();
    if let Some(whole) = whole(plain) {
        return Some(whole);
    }
    if let Some(value) = decimal(plain) {
        return Some(Resolved::Float(value));
    }
    // A sign after the prefix gets this far, and upstream's own parsing of these two lets it pass.
    let prefixed = |prefix: &str, base| {
        if let Some(digits) = plain.strip_prefix(prefix) {
            return digits_in(digits, base);
        }
        let digits = plain.strip_prefix('-')?.strip_prefix(prefix)?;
        digits_in(&format!("-{digits}"), base)
    };
    prefixed("0b", 2).or_else(|| match rules {
        Rules::Second => None,
        Rules::Third => prefixed("0o", 8),
    })
}

/// A whole number, its base said by its prefix.
fn whole(plain: &str) -> Option<Resolved<'static>> {
    let (sign, digits) = match plain.as_bytes().first()? {
        b'-' => ("-", &plain[1..]),
        b'+' => ("+", &plain[1..]),
        _ => ("", plain),
    };
    let bytes = digits.as_bytes();
    let (base, digits) = match (bytes.first()?, bytes.get(1)) {
        (b'0', Some(b'x' | b'X')) => (16, &digits[2..]),
        (b'0', Some(b'o' | b'O')) => (8, &digits[2..]),
        (b'0', Some(b'b' | b'B')) => (2, &digits[2..]),
        (b'0', Some(_)) => (8, &digits[1..]),
        (b'0'..=b'9', _) => (10, digits),
        _ => return None,
    };
    // Rust's parser takes a sign of its own.
    if !digits.as_bytes().first()?.is_ascii_hexdigit() {
        return None;
    }
    let value = u64::from_str_radix(digits, base).ok();
    signed(sign, value?)
}

fn digits_in(digits: &str, base: u32) -> Option<Resolved<'static>> {
    let (sign, digits) = match digits.as_bytes().first()? {
        b'-' => ("-", &digits[1..]),
        b'+' => ("+", &digits[1..]),
        _ => ("", digits),
    };
    if !digits.as_bytes().first()?.is_ascii_hexdigit() {
        return None;
    }
    signed(sign, u64::from_str_radix(digits, base).ok()?)
}

fn signed(sign: &str, value: u64) -> Option<Resolved<'static>> {
    if sign == "-" {
        return 0_i64.checked_sub_unsigned(value).map(Resolved::Int);
    }
    match i64::try_from(value) {
        Ok(value) => Some(Resolved::Int(value)),
        Err(_) if sign.is_empty() => Some(Resolved::Unsigned(value)),
        Err(_) => None,
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`, if it is finite.
fn decimal(text: &str) -> Option<f64> {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let start = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let mut at = digits(start);
    if bytes.get(at) == Some(&b'.') {
        let end = digits(at + 1);
        if at == start && end == at + 1 {
            return None;
        }
        at = end;
    } else if at == start {
        return None;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let end = digits(at + 1 + sign);
        if end == at + 1 + sign {
            return None;
        }
        at = end;
    }
    if at != bytes.len() {
        return None;
    }
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// Whether a text has to be quoted to stay text for what reads it with the second version's rules.
pub(crate) fn needs_quotes(text: &str) -> bool {
    match text.as_bytes().first() {
        None => true,
        Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~') => {
            text.len() <= 5 && words(text).0 != Tag::Str || is_old_boolean(text)
        }
        Some(b'0'..=b'9' | b'+' | b'-') => {
            matches!(text, "+.inf" | "+.Inf" | "+.INF" | "-.inf" | "-.Inf" | "-.INF")
                || timestamp::parse(text).is_some()
                || number(text, Rules::Second).is_some()
                || is_base_60(text)
        }
        Some(b'.') => {
            matches!(text, ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF")
                || decimal(text).is_some()
        }
        Some(_) => false,
    }
}

/// Whether YAML 1.1 took this for a boolean and YAML 1.2 does not.
pub fn is_old_boolean(text: &str) -> bool {
    #[rustfmt::skip]
    let words = ["y", "Y", "yes", "Yes", "YES", "on", "On", "ON",
                 "n", "N", "no", "No", "NO", "off", "Off", "OFF"];
    words.contains(&text)
}

/// `[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?`: numbers of base 60, of YAML 1.1.
fn is_base_60(text: &str) -> bool {
    let Some((first, rest)) = text.split_once(':') else { return false };
    let digits = first.strip_prefix(['+', '-']).unwrap_or(first);
    if !digits.starts_with(|c: char| c.is_ascii_digit())
        || !digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
    {
        return false;
    }
    let (rest, fraction) = rest.split_once('.').unwrap_or((rest, ""));
    fraction.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
        && rest.split(':').all(|part| match part.as_bytes() {
            [one] => one.is_ascii_digit(),
            [ten, one] => matches!(ten, b'0'..=b'5') && one.is_ascii_digit(),
            _ => false,
        })
}

/// The bytes of a `!!binary`, with what is no UTF-8 replaced as JSON replaces it: byte by byte.
pub(super) fn decode_base64(text: &str) -> Result<String> {
    let bytes = base64_bytes(text)
        .ok_or_else(|| Diagnostic::new("!!binary value contains invalid base64 data"))?;
    let mut decoded = String::with_capacity(bytes.len());
    let mut rest = bytes.as_slice();
    loop {
        match std::str::from_utf8(rest) {
            Ok(valid) => {
                decoded.push_str(valid);
                return Ok(decoded);
            }
            Err(error) => {
                let (valid, after) = rest.split_at(error.valid_up_to());
                decoded.push_str(&String::from_utf8_lossy(valid));
                decoded.push('\u{fffd}');
                rest = after.get(1..).unwrap_or_default();
            }
        }
    }
}

fn base64_bytes(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count, mut padding) = (0_u32, 0_u32, 0_u32);
    for byte in text.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')) {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => {
                padding += 1;
                continue;
            }
            _ => return None,
        };
        if padding > 0 {
            return None;
        }
        bits = bits << 6 | u32::from(value);
        count += 1;
        if count == 4 {
            bytes.extend_from_slice(&bits.to_be_bytes()[1..]);
            (bits, count) = (0, 0);
        }
    }
    match (count, padding) {
        (0, 0) => {}
        (2, 2) => bytes.push((bits >> 4) as u8),
        (3, 1) => bytes.extend_from_slice(&((bits >> 2) as u16).to_be_bytes()),
        _ => return None,
    }
    Some(bytes)
}
