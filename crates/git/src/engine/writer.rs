//! Landing a change on a branch, whatever happens on the way.

use std::sync::{Arc, Mutex};

use gix::ObjectId;
use sha1::{Digest as _, Sha1};

use super::{Change, Destination, Engine, Landed, Submission, UNPUSHED, WriteError, lock};
use crate::commit::{Draft, Trailer};
use crate::error::{Cause, RemoteError};
use crate::find::{Reach, Search};
use crate::push::Push;
use crate::store::{Depth, FetchError, Store, StoreError, Want, flat, tracking};
use crate::transport::Remote;
use crate::tree::Revision;

/// A name, and the commit that is kept under it.
type Kept = (String, ObjectId);

/// Makes a tree out of the tip's; none if nothing changes.
type Make<'a> = dyn Fn(&Revision) -> Result<Option<ObjectId>, WriteError> + 'a;

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

impl<'a> Writer<'a> {
    pub(super) fn new(
        engine: &'a Engine,
        store: Store,
        remote: Remote,
        destination: Destination,
        turn: Arc<Mutex<()>>,
    ) -> Self {
        Self { engine, store, remote, destination, turn }
    }

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
        self.store.references(&format!("{UNPUSHED}{}/", flat(&self.destination.branch)))
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
        let mut kept: Option<Kept> = None;
        for tries in 0..backoff.tries {
            if tries > 0 {
                self.engine.pause(tries - 1);
            }
            let tip = self.fetch().map_err(|error| with_kept(error, kept.clone()))?;
            let pushed = kept.as_ref().map(|(_, id)| *id);
            if let Some(found) = self.landed_before(&tip, &submission, pushed)? {
                self.release(&submission, kept);
                return Ok(found);
            }
            let Some(tree) = make(&tip.revision)? else {
                self.release(&submission, kept);
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
            kept = Some(self.keep(&submission, new, kept)?);
            let push = Push { reference: self.destination.reference(), old: tip.old, new };
            let failure = match self.store.push(&self.remote, &push) {
                Ok(()) => {
                    if let Err(error) = self.store.point(&tracking(&push.reference), new) {
                        // It has landed; the next fetch remembers it.
                        tracing::warn!(%error, "the push is not remembered here");
                    }
                    self.release(&submission, kept);
                    return Ok(Landed::Committed(new));
                }
                Err(failure) => failure,
            };
            let cause = &failure.error.cause;
            if !(cause.is_transient() || failure.perhaps) {
                return Err(WriteError::Remote { error: failure.error, kept });
            }
            tracing::debug!(error = %failure.error, tries, "pushing again");
            if tries + 1 < backoff.tries {
                continue;
            }
            if *cause == Cause::Moved {
                self.release(&submission, kept);
                break;
            }
            // The last answer may be the one that was lost.
            if failure.perhaps
                && let Ok(tip) = self.fetch()
                && let Some(found) = self.landed_before(&tip, &submission, Some(new))?
            {
                self.release(&submission, kept);
                return Ok(found);
            }
            return Err(WriteError::Remote { error: failure.error, kept });
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

    /// The name under which a commit is kept until it is pushed: the same for every try of the same
    /// submission, so that tries do not pile up.
    fn keeper(&self, submission: &Submission, commit: ObjectId) -> String {
        let branch = flat(&self.destination.branch);
        match &submission.id {
            None => format!("{UNPUSHED}{branch}/{commit}"),
            Some(id) => {
                let mut hash = Sha1::new();
                hash.update(format!("{}: {}", id.key.to_ascii_lowercase(), id.value));
                let hash = hash.finalize();
                let short: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
                format!("{UNPUSHED}{branch}/{short}")
            }
        }
    }

    fn keep(
        &self,
        submission: &Submission,
        commit: ObjectId,
        before: Option<Kept>,
    ) -> Result<Kept, StoreError> {
        let name = self.keeper(submission, commit);
        self.store.point(&name, commit)?;
        if let Some((old, _)) = before.filter(|(old, _)| *old != name) {
            self.store.unpoint(&old)?;
        }
        Ok((name, commit))
    }

    /// Keeps it no longer: it has landed, or there is nothing to land.
    fn release(&self, submission: &Submission, kept: Option<Kept>) {
        let earlier = submission.id.is_some().then(|| {
            // An earlier process may have kept one.
            self.keeper(submission, ObjectId::null(gix::hash::Kind::Sha1))
        });
        for name in kept.map(|(name, _)| name).into_iter().chain(earlier) {
            if let Err(error) = self.store.unpoint(&name) {
                tracing::warn!(%error, "a commit that has landed is still kept");
            }
        }
    }
}

fn with_kept(error: WriteError, kept: Option<Kept>) -> WriteError {
    match error {
        WriteError::Remote { error, kept: None } => WriteError::Remote { error, kept },
        error => error,
    }
}
