//! `immutable-…` and `invalid`: what the API server would refuse.

use super::wayout::way_out;
use super::{Index, Part};
use crate::finding::{Finding, Severity};
use crate::judge::{Judge, Refusal, Verdict};
use crate::side::{Object, Side};

pub(super) fn refusals(base: &Side, head: &Side, before: &Index<'_>, after: &Index<'_>) -> Part {
    let mut part = Part::default();
    let changed: Vec<(Option<&Object>, &Object)> = (after.iter())
        .map(|(key, object)| (before.get(key).copied(), *object))
        .filter(|(old, new)| old.is_none_or(|old| old.value != new.value))
        .collect();
    part.report.changed =
        changed.len() + before.keys().filter(|key| !after.contains_key(*key)).count();
    if changed.is_empty() {
        return part;
    }
    let judge = Judge::new();
    teach(&judge, base);
    teach(&judge, head);
    for (old, new) in changed {
        if is_opaque(new) {
            continue;
        }
        let creation = judge.creation(&new.value);
        let verdict = match old {
            Some(old) => judge.change(&old.value, &new.value),
            None => creation.clone(),
        };
        match (verdict, creation) {
            (Verdict::Accepted, _) => {}
            (Verdict::Unknown(_), Verdict::Refused(refusal)) if old.is_some() => {
                // It could not be applied before either: nothing that this change brings.
                part.standing.push(invalid(new, &refusal));
            }
            (Verdict::Unknown(_), _) => part.report.not_judged.push(new.id.clone()),
            // A new object like this would be taken: it is the change that is refused.
            (Verdict::Refused(refusal), Verdict::Accepted) => {
                part.report.findings.push(immutable(new, &refusal));
            }
            (Verdict::Refused(refusal), _) => part.report.findings.push(invalid(new, &refusal)),
        }
    }
    part
}

/// Kinds and classes that the repository itself brings.
fn teach(judge: &Judge, side: &Side) {
    for object in &side.objects {
        if matches!(object.id.kind.as_str(), "CustomResourceDefinition" | "StorageClass") {
            judge.learn(&object.value);
        }
    }
}

/// Whether parts of it are filled in by somebody else than Flux: a template is no object yet.
fn is_opaque(object: &Object) -> bool {
    object.id.name.is_empty() || object.id.name.contains("${")
}

fn immutable(object: &Object, refusal: &Refusal) -> Finding {
    let kind = &object.id.kind;
    Finding {
        rule: format!("immutable-{}", kind.to_lowercase()),
        severity: Severity::Error,
        object: object.id.clone(),
        file: object.file.clone(),
        line: object.line,
        cause: told(refusal),
        way_out: way_out(&object.id, refusal),
    }
}

fn invalid(object: &Object, refusal: &Refusal) -> Finding {
    Finding {
        rule: "invalid".to_owned(),
        severity: Severity::Error,
        object: object.id.clone(),
        file: object.file.clone(),
        line: object.line,
        cause: told(refusal),
        way_out: "in place: correct the fields; the API server refuses the object as it is"
            .to_owned(),
    }
}

/// The refusal without the values that it repeats at length.
fn told(refusal: &Refusal) -> String {
    if refusal.causes.is_empty() {
        return refusal.message.clone();
    }
    let cause = |cause: &crate::judge::Cause| {
        // `Invalid value: {"matchLabels":…}: field is immutable` says it last.
        let message = match cause.message.strip_prefix("Invalid value: ") {
            Some(long) if long.len() > 120 => long.rsplit(": ").next().unwrap_or(long),
            _ => &cause.message,
        };
        if cause.field.is_empty() {
            message.to_owned()
        } else {
            format!("{}: {message}", cause.field)
        }
    };
    refusal.causes.iter().map(cause).collect::<Vec<_>>().join("; ")
}
