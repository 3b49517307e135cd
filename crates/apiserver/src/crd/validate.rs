//! Values against their schema, in the words of the server's validator.

use serde_json::Value;

use super::{formats, pattern, shown};
use crate::fields::{FieldError, Wrong};
use crate::schema::{Node, Schema};

/// What is wrong with a value. Parts that did not change are not blamed for what was wrong before. `prefix` is
/// where the value stands in its object; messages do not mention it.
pub(super) fn values(
    node: Node<'_>,
    prefix: &str,
    new: &Value,
    old: Option<&Value>,
) -> Vec<FieldError> {
    let mut found = check(node, "", new, old);
    for error in &mut found.errors {
        let name = error.field.trim_start_matches('.');
        error.field = match (prefix, name) {
            ("", "" | UNNAMED) => "<nil>".into(),
            (prefix, "" | UNNAMED) => prefix.to_owned(),
            ("", name) => name.to_owned(),
            (prefix, name) => format!("{prefix}.{name}"),
        };
    }
    found.errors
}

/// Stands for the field of an error that names none.
const UNNAMED: &str = "\0";

/// Errors, and how much else was right: of several alternatives the nearest miss is reported.
#[derive(Default)]
struct Found {
    errors: Vec<FieldError>,
    right: usize,
}

impl Found {
    fn add(&mut self, wrong: Wrong, path: &str, value: Option<String>, detail: String) {
        self.errors.push(FieldError { wrong, field: path.to_owned(), shown: value, detail });
    }

    fn invalid(&mut self, path: &str, value: &Value, detail: &str) {
        self.add(Wrong::Invalid, path, Some(shown(value)), format!("{path} in body {detail}"));
    }

    fn unnamed(&mut self, detail: String) {
        self.add(Wrong::Invalid, UNNAMED, Some("\"\"".into()), detail);
    }

    fn merge(&mut self, other: Self) {
        self.errors.extend(other.errors);
        self.right += other.right;
    }
}

fn check(node: Node<'_>, path: &str, new: &Value, old: Option<&Value>) -> Found {
    if old == Some(new) && !path.is_empty() {
        return Found { errors: Vec::new(), right: 1 };
    }
    let schema = node.schema;
    let mut found = Found::default();
    kind(schema, path, new, &mut found);
    if !new.is_null() {
        alternatives(node, path, new, old, &mut found);
        match new {
            Value::String(text) => string(schema, path, text, &mut found),
            Value::Number(_) => number(schema, path, new, &mut found),
            Value::Array(items) => list(node, path, items, old, &mut found),
            _ => {}
        }
    }
    if !schema.allowed.is_empty() && !schema.allowed.iter().any(|allowed| same(allowed, new)) {
        let allowed: Vec<String> = schema
            .allowed
            .iter()
            .map(|value| match value {
                Value::String(text) => format!("{text:?}"),
                other => format!("{:?}", other.to_string()),
            })
            .collect();
        found.add(
            Wrong::NotSupported,
            path,
            Some(shown(new)),
            format!("supported values: {}", allowed.join(", ")),
        );
    } else {
        found.right += 1;
    }
    if let Value::Object(fields) = new {
        object(node, path, fields, old, &mut found);
    }
    if old == Some(new) {
        found.errors.clear();
    }
    found
}

/// Numbers are equal by value, whatever their form.
fn same(a: &Value, b: &Value) -> bool {
    a == b || matches!((a.as_f64(), b.as_f64()), (Some(a), Some(b)) if (a - b).abs() < f64::EPSILON)
}

fn kind(schema: &Schema, path: &str, value: &Value, found: &mut Found) {
    let types: &[&str] = match (schema.int_or_string, schema.type_name.as_str()) {
        (true, _) => &["integer", "string"],
        (false, "") => &[],
        (false, name) => &[name],
    };
    let format = formats::recognized(if types.len() == 1 { types[0] } else { "" }, &schema.format);
    if types.is_empty() && format.is_empty() {
        return;
    }
    let mut mismatch = |wanted: &str, got: &str| {
        found.add(
            Wrong::Type,
            path,
            Some(format!("{got:?}")),
            format!("{path} in body must be of type {wanted}: {got:?}"),
        );
    };
    let (got, got_format) = match value {
        Value::Null => {
            if !types.is_empty() && !schema.nullable {
                mismatch(&types.join(","), "null");
            } else {
                found.right += 1;
            }
            return;
        }
        Value::Bool(_) => ("boolean", ""),
        Value::String(_) => ("string", ""),
        Value::Number(n) if n.is_f64() => ("number", "float64"),
        Value::Number(_) => ("integer", "int64"),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    };
    let whole = value.as_f64().is_some_and(|number| number.fract() == 0.0);
    let numeric = (got == "number" && whole && types.contains(&"integer"))
        || (got == "integer" && types.contains(&"number"));
    let textual = matches!(got, "string" | "array");
    let right = types.contains(&got) || numeric;
    // A string or list with a format is not looked at here: its format is checked elsewhere, if at all.
    let formatted = !format.is_empty();
    let elsewhere =
        textual && formatted && !types.contains(&"number") && !types.contains(&"integer");
    if formatted && !textual && !right && got_format != format {
        mismatch(format, got_format);
    } else if right || elsewhere {
        found.right += 1;
    } else {
        mismatch(&types.join(","), got);
    }
}

fn alternatives(node: Node<'_>, path: &str, value: &Value, old: Option<&Value>, found: &mut Found) {
    let schema = node.schema;
    let shown_path = format!("{path:?}");
    if !schema.any_of.is_empty() {
        let mut best: Option<Found> = None;
        let mut held = false;
        for alternative in &schema.any_of {
            let result = nested(node, alternative, path, value, old);
            if result.errors.is_empty() {
                held = true;
                break;
            }
            if best.as_ref().is_none_or(|best| result.right > best.right) {
                best = Some(result);
            }
        }
        if !held {
            found.unnamed(format!("{shown_path} must validate at least one schema (anyOf)"));
            found.merge(best.unwrap_or_default());
        }
    }
    if !schema.one_of.is_empty() {
        let mut best: Option<Found> = None;
        let mut held = 0;
        for alternative in &schema.one_of {
            let result = nested(node, alternative, path, value, old);
            if result.errors.is_empty() {
                held += 1;
                best = None;
            } else if held == 0 && best.as_ref().is_none_or(|best| result.right > best.right) {
                best = Some(result);
            }
        }
        if held != 1 {
            let more = if held == 0 {
                "Found none valid".to_owned()
            } else {
                format!("Found {held} valid alternatives")
            };
            found.unnamed(format!(
                "{shown_path} must validate one and only one schema (oneOf). {more}"
            ));
            found.merge(best.unwrap_or_default());
        }
    }
    if !schema.all_of.is_empty() {
        let mut held = 0;
        for part in &schema.all_of {
            let result = nested(node, part, path, value, old);
            held += usize::from(result.errors.is_empty());
            found.merge(result);
        }
        if held != schema.all_of.len() {
            let more = if held == 0 { ". None validated" } else { "" };
            found.unnamed(format!("{shown_path} must validate all the schemas (allOf){more}"));
        }
    }
    if let Some(not) = &schema.not
        && nested(node, not, path, value, old).errors.is_empty()
    {
        found.unnamed(format!("{shown_path} must not validate the schema (not)"));
    }
    found.right += 1;
}

/// A part of a schema that says more about the same value; old values count below it only.
fn nested<'a>(
    node: Node<'a>,
    schema: &'a Schema,
    path: &str,
    value: &Value,
    old: Option<&Value>,
) -> Found {
    let old = old.filter(|old| *old != value);
    check(node.at(schema), path, value, old)
}

fn string(schema: &Schema, path: &str, text: &str, found: &mut Found) {
    let value = Value::from(text);
    let length = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
    if let Some(most) = schema.max_length.filter(|most| length > *most) {
        found.add(Wrong::TooLong, path, None, format!("may not be more than {most} bytes"));
    } else if let Some(least) = schema.min_length.filter(|least| length < *least) {
        found.invalid(path, &value, &format!("should be at least {least} chars long"));
    } else if !schema.pattern.is_empty() {
        match pattern::compiled(&schema.pattern) {
            Some(regex) if regex.is_match(text) => found.right += 1,
            _ => found.invalid(path, &value, &format!("should match '{}'", schema.pattern)),
        }
    }
    let type_name = if schema.int_or_string { "" } else { schema.type_name.as_str() };
    let format = formats::recognized(type_name, &schema.format);
    if !format.is_empty() && matches!(type_name, "" | "string") && !formats::holds(format, text) {
        found.add(
            Wrong::Type,
            path,
            Some(value.to_string()),
            format!("{path} in body must be of type {format}: {value}"),
        );
    }
}

fn number(schema: &Schema, path: &str, value: &Value, found: &mut Found) {
    let Some(number) = value.as_f64() else { return };
    if schema.type_name == "integer" {
        let fits = match schema.format.as_str() {
            "int32" => value.as_i64().is_some_and(|i| i32::try_from(i).is_ok()),
            _ => value.is_i64(),
        };
        let fits = fits || (value.is_f64() && number.fract() == 0.0);
        if !fits {
            let format = match formats::recognized("integer", &schema.format) {
                "" => "(default format)".to_owned(),
                format => format!("with format {format}"),
            };
            found.unnamed(format!("Checked value must be of type integer {format} in {path}"));
        }
    }
    let bound =
        |bound: &Option<serde_json::Number>| bound.as_ref().and_then(serde_json::Number::as_f64);
    // Bounds of whole numbers are compared and printed as whole numbers.
    let text = |bound: f64| {
        if value.is_f64() { crate::cel::double_text(bound) } else { format!("{}", bound.trunc()) }
    };
    if let Some(factor) = bound(&schema.multiple_of) {
        // The factor of whole numbers is cut to a whole number too, and may vanish.
        let factor = if value.is_f64() { factor } else { factor.trunc() };
        if factor <= 0.0 {
            let zero = Value::from(0);
            let detail = format!("factor MultipleOf declared for {path} must be positive: 0");
            found.add(Wrong::Invalid, path, Some(shown(&zero)), detail);
        }
        let times = if factor < 1.0 { 1.0 / factor * number } else { number / factor };
        if factor > 0.0 && (times - times.round()).abs() > 1e-9 {
            found.invalid(path, value, &format!("should be a multiple of {}", text(factor)));
        }
    }
    if let Some(least) = bound(&schema.minimum) {
        let (held, word) = if schema.exclusive_minimum {
            (number > least, "greater than")
        } else {
            (number >= least, "greater than or equal to")
        };
        if !held {
            found.invalid(path, value, &format!("should be {word} {}", text(least)));
        }
    }
    if let Some(most) = bound(&schema.maximum) {
        let (held, word) = if schema.exclusive_maximum {
            (number < most, "less than")
        } else {
            (number <= most, "less than or equal to")
        };
        if !held {
            found.invalid(path, value, &format!("should be {word} {}", text(most)));
        }
    }
    found.right += 1;
}

fn list(node: Node<'_>, path: &str, items: &[Value], old: Option<&Value>, found: &mut Found) {
    if let Some(of) = node.items() {
        for (index, item) in items.iter().enumerate() {
            let before = old.and_then(|old| correlated(node, old, item));
            found.merge(check(of, &format!("{path}[{index}]"), item, before));
        }
    }
    let count = u64::try_from(items.len()).unwrap_or(u64::MAX);
    if let Some(least) = node.schema.min_items.filter(|least| count < *least) {
        found.invalid(path, &Value::from(count), &format!("should have at least {least} items"));
    }
    if let Some(most) = node.schema.max_items.filter(|most| count > *most) {
        found.add(
            Wrong::TooMany,
            path,
            Some(count.to_string()),
            format!("must have at most {most} items"),
        );
    }
    found.right += 1;
}

/// The item of an old list that is the same one by the list's keys.
pub(super) fn correlated<'a>(node: Node<'_>, old: &'a Value, item: &Value) -> Option<&'a Value> {
    if node.schema.list_type != "map" {
        return None;
    }
    old.as_array()?
        .iter()
        .find(|before| node.schema.list_map_keys.iter().all(|key| before.get(key) == item.get(key)))
}

fn object(
    node: Node<'_>,
    path: &str,
    fields: &serde_json::Map<String, Value>,
    old: Option<&Value>,
    found: &mut Found,
) {
    let schema = node.schema;
    let count = u64::try_from(fields.len()).unwrap_or(u64::MAX);
    if let Some(least) = schema.min_properties.filter(|least| count < *least) {
        found.invalid(
            path,
            &Value::from(count),
            &format!("should have at least {least} properties"),
        );
    }
    if let Some(most) = schema.max_properties.filter(|most| count > *most) {
        found.add(
            Wrong::TooMany,
            path,
            Some(count.to_string()),
            format!("must have at most {most} items"),
        );
    }
    for (name, value) in fields {
        let Some(of) = node.field(name) else { continue };
        // The type of an object is not compared: both sides were converted to the same one.
        let visible = !(path.is_empty() && matches!(name.as_str(), "apiVersion" | "kind"));
        let before = old.filter(|_| visible).and_then(|old| old.get(name));
        let place = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        found.merge(check(of, &place, value, before));
    }
    for name in &schema.required {
        if !fields.contains_key(name) {
            found.add(Wrong::Required, &format!("{path}.{name}"), None, String::new());
        }
    }
}
