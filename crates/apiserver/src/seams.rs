//! Doors to rooms that are still being furnished.
#![allow(
    missing_docs,
    clippy::missing_errors_doc,
    clippy::unnecessary_wraps,
    clippy::needless_pass_by_value
)]

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
