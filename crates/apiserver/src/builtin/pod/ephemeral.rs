//! `/ephemeralcontainers`: containers added to a running pod, to look around in it.

use serde_json::Value;

use super::{annotations, spec};
use crate::builtin::form;
use crate::builtin::value::{Fields as _, Fill as _, same};
use crate::fields::{FieldError, Path};

/// Takes only the ephemeral containers from the new pod.
pub fn prepare(new: &mut Value, old: &Value) {
    let wish = new.get_or_null("spec").get_or_null("ephemeralContainers").clone();
    let mut spec = old.get_or_null("spec").clone();
    spec.put("ephemeralContainers", wish);
    new.put("spec", spec);
    new.put("status", old.get_or_null("status").clone());
}

/// Checks that ephemeral containers were only added.
pub fn validate(new: &Value, old: &Value) -> Vec<FieldError> {
    if annotations::is_mirror(old) {
        return vec![FieldError::forbidden(
            &Path::new("<nil>"),
            "static pods do not support ephemeral containers",
        )];
    }
    let mut wrong = spec::pod(new);
    wrong.extend(annotations::update(new, old, &Path::new("metadata.annotations")));
    let at = Path::new("spec.ephemeralContainers");
    let now = new.get_or_null("spec").list("ephemeralContainers");
    for before in old.get_or_null("spec").list("ephemeralContainers") {
        let name = before.text("name");
        match now.iter().rfind(|c| c.text("name") == name) {
            None => wrong.push(FieldError::forbidden(
                &at,
                format!("existing ephemeral containers {name:?} may not be removed\n"),
            )),
            Some(now) if !same(now, before) => {
                let difference = form::unified("core.EphemeralContainer", before, now);
                wrong.push(FieldError::forbidden(
                    &at,
                    format!(
                        "existing ephemeral containers {name:?} may not be changed\n{difference}"
                    ),
                ));
            }
            Some(_) => {}
        }
    }
    wrong
}
