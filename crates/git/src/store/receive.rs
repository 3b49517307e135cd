//! Fetching into a store. References move last, after what they point to was found sound.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::io::{BufReader, Read};
use std::path::PathBuf;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;

use gix::ObjectId;

use super::{FetchError, Store, StoreError};
use crate::error::{Cause, chain};
use crate::transport::fetch::{Boundary, Greeting, Wish};
use crate::transport::{Remote, Service, fetch, file};
use crate::url::Location;

/// How many commits we tell a server that we have.
const HAVES: usize = 256;

/// No single object may take more memory than this.
const LARGEST: usize = 1 << 30;

/// How much history is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// So many commits the first time; later, what is new.
    Recent(u32),
    /// So many commits from the tip, also if less were fetched before.
    Deepen(u32),
    /// Everything.
    All,
}

/// What is to be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Want {
    /// A branch, a tag, a full reference name, or the id of a commit.
    pub name: String,
    /// How much of its history.
    pub depth: Depth,
}

impl Want {
    /// A branch or whatever else has this name, as deep as said.
    pub fn new(name: impl Into<String>, depth: Depth) -> Self {
        Self { name: name.into(), depth }
    }

    /// The references that it may mean, best first.
    pub(crate) fn candidates(&self) -> Vec<String> {
        if self.name.starts_with("refs/") || self.name == "HEAD" {
            return vec![self.name.clone()];
        }
        vec![format!("refs/heads/{}", self.name), format!("refs/tags/{}", self.name)]
    }

    fn id(&self) -> Option<ObjectId> {
        ObjectId::from_hex(self.name.as_bytes()).ok()
    }

    /// What it is, among these; nothing if the remote has no reference at all.
    pub(crate) fn choose(
        &self,
        references: &BTreeMap<String, ObjectId>,
    ) -> Option<(String, ObjectId)> {
        let mut named = self.candidates().into_iter();
        let found = named.find_map(|name| references.get(&name).map(|id| (name, *id)));
        found.or_else(|| self.id().map(|id| (format!("refs/commits/{id}"), id)))
    }
}

/// What was fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The commit, or the tag, that is at the remote now.
    pub id: ObjectId,
    /// The remote's name for it.
    pub reference: String,
    /// Where the remote was when it was asked last.
    pub before: Option<ObjectId>,
    /// Whether what was there is no longer part of the history: somebody pushed by force.
    pub rewritten: bool,
}

impl Store {
    /// Fetches. `None` if the remote has nothing at all; an error if it has not this.
    pub fn fetch(&self, remote: &Remote, want: &Want) -> Result<Option<Fetched>, FetchError> {
        let found = match remote.url.location() {
            Location::File(path) => {
                file::fetch(self, path, want).map_err(|failure| match failure {
                    file::Failure::Cause(cause) => FetchError::Remote(remote.error(cause)),
                    file::Failure::Store(error) => FetchError::Store(error),
                })?
            }
            _ => self.fetch_from_server(remote, want)?,
        };
        let Some((name, id)) = found else { return Ok(None) };
        let tracking = tracking(&name);
        let before = self.reference(&tracking)?;
        let rewritten = match before {
            Some(before) if before != id => !self.leads_to(id, before)?,
            _ => false,
        };
        if before != Some(id) {
            self.check(id, before).map_err(|text| remote.error(Cause::Corrupt(text)))?;
            self.point(&tracking, id)?;
        }
        Ok(Some(Fetched { id, reference: name, before, rewritten }))
    }

    fn fetch_from_server(
        &self,
        remote: &Remote,
        want: &Want,
    ) -> Result<Option<(String, ObjectId)>, FetchError> {
        let at = |cause| FetchError::Remote(remote.error(cause));
        let mut conversation = remote.converse(Service::UploadPack).map_err(at)?;
        let greeting = Greeting::read(conversation.answer()).map_err(at)?;
        let mut prefixes = want.candidates();
        prefixes.push("refs/heads/".to_owned());
        let conversation = conversation.as_mut();
        let references = fetch::references(conversation, &greeting, &prefixes).map_err(at)?;
        let Some((name, id)) = want.choose(&references) else {
            if references.is_empty() {
                return Ok(None);
            }
            return Err(at(Cause::NoBranch(want.name.clone())));
        };
        let shallow = self.shallow()?;
        let first = self.reference(&tracking(&name))?.is_none();
        let (depth, deepens) = match want.depth {
            Depth::Recent(depth) => (Some(depth).filter(|_| first), false),
            Depth::Deepen(depth) => (Some(depth), !shallow.is_empty()),
            // The server's way to say everything.
            Depth::All if !shallow.is_empty() => (Some(i32::MAX as u32), true),
            Depth::All => (None, false),
        };
        if self.has(id) && !deepens {
            return Ok(Some((name, id)));
        }
        let wish = Wish {
            wants: vec![id],
            haves: self.haves()?,
            shallow: shallow.iter().copied().collect(),
            depth,
        };
        let mut said = String::new();
        let failure = conversation.answer().failure();
        let received = fetch::pack(conversation, &greeting, &wish, &mut said, |pack, boundary| {
            self.receive(pack).map_err(|error| match error {
                // The library hides why reading failed.
                ReceiveError::Pack(text) => Cause::Corrupt(text),
                ReceiveError::Store(error) => Cause::Folder(error.to_string()),
            })?;
            Ok(boundary.clone())
        });
        let boundary = received.map_err(|cause| {
            let hidden = conversation.answer().failure();
            let hidden = hidden.lock().unwrap_or_else(PoisonError::into_inner).take();
            let earlier = failure.lock().unwrap_or_else(PoisonError::into_inner).take();
            at(match cause {
                Cause::Corrupt(_) => hidden.or(earlier).unwrap_or(cause),
                cause => cause,
            })
        })?;
        self.move_boundary(&boundary)?;
        if !self.has(id) {
            return Err(at(Cause::Corrupt(format!("{id} is not in it"))));
        }
        Ok(Some((name, id)))
    }

    /// Keeps the objects of a pack.
    pub(crate) fn receive(&self, pack: &mut dyn Read) -> Result<(), ReceiveError> {
        self.with(|repo| {
            let folder = repo.common_dir().join("objects").join("pack");
            fs::create_dir_all(&folder)
                .map_err(|e| ReceiveError::Store(self.failed("keeping a pack", &e)))?;
            let outcome = gix_pack::Bundle::write_to_directory(
                &mut BufReader::with_capacity(64 << 10, pack),
                Some(&folder),
                &mut gix::progress::Discard,
                &AtomicBool::new(false),
                Some(repo.objects.clone()),
                gix::hash::Kind::Sha1,
                gix_pack::bundle::write::Options {
                    alloc_limit_bytes: Some(LARGEST),
                    ..Default::default()
                },
            )
            .map_err(|error| ReceiveError::Pack(chain(&error)))?;
            if let Some(keep) = outcome.keep_path {
                // It only keeps a collector from the pack, and the reference follows at once.
                let _ = fs::remove_file(keep);
            }
            Ok(())
        })
    }

    /// Commits that we have with all that they refer to: the newest ones.
    fn haves(&self) -> Result<Vec<ObjectId>, StoreError> {
        let tips: Vec<_> = self.references("refs/")?.into_iter().map(|(_, id)| id).collect();
        self.with(|repo| {
            let mut haves = Vec::new();
            let (mut seen, mut queue) = (BTreeSet::new(), VecDeque::from(tips));
            let shallow = self.shallow()?;
            while let Some(id) = queue.pop_front() {
                if haves.len() == HAVES {
                    break;
                }
                if !seen.insert(id) {
                    continue;
                }
                let Ok(commit) = repo.find_commit(id) else { continue };
                haves.push(id);
                if !shallow.contains(&id) {
                    queue.extend(commit.parent_ids().map(gix::Id::detach));
                }
            }
            Ok(haves)
        })
    }

    fn shallow_file(&self) -> PathBuf {
        let path: Result<_, StoreError> = self.with(|repo| Ok(repo.common_dir().join("shallow")));
        path.unwrap_or_else(|_| self.path().join("shallow"))
    }

    /// Commits whose parents are not here.
    pub(crate) fn shallow(&self) -> Result<BTreeSet<ObjectId>, StoreError> {
        match fs::read_to_string(self.shallow_file()) {
            Ok(text) => {
                Ok(text.lines().filter_map(|l| ObjectId::from_hex(l.as_bytes()).ok()).collect())
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(BTreeSet::new()),
            Err(error) => Err(self.failed("reading where history ends", &error)),
        }
    }

    /// Keeps where history ends.
    pub(crate) fn move_boundary(&self, boundary: &Boundary) -> Result<(), StoreError> {
        if boundary.shallow.is_empty() && boundary.unshallow.is_empty() {
            return Ok(());
        }
        let _held = self.shared.boundary.lock().unwrap_or_else(PoisonError::into_inner);
        let mut shallow = self.shallow()?;
        shallow.extend(&boundary.shallow);
        for id in &boundary.unshallow {
            shallow.remove(id);
        }
        let path = self.shallow_file();
        let wrong = |e: std::io::Error| self.failed("writing where history ends", &e);
        if shallow.is_empty() {
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(wrong(error)),
                _ => Ok(()),
            };
        }
        let text: String = shallow.iter().map(|id| format!("{id}\n")).collect();
        let fresh = path.with_extension("new");
        fs::write(&fresh, text).and_then(|()| fs::rename(&fresh, &path)).map_err(wrong)
    }

    /// Whether one commit is the other or comes after it.
    pub fn leads_to(&self, from: ObjectId, to: ObjectId) -> Result<bool, StoreError> {
        if from == to {
            return Ok(true);
        }
        let shallow = self.shallow()?;
        self.with(|repo| {
            let Ok(target) = repo.find_commit(to) else { return Ok(false) };
            // Clocks differ; a day is more than they do.
            let oldest = target.time().map_or(i64::MIN, |t| t.seconds.saturating_sub(86_400));
            let (mut seen, mut queue) = (BTreeSet::new(), VecDeque::from([from]));
            while let Some(id) = queue.pop_front() {
                if id == to {
                    return Ok(true);
                }
                if !seen.insert(id) || shallow.contains(&id) {
                    continue;
                }
                let Ok(commit) = repo.find_commit(id) else { continue };
                if commit.time().is_ok_and(|time| time.seconds < oldest) {
                    continue;
                }
                queue.extend(commit.parent_ids().map(gix::Id::detach));
            }
            Ok(false)
        })
    }

    /// Whether everything that a commit's files need is here, but what an earlier one had too.
    fn check(&self, id: ObjectId, before: Option<ObjectId>) -> Result<(), String> {
        self.with(|repo| {
            let tree = |id: ObjectId| -> Result<ObjectId, String> {
                let object = repo.find_object(id).map_err(|e| chain(&e))?;
                let tree = object.peel_to_tree().map_err(|e| chain(&e))?;
                Ok(tree.id)
            };
            let known = before.and_then(|before| tree(before).ok());
            let missing =
                |id: ObjectId| (!repo.has_object(id)).then(|| format!("{id} is not in it"));
            crate::pack::differing(repo, tree(id)?, known, &mut |id, _| match missing(id) {
                Some(text) => Err(text),
                None => Ok(()),
            })
        })
    }
}

/// A name as one part of another: a branch `a` and a branch `a/b` cannot both be files below the same
/// folder, and one may take the place of the other at the remote.
pub(crate) fn flat(name: &str) -> String {
    name.replace('%', "%25").replace('/', "%2F")
}

/// The name under which a remote's reference is remembered.
pub(crate) fn tracking(name: &str) -> String {
    match name.strip_prefix("refs/heads/") {
        Some(branch) => format!("refs/remotes/origin/{}", flat(branch)),
        None => format!("refs/remotes/other/{}", flat(name)),
    }
}

/// Why a pack was not kept.
#[derive(Debug)]
pub(crate) enum ReceiveError {
    /// It is not sound, or could not be read to its end.
    Pack(String),
    /// There is no place for it.
    Store(StoreError),
}

#[cfg(test)]
mod tests;
