//! Takes out of an answer what may differ between two honest servers: identities, versions, times,
//! generated names, allocated addresses.
//!
//! Identities are numbered by their first appearance in the case, so that "the same object as before"
//! and "unchanged since" still compare.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

use super::answer::{Answer, Content};
use super::case::Request;

/// Remembers, for one case on one server, what was seen.
#[derive(Debug, Default)]
pub struct Normalizer {
    namespace: Option<String>,
    uids: BTreeMap<String, usize>,
    versions: BTreeMap<String, usize>,
    names: BTreeMap<String, String>,
    addresses: BTreeMap<String, usize>,
}

/// A pattern that is known to compile; one that does not matches nothing and fails its test.
fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

static UID: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"));
static TIME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(r"\b20(2[4-9]|[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
});
static GO_TIME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"\b20(2[4-9]|[3-9]\d)-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)? [+-]\d{4} [A-Z]+( m=[+-][\d.]+)?",
    )
});
static LOOPBACK: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"\b127\.0\.0\.1:\d+\b"));
static VERSION_IN_TEXT: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(?i)(resource ?version[^0-9\n]{0,60}?)\b([1-9]\d*)\b"));
static SUFFIX: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^[bcdfghjklmnpqrstvwxz2456789]{5}$"));

fn replace(
    regex: Option<&Regex>,
    text: String,
    with: impl FnMut(&Captures<'_>) -> String,
) -> String {
    match regex {
        Some(regex) if regex.is_match(&text) => regex.replace_all(&text, with).into_owned(),
        _ => text,
    }
}

fn number(known: &mut BTreeMap<String, usize>, value: &str) -> usize {
    let next = known.len() + 1;
    *known.entry(value.to_owned()).or_insert(next)
}

impl Normalizer {
    /// For a case that runs in this namespace.
    pub fn of_namespace(namespace: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), ..Self::default() }
    }

    /// The answer with everything incidental replaced.
    pub fn normalize(&mut self, request: &Request, answer: &Answer) -> Answer {
        let mut answer = answer.clone();
        for (_, value) in &mut answer.headers {
            *value = self.text(std::mem::take(value));
        }
        match &mut answer.body {
            Content::Json(value) => {
                self.body(request, value);
                for pointer in &request.ignored {
                    ignore(value, pointer);
                }
            }
            Content::Events(events) => {
                for event in &mut *events {
                    if event["type"] == "BOOKMARK" {
                        forget_version(&mut event["object"]);
                    }
                    self.body(request, &mut event["object"]);
                }
                let mut all = Value::Array(std::mem::take(events));
                for pointer in &request.ignored {
                    ignore(&mut all, pointer);
                }
                if let Value::Array(all) = all {
                    *events = all;
                }
            }
            Content::Text(text) => *text = self.text(std::mem::take(text)),
        }
        answer
    }

    fn body(&mut self, request: &Request, value: &mut Value) {
        let kind = value["kind"].as_str().unwrap_or_default();
        if value["items"].is_array() || value["rows"].is_array() || kind.ends_with("List") {
            forget_version(value);
        }
        if request.causes_in_any_order {
            order_causes(value);
        }
        self.generated_names(value);
        self.value(value);
    }

    /// Names must be known before the texts that mention them are read.
    fn generated_names(&mut self, value: &Value) {
        match value {
            Value::Object(map) => {
                if let Some(Value::Object(meta)) = map.get("metadata")
                    && let Some(prefix) = meta.get("generateName").and_then(Value::as_str)
                    && let Some(name) = meta.get("name").and_then(Value::as_str)
                    && let Some(suffix) = name.strip_prefix(prefix)
                    && SUFFIX.as_ref().is_some_and(|regex| regex.is_match(suffix))
                {
                    let next = self.names.len() + 1;
                    self.names
                        .entry(name.to_owned())
                        .or_insert_with(|| format!("{prefix}<generated:{next}>"));
                }
                map.values().for_each(|value| self.generated_names(value));
            }
            Value::Array(items) => items.iter().for_each(|value| self.generated_names(value)),
            _ => {}
        }
    }

    fn value(&mut self, value: &mut Value) {
        match value {
            Value::Object(map) => {
                for (key, value) in map.iter_mut() {
                    self.field(key, value);
                }
                // Field sets name their fields by key, and owners by uid.
                let named = |key: &String| {
                    self.namespace.as_ref().is_some_and(|namespace| key.contains(namespace))
                        || UID.as_ref().is_some_and(|regex| regex.is_match(key))
                };
                if map.keys().any(named) {
                    *map = std::mem::take(map)
                        .into_iter()
                        .map(|(key, value)| (self.text(key), value))
                        .collect();
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::String(text) => *text = self.text(std::mem::take(text)),
            _ => {}
        }
    }

    fn field(&mut self, key: &str, value: &mut Value) {
        match (key, &mut *value) {
            ("resourceVersion", Value::String(text)) if is_version(text) => {
                *text = format!("<rv:{}>", number(&mut self.versions, text));
            }
            ("continue", Value::String(text)) if !text.is_empty() => {
                "<continue>".clone_into(text);
            }
            ("serverAddress" | "token" | "caBundle", Value::String(text)) if !text.is_empty() => {
                *text = format!("<{key}>");
            }
            ("clusterIP", Value::String(text)) => *text = self.address(text),
            ("clusterIPs", Value::Array(items)) => {
                for item in items {
                    if let Value::String(text) = item {
                        *text = self.address(text);
                    }
                }
            }
            ("nodePort" | "healthCheckNodePort", Value::Number(_)) => {
                *value = Value::String("<port>".to_owned());
            }
            ("managedFields", Value::Array(entries)) => {
                for entry in entries.iter_mut() {
                    self.value(entry);
                }
                // The server sorts by second, so the order would depend on when a second ends.
                entries.sort_by_key(|entry| {
                    ["operation", "manager", "subresource", "apiVersion"]
                        .map(|key| entry[key].as_str().unwrap_or_default().to_owned())
                });
            }
            _ => self.value(value),
        }
    }

    fn address(&mut self, text: &str) -> String {
        if text.parse::<std::net::IpAddr>().is_err() {
            return text.to_owned();
        }
        format!("<ip:{}>", number(&mut self.addresses, text))
    }

    fn text(&mut self, text: String) -> String {
        let uids = &mut self.uids;
        let text =
            replace(UID.as_ref(), text, |found| format!("<uid:{}>", number(uids, &found[0])));
        let text = replace(TIME.as_ref(), text, |_| "<time>".to_owned());
        let text = replace(GO_TIME.as_ref(), text, |_| "<time>".to_owned());
        let mut text = replace(LOOPBACK.as_ref(), text, |_| "127.0.0.1:<port>".to_owned());
        if let Some(namespace) = &self.namespace
            && text.contains(namespace)
        {
            text = text.replace(namespace, "{ns}");
        }
        if let Some(namespace) = &self.namespace {
            text = cut_short(text, namespace);
        }
        for (name, token) in &self.names {
            if text.contains(name) {
                text = text.replace(name, token);
            }
        }
        let versions = &self.versions;
        replace(VERSION_IN_TEXT.as_ref(), text, |found| {
            // What the case itself made up ("1") is the same on both; what was read is numbered.
            let shown = versions.get(&found[2]).map(|number| format!("<rv:{number}>"));
            let unseen =
                || if found[2].len() > 2 { "<rv>".to_owned() } else { found[2].to_owned() };
            format!("{}{}", &found[1], shown.unwrap_or_else(unseen))
        })
    }
}

/// The server shows the beginning of a body in some messages, which may end within the namespace.
fn cut_short(text: String, namespace: &str) -> String {
    const CUT: &str = " ...";
    let Some(end) = text.find(CUT) else { return text };
    let beginning = (2..namespace.len())
        .rev()
        .filter_map(|length| namespace.get(..length))
        .find(|beginning| text.get(..end).is_some_and(|shown| shown.ends_with(beginning)));
    match beginning {
        Some(beginning) => text.replacen(&format!("{beginning}{CUT}"), &format!("{{ns}}{CUT}"), 1),
        None => text,
    }
}

/// Zero means "any" and is part of the answer.
fn is_version(text: &str) -> bool {
    text != "0" && !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The version of a list is the version of the whole store, in which other clients write too.
fn forget_version(value: &mut Value) {
    if let Some(Value::String(text)) = value.pointer_mut("/metadata/resourceVersion")
        && is_version(text)
    {
        "<rv>".clone_into(text);
    }
}

/// Sorts the causes of a Status and takes them out of its message, where they stand in the same order.
fn order_causes(status: &mut Value) {
    let mut pieces = Vec::new();
    if let Some(Value::Array(causes)) = status.pointer_mut("/details/causes") {
        causes.sort_by_key(ToString::to_string);
        for cause in causes {
            let field = cause["field"].as_str().unwrap_or_default();
            let message = cause["message"].as_str().unwrap_or_default();
            pieces.push(if field.is_empty() {
                message.to_owned()
            } else {
                format!("{field}: {message}")
            });
        }
    }
    if let Some(Value::String(message)) = status.get_mut("message") {
        pieces.sort_by_key(|piece| std::cmp::Reverse(piece.len()));
        for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
            *message = message.replacen(piece.as_str(), "<cause>", 1);
        }
    }
}

/// Takes out what a pointer leads to, so that being there and not being there are the same too.
fn ignore(value: &mut Value, pointer: &str) {
    let (key, rest) = match pointer.trim_start_matches('/').split_once('/') {
        Some((key, rest)) => (key, Some(rest)),
        None => (pointer.trim_start_matches('/'), None),
    };
    match (value, rest) {
        (Value::Object(map), None) => {
            map.remove(key);
        }
        (Value::Object(map), Some(rest)) => {
            if let Some(child) = map.get_mut(key) {
                ignore(child, rest);
            }
        }
        (Value::Array(items), rest) => {
            for (index, item) in items.iter_mut().enumerate() {
                if key != "*" && key.parse() != Ok(index) {
                    continue;
                }
                match rest {
                    Some(rest) => ignore(item, rest),
                    None => *item = Value::String("<ignored>".to_owned()),
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::case::get;
    use serde_json::json;

    fn normalized(normalizer: &mut Normalizer, request: &Request, body: Value) -> Value {
        let answer = Answer { status: 200, headers: Vec::new(), body: Content::Json(body) };
        match normalizer.normalize(request, &answer).body {
            Content::Json(value) => value,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn identities_are_numbered_by_first_appearance() {
        let mut normalizer = Normalizer::default();
        let request = get("/");
        let first = normalized(
            &mut normalizer,
            &request,
            json!({"kind": "Pod", "metadata": {
                "uid": "8b9f0e2a-1111-2222-3333-444455556666", "resourceVersion": "815",
                "creationTimestamp": "2026-11-15T11:39:08Z"}}),
        );
        assert_eq!(
            first["metadata"],
            json!({"uid": "<uid:1>", "resourceVersion": "<rv:1>", "creationTimestamp": "<time>"})
        );
        let second = normalized(
            &mut normalizer,
            &request,
            json!({"kind": "Status", "message": "the UID in the precondition (8b9f0e2a-1111-2222-3333-444455556666) and ResourceVersion in record (815)",
                "metadata": {"resourceVersion": "816"}}),
        );
        assert_eq!(
            second["message"],
            "the UID in the precondition (<uid:1>) and ResourceVersion in record (<rv:1>)"
        );
        assert_eq!(second["metadata"]["resourceVersion"], "<rv:2>");
    }

    #[test]
    fn a_lists_own_version_is_not_numbered() {
        let body = json!({"kind": "PodList", "metadata": {"resourceVersion": "99", "continue": "abc"},
            "items": [{"metadata": {"resourceVersion": "98"}}]});
        let value = normalized(&mut Normalizer::default(), &get("/"), body);
        assert_eq!(value["metadata"], json!({"resourceVersion": "<rv>", "continue": "<continue>"}));
        assert_eq!(value["items"][0]["metadata"]["resourceVersion"], "<rv:1>");
    }

    #[test]
    fn generated_names_are_replaced_wherever_they_stand() {
        let body = json!({"metadata": {"generateName": "a-", "name": "a-x7k2q"}, "message": "pod a-x7k2q"});
        let value = normalized(&mut Normalizer::default(), &get("/"), body);
        assert_eq!(value["metadata"]["name"], "a-<generated:1>");
        assert_eq!(value["message"], "pod a-<generated:1>");
    }

    #[test]
    fn causes_in_any_order_compare_equal() {
        let request = get("/").causes_in_any_order();
        let status = |first: &str, second: &str| {
            json!({"kind": "Status", "message": format!("invalid: [{first}: bad, {second}: bad]"),
                "details": {"causes": [{"field": first, "message": "bad"}, {"field": second, "message": "bad"}]}})
        };
        let one = normalized(&mut Normalizer::default(), &request, status("a", "b"));
        let other = normalized(&mut Normalizer::default(), &request, status("b", "a"));
        assert_eq!(one, other);
        let third = normalized(&mut Normalizer::default(), &request, status("b", "c"));
        assert_ne!(one, third);
    }

    #[test]
    fn a_namespace_that_a_message_cuts_short_is_still_the_namespace() {
        let mut normalizer = Normalizer::of_namespace("a0-decode-custom");
        let body =
            json!({"message": "missing in '{a0-decode-custom}' ({a0-dec ...)", "other": "so ..."});
        let value = normalized(&mut normalizer, &get("/"), body);
        assert_eq!(value["message"], "missing in '{{ns}}' ({{ns} ...)");
        assert_eq!(value["other"], "so ...");
    }

    #[test]
    fn ports_and_certificates_of_one_run_are_taken_out() {
        let body = json!({"caBundle": "LS0t", "message": "Post \"https://127.0.0.1:41234/deny\": refused"});
        let value = normalized(&mut Normalizer::default(), &get("/"), body);
        assert_eq!(value["caBundle"], "<caBundle>");
        assert_eq!(value["message"], "Post \"https://127.0.0.1:<port>/deny\": refused");
    }

    #[test]
    fn an_ignored_pointer_reaches_into_lists() {
        let request = get("/").ignoring("/items/*/status");
        let body = json!({"items": [{"status": 1}, {"status": 2}, {"spec": 3}]});
        let value = normalized(&mut Normalizer::default(), &request, body);
        assert_eq!(value["items"], json!([{}, {}, {"spec": 3}]));
    }

    #[test]
    fn managed_fields_do_not_depend_on_the_second_they_were_written_in() {
        let entry = |manager: &str| json!({"manager": manager, "operation": "Update", "time": "2026-01-01T00:00:00Z"});
        let body = |a: &str, b: &str| json!({"metadata": {"managedFields": [entry(a), entry(b)]}});
        let one = normalized(&mut Normalizer::default(), &get("/"), body("a", "b"));
        let other = normalized(&mut Normalizer::default(), &get("/"), body("b", "a"));
        assert_eq!(one, other);
    }
}
