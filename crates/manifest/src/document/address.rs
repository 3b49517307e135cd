//! Where in a document: `spec.values.image.tag`, `containers[0]`, `containers[name=main]`,
//! `annotations."a.b/c"`.

use std::fmt;
use std::str::FromStr;

use crate::diagnostic::Diagnostic;

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// The value of a key.
    Key(String),
    /// An item by its place, from 0.
    Index(usize),
    /// The item whose key has this value: `[name=main]`.
    Match(String, String),
}

/// The steps from the root of a document to a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub Vec<Step>);

impl Address {
    /// The root.
    pub fn root() -> Self {
        Self::default()
    }

    /// A path of keys.
    pub fn keys<'a>(keys: impl IntoIterator<Item = &'a str>) -> Self {
        Self(keys.into_iter().map(|key| Step::Key(key.to_owned())).collect())
    }

    /// One key further.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.0.push(Step::Key(key.into()));
        self
    }

    /// One item further.
    #[must_use]
    pub fn index(mut self, index: usize) -> Self {
        self.0.push(Step::Index(index));
        self
    }

    /// What contains it, and the last step.
    pub fn split(&self) -> Option<(Self, &Step)> {
        let (last, parent) = self.0.split_last()?;
        Some((Self(parent.to_vec()), last))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) => {
                    if place > 0 {
                        out.write_str(".")?;
                    }
                    write_part(out, key, |letter| !matches!(letter, '.' | '[' | ']' | '"' | '\\'))?;
                }
                Step::Index(index) => write!(out, "[{index}]")?,
                Step::Match(key, value) => {
                    out.write_str("[")?;
                    let plain = |letter| !matches!(letter, '=' | '[' | ']' | '"' | '\\');
                    write_part(out, key, plain)?;
                    out.write_str("=")?;
                    write_part(out, value, plain)?;
                    out.write_str("]")?;
                }
            }
        }
        Ok(())
    }
}

fn write_part(
    out: &mut fmt::Formatter<'_>,
    part: &str,
    plain: impl Fn(char) -> bool,
) -> fmt::Result {
    if !part.is_empty() && part.chars().all(plain) {
        return out.write_str(part);
    }
    out.write_str("\"")?;
    for letter in part.chars() {
        if matches!(letter, '"' | '\\') {
            out.write_str("\\")?;
        }
        write!(out, "{letter}")?;
    }
    out.write_str("\"")
}

impl FromStr for Address {
    type Err = Diagnostic;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut reader = Reader { text, rest: text };
        let mut steps = Vec::new();
        while !reader.rest.is_empty() {
            if reader.take('[') {
                steps.push(reader.bracket()?);
            } else {
                if !steps.is_empty() && !reader.take('.') {
                    return Err(reader.wrong("expected `.` or `[`"));
                }
                let key = reader.part(&['.', '['])?;
                steps.push(Step::Key(key));
            }
        }
        Ok(Self(steps))
    }
}

struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
}

impl Reader<'_> {
    fn take(&mut self, letter: char) -> bool {
        let rest = self.rest.strip_prefix(letter);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn wrong(&self, what: &str) -> Diagnostic {
        let at = self.text.len() - self.rest.len() + 1;
        Diagnostic::new(format!("`{}` is no address: {what} at column {at}", self.text))
            .hint("write it like `spec.containers[name=main].image` or `annotations.\"a.b/c\"`")
    }

    fn bracket(&mut self) -> Result<Step, Diagnostic> {
        let part = self.part(&['=', ']'])?;
        let step = if self.take('=') {
            Step::Match(part, self.part(&[']'])?)
        } else {
            Step::Index(part.parse().map_err(|_| self.wrong("expected a number or `key=value`"))?)
        };
        if self.take(']') { Ok(step) } else { Err(self.wrong("expected `]`")) }
    }

    fn part(&mut self, ends: &[char]) -> Result<String, Diagnostic> {
        if !self.take('"') {
            let end = self.rest.find(ends).unwrap_or(self.rest.len());
            let (part, rest) = self.rest.split_at(end);
            if part.is_empty() {
                return Err(self.wrong("expected a name"));
            }
            self.rest = rest;
            return Ok(part.to_owned());
        }
        let mut part = String::new();
        let mut letters = self.rest.char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.rest = &self.rest[at + 1..];
                    return Ok(part);
                }
                '\\' => part.extend(letters.next().map(|(_, letter)| letter)),
                letter => part.push(letter),
            }
        }
        Err(self.wrong("a quote that is not closed begins"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_written() {
        for text in [
            "spec.values.image.tag",
            "spec.containers[0].image",
            "containers[name=main].image",
            "metadata.annotations.\"a.b/c\"",
            "[0][1]",
            "a[\"x=y\"=\"]\\\"\"]",
            "\"\"",
        ] {
            let address: Address = text.parse().expect(text);
            assert_eq!(address.to_string(), text);
        }
        assert_eq!(Address::root().to_string().parse::<Address>().expect("root"), Address::root());
    }

    #[test]
    fn what_is_no_address_is_refused_with_its_column() {
        for text in ["a..b", "a[", "a[x]", "a[x=]", "a]b[0]c", "\"a", "a[0", "a[0]b", "."] {
            let refused = text.parse::<Address>();
            if text == "a]b[0]c" || text == "a[0]b" {
                assert!(refused.is_err(), "{text}");
                continue;
            }
            let error = refused.expect_err(text).to_string();
            assert!(error.contains("column"), "{error}");
        }
    }
}
