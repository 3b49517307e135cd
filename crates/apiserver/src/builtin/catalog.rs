//! The built-in kinds: their names for discovery and their schemas.
//!
//! Both files are generated from a real kube-apiserver (`cargo xtask gen`), without its descriptions.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::resource::{Resource, Scale, Subresource};
use crate::schema::{Definitions, Schema, Shape};

static DEFINITIONS: LazyLock<Arc<Definitions>> = LazyLock::new(|| {
    let schemas: BTreeMap<String, Schema> =
        serde_json::from_str(include_str!("schemas.json")).unwrap_or_default();
    Arc::new(Definitions::new(schemas))
});

static SCHEMAS: LazyLock<Map<String, Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("schemas.json")).unwrap_or_default());

static RESOURCES: LazyLock<Vec<Arc<Resource>>> = LazyLock::new(|| {
    let listed: Vec<Listed> =
        serde_json::from_str(include_str!("resources.json")).unwrap_or_default();
    listed.into_iter().map(|one| Arc::new(one.resource())).collect()
});

/// The schemas of all built-in kinds, by definition name (`io.k8s.api.core.v1.Pod`).
pub fn definitions() -> &'static Arc<Definitions> {
    &DEFINITIONS
}

/// The same schemas as they are written, for those who pass them on.
pub fn schemas() -> &'static Map<String, Value> {
    &SCHEMAS
}

/// All built-in resources, in discovery's order.
pub fn resources() -> &'static [Arc<Resource>] {
    &RESOURCES
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    group: String,
    version: String,
    plural: String,
    singular: String,
    kind: String,
    namespaced: bool,
    verbs: Vec<String>,
    short_names: Vec<String>,
    categories: Vec<String>,
    storage_version_hash: String,
    definition: String,
    subresources: Vec<Subresource>,
}

impl Listed {
    fn resource(self) -> Resource {
        let has = |name: &str| self.subresources.iter().any(|s| s.name == name);
        let scale = has("scale").then(|| Scale {
            spec_replicas: ".spec.replicas".into(),
            status_replicas: ".status.replicas".into(),
            selector: Some(".spec.selector".into()),
        });
        let storage = !matches!(
            (self.group.as_str(), self.version.as_str()),
            ("autoscaling", "v1") | ("events.k8s.io", _)
        );
        let table = match (self.group.as_str(), self.plural.as_str()) {
            ("events.k8s.io", "events") => "/events".to_owned(),
            (group, plural) => format!("{group}/{plural}"),
        };
        Resource {
            list_kind: format!("{}List", self.kind),
            status: has("status"),
            shape: Shape::named(definitions().clone(), &self.definition)
                .unwrap_or_else(Shape::anything),
            scale,
            custom: false,
            storage,
            table: table.into(),
            group: self.group,
            version: self.version,
            kind: self.kind,
            plural: self.plural,
            singular: self.singular,
            short_names: self.short_names,
            categories: self.categories,
            namespaced: self.namespaced,
            verbs: self.verbs,
            storage_version_hash: self.storage_version_hash,
            subresources: self.subresources,
            custom_kind: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_kind_has_a_schema_with_metadata() {
        assert_eq!(resources().len(), 68);
        for resource in resources() {
            let node = resource.shape.node();
            assert!(
                node.property("metadata").is_some() || node.property("kind").is_some(),
                "{} has no schema",
                resource.plural
            );
        }
    }

    #[test]
    fn references_are_followed_to_the_end() {
        let pod = definitions().get("io.k8s.api.core.v1.Pod").unwrap();
        let containers = pod.property("spec").and_then(|s| s.property("containers")).unwrap();
        assert_eq!(containers.schema.list_map_keys, ["name"]);
        assert_eq!(containers.items().and_then(Node::type_of), Some("Container"));
    }

    use crate::schema::Node;
}
