//! The host on a TCP port, for stock git, for Flux, and for whoever speaks to the forge.

use std::io::Read as _;

use bytes::Bytes;
use futures::StreamExt as _;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use super::host::{GitError, GitHost};
use super::wire;
use crate::actors::forge::Forge;

/// The most that a request may carry.
const LARGEST: u64 = 256 << 20;

/// Serves a host and its forge until dropped.
pub async fn serve(forge: Forge, listener: TcpListener) {
    let connections = futures::stream::unfold(listener, |listener| async move {
        let accepted = listener.accept().await.ok();
        Some((accepted, listener))
    });
    connections
        .for_each_concurrent(None, |accepted| {
            let forge = forge.clone();
            async move {
                let Some((stream, peer)) = accepted else { return };
                let service = hyper::service::service_fn(move |request| {
                    let forge = forge.clone();
                    async move { receive(&forge, request).await }
                });
                let served = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
                if let Err(error) = served {
                    tracing::debug!(%peer, %error, "a git connection ended");
                }
            }
        })
        .await;
}

async fn receive(
    forge: &Forge,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, std::io::Error> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(std::io::Error::other)?.to_bytes();
    let answer = answer(forge, &Request::from_parts(parts, body));
    // The world's way of losing an answer: nothing comes back at all.
    answer.ok_or_else(|| std::io::Error::other("the answer is lost"))
}

/// Answers one request; nothing if its answer is to be lost.
pub fn answer(forge: &Forge, request: &Request<Bytes>) -> Option<Response<Full<Bytes>>> {
    let path = request.uri().path().trim_start_matches('/');
    if let Some(rest) = path.strip_prefix("api/v1/") {
        return Some(forge.answer(request.method(), rest, request.uri().query(), request.body()));
    }
    match converse(forge.host(), request) {
        Ok(answer) => Some(answer),
        Err(GitError::Lost) => None,
        Err(error @ (GitError::NoRepository(_) | GitError::NoRevision(_))) => {
            Some(plain(StatusCode::NOT_FOUND, &error.to_string()))
        }
        Err(error) => Some(plain(StatusCode::BAD_REQUEST, &error.to_string())),
    }
}

fn converse(host: &GitHost, request: &Request<Bytes>) -> Result<Response<Full<Bytes>>, GitError> {
    let path = request.uri().path().trim_matches('/');
    let version_2 = request
        .headers()
        .get("git-protocol")
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.split(':').any(|part| part == "version=2"));
    let repository = |name: &str| name.trim_end_matches(".git").to_owned();
    if let Some(name) = path.strip_suffix("/info/refs") {
        let query = request.uri().query().unwrap_or_default();
        let service = query.split('&').find_map(|pair| pair.strip_prefix("service="));
        let Some(service @ ("git-upload-pack" | "git-receive-pack")) = service else {
            return Ok(plain(StatusCode::FORBIDDEN, "only smart HTTP is served here"));
        };
        let body = wire::advertise(host, &repository(name), service, version_2)?;
        return Ok(packets(&format!("application/x-{service}-advertisement"), body));
    }
    if request.method() != Method::POST {
        return Ok(plain(StatusCode::NOT_FOUND, "there is nothing here"));
    }
    let body = inflate(request)?;
    if let Some(name) = path.strip_suffix("/git-upload-pack") {
        let body = wire::upload(host, &repository(name), &body, version_2)?;
        return Ok(packets("application/x-git-upload-pack-result", body));
    }
    if let Some(name) = path.strip_suffix("/git-receive-pack") {
        let body = wire::receive(host, &repository(name), &body)?;
        return Ok(packets("application/x-git-receive-pack-result", body));
    }
    Ok(plain(StatusCode::NOT_FOUND, "there is nothing here"))
}

/// Git compresses larger requests.
fn inflate(request: &Request<Bytes>) -> Result<Bytes, GitError> {
    let encoding = request.headers().get(header::CONTENT_ENCODING);
    if encoding.is_none_or(|encoding| encoding != "gzip" && encoding != "x-gzip") {
        return Ok(request.body().clone());
    }
    let mut body = Vec::new();
    flate2::read::GzDecoder::new(request.body().as_ref())
        .take(LARGEST)
        .read_to_end(&mut body)
        .map_err(|error| GitError::Unreadable(error.to_string()))?;
    Ok(body.into())
}

fn plain(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(format!("{text}\n"))));
    *response.status_mut() = status;
    response
}

fn packets(kind: &str, body: Vec<u8>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    if let Ok(kind) = header::HeaderValue::from_str(kind) {
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
    }
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-cache"));
    response
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::*;
    use crate::actors::git::{PushFault, Signature};

    fn git(folder: &Path, arguments: &[&str]) -> Result<String, String> {
        let output = Command::new("git")
            .current_dir(folder)
            .args(["-c", "user.name=ada", "-c", "user.email=ada@example.org"])
            .args(arguments)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env_remove("http_proxy")
            .env_remove("all_proxy")
            .output()
            .map_err(|error| error.to_string())?;
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() {
            Ok(said(&output.stdout))
        } else {
            Err(format!("git {arguments:?}: {}", said(&output.stderr)))
        }
    }

    /// The host on a thread of its own, because the stock client is a process that is waited for.
    fn served() -> (GitHost, String) {
        let host = GitHost::default();
        let forge = Forge::new(host.clone());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                serve(forge, TcpListener::from_std(listener).unwrap()).await;
            });
        });
        (host, format!("http://{address}"))
    }

    fn commit(host: &GitHost, path: &str, text: &str) {
        let at = jiff::Timestamp::constant(1_767_225_600, 0);
        let change = [(path.to_owned(), Some(text.as_bytes().to_vec()))].into();
        host.commit("ops/fleet", "main", &change, &Signature::new("ada", at), path).unwrap();
    }

    #[test]
    fn stock_git_clones_fetches_and_pushes() {
        if Command::new("git").arg("--version").output().is_err() {
            eprintln!("skipped: there is no git binary to try the host with");
            return;
        }
        for version in ["0", "2"] {
            let protocol = format!("protocol.version={version}");
            let (host, url) = served();
            host.create("ops/fleet");
            let long = "row\n".repeat(5000);
            commit(&host, "apps/shop/app.yaml", &long);
            commit(&host, "README.md", "one\n");
            let folder = tempfile::tempdir().unwrap();
            let folder = folder.path();
            let url = format!("{url}/ops/fleet.git");
            git(folder, &["-c", &protocol, "clone", "-q", &url, "a"]).unwrap();
            let a = folder.join("a");
            assert_eq!(std::fs::read_to_string(a.join("apps/shop/app.yaml")).unwrap(), long);
            assert_eq!(git(&a, &["rev-list", "--count", "HEAD"]).unwrap().trim(), "2");
            git(&a, &["fsck", "--strict"]).unwrap();

            let shallow = ["-c", &protocol, "clone", "-q", "--depth", "1", &url, "shallow"];
            git(folder, &shallow).unwrap();
            let shallow = folder.join("shallow");
            assert_eq!(git(&shallow, &["rev-list", "--count", "HEAD"]).unwrap().trim(), "1");

            commit(&host, "README.md", "two\n");
            git(&a, &["-c", &protocol, "pull", "-q", "--ff-only"]).unwrap();
            git(&shallow, &["-c", &protocol, "fetch", "-q"]).unwrap();
            assert_eq!(std::fs::read_to_string(a.join("README.md")).unwrap(), "two\n");

            // A small change to a large file goes over as a delta.
            std::fs::write(a.join("apps/shop/app.yaml"), format!("{long}last\n")).unwrap();
            git(&a, &["commit", "-qam", "three"]).unwrap();
            git(&a, &["-c", &protocol, "push", "-q", "origin", "HEAD:main"]).unwrap();
            let pushed = host.read("ops/fleet", "main", "apps/shop/app.yaml").unwrap().unwrap();
            assert_eq!(pushed, format!("{long}last\n").as_bytes());

            std::fs::write(a.join("README.md"), "four\n").unwrap();
            git(&a, &["commit", "-qam", "four"]).unwrap();
            host.fail_next_push(PushFault::Rejected);
            let refused = git(&a, &["push", "-q", "origin", "HEAD:main"]).unwrap_err();
            assert!(refused.contains("fetch first"), "{refused}");
            host.fail_next_push(PushFault::Lost);
            git(&a, &["push", "-q", "origin", "HEAD:main"]).unwrap_err();
            assert_eq!(host.read("ops/fleet", "main", "README.md").unwrap().unwrap(), b"four\n");

            git(&a, &["push", "-q", "origin", "HEAD:refs/heads/side"]).unwrap();
            git(&a, &["push", "-q", "origin", ":side"]).unwrap();
            assert_eq!(host.refs("ops/fleet").unwrap().len(), 1);
            assert!(git(folder, &["clone", "-q", &url.replace("fleet", "none"), "n"]).is_err());
        }
    }

    #[test]
    fn an_empty_repository_takes_a_first_push() {
        if Command::new("git").arg("--version").output().is_err() {
            eprintln!("skipped: there is no git binary to try the host with");
            return;
        }
        let (host, url) = served();
        host.create("ops/new");
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        git(folder, &["clone", "-q", &format!("{url}/ops/new.git"), "a"]).unwrap();
        let a = folder.join("a");
        std::fs::write(a.join("f"), "1").unwrap();
        git(&a, &["add", "."]).unwrap();
        git(&a, &["commit", "-qm", "one"]).unwrap();
        git(&a, &["push", "-q", "origin", "HEAD:main"]).unwrap();
        assert_eq!(host.read("ops/new", "main", "f").unwrap().unwrap(), b"1");
    }
}
