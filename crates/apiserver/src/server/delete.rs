//! Deleting objects: preconditions, finalizers, grace and propagation.

use std::sync::Arc;

use serde_json::{Value, json};

use super::create::{Writing, metadata, text};
use super::options::{DeleteOptions, ListOptions, Propagation, WriteOptions};
use super::respond::{Answer, Form};
use super::route::Place;
use super::update::is_released;
use super::view::{in_version, item};
use super::{Call, Server, State};
use crate::admission::Operation;
use crate::decode::Media;
use crate::resource::Resource;
use crate::status::Failure;
use crate::store::{Key, Stored};
use crate::wire::protobuf;

/// Finalizer that keeps an owner until its dependents are gone.
pub(super) const FOREGROUND: &str = "foregroundDeletion";
/// Finalizer that keeps an owner until its dependents are let go.
pub(super) const ORPHAN: &str = "orphan";
/// Finalizer that keeps a definition until its objects are gone.
pub(super) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// What became of an object that was to be deleted.
pub(super) enum Deleted {
    /// It is gone; this is what it was.
    Gone(Arc<Stored>),
    /// Something still holds it.
    Waiting(Value),
}

impl Server {
    fn delete_options(call: &Call) -> Result<DeleteOptions, Failure> {
        if call.body.is_empty() {
            return DeleteOptions::read(&call.query, None);
        }
        let body: Value = match call.content_type() {
            "application/yaml" => std::str::from_utf8(&call.body)
                .ok()
                .and_then(|text| serde_saphyr::from_str(text).ok())
                .unwrap_or_default(),
            "" | "application/json" | "*/*" => {
                serde_json::from_slice(&call.body).map_err(|error| {
                    Failure::bad_request(format!(
                        "couldn't get version/kind; json parse error: {error}"
                    ))
                })?
            }
            _ => match super::create::body_media(call, false)? {
                Media::Protobuf => protobuf::read(&call.body).map_err(Failure::bad_request)?,
                Media::Json | Media::Yaml => Value::Null,
            },
        };
        DeleteOptions::read(&call.query, Some(&body))
    }

    pub(super) async fn delete(
        &self,
        call: &Call,
        place: &Place,
        resource: &Arc<Resource>,
    ) -> Result<Answer, Failure> {
        let options = Self::delete_options(call)?;
        let name = place.name.as_deref().unwrap_or_default();
        let live = self.find(resource, place)?;
        let (deleted, warnings) =
            self.delete_one(call, place, resource, &live, name, &options).await?;
        let body = match deleted {
            // A pod without a node goes at once, and is still shown.
            Deleted::Gone(gone) if resource.kind == "Pod" && resource.group.is_empty() => {
                let mut shown = gone.value.clone();
                metadata(&mut shown).insert("deletionGracePeriodSeconds".into(), json!(0));
                shown
            }
            Deleted::Gone(gone) => {
                let mut details =
                    json!({ "name": name, "kind": resource.plural, "uid": gone.uid() });
                if !resource.group.is_empty()
                    && let Some(map) = details.as_object_mut()
                {
                    map.insert("group".into(), json!(resource.group));
                }
                json!({
                    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
                    "details": details,
                })
            }
            Deleted::Waiting(object) => in_version(resource, &object).into_owned(),
        };
        Ok(Answer::ok(body).warned(warnings))
    }

    async fn delete_one(
        &self,
        call: &Call,
        place: &Place,
        resource: &Arc<Resource>,
        live: &Arc<Stored>,
        admitted_name: &str,
        options: &DeleteOptions,
    ) -> Result<(Deleted, Vec<String>), Failure> {
        let name = text(&live.value, "name");
        let kind = &resource.kind;
        if let Some(uid) = &options.uid
            && uid != live.uid()
        {
            return Err(Failure::conflict(
                &resource.group,
                kind,
                name,
                &format!(
                    "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted and then recreated",
                    live.uid()
                ),
            ));
        }
        if let Some(revision) = &options.revision
            && *revision != live.revision.to_string()
        {
            return Err(Failure::conflict(
                &resource.group,
                kind,
                name,
                &format!(
                    "the ResourceVersion in the precondition ({revision}) does not match the ResourceVersion in record ({}). The object might have been modified",
                    live.revision
                ),
            ));
        }
        if kind == "Namespace" && matches!(name, "default" | "kube-system" | "kube-public") {
            return Err(Failure::forbidden(
                "",
                "namespaces",
                name,
                "this namespace may not be deleted",
            ));
        }
        let mut warnings = Vec::new();
        if self.has_admission() {
            let writing = Writing {
                call,
                resource,
                namespace: place.namespace.as_deref().unwrap_or(text(&live.value, "namespace")),
                subresource: "",
                options: WriteOptions {
                    dry_run: options.dry_run,
                    shown: options.shown.clone(),
                    ..WriteOptions::default()
                },
                warnings: Vec::new(),
            };
            let review = self.state().uid();
            let old = in_version(resource, &live.value);
            let attributes =
                writing.attributes(Operation::Delete, admitted_name, None, Some(&old), review);
            let (_, mutated) = self
                .admission()
                .mutate(&attributes, Value::Null, &self.lookup(), self.caller())
                .await?;
            warnings.extend(mutated);
            warnings.extend(
                self.admission()
                    .validate(&attributes, &self.lookup(), self.caller())
                    .await?
                    .warnings,
            );
        }
        let now = self.now();
        let mut state = self.state();
        let stored_as = state.stored_version(resource);
        let key = Key::new(text(&live.value, "namespace"), name);
        let Some(live) = state.live(resource, &key) else {
            return Err(Failure::not_found(&resource.group, &resource.plural, name));
        };
        if options.dry_run {
            return Ok((Deleted::Gone(live), warnings));
        }
        let deleted = state.begin_delete(&stored_as, &key, &live, options, now);
        drop(state);
        self.shared.chores.notify_one();
        Ok((deleted, warnings))
    }

    pub(super) async fn delete_collection(
        &self,
        call: &Call,
        place: &Place,
        resource: &Arc<Resource>,
    ) -> Result<Answer, Failure> {
        let options = Self::delete_options(call)?;
        let list = ListOptions::read(&call.query, false)?;
        let view = self.view(call, resource, &list, Form::Object)?;
        let page = self.page(place, resource, &list, &view)?;
        for live in &page.items {
            self.delete_one(call, place, resource, live, "", &options).await?;
        }
        let mut metadata = json!({ "resourceVersion": page.revision.to_string() });
        if let Some(map) = metadata.as_object_mut() {
            match &page.resume {
                Some(token) => {
                    map.insert("continue".into(), json!(token));
                    map.insert("remainingItemCount".into(), json!(page.remaining));
                }
                None if resource.custom => drop(map.insert("continue".into(), json!(""))),
                None => {}
            }
        }
        Ok(Answer::ok(json!({
            "kind": resource.list_kind,
            "apiVersion": resource.api_version(),
            "metadata": metadata,
            "items": page.items.iter().map(|s| item(resource, &s.value)).collect::<Vec<_>>(),
        })))
    }
}

impl State {
    /// Removes an object, or marks it as being deleted if something holds it.
    pub(super) fn begin_delete(
        &mut self,
        resource: &Arc<Resource>,
        key: &Key,
        live: &Arc<Stored>,
        options: &DeleteOptions,
        now: jiff::Timestamp,
    ) -> Deleted {
        let mut object = live.value.clone();
        let grace = grace_of(resource, &object, options);
        let mut finalizers: Vec<String> = object["metadata"]["finalizers"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|f| f.as_str().map(str::to_owned))
            .collect();
        let had: Vec<String> = finalizers.clone();
        if let Some(wanted) = options.propagation {
            finalizers.retain(|f| f != FOREGROUND && f != ORPHAN);
            match wanted {
                Propagation::Foreground => finalizers.push(FOREGROUND.into()),
                Propagation::Orphan => finalizers.push(ORPHAN.into()),
                Propagation::Background => {}
            }
        }
        if resource.kind == "CustomResourceDefinition" && !finalizers.iter().any(|f| f == CLEANUP) {
            finalizers.push(CLEANUP.into());
        }
        let deleting = object["metadata"]["deletionTimestamp"].is_string();
        if deleting && finalizers == had && !shortens(&object, grace) {
            if is_released(resource, &object) {
                return self.remove_now(resource, key, live, object);
            }
            return Deleted::Waiting(object);
        }
        let held = !finalizers.is_empty() || grace > 0 || resource.kind == "Namespace";
        let fields = metadata(&mut object);
        if finalizers.is_empty() {
            fields.remove("finalizers");
        } else {
            fields.insert("finalizers".into(), json!(finalizers));
        }
        if !held {
            if resource.kind == "Pod" && resource.group.is_empty() && !deleting {
                bump_generation(fields);
                fields.insert("deletionTimestamp".into(), json!(stamp(now, 0)));
                fields.insert("deletionGracePeriodSeconds".into(), json!(0));
            }
            return self.remove_now(resource, key, live, object);
        }
        if !deleting || shortens(&live.value, grace) {
            fields.insert("deletionTimestamp".into(), json!(stamp(now, grace)));
            if !matches!(resource.kind.as_str(), "Namespace" | "CustomResourceDefinition") {
                fields.insert("deletionGracePeriodSeconds".into(), json!(grace));
            }
            let definition = resource.kind == "CustomResourceDefinition";
            if fields.contains_key("generation") && !deleting && !definition {
                bump_generation(fields);
            }
        }
        if resource.kind == "CustomResourceDefinition" && !deleting {
            crate::crd::definition::set_condition(
                &mut object,
                &stamp(now, 0),
                ("Terminating", "True", "InstanceDeletionPending"),
                "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
            );
        }
        if resource.kind == "Namespace" {
            object["status"] = json!({ "phase": "Terminating" });
        }
        if is_released(resource, &object) {
            return self.remove_now(resource, key, live, object);
        }
        let stored = self.store.put(&resource.table, key.clone(), object);
        self.after_write(resource, key, Some(live), Some(&stored));
        Deleted::Waiting(stored.value.clone())
    }

    pub(super) fn remove_now(
        &mut self,
        resource: &Arc<Resource>,
        key: &Key,
        live: &Arc<Stored>,
        last: Value,
    ) -> Deleted {
        let gone = self.store.remove(&resource.table, key, Some(last));
        self.after_write(resource, key, Some(live), None);
        Deleted::Gone(gone.unwrap_or_else(|| live.clone()))
    }
}

fn bump_generation(fields: &mut serde_json::Map<String, Value>) {
    let generation = fields.get("generation").and_then(Value::as_i64).unwrap_or_default();
    fields.insert("generation".into(), json!(generation + 1));
}

fn stamp(now: jiff::Timestamp, grace: i64) -> String {
    let at = now.checked_add(jiff::SignedDuration::from_secs(grace)).unwrap_or(now);
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Only pods on a node are given time to stop.
fn grace_of(resource: &Resource, object: &Value, options: &DeleteOptions) -> i64 {
    if resource.kind != "Pod" || !resource.group.is_empty() {
        return 0;
    }
    let phase = object["status"]["phase"].as_str().unwrap_or_default();
    let unscheduled = object["spec"]["nodeName"].as_str().unwrap_or_default().is_empty();
    if unscheduled || matches!(phase, "Succeeded" | "Failed") {
        return 0;
    }
    options
        .grace
        .or_else(|| object["spec"]["terminationGracePeriodSeconds"].as_i64())
        .unwrap_or(30)
        .max(0)
}

fn shortens(object: &Value, grace: i64) -> bool {
    object["metadata"]["deletionGracePeriodSeconds"].as_i64().is_some_and(|had| grace < had)
}
