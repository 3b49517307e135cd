//! A folder on the disk.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::{Blob, BlobId, Files, Found};
use crate::diagnostic::{Diagnostic, Result};

/// No manifest is that large; reading more would only cost memory.
const LARGEST_FILE: u64 = 64 << 20;

/// A folder on the disk; symbolic links are followed as long as they stay in it.
#[derive(Clone, Debug)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    /// The folder at this path.
    pub fn new(root: &Path) -> Result<Self> {
        let root =
            fs::canonicalize(root).map_err(|error| failed(&root.display().to_string(), &error))?;
        Ok(Self { root })
    }

    /// Where it lies, links followed.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The place on the disk, links followed; `None` if nothing is there.
    fn place(&self, path: &str) -> Result<Option<PathBuf>> {
        let place = match fs::canonicalize(self.root.join(path)) {
            Ok(place) => place,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(failed(path, &error)),
        };
        if place.starts_with(&self.root) {
            Ok(Some(place))
        } else {
            Err(Diagnostic::new(format!("a symbolic link leads out of {}", self.root.display()))
                .in_file(path)
                .hint("Flux does not follow it either: put the file itself into the repository"))
        }
    }
}

impl Files for Folder {
    fn find(&self, path: &str) -> Result<Found> {
        Ok(match self.place(path)? {
            None => Found::Nothing,
            Some(place) if place.is_dir() => Found::Folder,
            Some(_) => Found::File,
        })
    }

    fn read(&self, path: &str) -> Result<Option<Blob>> {
        let Some(place) = self.place(path)? else { return Ok(None) };
        let about = fs::metadata(&place).map_err(|error| failed(path, &error))?;
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
        let bytes = fs::read(&place).map_err(|error| failed(path, &error))?;
        Ok(Some(Blob { id: BlobId::of(&bytes), bytes: bytes.into() }))
    }

    fn list(&self, folder: &str) -> Result<Option<Vec<(String, Found)>>> {
        let Some(place) = self.place(folder)? else { return Ok(None) };
        if !place.is_dir() {
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
            let found = if kind.is_dir() {
                Found::Folder
            } else if kind.is_symlink() && entry.path().is_dir() {
                Found::Folder
            } else {
                Found::File
            };
            names.push((name, found));
        }
        names.sort();
        Ok(Some(names))
    }

    fn real_path(&self, path: &str) -> Result<String> {
        let Some(place) = self.place(path)? else { return Ok(path.to_owned()) };
        let inside = place.strip_prefix(&self.root).unwrap_or(&place);
        Ok(inside.to_string_lossy().into_owned())
    }
}

fn failed(path: &str, error: &std::io::Error) -> Diagnostic {
    Diagnostic::new(format!("cannot be read: {error}")).in_file(path)
}
