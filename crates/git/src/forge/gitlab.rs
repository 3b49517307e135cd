//! GitLab, whose pull requests are merge requests.

use serde_json::{Value, json};

use super::call::{ForgeError, PAGE, Reason, encoded};
use super::dialect::{Dialect, text};
use super::{Address, Call, Proposal, Pull, State};
use crate::auth::Secret;

pub(super) struct GitLab;

fn requests(at: &Address) -> String {
    let project = encoded(&format!("{}/{}", at.owner, at.name));
    format!("{}/projects/{project}/merge_requests", at.api)
}

impl Dialect for GitLab {
    fn authorize(&self, call: Call, token: &Secret) -> Call {
        call.header("authorization", Secret::new(format!("Bearer {}", token.reveal())))
    }

    fn open(&self, at: &Address, proposal: &Proposal) -> Call {
        let Proposal { head, base, title, body } = proposal;
        let body = json!({
            "source_branch": head, "target_branch": base, "title": title, "description": body,
        });
        Call::new("POST", requests(at)).body(body)
    }

    fn list(&self, at: &Address, head: &str, base: &str) -> Call {
        let query = format!(
            "state=all&source_branch={}&target_branch={}&order_by=created_at&sort=desc&per_page={PAGE}",
            encoded(head),
            encoded(base)
        );
        Call::new("GET", format!("{}?{query}", requests(at)))
    }

    fn get(&self, at: &Address, number: u64) -> Call {
        Call::new("GET", format!("{}/{number}", requests(at)))
    }

    fn update(&self, at: &Address, number: u64, title: &str, body: &str) -> Call {
        let url = format!("{}/{number}", requests(at));
        Call::new("PUT", url).body(json!({"title": title, "description": body}))
    }

    fn close(&self, at: &Address, number: u64) -> Call {
        let url = format!("{}/{number}", requests(at));
        Call::new("PUT", url).body(json!({"state_event": "close"}))
    }

    fn comments(&self, at: &Address, number: u64) -> Call {
        Call::new("GET", format!("{}/{number}/notes?per_page={PAGE}", requests(at)))
    }

    fn comment(&self, at: &Address, number: u64, text: &str) -> Call {
        Call::new("POST", format!("{}/{number}/notes", requests(at))).body(json!({"body": text}))
    }

    fn pull(&self, value: &Value) -> Option<Pull> {
        let state = match value.get("state")?.as_str()? {
            "merged" => {
                // A squash without a merge commit leaves only the squashed one; a fast forward neither.
                let commit = ["/merge_commit_sha", "/squash_commit_sha", "/sha"]
                    .into_iter()
                    .map(|pointer| text(value, pointer))
                    .find(|commit| !commit.is_empty());
                State::Merged { commit }
            }
            // Locked while it is being merged.
            "opened" | "locked" => State::Open,
            _ => State::Closed,
        };
        Some(Pull {
            number: value.get("iid")?.as_u64()?,
            page: text(value, "/web_url"),
            head: text(value, "/source_branch"),
            commit: text(value, "/sha"),
            base: text(value, "/target_branch"),
            title: text(value, "/title"),
            body: text(value, "/description"),
            state,
        })
    }

    fn is_open_already(&self, error: &ForgeError) -> bool {
        matches!(error.reason, Reason::Refused { status: 409, .. })
    }
}
