//! Git's smart protocol over http. A redirect is followed only where nothing is told to a host that was not meant.

use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION};
use reqwest::{Certificate, Client, Identity, Response, StatusCode, Url};
use tokio::time::timeout;

use super::{Conversation, Feed, Limits, Network, Pipe, Remote, Service};
use crate::auth::{Access, Login};
use crate::error::{Cause, chain};

/// How often a redirect is followed.
const REDIRECTS: usize = 5;

/// How much of a refusal is shown.
const SHOWN: usize = 300;

/// Some servers tell git from a browser by this.
const USER_AGENT: &str = concat!("git/2 holdfast/", env!("CARGO_PKG_VERSION"));

/// A client that trusts what the access says; `system` if it trusts the system's authorities too.
pub(crate) fn client(system: bool, access: &Access, limits: Limits) -> Result<Client, Cause> {
    let authorities = match &access.authority {
        None => Vec::new(),
        Some(pem) => Certificate::from_pem_bundle(pem.as_bytes())
            .map_err(|e| Cause::Credentials(format!("caFile: {}", chain(&e))))?,
    };
    let identity = match &access.certificate {
        None => None,
        Some(certificate) => {
            let mut pem = certificate.certificate.clone().into_bytes();
            pem.push(b'\n');
            pem.extend_from_slice(certificate.key.reveal().as_bytes());
            let identity = Identity::from_pem(&pem);
            // What the parser says may quote the key.
            Some(identity.map_err(|_| {
                Cause::Credentials("tls.crt and tls.key are no certificate and its key".to_owned())
            })?)
        }
    };
    let builder = || {
        let mut builder = Client::builder()
            .user_agent(USER_AGENT)
            .connect_timeout(limits.connect)
            .redirect(reqwest::redirect::Policy::none())
            .referer(false);
        if let Some(identity) = &identity {
            builder = builder.identity(identity.clone());
        }
        builder
    };
    if system && let Ok(client) = builder().tls_certs_merge(authorities.clone()).build() {
        return Ok(client);
    }
    // An image without the system's authorities still reaches what the Secret vouches for.
    builder()
        .tls_certs_only(authorities)
        .build()
        .map_err(|e| Cause::Credentials(chain(&e.without_url())))
}

/// A conversation over http: one request at a time.
pub(super) struct Http {
    remote: Remote,
    client: Client,
    service: Service,
    base: Url,
    answer: Pipe,
}

impl Http {
    pub(super) fn begin(remote: &Remote, service: Service) -> Result<Self, Cause> {
        let client = remote.client()?;
        let base = Url::parse(&remote.url.to_string())
            .map_err(|e| Cause::Protocol(format!("not an http URL: {e}")))?;
        let asked = Asked {
            client: client.clone(),
            authorization: authorization(&remote.access.login)?,
            limits: remote.limits,
            service,
            may_leave: service == Service::UploadPack && !remote.access.is_secret(),
        };
        let (base, response) = remote.network.wait(async move { asked.greeting(base).await })?;
        let answer = pour(remote, response);
        Ok(Self { remote: remote.clone(), client, service, base, answer })
    }
}

impl Conversation for Http {
    fn ask(&mut self, request: Vec<u8>) -> Result<(), Cause> {
        let asked = Asked {
            client: self.client.clone(),
            authorization: authorization(&self.remote.access.login)?,
            limits: self.remote.limits,
            service: self.service,
            may_leave: false,
        };
        let base = self.base.clone();
        let response = self.remote.network.wait(async move { asked.ask(base, request).await })?;
        self.answer = pour(&self.remote, response);
        Ok(())
    }

    fn answer(&mut self) -> &mut Pipe {
        &mut self.answer
    }
}

fn authorization(login: &Login) -> Result<Option<HeaderValue>, Cause> {
    use base64::Engine as _;
    let text = match login {
        Login::Anonymous => return Ok(None),
        Login::Password { username, password } => {
            let both = format!("{username}:{}", password.reveal());
            format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(both))
        }
        Login::Bearer(token) => format!("Bearer {}", token.reveal()),
        Login::Key { .. } => {
            return Err(Cause::Credentials("an ssh identity does not work over http".to_owned()));
        }
    };
    let mut value = HeaderValue::from_str(&text).map_err(|_| {
        Cause::Credentials("the token has a line break or a control character in it".to_owned())
    })?;
    value.set_sensitive(true);
    Ok(Some(value))
}

/// What one request takes.
struct Asked {
    client: Client,
    authorization: Option<HeaderValue>,
    limits: Limits,
    service: Service,
    may_leave: bool,
}

impl Asked {
    async fn greeting(&self, mut base: Url) -> Result<(Url, Response), Cause> {
        let suffix = format!("/info/refs?service={}", self.service.name());
        let mut url = join(&base, &suffix)?;
        for _ in 0..=REDIRECTS {
            let mut request = self.client.get(url.clone());
            if self.service == Service::UploadPack {
                request = request.header("Git-Protocol", "version=2");
            }
            let response = self.send(request).await?;
            if response.status().is_redirection() {
                url = self.redirect(&url, &response)?;
                continue;
            }
            let response = accepted(response, self.limits.idle).await?;
            self.check_type(&response, "advertisement")?;
            if let Some(found) = url.as_str().strip_suffix(&suffix) {
                base = Url::parse(found).map_err(|e| Cause::Protocol(e.to_string()))?;
                return Ok((base, response));
            }
            return Err(Cause::Protocol(format!("it redirects to {}", origin(&url))));
        }
        Err(Cause::Protocol(format!("it redirects more than {REDIRECTS} times")))
    }

    async fn ask(&self, base: Url, request: Vec<u8>) -> Result<Response, Cause> {
        let name = self.service.name();
        let url = join(&base, &format!("/{name}"))?;
        let mut post = self
            .client
            .post(url.clone())
            .header(CONTENT_TYPE, format!("application/x-{name}-request"))
            .header("Accept", format!("application/x-{name}-result"))
            .body(request);
        if self.service == Service::UploadPack {
            post = post.header("Git-Protocol", "version=2");
        }
        let response = self.send(post).await?;
        if response.status().is_redirection() {
            self.redirect(&url, &response)?;
            return Err(Cause::Protocol("it redirects in the middle of a conversation".to_owned()));
        }
        let response = accepted(response, self.limits.idle).await?;
        self.check_type(&response, "result")?;
        Ok(response)
    }

    async fn file(&self, mut url: Url) -> Result<(u16, Vec<u8>), Cause> {
        for _ in 0..=REDIRECTS {
            let mut response = self.send(self.client.get(url.clone())).await?;
            let status = response.status();
            if status.is_redirection() && response.headers().contains_key(LOCATION) {
                url = self.redirect(&url, &response)?;
                continue;
            }
            let mut bytes = Vec::new();
            while let Some(chunk) =
                response.chunk().await.map_err(|error| failed(error, self.limits))?
            {
                if (bytes.len() + chunk.len()) as u64 > self.limits.bytes {
                    return Err(Cause::TooLarge { limit: self.limits.bytes });
                }
                bytes.extend_from_slice(&chunk);
            }
            return Ok((status.as_u16(), bytes));
        }
        Err(Cause::Protocol(format!("it redirects more than {REDIRECTS} times")))
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Result<Response, Cause> {
        let request = match &self.authorization {
            Some(value) => request.header(AUTHORIZATION, value.clone()),
            None => request,
        };
        match timeout(self.limits.idle, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(failed(error, self.limits)),
            Err(_) => Err(Cause::TimedOut { what: "an answer", after: self.limits.idle }),
        }
    }

    fn check_type(&self, response: &Response, what: &str) -> Result<(), Cause> {
        let expected = format!("application/x-{}-{what}", self.service.name());
        let found = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if found == Some(&expected) {
            return Ok(());
        }
        let found = found.unwrap_or("nothing");
        Err(Cause::Protocol(format!("it answers with {found} where {expected} belongs")))
    }

    fn redirect(&self, from: &Url, response: &Response) -> Result<Url, Cause> {
        let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let to = location
            .and_then(|location| from.join(location).ok())
            .ok_or_else(|| Cause::Protocol("it redirects to nowhere".to_owned()))?;
        let same_host = from.host_str() == to.host_str();
        let same_port = from.port_or_known_default() == to.port_or_known_default();
        let upgrade = from.scheme() == "http" && to.scheme() == "https";
        let stays = same_host && (from.scheme() == to.scheme() && same_port || upgrade);
        if stays || self.may_leave && matches!(to.scheme(), "http" | "https") {
            return Ok(to);
        }
        Err(Cause::Redirected { from: origin(from), to: origin(&to) })
    }
}

/// The file at an address, as anybody gets it, or the status that came in its place.
pub(crate) fn file_at(
    network: &Network,
    address: &str,
    limits: Limits,
) -> Result<(u16, Vec<u8>), Cause> {
    let url = Url::parse(address).map_err(|e| Cause::Protocol(format!("not an http URL: {e}")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Cause::Credentials("the URL has credentials in it".to_owned()));
    }
    let asked = Asked {
        client: client(true, &Access::default(), limits)?,
        authorization: None,
        limits,
        service: Service::UploadPack,
        may_leave: true,
    };
    let whole = async move {
        timeout(limits.total, asked.file(url))
            .await
            .unwrap_or(Err(Cause::TimedOut { what: "the whole file", after: limits.total }))
    };
    network.wait(whole)
}

/// Scheme, host and port: what a redirect may show, as the rest could carry a token.
fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

fn join(base: &Url, suffix: &str) -> Result<Url, Cause> {
    Url::parse(&format!("{}{suffix}", base.as_str().trim_end_matches('/')))
        .map_err(|e| Cause::Protocol(e.to_string()))
}

fn failed(error: reqwest::Error, limits: Limits) -> Cause {
    let error = error.without_url();
    if error.is_timeout() {
        if error.is_connect() {
            return Cause::TimedOut { what: "connecting", after: limits.connect };
        }
        return Cause::TimedOut { what: "an answer", after: limits.idle };
    }
    if error.is_connect() {
        return Cause::Unreachable(chain(&error));
    }
    Cause::Cut(chain(&error))
}

async fn accepted(response: Response, idle: Duration) -> Result<Response, Cause> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let plain = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.starts_with("text/plain"));
    let text = match timeout(idle, excerpt(response)).await {
        Ok(text) if plain => text,
        _ => String::new(),
    };
    Err(match status {
        StatusCode::UNAUTHORIZED => Cause::Unauthorized(text),
        StatusCode::FORBIDDEN => Cause::Forbidden(text),
        StatusCode::NOT_FOUND | StatusCode::GONE => Cause::NotFound,
        status => Cause::Answered { status: status.as_u16(), text },
    })
}

async fn excerpt(mut response: Response) -> String {
    let mut text = Vec::new();
    while text.len() < SHOWN
        && let Ok(Some(chunk)) = response.chunk().await
    {
        text.extend_from_slice(&chunk);
    }
    text.truncate(SHOWN);
    String::from_utf8_lossy(&text).trim().replace(char::is_control, " ")
}

/// Lets the body of an answer flow into a pipe, in bounded time.
fn pour(remote: &Remote, response: Response) -> Pipe {
    let limits = remote.limits;
    let (feed, pipe) = Pipe::new(limits.bytes);
    remote.network.go(async move {
        let all = timeout(limits.total, flow(&feed, response, limits)).await;
        if all.is_err() {
            let late = Cause::TimedOut { what: "the whole answer", after: limits.total };
            let _ = feed.send(Err(late)).await;
        }
    });
    pipe
}

async fn flow(feed: &Feed, mut response: Response, limits: Limits) {
    loop {
        let next = match timeout(limits.idle, response.chunk()).await {
            Ok(Ok(Some(chunk))) => Ok(chunk),
            Ok(Ok(None)) => return,
            Ok(Err(error)) => Err(failed(error, limits)),
            Err(_) => Err(Cause::TimedOut { what: "the next bytes", after: limits.idle }),
        };
        let last = next.is_err();
        if feed.send(next).await.is_err() || last {
            return;
        }
    }
}
