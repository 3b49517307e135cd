//! What the rest of Holdfast uses: reading a branch, and writing to it without losing, doubling or overwriting
//! anybody's commit.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha1::{Digest as _, Sha1};

use crate::auth::Access;
use crate::store::{Depth, FetchError, Store, StoreError, Want};
use crate::transport::{Limits, Network, Remote};
use crate::tree::Revision;
use crate::url::RemoteUrl;

mod submission;
mod writer;

pub use submission::{Change, ChangeError, Landed, Overtaken, Planned, Submission, WriteError};
pub use writer::Writer;

/// Waits and chance, passed in so that a simulation can decide them.
pub trait Pace: Send + Sync {
    /// Waits.
    fn pause(&self, duration: Duration);
    /// Any number.
    fn random(&self) -> u64;
}

/// How often something is tried again, and how long is waited in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The first wait.
    pub first: Duration,
    /// The longest wait.
    pub longest: Duration,
    /// How often at most.
    pub tries: u32,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { first: Duration::from_millis(200), longest: Duration::from_secs(10), tries: 6 }
    }
}

impl Backoff {
    /// How long to wait after so many tries: between half and all of a doubling time, so that
    /// writers that met once do not meet again.
    pub fn delay(&self, tries: u32, random: u64) -> Duration {
        let full = self.first.saturating_mul(1 << tries.min(20)).min(self.longest);
        let half = full / 2;
        let extra = (half.as_nanos() as u64).checked_add(1).map_or(0, |range| random % range);
        half + Duration::from_nanos(extra)
    }
}

/// What an engine is made with.
#[derive(Clone)]
pub struct Settings {
    /// Where repositories are kept.
    pub folder: PathBuf,
    /// How long is waited for a server.
    pub limits: Limits,
    /// How often is tried.
    pub backoff: Backoff,
    /// How many commits are fetched at first.
    pub depth: u32,
    /// Waits and chance.
    pub pace: Arc<dyn Pace>,
}

impl Settings {
    /// What suits most, with repositories in this folder.
    pub fn new(folder: impl Into<PathBuf>, pace: Arc<dyn Pace>) -> Self {
        Self {
            folder: folder.into(),
            limits: Limits::default(),
            backoff: Backoff::default(),
            depth: 64,
            pace,
        }
    }
}

/// A branch of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The repository.
    pub url: RemoteUrl,
    /// What logging in takes.
    pub access: Access,
    /// The branch.
    pub branch: String,
    /// The branch that it begins from if it is not there yet.
    pub base: Option<String>,
    /// How long one conversation with the remote may take, if not as long as any other.
    pub timeout: Option<Duration>,
}

impl Destination {
    /// A branch that is there.
    pub fn new(url: RemoteUrl, access: Access, branch: impl Into<String>) -> Self {
        Self { url, access, branch: branch.into(), base: None, timeout: None }
    }

    fn reference(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }
}

/// Where commits are kept that could not be pushed.
const UNPUSHED: &str = "refs/holdfast/unpushed/";

/// How many parts a repository may have before it is fetched anew: each fetch adds one.
const OUTGROWN: usize = 500;

/// The key of a repository, and a branch of it.
type Branch = (String, String);

/// Git, for the whole process: it keeps the repositories and sees to it that a branch has one writer.
pub struct Engine {
    settings: Settings,
    network: Arc<Network>,
    stores: Mutex<BTreeMap<String, Store>>,
    writers: Mutex<BTreeMap<Branch, Arc<Mutex<()>>>>,
}

impl Engine {
    /// An engine.
    pub fn start(settings: Settings) -> std::io::Result<Self> {
        let network = Network::start()?;
        let (stores, writers) = (Mutex::default(), Mutex::default());
        Ok(Self { settings, network, stores, writers })
    }

    /// The repository on this machine for a remote.
    pub fn store(&self, url: &RemoteUrl) -> Result<Store, StoreError> {
        let key = url.key();
        let mut stores = lock(&self.stores);
        if let Some(store) = stores.get(&key) {
            return Ok(store.clone());
        }
        let mut hash = Sha1::new();
        hash.update(&key);
        let name: String =
            hash.finalize().iter().take(10).map(|byte| format!("{byte:02x}")).collect();
        let store = self.open(&self.settings.folder.join(format!("{name}.git")))?;
        stores.insert(key, store.clone());
        Ok(store)
    }

    /// Opens a repository, or begins it anew where it is of no use: everything in it but what could
    /// not be pushed is at the remote too.
    fn open(&self, path: &Path) -> Result<Store, StoreError> {
        let outgrown = |store: &Store| {
            store.parts() > OUTGROWN && store.references(UNPUSHED).is_ok_and(|kept| kept.is_empty())
        };
        match Store::open_or_create(path) {
            Ok(store) if outgrown(&store) => {
                drop(store);
                std::fs::remove_dir_all(path).map_err(|error| StoreError {
                    path: path.to_owned(),
                    what: "clearing an old repository",
                    text: error.to_string(),
                })?;
                Store::open_or_create(path)
            }
            Err(error) if path.exists() => {
                let mut aside = path.to_owned();
                for number in 1..1000 {
                    aside = path.with_extension(format!("damaged-{number}"));
                    if !aside.exists() {
                        break;
                    }
                }
                tracing::warn!(%error, aside = %aside.display(), "a damaged repository is set aside");
                std::fs::rename(path, &aside).map_err(|_| error)?;
                Store::open_or_create(path)
            }
            outcome => outcome,
        }
    }

    /// How long is waited.
    pub fn limits(&self) -> Limits {
        self.settings.limits
    }

    /// Who waits for the network.
    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// A remote with this engine's limits.
    pub fn remote(&self, url: &RemoteUrl, access: &Access) -> Remote {
        Remote::new(url.clone(), access.clone(), self.settings.limits, self.network.clone())
    }

    /// Fetches a branch, a tag or a commit, and gives its files. `None` if the repository is empty.
    pub fn read(
        &self,
        url: &RemoteUrl,
        access: &Access,
        name: &str,
    ) -> Result<Option<Revision>, FetchError> {
        let store = self.store(url)?;
        let remote = self.remote(url, access);
        let want = Want::new(name, Depth::Recent(self.settings.depth));
        let fetched = self.patiently(|| store.fetch(&remote, &want))?;
        let Some(fetched) = fetched else { return Ok(None) };
        Ok(Some(store.revision(&fetched.id.to_string())?))
    }

    /// A writer to a branch.
    pub fn writer(&self, destination: Destination) -> Result<Writer<'_>, StoreError> {
        let store = self.store(&destination.url)?;
        let mut remote = self.remote(&destination.url, &destination.access);
        if let Some(timeout) = destination.timeout {
            remote.limits = remote.limits.within(timeout);
        }
        let key = (destination.url.key(), destination.branch.clone());
        let turn = lock(&self.writers).entry(key).or_default().clone();
        Ok(Writer::new(self, store, remote, destination, turn))
    }

    /// Tries again what may work a little later.
    fn patiently<T>(&self, work: impl Fn() -> Result<T, FetchError>) -> Result<T, FetchError> {
        let mut tries = 0;
        loop {
            match work() {
                Err(FetchError::Remote(error))
                    if error.cause.is_transient() && tries + 1 < self.settings.backoff.tries =>
                {
                    tracing::debug!(%error, tries, "fetching again");
                    self.pause(tries);
                    tries += 1;
                }
                outcome => return outcome,
            }
        }
    }

    fn pause(&self, tries: u32) {
        let pace = &self.settings.pace;
        pace.pause(self.settings.backoff.delay(tries, pace.random()));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod faults;
#[cfg(test)]
mod tests;
