//! A folder on the disk.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use super::{Blob, BlobId, Files, Found};
use crate::diagnostic::{Diagnostic, Result};

/// No manifest is that large; reading more would only cost memory.
const LARGEST_FILE: u64 = 64 << 20;

/// A folder on the disk; symbolic links are followed as long as they stay in it. Where folders in it
/// lead to is looked up once.
#[derive(Clone, Debug)]
pub struct Folder {
    root: PathBuf,
    folders: Arc<RwLock<HashMap<String, PathBuf>>>,
}

impl Folder {
    /// The folder at this path.
    pub fn new(root: &Path) -> Result<Self> {
        let root =
            fs::canonicalize(root).map_err(|error| failed(&root.display().to_string(), &error))?;
        Ok(Self { root, folders: Arc::default() })
    }

    /// Where it lies, links followed.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The place on the disk, links followed, and what it is; `None` if nothing is there.
    fn place(&self, path: &str) -> Result<Option<(PathBuf, Metadata)>> {
        let (folder, name) = super::split(path);
        let Some(folder) = self.folder(folder)? else { return Ok(None) };
        let place = if name.is_empty() { folder } else { folder.join(name) };
        let Some(about) = present(path, fs::symlink_metadata(&place))? else { return Ok(None) };
        if !about.is_symlink() {
            return Ok(Some((place, about)));
        }
        let Some(place) = self.follow(path, &place)? else { return Ok(None) };
        let about = present(path, fs::metadata(&place))?;
        Ok(about.map(|about| (place, about)))
    }

    /// The place of a folder on the disk, links followed.
    fn folder(&self, path: &str) -> Result<Option<PathBuf>> {
        let known = self.folders.read().unwrap_or_else(PoisonError::into_inner).get(path).cloned();
        if known.is_some() {
            return Ok(known);
        }
        let place = self.follow(path, &self.root.join(path))?;
        if let Some(place) = &place {
            let mut folders = self.folders.write().unwrap_or_else(PoisonError::into_inner);
            folders.insert(path.to_owned(), place.clone());
        }
        Ok(place)
    }

    /// The place that all links on the way lead to.
    fn follow(&self, path: &str, place: &Path) -> Result<Option<PathBuf>> {
        let Some(place) = present(path, fs::canonicalize(place))? else { return Ok(None) };
        if place.starts_with(&self.root) {
            Ok(Some(place))
        } else {
            Err(Diagnostic::new(format!("a symbolic link leads out of {}", self.root.display()))
                .in_file(path)
                .hint("Flux does not follow it either: put the file itself into the repository"))
        }
    }

    fn inside(&self, place: &Path) -> String {
        place.strip_prefix(&self.root).unwrap_or(place).to_string_lossy().into_owned()
    }

    fn blob(&self, path: &str, place: &Path, about: &Metadata) -> Result<Option<Blob>> {
        if about.is_dir() {
            return Ok(None);
        }
        if about.len() > LARGEST_FILE {
            let size = about.len() >> 20;
            let most = LARGEST_FILE >> 20;
            return Err(Diagnostic::new(format!("the file has {size} MiB; at most {most} MiB are read"))
                .in_file(path)
                .hint("no object in a cluster may be larger than 1.5 MiB: take the file out of the manifests"));
        }
        let bytes = fs::read(place).map_err(|error| failed(path, &error))?;
        Ok(Some(Blob { id: BlobId::of(&bytes), bytes: bytes.into() }))
    }
}

/// What was found, or that there is nothing.
fn present<T>(path: &str, found: std::io::Result<T>) -> Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(failed(path, &error)),
    }
}

impl Files for Folder {
    fn find(&self, path: &str) -> Result<Found> {
        Ok(match self.place(path)? {
            None => Found::Nothing,
            Some((_, about)) if about.is_dir() => Found::Folder,
            Some(_) => Found::File,
        })
    }

    fn read(&self, path: &str) -> Result<Option<Blob>> {
        let Some((place, about)) = self.place(path)? else { return Ok(None) };
        self.blob(path, &place, &about)
    }

    fn read_real(&self, path: &str) -> Result<Option<(Blob, String)>> {
        let Some((place, about)) = self.place(path)? else { return Ok(None) };
        let blob = self.blob(path, &place, &about)?;
        Ok(blob.map(|blob| (blob, self.inside(&place))))
    }

    fn list(&self, folder: &str) -> Result<Option<Vec<(String, Found)>>> {
        let Some((place, about)) = self.place(folder)? else { return Ok(None) };
        if !about.is_dir() {
            return Ok(None);
        }
        let mut names = Vec::new();
        for entry in fs::read_dir(&place).map_err(|error| failed(folder, &error))? {
            let entry = entry.map_err(|error| failed(folder, &error))?;
            let Ok(name) = entry.file_name().into_string() else {
                let name = entry.file_name().display().to_string();
                return Err(Diagnostic::new(format!("the name {name} is not valid UTF-8"))
                    .in_file(folder)
                    .hint("rename the file"));
            };
            let kind = entry.file_type().map_err(|error| failed(folder, &error))?;
            let is_folder = kind.is_dir() || (kind.is_symlink() && entry.path().is_dir());
            let found = if is_folder { Found::Folder } else { Found::File };
            names.push((name, found));
        }
        names.sort();
        Ok(Some(names))
    }

    fn root_name(&self) -> Option<String> {
        Some(self.root.file_name()?.to_string_lossy().into_owned())
    }

    fn real_path(&self, path: &str) -> Result<String> {
        let place = self.place(path)?;
        Ok(place.map_or_else(|| path.to_owned(), |(place, _)| self.inside(&place)))
    }
}

fn failed(path: &str, error: &std::io::Error) -> Diagnostic {
    Diagnostic::new(format!("cannot be read: {error}")).in_file(path)
}
