//! An ssh server around stock git.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use russh::keys::PrivateKey;
use russh::server::{self, Auth, Msg, Session};
use russh::{Channel, ChannelId};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::process::ChildStdin;

use super::{command, key};
use crate::auth::{Access, Login, Secret};
use crate::url::RemoteUrl;

/// What the server does when a command is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Runs it.
    None,
    /// Says nothing.
    Hang,
    /// Answers, but not to the end, and stays on the line.
    HangHalfway,
    /// Runs a push and hangs up without a word of what became of it, the first time.
    LoseFirstReport,
}

/// A server.
pub(crate) struct Server {
    pub(crate) port: u16,
    pub(crate) root: PathBuf,
    pub(crate) host_key: PrivateKey,
    pub(crate) commands: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Serves the repositories of a folder to the key with seed 2; its own is the one with seed 1.
    pub(crate) fn start(root: PathBuf, fault: Fault, takes_version: bool) -> Self {
        let host_key = key(1);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let config = server::Config {
            keys: vec![host_key.clone()],
            auth_rejection_time: Duration::from_millis(1),
            ..server::Config::default()
        };
        let (config, commands) = (Arc::new(config), Arc::<Mutex<Vec<String>>>::default());
        let log = commands.clone();
        let folder = root.clone();
        thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener).unwrap();
                while let Ok((stream, _)) = listener.accept().await {
                    let client = Client {
                        root: folder.clone(),
                        fault,
                        takes_version,
                        version: None,
                        inputs: BTreeMap::new(),
                        log: log.clone(),
                    };
                    let config = config.clone();
                    tokio::runtime::Handle::current().spawn(async move {
                        if let Ok(session) = server::run_stream(config, stream, client).await {
                            let _ = session.await;
                        }
                    });
                }
            });
        });
        Self { port, root, host_key, commands }
    }

    pub(crate) fn url(&self) -> RemoteUrl {
        let path = self.root.join("repo.git");
        RemoteUrl::parse(&format!("ssh://git@127.0.0.1:{}{}", self.port, path.display())).unwrap()
    }

    /// The line that known_hosts has for this server, or for one with another key.
    pub(crate) fn known_hosts(&self, key: &PrivateKey) -> String {
        let public = key.public_key().to_openssh().unwrap();
        format!("[127.0.0.1]:{} {public}\n", self.port)
    }

    pub(crate) fn access(&self) -> Access {
        Access {
            login: Login::Key {
                identity: Secret::new(super::key_text(&key(2))),
                passphrase: None,
                known_hosts: self.known_hosts(&self.host_key),
            },
            ..Access::default()
        }
    }
}

struct Client {
    root: PathBuf,
    fault: Fault,
    takes_version: bool,
    version: Option<String>,
    inputs: BTreeMap<ChannelId, ChildStdin>,
    log: Arc<Mutex<Vec<String>>>,
}

impl server::Handler for Client {
    type Error = russh::Error;

    async fn auth_publickey(
        &mut self,
        user: &str,
        shown: server::VerifiedPublicKey<'_>,
    ) -> Result<Auth, Self::Error> {
        let good = user == "git" && shown.public_key.key_data() == key(2).public_key().key_data();
        Ok(if good { Auth::Accept } else { Auth::reject() })
    }

    async fn channel_open_session(
        &mut self,
        _channel: Channel<Msg>,
        reply: server::ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), Self::Error> {
        reply.accept().await;
        Ok(())
    }

    async fn env_request(
        &mut self,
        _channel: ChannelId,
        name: &str,
        value: &str,
        _session: &mut Session,
    ) -> Result<(), Self::Error> {
        if name == "GIT_PROTOCOL" && self.takes_version {
            self.version = Some(value.to_owned());
        }
        Ok(())
    }

    async fn exec_request(
        &mut self,
        channel: ChannelId,
        data: &[u8],
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        let line = String::from_utf8_lossy(data).into_owned();
        let number = {
            let mut log = self.log.lock().unwrap();
            log.push(line.clone());
            log.iter().filter(|l| l.starts_with("git-receive-pack")).count()
        };
        session.channel_success(channel)?;
        if self.fault == Fault::Hang {
            return Ok(());
        }
        let (program, path) = line.split_once(' ').unwrap();
        let mut run = command(&self.root);
        run.arg(program.strip_prefix("git-").unwrap()).arg(path.trim_matches('\''));
        if let Some(version) = &self.version {
            run.env("GIT_PROTOCOL", version);
        }
        run.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = tokio::process::Command::from(run).spawn().unwrap();
        self.inputs.insert(channel, child.stdin.take().unwrap());
        let (mut output, mut errors) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let handle = session.handle();
        let fault = self.fault;
        let loses = fault == Fault::LoseFirstReport && program == "git-receive-pack" && number == 1;
        tokio::runtime::Handle::current().spawn(async move {
            let mut buffer = vec![0; 16 << 10];
            let mut answers = 0;
            loop {
                let count = output.read(&mut buffer).await.unwrap_or(0);
                if count == 0 {
                    break;
                }
                answers += 1;
                if loses && answers > 1 {
                    continue;
                }
                if fault == Fault::HangHalfway && answers > 1 {
                    let _ = handle.data(channel, buffer[..count / 2].to_vec()).await;
                    tokio::time::sleep(Duration::from_secs(30)).await;
                }
                let _ = handle.data(channel, buffer[..count].to_vec()).await;
            }
            let mut said = Vec::new();
            let _ = errors.read_to_end(&mut said).await;
            if !said.is_empty() {
                let _ = handle.extended_data(channel, 1, said).await;
            }
            let code = child.wait().await.ok().and_then(|s| s.code()).unwrap_or(1);
            if !loses {
                let _ = handle.exit_status_request(channel, code as u32).await;
            }
            let _ = handle.eof(channel).await;
            let _ = handle.close(channel).await;
        });
        Ok(())
    }

    async fn data(
        &mut self,
        channel: ChannelId,
        data: &[u8],
        _session: &mut Session,
    ) -> Result<(), Self::Error> {
        if let Some(input) = self.inputs.get_mut(&channel) {
            let _ = input.write_all(data).await;
            let _ = input.flush().await;
        }
        Ok(())
    }

    async fn channel_eof(
        &mut self,
        channel: ChannelId,
        _session: &mut Session,
    ) -> Result<(), Self::Error> {
        self.inputs.remove(&channel);
        Ok(())
    }
}
