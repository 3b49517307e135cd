//! Git over ssh, in the process: no program is run on this side.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use russh::client::{self, Handle, Msg};
use russh::keys::{PrivateKey, PrivateKeyWithHashAlg};
use russh::{Channel, ChannelMsg, Disconnect, Preferred};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::known_hosts::{Known, Verdict, fingerprint};
use super::network::block_on;
use super::packet::keep;
use super::{Conversation, Feed, Limits, Pipe, Remote, Service};
use crate::auth::Login;
use crate::error::{Cause, chain};
use crate::sign::ssh_key;

/// Whom to call, and what to ask for.
#[derive(Clone, Debug)]
pub(super) struct Address {
    pub(super) user: String,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) path: String,
}

/// A conversation over ssh: one channel, from the greeting to the end.
pub(super) struct Ssh {
    requests: mpsc::UnboundedSender<Vec<u8>>,
    answer: Pipe,
}

impl Ssh {
    pub(super) fn begin(
        remote: &Remote,
        service: Service,
        address: Address,
    ) -> Result<Self, Cause> {
        let Login::Key { identity, passphrase, known_hosts } = &remote.access.login else {
            return Err(Cause::Credentials(
                "ssh takes a Secret with identity and known_hosts".to_owned(),
            ));
        };
        let key = ssh_key(identity, passphrase.as_ref())
            .map_err(|error| Cause::Credentials(error.to_string()))?;
        let known = Known::read(known_hosts, &address.host, address.port);
        let limits = remote.limits;
        let (requests, wanted) = mpsc::unbounded_channel();
        let (feed, answer) = Pipe::new(limits.bytes);
        let (opened, opening) = oneshot::channel();
        // The connection lives and dies on the network's own thread.
        remote.network.go(async move {
            let connected = timeout(limits.connect, open(service, &address, key, known));
            match connected.await {
                Ok(Ok((connection, channel))) => {
                    let _ = opened.send(Ok(()));
                    let talk = talk(channel, wanted, &feed, limits);
                    if timeout(limits.total, talk).await.is_err() {
                        let late =
                            Cause::TimedOut { what: "the whole answer", after: limits.total };
                        let _ = feed.send(Err(late)).await;
                    }
                    let end = connection.disconnect(Disconnect::ByApplication, "", "");
                    let _ = timeout(limits.connect, end).await;
                }
                Ok(Err(cause)) => {
                    let _ = opened.send(Err(cause));
                }
                Err(_) => {
                    let late = Cause::TimedOut { what: "connecting", after: limits.connect };
                    let _ = opened.send(Err(late));
                }
            }
        });
        block_on(opening)
            .unwrap_or_else(|_| Err(Cause::Cut("the network thread is gone".to_owned())))?;
        Ok(Self { requests, answer })
    }
}

impl Conversation for Ssh {
    fn ask(&mut self, request: Vec<u8>) -> Result<(), Cause> {
        // If nobody takes it, reading says why.
        let _ = self.requests.send(request);
        Ok(())
    }

    fn answer(&mut self) -> &mut Pipe {
        &mut self.answer
    }
}

struct Guard {
    known: Known,
    host: String,
    refusal: Arc<Mutex<Option<Cause>>>,
}

impl client::Handler for Guard {
    type Error = russh::Error;

    async fn check_server_key(
        &mut self,
        shown: &russh::keys::PublicKeyOrCertificate,
    ) -> Result<bool, Self::Error> {
        let refusal = match shown {
            russh::keys::PublicKeyOrCertificate::Certificate(_) => {
                Cause::Protocol("it shows a certificate in place of its key".to_owned())
            }
            russh::keys::PublicKeyOrCertificate::PublicKey { key, .. } => {
                let (host, fingerprint) = (self.host.clone(), fingerprint(key));
                match self.known.judge(key) {
                    Verdict::Known => return Ok(true),
                    Verdict::Unknown => Cause::HostKeyUnknown { host, fingerprint },
                    Verdict::Changed => Cause::HostKeyChanged { host, fingerprint },
                }
            }
        };
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(refusal);
        Ok(false)
    }
}

async fn open(
    service: Service,
    address: &Address,
    key: PrivateKey,
    known: Known,
) -> Result<(Handle<Guard>, Channel<Msg>), Cause> {
    let preferred = Preferred {
        key: Cow::Owned(known.preference(&Preferred::DEFAULT.key)),
        ..Preferred::DEFAULT
    };
    let config = client::Config { preferred, nodelay: true, ..client::Config::default() };
    let refusal = Arc::new(Mutex::new(None));
    let guard = Guard { known, host: address.host.clone(), refusal: refusal.clone() };
    let place = (address.host.as_str(), address.port);
    let connected = client::connect(Arc::new(config), place, guard).await;
    let mut connection = connected.map_err(|error| {
        let refusal = refusal.lock().unwrap_or_else(PoisonError::into_inner).take();
        refusal.unwrap_or_else(|| Cause::Unreachable(chain(&error)))
    })?;
    let cut = |error: russh::Error| Cause::Cut(chain(&error));
    let hash = connection.best_supported_rsa_hash().await.map_err(cut)?.flatten();
    let key = PrivateKeyWithHashAlg::new(Arc::new(key), hash);
    let login = connection.authenticate_publickey(address.user.as_str(), key).await.map_err(cut)?;
    if !login.success() {
        return Err(Cause::Unauthorized(format!("as {}", address.user)));
    }
    let channel = connection.channel_open_session().await.map_err(cut)?;
    if service == Service::UploadPack {
        // Servers that do not take it answer in the first version of the protocol.
        channel.set_env(false, "GIT_PROTOCOL", "version=2").await.map_err(cut)?;
    }
    let command = format!("{} {}", service.name(), quote(&address.path));
    channel.exec(true, command).await.map_err(cut)?;
    Ok((connection, channel))
}

/// As a shell reads one word, whatever is in it.
fn quote(path: &str) -> String {
    format!("'{}'", path.replace('\'', "'\\''").replace('!', "'\\!'"))
}

async fn talk(
    mut channel: Channel<Msg>,
    mut requests: mpsc::UnboundedReceiver<Vec<u8>>,
    feed: &Feed,
    limits: Limits,
) {
    let mut said = String::new();
    let mut code = None;
    loop {
        let next = tokio::select! {
            request = requests.recv() => match request {
                None => return,
                Some(request) => {
                    let sent = timeout(limits.idle, channel.data(request.as_slice())).await;
                    match sent {
                        Ok(Ok(())) => continue,
                        Ok(Err(error)) => Err(Cause::Cut(chain(&error))),
                        Err(_) => Err(Cause::TimedOut { what: "sending", after: limits.idle }),
                    }
                }
            },
            message = timeout(limits.idle, channel.wait()) => match message {
                Err(_) => Err(Cause::TimedOut { what: "the next bytes", after: limits.idle }),
                Ok(Some(ChannelMsg::Data { data })) => Ok(data),
                Ok(Some(ChannelMsg::ExtendedData { data, .. })) => {
                    keep(&mut said, &data);
                    continue;
                }
                Ok(Some(ChannelMsg::ExitStatus { exit_status })) => {
                    code = Some(exit_status);
                    continue;
                }
                Ok(Some(ChannelMsg::Failure)) => {
                    Err(Cause::Said("the command is not allowed".to_owned()))
                }
                Ok(Some(ChannelMsg::Close) | None) => Err(ended(&said, code)),
                Ok(Some(_)) => continue,
            },
        };
        let last = next.is_err();
        if feed.send(next).await.is_err() || last {
            return;
        }
    }
}

/// Why a server hung up: it is told only if more was expected of it.
fn ended(said: &str, code: Option<u32>) -> Cause {
    let said = said.trim().replace(char::is_control, " ");
    match code {
        Some(code) if code != 0 && !said.is_empty() => Cause::Said(said),
        _ => Cause::Cut(said),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_one_word() {
        assert_eq!(quote("/org/repo.git"), "'/org/repo.git'");
        assert_eq!(quote("a'; rm -rf '"), "'a'\\''; rm -rf '\\'''");
    }
}
