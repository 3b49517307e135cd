//! `cargo xtask gen`: files that are written by a program and kept in the repository.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use holdfast_api::crds;
use holdfast_world::real::{Cluster, Options};
use serde::Serialize;
use serde_json::Value;

use crate::block_on;
use crate::conformance::real_client;

/// Arguments of `cargo xtask gen`.
#[derive(clap::Args, Clone, Debug)]
pub struct Arguments {
    /// What to write.
    #[arg(value_enum, default_value_t = What::All)]
    what: What,
    /// Write nothing; fail if a file would change.
    #[arg(long)]
    check: bool,
    /// Ask the real server that this kubeconfig leads to; it must have no CRDs.
    #[arg(long, value_name = "FILE")]
    real_kubeconfig: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum What {
    /// All of them.
    All,
    /// `deploy/crds` from the types.
    Crds,
    /// The built-in kinds and schemas of the simulated server, from a real one.
    Schemas,
}

/// Writes or checks the files.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    if arguments.what != What::Schemas {
        definitions(arguments.check)?;
    }
    if arguments.what != What::Crds {
        from_server(arguments.check, arguments.real_kubeconfig.as_deref())?;
    }
    Ok(())
}

/// `deploy/crds` from the types.
pub fn definitions(check: bool) -> Result<(), String> {
    for crd in crds::all() {
        let text = crds::yaml(&crd).map_err(|error| error.to_string())?;
        put(&Path::new("deploy/crds").join(crds::file_name(&crd)), &text, check)?;
    }
    Ok(())
}

/// The built-in kinds and their schemas from a real server.
pub fn from_server(check: bool, kubeconfig: Option<&Path>) -> Result<(), String> {
    let (schemas, resources) = block_on(ask(kubeconfig))??;
    let folder = Path::new("crates/apiserver/src/builtin");
    put(&folder.join("schemas.json"), &schemas, check)?;
    put(&folder.join("resources.json"), &resources, check)
}

fn put(path: &Path, text: &str, check: bool) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let place = root.join(path);
    if std::fs::read_to_string(&place).is_ok_and(|found| found == text) {
        return Ok(());
    }
    if check {
        return Err(format!("{} is out of date: run `cargo xtask gen`", path.display()));
    }
    if let Some(folder) = place.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    println!("writing {}", path.display());
    std::fs::write(&place, text).map_err(|error| format!("{}: {error}", path.display()))
}

async fn ask(kubeconfig: Option<&Path>) -> Result<(String, String), String> {
    let mut cluster = None;
    let client = if let Some(path) = kubeconfig {
        real_client(path).await?
    } else {
        let started = Cluster::start(Options::with([])).await.map_err(|error| error.to_string())?;
        cluster.insert(started).client()
    };
    let schemas = schemas(&client).await?;
    let resources = resources(&client, &schemas).await?;
    let lines: Vec<String> = schemas
        .iter()
        .map(|(name, schema)| format!("{}:{schema}", Value::from(name.as_str())))
        .collect();
    Ok((format!("{{\n{}\n}}\n", lines.join(",\n")), resources))
}

async fn get(client: &kube::Client, path: &str, accept: &str) -> Result<Value, String> {
    let request = http::Request::get(path)
        .header("Accept", accept)
        .body(Vec::new())
        .map_err(|error| error.to_string())?;
    client.request(request).await.map_err(|error| format!("GET {path}: {error}"))
}

/// Every schema that the server publishes for its own groups, without descriptions.
async fn schemas(client: &kube::Client) -> Result<BTreeMap<String, Value>, String> {
    let index = get(client, "/openapi/v3", "application/json").await?;
    let mut schemas = BTreeMap::new();
    for (path, entry) in index["paths"].as_object().into_iter().flatten() {
        let versioned =
            path == "api/v1" || path.starts_with("apis/") && path.matches('/').count() == 2;
        let Some(url) = entry["serverRelativeURL"].as_str().filter(|_| versioned) else { continue };
        let document = get(client, url, "application/json").await?;
        let found = document.pointer("/components/schemas").and_then(Value::as_object);
        for (name, schema) in found.into_iter().flatten() {
            schemas.insert(name.clone(), bare(schema));
        }
    }
    Ok(schemas)
}

/// A schema without its descriptions, its references by name alone.
fn bare(schema: &Value) -> Value {
    let Value::Object(map) = schema else { return schema.clone() };
    let mut result = serde_json::Map::new();
    for (key, value) in map {
        match (key.as_str(), value) {
            // Unions are published, but no server acts on them.
            ("description" | "x-kubernetes-unions", _) => {}
            ("$ref", Value::String(target)) => {
                let name = target.rsplit('/').next().unwrap_or_default();
                result.insert(key.clone(), name.into());
            }
            // A reference that has a default beside it is wrapped, which says nothing more.
            ("allOf", Value::Array(all)) if all.len() == 1 => {
                if let Value::Object(only) = bare(&value[0]) {
                    result.extend(only);
                }
            }
            ("properties", Value::Object(properties)) => {
                let properties: serde_json::Map<String, Value> =
                    properties.iter().map(|(name, one)| (name.clone(), bare(one))).collect();
                result.insert(key.clone(), properties.into());
            }
            ("items" | "additionalProperties" | "not", _) => {
                result.insert(key.clone(), bare(value));
            }
            ("oneOf" | "anyOf" | "allOf", Value::Array(all)) => {
                result.insert(key.clone(), all.iter().map(bare).collect());
            }
            _ => {
                result.insert(key.clone(), value.clone());
            }
        }
    }
    Value::Object(result)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'a> {
    group: &'a str,
    version: &'a str,
    plural: &'a str,
    singular: &'a str,
    kind: &'a str,
    namespaced: bool,
    verbs: &'a Value,
    short_names: Value,
    categories: Value,
    storage_version_hash: &'a str,
    definition: String,
    subresources: Vec<Sub<'a>>,
}

#[derive(Serialize)]
struct Sub<'a> {
    kind: &'a str,
    verbs: &'a Value,
    #[serde(skip_serializing_if = "str::is_empty")]
    group: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    version: &'a str,
    name: &'a str,
}

/// Every resource of the server's own groups, in the order in which it lists them, a line each.
async fn resources(
    client: &kube::Client,
    schemas: &BTreeMap<String, Value>,
) -> Result<String, String> {
    let mut kinds: BTreeMap<(&str, &str, &str), &str> = BTreeMap::new();
    for (name, schema) in schemas {
        for kind in schema["x-kubernetes-group-version-kind"].as_array().into_iter().flatten() {
            kinds.insert((text(kind, "group"), text(kind, "version"), text(kind, "kind")), name);
        }
    }
    let groups = get(client, "/apis", "application/json").await?;
    let mut versions = vec![(String::new(), "v1".to_owned(), "/api/v1".to_owned())];
    for group in groups["groups"].as_array().into_iter().flatten() {
        for version in group["versions"].as_array().into_iter().flatten() {
            let path = format!("/apis/{}", text(version, "groupVersion"));
            versions.push((
                text(group, "name").to_owned(),
                text(version, "version").to_owned(),
                path,
            ));
        }
    }
    let mut lines = Vec::new();
    for (group, version, path) in &versions {
        let list = get(client, path, "application/json").await?;
        let all: Vec<&Value> = list["resources"].as_array().into_iter().flatten().collect();
        for one in all.iter().filter(|one| !text(one, "name").contains('/')) {
            let listed = listed(group, version, one, &all, &kinds);
            lines.push(serde_json::to_string(&listed).map_err(|error| error.to_string())?);
        }
    }
    Ok(format!("[\n{}\n]\n", lines.join(",\n")))
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn listed<'a>(
    group: &'a str,
    version: &'a str,
    one: &'a Value,
    all: &[&'a Value],
    kinds: &BTreeMap<(&str, &str, &str), &str>,
) -> Listed<'a> {
    let plural = text(one, "name");
    let list =
        |key: &str| if one[key].is_array() { one[key].clone() } else { Value::Array(Vec::new()) };
    let subresources = all.iter().filter_map(|sub| {
        let name = text(sub, "name").strip_prefix(plural)?.strip_prefix('/')?;
        Some(Sub {
            kind: text(sub, "kind"),
            verbs: &sub["verbs"],
            group: text(sub, "group"),
            version: text(sub, "version"),
            name,
        })
    });
    let kind = text(one, "kind");
    let definition = kinds.get(&(group, version, kind)).map(|name| (*name).to_owned());
    Listed {
        group,
        version,
        plural,
        singular: text(one, "singularName"),
        kind,
        namespaced: one["namespaced"] == true,
        verbs: &one["verbs"],
        short_names: list("shortNames"),
        categories: list("categories"),
        storage_version_hash: text(one, "storageVersionHash"),
        definition: definition.unwrap_or_default(),
        subresources: subresources.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_bare_schema_keeps_a_property_that_is_called_description() {
        let schema = json!({"description": "text", "properties": {
            "description": {"type": "string", "description": "text"},
            "spec": {"allOf": [{"$ref": "#/components/schemas/a.b.Spec"}], "default": {}},
            "list": {"items": {"description": "text", "type": "string"}},
        }});
        assert_eq!(
            bare(&schema),
            json!({"properties": {
                "description": {"type": "string"},
                "spec": {"$ref": "a.b.Spec", "default": {}},
                "list": {"items": {"type": "string"}},
            }})
        );
    }
}
