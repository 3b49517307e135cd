//! One case on one server: its namespace, what it captured, and how its requests are filled in.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::answer::{Answer, Target};
use super::case::{Body, Request};
use super::normalize::Normalizer;

/// How long an `until` waits, and how often it asks.
pub(super) const UNTIL: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);

/// What a case knows on one server.
pub(super) struct Side<'a> {
    target: &'a Target,
    namespace: String,
    captured: BTreeMap<String, Answer>,
    normalizer: Normalizer,
}

impl<'a> Side<'a> {
    pub(super) fn new(target: &'a Target, case: &str) -> Self {
        let namespace = namespace(case, &target.prefix);
        Self {
            target,
            normalizer: Normalizer::of_namespace(&namespace),
            namespace,
            captured: BTreeMap::new(),
        }
    }

    /// Asks, and takes out of the answer what may differ.
    pub(super) async fn ask_normalized(&mut self, request: &Request) -> Result<Answer, String> {
        let answer = self.ask(request).await?;
        Ok(self.normalizer.normalize(request, &answer))
    }

    pub(super) async fn open(&mut self) -> Result<(), String> {
        let body = json!({"metadata": {"name": &self.namespace}});
        self.given(&super::case::post("/api/v1/namespaces", body)).await
    }

    pub(super) async fn close(&mut self, cleanup: &[Request]) {
        for request in cleanup {
            // The object may never have come to be; the namespace's name keeps runs apart anyway.
            drop(self.ask(request).await);
        }
        if self.target.tidy {
            drop(self.ask(&super::case::delete("/api/v1/namespaces/{ns}")).await);
        }
    }

    pub(super) async fn ask(&mut self, request: &Request) -> Result<Answer, String> {
        let answer = self.target.ask(self.build(request)?, request.stop).await?;
        if let Some(name) = &request.name {
            self.captured.insert(name.clone(), answer.clone());
        }
        Ok(answer)
    }

    pub(super) async fn given(&mut self, request: &Request) -> Result<(), String> {
        let asked = || format!("{} {} on {}", request.method, request.path, self.target.name);
        let failed = asked();
        match self.ask(request).await {
            Ok(answer) if answer.is_success() => Ok(()),
            Ok(answer) => Err(format!("{failed}: {}", answer.summary())),
            Err(error) => Err(format!("{failed}: {error}")),
        }
    }

    pub(super) async fn until(
        &mut self,
        request: &Request,
        condition: &(dyn Fn(&Answer) -> bool + Send + Sync),
        patience: Duration,
    ) -> Result<(), String> {
        let deadline = tokio::time::Instant::now() + patience;
        loop {
            let answer = self.ask(request).await;
            if answer.as_ref().is_ok_and(condition) {
                return Ok(());
            }
            if tokio::time::Instant::now() >= deadline {
                let last = answer.map_or_else(|error| error, |answer| answer.summary());
                return Err(format!(
                    "{} {} on {} did not come true within {} s; last answer: {last}",
                    request.method,
                    request.path,
                    self.target.name,
                    patience.as_secs()
                ));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    pub(super) fn build(&self, request: &Request) -> Result<http::Request<Bytes>, String> {
        let mut builder =
            http::Request::builder().method(&request.method).uri(self.fill(&request.path)?);
        let has =
            |name: &str| request.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        if !has("user-agent") {
            builder = builder.header("User-Agent", "conformance/1");
        }
        if !has("accept") {
            builder = builder.header("Accept", "application/json");
        }
        for (name, value) in &request.headers {
            builder = builder.header(name, self.fill(value)?);
        }
        let body = match &request.body {
            Body::Empty => Vec::new(),
            Body::Json(value) => {
                let mut value = value.clone();
                self.fill_value(&mut value)?;
                value.to_string().into_bytes()
            }
            Body::Text(text) => self.fill(text)?.into_bytes(),
            Body::Raw(bytes) => bytes.clone(),
        };
        builder.body(Bytes::from(body)).map_err(|error| error.to_string())
    }

    fn fill_value(&self, value: &mut Value) -> Result<(), String> {
        match value {
            Value::String(text) if text.contains('{') => *text = self.fill(text)?,
            Value::Array(items) => {
                for item in items {
                    self.fill_value(item)?;
                }
            }
            Value::Object(map) => {
                for value in map.values_mut() {
                    self.fill_value(value)?;
                }
                if map.keys().any(|key| key.contains("{ns}")) {
                    *map = std::mem::take(map)
                        .into_iter()
                        .map(|(key, value)| (key.replace("{ns}", &self.namespace), value))
                        .collect();
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Puts the namespace and captured values in; braces that mean something else stay.
    fn fill(&self, text: &str) -> Result<String, String> {
        let mut filled = text.replace("{ns}", &self.namespace);
        for (word, pointer) in [
            ("rv", "/metadata/resourceVersion"),
            ("uid", "/metadata/uid"),
            ("name", "/metadata/name"),
            ("continue", "/metadata/continue"),
            ("at", ""),
        ] {
            let opening = format!("{{{word}:");
            while let Some(start) = filled.find(&opening) {
                let inside = start + opening.len();
                let Some(length) = filled[inside..].find('}') else { break };
                let key = filled[inside..inside + length].to_owned();
                let (name, pointer) = match key.split_once(':') {
                    Some((name, pointer)) if word == "at" => (name, pointer),
                    _ => (key.as_str(), pointer),
                };
                let value =
                    self.captured.get(name).and_then(|answer| answer.at(pointer)).ok_or_else(
                        || format!("no answer named {name} has a value at {pointer}"),
                    )?;
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                filled.replace_range(start..=inside + length, &value);
            }
        }
        Ok(filled)
    }
}

/// A namespace of its own for the case.
fn namespace(case: &str, prefix: &str) -> String {
    let slug: String = case
        .chars()
        .map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' })
        .collect();
    let mut name = format!("{prefix}-{slug}");
    if name.len() > 60 {
        let digest = Sha256::digest(case.as_bytes());
        name.truncate(50);
        for byte in digest.iter().take(4) {
            name = format!("{name}{byte:02x}");
        }
    }
    name.trim_end_matches('-').to_owned()
}
