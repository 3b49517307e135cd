//! The files as Flux's source controller packs them: without what `.sourceignore` excludes, and
//! without symbolic links.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::ignore::{self, Pattern, Verdict};
use crate::diagnostic::Result;
use crate::files::{Blob, Files, Found, join, split, text};

const IGNORE_FILE: &str = ".sourceignore";

/// A view of files that hides what does not reach Flux.
pub struct Artifact<'a> {
    files: &'a dyn Files,
    /// Patterns of the source object.
    given: Vec<Pattern>,
    /// Patterns of a folder's own file.
    written: Mutex<BTreeMap<String, Arc<[Pattern]>>>,
    /// Whether there is a pattern anywhere.
    any: OnceLock<bool>,
}

impl<'a> Artifact<'a> {
    /// The view; `ignore` is the source object's own `spec.ignore`.
    pub fn new(files: &'a dyn Files, ignore: Option<&str>) -> Self {
        let given = ignore.map(|text| Pattern::read(text, &[])).unwrap_or_default();
        Self { files, given, written: Mutex::default(), any: OnceLock::new() }
    }

    fn is_hidden(&self, path: &str, found: Found) -> Result<bool> {
        match found {
            Found::Nothing => Ok(false),
            Found::Folder => {
                Ok(path == ".git" || path.starts_with(".git/") || self.is_linked(path)?)
            }
            Found::File => Ok(self.is_excluded(path)? || self.is_linked(path)?),
        }
    }

    fn is_linked(&self, path: &str) -> Result<bool> {
        Ok(!path.is_empty() && self.files.real_path(path)? != path)
    }

    fn is_excluded(&self, path: &str) -> Result<bool> {
        let given = ignore::judge(&self.given, path);
        if let Some(verdict) = given {
            return Ok(verdict == Verdict::Excluded);
        }
        // The deepest folder's patterns were read last, so they count first.
        let mut folder = split(path).0;
        loop {
            if let Some(verdict) = ignore::judge(&self.patterns(folder)?, path) {
                return Ok(verdict == Verdict::Excluded);
            }
            if folder.is_empty() {
                break;
            }
            folder = split(folder).0;
        }
        if ignore::is_always_excluded(path) {
            return Ok(true);
        }
        Ok(ignore::is_excluded_by_default(path) && !self.has_patterns()?)
    }

    fn patterns(&self, folder: &str) -> Result<Arc<[Pattern]>> {
        let known =
            self.written.lock().unwrap_or_else(PoisonError::into_inner).get(folder).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let path = join(folder, IGNORE_FILE).unwrap_or_default();
        let patterns = match self.files.read(&path)? {
            None => Arc::default(),
            Some(blob) => {
                let domain: Vec<String> =
                    folder.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
                Pattern::read(text(&path, &blob)?, &domain).into()
            }
        };
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(written.entry(folder.to_owned()).or_insert(patterns).clone())
    }

    /// Whether any pattern is written, wherever: then the default ones do not count.
    fn has_patterns(&self) -> Result<bool> {
        if let Some(any) = self.any.get() {
            return Ok(*any);
        }
        let any = !self.given.is_empty() || self.search("")?;
        Ok(*self.any.get_or_init(|| any))
    }

    fn search(&self, folder: &str) -> Result<bool> {
        if !self.patterns(folder)?.is_empty() {
            return Ok(true);
        }
        for (name, found) in self.files.list(folder)?.unwrap_or_default() {
            let path = join(folder, &name).unwrap_or_default();
            if found == Found::Folder
                && name != ".git"
                && !self.is_linked(&path)?
                && self.search(&path)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Files for Artifact<'_> {
    fn find(&self, path: &str) -> Result<Found> {
        let found = self.files.find(path)?;
        Ok(if self.is_hidden(path, found)? { Found::Nothing } else { found })
    }

    fn read(&self, path: &str) -> Result<Option<Blob>> {
        if self.is_excluded(path)? {
            return Ok(None);
        }
        let blob = self.files.read(path)?;
        if blob.is_some() && self.is_linked(path)? { Ok(None) } else { Ok(blob) }
    }

    fn list(&self, folder: &str) -> Result<Option<Vec<(String, Found)>>> {
        let Some(names) = self.files.list(folder)? else { return Ok(None) };
        let mut kept = Vec::with_capacity(names.len());
        for (name, found) in names {
            let path = join(folder, &name).unwrap_or_default();
            if !self.is_hidden(&path, found)? {
                kept.push((name, found));
            }
        }
        Ok(Some(kept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Memory;

    #[test]
    fn what_is_excluded_is_not_there() {
        let files = Memory::new()
            .with("a/one.yaml", "1")
            .with("a/logo.png", "2")
            .with(".github/x.yaml", "3");
        let artifact = Artifact::new(&files, None);
        assert_eq!(artifact.find("a/logo.png"), Ok(Found::Nothing));
        assert_eq!(artifact.read("a/logo.png"), Ok(None));
        assert_eq!(artifact.list("a"), Ok(Some(vec![("one.yaml".to_owned(), Found::File)])));
        assert_eq!(artifact.find(".github/x.yaml"), Ok(Found::Nothing));

        let files = files.with("a/.sourceignore", "one.yaml\n");
        let artifact = Artifact::new(&files, None);
        assert_eq!(artifact.find("a/one.yaml"), Ok(Found::Nothing));
        assert_eq!(artifact.find("a/logo.png"), Ok(Found::File), "no defaults beside own patterns");
        let artifact = Artifact::new(&files, Some("!one.yaml"));
        assert_eq!(artifact.find("a/one.yaml"), Ok(Found::File), "the source has the last word");
    }
}
