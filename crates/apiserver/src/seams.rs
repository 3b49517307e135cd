//! Doors to rooms that are still being furnished.
#![allow(
    missing_docs,
    clippy::missing_errors_doc,
    clippy::unnecessary_wraps,
    clippy::needless_pass_by_value
)]

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
