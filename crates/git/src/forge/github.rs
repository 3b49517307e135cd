//! GitHub, on its own host or another.

use serde_json::{Value, json};

use super::call::{ForgeError, PAGE, Reason, encoded};
use super::dialect::{Dialect, text};
use super::{Address, Call, Proposal, Pull, State};
use crate::auth::Secret;

pub(super) struct GitHub;

fn repository(at: &Address) -> String {
    format!("{}/repos/{}/{}", at.api, encoded(&at.owner), encoded(&at.name))
}

impl Dialect for GitHub {
    fn authorize(&self, call: Call, token: &Secret) -> Call {
        call.header("authorization", Secret::new(format!("Bearer {}", token.reveal())))
            .header("accept", Secret::new("application/vnd.github+json"))
            .header("x-github-api-version", Secret::new("2022-11-28"))
    }

    fn open(&self, at: &Address, proposal: &Proposal) -> Call {
        let Proposal { head, base, title, body } = proposal;
        let body = json!({"head": head, "base": base, "title": title, "body": body});
        Call::new("POST", format!("{}/pulls", repository(at))).body(body)
    }

    fn list(&self, at: &Address, head: &str, base: &str) -> Call {
        let head = encoded(&format!("{}:{head}", at.owner));
        let query = format!(
            "state=all&head={head}&base={}&sort=created&direction=desc&per_page={PAGE}",
            encoded(base)
        );
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
        Call::new("GET", format!("{}/issues/{number}/comments?per_page={PAGE}", repository(at)))
    }

    fn comment(&self, at: &Address, number: u64, text: &str) -> Call {
        let url = format!("{}/issues/{number}/comments", repository(at));
        Call::new("POST", url).body(json!({"body": text}))
    }

    fn pull(&self, value: &Value) -> Option<Pull> {
        // Lists have no `merged`, but both have the time.
        let merged = value.get("merged_at").is_some_and(|at| !at.is_null());
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
        matches!(&error.reason, Reason::Refused { status: 422, said } if said.contains("already exists"))
    }
}
