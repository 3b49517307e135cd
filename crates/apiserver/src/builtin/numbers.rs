//! The numbers a service is given: cluster addresses and node ports.
//!
//! The first free one is taken, so that the same history gives the same numbers.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use serde_json::{Value, json};

use super::address::contains;
use super::service::{cluster_ip_fields, needs_cluster_ip, needs_health_port, needs_node_port};
use super::view::{at, default, has, items, number, object, take, text};
use crate::fields::{FieldError, Path};

/// Where cluster addresses come from.
const NETWORK: (IpAddr, u8) = (IpAddr::V4(Ipv4Addr::new(10, 96, 0, 0)), 16);
const NODE_PORTS: std::ops::RangeInclusive<i64> = 30000..=32767;

/// Gives a service its families, addresses and ports, given all others.
///
/// An update keeps what it leaves out. Happens before validation, so that what it refuses is all the
/// client hears of.
pub fn assign(
    service: &mut Value,
    old: Option<&Value>,
    others: &[&Value],
) -> Result<(), Vec<FieldError>> {
    match old {
        None => {
            if items(service, "spec.clusterIPs").is_empty()
                && !text(service, "spec.clusterIP").is_empty()
            {
                follow(service);
            }
        }
        Some(old) => {
            carry_over(service, old);
            normalize(service, old);
        }
    }
    families(service, old)?;
    let fresh = old.is_none_or(|old| !needs_cluster_ip(old));
    if needs_cluster_ip(service) && fresh {
        addresses(service, others)?;
    }
    ports(service, old, others)
}

/// Makes the list of addresses say what the single address says.
fn follow(service: &mut Value) {
    let address = at(service, "spec.clusterIP").clone();
    object(service, "spec").insert("clusterIPs".into(), json!([address]));
}

fn carry_over(new: &mut Value, old: &Value) {
    if needs_cluster_ip(old) && needs_cluster_ip(new) {
        if text(new, "spec.clusterIP").is_empty() && has(old, "spec.clusterIP") {
            let address = at(old, "spec.clusterIP").clone();
            object(new, "spec").insert("clusterIP".into(), address);
        }
        if items(new, "spec.clusterIPs").is_empty() && has(old, "spec.clusterIPs") {
            let addresses = at(old, "spec.clusterIPs").clone();
            object(new, "spec").insert("clusterIPs".into(), addresses);
        }
    }
    if needs_node_port(old) && needs_node_port(new) {
        let used = |service: &Value| -> BTreeSet<i64> {
            items(service, "spec.ports").iter().filter_map(node_port).collect()
        };
        let kept: BTreeSet<i64> = used(old).intersection(&used(new)).copied().collect();
        for port in port_list(new) {
            if node_port(port).is_none()
                && let Some(before) =
                    items(old, "spec.ports").iter().rfind(|p| text(p, "name") == text(port, "name"))
                && let Some(number) = node_port(before).filter(|number| !kept.contains(number))
            {
                object(port, "").insert("nodePort".into(), json!(number));
            }
        }
    }
    if needs_health_port(old)
        && needs_health_port(new)
        && number(new, "spec.healthCheckNodePort").unwrap_or_default() == 0
    {
        let port = at(old, "spec.healthCheckNodePort").clone();
        object(new, "spec").insert("healthCheckNodePort".into(), port);
    }
}

fn normalize(new: &mut Value, old: &Value) {
    let same = at(new, "spec.clusterIPs") == at(old, "spec.clusterIPs");
    let (now, was) = (text(new, "spec.clusterIP").to_owned(), text(old, "spec.clusterIP"));
    if now == was {
        if items(new, "spec.clusterIPs").is_empty() && !items(old, "spec.clusterIPs").is_empty() {
            let addresses = at(old, "spec.clusterIPs").clone();
            object(new, "spec").insert("clusterIPs".into(), addresses);
        }
    } else if same {
        if now.is_empty() {
            take(new, "spec.clusterIPs");
        } else {
            follow(new);
        }
    }
}

fn families(service: &mut Value, old: Option<&Value>) -> Result<(), Vec<FieldError>> {
    if text(service, "spec.type") == "ExternalName" {
        return Ok(());
    }
    let headless = text(service, "spec.clusterIP") == "None";
    let unselected = at(service, "spec.selector").as_object().is_none_or(serde_json::Map::is_empty);
    let policy_path = Path::new("spec.ipFamilyPolicy");
    if !has(service, "spec.ipFamilyPolicy") {
        let policy = match old.map(|old| at(old, "spec.ipFamilyPolicy")).filter(|p| !p.is_null()) {
            Some(policy) => policy.clone(),
            None if headless && unselected => json!("RequireDualStack"),
            None => json!("SingleStack"),
        };
        object(service, "spec").insert("ipFamilyPolicy".into(), policy);
    }
    let wrong = cluster_ip_fields(service);
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let policy = text(service, "spec.ipFamilyPolicy").to_owned();
    let mut errors = Vec::new();
    if policy == "SingleStack" {
        for (field, words) in
            [("spec.clusterIPs", "cluster IPs"), ("spec.ipFamilies", "IP families")]
        {
            if items(service, field).len() == 2 {
                errors.push(FieldError::invalid(
                    &policy_path,
                    &json!(policy),
                    format!("must be 'RequireDualStack' or 'PreferDualStack' when multiple {words} are specified"),
                ));
            }
        }
    }
    let known = items(service, "spec.ipFamilies").len();
    let mut learnt = Vec::new();
    for (index, address) in items(service, "spec.clusterIPs").iter().enumerate().skip(known) {
        match address.as_str().and_then(|a| a.parse::<IpAddr>().ok()) {
            Some(IpAddr::V4(_)) => learnt.push(json!("IPv4")),
            Some(IpAddr::V6(_)) => errors.push(FieldError::invalid(
                &Path::new("spec.clusterIPs").index(index),
                at(service, "spec.clusterIPs"),
                "IPv6 is not configured on this cluster",
            )),
            None => break,
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    if !learnt.is_empty() {
        let mut all = items(service, "spec.ipFamilies").to_vec();
        all.extend(learnt);
        object(service, "spec").insert("ipFamilies".into(), Value::Array(all));
    }
    if headless && unselected {
        default(service, "spec", "ipFamilies", json!(["IPv4"]));
        let list = items(service, "spec.ipFamilies").to_vec();
        if list.len() < 2 && policy != "SingleStack" {
            let other = if list.first() == Some(&json!("IPv4")) { "IPv6" } else { "IPv4" };
            let both: Vec<Value> = list.into_iter().chain([json!(other)]).collect();
            object(service, "spec").insert("ipFamilies".into(), Value::Array(both));
        }
        return Ok(());
    }
    if policy == "RequireDualStack" {
        errors.push(FieldError::invalid(
            &policy_path,
            &json!(policy),
            "this cluster is not configured for dual-stack services",
        ));
    }
    for (index, family) in items(service, "spec.ipFamilies").iter().enumerate() {
        if family == "IPv6" {
            errors.push(FieldError::invalid(
                &Path::new("spec.ipFamilies").index(index),
                family,
                "not configured on this cluster",
            ));
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    default(service, "spec", "ipFamilies", json!(["IPv4"]));
    Ok(())
}

fn addresses(service: &mut Value, others: &[&Value]) -> Result<(), Vec<FieldError>> {
    if text(service, "spec.clusterIP") == "None" {
        return Ok(());
    }
    let taken: BTreeSet<&str> = others
        .iter()
        .flat_map(|other| items(other, "spec.clusterIPs"))
        .filter_map(Value::as_str)
        .collect();
    let wanted = text(service, "spec.clusterIP");
    if !wanted.is_empty() {
        let refused = |why: &str| {
            Err(vec![FieldError::invalid(
                &Path::new("spec.clusterIPs"),
                at(service, "spec.clusterIPs"),
                format!("failed to allocate IP {wanted}: {why}"),
            )])
        };
        return match wanted.parse() {
            Ok(address) if !contains(NETWORK, address) => {
                refused("the provided network does not match the current range")
            }
            _ if taken.contains(wanted) => refused("provided IP is already allocated"),
            _ => Ok(()),
        };
    }
    // Where the search begins depends on the object and its age, so that a released address does not
    // come back at once; the lower addresses are left for those who ask for one.
    let place = ["namespace", "name", "resourceVersion"]
        .map(|field| text(at(service, "metadata"), field))
        .join("/");
    let start =
        place.bytes().fold(0u16, |hash, byte| hash.wrapping_mul(251).wrapping_add(u16::from(byte)));
    let free = (0..u16::MAX)
        .map(|step| start.wrapping_add(step))
        .filter(|n| (0x0100..u16::MAX).contains(n))
        .map(|n| Ipv4Addr::new(10, 96, n.to_be_bytes()[0], n.to_be_bytes()[1]).to_string())
        .find(|address| !taken.contains(address.as_str()));
    if let Some(address) = free {
        let spec = object(service, "spec");
        spec.insert("clusterIPs".into(), json!([address]));
        spec.insert("clusterIP".into(), json!(address));
    }
    Ok(())
}

fn node_port(port: &Value) -> Option<i64> {
    number(port, "nodePort").filter(|&number| number != 0)
}

fn port_list(service: &mut Value) -> impl Iterator<Item = &mut Value> {
    service.pointer_mut("/spec/ports").and_then(Value::as_array_mut).into_iter().flatten()
}

fn ports(
    service: &mut Value,
    old: Option<&Value>,
    others: &[&Value],
) -> Result<(), Vec<FieldError>> {
    if !needs_node_port(service) && !needs_health_port(service) {
        return Ok(());
    }
    let mut taken: BTreeSet<i64> = BTreeSet::new();
    for other in others {
        taken.extend(items(other, "spec.ports").iter().filter_map(node_port));
        taken.extend(number(other, "spec.healthCheckNodePort"));
    }
    let mut own: BTreeSet<i64> =
        old.into_iter().flat_map(|old| items(old, "spec.ports")).filter_map(node_port).collect();
    own.extend(old.and_then(|old| number(old, "spec.healthCheckNodePort")));
    for (index, port) in items(service, "spec.ports").iter().enumerate() {
        let path = Path::new("spec.ports").index(index).child("nodePort");
        if let Some(number) = node_port(port).filter(|number| !own.contains(number)) {
            usable(number, &taken, &path)?;
        }
    }
    taken.extend(items(service, "spec.ports").iter().filter_map(node_port));
    taken.extend(&own);
    if needs_node_port(service) {
        for port in port_list(service).filter(|port| node_port(port).is_none()) {
            if let Some(number) = free(&taken) {
                taken.insert(number);
                object(port, "").insert("nodePort".into(), json!(number));
            }
        }
    }
    if needs_health_port(service) {
        match number(service, "spec.healthCheckNodePort").filter(|&number| number != 0) {
            Some(number)
                if !own.contains(&number) && old.is_none_or(|old| !needs_health_port(old)) =>
            {
                usable(number, &taken, &Path::new("spec.healthCheckNodePort"))?;
            }
            Some(_) => {}
            None => {
                if let Some(number) = free(&taken) {
                    object(service, "spec").insert("healthCheckNodePort".into(), json!(number));
                }
            }
        }
    }
    Ok(())
}

fn free(taken: &BTreeSet<i64>) -> Option<i64> {
    // The lower ports are left for those who ask for one.
    (30086..=*NODE_PORTS.end()).chain(30000..30086).find(|port| !taken.contains(port))
}

fn usable(number: i64, taken: &BTreeSet<i64>, path: &Path) -> Result<(), Vec<FieldError>> {
    let why = if !NODE_PORTS.contains(&number) {
        "provided port is not in the valid range. The range of valid ports is 30000-32767"
    } else if taken.contains(&number) {
        "provided port is already allocated"
    } else {
        return Ok(());
    };
    Err(vec![FieldError::invalid(path, &json!(number), why)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::service::SERVICE;

    fn made(spec: &Value, others: &[&Value]) -> Result<Value, Vec<String>> {
        let mut service = json!({"metadata": {"name": "s"}, "spec": spec});
        (SERVICE.defaults)(&mut service);
        match assign(&mut service, None, others) {
            Ok(()) => Ok(service["spec"].clone()),
            Err(errors) => Err(errors.iter().map(ToString::to_string).collect()),
        }
    }

    #[test]
    fn addresses_are_given_once() {
        let first = made(&json!({"ports": [{"port": 80}]}), &[]).unwrap();
        assert_eq!(first["clusterIPs"], json!([first["clusterIP"]]));
        assert_eq!(first["ipFamilies"], json!(["IPv4"]));
        assert_eq!(first["ipFamilyPolicy"], "SingleStack");
        let stored = json!({ "spec": first });
        let second = made(&json!({"ports": [{"port": 80}]}), &[&stored]).unwrap();
        assert_ne!(second["clusterIP"], stored["spec"]["clusterIP"]);
        assert_eq!(
            made(
                &json!({"clusterIP": stored["spec"]["clusterIP"], "ports": [{"port": 80}]}),
                &[&stored]
            )
            .unwrap_err()
            .len(),
            1
        );
    }

    #[test]
    fn what_is_refused() {
        for (spec, expected) in [
            (
                json!({"clusterIP": "1.2.3.4"}),
                "spec.clusterIPs: Invalid value: [\"1.2.3.4\"]: failed to allocate IP 1.2.3.4: the provided network does not match the current range",
            ),
            (
                json!({"clusterIP": "x"}),
                "spec.clusterIPs[0]: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            ),
            (
                json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]}),
                "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767",
            ),
            (
                json!({"ipFamilyPolicy": "RequireDualStack"}),
                "spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": this cluster is not configured for dual-stack services",
            ),
            (
                json!({"ipFamilies": ["IPv6"]}),
                "spec.ipFamilies[0]: Invalid value: \"IPv6\": not configured on this cluster",
            ),
        ] {
            assert_eq!(made(&spec, &[]).unwrap_err(), [expected], "{spec}");
        }
    }

    #[test]
    fn headless_services() {
        let selected = made(&json!({"clusterIP": "None", "selector": {"a": "b"}}), &[]).unwrap();
        assert_eq!(selected["clusterIPs"], json!(["None"]));
        assert_eq!(selected["ipFamilies"], json!(["IPv4"]));
        let unselected = made(&json!({"clusterIP": "None"}), &[]).unwrap();
        assert_eq!(unselected["ipFamilies"], json!(["IPv4", "IPv6"]));
        assert_eq!(unselected["ipFamilyPolicy"], "RequireDualStack");
    }

    #[test]
    fn updates_keep_what_they_leave_out() {
        let spec = made(&json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{"port": 80}]}), &[]).unwrap();
        let old = json!({ "spec": spec });
        let mut new = old.clone();
        for field in ["clusterIP", "clusterIPs", "healthCheckNodePort"] {
            new["spec"].as_object_mut().unwrap().remove(field);
        }
        new["spec"]["ports"][0].as_object_mut().unwrap().remove("nodePort");
        assign(&mut new, Some(&old), &[]).unwrap();
        assert_eq!(new, old);
        let mut moved = old.clone();
        moved["spec"]["clusterIP"] = json!("None");
        assign(&mut moved, Some(&old), &[]).unwrap();
        assert_eq!(moved["spec"]["clusterIPs"], json!(["None"]));
    }
}
