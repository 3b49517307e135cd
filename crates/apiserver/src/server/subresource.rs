//! What lies below an object: status, scale, binding, eviction, logs.

use std::sync::Arc;

use serde_json::{Value, json};

use super::create::{Writing, body_media, metadata, text};
use super::options::{Asked, DeleteOptions, WriteOptions};
use super::respond::{Answer, negotiate};
use super::route::Place;
use super::update::Proposal;
use super::{Call, Server};
use crate::fields::{FieldError, Path};
use crate::resource::{Resource, Scale};
use crate::schema::Shape;
use crate::status::Failure;
use crate::store::{Key, Stored};
use crate::{decode, patch, selector};

impl Server {
    pub(super) async fn subresource(
        &self,
        call: &Call,
        place: &Place,
        resource: &Arc<Resource>,
        verb: &str,
    ) -> Result<Answer, Failure> {
        let name = place.name.as_deref().unwrap_or_default();
        let Some(listed) = resource.subresources.iter().find(|s| s.name == place.subresource)
        else {
            return Err(if resource.custom {
                Failure::not_found(&resource.group, &resource.plural, name)
            } else {
                Failure::unknown_resource()
            });
        };
        if !listed.verbs.iter().any(|v| v == verb) {
            return Err(Failure::method_not_allowed());
        }
        match (place.subresource.as_str(), verb) {
            ("status" | "finalize" | "approval" | "resize" | "ephemeralcontainers", "get") => {
                self.get(call, place, resource)
            }
            ("status" | "finalize" | "approval" | "resize" | "ephemeralcontainers", "update") => {
                self.put(call, place, resource).await
            }
            ("status" | "finalize" | "approval" | "resize" | "ephemeralcontainers", "patch") => {
                self.patch(call, place, resource).await
            }
            ("scale", _) => self.scale(call, place, resource, verb).await,
            ("binding", "create") => self.bind(call, place, resource).await,
            ("eviction", "create") => self.evict(call, place, resource).await,
            ("log", "get") => self.logs(call, place, resource),
            ("token", "create") => Ok(Answer::with(201, self.service_account_token(call, place))),
            _ => Err(Failure::new(
                501,
                "NotImplemented",
                format!(
                    "this cluster is simulated: nothing runs in its pods, so {} has nothing to connect to",
                    place.subresource
                ),
            )),
        }
    }

    async fn scale(
        &self,
        call: &Call,
        place: &Place,
        resource: &Arc<Resource>,
        verb: &str,
    ) -> Result<Answer, Failure> {
        let Some(paths) = &resource.scale else { return Err(Failure::unknown_resource()) };
        let live = self.find(resource, place)?;
        let shown = scale_of(resource, paths, &live)?;
        if verb == "get" {
            negotiate(&call.headers)?;
            return Ok(Answer::ok(shown));
        }
        let name = place.name.as_deref().unwrap_or_default();
        let apply = call.content_type() == "application/apply-patch+yaml";
        let asked = if verb == "update" { Asked::Update } else { Asked::Patch(apply) };
        let options = WriteOptions::read(&call.query, asked, call.agent())?;
        let mut writing = Writing {
            call,
            resource,
            namespace: place.namespace.as_deref().unwrap_or_default(),
            subresource: "scale",
            options,
            warnings: Vec::new(),
        };
        let body = call.body.clone();
        let validation = writing.validation();
        let kind = scale_kind(resource);
        let media = if verb == "update" { body_media(call)? } else { decode::Media::Json };
        let wanted = |current: &Value| -> Result<decode::Decoded, Failure> {
            let style = match (verb, call.content_type()) {
                ("update", _) => return decode::object(&kind, &body, media, validation),
                (_, "application/json-patch+json") => patch::Style::Json,
                (_, "application/merge-patch+json") => patch::Style::Merge,
                (_, "application/strategic-merge-patch+json") if !resource.custom => {
                    patch::Style::Strategic
                }
                (_, "application/apply-patch+yaml") => {
                    let config = decode::applied(&body, validation)?;
                    let mut next = current.clone();
                    if let Some(replicas) = config.object["spec"].get("replicas") {
                        next["spec"]["replicas"] = replicas.clone();
                    }
                    return Ok(decode::Decoded { object: next, warnings: config.warnings });
                }
                _ => {
                    return Err(Failure::new(
                        415,
                        "UnsupportedMediaType",
                        "415: Unsupported Media Type",
                    )
                    .with_details(json!({})));
                }
            };
            patch::apply(style, &kind, current, &body, validation)
        };
        let object = self
            .change(&mut writing, name, &|live| {
                let stored = json_stored(live);
                let current = scale_of(resource, paths, &stored)?;
                let next = wanted(&current)?.object;
                check_scale(resource, name, &next)?;
                let mut object = live.clone();
                let replicas = next["spec"].get("replicas").cloned().unwrap_or(json!(0));
                set_path(&mut object, &paths.spec_replicas, replicas);
                match next["metadata"]["resourceVersion"].as_str() {
                    Some(revision) if !revision.is_empty() => {
                        metadata(&mut object).insert("resourceVersion".into(), json!(revision));
                    }
                    _ => drop(metadata(&mut object).remove("resourceVersion")),
                }
                Ok(Proposal { object, tracked: false, replaced: false })
            })
            .await?;
        let shown = scale_of(resource, paths, &json_stored(&object))?;
        Ok(Answer::ok(shown).warned(writing.warnings))
    }

    async fn bind(
        &self,
        call: &Call,
        place: &Place,
        resource: &Arc<Resource>,
    ) -> Result<Answer, Failure> {
        let binding: Value = serde_json::from_slice(&call.body)
            .map_err(|error| Failure::bad_request(error.to_string()))?;
        let node = binding["target"]["name"].as_str().unwrap_or_default().to_owned();
        if node.is_empty() {
            return Err(Failure::invalid(
                "",
                "Binding",
                place.name.as_deref().unwrap_or_default(),
                &[FieldError::required(&Path::new("target.name"), "")],
            ));
        }
        let name = place.name.as_deref().unwrap_or_default();
        let now = self.timestamp();
        let mut writing = Writing {
            call,
            resource,
            namespace: place.namespace.as_deref().unwrap_or_default(),
            subresource: "binding",
            options: WriteOptions::read(&call.query, Asked::Create, call.agent())?,
            warnings: Vec::new(),
        };
        self.change(&mut writing, name, &|live| {
            let assigned = live["spec"]["nodeName"].as_str().unwrap_or_default();
            if !assigned.is_empty() {
                return Err(Failure::conflict(
                    "",
                    "pods/binding",
                    name,
                    &format!("pod {name} is already assigned to node {assigned:?}"),
                ));
            }
            let mut object = live.clone();
            object["spec"]["nodeName"] = json!(node);
            let mut conditions: Vec<Value> =
                object["status"]["conditions"].as_array().cloned().unwrap_or_default();
            conditions.retain(|c| c["type"] != "PodScheduled");
            conditions.push(json!({
                "type": "PodScheduled", "status": "True", "lastProbeTime": null,
                "lastTransitionTime": now,
            }));
            object["status"]["conditions"] = json!(conditions);
            Ok(Proposal { object, tracked: true, replaced: false })
        })
        .await?;
        Ok(Answer::with(201, success(201)))
    }

    async fn evict(
        &self,
        call: &Call,
        place: &Place,
        resource: &Arc<Resource>,
    ) -> Result<Answer, Failure> {
        let live = self.find(resource, place)?;
        let labels = live.value["metadata"]["labels"].clone();
        let namespace = place.namespace.as_deref().unwrap_or_default();
        for budget in self.budgets(namespace) {
            let spec_selector = &budget["spec"]["selector"];
            if !selector::Labels::from_object(spec_selector).matches(&labels) {
                continue;
            }
            let budget_name = text(&budget, "name");
            let status = &budget["status"];
            let too_many = |cause: String| {
                Failure::new(
                    429,
                    "TooManyRequests",
                    "Cannot evict pod as it would violate the pod's disruption budget.",
                )
                .with_details(json!({
                    "causes": [{"reason": "DisruptionBudget", "message": cause}],
                }))
            };
            if status["observedGeneration"].as_i64().unwrap_or_default()
                < budget["metadata"]["generation"].as_i64().unwrap_or_default()
            {
                let mut failure = too_many(format!(
                    "The disruption budget {budget_name} is still being processed by the server."
                ));
                if let Some(details) = &mut failure.details {
                    details.insert("retryAfterSeconds".into(), json!(10));
                }
                return Err(failure);
            }
            if status["disruptionsAllowed"].as_i64().unwrap_or_default() <= 0 {
                return Err(too_many(format!(
                    "The disruption budget {budget_name} needs {} healthy pods and has {} currently",
                    status["desiredHealthy"].as_i64().unwrap_or_default(),
                    status["currentHealthy"].as_i64().unwrap_or_default()
                )));
            }
        }
        let body: Value = serde_json::from_slice(&call.body).unwrap_or_default();
        let options = DeleteOptions::read(&call.query, body.get("deleteOptions"))?;
        let key = Key::new(namespace, place.name.as_deref().unwrap_or_default());
        let now = self.now();
        let mut state = self.state();
        if let Some(live) = state.live(resource, &key)
            && !options.dry_run
        {
            state.begin_delete(resource, &key, &live, &options, now);
        }
        drop(state);
        self.shared.chores.notify_one();
        Ok(Answer::with(201, success(201)))
    }

    fn budgets(&self, namespace: &str) -> Vec<Value> {
        let state = self.state();
        state
            .store
            .range("policy/poddisruptionbudgets", Some(namespace), None)
            .map(|(_, stored)| stored.value.clone())
            .collect()
    }

    fn logs(
        &self,
        call: &Call,
        place: &Place,
        resource: &Arc<Resource>,
    ) -> Result<Answer, Failure> {
        let live = self.find(resource, place)?;
        let name = place.name.as_deref().unwrap_or_default();
        let containers: Vec<&str> = ["containers", "initContainers"]
            .iter()
            .flat_map(|list| live.value["spec"][*list].as_array().into_iter().flatten())
            .filter_map(|container| container["name"].as_str())
            .collect();
        let wanted = call.query.get("container");
        if !wanted.is_empty() && !containers.contains(&wanted) {
            return Err(Failure::bad_request(format!(
                "container {wanted} is not valid for pod {name}"
            )));
        }
        if wanted.is_empty() && containers.len() > 1 {
            return Err(Failure::bad_request(format!(
                "a container name must be specified for pod {name}, choose one of: [{}]",
                containers.join(" ")
            )));
        }
        // Nothing runs here, so there is nothing to print.
        Ok(Answer::text("text/plain", ""))
    }

    fn service_account_token(&self, call: &Call, place: &Place) -> Value {
        let request: Value = serde_json::from_slice(&call.body).unwrap_or_default();
        let token = format!(
            "simulated.{}.{}",
            place.namespace.as_deref().unwrap_or_default(),
            place.name.as_deref().unwrap_or_default()
        );
        json!({
            "kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1",
            "metadata": {"name": place.name, "namespace": place.namespace, "creationTimestamp": self.timestamp()},
            "spec": request["spec"],
            "status": {"token": token, "expirationTimestamp": self.timestamp()},
        })
    }
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

fn success(code: u16) -> Value {
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": code })
}

struct Shown<'a>(&'a Value);

fn json_stored(value: &Value) -> Shown<'_> {
    Shown(value)
}

impl AsRef<Value> for Shown<'_> {
    fn as_ref(&self) -> &Value {
        self.0
    }
}

trait Object {
    fn object(&self) -> &Value;
}

impl Object for Shown<'_> {
    fn object(&self) -> &Value {
        self.0
    }
}

impl Object for Arc<Stored> {
    fn object(&self) -> &Value {
        &self.value
    }
}

fn scale_of(resource: &Resource, paths: &Scale, stored: &impl Object) -> Result<Value, Failure> {
    let object = stored.object();
    let replicas = get_path(object, &paths.spec_replicas);
    if replicas.is_none() && resource.custom {
        return Err(Failure::new(
            500,
            "InternalError",
            format!(
                "Internal error occurred: the spec replicas field {:?} does not exist",
                paths.spec_replicas
            ),
        )
        .with_details(json!({
            "causes": [{"message": format!("the spec replicas field {:?} does not exist", paths.spec_replicas)}],
        })));
    }
    let mut spec = json!({});
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
    Ok(json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1",
        "metadata": metadata, "spec": spec, "status": status,
    }))
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

/// The value at a simple path such as `.spec.replicas`.
fn get_path<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').filter(|part| !part.is_empty()).try_fold(object, |at, part| at.get(part))
}

fn set_path(object: &mut Value, path: &str, value: Value) {
    let mut at = object;
    for part in path.split('.').filter(|part| !part.is_empty()) {
        if !at.is_object() {
            *at = json!({});
        }
        at = &mut at[part];
    }
    *at = value;
}
