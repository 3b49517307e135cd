//! Event: one kind in two shapes, stored as core/v1.

use serde_json::{Map, Value};

use super::view::{at, has, immutable, number, object, take, text, wrong};
use super::{Strategy, form, format};
use crate::fields::{FieldError, Path};

/// The rules of events as core/v1 has them.
pub const EVENT: Strategy = Strategy {
    defaults: |event| form::settle("v1", "Event", event),
    validate: |event| validate_both(event, "reportingComponent"),
    create_on_update: true,
    ..Strategy::PLAIN
};

/// The rules of events as events.k8s.io/v1 has them.
pub const EVENTS_EVENT: Strategy = Strategy {
    defaults: |event| form::settle("events.k8s.io/v1", "Event", event),
    validate: |event| {
        let stored = to_core(event);
        let mut errors = validate_both(&stored, "reportingController");
        errors.extend(series(&stored));
        errors.extend(fresh(&stored));
        errors
    },
    validate_update: |new, old| change(&to_core(new), &to_core(old)),
    revalidate: false,
    create_on_update: true,
    ..Strategy::PLAIN
};

/// Pairs of names: events.k8s.io/v1, core/v1.
const NAMES: &[(&str, &str)] = &[
    ("note", "message"),
    ("regarding", "involvedObject"),
    ("reportingController", "reportingComponent"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
];

/// The event as core/v1 shows and the server stores it. Takes either shape.
pub fn to_core(event: &Value) -> Value {
    renamed(event, "v1", |(events, core)| (events, core))
}

/// The event as events.k8s.io/v1 shows it. Takes either shape.
pub fn to_events(event: &Value) -> Value {
    renamed(event, "events.k8s.io/v1", |(events, core)| (core, events))
}

fn renamed(
    event: &Value,
    api_version: &str,
    direction: fn((&'static str, &'static str)) -> (&'static str, &'static str),
) -> Value {
    let mut shown = event.clone();
    if let Value::Object(map) = &mut shown {
        for &pair in NAMES {
            let (from, to) = direction(pair);
            if let Some(value) = map.remove(from) {
                map.insert(to.to_owned(), value);
            }
        }
        map.insert("apiVersion".into(), Value::from(api_version));
    }
    form::settle(api_version, "Event", &mut shown);
    shown
}

fn validate_both(event: &Value, controller: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let namespace = text(event, "metadata.namespace");
    let subject = text(event, "involvedObject.namespace");
    let mut foreign = || {
        errors.extend(wrong(
            &Path::new("involvedObject.namespace"),
            subject,
            vec!["does not match event.namespace".into()],
        ));
    };
    if text(event, "eventTime").is_empty() {
        let outside = if subject.is_empty() {
            !matches!(namespace, "" | "default")
        } else {
            namespace != subject
        };
        if outside {
            foreign();
        }
    } else {
        if subject.is_empty() && !matches!(namespace, "default" | "kube-system") {
            foreign();
        }
        let reporter = text(event, "reportingComponent");
        let path = Path::new(controller);
        if reporter.is_empty() {
            errors.push(FieldError::required(&path, ""));
        }
        errors.extend(wrong(&path, reporter, format::qualified_name(reporter)));
        for (field, needed, limit) in [
            ("reportingInstance", true, 128),
            ("action", true, 128),
            ("reason", true, 128),
            ("message", false, 1024),
        ] {
            let held = text(event, field);
            let path = Path::new(field);
            if needed && held.is_empty() {
                errors.push(FieldError::required(&path, ""));
            }
            if held.len() > limit {
                errors.extend(wrong(
                    &path,
                    "",
                    vec![format!("can have at most {limit} characters")],
                ));
            }
        }
    }
    errors
}

fn series(event: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if has(event, "series") {
        if number(event, "series.count").unwrap_or_default() < 2 {
            errors.extend(wrong(
                &Path::new("series.count"),
                "",
                vec!["should be at least 2".into()],
            ));
        }
        if text(event, "series.lastObservedTime").is_empty() {
            errors.push(FieldError::required(&Path::new("series.lastObservedTime"), ""));
        }
    }
    errors
}

/// What a new event of the newer shape may not carry over from the older.
fn fresh(event: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if text(event, "eventTime").is_empty() {
        errors.push(FieldError::required(&Path::new("eventTime"), ""));
    }
    let kind = text(event, "type");
    if !matches!(kind, "Normal" | "Warning") {
        errors.extend(wrong(&Path::new("type"), "", vec![format!("has invalid value: {kind}")]));
    }
    let unset = |field: &str| wrong(&Path::new(field), "", vec!["needs to be unset".into()]);
    for field in ["firstTimestamp", "lastTimestamp"] {
        if has(event, field) {
            errors.extend(unset(field));
        }
    }
    if number(event, "count").unwrap_or_default() != 0 {
        errors.extend(unset("count"));
    }
    if !text(event, "source.component").is_empty() || !text(event, "source.host").is_empty() {
        errors.extend(unset("source"));
    }
    errors
}

fn change(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = validate_both(new, "reportingController");
    if at(new, "series") != at(old, "series") {
        errors.extend(series(new));
    }
    let shown_struct = |name: &'static str, field: &str| -> Option<FieldError> {
        (at(new, field) != at(old, field)).then(|| {
            let value = at(new, field);
            let shown =
                if value.is_null() { "null".to_owned() } else { form::internal(name, value) };
            FieldError::invalid_shown(&Path::new(field), shown, "field is immutable")
        })
    };
    let text_change = |field: &str, shown_as: &str| {
        immutable(
            &Path::new(shown_as),
            &Value::from(text(new, field)),
            &Value::from(text(old, field)),
        )
    };
    errors.extend(shown_struct("core.ObjectReference", "involvedObject"));
    errors.extend(text_change("reason", "reason"));
    errors.extend(text_change("message", "message"));
    errors.extend(shown_struct("core.EventSource", "source"));
    for field in ["firstTimestamp", "lastTimestamp"] {
        errors.extend(immutable(&Path::new(field), at(new, field), at(old, field)));
    }
    let count = |event: &Value| Value::from(number(event, "count").unwrap_or_default());
    errors.extend(immutable(&Path::new("count"), &count(new), &count(old)));
    errors.extend(text_change("reason", "reason"));
    errors.extend(text_change("type", "type"));
    errors.extend(immutable(&Path::new("eventTime"), at(new, "eventTime"), at(old, "eventTime")));
    errors.extend(text_change("action", "action"));
    errors.extend(shown_struct("core.ObjectReference", "related"));
    errors.extend(text_change("reportingComponent", "reportingController"));
    errors.extend(text_change("reportingInstance", "reportingInstance"));
    errors
}

/// An event that says nothing, as core/v1 prints it; for bookmarks.
pub fn empty() -> Map<String, Value> {
    let mut event = Value::Object(Map::new());
    form::settle("v1", "Event", &mut event);
    take(&mut event, "metadata");
    std::mem::take(object(&mut event, ""))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn both_shapes_say_the_same() {
        let mut core = json!({"metadata": {"name": "e", "namespace": "n"}, "involvedObject": {"kind": "Pod", "namespace": "n"}, "message": "m", "count": 2});
        (EVENT.defaults)(&mut core);
        assert_eq!(core["eventTime"], json!(null));
        assert_eq!(core["reportingComponent"], "");
        assert_eq!(core["source"], json!({}));
        let events = to_events(&core);
        assert_eq!(events["apiVersion"], "events.k8s.io/v1");
        assert_eq!(events["note"], "m");
        assert_eq!(events["regarding"]["kind"], "Pod");
        assert_eq!(events["deprecatedCount"], 2);
        core["apiVersion"] = json!("v1");
        assert_eq!(to_core(&events), core);
        assert_eq!(to_core(&core), core);
    }

    #[test]
    fn an_event_is_about_its_own_namespace() {
        let event =
            json!({"metadata": {"namespace": "n"}, "involvedObject": {"namespace": "other"}});
        assert_eq!(
            said(&(EVENT.validate)(&event)),
            ["involvedObject.namespace: Invalid value: \"other\": does not match event.namespace"]
        );
        assert!((EVENT.validate)(&json!({"metadata": {"namespace": "default"}})).is_empty());
    }

    #[test]
    fn the_newer_shape_asks_for_more() {
        let event = json!({"metadata": {"namespace": "n"}, "regarding": {"namespace": "n"}});
        assert_eq!(
            said(&(EVENTS_EVENT.validate)(&event)),
            ["eventTime: Required value", "type: Invalid value: \"\": has invalid value: "]
        );
    }
}
