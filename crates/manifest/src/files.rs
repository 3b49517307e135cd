//! Where manifests are read from: a folder, a revision, an index, or memory.
//!
//! Paths are relative to the root, separated by `/`, without `.`, `..` or empty parts; the root itself
//! is the empty path. Symbolic links are followed by the implementation, never out of the root.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sha1::{Digest, Sha1};

use crate::diagnostic::{Diagnostic, Result};

mod folder;

pub use folder::Folder;

/// The id git gives to a file's content: what two revisions share if a file is the same in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobId(pub [u8; 20]);

impl BlobId {
    /// The id of this content.
    pub fn of(content: &[u8]) -> Self {
        let mut hash = Sha1::new();
        hash.update(format!("blob {}\0", content.len()));
        hash.update(content);
        Self(hash.finalize().into())
    }
}

/// A file's content and its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    /// Equal ids mean equal content.
    pub id: BlobId,
    /// The content.
    pub bytes: Arc<[u8]>,
}

/// What lies at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Found {
    /// Nothing does.
    Nothing,
    /// A file.
    File,
    /// A folder.
    Folder,
}

/// A tree of files, wherever it lies.
pub trait Files: Send + Sync {
    /// What lies at the path.
    fn find(&self, path: &str) -> Result<Found>;

    /// The file at the path; `None` if there is none or it is a folder.
    fn read(&self, path: &str) -> Result<Option<Blob>>;

    /// The file at the path, and its path with every symbolic link followed.
    fn read_real(&self, path: &str) -> Result<Option<(Blob, String)>> {
        let Some(blob) = self.read(path)? else { return Ok(None) };
        Ok(Some((blob, self.real_path(path)?)))
    }

    /// Names in the folder, sorted, with what they are; `None` if there is no such folder.
    fn list(&self, folder: &str) -> Result<Option<Vec<(String, Found)>>>;

    /// What the root itself is called where it lies, if that is known.
    fn root_name(&self) -> Option<String> {
        None
    }

    /// The path with every symbolic link followed.
    fn real_path(&self, path: &str) -> Result<String> {
        Ok(path.to_owned())
    }
}

/// Joins a path written in a file to the folder it is written in. `None` if it leaves the root.
pub fn join(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The folder a path lies in, and its last part.
pub fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Files in memory.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    files: BTreeMap<String, Blob>,
    folders: BTreeSet<String>,
}

impl Memory {
    /// No files yet.
    pub fn new() -> Self {
        Self { folders: BTreeSet::from([String::new()]), ..Self::default() }
    }

    /// With one file more, replacing one of the same path.
    #[must_use]
    pub fn with(mut self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.insert(path, content);
        self
    }

    /// Adds or replaces a file.
    pub fn insert(&mut self, path: &str, content: impl AsRef<[u8]>) {
        let content = content.as_ref();
        let blob = Blob { id: BlobId::of(content), bytes: content.into() };
        let mut folder = split(path).0;
        while self.folders.insert(folder.to_owned()) {
            folder = split(folder).0;
        }
        self.files.insert(path.to_owned(), blob);
    }
}

impl Files for Memory {
    fn find(&self, path: &str) -> Result<Found> {
        Ok(if self.files.contains_key(path) {
            Found::File
        } else if self.folders.contains(path) {
            Found::Folder
        } else {
            Found::Nothing
        })
    }

    fn read(&self, path: &str) -> Result<Option<Blob>> {
        Ok(self.files.get(path).cloned())
    }

    fn list(&self, folder: &str) -> Result<Option<Vec<(String, Found)>>> {
        if !self.folders.contains(folder) {
            return Ok(None);
        }
        let inside = |path: &String| {
            let (parent, name) = split(path);
            (parent == folder && !name.is_empty()).then(|| name.to_owned())
        };
        let mut names: Vec<_> =
            (self.files.keys().filter_map(inside).map(|name| (name, Found::File)))
                .chain(self.folders.iter().filter_map(inside).map(|name| (name, Found::Folder)))
                .collect();
        names.sort();
        Ok(Some(names))
    }
}

/// The text of a file, or why it is none.
pub fn text<'a>(path: &str, blob: &'a Blob) -> Result<&'a str> {
    std::str::from_utf8(&blob.bytes).map_err(|error| {
        let before = &blob.bytes[..error.valid_up_to()];
        let line = before.split(|byte| *byte == b'\n').count();
        Diagnostic::new(format!("line {line} is not valid UTF-8"))
            .in_file(path)
            .hint("save the file as UTF-8, or give binary content to a generator's `files`")
    })
}
