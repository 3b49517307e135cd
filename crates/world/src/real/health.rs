//! Whether a component is ready, and how long to wait for it.

use std::path::Path;
use std::time::Duration;

use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ConfigExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{Instant, sleep, timeout};
use tower::Layer as _;

use super::error::{RealError, asking, tail};
use super::process::Process;

const POLL: Duration = Duration::from_millis(100);
const ONE_QUESTION: Duration = Duration::from_secs(5);

/// Where a component says that it is ready.
pub enum Health {
    /// Over plain HTTP on loopback.
    Http {
        /// The port.
        port: u16,
        /// The path.
        path: &'static str,
    },
    /// Through a client.
    Client {
        /// The client.
        client: kube::Client,
        /// The path.
        path: &'static str,
    },
}

impl Health {
    /// Over plain HTTP on loopback.
    pub const fn http(port: u16, path: &'static str) -> Self {
        Self::Http { port, path }
    }

    /// `/readyz` of the API server that a configuration leads to.
    pub fn server(config: &kube::Config) -> Result<Self, RealError> {
        Ok(Self::Client { client: quiet(config)?, path: "/readyz" })
    }

    /// `/healthz` over HTTPS with a certificate that the component made for itself.
    pub fn https(port: u16) -> Result<Self, RealError> {
        let url = format!("https://127.0.0.1:{port}").parse::<http::Uri>().map_err(|error| {
            RealError::Malformed {
                what: "a component's address".to_owned(),
                why: error.to_string(),
            }
        })?;
        let mut config = kube::Config::new(url);
        config.accept_invalid_certs = true;
        Ok(Self::Client { client: quiet(&config)?, path: "/healthz" })
    }

    /// Waits until the component is ready, has ended, or the patience is at an end.
    pub async fn wait(&self, process: &mut Process, patience: Duration) -> Result<(), RealError> {
        let deadline = Instant::now() + patience;
        loop {
            process.check()?;
            let last = match timeout(ONE_QUESTION, self.ask()).await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(answer)) => answer,
                Err(_) => "no answer".to_owned(),
            };
            if Instant::now() >= deadline {
                return Err(RealError::NotReady {
                    component: process.name.clone(),
                    seconds: patience.as_secs(),
                    last,
                    tail: tail(&process.log),
                    log: process.log.clone(),
                });
            }
            sleep(POLL).await;
        }
    }

    async fn ask(&self) -> Result<(), String> {
        match self {
            Self::Http { port, path } => {
                let text = http_get(*port, path).await.map_err(|error| error.to_string())?;
                let first = text.lines().next().unwrap_or_default().to_owned();
                if first.split(' ').nth(1) == Some("200") { Ok(()) } else { Err(first) }
            }
            Self::Client { client, path } => {
                let request = http::Request::get(*path)
                    .body(Body::empty())
                    .map_err(|error| error.to_string())?;
                let response = client.send(request).await.map_err(|error| error.to_string())?;
                if response.status().is_success() {
                    return Ok(());
                }
                Err(response.status().to_string())
            }
        }
    }
}

/// A client that neither retries nor logs: to be refused is what a start begins with.
fn quiet(config: &kube::Config) -> Result<kube::Client, RealError> {
    let connector =
        config.rustls_https_connector().map_err(asking("a client for a component's health"))?;
    let client = hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build(connector);
    Ok(kube::Client::new(config.base_uri_layer().layer(client), "default"))
}

/// Head and body of an answer; HTTP/1.0, so that the end of the stream is the end of the answer.
async fn http_get(port: u16, path: &str) -> std::io::Result<String> {
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await?;
    let request = format!("GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// The client configuration that a kubeconfig holds.
pub async fn config(path: &Path) -> Result<kube::Config, RealError> {
    let malformed = |why: String| RealError::Malformed { what: path.display().to_string(), why };
    let kubeconfig =
        kube::config::Kubeconfig::read_from(path).map_err(|error| malformed(error.to_string()))?;
    let options = kube::config::KubeConfigOptions::default();
    kube::Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .map_err(|error| malformed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::real::process::Guardian;

    #[tokio::test]
    async fn a_component_that_never_answers_is_given_up_with_its_last_words() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("logs")).unwrap();
        let mut guardian = Guardian::start().unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo waiting for etcd; exec sleep 600"]);
        let mut process =
            Process::start("kube-apiserver", command, folder.path(), &mut guardian).unwrap();
        // The shell's first line may take a moment.
        tokio::time::sleep(Duration::from_millis(200)).await;
        let [port] = crate::real::ports::free().unwrap();
        let health = Health::http(port, "/readyz");
        let error = health.wait(&mut process, Duration::from_millis(300)).await.unwrap_err();
        let error = error.to_string();
        assert!(error.starts_with("kube-apiserver was not ready after 0 s: Connection refused"));
        assert!(error.contains("  waiting for etcd"), "{error}");
    }
}
