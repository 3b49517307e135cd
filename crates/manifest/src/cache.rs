//! Parsed files, shared by whoever reads the same content: overlays that use one base, and revisions
//! that differ in a few files.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::diagnostic::Result;
use crate::files::{self, Blob, BlobId};
use crate::yaml::{self, Document, Node};

/// How much text the parsed documents of a cache come from, unless it is told otherwise. A parsed
/// document takes about ten times the memory of its text.
const MOST_BYTES: usize = 8 << 20;

/// Parsed documents by the id of the file's content. Any number of threads may ask.
#[derive(Debug)]
pub struct Cache {
    parsed: RwLock<Parsed>,
    most: usize,
}

#[derive(Debug, Default)]
struct Parsed {
    files: HashMap<BlobId, Arc<[Document]>>,
    settings: HashMap<BlobId, Arc<Node>>,
    bytes: usize,
}

impl Parsed {
    fn count(&self) -> usize {
        self.files.len() + self.settings.len()
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self::with_limit(MOST_BYTES)
    }
}

impl Cache {
    /// An empty one, with room for documents of so many bytes of text.
    pub fn with_limit(most: usize) -> Self {
        Self { parsed: RwLock::default(), most }
    }

    /// The documents of a file. The path is for errors, which are not kept.
    pub fn documents(&self, path: &str, blob: &Blob) -> Result<Arc<[Document]>> {
        let known = {
            let parsed = self.parsed.read().unwrap_or_else(PoisonError::into_inner);
            parsed.files.get(&blob.id).cloned()
        };
        if let Some(known) = known {
            return Ok(known);
        }
        let text = files::text(path, blob)?;
        let documents = yaml::documents(text).map_err(|error| error.in_file(path))?;
        let documents: Arc<[Document]> = documents.into();
        let mut parsed = self.parsed.write().unwrap_or_else(PoisonError::into_inner);
        if parsed.bytes + text.len() > self.most {
            // What is still in use stays alive by its users; starting anew is simpler than choosing,
            // and a build reads the files of one overlay close together.
            *parsed = Parsed::default();
        }
        parsed.bytes += text.len();
        parsed.files.insert(blob.id, Arc::clone(&documents));
        Ok(documents)
    }

    /// The first document of a file of settings. The path is for errors, which are not kept.
    pub fn settings(&self, path: &str, blob: &Blob) -> Result<Arc<Node>> {
        let known = {
            let parsed = self.parsed.read().unwrap_or_else(PoisonError::into_inner);
            parsed.settings.get(&blob.id).cloned()
        };
        if let Some(known) = known {
            return Ok(known);
        }
        let text = files::text(path, blob)?;
        let settings = yaml::configuration(text).map_err(|error| error.in_file(path))?;
        let settings = Arc::new(settings);
        let mut parsed = self.parsed.write().unwrap_or_else(PoisonError::into_inner);
        if parsed.bytes + text.len() > self.most {
            *parsed = Parsed::default();
        }
        parsed.bytes += text.len();
        parsed.settings.insert(blob.id, Arc::clone(&settings));
        Ok(settings)
    }

    /// How many files are kept.
    pub fn len(&self) -> usize {
        self.parsed.read().unwrap_or_else(PoisonError::into_inner).count()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blob(text: &str) -> Blob {
        Blob { id: BlobId::of(text.as_bytes()), bytes: text.as_bytes().into() }
    }

    #[test]
    fn the_same_content_is_parsed_once_whatever_its_path() {
        let cache = Cache::default();
        let one = cache.documents("a.yaml", &blob("a: 1")).expect("parsed");
        let two = cache.documents("b.yaml", &blob("a: 1")).expect("parsed");
        assert!(Arc::ptr_eq(&one, &two));
        assert_eq!(cache.len(), 1);
    }

    #[test]
    fn it_does_not_grow_without_bounds() {
        let cache = Cache::with_limit(20);
        for number in 0..100 {
            cache.documents("a.yaml", &blob(&format!("a: {number}"))).expect("parsed");
            assert!(cache.len() <= 5);
        }
    }

    #[test]
    fn errors_name_the_file_that_was_asked_for() {
        let cache = Cache::default();
        for path in ["a.yaml", "b.yaml"] {
            let error = cache.documents(path, &blob("a: [")).expect_err("broken");
            assert_eq!(error.file(), Some(path));
        }
        assert!(cache.is_empty());
    }
}
