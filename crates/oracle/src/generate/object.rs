//! Objects of many kinds that refer to each other.

use fastrand::Rng;

use super::yaml::{Yaml, map};
use super::{chance, pick, scalar};

/// An object that patches and selectors can name.
#[derive(Clone, Debug)]
pub struct Known {
    /// `apps/v1`.
    pub api_version: &'static str,
    /// `Deployment`.
    pub kind: &'static str,
    /// As it was written.
    pub name: String,
    /// With the prefixes and suffixes so far.
    pub now: String,
    /// As it was written.
    pub namespace: Option<String>,
}

/// Kinds with a weight.
const KINDS: &[(&str, &str, u32)] = &[
    ("apps/v1", "Deployment", 12),
    ("apps/v1", "StatefulSet", 6),
    ("apps/v1", "DaemonSet", 2),
    ("apps/v1", "ReplicaSet", 1),
    ("v1", "Pod", 3),
    ("batch/v1", "Job", 2),
    ("batch/v1", "CronJob", 3),
    ("batch/v1beta1", "CronJob", 1),
    ("v1", "Service", 8),
    ("v1", "ConfigMap", 10),
    ("v1", "Secret", 5),
    ("v1", "ServiceAccount", 4),
    ("v1", "PersistentVolumeClaim", 4),
    ("v1", "PersistentVolume", 1),
    ("v1", "Namespace", 3),
    ("networking.k8s.io/v1", "Ingress", 4),
    ("networking.k8s.io/v1beta1", "Ingress", 1),
    ("networking.k8s.io/v1", "NetworkPolicy", 2),
    ("rbac.authorization.k8s.io/v1", "Role", 2),
    ("rbac.authorization.k8s.io/v1", "RoleBinding", 3),
    ("rbac.authorization.k8s.io/v1", "ClusterRole", 2),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", 3),
    ("autoscaling/v2", "HorizontalPodAutoscaler", 2),
    ("autoscaling/v1", "HorizontalPodAutoscaler", 1),
    ("policy/v1", "PodDisruptionBudget", 2),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition", 2),
    ("apiregistration.k8s.io/v1", "APIService", 1),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", 2),
    ("storage.k8s.io/v1", "StorageClass", 1),
    ("example.com/v1", "Widget", 6),
    ("example.com/v1alpha1", "Gadget", 2),
    ("helm.toolkit.fluxcd.io/v2", "HelmRelease", 3),
    ("kustomize.toolkit.fluxcd.io/v1", "Kustomization", 2),
    ("monitoring.coreos.com/v1", "ServiceMonitor", 1),
];

/// Names that objects share, so that references find something.
pub const NAMES: [&str; 6] = ["web", "api", "db", "settings", "web-config", "keys"];
/// Namespaces.
pub const NAMESPACES: [&str; 4] = ["default", "prod", "one", "two"];
/// Images.
pub const IMAGES: [&str; 10] = [
    "nginx",
    "nginx:1.7.9",
    "redis:6",
    "registry.example.com:5000/team/app:v1",
    "registry.example.com/app",
    "app@sha256:24a0c4b4a4c0eb97a1aabb8e29f18e917d05abfe1b7a7c07857230879ce7d3d3",
    "app:1.0@sha256:24a0c4b4a4c0eb97a1aabb8e29f18e917d05abfe1b7a7c07857230879ce7d3d3",
    "busybox:latest",
    "docker.io/library/nginx:1",
    "web",
];

/// One of the shared names.
pub fn name(rng: &mut Rng) -> String {
    (*pick(rng, &NAMES)).to_owned()
}

/// Some object.
pub fn some(rng: &mut Rng) -> (Known, Yaml) {
    let total: u32 = KINDS.iter().map(|(_, _, weight)| weight).sum();
    let mut at = rng.u32(..total);
    let mut chosen = KINDS[0];
    for kind in KINDS {
        if at < kind.2 {
            chosen = *kind;
            break;
        }
        at -= kind.2;
    }
    of(rng, chosen.0, chosen.1)
}

/// An object of a kind.
pub fn of(rng: &mut Rng, api_version: &'static str, kind: &'static str) -> (Known, Yaml) {
    let name = match kind {
        "CustomResourceDefinition" => "widgets.example.com".to_owned(),
        "APIService" => "v1.example.com".to_owned(),
        _ => self::name(rng),
    };
    let namespace = chance(rng, 25).then(|| (*pick(rng, &NAMESPACES)).to_owned());
    let mut metadata = map([("name", written(rng, &name))]);
    if let Some(namespace) = &namespace {
        metadata.set("namespace", namespace.as_str().into());
    }
    if chance(rng, 40) {
        metadata.set("labels", labels(rng, &name));
    }
    if chance(rng, 30) {
        metadata.set("annotations", annotations(rng));
    }
    if chance(rng, 4) {
        odd_metadata(rng, &mut metadata);
    }
    let mut object = map([("apiVersion", api_version.into()), ("kind", kind.into())]);
    if chance(rng, 15) {
        // Not everybody begins with the kind.
        object = Yaml::Mapping(Vec::new());
        object.set("kind", kind.into());
        object.set("metadata", metadata);
        object.set("apiVersion", api_version.into());
    } else {
        object.set("metadata", metadata);
    }
    body(rng, kind, &name, &mut object);
    let known = Known { api_version, kind, now: name.clone(), name, namespace };
    (known, object)
}

/// What an API server would refuse, and kustomize may not.
fn odd_metadata(rng: &mut Rng, metadata: &mut Yaml) {
    match rng.u32(..12) {
        0 => metadata.set("labels", "null".into()),
        1 => metadata.set("annotations", map([])),
        2 => metadata.set("labels", map([("number", "1".into()), ("flag", "true".into())])),
        3 => metadata.set("annotations", map([("empty", "".into()), ("n", "1.50".into())])),
        4 => metadata.set("name", "123".into()),
        5 => metadata.set("namespace", "''".into()),
        6 => metadata.set("creationTimestamp", "null".into()),
        7 => metadata.set("generateName", "made-".into()),
        8 => {
            metadata.set("finalizers", vec!["example.com/a".into(), "example.com/b".into()].into());
        }
        9 => {
            let owner = map([
                ("apiVersion", "apps/v1".into()),
                ("kind", "Deployment".into()),
                ("name", name(rng).into()),
                ("uid", "1234".into()),
            ]);
            metadata.set("ownerReferences", vec![owner].into());
        }
        10 => metadata
            .set("annotations", map([("config.kubernetes.io/local-config", "'true'".into())])),
        _ => metadata.set("labels", map([("app", "''".into())])),
    }
}

/// A name, sometimes in quotes.
fn written(rng: &mut Rng, name: &str) -> Yaml {
    match rng.u32(..12) {
        0 => format!("\"{name}\"").into(),
        1 => format!("'{name}'").into(),
        _ => name.into(),
    }
}

fn labels(rng: &mut Rng, name: &str) -> Yaml {
    let mut labels = map([("app", name.into())]);
    if chance(rng, 40) {
        labels.set("tier", (*pick(rng, &["front", "back", "'1'", "\"true\""])).into());
    }
    labels
}

fn annotations(rng: &mut Rng) -> Yaml {
    let mut entries = Vec::new();
    for _ in 0..rng.usize(1..4) {
        const KEYS: [&str; 7] = [
            "note",
            "example.com/a",
            "example.com/b.c",
            "zz",
            "'quoted'",
            "prometheus.io/port",
            "a",
        ];
        let key = *pick(rng, &KEYS);
        if !entries.iter().any(|(name, _): &(String, Yaml)| name == key) {
            entries.push((key.to_owned(), scalar::text(rng)));
        }
    }
    Yaml::Mapping(entries)
}

fn body(rng: &mut Rng, kind: &str, name: &str, object: &mut Yaml) {
    match kind {
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" => {
            let mut spec = Yaml::Mapping(Vec::new());
            if kind != "DaemonSet" && chance(rng, 70) {
                spec.set("replicas", format!("{}", rng.u32(0..5)).into());
            }
            let labels = labels(rng, name);
            if chance(rng, 8) {
                spec.set("selector", map([("matchLabels", anchor("labels", labels))]));
                let mut template = template(rng, name);
                template.field("metadata").set("labels", "*labels".into());
                spec.set("template", template);
            } else {
                spec.set("selector", map([("matchLabels", labels)]));
                spec.set("template", template(rng, name));
            }
            if kind == "StatefulSet" {
                spec.set("serviceName", self::name(rng).into());
                if chance(rng, 60) {
                    let mut claim =
                        map([("metadata", map([("name", "state".into())])), ("spec", claim(rng))]);
                    if chance(rng, 20) {
                        claim.set("kind", "PersistentVolumeClaim".into());
                    }
                    spec.set("volumeClaimTemplates", vec![claim].into());
                }
            }
            object.set("spec", spec);
        }
        "Pod" => object.set("spec", pod(rng)),
        "Job" => {
            object.set(
                "spec",
                map([("template", template(rng, name)), ("backoffLimit", "3".into())]),
            );
        }
        "CronJob" => {
            let job = map([("spec", map([("template", template(rng, name))]))]);
            object.set("spec", map([("schedule", "\"*/5 * * * *\"".into()), ("jobTemplate", job)]));
        }
        "Service" => {
            let mut ports = vec![map([("port", "80".into()), ("targetPort", "http".into())])];
            if chance(rng, 40) {
                ports.push(map([
                    ("name", "dns".into()),
                    ("port", "53".into()),
                    ("protocol", "UDP".into()),
                ]));
            }
            let mut spec = map([("selector", labels(rng, name)), ("ports", ports.into())]);
            if chance(rng, 20) {
                spec.set("type", "ClusterIP".into());
                spec.set("clusterIP", "None".into());
            }
            object.set("spec", spec);
        }
        "ConfigMap" => {
            object.set("data", data(rng));
            if chance(rng, 10) {
                object.set("binaryData", map([("blob", "aGVsbG8=".into())]));
            }
            if chance(rng, 8) {
                object.set("immutable", "true".into());
            }
        }
        "Secret" => {
            object.set("type", "Opaque".into());
            if chance(rng, 50) {
                object.set("data", map([("password", "c2VjcmV0".into()), ("empty", "''".into())]));
            } else {
                object.set("stringData", data(rng));
            }
        }
        "ServiceAccount" => {
            if chance(rng, 40) {
                let secret = map([("name", self::name(rng).into())]);
                object.set("imagePullSecrets", vec![secret].into());
            }
        }
        "PersistentVolumeClaim" => object.set("spec", claim(rng)),
        "PersistentVolume" => {
            let reference = map([("name", self::name(rng).into()), ("namespace", "prod".into())]);
            object.set(
                "spec",
                map([("capacity", map([("storage", "1Gi".into())])), ("claimRef", reference)]),
            );
        }
        "Ingress" => {
            let service =
                map([("name", self::name(rng).into()), ("port", map([("number", "80".into())]))]);
            let path = map([
                ("path", "/".into()),
                ("pathType", "Prefix".into()),
                ("backend", map([("service", service)])),
            ]);
            let rule = map([
                ("host", "web.example.com".into()),
                ("http", map([("paths", vec![path].into())])),
            ]);
            let mut spec = map([("rules", vec![rule].into())]);
            if chance(rng, 30) {
                let tls = map([
                    ("secretName", self::name(rng).into()),
                    ("hosts", vec!["web.example.com".into()].into()),
                ]);
                spec.set("tls", vec![tls].into());
            }
            object.set("spec", spec);
        }
        "NetworkPolicy" => {
            let peer = map([("podSelector", map([("matchLabels", labels(rng, name))]))]);
            object.set(
                "spec",
                map([
                    ("podSelector", map([("matchLabels", labels(rng, name))])),
                    ("ingress", vec![map([("from", vec![peer].into())])].into()),
                ]),
            );
        }
        "Role" | "ClusterRole" => {
            let mut rule = map([
                ("apiGroups", vec!["''".into(), "apps".into()].into()),
                ("resources", vec!["pods".into(), "'*'".into()].into()),
                ("verbs", vec!["get".into(), "list".into()].into()),
            ]);
            if chance(rng, 30) {
                rule.set("resources", vec!["configmaps".into()].into());
                rule.set(
                    "resourceNames",
                    vec![self::name(rng).into(), self::name(rng).into()].into(),
                );
            }
            object.set("rules", vec![rule].into());
        }
        "RoleBinding" | "ClusterRoleBinding" => {
            let mut subject =
                map([("kind", "ServiceAccount".into()), ("name", self::name(rng).into())]);
            if chance(rng, 20) {
                subject.set("name", "default".into());
            }
            if chance(rng, 50) {
                subject.set("namespace", (*pick(rng, &NAMESPACES)).into());
            }
            let role =
                if kind == "RoleBinding" && chance(rng, 70) { "Role" } else { "ClusterRole" };
            object.set(
                "roleRef",
                map([
                    ("apiGroup", "rbac.authorization.k8s.io".into()),
                    ("kind", role.into()),
                    ("name", self::name(rng).into()),
                ]),
            );
            object.set("subjects", vec![subject].into());
        }
        "HorizontalPodAutoscaler" => {
            let target = map([
                ("apiVersion", "apps/v1".into()),
                ("kind", (*pick(rng, &["Deployment", "StatefulSet"])).into()),
                ("name", self::name(rng).into()),
            ]);
            object.set("spec", map([("scaleTargetRef", target), ("maxReplicas", "5".into())]));
        }
        "PodDisruptionBudget" => {
            object.set(
                "spec",
                map([
                    ("minAvailable", (*pick(rng, &["1", "50%", "\"50%\""])).into()),
                    ("selector", map([("matchLabels", labels(rng, name))])),
                ]),
            );
        }
        "CustomResourceDefinition" => {
            object.set(
                "spec",
                map([
                    ("group", "example.com".into()),
                    ("names", map([("kind", "Widget".into()), ("plural", "widgets".into())])),
                    ("scope", "Namespaced".into()),
                    (
                        "versions",
                        vec![map([("name", "v1".into()), ("served", "true".into())])].into(),
                    ),
                ]),
            );
        }
        "APIService" => {
            let service = map([("name", self::name(rng).into()), ("namespace", "prod".into())]);
            object.set("spec", map([("service", service), ("version", "v1".into())]));
        }
        "ValidatingWebhookConfiguration" => {
            let service = map([("name", self::name(rng).into()), ("namespace", "prod".into())]);
            let hook = map([
                ("name", "check.example.com".into()),
                ("clientConfig", map([("service", service)])),
            ]);
            object.set("webhooks", vec![hook].into());
        }
        "StorageClass" => object.set("provisioner", "example.com/disk".into()),
        "HelmRelease" => {
            let chart = map([("name", self::name(rng).into()), ("kind", "OCIRepository".into())]);
            let image = map([
                ("repository", "registry.example.com/app".into()),
                (
                    "tag",
                    "1.2.3@sha256:24a0c4b4a4c0eb97a1aabb8e29f18e917d05abfe1b7a7c07857230879ce7d3d3"
                        .into(),
                ),
            ]);
            let values =
                map([("image", image), ("odd", scalar::some(rng)), ("list", free(rng, 2))]);
            object.set(
                "spec",
                map([("chartRef", chart), ("interval", "1h".into()), ("values", values)]),
            );
        }
        "Kustomization" => {
            object.set(
                "spec",
                map([
                    ("path", "./apps/web".into()),
                    ("prune", "true".into()),
                    ("dependsOn", vec![map([("name", self::name(rng).into())])].into()),
                    ("postBuild", map([("substitute", map([("APP", "web".into())]))])),
                ]),
            );
        }
        _ => {
            let mut spec = free(rng, 3);
            if !matches!(spec, Yaml::Mapping(_)) {
                spec = map([("value", spec)]);
            }
            if chance(rng, 15) {
                let common = map([("alpha", "1".into()), ("beta", scalar::text(rng))]);
                spec.set("common", anchor("common", common));
                let mut merged = map([("<<", "*common".into()), ("beta", "own".into())]);
                if chance(rng, 30) {
                    merged = map([("beta", "own".into()), ("<<", "[*common, *common]".into())]);
                }
                spec.set("merged", merged);
                spec.set("again", "*common".into());
                if chance(rng, 30) {
                    // The same anchor once more, which Go accepts.
                    spec.set("later", anchor("common", vec!["x".into()].into()));
                    spec.set("last", "*common".into());
                }
            }
            if chance(rng, 50) {
                spec.set("configRef", map([("name", self::name(rng).into())]));
                spec.set("image", (*pick(rng, &IMAGES)).into());
                spec.set("size", "3".into());
            }
            object.set("spec", spec);
        }
    }
}

fn anchor(name: &'static str, value: Yaml) -> Yaml {
    Yaml::Anchor(name, Box::new(value))
}

fn claim(rng: &mut Rng) -> Yaml {
    let mut claim = map([
        ("accessModes", vec!["ReadWriteOnce".into()].into()),
        ("resources", map([("requests", map([("storage", "1Gi".into())]))])),
    ]);
    if chance(rng, 20) {
        claim.set("storageClassName", self::name(rng).into());
        claim.set("volumeName", self::name(rng).into());
    }
    claim
}

fn data(rng: &mut Rng) -> Yaml {
    let mut entries: Vec<(String, Yaml)> = Vec::new();
    for _ in 0..rng.usize(0..5) {
        const KEYS: [&str; 12] = [
            "one", "two", "three", "app.conf", "KEY", "'1'", "\"true\"", "z", "a-b", "'y'", "_x",
            "\"null\"",
        ];
        let key = *pick(rng, &KEYS);
        if !entries.iter().any(|(name, _)| name == key) {
            let value = if chance(rng, 35) { scalar::some(rng) } else { scalar::text(rng) };
            entries.push((key.to_owned(), value));
        }
    }
    Yaml::Mapping(entries)
}

/// Anything, some levels deep.
pub fn free(rng: &mut Rng, depth: u32) -> Yaml {
    if depth == 0 || chance(rng, 35) {
        return scalar::some(rng);
    }
    if chance(rng, 40) {
        return Yaml::List((0..rng.usize(0..4)).map(|_| free(rng, depth - 1)).collect());
    }
    let mut entries: Vec<(String, Yaml)> = Vec::new();
    for _ in 0..rng.usize(1..4) {
        let key = *pick(rng, &["alpha", "beta", "items", "name", "on", "'no'", "value", "z9"]);
        if !entries.iter().any(|(name, _)| name == key) {
            entries.push((key.to_owned(), free(rng, depth - 1)));
        }
    }
    Yaml::Mapping(entries)
}

fn template(rng: &mut Rng, name: &str) -> Yaml {
    let mut metadata = map([("labels", labels(rng, name))]);
    if chance(rng, 20) {
        metadata.set("annotations", annotations(rng));
    }
    let mut template = map([("metadata", metadata)]);
    template.set("spec", pod(rng));
    template
}

fn pod(rng: &mut Rng) -> Yaml {
    let mut containers = vec![container(rng, "main")];
    if chance(rng, 35) {
        containers.push(container(rng, "side"));
    }
    let mut spec = map([("containers", containers.into())]);
    if chance(rng, 20) {
        spec.set("initContainers", vec![container(rng, "init")].into());
    }
    if chance(rng, 25) {
        spec.set("serviceAccountName", self::name(rng).into());
    }
    if chance(rng, 45) {
        let mut volumes = Vec::new();
        for place in 0..rng.usize(1..4) {
            let mut volume = map([("name", format!("vol{place}").into())]);
            match rng.u32(..5) {
                0 => volume.set("configMap", map([("name", self::name(rng).into())])),
                1 => volume.set("secret", map([("secretName", self::name(rng).into())])),
                2 => volume
                    .set("persistentVolumeClaim", map([("claimName", self::name(rng).into())])),
                3 => {
                    let source = map([("configMap", map([("name", self::name(rng).into())]))]);
                    volume.set("projected", map([("sources", vec![source].into())]));
                }
                _ => volume.set("emptyDir", map([])),
            }
            volumes.push(volume);
        }
        spec.set("volumes", volumes.into());
    }
    if chance(rng, 10) {
        spec.set(
            "tolerations",
            vec![map([("key", "k".into()), ("operator", "Exists".into())])].into(),
        );
    }
    if chance(rng, 10) {
        spec.set("imagePullSecrets", vec![map([("name", self::name(rng).into())])].into());
    }
    if chance(rng, 8) {
        let spread = map([
            ("maxSkew", "1".into()),
            ("topologyKey", "zone".into()),
            ("labelSelector", map([("matchLabels", labels(rng, "web"))])),
        ]);
        spec.set("topologySpreadConstraints", vec![spread].into());
    }
    spec
}

/// A container.
pub fn container(rng: &mut Rng, name: &str) -> Yaml {
    let mut container = map([("name", name.into()), ("image", (*pick(rng, &IMAGES)).into())]);
    if chance(rng, 40) {
        let mut ports = vec![map([("containerPort", "8080".into()), ("name", "http".into())])];
        if chance(rng, 30) {
            ports.push(map([("containerPort", "8080".into()), ("protocol", "UDP".into())]));
        }
        container.set("ports", ports.into());
    }
    if chance(rng, 50) {
        let mut variables = Vec::new();
        for place in 0..rng.usize(1..4) {
            let mut variable = map([("name", format!("E{place}").into())]);
            match rng.u32(..4) {
                0 => {
                    let reference = map([("name", self::name(rng).into()), ("key", "one".into())]);
                    let kind = *pick(rng, &["configMapKeyRef", "secretKeyRef"]);
                    variable.set("valueFrom", map([(kind, reference)]));
                }
                _ => variable.set("value", scalar::text(rng)),
            }
            variables.push(variable);
        }
        container.set("env", variables.into());
    }
    if chance(rng, 25) {
        let kind = *pick(rng, &["configMapRef", "secretRef"]);
        container
            .set("envFrom", vec![map([(kind, map([("name", self::name(rng).into())]))])].into());
    }
    if chance(rng, 30) {
        let arguments = (0..rng.usize(1..4)).map(|_| scalar::text(rng)).collect::<Vec<_>>();
        let field: &&str = pick(rng, &["args", "command"]);
        container.set(field, arguments.into());
    }
    if chance(rng, 25) {
        container.set(
            "resources",
            map([("limits", map([("cpu", "100m".into()), ("memory", "1Gi".into())]))]),
        );
    }
    if chance(rng, 20) {
        let mount = map([("name", "vol0".into()), ("mountPath", "/data".into())]);
        container.set("volumeMounts", vec![mount].into());
    }
    container
}
