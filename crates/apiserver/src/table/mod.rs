//! Objects as rows for people: what `kubectl get` prints.
//!
//! Every kind has its [`columns`]; the cells come from one function per kind ([`pods`], [`workloads`],
//! [`network`], [`storage`], [`cluster`]) or, for custom kinds, from the JSON paths of their definition ([`path`]).

mod age;
mod cluster;
mod columns;
mod network;
mod path;
mod pods;
mod row;
mod storage;
mod workloads;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::resource::Resource;
use crate::server::respond::partial;
use crate::server::view::in_version;
use row::Row;

/// Stored objects of one kind as a `Table`, with `include` (`None`, `Metadata`, `Object`) of each.
pub fn table(resource: &Resource, objects: &[Value], include: &str, now: Timestamp) -> Value {
    let mut objects: Vec<&Value> = objects.iter().collect();
    if resource.kind == "FlowSchema" {
        // In the order in which the server would try them.
        objects.sort_by_key(|object| {
            (object["spec"]["matchingPrecedence"].as_i64(), object["metadata"]["name"].as_str())
        });
    }
    let rows: Vec<Value> = objects.into_iter().map(|o| row(resource, o, include, now)).collect();
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {},
        "columnDefinitions": columns(resource),
        "rows": rows,
    })
}

fn columns(resource: &Resource) -> Value {
    match &resource.custom_kind {
        Some(kind) => columns::custom(&kind.columns),
        None => columns::built_in(&resource.group, &resource.kind),
    }
}

fn row(resource: &Resource, object: &Value, include: &str, now: Timestamp) -> Value {
    let shown = in_version(resource, object);
    let cells = match &resource.custom_kind {
        Some(kind) => custom(&kind.columns, &shown, now),
        // Cells are written from the form in which an object is kept, whatever version was asked for.
        None => built_in(resource, &Row { object, now }),
    };
    let shown = match include {
        "None" => Value::Null,
        "Object" => shown.into_owned(),
        _ => partial(&shown),
    };
    let mut row = json!({ "cells": cells, "object": shown });
    if resource.group.is_empty()
        && resource.kind == "Pod"
        && let Some(conditions) = pods::conditions(object)
    {
        row["conditions"] = conditions;
    }
    row
}

fn built_in(resource: &Resource, row: &Row<'_>) -> Vec<Value> {
    let kind = resource.kind.as_str();
    match resource.group.as_str() {
        "" if kind == "Pod" => Some(pods::cells(row)),
        "" | "apps" | "batch" | "autoscaling" | "policy" => {
            workloads::cells(kind, row).or_else(|| cluster::cells(kind, row))
        }
        _ => None,
    }
    .or_else(|| network::cells(kind, row))
    .or_else(|| storage::cells(kind, row))
    .or_else(|| cluster::cells(kind, row))
    .unwrap_or_else(|| vec![json!(row.text("/metadata/name")), created(row.object)])
}

/// Kinds without columns of their own show when they were made, not how old they are.
fn created(object: &Value) -> Value {
    object["metadata"]["creationTimestamp"].clone()
}

fn custom(columns: &[Value], object: &Value, now: Timestamp) -> Vec<Value> {
    let mut cells = vec![object["metadata"]["name"].clone()];
    if columns.is_empty() {
        cells.push(json!(age::since(&object["metadata"]["creationTimestamp"], now)));
    }
    for column in columns {
        let path = column["jsonPath"].as_str().unwrap_or_default();
        let found = path::first(path, object);
        cells.push(found.map_or(Value::Null, |found| {
            custom_cell(column["type"].as_str().unwrap_or_default(), found, now)
        }));
    }
    cells
}

fn custom_cell(kind: &str, value: &Value, now: Timestamp) -> Value {
    match kind {
        "string" => json!(match value {
            Value::String(text) => text.clone(),
            Value::Null => "<no value>".to_owned(),
            other => other.to_string(),
        }),
        "integer" => whole(value).map_or(Value::Null, Value::from),
        "number" => match value {
            Value::Number(number) => Value::Number(number.clone()),
            _ => Value::Null,
        },
        "boolean" if value.is_boolean() => value.clone(),
        "date" => match value.as_str() {
            Some("") => json!("<unknown>"),
            Some(text) if text.parse::<Timestamp>().is_err() => json!("<invalid>"),
            Some(_) => json!(age::since(value, now)),
            None => Value::Null,
        },
        _ => Value::Null,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a fraction is cut off, as the server cuts it")]
fn whole(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_f64().map(|number| number as i64))
}

#[cfg(test)]
mod tests;
