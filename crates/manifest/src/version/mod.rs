//! Which lines say what version of something runs, and how to change them: charts, images and the
//! variables they come from.

mod change;
mod charts;
mod images;
mod inventory;
mod reference;
mod variables;

pub use change::{Change, FileChange, Registry, edits};
pub use inventory::{Inventory, Object};
pub use reference::{Reference, floats, is_digest, is_tag};

use crate::diagnostic::{Diagnostic, Result};
use crate::document::{Address, Identity};
use crate::yaml::Mark;

/// What a version is the version of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// A Helm chart.
    Chart,
    /// A container image.
    Image,
}

/// How a version is written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// A whole image reference in one scalar.
    Image,
    /// The tag in one scalar, with or without a digest behind it.
    Tag,
    /// A chart's version or a range of versions.
    Version,
    /// The digest alone.
    Digest,
    /// The default within a variable: `${TAG:=1.2.3}`, possibly in a longer text.
    Default {
        /// The variable's name.
        variable: String,
        /// The default, as it is written.
        text: String,
    },
}

/// One scalar that says a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: String,
    /// Which document of the file.
    pub document: usize,
    /// Where in the document. If an alias stands there, its anchor is what is edited.
    pub address: Address,
    /// Line and column.
    pub mark: Mark,
    /// How it is written.
    pub form: Form,
}

/// A version that an object uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Chart or image.
    pub subject: Subject,
    /// The chart's name or source, or the image without its tag.
    pub name: String,
    /// What it is now: tag and digest.
    pub current: Reference,
    /// Where the version is written.
    pub place: Place,
    /// Where the digest is written, if it has a scalar of its own.
    pub digest: Option<Place>,
    /// How the place was found, step by step.
    pub explanation: String,
    /// Other objects that use the same place: a change is a change of all of them.
    pub shared: Vec<Identity>,
    /// Why the version does not say what runs, if it does not: nothing in git changes when it moves.
    pub floating: Option<String>,
}

/// The versions that an object uses, found from the object. The same place is named once.
pub fn find(inventory: &Inventory, object: &Object) -> Result<Vec<Version>> {
    let mut versions = charts::find(inventory, object);
    versions.extend(images::find(inventory, object));
    let mut found: Vec<Version> = Vec::new();
    for version in versions {
        for version in variables::resolve(inventory, object, version) {
            if !found.iter().any(|other| other.place == version.place) {
                found.push(version);
            }
        }
    }
    Ok(found)
}

/// The versions of the object that is called so.
pub fn find_by_identity(inventory: &Inventory, identity: &Identity) -> Result<Vec<Version>> {
    match inventory.find(identity).as_slice() {
        [] => Err(Diagnostic::new(format!("{identity} is in none of the files"))),
        [one] => find(inventory, one),
        several => {
            let paths: Vec<_> = several.iter().map(|object| object.path.as_str()).collect();
            Err(Diagnostic::new(format!("{identity} is in several files: {}", paths.join(", ")))
                .hint("say which file is meant"))
        }
    }
}

#[cfg(test)]
mod tests;
