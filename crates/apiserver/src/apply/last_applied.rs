//! The annotation of client-side apply, which `kubectl apply --server-side` takes over.

use serde_json::Value;

use super::compare::{Nulls, compare, field_set};
use super::fieldset::{FieldSet, go_json};
use super::types::Type;
use super::validate;

/// The manager that is allowed to.
pub const MANAGER: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
const MOST_BYTES: usize = 256 * 1024;

fn annotation(object: &Value) -> Option<&str> {
    let annotations = object.pointer("/metadata/annotations")?;
    annotations.get(ANNOTATION)?.as_str().filter(|text| !text.is_empty())
}

/// The fields that client-side apply set and that still have the value it gave them: taking those over
/// is no conflict.
pub fn unchanged_since(ty: Type<'_>, live: &Value, api_version: &str) -> Option<FieldSet> {
    let last: Value = serde_json::from_str(annotation(live)?).ok()?;
    if last.get("apiVersion")?.as_str()? != api_version
        || !validate::type_errors(ty, &last, false).is_empty()
        || !validate::type_errors(ty, live, false).is_empty()
    {
        return None;
    }
    let changes = compare(ty, &last, live, Nulls::Values);
    Some(
        field_set(ty, &last)
            .difference(&changes.modified)
            .difference(&changes.added)
            .difference(&changes.removed),
    )
}

/// Writes the configuration into the annotation if the object has one.
pub fn refresh(object: &mut Value, config: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let mut config = config.clone();
    if let Some(annotations) =
        config.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut)
    {
        annotations.remove(ANNOTATION);
    }
    let text = format!("{}\n", go_json(&config));
    let Some(annotations) =
        object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut)
    else {
        return;
    };
    let others = annotations.iter().filter(|(name, _)| *name != ANNOTATION);
    let bytes: usize =
        others.map(|(name, v)| name.len() + v.as_str().map_or(0, str::len)).sum::<usize>()
            + ANNOTATION.len()
            + text.len();
    if bytes > MOST_BYTES {
        annotations.remove(ANNOTATION);
    } else {
        annotations.insert(ANNOTATION.to_owned(), Value::from(text));
    }
}
