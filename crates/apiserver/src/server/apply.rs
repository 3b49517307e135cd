//! PATCH with `application/apply-patch+yaml`.

use serde_json::{Value, json};

use super::Server;
use super::create::{Writing, metadata, text};
use super::respond::Answer;
use super::update::Proposal;
use crate::apply::{self, Writer};
use crate::crd;
use crate::decode;
use crate::resource::Resource;
use crate::status::Failure;
use crate::store::Key;

impl Server {
    pub(super) async fn apply(
        &self,
        mut writing: Writing<'_>,
        name: &str,
    ) -> Result<Answer, Failure> {
        let resource = writing.resource.clone();
        let key = Key::new(writing.namespace, name);
        let missing = self.state().live(&resource, &key).is_none();
        if missing && !writing.subresource.is_empty() {
            return Err(Failure::not_found(&resource.group, &resource.plural, name));
        }
        let decoded = decode::applied(&writing.call.body, writing.validation())?;
        let config = decoded.object;
        let now = self.timestamp();
        let api_version = resource.api_version();
        let manager = writing.options.manager.clone();
        let subresource = writing.subresource.to_owned();
        let namespace = writing.namespace.to_owned();
        let reset = writing.resets();
        let force = writing.options.force;
        let writer = Writer {
            manager: &manager,
            api_version: &api_version,
            subresource: &subresource,
            now: &now,
        };
        let laid = |live: Option<&Value>| {
            if config.get("kind").and_then(Value::as_str) != Some(&resource.kind) {
                return Err(apply::wrong_kind(&config));
            }
            let shape = resource.shape.node();
            let object = apply::apply_except(shape, live, &config, &writer, force, &reset)?;
            if live.is_none() && !text(&object, "uid").is_empty() {
                return Err(uid_of_nothing(&resource, name, text(&object, "uid")));
            }
            let mut object = decode::merged(&resource, object)?;
            if resource.custom {
                crd::fill_metadata(shape, &mut object);
            }
            check_place(&resource, &mut object, &namespace, name)?;
            Ok(object)
        };
        if missing {
            let mut object = laid(None)?;
            writing.warnings.extend(decoded.warnings);
            metadata(&mut object).remove("resourceVersion");
            writing.complete_applied(&mut object);
            self.drop_creator_fields(&writing, &mut object);
            let stored = self.store_new(&mut writing, object).await?;
            return Ok(Answer::with(201, stored).warned(writing.warnings));
        }
        let object = self
            .change(&mut writing, name, &|live| {
                Ok(Proposal { object: laid(Some(live))?, tracked: true, replaced: false })
            })
            .await?;
        writing.warnings.extend(decoded.warnings);
        Ok(Answer::ok(object).warned(writing.warnings))
    }
}

fn uid_of_nothing(resource: &Resource, name: &str, uid: &str) -> Failure {
    let why = format!(
        "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
    );
    Failure::conflict(&resource.group, &resource.plural, name, &why)
}

/// The object must say the name and namespace of the path; the namespace may be left out.
pub(super) fn check_place(
    resource: &Resource,
    object: &mut Value,
    namespace: &str,
    name: &str,
) -> Result<(), Failure> {
    let sent = text(object, "namespace");
    if resource.namespaced && !sent.is_empty() && sent != namespace {
        return Err(Failure::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    let sent = text(object, "name");
    if sent.is_empty() {
        return Err(Failure::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )));
    }
    if sent != name {
        return Err(Failure::bad_request(format!(
            "the name of the object ({sent}) does not match the name on the URL ({name})"
        )));
    }
    if resource.namespaced {
        metadata(object).insert("namespace".into(), json!(namespace));
    }
    Ok(())
}

/// Whether a body sets `metadata.managedFields` to an empty list, by itself or by a JSON patch.
///
/// Built-in kinds do not keep empty lists, so this is gone once the body is decoded.
pub(super) fn forgets_managers(body: &[u8]) -> bool {
    const FIELD: &[u8] = b"managedFields";
    if !body.windows(FIELD.len()).any(|part| part == FIELD) {
        return false;
    }
    let empty = |list: &Value| list.as_array().is_some_and(Vec::is_empty);
    match serde_json::from_slice(body) {
        Ok(Value::Array(operations)) => operations
            .iter()
            .rfind(|operation| operation["path"] == "/metadata/managedFields")
            .is_some_and(|operation| empty(&operation["value"])),
        Ok(object) => object.pointer("/metadata/managedFields").is_some_and(empty),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_list_of_managers_is_found_in_every_kind_of_body() {
        for (body, expected) in [
            (r#"{"metadata": {"managedFields": []}}"#, true),
            (r#"{"metadata": {"managedFields": [{}]}}"#, false),
            (r#"{"metadata": {"managedFields": null}}"#, false),
            (r#"[{"op": "replace", "path": "/metadata/managedFields", "value": []}]"#, true),
            (r#"[{"op": "remove", "path": "/metadata/managedFields"}]"#, false),
            ("{", false),
        ] {
            assert_eq!(forgets_managers(body.as_bytes()), expected, "{body}");
        }
    }
}
