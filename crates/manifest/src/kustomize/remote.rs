//! Bases and files that lie elsewhere: how their addresses are read, and what fetches them.

use std::sync::Arc;
use std::time::Duration;

use crate::diagnostic::Result;
use crate::files::{Blob, Files};

/// How long a fetch may take, unless its address says otherwise.
const TIMEOUT: Duration = Duration::from_secs(27);

/// A folder of a git repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// As it was written.
    pub raw: String,
    /// What git fetches from: `https://github.com/org/repo`.
    pub url: String,
    /// The folder in it; empty for its root.
    pub path: String,
    /// The branch, tag or commit; empty for the default branch.
    pub reference: String,
    /// How long the fetch may take.
    pub timeout: Duration,
    /// Whether submodules are fetched as well.
    pub submodules: bool,
}

/// What an address of a file led to.
#[derive(Clone, Debug)]
pub enum RemoteFile {
    /// The file.
    Content(Blob),
    /// The server answered with this status, and no file.
    Status(u16),
}

/// What fetches bases and files from elsewhere.
pub trait Remote: Send + Sync {
    /// The files of a repository at the reference, from its root.
    fn repository(&self, repository: &Repository) -> Result<Arc<dyn Files>>;

    /// The file at an address.
    fn file(&self, url: &str) -> Result<RemoteFile>;
}

/// Whether the text is the address of a file to be fetched.
pub(super) fn is_file_url(text: &str) -> bool {
    let scheme = text.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    scheme.is_some_and(|scheme| scheme == "http" || scheme == "https")
        && !text.contains(|character: char| character.is_ascii_control() || character == ' ')
}

impl Repository {
    /// Reads the address of a folder in a repository; `None` if the text is none.
    pub fn parse(text: &str) -> Option<Self> {
        if text.starts_with('/') {
            return None;
        }
        let (address, query) = text.split_once('?').unwrap_or((text, ""));
        let (host, rest) = split_host(address)?;
        let whole = host.starts_with("file://");
        let (repository, path) = split_path(rest, whole)?;
        if repository.is_empty() || leaves(path) {
            return None;
        }
        let mut parsed = Self {
            raw: text.to_owned(),
            url: format!("{host}{repository}"),
            path: path.strip_prefix('/').unwrap_or(path).to_owned(),
            reference: String::new(),
            timeout: TIMEOUT,
            submodules: true,
        };
        parsed.read_query(query);
        Some(parsed)
    }

    fn read_query(&mut self, query: &str) {
        if query.contains(';') {
            return;
        }
        let find = |wanted: &str| {
            let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
            let value = pairs.into_iter().find(|(name, _)| *name == wanted)?.1;
            let value = unescape(value);
            (!value.is_empty()).then_some(value)
        };
        self.reference = find("ref").or_else(|| find("version")).unwrap_or_default();
        if let Some(timeout) = find("timeout").as_deref().and_then(duration) {
            self.timeout = timeout;
        }
        match find("submodules").as_deref() {
            Some("1" | "t" | "T" | "true" | "TRUE" | "True") => self.submodules = true,
            Some("0" | "f" | "F" | "false" | "FALSE" | "False") => self.submodules = false,
            _ => {}
        }
    }

    /// The folder in it, without `.` and empty parts.
    pub fn folder(&self) -> String {
        crate::files::join("", &self.path).unwrap_or_default()
    }
}

fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        bytes.push(match (first, tail) {
            (b'+', _) => b' ',
            (b'%', [high, low, after @ ..]) => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                match (digit(high), digit(low)) {
                    (Some(high), Some(low)) => {
                        rest = after;
                        u8::try_from(high * 16 + low).unwrap_or(b'?')
                    }
                    _ => b'%',
                }
            }
            (byte, _) => *byte,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Seconds, or a number with a unit: `61`, `1m30s`.
fn duration(text: &str) -> Option<Duration> {
    if let Ok(seconds) = text.parse::<u64>() {
        return (seconds > 0).then(|| Duration::from_secs(seconds));
    }
    let mut total = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits =
            rest.find(|character: char| !character.is_ascii_digit() && character != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let unit = rest.find(|character: char| character.is_ascii_digit()).unwrap_or(rest.len());
        total += number
            * match &rest[..unit] {
                "h" => 3600.0,
                "m" => 60.0,
                "s" => 1.0,
                "ms" => 1e-3,
                "us" | "µs" => 1e-6,
                "ns" => 1e-9,
                _ => return None,
            };
        rest = &rest[unit..];
    }
    (total > 0.0).then(|| Duration::try_from_secs_f64(total).ok()).flatten()
}

fn strip_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

/// The part git needs before the path, and the path.
fn split_host(text: &str) -> Option<(String, &str)> {
    let text = strip_ignoring_case(text, "git::").unwrap_or(text);
    let schemes = ["ssh://", "https://", "http://", "file://"];
    let found = schemes
        .iter()
        .find_map(|scheme| strip_ignoring_case(text, scheme).map(|rest| (*scheme, rest)));
    let (scheme, text) = found.unwrap_or(("", text));
    if scheme == "file://" {
        return Some((scheme.to_owned(), text));
    }
    let (user, text) = split_user(text);
    let github =
        ["github.com/", "github.com:"].iter().any(|host| strip_ignoring_case(text, host).is_some());
    let colon_allowed = scheme.is_empty() && (!user.is_empty() || github);
    if scheme.is_empty() && !colon_allowed {
        return None;
    }
    let mut end = text.find('/');
    if colon_allowed && let Some(colon) = text.find(':') {
        end = match end {
            Some(slash) if colon == 0 || colon > slash => Some(slash),
            _ => Some(colon),
        };
    }
    let (host, rest) = end.map_or((text, ""), |end| text.split_at(end + 1));
    if github {
        return Some(if scheme == "ssh://" || !user.is_empty() {
            (format!("{user}github.com:"), rest)
        } else {
            ("https://github.com/".to_owned(), rest)
        });
    }
    (!host.is_empty()).then(|| (format!("{scheme}{user}{host}"), rest))
}

fn split_user(text: &str) -> (&str, &str) {
    let Some((user, _)) = text.split_once('@') else { return ("", text) };
    let mut characters = user.chars();
    let valid = characters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && characters.all(|character| character.is_ascii_alphanumeric() || character == '-');
    if valid { text.split_at(user.len() + 1) } else { ("", text) }
}

/// The path of the repository, and the one in it.
fn split_path(text: &str, whole: bool) -> Option<(&str, &str)> {
    if let Some(start) = text.find("_git/") {
        let start = start + "_git/".len();
        let end = text[start..].find('/').map_or(text.len(), |end| start + end);
        return Some((&text[..end], text[end..].strip_prefix('/').unwrap_or_default()));
    }
    if let Some(at) = text.find("//") {
        return Some((&text[..at], &text[at + 2..]));
    }
    if let Some(at) = text.find(".git") {
        return Some(text.split_at(at + ".git".len()));
    }
    if whole {
        return Some((text, ""));
    }
    let organisation = text.find('/')?;
    match text[organisation + 1..].find('/') {
        None => Some((text, "")),
        Some(end) => {
            let end = organisation + 1 + end;
            Some((&text[..end], &text[end + 1..]))
        }
    }
}

/// Whether the path leads out of the repository.
fn leaves(path: &str) -> bool {
    crate::files::join("", path).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Option<(String, String, String)> {
        let found = Repository::parse(text)?;
        Some((found.url, found.path, found.reference))
    }

    #[test]
    fn addresses_of_repositories() {
        let cases = [
            (
                "https://github.com/org/repo//path/to?ref=v1",
                "https://github.com/org/repo",
                "path/to",
                "v1",
            ),
            ("github.com/org/repo/path?ref=main", "https://github.com/org/repo", "path", "main"),
            ("git@github.com:org/repo.git//base", "git@github.com:org/repo.git", "base", ""),
            (
                "git@gitlab.example:team/repo.git/base",
                "git@gitlab.example:team/repo.git",
                "base",
                "",
            ),
            (
                "ssh://git@host.example/team/repo//base?version=x",
                "ssh://git@host.example/team/repo",
                "base",
                "x",
            ),
            ("https://host.example/a/b/c/d", "https://host.example/a/b", "c/d", ""),
            (
                "https://dev.example/org/project/_git/repo/some/path",
                "https://dev.example/org/project/_git/repo",
                "some/path",
                "",
            ),
            ("file:///srv/repo.git//base", "file:///srv/repo.git", "base", ""),
            ("git::https://github.com/org/repo", "https://github.com/org/repo", "", ""),
            (
                "https://user:pass@host.example/a/b//c",
                "https://user:pass@host.example/a/b",
                "c",
                "",
            ),
        ];
        for (text, url, path, reference) in cases {
            let expected = (url.to_owned(), path.to_owned(), reference.to_owned());
            assert_eq!(parts(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn paths_are_no_addresses() {
        for text in [
            "../base",
            "base",
            "/abs/path",
            "a/b/c",
            "deployment.yaml",
            "https://host",
            "github.com/org",
        ] {
            assert_eq!(parts(text), None, "{text}");
        }
        assert_eq!(parts("github.com/org/repo//../../etc"), None);
    }

    #[test]
    fn the_query_sets_time_and_submodules() {
        let timeout = |query: &str| {
            Repository::parse(&format!("github.com/org/repo?{query}")).unwrap().timeout.as_secs()
        };
        assert_eq!(timeout("timeout=61"), 61);
        assert_eq!(timeout("timeout=1m30s"), 90);
        assert_eq!(timeout("timeout=never"), 27);
        let repository =
            Repository::parse("github.com/org/repo?submodules=false&ref=a%2Fb").unwrap();
        assert!(!repository.submodules);
        assert_eq!(repository.reference, "a/b");
    }
}
