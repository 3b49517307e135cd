//! Creating objects, by POST and by apply.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::options::{Asked, WriteOptions};
use super::respond::{Answer, negotiate};
use super::route::Place;
use super::view::to_storage;
use super::{Call, Server, State};
use crate::admission::{self, Attributes, Operation};
use crate::apply::{self, FieldSet, Writer};
use crate::builtin::{self, Generation, Strategy, meta};
use crate::decode::{self, FieldValidation, Media};
use crate::resource::Resource;
use crate::status::Failure;
use crate::store::{Key, Stored};

use crate::crd;

/// A write in progress: what it is about and under which options.
pub(super) struct Writing<'a> {
    pub call: &'a Call,
    pub resource: &'a Arc<Resource>,
    pub namespace: &'a str,
    pub subresource: &'a str,
    pub options: WriteOptions,
    pub warnings: Vec<String>,
}

impl Writing<'_> {
    pub fn strategy(&self) -> Strategy {
        if self.resource.custom {
            Strategy {
                generation: if self.resource.status { Generation::Spec } else { Generation::Whole },
                unconditional_update: false,
                ..Strategy::PLAIN
            }
        } else {
            builtin::strategy(&self.resource.group, &self.resource.kind)
        }
    }

    pub fn validation(&self) -> FieldValidation {
        match self.options.field_validation.as_str() {
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            _ => FieldValidation::Warn,
        }
    }

    /// Fills and prunes what arrived, as decoding does on the real server.
    pub fn complete(&mut self, object: &mut Value) {
        if self.resource.custom {
            let node = self.resource.shape.node();
            crd::prune(node, object);
            crd::fill_metadata(node, object);
            crd::default(node, object);
        } else {
            (self.strategy().defaults)(object);
        }
    }

    /// Fills what apply merged: nothing is pruned there, unknown fields were refused.
    pub fn complete_applied(&mut self, object: &mut Value) {
        if self.resource.custom {
            crd::fill(self.resource.shape.node(), object);
        } else {
            (self.strategy().defaults)(object);
        }
    }

    /// What this write cannot change, and so does not own.
    pub fn resets(&self) -> FieldSet {
        let resource = self.resource;
        if resource.custom {
            apply::reset_of_custom(resource.status, self.subresource)
        } else {
            apply::reset_of_built_in(&resource.group, &resource.kind, self.subresource)
        }
    }

    /// What may not be stored.
    pub fn invalid(&self, name: &str, errors: &[crate::fields::FieldError]) -> Result<(), Failure> {
        if errors.is_empty() {
            return Ok(());
        }
        // Events of both groups are one kind inside the server.
        let group = match self.resource.group.as_str() {
            "events.k8s.io" => "",
            group => group,
        };
        let mut failure = Failure::invalid(group, &self.resource.kind, name, errors);
        failure.warnings = (!self.warnings.is_empty()).then(|| Box::new(self.warnings.clone()));
        Err(failure)
    }

    pub fn attributes<'a>(
        &'a self,
        operation: Operation,
        name: &'a str,
        object: Option<&'a Value>,
        old: Option<&'a Value>,
        uid: String,
    ) -> Attributes<'a> {
        // A patch is seen as what it does: a create or an update.
        let mut options = self.options.shown.clone();
        if options["kind"] == "PatchOptions"
            && let Some(map) = options.as_object_mut()
        {
            let kind =
                if operation == Operation::Create { "CreateOptions" } else { "UpdateOptions" };
            map.insert("kind".into(), kind.into());
            map.remove("force");
        }
        Attributes {
            operation,
            resource: self.resource,
            subresource: self.subresource,
            namespace: (!self.namespace.is_empty()).then_some(self.namespace),
            name,
            object,
            old,
            user: &self.call.user,
            dry_run: self.options.dry_run,
            options,
            uid,
        }
    }
}

/// The media type of a body that holds an object. Custom objects have no protobuf.
pub(super) fn body_media(call: &Call, custom: bool) -> Result<Media, Failure> {
    match call.content_type() {
        "" | "application/json" | "*/*" => Ok(Media::Json),
        "application/yaml" => Ok(Media::Yaml),
        "application/vnd.kubernetes.protobuf" if !custom => Ok(Media::Protobuf),
        _ => Err(Failure::new(
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
        )),
    }
}

/// `metadata` of an object, made if missing.
pub(super) fn metadata(object: &mut Value) -> &mut Map<String, Value> {
    if !object.is_object() {
        *object = json!({});
    }
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    match &mut object["metadata"] {
        Value::Object(map) => map,
        _ => unreachable!("metadata was just made an object"),
    }
}

pub(super) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

impl Server {
    pub(super) async fn create(
        &self,
        call: &Call,
        place: &Place,
        resource: &Arc<Resource>,
    ) -> Result<Answer, Failure> {
        negotiate(&call.headers)?;
        let options = WriteOptions::read(&call.query, Asked::Create, call.agent())?;
        let media = body_media(call, resource.custom)?;
        let namespace = place.namespace.as_deref().unwrap_or_default();
        let mut writing =
            Writing { call, resource, namespace, subresource: "", options, warnings: Vec::new() };
        let decoded = decode::object(resource, &call.body, media, writing.validation())?;
        writing.warnings.extend(decoded.warnings);
        let mut object = decoded.object;
        if let Some(answer) = self.review(&writing, &object)? {
            return Ok(answer.warned(writing.warnings));
        }
        let sent = text(&object, "namespace");
        if !sent.is_empty() && sent != namespace && resource.namespaced {
            return Err(Failure::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        writing.complete(&mut object);
        self.drop_creator_fields(&writing, &mut object);
        let now = self.timestamp();
        apply::track_except(
            resource.shape.node(),
            None,
            &mut object,
            &Writer {
                manager: &writing.options.manager,
                api_version: &resource.api_version(),
                subresource: "",
                now: &now,
            },
            &writing.resets(),
        );
        let stored = self.store_new(&mut writing, object).await?;
        Ok(Answer::with(201, stored).warned(writing.warnings))
    }

    /// What a creator may say but the server does not take.
    pub(super) fn drop_creator_fields(&self, writing: &Writing<'_>, object: &mut Value) {
        if writing.resource.status
            && writing.resource.kind != "Node"
            && let Some(map) = object.as_object_mut()
        {
            map.remove("status");
        }
        let fields = metadata(object);
        for field in [
            "uid",
            "creationTimestamp",
            "selfLink",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
        ] {
            fields.remove(field);
        }
        if writing.resource.namespaced {
            fields.insert("namespace".into(), json!(writing.namespace));
        } else {
            fields.remove("namespace");
        }
    }

    pub(super) fn fill_system_fields(&self, object: &mut Value) {
        let uid = self.state().uid();
        let fields = metadata(object);
        fields.insert("uid".into(), json!(uid));
        fields.insert("creationTimestamp".into(), json!(self.timestamp()));
    }

    /// The namespace must exist and not be on its way out.
    pub(super) fn check_namespace(
        &self,
        writing: &Writing<'_>,
        object: &Value,
    ) -> Result<(), Failure> {
        if writing.namespace.is_empty() || !writing.resource.namespaced {
            return Ok(());
        }
        let state = self.state();
        let key = Key::new("", writing.namespace);
        let Some(namespace) = state.store.get("/namespaces", &key) else {
            return Err(Failure::not_found("", "namespaces", writing.namespace));
        };
        if namespace.value["metadata"]["deletionTimestamp"].is_string() {
            let mut failure = Failure::forbidden(
                &writing.resource.group,
                &writing.resource.plural,
                text(object, "name"),
                &format!(
                    "unable to create new content in namespace {} because it is being terminated",
                    writing.namespace
                ),
            );
            if let Some(details) = &mut failure.details {
                details.insert(
                    "causes".into(),
                    json!([{
                        "reason": "NamespaceTerminating",
                        "message": format!("namespace {} is being terminated", writing.namespace),
                        "field": "metadata.namespace",
                    }]),
                );
            }
            return Err(failure);
        }
        Ok(())
    }

    /// Admission, validation and the write itself, for an object that is complete and tracked.
    pub(super) async fn store_new(
        &self,
        writing: &mut Writing<'_>,
        mut object: Value,
    ) -> Result<Value, Failure> {
        let resource = writing.resource.clone();
        self.check_namespace(writing, &object)?;
        let review = self.state().uid();
        let name = text(&object, "name").to_owned();
        if self.has_admission() {
            let attributes =
                writing.attributes(Operation::Create, &name, None, None, review.clone());
            let (changed, warnings) =
                self.admission().mutate(&attributes, object, &self.lookup(), self.caller()).await?;
            object = changed;
            writing.warnings.extend(warnings);
        }
        if !resource.custom {
            self.admit_built_in(&resource, None, &mut object)?;
        }
        let strategy = writing.strategy();
        writing.warnings.extend(meta::dedup_owners(&mut object));
        if !text(&object, "resourceVersion").is_empty() {
            return Err(Failure::internal_plain(
                "resourceVersion should not be set on objects to be created",
            ));
        }
        if text(&object, "uid").is_empty() {
            self.fill_system_fields(&mut object);
        }
        (strategy.prepare_create)(&mut object);
        if text(&object, "name").is_empty() && !text(&object, "generateName").is_empty() {
            let name = self.state().generated_name(text(&object, "generateName"));
            metadata(&mut object).insert("name".into(), json!(name));
        }
        match strategy.generation {
            Generation::None | Generation::SpecOnceChanged => {}
            _ => drop(metadata(&mut object).insert("generation".into(), json!(1))),
        }
        let name = text(&object, "name").to_owned();
        let mut errors = meta::validate_create(&resource, &object);
        if resource.custom {
            let warnings = crd::validate(&resource, &object, None, crd::Part::Whole, &mut errors);
            writing.warnings.extend(warnings);
        } else {
            errors.extend((strategy.validate)(&object));
            errors.extend(admission::validate_policy(&resource.kind, &object));
        }
        writing.invalid(&name, &errors)?;
        writing.warnings.extend((strategy.warnings)(&object, None));
        if self.has_admission() {
            let attributes =
                writing.attributes(Operation::Create, &name, Some(&object), None, review);
            writing.warnings.extend(
                self.admission()
                    .validate(&attributes, &self.lookup(), self.caller())
                    .await?
                    .warnings,
            );
        }
        if resource.custom && !writing.options.dry_run {
            // What is stored is decoded anew: a status that was dropped has its default again.
            crd::fill(resource.shape.node(), &mut object);
        }
        let stored = self.commit_new(writing, &name, object)?;
        Ok(super::view::in_version(&resource, &stored).into_owned())
    }

    fn commit_new(
        &self,
        writing: &Writing<'_>,
        name: &str,
        object: Value,
    ) -> Result<Value, Failure> {
        let resource = writing.resource;
        let key = Key::new(writing.namespace, name);
        let mut state = self.state();
        if let Some(existing) = state.store.get(&resource.table, &key) {
            let mut failure = Failure::already_exists(&resource.group, &resource.plural, name);
            if existing.value["metadata"]["deletionTimestamp"].is_string() {
                failure.message = format!("object is being deleted: {}", failure.message);
            }
            return Err(failure);
        }
        if resource.custom && state.is_terminating_definition(resource) {
            return Err(Failure::forbidden(
                &resource.group,
                &resource.plural,
                name,
                "create not allowed while custom resource definition is terminating",
            ));
        }
        let stored_as = state.stored_version(resource);
        let mut object = to_storage(resource, &stored_as, object);
        state.allocate(&stored_as, &mut object, None)?;
        if writing.options.dry_run {
            return Ok(object);
        }
        builtin::reread(resource, &mut object);
        let stored = state.store.put(&resource.table, key.clone(), object);
        state.after_write(&stored_as, &key, None, Some(&stored));
        drop(state);
        self.shared.chores.notify_one();
        Ok(stored.value.clone())
    }
}

impl State {
    /// A version 4 uuid.
    pub(super) fn uid(&mut self) -> String {
        let (high, low) = ((self.entropy)(), (self.entropy)());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            0x8000 | (low >> 48 & 0x3fff),
            low & 0xffff_ffff_ffff
        )
    }

    pub(super) fn generated_name(&mut self, prefix: &str) -> String {
        const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let cut: String = prefix.chars().take(58).collect();
        let mut random = (self.entropy)();
        let suffix: String = (0..5)
            .map(|_| {
                let index = usize::try_from(random % LETTERS.len() as u64).unwrap_or_default();
                random /= LETTERS.len() as u64;
                char::from(LETTERS[index])
            })
            .collect();
        cut + &suffix
    }

    /// The version in which a resource's objects are kept.
    pub(super) fn stored_version(&self, resource: &Arc<Resource>) -> Arc<Resource> {
        if resource.storage {
            return resource.clone();
        }
        self.kinds.of_table(&resource.table).unwrap_or(resource).clone()
    }

    pub(super) fn live(&self, resource: &Resource, key: &Key) -> Option<Arc<Stored>> {
        self.store.get(&resource.table, key).cloned()
    }
}
