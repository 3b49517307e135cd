//! Garbage collection: dependents follow their owners, or are let go.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::State;
use super::super::create::metadata;
use super::super::delete::{FOREGROUND, ORPHAN};
use super::super::options::{DeleteOptions, Propagation};
use super::super::update::is_released;
use crate::store::{Key, Stored};

impl State {
    /// Takes the step that an object's owners, dependents and finalizers allow.
    pub(super) fn collect(&mut self, table: &Arc<str>, key: &Key, now: jiff::Timestamp) {
        let Some(live) = self.store.get(table, key).cloned() else { return };
        if live.value["metadata"]["deletionTimestamp"].is_string() {
            if has_finalizer(&live.value, ORPHAN) {
                self.orphan_dependents(&live, now);
                self.drop_finalizer(table, key, ORPHAN);
                return;
            }
            if has_finalizer(&live.value, FOREGROUND) {
                self.delete_dependents(table, key, &live, now);
                return;
            }
        }
        self.follow_owners(table, key, &live, now);
    }

    fn follow_owners(
        &mut self,
        table: &Arc<str>,
        key: &Key,
        live: &Arc<Stored>,
        now: jiff::Timestamp,
    ) {
        let owners =
            live.value["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
        if owners.is_empty() {
            return;
        }
        let (mut solid, mut waiting) = (0, 0);
        let mut remaining = Vec::new();
        for owner in &owners {
            match self.owner(owner, key) {
                None => {}
                Some(owner_live) => {
                    let deleting = owner_live["metadata"]["deletionTimestamp"].is_string();
                    if deleting && has_finalizer(&owner_live, FOREGROUND) {
                        waiting += 1;
                    } else {
                        solid += 1;
                        remaining.push(owner.clone());
                    }
                }
            }
        }
        if solid > 0 {
            if remaining.len() < owners.len() {
                self.edit_as_collector(table, key, now, |object| {
                    metadata(object).insert("ownerReferences".into(), json!(remaining));
                });
            }
            return;
        }
        if live.value["metadata"]["deletionTimestamp"].is_string() {
            return;
        }
        let propagation = if has_finalizer(&live.value, ORPHAN) {
            Propagation::Orphan
        } else if has_finalizer(&live.value, FOREGROUND)
            || (waiting > 0 && !self.store.dependents(live.uid()).is_empty())
        {
            Propagation::Foreground
        } else {
            Propagation::Background
        };
        let Some(resource) = self.kinds.of_table(table).cloned() else { return };
        let options = DeleteOptions { propagation: Some(propagation), ..DeleteOptions::default() };
        self.begin_delete(&resource, key, live, &options, now);
    }

    /// The live owner that a reference names: same uid, and in the dependent's namespace if it has one.
    fn owner(&self, reference: &Value, dependent: &Key) -> Option<Value> {
        let (_, key, stored) = self.store.by_uid(reference["uid"].as_str()?)?;
        let same_place = key.namespace.is_empty() || key.namespace == dependent.namespace;
        let same_name = reference["name"].as_str() == Some(&key.name);
        let same_kind = reference["kind"] == stored.value["kind"];
        (same_place && same_name && same_kind).then(|| stored.value.clone())
    }

    fn orphan_dependents(&mut self, owner: &Arc<Stored>, now: jiff::Timestamp) {
        for (table, key) in self.store.dependents(owner.uid()) {
            let uid = owner.uid().to_owned();
            self.edit_as_collector(&table, &key, now, |object| {
                let fields = metadata(object);
                if let Some(Value::Array(owners)) = fields.get_mut("ownerReferences") {
                    owners.retain(|reference| reference["uid"] != uid.as_str());
                    if owners.is_empty() {
                        fields.remove("ownerReferences");
                    }
                }
            });
        }
    }

    fn delete_dependents(
        &mut self,
        table: &Arc<str>,
        key: &Key,
        owner: &Arc<Stored>,
        now: jiff::Timestamp,
    ) {
        let mut blocked = false;
        for (dependent_table, dependent_key) in self.store.dependents(owner.uid()) {
            let Some(dependent) = self.store.get(&dependent_table, &dependent_key).cloned() else {
                continue;
            };
            let blocks = dependent.value["metadata"]["ownerReferences"]
                .as_array()
                .into_iter()
                .flatten()
                .any(|reference| {
                    reference["uid"] == owner.uid() && reference["blockOwnerDeletion"] == true
                });
            if !dependent.value["metadata"]["deletionTimestamp"].is_string() {
                self.follow_owners(&dependent_table, &dependent_key, &dependent, now);
            }
            let still_there =
                self.store.get(&dependent_table, &dependent_key).is_some_and(|after| {
                    after.value["metadata"]["ownerReferences"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .any(|reference| reference["uid"] == owner.uid())
                });
            blocked |= blocks && still_there;
        }
        if !blocked {
            self.drop_finalizer(table, key, FOREGROUND);
        }
    }

    pub(super) fn drop_finalizer(&mut self, table: &Arc<str>, key: &Key, finalizer: &str) {
        self.edit(table, key, |object| {
            let fields = metadata(object);
            if let Some(Value::Array(finalizers)) = fields.get_mut("finalizers") {
                finalizers.retain(|f| f != finalizer);
                if finalizers.is_empty() {
                    fields.remove("finalizers");
                }
            }
        });
    }

    /// A write by the garbage collector, which is a client like others: fields it removes have no owner left.
    fn edit_as_collector(
        &mut self,
        table: &Arc<str>,
        key: &Key,
        now: jiff::Timestamp,
        change: impl FnOnce(&mut Value),
    ) {
        let Some(live) = self.store.get(table, key).cloned() else { return };
        let Some(resource) = self.kinds.of_table(table).cloned() else { return };
        let stamp = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        self.edit(table, key, |object| {
            change(object);
            let writer = crate::apply::Writer {
                manager: "kube-controller-manager",
                api_version: &resource.api_version(),
                subresource: "",
                now: &stamp,
            };
            crate::apply::track(resource.shape.node(), Some(&live.value), object, &writer);
        });
    }

    /// A write by the server itself: no admission, no ownership; removes what nothing holds any more.
    pub(super) fn edit(&mut self, table: &Arc<str>, key: &Key, change: impl FnOnce(&mut Value)) {
        let Some(live) = self.store.get(table, key).cloned() else { return };
        let Some(resource) = self.kinds.of_table(table).cloned() else { return };
        let mut object = live.value.clone();
        change(&mut object);
        if object == live.value {
            return;
        }
        if is_released(&resource, &object) {
            self.remove_now(&resource, key, &live, object);
            return;
        }
        let stored = self.store.put(table, key.clone(), object);
        self.after_write(&resource, key, Some(&live), Some(&stored));
    }
}

fn has_finalizer(object: &Value, finalizer: &str) -> bool {
    object["metadata"]["finalizers"]
        .as_array()
        .is_some_and(|list| list.iter().any(|f| f == finalizer))
}
