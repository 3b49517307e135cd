//! What the real server answered when the suite last ran against it, so that the simulated one is held
//! to it by `cargo test` too, where there is no real server.
//!
//! `cargo xtask conformance --record` writes the file; a whole run says when it is out of date.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::answer::{Answer, Content, Target};
use super::case::{Case, Step};
use super::run::{CaseResult, judge};
use super::side::{Side, UNTIL};

/// The file as it is in the repository.
pub const FILE: &str = include_str!("recorded.jsonl");

/// Normalised answers of the real server, by case and step.
#[derive(Debug, Default, PartialEq)]
pub struct Recording(BTreeMap<(String, usize), Entry>);

/// An answer, and of which form of its case.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    case: String,
    answer: Answer,
}

impl Recording {
    /// Reads the file; the error names the line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut answers = BTreeMap::new();
        for (index, line) in text.lines().enumerate() {
            let entry = serde_json::from_str(line).ok().and_then(|line: Value| read(&line));
            let (key, entry) =
                entry.ok_or_else(|| format!("line {} is not a recorded answer", index + 1))?;
            answers.insert(key, entry);
        }
        Ok(Self(answers))
    }

    /// What the real server answered in a run.
    pub fn of<'a>(results: impl Iterator<Item = &'a CaseResult>) -> Self {
        let mut answers = BTreeMap::new();
        for case in results {
            for interaction in &case.interactions {
                if let Some(answer) = interaction.real.clone() {
                    let entry = Entry { case: case.digest.clone(), answer };
                    answers.insert((case.name.clone(), interaction.step), entry);
                }
            }
        }
        Self(answers)
    }

    /// The file's text, a line per answer.
    pub fn render(&self) -> String {
        let mut text = String::new();
        for ((case, step), Entry { case: digest, answer }) in &self.0 {
            let (form, body) = match &answer.body {
                Content::Json(value) => ("json", value.clone()),
                Content::Events(events) => ("events", Value::Array(events.clone())),
                Content::Text(text) => ("text", Value::String(text.clone())),
            };
            let line = json!({
                "case": case,
                "digest": digest,
                "step": step,
                "status": answer.status,
                "headers": answer.headers,
                form: body,
            });
            let _ = writeln!(text, "{line}");
        }
        text
    }

    /// Interactions that the other recording has otherwise, or that only one of the two has.
    pub fn stale(&self, newer: &Self) -> Vec<String> {
        let mut keys: Vec<&(String, usize)> = self.0.keys().chain(newer.0.keys()).collect();
        keys.sort();
        keys.dedup();
        keys.into_iter()
            .filter(|key| self.0.get(*key) != newer.0.get(*key))
            .map(|(case, step)| format!("{case} {step}"))
            .collect()
    }

    fn answer(&self, case: &str, step: usize) -> Option<&Answer> {
        self.0.get(&(case.to_owned(), step)).map(|entry| &entry.answer)
    }

    /// Runs a case on the simulated server alone and compares with what is recorded. A case that is
    /// not recorded as it is now shows nothing yet.
    pub async fn replay(&self, case: &Case, simulated: &Target) -> Option<CaseResult> {
        let kept = self.0.get(&(case.name.clone(), case.interactions()))?;
        let digest = case.digest();
        if kept.case != digest {
            return None;
        }
        let mut side = Side::new(simulated, &case.name);
        let mut lost = side.open().await.err();
        let mut interactions = Vec::new();
        for step in &case.steps {
            let refused = match step {
                Step::Compare(request) => {
                    let step = interactions.len() + 1;
                    let on_real = self.answer(&case.name, step).cloned();
                    let on_real = on_real.ok_or_else(|| "not recorded".to_owned());
                    let on_simulated = side.ask_normalized(request).await;
                    let one = judge(case, step, request, on_real, &on_simulated, lost.as_ref());
                    interactions.push(one);
                    continue;
                }
                Step::Given(request) => side.given(request).await,
                Step::Until(request, condition) => side.until(request, condition, UNTIL).await,
            };
            lost = lost.or(refused.err());
        }
        side.close(&case.cleanup).await;
        Some(CaseResult { name: case.name.clone(), digest, interactions, broken: None })
    }
}

fn read(line: &Value) -> Option<((String, usize), Entry)> {
    let digest = line["digest"].as_str()?.to_owned();
    let case = line["case"].as_str()?.to_owned();
    let step = usize::try_from(line["step"].as_u64()?).ok()?;
    let status = u16::try_from(line["status"].as_u64()?).ok()?;
    let headers = serde_json::from_value(line["headers"].clone()).ok()?;
    let body = if let Some(value) = line.get("json") {
        Content::Json(value.clone())
    } else if let Some(events) = line.get("events").and_then(Value::as_array) {
        Content::Events(events.clone())
    } else {
        Content::Text(line["text"].as_str()?.to_owned())
    };
    Some(((case, step), Entry { case: digest, answer: Answer { status, headers, body } }))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::StreamExt as _;

    use super::*;
    use crate::conformance::{Known, Report, Simulated, cases, differences};

    #[test]
    fn a_recording_survives_its_file() {
        let answer = |body| Entry {
            case: "d".to_owned(),
            answer: Answer {
                status: 200,
                headers: vec![("warning".to_owned(), "299".to_owned())],
                body,
            },
        };
        let recording = Recording(BTreeMap::from([
            (("a/b".to_owned(), 1), answer(Content::Json(json!({"k": 1})))),
            (("a/b".to_owned(), 2), answer(Content::Events(vec![json!({"type": "ADDED"})]))),
            (("a/c".to_owned(), 1), answer(Content::Text("ok".to_owned()))),
        ]));
        let read = Recording::parse(&recording.render()).unwrap();
        assert_eq!(read, recording);
        assert_eq!(read.stale(&recording), Vec::<String>::new());
        assert_eq!(read.stale(&Recording::default()), ["a/b 1", "a/b 2", "a/c 1"]);
        assert_eq!(Recording::parse("{}").unwrap_err(), "line 1 is not a recorded answer");
    }

    // Not on a paused clock: webhooks are called over sockets, whose answers no paused clock waits for.
    #[tokio::test]
    async fn the_simulated_server_answers_as_recorded() {
        let recording = Recording::parse(FILE).unwrap();
        let now = Arc::new(|| jiff::Timestamp::constant(1_767_225_600, 0));
        let simulated = Simulated::new("a0", now);
        let all = cases();
        let (together, alone): (Vec<&Case>, Vec<&Case>) = all.iter().partition(|case| !case.alone);
        let replay = async {
            let mut results: Vec<_> = futures::stream::iter(together)
                .map(|case| recording.replay(case, &simulated.target))
                .buffered(8)
                .collect()
                .await;
            for case in alone {
                results.push(recording.replay(case, &simulated.target).await);
            }
            results
        };
        let results = simulated.while_keeping_house(replay).await.unwrap();
        let results: Vec<CaseResult> = results.into_iter().flatten().collect();
        let known = Known::parse(differences::LIST).unwrap();
        let report = Report::new(&results, &known);
        let complaints = report.complaints(false);
        assert!(complaints.is_empty(), "{}\n{}", report.render(), complaints.join("\n"));
    }
}
