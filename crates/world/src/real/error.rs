//! What can go wrong on the way to a real cluster, said so that a reader knows what to do.

use std::path::{Path, PathBuf};

/// Why there is no real cluster.
#[derive(Debug, thiserror::Error)]
pub enum RealError {
    /// Go is not installed and could not be fetched.
    #[error(
        "the real cluster is built with Go 1.26; no `go` was found, and fetching it failed ({why}): install it from https://go.dev/dl (Debian 12's package `golang` is too old)"
    )]
    NoGo {
        /// Why fetching failed.
        why: String,
    },
    /// Go is installed, but an old one, and a newer one could not be fetched.
    #[error(
        "the real cluster is built with Go 1.26; the `go` found is {version}, and fetching a newer one failed ({why}): install it from https://go.dev/dl (Go 1.21 or newer fetches 1.26 by itself unless GOTOOLCHAIN=local forbids it)"
    )]
    OldGo {
        /// What was found.
        version: String,
        /// Why fetching failed.
        why: String,
    },
    /// A module did not build.
    #[error(
        "building the Go module `{module}` failed; it needs the network (GOPROXY) the first time, and about 5 GB of disk. The log is {log}, its end:\n{tail}", log = log.display()
    )]
    Build {
        /// The folder in `testbed/`.
        module: &'static str,
        /// The end of the log.
        tail: String,
        /// The whole log.
        log: PathBuf,
    },
    /// A component ended although it should serve.
    #[error(
        "{component} ended by itself ({status}). Its log is {log}, its end:\n{tail}\nhint: the end of the log says why; if a port was taken meanwhile, start again", log = log.display()
    )]
    Ended {
        /// Which component.
        component: String,
        /// How it ended.
        status: String,
        /// The end of its log.
        tail: String,
        /// The whole log.
        log: PathBuf,
    },
    /// A component did not become ready.
    #[error(
        "{component} was not ready after {seconds} s: {last}. Its log is {log}, its end:\n{tail}\nhint: a machine under load needs longer (--patience), a component that waits says for what", log = log.display()
    )]
    NotReady {
        /// Which component.
        component: String,
        /// How long was waited.
        seconds: u64,
        /// What the last question was answered.
        last: String,
        /// The end of its log.
        tail: String,
        /// The whole log.
        log: PathBuf,
    },
    /// A file or program could not be used.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A certificate or key could not be made.
    #[error("making certificates for the real cluster: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The API server refused what the harness needs.
    #[error("{what}: {source}")]
    Api {
        /// What was asked.
        what: String,
        /// The refusal.
        source: Box<kube::Error>,
    },
    /// A file that belongs to a component is not what it should be.
    #[error("{what}: {why}")]
    Malformed {
        /// Which file.
        what: String,
        /// What is wrong.
        why: String,
    },
}

/// Names the path in an error of the file system.
pub(super) fn at(path: &Path) -> impl Fn(std::io::Error) -> RealError + use<> {
    let path = path.to_path_buf();
    move |source| RealError::Io { path: path.clone(), source }
}

/// Names what was asked in an error of the API server.
pub(super) fn asking(what: impl Into<String>) -> impl FnOnce(kube::Error) -> RealError {
    let what = what.into();
    move |source| RealError::Api { what, source: Box::new(source) }
}

/// The last lines of a log.
pub(super) fn tail(log: &Path) -> String {
    const LINES: usize = 20;
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    if lines.is_empty() {
        return "  (nothing)".to_owned();
    }
    lines[lines.len().saturating_sub(LINES)..]
        .iter()
        .map(|line| format!("  {}", line.chars().take(400).collect::<String>()))
        .collect::<Vec<_>>()
        .join("\n")
}
