//! Policies and webhooks against what kube-apiserver 1.36.3 answered to the same.

mod conditions;
mod holdfast;
mod mutations;
mod policies;
mod webhooks;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use serde_json::{Value, json};

use super::*;
use crate::builtin;
use crate::identity::User;

/// A server's objects.
#[derive(Default)]
pub(super) struct Held {
    objects: BTreeMap<(String, String), Vec<Found>>,
    custom: Vec<Resource>,
    revision: u64,
}

impl Held {
    /// One namespace, `t`.
    pub fn new() -> Self {
        let mut held = Self::default();
        held.add(
            "",
            "namespaces",
            json!({
                "metadata": { "name": "t", "labels": { "kubernetes.io/metadata.name": "t" } },
                "spec": { "finalizers": ["kubernetes"] }, "status": { "phase": "Active" },
            }),
        );
        held
    }

    pub fn add(&mut self, group: &str, plural: &str, mut object: Value) {
        self.revision += 1;
        object["metadata"]["uid"] = format!("uid-{}", self.revision).into();
        object["metadata"]["resourceVersion"] = self.revision.to_string().into();
        let table = self.objects.entry((group.to_owned(), plural.to_owned())).or_default();
        table.push(object.into());
        table.sort_by_key(|object| object["metadata"]["name"].to_string());
    }

    pub fn kind(&mut self, group: &str, kind: &str, plural: &str, namespaced: bool) {
        let mut resource = (*resource("", "configmaps")).clone();
        resource.group = group.to_owned();
        resource.kind = kind.to_owned();
        resource.plural = plural.to_owned();
        resource.namespaced = namespaced;
        resource.custom = true;
        self.custom.push(resource);
    }

    /// A policy for config maps (unless its spec says otherwise) and its binding, both with this name.
    pub fn policy(&mut self, sort: &str, name: &str, spec: Value, binding: Value) {
        let mut whole = json!({
            "matchConstraints": { "resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"],
            }] },
            "reinvocationPolicy": "Never",
        });
        merge_into(&mut whole, spec);
        let mut bound = json!({ "policyName": name, "validationActions": ["Deny"] });
        merge_into(&mut bound, binding);
        let metadata = json!({ "name": name });
        let object = json!({ "metadata": metadata, "spec": whole });
        self.add(GROUP, &format!("{sort}admissionpolicies"), object);
        let object = json!({ "metadata": metadata, "spec": bound });
        self.add(GROUP, &format!("{sort}admissionpolicybindings"), object);
    }
}

fn merge_into(whole: &mut Value, part: Value) {
    if let (Some(whole), Value::Object(part)) = (whole.as_object_mut(), part) {
        whole.extend(part);
    }
}

impl Lookup for Held {
    fn get(&self, group: &str, plural: &str, namespace: Option<&str>, name: &str) -> Option<Found> {
        let all = self.list(group, plural, namespace);
        all.into_iter().find(|object| object["metadata"]["name"] == name)
    }

    fn list(&self, group: &str, plural: &str, namespace: Option<&str>) -> Vec<Found> {
        let table = self.objects.get(&(group.to_owned(), plural.to_owned()));
        let here = |object: &&Found| {
            namespace.is_none_or(|namespace| object["metadata"]["namespace"] == namespace)
        };
        table.into_iter().flatten().filter(here).cloned().collect()
    }

    fn resource(&self, group: &str, kind: &str) -> Option<Resource> {
        let same = |one: &&Resource| one.group == group && one.kind == kind;
        let built_in = builtin::resources().iter().map(AsRef::as_ref);
        self.custom.iter().chain(built_in).find(same).cloned()
    }

    fn fill_defaults(&self, _: &Resource, _: &mut Value) {}
}

pub(super) fn resource(group: &str, plural: &str) -> Arc<Resource> {
    let same = |one: &&Arc<Resource>| one.group == group && one.plural == plural;
    builtin::resources().iter().find(same).unwrap().clone()
}

/// A write to be admitted.
pub(super) struct Write {
    pub operation: Operation,
    pub resource: Arc<Resource>,
    pub namespace: Option<&'static str>,
    pub object: Option<Value>,
    pub old: Option<Value>,
    pub user: User,
    pub dry_run: bool,
}

impl Write {
    pub fn create(object: Value) -> Self {
        Self {
            operation: Operation::Create,
            resource: resource("", "configmaps"),
            namespace: Some("t"),
            object: Some(object),
            old: None,
            user: User::admin("admin"),
            dry_run: false,
        }
    }

    /// A config map `x` with `a: 1`, created.
    pub fn plain() -> Self {
        Self::create(config_map("x"))
    }

    pub fn delete(resource: Arc<Resource>, old: Value) -> Self {
        let write = Self::create(Value::Null);
        Self { operation: Operation::Delete, resource, object: None, old: Some(old), ..write }
    }

    pub fn by(mut self, user: User) -> Self {
        self.user = user;
        self
    }

    pub fn of(mut self, resource: Arc<Resource>) -> Self {
        self.resource = resource;
        self
    }

    fn name(&self) -> &str {
        let object = self.object.as_ref().or(self.old.as_ref());
        object.and_then(|object| object["metadata"]["name"].as_str()).unwrap_or_default()
    }

    pub fn attributes(&self) -> Attributes<'_> {
        let kind = match self.operation {
            Operation::Create => "CreateOptions",
            Operation::Delete => "DeleteOptions",
            _ => "UpdateOptions",
        };
        Attributes {
            operation: self.operation,
            resource: &self.resource,
            subresource: "",
            namespace: self.namespace,
            name: self.name(),
            object: self.object.as_ref(),
            old: self.old.as_ref(),
            user: &self.user,
            dry_run: self.dry_run,
            options: json!({ "kind": kind, "apiVersion": "meta.k8s.io/v1" }),
            uid: "0b2f0d5e-0000-4000-8000-000000000000".into(),
        }
    }

    pub fn validate(&self, held: &Held) -> Result<Verdict, Failure> {
        self.validate_through(held, &Unreachable)
    }

    pub fn validate_through(&self, held: &Held, caller: &dyn Caller) -> Result<Verdict, Failure> {
        let admission = Admission::default();
        let attributes = self.attributes();
        admission.validate(&attributes, held, caller).now_or_never().unwrap()
    }

    pub fn mutate(&self, held: &Held) -> Result<(Value, Vec<String>), Failure> {
        self.mutate_through(held, &Unreachable)
    }

    pub fn mutate_through(
        &self,
        held: &Held,
        caller: &dyn Caller,
    ) -> Result<(Value, Vec<String>), Failure> {
        let admission = Admission::default();
        let attributes = Attributes { object: None, ..self.attributes() };
        let object = self.object.clone().unwrap_or_default();
        admission.mutate(&attributes, object, held, caller).now_or_never().unwrap()
    }
}

pub(super) fn config_map(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": name, "namespace": "t", "labels": { "case": "x" },
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "data": { "a": "1" },
    })
}

/// Answers reviews in the process, and remembers them.
pub(super) struct Scripted<F> {
    script: F,
    pub asked: Mutex<Vec<(Target, Value)>>,
}

impl<F> Scripted<F>
where
    F: Fn(&Target, &Value) -> Result<Value, CallError> + Send + Sync,
{
    pub fn new(script: F) -> Self {
        Self { script, asked: Mutex::default() }
    }
}

impl<F> Caller for Scripted<F>
where
    F: Fn(&Target, &Value) -> Result<Value, CallError> + Send + Sync,
{
    fn call(
        &self,
        target: Target,
        review: Value,
        _: Duration,
    ) -> BoxFuture<'_, Result<Value, CallError>> {
        let answer = (self.script)(&target, &review);
        self.asked.lock().unwrap().push((target, review));
        Box::pin(async move { answer })
    }
}

#[test]
fn nothing_is_asked_about_admission_itself() {
    let mut held = Held::new();
    held.policy(
        "validating",
        "p",
        json!({ "matchConstraints": { "resourceRules": [{
            "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["*"],
        }] }, "validations": [{ "expression": "false" }] }),
        json!({}),
    );
    for (group, plural, exempt) in [
        ("", "configmaps", false),
        (GROUP, "validatingadmissionpolicies", true),
        (GROUP, "mutatingwebhookconfigurations", true),
        ("authorization.k8s.io", "subjectaccessreviews", true),
        ("authentication.k8s.io", "selfsubjectreviews", true),
    ] {
        let write =
            Write::create(json!({ "metadata": { "name": "x" } })).of(resource(group, plural));
        assert_eq!(write.validate(&held).is_ok(), exempt, "{plural}");
    }
}

#[test]
fn what_was_compiled_is_kept_until_it_changes() {
    let kept: Kept<String> = Kept::default();
    let count = Mutex::new(0);
    let make = |object: &Value| {
        *count.lock().unwrap() += 1;
        object["metadata"]["name"].to_string()
    };
    let object = |uid: usize, version: u32| {
        Found::from(json!({ "metadata": {
            "uid": format!("u{uid}"), "resourceVersion": version.to_string(), "name": uid,
        } }))
    };
    kept.all(&[object(1, 1), object(2, 1)], make);
    kept.all(&[object(1, 1), object(2, 1)], make);
    assert_eq!(*count.lock().unwrap(), 2);
    kept.all(&[object(1, 2), object(2, 1)], make);
    assert_eq!(*count.lock().unwrap(), 3);
    let many: Vec<Found> = (0..40).map(|uid| object(uid, 9)).collect();
    kept.all(&many, make);
    kept.all(&many[..1], make);
    assert_eq!(kept.0.lock().unwrap().len(), 1);
}
