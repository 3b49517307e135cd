//! Printer columns of custom kinds.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::jsonpath;
use crate::resource::CustomKind;

const NAME: &str = "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";
const CREATED: &str = "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

fn columns(kind: &CustomKind) -> Vec<Value> {
    if kind.columns.is_empty() {
        return vec![json!({
            "name": "Age", "type": "date", "description": CREATED, "jsonPath": ".metadata.creationTimestamp",
        })];
    }
    kind.columns.clone()
}

/// `columnDefinitions` of a table of these objects: the name, then what the definition says.
pub fn definitions(kind: &CustomKind) -> Vec<Value> {
    let mut out = vec![json!({
        "name": "Name", "type": "string", "format": "name", "description": NAME, "priority": 0,
    })];
    out.extend(columns(kind).iter().map(|column| {
        let text = |name: &str| column[name].as_str().unwrap_or_default();
        let description = match text("description") {
            "" => format!(
                "Custom resource definition column (in JSONPath format): {}",
                text("jsonPath")
            ),
            said => said.to_owned(),
        };
        json!({
            "name": text("name"), "type": text("type"), "format": text("format"),
            "description": description, "priority": column["priority"].as_i64().unwrap_or_default(),
        })
    }));
    out
}

/// The cells of one object.
pub fn cells(kind: &CustomKind, object: &Value, now: Timestamp) -> Vec<Value> {
    let mut out = vec![object["metadata"]["name"].clone()];
    for column in columns(kind) {
        let path = column["jsonPath"].as_str().unwrap_or_default();
        let found = jsonpath::find(object, path).first().copied().cloned();
        out.push(found.map_or(Value::Null, |value| {
            cell(column["type"].as_str().unwrap_or_default(), value, now)
        }));
    }
    out
}

fn cell(of: &str, value: Value, now: Timestamp) -> Value {
    match (of, &value) {
        ("string", Value::String(_))
        | ("number", Value::Number(_))
        | ("boolean", Value::Bool(_)) => value,
        ("string", Value::Null) => json!("<nil>"),
        ("string", other) => json!(other.to_string()),
        #[expect(clippy::cast_possible_truncation, reason = "as the server converts it")]
        ("integer", Value::Number(number)) => number
            .as_i64()
            .or_else(|| number.as_f64().map(|f| f as i64))
            .map_or(Value::Null, Value::from),
        ("date", Value::String(text)) => match text.parse::<Timestamp>() {
            Ok(then) => json!(age(now.duration_since(then).as_secs())),
            Err(_) => json!("<invalid>"),
        },
        _ => Value::Null,
    }
}

/// A length of time as people read it: `5s`, `2m30s`, `3h`, `4d2h`, `2y`.
pub fn age(seconds: i64) -> String {
    let pair = |high: i64, high_unit: char, low: i64, low_unit: char| {
        if low == 0 {
            format!("{high}{high_unit}")
        } else {
            format!("{high}{high_unit}{low}{low_unit}")
        }
    };
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        i64::MIN..-1 => "<invalid>".into(),
        -1..0 => "0s".into(),
        0..120 => format!("{seconds}s"),
        _ if minutes < 10 => pair(minutes, 'm', seconds % 60, 's'),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => pair(hours, 'h', minutes % 60, 'm'),
        _ if hours < 48 => format!("{hours}h"),
        _ if hours < 192 => pair(days, 'd', hours % 24, 'h'),
        _ if days < 730 => format!("{days}d"),
        _ if days < 2920 => pair(days / 365, 'y', days % 365, 'd'),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_read_like_kubectl() {
        for (seconds, text) in [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (150, "2m30s"),
            (601, "10m"),
            (10_800, "3h"),
            (11_000, "3h3m"),
            (100_000, "27h"),
            (200_000, "2d7h"),
            (1_000_000, "11d"),
            (70_000_000, "2y80d"),
        ] {
            assert_eq!(age(seconds), text);
        }
    }

    #[test]
    fn columns_find_their_cells() {
        let kind = CustomKind {
            columns: vec![
                json!({"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"}),
                json!({"name": "Size", "type": "integer", "jsonPath": ".spec.size"}),
                json!({"name": "All", "type": "string", "jsonPath": ".spec.list"}),
                json!({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}),
                json!({"name": "None", "type": "boolean", "jsonPath": ".spec.none"}),
            ],
            ..CustomKind::default()
        };
        let object = json!({
            "metadata": {"name": "a", "creationTimestamp": "2024-01-01T00:00:00Z"},
            "spec": {"size": 3, "list": ["x", "y"]},
            "status": {"conditions": [{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]},
        });
        let now = "2024-01-01T00:05:00Z".parse().unwrap();
        assert_eq!(
            cells(&kind, &object, now),
            [json!("a"), json!("True"), json!(3), json!("[\"x\",\"y\"]"), json!("5m"), Value::Null]
        );
    }
}
