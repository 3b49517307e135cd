//! What tests are run against: stock git, and servers that misbehave on request.
#![allow(clippy::disallowed_methods, reason = "the oracle is the git program")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use russh::keys::PrivateKey;
use russh::keys::ssh_key::LineEnding;
use russh::keys::ssh_key::private::{Ed25519Keypair, KeypairData};
use tempfile::TempDir;

use crate::auth::Access;
use crate::commit::{Message, Moment, Person, Trailer};
use crate::engine::{Destination, Engine, Pace, Settings, Submission};
use crate::transport::Limits;
use crate::url::RemoteUrl;

pub(crate) mod http;
pub(crate) mod ssh;

/// A git command that knows nothing of this machine's configuration.
pub(crate) fn command(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_AUTHOR_NAME", "Ann")
        .env("GIT_AUTHOR_EMAIL", "ann@example.org")
        .env("GIT_COMMITTER_NAME", "Ann")
        .env("GIT_COMMITTER_EMAIL", "ann@example.org")
        .env("GIT_AUTHOR_DATE", "1700000000 +0000")
        .env("GIT_COMMITTER_DATE", "1700000000 +0000")
        .stdin(Stdio::null());
    command
}

/// Runs git and gives what it prints.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = try_git(folder, arguments);
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// Runs git, whatever comes of it.
pub(crate) fn try_git(folder: &Path, arguments: &[&str]) -> Output {
    command(folder).args(arguments).output().unwrap()
}

/// Whether a program is on this machine.
pub(crate) fn has_program(name: &str) -> bool {
    Command::new(name).arg("--help").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// A bare repository as a server has it, and a clone in which somebody works.
pub(crate) struct Hosted {
    pub(crate) folder: TempDir,
}

impl Hosted {
    /// With no commit.
    pub(crate) fn empty() -> Self {
        let folder = TempDir::new().unwrap();
        git(folder.path(), &["init", "-q", "--bare", "-b", "main", "repo.git"]);
        let hosted = Self { folder };
        git(&hosted.bare(), &["config", "receive.shallowUpdate", "true"]);
        hosted
    }

    /// With one commit of these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let hosted = Self::empty();
        git(hosted.folder.path(), &["clone", "-q", "repo.git", "work"]);
        git(&hosted.work(), &["checkout", "-q", "-B", "main"]);
        hosted.commit(files, "first");
        hosted
    }

    pub(crate) fn bare(&self) -> PathBuf {
        self.folder.path().join("repo.git")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Somebody else commits these files and pushes them.
    pub(crate) fn commit(&self, files: &[(&str, &str)], message: &str) -> String {
        let work = self.work();
        for (path, content) in files {
            let path = work.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        git(&work, &["add", "-A"]);
        git(&work, &["commit", "-q", "--allow-empty", "-m", message]);
        self.publish();
        git(&work, &["rev-parse", "HEAD"])
    }

    /// Brings the clone up to date and pushes what is new in it.
    pub(crate) fn publish(&self) {
        let work = self.work();
        let _ = try_git(&work, &["pull", "-q", "--rebase", "origin", "main"]);
        git(&work, &["push", "-q", "origin", "HEAD:main"]);
    }

    /// What a file of the branch has.
    pub(crate) fn show(&self, path: &str) -> String {
        git(&self.bare(), &["show", &format!("main:{path}")])
    }

    pub(crate) fn tip(&self) -> String {
        git(&self.bare(), &["rev-parse", "main"])
    }

    pub(crate) fn count(&self) -> usize {
        git(&self.bare(), &["rev-list", "--count", "main"]).parse().unwrap()
    }

    /// A hook of the server.
    pub(crate) fn hook(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.bare().join("hooks").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn url(&self) -> RemoteUrl {
        RemoteUrl::of_folder(self.bare())
    }

    pub(crate) fn is_sound(&self) {
        git(&self.bare(), &["fsck", "--strict", "--no-dangling"]);
    }
}

/// Does not wait, and remembers how long it should have.
#[derive(Debug, Default)]
pub(crate) struct Hurry {
    pub(crate) waits: Mutex<Vec<Duration>>,
    next: AtomicU64,
}

impl Pace for Hurry {
    fn pause(&self, duration: Duration) {
        self.waits.lock().unwrap().push(duration);
    }

    fn random(&self) -> u64 {
        self.next.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed)
    }
}

/// Limits that a test can wait for.
pub(crate) fn limits() -> Limits {
    Limits {
        connect: Duration::from_secs(2),
        idle: Duration::from_millis(700),
        total: Duration::from_secs(20),
        bytes: 64 << 20,
    }
}

/// An engine in a folder of its own.
pub(crate) struct Bench {
    pub(crate) engine: Engine,
    _folder: TempDir,
    pub(crate) pace: Arc<Hurry>,
}

pub(crate) fn engine() -> Bench {
    let folder = TempDir::new().unwrap();
    let pace = Arc::new(Hurry::default());
    let mut settings = Settings::new(folder.path().join("repositories"), pace.clone());
    settings.limits = limits();
    settings.backoff.tries = 4;
    let engine = Engine::start(settings).unwrap();
    Bench { engine, pace, _folder: folder }
}

pub(crate) fn main_of(url: RemoteUrl) -> Destination {
    Destination::new(url, Access::default(), "main")
}

pub(crate) fn submission(text: &str, id: Option<&str>) -> Submission {
    Submission {
        author: Person::new("Ben", "ben@example.org"),
        authored: Moment { seconds: 1_700_000_100, offset: 7200 },
        committer: Person::new("Holdfast", "holdfast@example.org"),
        committed: Moment::utc(1_700_000_200),
        message: Message::new(text),
        id: id.map(|id| Trailer::new("Holdfast-Id", id)),
        since: None,
        signer: None,
    }
}

/// A key that is always the same.
pub(crate) fn key(seed: u8) -> PrivateKey {
    let pair = Ed25519Keypair::from_seed(&[seed; 32]);
    PrivateKey::new(KeypairData::Ed25519(pair), "test").unwrap()
}

pub(crate) fn key_text(key: &PrivateKey) -> String {
    key.to_openssh(LineEnding::LF).unwrap().to_string()
}
