//! Structs as error messages show them.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::{Field, Holds, internal_fields, public_fields};
use crate::quantity::Quantity;

/// JSON of a public struct, its fields in the order of declaration.
pub fn public(name: &'static str, value: &Value) -> String {
    let mut out = Writer::new(None);
    out.structure(&Holds::Struct(name), value, false);
    out.text
}

/// JSON of the internal struct that stands for a public value, with internal names.
pub fn internal(name: &'static str, value: &Value) -> String {
    let mut out = Writer::new(None);
    out.structure(&Holds::Struct(name), value, true);
    out.text
}

/// [`internal`], one field a line, indented by one space a level.
pub fn internal_pretty(name: &'static str, value: &Value) -> String {
    let mut out = Writer::new(Some(0));
    out.structure(&Holds::Struct(name), value, true);
    out.text
}

/// A string in quotes, as JSON inside the server is written (`<`, `>` and `&` escaped).
pub fn quoted(text: &str) -> String {
    let mut out = Value::from(text).to_string();
    for (from, to) in [
        ('<', "\\u003c"),
        ('>', "\\u003e"),
        ('&', "\\u0026"),
        ('\u{2028}', "\\u2028"),
        ('\u{2029}', "\\u2029"),
    ] {
        if out.contains(from) {
            out = out.replace(from, to);
        }
    }
    out
}

struct Writer {
    text: String,
    /// Level of indentation, or nothing for compact text.
    level: Option<usize>,
}

impl Writer {
    fn new(level: Option<usize>) -> Self {
        Self { text: String::new(), level }
    }

    fn open(&mut self, bracket: char) {
        self.text.push(bracket);
        if let Some(level) = &mut self.level {
            *level += 1;
        }
    }

    fn close(&mut self, bracket: char, empty: bool) {
        if let Some(level) = &mut self.level {
            *level -= 1;
        }
        if !empty {
            self.line();
        }
        self.text.push(bracket);
    }

    fn line(&mut self) {
        if let Some(level) = self.level {
            self.text.push('\n');
            self.text.extend(std::iter::repeat_n(' ', level));
        }
    }

    fn key(&mut self, key: &str, first: &mut bool) {
        if !*first {
            self.text.push(',');
        }
        *first = false;
        self.line();
        let space = if self.level.is_some() { " " } else { "" };
        let _ = write!(self.text, "{}:{space}", quoted(key));
    }

    fn structure(&mut self, holds: &Holds, value: &Value, internal: bool) {
        let around = Value::Object(Map::new());
        self.value(holds, value, &around, internal);
    }

    fn value(&mut self, holds: &Holds, value: &Value, around: &Value, internal: bool) {
        match holds {
            Holds::Maybe(inner) => {
                if value.is_null() {
                    self.text.push_str("null");
                } else {
                    self.value(inner, value, around, internal);
                }
            }
            Holds::Struct(name) => {
                self.open('{');
                let mut first = true;
                if let Some(fields) = internal.then(|| internal_fields(name)).flatten() {
                    self.internal_fields(fields, value, around, &mut first);
                } else {
                    self.public_fields(name, value, &mut first);
                }
                self.close('}', first);
            }
            Holds::List(inner) => match value {
                Value::Array(items) => {
                    self.open('[');
                    for (index, item) in items.iter().enumerate() {
                        if index > 0 {
                            self.text.push(',');
                        }
                        self.line();
                        self.value(inner, item, around, internal);
                    }
                    self.close(']', items.is_empty());
                }
                _ => self.text.push_str("null"),
            },
            Holds::Map(inner) => match value {
                Value::Object(items) => {
                    self.open('{');
                    let mut first = true;
                    for (key, item) in items {
                        self.key(key, &mut first);
                        self.value(inner, item, around, internal);
                    }
                    self.close('}', first);
                }
                _ => self.text.push_str("null"),
            },
            Holds::Text => self.text.push_str(&quoted(value.as_str().unwrap_or_default())),
            Holds::Flag => {
                let _ = write!(self.text, "{}", value.as_bool().unwrap_or_default());
            }
            Holds::Number | Holds::IntOrText if value.is_null() => self.text.push('0'),
            Holds::Quantity => {
                let text = Quantity::read(value).unwrap_or(Quantity::ZERO).to_string();
                self.text.push_str(&quoted(&text));
            }
            Holds::Bytes | Holds::Time | Holds::Raw | Holds::Number | Holds::IntOrText => {
                match value {
                    Value::String(text) => self.text.push_str(&quoted(text)),
                    other => self.text.push_str(&other.to_string()),
                }
            }
        }
    }

    fn internal_fields(
        &mut self,
        fields: &[Field],
        value: &Value,
        around: &Value,
        first: &mut bool,
    ) {
        for field in fields {
            let inner = match field.json.strip_prefix('^') {
                Some(sibling) => around.get(sibling),
                None => value.get(field.json),
            }
            .unwrap_or(&Value::Null);
            // Metadata is embedded: its public fields stand beside the others.
            if field.name == "*meta" {
                self.public_fields("meta/v1.ObjectMeta", inner, first);
                continue;
            }
            self.key(field.name, first);
            self.value(&field.holds, inner, value, true);
        }
    }

    fn public_fields(&mut self, name: &str, value: &Value, first: &mut bool) {
        for field in public_fields(name) {
            let inner = value.get(field.json).unwrap_or(&Value::Null);
            let empty = match &field.holds {
                Holds::Text | Holds::Bytes => inner.as_str().is_none_or(str::is_empty),
                Holds::Flag => !inner.as_bool().unwrap_or_default(),
                Holds::Number => inner.as_f64().is_none_or(|n| n == 0.0),
                Holds::List(_) => inner.as_array().is_none_or(Vec::is_empty),
                Holds::Map(_) => inner.as_object().is_none_or(Map::is_empty),
                _ => inner.is_null(),
            };
            if empty && !field.always {
                continue;
            }
            self.key(field.json, first);
            self.value(&field.holds, inner, value, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_are_shown_in_order_of_declaration() {
        let selector = json!({"matchExpressions": [{"key": "a", "operator": "Exists"}], "matchLabels": {"b": "<1>"}});
        assert_eq!(
            public("meta/v1.LabelSelector", &selector),
            r#"{"matchLabels":{"b":"\u003c1\u003e"},"matchExpressions":[{"key":"a","operator":"Exists"}]}"#
        );
    }

    #[test]
    fn internal_structs_show_every_field() {
        let context = json!({"hostNetwork": true, "securityContext": {"runAsUser": 5}});
        let shown = internal("core.PodSpec", &context);
        assert!(shown.contains(
            r#""SecurityContext":{"HostNetwork":true,"HostPID":false,"HostIPC":false,"ShareProcessNamespace":null,"HostUsers":null,"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":5,"#
        ), "{shown}");
        assert!(shown.starts_with(r#"{"Volumes":null,"InitContainers":null,"Containers":null,"#));
    }
}
