//! NetworkPolicy, IPAddress and ServiceCIDR.

use serde_json::{Value, json};

use super::address::{contains, network, network_errors};
use super::labels::selector;
use super::view::{at, default, has, items, number, object, one_of, restore, take, text, wrong};
use super::{Generation, Strategy, form, format};
use crate::fields::{FieldError, Path};

const V1: &str = "networking.k8s.io/v1";

/// The rules of NetworkPolicy.
pub const NETWORK_POLICY: Strategy = Strategy {
    defaults: |policy| {
        form::settle(V1, "NetworkPolicy", policy);
        if items(policy, "spec.policyTypes").is_empty() {
            let mut types = vec!["Ingress"];
            if !items(policy, "spec.egress").is_empty() {
                types.push("Egress");
            }
            object(policy, "spec").insert("policyTypes".into(), json!(types));
        }
        for direction in ["ingress", "egress"] {
            let rules = policy.pointer_mut(&format!("/spec/{direction}"));
            for rule in rules.and_then(Value::as_array_mut).into_iter().flatten() {
                let ports = rule.get_mut("ports").and_then(Value::as_array_mut);
                for port in ports.into_iter().flatten() {
                    default(port, "", "protocol", "TCP");
                }
            }
        }
    },
    validate: validate_policy,
    generation: Generation::Spec,
    ..Strategy::PLAIN
};

/// The rules of IPAddress.
pub const IP_ADDRESS: Strategy = Strategy {
    defaults: |address| form::settle(V1, "IPAddress", address),
    validate: |address| {
        let path = Path::new("spec.parentRef");
        let parent = at(address, "spec.parentRef");
        if parent.is_null() {
            return vec![FieldError::required(&path, "")];
        }
        let mut errors = Vec::new();
        let group = text(parent, "group");
        if !group.is_empty() {
            errors.extend(wrong(&path.child("group"), group, format::dns_subdomain(group)));
        }
        for field in ["resource", "name", "namespace"] {
            let value = text(parent, field);
            if !value.is_empty() {
                errors.extend(wrong(&path.child(field), value, format::path_segment(value)));
            } else if field != "namespace" {
                errors.push(FieldError::required(&path.child(field), ""));
            }
        }
        errors
    },
    validate_update: |new, old| {
        let parent = at(new, "spec.parentRef");
        if parent == at(old, "spec.parentRef") {
            return Vec::new();
        }
        vec![FieldError::invalid_shown(
            &Path::new("spec.parentRef"),
            form::internal("networking.ParentReference", parent),
            "field is immutable",
        )]
    },
    ..Strategy::PLAIN
};

/// The rules of ServiceCIDR.
pub const SERVICE_CIDR: Strategy = Strategy {
    defaults: |cidr| form::settle(V1, "ServiceCIDR", cidr),
    prepare_create: |cidr| {
        take(cidr, "status");
        form::settle(V1, "ServiceCIDR", cidr);
    },
    prepare_update: |new, old| restore(new, old, "status"),
    validate: cidr_errors,
    validate_update: |new, old| {
        let path = Path::new("spec.cidrs");
        let (after, before) = (items(new, "spec.cidrs"), items(old, "spec.cidrs"));
        let changed = |index: usize| {
            FieldError::invalid(&path.index(index), &after[index], "field is immutable")
        };
        if after.len() == before.len() {
            return (0..after.len())
                .filter(|&index| after[index] != before[index])
                .map(changed)
                .collect();
        }
        if before.len() == 1 && after.len() == 2 {
            let mut errors = Vec::new();
            if after[0] != before[0] {
                errors.push(changed(0));
            }
            errors.extend(cidr_errors(new));
            return errors;
        }
        vec![FieldError::invalid(&path, at(new, "spec.cidrs"), "field is immutable")]
    },
    revalidate: false,
    ..Strategy::PLAIN
};

fn cidr_errors(cidr: &Value) -> Vec<FieldError> {
    let path = Path::new("spec.cidrs");
    let list = items(cidr, "spec.cidrs");
    let mut errors = Vec::new();
    if list.is_empty() {
        errors.push(FieldError::required(&path, "at least one CIDR required"));
    }
    if list.len() > 2 {
        errors.push(FieldError::invalid_shown(
            &path,
            form::internal("networking.ServiceCIDRSpec", at(cidr, "spec")),
            "may only hold up to 2 values",
        ));
    }
    for (index, one) in list.iter().enumerate() {
        errors.extend(network_errors(&path.index(index), one.as_str().unwrap_or_default()));
    }
    let families: Vec<bool> = list
        .iter()
        .filter_map(|one| network(one.as_str().unwrap_or_default()))
        .map(|(address, _)| address.is_ipv4())
        .collect();
    if list.len() == 2 && families.len() == 2 && families[0] == families[1] {
        errors.push(FieldError::invalid(
            &path,
            at(cidr, "spec.cidrs"),
            "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64",
        ));
    }
    errors
}

fn validate_policy(policy: &Value) -> Vec<FieldError> {
    let path = Path::new("spec");
    let mut errors = selector(Some(at(policy, "spec.podSelector")), &path.child("podSelector"));
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        for (index, rule) in items(at(policy, "spec"), direction).iter().enumerate() {
            let path = path.child(direction).index(index);
            for (at_port, port) in items(rule, "ports").iter().enumerate() {
                errors.extend(port_errors(port, &path.child("ports").index(at_port)));
            }
            for (at_peer, peer) in items(rule, peers).iter().enumerate() {
                errors.extend(peer_errors(peer, &path.child(peers).index(at_peer)));
            }
        }
    }
    let types = items(policy, "spec.policyTypes");
    if types.len() > 2 {
        errors.push(FieldError::invalid(
            &path.child("policyTypes"),
            at(policy, "spec.policyTypes"),
            "may not specify more than two policyTypes",
        ));
    }
    for (index, one) in types.iter().enumerate() {
        errors.extend(one_of(
            &path.child("policyTypes").index(index),
            one.as_str().unwrap_or_default(),
            &["Ingress", "Egress"],
        ));
    }
    errors
}

fn port_errors(port: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if has(port, "protocol") {
        errors.extend(one_of(
            &path.child("protocol"),
            text(port, "protocol"),
            &["TCP", "UDP", "SCTP"],
        ));
    }
    let end = number(port, "endPort");
    let end_path = path.child("endPort");
    let end_error =
        |shown: i64, why: &str| FieldError::invalid(&end_path, &json!(shown), why.to_owned());
    match at(port, "port") {
        Value::Null => {
            if let Some(end) = end {
                errors.push(end_error(end, "may not be specified when `port` is not specified"));
            }
        }
        Value::String(name) => {
            if let Some(end) = end {
                errors.push(end_error(end, "may not be specified when `port` is non-numeric"));
            }
            errors.extend(wrong(&path.child("port"), name, format::port_name(name)));
        }
        value => {
            let start = value.as_i64().unwrap_or_default();
            if let Some(message) = format::port_number(start) {
                errors.push(FieldError::invalid(&path.child("port"), &json!(start), message));
            }
            if let Some(end) = end {
                if end < start {
                    errors.push(end_error(start, "must be greater than or equal to `port`"));
                }
                if let Some(message) = format::port_number(end) {
                    errors.push(end_error(end, &message));
                }
            }
        }
    }
    errors
}

fn peer_errors(peer: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut count = 0;
    for field in ["podSelector", "namespaceSelector"] {
        if has(peer, field) {
            count += 1;
            errors.extend(selector(Some(at(peer, field)), &path.child(field)));
        }
    }
    if has(peer, "ipBlock") {
        count += 1;
        errors.extend(block_errors(at(peer, "ipBlock"), &path.child("ipBlock")));
    }
    if count == 0 {
        errors.push(FieldError::required(path, "must specify a peer"));
    } else if count > 1 && has(peer, "ipBlock") {
        errors.push(FieldError::forbidden(path, "may not specify both ipBlock and another peer"));
    }
    errors
}

fn block_errors(block: &Value, path: &Path) -> Vec<FieldError> {
    let cidr = text(block, "cidr");
    if cidr.is_empty() {
        return vec![FieldError::required(&path.child("cidr"), "")];
    }
    let mut errors = network_errors(&path.child("cidr"), cidr);
    let Some(whole) = network(cidr) else { return errors };
    for (index, except) in items(block, "except").iter().enumerate() {
        let (except, path) =
            (except.as_str().unwrap_or_default(), path.child("except").index(index));
        errors.extend(network_errors(&path, except));
        if let Some(part) = network(except)
            && (!contains(whole, part.0) || whole.1 >= part.1)
        {
            errors.extend(wrong(&path, except, vec!["must be a strict subset of `cidr`".into()]));
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
    fn policies() {
        let mut policy = json!({"spec": {"podSelector": {}, "egress": [{"to": [{}, {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/9"]}}], "ports": [{"port": 80, "endPort": 70}]}]}});
        (NETWORK_POLICY.defaults)(&mut policy);
        assert_eq!(policy["spec"]["policyTypes"], json!(["Ingress", "Egress"]));
        assert_eq!(policy["spec"]["egress"][0]["ports"][0]["protocol"], "TCP");
        assert_eq!(
            said(&validate_policy(&policy)),
            [
                "spec.egress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`",
                "spec.egress[0].to[0]: Required value: must specify a peer",
                "spec.egress[0].to[1].ipBlock.except[0]: Invalid value: \"11.0.0.0/9\": must be a strict subset of `cidr`",
            ]
        );
    }

    #[test]
    fn ranges_only_gain_a_second_family() {
        let old = json!({"spec": {"cidrs": ["10.0.0.0/24"]}});
        let two = json!({"spec": {"cidrs": ["10.0.0.0/24", "2001:db8::/64"]}});
        assert!((SERVICE_CIDR.validate_update)(&two, &old).is_empty());
        assert_eq!(
            said(&(SERVICE_CIDR.validate_update)(&old, &two)),
            ["spec.cidrs: Invalid value: [\"10.0.0.0/24\"]: field is immutable"]
        );
        let other = json!({"spec": {"cidrs": ["10.1.0.0/24"]}});
        assert_eq!(
            said(&(SERVICE_CIDR.validate_update)(&other, &old)),
            ["spec.cidrs[0]: Invalid value: \"10.1.0.0/24\": field is immutable"]
        );
    }

    #[test]
    fn addresses_keep_their_parent() {
        let old =
            json!({"spec": {"parentRef": {"resource": "services", "name": "a", "namespace": "n"}}});
        let new =
            json!({"spec": {"parentRef": {"resource": "services", "name": "b", "namespace": "n"}}});
        assert_eq!(
            said(&(IP_ADDRESS.validate_update)(&new, &old)),
            [
                "spec.parentRef: Invalid value: {\"Group\":\"\",\"Resource\":\"services\",\"Namespace\":\"n\",\"Name\":\"b\"}: field is immutable"
            ]
        );
    }
}
