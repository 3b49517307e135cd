//! What may change in a pod.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{affinity, annotations, spec};
use crate::builtin::form;
use crate::builtin::format::between;
use crate::builtin::value::{Fields as _, Fill as _, same};
use crate::fields::{FieldError, Path};

const ALLOWED: &str = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// Checks a change of a pod.
pub fn update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut wrong = spec::pod(new);
    wrong.extend(annotations::update(new, old, &Path::new("metadata.annotations")));
    let at = Path::new("spec");
    let (now, before) = (new.get_or_null("spec"), old.get_or_null("spec"));
    for list in ["containers", "initContainers"] {
        let field = at.child(list);
        if now.list(list).len() != before.list(list).len() {
            wrong.push(FieldError::forbidden(
                &field,
                "pod updates may not add or remove containers",
            ));
            return wrong;
        }
        for (index, container) in now.list(list).iter().enumerate() {
            let (field, image) = (field.index(index).child("image"), container.text("image"));
            if image.is_empty() {
                wrong.push(FieldError::required(&field, ""));
            }
            if image.trim() != image {
                wrong.push(FieldError::invalid(
                    &field,
                    &Value::from(image),
                    "must not have leading or trailing whitespace",
                ));
            }
        }
    }
    let field = at.child("activeDeadlineSeconds");
    match (now.int_opt("activeDeadlineSeconds"), before.int_opt("activeDeadlineSeconds")) {
        (Some(seconds), earlier) => {
            let detail = if !(0..=i64::from(i32::MAX)).contains(&seconds) {
                between(0, i64::from(i32::MAX))
            } else if earlier.is_some_and(|e| e < seconds) {
                "must be less than or equal to previous value".to_owned()
            } else {
                String::new()
            };
            if !detail.is_empty() {
                wrong.push(FieldError::invalid(&field, &Value::from(seconds), detail));
                return wrong;
            }
        }
        (None, Some(_)) => wrong.push(FieldError::invalid(
            &field,
            &Value::Null,
            "must not update from a positive integer to nil value",
        )),
        (None, None) => {}
    }
    wrong.extend(only_added_tolerations(now, before, &at.child("tolerations")));
    wrong.extend(only_removed_gates(now, before, &at.child("schedulingGates")));
    if same(now, before) {
        return wrong;
    }
    let masked = mask(now, before, &at, &mut wrong);
    if !same(&masked, before) {
        let difference = form::unified("core.PodSpec", before, &masked);
        wrong.push(FieldError::forbidden(
            &at,
            format!("pod updates may not change fields other than {ALLOWED}\n{difference}"),
        ));
    }
    wrong
}

/// The new spec with everything taken back that may change.
fn mask(now: &Value, before: &Value, at: &Path, wrong: &mut Vec<FieldError>) -> Value {
    let mut masked = now.clone();
    for list in ["containers", "initContainers"] {
        for (container, old) in masked.items_mut(list).zip(before.list(list)) {
            restore(container, old, "image");
        }
    }
    for key in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        restore(&mut masked, before, key);
    }
    if before.int("terminationGracePeriodSeconds") < 0
        && now.int("terminationGracePeriodSeconds") == 1
    {
        restore(&mut masked, before, "terminationGracePeriodSeconds");
    }
    if !before.list("schedulingGates").is_empty() {
        if !same(now.get_or_null("nodeSelector"), before.get_or_null("nodeSelector")) {
            wrong.extend(only_added_labels(now, before, &at.child("nodeSelector")));
            restore(&mut masked, before, "nodeSelector");
        }
        let of = |spec: &Value| spec.get_or_null("affinity").get_or_null("nodeAffinity").clone();
        let (wish, earlier) = (of(now), of(before));
        if !same(&wish, &earlier) {
            let at = at.child("affinity").child("nodeAffinity");
            wrong.extend(only_added_terms(&wish, &earlier, &at));
            restore_node_affinity(&mut masked, before, earlier);
        }
    }
    masked
}

fn restore_node_affinity(masked: &mut Value, before: &Value, earlier: Value) {
    match masked.part("affinity") {
        None if earlier.is_null() => {}
        None => masked.put("affinity", json!({ "nodeAffinity": earlier })),
        Some(now)
            if before.part("affinity").is_none()
                && now.part("podAffinity").is_none()
                && now.part("podAntiAffinity").is_none() =>
        {
            masked.drop_field("affinity");
        }
        Some(_) if earlier.is_null() => masked.object("affinity").drop_field("nodeAffinity"),
        Some(_) => masked.object("affinity").put("nodeAffinity", earlier),
    }
}

fn restore(new: &mut Value, old: &Value, key: &str) {
    match old.get(key) {
        Some(value) => new.put(key, value.clone()),
        None => new.drop_field(key),
    }
}

fn only_added_tolerations(now: &Value, before: &Value, field: &Path) -> Vec<FieldError> {
    let alike = |a: &Value, b: &Value| {
        ["key", "operator", "value", "effect"].iter().all(|k| a.text(k) == b.text(k))
    };
    let tolerations = now.list("tolerations");
    let kept =
        before.list("tolerations").iter().all(|old| tolerations.iter().any(|new| alike(old, new)));
    if !kept {
        return vec![FieldError::forbidden(
            field,
            "existing toleration can not be modified except its tolerationSeconds",
        )];
    }
    affinity::tolerations(tolerations, field)
}

fn only_removed_gates(now: &Value, before: &Value, field: &Path) -> Vec<FieldError> {
    let mut added: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, gate) in now.list("schedulingGates").iter().enumerate() {
        added.insert(gate.text("name"), index);
    }
    for gate in before.list("schedulingGates") {
        added.remove(gate.text("name"));
    }
    added
        .into_iter()
        .map(|(name, index)| {
            FieldError::forbidden(
                &field.index(index).child("name"),
                format!("only deletion is allowed, but found new scheduling gate '{name}'"),
            )
        })
        .collect()
}

fn only_added_labels(now: &Value, before: &Value, field: &Path) -> Option<FieldError> {
    let labels = now.get_or_null("nodeSelector");
    let kept = before
        .entries("nodeSelector")
        .into_iter()
        .flatten()
        .all(|(key, value)| labels.get(key) == Some(value));
    (!kept).then(|| {
        FieldError::invalid(
            field,
            labels,
            "only additions to spec.nodeSelector are allowed (no mutations or deletions)",
        )
    })
}

fn only_added_terms(wish: &Value, earlier: &Value, field: &Path) -> Vec<FieldError> {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    let Some(required) = earlier.part(REQUIRED) else { return Vec::new() };
    let field = field.child(REQUIRED).child("nodeSelectorTerms");
    let old = required.list("nodeSelectorTerms");
    let now = wish.get_or_null(REQUIRED);
    let new = now.list("nodeSelectorTerms");
    if !old.is_empty() && old.len() != new.len() {
        let shown: Vec<String> =
            new.iter().map(|t| form::internal("core.NodeSelectorTerm", t)).collect();
        let shown = if now.part("nodeSelectorTerms").is_some() {
            format!("[{}]", shown.join(","))
        } else {
            "null".to_owned()
        };
        return vec![FieldError::invalid_shown(
            &field,
            shown,
            "no additions/deletions to non-empty NodeSelectorTerms list are allowed",
        )];
    }
    let mut wrong = Vec::new();
    for (index, (old, new)) in old.iter().zip(new).enumerate() {
        if !term_only_grows(old, new) {
            wrong.push(FieldError::invalid_shown(
                &field.index(index),
                form::internal("core.NodeSelectorTerm", new),
                "only additions are allowed (no mutations or deletions)",
            ));
        }
    }
    wrong
}

fn term_only_grows(old: &Value, new: &Value) -> bool {
    let lists = ["matchExpressions", "matchFields"];
    let empty = lists.iter().all(|list| old.list(list).is_empty());
    if empty && lists.iter().any(|list| !new.list(list).is_empty()) {
        return false;
    }
    lists.iter().all(|list| {
        let (old, new) = (old.list(list), new.list(list));
        new.len() >= old.len() && old.iter().zip(new).all(|(a, b)| same(a, b))
    })
}
