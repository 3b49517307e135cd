//! `AdmissionReview`: the question a webhook gets and the answer it may give.

use base64::Engine as _;
use serde_json::{Value, json};

use super::matching::Match;
use super::{Attributes, Kind, text};
use crate::status::Failure;

/// What a webhook answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Response {
    /// Whether the request may go on.
    pub allowed: bool,
    /// The `Status` of a denial.
    pub status: Option<Value>,
    /// The patch, decoded.
    pub patch: Vec<u8>,
    /// `JSONPatch`, or something that is not supported.
    pub patch_type: String,
    /// For the caller.
    pub warnings: Vec<String>,
    /// For the audit log.
    pub audit: Vec<(String, String)>,
}

/// Why an answer cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unusable {
    /// It is not the kind of object that was asked for.
    Kind(String),
    /// It says something it may not say.
    Content(String),
}

/// The id of one call: the first has the request's own, later ones are told apart at the end.
pub(super) fn call_id(uid: &str, call: u32) -> String {
    let keep = uid.len().saturating_sub(4);
    match uid.get(..keep) {
        Some(head) if call > 0 => format!("{head}{call:04x}"),
        _ => uid.to_owned(),
    }
}

/// The review to send.
pub(super) fn question(
    attributes: &Attributes<'_>,
    matched: &Match,
    object: Option<&Value>,
    old: Option<&Value>,
    version: &str,
    uid: &str,
) -> Value {
    let kind =
        |kind: &Kind| json!({ "group": kind.group, "version": kind.version, "kind": kind.kind });
    let own = attributes.resource;
    let (group, plural_version, plural) = &matched.resource;
    let mut request = json!({
        "uid": uid,
        "kind": kind(&matched.kind),
        "resource": { "group": group, "version": plural_version, "resource": plural },
        "requestKind": kind(&attributes.kind()),
        "requestResource": {
            "group": own.group, "version": own.version, "resource": own.plural,
        },
        "operation": attributes.operation.as_str(),
        "userInfo": attributes.user.info(),
        "object": object,
        "oldObject": old,
        "dryRun": attributes.dry_run,
        "options": attributes.options,
    });
    for (key, text) in [
        ("subResource", attributes.subresource),
        ("requestSubResource", attributes.subresource),
        ("name", attributes.name),
        ("namespace", attributes.scope()),
    ] {
        if !text.is_empty() {
            request[key] = text.into();
        }
    }
    json!({
        "kind": "AdmissionReview", "apiVersion": format!("admission.k8s.io/{version}"),
        "request": request,
    })
}

/// Reads an answer; `uid` and `version` are those of the question.
pub(super) fn answer(
    review: &Value,
    version: &str,
    uid: &str,
    mutating: bool,
) -> Result<Response, Unusable> {
    let (api, kind) = (text(review, "apiVersion"), text(review, "kind"));
    let asked = format!("admission.k8s.io/{version}");
    if !(api.is_empty() && kind.is_empty()) && (kind, api) != ("AdmissionReview", &asked) {
        let known = matches!(api, "admission.k8s.io/v1" | "admission.k8s.io/v1beta1");
        return Err(Unusable::Kind(if known && kind == "AdmissionReview" {
            let from = api.rsplit('/').next().unwrap_or_default();
            format!(
                "converting ({from}.AdmissionReview) to ({version}.AdmissionReview): unknown conversion"
            )
        } else {
            format!(
                "no kind {kind:?} is registered for version {api:?} in scheme \"pkg/runtime/scheme.go:111\""
            )
        }));
    }
    let response = &review["response"];
    let wrong = |why: String| Err(Unusable::Content(why));
    if !response.is_object() {
        return wrong("webhook response was absent".into());
    }
    let patch_type = response["patchType"].as_str();
    let patch = base64::engine::general_purpose::STANDARD
        .decode(text(response, "patch"))
        .map_err(|error| Unusable::Kind(error.to_string()))?;
    if version == "v1" {
        let got = text(response, "uid");
        if got != uid {
            return wrong(format!("expected response.uid={uid:?}, got {got:?}"));
        }
        if kind.is_empty() {
            return wrong(
                "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind="
                    .into(),
            );
        }
        match (mutating, patch.is_empty(), patch_type) {
            (true, false, None) => {
                return wrong("webhook returned response.patch but not response.patchType".into());
            }
            (true, true, Some(_)) => {
                return wrong("webhook returned response.patchType but not response.patch".into());
            }
            (true, false, Some("")) => {
                return wrong("webhook returned invalid response.patchType of \"\"".into());
            }
            (false, false, _) => {
                return wrong("validating webhook may not return response.patch".into());
            }
            (false, true, Some(_)) => {
                return wrong("validating webhook may not return response.patchType".into());
            }
            _ => {}
        }
    }
    let strings = |key: &str| response[key].as_array().into_iter().flatten();
    Ok(Response {
        allowed: response["allowed"] == true,
        status: response["status"].is_object().then(|| response["status"].clone()),
        patch: if mutating { patch } else { Vec::new() },
        patch_type: if version == "v1" { patch_type.unwrap_or_default() } else { "JSONPatch" }
            .to_owned(),
        warnings: strings("warnings").filter_map(Value::as_str).map(str::to_owned).collect(),
        audit: response["auditAnnotations"]
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect(),
    })
}

/// The answer to the caller when a webhook says no.
pub(super) fn denial(webhook: &str, status: Option<&Value>) -> Failure {
    let said = |key: &str| status.map(|status| text(status, key)).unwrap_or_default();
    let by = format!("admission webhook {webhook:?} denied the request");
    let message = match (said("message"), said("reason")) {
        ("", "") => format!("{by} without explanation"),
        ("", reason) => format!("{by}: {reason}"),
        (message, _) => format!("{by}: {message}"),
    };
    let code = status.and_then(|status| status["code"].as_u64()).unwrap_or_default();
    let mut failure = Failure::internal_plain(message);
    failure.code = u16::try_from(code).unwrap_or_default().max(400);
    failure.reason = Some(said("reason").to_owned().into())
        .filter(|reason: &std::borrow::Cow<'_, str>| !reason.is_empty());
    failure.details = status.and_then(|status| status["details"].as_object().cloned());
    failure
}

#[cfg(test)]
mod tests {
    use super::*;

    fn review(response: &Value) -> Value {
        json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response })
    }

    #[test]
    fn unusable_answers_are_named_as_the_server_does() {
        let content = |why: &str| Err(Unusable::Content(why.into()));
        let kind = |why: &str| Err(Unusable::Kind(why.into()));
        for (answer_, mutating, expected) in [
            (json!({}), false, content("webhook response was absent")),
            (review(&Value::Null), false, content("webhook response was absent")),
            (
                review(&json!({ "uid": "other" })),
                false,
                content("expected response.uid=\"u\", got \"other\""),
            ),
            (
                json!({ "response": { "uid": "u" } }),
                false,
                content(
                    "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
                ),
            ),
            (
                json!({ "apiVersion": "v1", "kind": "ConfigMap" }),
                false,
                kind(
                    "no kind \"ConfigMap\" is registered for version \"v1\" in scheme \"pkg/runtime/scheme.go:111\"",
                ),
            ),
            (
                json!({ "apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview" }),
                false,
                kind(
                    "converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
                ),
            ),
            (
                review(&json!({ "uid": "u", "patch": "W10=" })),
                true,
                content("webhook returned response.patch but not response.patchType"),
            ),
            (
                review(&json!({ "uid": "u", "patchType": "JSONPatch" })),
                true,
                content("webhook returned response.patchType but not response.patch"),
            ),
            (
                review(&json!({ "uid": "u", "patch": "W10=" })),
                false,
                content("validating webhook may not return response.patch"),
            ),
            (
                review(&json!({ "uid": "u", "patchType": "JSONPatch" })),
                false,
                content("validating webhook may not return response.patchType"),
            ),
        ] {
            assert_eq!(answer(&answer_, "v1", "u", mutating), expected, "{answer_}");
        }
    }

    #[test]
    fn denials_take_code_reason_and_details_from_the_webhook() {
        for (status, code, message) in [
            (None, 400, "admission webhook \"h\" denied the request without explanation"),
            (
                Some(json!({ "message": "no way" })),
                400,
                "admission webhook \"h\" denied the request: no way",
            ),
            (
                Some(json!({ "reason": "Because" })),
                400,
                "admission webhook \"h\" denied the request: Because",
            ),
            (
                Some(json!({ "message": "no", "code": 418, "details": { "name": "q" } })),
                418,
                "admission webhook \"h\" denied the request: no",
            ),
            (
                Some(json!({ "message": "no", "code": 200 })),
                400,
                "admission webhook \"h\" denied the request: no",
            ),
        ] {
            let failure = denial("h", status.as_ref());
            assert_eq!((failure.code, failure.message.as_str()), (code, message));
            let details = status.as_ref().and_then(|s| s["details"].as_object().cloned());
            assert_eq!(failure.details, details);
        }
    }

    #[test]
    fn calls_after_the_first_have_ids_of_their_own() {
        let uid = "0b2f0d5e-0000-4000-8000-00000000abcd";
        assert_eq!(call_id(uid, 0), uid);
        assert_eq!(call_id(uid, 1), "0b2f0d5e-0000-4000-8000-000000000001");
    }
}
