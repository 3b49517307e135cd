//! What has to be sent, and a pack of exactly that.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use gix::ObjectId;
use gix::objs::Kind;
use gix::objs::tree::EntryMode;
use sha1::{Digest as _, Sha1};
use thiserror::Error;

use crate::error::chain;

/// Why there is no pack.
#[derive(Debug, Error)]
pub enum PackError {
    /// An object could not be read.
    #[error("an object could not be read: {0}")]
    Object(String),
    /// It could not be written.
    #[error("the pack could not be written: {0}")]
    Write(#[from] io::Error),
    /// There is too much.
    #[error("more objects than a pack can hold")]
    TooMany,
}

/// Every folder and file of a tree that another has not at the same place, folders before what is
/// in them.
pub(crate) fn differing<E: std::fmt::Display>(
    repo: &gix::Repository,
    tree: ObjectId,
    known: Option<ObjectId>,
    visit: &mut dyn FnMut(ObjectId, EntryMode) -> Result<(), E>,
) -> Result<(), String> {
    if known == Some(tree) {
        return Ok(());
    }
    let entries = |id: ObjectId| -> Result<Vec<(Vec<u8>, EntryMode, ObjectId)>, String> {
        if id.is_empty_tree() {
            return Ok(Vec::new());
        }
        let tree = repo.find_tree(id).map_err(|e| chain(&e))?;
        let decoded = tree.decode().map_err(|e| chain(&e))?;
        Ok(decoded
            .entries
            .iter()
            .map(|e| (e.filename.to_vec(), e.mode, e.oid.to_owned()))
            .collect())
    };
    let mut stack = vec![(tree, known)];
    while let Some((tree, known)) = stack.pop() {
        let old: BTreeMap<Vec<u8>, (EntryMode, ObjectId)> = match known {
            Some(known) => entries(known)?.into_iter().map(|(n, m, i)| (n, (m, i))).collect(),
            None => BTreeMap::new(),
        };
        for (name, mode, id) in entries(tree)? {
            let before = old.get(&name);
            if mode.is_commit() || before.is_some_and(|(_, old)| *old == id) {
                continue;
            }
            visit(id, mode).map_err(|e| e.to_string())?;
            if mode.is_tree() {
                stack.push((id, before.filter(|(mode, _)| mode.is_tree()).map(|(_, id)| *id)));
            }
        }
    }
    Ok(())
}

/// The objects of these commits that nothing else brings: each is compared with its first parent,
/// if the other side `has` that or gets it too.
pub(crate) fn objects(
    repo: &gix::Repository,
    commits: &[ObjectId],
    has: &dyn Fn(ObjectId) -> bool,
) -> Result<Vec<ObjectId>, PackError> {
    let sent: BTreeSet<_> = commits.iter().copied().collect();
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    let wrong = |e: gix::Error| PackError::Object(chain(&e));
    for id in commits {
        let commit = repo.find_commit(*id).map_err(wrong)?;
        let tree = commit.tree_id().map_err(wrong)?.detach();
        let parent = commit.parent_ids().next().map(gix::Id::detach);
        let parent = parent.filter(|parent| sent.contains(parent) || has(*parent));
        let known = match parent {
            None => None,
            Some(parent) => {
                let parent = repo.find_commit(parent).map_err(wrong)?;
                Some(parent.tree_id().map_err(wrong)?.detach())
            }
        };
        let mut add = |id: ObjectId| {
            if seen.insert(id) {
                found.push(id);
            }
        };
        add(*id);
        if known != Some(tree) {
            add(tree);
        }
        differing::<PackError>(repo, tree, known, &mut |id, _| {
            add(id);
            Ok(())
        })
        .map_err(PackError::Object)?;
    }
    Ok(found)
}

/// Writes a pack of these objects, each whole.
pub fn write(
    repo: &gix::Repository,
    objects: &[ObjectId],
    out: &mut dyn Write,
) -> Result<(), PackError> {
    let count = u32::try_from(objects.len()).map_err(|_| PackError::TooMany)?;
    let mut out = Hashing { out, hash: Sha1::new() };
    out.write_all(b"PACK\0\0\0\x02")?;
    out.write_all(&count.to_be_bytes())?;
    for id in objects {
        // The empty tree is known to every reader and may lie nowhere.
        let (kind, data) = if id.is_empty_tree() {
            (Kind::Tree, Vec::new())
        } else {
            let mut object = repo.find_object(*id).map_err(|e| PackError::Object(chain(&e)))?;
            (object.kind, std::mem::take(&mut object.data))
        };
        header(kind, data.len() as u64, &mut out)?;
        let mut deflate = ZlibEncoder::new(&mut out, Compression::fast());
        deflate.write_all(&data)?;
        deflate.finish()?;
    }
    let hash = out.hash.finalize();
    out.out.write_all(&hash)?;
    Ok(())
}

/// The kind and the length of an object: three bits and four, then seven at a time.
fn header(kind: Kind, length: u64, out: &mut dyn Write) -> io::Result<()> {
    let kind = match kind {
        Kind::Commit => 1,
        Kind::Tree => 2,
        Kind::Blob => 3,
        Kind::Tag => 4,
    };
    let mut byte = (kind << 4) | (length & 0xf) as u8;
    let mut rest = length >> 4;
    while rest != 0 {
        out.write_all(&[byte | 0x80])?;
        byte = (rest & 0x7f) as u8;
        rest >>= 7;
    }
    out.write_all(&[byte])
}

struct Hashing<'a> {
    out: &'a mut dyn Write,
    hash: Sha1,
}

impl Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.hash.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
