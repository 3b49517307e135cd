//! Changing objects: PUT, the four kinds of PATCH, and what they share.

use std::sync::Arc;

use serde_json::{Value, json};

use super::apply::{check_place, forgets_managers};
use super::create::{Writing, body_media, metadata, text};
use super::options::{Asked, WriteOptions};
use super::respond::{Answer, negotiate};
use super::route::Place;
use super::view::{in_version, to_storage};
use super::{Call, Server};
use crate::admission::{self, Operation};
use crate::apply::{self, Writer};
use crate::builtin::{self, Generation, meta};
use crate::crd;
use crate::resource::Resource;
use crate::status::Failure;
use crate::store::{Key, Stored};
use crate::{decode, patch};

/// How often a write without precondition is tried again when someone else was faster.
const TRIES: usize = 5;

/// The kind of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatchKind {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl PatchKind {
    fn read(call: &Call, resource: &Resource) -> Result<Self, Failure> {
        match call.content_type() {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/apply-patch+yaml" => Ok(Self::Apply),
            "application/strategic-merge-patch+json" if !resource.custom => Ok(Self::Strategic),
            "application/strategic-merge-patch+json" => Err(Failure::new(
                415,
                "UnsupportedMediaType",
                "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
            )),
            _ => Err(Failure::new(415, "UnsupportedMediaType", "415: Unsupported Media Type")
                .with_details(json!({}))),
        }
    }
}

/// What a write wants the object to become.
pub(super) struct Proposal {
    /// In the version of the request.
    pub object: Value,
    /// managedFields are already right (apply).
    pub tracked: bool,
    /// Sent by PUT: a foreign uid is a failed precondition, not an invalid field.
    pub replaced: bool,
}

/// The conflict of an update that means an object of another uid than is there.
fn other_uid(writing: &Writing<'_>, name: &str, sent: &str, live: &str) -> Failure {
    let resource = writing.resource;
    let namespace = match writing.namespace {
        "" => String::new(),
        namespace => format!("{namespace}/"),
    };
    let group = if resource.custom { format!("{}/", resource.group) } else { String::new() };
    Failure::conflict(
        &resource.group,
        &resource.plural,
        name,
        &format!(
            "StorageError: invalid object, Code: 4, Key: /registry/{group}{}/{namespace}{name}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {sent}, UID in object meta: {live}",
            resource.plural,
        ),
    )
}

impl Server {
    pub(super) async fn put(
        &self,
        call: &Call,
        place: &Place,
        resource: &Arc<Resource>,
    ) -> Result<Answer, Failure> {
        negotiate(&call.headers)?;
        let options = WriteOptions::read(&call.query, Asked::Update, call.agent())?;
        let media = body_media(call, resource.custom)?;
        let mut writing = Writing {
            call,
            resource,
            namespace: place.namespace.as_deref().unwrap_or_default(),
            subresource: &place.subresource,
            options,
            warnings: Vec::new(),
        };
        let decoded = decode::object(resource, &call.body, media, writing.validation())?;
        writing.warnings.extend(decoded.warnings);
        let mut object = decoded.object;
        let name = place.name.as_deref().unwrap_or_default();
        let sent = text(&object, "name");
        if sent.is_empty() {
            return Err(Failure::bad_request("name must be provided"));
        }
        if sent != name {
            return Err(Failure::bad_request(format!(
                "the name of the object ({sent}) does not match the name on the URL ({name})"
            )));
        }
        let sent = text(&object, "namespace");
        if resource.namespaced && !sent.is_empty() && sent != writing.namespace {
            return Err(Failure::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        writing.complete(&mut object);
        let strategy = writing.strategy();
        let key = Key::new(writing.namespace, name);
        if self.state().live(resource, &key).is_none()
            && strategy.create_on_update
            && place.subresource.is_empty()
        {
            let uid = text(&object, "uid");
            if !uid.is_empty() {
                // The object that is meant is gone; another must not come in its place.
                return Err(other_uid(&writing, name, uid, ""));
            }
            self.drop_creator_fields(&writing, &mut object);
            let now = self.timestamp();
            let api_version = resource.api_version();
            let writer = Writer {
                manager: &writing.options.manager.clone(),
                api_version: &api_version,
                subresource: "",
                now: &now,
            };
            let reset = writing.resets();
            apply::track_except(resource.shape.node(), None, &mut object, &writer, &reset);
            let stored = self.store_new(&mut writing, object).await?;
            return Ok(Answer::with(201, stored).warned(writing.warnings));
        }
        let object = self
            .change(&mut writing, name, &|_| {
                Ok(Proposal { object: object.clone(), tracked: false, replaced: true })
            })
            .await?;
        Ok(Answer::ok(object).warned(writing.warnings))
    }

    pub(super) async fn patch(
        &self,
        call: &Call,
        place: &Place,
        resource: &Arc<Resource>,
    ) -> Result<Answer, Failure> {
        let kind = PatchKind::read(call, resource)?;
        negotiate(&call.headers)?;
        let options =
            WriteOptions::read(&call.query, Asked::Patch(kind == PatchKind::Apply), call.agent())?;
        let name = place.name.as_deref().unwrap_or_default();
        let mut writing = Writing {
            call,
            resource,
            namespace: place.namespace.as_deref().unwrap_or_default(),
            subresource: &place.subresource,
            options,
            warnings: Vec::new(),
        };
        if kind == PatchKind::Apply {
            return self.apply(writing, name).await;
        }
        let namespace = writing.namespace;
        let validation = writing.validation();
        let warnings = std::sync::Mutex::new(Vec::new());
        let object = self
            .change(&mut writing, name, &|live| {
                let style = match kind {
                    PatchKind::Json => patch::Style::Json,
                    PatchKind::Merge => patch::Style::Merge,
                    PatchKind::Strategic | PatchKind::Apply => patch::Style::Strategic,
                };
                let mut decoded = patch::apply(style, resource, live, &call.body, validation)?;
                check_place(resource, &mut decoded.object, namespace, name)?;
                if let Ok(mut warnings) = warnings.lock() {
                    *warnings = decoded.warnings;
                }
                Ok(Proposal { object: decoded.object, tracked: false, replaced: false })
            })
            .await?;
        writing.warnings.extend(warnings.into_inner().unwrap_or_default());
        Ok(Answer::ok(object).warned(writing.warnings))
    }

    /// Reads, proposes, admits, validates and stores, again if someone else was faster.
    pub(super) async fn change(
        &self,
        writing: &mut Writing<'_>,
        name: &str,
        propose: &(dyn Fn(&Value) -> Result<Proposal, Failure> + Sync),
    ) -> Result<Value, Failure> {
        let resource = writing.resource.clone();
        let key = Key::new(writing.namespace, name);
        let warned = writing.warnings.len();
        for attempt in 1.. {
            writing.warnings.truncate(warned);
            let Some(live) = self.state().live(&resource, &key) else {
                return Err(Failure::not_found(&resource.group, &resource.plural, name));
            };
            let old = in_version(&resource, &live.value).into_owned();
            let proposal = propose(&old)?;
            let sent = text(&proposal.object, "resourceVersion").to_owned();
            let conditional =
                !sent.is_empty() && (proposal.replaced || sent != live.revision.to_string());
            let new = self.prepare_change(writing, name, &old, proposal).await?;
            let Some(new) = new else { return Ok(old) };
            match self.commit_change(writing, &key, &live, new)? {
                Some(stored) => return Ok(in_version(&resource, &stored).into_owned()),
                None if conditional || attempt >= TRIES => {
                    return Err(Failure::modified(&resource.group, &resource.plural, name));
                }
                None => {}
            }
        }
        Err(Failure::modified(&resource.group, &resource.plural, name))
    }

    /// The object to store, or none if nothing changes.
    async fn prepare_change(
        &self,
        writing: &mut Writing<'_>,
        name: &str,
        old: &Value,
        proposal: Proposal,
    ) -> Result<Option<Value>, Failure> {
        let resource = writing.resource.clone();
        let strategy = writing.strategy();
        let mut new = proposal.object;
        if proposal.tracked {
            writing.complete_applied(&mut new);
        } else if !proposal.replaced {
            writing.complete(&mut new);
        }
        self.check_preconditions(writing, name, old, &new, proposal.replaced)?;
        keep_system_fields(&mut new, old);
        self.keep_other_half(writing, &mut new, old);
        if !proposal.tracked {
            if forgets_managers(&writing.call.body) {
                metadata(&mut new).insert("managedFields".into(), json!([]));
            }
            let now = self.timestamp();
            let api_version = resource.api_version();
            apply::track_except(
                resource.shape.node(),
                Some(old),
                &mut new,
                &Writer {
                    manager: &writing.options.manager,
                    api_version: &api_version,
                    subresource: writing.subresource,
                    now: &now,
                },
                &writing.resets(),
            );
            if resource.custom && self.is_strange_to_managers(&resource, &new) {
                metadata(&mut new).remove("managedFields");
            }
        }
        let review = self.state().uid();
        if self.has_admission() {
            let attributes =
                writing.attributes(Operation::Update, name, None, Some(old), review.clone());
            let (changed, warnings) =
                self.admission().mutate(&attributes, new, &self.lookup(), self.caller()).await?;
            new = changed;
            writing.warnings.extend(warnings);
            keep_system_fields(&mut new, old);
        }
        if !resource.custom {
            self.admit_built_in(&resource, Some(old), &mut new)?;
        }
        writing.warnings.extend(meta::dedup_owners(&mut new));
        if writing.subresource.is_empty() {
            (strategy.prepare_update)(&mut new, old);
        } else if !resource.custom {
            builtin::prepare_part(&resource.kind, writing.subresource, &mut new, old);
        }
        // Annotations that come with a status are no new generation.
        if writing.subresource != "status" {
            set_generation(strategy.generation, &mut new, old);
        }
        let mut errors = meta::validate_update(&resource, &new, old);
        if resource.custom {
            let part = match writing.subresource {
                "status" => crd::Part::Status,
                _ => crd::Part::Whole,
            };
            let warnings = crd::validate(&resource, &new, Some(old), part, &mut errors);
            writing.warnings.extend(warnings);
        } else if writing.subresource.is_empty() {
            if strategy.revalidate {
                errors.extend((strategy.validate)(&new));
            }
            errors.extend((strategy.validate_update)(&new, old));
            errors.extend(admission::validate_policy_update(&resource.kind, &new, old));
        } else if writing.subresource == "status" {
            errors.extend((strategy.validate_status)(&new, old));
        } else {
            let part = writing.subresource;
            errors.extend(builtin::validate_part(&resource.kind, part, &new, old));
        }
        writing.invalid(name, &errors)?;
        if writing.subresource.is_empty() {
            writing.warnings.extend((strategy.warnings)(&new, Some(old)));
        }
        if self.has_admission() {
            let attributes =
                writing.attributes(Operation::Update, name, Some(&new), Some(old), review);
            writing.warnings.extend(
                self.admission()
                    .validate(&attributes, &self.lookup(), self.caller())
                    .await?
                    .warnings,
            );
        }
        if apply::same_but_for_times(old, &new) {
            return Ok(None);
        }
        Ok(Some(new))
    }

    /// Whether an object has fields that another version, in which someone owns fields, does not know.
    /// Ownership cannot be told then, and is forgotten.
    fn is_strange_to_managers(&self, resource: &Resource, object: &Value) -> bool {
        let here = resource.api_version();
        let managers = object["metadata"]["managedFields"].as_array().into_iter().flatten();
        managers.filter_map(|entry| entry["apiVersion"].as_str()).filter(|v| **v != here).any(|v| {
            let version = v.rsplit('/').next().unwrap_or_default();
            let other = self.state().kinds.get(&resource.group, version, &resource.plural).cloned();
            other.is_some_and(|other| {
                !crd::prune(other.shape.node(), &mut object.clone()).is_empty()
            })
        })
    }

    fn check_preconditions(
        &self,
        writing: &Writing<'_>,
        name: &str,
        old: &Value,
        new: &Value,
        replaced: bool,
    ) -> Result<(), Failure> {
        let resource = writing.resource;
        let sent = text(new, "resourceVersion");
        if !sent.is_empty() {
            if sent.parse::<u64>().is_err() {
                return Err(Failure::internal_plain(format!(
                    "strconv.ParseUint: parsing {sent:?}: invalid syntax"
                )));
            }
            if sent != "0" && sent != text(old, "resourceVersion") {
                return Err(Failure::modified(&resource.group, &resource.plural, name));
            }
        }
        if sent.is_empty() && replaced && !writing.strategy().unconditional_update {
            let path = crate::fields::Path::new("metadata.resourceVersion");
            let error = crate::fields::FieldError::invalid(
                &path,
                &json!(0),
                "must be specified for an update",
            );
            return Err(Failure::invalid(&resource.group, &resource.plural, name, &[error]));
        }
        let uid = text(new, "uid");
        if replaced && !uid.is_empty() && uid != text(old, "uid") {
            return Err(other_uid(writing, name, uid, text(old, "uid")));
        }
        Ok(())
    }

    /// `/status` changes only status, everything else only the rest.
    fn keep_other_half(&self, writing: &Writing<'_>, new: &mut Value, old: &Value) {
        let resource = writing.resource;
        if writing.subresource == "status" {
            let status = new["status"].take();
            let sent = new["metadata"].take();
            *new = old.clone();
            if let Some(map) = new.as_object_mut() {
                if status.is_null() {
                    map.remove("status");
                } else {
                    map.insert("status".into(), status);
                }
            }
            let keep: &[&str] = match (resource.custom, resource.kind.as_str()) {
                (true, _) => &["managedFields"],
                (_, "Deployment") => {
                    &["managedFields", "annotations", "finalizers", "ownerReferences"]
                }
                _ => &["managedFields", "labels", "annotations", "finalizers", "ownerReferences"],
            };
            let fields = metadata(new);
            for field in keep {
                match &sent[*field] {
                    Value::Null => drop(fields.remove(*field)),
                    value => drop(fields.insert((*field).to_owned(), value.clone())),
                }
            }
        } else if resource.status
            && writing.subresource.is_empty()
            && let Some(map) = new.as_object_mut()
        {
            match &old["status"] {
                Value::Null => drop(map.remove("status")),
                status => drop(map.insert("status".into(), status.clone())),
            }
        }
    }

    /// Stores a change unless someone else was faster (none).
    fn commit_change(
        &self,
        writing: &Writing<'_>,
        key: &Key,
        live: &Arc<Stored>,
        new: Value,
    ) -> Result<Option<Value>, Failure> {
        let mut state = self.state();
        let current = state.live(writing.resource, key);
        if current.is_none_or(|current| current.revision != live.revision) {
            return Ok(None);
        }
        let stored_as = state.stored_version(writing.resource);
        let mut new = to_storage(writing.resource, &stored_as, new);
        state.allocate(&stored_as, &mut new, Some(&live.value))?;
        if writing.options.dry_run {
            return Ok(Some(new));
        }
        if is_released(&stored_as, &new) {
            let gone = state.store.remove(&stored_as.table, key, None);
            state.after_write(&stored_as, key, Some(live), None);
            drop(state);
            self.shared.chores.notify_one();
            drop(gone);
            return Ok(Some(new));
        }
        builtin::reread(&stored_as, &mut new);
        let stored = state.store.put(&stored_as.table, key.clone(), new);
        state.after_write(&stored_as, key, Some(live), Some(&stored));
        drop(state);
        self.shared.chores.notify_one();
        Ok(Some(stored.value.clone()))
    }
}

/// Whether an object that is being deleted has nothing left that holds it.
pub(super) fn is_released(resource: &Resource, object: &Value) -> bool {
    let none = |list: &Value| list.as_array().is_none_or(Vec::is_empty);
    object["metadata"]["deletionTimestamp"].is_string()
        && none(&object["metadata"]["finalizers"])
        && (resource.kind != "Namespace" || none(&object["spec"]["finalizers"]))
        && object["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or_default() == 0
}

/// Server-owned metadata cannot be changed by writing it.
fn keep_system_fields(new: &mut Value, old: &Value) {
    let fields = metadata(new);
    // A client may not begin a deletion by writing its time; that is left for validation to refuse.
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
        if !old["metadata"][field].is_null()
            && (field == "deletionTimestamp" || fields.get(field).is_none_or(Value::is_null))
        {
            fields.insert(field.to_owned(), old["metadata"][field].clone());
        }
    }
    for field in
        ["name", "namespace", "creationTimestamp", "generation", "resourceVersion", "selfLink"]
    {
        match &old["metadata"][field] {
            Value::Null => drop(fields.remove(field)),
            value => drop(fields.insert(field.to_owned(), value.clone())),
        }
    }
    if fields.get("uid").and_then(Value::as_str).unwrap_or_default().is_empty() {
        fields.insert("uid".into(), old["metadata"]["uid"].clone());
    }
}

fn set_generation(rule: Generation, new: &mut Value, old: &Value) {
    let without = |object: &Value, fields: &[&str]| {
        let mut rest = object.clone();
        if let Some(map) = rest.as_object_mut() {
            for field in fields {
                map.remove(*field);
            }
        }
        rest
    };
    let changed = match rule {
        Generation::None | Generation::Constant => false,
        Generation::Whole => without(new, &["metadata"]) != without(old, &["metadata"]),
        Generation::Spec | Generation::SpecOnceChanged | Generation::SpecAndAnnotations => {
            let parts = &["metadata", "status", "apiVersion", "kind"];
            without(new, parts) != without(old, parts)
                || (rule == Generation::SpecAndAnnotations
                    && new["metadata"]["annotations"] != old["metadata"]["annotations"])
        }
    };
    if changed {
        let generation = old["metadata"]["generation"].as_i64().unwrap_or_default() + 1;
        metadata(new).insert("generation".into(), json!(generation));
    }
}
