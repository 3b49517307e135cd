//! Rows of configuration, nodes, events, rights and the server's own kinds.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::row::{Row, quantity};
use super::workloads::seconds;

/// Cells of a kind; none if the kind has no columns of its own.
pub fn cells(kind: &str, row: &Row<'_>) -> Option<Vec<Value>> {
    Some(match kind {
        "ConfigMap" => {
            vec![row.name(), json!(row.count("/data") + row.count("/binaryData")), row.age()]
        }
        "Secret" => {
            vec![row.name(), json!(row.text("/type")), json!(row.count("/data")), row.age()]
        }
        "ServiceAccount" | "DeviceClass" | "ResourceClaimTemplate" => vec![row.name(), row.age()],
        "Namespace" => vec![row.name(), json!(row.text("/status/phase")), row.age()],
        "Node" => node(row),
        "Event" => event(row),
        "ResourceQuota" => resource_quota(row),
        "RoleBinding" | "ClusterRoleBinding" => binding(row),
        "Lease" => vec![row.name(), json!(row.text("/spec/holderIdentity")), row.age()],
        "RuntimeClass" => vec![row.name(), json!(row.text("/handler")), row.age()],
        "PriorityClass" => vec![
            row.name(),
            json!(row.number("/value")),
            json!(row.flag("/globalDefault")),
            row.age(),
            json!(row.text("/preemptionPolicy")),
        ],
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
            vec![row.name(), json!(row.count("/webhooks")), row.age()]
        }
        "ValidatingAdmissionPolicy" => policy(row, "/spec/validations"),
        "MutatingAdmissionPolicy" => policy(row, "/spec/mutations"),
        "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding" => {
            vec![row.name(), json!(row.text("/spec/policyName")), json!(parameter(row)), row.age()]
        }
        "CertificateSigningRequest" => certificate(row),
        "APIService" => api_service(row),
        "ResourceClaim" => vec![row.name(), json!(claim_state(row)), row.age()],
        "ResourceSlice" => vec![
            row.name(),
            json!(row.text("/spec/nodeName")),
            json!(row.text("/spec/driver")),
            json!(row.text("/spec/pool/name")),
            row.age(),
        ],
        "FlowSchema" => flow_schema(row),
        "PriorityLevelConfiguration" => priority_level(row),
        "ComponentStatus" => component(row),
        _ => return None,
    })
}

fn node(row: &Row<'_>) -> Vec<Value> {
    let ready = row.items("/status/conditions").iter().rfind(|one| one["type"] == "Ready");
    let mut status = match ready {
        Some(one) if one["status"] == "True" => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if row.flag("/spec/unschedulable") {
        status.push_str(",SchedulingDisabled");
    }
    let mut roles = BTreeSet::new();
    for (key, value) in row.at("/metadata/labels").as_object().into_iter().flatten() {
        match (key.strip_prefix("node-role.kubernetes.io/"), value.as_str()) {
            (Some(role), _) if !role.is_empty() => drop(roles.insert(role)),
            (None, Some(role)) if key == "kubernetes.io/role" && !role.is_empty() => {
                roles.insert(role);
            }
            _ => {}
        }
    }
    let roles: Vec<&str> = roles.into_iter().collect();
    let roles = if roles.is_empty() { "<none>".to_owned() } else { roles.join(",") };
    let address = |kind: &str| {
        let found = row.items("/status/addresses").iter().find(|one| one["type"] == kind);
        json!(found.and_then(|one| one["address"].as_str()).unwrap_or("<none>"))
    };
    let info = |field: &str| match row.text(&format!("/status/nodeInfo/{field}")) {
        "" => "<unknown>",
        text => text,
    };
    let kernel = match row.text("/status/nodeInfo/architecture") {
        "" => info("kernelVersion").to_owned(),
        architecture => format!("{} ({architecture})", info("kernelVersion")),
    };
    vec![
        row.name(),
        json!(status),
        json!(roles),
        row.age(),
        json!(row.text("/status/nodeInfo/kubeletVersion")),
        address("InternalIP"),
        address("ExternalIP"),
        json!(info("osImage")),
        json!(kernel),
        json!(info("containerRuntimeVersion")),
    ]
}

fn event(row: &Row<'_>) -> Vec<Value> {
    let first = if row.has("/firstTimestamp") {
        row.since("/firstTimestamp")
    } else {
        row.since("/eventTime")
    };
    let (last, count) = if row.has("/series") {
        (row.since("/series/lastObservedTime"), row.number("/series/count"))
    } else {
        let last =
            if row.has("/lastTimestamp") { row.since("/lastTimestamp") } else { first.clone() };
        (last, row.number("/count").max(1))
    };
    let kind = row.text("/involvedObject/kind").to_lowercase();
    let object = match row.text("/involvedObject/name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let either = |one: &str, other: &str| match row.text(one) {
        "" => row.text(other).to_owned(),
        text => text.to_owned(),
    };
    let mut source = either("/source/component", "/reportingComponent");
    let host = either("/source/host", "/reportingInstance");
    if !host.is_empty() {
        source = format!("{source}, {host}");
    }
    vec![
        json!(last),
        json!(row.text("/type")),
        json!(row.text("/reason")),
        json!(object),
        json!(row.text("/involvedObject/fieldPath")),
        json!(source),
        json!(row.text("/message").trim()),
        json!(first),
        json!(count),
        row.name(),
    ]
}

fn resource_quota(row: &Row<'_>) -> Vec<Value> {
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    for (resource, hard) in row.at("/status/hard").as_object().into_iter().flatten() {
        let used = &row.at("/status/used")[resource];
        let text = format!("{resource}: {}/{}", quantity(used), quantity(hard));
        if resource.starts_with("limits.") { limits.push(text) } else { requests.push(text) }
    }
    vec![row.name(), json!(requests.join(", ")), json!(limits.join(", ")), row.age()]
}

fn binding(row: &Row<'_>) -> Vec<Value> {
    let (mut users, mut groups, mut accounts) = (Vec::new(), Vec::new(), Vec::new());
    for subject in row.items("/subjects") {
        let text = |field: &str| subject[field].as_str().unwrap_or_default();
        match text("kind") {
            "User" => users.push(text("name").to_owned()),
            "Group" => groups.push(text("name").to_owned()),
            "ServiceAccount" if text("namespace").is_empty() => {
                accounts.push(text("name").to_owned());
            }
            "ServiceAccount" => accounts.push(format!("{}/{}", text("namespace"), text("name"))),
            _ => {}
        }
    }
    vec![
        row.name(),
        json!(format!("{}/{}", row.text("/roleRef/kind"), row.text("/roleRef/name"))),
        row.age(),
        json!(users.join(", ")),
        json!(groups.join(", ")),
        json!(accounts.join(", ")),
    ]
}

fn policy(row: &Row<'_>, rules: &str) -> Vec<Value> {
    let parameter = if row.has("/spec/paramKind") {
        format!("{}/{}", row.text("/spec/paramKind/apiVersion"), row.text("/spec/paramKind/kind"))
    } else {
        "<unset>".into()
    };
    vec![row.name(), json!(row.count(rules)), json!(parameter), row.age()]
}

fn parameter(row: &Row<'_>) -> String {
    let (name, namespace) = (row.text("/spec/paramRef/name"), row.text("/spec/paramRef/namespace"));
    match (name, namespace) {
        ("", _) if row.has("/spec/paramRef/selector") => go_selector(row),
        ("", _) => "<unset>".into(),
        (name, "") => format!("*/{name}"),
        (name, namespace) => format!("{namespace}/{name}"),
    }
}

/// A label selector as Go prints the structure; the server does so here, and only here.
fn go_selector(row: &Row<'_>) -> String {
    let labels = row.at("/spec/paramRef/selector/matchLabels").as_object();
    let labels: Vec<String> = labels
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}: {},", value.as_str().unwrap_or_default()))
        .collect();
    let labels = labels.concat();
    let expressions: Vec<String> = row
        .items("/spec/paramRef/selector/matchExpressions")
        .iter()
        .map(|one| {
            let text = |field: &str| one[field].as_str().unwrap_or_default();
            let values = one["values"].as_array().map(Vec::as_slice).unwrap_or_default();
            let values: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            format!(
                "LabelSelectorRequirement{{Key:{},Operator:{},Values:[{}],}},",
                text("key"),
                text("operator"),
                values.join(" ")
            )
        })
        .collect();
    let expressions = expressions.concat();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
}

fn certificate(row: &Row<'_>) -> Vec<Value> {
    let said = |kind: &str| row.items("/status/conditions").iter().any(|one| one["type"] == kind);
    let mut status = if said("Denied") {
        "Denied"
    } else if said("Approved") {
        "Approved"
    } else {
        "Pending"
    }
    .to_owned();
    if said("Failed") {
        status.push_str(",Failed");
    }
    if !row.text("/status/certificate").is_empty() {
        status.push_str(",Issued");
    }
    let duration = seconds(row.at("/spec/expirationSeconds")).unwrap_or_else(|| "<none>".into());
    vec![
        row.name(),
        row.age(),
        json!(row.text_or("/spec/signerName", "<none>")),
        json!(row.text("/spec/username")),
        json!(duration),
        json!(status),
    ]
}

fn api_service(row: &Row<'_>) -> Vec<Value> {
    let service = if row.has("/spec/service") {
        format!("{}/{}", row.text("/spec/service/namespace"), row.text("/spec/service/name"))
    } else {
        "Local".into()
    };
    let found = row.items("/status/conditions").iter().find(|one| one["type"] == "Available");
    let available = match found {
        None => "Unknown".to_owned(),
        Some(one) if one["status"] == "True" => "True".to_owned(),
        Some(one) => format!(
            "{} ({})",
            one["status"].as_str().unwrap_or_default(),
            one["reason"].as_str().unwrap_or_default()
        ),
    };
    vec![row.name(), json!(service), json!(available), row.age()]
}

fn claim_state(row: &Row<'_>) -> String {
    let deleted = row.has("/metadata/deletionTimestamp");
    let mut states = Vec::new();
    if deleted {
        states.push("deleted");
    }
    if row.has("/status/allocation") {
        states.push("allocated");
        if row.count("/status/reservedFor") > 0 {
            states.push("reserved");
        }
    } else if !deleted {
        states.push("pending");
    }
    states.join(",")
}

fn flow_schema(row: &Row<'_>) -> Vec<Value> {
    let dangling = row.items("/status/conditions").iter().find(|one| one["type"] == "Dangling");
    vec![
        row.name(),
        json!(row.text("/spec/priorityLevelConfiguration/name")),
        json!(row.number("/spec/matchingPrecedence")),
        json!(row.text_or("/spec/distinguisherMethod/type", "<none>")),
        row.age(),
        json!(dangling.and_then(|one| one["status"].as_str()).unwrap_or("?")),
    ]
}

fn priority_level(row: &Row<'_>) -> Vec<Value> {
    let number = |pointer: &str| match row.at(pointer) {
        Value::Null => json!("<none>"),
        number => number.clone(),
    };
    vec![
        row.name(),
        json!(row.text("/spec/type")),
        number("/spec/limited/nominalConcurrencyShares"),
        number("/spec/limited/limitResponse/queuing/queues"),
        number("/spec/limited/limitResponse/queuing/handSize"),
        number("/spec/limited/limitResponse/queuing/queueLengthLimit"),
        row.age(),
    ]
}

fn component(row: &Row<'_>) -> Vec<Value> {
    let found = row.items("/conditions").iter().find(|one| one["type"] == "Healthy");
    let Some(healthy) = found else {
        return vec![row.name(), json!("Unknown"), json!(""), json!("")];
    };
    let status = if healthy["status"] == "True" { "Healthy" } else { "Unhealthy" };
    let text = |field: &str| json!(healthy[field].as_str().unwrap_or_default());
    vec![row.name(), json!(status), text("message"), text("error")]
}
