//! Strings with a form of their own. Each carries the rule that the API server checks and the
//! sentence that it answers with, so that the same mistake is met by the same words in every kind.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::time::Duration as StdDuration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

macro_rules! text {
    ($(#[$meta:meta])* $name:ident, max = $max:literal, $($rule:literal => $sentence:literal),+) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// The text itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl From<$name> for String {
            fn from(text: $name) -> Self {
                text.0
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "maxLength": $max,
                    "x-kubernetes-validations": [$({ "rule": $rule, "message": $sentence }),+],
                })
            }
        }
    };
}

text! {
    /// A length of time: `90s`, `5m`, `2h30m`, `7d`.
    Duration, max = 32,
    "self.matches('^([0-9]+(ms|s|m|h|d))+$')" =>
        "write a duration such as 90s, 5m, 2h30m or 7d"
}

text! {
    /// When something happens: five cron fields, in which `H` is a value of the object's own, or a
    /// word such as `@daily`.
    Schedule, max = 64,
    "self.matches('^(@(hourly|daily|weekly|monthly)|[0-9H*/,-]+( +[0-9A-Za-z*/,-]+){4})$')" =>
        "write five cron fields such as \"H 2 * * *\" (H is a minute of the object's own), or @hourly, @daily, @weekly or @monthly"
}

text! {
    /// The name of an object.
    ObjectName, max = 253,
    "self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')" =>
        "write the name of an object: lowercase letters, digits, \"-\" and \".\", beginning and ending with a letter or digit"
}

text! {
    /// The name of a namespace.
    Namespace, max = 63,
    "self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')" =>
        "write the name of a namespace: lowercase letters, digits and \"-\", beginning and ending with a letter or digit"
}

text! {
    /// Namespaces by name, where `*` stands for any characters.
    NamespacePattern, max = 63,
    "self.matches('^[-a-z0-9*]+$')" =>
        "write the name of a namespace, in which * stands for any characters, such as team-*"
}

text! {
    /// The name of a git branch, without `refs/heads/`.
    Branch, max = 255,
    "self.matches('^[A-Za-z0-9_][A-Za-z0-9._/+#=-]*$') && !self.contains('..') && !self.contains('//') && !self.endsWith('/') && !self.endsWith('.lock')" =>
        "write the name of a branch such as main or release/1.2",
    "!self.startsWith('refs/')" =>
        "write the branch without refs/heads/, such as main"
}

text! {
    /// Branches by name, where `*` stands for any characters.
    BranchPattern, max = 255,
    "self.matches('^[A-Za-z0-9_*][A-Za-z0-9._/+#=*-]*$') && !self.startsWith('refs/')" =>
        "write the name of a branch, in which * stands for any characters, such as release/*"
}

text! {
    /// Where a repository is.
    GitUrl, max = 2048,
    "self.matches('^((https?|ssh|git|file)://[^ ]+|[A-Za-z0-9_.-]+@[A-Za-z0-9_.-]+:[^ ]+)$')" =>
        "write the URL of a git repository such as https://host/path.git, ssh://git@host/path.git or git@host:path.git",
    "!self.matches('^https?://[^/]*@')" =>
        "take the user and the password out of the URL and put them into a Secret that spec.secretRef names"
}

text! {
    /// A folder or file inside a repository.
    RepositoryPath, max = 1024,
    "self != '' && !self.startsWith('/') && !self.matches('(^|/)[.][.](/|$)')" =>
        "write a path inside the repository such as clusters/home, without a leading slash and without \"..\""
}

text! {
    /// A commit by its full id.
    CommitId, max = 64,
    "self.matches('^([0-9a-f]{40}|[0-9a-f]{64})$')" =>
        "write the full id of a commit: 40 (or 64) hexadecimal digits"
}

text! {
    /// A time zone by its name in the time zone database.
    TimeZone, max = 64,
    "self.matches('^[A-Za-z][A-Za-z0-9_+/-]*$')" =>
        "write the name of a time zone such as UTC or Europe/Berlin"
}

impl Duration {
    /// The length of time, or nothing if the text is none: the API server refuses such text, but an
    /// object may be older than its rule.
    pub fn to_std(&self) -> Option<StdDuration> {
        let mut rest = self.0.as_str();
        let mut total = StdDuration::ZERO;
        if rest.is_empty() {
            return None;
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit())?;
            let (number, after) = rest.split_at(digits);
            let number: u64 = number.parse().ok()?;
            let unit_end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
            let (unit, after) = after.split_at(unit_end);
            let part = match unit {
                "ms" => StdDuration::from_millis(number),
                "s" => StdDuration::from_secs(number),
                "m" => StdDuration::from_secs(number.checked_mul(60)?),
                "h" => StdDuration::from_secs(number.checked_mul(3600)?),
                "d" => StdDuration::from_secs(number.checked_mul(86_400)?),
                _ => return None,
            };
            total = total.checked_add(part)?;
            rest = after;
        }
        Some(total)
    }

    /// The length of time, or `fallback` if the text is none.
    pub fn or(&self, fallback: StdDuration) -> StdDuration {
        self.to_std().unwrap_or(fallback)
    }
}

/// Whether `name` matches `pattern`, in which `*` stands for any characters, also none.
pub fn matches_pattern(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read() {
        let cases = [
            ("90s", Some(90_000)),
            ("2h30m", Some(9_000_000)),
            ("7d", Some(604_800_000)),
            ("250ms", Some(250)),
            ("1m1ms", Some(60_001)),
            ("0s", Some(0)),
            ("", None),
            ("5", None),
            ("m", None),
            ("5x", None),
            ("99999999999999999999s", None),
            ("18446744073709551615d", None),
        ];
        for (text, millis) in cases {
            let read = Duration::from(text).to_std();
            assert_eq!(read, millis.map(StdDuration::from_millis), "{text}");
        }
    }

    #[test]
    fn patterns_match_whole_names() {
        let cases = [
            ("main", "main", true),
            ("main", "mainline", false),
            ("*", "", true),
            ("release/*", "release/1.2", true),
            ("release/*", "prerelease/1.2", false),
            ("*-prod", "team-prod", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("a*a", "a", false),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(matches_pattern(pattern, name), expected, "{pattern} {name}");
        }
    }
}
