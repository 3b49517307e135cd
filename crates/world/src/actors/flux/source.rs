//! GitRepositories: what a branch holds, looked at every interval.

use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::api::DynamicObject;
use serde_json::json;

use super::state::{Cause, Draft, Memory, hold, interval, release, suspended, token};
use super::{Artifacts, digest};
use crate::actors::git::{GitError, Id, Remote};
use crate::actors::kinds;
use crate::actors::process::{ActorError, Again, Cache, Desk, Key, Reconciler};

/// Where artifacts are served.
pub const STORAGE: &str = "http://source-controller.flux-system.svc.cluster.local./";
/// How soon a failed fetch is tried again.
const RETRY: Duration = Duration::from_secs(10);

/// Keeps an artifact of every GitRepository.
pub struct GitRepositories {
    git: Remote,
    artifacts: Artifacts,
    memory: Memory,
}

impl GitRepositories {
    pub fn new(git: Remote, artifacts: Artifacts) -> Self {
        Self { git, artifacts, memory: Memory::default() }
    }
}

impl Reconciler for GitRepositories {
    fn name(&self) -> &'static str {
        "gitrepository"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, _: &Cache) -> Vec<Key> {
        if kind == "GitRepository" { vec![Key::of(object)] } else { Vec::new() }
    }

    fn reconcile<'a>(
        &'a mut self,
        key: &'a Key,
        desk: &'a Desk,
    ) -> BoxFuture<'a, Result<Again, ActorError>> {
        self.sync(key, desk).boxed()
    }
}

/// `ops/fleet` of `http://host/ops/fleet.git`.
fn repository(url: &str) -> &str {
    let path = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = path.split_once('/').map_or(path, |(_, path)| path);
    path.trim_matches('/').trim_end_matches(".git")
}

impl GitRepositories {
    async fn sync(&mut self, key: &Key, desk: &Desk) -> Result<Again, ActorError> {
        let resource = kinds::git_repositories();
        let Some(object) = desk.cache.get("GitRepository", key).cloned() else {
            self.memory.forget(key);
            return Ok(None);
        };
        if object.metadata.deletion_timestamp.is_some() {
            self.artifacts
                .tidy(&format!("{STORAGE}gitrepository/{}/{}/", key.namespace, key.name), &[]);
            release(desk, &resource, &object).await?;
            return Ok(None);
        }
        let cause = Cause::of(&object);
        if let Some(left) = self.memory.idle(key, &cause) {
            return Ok(Some(left));
        }
        if hold(desk, &resource, &object).await? {
            return Ok(None);
        }
        let token = token(&object);
        let mut draft = Draft::new(&object, self.memory.status(key, &object), desk.stamp());
        let mut after = interval(&object);
        if !suspended(&object) {
            match self.fetch(key, &object, &mut draft, desk).await {
                Ok(()) => {
                    draft.unset("FetchFailed");
                    let revision = draft.status["artifact"]["revision"].clone();
                    let message = format!(
                        "stored artifact for revision '{}'",
                        revision.as_str().unwrap_or_default()
                    );
                    draft.set("ArtifactInStorage", "True", "Succeeded", &message);
                    draft.set("Ready", "True", "Succeeded", &message);
                }
                Err(why) => {
                    let (seen, now) =
                        (&draft.status["observedGeneration"], object.metadata.generation);
                    let progress = if draft.status["artifact"].is_null() {
                        "building artifact".to_owned()
                    } else if *seen == json!(now) {
                        "reconciliation in progress".to_owned()
                    } else {
                        let now = now.unwrap_or_default();
                        format!("processing object: new generation {seen} -> {now}")
                    };
                    draft.progress(&progress);
                    draft.set("FetchFailed", "True", "GitOperationFailed", &why);
                    draft.fail("GitOperationFailed", &why);
                    after = after.min(RETRY);
                }
            }
        }
        draft.close(token.as_deref());
        self.memory.write(desk, &resource, (key, &object), &draft).await?;
        if suspended(&object) {
            self.memory.rest(key, cause, Duration::from_secs(u64::from(u32::MAX)));
            return Ok(None);
        }
        Ok(Some(self.memory.rest(key, cause, after)))
    }

    async fn fetch(
        &self,
        key: &Key,
        object: &DynamicObject,
        draft: &mut Draft,
        desk: &Desk,
    ) -> Result<(), String> {
        let spec = &object.data["spec"];
        let url = spec["url"].as_str().unwrap_or_default();
        let name = repository(url);
        let word = |field: &str| spec["ref"][field].as_str().filter(|word| !word.is_empty());
        if let Some(range) = word("semver") {
            return Err(format!(
                "spec.ref.semver {range:?} is not played here: use branch, tag, name or commit"
            ));
        }
        let kind = if word("tag").is_some() { "tags" } else { "heads" };
        let failed = |error: GitError| {
            let why = match &error {
                GitError::NoRevision(name)
                    if word("name").is_none() && word("commit").is_none() =>
                {
                    format!("couldn't find remote ref \"refs/{kind}/{name}\"")
                }
                // The host's own words, as it ends them.
                GitError::NoRepository(_) => format!("repository not found: {error}\n"),
                other => other.to_string(),
            };
            format!("failed to checkout and determine revision: unable to clone '{url}': {why}")
        };
        let named = word("name").or_else(|| word("tag")).or_else(|| word("branch"));
        let (wanted, label) = match (word("commit"), named) {
            (Some(commit), named) => (commit, named),
            (None, Some(named)) => (named, Some(named)),
            (None, None) => ("master", Some("master")),
        };
        let id: Id = self.git.resolve(name, wanted).await.map_err(failed)?;
        let revision = match label {
            Some(label) => format!("{label}@sha1:{id}"),
            None => format!("sha1:{id}"),
        };
        let prefix = format!("gitrepository/{}/{}/", key.namespace, key.name);
        let path = format!("{prefix}{id}.tar.gz");
        let url = format!("{STORAGE}{path}");
        let old = draft.status["artifact"].clone();
        if old["revision"] == revision.as_str() && self.artifacts.get(&url).is_some() {
            return Ok(());
        }
        let files = self.git.fetch(name, &id.to_string()).await.map_err(failed)?;
        let size: usize = files.values().map(Vec::len).sum();
        draft.status["artifact"] = json!({
            "revision": revision, "digest": digest(&files), "path": path, "url": url,
            "size": size, "lastUpdateTime": desk.stamp(),
        });
        self.artifacts.put(&url, files);
        // The one before stays a while for those who have not seen the new one.
        let before = old["url"].as_str().unwrap_or_default();
        self.artifacts.tidy(&format!("{STORAGE}{prefix}"), &[&url, before]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_repositories() {
        assert_eq!(repository("http://git.example/ops/fleet.git"), "ops/fleet");
        assert_eq!(repository("ssh://git@git.example/ops/fleet"), "ops/fleet");
    }
}
