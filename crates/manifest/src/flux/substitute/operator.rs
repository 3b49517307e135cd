//! What the operators of Flux's substitutions do. Texts are bytes here: Flux cuts them at bytes.

use crate::flux::glob;

/// Longer values are not searched with globs: the search is quadratic.
const LONGEST_SEARCHED: usize = 8 << 10;

/// The value after the operator; `None` where Flux would crash.
pub(super) fn apply(operator: &str, value: &[u8], arguments: &[Vec<u8>]) -> Option<Vec<u8>> {
    Some(match operator {
        "," => first(value, lower),
        ",," => each(value, lower),
        "^" => first(value, upper),
        "^^" => each(value, upper),
        "#" if arguments.is_empty() => value.len().to_string().into_bytes(),
        "#" => trim(value, arguments.first()?, Reach::Shortest)?,
        "##" => trim(value, arguments.first()?, Reach::Longest)?,
        "%" => trim_end(value, arguments.first()?, Reach::Shortest)?,
        "%%" => trim_end(value, arguments.first()?, Reach::Longest)?,
        ":" => substring(value, arguments)?,
        "/" => replace(value, arguments, 1),
        "//" => replace(value, arguments, usize::MAX),
        "/#" => match arguments {
            [prefix, new] => value
                .strip_prefix(prefix.as_slice())
                .map_or_else(|| value.to_vec(), |rest| [new.as_slice(), rest].concat()),
            _ => value.to_vec(),
        },
        "/%" => match arguments {
            [suffix, new] => value
                .strip_suffix(suffix.as_slice())
                .map_or_else(|| value.to_vec(), |rest| [rest, new.as_slice()].concat()),
            _ => value.to_vec(),
        },
        _ if value.is_empty() => arguments.concat(),
        _ => value.to_vec(),
    })
}

/// The characters; every byte that belongs to none counts as a replacement character.
fn characters(text: &[u8]) -> Vec<char> {
    let mut characters = Vec::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        characters.extend(chunk.valid().chars());
        characters.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    characters
}

fn each(text: &[u8], change: fn(char) -> char) -> Vec<u8> {
    characters(text).into_iter().map(change).collect::<String>().into_bytes()
}

fn first(text: &[u8], change: fn(char) -> char) -> Vec<u8> {
    if text.is_empty() {
        return Vec::new();
    }
    let (character, width) = glob::decode(text);
    let mut changed = change(character).to_string().into_bytes();
    changed.extend_from_slice(&text[width..]);
    changed
}

/// One character to one character, as Go maps them.
fn lower(character: char) -> char {
    if character == '\u{130}' {
        return 'i';
    }
    single(character.to_lowercase(), character)
}

fn upper(character: char) -> char {
    match u32::from(character) {
        code @ (0x1F80..=0x1F87 | 0x1F90..=0x1F97 | 0x1FA0..=0x1FA7) => char::from_u32(code + 8),
        code @ (0x1FB3 | 0x1FC3 | 0x1FF3) => char::from_u32(code + 9),
        _ => None,
    }
    .unwrap_or_else(|| single(character.to_uppercase(), character))
}

fn single(mut mapped: impl Iterator<Item = char>, character: char) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(one), None) => one,
        _ => character,
    }
}

fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn substring(value: &[u8], arguments: &[Vec<u8>]) -> Option<Vec<u8>> {
    let length = i64::try_from(value.len()).ok()?;
    let Some(mut from) = arguments.first().and_then(|text| number(text)) else {
        return Some(value.to_vec());
    };
    if from < 0 {
        from = (length + from).max(0);
    }
    let rest = || value.get(from as usize..).unwrap_or_default().to_vec();
    let Some(count) = arguments.get(1) else { return Some(rest()) };
    let Some(count) = number(count) else { return Some(value.to_vec()) };
    match from.checked_add(count) {
        Some(to) if to >= length => Some(rest()),
        Some(to) if to >= from => Some(value[from as usize..to as usize].to_vec()),
        _ => None,
    }
}

fn replace(value: &[u8], arguments: &[Vec<u8>], most: usize) -> Vec<u8> {
    let Some(old) = arguments.first() else { return value.to_vec() };
    let new = arguments.get(1).map(Vec::as_slice).unwrap_or_default();
    let mut result = Vec::with_capacity(value.len());
    let mut rest = value;
    let mut done = 0;
    if old.is_empty() {
        while done < most {
            result.extend_from_slice(new);
            done += 1;
            if rest.is_empty() {
                break;
            }
            if done < most {
                let (_, width) = glob::decode(rest);
                result.extend_from_slice(&rest[..width]);
                rest = &rest[width..];
            }
        }
    } else {
        while done < most {
            let Some(at) = rest.windows(old.len()).position(|window| window == old.as_slice())
            else {
                break;
            };
            result.extend_from_slice(&rest[..at]);
            result.extend_from_slice(new);
            rest = &rest[at + old.len()..];
            done += 1;
        }
    }
    result.extend_from_slice(rest);
    result
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Shortest,
    Longest,
}

/// Without the shortest or longest beginning, of at least one byte, that matches.
fn trim(value: &[u8], pattern: &[u8], reach: Reach) -> Option<Vec<u8>> {
    if value.len() > LONGEST_SEARCHED {
        return None;
    }
    let mut found = None;
    for end in (1..=value.len()).rev() {
        match glob::matches(pattern, &value[..end]) {
            Err(glob::BadPattern) => return Some(value.to_vec()),
            Ok(false) => {}
            Ok(true) => {
                found = Some(end);
                if reach == Reach::Longest {
                    break;
                }
            }
        }
    }
    Some(value[found.unwrap_or(0)..].to_vec())
}

fn trim_end(value: &[u8], pattern: &[u8], reach: Reach) -> Option<Vec<u8>> {
    let reverse = |text: &[u8]| characters(text).into_iter().rev().collect::<String>().into_bytes();
    Some(reverse(&trim(&reverse(value), &reverse(pattern), reach)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(operator: &str, value: &str, arguments: &[&str]) -> Option<String> {
        let arguments: Vec<_> = arguments.iter().map(|text| text.as_bytes().to_vec()).collect();
        apply(operator, value.as_bytes(), &arguments)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    #[test]
    fn operators_work_as_in_flux() {
        let cases: &[(&str, &str, &[&str], &str)] = &[
            ("^", "äb", &[], "Äb"),
            ("^^", "straße", &[], "STRAßE"),
            (",", "ÄB", &[], "äB"),
            ("#", "äb", &[], "3"),
            ("#", "a.b.c", &["*."], "b.c"),
            ("##", "a.b.c", &["*."], "c"),
            ("%", "a.b.c", &[".*"], "a.b"),
            ("%%", "a.b.c", &[".*"], "a"),
            ("#", "abc", &["["], "abc"),
            (":", "abcdef", &["2"], "cdef"),
            (":", "abcdef", &["2", "3"], "cde"),
            (":", "abcdef", &["9"], ""),
            (":", "abcdef", &[" -1"], "abcdef"),
            (":", "abcdef", &["1", "x"], "abcdef"),
            ("/", "aaa", &["a", "b"], "baa"),
            ("//", "aaa", &["a", "b"], "bbb"),
            ("//", "aé", &["", "-"], "-a-é-"),
            ("/", "aé", &["", "-"], "-aé"),
            ("/", "abc", &["b"], "ac"),
            ("/#", "abab", &["ab", "x"], "xab"),
            ("/%", "abab", &["ab", "x"], "abx"),
            ("/#", "abab", &["ab"], "abab"),
            (":=", "", &["a", "b"], "ab"),
            (":+", "", &["a"], "a"),
            (":?", "v", &["a"], "v"),
        ];
        for (operator, value, arguments, expected) in cases {
            assert_eq!(
                run(operator, value, arguments).as_deref(),
                Some(*expected),
                "{operator} {value} {arguments:?}"
            );
        }
        assert_eq!(run(":", "abcdef", &["3", "-2"]), None, "Flux crashes");
        assert_eq!(run(":", "abcdef", &["3", "9223372036854775807"]), None, "and here");
    }
}
