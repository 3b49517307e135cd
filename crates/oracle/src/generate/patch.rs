//! Patches of both forms, and what they are for.

use fastrand::Rng;

use super::object::{self, IMAGES, Known, NAMESPACES};
use super::yaml::{Style, Yaml, map};
use super::{chance, pick, scalar};

const WORKLOADS: [&str; 4] = ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"];

/// The name a patch uses: as it was or as it is.
fn called(rng: &mut Rng, known: &Known) -> String {
    if rng.bool() { known.name.clone() } else { known.now.clone() }
}

/// A strategic-merge patch for the object.
pub fn merge(rng: &mut Rng, known: &Known) -> Yaml {
    let mut metadata = map([("name", called(rng, known).into())]);
    if let Some(namespace) = &known.namespace
        && chance(rng, 85)
    {
        metadata.set("namespace", namespace.as_str().into());
    }
    let mut patch = map([("apiVersion", known.api_version.into()), ("kind", known.kind.into())]);
    if chance(rng, 4) {
        patch.set("metadata", metadata);
        patch.set("$patch", "delete".into());
        return patch;
    }
    if chance(rng, 25) {
        let mut labels = map([("patched", "'true'".into())]);
        if chance(rng, 30) {
            labels.set("app", "null".into());
        }
        metadata.set("labels", labels);
    }
    if chance(rng, 20) {
        metadata.set("annotations", map([("example.com/a", scalar::text(rng))]));
    }
    if chance(rng, 5) {
        let list = vec!["example.com/b".into(), "example.com/c".into()];
        let field = *pick(
            rng,
            &["finalizers", "$deleteFromPrimitiveList/finalizers", "$setElementOrder/finalizers"],
        );
        metadata.set(field, list.into());
    }
    patch.set("metadata", metadata);
    match known.kind {
        kind if WORKLOADS.contains(&kind) => {
            let mut spec = map([("template", map([("spec", pod(rng))]))]);
            if chance(rng, 25) && kind != "DaemonSet" {
                spec.set("replicas", format!("{}", rng.u32(..9)).into());
            }
            if chance(rng, 6) {
                spec.set(
                    "strategy",
                    map([("$retainKeys", vec!["type".into()].into()), ("type", "Recreate".into())]),
                );
            }
            patch.set("spec", spec);
        }
        "Pod" => patch.set("spec", pod(rng)),
        "Service" => {
            let mut port = map([("port", (*pick(rng, &["80", "443", "53"])).into())]);
            port.set("targetPort", "9000".into());
            if chance(rng, 40) {
                port.set("protocol", (*pick(rng, &["TCP", "UDP"])).into());
            }
            if chance(rng, 20) {
                port.set("$patch", "delete".into());
            }
            patch.set("spec", map([("ports", vec![port].into())]));
        }
        "ConfigMap" => {
            let mut data = map([("one", scalar::text(rng)), ("new", scalar::some(rng))]);
            if chance(rng, 40) {
                data.set("two", "null".into());
            }
            if chance(rng, 10) {
                data.set("$patch", "replace".into());
            }
            patch.set("data", data);
        }
        "Secret" => patch.set("stringData", map([("token", scalar::text(rng))])),
        "Namespace" | "ServiceAccount" | "PersistentVolumeClaim" => {
            patch.field("metadata").set("annotations", map([("zone", "a".into())]));
        }
        "ClusterRoleBinding" | "RoleBinding" => {
            let subject = map([("kind", "User".into()), ("name", "ann".into())]);
            patch.set("subjects", vec![subject].into());
        }
        _ => {
            let mut spec = object::free(rng, 2);
            if !matches!(spec, Yaml::Mapping(_)) {
                spec = map([("size", "5".into())]);
            }
            if chance(rng, 15) {
                spec.set("configRef", "null".into());
            }
            if chance(rng, 8) {
                spec.set("$patch", (*pick(rng, &["replace", "merge", "delete"])).into());
            }
            patch.set("spec", spec);
        }
    }
    patch
}

fn pod(rng: &mut Rng) -> Yaml {
    let mut spec = Yaml::Mapping(Vec::new());
    if chance(rng, 75) {
        let mut containers = Vec::new();
        for name in ["main", "side", "extra"] {
            if !chance(rng, 45) {
                continue;
            }
            let mut container = map([("name", name.into())]);
            if chance(rng, 40) {
                container.set("image", (*pick(rng, &IMAGES)).into());
            }
            if chance(rng, 30) {
                let mut variable = map([("name", (*pick(rng, &["E0", "E1", "NEW"])).into())]);
                match rng.u32(..4) {
                    0 => variable.set("$patch", "delete".into()),
                    1 => {
                        variable.set("value", "null".into());
                        let reference = map([("name", "web".into()), ("key", "k".into())]);
                        variable.set("valueFrom", map([("secretKeyRef", reference)]));
                    }
                    _ => variable.set("value", scalar::text(rng)),
                }
                container.set("env", vec![variable].into());
            }
            if chance(rng, 25) {
                let mut port = map([("containerPort", (*pick(rng, &["8080", "9090"])).into())]);
                if chance(rng, 40) {
                    port.set("protocol", (*pick(rng, &["UDP", "TCP"])).into());
                }
                port.set("name", "p".into());
                container.set("ports", vec![port].into());
            }
            if chance(rng, 20) {
                container.set(
                    "resources",
                    map([("limits", map([("cpu", (*pick(rng, &["null", "2", "'2'"])).into())]))]),
                );
            }
            if chance(rng, 20) {
                container.set("args", vec![scalar::text(rng), "--x".into()].into());
            }
            if chance(rng, 8) {
                container.set("$patch", (*pick(rng, &["delete", "replace"])).into());
            }
            containers.push(container);
        }
        if chance(rng, 4) {
            containers.push(map([("$patch", "replace".into())]));
        }
        if chance(rng, 4) {
            let order = vec![map([("name", "side".into())]), map([("name", "main".into())])];
            spec.set("$setElementOrder/containers", order.into());
        }
        spec.set("containers", containers.into());
    }
    if chance(rng, 25) {
        let mut volume = map([("name", (*pick(rng, &["vol0", "vol1", "more"])).into())]);
        match rng.u32(..3) {
            0 => volume.set("$patch", "delete".into()),
            1 => {
                volume.set("configMap", "null".into());
                volume.set("emptyDir", map([]));
            }
            _ => volume.set("configMap", map([("name", object::name(rng).into())])),
        }
        spec.set("volumes", vec![volume].into());
    }
    if chance(rng, 15) {
        spec.set("nodeSelector", map([("disk", "ssd".into())]));
    }
    if chance(rng, 10) {
        spec.set("serviceAccountName", (*pick(rng, &["web", "null"])).into());
    }
    if chance(rng, 10) {
        spec.set("tolerations", vec![map([("key", "z".into())])].into());
    }
    spec
}

/// JSON 6902 operations for the object; one in fifteen is for another kind.
pub fn operations(rng: &mut Rng, kind: &str) -> Yaml {
    let workload = WORKLOADS.contains(&kind);
    let pod = if workload { "/spec/template/spec" } else { "/spec" };
    let careless = chance(rng, 7);
    let mut operations = Vec::new();
    if chance(rng, 60) {
        let labels = map([("six", "'6'".into()), ("seven", scalar::text(rng))]);
        operations.push(operation("add", "/metadata/labels", Some(labels)));
        if chance(rng, 30) {
            let path = *pick(rng, &["/metadata/labels/example.com~1x", "/metadata/labels/~0y"]);
            operations.push(operation("add", path, Some("y".into())));
        }
        if chance(rng, 20) {
            operations.push(operation("remove", "/metadata/labels/six", None));
        }
    }
    for _ in 0..rng.usize(0..3) {
        let has_pod = careless || workload || kind == "Pod";
        let made = match rng.u32(..12) {
            0 => operation("add", "/metadata/annotations", Some(map([("a~b", scalar::text(rng))]))),
            1 if chance(rng, 30) => operation("replace", "/metadata/name", Some("renamed".into())),
            2 if careless || matches!(kind, "Deployment" | "StatefulSet") => {
                operation("add", "/spec/replicas", Some("7".into()))
            }
            3 if has_pod => {
                operation("replace", &format!("{pod}/containers/0/image"), Some("nginx:9".into()))
            }
            4 if has_pod => {
                let container = object::container(rng, "json");
                let place = *pick(rng, &["-", "0", "1"]);
                operation("add", &format!("{pod}/containers/{place}"), Some(container))
            }
            5 if has_pod => {
                let variables = vec![map([("name", "X".into()), ("value", scalar::some(rng))])];
                operation("add", &format!("{pod}/containers/0/env"), Some(variables.into()))
            }
            6 if careless => operation("remove", &format!("{pod}/containers/0"), None),
            7 if matches!(kind, "ConfigMap" | "Secret") => {
                operation("add", "/data", Some(map([("k", scalar::some(rng))])))
            }
            8 => operation("test", "/kind", Some(kind.into())),
            9 if careless || matches!(kind, "Widget" | "Service" | "HelmRelease") => {
                operation("add", "/spec/extra", Some(object::free(rng, 2)))
            }
            10 if careless => operation("remove", "/metadata/labels", None),
            _ => operation("add", "/status", Some(map([]))),
        };
        operations.push(made);
    }
    if operations.is_empty() || chance(rng, 8) {
        let mut copied = operation("copy", "/metadata/generateName", None);
        copied.set("from", "/kind".into());
        operations.push(copied);
    }
    operations.into()
}

fn operation(op: &str, path: &str, value: Option<Yaml>) -> Yaml {
    let mut operation = map([("op", op.into()), ("path", path.into())]);
    if let Some(value) = value {
        operation.set("value", value);
    }
    operation
}

/// Operations as JSON, which is a form of them as well.
pub fn json(value: &Yaml) -> String {
    match value {
        Yaml::List(items) => {
            format!("[{}]", items.iter().map(json).collect::<Vec<_>>().join(",\n "))
        }
        Yaml::Mapping(entries) => {
            let inner: Vec<String> = entries
                .iter()
                .map(|(key, value)| {
                    format!("\"{}\": {}", key.trim_matches(['"', '\'']), json(value))
                })
                .collect();
            format!("{{{}}}", inner.join(", "))
        }
        Yaml::Scalar(text) => {
            let text = text.trim_matches(['"', '\'']);
            if text.parse::<i64>().is_ok() || text == "true" || text == "null" {
                text.to_owned()
            } else {
                serde_json::Value::from(text).to_string()
            }
        }
        Yaml::Block(_, lines) => serde_json::Value::from(lines.join("\n")).to_string(),
        Yaml::Anchor(_, inner) => json(inner),
    }
}

/// A selector that finds the object, or sometimes not.
pub fn target(rng: &mut Rng, known: &Known) -> Yaml {
    let mut target = Yaml::Mapping(Vec::new());
    if chance(rng, 80) {
        target.set("kind", known.kind.into());
    }
    if chance(rng, 40) {
        let name = called(rng, known);
        let name = match rng.u32(..6) {
            0 => ".*".to_owned(),
            1 => format!("{}.*", &name[..1]),
            2 => format!("({name}|other)"),
            3 => format!("^{name}$"),
            _ => name,
        };
        target.set("name", name.into());
    }
    if chance(rng, 15) {
        let (group, version) = known.api_version.split_once('/').unwrap_or(("", known.api_version));
        target.set("version", version.into());
        if !group.is_empty() {
            target.set("group", group.into());
        }
    }
    if chance(rng, 10) {
        target.set(
            "labelSelector",
            (*pick(rng, &["app=web", "app in (web, api)", "!tier", "tier=front"])).into(),
        );
    }
    if chance(rng, 6) {
        target.set("annotationSelector", (*pick(rng, &["zz", "note!=x", "a=b"])).into());
    }
    if chance(rng, 6) {
        target.set("namespace", (*pick(rng, &NAMESPACES)).into());
    }
    if matches!(&target, Yaml::Mapping(entries) if entries.is_empty()) {
        target.set("kind", known.kind.into());
    }
    target
}

/// A text as a block, to stand in a kustomization.
pub fn inline(rng: &mut Rng, value: &Yaml) -> Yaml {
    let text = Style::some(rng).write(rng, value);
    let header = *pick(rng, &["|-", "|", "|"]);
    Yaml::Block(header, text.lines().map(str::to_owned).collect())
}
