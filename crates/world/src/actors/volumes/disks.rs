//! Disks and their snapshots: real bytes, in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};

/// The files of a volume.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Disk {
    /// Contents by path.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Size in bytes.
    pub size: u64,
}

impl Disk {
    /// An empty disk.
    pub fn empty(size: u64) -> Self {
        Self { files: BTreeMap::new(), size }
    }

    /// A fingerprint of names and contents.
    pub fn digest(&self) -> String {
        let mut hasher = Sha256::new();
        for (path, content) in &self.files {
            hasher.update(path.as_bytes());
            hasher.update([0]);
            hasher.update((content.len() as u64).to_be_bytes());
            hasher.update(content);
        }
        hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Every disk and snapshot of a world, by handle. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Disks {
    inner: Arc<Mutex<Shelf>>,
}

#[derive(Debug, Default)]
struct Shelf {
    disks: BTreeMap<String, Disk>,
    snapshots: BTreeMap<String, Disk>,
}

impl Disks {
    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a disk unless the handle is known: provisioning twice is provisioning once.
    pub fn provision(&self, handle: &str, content: Disk) {
        self.shelf().disks.entry(handle.to_owned()).or_insert(content);
    }

    /// A copy of a disk.
    pub fn read(&self, handle: &str) -> Option<Disk> {
        self.shelf().disks.get(handle).cloned()
    }

    /// Changes a disk, as a mounted container does. None if there is no such disk.
    pub fn write<T>(&self, handle: &str, change: impl FnOnce(&mut Disk) -> T) -> Option<T> {
        self.shelf().disks.get_mut(handle).map(change)
    }

    /// Removes a disk and its bytes for good.
    pub fn destroy(&self, handle: &str) {
        self.shelf().disks.remove(handle);
    }

    /// Keeps a disk's present state under a snapshot handle, once. False if there is no such disk.
    pub fn snapshot(&self, disk: &str, snapshot: &str) -> bool {
        let mut shelf = self.shelf();
        if shelf.snapshots.contains_key(snapshot) {
            return true;
        }
        let Some(now) = shelf.disks.get(disk).cloned() else { return false };
        shelf.snapshots.insert(snapshot.to_owned(), now);
        true
    }

    /// Keeps several disks at one instant. False, and nothing kept, if one is missing.
    pub fn snapshot_group(&self, pairs: &[(String, String)]) -> bool {
        let mut shelf = self.shelf();
        let all: Option<Vec<_>> = pairs
            .iter()
            .map(|(disk, snapshot)| Some((snapshot.clone(), shelf.disks.get(disk)?.clone())))
            .collect();
        let Some(all) = all else { return false };
        for (snapshot, content) in all {
            shelf.snapshots.entry(snapshot).or_insert(content);
        }
        true
    }

    /// The state that a snapshot keeps.
    pub fn read_snapshot(&self, snapshot: &str) -> Option<Disk> {
        self.shelf().snapshots.get(snapshot).cloned()
    }

    /// Removes a snapshot for good.
    pub fn forget_snapshot(&self, snapshot: &str) {
        self.shelf().snapshots.remove(snapshot);
    }

    /// Handles of all disks and of all snapshots.
    pub fn handles(&self) -> (Vec<String>, Vec<String>) {
        let shelf = self.shelf();
        (shelf.disks.keys().cloned().collect(), shelf.snapshots.keys().cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_keeps_what_was() {
        let disks = Disks::default();
        disks.provision("d", Disk::empty(1));
        disks.write("d", |disk| disk.files.insert("row".into(), b"1".to_vec()));
        assert!(disks.snapshot("d", "s"));
        disks.write("d", |disk| disk.files.insert("row".into(), b"2".to_vec()));
        assert!(disks.snapshot("d", "s"), "again is the same snapshot");
        assert_eq!(disks.read_snapshot("s").unwrap().files["row"], b"1");
        assert!(!disks.snapshot("missing", "t"));
    }

    #[test]
    fn a_group_is_kept_whole_or_not_at_all() {
        let disks = Disks::default();
        disks.provision("a", Disk::empty(1));
        let pair = |d: &str, s: &str| (d.to_owned(), s.to_owned());
        assert!(!disks.snapshot_group(&[pair("a", "sa"), pair("b", "sb")]));
        assert_eq!(disks.read_snapshot("sa"), None);
    }
}
