//! One object on its way into a row.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age;
use crate::quantity::Quantity;
use crate::selector::Labels;

/// An object, and the time by which its age is told.
pub struct Row<'a> {
    /// The object as it is stored.
    pub object: &'a Value,
    /// The server's time.
    pub now: Timestamp,
}

impl<'a> Row<'a> {
    /// The value at a JSON pointer; null where there is none.
    pub fn at(&self, pointer: &str) -> &'a Value {
        self.object.pointer(pointer).unwrap_or(&Value::Null)
    }

    /// Text at a pointer, or none of it.
    pub fn text(&self, pointer: &str) -> &'a str {
        self.at(pointer).as_str().unwrap_or_default()
    }

    /// Text at a pointer, or something else where it is absent.
    pub fn text_or(&self, pointer: &str, other: &'a str) -> &'a str {
        self.at(pointer).as_str().unwrap_or(other)
    }

    /// A number at a pointer, or zero.
    pub fn number(&self, pointer: &str) -> i64 {
        self.at(pointer).as_i64().unwrap_or_default()
    }

    /// A truth at a pointer, or falsehood.
    pub fn flag(&self, pointer: &str) -> bool {
        self.at(pointer).as_bool().unwrap_or_default()
    }

    /// The items of a list.
    pub fn items(&self, pointer: &str) -> &'a [Value] {
        self.at(pointer).as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// How many items or keys there are.
    pub fn count(&self, pointer: &str) -> usize {
        match self.at(pointer) {
            Value::Array(items) => items.len(),
            Value::Object(fields) => fields.len(),
            _ => 0,
        }
    }

    /// Whether there is something at a pointer.
    pub fn has(&self, pointer: &str) -> bool {
        !self.at(pointer).is_null()
    }

    /// The object's name.
    pub fn name(&self) -> Value {
        json!(self.text("/metadata/name"))
    }

    /// How old the object is.
    pub fn age(&self) -> Value {
        json!(self.since("/metadata/creationTimestamp"))
    }

    /// How long ago something was.
    pub fn since(&self, pointer: &str) -> String {
        age::since(self.at(pointer), self.now)
    }

    /// Whether a condition is true.
    pub fn is(&self, condition: &str) -> bool {
        self.items("/status/conditions")
            .iter()
            .find(|one| one["type"] == condition)
            .is_some_and(|one| one["status"] == "True")
    }

    /// Names and images of the containers of a pod template.
    pub fn containers(&self, pointer: &str) -> [Value; 2] {
        let joined = |field: &str| {
            let all: Vec<&str> = self
                .items(pointer)
                .iter()
                .map(|one| one[field].as_str().unwrap_or_default())
                .collect();
            json!(all.join(","))
        };
        [joined("name"), joined("image")]
    }

    /// A label selector.
    pub fn selector(&self, pointer: &str) -> Value {
        let text = match self.at(pointer) {
            Value::Null => String::new(),
            selector => Labels::from_object(selector).to_string(),
        };
        json!(if text.is_empty() { "<none>" } else { &text })
    }

    /// Labels.
    pub fn labels(&self, pointer: &str) -> Value {
        let Some(labels) = self.at(pointer).as_object().filter(|labels| !labels.is_empty()) else {
            return json!("<none>");
        };
        let all: Vec<String> = labels
            .iter()
            .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
            .collect();
        json!(all.join(","))
    }

    /// Texts of a list.
    pub fn joined(&self, pointer: &str) -> String {
        let all: Vec<&str> = self.items(pointer).iter().filter_map(Value::as_str).collect();
        all.join(",")
    }
}

/// A quantity as the server prints it; an absent one is zero.
pub fn quantity(value: &Value) -> String {
    Quantity::read(value).map_or_else(|| "0".to_owned(), |quantity| quantity.to_string())
}

/// A number or a percentage.
pub fn int_or_text(value: &Value, absent: &str) -> String {
    match value {
        Value::Null => absent.to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The first few of many, and how many more there are.
pub fn some_of(all: &[String], most: usize) -> String {
    if all.len() > most {
        format!("{} + {} more...", all[..most].join(","), all.len() - most)
    } else {
        all.join(",")
    }
}
