//! What a rendering looked at, and so what can change it.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::diagnostic::Result;
use crate::files::{Blob, Files, Found, split};

/// The paths a rendering looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Files that were read, or looked for.
    paths: BTreeSet<String>,
    /// Paths where nothing was, not even a folder.
    missing: BTreeSet<String>,
    /// Folders that were listed.
    folders: BTreeSet<String>,
}

impl Reach {
    /// Whether a file that was added, changed or removed at this path can change the rendering.
    pub fn covers(&self, changed: &str) -> bool {
        if self.paths.contains(changed) || self.missing.contains(changed) {
            return true;
        }
        let mut folder = split(changed).0;
        if self.folders.contains(folder) {
            return true;
        }
        // A file in a new folder brings that folder, and a file in an emptied one took it away.
        while !folder.is_empty() {
            let parent = split(folder).0;
            if self.missing.contains(folder) || self.folders.contains(parent) {
                return true;
            }
            folder = parent;
        }
        false
    }

    /// Whether any of the changes can.
    pub fn covers_any(&self, changed: &[String]) -> bool {
        changed.iter().any(|path| self.covers(path))
    }

    /// The files it read or looked for.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(String::as_str)
    }
}

/// Files that remember what was asked of them.
pub struct Recorder<'a> {
    files: &'a dyn Files,
    reach: Mutex<Reach>,
}

impl<'a> Recorder<'a> {
    /// These files, remembered.
    pub fn new(files: &'a dyn Files) -> Self {
        Self { files, reach: Mutex::default() }
    }

    /// What was asked for.
    pub fn finish(self) -> Reach {
        self.reach.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, note: impl FnOnce(&mut Reach)) {
        note(&mut self.reach.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn note_path(&self, path: &str, there: bool) {
        self.note(|reach| {
            let set = if there { &mut reach.paths } else { &mut reach.missing };
            if !set.contains(path) {
                set.insert(path.to_owned());
            }
        });
    }
}

impl Files for Recorder<'_> {
    fn find(&self, path: &str) -> Result<Found> {
        let found = self.files.find(path)?;
        self.note_path(path, found != Found::Nothing);
        Ok(found)
    }

    fn read(&self, path: &str) -> Result<Option<Blob>> {
        let blob = self.files.read(path)?;
        self.note_path(path, blob.is_some());
        Ok(blob)
    }

    fn list(&self, folder: &str) -> Result<Option<Vec<(String, Found)>>> {
        let names = self.files.list(folder)?;
        match names {
            Some(_) => self.note(|reach| {
                reach.folders.insert(folder.to_owned());
            }),
            None => self.note_path(folder, false),
        }
        Ok(names)
    }

    fn real_path(&self, path: &str) -> Result<String> {
        let real = self.files.real_path(path)?;
        if real != path {
            self.note_path(&real, true);
        }
        Ok(real)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Memory;

    #[test]
    fn only_what_was_looked_at_counts() {
        let files =
            Memory::new().with("a/one.yaml", "").with("a/two.yaml", "").with("b/x.yaml", "");
        let recorder = Recorder::new(&files);
        recorder.read("a/one.yaml").unwrap();
        recorder.find("c").unwrap();
        recorder.list("b").unwrap();
        let reach = recorder.finish();
        assert!(reach.covers("a/one.yaml"));
        assert!(!reach.covers("a/two.yaml"));
        assert!(reach.covers("b/new.yaml"));
        assert!(reach.covers("b/new/deep.yaml"), "a new folder in a listed one");
        assert!(reach.covers("c/new.yaml"), "the folder was looked for");
        assert!(!reach.covers("d.yaml"));
    }
}
