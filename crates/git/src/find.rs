//! Finding a commit again by its trailer, so that nothing is committed twice.

use std::collections::{BTreeSet, BinaryHeap};

use gix::ObjectId;

use crate::commit::{Trailer, trailers};
use crate::store::{Store, StoreError};

/// How far back to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// At most so many commits.
    pub commits: usize,
    /// None that was committed before this, in seconds since 1970.
    pub since: i64,
}

impl Default for Reach {
    fn default() -> Self {
        Self { commits: 10_000, since: i64::MIN }
    }
}

/// What became of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// This is it.
    Found(ObjectId),
    /// It is not there, as far as was looked.
    Absent,
    /// It is not in what was fetched, and there is more.
    Beyond,
}

impl Store {
    /// Looks for the newest commit with this trailer that leads to `from`.
    pub fn find(
        &self,
        from: ObjectId,
        trailer: &Trailer,
        reach: Reach,
    ) -> Result<Search, StoreError> {
        let shallow = self.shallow()?;
        self.with(|repo| {
            let (mut seen, mut queue) = (BTreeSet::new(), BinaryHeap::from([(i64::MAX, from)]));
            let mut beyond = false;
            while let Some((_, id)) = queue.pop() {
                if seen.len() >= reach.commits {
                    break;
                }
                if !seen.insert(id) {
                    continue;
                }
                let wrong = |e: gix::Error| self.failed("reading a commit", &e);
                let commit = repo.find_commit(id).map_err(wrong)?;
                let message = commit.message_raw().map_err(wrong)?.to_string();
                let matches = |found: &Trailer| {
                    found.key.eq_ignore_ascii_case(&trailer.key) && found.value == trailer.value
                };
                if trailers(&message).iter().any(matches) {
                    return Ok(Search::Found(id));
                }
                if shallow.contains(&id) {
                    beyond = true;
                    continue;
                }
                for parent in commit.parent_ids() {
                    let parent = parent.detach();
                    let Ok(found) = repo.find_commit(parent) else { continue };
                    let time = found.time().map_or(0, |time| time.seconds);
                    if time >= reach.since {
                        queue.push((time, parent));
                    }
                }
            }
            Ok(if beyond { Search::Beyond } else { Search::Absent })
        })
    }
}
