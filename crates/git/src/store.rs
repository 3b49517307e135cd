//! The objects of a repository on this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use gix::ObjectId;
use gix::refs::transaction::{Change, LogChange, PreviousValue, RefEdit, RefLog};
use gix::refs::{FullName, Target};
use thiserror::Error;

use crate::error::{RemoteError, chain};
use crate::tree::Revision;

mod receive;

pub use receive::{Depth, Fetched, Want};
pub(crate) use receive::{ReceiveError, flat, tracking};

/// A repository on this machine could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}: {what}: {text}", path.display())]
pub struct StoreError {
    /// The repository.
    pub path: PathBuf,
    /// What was being done.
    pub what: &'static str,
    /// What went wrong.
    pub text: String,
}

/// Something could not be fetched.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FetchError {
    /// The remote did not give it.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// It could not be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How much memory each reader may use to keep objects that it has read, and as much again for those
/// that others are the difference to: folders are read over and over again.
const CACHE: usize = 4 << 20;

/// A repository on this machine. Clones share it.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

struct Shared {
    path: PathBuf,
    repository: gix::ThreadSafeRepository,
    /// Readers that are not used at the moment: making one costs more than a read.
    readers: Mutex<Vec<gix::Repository>>,
    /// Held while it is written where history ends.
    boundary: Mutex<()>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("path", &self.shared.path).finish_non_exhaustive()
    }
}

/// Nothing outside the repository decides how it is read; the path is taken as given.
fn options() -> gix::open::Options {
    // Every fetch adds a pack, and the number of packs that can be known is fixed at the start.
    let slots = gix::odb::store::init::Slots::Given(4096);
    gix::open::Options::isolated().strict_config(false).object_store_slots(slots)
}

impl Store {
    /// Opens a repository: bare, or the one of a working tree.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let repository = options().open(path).map_err(|e| failed(path, "opening", &e))?;
        Ok(Self::new(path.to_owned(), repository))
    }

    /// Opens the repository that a folder lies in; also says the folder of its working tree.
    pub fn discover(folder: &Path) -> Result<(Self, Option<PathBuf>), StoreError> {
        let mut at = Some(folder);
        while let Some(path) = at {
            if path.join(".git").exists() {
                let store = Self::open(path)?;
                let work = store.with(|repo| Ok(repo.workdir().map(Path::to_owned)))?;
                return Ok((store, work));
            }
            at = path.parent();
        }
        let text = "neither it nor a folder above it has a .git".to_owned();
        Err(StoreError { path: folder.to_owned(), what: "finding a repository", text })
    }

    /// Opens a bare repository, or makes an empty one.
    pub fn open_or_create(path: &Path) -> Result<Self, StoreError> {
        if path.join("HEAD").exists() {
            return Self::open(path);
        }
        let io = |what| move |e: std::io::Error| failed(path, what, &e);
        let parent = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(io("creating"))?;
        // Half of a repository is never where a whole one is looked for.
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".new-{}", std::process::id()));
        let fresh = parent.join(name);
        if fresh.exists() {
            fs::remove_dir_all(&fresh).map_err(io("creating"))?;
        }
        gix::ThreadSafeRepository::init_opts(
            &fresh,
            gix::create::Kind::Bare,
            gix::create::Options { destination_must_be_empty: Some(true), ..Default::default() },
            options(),
        )
        .map_err(|e| failed(path, "creating", &e))?;
        if let Err(error) = fs::rename(&fresh, path) {
            let _ = fs::remove_dir_all(&fresh);
            if !path.join("HEAD").exists() {
                return Err(failed(path, "creating", &error));
            }
        }
        Self::open(path)
    }

    fn new(path: PathBuf, repository: gix::ThreadSafeRepository) -> Self {
        Self {
            shared: Arc::new(Shared {
                path,
                repository,
                readers: Mutex::default(),
                boundary: Mutex::default(),
            }),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// How many packs it has.
    pub(crate) fn parts(&self) -> usize {
        let folder = self.shared.path.join("objects").join("pack");
        std::fs::read_dir(folder).map_or(0, |entries| entries.count() / 2)
    }

    /// Whether it is the same one.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Lends a reader.
    pub(crate) fn with<T, E>(
        &self,
        work: impl FnOnce(&gix::Repository) -> Result<T, E>,
    ) -> Result<T, E> {
        let free = self.readers().pop();
        let reader = free.unwrap_or_else(|| {
            let mut reader = self.shared.repository.to_thread_local();
            reader.object_cache_size_if_unset(CACHE);
            reader.objects.set_pack_cache(|| {
                Box::new(gix::odb::pack::cache::lru::MemoryCappedHashmap::new(CACHE))
            });
            reader
        });
        let outcome = work(&reader);
        self.readers().push(reader);
        outcome
    }

    fn readers(&self) -> std::sync::MutexGuard<'_, Vec<gix::Repository>> {
        self.shared.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An error of this store.
    pub(crate) fn failed(
        &self,
        what: &'static str,
        error: &(dyn std::error::Error + 'static),
    ) -> StoreError {
        failed(&self.shared.path, what, error)
    }

    /// The commit that a reference, an id or an expression such as `main~2` names.
    pub fn resolve(&self, revision: &str) -> Result<ObjectId, StoreError> {
        self.with(|repo| {
            let wrong = |e: gix::Error| StoreError {
                path: self.shared.path.clone(),
                what: "finding the revision",
                text: format!("{revision}: {}", chain(&e)),
            };
            let id = repo.rev_parse_single(revision.as_bytes()).map_err(wrong)?;
            let object = id.object().map_err(wrong)?;
            Ok(object.peel_to_kind(gix::objs::Kind::Commit).map_err(wrong)?.id)
        })
    }

    /// The files of a revision.
    pub fn revision(&self, revision: &str) -> Result<Revision, StoreError> {
        let commit = self.resolve(revision)?;
        self.at(commit)
    }

    /// The files of a commit.
    pub fn at(&self, commit: ObjectId) -> Result<Revision, StoreError> {
        let tree = self.with(|repo| {
            let tree = repo.find_commit(commit).and_then(|c| c.tree_id().map(gix::Id::detach));
            tree.map_err(|e| self.failed("reading a commit", &e))
        })?;
        Ok(Revision::new(self.clone(), Some(commit), tree))
    }

    /// No files at all: what a repository without commits has.
    pub fn empty(&self) -> Revision {
        Revision::new(self.clone(), None, ObjectId::empty_tree(gix::hash::Kind::Sha1))
    }

    /// Whether the object is here.
    pub fn has(&self, id: ObjectId) -> bool {
        let found: Result<bool, StoreError> = self.with(|repo| Ok(repo.has_object(id)));
        found.unwrap_or(false)
    }

    /// Where a reference points, if it is there.
    pub fn reference(&self, name: &str) -> Result<Option<ObjectId>, StoreError> {
        self.with(|repo| {
            let found = repo.try_find_reference(name);
            let Some(mut found) = found.map_err(|e| self.failed("reading a reference", &e))? else {
                return Ok(None);
            };
            let id = found.peel_to_id().map_err(|e| self.failed("reading a reference", &e))?;
            Ok(Some(id.detach()))
        })
    }

    /// Every reference that begins with this.
    pub fn references(&self, prefix: &str) -> Result<Vec<(String, ObjectId)>, StoreError> {
        self.with(|repo| {
            let wrong = |e: gix::Error| self.failed("reading references", &e);
            let platform = repo.references().map_err(wrong)?;
            let mut found = Vec::new();
            for reference in platform.prefixed(prefix).map_err(wrong)? {
                // One that cannot be read is none of ours.
                if let Ok(mut reference) = reference
                    && let Ok(id) = reference.peel_to_id()
                {
                    let id = id.detach();
                    found.push((reference.name().as_bstr().to_string(), id));
                }
            }
            Ok(found)
        })
    }

    /// Points a reference somewhere, wherever it pointed before.
    pub fn point(&self, name: &str, to: ObjectId) -> Result<(), StoreError> {
        let change = Change::Update {
            log: LogChange::default(),
            expected: PreviousValue::Any,
            new: Target::Object(to),
        };
        self.edit_reference(name, change)
    }

    /// Removes a reference, if it is there.
    pub fn unpoint(&self, name: &str) -> Result<(), StoreError> {
        if self.reference(name)?.is_none() {
            return Ok(());
        }
        let change = Change::Delete { expected: PreviousValue::Any, log: RefLog::AndReference };
        self.edit_reference(name, change)
    }

    fn edit_reference(&self, name: &str, change: Change) -> Result<(), StoreError> {
        let name = FullName::try_from(name).map_err(|e| self.failed("naming a reference", &e))?;
        self.with(|repo| {
            let edit = RefEdit { change, name, deref: false };
            repo.edit_references_as([edit], None)
                .map(drop)
                .map_err(|e| self.failed("moving a reference", &e))
        })
    }
}

fn failed(
    path: &Path,
    what: &'static str,
    error: &(dyn std::error::Error + 'static),
) -> StoreError {
    StoreError { path: path.to_owned(), what, text: chain(error) }
}
