//! Calling webhooks over the network.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper_rustls::{ConfigBuilderExt as _, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;

use super::{CallError, Caller, Target};

/// Where the port of a service (namespace, name, port) listens, if it exists.
pub type Resolve = dyn Fn(&str, &str, u16) -> Option<SocketAddr> + Send + Sync;

/// Calls webhooks over HTTPS, as the API server does.
pub struct Https {
    resolve: Box<Resolve>,
}

impl std::fmt::Debug for Https {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Https")
    }
}

impl Default for Https {
    fn default() -> Self {
        Self::new(|_, _, _| None)
    }
}

impl Https {
    /// A caller that finds services with `resolve`.
    pub fn new(
        resolve: impl Fn(&str, &str, u16) -> Option<SocketAddr> + Send + Sync + 'static,
    ) -> Self {
        Self { resolve: Box::new(resolve) }
    }

    async fn post(&self, target: Target, review: Value, seconds: u64) -> Result<Value, CallError> {
        let mut url = format!("{}?timeout={seconds}s", target.url);
        let tls = trust(&target.ca_bundle).map_err(CallError::Client)?;
        let mut builder = HttpsConnectorBuilder::new().with_tls_config(tls).https_only();
        if let Some((namespace, name, port)) = &target.service {
            let Some(address) = (self.resolve)(namespace, name, *port) else {
                return Err(CallError::Connect(format!("service {name:?} not found")));
            };
            // The certificate is the service's, wherever it runs.
            let host = format!("{name}.{namespace}.svc");
            url = url.replacen(&format!("{host}:{port}"), &address.to_string(), 1);
            let host = rustls::pki_types::ServerName::try_from(host)
                .map_err(|error| CallError::Client(error.to_string()))?;
            builder =
                builder.with_server_name_resolver(hyper_rustls::FixedServerNameResolver::new(host));
        }
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        let connector = builder.enable_http1().wrap_connector(http);
        let client: Client<_, Full<Bytes>> = Client::builder(TokioExecutor::new()).build(connector);
        let request = Request::post(&url)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, */*")
            .header(header::USER_AGENT, "kube-apiserver-admission")
            .body(Full::from(review.to_string()))
            .map_err(|error| CallError::Client(error.to_string()))?;
        let response = client.request(request).await.map_err(|error| in_go_words(&error, &url))?;
        let status = response.status();
        let kind = response.headers().get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default().to_owned();
        let body = response
            .into_body()
            .collect()
            .await
            .map_err(|error| CallError::Connect(error.to_string()))?
            .to_bytes();
        read(status, &kind, &body)
    }
}

impl Caller for Https {
    fn call(
        &self,
        target: Target,
        review: Value,
        timeout: Duration,
    ) -> BoxFuture<'_, Result<Value, CallError>> {
        Box::pin(async move {
            let post = self.post(target, review, timeout.as_secs());
            tokio::time::timeout(timeout, post).await.unwrap_or(Err(CallError::Timeout))
        })
    }
}

fn trust(bundle: &[u8]) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    if bundle.is_empty() {
        let builder = builder.with_native_roots().map_err(|error| error.to_string())?;
        return Ok(builder.with_no_client_auth());
    }
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_slice_iter(bundle).filter_map(Result::ok);
    let (added, _) = roots.add_parsable_certificates(certificates);
    if added == 0 {
        return Err("unable to load root certificates: unable to parse bytes as PEM block".into());
    }
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// The transport's error as Go words it.
fn in_go_words(error: &hyper_util::client::legacy::Error, url: &str) -> CallError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    let mut last = error.to_string();
    while let Some(inner) = cause {
        last = inner.to_string();
        if let Some(tls) = inner.downcast_ref::<rustls::Error>() {
            return CallError::Connect(certificate(tls));
        }
        let io = inner.downcast_ref::<io::Error>();
        if io.is_some_and(|io| io.kind() == io::ErrorKind::ConnectionRefused) {
            let host = url.split('/').nth(2).unwrap_or_default();
            return CallError::Connect(format!("dial tcp {host}: connect: connection refused"));
        }
        // An I/O error hides what it wraps from its source.
        let wrapped: Option<&(dyn std::error::Error + 'static)> =
            match io.and_then(io::Error::get_ref) {
                Some(wrapped) => Some(wrapped),
                None => inner.source(),
            };
        cause = wrapped;
    }
    CallError::Connect(last)
}

fn certificate(error: &rustls::Error) -> String {
    use rustls::{CertificateError, Error};
    match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "tls: failed to verify certificate: x509: certificate signed by unknown authority"
                .into()
        }
        Error::InvalidCertificate(CertificateError::Expired) => {
            "tls: failed to verify certificate: x509: certificate has expired or is not yet valid"
                .into()
        }
        other => format!("tls: failed to verify certificate: {other}"),
    }
}

/// The review in an answer, or what is said of an answer without one.
fn read(status: StatusCode, kind: &str, body: &[u8]) -> Result<Value, CallError> {
    let json: Result<Value, _> = serde_json::from_slice(body);
    if !status.is_success() {
        if let Ok(json) = &json
            && json["kind"] == "Status"
            && let Some(message) = json["message"].as_str()
        {
            return Err(CallError::Answer(message.to_owned()));
        }
        let said = if kind.starts_with("text/") {
            String::from_utf8_lossy(body).trim().to_owned()
        } else {
            "unknown".to_owned()
        };
        return Err(CallError::Answer(status_text(status.as_u16(), &said)));
    }
    if body.is_empty() {
        let code = status.as_u16();
        return Err(CallError::Answer(format!(
            "0-length response with status code: {code} and content type: {kind}"
        )));
    }
    let frame = |why: &str| {
        CallError::Answer(format!("couldn't get version/kind; json parse error: {why}"))
    };
    match json {
        Ok(json @ Value::Object(_)) => Ok(json),
        Ok(json) => Err(frame(&not_an_object(&json))),
        Err(error) if error.is_eof() => Err(frame("unexpected end of JSON input")),
        // Bodies are read as YAML too, where any other text is a string.
        Err(_) => Err(frame(&not_an_object(&Value::String(String::new())))),
    }
}

fn not_an_object(json: &Value) -> String {
    let what = match json {
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Bool(_) => "bool",
        _ => "number",
    };
    format!(
        "json: cannot unmarshal {what} into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
    )
}

/// What a client says of a bare HTTP status.
fn status_text(code: u16, said: &str) -> String {
    match code {
        400 => "the server rejected our request for an unknown reason".into(),
        401 => "the server has asked for the client to provide credentials".into(),
        404 => "the server could not find the requested resource".into(),
        405 => "the server does not allow this method on the requested resource".into(),
        406 if said == "unknown" => "unknown type accepted by the server".into(),
        403 | 406 | 415 => said.into(),
        409 => "the server reported a conflict".into(),
        422 => "the server rejected our request due to an error in our request".into(),
        429 => "the server has received too many requests and has asked us to try again later".into(),
        503 => "the server is currently unable to handle the request".into(),
        504 => "the server was unable to return a response in the time allotted, but may still be processing the request".into(),
        500.. => format!("an error on the server ({said:?}) has prevented the request from succeeding"),
        _ => format!(
            "the server responded with the status code {code} but did not return more information"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_without_a_review_are_worded_as_the_server_does() {
        for (code, kind, body, expected) in [
            (
                500,
                "application/json",
                "boom",
                "an error on the server (\"unknown\") has prevented the request from succeeding",
            ),
            (
                500,
                "text/plain",
                "boom\n",
                "an error on the server (\"boom\") has prevented the request from succeeding",
            ),
            (404, "application/json", "x", "the server could not find the requested resource"),
            (403, "text/plain", "x y", "x y"),
            (400, "", "x", "the server rejected our request for an unknown reason"),
            (503, "", "x", "the server is currently unable to handle the request"),
            (
                418,
                "",
                "x",
                "the server responded with the status code 418 but did not return more information",
            ),
            (409, "", r#"{"kind":"Status","message":"own words"}"#, "own words"),
            (
                200,
                "application/json",
                "",
                "0-length response with status code: 200 and content type: application/json",
            ),
            (
                200,
                "application/json",
                "{\"a\"",
                "couldn't get version/kind; json parse error: unexpected end of JSON input",
            ),
            (
                200,
                "application/json",
                "nope",
                "couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }",
            ),
        ] {
            let status = StatusCode::from_u16(code).unwrap();
            let said = read(status, kind, body.as_bytes());
            assert_eq!(said, Err(CallError::Answer(expected.into())), "{code} {body}");
        }
    }

    #[tokio::test]
    async fn what_cannot_be_reached_is_named() {
        let https = Https::default();
        let call = |url: &str, service, ca: &[u8]| {
            let target = Target { url: url.into(), service, ca_bundle: ca.to_vec() };
            https.call(target, Value::Null, Duration::from_secs(5))
        };
        let junk = b"junk";
        assert_eq!(
            call("https://127.0.0.1:1/a", None, junk).await,
            Err(CallError::Client(
                "unable to load root certificates: unable to parse bytes as PEM block".into()
            ))
        );
        let service = Some(("n".to_owned(), "s".to_owned(), 443));
        assert_eq!(
            call("https://s.n.svc:443/", service, b"").await,
            Err(CallError::Connect("service \"s\" not found".into()))
        );
        assert_eq!(
            call("https://127.0.0.1:1/a", None, b"").await,
            Err(CallError::Connect("dial tcp 127.0.0.1:1: connect: connection refused".into()))
        );
    }
}
