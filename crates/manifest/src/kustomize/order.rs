//! The order of the result.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::kustomization::{Order, SortOptions};
use super::{Gvk, Reorder, Resource, ResourceId, Resources};
use crate::diagnostic::Result;

/// Kinds that come first.
#[rustfmt::skip]
const FIRST: [&str; 22] = [
    "Namespace", "ResourceQuota", "StorageClass", "CustomResourceDefinition", "ServiceAccount",
    "PodSecurityPolicy", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "ConfigMap",
    "Secret", "Endpoints", "Service", "LimitRange", "PriorityClass", "PersistentVolume",
    "PersistentVolumeClaim", "Deployment", "StatefulSet", "CronJob", "PodDisruptionBudget",
];

/// Kinds that come last.
const LAST: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// Sorts as the kustomization says, else as the caller does.
pub(super) fn sort(
    resources: &mut Resources,
    options: Option<&SortOptions>,
    reorder: Reorder,
) -> Result<()> {
    let legacy = match options {
        Some(options) => options.order()? == Order::Legacy,
        None => reorder == Reorder::Legacy,
    };
    if !legacy {
        return Ok(());
    }
    match options.and_then(SortOptions::kinds) {
        Some((first, last)) => by_kind(resources, first, last),
        None => by_kind(resources, &FIRST, &LAST),
    }
    resources.check_unique()
}

fn by_kind<T: AsRef<str>>(resources: &mut Resources, first: &[T], last: &[T]) {
    let mut ranks: HashMap<&str, usize> = HashMap::with_capacity(first.len() + last.len());
    for (place, kind) in first.iter().enumerate() {
        ranks.insert(kind.as_ref(), place);
    }
    for (place, kind) in last.iter().enumerate() {
        ranks.insert(kind.as_ref(), first.len() + 1 + place);
    }
    let rank = |kind: &str| ranks.get(kind).copied().unwrap_or(first.len());
    let list = std::mem::take(&mut resources.list);
    let mut keyed: Vec<(usize, ResourceId, Resource)> = list
        .into_iter()
        .map(|resource| {
            let id = resource.current_id();
            (rank(&id.gvk.kind), id, resource)
        })
        .collect();
    keyed.sort_by(|(rank, id, _), (other_rank, other, _)| {
        if id.gvk == other.gvk {
            let key = |id: &ResourceId| {
                let namespace = if id.namespace.is_empty() { "~X" } else { &id.namespace };
                let name = if id.name.is_empty() { "~N" } else { &id.name };
                format!("{namespace}|{name}")
            };
            return key(id).cmp(&key(other));
        }
        rank.cmp(other_rank).then_with(|| by_gvk(&id.gvk, &other.gvk))
    });
    resources.list = keyed.into_iter().map(|(_, _, resource)| resource).collect();
}

/// Kinds of the same rank are compared as texts; the core group's Namespace comes before others.
fn by_gvk(one: &Gvk, two: &Gvk) -> Ordering {
    let text = |gvk: &Gvk| {
        let or = |text: &str, without: &str| {
            if text.is_empty() { without.to_owned() } else { text.to_owned() }
        };
        format!("{}_{}_{}", or(&gvk.group, "~G"), or(&gvk.version, "~V"), or(&gvk.kind, "~K"))
    };
    let order = text(one).cmp(&text(two));
    let core_namespace = one.kind == "Namespace"
        && two.kind == "Namespace"
        && (one.group.is_empty() || two.group.is_empty());
    if core_namespace { order.reverse() } else { order }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kustomize::Origin;

    fn sorted(objects: &[&str], options: Option<&str>) -> Vec<String> {
        let list = objects
            .iter()
            .map(|object| {
                let (kind, name) = object.rsplit_once('/').unwrap();
                let (group, kind) = kind.split_once('|').unwrap_or(("v1", kind));
                let text =
                    format!("apiVersion: {group}\nkind: {kind}\nmetadata: {{name: {name}}}\n");
                let node = crate::yaml::documents(&text).unwrap().remove(0).root;
                Resource::new(node, Origin::default())
            })
            .collect();
        let mut resources = Resources::from_list(list).unwrap();
        let options = options.map(|text| {
            SortOptions::read(&crate::yaml::documents(text).unwrap().remove(0).root).unwrap()
        });
        sort(&mut resources, options.as_ref(), Reorder::Legacy).unwrap();
        resources.iter().map(|resource| resource.name().to_owned()).collect()
    }

    #[test]
    fn namespaces_come_first_and_webhooks_last() {
        let objects = [
            "ValidatingWebhookConfiguration/v",
            "Pod/p",
            "Deployment/d",
            "Service/s",
            "Namespace/n",
            "example.com/v1|Namespace/other",
            "MutatingWebhookConfiguration/m",
            "Service/a",
        ];
        assert_eq!(sorted(&objects, None), ["n", "other", "a", "s", "d", "p", "m", "v"]);
    }

    #[test]
    fn the_kustomization_says_otherwise() {
        let objects = ["Pod/p", "Service/s", "Namespace/n"];
        assert_eq!(sorted(&objects, Some("order: fifo")), ["p", "s", "n"]);
        let options =
            "order: legacy\nlegacySortOptions: {orderFirst: [Pod], orderLast: [Namespace]}";
        assert_eq!(sorted(&objects, Some(options)), ["p", "s", "n"]);
        assert_eq!(sorted(&objects, Some("order: legacy")), ["n", "s", "p"]);
    }
}
