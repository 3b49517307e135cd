//! CustomResourceDefinitions: what one may say, and what it makes the server serve.

mod names;
mod openapi;
mod paths;
mod spec;
mod structural;

use std::sync::Arc;

use serde_json::{Map, Value, json};

pub use names::{accept, set_condition};
pub(super) use paths::field_path;

use super::rules::Rules;
use crate::builtin::{Generation, Strategy, format};
use crate::fields::{FieldError, Path};
use crate::resource::{CustomKind, Resource, Scale, Subresource};
use crate::schema::{Schema, Shape};

/// The rules of the kind CustomResourceDefinition itself.
pub const STRATEGY: Strategy = Strategy {
    defaults: default,
    prepare_create,
    prepare_update,
    validate: validate_create,
    validate_update,
    generation: Generation::Spec,
    revalidate: false,
    unconditional_update: false,
    validate_status,
    ..Strategy::PLAIN
};

/// Fills absent fields.
pub fn default(definition: &mut Value) {
    let Some(spec) = definition.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) {
        let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        let empty = |names: &Map<String, Value>, field: &str| {
            names.get(field).and_then(Value::as_str).unwrap_or_default().is_empty()
        };
        if empty(names, "singular") && !kind.is_empty() {
            names.insert("singular".into(), json!(kind.to_lowercase()));
        }
        if empty(names, "listKind") && !kind.is_empty() {
            names.insert("listKind".into(), json!(format!("{kind}List")));
        }
    }
    if spec.get("conversion").is_none_or(Value::is_null) {
        spec.insert("conversion".into(), json!({ "strategy": "None" }));
    }
    // False is the only value left, and it is not written.
    if spec.get("preserveUnknownFields") == Some(&Value::Bool(false)) {
        spec.remove("preserveUnknownFields");
    }
    if let Some(service) = spec
        .get_mut("conversion")
        .and_then(|conversion| conversion.pointer_mut("/webhook/clientConfig/service"))
        .and_then(Value::as_object_mut)
    {
        service.entry("port").or_insert(json!(443));
    }
}

fn storage_version(definition: &Value) -> Option<&str> {
    versions(definition).iter().find(|version| version["storage"] == true)?["name"].as_str()
}

fn versions(definition: &Value) -> &[Value] {
    definition["spec"]["versions"].as_array().map_or(&[], Vec::as_slice)
}

fn prepare_create(definition: &mut Value) {
    let stored: Vec<Value> = storage_version(definition).map(Value::from).into_iter().collect();
    definition["status"] = json!({
        "conditions": null,
        "acceptedNames": { "plural": "", "kind": "" },
        "storedVersions": if stored.is_empty() { Value::Null } else { stored.into() },
    });
}

fn prepare_update(definition: &mut Value, _old: &Value) {
    let Some(storage) = storage_version(definition).map(str::to_owned) else { return };
    if let Some(stored) = definition["status"]["storedVersions"].as_array_mut()
        && !stored.iter().any(|version| *version == storage.as_str())
    {
        stored.push(json!(storage));
    }
}

/// What is wrong with a new definition.
pub fn validate_create(definition: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let name = definition["metadata"]["name"].as_str().unwrap_or_default();
    let spec = &definition["spec"];
    let wanted = format!("{}.{}", text(&spec["names"]["plural"]), text(&spec["group"]));
    if name != wanted && !name.is_empty() {
        errors.push(FieldError::invalid(
            &Path::new("metadata.name"),
            &json!(name),
            "must be spec.names.plural+\".\"+spec.group",
        ));
    }
    errors.extend(spec::validate(spec, None));
    errors.extend(status(definition));
    errors.extend(approval(definition, None));
    errors
}

/// What is wrong with a change of a definition.
pub fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = spec::validate(&new["spec"], Some(&old["spec"]));
    let established = names::condition(old, "Established").is_some_and(|c| c["status"] == "True");
    let mut immutable = |path: &str| {
        let field = format!("spec.{path}");
        let pointer = format!("/spec/{}", path.replace('.', "/"));
        let (before, after) = (old.pointer(&pointer), new.pointer(&pointer));
        if before != after {
            errors.push(FieldError::invalid(
                &Path::new(field),
                after.unwrap_or(&json!("")),
                "field is immutable",
            ));
        }
    };
    if established {
        immutable("scope");
        immutable("names.kind");
    }
    immutable("group");
    immutable("names.plural");
    errors.extend(status(new));
    errors.extend(approval(new, Some(old)));
    errors
}

fn validate_status(new: &Value, _old: &Value) -> Vec<FieldError> {
    spec::validate_names(&new["status"]["acceptedNames"], &Path::new("status.acceptedNames"))
}

fn status(definition: &Value) -> Vec<FieldError> {
    let mut errors = validate_status(definition, &Value::Null);
    let stored = definition["status"]["storedVersions"].as_array().cloned().unwrap_or_default();
    let field = Path::new("status.storedVersions");
    if stored.is_empty() {
        errors.push(FieldError::invalid_shown(
            &field,
            "null".into(),
            "must have at least one stored version",
        ));
        return errors;
    }
    for version in versions(definition) {
        if version["storage"] == true && !stored.contains(&version["name"]) {
            errors.push(FieldError::invalid(
                &field,
                &Value::Array(stored.clone()),
                format!("must have the storage version {}", text(&version["name"])),
            ));
        }
    }
    for (index, name) in stored.iter().enumerate() {
        if !versions(definition).iter().any(|version| version["name"] == *name) {
            let v = text(name);
            errors.push(FieldError::invalid(
                &field.index(index),
                name,
                format!("missing from spec.versions; {v} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {v} and removes {v} from status.storedVersions"),
            ));
        }
    }
    errors
}

const APPROVED: &str = "api-approved.kubernetes.io";

/// Groups of the Kubernetes community need a sign of approval.
fn approval(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let group = text(&new["spec"]["group"]);
    let protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group == *domain || group.ends_with(&format!(".{domain}")));
    if !protected {
        return Vec::new();
    }
    let said =
        |object: &Value| object["metadata"]["annotations"][APPROVED].as_str().map(str::to_owned);
    let is_url = |text: &str| text.starts_with("http") && text.contains("://");
    let state = |said: &Option<String>| match said.as_deref() {
        None | Some("") => 0,
        Some(text) if text.starts_with("unapproved") => 1,
        Some(text) if is_url(text) => 2,
        Some(_) => 3,
    };
    let now = said(new);
    if old.is_some_and(|old| state(&said(old)) == state(&now)) {
        return Vec::new();
    }
    let field = Path::new("metadata.annotations").key(APPROVED);
    match state(&now) {
        0 => vec![FieldError::required(
            &field,
            "protected groups must have approval annotation \"api-approved.kubernetes.io\", see https://github.com/kubernetes/enhancements/pull/1111",
        )],
        3 => vec![FieldError::invalid(
            &field,
            &json!(now),
            "protected groups must have approval annotation \"api-approved.kubernetes.io\" with either a URL or a reason starting with \"unapproved\", see https://github.com/kubernetes/enhancements/pull/1111",
        )],
        _ => Vec::new(),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(|v| text(v).to_owned()).collect()
}

/// A name without dots that begins with a letter.
pub(super) fn label_1035(name: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if name.len() > 63 {
        wrong.push("must be no more than 63 characters".to_owned());
    }
    let held =
        super::pattern::compiled("^[a-z]([-a-z0-9]*[a-z0-9])?$").is_some_and(|p| p.is_match(name));
    if !held {
        wrong.push("a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')".to_owned());
    }
    wrong
}

/// A domain name.
fn subdomain(name: &str) -> Vec<String> {
    format::dns_subdomain(name)
}

/// The schema of a version as the rest of the server walks it. Nulls are no values there.
pub(super) fn schema(version: &Value) -> Schema {
    let mut json = version["schema"]["openAPIV3Schema"].clone();
    drop_nulls(&mut json);
    serde_json::from_value(json).unwrap_or_default()
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            // `default: null` and enum values are data, not absent keywords.
            fields.retain(|name, inner| !inner.is_null() || name == "default");
            for (name, inner) in fields {
                if !matches!(name.as_str(), "default" | "enum" | "example") {
                    drop_nulls(inner);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// The constant by which discovery tells stored forms apart.
fn storage_hash(group: &str, version: &str, kind: &str) -> String {
    use base64::Engine as _;
    use sha2::Digest as _;
    let digest = sha2::Sha256::digest(format!("{group}/{version}/{kind}"));
    base64::engine::general_purpose::STANDARD.encode(&digest[..8])
}

/// What a definition serves after it changed.
///
/// `before` says what it served until now: where a schema differs, objects may have its earlier form.
pub fn resources_after(definition: &Value, before: &[Arc<Resource>]) -> Vec<Resource> {
    let mut now = resources(definition);
    for resource in &mut now {
        let earlier = before.iter().find(|earlier| earlier.version == resource.version);
        let changed = match earlier {
            Some(earlier) => {
                earlier.reshaped() || earlier.shape.node().schema != resource.shape.node().schema
            }
            None => before.first().is_some_and(|earlier| earlier.reshaped()),
        };
        if changed && let Some(kind) = &resource.custom_kind {
            let kind = CustomKind { reshaped: true, ..(**kind).clone() };
            resource.custom_kind = Some(Arc::new(kind));
        }
    }
    now
}

/// What a definition serves: one resource per served version.
pub fn resources(definition: &Value) -> Vec<Resource> {
    let spec = &definition["spec"];
    let storage = storage_version(definition).unwrap_or_default();
    versions(definition)
        .iter()
        .filter(|version| version["served"] == true)
        .map(|version| resource(definition, spec, version, storage))
        .collect()
}

fn resource(definition: &Value, spec: &Value, version: &Value, storage: &str) -> Resource {
    let names = &spec["names"];
    let (group, plural, kind) =
        (text(&spec["group"]), text(&names["plural"]), text(&names["kind"]));
    let below = &version["subresources"];
    let verbs: Vec<String> = ["get", "patch", "update"].map(str::to_owned).to_vec();
    let mut subresources = Vec::new();
    if !below["status"].is_null() {
        subresources.push(Subresource {
            name: "status".into(),
            kind: kind.to_owned(),
            verbs: verbs.clone(),
            group: String::new(),
            version: String::new(),
        });
    }
    let scale = below["scale"].as_object().map(|scale| {
        let path = |name: &str| scale.get(name).and_then(Value::as_str);
        subresources.push(Subresource {
            name: "scale".into(),
            kind: "Scale".into(),
            verbs,
            group: "autoscaling".into(),
            version: "v1".into(),
        });
        Scale {
            spec_replicas: path("specReplicasPath").unwrap_or_default().to_owned(),
            status_replicas: path("statusReplicasPath").unwrap_or_default().to_owned(),
            selector: path("labelSelectorPath").filter(|path| !path.is_empty()).map(str::to_owned),
        }
    });
    let shape = Shape::own(Arc::default(), schema(version));
    let rules = Rules::compile(shape.node(), true);
    Resource {
        group: group.to_owned(),
        version: text(&version["name"]).to_owned(),
        kind: kind.to_owned(),
        list_kind: text(&names["listKind"]).to_owned(),
        plural: plural.to_owned(),
        singular: text(&names["singular"]).to_owned(),
        short_names: texts(&names["shortNames"]),
        categories: texts(&names["categories"]),
        namespaced: spec["scope"] == "Namespaced",
        verbs: ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
            .map(str::to_owned)
            .to_vec(),
        status: !below["status"].is_null(),
        scale,
        shape,
        custom: true,
        storage: version["storage"] == true,
        table: format!("{group}/{plural}").into(),
        storage_version_hash: storage_hash(group, storage, kind),
        subresources,
        custom_kind: Some(Arc::new(CustomKind {
            columns: version["additionalPrinterColumns"].as_array().cloned().unwrap_or_default(),
            selectable_fields: version["selectableFields"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|field| text(&field["jsonPath"]).to_owned())
                .collect(),
            storage_version: storage.to_owned(),
            uid: text(&definition["metadata"]["uid"]).to_owned(),
            reshaped: false,
            schema: version["schema"]["openAPIV3Schema"].clone(),
            rules,
        })),
    }
}

#[cfg(test)]
mod tests;
