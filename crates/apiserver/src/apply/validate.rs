//! Whether a value has the type its schema says, in the words of the API server.

use serde_json::Value;

use super::fieldset::PathElement;
use super::types::{List, Map, Meaning, Scalar, Type};

/// Everything that is wrong, each with its path; empty if all is well.
pub fn type_errors(ty: Type<'_>, value: &Value, duplicates_allowed: bool) -> Vec<String> {
    let mut check = Check { duplicates_allowed, path: String::new(), errors: Vec::new() };
    check.visit(ty, value);
    check.errors
}

/// One error as it is, several as a list.
pub fn joined(errors: &[String]) -> String {
    match errors {
        [one] => one.clone(),
        many => {
            let mut text = "errors:".to_owned();
            for error in many {
                text.push_str("\n  ");
                text.push_str(error);
            }
            text
        }
    }
}

struct Check {
    duplicates_allowed: bool,
    path: String,
    errors: Vec<String>,
}

impl Check {
    fn fail(&mut self, what: &str) {
        self.errors.push(if self.path.is_empty() {
            what.to_owned()
        } else {
            format!("{}: {what}", self.path)
        });
    }

    fn below(&mut self, element: &PathElement, ty: Type<'_>, value: &Value) {
        use std::fmt::Write as _;
        let length = self.path.len();
        let _ = write!(self.path, "{element}");
        self.visit(ty, value);
        self.path.truncate(length);
    }

    fn visit(&mut self, ty: Type<'_>, value: &Value) {
        match ty.atom().fit(Some(value)).meaning() {
            Meaning::Map(map) => self.map(map, value),
            Meaning::List(list) => self.list(list, value),
            Meaning::Scalar(scalar) => {
                if let Some(error) = scalar_error(scalar, value) {
                    self.fail(&error);
                }
            }
            Meaning::Nothing => self.fail("schema error: invalid atom: inlined"),
        }
    }

    fn map(&mut self, map: Map<'_>, value: &Value) {
        let fields = match value {
            Value::Object(fields) => fields,
            Value::Null => return,
            other => return self.fail(&format!("expected map, got &{{{}}}", go_plain(other))),
        };
        for (name, value) in fields {
            let element = PathElement::field(name.as_str());
            let ty = map.at(name);
            if matches!(ty, Type::None) {
                let length = self.path.len();
                self.path.push_str(&element.to_string());
                self.fail("field not declared in schema");
                self.path.truncate(length);
                return;
            }
            self.below(&element, ty, value);
        }
    }

    fn list(&mut self, list: List<'_>, value: &Value) {
        let items = match value {
            Value::Array(items) => items,
            Value::Null => return,
            other => return self.fail(&format!("expected list, got &{{{}}}", go_plain(other))),
        };
        let mut seen: Vec<PathElement> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let element = if list.associative {
                match list.element_of(item) {
                    Ok(element) => element,
                    Err(error) => return self.fail(&format!("element {index}: {error}")),
                }
            } else {
                PathElement::Index(i64::try_from(index).unwrap_or(i64::MAX))
            };
            if list.associative {
                if seen.contains(&element) && !self.duplicates_allowed {
                    self.fail(&format!("duplicate entries for key {element}"));
                }
                seen.push(element.clone());
            }
            self.below(&element, list.element, item);
        }
    }
}

fn scalar_error(scalar: Scalar, value: &Value) -> Option<String> {
    match (scalar, value) {
        (_, Value::Null)
        | (Scalar::Numeric, Value::Number(_))
        | (Scalar::String, Value::String(_))
        | (Scalar::Boolean, Value::Bool(_))
        | (Scalar::Untyped, Value::Number(_) | Value::String(_) | Value::Bool(_)) => None,
        (Scalar::Numeric, other) => {
            Some(format!("expected numeric (int or float), got {}", go_type(other)))
        }
        (Scalar::String, other) => Some(format!(
            "expected string, got &value.valueUnstructured{{Value:{}}}",
            go_syntax(other)
        )),
        (Scalar::Boolean, other) => Some(format!("expected boolean, got &{{{}}}", go_plain(other))),
        (Scalar::Untyped, other) => {
            Some(format!("expected any scalar, got &{{{}}}", go_plain(other)))
        }
    }
}

/// Go's `%T`.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(n) if n.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// Go's `%v`.
fn go_plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(go_plain).collect::<Vec<_>>().join(" "))
        }
        Value::Object(map) => {
            let fields: Vec<String> =
                map.iter().map(|(k, v)| format!("{k}:{}", go_plain(v))).collect();
            format!("map[{}]", fields.join(" "))
        }
        other => other.to_string(),
    }
}

/// Go's `%#v`.
fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::String(text) => format!("{text:?}"),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(map) => {
            let fields: Vec<String> =
                map.iter().map(|(k, v)| format!("{k:?}:{}", go_syntax(v))).collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
        other => other.to_string(),
    }
}
