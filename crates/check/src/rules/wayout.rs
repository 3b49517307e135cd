//! The way out of a change that is refused, with what it could lose.

use crate::finding::Id;
use crate::judge::Refusal;

/// The way out for this object and these fields.
pub(super) fn way_out(id: &Id, refusal: &Refusal) -> String {
    let touches = |field: &str| {
        refusal.causes.iter().any(|cause| cause.field.starts_with(field))
            || refusal.message.contains(field)
    };
    let Id { namespace, name, .. } = id;
    let scope = if namespace.is_empty() { String::new() } else { format!(" -n {namespace}") };
    match id.kind.as_str() {
        "Deployment" if touches("spec.strategy.rollingUpdate") => {
            "in place: write `rollingUpdate: null` beside `type: Recreate`, so that the default goes with the change"
                .to_owned()
        }
        "Deployment" | "DaemonSet" | "ReplicaSet" => format!(
            "relabel-and-adopt: keep the old selector; or delete the {kind} with its pods kept (`kubectl delete {lower} {name}{scope} --cascade=orphan`) right before Flux applies the new one, and delete the old pods afterwards; nothing is lost, but for a moment nothing heals the pods",
            kind = id.kind,
            lower = id.kind.to_lowercase(),
        ),
        "StatefulSet" => format!(
            "relabel-and-adopt: `kubectl delete statefulset {name}{scope} --cascade=orphan` right before Flux applies the new one, which adopts the pods and claims; claims keep their old form, so grow or replace each of them separately; never delete it without --cascade=orphan where its claims are deleted with it"
        ),
        "PersistentVolumeClaim" if touches("spec.resources") => {
            "claim change: a claim does not shrink; keep the size, or restore its data into a new claim of the size you want and let the app use that"
                .to_owned()
        }
        "PersistentVolumeClaim" => {
            "drop the pinned field: keep what the bound claim has, or take the field out and annotate the claim `kustomize.toolkit.fluxcd.io/ssa: IfNotPresent`; to really change it, restore the data into a new claim (claim change); deleting the claim loses its data"
                .to_owned()
        }
        "Job" => format!(
            "delete-and-create: a Job is a record of work done; give it another name, or `kubectl delete job {name}{scope}` once it has finished; what it does then runs again"
        ),
        "Service" => {
            "drop the pinned field: leave clusterIP, ipFamilies and loadBalancerClass to the cluster; to really change them the Service has to be deleted and created again, and its address changes"
                .to_owned()
        }
        "RoleBinding" | "ClusterRoleBinding" => {
            "parallel object: bind the other role under a new name and remove this binding in the next commit; what it granted is gone in between if you delete first"
                .to_owned()
        }
        "Secret" | "ConfigMap" => {
            "parallel object: write the new content under a new name (a generator with its hash suffix does that) and refer to it; the old one may go afterwards"
                .to_owned()
        }
        "StorageClass" | "VolumeAttributesClass" | "PriorityClass" | "RuntimeClass" | "IngressClass" | "CSIDriver" => format!(
            "delete-and-create: `kubectl delete {} {name}` right before Flux applies the new one; it holds no data, and what exists already keeps what it was made with; or write the new one under another name",
            id.kind.to_lowercase(),
        ),
        "PersistentVolume" | "CustomResourceDefinition" => format!(
            "forbidden: keep the field; deleting the {} takes what depends on it along",
            id.kind
        ),
        _ => "parallel object: keep the field as it is, or write the new form under another name and remove this one when nothing refers to it".to_owned(),
    }
}
