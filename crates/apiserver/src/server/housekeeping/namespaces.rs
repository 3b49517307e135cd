//! Namespaces: what a new one is given, and how one ends.

use serde_json::{Value, json};

use super::super::State;
use super::super::options::{DeleteOptions, Propagation};
use crate::store::Key;

impl State {
    pub(super) fn tend_namespace(&mut self, name: &str, now: jiff::Timestamp, stamp: &str) {
        let key = Key::new("", name);
        let Some(namespace) = self.store.get("/namespaces", &key).cloned() else { return };
        if !namespace.value["metadata"]["deletionTimestamp"].is_string() {
            self.furnish(name, stamp);
            return;
        }
        let options = DeleteOptions {
            propagation: Some(Propagation::Background),
            ..DeleteOptions::default()
        };
        let mut left = 0_usize;
        let resources: Vec<_> = self
            .kinds
            .all_stored()
            .filter(|r| r.namespaced && r.group != "events.k8s.io")
            .cloned()
            .collect();
        for resource in resources {
            let inside: Vec<_> = self
                .store
                .range(&resource.table, Some(name), None)
                .map(|(key, stored)| (key.clone(), stored.clone()))
                .collect();
            for (key, stored) in inside {
                if !stored.value["metadata"]["deletionTimestamp"].is_string() {
                    self.begin_delete(&resource, &key, &stored, &options, now);
                }
                if self.store.get(&resource.table, &key).is_some() {
                    left += 1;
                }
            }
        }
        let table = "/namespaces".into();
        if left > 0 {
            // The last object to go wakes us again.
            return;
        }
        self.edit(&table, &key, |object| {
            object["spec"] = json!({});
        });
    }

    /// The objects that controllers put into every namespace.
    fn furnish(&mut self, namespace: &str, stamp: &str) {
        let system = |name: &str, uid: String| {
            json!({
                "name": name, "namespace": namespace, "uid": uid, "creationTimestamp": stamp,
            })
        };
        let key = Key::new(namespace, "default");
        if self.store.get("/serviceaccounts", &key).is_none() {
            let metadata = system("default", self.uid());
            let account =
                json!({ "kind": "ServiceAccount", "apiVersion": "v1", "metadata": metadata });
            self.store.put(&"/serviceaccounts".into(), key, account);
        }
        let key = Key::new(namespace, "kube-root-ca.crt");
        if self.store.get("/configmaps", &key).is_none() {
            let mut metadata = system("kube-root-ca.crt", self.uid());
            metadata["annotations"] = json!({
                "kubernetes.io/description": "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.",
            });
            let bundle = json!({
                "kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata,
                "data": { "ca.crt": Value::from("") },
            });
            self.store.put(&"/configmaps".into(), key, bundle);
        }
    }
}
