//! Undoing one commit on a branch that has gone on.

use gix::ObjectId;
use thiserror::Error;

use crate::merge::MergeError;
use crate::store::{Store, StoreError};
use crate::tree::Revision;

/// Why a commit is not undone.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RevertError {
    /// These files were changed again since.
    #[error("changed again since: {}", .0.join(", "))]
    Conflict(Vec<String>),
    /// It joins several histories, and nobody says which of them to go back to.
    #[error("it is a merge of {0} histories, and only a commit with one parent can be undone")]
    Merge(usize),
    /// Its parent was never fetched and cannot be.
    #[error("the commit before it is not known here: the remote's own history ends there")]
    NoParent,
    /// The repository could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<MergeError> for RevertError {
    fn from(error: MergeError) -> Self {
        match error {
            MergeError::Conflict(paths) => Self::Conflict(paths),
            MergeError::Store(error) => Self::Store(error),
        }
    }
}

impl Store {
    /// The parents of a commit; `None` if they are not here.
    pub(crate) fn parents(&self, commit: ObjectId) -> Result<Option<Vec<ObjectId>>, StoreError> {
        self.with(|repo| {
            let found =
                repo.find_commit(commit).map_err(|e| self.failed("reading a commit", &e))?;
            let parents: Vec<_> = found.parent_ids().map(gix::Id::detach).collect();
            let here = parents.iter().all(|parent| repo.has_object(*parent));
            Ok(Some(parents).filter(|_| here))
        })
    }

    /// The tip's files without what a commit changed. A file that was moved since counts as changed
    /// again.
    pub fn revert(&self, commit: ObjectId, tip: &Revision) -> Result<ObjectId, RevertError> {
        let parents = self.parents(commit)?.ok_or(RevertError::NoParent)?;
        let before = match parents.as_slice() {
            [] => ObjectId::empty_tree(gix::hash::Kind::Sha1),
            [parent] => self.at(*parent)?.tree(),
            several => return Err(RevertError::Merge(several.len())),
        };
        let after = self.at(commit)?.tree();
        Ok(self.merge(after, tip.tree(), before)?)
    }
}

#[cfg(test)]
mod tests;
