//! What can go wrong with a remote, said so that a person knows where and what to do.

use std::io;
use std::time::Duration;

use thiserror::Error;

use crate::url::RemoteUrl;

/// A remote did not do what it was asked. Names the remote and carries no credential.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{remote}: {cause}")]
pub struct RemoteError {
    /// The remote.
    pub remote: RemoteUrl,
    /// What went wrong.
    pub cause: Cause,
}

/// What went wrong with a remote.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Cause {
    /// No connection could be made.
    #[error("not reachable: {0}")]
    Unreachable(String),
    /// It took too long.
    #[error("{what} took longer than {after:?}")]
    TimedOut {
        /// What took too long.
        what: &'static str,
        /// How long it was waited for.
        after: Duration,
    },
    /// The credentials were not accepted, or there are none.
    #[error("the credentials were not accepted{}", colon(.0))]
    Unauthorized(String),
    /// The credentials are good, but not for this.
    #[error("not allowed{}", colon(.0))]
    Forbidden(String),
    /// There is no such repository, or the credentials may not see it.
    #[error("there is no such repository, or the credentials may not see it")]
    NotFound,
    /// Another host would have to be trusted.
    #[error(
        "{from} redirects to {to}, and what is meant for one host is not sent to another: if that is the repository, write its URL"
    )]
    Redirected {
        /// The host that was asked.
        from: String,
        /// The host that it names.
        to: String,
    },
    /// Any other answer than the one that was asked for.
    #[error("the server answered {status}{}", colon(.text))]
    Answered {
        /// The http status.
        status: u16,
        /// The beginning of what it said.
        text: String,
    },
    /// The server's key is not among the known ones.
    #[error("the host key {fingerprint} of {host} is not in known_hosts")]
    HostKeyUnknown {
        /// The host.
        host: String,
        /// The key it showed.
        fingerprint: String,
    },
    /// The server's key is another than the known one.
    #[error(
        "the host key of {host} is {fingerprint}, which is not the one in known_hosts: another server answers, or its key was changed"
    )]
    HostKeyChanged {
        /// The host.
        host: String,
        /// The key it showed.
        fingerprint: String,
    },
    /// The credentials cannot be used at all.
    #[error("the credentials cannot be used: {0}")]
    Credentials(String),
    /// It does not speak git as expected.
    #[error("the server does not speak git as expected: {0}")]
    Protocol(String),
    /// What it sent is not sound.
    #[error("the server sent a pack that is not sound: {0}")]
    Corrupt(String),
    /// It sent more than is accepted.
    #[error("the server sent more than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// It said why not.
    #[error("the server says: {0}")]
    Said(String),
    /// The conversation ended before its end.
    #[error("the conversation ended early{}", colon(.0))]
    Cut(String),
    /// The branch is not there.
    #[error("there is no branch {0}")]
    NoBranch(String),
    /// The branch is not where it was expected.
    #[error("the branch has moved")]
    Moved,
    /// A hook of the server refused the push.
    #[error("a hook refused the push to {reference}: {reason}{}", colon(.said))]
    Hook {
        /// The reference.
        reference: String,
        /// The reason, as reported.
        reason: String,
        /// What the hook said.
        said: String,
    },
    /// The server refused the push.
    #[error("the push to {reference} was refused: {reason}{}", colon(.said))]
    Refused {
        /// The reference.
        reference: String,
        /// The reason, as reported.
        reason: String,
        /// What else it said.
        said: String,
    },
    /// A folder of this machine could not be read or written.
    #[error("{0}")]
    Folder(String),
}

fn colon(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

impl Cause {
    /// Whether the same may work a little later, without anybody's doing.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable(_)
            | Self::TimedOut { .. }
            | Self::Cut(_)
            | Self::Corrupt(_)
            | Self::Moved => true,
            Self::Answered { status, .. } => *status >= 500 || *status == 429,
            _ => false,
        }
    }

    /// The cause inside an error of reading or writing, or that error itself.
    pub(crate) fn from_io(error: &io::Error) -> Self {
        if let Some(cause) = error.get_ref().and_then(|inner| inner.downcast_ref::<Self>()) {
            return cause.clone();
        }
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Cut(String::new()),
            _ => Self::Cut(error.to_string()),
        }
    }

    /// At this remote.
    pub fn at(self, remote: &RemoteUrl) -> RemoteError {
        RemoteError { remote: remote.clone(), cause: self }
    }
}

impl From<Cause> for io::Error {
    fn from(cause: Cause) -> Self {
        Self::other(cause)
    }
}

/// The whole of an error and what is behind it, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        source = inner.source();
    }
    text.replace('\n', " ")
}
