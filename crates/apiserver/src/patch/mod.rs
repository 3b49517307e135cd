//! The patches of PATCH requests other than apply: JSON, merge, and strategic merge.

mod json;
mod lazy;
mod merge;
mod order;
mod strategic;

use serde_json::Value;

use crate::decode::{self, Decoded, FieldValidation};
use crate::resource::Resource;
use crate::status::Failure;
use crate::wire::scan::Document;
use crate::wire::{convert, table, text};

/// How a patch is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `application/json-patch+json`: a list of operations.
    Json,
    /// `application/merge-patch+json`: a document with nulls for what goes away.
    Merge,
    /// `application/strategic-merge-patch+json`: like merge, but lists merge by their keys.
    Strategic,
}

/// What a live object becomes by a patch, decoded anew with the warnings and errors that belong to it.
pub fn apply(
    style: Style,
    resource: &Resource,
    live: &Value,
    body: &[u8],
    validation: FieldValidation,
) -> Result<Decoded, Failure> {
    match style {
        Style::Json => json::apply(resource, live, body, validation),
        Style::Merge => merge::apply(resource, live, body, validation),
        Style::Strategic => strategically(resource, live, body, validation),
    }
}

/// What a JSON patch makes of an object without a type. The error names the operation that failed.
pub fn json(live: &Value, body: &[u8]) -> Result<Value, String> {
    json::untyped(live, body)
}

/// What a merge patch makes of an object without a type.
pub fn merge(live: &Value, patch: &Value) -> Value {
    merge::untyped(live, patch)
}

fn strategically(
    resource: &Resource,
    live: &Value,
    body: &[u8],
    validation: FieldValidation,
) -> Result<Decoded, Failure> {
    let Some(of) = table::of(resource) else {
        return Err(Failure::bad_request("strategic merge patch format is not supported"));
    };
    let document = Document::read(body).map_err(Failure::bad_request)?;
    let mut sent = match document.root().value().map_err(Failure::bad_request)? {
        Value::Object(map) => map,
        Value::Null => serde_json::Map::new(),
        _ => {
            let word = document.root().kind().word();
            return Err(Failure::bad_request(format!(
                "json: cannot unmarshal {word} into Go value of type map[string]interface {{}}"
            )));
        }
    };
    let mut strict = Vec::new();
    if validation != FieldValidation::Ignore {
        decode::repeated(document.root(), "", &mut strict);
    }
    let live = live.as_object().cloned().unwrap_or_default();
    let merged = strategic::merge(of, live, &mut sent)?;
    let refuse = |sent, why| decode::refused(&text::shown(&Value::Object(sent)), why);
    let (mut object, unknown) = match convert::convert(of, Value::Object(merged)) {
        Ok(converted) => converted,
        Err(why) => return Err(refuse(sent, why)),
    };
    strict.extend(unknown);
    let warnings = decode::judged(strict, validation, |why| refuse(sent, why))?;
    if let Value::Object(map) = &mut object {
        map.insert("apiVersion".into(), resource.api_version().into());
        map.insert("kind".into(), resource.kind.clone().into());
    }
    Ok(Decoded { object, warnings })
}

/// 422 that says nothing, as the API server answers to operations that do not apply.
fn rejected() -> Failure {
    Failure::new(422, "Invalid", "the server rejected our request due to an error in our request")
        .with_details(Value::Object(serde_json::Map::new()))
}
