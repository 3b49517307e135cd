//! Image references: `registry:5000/name:tag@sha256:…`.

use std::fmt;

/// An image, as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    /// Registry and repository; empty where they are written elsewhere.
    pub name: String,
    /// The tag.
    pub tag: Option<String>,
    /// `sha256:…`.
    pub digest: Option<String>,
}

impl Reference {
    /// Takes a reference apart. Nothing if the text cannot be one.
    pub fn parse(text: &str) -> Option<Self> {
        let (rest, digest) = split_digest(text)?;
        // A colon before the last slash is a port, unless it is in a variable.
        let path = rest.rfind('/').map_or(0, |slash| slash + 1);
        let colon = colon(&rest[path..]).map(|at| path + at);
        let (name, tag) = match colon {
            Some(at) => (&rest[..at], Some(&rest[at + 1..])),
            None => (rest, None),
        };
        let named = !name.is_empty()
            && !name.starts_with(['/', '.', '-', ':', '#'])
            && !name.ends_with('/')
            && !name.contains("//")
            && is_written(name, |byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'_' | b'-' | b':')
            });
        if !named || !tag.is_none_or(is_tag_or_variable) {
            return None;
        }
        Some(Self {
            name: name.to_owned(),
            tag: tag.map(str::to_owned),
            digest: digest.map(str::to_owned),
        })
    }

    /// Takes `tag`, `tag@sha256:…` or `sha256:…` apart.
    pub fn parse_tag(text: &str) -> Option<Self> {
        if is_digest(text) {
            return Some(Self { digest: Some(text.to_owned()), ..Self::default() });
        }
        let (tag, digest) = split_digest(text)?;
        is_tag_or_variable(tag).then(|| Self {
            name: String::new(),
            tag: Some(tag.to_owned()),
            digest: digest.map(str::to_owned),
        })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name)?;
        if let Some(tag) = &self.tag {
            let colon = if self.name.is_empty() { "" } else { ":" };
            write!(out, "{colon}{tag}")?;
        }
        if let Some(digest) = &self.digest {
            let at = if self.name.is_empty() && self.tag.is_none() { "" } else { "@" };
            write!(out, "{at}{digest}")?;
        }
        Ok(())
    }
}

fn split_digest(text: &str) -> Option<(&str, Option<&str>)> {
    match text.split_once('@') {
        Some((rest, digest)) if is_digest(digest) || is_variable(digest) => {
            Some((rest, Some(digest)))
        }
        Some(_) => None,
        None => Some((text, None)),
    }
}

/// The first colon that is not in a variable.
fn colon(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b':' if depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

fn is_variable(text: &str) -> bool {
    text.starts_with("${") && text.ends_with('}')
}

/// Whether every byte outside of variables is one of these.
fn is_written(text: &str, allowed: impl Fn(u8) -> bool) -> bool {
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let Some(end) = rest[start..].find('}') else { return false };
        if !rest[..start].bytes().all(&allowed) {
            return false;
        }
        rest = &rest[start + end + 1..];
    }
    rest.bytes().all(&allowed)
}

fn is_tag_or_variable(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(['.', '-'])
        && is_written(text, |byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'+')
        })
}

/// Whether a registry takes this for a tag.
pub fn is_tag(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    text.len() <= 128
        && !text.is_empty()
        && !text.starts_with(['.', '-'])
        && text.bytes().all(inner)
}

/// Whether this is a digest.
pub fn is_digest(text: &str) -> bool {
    let Some((algorithm, hash)) = text.split_once(':') else { return false };
    let length = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return false,
    };
    hash.len() == length && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Why a tag does not say what runs, if it does not.
pub fn floats(tag: Option<&str>) -> Option<String> {
    let Some(tag) = tag else { return Some("there is no tag: `latest` is what runs".to_owned()) };
    if tag.contains("${") {
        return None;
    }
    let core = tag.strip_prefix('v').unwrap_or(tag);
    let core = core.split(['-', '+', '_']).next().unwrap_or_default();
    let numbers: Vec<&str> = core.split('.').collect();
    let numeric = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if numbers.iter().all(numeric) {
        // A year, a date or a build number is as exact as it gets.
        let dated = numbers[0].len() >= 4;
        return (numbers.len() < 3 && !dated)
            .then(|| format!("`{tag}` moves with every release below it"));
    }
    let hash = tag.len() >= 7 && tag.bytes().all(|byte| byte.is_ascii_hexdigit());
    let counted = tag.bytes().filter(u8::is_ascii_digit).count() >= 3;
    (!hash && !counted).then(|| format!("`{tag}` names no release"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

    #[test]
    fn references_are_taken_apart_and_put_together() {
        let pinned = format!("ghcr.io/a/b:1.2@{DIGEST}");
        let digest = format!("a/b@{DIGEST}");
        for (text, name, tag) in [
            ("nginx", "nginx", None),
            ("nginx:1.25", "nginx", Some("1.25")),
            ("registry.local:5000/a/b", "registry.local:5000/a/b", None),
            ("registry.local:5000/a/b:v1", "registry.local:5000/a/b", Some("v1")),
            (pinned.as_str(), "ghcr.io/a/b", Some("1.2")),
            (digest.as_str(), "a/b", None),
            ("${REGISTRY:=ghcr.io}/a:${TAG:=1.2}", "${REGISTRY:=ghcr.io}/a", Some("${TAG:=1.2}")),
        ] {
            let reference = Reference::parse(text).expect(text);
            assert_eq!((reference.name.as_str(), reference.tag.as_deref()), (name, tag));
            assert_eq!(reference.to_string(), text);
        }
        for text in ["", "a b", "http://a/b", "/a", "a:b:c", "a@b", "a/", "./a"] {
            assert_eq!(Reference::parse(text), None, "{text}");
        }
        let tag = Reference::parse_tag(&format!("1.2.3@{DIGEST}")).expect("tag and digest");
        assert_eq!(tag.to_string(), format!("1.2.3@{DIGEST}"));
    }

    #[test]
    fn tags_that_move_are_told_from_those_that_do_not() {
        for tag in [
            "1.2.3",
            "v1.2.3-alpine",
            "2024.11",
            "20240101",
            "4b825dc6",
            "RELEASE.2024-01-01",
            "${X}",
        ] {
            assert_eq!(floats(Some(tag)), None, "{tag}");
        }
        for tag in ["latest", "1", "1.2", "v3", "main", "stable-alpine", "17-bookworm"] {
            assert!(floats(Some(tag)).is_some(), "{tag}");
        }
        assert!(floats(None).is_some());
    }
}
