//! Git as one caller reaches it: in turn, on the record, and not always with luck.

use super::host::{Change, GitError, GitHost, PushFault, Signature};
use super::objects::{Files, Id};
use crate::sim::Door;

/// A caller's way to the host. Inside a simulation every visit waits for its turn and is traced.
#[derive(Clone)]
pub struct Remote {
    host: GitHost,
    door: Option<Door>,
}

impl Remote {
    /// The host as `door`'s caller reaches it; without a door, directly.
    pub fn new(host: GitHost, door: Option<Door>) -> Self {
        Self { host, door }
    }

    /// The host itself.
    pub fn host(&self) -> &GitHost {
        &self.host
    }

    async fn visit<T: Send + 'static>(
        &self,
        what: String,
        act: impl FnOnce(&GitHost, Option<PushFault>) -> T + Send + 'static,
    ) -> T {
        let host = self.host.clone();
        match &self.door {
            Some(door) => door.aside(what, move |fault| act(&host, fault)).await,
            None => act(&host, None),
        }
    }

    /// Where a branch, tag or commit is.
    pub async fn resolve(&self, name: &str, revision: &str) -> Result<Id, GitError> {
        let what = format!("git ls-remote {name} {revision}");
        let (name, revision) = (name.to_owned(), revision.to_owned());
        self.visit(what, move |host, _| host.resolve(&name, &revision)).await
    }

    /// All files at a revision.
    pub async fn fetch(&self, name: &str, revision: &str) -> Result<Files, GitError> {
        let what = format!("git fetch {name} {revision}");
        let (name, revision) = (name.to_owned(), revision.to_owned());
        self.visit(what, move |host, _| host.files(&name, &revision)).await
    }

    /// Commits on a branch as a person does who pulls, edits and pushes until it is in.
    pub async fn commit(
        &self,
        name: &str,
        branch: &str,
        change: &Change,
        by: &Signature,
        message: &str,
    ) -> Result<Id, GitError> {
        let what = format!("git commit {name} {branch} {message:?}");
        let (name, branch, message) = (name.to_owned(), branch.to_owned(), message.to_owned());
        let (change, by) = (change.clone(), by.clone());
        self.visit(what, move |host, _| host.commit(&name, &branch, &change, &by, &message)).await
    }

    /// Makes a commit on top of `base` and moves the branch there, if it still is at `base`.
    ///
    /// After [`GitError::Lost`] the branch may or may not have moved: compare it with the id that the
    /// same call would make.
    pub async fn push(
        &self,
        name: &str,
        branch: &str,
        base: Option<Id>,
        change: &Change,
        (by, message): (&Signature, &str),
    ) -> Result<Id, GitError> {
        let parents: Vec<Id> = base.into_iter().collect();
        let id = self.host.write(name, &parents, change, by, message)?;
        let what = format!("git push {name} {branch} {id}");
        let (name, branch) = (name.to_owned(), branch.to_owned());
        self.visit(what, move |host, fault| host.push(&name, &branch, base, id, fault)).await?;
        Ok(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{FaultPlan, Gate, When};
    use crate::world::World;

    fn change(text: &str) -> Change {
        [("f".to_owned(), Some(text.as_bytes().to_vec()))].into()
    }

    async fn pushes(world: &World, gate: Gate) -> Result<Id, GitError> {
        let remote = world.operator_git(std::sync::Arc::new(gate));
        remote.host().create("r");
        let by = Signature::new("holdfast", crate::world::EPOCH);
        let change = change("1");
        tokio::select! {
            biased;
            pushed = remote.push("r", "main", None, &change, (&by, "one")) => pushed,
            () = world.turn() => Err(GitError::Lost),
            () = tokio::time::sleep(std::time::Duration::from_mins(1)) => Err(GitError::Lost),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_plan_decides_the_luck_of_the_operators_pushes() {
        let lost = FaultPlan { push_lost: 1000, ..FaultPlan::none() };
        let world = World::simulated(1, lost);
        assert_eq!(pushes(&world, Gate::default()).await, Err(GitError::Lost));
        assert!(world.git().resolve("r", "main").is_ok(), "it was accepted");
        let rejected = FaultPlan { push_rejected: 1000, ..FaultPlan::none() };
        let world = World::simulated(1, rejected);
        assert!(matches!(pushes(&world, Gate::default()).await, Err(GitError::Rejected { .. })));
        assert!(world.git().resolve("r", "main").is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn the_operator_dies_at_a_push_as_at_any_request() {
        for (when, there) in [(When::Before, false), (When::After, true)] {
            let world = World::simulated(1, FaultPlan::none());
            let gate = Gate::new(Some(crate::sim::Crash { request: 1, when }));
            pushes(&world, gate).await.unwrap_err();
            assert_eq!(world.git().resolve("r", "main").is_ok(), there);
        }
    }
}
