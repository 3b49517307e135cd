//! The order configurations are kept in.

use std::cmp::Ordering;

use super::super::Gvk;

const FIRST: [&str; 22] = [
    "Namespace",
    "ResourceQuota",
    "StorageClass",
    "CustomResourceDefinition",
    "ServiceAccount",
    "PodSecurityPolicy",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
    "ConfigMap",
    "Secret",
    "Endpoints",
    "Service",
    "LimitRange",
    "PriorityClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];
const LAST: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// Sorts by kind: those that others need first, then by group, version and kind, where an empty part
/// comes after every name.
pub fn sort<T>(list: &mut [T], gvk: impl Fn(&T) -> &Gvk) {
    list.sort_by(|one, two| compare(gvk(one), gvk(two)));
}

fn compare(one: &Gvk, two: &Gvk) -> Ordering {
    place(&one.kind).cmp(&place(&two.kind)).then_with(|| text(one).cmp(&text(two)))
}

fn place(kind: &str) -> (u8, usize) {
    if let Some(place) = FIRST.iter().position(|known| *known == kind) {
        (0, place)
    } else if let Some(place) = LAST.iter().position(|known| *known == kind) {
        (2, place)
    } else {
        (1, 0)
    }
}

fn text(gvk: &Gvk) -> String {
    let or = |text: &str, without: &'static str| {
        if text.is_empty() { without.to_owned() } else { text.to_owned() }
    };
    format!("{}_{}_{}", or(&gvk.group, "~G"), or(&gvk.version, "~V"), or(&gvk.kind, "~K"))
}
