//! What a cluster starts with.

use serde_json::{Value, json};

use super::super::Server;
use crate::rbac;
use crate::store::Key;

impl Server {
    /// Puts in place what is there before the first request.
    pub(in crate::server) fn bootstrap(&self) {
        let stamp = self.timestamp();
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            self.plant(
                "/namespaces",
                json!({
                    "kind": "Namespace", "apiVersion": "v1",
                    "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
                    "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"},
                }),
                &stamp,
            );
            self.state().chores.namespaces.insert(name.to_owned());
        }
        for object in rbac::defaults() {
            let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
            self.plant(&format!("rbac.authorization.k8s.io/{kind}s"), object.clone(), &stamp);
        }
        for (name, value) in
            [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)]
        {
            self.plant(
                "scheduling.k8s.io/priorityclasses",
                json!({
                    "kind": "PriorityClass", "apiVersion": "scheduling.k8s.io/v1",
                    "metadata": {"name": name, "generation": 1},
                    "value": value, "preemptionPolicy": "PreemptLowerPriority",
                }),
                &stamp,
            );
        }
        self.plant(
            "/services",
            json!({
                "kind": "Service", "apiVersion": "v1",
                "metadata": {
                    "name": "kubernetes", "namespace": "default",
                    "labels": {"component": "apiserver", "provider": "kubernetes"},
                },
                "spec": {
                    "clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1"], "type": "ClusterIP",
                    "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
                    "sessionAffinity": "None", "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
                    "internalTrafficPolicy": "Cluster",
                },
                "status": {"loadBalancer": {}},
            }),
            &stamp,
        );
        self.state().addresses.insert("10.96.0.1".into());
    }

    fn plant(&self, table: &str, mut object: Value, stamp: &str) {
        let mut state = self.state();
        object["metadata"]["uid"] = json!(state.uid());
        object["metadata"]["creationTimestamp"] = json!(stamp);
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let key = Key::new(&text("namespace"), &text("name"));
        state.store.put(&table.into(), key, object);
    }
}
