//! Bringing two changes of the same files together, or naming the files where that cannot be done.

use std::collections::{BTreeMap, BTreeSet};

use gix::ObjectId;
use imara_diff::{Algorithm, Diff, InternedInput, sources};
use thiserror::Error;

use crate::error::chain;
use crate::store::{Store, StoreError};
use crate::tree::Kind;

/// Two changes cannot be brought together.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MergeError {
    /// These files were changed in both.
    #[error("changed in both: {}", .0.join(", "))]
    Conflict(Vec<String>),
    /// The repository could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

type Item = (Kind, ObjectId);

impl Store {
    /// The tree that has the changes from `base` to `ours` and those from `base` to `theirs`.
    pub fn merge(
        &self,
        base: ObjectId,
        ours: ObjectId,
        theirs: ObjectId,
    ) -> Result<ObjectId, MergeError> {
        self.with(|repo| {
            let mut merge =
                Merge { store: self, repo, edits: Vec::new(), conflicts: BTreeSet::new() };
            merge.folders("", Some(base), Some(ours), Some(theirs))?;
            if !merge.conflicts.is_empty() {
                return Err(MergeError::Conflict(merge.conflicts.into_iter().collect()));
            }
            let wrong = |e: gix::Error| MergeError::Store(self.failed("merging files", &e));
            let mut editor = repo.edit_tree(ours).map_err(wrong)?;
            // Removals first: a folder may take the place of a file.
            merge.edits.sort_by_key(|(_, item)| item.is_some());
            for (path, item) in &merge.edits {
                match item {
                    None => editor.remove(path).map_err(wrong)?,
                    Some((kind, id)) => editor.upsert(path, kind.entry(), *id).map_err(wrong)?,
                };
            }
            Ok(editor.write().map_err(wrong)?.detach())
        })
    }
}

struct Merge<'a> {
    store: &'a Store,
    repo: &'a gix::Repository,
    edits: Vec<(String, Option<Item>)>,
    conflicts: BTreeSet<String>,
}

impl Merge<'_> {
    fn wrong(&self, error: &gix::Error) -> MergeError {
        MergeError::Store(StoreError {
            path: self.store.path().to_owned(),
            what: "merging files",
            text: chain(error),
        })
    }

    fn entries(&self, id: Option<ObjectId>) -> Result<BTreeMap<String, Item>, MergeError> {
        let Some(id) = id.filter(|id| !id.is_empty_tree()) else { return Ok(BTreeMap::new()) };
        let tree = self.repo.find_tree(id).map_err(|e| self.wrong(&e))?;
        let decoded = tree.decode().map_err(|e| self.wrong(&e))?;
        let entries = decoded.entries.iter();
        Ok(entries
            .map(|e| (e.filename.to_string(), (Kind::of(e.mode), e.oid.to_owned())))
            .collect())
    }

    fn folders(
        &mut self,
        path: &str,
        base: Option<ObjectId>,
        ours: Option<ObjectId>,
        theirs: Option<ObjectId>,
    ) -> Result<(), MergeError> {
        if base == theirs || ours == theirs {
            return Ok(());
        }
        let (base, ours, theirs) =
            (self.entries(base)?, self.entries(ours)?, self.entries(theirs)?);
        let names: BTreeSet<_> = base.keys().chain(ours.keys()).chain(theirs.keys()).collect();
        for name in names {
            let at = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
            self.items(&at, base.get(name), ours.get(name), theirs.get(name))?;
        }
        Ok(())
    }

    fn items(
        &mut self,
        path: &str,
        base: Option<&Item>,
        ours: Option<&Item>,
        theirs: Option<&Item>,
    ) -> Result<(), MergeError> {
        if base == theirs || ours == theirs {
            return Ok(());
        }
        let folder = |item: Option<&Item>| item.is_none_or(|(kind, _)| *kind == Kind::Folder);
        if base == ours {
            // Only they changed it.
            self.edits.push((path.to_owned(), theirs.copied()));
            return Ok(());
        }
        if folder(base) && folder(ours) && folder(theirs) {
            let id = |item: Option<&Item>| item.map(|(_, id)| *id);
            return self.folders(path, id(base), id(ours), id(theirs));
        }
        if let (Some(base), Some(ours), Some(theirs)) = (base, ours, theirs)
            && let Some(merged) = self.contents(base, ours, theirs)?
        {
            self.edits.push((path.to_owned(), Some(merged)));
            return Ok(());
        }
        self.conflicts.insert(path.to_owned());
        Ok(())
    }

    fn contents(
        &self,
        base: &Item,
        ours: &Item,
        theirs: &Item,
    ) -> Result<Option<Item>, MergeError> {
        let plain = |(kind, _): &Item| matches!(kind, Kind::File | Kind::Program);
        if !(plain(base) && plain(ours) && plain(theirs)) {
            return Ok(None);
        }
        let kind = if ours.0 == base.0 { theirs.0 } else { ours.0 };
        let read = |id: ObjectId| {
            let blob = self.repo.find_blob(id).map_err(|e| self.wrong(&e));
            blob.map(|mut blob| std::mem::take(&mut blob.data))
        };
        let Some(merged) = lines(&read(base.1)?, &read(ours.1)?, &read(theirs.1)?) else {
            return Ok(None);
        };
        let id = self.repo.write_blob(merged).map_err(|e| self.wrong(&e))?.detach();
        Ok(Some((kind, id)))
    }
}

/// Both changes of a text, line by line; `None` if they touch the same or neighbouring lines, or it
/// is no text.
pub fn lines(base: &[u8], ours: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
    if ours == theirs || base == theirs {
        return Some(ours.to_vec());
    }
    if base == ours {
        return Some(theirs.to_vec());
    }
    if [base, ours, theirs].iter().any(|text| text.contains(&0)) {
        return None;
    }
    let our_hunks = hunks(base, ours);
    let their_hunks = hunks(base, theirs);
    let base_lines: Vec<&[u8]> = base.split_inclusive(|b| *b == b'\n').collect();
    let ours: Vec<&[u8]> = ours.split_inclusive(|b| *b == b'\n').collect();
    let theirs: Vec<&[u8]> = theirs.split_inclusive(|b| *b == b'\n').collect();
    let mut all: Vec<(Hunk, &Vec<&[u8]>, bool)> = our_hunks
        .into_iter()
        .map(|hunk| (hunk, &ours, true))
        .chain(their_hunks.into_iter().map(|hunk| (hunk, &theirs, false)))
        .collect();
    all.sort_by_key(|(hunk, _, mine)| (hunk.before.start, hunk.before.end, *mine));
    let mut merged = Vec::new();
    let mut at = 0;
    let mut last: Option<(Hunk, bool, &Vec<&[u8]>)> = None;
    for (hunk, text, mine) in all {
        if let Some((earlier, was_mine, earlier_text)) = &last
            && *was_mine != mine
            && hunk.before.start <= earlier.before.end
        {
            let same = earlier.before == hunk.before
                && earlier_text[earlier.after.clone()] == text[hunk.after.clone()];
            if same {
                continue;
            }
            return None;
        }
        merged.extend(base_lines[at..hunk.before.start].concat());
        merged.extend(text[hunk.after.clone()].concat());
        at = hunk.before.end;
        last = Some((hunk, mine, text));
    }
    merged.extend(base_lines[at..].concat());
    Some(merged)
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Hunk {
    before: std::ops::Range<usize>,
    after: std::ops::Range<usize>,
}

fn hunks(before: &[u8], after: &[u8]) -> Vec<Hunk> {
    let input = InternedInput::new(sources::byte_lines(before), sources::byte_lines(after));
    let diff = Diff::compute(Algorithm::Histogram, &input);
    let wide = |range: std::ops::Range<u32>| range.start as usize..range.end as usize;
    diff.hunks().map(|h| Hunk { before: wide(h.before), after: wide(h.after) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merge(base: &str, ours: &str, theirs: &str) -> Option<String> {
        let merged = lines(base.as_bytes(), ours.as_bytes(), theirs.as_bytes())?;
        Some(String::from_utf8(merged).unwrap())
    }

    #[test]
    fn changes_apart_are_joined_and_changes_together_are_not() {
        let base = "a\nb\nc\nd\ne\n";
        assert_eq!(
            merge(base, "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n").as_deref(),
            Some("A\nb\nc\nd\nE\n")
        );
        assert_eq!(merge(base, "A\nb\nc\nd\ne\n", "B\nb\nc\nd\ne\n"), None, "the same line");
        assert_eq!(merge(base, "A\nb\nc\nd\ne\n", "a\nB\nc\nd\ne\n"), None, "neighbours");
        let same = "A\nb\nc\nd\ne\n";
        assert_eq!(merge(base, same, same).as_deref(), Some(same));
        assert_eq!(
            merge(base, "A\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\n").as_deref(),
            Some("A\nb\nc\nd\nE\n"),
            "the same change in both, and another in one"
        );
        assert_eq!(
            merge(base, "b\nc\nd\ne\n", "a\nb\nc\nd\ne\nf\n").as_deref(),
            Some("b\nc\nd\ne\nf\n")
        );
        assert_eq!(merge("a", "b", "c"), None);
        assert_eq!(merge("a\0", "b\0\na", "c\0"), None);
    }
}
