//! Pull requests on Gitea, Forgejo, GitHub and GitLab.
//!
//! Everything here may be done twice: a pull request that is open already is found again instead of
//! opened, and a comment that was written is not written once more. So a crash after a request that took
//! effect does no harm.

mod address;
mod app;
mod call;
mod dialect;
mod gitea;
mod github;
mod gitlab;
mod network;
#[cfg(test)]
mod recorded;

pub use address::{Address, AddressError, Provider};
pub use app::App;
pub use call::{Answer, Call, Exchange, ForgeError, Reason};
pub use network::Web;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use dialect::Dialect;

use crate::auth::Secret;

/// How the forge knows us.
#[derive(Clone, Debug)]
pub enum Credential {
    /// A token of a person, a bot or a project.
    Token(Secret),
    /// A GitHub App, whose tokens live for an hour.
    App(App),
}

/// What a pull request is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The branch with the commits.
    pub head: String,
    /// The branch they are for.
    pub base: String,
    /// One line.
    pub title: String,
    /// Markdown.
    pub body: String,
}

/// A pull request as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pull {
    /// Its number in the repository.
    pub number: u64,
    /// Where a person looks at it.
    pub page: String,
    /// The branch with the commits.
    pub head: String,
    /// The commit at its end.
    pub commit: String,
    /// The branch they are for.
    pub base: String,
    /// One line.
    pub title: String,
    /// Markdown.
    pub body: String,
    /// Whether it waits, was merged, or was closed.
    pub state: State,
}

/// What became of a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It waits.
    Open,
    /// It was merged.
    Merged {
        /// The commit on the base branch, if the forge says which.
        commit: Option<String>,
    },
    /// It was closed without being merged.
    Closed,
}

/// Tells the time.
pub type Now = Arc<dyn Fn() -> jiff::Timestamp + Send + Sync>;

/// One repository on one forge.
pub struct Forge<E> {
    address: Address,
    credential: Credential,
    exchange: E,
    now: Now,
    token: Mutex<Option<app::Issued>>,
}

impl<E> fmt::Debug for Forge<E> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Forge").field("address", &self.address).finish_non_exhaustive()
    }
}

impl<E: Exchange> Forge<E> {
    /// The repository at this address. `now` is asked when a GitHub App needs a new token.
    pub fn new(address: Address, credential: Credential, exchange: E, now: Now) -> Self {
        Self { address, credential, exchange, now, token: Mutex::default() }
    }

    /// Opens a pull request, or finds the one that is open for the same branches and makes it say
    /// the same.
    pub fn open(&self, proposal: &Proposal) -> Result<Pull, ForgeError> {
        if let Some(pull) = self.find_open(&proposal.head, &proposal.base)? {
            return self.update(pull, &proposal.title, &proposal.body);
        }
        let call = self.dialect().open(&self.address, proposal);
        match self.send(call) {
            Ok(answer) => self.pull(&answer),
            // Somebody was faster, or our own request took effect although its answer was lost.
            Err(error) if self.dialect().is_open_already(&error) => {
                match self.find_open(&proposal.head, &proposal.base)? {
                    Some(pull) => self.update(pull, &proposal.title, &proposal.body),
                    None => Err(error),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// The newest pull request for these branches, whatever became of it.
    pub fn find(&self, head: &str, base: &str) -> Result<Option<Pull>, ForgeError> {
        Ok(self.all(head, base)?.into_iter().max_by_key(|pull| pull.number))
    }

    fn find_open(&self, head: &str, base: &str) -> Result<Option<Pull>, ForgeError> {
        Ok(self.all(head, base)?.into_iter().find(|pull| pull.state == State::Open))
    }

    fn all(&self, head: &str, base: &str) -> Result<Vec<Pull>, ForgeError> {
        let first = self.dialect().list(&self.address, head, base);
        let mut pulls = self.pages(first)?;
        let mut found = Vec::new();
        for value in pulls.drain(..) {
            let pull = self.dialect().pull(&value).ok_or_else(|| self.odd("a pull request"))?;
            // Some forges cannot filter by branch, and some filters match beginnings.
            if pull.head == head && pull.base == base {
                found.push(pull);
            }
        }
        Ok(found)
    }

    /// The pull request of this number.
    pub fn get(&self, number: u64) -> Result<Pull, ForgeError> {
        let answer = self.send(self.dialect().get(&self.address, number))?;
        self.pull(&answer)
    }

    /// Makes a pull request say this. Nothing is sent if it does already.
    pub fn update(&self, pull: Pull, title: &str, body: &str) -> Result<Pull, ForgeError> {
        if pull.title == title && pull.body == body {
            return Ok(pull);
        }
        let call = self.dialect().update(&self.address, pull.number, title, body);
        let answer = self.send(call)?;
        self.pull(&answer)
    }

    /// Closes a pull request without merging it.
    pub fn close(&self, number: u64) -> Result<Pull, ForgeError> {
        let answer = self.send(self.dialect().close(&self.address, number))?;
        self.pull(&answer)
    }

    /// Writes a comment, unless one with the same mark is there. The mark is not shown to readers.
    pub fn comment(&self, number: u64, mark: &str, text: &str) -> Result<(), ForgeError> {
        let mark = format!("<!-- holdfast: {} -->", mark.replace("--", "- -"));
        let comments = self.pages(self.dialect().comments(&self.address, number))?;
        let written = |comment: &serde_json::Value| {
            comment
                .get("body")
                .and_then(serde_json::Value::as_str)
                .is_some_and(|b| b.contains(&mark))
        };
        if comments.iter().any(written) {
            return Ok(());
        }
        let text = format!("{text}\n\n{mark}");
        self.send(self.dialect().comment(&self.address, number, &text)).map(drop)
    }

    fn dialect(&self) -> &'static dyn Dialect {
        match self.address.provider {
            Provider::Gitea => &gitea::Gitea,
            Provider::GitHub => &github::GitHub,
            Provider::GitLab => &gitlab::GitLab,
        }
    }

    fn pull(&self, answer: &Answer) -> Result<Pull, ForgeError> {
        self.dialect().pull(&answer.body).ok_or_else(|| self.odd("a pull request"))
    }

    /// Follows the pages of a list, which ends when a page is not full.
    fn pages(&self, first: Call) -> Result<Vec<serde_json::Value>, ForgeError> {
        let mut values = Vec::new();
        for page in 1..=call::MOST_PAGES {
            let answer = self.send(first.clone().page(page))?;
            let serde_json::Value::Array(items) = answer.body else {
                return Err(self.odd("a list"));
            };
            let last = items.len() < call::PAGE;
            values.extend(items);
            if last {
                break;
            }
        }
        Ok(values)
    }

    fn odd(&self, wanted: &str) -> ForgeError {
        self.address.failed(Reason::Odd(format!("the answer is not {wanted}")))
    }

    fn send(&self, call: Call) -> Result<Answer, ForgeError> {
        let token = self.token()?;
        let call = self.dialect().authorize(call, &token);
        self.address.judge(self.exchange.exchange(&call), &token)
    }

    /// The token to send; an App's is renewed five minutes before it ends.
    fn token(&self) -> Result<Secret, ForgeError> {
        let app = match &self.credential {
            Credential::Token(token) => return Ok(token.clone()),
            Credential::App(app) => app,
        };
        let now = (self.now)();
        let mut kept = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(issued) = kept.as_ref().filter(|issued| issued.is_good(now)) {
            return Ok(issued.token.clone());
        }
        let statement =
            app.statement(now).map_err(|why| self.address.failed(Reason::Credential(why)))?;
        let call = app.ask(&self.address);
        let call = github::GitHub.authorize(call, &statement);
        let answer = self.address.judge(self.exchange.exchange(&call), &statement)?;
        let issued = app::Issued::read(&answer.body).ok_or_else(|| self.odd("an App's token"))?;
        Ok(kept.insert(issued).token.clone())
    }
}

#[cfg(test)]
mod tests;
