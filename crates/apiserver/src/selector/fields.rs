//! Field selectors: `metadata.name=a,status.phase!=Running`, for the few fields each kind has indexed.

use std::borrow::Cow;

use serde_json::Value;

use crate::resource::Resource;
use crate::status::Failure;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    field: String,
    value: String,
    /// `=` or `==`, as opposed to `!=`.
    equal: bool,
}

/// A field selector: all terms must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fields {
    terms: Vec<Term>,
}

const POD: &[&str] = &[
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.nominatedNodeName",
    "spec.host",
];
const EVENT: &[&str] = &[
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
];
const NEW_EVENT: &[&str] = &[
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.resourceVersion",
    "regarding.fieldPath",
    "reason",
    "reportingController",
    "type",
];

/// The fields of a kind that has its own list, besides the name; none for the other kinds.
fn own_fields(resource: &Resource) -> Option<&'static [&'static str]> {
    if resource.custom {
        return Some(&[]);
    }
    Some(match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Pod") => POD,
        ("", "Event") => EVENT,
        ("events.k8s.io", "Event") => NEW_EVENT,
        ("", "Secret") => &["type"],
        ("", "Namespace") => &["status.phase"],
        ("", "Node") => &["spec.unschedulable"],
        ("", "Service") => &["spec.clusterIP", "spec.type"],
        ("", "ReplicationController") => &["status.replicas"],
        ("batch", "Job") => &["status.successful"],
        ("certificates.k8s.io", "CertificateSigningRequest") => &["spec.signerName"],
        ("resource.k8s.io", "ResourceSlice") => &["spec.nodeName", "spec.driver"],
        _ => return None,
    })
}

fn check(resource: &Resource, field: &str) -> Result<(), String> {
    if field == "metadata.name" {
        return Ok(());
    }
    let Some(own) = own_fields(resource) else {
        if field == "metadata.namespace" {
            return Ok(());
        }
        return Err(format!(
            "{} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
            crate::wire::text::quote(field)
        ));
    };
    let namespaced = resource.namespaced || resource.custom;
    let selectable = resource.custom_kind.iter().flat_map(|kind| &kind.selectable_fields);
    if own.contains(&field)
        || (field == "metadata.namespace" && namespaced)
        || selectable.map(|path| path.trim_start_matches('.')).any(|path| path == field)
    {
        return Ok(());
    }
    Err(match resource.kind.as_str() {
        _ if resource.custom => format!("field label not supported: {field}"),
        "Job" => format!("field label \"{field}\" not supported for Job"),
        "ResourceSlice" => {
            let version = resource.api_version();
            format!("field label not supported for {version}, Kind=ResourceSlice: {field}")
        }
        _ => format!("field label not supported: {field}"),
    })
}

impl Fields {
    /// Selects everything.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Reads the `fieldSelector` parameter; the failure is the API server's 400.
    pub fn parse(resource: &Resource, text: &str) -> Result<Self, Failure> {
        Self::read(resource, text).map_err(Failure::bad_request)
    }

    fn read(resource: &Resource, text: &str) -> Result<Self, String> {
        let mut parts = split(text);
        parts.sort_unstable();
        let mut terms = Vec::new();
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let Some(at) = part.find(['=', '!']).and_then(|_| operator_at(part)) else {
                return Err(format!("invalid selector: '{text}'; can't understand '{part}'"));
            };
            let (field, rest) = part.split_at(at);
            let (equal, value) = match rest.strip_prefix("!=") {
                Some(value) => (false, value),
                None => (true, rest.strip_prefix("==").unwrap_or_else(|| &rest[1..])),
            };
            terms.push(Term { field: field.to_owned(), value: unescape(value)?, equal });
        }
        for term in &terms {
            check(resource, &term.field)?;
        }
        Ok(Self { terms })
    }

    /// Whether it selects everything.
    pub fn is_everything(&self) -> bool {
        self.terms.is_empty()
    }

    /// The name it asks for, if it asks for one.
    pub fn name(&self) -> Option<&str> {
        let term = self.terms.iter().find(|term| term.equal && term.field == "metadata.name")?;
        Some(&term.value)
    }

    /// Whether an object of this resource is selected.
    pub fn matches(&self, resource: &Resource, object: &Value) -> bool {
        self.terms
            .iter()
            .all(|term| (field(resource, object, &term.field) == term.value) == term.equal)
    }
}

fn operator_at(part: &str) -> Option<usize> {
    part.char_indices().map(|(at, _)| at).find(|&at| {
        part.get(at..).is_some_and(|rest| rest.starts_with("!=") || rest.starts_with('='))
    })
}

/// The terms between commas that are not escaped.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => out.push(c),
                other => {
                    let sequence: String = std::iter::once('\\').chain(other).collect();
                    return Err(format!(
                        "invalid field selector: invalid escape sequence: {sequence}"
                    ));
                }
            },
            ',' | '=' => {
                return Err(format!(
                    "invalid field selector: unescaped character in value: {}",
                    u32::from(c)
                ));
            }
            c => out.push(c),
        }
    }
    Ok(out)
}

/// A field's text; absent fields have the text of their zero value.
fn field<'a>(resource: &Resource, object: &'a Value, name: &str) -> Cow<'a, str> {
    let at = |path: &str| {
        path.split('.').try_fold(object, |value, part| value.get(part)).unwrap_or(&Value::Null)
    };
    let first = |paths: [&str; 2]| match at(paths[0]).as_str().filter(|text| !text.is_empty()) {
        Some(text) => text,
        None => at(paths[1]).as_str().unwrap_or_default(),
    };
    let value = match (resource.kind.as_str(), name) {
        _ if resource.custom => at(name),
        ("Pod", "status.podIPs") => {
            // The real index holds the addresses of the newest shape as one text.
            return match at(name).as_array() {
                Some(list) => list
                    .iter()
                    .filter_map(|one| one.get("ip").and_then(Value::as_str))
                    .collect::<Vec<_>>()
                    .join(",")
                    .into(),
                None => "".into(),
            };
        }
        ("Pod", "spec.host") => at("spec.nodeName"),
        ("Pod", "spec.hostNetwork") | ("Node", "spec.unschedulable") => {
            return if at(name).as_bool() == Some(true) { "true" } else { "false" }.into();
        }
        ("Event", "source") => {
            return first(["source.component", "reportingComponent"]).into();
        }
        ("Job", "status.successful") => {
            return at("status.succeeded").as_i64().unwrap_or(0).to_string().into();
        }
        ("ReplicationController", "status.replicas") => {
            return at(name).as_i64().unwrap_or(0).to_string().into();
        }
        _ => at(name),
    };
    match value {
        Value::String(text) => text.as_str().into(),
        Value::Null | Value::Array(_) | Value::Object(_) => "".into(),
        other => other.to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    fn resource(group: &str, plural: &str) -> Arc<Resource> {
        let all = crate::builtin::resources();
        all.iter().find(|r| r.group == group && r.plural == plural).unwrap().clone()
    }

    #[test]
    fn what_is_refused() {
        let only = r#"is not a known field selector: only "metadata.name", "metadata.namespace""#;
        for (group, plural, text, message) in [
            (
                "",
                "configmaps",
                "bogus",
                "invalid selector: 'bogus'; can't understand 'bogus'".to_owned(),
            ),
            ("", "configmaps", "a==b", format!("\"a\" {only}")),
            ("", "configmaps", "=b", format!("\"\" {only}")),
            (
                "",
                "configmaps",
                "metadata.name=a=b",
                "invalid field selector: unescaped character in value: 61".into(),
            ),
            (
                "",
                "configmaps",
                r"metadata.name=a\x",
                r"invalid field selector: invalid escape sequence: \x".into(),
            ),
            (
                "",
                "configmaps",
                r"metadata.name=a\",
                r"invalid field selector: invalid escape sequence: \".into(),
            ),
            (
                "",
                "configmaps",
                "spec.x=1,metadata.name",
                "invalid selector: 'spec.x=1,metadata.name'; can't understand 'metadata.name'"
                    .into(),
            ),
            ("", "pods", "spec.nodeNam=1", "field label not supported: spec.nodeNam".into()),
            (
                "",
                "namespaces",
                "metadata.namespace=x",
                "field label not supported: metadata.namespace".into(),
            ),
            (
                "",
                "nodes",
                "metadata.namespace=x",
                "field label not supported: metadata.namespace".into(),
            ),
            ("batch", "jobs", "bogus.x=1", "field label \"bogus.x\" not supported for Job".into()),
            ("events.k8s.io", "events", "source=x", "field label not supported: source".into()),
            ("apps", "deployments", "spec.replicas=1", format!("\"spec.replicas\" {only}")),
        ] {
            let failure = Fields::parse(&resource(group, plural), text).unwrap_err();
            assert_eq!((failure.code, failure.message), (400, message), "{text}");
        }
    }

    #[test]
    fn what_is_selected() {
        let pods = resource("", "pods");
        let pod = json!({"metadata": {"name": "a,b", "namespace": "n"}, "spec": {"nodeName": "x"}, "status": {"phase": "Running"}});
        for (text, expected) in [
            ("", true),
            (",", true),
            (r"metadata.name=a\,b", true),
            ("metadata.namespace==n,spec.nodeName=x", true),
            ("spec.nodeName!=x", false),
            ("status.phase!=Pending,,", true),
            ("spec.hostNetwork=false", true),
            ("status.nominatedNodeName=", true),
            ("status.podIP=1", false),
        ] {
            let fields = Fields::parse(&pods, text).unwrap();
            assert_eq!(fields.matches(&pods, &pod), expected, "{text}");
        }
    }
}
