//! What a server answered, and how a request finds its way there.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;
use http_body_util::BodyExt as _;
use kube::client::Body as ClientBody;
use serde_json::Value;

use super::case::Stop;

/// How long one request may take before it counts as unanswered.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server to ask. Both servers are reached through the same client type, so that nothing but the
/// server differs.
#[derive(Clone)]
pub struct Target {
    /// What differences call it.
    pub name: &'static str,
    /// How it is reached; must not retry.
    pub client: kube::Client,
    /// What namespaces begin with, so that runs on the same server keep apart.
    pub prefix: String,
    /// Whether namespaces are deleted after their case. A server that ends with the run need not spend
    /// its time on that while other cases wait for it.
    pub tidy: bool,
}

/// The answer to one request.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The HTTP status code.
    pub status: u16,
    /// The headers that are compared, in order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Content,
}

/// The body of an [`Answer`].
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// One JSON value.
    Json(Value),
    /// The events of a watch.
    Events(Vec<Value>),
    /// Anything else.
    Text(String),
}

/// Headers whose values are promised to clients.
const COMPARED_HEADERS: [&str; 4] = ["allow", "content-type", "retry-after", "warning"];

impl Answer {
    /// The value at a JSON pointer of the body.
    pub fn at(&self, pointer: &str) -> Option<&Value> {
        match &self.body {
            Content::Json(value) => value.pointer(pointer),
            Content::Events(_) | Content::Text(_) => None,
        }
    }

    /// The text at a JSON pointer of the body, empty where there is none.
    pub fn text_at(&self, pointer: &str) -> &str {
        self.at(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// The status of the condition of this type in `status.conditions`, empty where there is none.
    pub fn condition(&self, kind: &str) -> &str {
        self.at("/status/conditions")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .find(|condition| condition["type"] == kind)
            .and_then(|condition| condition["status"].as_str())
            .unwrap_or_default()
    }

    /// How many items a list has.
    pub fn items(&self) -> usize {
        self.at("/items").and_then(Value::as_array).map_or(0, Vec::len)
    }

    /// Whether the server accepted the request.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The answer in one line.
    pub fn summary(&self) -> String {
        match &self.body {
            Content::Json(value) => match value["message"].as_str() {
                Some(message) if value["kind"] == "Status" => format!("{}: {message}", self.status),
                _ => self.status.to_string(),
            },
            Content::Events(events) => format!("{} with {} events", self.status, events.len()),
            Content::Text(text) => {
                format!("{}: {}", self.status, text.chars().take(200).collect::<String>())
            }
        }
    }
}

impl Target {
    /// Sends a request and reads the answer, a watch until its [`Stop`].
    pub async fn ask(
        &self,
        request: http::Request<Bytes>,
        stop: Option<Stop>,
    ) -> Result<Answer, String> {
        let asked = async {
            let (parts, body) = request.into_parts();
            let request = http::Request::from_parts(parts, ClientBody::from(body.to_vec()));
            let response = self.client.send(request).await.map_err(|e| e.to_string())?;
            read(response, stop).await
        };
        match tokio::time::timeout(PATIENCE, asked).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
        }
    }
}

async fn read(response: http::Response<ClientBody>, stop: Option<Stop>) -> Result<Answer, String> {
    let (parts, body) = response.into_parts();
    let headers = COMPARED_HEADERS
        .iter()
        .flat_map(|name| parts.headers.get_all(*name).iter().map(move |value| (name, value)))
        .map(|(name, value)| {
            ((*name).to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        })
        .collect();
    let body = match stop {
        Some(stop) if parts.status.is_success() => Content::Events(events(body, stop).await?),
        _ => {
            let bytes = body.collect().await.map_err(|e| e.to_string())?.to_bytes();
            let text = String::from_utf8_lossy(&bytes);
            let yaml = parts
                .headers
                .get(http::header::CONTENT_TYPE)
                .is_some_and(|value| value.as_bytes().starts_with(b"application/yaml"));
            let value = if yaml {
                serde_saphyr::from_str(&text).ok()
            } else {
                serde_json::from_slice(&bytes).ok()
            };
            value.map_or_else(|| Content::Text(text.into_owned()), Content::Json)
        }
    };
    Ok(Answer { status: parts.status.as_u16(), headers, body })
}

async fn events(body: ClientBody, stop: Stop) -> Result<Vec<Value>, String> {
    let mut events = Vec::new();
    if stop.events == Some(0) {
        return Ok(events);
    }
    let mut stream = body.into_data_stream();
    let mut pending = BytesMut::new();
    let reading = async {
        while let Some(chunk) = stream.next().await {
            pending.extend_from_slice(&chunk.map_err(|e| e.to_string())?);
            while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
                let line = pending.split_to(end + 1);
                if line.iter().all(u8::is_ascii_whitespace) {
                    continue;
                }
                let event: Value = serde_json::from_slice(&line)
                    .map_err(|e| format!("{e} in the event {}", String::from_utf8_lossy(&line)))?;
                let bookmark = event["type"] == "BOOKMARK";
                events.push(event);
                if stop.bookmark && bookmark || stop.events == Some(events.len()) {
                    return Ok(());
                }
            }
        }
        Ok(())
    };
    match tokio::time::timeout(Duration::from_millis(stop.millis), reading).await {
        Ok(Err(error)) => Err(error),
        Ok(Ok(())) | Err(_) => Ok(events),
    }
}
