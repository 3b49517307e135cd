//! Backup repositories in an object store: a plain format of our own that both engines' movers write.
//!
//! The layout follows restic's (`config`, `keys/`, `snapshots/`, `data/`, `locks/`), so that probes by
//! listing see what they would see; the contents are plain JSON and bytes.

mod keep;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::objects::{Credentials, ObjectError, Objects};
use super::volumes::Disk;

pub use keep::Retention;

/// Why a repository could not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RepositoryError {
    /// There is none.
    #[error(
        "Fatal: repository does not exist: unable to open config file: Stat: The specified key does not exist.\nIs there a repository at the following location?\n{0}"
    )]
    Missing(String),
    /// The password opens no key.
    #[error("Fatal: wrong password or no key found")]
    WrongPassword,
    /// Someone holds a lock that forbids this.
    #[error(
        "Fatal: unable to create lock in backend: repository is already locked {0}by {1}\nlock was created at {2}\nthe `unlock` command can be used to remove stale locks"
    )]
    Locked(String, String, String),
    /// Its config went, its keys did not: making a new one would lock the old data away.
    #[error("Fatal: create repository at {0} failed: repository already contains keys")]
    Remains(String),
    /// A repository is there already.
    #[error("Fatal: create repository at {0} failed: config file already exists")]
    Exists(String),
    /// The store did not answer as it should.
    #[error("Fatal: unable to open repository at {0}: {1}")]
    Store(String, ObjectError),
    /// Something a snapshot needs is gone or is not what it was.
    #[error("Fatal: {0}")]
    Damaged(String),
}

impl RepositoryError {
    /// The exit code restic ends with.
    pub fn exit(&self) -> i32 {
        match self {
            Self::Missing(_) => 10,
            Self::Locked(..) => 11,
            Self::WrongPassword => 12,
            _ => 1,
        }
    }
}

/// Where a repository lies, and how to get in.
#[derive(Debug, Clone)]
pub struct Place {
    /// The store.
    pub objects: Objects,
    /// Bucket.
    pub bucket: String,
    /// Path in the bucket, without slashes at its ends.
    pub prefix: String,
    /// For the store.
    pub credentials: Credentials,
    /// For the repository.
    pub password: String,
}

impl Place {
    /// For people: `s3:bucket/path`.
    pub fn shown(&self) -> String {
        format!("s3:{}/{}", self.bucket, self.prefix)
    }

    fn key(&self, name: &str) -> String {
        if self.prefix.is_empty() { name.to_owned() } else { format!("{}/{name}", self.prefix) }
    }

    fn failed(&self, error: ObjectError) -> RepositoryError {
        RepositoryError::Store(self.shown(), error)
    }

    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, RepositoryError> {
        match self.objects.get(&self.credentials, &self.bucket, &self.key(name)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(ObjectError::NoSuchKey) => Ok(None),
            Err(error) => Err(self.failed(error)),
        }
    }

    fn put(&self, name: &str, bytes: Vec<u8>, now: jiff::Timestamp) -> Result<(), RepositoryError> {
        self.objects
            .put(&self.credentials, &self.bucket, &self.key(name), bytes, now)
            .map_err(|error| self.failed(error))
    }

    fn delete(&self, name: &str) -> Result<(), RepositoryError> {
        self.objects
            .delete(&self.credentials, &self.bucket, &self.key(name))
            .map_err(|error| self.failed(error))
    }

    /// Names under a folder, without it.
    fn list(&self, folder: &str) -> Result<Vec<String>, RepositoryError> {
        let prefix = self.key(folder);
        let entries = self
            .objects
            .list(&self.credentials, &self.bucket, &prefix)
            .map_err(|error| self.failed(error))?;
        Ok(entries
            .into_iter()
            .filter_map(|entry| entry.key.strip_prefix(&prefix).map(str::to_owned))
            .collect())
    }
}

/// Whose data a snapshot is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Origin {
    /// `volsync`, or a namespace.
    pub host: String,
    /// Empty, or a policy.
    pub user: String,
    /// `/data`
    pub path: String,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}:{}", self.user, self.host, self.path)
    }
}

/// One file of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Hash of its contents.
    pub content: String,
    /// Bytes.
    pub size: u64,
}

/// What a backup did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Summary {
    /// Files not in the parent.
    pub files_new: u64,
    /// Files that differ from the parent.
    pub files_changed: u64,
    /// Files as in the parent.
    pub files_unmodified: u64,
    /// Bytes that were not in the repository.
    pub data_added: u64,
    /// All files.
    pub total_files_processed: u64,
    /// All their bytes.
    pub total_bytes_processed: u64,
}

/// One backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// When it was taken.
    pub time: jiff::Timestamp,
    /// Whose it is.
    pub origin: Origin,
    /// Words on it.
    pub tags: BTreeMap<String, String>,
    /// Not to be forgotten.
    pub pinned: bool,
    /// The one before, if any.
    pub parent: Option<String>,
    /// Contents by path.
    pub tree: BTreeMap<String, File>,
    /// What it did.
    pub summary: Summary,
    /// Fingerprint of names and contents.
    pub digest: String,
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn json_bytes<T: Serialize>(value: &T) -> Result<Vec<u8>, RepositoryError> {
    serde_json::to_vec(value).map_err(|error| RepositoryError::Damaged(error.to_string()))
}

fn from_json<T: for<'a> Deserialize<'a>>(bytes: &[u8], what: &str) -> Result<T, RepositoryError> {
    serde_json::from_slice(bytes)
        .map_err(|error| RepositoryError::Damaged(format!("{what}: {error}")))
}

/// An open repository.
#[derive(Debug, Clone)]
pub struct Repository {
    place: Place,
    id: String,
}

#[derive(Serialize, Deserialize)]
struct Config {
    version: u32,
    id: String,
}

#[derive(Serialize, Deserialize)]
struct Key {
    salt: String,
    proof: String,
}

fn blob(content: &str) -> String {
    format!("data/{}/{content}", content.get(..2).unwrap_or("00"))
}

impl Repository {
    /// Opens what is there.
    pub fn open(place: Place) -> Result<Self, RepositoryError> {
        let config = place.get("config")?.ok_or_else(|| RepositoryError::Missing(place.shown()))?;
        for name in place.list("keys/")? {
            let Some(bytes) = place.get(&format!("keys/{name}"))? else { continue };
            let key: Key = from_json(&bytes, "key")?;
            if hash(format!("{}{}", key.salt, place.password).as_bytes()) == key.proof {
                let config: Config = from_json(&config, "config")?;
                return Ok(Self { place, id: config.id });
            }
        }
        Err(RepositoryError::WrongPassword)
    }

    /// Makes a repository where none is.
    pub fn init(place: Place, now: jiff::Timestamp) -> Result<Self, RepositoryError> {
        if place.get("config")?.is_some() {
            return Err(RepositoryError::Exists(place.shown()));
        }
        if !place.list("keys/")?.is_empty() {
            return Err(RepositoryError::Remains(place.shown()));
        }
        let id = hash(format!("{} {now}", place.shown()).as_bytes());
        let salt = id.get(..16).unwrap_or_default().to_owned();
        let proof = hash(format!("{salt}{}", place.password).as_bytes());
        let key = json_bytes(&Key { salt, proof })?;
        place.put(&format!("keys/{}", hash(&key)), key, now)?;
        let config = json_bytes(&Config { version: 1, id: id.clone() })?;
        place.put("config", config, now)?;
        Ok(Self { place, id })
    }

    /// Which repository this is; another one under the same place has another id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Every snapshot with its id, oldest first.
    pub fn snapshots(&self) -> Result<Vec<(String, Snapshot)>, RepositoryError> {
        let mut all = Vec::new();
        for id in self.place.list("snapshots/")? {
            if let Some(bytes) = self.place.get(&format!("snapshots/{id}"))? {
                all.push((id, from_json::<Snapshot>(&bytes, "snapshot")?));
            }
        }
        all.sort_by(|(a, x), (b, y)| (x.time, a).cmp(&(y.time, b)));
        Ok(all)
    }

    /// Keeps a disk's files. Packs first, the snapshot last: one that can be seen is whole.
    pub fn backup(
        &self,
        disk: &Disk,
        origin: &Origin,
        tags: BTreeMap<String, String>,
        now: jiff::Timestamp,
    ) -> Result<(String, Snapshot), RepositoryError> {
        self.admit(false)?;
        let known = self.snapshots()?;
        let parent = known.iter().rev().find(|(_, snapshot)| snapshot.origin == *origin);
        let mut summary = Summary::default();
        let mut tree = BTreeMap::new();
        for (path, bytes) in &disk.files {
            let content = hash(bytes);
            let size = bytes.len() as u64;
            match parent.and_then(|(_, parent)| parent.tree.get(path)) {
                None => summary.files_new += 1,
                Some(old) if old.content != content => summary.files_changed += 1,
                Some(_) => summary.files_unmodified += 1,
            }
            if self.place.get(&blob(&content))?.is_none() {
                summary.data_added += size;
                self.place.put(&blob(&content), bytes.clone(), now)?;
            }
            summary.total_files_processed += 1;
            summary.total_bytes_processed += size;
            tree.insert(path.clone(), File { content, size });
        }
        let snapshot = Snapshot {
            time: now,
            origin: origin.clone(),
            tags,
            pinned: false,
            parent: parent.map(|(id, _)| id.clone()),
            tree,
            summary,
            digest: disk.digest(),
        };
        let id = self.write(&snapshot, now)?;
        Ok((id, snapshot))
    }

    fn write(&self, snapshot: &Snapshot, now: jiff::Timestamp) -> Result<String, RepositoryError> {
        let bytes = json_bytes(snapshot)?;
        let id = hash(&bytes);
        self.place.put(&format!("snapshots/{id}"), bytes, now)?;
        Ok(id)
    }

    /// The newest snapshot of an origin not younger than `as_of`, or the one `previous` before it.
    pub fn select(
        &self,
        origin: &Origin,
        as_of: Option<jiff::Timestamp>,
        previous: usize,
    ) -> Result<Option<(String, Snapshot)>, RepositoryError> {
        let fitting = self.snapshots()?.into_iter().rev().filter(|(_, snapshot)| {
            snapshot.origin == *origin && as_of.is_none_or(|limit| snapshot.time <= limit)
        });
        Ok({ fitting }.nth(previous))
    }

    /// Writes a snapshot's files to a disk. Files that it does not know stay, unless `exact`.
    pub fn restore(
        &self,
        snapshot: &Snapshot,
        disk: &mut Disk,
        exact: bool,
    ) -> Result<(), RepositoryError> {
        let mut files = BTreeMap::new();
        for (path, file) in &snapshot.tree {
            let bytes = self.place.get(&blob(&file.content))?.ok_or_else(|| {
                RepositoryError::Damaged(format!("blob {} of {path} is missing", file.content))
            })?;
            if hash(&bytes) != file.content {
                return Err(RepositoryError::Damaged(format!("{path} is not what was stored")));
            }
            files.insert(path.clone(), bytes);
        }
        if exact {
            disk.files = files;
        } else {
            disk.files.extend(files);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
