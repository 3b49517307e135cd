//! What kube-controller-manager and the server's own loops do behind the API: garbage collection,
//! the end of namespaces, the life of definitions, and what every cluster starts with.
//!
//! The work is asynchronous, as in a real cluster: an owner is gone for a moment before its dependents
//! are. Whoever runs the server drives [`Server::housekeeping`]; every chore is found again from the
//! store, so nothing is lost if it is not driven for a while.

mod collector;
mod definitions;
mod namespaces;
mod start;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::{Server, State};
use crate::resource::Resource;
use crate::store::{Key, Stored};

/// Table and key of an object that needs a look.
pub(super) type Spot = (Arc<str>, Key);

/// What waits to be looked at.
#[derive(Debug, Default)]
pub(crate) struct Chores {
    /// Objects whose owners, dependents or finalizers may allow a step.
    garbage: BTreeSet<Spot>,
    /// Namespaces that are new or on their way out.
    namespaces: BTreeSet<String>,
    /// CustomResourceDefinitions that are new, changed or on their way out.
    definitions: BTreeSet<String>,
    /// Definitions whose resources are served, with group and plural.
    pub(super) served: BTreeMap<String, (String, String)>,
}

impl Chores {
    fn is_empty(&self) -> bool {
        self.garbage.is_empty() && self.namespaces.is_empty() && self.definitions.is_empty()
    }
}

impl State {
    /// Notes what a write may have set in motion.
    pub(super) fn after_write(
        &mut self,
        resource: &Arc<Resource>,
        key: &Key,
        old: Option<&Arc<Stored>>,
        new: Option<&Arc<Stored>>,
    ) {
        let spot = (resource.table.clone(), key.clone());
        if let Some(new) = new {
            let metadata = &new.value["metadata"];
            if metadata["ownerReferences"].is_array() || metadata["deletionTimestamp"].is_string() {
                self.chores.garbage.insert(spot);
            }
            if metadata["deletionTimestamp"].is_string() {
                let dependents = self.store.dependents(new.uid());
                self.chores.garbage.extend(dependents);
            }
        } else if let Some(old) = old {
            self.chores.garbage.extend(self.store.dependents(old.uid()));
            for owner in old.value["metadata"]["ownerReferences"].as_array().into_iter().flatten() {
                if let Some(uid) = owner["uid"].as_str()
                    && let Some((table, key, _)) = self.store.by_uid(uid)
                {
                    self.chores.garbage.insert((table.clone(), key.clone()));
                }
            }
            if !key.namespace.is_empty() {
                let terminating = self
                    .store
                    .get("/namespaces", &Key::new("", &key.namespace))
                    .is_some_and(|ns| ns.value["metadata"]["deletionTimestamp"].is_string());
                if terminating {
                    self.chores.namespaces.insert(key.namespace.clone());
                }
            }
            if resource.custom {
                self.chores.definitions.insert(format!("{}.{}", resource.plural, resource.group));
            }
        }
        match (resource.group.as_str(), resource.kind.as_str()) {
            ("", "Namespace") => drop(self.chores.namespaces.insert(key.name.clone())),
            ("apiextensions.k8s.io", "CustomResourceDefinition") => {
                self.chores.definitions.insert(key.name.clone());
                self.refresh_definition(&key.name);
            }
            _ => {}
        }
    }
}

impl Server {
    /// Runs the housekeepers until dropped. `latency` passes between a write and their reaction.
    pub async fn housekeeping(&self, latency: Duration) {
        loop {
            self.has_chores().await;
            tokio::time::sleep(latency).await;
            self.tidy();
        }
    }

    /// Returns when something waits for [`Server::tidy`].
    pub async fn has_chores(&self) {
        loop {
            // Registered before the look, so that a write in between is not missed.
            let woken = self.shared.chores.notified();
            if !self.state().chores.is_empty() {
                return;
            }
            woken.await;
        }
    }

    /// One round over everything that waits. Rounds follow each other until nothing moves.
    pub fn tidy(&self) {
        let now = self.now();
        let stamp = self.timestamp();
        let mut state = self.state();
        for name in std::mem::take(&mut state.chores.definitions) {
            state.tend_definition(&name, &stamp);
        }
        for name in std::mem::take(&mut state.chores.namespaces) {
            state.tend_namespace(&name, now, &stamp);
        }
        for (table, key) in std::mem::take(&mut state.chores.garbage) {
            state.collect(&table, &key, now);
        }
    }

    /// Rounds until nothing waits: for tests that do not care about time.
    pub fn settle(&self) {
        for _ in 0..1000 {
            if self.state().chores.is_empty() {
                return;
            }
            self.tidy();
        }
    }
}
