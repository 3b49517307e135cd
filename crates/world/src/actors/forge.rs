//! A forge beside the git host: pull requests in the shape of Gitea's API.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{Method, Response, StatusCode, header};
use http_body_util::Full;
use serde_json::{Value, json};

use super::git::{Change, GitError, GitHost, Id, Signature};

/// Tells the time.
pub type Clock = Arc<dyn Fn() -> jiff::Timestamp + Send + Sync>;

#[derive(Debug, Clone)]
struct Pull {
    title: String,
    body: String,
    head: String,
    base: String,
    open: bool,
    merged: Option<Id>,
    opened_at: String,
    comments: Vec<(String, String)>,
}

/// Pull requests over a [`GitHost`]. Clones share them.
#[derive(Clone)]
pub struct Forge {
    host: GitHost,
    clock: Clock,
    pulls: Arc<Mutex<BTreeMap<String, Vec<Pull>>>>,
}

/// A refusal: status and sentence.
type Refused = (StatusCode, String);

impl From<GitError> for Refusal {
    fn from(error: GitError) -> Self {
        let status = match error {
            GitError::NoRepository(_) | GitError::NoRevision(_) => StatusCode::NOT_FOUND,
            _ => StatusCode::CONFLICT,
        };
        Self((status, error.to_string()))
    }
}

/// Why the forge said no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal(pub Refused);

fn refuse<T>(status: StatusCode, why: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal((status, why.into())))
}

impl Forge {
    /// A forge whose clock stands still.
    pub fn new(host: GitHost) -> Self {
        Self::at(host, Arc::new(|| crate::world::EPOCH))
    }

    /// A forge with a clock.
    pub fn at(host: GitHost, clock: Clock) -> Self {
        Self { host, clock, pulls: Arc::default() }
    }

    /// The git host beside it.
    pub fn host(&self) -> &GitHost {
        &self.host
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Vec<Pull>>> {
        self.pulls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> String {
        (self.clock)().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    fn change<T>(
        &self,
        repository: &str,
        number: usize,
        act: impl FnOnce(&mut Pull) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let mut pulls = self.lock();
        let found =
            pulls.get_mut(repository).and_then(|pulls| pulls.get_mut(number.checked_sub(1)?));
        match found {
            Some(pull) => act(pull),
            None => refuse(StatusCode::NOT_FOUND, format!("there is no pull request {number}")),
        }
    }

    /// Opens a pull request from branch `head` into `base`.
    pub fn open(
        &self,
        repository: &str,
        (head, base): (&str, &str),
        (title, body): (&str, &str),
    ) -> Result<Value, Refusal> {
        self.host.resolve(repository, head)?;
        self.host.resolve(repository, base)?;
        if self.host.contains(repository, base, head)? {
            return refuse(
                StatusCode::UNPROCESSABLE_ENTITY,
                format!("{head} has nothing that {base} lacks"),
            );
        }
        let number = {
            let mut all = self.lock();
            let pulls = all.entry(repository.to_owned()).or_default();
            let twin = pulls.iter().any(|p| p.open && p.head == head && p.base == base);
            if twin {
                return refuse(
                    StatusCode::CONFLICT,
                    format!(
                        "pull request already exists for these targets [head: {head}, base: {base}]"
                    ),
                );
            }
            pulls.push(Pull {
                title: title.to_owned(),
                body: body.to_owned(),
                head: head.to_owned(),
                base: base.to_owned(),
                open: true,
                merged: None,
                opened_at: self.now(),
                comments: Vec::new(),
            });
            pulls.len()
        };
        self.get(repository, number)
    }

    /// One pull request.
    pub fn get(&self, repository: &str, number: usize) -> Result<Value, Refusal> {
        self.change(repository, number, |pull| Ok(self.show(repository, number, pull)))
    }

    /// Pull requests in a state: `open`, `closed` or `all`.
    pub fn list(&self, repository: &str, state: &str) -> Result<Vec<Value>, Refusal> {
        self.host.refs(repository)?;
        let pulls = self.lock().get(repository).cloned().unwrap_or_default();
        let shown = pulls.iter().enumerate().rev().filter(|(_, pull)| match state {
            "all" => true,
            "closed" => !pull.open,
            _ => pull.open,
        });
        Ok(shown.map(|(at, pull)| self.show(repository, at + 1, pull)).collect())
    }

    /// Says something under a pull request.
    pub fn comment(&self, repository: &str, number: usize, body: &str) -> Result<Value, Refusal> {
        let now = self.now();
        self.change(repository, number, |pull| {
            pull.comments.push((now.clone(), body.to_owned()));
            Ok(json!({"id": pull.comments.len(), "body": body, "created_at": now}))
        })
    }

    /// What was said under a pull request.
    pub fn comments(&self, repository: &str, number: usize) -> Result<Vec<Value>, Refusal> {
        self.change(repository, number, |pull| {
            let shown = pull.comments.iter().enumerate();
            Ok(shown
                .map(|(at, (when, body))| json!({"id": at + 1, "body": body, "created_at": when}))
                .collect())
        })
    }

    /// Changes title, body or state (`closed`, `open`).
    pub fn edit(&self, repository: &str, number: usize, edit: &Value) -> Result<Value, Refusal> {
        self.change(repository, number, |pull| {
            if let Some(title) = edit["title"].as_str() {
                title.clone_into(&mut pull.title);
            }
            if let Some(body) = edit["body"].as_str() {
                body.clone_into(&mut pull.body);
            }
            match edit["state"].as_str() {
                Some("closed") => pull.open = false,
                Some("open") if pull.merged.is_none() => pull.open = true,
                Some(state) => {
                    return refuse(
                        StatusCode::PRECONDITION_FAILED,
                        format!("it cannot become {state:?}"),
                    );
                }
                None => {}
            }
            Ok(())
        })?;
        self.get(repository, number)
    }

    /// Merges with a merge commit; files changed on both sides since they parted are a conflict.
    pub fn merge(&self, repository: &str, number: usize) -> Result<Id, Refusal> {
        let pull = self.change(repository, number, |pull| Ok(pull.clone()))?;
        if !pull.open {
            return refuse(StatusCode::METHOD_NOT_ALLOWED, "the pull request is closed");
        }
        let base = self.host.resolve(repository, &pull.base)?;
        let head = self.host.resolve(repository, &pull.head)?;
        let change = self.difference(repository, base, head)?;
        let by = Signature::new("forge", (self.clock)());
        let message = format!("Merge pull request '{}' (#{number})", pull.title);
        let id = self.host.write(repository, &[base, head], &change, &by, &message)?;
        self.host.push(repository, &pull.base, Some(base), id, None)?;
        self.change(repository, number, |pull| {
            pull.open = false;
            pull.merged = Some(id);
            Ok(id)
        })
    }

    /// What `head` changed since it left `base`'s history.
    fn difference(&self, repository: &str, base: Id, head: Id) -> Result<Change, Refusal> {
        let fork = self.host.fork(repository, base, head)?;
        let files = |id: Id| self.host.files(repository, &id.to_string());
        let (ours, theirs) = (files(base)?, files(head)?);
        let common = match fork {
            Some(fork) => files(fork)?,
            None => BTreeMap::new(),
        };
        let mut change = Change::new();
        let paths: std::collections::BTreeSet<&String> =
            ours.keys().chain(theirs.keys()).chain(common.keys()).collect();
        for path in paths {
            let (mine, new, old) = (ours.get(path), theirs.get(path), common.get(path));
            if new == old || mine == new {
                continue;
            }
            if mine != old {
                return refuse(StatusCode::CONFLICT, format!("{path} was changed on both sides"));
            }
            change.insert(path.clone(), new.cloned());
        }
        Ok(change)
    }

    fn show(&self, repository: &str, number: usize, pull: &Pull) -> Value {
        let sha = |branch: &str| {
            self.host.resolve(repository, branch).map(|id| id.to_string()).unwrap_or_default()
        };
        json!({
            "id": number, "number": number, "title": pull.title, "body": pull.body,
            "state": if pull.open { "open" } else { "closed" },
            "merged": pull.merged.is_some(),
            "merge_commit_sha": pull.merged.map(|id| id.to_string()),
            "comments": pull.comments.len(), "created_at": pull.opened_at,
            "head": {"ref": pull.head, "label": pull.head, "sha": sha(&pull.head)},
            "base": {"ref": pull.base, "label": pull.base, "sha": sha(&pull.base)},
        })
    }

    /// Answers a request below `/api/v1/`.
    pub fn answer(
        &self,
        method: &Method,
        path: &str,
        query: Option<&str>,
        body: &[u8],
    ) -> Response<Full<Bytes>> {
        let (status, body) = match self.route(method, path, query.unwrap_or_default(), body) {
            Ok((status, body)) => (status, body),
            Err(Refusal((status, message))) => {
                (status, json!({"message": message, "url": "/api/swagger"}))
            }
        };
        let bytes = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        let mut response = Response::new(Full::new(bytes));
        *response.status_mut() = status;
        let kind = header::HeaderValue::from_static("application/json;charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response
    }

    fn route(
        &self,
        method: &Method,
        path: &str,
        query: &str,
        body: &[u8],
    ) -> Result<(StatusCode, Value), Refusal> {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let ["repos", owner, name, rest @ ..] = &parts[..] else {
            return refuse(StatusCode::NOT_FOUND, "there is nothing here");
        };
        let repository = format!("{owner}/{name}");
        let sent = || -> Result<Value, Refusal> {
            serde_json::from_slice(body)
                .map_err(|error| Refusal((StatusCode::BAD_REQUEST, error.to_string())))
        };
        let word = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let number = |text: &str| -> Result<usize, Refusal> {
            text.parse().map_err(|_| {
                Refusal((StatusCode::NOT_FOUND, format!("there is no pull request {text}")))
            })
        };
        match (method.as_str(), rest) {
            ("GET", ["pulls"]) => {
                let state = query.split('&').find_map(|pair| pair.strip_prefix("state="));
                let all = self.list(&repository, state.unwrap_or("open"))?;
                Ok((StatusCode::OK, all.into()))
            }
            ("POST", ["pulls"]) => {
                let sent = sent()?;
                let (head, base) = (word(&sent, "head"), word(&sent, "base"));
                let (title, text) = (word(&sent, "title"), word(&sent, "body"));
                let made = self.open(&repository, (&head, &base), (&title, &text))?;
                Ok((StatusCode::CREATED, made))
            }
            ("GET", ["pulls", at]) => Ok((StatusCode::OK, self.get(&repository, number(at)?)?)),
            ("PATCH", ["pulls", at]) => {
                Ok((StatusCode::CREATED, self.edit(&repository, number(at)?, &sent()?)?))
            }
            ("POST", ["pulls", at, "merge"]) => {
                self.merge(&repository, number(at)?)?;
                Ok((StatusCode::OK, Value::Null))
            }
            ("GET", ["issues", at, "comments"]) => {
                Ok((StatusCode::OK, self.comments(&repository, number(at)?)?.into()))
            }
            ("POST", ["issues", at, "comments"]) => {
                let body = word(&sent()?, "body");
                Ok((StatusCode::CREATED, self.comment(&repository, number(at)?, &body)?))
            }
            _ => refuse(StatusCode::NOT_FOUND, "there is nothing here"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> Change {
        [(path.to_owned(), Some(text.as_bytes().to_vec()))].into()
    }

    fn forge() -> (Forge, Signature) {
        let host = GitHost::default();
        host.create("ops/fleet");
        let by = Signature::new("ada", crate::world::EPOCH);
        host.commit("ops/fleet", "main", &file("a", "1"), &by, "one").unwrap();
        host.branch("ops/fleet", "next", "main").unwrap();
        host.commit("ops/fleet", "next", &file("a", "2"), &by, "two").unwrap();
        (Forge::new(host), by)
    }

    async fn call(forge: &Forge, method: Method, path: &str, body: Value) -> (u16, Value) {
        use http_body_util::BodyExt as _;
        let answer = forge.answer(&method, path, None, body.to_string().as_bytes());
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }

    #[tokio::test]
    async fn a_pull_request_is_opened_discussed_and_merged() {
        let (forge, by) = forge();
        let pulls = "repos/ops/fleet/pulls";
        let wanted = json!({"head": "next", "base": "main", "title": "two", "body": "why"});
        let (status, made) = call(&forge, Method::POST, pulls, wanted.clone()).await;
        assert_eq!((status, &made["number"], &made["state"]), (201, &json!(1), &json!("open")));
        assert_eq!(call(&forge, Method::POST, pulls, wanted).await.0, 409);
        let comments = "repos/ops/fleet/issues/1/comments";
        assert_eq!(call(&forge, Method::POST, comments, json!({"body": "ok"})).await.0, 201);
        let (_, said) = call(&forge, Method::GET, comments, Value::Null).await;
        assert_eq!(said[0]["body"], "ok");
        forge.host().commit("ops/fleet", "main", &file("b", "x"), &by, "other").unwrap();
        let merged =
            call(&forge, Method::POST, "repos/ops/fleet/pulls/1/merge", json!({"Do": "merge"}));
        assert_eq!(merged.await.0, 200);
        assert_eq!(forge.host().read("ops/fleet", "main", "a").unwrap().unwrap(), b"2");
        assert_eq!(forge.host().read("ops/fleet", "main", "b").unwrap().unwrap(), b"x");
        let (_, now) = call(&forge, Method::GET, "repos/ops/fleet/pulls/1", Value::Null).await;
        assert_eq!((&now["merged"], &now["state"]), (&json!(true), &json!("closed")));
        assert_eq!(call(&forge, Method::GET, "repos/ops/none/pulls", Value::Null).await.0, 404);
        assert_eq!(call(&forge, Method::GET, "repos/ops/fleet/pulls/9", Value::Null).await.0, 404);
    }

    #[tokio::test]
    async fn what_changed_on_both_sides_does_not_merge() {
        let (forge, by) = forge();
        forge.open("ops/fleet", ("next", "main"), ("t", "")).unwrap();
        forge.host().commit("ops/fleet", "main", &file("a", "3"), &by, "other").unwrap();
        let Refusal((status, why)) = forge.merge("ops/fleet", 1).unwrap_err();
        assert_eq!((status.as_u16(), why.as_str()), (409, "a was changed on both sides"));
        forge.edit("ops/fleet", 1, &json!({"state": "closed"})).unwrap();
        assert_eq!(forge.list("ops/fleet", "open").unwrap().len(), 0);
        assert_eq!(forge.list("ops/fleet", "closed").unwrap().len(), 1);
    }
}
