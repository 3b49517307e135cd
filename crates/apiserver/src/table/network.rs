//! Rows of what carries traffic.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::row::{Row, some_of};

/// Cells of a network kind; none if the kind is something else.
pub fn cells(kind: &str, row: &Row<'_>) -> Option<Vec<Value>> {
    Some(match kind {
        "Service" => service(row),
        "Endpoints" => vec![row.name(), json!(endpoints(row)), row.age()],
        "EndpointSlice" => vec![
            row.name(),
            json!(row.text("/addressType")),
            json!(slice_ports(row)),
            json!(slice_addresses(row)),
            row.age(),
        ],
        "Ingress" => vec![
            row.name(),
            json!(row.text_or("/spec/ingressClassName", "<none>")),
            json!(hosts(row)),
            json!(balanced(row)),
            json!(if row.count("/spec/tls") > 0 { "80, 443" } else { "80" }),
            row.age(),
        ],
        "IngressClass" => ingress_class(row),
        "NetworkPolicy" => vec![row.name(), row.selector("/spec/podSelector"), row.age()],
        "ServiceCIDR" => vec![row.name(), json!(row.joined("/spec/cidrs")), row.age()],
        "IPAddress" => vec![row.name(), parent(row), row.age()],
        _ => return None,
    })
}

fn service(row: &Row<'_>) -> Vec<Value> {
    let ports: Vec<String> = row
        .items("/spec/ports")
        .iter()
        .map(|port| {
            let protocol = port["protocol"].as_str().unwrap_or_default();
            match port["nodePort"].as_i64() {
                Some(node) if node > 0 => format!("{}:{node}/{protocol}", port["port"]),
                _ => format!("{}/{protocol}", port["port"]),
            }
        })
        .collect();
    let ports = if ports.is_empty() { "<none>".to_owned() } else { ports.join(",") };
    vec![
        row.name(),
        json!(row.text("/spec/type")),
        json!(row.text_or("/spec/clusterIPs/0", "<none>")),
        json!(external(row)),
        json!(ports),
        row.age(),
        row.labels("/spec/selector"),
    ]
}

fn external(row: &Row<'_>) -> String {
    let own = row.joined("/spec/externalIPs");
    match row.text("/spec/type") {
        "ClusterIP" | "NodePort" if own.is_empty() => "<none>".into(),
        "ClusterIP" | "NodePort" => own,
        "LoadBalancer" => match (balanced(row), own.as_str()) {
            (balanced, "") if balanced.is_empty() => "<pending>".into(),
            (balanced, "") => balanced,
            (balanced, own) if balanced.is_empty() => own.to_owned(),
            (balanced, own) => format!("{balanced},{own}"),
        },
        "ExternalName" => row.text("/spec/externalName").to_owned(),
        _ => "<unknown>".into(),
    }
}

/// Where a load balancer is.
fn balanced(row: &Row<'_>) -> String {
    let places: BTreeSet<&str> = row
        .items("/status/loadBalancer/ingress")
        .iter()
        .filter_map(|one| {
            let text = |field: &str| one[field].as_str().filter(|text| !text.is_empty());
            text("ip").or_else(|| text("hostname"))
        })
        .collect();
    places.into_iter().collect::<Vec<_>>().join(",")
}

fn endpoints(row: &Row<'_>) -> String {
    let subsets = row.items("/subsets");
    if subsets.is_empty() {
        return "<none>".into();
    }
    let mut all = Vec::new();
    for subset in subsets {
        let list = |field: &str| subset[field].as_array().into_iter().flatten();
        let addresses = || list("addresses").filter_map(|one| one["ip"].as_str());
        if list("ports").next().is_none() {
            all.extend(addresses().map(str::to_owned));
        }
        for port in list("ports") {
            all.extend(addresses().map(|ip| {
                if ip.contains(':') {
                    format!("[{ip}]:{}", port["port"])
                } else {
                    format!("{ip}:{}", port["port"])
                }
            }));
        }
    }
    some_of(&all, 3)
}

fn slice_ports(row: &Row<'_>) -> String {
    let all: Vec<String> = row
        .items("/ports")
        .iter()
        .map(|port| match (port["port"].as_i64(), port["name"].as_str()) {
            (Some(number), _) => number.to_string(),
            (None, Some(name)) => name.to_owned(),
            (None, None) => "*".to_owned(),
        })
        .collect();
    or_unset(some_of(&all, 3))
}

fn slice_addresses(row: &Row<'_>) -> String {
    let all: Vec<String> = row
        .items("/endpoints")
        .iter()
        .flat_map(|one| one["addresses"].as_array().into_iter().flatten())
        .filter_map(|address| address.as_str().map(str::to_owned))
        .collect();
    or_unset(some_of(&all, 3))
}

fn or_unset(text: String) -> String {
    if text.is_empty() { "<unset>".into() } else { text }
}

fn hosts(row: &Row<'_>) -> String {
    let rules = row.items("/spec/rules");
    let most = 3;
    let mut named = Vec::new();
    let mut more = false;
    for rule in rules {
        more |= named.len() == most;
        if let Some(host) = rule["host"].as_str().filter(|host| !host.is_empty() && !more) {
            named.push(host);
        }
    }
    match named.as_slice() {
        [] => "*".into(),
        named if more => format!("{} + {} more...", named.join(","), rules.len() - most),
        named => named.join(","),
    }
}

fn ingress_class(row: &Row<'_>) -> Vec<Value> {
    let chosen = row.text("/metadata/annotations/ingressclass.kubernetes.io~1is-default-class");
    let name = row.text("/metadata/name");
    let name = if chosen == "true" { format!("{name} (default)") } else { name.to_owned() };
    let parameters = if row.has("/spec/parameters") {
        let kind = row.text("/spec/parameters/kind");
        let group = match row.at("/spec/parameters/apiGroup").as_str() {
            Some(group) => format!(".{group}"),
            None => String::new(),
        };
        format!("{kind}{group}/{}", row.text("/spec/parameters/name"))
    } else {
        "<none>".into()
    };
    vec![json!(name), json!(row.text("/spec/controller")), json!(parameters), row.age()]
}

fn parent(row: &Row<'_>) -> Value {
    if !row.has("/spec/parentRef") {
        return json!("<none>");
    }
    let text = |field: &str| row.text(&format!("/spec/parentRef/{field}"));
    let mut shown = text("resource").to_owned();
    if !text("group").is_empty() {
        shown = format!("{shown}.{}", text("group"));
    }
    shown = shown.to_lowercase();
    if !text("namespace").is_empty() {
        shown = format!("{shown}/{}", text("namespace"));
    }
    json!(format!("{shown}/{}", text("name")))
}
