//! Kinds that keep pods running: they select pods by labels and make them from a template.

mod daemonset;
mod deployment;
mod replicas;
mod revision;
mod statefulset;

pub use daemonset::DAEMON_SET;
pub use deployment::DEPLOYMENT;
pub use replicas::{POD_TEMPLATE, REPLICA_SET, REPLICATION_CONTROLLER};
pub use revision::CONTROLLER_REVISION;
pub use statefulset::STATEFUL_SET;

use serde_json::Value;

use super::value::{Fields as _, Fill as _, same};
use super::{form, labels, pod};
use crate::fields::{FieldError, Path};

/// A selector as messages show it.
pub fn shown_selector(selector: Option<&Value>) -> String {
    selector.map_or_else(|| "null".to_owned(), |s| form::public("meta/v1.LabelSelector", s))
}

/// `field is immutable`, if the selector changed.
fn selector_stays(new: &Value, old: &Value, field: &Path) -> Option<FieldError> {
    let (now, before) = (new.part("selector"), old.part("selector"));
    let changed = !same(new.get_or_null("selector"), old.get_or_null("selector"))
        || now.is_some() != before.is_some();
    changed.then(|| {
        FieldError::invalid_shown(
            &field.child("selector"),
            shown_selector(now),
            "field is immutable",
        )
    })
}

/// A selector that must be there and say something.
fn required_selector(spec: &Value, field: &Path, kind: &str) -> Vec<FieldError> {
    let field = &field.child("selector");
    let Some(selector) = spec.part("selector") else {
        return vec![FieldError::required(field, "")];
    };
    let mut wrong = labels::selector(Some(selector), field);
    if labels::selector_is_empty(selector) {
        wrong.push(FieldError::invalid_shown(
            field,
            shown_selector(Some(selector)),
            format!("empty selector is invalid for {kind}"),
        ));
    }
    wrong
}

/// A template whose labels the selector does not match.
pub fn mismatch(selector: Option<&Value>, template: &Value, field: &Path) -> Option<FieldError> {
    let own = template.get_or_null("metadata").get_or_null("labels");
    (!labels::selector_matches(selector, own)).then(|| {
        FieldError::invalid(
            &field.child("metadata").child("labels"),
            own,
            "`selector` does not match template `labels`",
        )
    })
}

/// What templates of kinds that run forever may not say.
fn runs_forever(template: &Value, field: &Path, kind: &str) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let (spec, at) = (template.get_or_null("spec"), field.child("spec"));
    let policy = spec.text("restartPolicy");
    if policy != "Always" {
        wrong.push(FieldError::not_supported(
            &at.child("restartPolicy"),
            &Value::from(policy),
            &["Always"],
        ));
    }
    if spec.part("activeDeadlineSeconds").is_some() {
        wrong.push(FieldError::forbidden(
            &at.child("activeDeadlineSeconds"),
            format!("activeDeadlineSeconds in {kind} is not Supported"),
        ));
    }
    wrong
}

/// Checks the template of a ReplicaSet or Deployment.
fn replicated_template(spec: &Value, field: &Path) -> Vec<FieldError> {
    let selector = spec.part("selector");
    if !labels::selector_is_usable(selector) {
        return vec![FieldError::invalid_shown(
            &field.child("selector"),
            shown_selector(selector),
            "invalid label selector",
        )];
    }
    let (template, at) = (spec.get_or_null("template"), field.child("template"));
    let mut wrong = Vec::new();
    if !selector.is_some_and(labels::selector_is_empty) {
        wrong.extend(mismatch(selector, template, &at));
    }
    wrong.extend(pod::template(template, &at));
    wrong.extend(runs_forever(template, &at, "ReplicaSet"));
    wrong
}

/// Warns of a workload's name when it is new, and of its template when its spec is new or changed.
fn pod_warnings(object: &Value, old: Option<&Value>, named: bool) -> Vec<String> {
    let mut said = Vec::new();
    let unchanged = |old: &Value| same(object.get_or_null("spec"), old.get_or_null("spec"));
    if old.is_some_and(unchanged) {
        return said;
    }
    if old.is_none() && named {
        said.extend(name_warning(object));
    }
    let template = object.get_or_null("spec").get_or_null("template");
    said.extend(pod::template_warnings(template, &Path::new("spec.template")));
    said
}

/// Warns of a name that makes no host name of pods.
pub fn name_warning(object: &Value) -> Vec<String> {
    pod::name_warning(
        object.get_or_null("metadata").text("name"),
        "this is used in Pod names and hostnames, which can result in surprising behavior",
    )
}

/// A status starts empty, in the form of its kind.
fn fresh_status(object: &mut Value, form_name: &str) {
    let mut status = Value::Null;
    form::settle_part(form_name, &mut status);
    object.put("status", status);
}

/// The status changes only through `/status`.
pub fn keep_status(new: &mut Value, old: &Value) {
    match old.get("status") {
        Some(status) => new.put("status", status.clone()),
        None => new.drop_field("status"),
    }
}

/// Drops from a template what is disabled.
fn drop_disabled(object: &mut Value) {
    if let Some(template) = object.object("spec").part_mut("template") {
        pod::drop_disabled(template.object("spec"));
    }
}

/// What is wrong with counts in a status: negative, or more than there are.
fn status_counts(status: &Value, keys: &[&str], within: &[&str], ready: &str) -> Vec<FieldError> {
    let at = Path::new("status");
    let mut wrong = pod::counts(status, keys, &at);
    for key in within {
        if status.int(key) > status.int("replicas") {
            wrong.push(FieldError::invalid(
                &at.child(key),
                &Value::from(status.int(key)),
                "cannot be greater than status.replicas",
            ));
        }
    }
    if status.int("availableReplicas") > status.int("readyReplicas") {
        wrong.push(FieldError::invalid(
            &at.child("availableReplicas"),
            &Value::from(status.int("availableReplicas")),
            format!("cannot be greater than {ready}"),
        ));
    }
    wrong
}

/// A count of collisions never falls.
fn collisions(now: &Value, before: &Value) -> Option<FieldError> {
    let (new, old) = (now.int_opt("collisionCount"), before.int_opt("collisionCount")?);
    (new.is_none_or(|n| n < old)).then(|| {
        FieldError::invalid(
            &Path::new("status.collisionCount"),
            &Value::from(new.unwrap_or_default()),
            "cannot be decremented",
        )
    })
}
