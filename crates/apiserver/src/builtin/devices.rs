//! The kinds of resource.k8s.io: claims of devices, their classes and slices.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::view::{at, default, has, items, number, object, one_of, restore, text, wrong};
use super::volume::driver_name;
use super::{Generation, Strategy, form, format};
use crate::fields::{FieldError, Path};

const V1: &str = "resource.k8s.io/v1";

/// The rules of ResourceClaim.
pub const CLAIM: Strategy = Strategy {
    defaults: |claim| {
        form::settle(V1, "ResourceClaim", claim);
        default_requests(claim, "/spec/devices/requests");
    },
    prepare_create: |claim| drop(object(claim, "").insert("status".into(), json!({}))),
    prepare_update: |new, old| restore(new, old, "status"),
    validate: |claim| spec_errors(at(claim, "spec"), &Path::new("spec")),
    validate_update: |new, old| kept(new, old, "spec", "resource.ResourceClaimSpec"),
    ..Strategy::PLAIN
};

/// The rules of ResourceClaimTemplate.
pub const TEMPLATE: Strategy = Strategy {
    defaults: |template| {
        form::settle(V1, "ResourceClaimTemplate", template);
        default_requests(template, "/spec/spec/devices/requests");
    },
    validate: |template| spec_errors(at(template, "spec.spec"), &Path::new("spec.spec")),
    validate_update: |new, old| kept(new, old, "spec", "resource.ResourceClaimTemplateSpec"),
    ..Strategy::PLAIN
};

/// The rules of DeviceClass.
pub const CLASS: Strategy = Strategy {
    defaults: |class| form::settle(V1, "DeviceClass", class),
    validate: |class| selectors(at(class, "spec"), &Path::new("spec.selectors")),
    generation: Generation::Spec,
    ..Strategy::PLAIN
};

/// The rules of ResourceSlice.
pub const SLICE: Strategy = Strategy {
    defaults: |slice| form::settle(V1, "ResourceSlice", slice),
    validate: validate_slice,
    validate_update: |new, old| {
        let path = Path::new("spec");
        let mut errors = Vec::new();
        for (field, zero) in
            [("pool.name", json!("")), ("driver", json!("")), ("nodeName", Value::Null)]
        {
            let read = |slice: &Value| match at(at(slice, "spec"), field) {
                Value::Null => zero.clone(),
                held => held.clone(),
            };
            if read(new) != read(old) {
                errors.push(FieldError::invalid(
                    &Path::new(format!("{path}.{field}")),
                    &read(new),
                    "field is immutable",
                ));
            }
        }
        errors
    },
    generation: Generation::Spec,
    ..Strategy::PLAIN
};

fn default_requests(holder: &mut Value, pointer: &str) {
    let fill = |request: &mut Value| {
        default(request, "", "allocationMode", "ExactCount");
        if text(request, "allocationMode") == "ExactCount" {
            default(request, "", "count", 1);
        }
    };
    let requests = holder.pointer_mut(pointer).and_then(Value::as_array_mut);
    for request in requests.into_iter().flatten() {
        if let Some(exactly) = request.get_mut("exactly") {
            fill(exactly);
        }
        let first = request.get_mut("firstAvailable").and_then(Value::as_array_mut);
        for one in first.into_iter().flatten() {
            fill(one);
        }
    }
}

/// The spec of a claim never changes.
fn kept(new: &Value, old: &Value, field: &str, name: &'static str) -> Vec<FieldError> {
    if at(new, field) == at(old, field) {
        return Vec::new();
    }
    let shown = form::internal(name, at(new, field));
    vec![FieldError::invalid_shown(&Path::new(field), shown, "field is immutable")]
}

fn spec_errors(spec: &Value, path: &Path) -> Vec<FieldError> {
    let path = path.child("devices").child("requests");
    let mut errors = Vec::new();
    let requests = items(spec, "devices.requests");
    if requests.len() > 32 {
        errors.push(FieldError::too_many(&path, requests.len(), 32));
    }
    let mut names = BTreeSet::new();
    for (index, request) in requests.iter().enumerate() {
        let path = path.index(index);
        let name = text(request, "name");
        if name.is_empty() {
            errors.push(FieldError::required(&path.child("name"), ""));
        } else {
            errors.extend(wrong(&path.child("name"), name, format::dns_label(name)));
        }
        if !names.insert(name) {
            errors.push(FieldError::duplicate(&path, &json!(name)));
        }
        match (has(request, "exactly"), has(request, "firstAvailable")) {
            (true, true) => errors.push(FieldError::invalid(
                &path,
                &Value::Null,
                "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set",
            )),
            (false, false) => errors.push(FieldError::required(
                &path,
                "exactly one of `exactly` or `firstAvailable` is required",
            )),
            (true, false) => {
                errors.extend(exact(at(request, "exactly"), &path.child("exactly")));
            }
            (false, true) => {
                for (index, one) in items(request, "firstAvailable").iter().enumerate() {
                    errors.extend(exact(one, &path.child("firstAvailable").index(index)));
                }
            }
        }
    }
    errors
}

fn exact(request: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let class = text(request, "deviceClassName");
    let class_path = path.child("deviceClassName");
    if class.is_empty() {
        errors.push(FieldError::required(&class_path, ""));
    } else {
        errors.extend(wrong(&class_path, class, format::dns_subdomain(class)));
    }
    errors.extend(selectors(request, &path.child("selectors")));
    let count = number(request, "count").unwrap_or_default();
    match text(request, "allocationMode") {
        "All" => {
            if count != 0 {
                errors.push(FieldError::invalid(
                    &path.child("count"),
                    &json!(count),
                    "must not be specified when allocationMode is 'All'",
                ));
            }
        }
        "ExactCount" => {
            if count <= 0 {
                errors.push(FieldError::invalid(
                    &path.child("count"),
                    &json!(count),
                    "must be greater than zero",
                ));
            }
        }
        other => {
            errors.extend(one_of(&path.child("allocationMode"), other, &["All", "ExactCount"]));
        }
    }
    errors
}

fn selectors(holder: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, selector) in items(holder, "selectors").iter().enumerate() {
        let path = path.index(index).child("cel");
        if !has(selector, "cel") {
            errors.push(FieldError::required(&path, ""));
        } else if text(selector, "cel.expression").is_empty() {
            errors.push(FieldError::required(&path.child("expression"), ""));
        }
    }
    errors
}

fn validate_slice(slice: &Value) -> Vec<FieldError> {
    let path = Path::new("spec");
    let mut errors = driver_name(text(slice, "spec.driver"), &path.child("driver"));
    let pool = text(slice, "spec.pool.name");
    let pool_path = path.child("pool");
    if pool.is_empty() {
        errors.push(FieldError::required(&pool_path.child("name"), ""));
    }
    for part in pool.split('/').filter(|_| !pool.is_empty()) {
        errors.extend(wrong(&pool_path.child("name"), part, format::dns_subdomain(part)));
    }
    let count = number(slice, "spec.pool.resourceSliceCount").unwrap_or_default();
    if count <= 0 {
        errors.push(FieldError::invalid(
            &pool_path.child("resourceSliceCount"),
            &json!(count),
            "must be greater than zero",
        ));
    }
    if let Some(generation) = number(slice, "spec.pool.generation").filter(|&n| n < 0) {
        errors.push(FieldError::invalid(
            &pool_path.child("generation"),
            &json!(generation),
            "must be greater than or equal to zero",
        ));
    }
    let held = ["nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"];
    let set = held.iter().filter(|name| has(at(slice, "spec"), name)).count();
    if set == 0 {
        errors.push(FieldError::required(
            &path,
            "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required",
        ));
    }
    let mut names = BTreeSet::new();
    for (index, device) in items(slice, "spec.devices").iter().enumerate() {
        let path = path.child("devices").index(index);
        let name = text(device, "name");
        errors.extend(wrong(&path.child("name"), name, format::dns_label(name)));
        if !names.insert(name) {
            errors.push(FieldError::duplicate(&path, &json!(name)));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_for_one_device_unless_they_say_otherwise() {
        let mut claim = json!({"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}});
        (CLAIM.defaults)(&mut claim);
        assert_eq!(
            claim["spec"]["devices"]["requests"][0]["exactly"],
            json!({"deviceClassName": "c", "allocationMode": "ExactCount", "count": 1})
        );
        assert!((CLAIM.validate)(&claim).is_empty());
    }

    #[test]
    fn slices_keep_their_place() {
        let old = json!({"spec": {"driver": "a.b", "nodeName": "n", "pool": {"name": "p"}}});
        let new = json!({"spec": {"driver": "c.d", "nodeName": "m", "pool": {"name": "q"}}});
        let said: Vec<String> =
            (SLICE.validate_update)(&new, &old).iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "spec.pool.name: Invalid value: \"q\": field is immutable",
                "spec.driver: Invalid value: \"c.d\": field is immutable",
                "spec.nodeName: Invalid value: \"m\": field is immutable",
            ]
        );
    }
}
