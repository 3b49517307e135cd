//! Objects as JSON.

use serde_json::{Map, Number, Value};

use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{self, Node, scalar::Resolved};

/// A node as a value.
pub fn to_json(node: &Node) -> Result<Value> {
    Ok(match &node.value {
        yaml::Value::Scalar(scalar) => {
            match scalar.resolved().map_err(|error| error.at(node.mark))? {
                Resolved::Null => Value::Null,
                Resolved::Bool(value) => Value::Bool(value),
                Resolved::Int(number) => Value::from(number),
                Resolved::Unsigned(number) => Value::from(number),
                Resolved::Float(number) => Number::from_f64(number)
                    .map(Value::Number)
                    .ok_or_else(|| Diagnostic::new("JSON has no such number").at(node.mark))?,
                Resolved::Text(text) => Value::String(text.into_owned()),
            }
        }
        yaml::Value::Sequence(items) => {
            Value::Array(items.iter().map(to_json).collect::<Result<_>>()?)
        }
        yaml::Value::Mapping(mapping) => {
            let mut map = Map::new();
            for entry in mapping {
                map.insert(entry.key.text.to_string(), to_json(&entry.value)?);
            }
            Value::Object(map)
        }
    })
}
