//! Service: defaults, what an update carries over, and validation. Its numbers come from `numbers`.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_json::{Map, Value, json};

use super::address::{address_errors, endpoint_errors, network_errors};
use super::labels::labels;
use super::view::{at, default, has, items, number, object, one_of, restore, take, text, wrong};
use super::{Strategy, form, format};
use crate::fields::{FieldError, Path};

/// The rules of Service.
pub const SERVICE: Strategy = Strategy {
    defaults: default_service,
    prepare_create: |service| {
        object(service, "").insert("status".into(), json!({ "loadBalancer": {} }));
    },
    prepare_update: |new, old| {
        restore(new, old, "status");
        drop_what_the_type_lacks(new, old);
    },
    validate,
    validate_update: |new, old| {
        let mut errors = addresses_change(new, old);
        errors.extend(families_change(new, old));
        errors.extend(class_change(new, old));
        if needs_health_port(new)
            && needs_health_port(old)
            && at(new, "spec.healthCheckNodePort") != at(old, "spec.healthCheckNodePort")
        {
            errors.push(FieldError::forbidden(
                &Path::new("spec.healthCheckNodePort"),
                "field is immutable",
            ));
        }
        errors.extend(validate(new));
        errors
    },
    revalidate: false,
    create_on_update: true,
    validate_status: |new, old| status_errors(new, old),
    ..Strategy::PLAIN
};

fn kind(service: &Value) -> &str {
    text(service, "spec.type")
}

pub(super) fn is_headless(service: &Value) -> bool {
    items(service, "spec.clusterIPs").first().is_some_and(|ip| ip == "None")
        && items(service, "spec.clusterIPs").len() == 1
}

pub(super) fn needs_cluster_ip(service: &Value) -> bool {
    matches!(kind(service), "ClusterIP" | "NodePort" | "LoadBalancer")
}

pub(super) fn needs_node_port(service: &Value) -> bool {
    match kind(service) {
        "NodePort" => true,
        "LoadBalancer" => at(service, "spec.allocateLoadBalancerNodePorts") != &json!(false),
        _ => false,
    }
}

pub(super) fn needs_health_port(service: &Value) -> bool {
    kind(service) == "LoadBalancer" && text(service, "spec.externalTrafficPolicy") == "Local"
}

fn reachable_from_outside(service: &Value) -> bool {
    matches!(kind(service), "LoadBalancer" | "NodePort")
        || (kind(service) == "ClusterIP" && !items(service, "spec.externalIPs").is_empty())
}

fn default_service(service: &mut Value) {
    form::settle("v1", "Service", service);
    default(service, "spec", "sessionAffinity", "None");
    match text(service, "spec.sessionAffinity") {
        "None" => drop(take(service, "spec.sessionAffinityConfig")),
        "ClientIP" if !has(service, "spec.sessionAffinityConfig.clientIP.timeoutSeconds") => {
            let config = json!({ "clientIP": { "timeoutSeconds": 10800 } });
            object(service, "spec").insert("sessionAffinityConfig".into(), config);
        }
        _ => {}
    }
    default(service, "spec", "type", "ClusterIP");
    if let Some(ports) = service.pointer_mut("/spec/ports").and_then(Value::as_array_mut) {
        for port in ports {
            default(port, "", "protocol", "TCP");
            let target = at(port, "targetPort");
            if target.is_null() || target == &json!(0) || target == &json!("") {
                let number = at(port, "port").clone();
                object(port, "").insert("targetPort".into(), number);
            }
        }
    }
    if reachable_from_outside(service) {
        default(service, "spec", "externalTrafficPolicy", "Cluster");
    }
    if needs_cluster_ip(service) {
        default(service, "spec", "internalTrafficPolicy", "Cluster");
    }
    if kind(service) == "LoadBalancer" {
        default(service, "spec", "allocateLoadBalancerNodePorts", true);
        let ingress = service.pointer_mut("/status/loadBalancer/ingress");
        for point in ingress.and_then(Value::as_array_mut).into_iter().flatten() {
            if !text(point, "ip").is_empty() {
                default(point, "", "ipMode", "VIP");
            }
        }
    }
}

fn node_ports(service: &Value) -> BTreeSet<i64> {
    items(service, "spec.ports").iter().filter_map(|port| number(port, "nodePort")).collect()
}

/// A change of type takes with it what only the old type could have, unless it was changed as well.
fn drop_what_the_type_lacks(new: &mut Value, old: &Value) {
    let same = |new: &Value, path: &str| at(new, path) == at(old, path);
    if needs_cluster_ip(old) && !needs_cluster_ip(new) {
        if same(new, "spec.clusterIPs") {
            take(new, "spec.clusterIP");
            take(new, "spec.clusterIPs");
        }
        for field in ["spec.ipFamilies", "spec.ipFamilyPolicy", "spec.internalTrafficPolicy"] {
            if same(new, field) {
                take(new, field);
            }
        }
    }
    if needs_node_port(old) && !needs_node_port(new) && node_ports(new) == node_ports(old) {
        for port in
            new.pointer_mut("/spec/ports").and_then(Value::as_array_mut).into_iter().flatten()
        {
            take(port, "nodePort");
        }
    }
    if needs_health_port(old) && !needs_health_port(new) && same(new, "spec.healthCheckNodePort") {
        take(new, "spec.healthCheckNodePort");
    }
    if kind(old) == "LoadBalancer" && kind(new) != "LoadBalancer" {
        for field in ["spec.allocateLoadBalancerNodePorts", "spec.loadBalancerClass"] {
            if same(new, field) {
                take(new, field);
            }
        }
    }
    if reachable_from_outside(old)
        && !reachable_from_outside(new)
        && same(new, "spec.externalTrafficPolicy")
    {
        take(new, "spec.externalTrafficPolicy");
    }
    if kind(new) != "LoadBalancer" {
        object(new, "status").insert("loadBalancer".into(), Value::Object(Map::new()));
    }
}

fn validate(service: &Value) -> Vec<FieldError> {
    let path = Path::new("spec");
    let mut errors = Vec::new();
    let ports = items(service, "spec.ports");
    let headless = is_headless(service);
    if ports.is_empty() && !headless && kind(service) != "ExternalName" {
        errors.push(FieldError::required(&path.child("ports"), ""));
    }
    match kind(service) {
        "LoadBalancer" | "NodePort" if headless => errors.push(FieldError::invalid(
            &path.child("clusterIPs").index(0),
            &json!("None"),
            format!("may not be set to 'None' for {} services", kind(service)),
        )),
        "ExternalName" => errors.extend(external_name(service)),
        _ => {}
    }
    let mut port_names = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        errors.extend(port_errors(
            port,
            &path.child("ports").index(index),
            ports.len() > 1,
            &mut port_names,
        ));
    }
    errors.extend(labels(at(service, "spec.selector"), &path.child("selector")));
    errors.extend(affinity(service));
    errors.extend(cluster_ip_fields(service));
    for (index, address) in items(service, "spec.externalIPs").iter().enumerate() {
        let (path, address) =
            (path.child("externalIPs").index(index), address.as_str().unwrap_or_default());
        let wrong = address_errors(&path, address);
        errors.extend(if wrong.is_empty() { endpoint_errors(&path, address) } else { wrong });
    }
    errors.extend(one_of(
        &path.child("type"),
        kind(service),
        &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"],
    ));
    errors.extend(port_clashes(service));
    errors.extend(balancer(service));
    errors.extend(class_errors(service));
    errors.extend(traffic(service));
    errors
}

fn external_name(service: &Value) -> Vec<FieldError> {
    let path = Path::new("spec");
    let mut errors = Vec::new();
    for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        let held = at(service, "spec").get(field).unwrap_or(&Value::Null);
        if !held.is_null() && held != &json!([]) {
            errors.push(FieldError::forbidden(
                &path.child(field),
                "may not be set for ExternalName services",
            ));
        }
    }
    let name = text(service, "spec.externalName");
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.is_empty() {
        errors.push(FieldError::required(&path.child("externalName"), ""));
    } else {
        errors.extend(wrong(&path.child("externalName"), name, format::dns_subdomain(name)));
    }
    errors
}

fn port_errors<'a>(
    port: &'a Value,
    path: &Path,
    name_required: bool,
    names: &mut BTreeSet<&'a str>,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let name = text(port, "name");
    if name.is_empty() {
        if name_required {
            errors.push(FieldError::required(&path.child("name"), ""));
        }
    } else {
        errors.extend(wrong(&path.child("name"), name, format::dns_label(name)));
        if !names.insert(name) {
            errors.push(FieldError::duplicate(&path.child("name"), &json!(name)));
        }
    }
    let port_number = number(port, "port").unwrap_or_default();
    if let Some(message) = format::port_number(port_number) {
        errors.push(FieldError::invalid(&path.child("port"), &json!(port_number), message));
    }
    errors.extend(one_of(&path.child("protocol"), text(port, "protocol"), &["SCTP", "TCP", "UDP"]));
    let target = at(port, "targetPort");
    let path_of_target = path.child("targetPort");
    if let Some(name) = target.as_str() {
        errors.extend(wrong(&path_of_target, name, format::port_name(name)));
    } else {
        let number = target.as_i64().unwrap_or_default();
        if let Some(message) = format::port_number(number) {
            errors.push(FieldError::invalid(&path_of_target, &json!(number), message));
        }
    }
    let protocol = text(port, "appProtocol");
    if has(port, "appProtocol") {
        errors.extend(wrong(
            &path.child("appProtocol"),
            protocol,
            format::qualified_name(protocol),
        ));
    }
    errors
}

fn affinity(service: &Value) -> Vec<FieldError> {
    let path = Path::new("spec");
    let mut errors = Vec::new();
    let affinity = text(service, "spec.sessionAffinity");
    errors.extend(one_of(&path.child("sessionAffinity"), affinity, &["ClientIP", "None"]));
    let config = path.child("sessionAffinityConfig");
    if affinity == "ClientIP" {
        let seconds = number(service, "spec.sessionAffinityConfig.clientIP.timeoutSeconds");
        if let Some(seconds) = seconds.filter(|s| !(1..=86400).contains(s)) {
            errors.push(FieldError::invalid(
                &config.child("clientIP").child("timeoutSeconds"),
                &json!(seconds),
                "must be greater than 0 and less than 86400",
            ));
        }
    } else if affinity == "None" && has(service, "spec.sessionAffinityConfig") {
        errors
            .push(FieldError::forbidden(&config, "must not be set when session affinity is None"));
    }
    errors
}

/// What is wrong with the addresses and families of a service among themselves.
pub(super) fn cluster_ip_fields(service: &Value) -> Vec<FieldError> {
    if kind(service) == "ExternalName" {
        return Vec::new();
    }
    let path = Path::new("spec");
    let (first, all) = (text(service, "spec.clusterIP"), items(service, "spec.clusterIPs"));
    let (ips_path, shown) = (path.child("clusterIPs"), at(service, "spec.clusterIPs"));
    let mut errors = Vec::new();
    match all.first().and_then(Value::as_str) {
        None if !first.is_empty() => errors.push(FieldError::required(&ips_path, "")),
        Some(ip) if first.is_empty() || ip != first => {
            let why = if first.is_empty() {
                "must be empty when `clusterIP` is not specified"
            } else {
                "first value must match `clusterIP`"
            };
            errors.push(FieldError::invalid(&ips_path, shown, why));
        }
        _ => {}
    }
    let families = items(service, "spec.ipFamilies");
    for (index, family) in families.iter().enumerate() {
        let path = path.child("ipFamilies").index(index);
        errors.extend(one_of(&path, family.as_str().unwrap_or_default(), &["IPv4", "IPv6"]));
        if families[..index].contains(family) {
            errors.push(FieldError::duplicate(&path, family));
        }
    }
    if has(service, "spec.ipFamilyPolicy") {
        errors.extend(one_of(
            &path.child("ipFamilyPolicy"),
            text(service, "spec.ipFamilyPolicy"),
            &["PreferDualStack", "RequireDualStack", "SingleStack"],
        ));
    }
    let mut invalid = false;
    for (index, ip) in all.iter().enumerate() {
        let ip = ip.as_str().unwrap_or_default();
        if index == 0 && ip == "None" {
            if all.len() > 1 {
                invalid = true;
                errors.push(FieldError::invalid(
                    &ips_path,
                    shown,
                    "'None' must be the first and only value",
                ));
            }
            continue;
        }
        let wrong = address_errors(&ips_path.index(index), ip);
        invalid |= !wrong.is_empty();
        errors.extend(wrong);
    }
    if all.len() > 2 {
        errors.push(FieldError::invalid(&ips_path, shown, "may only hold up to 2 values"));
    }
    if invalid {
        return errors;
    }
    let six = |ip: &Value| {
        ip.as_str().and_then(|ip| ip.parse().ok()).is_some_and(|ip: IpAddr| ip.is_ipv6())
    };
    if all.len() > 1 && all.iter().filter(|ip| six(ip)).count() != 1 {
        errors.push(FieldError::invalid(
            &ips_path,
            shown,
            "may specify no more than one IP for each IP family",
        ));
    }
    if !is_headless(service) {
        for (index, (ip, family)) in all.iter().zip(families).enumerate() {
            let expected = family.as_str().unwrap_or_default();
            if (expected == "IPv4" && six(ip)) || (expected == "IPv6" && !six(ip)) {
                errors.push(FieldError::invalid(
                    &ips_path.index(index),
                    ip,
                    format!("expected an {expected} value as indicated by `ipFamilies[{index}]`"),
                ));
            }
        }
    }
    errors
}

fn port_clashes(service: &Value) -> Vec<FieldError> {
    let path = Path::new("spec.ports");
    let ports = items(service, "spec.ports");
    let node_port = |port: &Value| number(port, "nodePort").filter(|&n| n != 0);
    let mut errors = Vec::new();
    if kind(service) == "ClusterIP" {
        for (index, _) in ports.iter().enumerate().filter(|(_, port)| node_port(port).is_some()) {
            errors.push(FieldError::forbidden(
                &path.index(index).child("nodePort"),
                "may not be used when `type` is 'ClusterIP'",
            ));
        }
    }
    let mut taken = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        if let Some(number) = node_port(port)
            && !taken.insert((text(port, "protocol"), number))
        {
            errors
                .push(FieldError::duplicate(&path.index(index).child("nodePort"), &json!(number)));
        }
    }
    let mut taken = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let key = (text(port, "protocol"), number(port, "port"));
        if !taken.insert(key) {
            let shown = json!({ "protocol": key.0, "port": key.1 });
            let mut error = FieldError::duplicate(&path.index(index), &Value::Null);
            error.shown = Some(form::internal("core.ServicePort", &shown));
            errors.push(error);
        }
    }
    errors
}

fn balancer(service: &Value) -> Vec<FieldError> {
    const ONLY: &str = "may only be used when `type` is 'LoadBalancer'";
    const ANNOTATION: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
    let mut errors = Vec::new();
    let balanced = kind(service) == "LoadBalancer";
    let ranges = items(service, "spec.loadBalancerSourceRanges");
    let annotated = at(service, "metadata.annotations").get(ANNOTATION).and_then(Value::as_str);
    if !ranges.is_empty() {
        let path = Path::new("spec.LoadBalancerSourceRanges");
        if !balanced {
            errors.push(FieldError::forbidden(&path, ONLY));
        }
        for (index, range) in ranges.iter().enumerate() {
            errors.extend(network_errors(
                &path.index(index),
                range.as_str().unwrap_or_default().trim(),
            ));
        }
    } else if let Some(annotated) = annotated {
        let path = Path::new("metadata.annotations").key(ANNOTATION);
        if !balanced {
            errors.push(FieldError::forbidden(&path, ONLY));
        }
        for range in annotated.split(',').map(str::trim).filter(|range| !range.is_empty()) {
            errors.extend(network_errors(&path, range));
        }
    }
    if has(service, "spec.allocateLoadBalancerNodePorts") && !balanced {
        errors.push(FieldError::forbidden(&Path::new("spec.allocateLoadBalancerNodePorts"), ONLY));
    }
    errors
}

fn class_errors(service: &Value) -> Vec<FieldError> {
    let path = Path::new("spec.loadBalancerClass");
    if !has(service, "spec.loadBalancerClass") {
        return Vec::new();
    }
    if kind(service) == "LoadBalancer" {
        let class = text(service, "spec.loadBalancerClass");
        wrong(&path, class, format::qualified_name(class))
    } else {
        vec![FieldError::forbidden(&path, "may only be used when `type` is 'LoadBalancer'")]
    }
}

fn traffic(service: &Value) -> Vec<FieldError> {
    let path = Path::new("spec");
    let mut errors = Vec::new();
    let external = text(service, "spec.externalTrafficPolicy");
    let external_path = path.child("externalTrafficPolicy");
    if !reachable_from_outside(service) {
        if !external.is_empty() {
            errors.push(FieldError::invalid(
                &external_path,
                &json!(external),
                "may only be set for externally-accessible services",
            ));
        }
    } else if external.is_empty() {
        errors.push(FieldError::required(&external_path, ""));
    } else {
        errors.extend(one_of(&external_path, external, &["Cluster", "Local"]));
    }
    let port = number(service, "spec.healthCheckNodePort").unwrap_or_default();
    let port_path = path.child("healthCheckNodePort");
    if !needs_health_port(service) {
        if port != 0 {
            errors.push(FieldError::invalid(
                &port_path,
                &json!(port),
                "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
            ));
        }
    } else if port == 0 {
        errors.push(FieldError::required(&port_path, ""));
    } else if let Some(message) = format::port_number(port) {
        errors.push(FieldError::invalid(&port_path, &json!(port), message));
    }
    if has(service, "spec.internalTrafficPolicy") {
        errors.extend(one_of(
            &path.child("internalTrafficPolicy"),
            text(service, "spec.internalTrafficPolicy"),
            &["Cluster", "Local"],
        ));
    }
    if has(service, "spec.trafficDistribution") {
        errors.extend(one_of(
            &path.child("trafficDistribution"),
            text(service, "spec.trafficDistribution"),
            &["PreferClose", "PreferSameZone", "PreferSameNode"],
        ));
    }
    errors
}

fn addresses_change(new: &Value, old: &Value) -> Vec<FieldError> {
    if kind(new) == "ExternalName"
        || kind(old) == "ExternalName"
        || (is_headless(new) && is_headless(old))
    {
        return Vec::new();
    }
    let (shown, path) = (at(new, "spec.clusterIPs"), Path::new("spec.clusterIPs"));
    let (after, before) = (items(new, "spec.clusterIPs"), items(old, "spec.clusterIPs"));
    let changed =
        |index: usize| FieldError::invalid(&path.index(index), shown, "may not change once set");
    let mut errors = Vec::new();
    if after.len() == before.len() {
        for index in (0..after.len()).filter(|&index| after[index] != before[index]) {
            errors.push(changed(index));
        }
        return errors;
    }
    if after.is_empty() {
        errors.push(FieldError::invalid(
            &path.index(0),
            shown,
            "primary clusterIP can not be unset",
        ));
    }
    if let (Some(after), Some(before)) = (after.first(), before.first())
        && after != before
    {
        errors.push(changed(0));
    }
    if before.len() > after.len()
        && after.len() == 1
        && text(new, "spec.ipFamilyPolicy") != "SingleStack"
    {
        errors.push(FieldError::invalid(
            &Path::new("spec.ipFamilyPolicy"),
            at(new, "spec.ipFamilyPolicy"),
            "must be set to 'SingleStack' when releasing the secondary clusterIP",
        ));
    }
    errors
}

fn families_change(new: &Value, old: &Value) -> Vec<FieldError> {
    if kind(new) == "ExternalName"
        || kind(old) == "ExternalName"
        || is_headless(new)
        || is_headless(old)
    {
        return Vec::new();
    }
    let path = Path::new("spec.ipFamilies").index(0);
    let (after, before) = (items(new, "spec.ipFamilies"), items(old, "spec.ipFamilies"));
    let mut errors = Vec::new();
    if after.len() == before.len() {
        for _ in (0..after.len()).filter(|&index| after[index] != before[index]) {
            let shown = at(new, "spec.ipFamilies");
            errors.push(FieldError::invalid(&path, shown, "may not change once set"));
        }
        return errors;
    }
    if let (Some(now), Some(was)) = (after.first(), before.first())
        && now != was
    {
        let shown = at(new, "spec.clusterIPs");
        errors.push(FieldError::invalid(&path, shown, "may not change once set"));
    }
    if before.len() > after.len()
        && after.len() == 1
        && text(new, "spec.ipFamilyPolicy") != "SingleStack"
    {
        errors.push(FieldError::invalid(
            &Path::new("spec.ipFamilyPolicy"),
            at(new, "spec.ipFamilyPolicy"),
            "must be set to 'SingleStack' when releasing the secondary ipFamily",
        ));
    }
    errors
}

fn class_change(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if kind(new) == "LoadBalancer"
        && kind(old) == "LoadBalancer"
        && at(new, "spec.loadBalancerClass") != at(old, "spec.loadBalancerClass")
    {
        errors.push(FieldError::invalid(
            &Path::new("spec.loadBalancerClass"),
            at(new, "spec.loadBalancerClass"),
            "may not change once set",
        ));
    }
    errors.extend(class_errors(new));
    errors
}

fn status_errors(new: &Value, old: &Value) -> Vec<FieldError> {
    let path = Path::new("status.loadBalancer.ingress");
    let points = items(new, "status.loadBalancer.ingress");
    if kind(old) != "LoadBalancer" && !points.is_empty() {
        return vec![FieldError::forbidden(
            &path,
            "may only be used when `spec.type` is 'LoadBalancer'",
        )];
    }
    let mut errors = Vec::new();
    for (index, point) in points.iter().enumerate() {
        let path = path.index(index);
        let (ip, host) = (text(point, "ip"), text(point, "hostname"));
        if !ip.is_empty() {
            errors.extend(address_errors(&path.child("ip"), ip));
        }
        let mode_path = path.child("ipMode");
        match (has(point, "ipMode"), ip.is_empty()) {
            (false, false) => {
                errors.push(FieldError::required(&mode_path, "must be specified when `ip` is set"));
            }
            (true, true) => errors.push(FieldError::forbidden(
                &mode_path,
                "may not be specified when `ip` is not set",
            )),
            (true, false) => {
                errors.extend(one_of(&mode_path, text(point, "ipMode"), &["Proxy", "VIP"]));
            }
            (false, true) => {}
        }
        if !host.is_empty() {
            errors.extend(wrong(&path.child("hostname"), host, format::dns_subdomain(host)));
            if host.parse::<IpAddr>().is_ok() {
                errors.extend(wrong(
                    &path.child("hostname"),
                    host,
                    vec!["must be a DNS name, not an IP address".into()],
                ));
            }
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(spec: &Value) -> Value {
        let mut service = json!({"metadata": {"name": "s"}, "spec": spec});
        (SERVICE.defaults)(&mut service);
        service
    }

    fn said(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn defaults() {
        assert_eq!(
            service(&json!({"ports": [{"port": 80}]}))["spec"],
            json!({"ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}], "sessionAffinity": "None",
                "type": "ClusterIP", "internalTrafficPolicy": "Cluster"})
        );
        let balanced = service(&json!({"type": "LoadBalancer", "sessionAffinity": "ClientIP"}));
        assert_eq!(balanced["spec"]["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"], 10800);
        assert_eq!(balanced["spec"]["externalTrafficPolicy"], "Cluster");
        assert_eq!(balanced["spec"]["allocateLoadBalancerNodePorts"], true);
    }

    #[test]
    fn faults_in_the_servers_words() {
        for (spec, expected) in [
            (json!({}), vec!["spec.ports: Required value"]),
            (
                json!({"type": "ExternalName", "clusterIPs": ["10.0.0.3"], "ipFamilies": ["IPv4"]}),
                vec![
                    "spec.clusterIPs: Forbidden: may not be set for ExternalName services",
                    "spec.ipFamilies: Forbidden: may not be set for ExternalName services",
                    "spec.externalName: Required value",
                ],
            ),
            (
                json!({"ports": [{"port": 80, "name": "a"}, {"port": 80, "name": "a"}]}),
                vec![
                    "spec.ports[1].name: Duplicate value: \"a\"",
                    "spec.ports[1]: Duplicate value: {\"Name\":\"\",\"Protocol\":\"TCP\",\"AppProtocol\":null,\"Port\":80,\"TargetPort\":0,\"NodePort\":0}",
                ],
            ),
            (
                json!({"ports": [{"port": 80}], "sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 0}}}),
                vec![
                    "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be greater than 0 and less than 86400",
                ],
            ),
            (
                json!({"ports": [{"port": 80}], "externalIPs": ["x", "127.0.0.1"], "externalTrafficPolicy": "Cluster"}),
                vec![
                    "spec.externalIPs[0]: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
                    "spec.externalIPs[1]: Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)",
                ],
            ),
        ] {
            assert_eq!(said(&validate(&service(&spec))), expected, "{spec}");
        }
    }

    #[test]
    fn changes() {
        let old = service(
            &json!({"ports": [{"port": 80}], "clusterIP": "10.96.0.5", "clusterIPs": ["10.96.0.5"], "ipFamilies": ["IPv4"]}),
        );
        let mut moved = old.clone();
        moved["spec"]["clusterIP"] = json!("None");
        moved["spec"]["clusterIPs"] = json!(["None"]);
        assert_eq!(
            said(&(SERVICE.validate_update)(&moved, &old)),
            ["spec.clusterIPs[0]: Invalid value: [\"None\"]: may not change once set"]
        );
        let mut external = old.clone();
        external["spec"]["type"] = json!("ExternalName");
        external["spec"]["externalName"] = json!("x.y");
        (SERVICE.prepare_update)(&mut external, &old);
        assert!(external["spec"].get("clusterIP").is_none());
        assert_eq!(said(&(SERVICE.validate_update)(&external, &old)), Vec::<String>::new());
        let balanced = service(&json!({"type": "LoadBalancer", "ports": [{"port": 80}]}));
        let mut classed = balanced.clone();
        classed["spec"]["loadBalancerClass"] = json!("a.b/c");
        assert_eq!(
            said(&(SERVICE.validate_update)(&classed, &balanced)),
            ["spec.loadBalancerClass: Invalid value: \"a.b/c\": may not change once set"]
        );
    }
}
