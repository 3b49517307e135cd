//! Endpoints and EndpointSlice.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_json::{Value, json};

use super::address::{address_errors, endpoint_errors};
use super::view::{at, default, has, immutable, items, number, one_of, text, wrong};
use super::{Generation, Strategy, form, format};
use crate::fields::{FieldError, Path};

/// The rules of Endpoints.
pub const ENDPOINTS: Strategy = Strategy {
    defaults: |endpoints| {
        form::settle("v1", "Endpoints", endpoints);
        for subset in parts(endpoints, "subsets") {
            for port in parts(subset, "ports") {
                default(port, "", "protocol", "TCP");
            }
        }
    },
    validate: validate_endpoints,
    // An unchanged fault is tolerated.
    validate_update: |new, old| {
        if at(new, "subsets") == at(old, "subsets") { Vec::new() } else { validate_endpoints(new) }
    },
    revalidate: false,
    create_on_update: true,
    ..Strategy::PLAIN
};

/// The rules of EndpointSlice.
pub const ENDPOINT_SLICE: Strategy = Strategy {
    defaults: |slice| {
        form::settle("discovery.k8s.io/v1", "EndpointSlice", slice);
        for port in parts(slice, "ports") {
            port_defaults(port);
        }
    },
    validate: |slice| slice_errors(slice, true),
    validate_update: |new, old| {
        let mut errors = slice_errors(new, at(new, "endpoints") != at(old, "endpoints"));
        errors.extend(immutable(
            &Path::new("addressType"),
            at(new, "addressType"),
            at(old, "addressType"),
        ));
        errors
    },
    revalidate: false,
    generation: Generation::Spec,
    ..Strategy::PLAIN
};

fn parts<'a>(value: &'a mut Value, name: &str) -> impl Iterator<Item = &'a mut Value> {
    value.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten()
}

fn port_defaults(port: &mut Value) {
    if !has(port, "name") {
        port["name"] = json!("");
    }
    default(port, "", "protocol", "TCP");
}

fn port_errors(port: &Value, name_required: bool, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let name = text(port, "name");
    if !name.is_empty() {
        errors.extend(wrong(&path.child("name"), name, format::dns_label(name)));
    } else if name_required {
        errors.push(FieldError::required(&path.child("name"), ""));
    }
    let number = number(port, "port").unwrap_or_default();
    if let Some(message) = format::port_number(number) {
        errors.push(FieldError::invalid(&path.child("port"), &json!(number), message));
    }
    errors.extend(protocols(port, path));
    errors
}

fn protocols(port: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors: Vec<FieldError> =
        one_of(&path.child("protocol"), text(port, "protocol"), &["SCTP", "TCP", "UDP"])
            .into_iter()
            .collect();
    if has(port, "appProtocol") {
        let protocol = text(port, "appProtocol");
        errors.extend(wrong(
            &path.child("appProtocol"),
            protocol,
            format::qualified_name(protocol),
        ));
    }
    errors
}

fn validate_endpoints(endpoints: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, subset) in items(endpoints, "subsets").iter().enumerate() {
        let path = Path::new("subsets").index(index);
        if items(subset, "addresses").is_empty() && items(subset, "notReadyAddresses").is_empty() {
            errors.push(FieldError::required(
                &path,
                "must specify `addresses` or `notReadyAddresses`",
            ));
        }
        for list in ["addresses", "notReadyAddresses"] {
            for (at_address, address) in items(subset, list).iter().enumerate() {
                let path = path.child(list).index(at_address);
                let (ip, host, node) =
                    (text(address, "ip"), text(address, "hostname"), text(address, "nodeName"));
                errors.extend(address_errors(&path.child("ip"), ip));
                if !host.is_empty() {
                    errors.extend(wrong(&path.child("hostname"), host, format::dns_label(host)));
                }
                if has(address, "nodeName") {
                    errors.extend(wrong(
                        &path.child("nodeName"),
                        node,
                        format::dns_subdomain(node),
                    ));
                }
                errors.extend(endpoint_errors(&path.child("ip"), ip));
            }
        }
        let ports = items(subset, "ports");
        for (at_port, port) in ports.iter().enumerate() {
            errors.extend(port_errors(port, ports.len() > 1, &path.child("ports").index(at_port)));
        }
    }
    errors
}

fn slice_errors(slice: &Value, with_endpoints: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let kind = text(slice, "addressType");
    if kind.is_empty() {
        errors.push(FieldError::required(&Path::new("addressType"), ""));
    } else {
        errors.extend(one_of(&Path::new("addressType"), kind, &["FQDN", "IPv4", "IPv6"]));
    }
    let mut names = BTreeSet::new();
    for (index, port) in items(slice, "ports").iter().enumerate() {
        let path = Path::new("ports").index(index);
        let name = text(port, "name");
        if !name.is_empty() {
            errors.extend(wrong(&path.child("name"), name, format::dns_label(name)));
        }
        if !names.insert(name) {
            errors.push(FieldError::duplicate(&path.child("name"), &json!(name)));
        }
        errors.extend(protocols(port, &path));
    }
    if with_endpoints {
        let endpoints = items(slice, "endpoints");
        if endpoints.len() > 1000 {
            errors.push(FieldError::too_many(&Path::new("endpoints"), endpoints.len(), 1000));
        }
        for (index, endpoint) in endpoints.iter().enumerate() {
            errors.extend(one_endpoint(endpoint, kind, &Path::new("endpoints").index(index)));
        }
    }
    errors
}

fn one_endpoint(endpoint: &Value, kind: &str, path: &Path) -> Vec<FieldError> {
    let addresses = items(endpoint, "addresses");
    let list = path.child("addresses");
    let mut errors = Vec::new();
    if addresses.is_empty() {
        errors.push(FieldError::required(&list, "must contain at least 1 address"));
    } else if addresses.len() > 100 {
        errors.push(FieldError::too_many(&list, addresses.len(), 100));
    }
    for (index, address) in addresses.iter().enumerate() {
        let (address, path) = (address.as_str().unwrap_or_default(), list.index(index));
        match kind {
            "IPv4" | "IPv6" => {
                let wrong = address_errors(&path, address);
                if !wrong.is_empty() {
                    errors.extend(wrong);
                    continue;
                }
                let six = address.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv6());
                if six != (kind == "IPv6") {
                    errors.push(FieldError::invalid(
                        &list,
                        &json!(address),
                        format!("must be an {kind} address"),
                    ));
                }
                errors.extend(endpoint_errors(&path, address));
            }
            "FQDN" => errors.extend(domain(address, &path)),
            _ => {}
        }
    }
    if has(endpoint, "nodeName") {
        let node = text(endpoint, "nodeName");
        errors.extend(wrong(&path.child("nodeName"), node, format::dns_subdomain(node)));
    }
    if has(endpoint, "hostname") {
        let host = text(endpoint, "hostname");
        errors.extend(wrong(&path.child("hostname"), host, format::dns_label(host)));
    }
    for (hint, limit) in [("forZones", 8), ("forNodes", 8)] {
        let hints = items(at(endpoint, "hints"), hint);
        let path = path.child("hints").child(hint);
        if hints.len() > limit {
            errors.push(FieldError::too_many(&path, hints.len(), limit));
        }
        let mut names = BTreeSet::new();
        for (index, one) in hints.iter().enumerate() {
            let (name, path) = (text(one, "name"), path.index(index).child("name"));
            if !names.insert(name) {
                errors.push(FieldError::duplicate(&path, &json!(name)));
            }
            let sentences = if hint == "forZones" {
                format::label_value(name)
            } else {
                format::dns_subdomain(name)
            };
            errors.extend(wrong(&path, name, sentences));
        }
    }
    errors
}

fn domain(name: &str, path: &Path) -> Vec<FieldError> {
    if name.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let sentences = format::dns_subdomain(name);
    if !sentences.is_empty() {
        return wrong(path, name, vec![sentences.join(",")]);
    }
    if !name.contains('.') {
        return wrong(
            path,
            name,
            vec!["should be a domain with at least two segments separated by dots".into()],
        );
    }
    for label in name.split('.') {
        let sentences = format::dns_label(label);
        if !sentences.is_empty() {
            return wrong(path, label, vec![sentences.join(",")]);
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn slices() {
        let mut slice = json!({"addressType": "IPv4", "endpoints": [{"addresses": []}, {"addresses": ["127.0.0.1", "::2"]}], "ports": [{"port": 80}, {"port": 81}]});
        (ENDPOINT_SLICE.defaults)(&mut slice);
        assert_eq!(slice["ports"][0], json!({"name": "", "port": 80, "protocol": "TCP"}));
        assert_eq!(
            said(&slice_errors(&slice, true)),
            [
                "ports[1].name: Duplicate value: \"\"",
                "endpoints[0].addresses: Required value: must contain at least 1 address",
                "endpoints[1].addresses[0]: Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)",
                "endpoints[1].addresses: Invalid value: \"::2\": must be an IPv4 address",
            ]
        );
        let mut other = slice.clone();
        other["addressType"] = json!("IPv6");
        assert!(
            said(&(ENDPOINT_SLICE.validate_update)(&other, &slice))
                .contains(&"addressType: Invalid value: \"IPv6\": field is immutable".to_owned())
        );
    }

    #[test]
    fn endpoints_need_an_address() {
        let endpoints = json!({"subsets": [{"ports": [{"port": 0, "protocol": "TCP"}]}]});
        assert_eq!(
            said(&validate_endpoints(&endpoints)),
            [
                "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`",
                "subsets[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
            ]
        );
        assert!((ENDPOINTS.validate_update)(&endpoints, &endpoints).is_empty());
    }
}
