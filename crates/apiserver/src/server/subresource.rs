//! What lies below an object: status, binding, eviction, logs.

use std::sync::Arc;

use serde_json::{Value, json};

use super::create::{Writing, text};
use super::options::{Asked, DeleteOptions, WriteOptions};
use super::respond::Answer;
use super::route::Place;
use super::update::Proposal;
use super::{Call, Server};
use crate::fields::{FieldError, Path};
use crate::resource::Resource;
use crate::selector;
use crate::status::Failure;
use crate::store::Key;

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

fn success(code: u16) -> Value {
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": code })
}
