//! Node.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::address::{network, network_errors};
use super::quota::amount;
use super::view::{at, fields, items, object, one_of, restore, text, wrong};
use super::{Strategy, form, format};
use crate::fields::{FieldError, Path};

const NOT_READY: &str = "node.kubernetes.io/not-ready";

/// The rules of Node.
pub const NODE: Strategy = Strategy {
    defaults: |node| {
        share_networks(node);
        form::settle("v1", "Node", node);
        share_resources(node);
    },
    prepare_create: |node| {
        // Until its conditions say otherwise nothing may run on a new node.
        let taints = object(node, "spec").entry("taints").or_insert(json!([]));
        if let Value::Array(list) = taints
            && !list
                .iter()
                .any(|t| text(t, "key") == NOT_READY && text(t, "effect") == "NoSchedule")
        {
            list.push(json!({ "key": NOT_READY, "effect": "NoSchedule" }));
        }
    },
    prepare_update: |new, old| restore(new, old, "status"),
    validate,
    validate_update: |new, old| {
        let mut errors = resources(new);
        errors.extend(addresses(new));
        let path = Path::new("spec");
        let (after, before) = (items(new, "spec.podCIDRs"), items(old, "spec.podCIDRs"));
        if !before.is_empty() && after != before {
            let count = if after.len() == before.len() {
                (0..after.len()).filter(|&index| after[index] != before[index]).count()
            } else {
                1
            };
            for _ in 0..count {
                errors.push(FieldError::forbidden(
                    &path.child("podCIDRs"),
                    "node updates may not change podCIDR except from \"\" to valid",
                ));
            }
        }
        let was = text(old, "spec.providerID");
        if !was.is_empty() && was != text(new, "spec.providerID") {
            errors.push(FieldError::forbidden(
                &path.child("providerID"),
                "node updates may not change providerID except from \"\" to valid",
            ));
        }
        errors.extend(taints(new));
        errors
    },
    revalidate: false,
    validate_status: |new, _| {
        let mut errors = resources(new);
        errors.extend(addresses(new));
        errors
    },
    ..Strategy::PLAIN
};

/// `podCIDR` is the first of `podCIDRs`.
fn share_networks(node: &mut Value) {
    let first = text(node, "spec.podCIDR").to_owned();
    let listed = items(node, "spec.podCIDRs").first().and_then(Value::as_str).map(str::to_owned);
    if !first.is_empty() && listed.is_none() {
        object(node, "spec").insert("podCIDRs".into(), json!([first]));
    } else if let Some(listed) = listed {
        object(node, "spec").insert("podCIDR".into(), json!(listed));
    }
}

/// What a node has is what it can give, unless it says otherwise.
fn share_resources(node: &mut Value) {
    let capacity: Map<String, Value> =
        at(node, "status.capacity").as_object().cloned().unwrap_or_default();
    if !capacity.is_empty() {
        let allocatable = object(node, "status.allocatable");
        for (name, value) in capacity {
            allocatable.entry(name).or_insert(value);
        }
    }
}

fn validate(node: &Value) -> Vec<FieldError> {
    let mut errors = taints(node);
    errors.extend(resources(node));
    let path = Path::new("spec.podCIDRs");
    let list = items(node, "spec.podCIDRs");
    for (index, one) in list.iter().enumerate() {
        errors.extend(network_errors(&path.index(index), one.as_str().unwrap_or_default()));
    }
    let families: BTreeSet<bool> = list
        .iter()
        .filter_map(|one| network(one.as_str().unwrap_or_default()))
        .map(|(address, _)| address.is_ipv4())
        .collect();
    if list.len() > 1 && (families.len() < 2 || list.len() > 2) {
        errors.push(FieldError::invalid(
            &path,
            at(node, "spec.podCIDRs"),
            "may specify no more than one CIDR for each IP family",
        ));
    }
    errors
}

fn resources(node: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for part in ["capacity", "allocatable"] {
        for (name, value) in fields(at(node, "status"), part) {
            let path = Path::new("status").child(part).child(name);
            errors.extend(amount(&path, name, value));
        }
    }
    errors
}

fn addresses(node: &Value) -> Vec<FieldError> {
    let list = items(node, "status.addresses");
    let mut errors = Vec::new();
    for (index, address) in list.iter().enumerate().filter(|(i, a)| list[..*i].contains(a)) {
        let path = Path::new("status.addresses").index(index);
        let mut error = FieldError::duplicate(&path, &Value::Null);
        error.shown = Some(form::internal("core.NodeAddress", address));
        errors.push(error);
    }
    errors
}

fn taints(node: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, taint) in items(node, "spec.taints").iter().enumerate() {
        // The server misplaces taints in its messages.
        let path = Path::new("metadata.taints").index(index);
        let (key, value, effect) =
            (text(taint, "key"), text(taint, "value"), text(taint, "effect"));
        errors.extend(wrong(&path.child("key"), key, format::qualified_name(key)));
        let sentences = format::label_value(value);
        if !sentences.is_empty() {
            errors.extend(wrong(&path.child("value"), value, vec![sentences.join(";")]));
        }
        if effect.is_empty() {
            errors.push(FieldError::required(&path.child("effect"), ""));
        } else {
            errors.extend(one_of(
                &path.child("effect"),
                effect,
                &["NoSchedule", "PreferNoSchedule", "NoExecute"],
            ));
        }
        if !seen.insert((key, effect)) {
            let mut error = FieldError::duplicate(&path, &Value::Null);
            error.shown = Some(form::internal("core.Taint", taint));
            error.detail = "taints must be unique by key and effect pair".into();
            errors.push(error);
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_new_node_is_not_ready() {
        let mut node = json!({"metadata": {"name": "n"}, "spec": {"podCIDR": "10.1.0.0/24"}, "status": {"capacity": {"cpu": "4"}}});
        (NODE.defaults)(&mut node);
        (NODE.prepare_create)(&mut node);
        assert_eq!(node["spec"]["taints"], json!([{"key": NOT_READY, "effect": "NoSchedule"}]));
        assert_eq!(node["spec"]["podCIDRs"], json!(["10.1.0.0/24"]));
        assert_eq!(node["status"]["allocatable"], json!({"cpu": "4"}));
        assert_eq!(node["status"]["daemonEndpoints"], json!({"kubeletEndpoint": {"Port": 0}}));
    }

    #[test]
    fn what_the_cloud_gave_stays() {
        let old = json!({"spec": {"providerID": "a", "podCIDRs": ["10.1.0.0/24"], "podCIDR": "10.1.0.0/24"}});
        let new = json!({"spec": {"unschedulable": true, "taints": [{"key": "k"}]}});
        assert_eq!(
            said(&(NODE.validate_update)(&new, &old)),
            [
                "spec.podCIDRs: Forbidden: node updates may not change podCIDR except from \"\" to valid",
                "spec.providerID: Forbidden: node updates may not change providerID except from \"\" to valid",
                "metadata.taints[0].effect: Required value",
            ]
        );
        assert!((NODE.validate_update)(&old, &json!({})).is_empty());
    }
}
