//! When a Job counts as done, and when as failed.

use std::collections::BTreeSet;

use serde_json::Value;

use super::indexes;
use crate::builtin::form;
use crate::builtin::format::{invalid_each, qualified_name};
use crate::builtin::pod::nonnegative;
use crate::builtin::value::Fields as _;
use crate::fields::{FieldError, Path};

const MANY: i64 = 100_000;
const FEW: i64 = 10_000;

/// Checks the completion mode and the limits that go with it.
pub fn completion_mode(spec: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let mode = spec.text_opt("completionMode");
    if let Some(mode) = mode
        && !matches!(mode, "NonIndexed" | "Indexed")
    {
        wrong.push(FieldError::not_supported(
            &field.child("completionMode"),
            &Value::from(mode),
            &["NonIndexed", "Indexed"],
        ));
    }
    if mode == Some("Indexed") {
        wrong.extend(indexed(spec, field));
    } else if matches!(mode, None | Some("NonIndexed")) {
        for key in ["backoffLimitPerIndex", "maxFailedIndexes"] {
            if let Some(value) = spec.part(key) {
                wrong.push(FieldError::invalid(
                    &field.child(key),
                    value,
                    "requires indexed completion mode",
                ));
            }
        }
    }
    wrong
}

fn indexed(spec: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let completions = spec.int_opt("completions");
    let failures = spec.int_opt("maxFailedIndexes");
    let parallel = spec.int("parallelism");
    let mut refuse = |key: &str, value: i64, detail: String| {
        wrong.push(FieldError::invalid(&field.child(key), &Value::from(value), detail));
    };
    if parallel > MANY {
        refuse(
            "parallelism",
            parallel,
            format!("must be less than or equal to {MANY} when completion mode is Indexed"),
        );
    }
    if let Some(failures) = failures {
        if completions.is_some_and(|c| failures > c) {
            refuse(
                "maxFailedIndexes",
                failures,
                "must be less than or equal to completions".into(),
            );
        }
        if failures > MANY {
            refuse("maxFailedIndexes", failures, format!("must be less than or equal to {MANY}"));
        }
    }
    if completions.is_some_and(|c| c > MANY) && spec.part("backoffLimitPerIndex").is_some() {
        let detail = format!(
            "must be less than or equal to {FEW} when completions are above {MANY} and used with backoff limit per index"
        );
        if failures.is_none() {
            wrong.push(FieldError::required(
                &field.child("maxFailedIndexes"),
                format!("must be specified when completions is above {MANY}"),
            ));
        }
        for (key, value) in [("parallelism", parallel), ("maxFailedIndexes", failures.unwrap_or(0))]
        {
            if value > FEW {
                wrong.push(FieldError::invalid(
                    &field.child(key),
                    &Value::from(value),
                    detail.as_str(),
                ));
            }
        }
    }
    if completions.is_none() {
        wrong.insert(
            0,
            FieldError::required(&field.child("completions"), "when completion mode is Indexed"),
        );
    }
    wrong
}

/// Checks `podFailurePolicy`.
pub fn failure(spec: &Value, field: &Path) -> Vec<FieldError> {
    let Some(policy) = spec.part("podFailurePolicy") else { return Vec::new() };
    let mut wrong = Vec::new();
    let rules = policy.list("rules");
    let at = field.child("rules");
    if rules.len() > 20 {
        wrong.push(FieldError::too_many(&at, rules.len(), 20));
    }
    let pod = spec.get_or_null("template").get_or_null("spec");
    let names: BTreeSet<&str> = ["containers", "initContainers"]
        .iter()
        .flat_map(|list| pod.list(list))
        .map(|c| c.text("name"))
        .collect();
    for (index, rule) in rules.iter().enumerate() {
        wrong.extend(failure_rule(spec, rule, &names, &at.index(index)));
    }
    wrong
}

fn failure_rule(
    spec: &Value,
    rule: &Value,
    names: &BTreeSet<&str>,
    field: &Path,
) -> Vec<FieldError> {
    let actions = ["Count", "FailIndex", "FailJob", "Ignore"];
    let at = field.child("action");
    let mut wrong = Vec::new();
    match rule.text("action") {
        "" => wrong.push(FieldError::required(
            &at,
            "valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]",
        )),
        "FailIndex" => {
            if spec.part("backoffLimitPerIndex").is_none() {
                wrong.push(FieldError::invalid(
                    &at,
                    &Value::from("FailIndex"),
                    "requires the backoffLimitPerIndex to be set",
                ));
            }
        }
        action if actions.contains(&action) => {}
        action => wrong.push(FieldError::not_supported(&at, &Value::from(action), &actions)),
    }
    let (codes, conditions) = (rule.part("onExitCodes"), rule.list("onPodConditions"));
    if let Some(codes) = codes {
        wrong.extend(exit_codes(codes, names, &field.child("onExitCodes")));
    }
    let at = field.child("onPodConditions");
    if conditions.len() > 20 {
        wrong.push(FieldError::too_many(&at, conditions.len(), 20));
    }
    for (index, pattern) in conditions.iter().enumerate() {
        let at = at.index(index);
        let kind = pattern.text("type");
        wrong.extend(invalid_each(&at.child("type"), kind, qualified_name(kind)));
        match pattern.text("status") {
            "True" | "False" | "Unknown" => {}
            "" => wrong.push(FieldError::required(
                &at.child("status"),
                "valid values: [\"False\" \"True\" \"Unknown\"]",
            )),
            other => wrong.push(FieldError::not_supported(
                &at.child("status"),
                &Value::from(other),
                &["False", "True", "Unknown"],
            )),
        }
    }
    let detail = match (codes.is_some(), !conditions.is_empty()) {
        (true, true) => "specifying both OnExitCodes and OnPodConditions is not supported",
        (false, false) => "specifying one of OnExitCodes and OnPodConditions is required",
        _ => return wrong,
    };
    wrong.push(unshown(field, detail));
    wrong
}

/// `Invalid value: detail`, without the value.
pub fn unshown(field: &Path, detail: &str) -> FieldError {
    let mut error = FieldError::invalid(field, &Value::Null, detail);
    error.shown = None;
    error
}

fn exit_codes(codes: &Value, names: &BTreeSet<&str>, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let operator = codes.text("operator");
    match operator {
        "In" | "NotIn" => {}
        "" => wrong.push(FieldError::required(
            &field.child("operator"),
            "valid values: [\"In\" \"NotIn\"]",
        )),
        _ => wrong.push(FieldError::not_supported(
            &field.child("operator"),
            &Value::from(operator),
            &["In", "NotIn"],
        )),
    }
    if let Some(name) = codes.text_opt("containerName")
        && !names.contains(name)
    {
        wrong.push(FieldError::invalid(
            &field.child("containerName"),
            &Value::from(name),
            "must be one of the container or initContainer names in the pod template",
        ));
    }
    let at = field.child("values");
    let values: Vec<i64> = codes.list("values").iter().filter_map(Value::as_i64).collect();
    if values.is_empty() {
        wrong.push(FieldError::invalid(
            &at,
            codes.get_or_null("values"),
            "at least one value is required",
        ));
    } else if values.len() > 255 {
        wrong.push(FieldError::too_many(&at, values.len(), 255));
    }
    let mut seen = BTreeSet::new();
    for (index, value) in values.iter().enumerate() {
        if operator == "In" && *value == 0 {
            wrong.push(FieldError::invalid(
                &at.index(index),
                &Value::from(0),
                "must not be 0 for the In operator",
            ));
        }
        if !seen.insert(value) {
            wrong.push(FieldError::duplicate(&at.index(index), &Value::from(*value)));
        }
    }
    if !values.is_sorted() {
        wrong.push(FieldError::invalid(&at, codes.get_or_null("values"), "must be ordered"));
    }
    wrong
}

/// Checks `successPolicy`.
pub fn success(spec: &Value, field: &Path) -> Vec<FieldError> {
    let Some(policy) = spec.part("successPolicy") else { return Vec::new() };
    if spec.text("completionMode") != "Indexed" {
        return vec![FieldError::invalid_shown(
            field,
            form::internal("batch.SuccessPolicy", policy),
            "requires indexed completion mode",
        )];
    }
    let mut wrong = Vec::new();
    let rules = policy.list("rules");
    let at = field.child("rules");
    if rules.is_empty() {
        wrong.push(FieldError::required(
            &at,
            "at least one rules must be specified when the successPolicy is specified",
        ));
    }
    if rules.len() > 20 {
        wrong.push(FieldError::too_many(&at, rules.len(), 20));
    }
    for (index, rule) in rules.iter().enumerate() {
        wrong.extend(success_rule(spec.int("completions"), rule, &at.index(index)));
    }
    wrong
}

fn success_rule(completions: i64, rule: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let (count, named) = (rule.int_opt("succeededCount"), rule.text_opt("succeededIndexes"));
    if count.is_none() && named.is_none() {
        wrong.push(FieldError::required(
            field,
            "at least one of succeededCount or succeededIndexes must be specified",
        ));
    }
    let mut total = 0;
    if let Some(named) = named {
        let at = field.child("succeededIndexes");
        if named.len() > 64 * 1024 {
            wrong.push(FieldError::too_long(&at, 64 * 1024));
        }
        match indexes::count(named, completions) {
            Ok(count) => total = count,
            Err(why) => wrong.push(FieldError::invalid(
                &at,
                &Value::from(named),
                format!("error parsing succeededIndexes: {why}"),
            )),
        }
    }
    if let Some(count) = count {
        let at = field.child("succeededCount");
        wrong.extend(nonnegative(count, &at));
        if count > completions {
            wrong.push(FieldError::invalid(
                &at,
                &Value::from(count),
                format!(
                    "must be less than or equal to {completions} (the number of specified completions)"
                ),
            ));
        }
        if named.is_some() && count > total {
            wrong.push(FieldError::invalid(
                &at,
                &Value::from(count),
                format!(
                    "must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
                ),
            ));
        }
    }
    wrong
}

/// Checks `podReplacementPolicy`.
pub fn replacement(spec: &Value, field: &Path) -> Option<FieldError> {
    let policy = spec.text_opt("podReplacementPolicy")?;
    let allowed: &[&str] = if spec.part("podFailurePolicy").is_some() {
        &["Failed"]
    } else {
        &["Failed", "TerminatingOrFailed"]
    };
    (!allowed.contains(&policy))
        .then(|| FieldError::not_supported(field, &Value::from(policy), allowed))
}
