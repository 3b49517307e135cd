//! Numbers or shares: `3`, `25%`.

use serde_json::Value;

use super::format::percent;
use super::pod::nonnegative;
use crate::fields::{FieldError, Path};

/// A number or share that is not negative.
pub fn positive(value: &Value, field: &Path) -> Option<FieldError> {
    match value {
        Value::String(text) => {
            percent(text).map(|detail| FieldError::invalid(field, value, detail))
        }
        _ => nonnegative(value.as_i64().unwrap_or_default(), field),
    }
}

/// A share of more than everything.
pub fn at_most_all(value: &Value, field: &Path) -> Option<FieldError> {
    (share(value)? > 100)
        .then(|| FieldError::invalid(field, value, "must not be greater than 100%"))
}

/// The number before the sign, or the number itself.
pub fn amount(value: &Value) -> i64 {
    match (share(value), value) {
        (Some(share), _) => share,
        (None, Value::String(text)) => text.parse().unwrap_or_default(),
        (None, other) => other.as_i64().unwrap_or_default(),
    }
}

fn share(value: &Value) -> Option<i64> {
    let text = value.as_str()?;
    if percent(text).is_some() {
        return None;
    }
    Some(text.trim_end_matches('%').parse().unwrap_or(i64::MAX))
}
