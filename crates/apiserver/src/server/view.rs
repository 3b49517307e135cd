//! How one caller sees a resource: version, selectors and form.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::respond::Form;
use crate::builtin;
use crate::resource::Resource;
use crate::selector::{Fields, Labels};
use crate::table::table;

/// A caller's view of a resource.
pub struct View {
    /// In the version that was asked for.
    pub resource: Arc<Resource>,
    /// Which objects.
    pub labels: Option<Labels>,
    /// Which objects.
    pub fields: Option<Fields>,
    /// As what.
    pub form: Form,
    /// What a table's rows carry: `None`, `Metadata` or `Object`.
    pub include: String,
    /// The server's time, for ages in tables.
    pub now: jiff::Timestamp,
}

impl View {
    /// Whether stored bytes can be passed on as they are.
    pub fn is_plain(&self) -> bool {
        self.resource.storage
            && self.form == Form::Object
            && self.labels.is_none()
            && self.fields.is_none()
    }

    /// Whether an object is meant.
    pub fn matches(&self, object: &Value) -> bool {
        self.labels.as_ref().is_none_or(|labels| labels.matches(&object["metadata"]["labels"]))
            && self.fields.as_ref().is_none_or(|fields| fields.matches(&self.resource, object))
    }

    /// An object in the version that was asked for.
    pub fn show<'a>(&self, object: &'a Value) -> Cow<'a, Value> {
        in_version(&self.resource, object)
    }

    /// The object of a bookmark.
    pub fn bookmark(&self, revision: u64, annotations: Option<Value>) -> Value {
        let mut metadata = json!({ "resourceVersion": revision.to_string() });
        if let Some(annotations) = annotations {
            metadata["annotations"] = annotations;
        }
        match self.form {
            Form::Object => {
                let mut object = json!({
                    "kind": self.resource.kind,
                    "apiVersion": self.resource.api_version(),
                    "metadata": metadata,
                });
                if !self.resource.custom
                    && let Some(map) = object.as_object_mut()
                {
                    for (part, value) in builtin::empty_parts(&self.resource) {
                        map.insert(part, value);
                    }
                }
                object
            }
            Form::Table => self.row(&json!({ "metadata": metadata })),
            Form::PartialMetadata | Form::PartialMetadataList => json!({
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": metadata,
            }),
        }
    }

    /// Stored objects as a table.
    pub fn table(&self, objects: &[Value]) -> Value {
        table(&self.resource, objects, &self.include, self.now)
    }

    /// One stored object as a table of its own revision.
    pub fn row(&self, object: &Value) -> Value {
        let mut table = self.table(std::slice::from_ref(object));
        table["metadata"] = json!({ "resourceVersion": object["metadata"]["resourceVersion"] });
        table
    }
}

/// A stored object in the version of `resource`.
pub fn in_version<'a>(resource: &Resource, object: &'a Value) -> Cow<'a, Value> {
    if resource.storage && !resource.reshaped() {
        return Cow::Borrowed(object);
    }
    if resource.custom {
        let mut shown = object.clone();
        set(&mut shown, "apiVersion", Value::from(resource.api_version()));
        crate::crd::reshape(resource, &mut shown);
        return Cow::Owned(shown);
    }
    Cow::Owned(builtin::to_version(resource, object))
}

/// An object of `resource`'s version as it is stored.
pub fn to_storage(resource: &Resource, stored: &Resource, object: Value) -> Value {
    if resource.storage {
        return object;
    }
    if resource.custom {
        let mut object = object;
        set(&mut object, "apiVersion", Value::from(stored.api_version()));
        crate::crd::reshape(stored, &mut object);
        return object;
    }
    builtin::from_version(resource, object)
}

fn set(object: &mut Value, key: &str, value: Value) {
    if let Some(map) = object.as_object_mut() {
        map.insert(key.to_owned(), value);
    }
}

/// An item of a built-in kind's list: without kind and apiVersion.
pub fn item(resource: &Resource, object: &Value) -> Value {
    let mut item = in_version(resource, object).into_owned();
    if !resource.custom
        && let Some(map) = item.as_object_mut()
    {
        let map: &mut Map<String, Value> = map;
        map.remove("kind");
        map.remove("apiVersion");
    }
    item
}
