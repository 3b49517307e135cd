//! Doors to rooms that are still being furnished.
#![allow(
    missing_docs,
    clippy::missing_errors_doc,
    clippy::unnecessary_wraps,
    clippy::needless_pass_by_value
)]

pub mod decode {
    use crate::resource::Resource;
    use crate::status::Failure;
    use serde_json::Value;

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Media {
        Json,
        Yaml,
    }
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum FieldValidation {
        Ignore,
        Warn,
        Strict,
    }
    pub struct Decoded {
        pub object: Value,
        pub warnings: Vec<String>,
    }
    pub fn object(
        resource: &Resource,
        body: &[u8],
        media: Media,
        _: FieldValidation,
    ) -> Result<Decoded, Failure> {
        let mut object: Value = match media {
            Media::Json => serde_json::from_slice(body)
                .map_err(|error| Failure::bad_request(error.to_string()))?,
            Media::Yaml => std::str::from_utf8(body)
                .ok()
                .and_then(|text| serde_saphyr::from_str(text).ok())
                .ok_or_else(|| Failure::bad_request("error decoding YAML"))?,
        };
        if let Some(map) = object.as_object_mut() {
            map.insert("kind".into(), Value::from(resource.kind.as_str()));
            map.insert("apiVersion".into(), Value::from(resource.api_version()));
        }
        Ok(Decoded { object, warnings: Vec::new() })
    }
    pub fn applied(
        resource: &Resource,
        body: &[u8],
        validation: FieldValidation,
    ) -> Result<Decoded, Failure> {
        object(resource, body, Media::Yaml, validation)
    }
    pub fn patched(_: &Resource, object: Value, _: FieldValidation) -> Result<Decoded, Failure> {
        Ok(Decoded { object, warnings: Vec::new() })
    }
}

pub mod patch {
    use crate::schema::Node;
    use crate::status::Failure;
    use serde_json::Value;
    pub fn json(_: &Value, _: &[u8]) -> Result<Value, Failure> {
        Err(Failure::new(415, "UnsupportedMediaType", "415: Unsupported Media Type"))
    }
    pub fn merge(live: &Value, body: &[u8]) -> Result<Value, Failure> {
        let patch: Value = serde_json::from_slice(body)
            .map_err(|error| Failure::bad_request(error.to_string()))?;
        let mut object = live.clone();
        lay(&mut object, &patch);
        Ok(object)
    }
    pub fn strategic(_: Node<'_>, live: &Value, body: &[u8]) -> Result<Value, Failure> {
        merge(live, body)
    }
    fn lay(object: &mut Value, patch: &Value) {
        let Value::Object(patch) = patch else {
            *object = patch.clone();
            return;
        };
        if !object.is_object() {
            *object = Value::Object(serde_json::Map::new());
        }
        if let Value::Object(map) = object {
            for (key, value) in patch {
                if value.is_null() {
                    map.remove(key);
                } else {
                    lay(map.entry(key.clone()).or_insert(Value::Null), value);
                }
            }
        }
    }
}

pub mod selector {
    use crate::resource::Resource;
    use crate::status::Failure;
    use serde_json::Value;
    pub struct Labels(Vec<(String, String)>);
    impl Labels {
        pub fn parse(text: &str) -> Result<Self, Failure> {
            Ok(Self(
                text.split(',')
                    .filter_map(|pair| pair.split_once('='))
                    .map(|(k, v)| (k.to_owned(), v.trim_start_matches('=').to_owned()))
                    .collect(),
            ))
        }
        pub fn from_object(selector: &Value) -> Result<Self, Failure> {
            let pairs = selector["matchLabels"].as_object().into_iter().flatten();
            Ok(Self(
                pairs
                    .map(|(k, v)| (k.clone(), v.as_str().unwrap_or_default().to_owned()))
                    .collect(),
            ))
        }
        pub fn matches(&self, labels: &Value) -> bool {
            self.0.iter().all(|(k, v)| labels[k] == v.as_str())
        }
    }
    impl std::fmt::Display for Labels {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            let pairs: Vec<String> = self.0.iter().map(|(k, v)| format!("{k}={v}")).collect();
            f.write_str(&pairs.join(","))
        }
    }
    pub struct Fields(Vec<(String, String)>);
    impl Fields {
        pub fn parse(_: &Resource, text: &str) -> Result<Self, Failure> {
            Labels::parse(text).map(|labels| Self(labels.0))
        }
        pub fn matches(&self, _: &Resource, object: &Value) -> bool {
            self.0.iter().all(|(path, wanted)| {
                let found = path.split('.').fold(object, |at, part| &at[part]);
                found.as_str().unwrap_or_default() == wanted
            })
        }
    }
}

pub mod admission {
    use crate::fields::FieldError;
    use crate::identity::User;
    use crate::resource::Resource;
    use crate::status::Failure;
    use serde_json::Value;
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Operation {
        Create,
        Update,
        Delete,
        Connect,
    }
    pub struct Attributes<'a> {
        pub operation: Operation,
        pub resource: &'a Resource,
        pub subresource: &'a str,
        pub namespace: Option<&'a str>,
        pub name: &'a str,
        pub object: Option<&'a Value>,
        pub old: Option<&'a Value>,
        pub user: &'a User,
        pub dry_run: bool,
        pub options: Value,
        pub uid: String,
    }
    pub trait Caller {}
    pub async fn mutate<L>(
        _: &Attributes<'_>,
        object: Value,
        _: &L,
        _: &(),
    ) -> Result<(Value, Vec<String>), Failure> {
        Ok((object, Vec::new()))
    }
    pub async fn validate<L>(_: &Attributes<'_>, _: &L, _: &()) -> Result<Vec<String>, Failure> {
        Ok(Vec::new())
    }
    pub fn validate_policy(_: &str, _: &Value) -> Vec<FieldError> {
        Vec::new()
    }
}

pub mod rbac {
    use crate::identity::User;
    use crate::resource::Resource;
    use crate::status::Failure;
    pub fn check<L>(
        _: &User,
        _: &str,
        _: &Resource,
        _: &str,
        _: Option<&str>,
        _: &str,
        _: &L,
    ) -> Result<(), Failure> {
        Ok(())
    }
}

pub mod table {
    use crate::resource::Resource;
    use serde_json::{Value, json};
    pub fn table(_: &Resource, objects: &[Value], _: &str, _: jiff::Timestamp) -> Value {
        let rows: Vec<Value> = objects
            .iter()
            .map(|o| json!({"cells": [o["metadata"]["name"], o["metadata"]["creationTimestamp"]], "object": o}))
            .collect();
        json!({
            "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {},
            "columnDefinitions": [
                {"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0},
                {"name": "Age", "type": "string", "format": "", "description": "", "priority": 0},
            ],
            "rows": rows,
        })
    }
}

pub mod openapi {
    use crate::server::Kinds;
    use crate::server::respond::Answer;
    use crate::status::Failure;
    pub fn v3(_: &Kinds, _: &str, _: &str) -> Result<Answer, Failure> {
        Err(Failure::page_not_found())
    }
}
