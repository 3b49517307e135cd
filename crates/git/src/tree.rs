//! The files of a revision, read and changed without a checkout.

use std::collections::BTreeMap;

use gix::ObjectId;
use gix::objs::tree::EntryKind;
use thiserror::Error;

use crate::store::{Store, StoreError};

/// Files could not be read or changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TreeError {
    /// The path cannot be one of a file in a repository.
    #[error("{path:?} is no path of a file in a repository: {why}")]
    Path {
        /// The path.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Something else than a file is there.
    #[error("{path} cannot be written: {there} is {what}")]
    NotAFile {
        /// The path that was to be written.
        path: String,
        /// The path at which the other thing is.
        there: String,
        /// What is there.
        what: Kind,
    },
    /// There is nothing to remove.
    #[error("{0} cannot be removed: it is not there")]
    NotThere(String),
    /// The repository could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What lies at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A file.
    File,
    /// A file that may be run.
    Program,
    /// A folder.
    Folder,
    /// A symbolic link: its content is where it leads.
    Link,
    /// A commit of another repository.
    Submodule,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::File | Self::Program => "a file",
            Self::Folder => "a folder",
            Self::Link => "a symbolic link",
            Self::Submodule => "a submodule",
        })
    }
}

impl Kind {
    pub(crate) fn of(mode: gix::objs::tree::EntryMode) -> Self {
        match mode.kind() {
            EntryKind::Blob => Self::File,
            EntryKind::BlobExecutable => Self::Program,
            EntryKind::Tree => Self::Folder,
            EntryKind::Link => Self::Link,
            EntryKind::Commit => Self::Submodule,
        }
    }

    pub(crate) fn entry(self) -> EntryKind {
        match self {
            Self::File => EntryKind::Blob,
            Self::Program => EntryKind::BlobExecutable,
            Self::Folder => EntryKind::Tree,
            Self::Link => EntryKind::Link,
            Self::Submodule => EntryKind::Commit,
        }
    }
}

/// Something in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name; what is no UTF-8 in it is replaced.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// The id of its content.
    pub id: ObjectId,
}

/// One change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileEdit {
    /// A file has this content from now on. It stays a program if it is one.
    Write {
        /// The path.
        path: String,
        /// The content.
        content: Vec<u8>,
    },
    /// A file is gone from now on.
    Remove {
        /// The path.
        path: String,
    },
}

impl FileEdit {
    /// A file has this content from now on.
    pub fn write(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self::Write { path: path.into(), content: content.into() }
    }

    /// A file is gone from now on.
    pub fn remove(path: impl Into<String>) -> Self {
        Self::Remove { path: path.into() }
    }

    /// The path.
    pub fn path(&self) -> &str {
        match self {
            Self::Write { path, .. } | Self::Remove { path } => path,
        }
    }
}

/// The files of one revision.
#[derive(Clone, Debug)]
pub struct Revision {
    store: Store,
    commit: Option<ObjectId>,
    tree: ObjectId,
}

impl Revision {
    pub(crate) fn new(store: Store, commit: Option<ObjectId>, tree: ObjectId) -> Self {
        Self { store, commit, tree }
    }

    /// The commit; none before the first.
    pub fn commit(&self) -> Option<ObjectId> {
        self.commit
    }

    /// The root folder.
    pub fn tree(&self) -> ObjectId {
        self.tree
    }

    /// The repository.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// What lies at a path; the root if the path is empty.
    pub fn find(&self, path: &str) -> Result<Option<(Kind, ObjectId)>, StoreError> {
        self.store.with(|repo| {
            find(repo, self.tree, path).map_err(|e| self.store.failed("reading a folder", &e))
        })
    }

    /// The content of a file or a link; `None` if there is none.
    pub fn read(&self, path: &str) -> Result<Option<Vec<u8>>, StoreError> {
        match self.find(path)? {
            Some((Kind::File | Kind::Program | Kind::Link, id)) => self.blob(id).map(Some),
            _ => Ok(None),
        }
    }

    /// The content with this id.
    pub fn blob(&self, id: ObjectId) -> Result<Vec<u8>, StoreError> {
        self.store.with(|repo| {
            let mut blob =
                repo.find_blob(id).map_err(|e| self.store.failed("reading a file", &e))?;
            Ok(std::mem::take(&mut blob.data))
        })
    }

    /// What is in a folder, in git's order; `None` if there is no such folder.
    pub fn list(&self, path: &str) -> Result<Option<Vec<Entry>>, StoreError> {
        let Some((Kind::Folder, id)) = self.find(path)? else { return Ok(None) };
        if id.is_empty_tree() {
            return Ok(Some(Vec::new()));
        }
        self.store.with(|repo| {
            let wrong = |e: gix::Error| self.store.failed("reading a folder", &e);
            let tree = repo.find_tree(id).map_err(wrong)?;
            let decoded = tree.decode().map_err(wrong)?;
            let entries = decoded.entries.iter().map(|entry| Entry {
                name: entry.filename.to_string(),
                kind: Kind::of(entry.mode),
                id: entry.oid.to_owned(),
            });
            Ok(Some(entries.collect()))
        })
    }

    /// The root folder that these edits lead to. Reads and writes only the folders on their way.
    pub fn edit(&self, edits: &[FileEdit]) -> Result<ObjectId, TreeError> {
        for edit in edits {
            check_path(edit.path())?;
        }
        self.store.with(|repo| {
            let wrong = |e: gix::Error| TreeError::Store(self.store.failed("editing files", &e));
            let mut editor = repo.edit_tree(self.tree).map_err(wrong)?;
            // Edits build on each other: what an earlier one did is seen by a later one.
            let mut done: BTreeMap<&str, bool> = BTreeMap::new();
            for edit in edits {
                let path = edit.path();
                let there = match done.get(path) {
                    Some(true) => Some(Kind::File),
                    Some(false) => None,
                    None => find(repo, self.tree, path).map_err(wrong)?.map(|(kind, _)| kind),
                };
                match edit {
                    FileEdit::Remove { .. } => match there {
                        None => return Err(TreeError::NotThere(path.to_owned())),
                        Some(Kind::Folder | Kind::Submodule) => {
                            return Err(TreeError::NotAFile {
                                path: path.to_owned(),
                                there: path.to_owned(),
                                what: there.unwrap_or(Kind::Folder),
                            });
                        }
                        Some(_) => {
                            editor.remove(path).map_err(wrong)?;
                            done.insert(path, false);
                        }
                    },
                    FileEdit::Write { content, .. } => {
                        let kind = self.writable(repo, path, there, &done)?;
                        let id = repo.write_blob(content).map_err(wrong)?.detach();
                        // A file that was written twice keeps what it was at first.
                        editor.upsert(path, kind.entry(), id).map_err(wrong)?;
                        done.insert(path, true);
                    }
                }
            }
            Ok(editor.write().map_err(wrong)?.detach())
        })
    }

    /// As what a path may be written.
    fn writable(
        &self,
        repo: &gix::Repository,
        path: &str,
        there: Option<Kind>,
        done: &BTreeMap<&str, bool>,
    ) -> Result<Kind, TreeError> {
        let wrong = |e: gix::Error| TreeError::Store(self.store.failed("editing files", &e));
        let kind = match there {
            None => Kind::File,
            Some(Kind::File) if done.contains_key(path) => {
                let before = find(repo, self.tree, path).map_err(wrong)?;
                before.map_or(Kind::File, |(kind, _)| kind)
            }
            Some(kind @ (Kind::File | Kind::Program)) => kind,
            Some(what) => {
                let there = path.to_owned();
                return Err(TreeError::NotAFile { path: path.to_owned(), there, what });
            }
        };
        for (at, _) in path.match_indices('/') {
            let folder = &path[..at];
            let above = match done.get(folder) {
                Some(true) => Some(Kind::File),
                Some(false) => None,
                None => find(repo, self.tree, folder).map_err(wrong)?.map(|(kind, _)| kind),
            };
            if let Some(what) = above.filter(|kind| *kind != Kind::Folder) {
                let there = folder.to_owned();
                return Err(TreeError::NotAFile { path: path.to_owned(), there, what });
            }
        }
        Ok(kind)
    }
}

/// What lies at a path of a tree.
pub(crate) fn find(
    repo: &gix::Repository,
    root: ObjectId,
    path: &str,
) -> Result<Option<(Kind, ObjectId)>, gix::Error> {
    if path.is_empty() {
        return Ok(Some((Kind::Folder, root)));
    }
    if root.is_empty_tree() {
        return Ok(None);
    }
    let tree = repo.find_tree(root)?;
    let entry = tree.lookup_entry(path.split('/').map(str::as_bytes))?;
    Ok(entry.map(|entry| (Kind::of(entry.mode()), entry.object_id())))
}

/// Refuses what git would, and what would be another file on another machine.
pub fn check_path(path: &str) -> Result<(), TreeError> {
    let refuse = |why| Err(TreeError::Path { path: path.to_owned(), why });
    if path.is_empty() {
        return refuse("it is empty");
    }
    if path.contains(['\0', '\\']) || path.chars().any(char::is_control) {
        return refuse("it has a backslash or a control character in it");
    }
    for part in path.split('/') {
        match part {
            "" => return refuse("it begins or ends with a slash, or has two in a row"),
            "." | ".." => return refuse("it has . or .. in it"),
            part if part.eq_ignore_ascii_case(".git") || part.eq_ignore_ascii_case("git~1") => {
                return refuse("it leads into .git");
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
