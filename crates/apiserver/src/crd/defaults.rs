//! Filling what is absent.

use serde_json::Value;

use crate::schema::Node;

/// Drops nulls where null is no value and nothing stands in for it, then fills defaults.
pub fn default(node: Node<'_>, object: &mut Value) {
    settle_numbers(object);
    drop_nulls(node, object);
    fill(node, object);
}

/// `2.0` is kept as `2`: the server writes numbers in their shortest form.
fn settle_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small")]
            if let Some(whole) = number.as_f64().filter(|f| f.fract() == 0.0 && f.abs() < 9.0e15) {
                *value = Value::from(whole as i64);
            }
        }
        Value::Object(fields) => fields.values_mut().for_each(settle_numbers),
        Value::Array(items) => items.iter_mut().for_each(settle_numbers),
        _ => {}
    }
}

fn drop_nulls(node: Node<'_>, value: &mut Value) {
    match value {
        Value::Object(fields) => fields.retain(|name, inner| {
            let Some(of) = node.field(name) else { return true };
            if inner.is_null() && !of.schema.nullable && of.schema.default.is_none() {
                return false;
            }
            drop_nulls(of, inner);
            true
        }),
        Value::Array(items) => {
            if let Some(of) = node.items() {
                for item in items {
                    drop_nulls(of, item);
                }
            }
        }
        _ => {}
    }
}

/// Fills defaults. What apply merged keeps its nulls, so that validation sees them.
pub fn fill(node: Node<'_>, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for name in node.schema.properties.keys() {
                let Some(of) = node.property(name) else { continue };
                let Some(default) = &of.schema.default else { continue };
                match fields.get(name) {
                    None => drop(fields.insert(name.clone(), default.clone())),
                    Some(Value::Null) if !of.schema.nullable => {
                        fields.insert(name.clone(), default.clone());
                    }
                    Some(_) => {}
                }
            }
            for (name, inner) in fields.iter_mut() {
                if let Some(of) = node.field(name) {
                    stand_in(of, inner);
                    fill(of, inner);
                }
            }
        }
        Value::Array(items) => {
            if let Some(of) = node.items() {
                for item in items {
                    stand_in(of, item);
                    fill(of, item);
                }
            }
        }
        _ => {}
    }
}

fn stand_in(node: Node<'_>, value: &mut Value) {
    if value.is_null()
        && !node.schema.nullable
        && let Some(default) = &node.schema.default
    {
        *value = default.clone();
    }
}
