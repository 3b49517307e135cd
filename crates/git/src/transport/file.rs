//! A repository in a folder of this machine: objects are copied, and references are moved under their lock.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use gix::ObjectId;
use gix::refs::transaction::{Change, LogChange, PreviousValue, RefEdit};
use gix::refs::{FullName, Target};

use crate::error::{Cause, chain};
use crate::pack;
use crate::store::{Depth, ReceiveError, Store, StoreError, Want, tracking};
use crate::transport::fetch::Boundary;

/// Why a folder gave nothing.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Because of it.
    Cause(Cause),
    /// Because of us.
    Store(StoreError),
}

impl From<Cause> for Failure {
    fn from(cause: Cause) -> Self {
        Self::Cause(cause)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

fn wrong(error: &gix::Error) -> Cause {
    Cause::Folder(chain(error))
}

fn open(path: &Path) -> Result<gix::Repository, Cause> {
    if !path.exists() {
        return Err(Cause::NotFound);
    }
    let options = gix::open::Options::isolated().strict_config(false);
    Ok(options.open(path).map_err(|e| wrong(&e))?.to_thread_local())
}

fn references(repo: &gix::Repository) -> Result<BTreeMap<String, ObjectId>, Cause> {
    let mut found = BTreeMap::new();
    let platform = repo.references().map_err(|e| wrong(&e))?;
    for mut reference in platform.all().map_err(|e| wrong(&e))?.flatten() {
        if let Ok(id) = reference.peel_to_id() {
            let id = id.detach();
            found.insert(reference.name().as_bstr().to_string(), id);
        }
    }
    if let Ok(id) = repo.head_id() {
        found.insert("HEAD".to_owned(), id.detach());
    }
    Ok(found)
}

/// Copies what is wanted and not here yet.
pub(crate) fn fetch(
    store: &Store,
    path: &Path,
    want: &Want,
) -> Result<Option<(String, ObjectId)>, Failure> {
    let remote = open(path)?;
    let references = references(&remote)?;
    let Some((name, id)) = want.choose(&references) else {
        if references.is_empty() {
            return Ok(None);
        }
        return Err(Cause::NoBranch(want.name.clone()).into());
    };
    let shallow = store.shallow()?;
    let first = store.reference(&tracking(&name))?.is_none();
    let (depth, deepens) = match want.depth {
        Depth::Recent(depth) => (depth, false),
        Depth::Deepen(depth) => (depth, !shallow.is_empty()),
        Depth::All => (u32::MAX, !shallow.is_empty()),
    };
    if store.has(id) && !deepens {
        return Ok(Some((name, id)));
    }
    let depth = if first || deepens { depth } else { u32::MAX };
    let missing = missing(store, &remote, id, depth, deepens, &shallow)?;
    let objects = pack::objects(&remote, &missing.commits, &|id| store.has(id))
        .map_err(|e| Cause::Folder(e.to_string()))?;
    let objects: Vec<_> = objects.into_iter().filter(|id| !store.has(*id)).collect();
    copy(store, &remote, &objects)?;
    store.move_boundary(&missing.boundary)?;
    Ok(Some((name, id)))
}

/// What a fetch lacks.
struct Missing {
    commits: Vec<ObjectId>,
    boundary: Boundary,
}

fn missing(
    store: &Store,
    remote: &gix::Repository,
    tip: ObjectId,
    depth: u32,
    deepens: bool,
    shallow: &BTreeSet<ObjectId>,
) -> Result<Missing, Failure> {
    let mut found = Missing { commits: Vec::new(), boundary: Boundary::default() };
    let mut seen = BTreeSet::new();
    let tip =
        remote.find_object(tip).and_then(gix::Object::peel_to_commit).map_err(|e| wrong(&e))?.id;
    let mut level = vec![tip];
    let mut depth = depth.max(1);
    while !level.is_empty() {
        depth -= 1;
        let mut next = Vec::new();
        for id in level {
            if !seen.insert(id) {
                continue;
            }
            let here = store.has(id);
            if here && !deepens {
                continue;
            }
            let commit = remote.find_commit(id).map_err(|e| wrong(&e))?;
            let parents: Vec<_> = commit.parent_ids().map(gix::Id::detach).collect();
            if !here {
                found.commits.push(id);
            }
            let beyond = parents.iter().any(|parent| !store.has(*parent));
            if depth == 0 && beyond {
                found.boundary.shallow.push(id);
            } else {
                if shallow.contains(&id) {
                    found.boundary.unshallow.push(id);
                }
                next.extend(parents);
            }
        }
        if depth == 0 {
            break;
        }
        level = next;
    }
    Ok(found)
}

static COPIES: AtomicU64 = AtomicU64::new(0);

/// Copies objects by way of a pack on disk, so that memory does not grow with them.
fn copy(store: &Store, remote: &gix::Repository, objects: &[ObjectId]) -> Result<(), Failure> {
    if objects.is_empty() {
        return Ok(());
    }
    let number = COPIES.fetch_add(1, Ordering::Relaxed);
    let name = format!("incoming-{}-{number}", std::process::id());
    let path = store.path().join(name);
    let written = (|| -> Result<(), pack::PackError> {
        let mut out = BufWriter::new(File::create(&path)?);
        pack::write(remote, objects, &mut out)?;
        Ok(out.flush()?)
    })();
    let outcome = match written {
        Err(error) => Err(Cause::Folder(error.to_string()).into()),
        Ok(()) => match File::open(&path) {
            Err(error) => Err(store.failed("copying objects", &error).into()),
            Ok(file) => store.receive(&mut BufReader::new(file)).map_err(|error| match error {
                ReceiveError::Pack(text) => Cause::Corrupt(text).into(),
                ReceiveError::Store(error) => error.into(),
            }),
        },
    };
    let _ = fs::remove_file(&path);
    outcome
}

/// Hooks that a server would run before it takes a push.
const HOOKS: [&str; 4] = ["pre-receive", "update", "proc-receive", "reference-transaction"];

/// Moves a reference of a folder's repository from one commit to another, with all that it needs.
pub(crate) fn push(
    store: &Store,
    path: &Path,
    reference: &str,
    old: Option<ObjectId>,
    new: ObjectId,
) -> Result<(), Cause> {
    let remote = open(path)?;
    refuse_what_a_server_would(&remote, reference)?;
    let there = references(&remote)?;
    let now = there.get(reference).copied();
    if now == Some(new) {
        return Ok(());
    }
    if now != old {
        return Err(Cause::Moved);
    }
    store.with(|repo| -> Result<(), Cause> {
        let commits = outgoing(repo, new, &|id| remote.has_object(id))?;
        let objects = pack::objects(repo, &commits, &|id| remote.has_object(id))
            .map_err(|e| Cause::Folder(e.to_string()))?;
        // What refers to others is written after them, so that an interruption leaves nothing
        // that lacks something.
        for id in objects.iter().rev() {
            let object = repo.find_object(*id).map_err(|e| wrong(&e))?;
            gix::objs::Write::write_buf(&remote.objects, object.kind, &object.data)
                .map_err(|e| Cause::Folder(chain(&e)))?;
        }
        Ok(())
    })?;
    let name = FullName::try_from(reference).map_err(|e| Cause::Folder(chain(&e)))?;
    let expected = match old {
        Some(old) => PreviousValue::MustExistAndMatch(Target::Object(old)),
        None => PreviousValue::MustNotExist,
    };
    let change = Change::Update { log: LogChange::default(), expected, new: Target::Object(new) };
    let edit = RefEdit { change, name, deref: false };
    match remote.edit_references_as([edit], None) {
        Ok(_) => Ok(()),
        Err(error) => {
            // The lock was lost to another, or the move was refused for another reason.
            let now = references(&open(path)?)?.get(reference).copied();
            if now == old { Err(wrong(&error)) } else { Err(Cause::Moved) }
        }
    }
}

/// Commits that lead to this one and are not there yet, newest first.
pub(crate) fn outgoing(
    repo: &gix::Repository,
    tip: ObjectId,
    has: &dyn Fn(ObjectId) -> bool,
) -> Result<Vec<ObjectId>, Cause> {
    let (mut found, mut seen, mut queue) = (Vec::new(), BTreeSet::new(), vec![tip]);
    while let Some(id) = queue.pop() {
        if has(id) || !seen.insert(id) {
            continue;
        }
        found.push(id);
        let commit = repo.find_commit(id).map_err(|e| wrong(&e))?;
        queue.extend(commit.parent_ids().map(gix::Id::detach));
    }
    Ok(found)
}

fn refuse_what_a_server_would(remote: &gix::Repository, reference: &str) -> Result<(), Cause> {
    let refused = |reason: String| Cause::Refused {
        reference: reference.to_owned(),
        reason,
        said: String::new(),
    };
    let hooks = remote.common_dir().join("hooks");
    for hook in HOOKS {
        if is_program(&hooks.join(hook)) {
            return Err(refused(format!(
                "the repository has a hook {hook}, which writing into its folder would pass by; push by ssh or http"
            )));
        }
    }
    let checked_out = remote.head_name().ok().flatten();
    if remote.workdir().is_some()
        && checked_out.is_some_and(|name| name.as_bstr() == reference.as_bytes())
    {
        return Err(refused(
            "the branch is checked out there; push to a bare repository".to_owned(),
        ));
    }
    Ok(())
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}
