//! Bases that lie in other repositories, fetched by Holdfast's own git and kept by commit.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use holdfast_git::auth::Access;
use holdfast_git::engine::{Engine, Pace, Settings};
use holdfast_git::files::RevisionFiles;
use holdfast_git::url::RemoteUrl;
use holdfast_manifest::files::Files;
use holdfast_manifest::kustomize::{Remote, RemoteFile, Repository};
use holdfast_manifest::{Diagnostic, Result};

/// Repositories by address and reference.
type Fetched = BTreeMap<(String, String), Arc<dyn Files>>;

/// Fetches what a kustomization names, once per run.
pub struct Bases {
    folder: PathBuf,
    /// Started when the first base is named: most repositories name none.
    engine: OnceLock<std::result::Result<Engine, String>>,
    fetched: Mutex<Fetched>,
}

/// Real waits. Two commands that meet are told apart by their process.
struct Wall;

impl Pace for Wall {
    fn pause(&self, duration: Duration) {
        std::thread::sleep(duration);
    }

    fn random(&self) -> u64 {
        u64::from(std::process::id()).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}

impl Bases {
    /// With repositories kept in this folder.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, engine: OnceLock::new(), fetched: Mutex::default() }
    }

    fn engine(&self) -> std::result::Result<&Engine, String> {
        let start = || {
            let settings = Settings::new(self.folder.clone(), Arc::new(Wall));
            Engine::start(settings).map_err(|error| error.to_string())
        };
        self.engine.get_or_init(start).as_ref().map_err(Clone::clone)
    }
}

impl Remote for Bases {
    fn repository(&self, repository: &Repository) -> Result<Arc<dyn Files>> {
        let key = (repository.url.clone(), repository.reference.clone());
        // Held while fetching: two overlays that name one base wait for one fetch.
        let mut fetched = self.fetched.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = fetched.get(&key) {
            return Ok(known.clone());
        }
        let failed = |text: String| {
            Diagnostic::new(format!("the base {} cannot be fetched: {text}", repository.raw))
                .hint("check address and `ref`, or put the base into the repository")
        };
        let url = RemoteUrl::parse(&repository.url).map_err(|error| failed(error.to_string()))?;
        let reference = match repository.reference.as_str() {
            "" => "HEAD",
            reference => reference,
        };
        let revision = self
            .engine()
            .map_err(failed)?
            .read(&url, &Access::default(), reference)
            .map_err(|error| failed(error.to_string()))?
            .ok_or_else(|| failed("the repository is empty".to_owned()))?;
        let files: Arc<dyn Files> = Arc::new(RevisionFiles::new(revision));
        fetched.insert(key, files.clone());
        Ok(files)
    }

    fn file(&self, url: &str) -> Result<RemoteFile> {
        Err(Diagnostic::new(format!("{url} is not fetched: only bases in git repositories are"))
            .hint("put the file into the repository, so that a build never changes by itself"))
    }
}
