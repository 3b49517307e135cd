//! `/scale`: the replica count of an object, and who owns it.

use std::sync::Arc;

use serde_json::{Value, json};

use super::create::{Writing, body_media, metadata};
use super::options::{Asked, WriteOptions};
use super::respond::{Answer, negotiate};
use super::route::Place;
use super::update::Proposal;
use super::{Call, Server, apply as applied};
use crate::apply::{self, FieldSet, Writer};
use crate::builtin;
use crate::fields::{FieldError, Path};
use crate::resource::{Resource, Scale};
use crate::schema::{Node, Shape};
use crate::status::Failure;
use crate::{decode, patch, selector};

const API_VERSION: &str = "autoscaling/v1";

impl Server {
    pub(super) async fn scale(
        &self,
        call: &Call,
        place: &Place,
        resource: &Arc<Resource>,
        verb: &str,
    ) -> Result<Answer, Failure> {
        let Some(paths) = &resource.scale else { return Err(Failure::unknown_resource()) };
        let live = self.find(resource, place)?;
        if verb == "get" {
            if resource.custom && get_path(&live.value, &paths.spec_replicas).is_none() {
                return Err(without_count(paths));
            }
            negotiate(&call.headers)?;
            return Ok(Answer::ok(scale_of(resource, paths, &live.value)));
        }
        let name = place.name.as_deref().unwrap_or_default();
        let applies = call.content_type() == "application/apply-patch+yaml";
        let asked = if verb == "update" { Asked::Update } else { Asked::Patch(applies) };
        let options = WriteOptions::read(&call.query, asked, call.agent())?;
        let mut writing = Writing {
            call,
            resource,
            namespace: place.namespace.as_deref().unwrap_or_default(),
            subresource: "scale",
            options,
            warnings: Vec::new(),
        };
        let now = self.timestamp();
        let manager = writing.options.manager.clone();
        let writer =
            Writer { manager: &manager, api_version: API_VERSION, subresource: "scale", now: &now };
        let force = writing.options.force;
        let validation = writing.validation();
        let namespace = writing.namespace.to_owned();
        let kind = scale_kind(resource);
        let media =
            if verb == "update" { body_media(call, resource.custom)? } else { decode::Media::Json };
        let warnings = std::sync::Mutex::new(Vec::new());
        let told = |decoded: decode::Decoded| {
            if let Ok(mut warnings) = warnings.lock() {
                *warnings = decoded.warnings;
            }
            decoded.object
        };
        let next_of = |current: &Value| -> Result<Value, Failure> {
            let style = match (verb, call.content_type()) {
                ("update", _) => {
                    return Ok(told(decode::object(&kind, &call.body, media, validation)?));
                }
                (_, "application/json-patch+json") => patch::Style::Json,
                (_, "application/merge-patch+json") => patch::Style::Merge,
                (_, "application/strategic-merge-patch+json") if !resource.custom => {
                    patch::Style::Strategic
                }
                _ if applies => {
                    let config = told(decode::applied(&call.body, validation)?);
                    let mut next = apply_scale(resource, current, &config, &writer, force)?;
                    applied::check_place(resource, &mut next, &namespace, name)?;
                    return Ok(next);
                }
                _ => {
                    let failure =
                        Failure::new(415, "UnsupportedMediaType", "415: Unsupported Media Type");
                    return Err(failure.with_details(json!({})));
                }
            };
            Ok(told(patch::apply(style, &kind, current, &call.body, validation)?))
        };
        let api_version = resource.api_version();
        let path: Vec<&str> = parts(&paths.spec_replicas).collect();
        let object = self
            .change(&mut writing, name, &|live| {
                let mut current = scale_of(resource, paths, live);
                if let Some(entries) = apply::scale_entries(live, &path) {
                    metadata(&mut current).insert("managedFields".into(), entries);
                }
                let mut next = next_of(&current)?;
                if !applies && let Some(shape) = shape() {
                    apply::track(shape, Some(&current), &mut next, &writer);
                }
                check_scale(resource, name, &next)?;
                let mut object = live.clone();
                let replicas = next["spec"].get("replicas").cloned().unwrap_or(json!(0));
                set_path(&mut object, &paths.spec_replicas, replicas);
                let entries = apply::parent_entries(live, &next, &path, &api_version);
                let fields = metadata(&mut object);
                match entries {
                    Some(entries) => drop(fields.insert("managedFields".into(), entries)),
                    None => drop(fields.remove("managedFields")),
                }
                match next["metadata"]["resourceVersion"].as_str() {
                    Some(revision) if !revision.is_empty() => {
                        fields.insert("resourceVersion".into(), json!(revision));
                    }
                    _ => drop(fields.remove("resourceVersion")),
                }
                Ok(Proposal { object, tracked: true, replaced: false })
            })
            .await?;
        writing.warnings.extend(warnings.into_inner().unwrap_or_default());
        Ok(Answer::ok(scale_of(resource, paths, &object)).warned(writing.warnings))
    }
}

fn shape() -> Option<Node<'static>> {
    builtin::definitions().get("io.k8s.api.autoscaling.v1.Scale")
}

/// A configuration laid over a scale.
fn apply_scale(
    resource: &Resource,
    current: &Value,
    config: &Value,
    writer: &Writer<'_>,
    force: bool,
) -> Result<Value, Failure> {
    let Some(shape) = shape() else { return Err(Failure::unknown_resource()) };
    let none = FieldSet::default();
    let next = apply::apply_except(shape, Some(current), config, writer, force, &none)?;
    // The real server cannot turn an applied scale of a custom resource back into one.
    if resource.custom && next["spec"] != current["spec"] {
        let text = |field: &str| config["metadata"][field].as_str().unwrap_or_default().to_owned();
        return Err(Failure::internal_plain(format!(
            "failed to convert new object ({}/{}; autoscaling/v1, Kind=Scale) to proper version: request to convert CR to an invalid group/version: autoscaling/v1",
            text("namespace"),
            text("name"),
        )));
    }
    Ok(next)
}

/// The resource that a scale's body is decoded as.
fn scale_kind(resource: &Resource) -> Resource {
    Resource {
        group: "autoscaling".into(),
        version: "v1".into(),
        kind: "Scale".into(),
        shape: Shape::anything(),
        custom: false,
        custom_kind: None,
        ..resource.clone()
    }
}

fn without_count(paths: &Scale) -> Failure {
    let why = format!("the spec replicas field {:?} does not exist", paths.spec_replicas);
    Failure::new(500, "InternalError", format!("Internal error occurred: {why}"))
        .with_details(json!({"causes": [{"message": why}]}))
}

fn scale_of(resource: &Resource, paths: &Scale, object: &Value) -> Value {
    let mut spec = json!({});
    let replicas = get_path(object, &paths.spec_replicas);
    if let Some(count) = replicas.and_then(Value::as_i64).filter(|count| *count != 0) {
        spec["replicas"] = json!(count);
    }
    let mut status = json!({
        "replicas": get_path(object, &paths.status_replicas).and_then(Value::as_i64).unwrap_or(0),
    });
    if let Some(found) = paths.selector.as_deref().and_then(|path| get_path(object, path)) {
        let text = match found {
            Value::String(text) => text.clone(),
            // ReplicationController: a plain map
            Value::Object(map) if resource.kind == "ReplicationController" => map
                .iter()
                .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
                .collect::<Vec<_>>()
                .join(","),
            other => selector::Labels::from_object(other).to_string(),
        };
        if !text.is_empty() {
            status["selector"] = json!(text);
        }
    }
    let from = &object["metadata"];
    let mut metadata = json!({});
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if !from[field].is_null() {
            metadata[field] = from[field].clone();
        }
    }
    json!({
        "kind": "Scale", "apiVersion": API_VERSION,
        "metadata": metadata, "spec": spec, "status": status,
    })
}

fn check_scale(resource: &Resource, name: &str, scale: &Value) -> Result<(), Failure> {
    let version = scale["apiVersion"].as_str().unwrap_or("autoscaling/v1");
    if version != "autoscaling/v1" {
        return Err(Failure::bad_request(format!(
            "Scale in version \"v1\" cannot be handled as a Scale: no kind \"Scale\" is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
        )));
    }
    let replicas = scale["spec"]["replicas"].as_i64().unwrap_or_default();
    if replicas >= 0 {
        return Ok(());
    }
    Err(if resource.custom {
        let error = FieldError::invalid(
            &Path::new(".spec.replicas"),
            &json!(replicas),
            "should be a non-negative integer",
        );
        Failure::invalid(&resource.group, &resource.kind, name, &[error])
    } else {
        let error = FieldError::invalid(
            &Path::new("spec.replicas"),
            &json!(replicas),
            "must be greater than or equal to 0",
        );
        Failure::invalid("autoscaling", "Scale", name, &[error])
    })
}

fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('.').filter(|part| !part.is_empty())
}

/// The value at a simple path such as `.spec.replicas`.
fn get_path<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    parts(path).try_fold(object, |at, part| at.get(part))
}

fn set_path(object: &mut Value, path: &str, value: Value) {
    let mut at = object;
    for part in parts(path) {
        if !at.is_object() {
            *at = json!({});
        }
        at = &mut at[part];
    }
    *at = value;
}
