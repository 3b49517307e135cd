//! What is wrong with the sources of a projected volume.

use std::collections::BTreeSet;

use serde_json::Value;

use super::volumes::{downward_file, key_to_path, local_path};
use crate::builtin::value::Fields as _;
use crate::fields::{FieldError, Path};

/// Checks every source and that no two write the same file.
pub fn sources(volume: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let mut paths = BTreeSet::new();
    for (index, source) in volume.list("sources").iter().enumerate() {
        let at = field.child("sources").index(index);
        let mut count = 0;
        for key in ["secret", "configMap"] {
            let Some(keyed) = source.part(key) else { continue };
            count += 1;
            let at = at.child(key);
            let name = keyed.text("name");
            if name.is_empty() {
                wrong.push(FieldError::required(&at.child("name"), ""));
            }
            for (index, item) in keyed.list("items").iter().enumerate() {
                wrong.extend(key_to_path(item, &at.child("items").index(index)));
                wrong.extend(taken(&mut paths, item.text("path"), field, name));
            }
        }
        if let Some(downward) = source.part("downwardAPI") {
            count += 1;
            for file in downward.list("items") {
                wrong.extend(downward_file(file, &at.child("downwardAPI")));
                let path = file.text("path");
                wrong.extend(taken(&mut paths, path, field, path));
            }
        }
        if let Some(token) = source.part("serviceAccountToken") {
            count += 1;
            wrong.extend(account_token(token, &at.child("serviceAccountToken"), field));
        }
        if count > 1 {
            wrong.push(FieldError::forbidden(
                &at,
                "may not specify more than 1 volume type per source",
            ));
        }
    }
    wrong
}

fn account_token(token: &Value, at: &Path, volume: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let seconds = token.int("expirationSeconds");
    let mut refuse = |detail: &str| {
        wrong.push(FieldError::invalid(
            &at.child("expirationSeconds"),
            &Value::from(seconds),
            detail,
        ));
    };
    if seconds < 600 {
        refuse("may not specify a duration less than 10 minutes");
    }
    if seconds > 1 << 32 {
        refuse("may not specify a duration larger than 2^32 seconds");
    }
    let path = token.text("path");
    if path.is_empty() {
        wrong.push(FieldError::required(&volume.child("path"), ""));
    } else {
        wrong.extend(local_path(path, &volume.child("path")));
    }
    wrong
}

/// Remembers a path; an error if another source has it already.
fn taken<'a>(
    paths: &mut BTreeSet<&'a str>,
    path: &'a str,
    field: &Path,
    shown: &str,
) -> Option<FieldError> {
    let clash = !path.is_empty() && !paths.insert(path);
    clash.then(|| FieldError::invalid(field, &Value::from(shown), "conflicting duplicate paths"))
}
