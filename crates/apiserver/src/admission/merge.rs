//! What a mutation makes of an object.

use serde_json::{Map, Value};

use super::{Attributes, webhook};
use crate::decode::{self, FieldValidation, Media};
use crate::patch;
use crate::status::Failure;

/// How many operations a JSON patch has, or why it is none.
pub(super) fn operations(patch: &[u8]) -> Result<usize, String> {
    match serde_json::from_slice::<Vec<Map<String, Value>>>(patch) {
        Ok(operations) => Ok(operations.len()),
        Err(error) => Err(patched(&Value::Null, patch).err().unwrap_or_else(|| error.to_string())),
    }
}

/// The object after a JSON patch.
pub(super) fn patched(object: &Value, patch: &[u8]) -> Result<Value, String> {
    patch::json(object, patch)
}

/// The object as its kind reads it: unknown fields are dropped, or refused if `strict`.
pub(super) fn decoded(
    attributes: &Attributes<'_>,
    object: Value,
    strict: bool,
) -> Result<Value, Failure> {
    if !attributes.subresource.is_empty() {
        return Ok(object);
    }
    let validation = if strict { FieldValidation::Strict } else { FieldValidation::Ignore };
    let text = object.to_string();
    match decode::object(attributes.resource, text.as_bytes(), Media::Json, validation) {
        Ok(decoded) => Ok(decoded.object),
        Err(failure) => {
            let why = failure.message.split_once(" cannot be handled as a ");
            let why = why.and_then(|(_, rest)| rest.split_once(": ")).map(|(_, why)| why);
            Err(webhook::internal(why.unwrap_or(&failure.message)))
        }
    }
}
