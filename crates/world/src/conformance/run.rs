//! Sends the steps of each case to both servers and compares what comes back.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::answer::{Answer, Content, Target};
use super::case::{Body, Case, Request, Step};
use super::normalize::Normalizer;

/// How long an `until` waits, and how often it asks.
const UNTIL: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);

/// What came of one case.
#[derive(Debug)]
pub struct CaseResult {
    /// The case's name.
    pub name: String,
    /// Its compared interactions, in order.
    pub interactions: Vec<Interaction>,
    /// The case cannot show anything because the real server refused what it needs.
    pub broken: Option<String>,
}

/// One compared interaction.
#[derive(Debug)]
pub struct Interaction {
    /// Its number in the case, from one.
    pub step: usize,
    /// What was asked, as the case says it.
    pub asked: String,
    /// The case's group.
    pub group: String,
    /// A server-side apply.
    pub apply: bool,
    /// Reads a collection or watches.
    pub list_or_watch: bool,
    /// What the real server answered, normalised.
    pub real: Option<Answer>,
    /// The lines that differ; none: the servers agree.
    pub differences: Vec<String>,
}

/// Runs the cases, `concurrency` of them at the same time.
pub async fn run(
    cases: &[Case],
    real: &Target,
    simulated: &Target,
    concurrency: usize,
) -> Vec<CaseResult> {
    let together = cases.iter().enumerate().filter(|(_, case)| !case.alone);
    let mut results: Vec<(usize, CaseResult)> = futures::stream::iter(together)
        .map(|(index, case)| async move { (index, run_case(case, real, simulated).await) })
        .buffer_unordered(concurrency)
        .collect()
        .await;
    for (index, case) in cases.iter().enumerate().filter(|(_, case)| case.alone) {
        results.push((index, run_case(case, real, simulated).await));
    }
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// What a case knows on one server.
struct Side<'a> {
    target: &'a Target,
    namespace: String,
    captured: BTreeMap<String, Answer>,
    normalizer: Normalizer,
}

async fn run_case(case: &Case, real: &Target, simulated: &Target) -> CaseResult {
    let mut real = Side::new(real, &namespace(&case.name, &real.prefix));
    let mut simulated = Side::new(simulated, &namespace(&case.name, &simulated.prefix));
    let mut result = CaseResult { name: case.name.clone(), interactions: Vec::new(), broken: None };
    // Once a server refused something the case needs, the interactions that follow show that difference.
    let mut lost: Option<String> = None;
    let (on_real, on_simulated) = tokio::join!(real.open(), simulated.open());
    if let Err(error) = on_real {
        result.broken = Some(error);
        return result;
    }
    if let Err(error) = on_simulated {
        lost = Some(error);
    }
    for step in &case.steps {
        match step {
            Step::Compare(request) => {
                let step = result.interactions.len() + 1;
                let interaction =
                    compare(case, step, request, &mut real, &mut simulated, lost.as_ref()).await;
                result.interactions.push(interaction);
            }
            Step::Given(request) => {
                let (on_real, on_simulated) =
                    tokio::join!(real.given(request), simulated.given(request));
                if let Err(error) = on_real {
                    result.broken.get_or_insert(error);
                    break;
                }
                if let Err(error) = on_simulated {
                    lost.get_or_insert(error);
                }
            }
            Step::Until(request, condition) => {
                let patience = if lost.is_some() { Duration::ZERO } else { UNTIL };
                let (on_real, on_simulated) = tokio::join!(
                    real.until(request, condition, UNTIL),
                    simulated.until(request, condition, patience)
                );
                if let Err(error) = on_real {
                    result.broken.get_or_insert(error);
                    break;
                }
                if let Err(error) = on_simulated {
                    lost.get_or_insert(error);
                }
            }
        }
    }
    tokio::join!(real.close(&case.cleanup), simulated.close(&case.cleanup));
    result
}

async fn compare(
    case: &Case,
    step: usize,
    request: &Request,
    real: &mut Side<'_>,
    simulated: &mut Side<'_>,
    lost: Option<&String>,
) -> Interaction {
    let (on_real, on_simulated) = tokio::join!(real.ask(request), simulated.ask(request));
    let mut answered = None;
    let mut differences = match (on_real, on_simulated) {
        (Ok(on_real), Ok(on_simulated)) => {
            let on_real = real.normalizer.normalize(request, &on_real);
            let on_simulated = simulated.normalizer.normalize(request, &on_simulated);
            let lines = differences(&on_real, &on_simulated);
            answered = Some(on_real);
            lines
        }
        (Err(error), Ok(answer)) => {
            vec![format!("real: {error}; simulated: {}", answer.summary())]
        }
        (Ok(answer), Err(error)) => {
            vec![format!("real: {}; simulated: {error}", answer.summary())]
        }
        (Err(one), Err(other)) => vec![format!("real: {one}; simulated: {other}")],
    };
    if let Some(lost) = lost
        && !differences.is_empty()
    {
        differences.insert(0, format!("follows from: {lost}"));
    }
    Interaction {
        step,
        asked: format!("{} {}", request.method, request.path),
        group: case.group().to_owned(),
        apply: is_apply(request),
        list_or_watch: is_list_or_watch(request),
        real: answered,
        differences,
    }
}

/// Whether a request is a server-side apply.
pub fn is_apply(request: &Request) -> bool {
    request.headers.iter().any(|(name, value)| {
        name.eq_ignore_ascii_case("content-type") && value.starts_with("application/apply-patch")
    })
}

/// Whether a request reads a collection or watches.
pub fn is_list_or_watch(request: &Request) -> bool {
    if request.method != http::Method::GET {
        return false;
    }
    if request.stop.is_some() {
        return true;
    }
    let path = request.path.split('?').next().unwrap_or_default();
    let mut parts = path.trim_matches('/').split('/');
    match parts.next() {
        Some("api") => {}
        Some("apis") => {
            parts.next();
        }
        _ => return false,
    }
    parts.next();
    let rest: Vec<&str> = parts.collect();
    matches!(rest.as_slice(), [_] | ["namespaces", _, _])
}

impl<'a> Side<'a> {
    fn new(target: &'a Target, namespace: &str) -> Self {
        Self {
            target,
            namespace: namespace.to_owned(),
            captured: BTreeMap::new(),
            normalizer: Normalizer::of_namespace(namespace),
        }
    }

    async fn open(&mut self) -> Result<(), String> {
        let body = json!({"metadata": {"name": &self.namespace}});
        self.given(&super::case::post("/api/v1/namespaces", body)).await
    }

    async fn close(&mut self, cleanup: &[Request]) {
        for request in cleanup {
            // The object may never have come to be; the namespace's name keeps runs apart anyway.
            drop(self.ask(request).await);
        }
        drop(self.ask(&super::case::delete("/api/v1/namespaces/{ns}")).await);
    }

    async fn ask(&mut self, request: &Request) -> Result<Answer, String> {
        let answer = self.target.ask(self.build(request)?, request.stop).await?;
        if let Some(name) = &request.name {
            self.captured.insert(name.clone(), answer.clone());
        }
        Ok(answer)
    }

    async fn given(&mut self, request: &Request) -> Result<(), String> {
        let asked = || format!("{} {} on {}", request.method, request.path, self.target.name);
        let failed = asked();
        match self.ask(request).await {
            Ok(answer) if answer.is_success() => Ok(()),
            Ok(answer) => Err(format!("{failed}: {}", answer.summary())),
            Err(error) => Err(format!("{failed}: {error}")),
        }
    }

    async fn until(
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

    fn build(&self, request: &Request) -> Result<http::Request<Bytes>, String> {
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

/// Every place in which two normalised answers differ, one line each.
pub fn differences(real: &Answer, simulated: &Answer) -> Vec<String> {
    let mut lines = Vec::new();
    if real.status != simulated.status {
        lines.push(format!("HTTP status: real {}, simulated {}", real.status, simulated.status));
    }
    if real.headers != simulated.headers {
        let show = |answer: &Answer| {
            let headers = answer.headers.iter().map(|(name, value)| format!("{name}: {value}"));
            headers.collect::<Vec<_>>().join("; ")
        };
        lines.push(format!("headers: real {}, simulated {}", show(real), show(simulated)));
    }
    match (&real.body, &simulated.body) {
        (Content::Json(real), Content::Json(simulated)) => {
            walk("", Some(real), Some(simulated), &mut lines);
        }
        (Content::Events(real), Content::Events(simulated)) => {
            for index in 0..real.len().max(simulated.len()) {
                walk(
                    &format!("event {}", index + 1),
                    real.get(index),
                    simulated.get(index),
                    &mut lines,
                );
            }
        }
        (real, simulated) if real != simulated => {
            lines.push(format!("body: real {real:?}, simulated {simulated:?}"));
        }
        _ => {}
    }
    lines
}

fn walk(path: &str, real: Option<&Value>, simulated: Option<&Value>, lines: &mut Vec<String>) {
    match (real, simulated) {
        (Some(Value::Object(real)), Some(Value::Object(simulated))) => {
            let mut keys: Vec<&String> = real.keys().chain(simulated.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                walk(&format!("{path}/{key}"), real.get(key), simulated.get(key), lines);
            }
        }
        (Some(Value::Array(real)), Some(Value::Array(simulated))) => {
            for index in 0..real.len().max(simulated.len()) {
                walk(&format!("{path}/{index}"), real.get(index), simulated.get(index), lines);
            }
        }
        (real, simulated) if real != simulated => {
            let show = |value: Option<&Value>| {
                value.map_or_else(|| "nothing".to_owned(), Value::to_string)
            };
            lines.push(format!(
                "{path}:\n      real      {}\n      simulated {}",
                show(real),
                show(simulated)
            ));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::conformance::case::{delete, get, post, watch};

    /// A server that answers every request by a function of "VERB path body" and keeps a log.
    fn target(
        name: &'static str,
        answer: impl Fn(&str) -> (u16, String) + Clone + Send + Sync + 'static,
    ) -> (Target, Arc<Mutex<Vec<String>>>) {
        let log = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&log);
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let (answer, kept) = (answer.clone(), Arc::clone(&kept));
            async move {
                let (parts, body) = request.into_parts();
                let body = body.collect_bytes().await?;
                let line =
                    format!("{} {} {}", parts.method, parts.uri, String::from_utf8_lossy(&body));
                let (status, text) = answer(&line);
                kept.lock().unwrap().push(line);
                let body = kube::client::Body::from(text.into_bytes());
                http::Response::builder().status(status).body(body).map_err(tower::BoxError::from)
            }
        });
        let client = kube::Client::new(service, "default");
        (Target { name, client, prefix: "c1".to_owned() }, log)
    }

    fn object(version: &str) -> String {
        json!({"kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": version}})
            .to_string()
    }

    #[tokio::test]
    async fn equal_answers_agree_and_captured_values_are_put_in() {
        let case = Case::new("lists/a")
            .given(post("/c", json!({"metadata": {"namespace": "{ns}"}})).named("first"))
            .compare(get("/c/a?resourceVersion={rv:first}"))
            .finally(delete("/cluster/{ns}"));
        let (real, log) = target("real", |_| (200, object("700")));
        let (simulated, _) = target("simulated", |_| (200, object("3")));
        let results = run(&[case], &real, &simulated, 8).await;
        assert_eq!(results[0].interactions[0].differences, Vec::<String>::new());
        assert_eq!(
            *log.lock().unwrap(),
            [
                "POST /api/v1/namespaces {\"metadata\":{\"name\":\"c1-lists-a\"}}",
                "POST /c {\"metadata\":{\"namespace\":\"c1-lists-a\"}}",
                "GET /c/a?resourceVersion=700 ",
                "DELETE /cluster/c1-lists-a ",
                "DELETE /api/v1/namespaces/c1-lists-a ",
            ]
        );
    }

    #[tokio::test]
    async fn a_different_answer_names_the_place() {
        let case = Case::new("lists/a").compare(get("/c/a"));
        let (real, _) = target("real", |_| (200, json!({"a": {"b": [1, 2]}}).to_string()));
        let (simulated, _) = target("simulated", |_| (201, json!({"a": {"b": [1]}}).to_string()));
        let results = run(&[case], &real, &simulated, 8).await;
        assert_eq!(
            results[0].interactions[0].differences,
            [
                "HTTP status: real 200, simulated 201",
                "/a/b/1:\n      real      2\n      simulated nothing"
            ]
        );
    }

    #[tokio::test]
    async fn what_follows_a_refused_step_is_a_difference_of_its_own() {
        let case = Case::new("crd/a").given(post("/c", json!({}))).compare(get("/c/a"));
        let (real, _) = target("real", |_| (200, "{}".to_owned()));
        let (simulated, _) = target("simulated", |line| {
            (if line.contains(" /c") { 404 } else { 200 }, "{}".to_owned())
        });
        let results = run(&[case], &real, &simulated, 8).await;
        assert_eq!(results[0].broken, None);
        assert_eq!(
            results[0].interactions[0].differences,
            ["follows from: POST /c on simulated: 404", "HTTP status: real 200, simulated 404"]
        );
    }

    #[tokio::test]
    async fn a_case_that_the_real_server_refuses_is_broken() {
        let case = Case::new("crd/a").given(post("/c", json!({}))).compare(get("/c/a"));
        let (real, _) =
            target("real", |line| (if line.contains(" /c") { 422 } else { 200 }, "{}".to_owned()));
        let (simulated, _) = target("simulated", |_| (200, "{}".to_owned()));
        let results = run(&[case], &real, &simulated, 8).await;
        assert_eq!(results[0].broken.as_deref(), Some("POST /c on real: 422"));
    }

    #[tokio::test]
    async fn a_watch_is_read_until_its_stop() {
        let events = "{\"type\":\"ADDED\",\"object\":{}}\n{\"type\":\"BOOKMARK\",\"object\":{}}\n{\"type\":\"ADDED\",\"object\":{}}\n";
        let (real, _) = target("real", |_| (200, events.to_owned()));
        for (request, count) in [
            (watch("/c").stop_after(1), 1),
            (watch("/c").stop_at_bookmark(), 2),
            (watch("/c").stop_after_millis(50), 3),
        ] {
            let side = Side::new(&real, "n");
            let answer = real.ask(side.build(&request).unwrap(), request.stop).await.unwrap();
            assert!(matches!(&answer.body, Content::Events(events) if events.len() == count));
        }
    }

    #[test]
    fn collections_and_watches_are_told_from_objects() {
        for (path, expected) in [
            ("/api/v1/pods", true),
            ("/api/v1/namespaces/{ns}/pods?limit=1", true),
            ("/apis/apps/v1/namespaces/{ns}/deployments", true),
            ("/apis/apps/v1/deployments", true),
            ("/api/v1/namespaces/{ns}", false),
            ("/api/v1/namespaces/{ns}/pods/a", false),
            ("/apis/apps/v1", false),
            ("/api", false),
            ("/openapi/v3", false),
        ] {
            assert_eq!(is_list_or_watch(&get(path)), expected, "{path}");
        }
        assert!(is_list_or_watch(&watch("/api/v1/namespaces/{ns}/pods/a")));
    }
}
