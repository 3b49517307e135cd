//! `/resize`: the only way to change what a running pod may use.

use serde_json::Value;

use super::{annotations, qos, spec};
use crate::builtin::value::{Fields as _, Fill as _, same};
use crate::fields::{FieldError, Path};

/// Takes only resources and resize policies from the new pod, unless containers came, went or moved.
pub fn prepare(new: &mut Value, old: &Value) {
    let mut spec = old.get_or_null("spec").clone();
    let (now, before) = (new.get_or_null("spec"), old.get_or_null("spec"));
    for list in ["containers", "initContainers"] {
        if now.list(list).len() != before.list(list).len() {
            return;
        }
    }
    for list in ["containers", "initContainers"] {
        let renamed = now
            .list(list)
            .iter()
            .zip(before.list(list))
            .any(|(a, b)| a.text("name") != b.text("name"));
        if renamed {
            spec.put(list, now.list(list).to_vec());
            continue;
        }
        for (container, wish) in spec.items_mut(list).zip(now.list(list)) {
            for key in ["resources", "resizePolicy"] {
                match wish.get(key) {
                    Some(value) => container.put(key, value.clone()),
                    None => container.drop_field(key),
                }
            }
        }
    }
    match now.get("resources") {
        Some(resources) => spec.put("resources", resources.clone()),
        None => spec.drop_field("resources"),
    }
    new.put("spec", spec);
    new.put("status", old.get_or_null("status").clone());
}

/// Checks a resize.
pub fn validate(new: &Value, old: &Value) -> Vec<FieldError> {
    let nowhere = Path::new("<nil>");
    if annotations::is_mirror(old) {
        return vec![FieldError::forbidden(&nowhere, "static pods cannot be resized")];
    }
    let (now, before) = (new.get_or_null("spec"), old.get_or_null("spec"));
    if before.get_or_null("os").text("name") == "windows" {
        return vec![FieldError::forbidden(&nowhere, "windows pods cannot be resized")];
    }
    let mut wrong = spec::pod(new);
    let at = Path::new("spec");
    let class = match old.get_or_null("status").text("qosClass") {
        "" => qos::class(before),
        class => class,
    };
    if class != qos::class(now) {
        wrong.push(FieldError::invalid(
            &at,
            &Value::from(new.get_or_null("status").text("qosClass")),
            "Pod QOS Class may not change as a result of resizing",
        ));
    }
    if !node_can_resize(old) {
        wrong.push(FieldError::forbidden(&at, "Pod running on node without support for resize"));
    }
    let mut masked = now.clone();
    let said = |spec: &Value| {
        let resources = spec.get_or_null("resources");
        ["requests", "limits"].iter().any(|k| resources.entries(k).is_some_and(|m| !m.is_empty()))
    };
    if said(now) || said(before) {
        wrong.extend(pod_level(&mut masked, before, &at));
    }
    let moved = same_containers(now, before, &at);
    if !moved.is_empty() {
        wrong.extend(moved);
        return wrong;
    }
    for list in ["initContainers", "containers"] {
        for (index, (new, old)) in now.list(list).iter().zip(before.list(list)).enumerate() {
            let field = at.child(list).index(index).child("resources");
            for key in ["requests", "limits"] {
                if removed(new.get_or_null("resources"), old.get_or_null("resources"), key) {
                    wrong.push(FieldError::forbidden(
                        &field.child(key),
                        format!("resource {key} cannot be removed"),
                    ));
                }
            }
        }
    }
    for (container, old) in masked.items_mut("containers").zip(before.list("containers")) {
        mask(container.object("resources"), old.get_or_null("resources"));
        if !same(container, old) {
            wrong.push(FieldError::forbidden(&at, "only cpu and memory resources are mutable"));
        }
    }
    let init = masked.items_mut("initContainers").zip(before.list("initContainers"));
    for (index, (container, old)) in init.enumerate() {
        let at = at.child("initContainers").index(index);
        let changed = !same(container, old);
        mask(container.object("resources"), old.get_or_null("resources"));
        if !same(container, old) {
            wrong.push(FieldError::forbidden(
                &at,
                "only cpu and memory resources for init or sidecar containers are mutable",
            ));
        }
        if changed && container.text("restartPolicy") != "Always" {
            for policy in container.list("resizePolicy") {
                if policy.text("restartPolicy") == "RestartContainer" {
                    wrong.push(FieldError::forbidden(
                        &at,
                        "non-sidecar init containers with a resize policy of RestartContainer cannot be resized",
                    ));
                }
            }
        }
    }
    if wrong.is_empty() && !same(&masked, before) {
        wrong.push(FieldError::forbidden(&at, "only cpu and memory resources are mutable"));
    }
    wrong
}

fn node_can_resize(pod: &Value) -> bool {
    pod.get_or_null("status")
        .list("containerStatuses")
        .iter()
        .find(|status| status.get_or_null("state").part("running").is_some())
        .is_none_or(|status| status.part("resources").is_some())
}

fn pod_level(masked: &mut Value, before: &Value, at: &Path) -> Vec<FieldError> {
    let field = at.child("resources");
    let mut wrong = Vec::new();
    let old = before.get_or_null("resources");
    if !old.is_null() && masked.part("resources").is_none() {
        return vec![FieldError::forbidden(&field, "pod-level resources cannot be removed")];
    }
    for key in ["requests", "limits"] {
        if removed(masked.get_or_null("resources"), old, key) {
            wrong.push(FieldError::forbidden(
                &field.child(key),
                format!("pod-level resource {key} cannot be removed"),
            ));
        }
    }
    if masked.part("resources").is_some() {
        mask(masked.object("resources"), old);
    }
    if !same(masked.get_or_null("resources"), old) {
        wrong.push(FieldError::forbidden(
            at,
            "only cpu and memory resources are mutable at pod-level",
        ));
    }
    wrong
}

fn same_containers(now: &Value, before: &Value, at: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    for list in ["containers", "initContainers"] {
        let field = at.child(list);
        let (new, old) = (now.list(list), before.list(list));
        if new.len() != old.len() {
            wrong.push(FieldError::forbidden(
                &field,
                format!("{list} may not be added or removed on resize"),
            ));
            continue;
        }
        for (index, (new, old)) in new.iter().zip(old).enumerate() {
            if new.text("name") != old.text("name") {
                wrong.push(FieldError::forbidden(
                    &field.index(index).child("name"),
                    format!("{list} may not be renamed or reordered on resize"),
                ));
            }
        }
    }
    wrong
}

fn removed(new: &Value, old: &Value, key: &str) -> bool {
    let new = new.get_or_null(key);
    old.entries(key).into_iter().flat_map(|m| m.keys()).any(|name| new.get(name).is_none())
}

/// Takes back changes of processor and memory.
fn mask(resources: &mut Value, old: &Value) {
    for key in ["limits", "requests"] {
        let before = old.get_or_null(key);
        if resources.part(key).is_none() && before.is_null() {
            continue;
        }
        let amounts = resources.object(key);
        for name in ["cpu", "memory"] {
            match before.get(name) {
                Some(amount) => amounts.put(name, amount.clone()),
                None => amounts.drop_field(name),
            }
        }
        if amounts.as_object().is_some_and(serde_json::Map::is_empty) {
            resources.drop_field(key);
        }
    }
    resources.drop_field("claims");
}
