//! get, list and the start of a watch.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::options::ListOptions;
use super::respond::{Answer, Content, Form, negotiate, negotiate_collection, partial};
use super::route::Place;
use super::view::{View, in_version, item};
use super::watch::Watch;
use super::{Call, Server};
use crate::resource::Resource;
use crate::selector::{Fields, Labels};
use crate::status::Failure;
use crate::store::{Key, Stored};

impl Server {
    pub(super) fn view(
        &self,
        call: &Call,
        resource: &Arc<Resource>,
        options: &ListOptions,
        form: Form,
    ) -> Result<View, Failure> {
        let labels =
            (!options.labels.is_empty()).then(|| Labels::parse(&options.labels)).transpose()?;
        let fields = (!options.fields.is_empty())
            .then(|| Fields::parse(resource, &options.fields))
            .transpose()?;
        let include = call.query.get("includeObject");
        if form == Form::Table && !matches!(include, "" | "None" | "Metadata" | "Object") {
            return Err(Failure::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {include:?}: must be 'Metadata', 'Object', 'None', or empty"
            )));
        }
        let include = if include.is_empty() { "Metadata" } else { include }.to_owned();
        Ok(View { resource: resource.clone(), labels, fields, form, include, now: self.now() })
    }

    /// Waits are not simulated: a revision from the future is refused at once, with the words of the time-out.
    fn not_from_the_future(&self, revision: &str) -> Result<u64, Failure> {
        let wanted: u64 = revision.parse().map_err(|_| {
            Failure::bad_request(format!(
                "invalid resource version: resourceVersion: Invalid value: {revision:?}: strconv.ParseUint: parsing {revision:?}: invalid syntax"
            ))
        })?;
        let current = self.state().store.revision();
        if wanted > current {
            return Err(Failure::new(
                504,
                "Timeout",
                format!("Timeout: Too large resource version: {wanted}, current: {current}"),
            )
            .with_details(json!({
                "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
                "retryAfterSeconds": 1,
            })));
        }
        Ok(wanted)
    }

    pub(super) fn get(
        &self,
        call: &Call,
        place: &Place,
        resource: &Arc<Resource>,
    ) -> Result<Answer, Failure> {
        let wanted = negotiate(&call.headers)?;
        let revision = call.query.get("resourceVersion");
        if !revision.is_empty() {
            self.not_from_the_future(revision)?;
        }
        let stored = self.find(resource, place)?;
        match wanted.form {
            Form::Object if resource.storage => Ok(Answer::json(stored.bytes())),
            Form::Object => Ok(Answer::ok(in_version(resource, &stored.value).into_owned())),
            Form::PartialMetadata => Ok(Answer::ok(partial(&stored.value))),
            Form::PartialMetadataList => Err(Failure::new(
                406,
                "NotAcceptable",
                format!(
                    "you requested PartialObjectMetadataList, but the requested object is not a list (*{}.{})",
                    if resource.custom { "unstructured" } else { "core" },
                    if resource.custom { "Unstructured" } else { &resource.kind },
                ),
            )),
            Form::Table => {
                let view = self.view(call, resource, &ListOptions::default(), Form::Table)?;
                Ok(Answer::ok(view.row(&stored.value)))
            }
        }
    }

    /// The object at a place, or 404.
    pub(super) fn find(&self, resource: &Resource, place: &Place) -> Result<Arc<Stored>, Failure> {
        let name = place.name.as_deref().unwrap_or_default();
        let key = Key::new(place.namespace.as_deref().unwrap_or_default(), name);
        self.state()
            .store
            .get(&resource.table, &key)
            .cloned()
            .ok_or_else(|| Failure::not_found(&resource.group, &resource.plural, name))
    }

    pub(super) fn list(
        &self,
        call: &Call,
        place: &Place,
        resource: &Arc<Resource>,
    ) -> Result<Answer, Failure> {
        let options = ListOptions::read(&call.query, false)?;
        let wanted = negotiate_collection(&call.headers)?;
        if wanted.form == Form::PartialMetadata {
            return Err(Failure::new(
                406,
                "NotAcceptable",
                format!(
                    "you requested PartialObjectMetadata, but the requested object is a list (*{}.{})",
                    if resource.custom { "unstructured" } else { "core" },
                    if resource.custom { "UnstructuredList" } else { &resource.list_kind },
                ),
            ));
        }
        let view = self.view(call, resource, &options, wanted.form)?;
        let page = self.page(place, resource, &options, &view)?;
        let mut metadata = json!({ "resourceVersion": page.revision.to_string() });
        if let Some(map) = metadata.as_object_mut() {
            if let Some(token) = &page.resume {
                map.insert("continue".into(), json!(token));
                if view.labels.is_none() && view.fields.is_none() {
                    map.insert("remainingItemCount".into(), json!(page.remaining));
                }
            } else if resource.custom && wanted.form == Form::Object {
                map.insert("continue".into(), json!(""));
            }
        }
        let body = match wanted.form {
            Form::Table => {
                let objects: Vec<Value> = page.items.iter().map(|s| s.value.clone()).collect();
                let mut table = view.table(&objects);
                table["metadata"] = metadata;
                table
            }
            Form::PartialMetadata | Form::PartialMetadataList => json!({
                "kind": "PartialObjectMetadataList",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": metadata,
                "items": page.items.iter().map(|s| partial(&s.value)).collect::<Vec<_>>(),
            }),
            Form::Object => json!({
                "kind": resource.list_kind,
                "apiVersion": resource.api_version(),
                "metadata": metadata,
                "items": page.items.iter().map(|s| item(resource, &s.value)).collect::<Vec<_>>(),
            }),
        };
        Ok(Answer::ok(body))
    }

    pub(super) fn page(
        &self,
        place: &Place,
        resource: &Resource,
        options: &ListOptions,
        view: &View,
    ) -> Result<Page, Failure> {
        let namespace = place.namespace.as_deref();
        let asked = match options.revision.as_str() {
            "" => None,
            text => Some(self.not_from_the_future(text)?),
        };
        let token =
            (!options.resume.is_empty()).then(|| Token::read(&options.resume)).transpose()?;
        let state = self.state();
        let current = state.store.revision();
        let exact = options.matching == "Exact"
            || (options.matching.is_empty()
                && options.limit > 0
                && asked.is_some_and(|revision| revision > 0));
        let at = match (&token, asked) {
            (Some(token), _) => token.revision,
            (None, Some(revision)) if exact => Some(revision),
            _ => None,
        };
        let after = token.as_ref().map(|token| token.after(namespace));
        let limit = if asked == Some(0) && token.is_none() { 0 } else { options.limit };
        let revision = at.unwrap_or(current);
        let old;
        let objects: Box<dyn Iterator<Item = (&Key, &Arc<Stored>)>> =
            if at.is_some_and(|at| at < current) {
                old = state.store.snapshot(&resource.table, revision).map_err(|_| {
                    token.as_ref().map_or_else(
                        || {
                            Failure::new(
                                410,
                                "Expired",
                                "The resourceVersion for the provided list is too old.",
                            )
                        },
                        Token::expired,
                    )
                })?;
                let after = after.clone();
                Box::new(old.iter().filter(move |(key, _)| {
                    namespace.is_none_or(|ns| key.namespace == ns)
                        && after.as_ref().is_none_or(|after| *key > after)
                }))
            } else {
                state.store.range(&resource.table, namespace, after.as_ref())
            };
        let mut matching = objects.filter(|(_, stored)| view.matches(&stored.value));
        let mut items = Vec::new();
        let mut last = None;
        for (key, stored) in matching.by_ref() {
            items.push(stored.clone());
            last = Some(key.clone());
            if limit > 0 && items.len() == limit {
                break;
            }
        }
        let remaining = matching.count();
        let resume = last
            .filter(|_| limit > 0 && remaining > 0)
            .map(|key| Token::write(revision, namespace, &key));
        Ok(Page { revision, items, remaining, resume })
    }

    pub(super) fn watch(
        &self,
        call: &Call,
        place: &Place,
        resource: &Arc<Resource>,
    ) -> Result<Answer, Failure> {
        let mut options = ListOptions::read(&call.query, true)?;
        if let Some(name) = &place.name {
            options.fields = format!("metadata.name={name}");
        }
        let wanted = negotiate_collection(&call.headers)?;
        if wanted.media == super::respond::Media::Yaml {
            return Err(Failure::new(
                406,
                "NotAcceptable",
                "only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch",
            ));
        }
        let view = self.view(call, resource, &options, wanted.form)?;
        let since: Option<u64> = match options.revision.as_str() {
            "" => None,
            text => Some(text.parse().map_err(|_| {
                Failure::internal_plain(format!(
                    "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
                ))
            })?),
        };
        let namespace = place.namespace.as_deref();
        let from_now = since.is_none_or(|since| since == 0);
        let initial = options.initial_events.unwrap_or(from_now);
        let mut state = self.state();
        let current = state.store.revision();
        let start = if initial || from_now { current } else { since.unwrap_or(current) };
        let changes = match state.store.watch(&resource.table, namespace, Some(start)) {
            Ok(changes) => changes,
            Err(expired) => {
                let failure = Failure::new(
                    410,
                    "Expired",
                    format!("too old resource version: {start} ({})", expired.oldest),
                );
                let watch = Watch::only(view, &failure.body());
                return Ok(Answer {
                    content: Content::Watch(Box::new(watch)),
                    ..Answer::ok(Value::Null)
                });
            }
        };
        let mut watch = Watch::new(view, changes, start, options.bookmarks, options.timeout);
        if initial {
            let known: Vec<Arc<Stored>> = state
                .store
                .range(&resource.table, namespace, None)
                .filter(|(_, stored)| watch.wants(&stored.value))
                .map(|(_, stored)| stored.clone())
                .collect();
            for stored in known {
                watch.push_known(&stored);
            }
            let asked_for_end = options.initial_events == Some(true) || from_now;
            if options.bookmarks && asked_for_end {
                watch.push_initial_end();
            }
        }
        Ok(Answer { content: Content::Watch(Box::new(watch)), ..Answer::ok(Value::Null) })
    }
}

/// One page of a list.
pub(super) struct Page {
    pub revision: u64,
    pub items: Vec<Arc<Stored>>,
    pub remaining: usize,
    pub resume: Option<String>,
}

/// A continue token: the moment the list began and the last key it gave.
struct Token {
    /// None: go on at the newest revision.
    revision: Option<u64>,
    start: String,
}

impl Token {
    fn write(revision: u64, namespace: Option<&str>, last: &Key) -> String {
        let path = match namespace {
            Some(_) => format!("{}\0", last.name),
            None if last.namespace.is_empty() => format!("{}\0", last.name),
            None => format!("{}/{}\0", last.namespace, last.name),
        };
        Self::encode(&json!(revision), &path)
    }

    fn encode(revision: &Value, start: &str) -> String {
        // Field order is part of the token.
        let text =
            format!(r#"{{"v":"meta.k8s.io/v1","rv":{revision},"start":{}}}"#, Value::from(start));
        URL_SAFE_NO_PAD.encode(text)
    }

    fn read(token: &str) -> Result<Self, Failure> {
        let bad = |why: String| {
            Failure::bad_request(format!(
                "invalid continue token: continue key is not valid: {why}"
            ))
        };
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|error| match error {
            base64::DecodeError::InvalidByte(at, _) => {
                bad(format!("illegal base64 data at input byte {at}"))
            }
            _ => bad(format!("illegal base64 data at input byte {}", token.len() / 4 * 4)),
        })?;
        let value: Value = serde_json::from_slice(&bytes).map_err(|_| {
            let first = String::from_utf8_lossy(&bytes).chars().next();
            bad(first.map_or_else(
                || "unexpected end of JSON input".to_owned(),
                |first| format!("invalid character '{first}' looking for beginning of value"),
            ))
        })?;
        if value["v"] != "meta.k8s.io/v1" {
            return Err(bad(format!(
                "server does not recognize this encoded version {}",
                value["v"].as_str().map_or_else(|| "\"\"".to_owned(), |v| format!("{v:?}"))
            )));
        }
        let start = value["start"].as_str().unwrap_or_default().to_owned();
        match value["rv"].as_i64() {
            Some(0) | None => {
                Err(bad("incorrect encoded start resourceVersion (version meta.k8s.io/v1)".into()))
            }
            Some(revision) => Ok(Self { revision: u64::try_from(revision).ok(), start }),
        }
    }

    fn after(&self, namespace: Option<&str>) -> Key {
        let start = self.start.trim_end_matches('\0').trim_start_matches('/');
        match (namespace, start.split_once('/')) {
            (Some(namespace), _) => Key::new(namespace, start),
            (None, Some((namespace, name))) => Key::new(namespace, name),
            (None, None) => Key::new("", start),
        }
    }

    fn expired(&self) -> Failure {
        Failure {
            resume: Some(Self::encode(&json!(-1), &self.start)),
            ..Failure::new(
                410,
                "Expired",
                "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
            )
        }
    }
}
