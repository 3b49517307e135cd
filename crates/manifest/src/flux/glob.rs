//! Globs as Flux matches them: `*`, `?`, `[a-z]`, `[^a-z]` and `\`; a star also crosses `/`.

/// The pattern itself is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadPattern;

/// The first character and its width; a byte that begins none is a replacement character of width 1.
pub(super) fn decode(text: &[u8]) -> (char, usize) {
    let head = &text[..text.len().min(4)];
    match head.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next()) {
        Some(character) => (character, character.len_utf8()),
        None => (char::REPLACEMENT_CHARACTER, usize::from(!text.is_empty())),
    }
}

/// Whether all of the text matches.
pub(super) fn matches(mut pattern: &[u8], mut text: &[u8]) -> Result<bool, BadPattern> {
    'pattern: while !pattern.is_empty() {
        let (star, chunk, rest) = split(pattern);
        pattern = rest;
        if star && chunk.is_empty() {
            return Ok(true);
        }
        let fits = |rest: &[u8]| rest.is_empty() || !pattern.is_empty();
        if let Some(rest) = begins(chunk, text)?
            && fits(rest)
        {
            text = rest;
            continue;
        }
        if star {
            for skipped in 1..=text.len() {
                if let Some(rest) = begins(chunk, &text[skipped..])?
                    && fits(rest)
                {
                    text = rest;
                    continue 'pattern;
                }
            }
        }
        return Ok(false);
    }
    Ok(text.is_empty())
}

/// Leading stars, what follows up to the next star, and the rest.
fn split(pattern: &[u8]) -> (bool, &[u8], &[u8]) {
    let stars = pattern.iter().take_while(|byte| **byte == b'*').count();
    let pattern = &pattern[stars..];
    let mut in_class = false;
    let mut at = 0;
    while at < pattern.len() {
        match pattern[at] {
            b'\\' if at + 1 < pattern.len() => at += 1,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'*' if !in_class => break,
            _ => {}
        }
        at += 1;
    }
    (stars > 0, &pattern[..at], &pattern[at..])
}

/// What is left of the text after a chunk without stars; `None` if it does not begin so.
fn begins<'a>(mut chunk: &[u8], mut text: &'a [u8]) -> Result<Option<&'a [u8]>, BadPattern> {
    while let Some(first) = chunk.first() {
        let Some(byte) = text.first() else { return Ok(None) };
        match first {
            b'[' => {
                let (character, width) = decode(text);
                text = &text[width..];
                chunk = &chunk[1..];
                let negated = chunk.first() == Some(&b'^');
                chunk = &chunk[usize::from(negated)..];
                let mut found = false;
                let mut ranges = 0;
                while chunk.first() != Some(&b']') || ranges == 0 {
                    let (low, rest) = class_member(chunk)?;
                    let (high, rest) = match rest.first() {
                        Some(b'-') => class_member(&rest[1..])?,
                        _ => (low, rest),
                    };
                    chunk = rest;
                    found |= (low..=high).contains(&character);
                    ranges += 1;
                }
                chunk = &chunk[1..];
                if found == negated {
                    return Ok(None);
                }
            }
            b'?' => {
                let (_, width) = decode(text);
                text = &text[width..];
                chunk = &chunk[1..];
            }
            other => {
                let mut wanted = other;
                if *other == b'\\' {
                    chunk = &chunk[1..];
                    wanted = chunk.first().ok_or(BadPattern)?;
                }
                if wanted != byte {
                    return Ok(None);
                }
                text = &text[1..];
                chunk = &chunk[1..];
            }
        }
    }
    Ok(Some(text))
}

/// One character of a class, maybe escaped; something must follow it.
fn class_member(mut chunk: &[u8]) -> Result<(char, &[u8]), BadPattern> {
    match chunk.first() {
        None | Some(b'-' | b']') => return Err(BadPattern),
        Some(b'\\') => chunk = &chunk[1..],
        Some(_) => {}
    }
    if chunk.is_empty() {
        return Err(BadPattern);
    }
    let (character, width) = decode(chunk);
    let rest = &chunk[width..];
    if rest.is_empty() || (character == char::REPLACEMENT_CHARACTER && width == 1) {
        return Err(BadPattern);
    }
    Ok((character, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn globs_match() {
        let cases: &[(&str, &str, Result<bool, BadPattern>)] = &[
            ("*", "a/b", Ok(true)),
            ("a*b", "a/x/b", Ok(true)),
            ("a?c", "aéc", Ok(true)),
            ("[a-c]x", "bx", Ok(true)),
            ("[^a-c]x", "bx", Ok(false)),
            (r"\*", "*", Ok(true)),
            ("a*", "b", Ok(false)),
            ("[", "a", Err(BadPattern)),
            ("[a", "a", Err(BadPattern)),
            ("[]a]", "]", Err(BadPattern)),
            ("[-]", "-", Err(BadPattern)),
            ("a*b*c", "aXbXbXc", Ok(true)),
            ("", "", Ok(true)),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(matches(pattern.as_bytes(), text.as_bytes()), *expected, "{pattern} {text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(pattern in "[ab*?\\[\\]^\\\\é-]{0,12}", text in prop::collection::vec(any::<u8>(), 0..12)) {
            let _ = matches(pattern.as_bytes(), &text);
        }
    }
}
