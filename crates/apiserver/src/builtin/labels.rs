//! Labels, annotations and label selectors.

use serde_json::{Map, Value};

use super::format::{invalid_each, label_value, qualified_name};
use super::value::Fields as _;
use crate::fields::{FieldError, Path};

/// What is wrong with a map of labels.
pub fn labels(labels: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    for (key, value) in labels.as_object().into_iter().flatten() {
        wrong.extend(invalid_each(field, key, qualified_name(key)));
        let value = value.as_str().unwrap_or_default();
        wrong.extend(invalid_each(field, value, label_value(value)));
    }
    wrong
}

/// What is wrong with a map of annotations.
pub fn annotations(annotations: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let mut size = 0;
    for (key, value) in annotations.as_object().into_iter().flatten() {
        wrong.extend(invalid_each(field, key, qualified_name(&key.to_lowercase())));
        size += key.len() + value.as_str().unwrap_or_default().len();
    }
    if size > 256 * 1024 {
        wrong.push(FieldError::too_long(field, 256 * 1024));
    }
    wrong
}

/// What is wrong with a label selector; none is fine.
pub fn selector(selector: Option<&Value>, field: &Path) -> Vec<FieldError> {
    let Some(selector) = selector else { return Vec::new() };
    let mut wrong = labels(selector.get_or_null("matchLabels"), &field.child("matchLabels"));
    for (index, rule) in selector.list("matchExpressions").iter().enumerate() {
        let field = field.child("matchExpressions").index(index);
        let values = rule.list("values");
        match rule.text("operator") {
            "In" | "NotIn" => {
                if values.is_empty() {
                    wrong.push(FieldError::required(
                        &field.child("values"),
                        "must be specified when `operator` is 'In' or 'NotIn'",
                    ));
                }
            }
            "Exists" | "DoesNotExist" => {
                if !values.is_empty() {
                    wrong.push(FieldError::forbidden(
                        &field.child("values"),
                        "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                    ));
                }
            }
            other => wrong.push(FieldError::invalid(
                &field.child("operator"),
                &Value::from(other),
                "not a valid selector operator",
            )),
        }
        let key = rule.text("key");
        wrong.extend(invalid_each(&field.child("key"), key, qualified_name(key)));
        for (index, value) in values.iter().enumerate() {
            let value = value.as_str().unwrap_or_default();
            wrong.extend(invalid_each(
                &field.child("values").index(index),
                value,
                label_value(value),
            ));
        }
    }
    wrong
}

/// Whether a selector can be used at all.
pub fn selector_is_usable(selector: Option<&Value>) -> bool {
    let Some(selector) = selector else { return true };
    let pairs = selector.entries("matchLabels").into_iter().flatten();
    let equal = pairs.into_iter().all(|(key, value)| {
        qualified_name(key).is_empty() && label_value(value.as_str().unwrap_or_default()).is_empty()
    });
    equal
        && selector.list("matchExpressions").iter().all(|rule| {
            let values = rule.list("values");
            let fits = match rule.text("operator") {
                "In" | "NotIn" => !values.is_empty(),
                "Exists" | "DoesNotExist" => values.is_empty(),
                _ => false,
            };
            fits && qualified_name(rule.text("key")).is_empty()
                && values.iter().all(|v| label_value(v.as_str().unwrap_or_default()).is_empty())
        })
}

/// Whether a selector says nothing.
pub fn selector_is_empty(selector: &Value) -> bool {
    selector.entries("matchLabels").is_none_or(Map::is_empty)
        && selector.list("matchExpressions").is_empty()
}

/// Whether labels satisfy a selector. No selector matches nothing, an empty one everything.
pub fn selector_matches(selector: Option<&Value>, labels: &Value) -> bool {
    let Some(selector) = selector else { return false };
    let equal = selector
        .entries("matchLabels")
        .into_iter()
        .flatten()
        .all(|(key, value)| labels.get(key) == Some(value));
    equal
        && selector.list("matchExpressions").iter().all(|rule| {
            let label = labels.get(rule.text("key"));
            let among = |label: &Value| rule.list("values").contains(label);
            match rule.text("operator") {
                "In" => label.is_some_and(among),
                "NotIn" => !label.is_some_and(among),
                "Exists" => label.is_some(),
                "DoesNotExist" => label.is_none(),
                _ => false,
            }
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_match_labels() {
        let labels = json!({"a": "1", "b": "2"});
        for (selector, expected) in [
            (json!({}), true),
            (json!({"matchLabels": {"a": "1"}}), true),
            (json!({"matchLabels": {"a": "2"}}), false),
            (
                json!({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "3"]}]}),
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "c", "operator": "NotIn", "values": ["1"]}]}),
                true,
            ),
            (json!({"matchExpressions": [{"key": "c", "operator": "Exists"}]}), false),
            (json!({"matchExpressions": [{"key": "c", "operator": "DoesNotExist"}]}), true),
        ] {
            assert_eq!(selector_matches(Some(&selector), &labels), expected, "{selector}");
        }
        assert!(!selector_matches(None, &labels));
    }

    #[test]
    fn bad_selectors_are_named() {
        let bad =
            json!({"matchExpressions": [{"key": "a b", "operator": "Near", "values": ["-"]}]});
        let fields: Vec<String> =
            selector(Some(&bad), &Path::new("s")).into_iter().map(|e| e.field).collect();
        assert_eq!(
            fields,
            [
                "s.matchExpressions[0].operator",
                "s.matchExpressions[0].key",
                "s.matchExpressions[0].values[0]"
            ]
        );
        assert!(!selector_is_usable(Some(&bad)));
    }
}
