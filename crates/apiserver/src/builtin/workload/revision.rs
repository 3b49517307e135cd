//! ControllerRevisions.

use serde_json::Value;

use crate::builtin::pod::nonnegative;
use crate::builtin::value::Fields as _;
use crate::builtin::{Strategy, form};
use crate::fields::{FieldError, Path};

/// The rules of ControllerRevisions.
pub const CONTROLLER_REVISION: Strategy = Strategy {
    defaults: |object| form::settle("apps/v1", "ControllerRevision", object),
    validate: |object| {
        let mut wrong = number(object);
        let at = Path::new("data");
        match object.get_or_null("data") {
            Value::Null => wrong.push(FieldError::required(&at, "data is mandatory")),
            Value::Object(_) => {}
            _ => wrong.push(FieldError::required(&at, "data must be a valid JSON object")),
        }
        wrong
    },
    validate_update: |new, old| {
        let mut wrong = number(new);
        let data = new.get_or_null("data");
        if data != old.get_or_null("data") {
            let shown = match data {
                Value::Null => "null".to_owned(),
                data => data.to_string(),
            };
            wrong.push(FieldError::invalid_shown(&Path::new("data"), shown, "field is immutable"));
        }
        wrong
    },
    revalidate: false,
    ..Strategy::PLAIN
};

fn number(object: &Value) -> Vec<FieldError> {
    nonnegative(object.int("revision"), &Path::new("revision")).into_iter().collect()
}
