//! Where two normalised answers differ.

use serde_json::Value;

use super::answer::{Answer, Content};

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
