//! What is allowed in pods but unwise.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::annotations;
use super::platform::containers;
use crate::builtin::format::label_value;
use crate::builtin::value::Fields as _;
use crate::fields::Path;
use crate::quantity::Quantity;

const OLD_LABELS: [(&str, &str); 8] = [
    ("beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
    ("beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
    ("node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead"),
];

const OLD_ANNOTATIONS: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
];

/// Volumes that are no more, with the name that is said.
const OLD_VOLUMES: [(&str, &str, &str); 8] = [
    (
        "photonPersistentDisk",
        "photonPersistentDisk",
        "deprecated in v1.11, non-functional in v1.16+",
    ),
    ("gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
];

/// The message for a label of nodes that has another name now.
pub fn old_label(key: &str) -> Option<&'static str> {
    OLD_LABELS.iter().find(|(old, _)| *old == key).map(|(_, message)| *message)
}

/// Warns of a pod or a template; `field` is empty for pods.
pub fn warnings(meta: &Value, spec: &Value, field: &Path) -> Vec<String> {
    let at = field.child("spec");
    let mut said = Vec::new();
    placement(spec, &at, &mut said);
    let annotations = meta.get_or_null("annotations");
    let noted = field.child("metadata").child("annotations");
    for (key, message) in OLD_ANNOTATIONS {
        if annotations.part(key).is_some() {
            said.push(format!("{}: {message}", noted.key(key)));
        }
    }
    volumes(spec, &at, &mut said);
    repeated(spec, &at, &mut said);
    for name in ["memory", "ephemeral-storage"] {
        let amount = spec.get_or_null("overhead").get_or_null(name);
        said.extend(fraction(amount, &at.child("overhead").key(name)));
    }
    said.extend(annotations::old_profiles(meta, spec, field));
    for (container, at) in containers(spec, &at) {
        let resources = container.get_or_null("resources");
        for name in ["memory", "ephemeral-storage"] {
            for list in ["limits", "requests"] {
                let amount = resources.get_or_null(list).get_or_null(name);
                said.extend(fraction(amount, &at.child("resources").child(list).key(name)));
            }
        }
        hidden_variables(container, &at, &mut said);
    }
    ports(spec, &at, &mut said);
    if spec.int("terminationGracePeriodSeconds") < 0 {
        said.push(format!(
            "{}: must be >= 0; negative values are invalid and will be treated as 1",
            at.child("terminationGracePeriodSeconds")
        ));
    }
    affinity_selectors(spec, &at.child("affinity"), &mut said);
    said
}

fn placement(spec: &Value, at: &Path, said: &mut Vec<String>) {
    for key in spec.entries("nodeSelector").into_iter().flat_map(|m| m.keys()) {
        if let Some(message) = old_label(key) {
            said.push(format!("{}: {message}", at.child("nodeSelector").key(key)));
        }
    }
    let node = spec.get_or_null("affinity").get_or_null("nodeAffinity");
    let field = at.child("affinity").child("nodeAffinity");
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let terms = node.get_or_null(required).list("nodeSelectorTerms");
    for (index, term) in terms.iter().enumerate() {
        let field = field.child(required).child("nodeSelectorTerms").index(index);
        node_term(term, false, &field, said);
    }
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    for (index, term) in node.list(preferred).iter().enumerate() {
        let field = field.child(preferred).index(index).child("preference");
        node_term(term.get_or_null("preference"), true, &field, said);
    }
    for (index, constraint) in spec.list("topologySpreadConstraints").iter().enumerate() {
        let field = at.child("topologySpreadConstraints").index(index);
        let key = constraint.text("topologyKey");
        if let Some(message) = old_label(key) {
            said.push(format!("{}: {key} is {message}", field.child("topologyKey")));
        }
        if constraint.part("labelSelector").is_none() {
            said.push(matches_nothing(&field.child("labelSelector")));
        }
    }
}

fn matches_nothing(field: &Path) -> String {
    format!("{field}: a null labelSelector results in matching no pod")
}

fn node_term(term: &Value, values: bool, field: &Path, said: &mut Vec<String>) {
    for (index, rule) in term.list("matchExpressions").iter().enumerate() {
        let field = field.child("matchExpressions").index(index);
        let key = rule.text("key");
        if let Some(message) = old_label(key) {
            said.push(format!("{}: {key} is {message}", field.child("key")));
        }
        for (number, value) in rule.list("values").iter().enumerate().filter(|_| values) {
            let value = value.as_str().unwrap_or_default();
            for message in label_value(value) {
                let at = field.child("values").index(number);
                said.push(format!("{at}: {value} is invalid, {message}"));
            }
        }
    }
}

fn volumes(spec: &Value, at: &Path, said: &mut Vec<String>) {
    for (index, volume) in spec.list("volumes").iter().enumerate() {
        let at = at.child("volumes").index(index);
        for (key, name, message) in OLD_VOLUMES {
            if key == "cephfs"
                && let Some(template) = volume.get_or_null("ephemeral").part("volumeClaimTemplate")
            {
                let at = at.child("ephemeral").child("volumeClaimTemplate").child("spec");
                said.extend(claim(template.get_or_null("spec"), &at));
            }
            if volume.part(key).is_some() {
                said.push(format!("{}: {message}", at.child(name)));
            }
        }
        if volume.part("rbd").is_some() {
            said.push(format!(
                "{}: deprecated in v1.28, non-functional in v1.31+",
                at.child("rbd")
            ));
        }
    }
    for volume in spec.list("volumes") {
        overlaps(volume, said);
    }
}

/// Warns of a claim whose size is not whole.
pub fn claim(spec: &Value, field: &Path) -> Vec<String> {
    let resources = spec.get_or_null("resources");
    ["requests", "limits"]
        .iter()
        .filter_map(|list| {
            let amount = resources.get_or_null(list).get_or_null("storage");
            fraction(amount, &field.child("resources").child(list).key("storage"))
        })
        .collect()
}

fn fraction(amount: &Value, field: &Path) -> Option<String> {
    let amount = Quantity::read(amount)?;
    (amount.milli_value() % 1000 != 0).then(|| {
        format!("{field}: fractional byte value \"{amount}\" is invalid, must be an integer")
    })
}

/// Files of one volume that lie on or in each other.
fn overlaps(volume: &Value, said: &mut Vec<String>) {
    let name = volume.text("name");
    for (key, kind, named) in [
        ("configMap", "ConfigMap", "name"),
        ("secret", "Secret", "secretName"),
        ("downwardAPI", "DownwardAPI", ""),
    ] {
        let source = volume.get_or_null(key);
        let mut seen = Vec::new();
        for item in source.list("items") {
            let described = if named.is_empty() {
                kind.to_owned()
            } else {
                format!("{kind} {:?}", source.text(named))
            };
            overlap(&mut seen, item.text("path"), "", |body| {
                said.push(format!("volume {name:?} ({described}): overlapping paths: {body}"));
            });
        }
    }
    let mut seen = Vec::new();
    for source in volume.get_or_null("projected").list("sources") {
        if source.as_object().is_some_and(serde_json::Map::is_empty) {
            said.push(format!("volume {name:?} (Projected) has no sources provided"));
        }
        let mut paths: Vec<(String, String)> = Vec::new();
        for (key, kind) in
            [("configMap", "ConfigMap"), ("secret", "Secret"), ("downwardAPI", "DownwardAPI")]
        {
            let part = source.get_or_null(key);
            let described = match key {
                "downwardAPI" => kind.to_owned(),
                _ => format!("{kind} {:?}", part.text("name")),
            };
            paths.extend(
                part.list("items").iter().map(|i| (i.text("path").to_owned(), described.clone())),
            );
        }
        if let Some(token) = source.part("serviceAccountToken") {
            paths.push((token.text("path").to_owned(), "ServiceAccountToken".to_owned()));
        }
        for (path, described) in paths {
            overlap(&mut seen, &path, &described, |body| {
                said.push(format!("volume {name:?} (Projected): overlapping paths: {body}"));
            });
        }
    }
}

fn overlap(
    seen: &mut Vec<(String, String)>,
    path: &str,
    source: &str,
    mut clash: impl FnMut(String),
) {
    let path = path.trim_end_matches('/');
    let shown = |path: &str, source: &str| {
        if source.is_empty() { format!("{path:?}") } else { format!("{path:?} ({source})") }
    };
    if !path.is_empty() {
        for (other, of) in seen.iter().filter(|(other, _)| !other.is_empty()) {
            let (a, b) = (format!("{path}/"), format!("{other}/"));
            if a.starts_with(&b) || b.starts_with(&a) {
                clash(format!("{} with {}", shown(path, source), shown(other, of)));
            }
        }
    }
    seen.push((path.to_owned(), source.to_owned()));
}

fn repeated(spec: &Value, at: &Path, said: &mut Vec<String>) {
    for (list, key, word) in [("hostAliases", "ip", "ip"), ("imagePullSecrets", "name", "name")] {
        let mut seen = BTreeSet::new();
        for (index, item) in spec.list(list).iter().enumerate() {
            let value = item.text(key);
            if !seen.insert(value) {
                let at = at.child(list).index(index).child(key);
                said.push(format!("{at}: duplicate {word} {value:?}"));
            }
        }
    }
    for (index, secret) in spec.list("imagePullSecrets").iter().enumerate() {
        if secret.text("name").is_empty() {
            let at = at.child("imagePullSecrets").index(index).child("name");
            said.push(format!("{at}: invalid empty name \"\""));
        }
    }
}

fn hidden_variables(container: &Value, at: &Path, said: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for (index, variable) in container.list("env").iter().enumerate() {
        let (name, value) = (variable.text("name"), variable.text("value"));
        if seen.insert(name) {
            continue;
        }
        let reference = format!("$({name})");
        let extends = variable.part("valueFrom").is_none()
            && value != reference
            && value.contains(&reference);
        if !extends {
            said.push(format!(
                "{}: hides previous definition of {name:?}, which may be dropped when using apply",
                at.child("env").index(index)
            ));
        }
    }
}

fn ports(spec: &Value, at: &Path, said: &mut Vec<String>) {
    let mut seen: BTreeMap<String, Vec<(Path, &Value)>> = BTreeMap::new();
    for (container, at) in containers(spec, at) {
        for (index, port) in container.list("ports").iter().enumerate() {
            let at = at.child("ports").index(index);
            let (address, host) = (port.text("hostIP"), port.int("hostPort"));
            if !address.is_empty() && host == 0 {
                said.push(format!(
                    "{at}: hostIP set without hostPort: {{Name:{} HostPort:{host} ContainerPort:{} Protocol:{} HostIP:{address}}}",
                    port.text("name"),
                    port.int("containerPort"),
                    port.text("protocol")
                ));
            }
            let key = format!("{}/{}", port.int("containerPort"), port.text("protocol"));
            let others = seen.entry(key).or_default();
            for (other_at, other) in others.iter() {
                let (other_address, other_host) = (other.text("hostIP"), other.int("hostPort"));
                let word = if address == other_address && host == other_host {
                    "duplicate"
                } else if host == 0 || other_host == 0 {
                    "overlapping"
                } else if host == other_host && address.is_empty() != other_address.is_empty() {
                    "dangerously ambiguous"
                } else {
                    continue;
                };
                said.push(format!("{at}: {word} port definition with {other_at}"));
            }
            others.push((at, port));
        }
    }
    let mut names: BTreeMap<&str, Path> = BTreeMap::new();
    for (container, at) in containers(spec, at) {
        for (index, port) in container.list("ports").iter().enumerate() {
            let (name, at) = (port.text("name"), at.child("ports").index(index));
            if name.is_empty() {
                continue;
            }
            if let Some(other) = names.get(name) {
                said.push(format!(
                    "{at}: duplicate port name {name:?} with {other}, services and probes that select ports by name will use {other}"
                ));
            } else {
                names.insert(name, at);
            }
        }
    }
}

fn affinity_selectors(spec: &Value, at: &Path, said: &mut Vec<String>) {
    let affinity = spec.get_or_null("affinity");
    for kind in ["podAffinity", "podAntiAffinity"] {
        let terms = affinity.get_or_null(kind);
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        for (index, term) in terms.list(required).iter().enumerate() {
            if term.part("labelSelector").is_none() {
                let at = at.child(kind).child(required).index(index);
                said.push(matches_nothing(&at.child("labelSelector")));
            }
        }
        let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
        for (index, term) in terms.list(preferred).iter().enumerate() {
            if term.get_or_null("podAffinityTerm").part("labelSelector").is_none() {
                let at = at.child(kind).child(preferred).index(index).child("podAffinityTerm");
                said.push(matches_nothing(&at.child("labelSelector")));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unwise_pods_are_warned_of() {
        let spec = json!({
            "nodeSelector": {"beta.kubernetes.io/os": "linux"},
            "volumes": [{"name": "v", "configMap": {"name": "m", "items": [{"key": "a", "path": "p"}, {"key": "b", "path": "p/q"}]}}],
            "containers": [{"name": "c",
                "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "$(A)2"}, {"name": "A", "value": "3"}],
                "ports": [{"name": "w", "containerPort": 80, "protocol": "TCP"}, {"name": "w", "containerPort": 80, "protocol": "TCP"}],
                "resources": {"limits": {"memory": "100m"}}}]
        });
        let said = warnings(&json!({}), &spec, &Path::root());
        assert_eq!(
            said,
            [
                "spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use \"kubernetes.io/os\" instead",
                "volume \"v\" (ConfigMap \"m\"): overlapping paths: \"p/q\" with \"p\"",
                "spec.containers[0].resources.limits[memory]: fractional byte value \"100m\" is invalid, must be an integer",
                "spec.containers[0].env[2]: hides previous definition of \"A\", which may be dropped when using apply",
                "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]",
                "spec.containers[0].ports[1]: duplicate port name \"w\" with spec.containers[0].ports[0], services and probes that select ports by name will use spec.containers[0].ports[0]",
            ]
        );
    }
}
