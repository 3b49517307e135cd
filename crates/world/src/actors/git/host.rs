//! The host: repositories, their branches and who may move them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::objects::{Files, Id, Kind, Objects};
use super::pack;

/// Why git said no.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// No such repository.
    #[error("repository {0} not found")]
    NoRepository(String),
    /// No such branch, tag or commit.
    #[error("couldn't find remote ref {0:?}")]
    NoRevision(String),
    /// Someone else was faster.
    #[error("{reference} was rejected: fetch first (it is at {found})")]
    Rejected {
        /// The ref.
        reference: String,
        /// Where it is.
        found: String,
    },
    /// The answer did not arrive; what was asked may have happened.
    #[error("the connection broke before the answer came")]
    Lost,
    /// What was pushed cannot be read.
    #[error("unpack failed: {0}")]
    Unreadable(String),
}

/// What may go wrong with a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushFault {
    /// Refused as if someone else had been faster.
    Rejected,
    /// Accepted, but the answer is lost.
    Lost,
}

/// Who commits, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// Name.
    pub name: String,
    /// E-mail address.
    pub email: String,
    /// Seconds since 1970, UTC.
    pub seconds: i64,
}

impl Signature {
    /// A signature at a time.
    pub fn new(name: &str, at: jiff::Timestamp) -> Self {
        Self {
            name: name.to_owned(),
            email: format!("{name}@world.holdfast.dev"),
            seconds: at.as_second(),
        }
    }
}

/// Files to write (or, without bytes, to remove) by path.
pub type Change = BTreeMap<String, Option<Vec<u8>>>;

#[derive(Debug, Default)]
struct Repository {
    objects: Objects,
    refs: BTreeMap<String, Id>,
}

#[derive(Debug, Default)]
struct Inner {
    repositories: BTreeMap<String, Repository>,
    /// What goes wrong with the next pushes.
    faults: std::collections::VecDeque<PushFault>,
}

/// A git host. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct GitHost {
    inner: Arc<Mutex<Inner>>,
}

/// A move of one ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Update {
    pub reference: String,
    /// Where the pusher believes it is; zero for nowhere.
    pub old: Id,
    /// Where it goes; zero deletes it.
    pub new: Id,
}

impl GitHost {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(
        &self,
        name: &str,
        act: impl FnOnce(&mut Repository) -> Result<T, GitError>,
    ) -> Result<T, GitError> {
        let mut inner = self.lock();
        let found = inner.repositories.get_mut(name);
        act(found.ok_or_else(|| GitError::NoRepository(name.to_owned()))?)
    }

    /// Makes an empty repository; one that is there stays as it is. Names look like `owner/name`.
    pub fn create(&self, name: &str) {
        self.lock().repositories.entry(name.to_owned()).or_default();
    }

    /// Names of all repositories.
    pub fn repositories(&self) -> Vec<String> {
        self.lock().repositories.keys().cloned().collect()
    }

    /// What goes wrong with the next push, whoever makes it.
    pub fn fail_next_push(&self, fault: PushFault) {
        self.lock().faults.push_back(fault);
    }

    pub(super) fn next_fault(&self) -> Option<PushFault> {
        self.lock().faults.pop_front()
    }

    /// All refs by full name.
    pub fn refs(&self, name: &str) -> Result<BTreeMap<String, Id>, GitError> {
        self.with(name, |repository| Ok(repository.refs.clone()))
    }

    /// The commit behind a branch, tag, full ref or commit id.
    pub fn resolve(&self, name: &str, revision: &str) -> Result<Id, GitError> {
        self.with(name, |repository| repository.resolve(revision))
    }

    /// All files at a revision.
    pub fn files(&self, name: &str, revision: &str) -> Result<Files, GitError> {
        self.with(name, |repository| {
            let commit = repository.resolve(revision)?;
            let tree = repository.objects.tree_of(commit);
            Ok(tree.map(|tree| repository.objects.files(tree)).unwrap_or_default())
        })
    }

    /// One file at a revision.
    pub fn read(
        &self,
        name: &str,
        revision: &str,
        path: &str,
    ) -> Result<Option<Vec<u8>>, GitError> {
        Ok(self.files(name, revision)?.remove(path))
    }

    /// Whether a branch holds nothing that another lacks.
    pub fn contains(&self, name: &str, revision: &str, part: &str) -> Result<bool, GitError> {
        self.with(name, |repository| {
            let (whole, part) = (repository.resolve(revision)?, repository.resolve(part)?);
            Ok(repository.objects.descends(whole, part))
        })
    }

    /// Where two commits' histories parted, if they share any.
    pub fn fork(&self, name: &str, one: Id, other: Id) -> Result<Option<Id>, GitError> {
        self.with(name, |repository| {
            let mut open = std::collections::VecDeque::from([one]);
            while let Some(id) = open.pop_front() {
                if repository.objects.descends(other, id) {
                    return Ok(Some(id));
                }
                open.extend(repository.objects.parents(id));
            }
            Ok(None)
        })
    }

    /// Points a tag at a revision.
    pub fn tag(&self, name: &str, tag: &str, revision: &str) -> Result<Id, GitError> {
        self.with(name, |repository| {
            let id = repository.resolve(revision)?;
            repository.refs.insert(format!("refs/tags/{tag}"), id);
            Ok(id)
        })
    }

    /// Starts a branch at a revision.
    pub fn branch(&self, name: &str, branch: &str, revision: &str) -> Result<Id, GitError> {
        self.with(name, |repository| {
            let id = repository.resolve(revision)?;
            repository.refs.insert(format!("refs/heads/{branch}"), id);
            Ok(id)
        })
    }

    /// Makes a commit on top of `parents` without moving any ref.
    pub fn write(
        &self,
        name: &str,
        parents: &[Id],
        change: &Change,
        by: &Signature,
        message: &str,
    ) -> Result<Id, GitError> {
        self.with(name, |repository| Ok(repository.write(parents, change, by, message)))
    }

    /// Commits on a branch, on top of whatever it has; the branch is made if it is not there.
    pub fn commit(
        &self,
        name: &str,
        branch: &str,
        change: &Change,
        by: &Signature,
        message: &str,
    ) -> Result<Id, GitError> {
        self.with(name, |repository| {
            let reference = format!("refs/heads/{branch}");
            let parent: Vec<Id> = repository.refs.get(&reference).copied().into_iter().collect();
            let id = repository.write(&parent, change, by, message);
            repository.refs.insert(reference, id);
            Ok(id)
        })
    }

    /// Moves a branch from `old` (none: it must not be there) to `new`, or not at all.
    pub fn push(
        &self,
        name: &str,
        branch: &str,
        old: Option<Id>,
        new: Id,
        fault: Option<PushFault>,
    ) -> Result<(), GitError> {
        let reference = format!("refs/heads/{branch}");
        let update = Update { reference, old: old.unwrap_or(Id::ZERO), new };
        let fault = fault.or_else(|| self.next_fault());
        if fault == Some(PushFault::Rejected) {
            let found = self.refs(name)?.get(&update.reference).copied().unwrap_or(Id::ZERO);
            return Err(GitError::Rejected {
                reference: update.reference,
                found: found.to_string(),
            });
        }
        self.with(name, |repository| repository.update(&update))?;
        if fault == Some(PushFault::Lost) { Err(GitError::Lost) } else { Ok(()) }
    }

    pub(super) fn update(&self, name: &str, update: &Update) -> Result<(), GitError> {
        self.with(name, |repository| repository.update(update))
    }

    pub(super) fn unpack(&self, name: &str, bytes: &[u8]) -> Result<(), GitError> {
        self.with(name, |repository| {
            let found = pack::read(bytes, &repository.objects).map_err(GitError::Unreadable)?;
            for (kind, body) in found {
                repository.objects.put(kind, body);
            }
            Ok(())
        })
    }

    pub(super) fn has(&self, name: &str, id: Id) -> bool {
        self.with(name, |repository| Ok(repository.objects.has(id))).unwrap_or_default()
    }

    /// A pack of what `wants` need beyond `haves`, and where history was cut.
    pub(super) fn pack(
        &self,
        name: &str,
        wants: &[Id],
        haves: &[Id],
        depth: Option<u64>,
    ) -> Result<(Vec<u8>, Vec<Id>), GitError> {
        self.with(name, |repository| {
            let (ids, shallow) = repository.objects.closure(wants, haves, depth);
            let pack = pack::write(&repository.objects, &ids)
                .map_err(|error| GitError::Unreadable(error.to_string()))?;
            Ok((pack, shallow))
        })
    }
}

impl Repository {
    fn resolve(&self, revision: &str) -> Result<Id, GitError> {
        let named = [
            revision.to_owned(),
            format!("refs/heads/{revision}"),
            format!("refs/tags/{revision}"),
        ];
        named
            .iter()
            .find_map(|reference| self.refs.get(reference).copied())
            .or_else(|| revision.parse().ok())
            .and_then(|id| self.objects.peel(id))
            .ok_or_else(|| GitError::NoRevision(revision.to_owned()))
    }

    fn write(&mut self, parents: &[Id], change: &Change, by: &Signature, message: &str) -> Id {
        let mut files = parents
            .first()
            .and_then(|parent| self.objects.tree_of(*parent))
            .map(|tree| self.objects.files(tree))
            .unwrap_or_default();
        for (path, bytes) in change {
            match bytes {
                Some(bytes) => drop(files.insert(path.clone(), bytes.clone())),
                None => drop(files.remove(path)),
            }
        }
        let mut body = format!("tree {}\n", self.objects.put_tree(&files));
        for parent in parents {
            // Writing to a string cannot fail.
            let _ = writeln!(body, "parent {parent}");
        }
        let who = format!("{} <{}> {} +0000", by.name, by.email, by.seconds);
        let _ = write!(body, "author {who}\ncommitter {who}\n\n{message}\n");
        self.objects.put(Kind::Commit, body.into_bytes())
    }

    fn update(&mut self, update: &Update) -> Result<(), GitError> {
        let found = self.refs.get(&update.reference).copied().unwrap_or(Id::ZERO);
        if found != update.old {
            return Err(GitError::Rejected {
                reference: update.reference.clone(),
                found: found.to_string(),
            });
        }
        if update.new == Id::ZERO {
            self.refs.remove(&update.reference);
            return Ok(());
        }
        if !self.objects.has(update.new) {
            return Err(GitError::Unreadable(format!("missing object {}", update.new)));
        }
        self.refs.insert(update.reference.clone(), update.new);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> Change {
        [(path.to_owned(), Some(text.as_bytes().to_vec()))].into()
    }

    fn person() -> Signature {
        Signature::new("ada", jiff::Timestamp::constant(1_767_225_600, 0))
    }

    #[test]
    fn the_same_commits_have_the_same_names() {
        let run = || {
            let host = GitHost::default();
            host.create("ops/fleet");
            host.commit("ops/fleet", "main", &file("a/b", "1"), &person(), "one").unwrap();
            host.commit("ops/fleet", "main", &file("c", "2"), &person(), "two").unwrap()
        };
        assert_eq!(run(), run());
    }

    #[test]
    fn a_push_moves_a_branch_only_from_where_it_is() {
        let host = GitHost::default();
        host.create("r");
        let one = host.commit("r", "main", &file("f", "1"), &person(), "one").unwrap();
        let mine = host.write("r", &[one], &file("f", "2"), &person(), "mine").unwrap();
        let other = host.commit("r", "main", &file("f", "3"), &person(), "other").unwrap();
        let refused = host.push("r", "main", Some(one), mine, None).unwrap_err();
        assert!(matches!(refused, GitError::Rejected { found, .. } if found == other.to_string()));
        assert_eq!(host.read("r", "main", "f").unwrap().unwrap(), b"3");
        let again = host.write("r", &[other], &file("f", "2"), &person(), "mine").unwrap();
        host.push("r", "main", Some(other), again, None).unwrap();
        assert_eq!(host.read("r", "main", "f").unwrap().unwrap(), b"2");
        assert!(host.contains("r", "main", &one.to_string()).unwrap());
    }

    #[test]
    fn a_lost_answer_leaves_the_push_in_place() {
        let host = GitHost::default();
        host.create("r");
        let one = host.commit("r", "main", &file("f", "1"), &person(), "one").unwrap();
        let two = host.write("r", &[one], &file("f", "2"), &person(), "two").unwrap();
        host.fail_next_push(PushFault::Rejected);
        assert!(matches!(
            host.push("r", "main", Some(one), two, None),
            Err(GitError::Rejected { .. })
        ));
        host.fail_next_push(PushFault::Lost);
        assert_eq!(host.push("r", "main", Some(one), two, None), Err(GitError::Lost));
        assert_eq!(host.resolve("r", "main"), Ok(two));
    }
}
