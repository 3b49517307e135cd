//! CustomResourceDefinitions: accepted, served, and cleaned up after.

use std::sync::Arc;

use serde_json::Value;

use super::super::State;
use super::super::delete::CLEANUP;
use super::super::options::DeleteOptions;
use crate::apply::{self, Writer};
use crate::crd::definition;
use crate::resource::Resource;
use crate::store::Key;

const TABLE: &str = "apiextensions.k8s.io/customresourcedefinitions";

impl State {
    /// Takes a changed definition into use, or out of it. What is served changes with the write itself.
    pub(super) fn refresh_definition(&mut self, name: &str) {
        let live = self.store.get(TABLE, &Key::new("", name)).cloned();
        let served = self.chores.served.get(name).cloned();
        let Some(live) = live else {
            if let Some((group, plural)) = served {
                self.kinds.remove(&group, &plural);
                self.store.drop_table(&format!("{group}/{plural}"));
                self.chores.served.remove(name);
            }
            return;
        };
        if !is_established(&live.value) {
            return;
        }
        let mut before = Vec::new();
        if let Some((group, plural)) = served {
            for version in self.kinds.versions(&group) {
                before.extend(self.kinds.get(&group, version, &plural).cloned());
            }
            self.kinds.remove(&group, &plural);
        }
        let mut place = None;
        for resource in definition::resources_after(&live.value, &before) {
            self.store.open_table(&resource.table);
            place = Some((resource.group.clone(), resource.plural.clone()));
            self.kinds.insert(Arc::new(resource));
        }
        if let Some(place) = place {
            self.chores.served.insert(name.to_owned(), place);
        }
    }

    pub(super) fn tend_definition(&mut self, name: &str, stamp: &str) {
        let key = Key::new("", name);
        let table: Arc<str> = TABLE.into();
        let Some(live) = self.store.get(TABLE, &key).cloned() else { return };
        if live.value["metadata"]["deletionTimestamp"].is_string() {
            self.clean_up(&table, &key, &live.value, stamp);
            return;
        }
        let others: Vec<Value> = self
            .store
            .range(TABLE, None, None)
            .filter(|(other, _)| other.name != name)
            .map(|(_, stored)| stored.value.clone())
            .collect();
        let status = definition::accept(&live.value, &others, stamp);
        self.edit_status(&table, &key, stamp, |object| object["status"] = status);
    }

    /// A change of a definition's status, in the name of the server.
    fn edit_status(
        &mut self,
        table: &Arc<str>,
        key: &Key,
        stamp: &str,
        change: impl FnOnce(&mut Value),
    ) {
        let Some(resource) = self.kinds.of_table(TABLE).cloned() else { return };
        self.edit(table, key, |object| {
            let old = object.clone();
            change(object);
            if *object == old {
                return;
            }
            let writer = Writer {
                manager: "kube-apiserver",
                api_version: "apiextensions.k8s.io/v1",
                subresource: "status",
                now: stamp,
            };
            apply::track(resource.shape.node(), Some(&old), object, &writer);
        });
    }

    fn clean_up(&mut self, table: &Arc<str>, key: &Key, object: &Value, stamp: &str) {
        let finalizers = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        if !finalizers.iter().any(|f| f == CLEANUP) {
            return;
        }
        let group = object["spec"]["group"].as_str().unwrap_or_default();
        let plural = object["spec"]["names"]["plural"].as_str().unwrap_or_default();
        let resource = self.kinds.stored(group, plural).cloned();
        let mut left = 0_usize;
        if let Some(resource) = resource {
            let inside: Vec<_> = self
                .store
                .range(&resource.table, None, None)
                .map(|(key, stored)| (key.clone(), stored.clone()))
                .collect();
            let now = jiff::Timestamp::strptime("%Y-%m-%dT%H:%M:%S%z", stamp.replace('Z', "+0000"))
                .unwrap_or_default();
            for (key, stored) in inside {
                if !stored.value["metadata"]["deletionTimestamp"].is_string() {
                    self.begin_delete(&resource, &key, &stored, &DeleteOptions::default(), now);
                }
                left += usize::from(self.store.get(&resource.table, &key).is_some());
            }
        }
        if left > 0 {
            // The last object to go wakes us again.
            self.edit_status(table, key, stamp, |object| {
                definition::set_condition(
                    object,
                    stamp,
                    ("Terminating", "True", "InstanceDeletionInProgress"),
                    "CustomResource deletion is in progress",
                );
            });
            return;
        }
        self.drop_finalizer(table, key, CLEANUP);
    }

    /// Whether the definition of a custom resource is being deleted.
    pub(in crate::server) fn is_terminating_definition(&self, resource: &Resource) -> bool {
        let name = format!("{}.{}", resource.plural, resource.group);
        self.store
            .get(TABLE, &Key::new("", &name))
            .is_some_and(|stored| stored.value["metadata"]["deletionTimestamp"].is_string())
    }
}

fn is_established(object: &Value) -> bool {
    object["status"]["conditions"].as_array().is_some_and(|list| {
        list.iter().any(|c| c["type"] == "Established" && c["status"] == "True")
    })
}
