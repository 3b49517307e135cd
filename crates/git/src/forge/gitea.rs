//! Gitea and Forgejo.

use serde_json::{Value, json};

use super::call::{ForgeError, PAGE, Reason, encoded};
use super::dialect::{Dialect, text};
use super::{Address, Call, Proposal, Pull, State};
use crate::auth::Secret;

pub(super) struct Gitea;

fn repository(at: &Address) -> String {
    format!("{}/repos/{}/{}", at.api, encoded(&at.owner), encoded(&at.name))
}

impl Dialect for Gitea {
    fn authorize(&self, call: Call, token: &Secret) -> Call {
        call.header("authorization", Secret::new(format!("token {}", token.reveal())))
    }

    fn open(&self, at: &Address, proposal: &Proposal) -> Call {
        let Proposal { head, base, title, body } = proposal;
        let body = json!({"head": head, "base": base, "title": title, "body": body});
        Call::new("POST", format!("{}/pulls", repository(at))).body(body)
    }

    fn list(&self, at: &Address, _head: &str, _base: &str) -> Call {
        // There is no filter by head; the newest come first.
        let query = format!("state=all&sort=recentupdate&limit={PAGE}");
        Call::new("GET", format!("{}/pulls?{query}", repository(at)))
    }

    fn get(&self, at: &Address, number: u64) -> Call {
        Call::new("GET", format!("{}/pulls/{number}", repository(at)))
    }

    fn update(&self, at: &Address, number: u64, title: &str, body: &str) -> Call {
        let url = format!("{}/pulls/{number}", repository(at));
        Call::new("PATCH", url).body(json!({"title": title, "body": body}))
    }

    fn close(&self, at: &Address, number: u64) -> Call {
        let url = format!("{}/pulls/{number}", repository(at));
        Call::new("PATCH", url).body(json!({"state": "closed"}))
    }

    fn comments(&self, at: &Address, number: u64) -> Call {
        Call::new("GET", format!("{}/issues/{number}/comments?limit={PAGE}", repository(at)))
    }

    fn comment(&self, at: &Address, number: u64, text: &str) -> Call {
        let url = format!("{}/issues/{number}/comments", repository(at));
        Call::new("POST", url).body(json!({"body": text}))
    }

    fn pull(&self, value: &Value) -> Option<Pull> {
        let merged = value.get("merged").and_then(Value::as_bool).unwrap_or(false);
        let state = match (merged, value.get("state")?.as_str()?) {
            (true, _) => State::Merged {
                commit: Some(text(value, "/merge_commit_sha")).filter(|commit| !commit.is_empty()),
            },
            (false, "open") => State::Open,
            (false, _) => State::Closed,
        };
        Some(Pull {
            number: value.get("number")?.as_u64()?,
            page: text(value, "/html_url"),
            head: text(value, "/head/ref"),
            commit: text(value, "/head/sha"),
            base: text(value, "/base/ref"),
            title: text(value, "/title"),
            body: text(value, "/body"),
            state,
        })
    }

    fn is_open_already(&self, error: &ForgeError) -> bool {
        matches!(error.reason, Reason::Refused { status: 409, .. })
    }
}
