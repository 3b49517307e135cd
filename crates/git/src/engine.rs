//! What the rest of Holdfast uses: reading a branch, and writing to it without losing, doubling or overwriting
//! anybody's commit.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gix::ObjectId;
use sha1::{Digest as _, Sha1};
use thiserror::Error;

use crate::auth::Access;
use crate::commit::{CommitError, Draft, Message, Moment, Person, Trailer};
use crate::error::{Cause, RemoteError};
use crate::find::{Reach, Search};
use crate::merge::MergeError;
use crate::push::Push;
use crate::sign::Signer;
use crate::store::{Depth, FetchError, Store, StoreError, Want, tracking};
use crate::transport::{Limits, Network, Remote};
use crate::tree::{FileEdit, Revision, TreeError};
use crate::url::RemoteUrl;

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
}

impl Destination {
    /// A branch that is there.
    pub fn new(url: RemoteUrl, access: Access, branch: impl Into<String>) -> Self {
        Self { url, access, branch: branch.into(), base: None }
    }

    fn reference(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }
}

/// A change of files, made anew on whatever the branch has become.
pub trait Change {
    /// What to change in these files. Nothing to change is no error.
    fn edits(&self, tip: &Revision) -> Result<Vec<FileEdit>, ChangeError>;
}

impl<F: Fn(&Revision) -> Result<Vec<FileEdit>, ChangeError>> Change for F {
    fn edits(&self, tip: &Revision) -> Result<Vec<FileEdit>, ChangeError> {
        self(tip)
    }
}

/// The change does not suit these files.
pub type ChangeError = Box<dyn std::error::Error + Send + Sync>;

/// Who commits what, when and why.
#[derive(Clone, Debug)]
pub struct Submission {
    /// Who made the change.
    pub author: Person,
    /// When.
    pub authored: Moment,
    /// Who commits it.
    pub committer: Person,
    /// When.
    pub committed: Moment,
    /// Why.
    pub message: Message,
    /// By what it is known again after a crash. Put below the message.
    pub id: Option<Trailer>,
    /// When it cannot have been committed yet, in seconds since 1970: how far back it is looked for.
    pub since: Option<i64>,
    /// Who signs it.
    pub signer: Option<Arc<Signer>>,
}

/// What became of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landed {
    /// It is on the branch as this commit.
    Committed(ObjectId),
    /// It was there already, as this commit.
    Already(ObjectId),
    /// There was nothing to change.
    Unchanged(Option<ObjectId>),
}

impl Landed {
    /// The commit that has the change.
    pub fn commit(self) -> Option<ObjectId> {
        match self {
            Self::Committed(id) | Self::Already(id) => Some(id),
            Self::Unchanged(id) => id,
        }
    }
}

/// Why a submission did not land.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The remote did not take it.
    #[error("{error}{}", kept.as_ref().map(|(name, id)| format!("; commit {id} is kept as {name}")).unwrap_or_default())]
    Remote {
        /// Why.
        error: RemoteError,
        /// What was to be pushed, and under which name it is kept.
        kept: Option<(String, ObjectId)>,
    },
    /// Others were faster every time.
    #[error("{remote}: {branch} moved under each of {tries} tries")]
    Crowded {
        /// The remote.
        remote: RemoteUrl,
        /// The branch.
        branch: String,
        /// How often it was tried.
        tries: u32,
    },
    /// The change does not suit what the branch has become.
    #[error("{remote}: the change cannot be made on {branch}: {error}")]
    Change {
        /// The remote.
        remote: RemoteUrl,
        /// The branch.
        branch: String,
        /// Why.
        error: ChangeError,
    },
    /// A commit cannot be undone any more.
    #[error("{remote}: {commit} cannot be reverted on {branch}: {error}")]
    Revert {
        /// The remote.
        remote: RemoteUrl,
        /// The branch.
        branch: String,
        /// The commit.
        commit: ObjectId,
        /// Why.
        error: RevertError,
    },
    /// Files could not be changed.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The commit could not be made.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The repository on this machine could not be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<FetchError> for WriteError {
    fn from(error: FetchError) -> Self {
        match error {
            FetchError::Remote(error) => Self::Remote { error, kept: None },
            FetchError::Store(error) => Self::Store(error),
        }
    }
}

pub use crate::revert::RevertError;

/// Makes a tree out of the tip's; none if nothing changes.
type Make<'a> = dyn Fn(&Revision) -> Result<Option<ObjectId>, WriteError> + 'a;

/// Git, for the whole process: it keeps the repositories and sees to it that a branch has one writer.
pub struct Engine {
    settings: Settings,
    network: Arc<Network>,
    stores: Mutex<BTreeMap<String, Store>>,
    writers: Mutex<BTreeMap<(String, String), Arc<Mutex<()>>>>,
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
        let store = Store::open_or_create(&self.settings.folder.join(format!("{name}.git")))?;
        stores.insert(key, store.clone());
        Ok(store)
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
        let remote = self.remote(&destination.url, &destination.access);
        let key = (destination.url.key(), destination.branch.clone());
        let turn = lock(&self.writers).entry(key).or_default().clone();
        Ok(Writer { engine: self, store, remote, destination, turn })
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

/// Writes to one branch. Writers to the same branch take turns.
pub struct Writer<'a> {
    engine: &'a Engine,
    store: Store,
    remote: Remote,
    destination: Destination,
    turn: Arc<Mutex<()>>,
}

/// Where the branch is.
struct Tip {
    /// Where a push has to find it.
    old: Option<ObjectId>,
    revision: Revision,
}

impl Writer<'_> {
    /// The files of the branch as it is now.
    pub fn tip(&self) -> Result<Revision, WriteError> {
        Ok(self.fetch()?.revision)
    }

    /// Makes a change on the branch, commits it and pushes it: once, whatever happens in between.
    pub fn submit(
        &self,
        submission: &Submission,
        change: &dyn Change,
    ) -> Result<Landed, WriteError> {
        self.land(submission, &|tip| {
            let edits = change.edits(tip).map_err(|error| WriteError::Change {
                remote: self.destination.url.clone(),
                branch: self.destination.branch.clone(),
                error,
            })?;
            let tree = tip.edit(&edits)?;
            Ok(Some(tree).filter(|tree| *tree != tip.tree()))
        })
    }

    /// Undoes one commit and nothing else, as a commit of its own.
    pub fn revert(&self, submission: &Submission, commit: ObjectId) -> Result<Landed, WriteError> {
        self.land(submission, &|tip| {
            let wrong = |error| WriteError::Revert {
                remote: self.destination.url.clone(),
                branch: self.destination.branch.clone(),
                commit,
                error,
            };
            let known = self.store.parents(commit);
            if !matches!(known, Ok(Some(_))) {
                // It lies deeper than what was fetched.
                self.store.fetch(&self.remote, &self.want(Depth::All))?;
            }
            let tree = self.store.revert(commit, tip).map_err(wrong)?;
            Ok(Some(tree).filter(|tree| *tree != tip.tree()))
        })
    }

    /// The newest commit of the branch with this trailer.
    pub fn find(&self, trailer: &Trailer, reach: Reach) -> Result<Option<ObjectId>, WriteError> {
        let tip = self.fetch()?;
        self.search(&tip, trailer, reach)
    }

    /// Commits that could not be pushed, with the names under which they are kept.
    pub fn kept(&self) -> Result<Vec<(String, ObjectId)>, StoreError> {
        self.store.references(&format!("refs/holdfast/unpushed/{}/", self.destination.branch))
    }

    fn want(&self, depth: Depth) -> Want {
        Want::new(self.destination.reference(), depth)
    }

    fn fetch(&self) -> Result<Tip, WriteError> {
        let depth = Depth::Recent(self.engine.settings.depth);
        let want = self.want(depth);
        let fetched = self.engine.patiently(|| self.store.fetch(&self.remote, &want));
        match (fetched, &self.destination.base) {
            (Ok(Some(fetched)), _) => {
                if fetched.rewritten {
                    tracing::warn!(
                        remote = %self.destination.url,
                        branch = %self.destination.branch,
                        "the branch was pushed by force"
                    );
                }
                Ok(Tip { old: Some(fetched.id), revision: self.store.at(fetched.id)? })
            }
            (Ok(None), _) => Ok(Tip { old: None, revision: self.store.empty() }),
            (
                Err(FetchError::Remote(RemoteError { cause: Cause::NoBranch(_), .. })),
                Some(base),
            ) => {
                // What was remembered of a branch that is gone would only mislead.
                self.store.unpoint(&tracking(&self.destination.reference()))?;
                let want = Want::new(format!("refs/heads/{base}"), depth);
                let fetched = self.engine.patiently(|| self.store.fetch(&self.remote, &want))?;
                let revision = match fetched {
                    Some(fetched) => self.store.at(fetched.id)?,
                    None => self.store.empty(),
                };
                Ok(Tip { old: None, revision })
            }
            (Err(error), _) => Err(error.into()),
        }
    }

    fn search(
        &self,
        tip: &Tip,
        trailer: &Trailer,
        reach: Reach,
    ) -> Result<Option<ObjectId>, WriteError> {
        let Some(from) = tip.revision.commit() else { return Ok(None) };
        let mut depth = self.engine.settings.depth;
        loop {
            match self.store.find(from, trailer, reach)? {
                Search::Found(id) => return Ok(Some(id)),
                Search::Absent => return Ok(None),
                Search::Beyond => {
                    depth = depth.saturating_mul(8);
                    let deeper = if depth as usize >= reach.commits {
                        Depth::All
                    } else {
                        Depth::Deepen(depth)
                    };
                    let before = self.store.shallow()?;
                    self.store.fetch(&self.remote, &self.want(deeper))?;
                    if self.store.shallow()? == before {
                        // The server itself has no more.
                        return Ok(None);
                    }
                }
            }
        }
    }

    fn land(&self, submission: &Submission, make: &Make<'_>) -> Result<Landed, WriteError> {
        let _turn = lock(&self.turn);
        let backoff = self.engine.settings.backoff;
        let mut submission = submission.clone();
        submission.message.trailers.extend(submission.id.clone());
        let mut kept = None;
        for tries in 0..backoff.tries {
            if tries > 0 {
                self.engine.pause(tries - 1);
            }
            let tip = self.fetch().map_err(|error| self.with_kept(error, kept))?;
            if let Some(found) = self.landed_before(&tip, &submission, kept)? {
                self.release(kept)?;
                return Ok(found);
            }
            let Some(tree) = make(&tip.revision)? else {
                self.release(kept)?;
                return Ok(Landed::Unchanged(tip.revision.commit()));
            };
            let draft = Draft {
                tree,
                parents: tip.revision.commit().into_iter().collect(),
                author: submission.author.clone(),
                authored: submission.authored,
                committer: submission.committer.clone(),
                committed: submission.committed,
                message: submission.message.clone(),
            };
            let new = self.store.commit(&draft, submission.signer.as_deref())?;
            self.release(kept)?;
            self.store.point(&self.keeper(new), new)?;
            kept = Some(new);
            let push = Push { reference: self.destination.reference(), old: tip.old, new };
            match self.store.push(&self.remote, &push) {
                Ok(()) => {
                    self.store.point(&tracking(&push.reference), new)?;
                    self.release(kept)?;
                    return Ok(Landed::Committed(new));
                }
                Err(failure) if failure.error.cause.is_transient() || failure.perhaps => {
                    tracing::debug!(error = %failure.error, tries, "pushing again");
                    if tries + 1 < backoff.tries {
                        continue;
                    }
                    if failure.error.cause == Cause::Moved {
                        self.release(kept)?;
                        return Err(WriteError::Crowded {
                            remote: self.destination.url.clone(),
                            branch: self.destination.branch.clone(),
                            tries: backoff.tries,
                        });
                    }
                    // The last answer may be the one that was lost.
                    if failure.perhaps
                        && let Ok(tip) = self.fetch()
                        && let Some(found) = self.landed_before(&tip, &submission, kept)?
                    {
                        self.release(kept)?;
                        return Ok(found);
                    }
                    return Err(self.refused(failure.error, kept));
                }
                Err(failure) => return Err(self.refused(failure.error, kept)),
            }
        }
        Err(WriteError::Crowded {
            remote: self.destination.url.clone(),
            branch: self.destination.branch.clone(),
            tries: backoff.tries,
        })
    }

    /// Whether the branch has it already: the commit that was pushed before, or one with its trailer.
    fn landed_before(
        &self,
        tip: &Tip,
        submission: &Submission,
        pushed: Option<ObjectId>,
    ) -> Result<Option<Landed>, WriteError> {
        if let (Some(pushed), Some(now)) = (pushed, tip.old)
            && self.store.leads_to(now, pushed)?
        {
            return Ok(Some(Landed::Committed(pushed)));
        }
        let Some(id) = &submission.id else { return Ok(None) };
        let reach = Reach {
            // Clocks differ, by less than a day.
            since: submission.since.map_or(i64::MIN, |since| since.saturating_sub(86_400)),
            commits: if submission.since.is_some() { 100_000 } else { 1_000 },
        };
        let found = self.search(tip, id, reach)?;
        Ok(found
            .map(|id| if Some(id) == pushed { Landed::Committed(id) } else { Landed::Already(id) }))
    }

    fn keeper(&self, commit: ObjectId) -> String {
        format!("refs/holdfast/unpushed/{}/{commit}", self.destination.branch)
    }

    fn release(&self, kept: Option<ObjectId>) -> Result<(), StoreError> {
        match kept {
            Some(commit) => self.store.unpoint(&self.keeper(commit)),
            None => Ok(()),
        }
    }

    fn refused(&self, error: RemoteError, kept: Option<ObjectId>) -> WriteError {
        WriteError::Remote { error, kept: kept.map(|id| (self.keeper(id), id)) }
    }

    fn with_kept(&self, error: WriteError, kept: Option<ObjectId>) -> WriteError {
        match error {
            WriteError::Remote { error, kept: None } => self.refused(error, kept),
            error => error,
        }
    }
}

impl From<MergeError> for RevertError {
    fn from(error: MergeError) -> Self {
        match error {
            MergeError::Conflict(paths) => Self::Conflict(paths),
            MergeError::Store(error) => Self::Store(error),
        }
    }
}

#[cfg(test)]
mod faults;
#[cfg(test)]
mod tests;
