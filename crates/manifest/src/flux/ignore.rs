//! `.sourceignore`: which files do not reach Flux at all.

use std::sync::LazyLock;

use super::glob;

/// Excluded whatever the patterns say, unless one of them takes it back.
const ALWAYS: [&str; 4] = [".git/", ".gitignore", ".gitmodules", ".gitattributes"];

/// Excluded as long as no pattern is written anywhere.
const BY_DEFAULT: [&str; 20] = [
    "*.jpg",
    "*.jpeg",
    "*.gif",
    "*.png",
    "*.wmv",
    "*.flv",
    "*.tar.gz",
    "*.zip",
    ".github/",
    ".circleci/",
    ".travis.yml",
    ".gitlab-ci.yml",
    "appveyor.yml",
    ".drone.yml",
    "cloudbuild.yaml",
    "codeship-services.yml",
    "codeship-steps.yml",
    "**/.goreleaser.yml",
    "**/.sops.yaml",
    "**/.flux.yaml",
];

/// One pattern and the folder it counts for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    domain: Vec<String>,
    parts: Vec<String>,
    includes: bool,
    folders_only: bool,
}

/// What the last pattern that matches says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Excluded,
    Included,
}

impl Pattern {
    /// Reads one line.
    pub fn parse(line: &str, domain: &[String]) -> Self {
        let (includes, line) = match line.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let line = if line.ends_with("\\ ") { line } else { line.trim_end_matches(' ') };
        let (folders_only, line) = match line.strip_suffix('/') {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let parts = line.split('/').map(str::to_owned).collect();
        Self { domain: domain.to_vec(), parts, includes, folders_only }
    }

    /// Reads a file of patterns that lies in the folder `domain`.
    pub fn read(text: &str, domain: &[String]) -> Vec<Self> {
        text.lines()
            .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
            .map(|line| Self::parse(line, domain))
            .collect()
    }

    fn judge(&self, path: &[&str]) -> Option<Verdict> {
        let inside = path.len() > self.domain.len()
            && self.domain.iter().zip(path).all(|(domain, part)| domain == part);
        if !inside {
            return None;
        }
        let path = &path[self.domain.len()..];
        let matched = match self.parts.as_slice() {
            [name] => self.names(name, path),
            parts => self.globs(parts, path),
        };
        matched.then_some(if self.includes { Verdict::Included } else { Verdict::Excluded })
    }

    fn names(&self, name: &str, path: &[&str]) -> bool {
        let last = path.len().saturating_sub(1);
        let place = path.iter().position(|part| fits(name, part));
        place.is_some_and(|place| !(self.folders_only && place == last))
    }

    fn globs(&self, parts: &[String], mut path: &[&str]) -> bool {
        let mut matched = false;
        let mut any_depth = false;
        for (place, part) in parts.iter().enumerate() {
            if part.is_empty() {
                any_depth = false;
                continue;
            }
            if part == "**" {
                if place == parts.len() - 1 {
                    break;
                }
                any_depth = true;
                continue;
            }
            if part.contains("**") || path.is_empty() {
                return false;
            }
            if any_depth {
                any_depth = false;
                match path.iter().position(|name| fits(part, name)) {
                    Some(found) => {
                        matched = true;
                        path = &path[found + 1..];
                    }
                    None => {
                        matched = false;
                        path = &[];
                    }
                }
            } else {
                if !fits(part, path[0]) {
                    return false;
                }
                matched = true;
                path = &path[1..];
            }
        }
        matched && !(self.folders_only && path.is_empty())
    }
}

fn fits(pattern: &str, name: &str) -> bool {
    glob::matches(pattern.as_bytes(), name.as_bytes()) == Ok(true)
}

/// What patterns say of a file; the last one counts.
pub(super) fn judge(patterns: &[Pattern], path: &str) -> Option<Verdict> {
    let path: Vec<&str> = path.split('/').collect();
    patterns.iter().rev().find_map(|pattern| pattern.judge(&path))
}

/// Whether a file is excluded whatever is written.
pub(super) fn is_always_excluded(path: &str) -> bool {
    static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| parsed(&ALWAYS));
    judge(&PATTERNS, path) == Some(Verdict::Excluded)
}

/// Whether a file is excluded if nothing is written.
pub(super) fn is_excluded_by_default(path: &str) -> bool {
    static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| parsed(&BY_DEFAULT));
    judge(&PATTERNS, path) == Some(Verdict::Excluded)
}

fn parsed(lines: &[&str]) -> Vec<Pattern> {
    lines.iter().map(|line| Pattern::parse(line, &[])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excluded(lines: &str, path: &str) -> bool {
        judge(&Pattern::read(lines, &[]), path) == Some(Verdict::Excluded)
    }

    #[test]
    fn patterns_exclude_files() {
        assert!(excluded("docs/", "docs/a.yaml"));
        assert!(excluded("docs/", "x/docs/a.yaml"));
        assert!(!excluded("docs/", "x/docs"));
        assert!(excluded("/*\n!/apps", "infra/a.yaml"));
        assert!(!excluded("/*\n!/apps", "apps/a.yaml"));
        assert!(excluded("**/test/*.yaml", "a/b/test/c.yaml"));
        assert!(!excluded("**/test/*.yaml", "a/b/c.yaml"));
        assert!(excluded("*.md", "a/README.md"));
        assert!(!excluded("# *.md\n\n", "a/README.md"));
        assert!(excluded("a/**", "a/b/c"));
    }

    #[test]
    fn a_file_of_patterns_counts_for_its_folder() {
        let patterns = Pattern::read("*.yaml", &["apps".to_owned()]);
        assert_eq!(judge(&patterns, "apps/x/a.yaml"), Some(Verdict::Excluded));
        assert_eq!(judge(&patterns, "infra/a.yaml"), None);
    }

    #[test]
    fn some_are_excluded_anyway() {
        assert!(is_always_excluded(".git/config"));
        assert!(is_always_excluded("sub/.gitignore"));
        assert!(is_excluded_by_default("x/.github/workflows/a.yaml"));
        assert!(is_excluded_by_default("x/.sops.yaml"));
        assert!(is_excluded_by_default("logo.png"));
        assert!(!is_excluded_by_default("apps/a.yaml"));
    }
}
