//! Kustomize's remote bases, through the engine: fetched as shallow as can be, and once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use gix::ObjectId;
use holdfast_manifest::files::{Blob, BlobId, Files};
use holdfast_manifest::kustomize::{Remote as Fetches, RemoteFile, Repository};
use holdfast_manifest::{Diagnostic, Result};

use crate::auth::Access;
use crate::engine::Engine;
use crate::error::Cause;
use crate::files::RevisionFiles;
use crate::store::{Depth, Want};
use crate::transport::{self, Limits};
use crate::url::RemoteUrl;

/// No manifest is that large.
const LARGEST_FILE: u64 = 64 << 20;

/// How to log in to a repository that somebody's kustomization names.
type Accesses = dyn Fn(&RemoteUrl) -> Access + Send + Sync;

/// What is known already, by repository and reference.
type Known = BTreeMap<(String, String), Arc<dyn Files>>;

/// Fetches remote bases. What was fetched once is what the whole render sees; another render asks
/// anew, but for commits, which do not change.
pub struct Bases {
    engine: Arc<Engine>,
    access: Box<Accesses>,
    known: Mutex<Known>,
}

impl Bases {
    /// Fetches as nobody: what a repository names must not be given the cluster's credentials.
    pub fn anonymous(engine: Arc<Engine>) -> Self {
        Self::with_access(engine, |_| Access::default())
    }

    /// Fetches with what `access` says for a repository.
    pub fn with_access(
        engine: Arc<Engine>,
        access: impl Fn(&RemoteUrl) -> Access + Send + Sync + 'static,
    ) -> Self {
        Self { engine, access: Box::new(access), known: Mutex::default() }
    }

    fn fetch(&self, repository: &Repository, url: &RemoteUrl) -> Result<Arc<dyn Files>> {
        let wrong = |text: String| Diagnostic::new(text).while_doing(repository.raw.clone());
        let store = self.engine.store(url).map_err(|e| wrong(e.to_string()))?;
        let reference = match repository.reference.as_str() {
            "" => "HEAD",
            reference => reference,
        };
        let commit = ObjectId::from_hex(reference.as_bytes()).ok();
        let id = match commit.filter(|id| store.at(*id).is_ok()) {
            Some(id) => id,
            None => {
                let mut remote = self.engine.remote(url, &(self.access)(url));
                remote.limits = remote.limits.within(repository.timeout);
                let want = Want::new(reference, Depth::Recent(1));
                let fetched = store.fetch(&remote, &want).map_err(|e| wrong(e.to_string()))?;
                fetched.ok_or_else(|| wrong(format!("{url}: the repository is empty")))?.id
            }
        };
        let revision = store.revision(&id.to_string()).map_err(|e| wrong(e.to_string()))?;
        Ok(Arc::new(RevisionFiles::new(revision)))
    }
}

impl Fetches for Bases {
    fn repository(&self, repository: &Repository) -> Result<Arc<dyn Files>> {
        let url = RemoteUrl::parse(&repository.url)
            .map_err(|error| Diagnostic::new(error.to_string()).while_doing("remote base"))?;
        let key = (url.key(), repository.reference.clone());
        let known = |bases: &Self| {
            bases.known.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
        };
        if let Some(files) = known(self) {
            return Ok(files);
        }
        let files = self.fetch(repository, &url)?;
        let mut shelf = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever was first is what all see.
        Ok(shelf.entry(key).or_insert(files).clone())
    }

    fn file(&self, url: &str) -> Result<RemoteFile> {
        let limits = Limits { bytes: LARGEST_FILE, ..self.engine.limits() };
        let fetched = transport::file_at(self.engine.network(), url, limits);
        match fetched {
            Ok((status, _)) if !(200..300).contains(&status) => Ok(RemoteFile::Status(status)),
            Ok((_, bytes)) => {
                let id = BlobId::of(&bytes);
                Ok(RemoteFile::Content(Blob { id, bytes: bytes.into() }))
            }
            Err(Cause::TooLarge { limit }) => {
                Err(Diagnostic::new(format!("{url}: the file has more than {limit} bytes")))
            }
            Err(cause) => Err(Diagnostic::new(format!("{url}: {cause}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::engine::Settings;
    use crate::testing::http::{Fault, Server};
    use crate::testing::{Hosted, Hurry, git, limits};

    fn repository(url: &str, reference: &str) -> Repository {
        Repository {
            raw: format!("{url}?ref={reference}"),
            url: url.to_owned(),
            path: String::new(),
            reference: reference.to_owned(),
            timeout: Duration::from_secs(20),
            submodules: true,
        }
    }

    #[test]
    fn bases_are_fetched_once_and_commits_are_known_for_ever() {
        let hosted = Hosted::with(&[("base/kustomization.yaml", "a: 1\n")]);
        let first = hosted.tip();
        git(&hosted.bare(), &["config", "uploadpack.allowAnySHA1InWant", "true"]);
        let server = Server::start(hosted.folder.path().to_owned(), |request, _| {
            if request.path == "/plain.yaml" {
                Fault::Status(200, "b: 2\n".to_owned())
            } else if request.path == "/moved.yaml" {
                Fault::Redirect("/plain.yaml".to_owned())
            } else if request.path == "/none.yaml" {
                Fault::Status(404, String::new())
            } else {
                Fault::None
            }
        });
        let folder = tempfile::TempDir::new().unwrap();
        let mut settings = Settings::new(folder.path(), Arc::new(Hurry::default()));
        settings.limits = limits();
        let engine = Arc::new(Engine::start(settings).unwrap());
        let url = server.url().to_string();
        let read = |bases: &Bases, reference: &str| {
            let files = bases.repository(&repository(&url, reference)).unwrap();
            let blob = files.read("base/kustomization.yaml").unwrap().unwrap();
            String::from_utf8(blob.bytes.to_vec()).unwrap()
        };
        let bases = Bases::anonymous(engine.clone());
        assert_eq!(read(&bases, ""), "a: 1\n");
        hosted.commit(&[("base/kustomization.yaml", "a: 2\n")], "second");
        assert_eq!(read(&bases, ""), "a: 1\n", "the same all through one render");
        let bases = Bases::anonymous(engine);
        assert_eq!(read(&bases, ""), "a: 2\n");
        let asked = server.seen().len();
        assert_eq!(read(&bases, &first), "a: 1\n");
        assert_eq!(server.seen().len(), asked, "a commit that is here is not asked for");

        let address = |name: &str| url.replace("repo.git", name);
        for name in ["plain.yaml", "moved.yaml"] {
            let RemoteFile::Content(blob) = bases.file(&address(name)).unwrap() else { panic!() };
            assert_eq!(&*blob.bytes, b"b: 2\n");
        }
        let none = bases.file(&address("none.yaml")).unwrap();
        assert!(matches!(none, RemoteFile::Status(404)));
        let error = bases.repository(&repository(&url, "nowhere")).err().unwrap().to_string();
        assert!(error.contains("there is no branch nowhere") && error.contains(&url), "{error}");
        let error = bases.repository(&repository("https://a:hunter2@host/x", "")).err().unwrap();
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}
