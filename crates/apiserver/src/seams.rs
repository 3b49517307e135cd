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
    pub fn table(
        resource: &Resource,
        objects: &[Value],
        include: &str,
        now: jiff::Timestamp,
    ) -> Value {
        if let Some(kind) = &resource.custom_kind {
            return custom(kind, objects, include, now);
        }
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

    fn custom(
        kind: &crate::resource::CustomKind,
        objects: &[Value],
        include: &str,
        now: jiff::Timestamp,
    ) -> Value {
        let rows: Vec<Value> = objects
            .iter()
            .map(|object| {
                let mut row = json!({ "cells": crate::crd::columns::cells(kind, object, now) });
                row["object"] = match include {
                    "None" => return row,
                    "Object" => object.clone(),
                    _ => json!({
                        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
                        "metadata": object["metadata"],
                    }),
                };
                row
            })
            .collect();
        json!({
            "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {},
            "columnDefinitions": crate::crd::columns::definitions(kind),
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
