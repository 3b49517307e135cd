//! What may change in a Job's status.

use std::collections::BTreeSet;

use serde_json::Value;

use super::indexes;
use super::policies::unshown;
use crate::builtin::form;
use crate::builtin::pod::counts;
use crate::builtin::value::{Fields as _, same};
use crate::fields::{FieldError, Path};

fn holds(status: &Value, condition: &str) -> bool {
    status
        .list("conditions")
        .iter()
        .any(|c| c.text("type") == condition && c.text("status") == "True")
}

/// Checks a change of a Job's status. Most rules are only for what changes, so that controllers can
/// go on with Jobs from before the rule.
pub fn update(new: &Value, old: &Value) -> Vec<FieldError> {
    let at = Path::new("status");
    let (spec, now, before) =
        (new.get_or_null("spec"), new.get_or_null("status"), old.get_or_null("status"));
    let mut wrong = whole(spec, now, before, &at);
    let conditions = at.child("conditions");
    for condition in ["Failed", "Complete", "FailureTarget"] {
        if holds(before, condition) && !holds(now, condition) {
            let detail = format!("cannot disable the terminal {condition}=True condition");
            wrong.push(unshown(&conditions, &detail));
        }
    }
    for key in ["failed", "succeeded"] {
        if now.int(key) < before.int(key) {
            wrong.push(FieldError::invalid(
                &at.child(key),
                &Value::from(now.int(key)),
                format!("cannot decrease the {key} counter"),
            ));
        }
    }
    let time = |status: &Value, key: &str| status.text_opt(key).map(str::to_owned);
    let (end, earlier) = (time(now, "completionTime"), time(before, "completionTime"));
    if end.is_some() && earlier.is_some() && end != earlier {
        wrong.push(FieldError::invalid(
            &at.child("completionTime"),
            now.get_or_null("completionTime"),
            "field is immutable",
        ));
    }
    if before.part("startTime").is_some()
        && time(now, "startTime") != time(before, "startTime")
        && !spec.flag("suspend")
    {
        wrong.push(FieldError::invalid(
            &at.child("startTime"),
            now.get_or_null("startTime"),
            "field is immutable for unsuspended job once set",
        ));
    }
    if holds(before, "SuccessCriteriaMet") && !holds(now, "SuccessCriteriaMet") {
        wrong.push(unshown(&conditions, "cannot disable the SuccessCriteriaMet=True condition"));
    }
    if holds(before, "Complete")
        && !holds(before, "SuccessCriteriaMet")
        && holds(now, "SuccessCriteriaMet")
    {
        wrong.push(unshown(
            &conditions,
            "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions",
        ));
    }
    wrong
}

fn whole(spec: &Value, now: &Value, before: &Value, at: &Path) -> Vec<FieldError> {
    let mut wrong = counts(now, &["active", "succeeded", "failed", "ready", "terminating"], at);
    wrong.extend(uncounted(now, at));
    let conditions = at.child("conditions");
    let changed = |key: &str| !same(now.get_or_null(key), before.get_or_null(key));
    let (complete, failed) = (holds(now, "Complete"), holds(now, "Failed"));
    let (met, target) = (holds(now, "SuccessCriteriaMet"), holds(now, "FailureTarget"));
    let (newly_complete, newly_failed) =
        (complete && !holds(before, "Complete"), failed && !holds(before, "Failed"));
    let finished = complete || failed;
    let newly_finished = finished && !holds(before, "Complete") && !holds(before, "Failed");
    if complete && failed && (newly_complete || newly_failed) {
        wrong.push(unshown(&conditions, "cannot set Complete=True and Failed=true conditions"));
    }
    if complete && target && (newly_complete || !holds(before, "FailureTarget")) {
        wrong.push(unshown(
            &conditions,
            "cannot set Complete=True and FailureTarget=true conditions",
        ));
    }
    let end = now.get_or_null("completionTime");
    if !end.is_null() && !complete && (changed("completionTime") || holds(before, "Complete")) {
        wrong.push(FieldError::invalid(
            &at.child("completionTime"),
            end,
            "cannot set completionTime when there is no Complete=True condition",
        ));
    }
    if end.is_null() && complete && (newly_complete || changed("completionTime")) {
        wrong.push(FieldError::required(
            &at.child("completionTime"),
            "completionTime is required for Complete jobs",
        ));
    }
    if let (Some(start), Some(end)) = (now.text_opt("startTime"), now.text_opt("completionTime"))
        && end < start
        && (changed("startTime") || changed("completionTime"))
    {
        wrong.push(FieldError::invalid(
            &at.child("completionTime"),
            &Value::from(end),
            "must be equal to or after `startTime`",
        ));
    }
    if newly_failed && !target {
        wrong.push(unshown(
            &conditions,
            "cannot set Failed=True condition without the FailureTarget=true condition",
        ));
    }
    if newly_complete && !met {
        wrong.push(unshown(
            &conditions,
            "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
        ));
    }
    if finished && now.int("active") > 0 && (newly_finished || changed("active")) {
        wrong.push(FieldError::invalid(
            &at.child("active"),
            now.get_or_null("active"),
            "active>0 is invalid for finished job",
        ));
    }
    if finished && now.part("startTime").is_none() && (newly_finished || changed("startTime")) {
        wrong.push(FieldError::required(
            &at.child("startTime"),
            "startTime is required for finished job",
        ));
    }
    let waiting = now.get_or_null("uncountedTerminatedPods");
    let any = ["succeeded", "failed"].iter().any(|k| !waiting.list(k).is_empty());
    if finished && any && (newly_finished || changed("uncountedTerminatedPods")) {
        wrong.push(FieldError::invalid_shown(
            &at.child("uncountedTerminatedPods"),
            form::internal("batch.UncountedTerminatedPods", waiting),
            "must be empty for finished job",
        ));
    }
    wrong.extend(index_lists(spec, now, before, at));
    if finished && now.int("terminating") > 0 && (newly_finished || changed("terminating")) {
        wrong.push(FieldError::invalid(
            &at.child("terminating"),
            now.get_or_null("terminating"),
            "terminating>0 is invalid for finished job",
        ));
    }
    if now.int("ready") > now.int("active") && (changed("ready") || changed("active")) {
        wrong.push(FieldError::invalid(
            &at.child("ready"),
            now.get_or_null("ready"),
            "cannot set more ready pods than active",
        ));
    }
    if met && failed {
        wrong.push(unshown(
            &conditions,
            "cannot set SuccessCriteriaMet=True and Failed=true conditions",
        ));
    }
    if met && target {
        wrong.push(unshown(
            &conditions,
            "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
        ));
    }
    if spec.part("successPolicy").is_some() && !met && complete {
        wrong.push(unshown(
            &conditions,
            "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True",
        ));
    }
    wrong
}

fn uncounted(now: &Value, at: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    let lists = now.get_or_null("uncountedTerminatedPods");
    for list in ["succeeded", "failed"] {
        for (index, id) in lists.list(list).iter().enumerate() {
            let at = at.child("uncountedTerminatedPods").child(list).index(index);
            let id = id.as_str().unwrap_or_default();
            if id.is_empty() {
                wrong.push(FieldError::invalid(&at, &Value::from(""), "must not be empty"));
            } else if !seen.insert(id) {
                wrong.push(FieldError::duplicate(&at, &Value::from(id)));
            }
        }
    }
    wrong
}

fn index_lists(spec: &Value, now: &Value, before: &Value, at: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let completions = spec.int_opt("completions");
    let (completed, failed) = (now.text("completedIndexes"), now.text_opt("failedIndexes"));
    let completed_changed = completed != before.text("completedIndexes");
    let failed_changed = failed != before.text_opt("failedIndexes");
    let limited = spec.part("backoffLimitPerIndex").is_some();
    if let Some(completions) = completions
        && completed_changed
        && let Err(why) = indexes::count(completed, completions)
    {
        wrong.push(FieldError::invalid(
            &at.child("completedIndexes"),
            &Value::from(completed),
            format!("error parsing completedIndexes: {why}"),
        ));
    }
    if let (Some(completions), Some(failed)) = (completions, failed)
        && limited
        && failed_changed
        && let Err(why) = indexes::count(failed, completions)
    {
        wrong.push(FieldError::invalid(
            &at.child("failedIndexes"),
            &Value::from(failed),
            format!("error parsing failedIndexes: {why}"),
        ));
    }
    if !completed.is_empty() && spec.text("completionMode") != "Indexed" && completed_changed {
        wrong.push(FieldError::invalid(
            &at.child("completedIndexes"),
            &Value::from(completed),
            "cannot set non-empty completedIndexes when non-indexed completion mode",
        ));
    }
    let Some(failed) = failed else { return wrong };
    if !limited && failed_changed {
        wrong.push(FieldError::invalid(
            &at.child("failedIndexes"),
            &Value::from(failed),
            "cannot set non-null failedIndexes when backoffLimitPerIndex is null",
        ));
    }
    if let Some(completions) = completions
        && (completed_changed || failed_changed)
        && let Some(why) = indexes::overlap(completed, failed, completions)
    {
        wrong.push(FieldError::invalid(&at.child("failedIndexes"), &Value::from(failed), why));
    }
    wrong
}
