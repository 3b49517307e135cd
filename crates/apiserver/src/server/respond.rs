//! Answers: content negotiation, headers and bodies.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{HeaderName, Response, StatusCode};
use http_body::Frame;
use serde_json::{Value, json};

use super::watch::Watch;
use crate::status::Failure;

/// The body of an answer: bytes at once, or a watch.
pub enum Body {
    /// Everything at once.
    Full(Option<Bytes>),
    /// Event lines until the watch ends.
    Watch(Box<Watch>),
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Full(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Watch(watch) => watch.poll_line(cx).map(|line| line.map(|b| Ok(Frame::data(b)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Full(None))
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match self {
            Self::Full(Some(bytes)) => http_body::SizeHint::with_exact(bytes.len() as u64),
            Self::Full(None) => http_body::SizeHint::with_exact(0),
            Self::Watch(_) => http_body::SizeHint::default(),
        }
    }
}

/// What the caller wants to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Media {
    /// application/json
    Json,
    /// application/yaml
    Yaml,
}

/// In which form objects are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The object itself.
    Object,
    /// Rows for people.
    Table,
    /// Only metadata.
    PartialMetadata,
    /// Only metadata, of a list.
    PartialMetadataList,
}

/// The outcome of negotiation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// JSON or YAML.
    pub media: Media,
    /// As what.
    pub form: Form,
}

/// What an object can be given as; a collection also as a stream.
const REPRESENTATIONS: &str = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf";
const STREAMS: &str =
    "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

/// Chooses from the Accept header what this server can give of one object.
pub fn negotiate(headers: &HeaderMap) -> Result<Wanted, Failure> {
    choose(headers, REPRESENTATIONS)
}

/// Chooses from the Accept header what this server can give of a collection.
pub fn negotiate_collection(headers: &HeaderMap) -> Result<Wanted, Failure> {
    choose(headers, &format!("{REPRESENTATIONS}, {STREAMS}"))
}

fn choose(headers: &HeaderMap, refusal: &str) -> Result<Wanted, Failure> {
    let accept = headers.get(ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or_default();
    if accept.trim().is_empty() {
        return Ok(Wanted { media: Media::Json, form: Form::Object });
    }
    let mut unknown_form = false;
    for clause in accept.split(',') {
        let mut parts = clause.split(';').map(str::trim);
        let media = match parts.next().unwrap_or_default() {
            "application/json" | "application/*" | "*/*" => Media::Json,
            "application/yaml" => Media::Yaml,
            _ => continue,
        };
        let (mut kind, mut group, mut version) = ("", "", "");
        for part in parts {
            match part.split_once('=') {
                Some(("as", value)) => kind = value,
                Some(("g", value)) => group = value,
                Some(("v", value)) => version = value,
                _ => {}
            }
        }
        let form = match (kind, group, version) {
            ("", _, _) => Form::Object,
            ("Table", "meta.k8s.io", "v1" | "v1beta1") => Form::Table,
            ("PartialObjectMetadata", "meta.k8s.io", "v1" | "v1beta1") => Form::PartialMetadata,
            ("PartialObjectMetadataList", "meta.k8s.io", "v1" | "v1beta1") => {
                Form::PartialMetadataList
            }
            ("APIGroupDiscoveryList", _, _) => Form::Object,
            _ => {
                unknown_form = true;
                continue;
            }
        };
        return Ok(Wanted { media, form });
    }
    if unknown_form {
        return Err(Failure::new(
            406,
            "NotAcceptable",
            "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf",
        ));
    }
    Err(Failure::new(406, "NotAcceptable", refusal).with_details(json!({})))
}

/// An answer before it is put on the wire.
pub struct Answer {
    /// HTTP status.
    pub code: u16,
    /// `Warning: 299 - "…"` headers.
    pub warnings: Vec<String>,
    /// Other headers.
    pub headers: Vec<(HeaderName, String)>,
    /// What it says.
    pub content: Content,
}

/// The content of an answer.
pub enum Content {
    /// A JSON value, printed as the caller wants it.
    Value(Value),
    /// JSON that was printed before.
    Json(Bytes),
    /// Something else.
    Text(&'static str, Bytes),
    /// A watch.
    Watch(Box<Watch>),
}

impl Answer {
    /// 200 with a value.
    pub fn ok(value: Value) -> Self {
        Self::with(200, value)
    }

    /// A value with a code.
    pub fn with(code: u16, value: Value) -> Self {
        Self { code, warnings: Vec::new(), headers: Vec::new(), content: Content::Value(value) }
    }

    /// 200 with JSON that was printed before.
    pub fn json(bytes: Bytes) -> Self {
        Self { code: 200, warnings: Vec::new(), headers: Vec::new(), content: Content::Json(bytes) }
    }

    /// 200 with text.
    pub fn text(kind: &'static str, text: impl Into<Bytes>) -> Self {
        Self {
            code: 200,
            warnings: Vec::new(),
            headers: Vec::new(),
            content: Content::Text(kind, text.into()),
        }
    }

    /// The same answer with more warnings.
    #[must_use]
    pub fn warned(mut self, warnings: Vec<String>) -> Self {
        self.warnings.extend(warnings);
        self
    }

    /// A failure, as the `Status` it is.
    pub fn failure(failure: &Failure) -> Self {
        let mut answer = if failure.plain {
            Self {
                code: failure.code,
                warnings: Vec::new(),
                headers: Vec::new(),
                content: Content::Text(
                    "text/plain; charset=utf-8",
                    Bytes::from(failure.message.clone()),
                ),
            }
        } else {
            Self::with(failure.code, failure.body())
        };
        answer
            .warnings
            .extend(failure.warnings.iter().flat_map(|warnings| warnings.iter().cloned()));
        let retry = failure.details.as_ref().and_then(|d| d.get("retryAfterSeconds"));
        if let Some(seconds) = retry.and_then(Value::as_u64) {
            answer.headers.push((http::header::RETRY_AFTER, seconds.to_string()));
        }
        answer
    }

    /// On the wire.
    pub fn into_response(self, media: Media, pretty: bool) -> Response<Body> {
        let (kind, body) = match self.content {
            Content::Value(value) => match media {
                Media::Json if pretty => (
                    "application/json",
                    Body::Full(serde_json::to_vec_pretty(&value).ok().map(Bytes::from)),
                ),
                Media::Json => (
                    "application/json",
                    Body::Full(serde_json::to_vec(&value).ok().map(Bytes::from)),
                ),
                Media::Yaml => ("application/yaml", Body::Full(Some(yaml(&value)))),
            },
            Content::Json(bytes) => match media {
                Media::Json if !pretty => ("application/json", Body::Full(Some(bytes))),
                _ => {
                    let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
                    let again =
                        Answer { content: Content::Value(value), ..Answer::ok(Value::Null) };
                    return Self { content: again.content, ..self }.into_response(media, pretty);
                }
            },
            Content::Text(kind, bytes) => (kind, Body::Full(Some(bytes))),
            Content::Watch(watch) => ("application/json", Body::Watch(watch)),
        };
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(self.code).unwrap_or_default();
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
        if !kind.is_empty() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        for (name, value) in self.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(name, value);
            }
        }
        for warning in self.warnings {
            let escaped = warning.replace('\\', "\\\\").replace('"', "\\\"");
            if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{escaped}\"")) {
                headers.append(http::header::WARNING, value);
            }
        }
        response
    }
}

fn yaml(value: &Value) -> Bytes {
    serde_saphyr::to_string(value).map(Bytes::from).unwrap_or_default()
}

/// `PartialObjectMetadata` of an object.
pub fn partial(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": object["metadata"],
    })
}
