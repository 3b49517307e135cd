//! A conversation with a forge, told again: each request must be the next one of the record.

use std::sync::Mutex;

use serde_json::Value;

use super::{Answer, Call, Exchange, Reason};

/// The rest of a conversation.
pub(super) struct Recorded {
    turns: Mutex<std::vec::IntoIter<Value>>,
}

impl Recorded {
    /// From `[{"request": {...}, "answer": {...}}, …]`.
    pub(super) fn new(text: &str) -> Self {
        let turns: Vec<Value> = serde_json::from_str(text).unwrap();
        Self { turns: Mutex::new(turns.into_iter()) }
    }

    /// Whether everything was asked.
    pub(super) fn is_over(&self) -> bool {
        self.turns.lock().unwrap().len() == 0
    }
}

impl Exchange for &Recorded {
    fn exchange(&self, call: &Call) -> Result<Answer, Reason> {
        let turn = self.turns.lock().unwrap().next();
        let turn =
            turn.unwrap_or_else(|| panic!("not in the record: {} {}", call.method, call.url));
        let request = &turn["request"];
        let asked = format!("{} {}", call.method, call.url);
        assert_eq!(
            asked,
            format!("{} {}", request["method"].as_str().unwrap(), request["url"].as_str().unwrap())
        );
        assert_eq!(call.body.as_ref().unwrap_or(&Value::Null), &request["body"], "{asked}");
        assert!(call.headers.iter().any(|(name, _)| *name == "authorization"), "{asked}");
        let answer = &turn["answer"];
        if let Some(lost) = answer["lost"].as_str() {
            return Err(Reason::Unreachable(lost.to_owned()));
        }
        Ok(Answer {
            status: answer["status"].as_u64().unwrap() as u16,
            retry_after: answer["retry_after"].as_u64(),
            body: answer["body"].clone(),
        })
    }
}
