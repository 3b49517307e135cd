//! Commits: who, when, why, and trailers by which they are found again.

use gix::ObjectId;
use gix::bstr::BString;
use gix::objs::WriteTo as _;
use thiserror::Error;

use crate::sign::{SignError, Signer};
use crate::store::{Store, StoreError};

/// A commit could not be made.
#[derive(Debug, Error)]
pub enum CommitError {
    /// It could not be signed.
    #[error("the commit could not be signed: {0}")]
    Sign(#[from] SignError),
    /// It could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A moment, and the clock it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Seconds since 1970.
    pub seconds: i64,
    /// How far the clock is ahead of UTC, in seconds.
    pub offset: i32,
}

impl Moment {
    /// So many seconds since 1970, in UTC.
    pub fn utc(seconds: i64) -> Self {
        Self { seconds, offset: 0 }
    }
}

/// A name and an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The name.
    pub name: String,
    /// The e-mail address.
    pub email: String,
}

impl Person {
    /// A name and an address.
    pub fn new(name: impl Into<String>, email: impl Into<String>) -> Self {
        Self { name: name.into(), email: email.into() }
    }

    fn signature(&self, at: Moment) -> gix::actor::Signature {
        gix::actor::Signature {
            name: tidy(&self.name, "unknown").into(),
            email: tidy(&self.email, "unknown@localhost").into(),
            time: gix::date::Time::new(at.seconds, at.offset),
        }
    }
}

/// What git would cut off names and addresses, so that the header can be read again.
fn tidy(text: &str, otherwise: &str) -> String {
    let clean: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .filter(|c| !"<>".contains(*c))
        .collect();
    let crud = |c: char| c.is_whitespace() || ".,:;\"\\'".contains(c);
    let clean = clean.trim_matches(crud);
    if clean.is_empty() { otherwise.to_owned() } else { clean.to_owned() }
}

/// A line such as `Holdfast-Operation: upgrade/plex-7` at the end of a message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trailer {
    /// Before the colon.
    pub key: String,
    /// After it.
    pub value: String,
}

impl Trailer {
    /// A trailer. What cannot be in one is left out of it: a key is of letters, digits and dashes,
    /// and a value is one line.
    pub fn new(key: impl AsRef<str>, value: impl AsRef<str>) -> Self {
        let key = key.as_ref().chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        let value = value.as_ref().split_whitespace().collect::<Vec<_>>().join(" ");
        Self { key, value }
    }
}

/// Why a change was made.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Message {
    /// The message: a line, and perhaps an empty one and more.
    pub text: String,
    /// The trailers below it.
    pub trailers: Vec<Trailer>,
}

impl Message {
    /// A message without trailers.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), trailers: Vec::new() }
    }

    /// With one trailer more.
    #[must_use]
    pub fn with(mut self, key: impl AsRef<str>, value: impl AsRef<str>) -> Self {
        self.trailers.push(Trailer::new(key, value));
        self
    }

    /// The whole message as it is committed.
    pub fn render(&self) -> String {
        let text = self.text.replace("\r\n", "\n").replace('\0', "");
        let lines: Vec<_> = text.trim().lines().map(str::trim_end).collect();
        let mut text = lines.join("\n");
        if text.is_empty() {
            text = "(no message)".to_owned();
        }
        if !self.trailers.is_empty() {
            // A block of trailers that the text ends with is continued, not followed by another.
            text.push_str(if trailers(&text).is_empty() { "\n\n" } else { "\n" });
            let lines = self.trailers.iter().map(|t| format!("{}: {}", t.key, t.value));
            text.push_str(&lines.collect::<Vec<_>>().join("\n"));
        }
        text.push('\n');
        text
    }
}

/// The trailers of a message: the last paragraph, if it is not the first and all of it are trailers.
pub fn trailers(message: &str) -> Vec<Trailer> {
    let message = message.trim_end();
    let Some(at) = message.rfind("\n\n") else { return Vec::new() };
    let mut found: Vec<Trailer> = Vec::new();
    for line in message[at + 2..].lines() {
        if line.starts_with([' ', '\t']) && !found.is_empty() {
            if let Some(last) = found.last_mut() {
                last.value = format!("{} {}", last.value, line.trim());
            }
            continue;
        }
        let Some((key, value)) = line.split_once(':') else { return Vec::new() };
        let good = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        if !good {
            return Vec::new();
        }
        found.push(Trailer { key: key.to_owned(), value: value.trim().to_owned() });
    }
    found
}

/// A commit that is to be made.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The root folder.
    pub tree: ObjectId,
    /// What it comes after.
    pub parents: Vec<ObjectId>,
    /// Who made the change.
    pub author: Person,
    /// When.
    pub authored: Moment,
    /// Who commits it.
    pub committer: Person,
    /// When.
    pub committed: Moment,
    /// Why.
    pub message: Message,
}

impl Store {
    /// Makes a commit. No reference points to it yet.
    pub fn commit(&self, draft: &Draft, signer: Option<&Signer>) -> Result<ObjectId, CommitError> {
        let mut commit = gix::objs::Commit {
            tree: draft.tree,
            parents: draft.parents.iter().copied().collect(),
            author: draft.author.signature(draft.authored),
            committer: draft.committer.signature(draft.committed),
            encoding: None,
            message: draft.message.render().into(),
            extra_headers: Vec::new(),
        };
        if let Some(signer) = signer {
            let mut payload = Vec::new();
            commit.write_to(&mut payload).map_err(|e| self.failed("writing a commit", &e))?;
            let signature = signer.sign(&payload, draft.committed)?;
            let signature = BString::from(signature.trim_end());
            commit.extra_headers.push(("gpgsig".into(), signature));
        }
        Ok(self.with(|repo| {
            if draft.tree.is_empty_tree() {
                // The library takes it for granted; other readers want it to be there.
                gix::objs::Write::write_buf(&repo.objects, gix::objs::Kind::Tree, b"")
                    .map_err(|e| self.failed("writing a commit", &e))?;
            }
            let id = repo.write_object(&commit);
            id.map(gix::Id::detach).map_err(|e| self.failed("writing a commit", &e))
        })?)
    }

    /// The message of a commit.
    pub fn message(&self, commit: ObjectId) -> Result<String, StoreError> {
        self.with(|repo| {
            let wrong = |e: gix::Error| self.failed("reading a commit", &e);
            let commit = repo.find_commit(commit).map_err(wrong)?;
            Ok(commit.message_raw().map_err(wrong)?.to_string())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailers_go_below_and_are_found_again() {
        let message = Message::new("Upgrade plex\r\n\r\nTo 1.2.  \n\n").with("Holdfast-Id", "a\nb");
        assert_eq!(message.render(), "Upgrade plex\n\nTo 1.2.\n\nHoldfast-Id: a b\n");
        assert_eq!(trailers(&message.render()), [Trailer::new("Holdfast-Id", "a b")]);

        let signed = Message::new("Fix\n\nSigned-off-by: A <a@b>").with("Holdfast-Id", "1");
        assert_eq!(signed.render(), "Fix\n\nSigned-off-by: A <a@b>\nHoldfast-Id: 1\n");
        assert_eq!(trailers(&signed.render()).len(), 2);

        assert_eq!(Message::new("").render(), "(no message)\n");
    }

    #[test]
    fn a_subject_or_prose_is_no_trailer() {
        assert!(trailers("fix: this\n").is_empty());
        assert!(trailers("fix: this\n\nBecause: it was\nbroken and sad\n").is_empty());
        assert_eq!(
            trailers("fix\n\nA: 1\n  more\nB: 2\n"),
            [Trailer::new("A", "1 more"), Trailer::new("B", "2")]
        );
    }

    #[test]
    fn names_cannot_break_the_header() {
        let person = Person::new(" <Eve>\n\"", "eve@x>\nparent 0");
        let signature = person.signature(Moment { seconds: 1, offset: 3600 });
        assert_eq!(signature.name, "Eve");
        assert_eq!(signature.email, "eve@x parent 0");
        assert_eq!(Person::new("", "").signature(Moment::utc(0)).name, "unknown");
    }
}
