//! From a new version to bytes: tag and digest together, and never a tag where a reference was.

use std::collections::BTreeMap;

use super::{Form, Place, Reference, Subject, Version, is_digest, is_tag};
use crate::diagnostic::{Diagnostic, Result};
use crate::document::{Address, Documents, Edit, Step, apply};
use crate::files::{self, BlobId, Files};
use crate::yaml::Node;

/// Who knows which digest a tag has.
pub trait Registry {
    /// The digest of an image's or chart's tag. The name is as it is written, `ghcr.io/a/b`.
    fn digest(&self, name: &str, tag: &str) -> Result<String>;
}

/// A new version for a place.
#[derive(Clone, Debug)]
pub struct Change<'a> {
    /// What changes.
    pub version: &'a Version,
    /// The new tag, or the chart's new version.
    pub tag: String,
    /// Its digest, if it is known. Where a digest is written it is needed, and asked for if it is not.
    pub digest: Option<String>,
}

/// The edits of one file.
#[derive(Clone, Debug)]
pub struct FileChange {
    /// The file.
    pub path: String,
    /// The content the edits are for.
    pub before: BlobId,
    /// The edits, none overlapping.
    pub edits: Vec<Edit>,
    /// The file with the edits made.
    pub text: String,
}

/// The edits that make the changes, by file.
pub fn edits(
    files: &dyn Files,
    changes: &[Change<'_>],
    registry: Option<&dyn Registry>,
) -> Result<Vec<FileChange>> {
    let mut wanted: BTreeMap<&str, Vec<Wanted<'_>>> = BTreeMap::new();
    for change in changes {
        for new in wanted_by(change, registry)? {
            let list = wanted.entry(new.place.path.as_str()).or_default();
            match list.iter().find(|other| other.is_at(&new)) {
                None => list.push(new),
                Some(other) if other.text == new.text => {}
                Some(other) => {
                    let message = format!(
                        "`{}` cannot be both {} and {}",
                        new.place.address, other.text, new.text
                    );
                    return Err(Diagnostic::new(message)
                        .at(new.place.mark)
                        .in_file(&*new.place.path));
                }
            }
        }
    }
    wanted.into_iter().map(|(path, wanted)| edit_file(files, path, &wanted)).collect()
}

struct Wanted<'a> {
    place: &'a Place,
    /// Where the place itself has no room for it.
    beside: Option<&'static str>,
    text: String,
}

impl Wanted<'_> {
    fn address(&self) -> Address {
        let Some(beside) = self.beside else { return self.place.address.clone() };
        let parent = self.place.address.split().map(|(parent, _)| parent).unwrap_or_default();
        parent.key(beside)
    }

    fn is_at(&self, other: &Self) -> bool {
        self.place.document == other.place.document && self.address() == other.address()
    }
}

fn wanted_by<'a>(change: &Change<'a>, registry: Option<&dyn Registry>) -> Result<Vec<Wanted<'a>>> {
    let version = change.version;
    let refuse = |message: String| {
        Diagnostic::new(message).at(version.place.mark).in_file(&*version.place.path)
    };
    let tag = checked_tag(change)
        .map_err(|error| error.at(version.place.mark).in_file(&*version.place.path))?;
    if let Some(digest) = change.digest.as_deref().filter(|digest| !is_digest(digest)) {
        return Err(refuse(format!("`{digest}` is no digest"))
            .hint("a digest is `sha256:` and 64 hexadecimal digits"));
    }
    let digest = match (&change.digest, version.current.digest.is_some(), registry) {
        (Some(digest), ..) => Some(digest.clone()),
        (None, false, _) => None,
        (None, true, Some(registry)) if !version.name.is_empty() => {
            let digest = registry.digest(&version.name, &tag).map_err(|error| {
                error.while_doing(format!("asking for the digest of {}:{tag}", version.name))
            })?;
            if !is_digest(&digest) {
                return Err(refuse(format!(
                    "the registry answered `{digest}`, which is no digest"
                )));
            }
            Some(digest)
        }
        (None, true, _) => {
            return Err(refuse(format!(
                "the tag has a digest beside it, and the digest of {tag} is not known"
            ))
            .hint(
                "give the digest too: with the old one, the old image would run under a new tag",
            ));
        }
    };
    let new = |place, text| Wanted { place, beside: None, text };
    let place = &version.place;
    let written = |name: &str, digest: Option<String>| Reference {
        name: name.to_owned(),
        tag: Some(tag.clone()),
        digest,
    };
    let mut wanted = Vec::new();
    if let Some(place) = &version.digest {
        wanted.extend(digest.clone().map(|digest| new(place, digest)));
    }
    let apart = version.digest.is_some();
    match &place.form {
        Form::Image => {
            let mut reference = written(&version.current.name, digest);
            if version.current.tag.is_none() && version.current.digest.is_some() {
                reference.tag = None;
            }
            wanted.push(new(place, reference.to_string()));
        }
        Form::Tag if !apart && digest.is_some() && has_own_digest(place) => {
            let beside = Some("digest");
            wanted.push(Wanted { place, beside, text: digest.unwrap_or_default() });
            wanted.push(new(place, tag));
        }
        Form::Tag => {
            let text = written("", digest.filter(|_| !apart)).to_string();
            wanted.push(new(place, text));
        }
        Form::Version => wanted.push(new(place, tag)),
        Form::Digest => match digest {
            Some(digest) => wanted.push(new(place, digest)),
            None => {
                return Err(
                    refuse(format!("the digest of {tag} is not known")).hint("give the digest")
                );
            }
        },
        Form::Default { .. } => {
            wanted.push(new(place, written("", digest.filter(|_| !apart)).to_string()));
        }
    }
    Ok(wanted)
}

/// Whether the schema of the place has a field of its own for the digest.
fn has_own_digest(place: &Place) -> bool {
    match place.address.0.as_slice() {
        [.., Step::Key(key)] if key == "newTag" => true,
        [Step::Key(spec), Step::Key(reference), Step::Key(tag)] => {
            spec == "spec" && reference == "ref" && tag == "tag"
        }
        _ => false,
    }
}

fn checked_tag(change: &Change<'_>) -> Result<String> {
    let (tag, version) = (change.tag.as_str(), change.version);
    if tag.contains(['/', ':', '@']) {
        return Err(Diagnostic::new(format!("`{tag}` is a reference, not a tag"))
            .hint("give the tag and the digest each by itself"));
    }
    let tag = match (version.subject, &version.place.form) {
        // A registry has no room for `+`; Helm writes `_` instead.
        (Subject::Chart, Form::Tag) => tag.replace('+', "_"),
        _ => tag.to_owned(),
    };
    let fits = match version.place.form {
        Form::Version => {
            let written = |byte: u8| byte.is_ascii_alphanumeric() || b".-+_".contains(&byte);
            !tag.is_empty() && tag.bytes().all(written)
        }
        _ => is_tag(&tag),
    };
    if !fits {
        return Err(Diagnostic::new(format!("`{tag}` is no tag"))
            .hint("a tag has letters, digits, `_`, `.` and `-`, at most 128"));
    }
    Ok(tag)
}

fn edit_file(files: &dyn Files, path: &str, wanted: &[Wanted<'_>]) -> Result<FileChange> {
    let Some(blob) = files.read(path)? else {
        return Err(Diagnostic::new("the file is not there any more").in_file(path));
    };
    let text = files::text(path, &blob)?;
    let made = || -> Result<FileChange> {
        let documents = Documents::parse(text)?;
        let mut edits: Vec<Edit> = Vec::new();
        for new in wanted {
            let edit = edit(&documents, new)?;
            // Two aliases of one anchor are one place.
            if !edits.contains(&edit) {
                edits.push(edit);
            }
        }
        // Keys put in at the same place have to be made one after the other.
        let text = apply(text, &edits)?;
        Ok(FileChange { path: path.to_owned(), before: blob.id, edits, text })
    };
    made().map_err(|error| error.in_file(path))
}

fn edit(documents: &Documents, new: &Wanted<'_>) -> Result<Edit> {
    let document = new.place.document;
    let address = documents.origin(document, &new.address())?;
    let current = documents.get(document, &address)?;
    let current = current.as_ref().and_then(Node::text).unwrap_or_default();
    let text = match &new.place.form {
        Form::Default { variable, text } => {
            let moved = || {
                Diagnostic::new(format!("`{variable}` has another default by now"))
                    .at(new.place.mark)
            };
            let operators = [":=", ":-", "=", "-"];
            let written = operators
                .iter()
                .map(|operator| (operator, format!("${{{variable}{operator}{text}}}")))
                .find(|(_, written)| current.contains(written.as_str()));
            let (operator, written) = written.ok_or_else(moved)?;
            current.replacen(&written, &format!("${{{variable}{operator}{}}}", new.text), 1)
        }
        _ if current.contains("${") => {
            let message = format!("`{current}` is put together from variables");
            return Err(Diagnostic::new(message)
                .at(new.place.mark)
                .hint("change the variables where they get their values"));
        }
        _ => new.text.clone(),
    };
    documents.set(document, &address, &Node::string(text))
}
