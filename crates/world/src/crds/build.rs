//! A definition in a few words.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

/// A custom kind with `spec` and `status`, whose unknown fields are kept.
#[derive(Debug, Clone)]
pub struct Definition {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    short_names: Vec<&'static str>,
    namespaced: bool,
    spec: Value,
    status: Value,
    top: Value,
    columns: Vec<Value>,
}

impl Definition {
    /// A namespaced kind.
    pub fn new(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
    ) -> Self {
        Self {
            group,
            version,
            kind,
            plural,
            short_names: Vec::new(),
            namespaced: true,
            spec: json!({}),
            status: json!({}),
            top: json!({}),
            columns: Vec::new(),
        }
    }

    /// The same kind outside namespaces.
    #[must_use]
    pub fn cluster_scoped(mut self) -> Self {
        self.namespaced = false;
        self
    }

    /// With short names.
    #[must_use]
    pub fn short(mut self, names: &[&'static str]) -> Self {
        self.short_names = names.to_vec();
        self
    }

    /// With what is known of `spec`: properties, required, rules.
    #[must_use]
    pub fn spec(mut self, schema: Value) -> Self {
        self.spec = schema;
        self
    }

    /// With what is known of `status`.
    #[must_use]
    pub fn status(mut self, schema: Value) -> Self {
        self.status = schema;
        self
    }

    /// With fields beside `spec` and `status`.
    #[must_use]
    pub fn top(mut self, properties: Value) -> Self {
        self.top = properties;
        self
    }

    /// With a printer column: name, JSON path, type.
    #[must_use]
    pub fn column(mut self, name: &str, path: &str, kind: &str) -> Self {
        self.columns.push(json!({"name": name, "jsonPath": path, "type": kind}));
        self
    }

    /// The definition itself.
    pub fn build(self) -> CustomResourceDefinition {
        let open = |mut schema: Value| {
            schema["type"] = json!("object");
            schema["x-kubernetes-preserve-unknown-fields"] = json!(true);
            schema
        };
        let mut properties = json!({
            "apiVersion": {"type": "string"}, "kind": {"type": "string"},
            "metadata": {"type": "object"}, "spec": open(self.spec), "status": open(self.status),
        });
        if let (Some(all), Some(top)) = (properties.as_object_mut(), self.top.as_object()) {
            all.extend(top.clone());
        }
        // Groups under k8s.io must say that they are approved, or that they are not.
        let annotations = if self.group.ends_with(".k8s.io") {
            json!({"api-approved.kubernetes.io": "unapproved, a stand-in for tests"})
        } else {
            json!({})
        };
        let definition = json!({
            "metadata": {
                "name": format!("{}.{}", self.plural, self.group), "annotations": annotations,
            },
            "spec": {
                "group": self.group,
                "names": {
                    "kind": self.kind, "plural": self.plural,
                    "singular": self.kind.to_lowercase(), "shortNames": self.short_names,
                },
                "scope": if self.namespaced { "Namespaced" } else { "Cluster" },
                "versions": [{
                    "name": self.version, "served": true, "storage": true,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": self.columns,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
                }],
            },
        });
        // Built from literals above; the tests of this folder build every one of them.
        serde_json::from_value(definition).unwrap_or_default()
    }
}
