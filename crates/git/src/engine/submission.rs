//! What is submitted to a branch, and what becomes of it.

use std::sync::Arc;

use gix::ObjectId;
use thiserror::Error;

use crate::commit::{CommitError, Message, Moment, Person, Trailer};
use crate::error::RemoteError;
use crate::revert::RevertError;
use crate::sign::Signer;
use crate::store::{FetchError, StoreError};
use crate::tree::{FileEdit, Kind, Revision, TreeError};
use crate::url::RemoteUrl;

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

/// Edits that were planned on one commit. Where the branch has gone on since, each file gets both changes if they
/// are apart from each other, and is named if they are not.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The files that the edits were planned on.
    pub base: Revision,
    /// The edits.
    pub edits: Vec<FileEdit>,
}

/// Files that others changed too.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("changed by others meanwhile: {}", .0.join(", "))]
pub struct Overtaken(pub Vec<String>);

impl Change for Planned {
    fn edits(&self, tip: &Revision) -> Result<Vec<FileEdit>, ChangeError> {
        let (mut edits, mut overtaken) = (Vec::new(), Vec::new());
        for edit in &self.edits {
            let path = edit.path();
            let (before, now) = (self.base.find(path)?, tip.find(path)?);
            if before == now {
                edits.push(edit.clone());
                continue;
            }
            let is_file = |item: Option<(Kind, ObjectId)>| {
                item.is_none_or(|(kind, _)| matches!(kind, Kind::File | Kind::Program))
            };
            let merged = match edit {
                FileEdit::Remove { .. } if now.is_none() => continue,
                FileEdit::Write { content, .. } if is_file(before) && is_file(now) => {
                    match (self.base.read(path)?, tip.read(path)?) {
                        (Some(before), Some(now)) => crate::merge::lines(&before, &now, content),
                        (None, Some(now)) if now == *content => Some(now),
                        _ => None,
                    }
                }
                _ => None,
            };
            match merged {
                Some(content) => edits.push(FileEdit::write(path, content)),
                None => overtaken.push(path.to_owned()),
            }
        }
        if overtaken.is_empty() { Ok(edits) } else { Err(Box::new(Overtaken(overtaken))) }
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
