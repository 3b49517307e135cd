//! Manifests straight from git: of a revision, of what is staged, or of the working tree.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use gix::ObjectId;
use holdfast_manifest::files::{Blob, BlobId, Files, Folder, Found};
use holdfast_manifest::{Diagnostic, Result};

use crate::store::{Store, StoreError};
use crate::tree::{Kind, Revision};

/// No manifest is that large; reading more would only cost memory.
const LARGEST_FILE: u64 = 64 << 20;

/// More links than this in one path are a loop.
const LINKS: usize = 40;

/// Something at a path.
type Item = (Kind, ObjectId);

/// A folder, sorted by name.
type Names = Arc<Vec<(String, Item)>>;

/// Folders by id: revisions that share one share what was read of it.
type Shelf = Arc<RwLock<HashMap<ObjectId, Names>>>;

/// The files of a revision.
#[derive(Clone, Debug)]
pub struct RevisionFiles {
    revision: Revision,
    shelf: Shelf,
}

impl RevisionFiles {
    /// The files of this revision.
    pub fn new(revision: Revision) -> Self {
        Self { revision, shelf: Shelf::default() }
    }

    /// The files of another revision of the same repository: folders that are the same in both are
    /// read once.
    #[must_use]
    pub fn beside(&self, revision: Revision) -> Self {
        let same = self.revision.store().is(revision.store());
        let shelf = if same { self.shelf.clone() } else { Shelf::default() };
        Self { revision, shelf }
    }

    /// The revision.
    pub fn revision(&self) -> &Revision {
        &self.revision
    }

    fn folder(&self, id: ObjectId) -> Result<Names> {
        let known = self.shelf.read().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
        if let Some(names) = known {
            return Ok(names);
        }
        let names = Arc::new(read_folder(self.revision.store(), id).map_err(unreadable)?);
        self.shelf.write().unwrap_or_else(PoisonError::into_inner).insert(id, names.clone());
        Ok(names)
    }
}

fn read_folder(store: &Store, id: ObjectId) -> Result<Vec<(String, Item)>, StoreError> {
    if id.is_empty_tree() {
        return Ok(Vec::new());
    }
    store.with(|repo| {
        let wrong = |e: gix::Error| store.failed("reading a folder", &e);
        let tree = repo.find_tree(id).map_err(wrong)?;
        let decoded = tree.decode().map_err(wrong)?;
        let entries = decoded.entries.iter();
        let mut names: Vec<_> = entries
            .map(|e| (e.filename.to_string(), (Kind::of(e.mode), e.oid.to_owned())))
            .collect();
        names.sort();
        Ok(names)
    })
}

fn unreadable(error: StoreError) -> Diagnostic {
    Diagnostic::new(error.to_string())
}

/// What the index has staged.
#[derive(Clone, Debug)]
pub struct IndexFiles {
    store: Store,
    items: BTreeMap<String, Item>,
}

impl IndexFiles {
    /// What is staged in the repository of a working tree.
    pub fn open(store: Store) -> Result<Self> {
        let items = store.with(|repo| {
            let index = repo
                .index_or_empty()
                .map_err(|e| unreadable(store.failed("reading the index", &e)))?;
            let mut items = BTreeMap::new();
            for entry in index.entries() {
                let path = entry.path(&index);
                let name = path.to_string();
                if entry.stage_raw() != 0 {
                    return Err(Diagnostic::new("is in conflict")
                        .in_file(name)
                        .hint("resolve the conflict and stage the file"));
                }
                if std::str::from_utf8(path).is_err() {
                    return Err(not_utf8("", &name));
                }
                let Some(mode) = entry.mode.to_tree_entry_mode() else { continue };
                items.insert(name, (Kind::of(mode), entry.id));
            }
            Ok(items)
        })?;
        Ok(Self { store, items })
    }
}

/// The files of a working tree, without git's own.
#[derive(Clone, Debug)]
pub struct WorktreeFiles {
    folder: Folder,
}

impl WorktreeFiles {
    /// The files below this folder.
    pub fn open(root: &Path) -> Result<Self> {
        Ok(Self { folder: Folder::new(root)? })
    }

    /// Where they lie.
    pub fn root(&self) -> &Path {
        self.folder.root()
    }
}

fn is_gits(path: &str) -> bool {
    path.split('/').any(|part| part == ".git")
}

impl Files for WorktreeFiles {
    fn find(&self, path: &str) -> Result<Found> {
        if is_gits(path) { Ok(Found::Nothing) } else { self.folder.find(path) }
    }

    fn read(&self, path: &str) -> Result<Option<Blob>> {
        if is_gits(path) { Ok(None) } else { self.folder.read(path) }
    }

    fn list(&self, folder: &str) -> Result<Option<Vec<(String, Found)>>> {
        if is_gits(folder) {
            return Ok(None);
        }
        let mut names = self.folder.list(folder)?;
        if let Some(names) = &mut names {
            names.retain(|(name, _)| name != ".git");
        }
        Ok(names)
    }

    fn real_path(&self, path: &str) -> Result<String> {
        self.folder.real_path(path)
    }
}

/// Files that are known by kind and id, with links as they are written.
trait Bare {
    fn store(&self) -> &Store;

    /// What lies at a path that has no link in it before its last part.
    fn look(&self, path: &str) -> Result<Option<Item>>;

    /// What lies in a folder that has no link in its path.
    fn names(&self, folder: &str) -> Result<Vec<(String, Item)>>;
}

impl Bare for RevisionFiles {
    fn store(&self) -> &Store {
        self.revision.store()
    }

    fn look(&self, path: &str) -> Result<Option<Item>> {
        let mut item = (Kind::Folder, self.revision.tree());
        for part in path.split('/').filter(|part| !part.is_empty()) {
            if item.0 != Kind::Folder {
                return Ok(None);
            }
            let names = self.folder(item.1)?;
            let Ok(at) = names.binary_search_by(|(name, _)| name.as_str().cmp(part)) else {
                return Ok(None);
            };
            item = names[at].1;
        }
        Ok(Some(item))
    }

    fn names(&self, folder: &str) -> Result<Vec<(String, Item)>> {
        match self.look(folder)? {
            Some((Kind::Folder, id)) => Ok(self.folder(id)?.as_ref().clone()),
            _ => Ok(Vec::new()),
        }
    }
}

/// The index has no folders of its own, so they have no id.
const NO_ID: ObjectId = ObjectId::Sha1([0; 20]);

impl Bare for IndexFiles {
    fn store(&self) -> &Store {
        &self.store
    }

    fn look(&self, path: &str) -> Result<Option<Item>> {
        if let Some(item) = self.items.get(path) {
            return Ok(Some(*item));
        }
        let inside = format!("{path}/");
        let first = self.items.range(inside.clone()..).next();
        let folder = path.is_empty() || first.is_some_and(|(name, _)| name.starts_with(&inside));
        Ok(folder.then_some((Kind::Folder, NO_ID)))
    }

    fn names(&self, folder: &str) -> Result<Vec<(String, Item)>> {
        let inside = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let mut names = Vec::new();
        let mut from = inside.clone();
        // From one name to the next, past everything that lies in between.
        while let Some((path, item)) = self.items.range(from.clone()..).next()
            && let Some(rest) = path.strip_prefix(&inside)
        {
            match rest.split_once('/') {
                None => {
                    names.push((rest.to_owned(), *item));
                    from = format!("{path}\0");
                }
                Some((name, _)) => {
                    names.push((name.to_owned(), (Kind::Folder, NO_ID)));
                    // The character after the slash.
                    from = format!("{inside}{name}0");
                }
            }
        }
        names.sort();
        Ok(names)
    }
}

/// A path with its links followed, and what lies there.
fn follow(files: &dyn Bare, path: &str) -> Result<(String, Option<Item>)> {
    match files.look(path)? {
        // The common case: no link on the way, or none that is left to follow.
        Some((kind, id)) if kind != Kind::Link => return Ok((path.to_owned(), Some((kind, id)))),
        _ => {}
    }
    let mut real: Vec<String> = Vec::new();
    let mut rest: Vec<String> =
        path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).rev().collect();
    let mut links = 0;
    let mut item = files.look("")?;
    while let Some(part) = rest.pop() {
        match part.as_str() {
            "" | "." => continue,
            ".." => {
                real.pop().ok_or_else(|| leads_out(path))?;
                item = files.look(&real.join("/"))?;
                continue;
            }
            _ => {}
        }
        real.push(part);
        item = files.look(&real.join("/"))?;
        match item {
            None => return Ok((path.to_owned(), None)),
            Some((Kind::Link, id)) => {
                links += 1;
                if links > LINKS {
                    return Err(Diagnostic::new("a symbolic link leads to itself")
                        .in_file(path)
                        .hint("let it lead to a file"));
                }
                real.pop();
                let target = target(files, id, path)?;
                if target.starts_with('/') {
                    return Err(leads_out(path));
                }
                rest.extend(target.split('/').rev().map(str::to_owned));
                item = files.look(&real.join("/"))?;
            }
            Some(_) => {}
        }
    }
    Ok((real.join("/"), item))
}

fn leads_out(path: &str) -> Diagnostic {
    Diagnostic::new("a symbolic link leads out of the repository")
        .in_file(path)
        .hint("Flux does not follow it either: put the file itself into the repository")
}

fn not_utf8(folder: &str, name: &str) -> Diagnostic {
    Diagnostic::new(format!("the name {name} is not valid UTF-8"))
        .in_file(folder)
        .hint("rename the file")
}

fn target(files: &dyn Bare, id: ObjectId, path: &str) -> Result<String> {
    let bytes = content(files.store(), id, path)?;
    String::from_utf8(bytes).map_err(|_| {
        Diagnostic::new("a symbolic link leads to a name that is not valid UTF-8").in_file(path)
    })
}

fn content(store: &Store, id: ObjectId, path: &str) -> Result<Vec<u8>> {
    store.with(|repo| {
        let wrong =
            |e: gix::Error| unreadable(store.failed("reading a file", &e)).in_file(path);
        let size = repo.find_header(id).map_err(wrong)?.size();
        if size > LARGEST_FILE {
            let (size, most) = (size >> 20, LARGEST_FILE >> 20);
            return Err(Diagnostic::new(format!(
                "the file has {size} MiB; at most {most} MiB are read"
            ))
            .in_file(path)
            .hint("no object in a cluster may be larger than 1.5 MiB: take the file out of the manifests"));
        }
        let mut blob = repo.find_blob(id).map_err(wrong)?;
        Ok(std::mem::take(&mut blob.data))
    })
}

fn blob_id(id: ObjectId) -> BlobId {
    let mut bytes = [0; 20];
    bytes.copy_from_slice(&id.as_bytes()[..20]);
    BlobId(bytes)
}

fn found(item: Option<Item>) -> Found {
    match item {
        None => Found::Nothing,
        // Not checked out, a submodule is an empty folder.
        Some((Kind::Folder | Kind::Submodule, _)) => Found::Folder,
        Some(_) => Found::File,
    }
}

macro_rules! files_of_bare {
    ($of:ty) => {
        impl Files for $of {
            fn find(&self, path: &str) -> Result<Found> {
                Ok(found(follow(self, path)?.1))
            }

            fn read(&self, path: &str) -> Result<Option<Blob>> {
                match follow(self, path)?.1 {
                    Some((Kind::File | Kind::Program, id)) => {
                        let bytes = content(self.store(), id, path)?;
                        Ok(Some(Blob { id: blob_id(id), bytes: bytes.into() }))
                    }
                    _ => Ok(None),
                }
            }

            fn list(&self, folder: &str) -> Result<Option<Vec<(String, Found)>>> {
                let (real, item) = follow(self, folder)?;
                if found(item) != Found::Folder {
                    return Ok(None);
                }
                let mut names = Vec::new();
                for (name, item) in self.names(&real)? {
                    if name.contains(char::REPLACEMENT_CHARACTER) {
                        return Err(not_utf8(folder, &name));
                    }
                    let kind = match item.0 {
                        Kind::Link => {
                            let path = if real.is_empty() {
                                name.clone()
                            } else {
                                format!("{real}/{name}")
                            };
                            // One that leads nowhere is told when it is read.
                            match follow(self, &path) {
                                Ok((_, item)) if found(item) == Found::Folder => Found::Folder,
                                _ => Found::File,
                            }
                        }
                        _ => found(Some(item)),
                    };
                    names.push((name, kind));
                }
                Ok(Some(names))
            }

            fn real_path(&self, path: &str) -> Result<String> {
                Ok(follow(self, path)?.0)
            }
        }
    };
}

files_of_bare!(RevisionFiles);
files_of_bare!(IndexFiles);

#[cfg(test)]
mod tests;
