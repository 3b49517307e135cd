//! What is kept: retention, pruning, locks, checks.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::{Origin, Repository, RepositoryError, Snapshot, blob, from_json, hash, json_bytes};

/// How many snapshots to keep, by kind of period.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Retention {
    /// The newest ones.
    pub last: u64,
    /// One per hour.
    pub hourly: u64,
    /// One per day.
    pub daily: u64,
    /// One per week.
    pub weekly: u64,
    /// One per month.
    pub monthly: u64,
    /// One per year.
    pub yearly: u64,
    /// All that are younger than this many seconds.
    pub within: i64,
}

impl Retention {
    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Which of these times (any order) are kept: for each period its newest, counted from the newest.
    pub fn keeps(&self, times: &[jiff::Timestamp], now: jiff::Timestamp) -> BTreeSet<usize> {
        let mut order: Vec<usize> = (0..times.len()).collect();
        order.sort_by_key(|at| std::cmp::Reverse(times[*at]));
        let mut kept: BTreeSet<usize> = BTreeSet::new();
        let rules: [(u64, &str); 5] = [
            (self.hourly, "%Y-%m-%dT%H"),
            (self.daily, "%Y-%m-%d"),
            (self.weekly, "%G-%V"),
            (self.monthly, "%Y-%m"),
            (self.yearly, "%Y"),
        ];
        for (count, format) in rules {
            let mut periods = BTreeSet::new();
            for at in &order {
                let period = times[*at].strftime(format).to_string();
                if (periods.len() as u64) < count && periods.insert(period) {
                    kept.insert(*at);
                }
            }
        }
        for (rank, at) in order.iter().enumerate() {
            let young = now.duration_since(times[*at]) <= SignedDuration::from_secs(self.within);
            if (rank as u64) < self.last || (self.within > 0 && young) {
                kept.insert(*at);
            }
        }
        kept
    }
}

/// A lock is stale after this long, if its holder's host is not ours.
const STALE: SignedDuration = SignedDuration::from_mins(30);

#[derive(Serialize, Deserialize)]
struct Lock {
    time: jiff::Timestamp,
    host: String,
    exclusive: bool,
}

impl Repository {
    /// Takes a lock and leaves it: what a killed mover does.
    pub fn lock(
        &self,
        host: &str,
        exclusive: bool,
        now: jiff::Timestamp,
    ) -> Result<String, RepositoryError> {
        let lock = json_bytes(&Lock { time: now, host: host.to_owned(), exclusive })?;
        let id = hash(&lock);
        self.place.put(&format!("locks/{id}"), lock, now)?;
        Ok(id)
    }

    /// Removes locks of this host and those that are too old to be alive. Returns how many.
    pub fn unlock(&self, host: &str, now: jiff::Timestamp) -> Result<usize, RepositoryError> {
        let mut removed = 0;
        for id in self.place.list("locks/")? {
            let name = format!("locks/{id}");
            let Some(bytes) = self.place.get(&name)? else { continue };
            let lock: Lock = from_json(&bytes, "lock")?;
            if lock.host == host || now.duration_since(lock.time) > STALE {
                self.place.delete(&name)?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// Whether someone else's lock forbids to share, or to be alone with, the repository.
    pub(super) fn admit(&self, alone: bool) -> Result<(), RepositoryError> {
        for id in self.place.list("locks/")? {
            let Some(bytes) = self.place.get(&format!("locks/{id}"))? else { continue };
            let lock: Lock = from_json(&bytes, "lock")?;
            if alone || lock.exclusive {
                let how = if lock.exclusive { "exclusively " } else { "" };
                return Err(RepositoryError::Locked(
                    how.to_owned(),
                    lock.host,
                    lock.time.to_string(),
                ));
            }
        }
        Ok(())
    }

    /// Drops what a policy does not keep of an origin; pinned ones stay. Returns the ids that went.
    pub fn forget(
        &self,
        origin: &Origin,
        retention: &Retention,
        now: jiff::Timestamp,
    ) -> Result<Vec<String>, RepositoryError> {
        self.admit(true)?;
        let own: Vec<(String, Snapshot)> = self
            .snapshots()?
            .into_iter()
            .filter(|(_, snapshot)| snapshot.origin == *origin)
            .collect();
        let times: Vec<jiff::Timestamp> = own.iter().map(|(_, snapshot)| snapshot.time).collect();
        let kept = retention.keeps(&times, now);
        let mut gone = Vec::new();
        for (at, (id, snapshot)) in own.into_iter().enumerate() {
            if !kept.contains(&at) && !snapshot.pinned {
                self.drop_snapshot(&id)?;
                gone.push(id);
            }
        }
        Ok(gone)
    }

    /// Drops one snapshot; its contents stay until they are pruned.
    pub fn drop_snapshot(&self, id: &str) -> Result<(), RepositoryError> {
        self.place.delete(&format!("snapshots/{id}"))
    }

    /// Pins or unpins a snapshot, which gives it a new id.
    pub fn pin(
        &self,
        id: &str,
        pinned: bool,
        now: jiff::Timestamp,
    ) -> Result<String, RepositoryError> {
        let name = format!("snapshots/{id}");
        let bytes = self
            .place
            .get(&name)?
            .ok_or_else(|| RepositoryError::Damaged(format!("snapshot {id} is missing")))?;
        let mut snapshot: Snapshot = from_json(&bytes, "snapshot")?;
        if snapshot.pinned == pinned {
            return Ok(id.to_owned());
        }
        snapshot.pinned = pinned;
        let new = self.write(&snapshot, now)?;
        self.place.delete(&name)?;
        Ok(new)
    }

    /// Removes contents that no snapshot needs. Returns how many.
    pub fn prune(&self) -> Result<usize, RepositoryError> {
        self.admit(true)?;
        let needed: BTreeSet<String> = self
            .snapshots()?
            .into_iter()
            .flat_map(|(_, snapshot)| snapshot.tree.into_values())
            .map(|file| blob(&file.content))
            .collect();
        let mut removed = 0;
        for name in self.place.list("data/")? {
            let name = format!("data/{name}");
            if !needed.contains(&name) {
                self.place.delete(&name)?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// What is wrong with it, in words; nothing if every snapshot can be restored.
    pub fn check(&self) -> Result<Vec<String>, RepositoryError> {
        let mut wrong = Vec::new();
        for (id, snapshot) in self.snapshots()? {
            for (path, file) in &snapshot.tree {
                match self.place.get(&blob(&file.content))? {
                    None => {
                        wrong.push(format!("snapshot {id}: the contents of {path} are missing"));
                    }
                    Some(bytes) if hash(&bytes) != file.content => {
                        wrong.push(format!("snapshot {id}: the contents of {path} are damaged"));
                    }
                    Some(_) => {}
                }
            }
        }
        Ok(wrong)
    }
}
