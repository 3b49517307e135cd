//! What a pod's absent fields become.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value, json};

use crate::builtin::value::{Fields as _, Fill as _};
use crate::quantity::Quantity;

/// Fills a pod: the spec's defaults and those that only pods have, not templates.
pub fn pod(pod: &mut Value) {
    let spec = pod.object("spec");
    for list in ["containers", "initContainers"] {
        for container in spec.items_mut(list) {
            requests_from_limits(container);
        }
    }
    pod_resources(spec);
    if spec.flag_opt("enableServiceLinks").is_none() {
        spec.put("enableServiceLinks", true);
    }
    if spec.flag("hostNetwork") {
        for list in ["containers", "initContainers"] {
            for container in spec.items_mut(list) {
                for port in container.items_mut("ports") {
                    let number = port.int("containerPort");
                    if port.int("hostPort") == 0 && number != 0 {
                        port.put("hostPort", number);
                    }
                }
            }
        }
    }
    self::spec(spec);
    // Pods, not templates, take a negative time to end for the shortest one.
    if spec.int("terminationGracePeriodSeconds") < 0 {
        spec.put("terminationGracePeriodSeconds", 1);
    }
}

/// Fills the template of a workload.
pub fn template(template: &mut Value) {
    spec(template.object("spec"));
}

/// Fills a pod spec.
pub fn spec(spec: &mut Value) {
    service_account(spec);
    for volume in spec.items_mut("volumes") {
        self::volume(volume);
    }
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for container in spec.items_mut(list) {
            self::container(container);
        }
    }
    if let Some(overhead) = spec.part_mut("overhead") {
        round_amounts(overhead);
    }
    if let Some(resources) = spec.part_mut("resources") {
        round_resources(resources);
    }
    spec.fill("dnsPolicy", "ClusterFirst");
    spec.fill("restartPolicy", "Always");
    spec.object("securityContext");
    if spec.int_opt("terminationGracePeriodSeconds").is_none() {
        spec.put("terminationGracePeriodSeconds", 30);
    }
    spec.fill("schedulerName", "default-scheduler");
}

/// The account has two names on the wire and one inside.
fn service_account(spec: &mut Value) {
    let name = match spec.text("serviceAccountName") {
        "" => spec.text("serviceAccount").to_owned(),
        name => name.to_owned(),
    };
    if !name.is_empty() {
        spec.put("serviceAccount", name.as_str());
        spec.put("serviceAccountName", name);
    }
}

fn volume(volume: &mut Value) {
    let sourced = volume
        .as_object()
        .is_some_and(|map| map.iter().any(|(key, value)| key != "name" && !value.is_null()));
    if !sourced {
        volume.put("emptyDir", Map::new());
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = volume.part_mut(source)
            && source.int_opt("defaultMode").is_none()
        {
            source.put("defaultMode", 0o644);
        }
    }
    if let Some(path) = volume.part_mut("hostPath")
        && path.text_opt("type").is_none()
    {
        path.put("type", "");
    }
    if let Some(downward) = volume.part_mut("downwardAPI") {
        downward_items(downward);
    }
    if let Some(projected) = volume.part_mut("projected") {
        for source in projected.items_mut("sources") {
            if let Some(downward) = source.part_mut("downwardAPI") {
                downward_items(downward);
            }
            if let Some(token) = source.part_mut("serviceAccountToken")
                && token.int_opt("expirationSeconds").is_none()
            {
                token.put("expirationSeconds", 3600);
            }
        }
    }
    if let Some(iscsi) = volume.part_mut("iscsi") {
        iscsi.fill("iscsiInterface", "default");
    }
    if let Some(rbd) = volume.part_mut("rbd") {
        rbd.fill("pool", "rbd");
        rbd.fill("user", "admin");
        rbd.fill("keyring", "/etc/ceph/keyring");
    }
    if let Some(disk) = volume.part_mut("azureDisk") {
        for (key, value) in [
            ("cachingMode", json!("ReadWrite")),
            ("fsType", json!("ext4")),
            ("readOnly", json!(false)),
            ("kind", json!("Shared")),
        ] {
            if disk.part(key).is_none() {
                disk.put(key, value);
            }
        }
    }
    if let Some(scale) = volume.part_mut("scaleIO") {
        scale.fill("storageMode", "ThinProvisioned");
        scale.fill("fsType", "xfs");
    }
    if let Some(image) = volume.part_mut("image") {
        let policy = pull_policy(image.text("reference"));
        image.fill("pullPolicy", policy);
    }
    if let Some(template) =
        volume.part_mut("ephemeral").and_then(|e| e.part_mut("volumeClaimTemplate"))
    {
        claim_spec(template.object("spec"));
    }
}

/// Fills the spec of a claim, where it stands in a template.
pub fn claim_spec(spec: &mut Value) {
    if spec.text_opt("volumeMode").is_none() {
        spec.put("volumeMode", "Filesystem");
    }
    if let Some(resources) = spec.part_mut("resources") {
        round_resources(resources);
    }
}

fn downward_items(source: &mut Value) {
    for item in source.items_mut("items") {
        if let Some(reference) = item.part_mut("fieldRef") {
            reference.fill("apiVersion", "v1");
        }
    }
}

fn container(container: &mut Value) {
    for port in container.items_mut("ports") {
        port.fill("protocol", "TCP");
    }
    for variable in container.items_mut("env") {
        let Some(from) = variable.part_mut("valueFrom") else { continue };
        if let Some(reference) = from.part_mut("fieldRef") {
            reference.fill("apiVersion", "v1");
        }
        if let Some(reference) = from.part_mut("fileKeyRef")
            && reference.flag_opt("optional").is_none()
        {
            reference.put("optional", false);
        }
    }
    round_resources(container.object("resources"));
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(probe) = container.part_mut(name) else { continue };
        http_get(probe);
        if let Some(grpc) = probe.part_mut("grpc")
            && grpc.text_opt("service").is_none()
        {
            grpc.put("service", "");
        }
        probe.fill_number("timeoutSeconds", 1);
        probe.fill_number("periodSeconds", 10);
        probe.fill_number("successThreshold", 1);
        probe.fill_number("failureThreshold", 3);
    }
    if let Some(lifecycle) = container.part_mut("lifecycle") {
        for name in ["postStart", "preStop"] {
            if let Some(handler) = lifecycle.part_mut(name) {
                http_get(handler);
            }
        }
    }
    let policy = pull_policy(container.text("image"));
    container.fill("imagePullPolicy", policy);
    container.fill("terminationMessagePath", "/dev/termination-log");
    container.fill("terminationMessagePolicy", "File");
}

fn http_get(handler: &mut Value) {
    if let Some(get) = handler.part_mut("httpGet") {
        get.fill("path", "/");
        get.fill("scheme", "HTTP");
    }
}

/// Images that may move are pulled each time.
fn pull_policy(image: &str) -> &'static str {
    if is_latest(image) { "Always" } else { "IfNotPresent" }
}

/// An image without tag and digest, or tagged `latest`. Text that names no image is not.
fn is_latest(image: &str) -> bool {
    static IMAGE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let host = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
        let domain = format!(r"(?:{host}(?:\.{host})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?");
        let part = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
        Regex::new(&format!(
            r"^(?:{domain}/)?{part}(?:/{part})*(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}}))?(?P<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{{32,}})?$"
        ))
        .ok()
    });
    if image.len() == 64 && image.chars().all(|c| c.is_ascii_hexdigit()) {
        return false;
    }
    let Some(found) = IMAGE.as_ref().and_then(|i| i.captures(image)) else { return false };
    match (found.name("tag"), found.name("digest")) {
        (Some(tag), _) => tag.as_str() == "latest",
        (None, Some(_)) => false,
        (None, None) => true,
    }
}

fn requests_from_limits(container: &mut Value) {
    let Some(resources) = container.part_mut("resources") else { return };
    let Some(limits) = resources.entries("limits").cloned() else { return };
    let requests = resources.object("requests");
    for (name, amount) in limits {
        if requests.get(&name).is_none() {
            requests.put(&name, amount);
        }
    }
}

/// Pod-level requests follow the containers' requests, or the pod-level limits.
fn pod_resources(spec: &mut Value) {
    let (requests, limits) = (aggregate(spec, "requests"), aggregate(spec, "limits"));
    let Some(resources) = spec.part_mut("resources") else { return };
    let said = |resources: &Value, key: &str| resources.entries(key).is_some_and(|m| !m.is_empty());
    if said(resources, "limits") || said(resources, "requests") {
        for (name, amount) in limits.iter().filter(|(name, _)| name.starts_with("hugepages-")) {
            if resources.get_or_null("requests").get(name).is_none()
                && resources.get_or_null("limits").get(name).is_none()
            {
                resources.object("limits").put(name, amount.to_string());
            }
        }
    }
    if !said(resources, "limits") {
        return;
    }
    for (name, amount) in requests {
        if matches!(name.as_str(), "cpu" | "memory")
            && resources.get_or_null("requests").get(&name).is_none()
        {
            resources.object("requests").put(&name, amount.to_string());
        }
    }
    let limits = resources.entries("limits").cloned().unwrap_or_default();
    for (name, amount) in limits {
        let supported = matches!(name.as_str(), "cpu" | "memory") || name.starts_with("hugepages-");
        if supported && resources.get_or_null("requests").get(&name).is_none() {
            resources.object("requests").put(&name, amount);
        }
    }
}

/// What all containers need at once, by resource: the running ones together, or the greediest step of
/// initialisation beside the sidecars started before it.
pub fn aggregate(spec: &Value, of: &str) -> BTreeMap<String, Quantity> {
    let amounts = |container: &Value| -> BTreeMap<String, Quantity> {
        container
            .get_or_null("resources")
            .entries(of)
            .into_iter()
            .flatten()
            .filter_map(|(name, amount)| Some((name.clone(), Quantity::read(amount)?)))
            .collect()
    };
    let add = |sum: &mut BTreeMap<String, Quantity>, more: &BTreeMap<String, Quantity>| {
        for (name, amount) in more {
            let total = sum.get(name).map_or_else(|| amount.clone(), |s| s.plus(amount));
            sum.insert(name.clone(), total);
        }
    };
    let raise = |sum: &mut BTreeMap<String, Quantity>, to: &BTreeMap<String, Quantity>| {
        for (name, amount) in to {
            if sum.get(name).is_none_or(|s| s < amount) {
                sum.insert(name.clone(), amount.clone());
            }
        }
    };
    let mut running = BTreeMap::new();
    for container in spec.list("containers") {
        add(&mut running, &amounts(container));
    }
    let mut sidecars = BTreeMap::new();
    let mut starting = BTreeMap::new();
    for container in spec.list("initContainers") {
        let own = amounts(container);
        if container.text("restartPolicy") == "Always" {
            add(&mut running, &own);
            add(&mut sidecars, &own);
            raise(&mut starting, &sidecars);
        } else {
            let mut step = own;
            add(&mut step, &sidecars);
            raise(&mut starting, &step);
        }
    }
    raise(&mut running, &starting);
    running
}

fn round_resources(resources: &mut Value) {
    for list in ["limits", "requests"] {
        if let Some(amounts) = resources.part_mut(list) {
            round_amounts(amounts);
        }
    }
}

fn round_amounts(amounts: &mut Value) {
    for amount in amounts.as_object_mut().into_iter().flat_map(Map::values_mut) {
        if let Some(quantity) = Quantity::read(amount) {
            *amount = Value::from(quantity.rounded_up_to_milli().to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_moving_images_are_pulled_each_time() {
        for (image, policy) in [
            ("nginx", "Always"),
            ("nginx:latest", "Always"),
            ("nginx:1.27", "IfNotPresent"),
            ("reg.example.com:5000/a/b", "Always"),
            ("reg.example.com:5000/a/b:1", "IfNotPresent"),
            ("", "IfNotPresent"),
            ("Upper", "IfNotPresent"),
            (
                "a@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                "IfNotPresent",
            ),
        ] {
            assert_eq!(pull_policy(image), policy, "{image}");
        }
    }

    #[test]
    fn pods_request_what_they_are_limited_to() {
        let mut one = json!({"spec": {"containers": [
            {"name": "a", "image": "x:1", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}}]}});
        pod(&mut one);
        assert_eq!(
            one["spec"]["containers"][0]["resources"]["requests"],
            json!({"cpu": "500m", "memory": "1Gi"})
        );
        assert_eq!(one["spec"]["enableServiceLinks"], true);
    }

    #[test]
    fn sidecars_count_beside_the_containers() {
        let spec = json!({
            "containers": [{"resources": {"requests": {"cpu": "1"}}}],
            "initContainers": [
                {"resources": {"requests": {"cpu": "3"}}},
                {"restartPolicy": "Always", "resources": {"requests": {"cpu": "500m"}}}]});
        let sum = aggregate(&spec, "requests");
        assert_eq!(sum.get("cpu").map(ToString::to_string).as_deref(), Some("3"));
    }
}
