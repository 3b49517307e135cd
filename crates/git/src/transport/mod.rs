//! Reaching a remote: what is the same however it is reached.

use std::io::Read;
use std::sync::{Arc, OnceLock};

use crate::auth::Access;
use crate::error::{Cause, RemoteError};
use crate::url::{Location, RemoteUrl};

pub(crate) mod fetch;
pub(crate) mod file;
mod http;
mod known_hosts;
mod network;
pub(crate) mod packet;
mod ssh;

pub(crate) use http::{client, file_at};
pub(crate) use network::{Feed, Pipe};
pub use network::{Limits, Network};

/// What is asked of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// To send us something.
    UploadPack,
    /// To take something from us.
    ReceivePack,
}

impl Service {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::UploadPack => "git-upload-pack",
            Self::ReceivePack => "git-receive-pack",
        }
    }
}

/// The name that servers see in their logs.
pub(crate) const AGENT: &str = concat!("agent=holdfast/", env!("CARGO_PKG_VERSION"));

/// A server that is being talked to.
pub(crate) trait Conversation {
    /// Sends a request; what is read next is its answer.
    fn ask(&mut self, request: Vec<u8>) -> Result<(), Cause>;

    /// What the server says. After the start that is its greeting.
    fn answer(&mut self) -> &mut Pipe;
}

/// A repository that is somewhere else, and what reaching it takes.
#[derive(Clone, Debug)]
pub struct Remote {
    /// Where it is.
    pub url: RemoteUrl,
    /// What logging in takes.
    pub access: Access,
    /// How long is waited.
    pub limits: Limits,
    /// Who waits.
    pub network: Arc<Network>,
    /// Connections are kept between conversations.
    client: Arc<OnceLock<reqwest::Client>>,
}

impl Remote {
    /// A repository that is somewhere else.
    pub fn new(url: RemoteUrl, access: Access, limits: Limits, network: Arc<Network>) -> Self {
        Self { url, access, limits, network, client: Arc::default() }
    }

    fn client(&self) -> Result<reqwest::Client, Cause> {
        if let Some(client) = self.client.get() {
            return Ok(client.clone());
        }
        let secure = matches!(self.url.location(), Location::Http { secure: true, .. });
        let client = http::client(secure, &self.access, self.limits)?;
        Ok(self.client.get_or_init(|| client).clone())
    }

    /// An error at this remote, scrubbed of what must not be shown.
    pub(crate) fn error(&self, cause: Cause) -> RemoteError {
        let scrub = |text: String| self.access.scrub(&text);
        let cause = match cause {
            Cause::Unreachable(text) => Cause::Unreachable(scrub(text)),
            Cause::Unauthorized(text) => Cause::Unauthorized(scrub(text)),
            Cause::Forbidden(text) => Cause::Forbidden(scrub(text)),
            Cause::Answered { status, text } => Cause::Answered { status, text: scrub(text) },
            Cause::Redirected { from, to } => {
                Cause::Redirected { from: scrub(from), to: scrub(to) }
            }
            Cause::Credentials(text) => Cause::Credentials(scrub(text)),
            Cause::Protocol(text) => Cause::Protocol(scrub(text)),
            Cause::Corrupt(text) => Cause::Corrupt(scrub(text)),
            Cause::Said(text) => Cause::Said(scrub(text)),
            Cause::Cut(text) => Cause::Cut(scrub(text)),
            Cause::Hook { reference, reason, said } => {
                Cause::Hook { reference, reason: scrub(reason), said: scrub(said) }
            }
            Cause::Refused { reference, reason, said } => {
                Cause::Refused { reference, reason: scrub(reason), said: scrub(said) }
            }
            Cause::Folder(text) => Cause::Folder(scrub(text)),
            cause @ (Cause::TimedOut { .. }
            | Cause::NotFound
            | Cause::HostKeyUnknown { .. }
            | Cause::HostKeyChanged { .. }
            | Cause::TooLarge { .. }
            | Cause::NoBranch(_)
            | Cause::Moved) => cause,
        };
        cause.at(&self.url)
    }

    /// Begins a conversation with a server.
    pub(crate) fn converse(&self, service: Service) -> Result<Box<dyn Conversation>, Cause> {
        match self.url.location() {
            Location::Http { .. } => Ok(Box::new(http::Http::begin(self, service)?)),
            Location::Ssh { user, host, port, path } => {
                let login = ssh::Address {
                    user: user.clone().unwrap_or_else(|| "git".to_owned()),
                    host: host.clone(),
                    port: port.unwrap_or(22),
                    path: path.clone(),
                };
                Ok(Box::new(ssh::Ssh::begin(self, service, login)?))
            }
            Location::File(_) => Err(Cause::Protocol("a folder has no server".to_owned())),
        }
    }
}

/// Reads packets up to the end of a list.
pub(crate) fn lines(from: &mut dyn Read) -> Result<Vec<String>, Cause> {
    let mut lines = Vec::new();
    loop {
        match packet::read(from)? {
            packet::Packet::Flush | packet::Packet::End => return Ok(lines),
            packet::Packet::Delimiter => {}
            data @ packet::Packet::Data(_) => lines.extend(data.line()),
        }
    }
}
