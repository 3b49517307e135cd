//! One document: the schemas of a group version and what can be asked of its resources.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value, json};

use super::{custom, descriptions, paths, reference};
use crate::builtin;
use crate::resource::{Resource, Subresource};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// Built-in definitions by the kind that they describe.
static BY_KIND: LazyLock<BTreeMap<(String, String, String), &str>> = LazyLock::new(|| {
    let mut kinds = BTreeMap::new();
    for (name, schema) in builtin::schemas() {
        let described = schema["x-kubernetes-group-version-kind"].as_array();
        for kind in described.into_iter().flatten() {
            let text = |field: &str| kind[field].as_str().unwrap_or_default().to_owned();
            kinds.insert((text("group"), text("version"), text("kind")), name.as_str());
        }
    }
    kinds
});

/// The name of the definition of a built-in kind.
fn definition_of(group: &str, version: &str, kind: &str) -> Option<&'static str> {
    BY_KIND.get(&(group.to_owned(), version.to_owned(), kind.to_owned())).copied()
}

/// The document of a group version with these resources.
pub fn document(group: &str, version: &str, resources: &[&Arc<Resource>]) -> Value {
    let mut schemas = Map::new();
    let mut wanted: BTreeSet<String> =
        ["DeleteOptions", "Patch", "Status"].map(|name| format!("{META}.{name}")).into();
    let mut operations = Map::new();
    let custom = resources.iter().any(|resource| resource.custom);
    if !custom {
        paths::resource_list(group, version, &mut operations);
        wanted.extend(["APIResourceList", "WatchEvent"].map(|name| format!("{META}.{name}")));
    }
    for resource in resources {
        let name = name_of(resource);
        let list = list_name(resource, &name);
        if resource.custom {
            schemas.insert(name.clone(), custom::schema(resource));
            schemas.insert(list.clone(), custom::list(resource, &name));
            wanted.insert(format!("{META}.ListMeta"));
            wanted.insert(format!("{META}.ObjectMeta"));
        } else {
            wanted.insert(name.clone());
            wanted.insert(list.clone());
        }
        let below = |sub: &Subresource| {
            if sub.version.is_empty() {
                definition_of(group, version, &sub.kind).map(str::to_owned)
            } else {
                definition_of(&sub.group, &sub.version, &sub.kind).map(str::to_owned)
            }
            .unwrap_or_else(|| name.clone())
        };
        for sub in &resource.subresources {
            wanted.insert(below(sub));
        }
        paths::of(resource, &name, &list, &below, &mut operations);
    }
    collect(&mut schemas, wanted);
    if !custom {
        // Options and events belong to every group; a document speaks of its own.
        for name in ["DeleteOptions", "WatchEvent"] {
            let mut kinds = vec![json!({ "group": "", "kind": name, "version": "v1" })];
            if !group.is_empty() {
                kinds.push(json!({ "group": group, "kind": name, "version": version }));
            }
            if let Some(schema) = schemas.get_mut(&format!("{META}.{name}")) {
                schema["x-kubernetes-group-version-kind"] = Value::from(kinds);
            }
        }
    }
    let info = if custom {
        json!({ "title": "Kubernetes CRD Swagger", "version": "v0.1.0" })
    } else {
        json!({ "title": "Kubernetes", "version": "1.36" })
    };
    let mut components = json!({ "schemas": schemas });
    if !custom {
        components["securitySchemes"] = json!({ "BearerToken": {
            "type": "apiKey", "name": "authorization", "in": "header",
        }});
    }
    json!({ "openapi": "3.0.0", "info": info, "paths": operations, "components": components })
}

/// What a kind's schema is called: of custom kinds the group backwards.
fn name_of(resource: &Resource) -> String {
    if !resource.custom {
        let named = resource.shape.node().name;
        return named.map_or_else(|| resource.kind.clone(), str::to_owned);
    }
    let backwards: Vec<&str> = resource.group.rsplit('.').collect();
    format!("{}.{}.{}", backwards.join("."), resource.version, resource.kind)
}

fn list_name(resource: &Resource, name: &str) -> String {
    match name.rsplit_once('.') {
        Some((package, _)) => format!("{package}.{}", resource.list_kind),
        None => resource.list_kind.clone(),
    }
}

/// Adds the built-in schemas of these names, and what they refer to.
fn collect(schemas: &mut Map<String, Value>, mut wanted: BTreeSet<String>) {
    while let Some(name) = wanted.pop_first() {
        if schemas.contains_key(&name) {
            continue;
        }
        let Some(schema) = builtin::schemas().get(&name) else { continue };
        let mut schema = schema.clone();
        descriptions::describe(&name, &mut schema);
        refer(&mut schema, &mut wanted);
        schemas.insert(name, schema);
    }
}

/// Writes references as OpenAPI does: what stands beside one makes it an `allOf`.
fn refer(schema: &mut Value, wanted: &mut BTreeSet<String>) {
    match schema {
        Value::Object(map) => {
            if let Some(Value::String(name)) = map.remove("$ref") {
                let target = reference(&name);
                wanted.insert(name);
                if map.is_empty() {
                    *schema = target;
                    return;
                }
                map.insert("allOf".into(), json!([target]));
            }
            for (key, value) in map.iter_mut() {
                if key != "allOf" && key != "default" && key != "enum" {
                    refer(value, wanted);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| refer(item, wanted)),
        _ => {}
    }
}
