//! Sends the steps of each case to both servers and compares what comes back.

use std::time::Duration;

use futures::StreamExt as _;

use super::answer::{Answer, Target};
use super::case::{Case, Request, Step};
use super::diff::differences;
use super::side::{Side, UNTIL};

/// What came of one case.
#[derive(Debug)]
pub struct CaseResult {
    /// The case's name.
    pub name: String,
    /// Which form of the case it was.
    pub digest: String,
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

async fn run_case(case: &Case, real: &Target, simulated: &Target) -> CaseResult {
    let mut real = Side::new(real, &case.name);
    let mut simulated = Side::new(simulated, &case.name);
    let mut result = CaseResult {
        name: case.name.clone(),
        digest: case.digest(),
        interactions: Vec::new(),
        broken: None,
    };
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
    let (on_real, on_simulated) =
        tokio::join!(real.ask_normalized(request), simulated.ask_normalized(request));
    judge(case, step, request, on_real, &on_simulated, lost)
}

/// What a compared request shows, given both normalised answers.
pub(super) fn judge(
    case: &Case,
    step: usize,
    request: &Request,
    on_real: Result<Answer, String>,
    on_simulated: &Result<Answer, String>,
    lost: Option<&String>,
) -> Interaction {
    let mut lines = match (&on_real, on_simulated) {
        (Ok(on_real), Ok(on_simulated)) => differences(on_real, on_simulated),
        (Err(error), Ok(answer)) => {
            vec![format!("real: {error}; simulated: {}", answer.summary())]
        }
        (Ok(answer), Err(error)) => {
            vec![format!("real: {}; simulated: {error}", answer.summary())]
        }
        (Err(one), Err(other)) => vec![format!("real: {one}; simulated: {other}")],
    };
    if let Some(lost) = lost
        && !lines.is_empty()
    {
        lines.insert(0, format!("follows from: {lost}"));
    }
    Interaction {
        step,
        asked: format!("{} {}", request.method, request.path),
        group: case.group().to_owned(),
        apply: is_apply(request),
        list_or_watch: is_list_or_watch(request),
        real: on_real.ok(),
        differences: lines,
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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::json;

    use super::*;
    use crate::conformance::answer::Content;
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
        (Target { name, client, prefix: "c1".to_owned(), tidy: true }, log)
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
            let side = Side::new(&real, "a/b");
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
