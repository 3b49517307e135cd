//! The fields upstream comes with. One line each: `kind[.version][@group] path`, `*` for any kind, `+`
//! at the end where the field is made if it is missing.

use std::sync::Arc;

use super::super::Gvk;
use super::super::field::FieldSpec;
use super::{NameReference, Tables, rank};

const NAME: &str = "* metadata/name";

const NAMESPACE: &str = "
Namespace metadata/name +
APIService@apiregistration.k8s.io spec/service/namespace +
CustomResourceDefinition@apiextensions.k8s.io spec/conversion/webhook/clientConfig/service/namespace";

const SELECTORS: &str = "
Service.v1 spec/selector +
ReplicationController.v1 spec/selector +
Deployment spec/selector/matchLabels +
ReplicaSet spec/selector/matchLabels +
DaemonSet spec/selector/matchLabels +
StatefulSet@apps spec/selector/matchLabels +
Job@batch spec/selector/matchLabels
CronJob@batch spec/jobTemplate/spec/selector/matchLabels
PodDisruptionBudget@policy spec/selector/matchLabels
NetworkPolicy@networking.k8s.io spec/podSelector/matchLabels
NetworkPolicy@networking.k8s.io spec/ingress/from/podSelector/matchLabels
NetworkPolicy@networking.k8s.io spec/egress/to/podSelector/matchLabels";

/// Selectors inside of the pods of Deployments and StatefulSets.
const POD_SELECTORS: [&str; 5] = [
    "affinity/podAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels",
    "affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels",
    "affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels",
    "affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels",
    "topologySpreadConstraints/labelSelector/matchLabels",
];

const LABELS: &str = "
* metadata/labels +
ReplicationController.v1 spec/template/metadata/labels +
Deployment spec/template/metadata/labels +
ReplicaSet spec/template/metadata/labels +
DaemonSet spec/template/metadata/labels +
StatefulSet@apps spec/template/metadata/labels +
StatefulSet@apps spec/volumeClaimTemplates[]/metadata/labels +
Job@batch spec/template/metadata/labels +
CronJob@batch spec/jobTemplate/metadata/labels +
CronJob@batch spec/jobTemplate/spec/template/metadata/labels +";

const ANNOTATIONS: &str = "
* metadata/annotations +
ReplicationController.v1 spec/template/metadata/annotations +
Deployment spec/template/metadata/annotations +
ReplicaSet spec/template/metadata/annotations +
DaemonSet spec/template/metadata/annotations +
StatefulSet spec/template/metadata/annotations +
Job@batch spec/template/metadata/annotations +
CronJob@batch spec/jobTemplate/metadata/annotations +
CronJob@batch spec/jobTemplate/spec/template/metadata/annotations +";

const IMAGES: &str = "
* spec/containers[]/image +
* spec/initContainers[]/image +
* spec/volumes[]/image/reference +
* spec/template/spec/containers[]/image +
* spec/template/spec/initContainers[]/image +
* spec/template/spec/volumes[]/image/reference +";

const REPLICAS: &str = "
Deployment spec/replicas +
ReplicationController spec/replicas +
ReplicaSet spec/replicas +
StatefulSet spec/replicas +";

/// Where variables are expanded, beside in containers.
const VARIABLES: &str = "
CronJob spec/jobTemplate/spec/template/volumes/nfs/server
DaemonSet spec/template/spec/volumes/nfs/server
Deployment spec/template/spec/volumes/nfs/server
Deployment spec/template/metadata/annotations
Ingress spec/rules/host
Ingress spec/tls/hosts
Ingress spec/tls/secretName
Job spec/template/spec/volumes/nfs/server
Pod spec/volumes/nfs/server
ReplicaSet spec/template/spec/volumes/nfs/server
Service spec/ports/port
Service spec/ports/targetPort
StatefulSet spec/volumeClaimTemplates/spec/nfs/server
PersistentVolume spec/nfs/server
* metadata/labels
* metadata/annotations";

const VARIABLES_OF_CONTAINERS: [&str; 4] =
    ["args", "command", "env/value", "volumeMounts/mountPath"];

/// Kinds with the path to their pods.
const PODS: [(&str, &str); 8] = [
    ("Pod.v1", "spec"),
    ("PodTemplate", "template/spec"),
    ("Deployment", "spec/template/spec"),
    ("ReplicaSet", "spec/template/spec"),
    ("DaemonSet", "spec/template/spec"),
    ("StatefulSet", "spec/template/spec"),
    ("Job", "spec/template/spec"),
    ("CronJob", "spec/jobTemplate/spec/template/spec"),
];

/// The same for the names that are looked for in fewer kinds.
const FEWER_PODS: [(&str, &str); 7] = [
    ("Pod", "spec"),
    ("StatefulSet", "spec/template/spec"),
    ("Deployment", "spec/template/spec"),
    ("ReplicationController", "spec/template/spec"),
    ("CronJob", "spec/jobTemplate/spec/template/spec"),
    ("Job", "spec/template/spec"),
    ("DaemonSet", "spec/template/spec"),
];

const CONFIG_MAPS_OF_PODS: [&str; 6] = [
    "volumes/configMap/name",
    "containers/env/valueFrom/configMapKeyRef/name",
    "initContainers/env/valueFrom/configMapKeyRef/name",
    "containers/envFrom/configMapRef/name",
    "initContainers/envFrom/configMapRef/name",
    "volumes/projected/sources/configMap/name",
];

const SECRETS_OF_PODS: [&str; 7] = [
    "volumes/secret/secretName",
    "containers/env/valueFrom/secretKeyRef/name",
    "initContainers/env/valueFrom/secretKeyRef/name",
    "containers/envFrom/secretRef/name",
    "initContainers/envFrom/secretRef/name",
    "imagePullSecrets/name",
    "volumes/projected/sources/secret/name",
];

const SCALED: &str = "HorizontalPodAutoscaler spec/scaleTargetRef/name";

/// Names of objects of a kind in other objects, beside in pods.
const NAMES: [(&str, &str); 16] = [
    ("Deployment", SCALED),
    ("ReplicationController", SCALED),
    ("ReplicaSet", SCALED),
    ("StatefulSet", SCALED),
    (
        "ConfigMap.v1",
        r"Node spec/configSource/configMap
Role rules/resourceNames
ClusterRole rules/resourceNames
Ingress metadata/annotations/nginx.ingress.kubernetes.io\/fastcgi-params-configmap",
    ),
    (
        "Secret.v1",
        r"Ingress spec/tls/secretName
Ingress metadata/annotations/ingress.kubernetes.io\/auth-secret
Ingress metadata/annotations/nginx.ingress.kubernetes.io\/auth-secret
Ingress metadata/annotations/nginx.ingress.kubernetes.io\/auth-tls-secret
ServiceAccount imagePullSecrets/name
StorageClass parameters/secretName
StorageClass parameters/adminSecretName
StorageClass parameters/userSecretName
StorageClass parameters/secretRef
Role rules/resourceNames
ClusterRole rules/resourceNames
Service.v1@serving.knative.dev spec/template/spec/containers/env/valueFrom/secretKeyRef/name
PersistentVolume spec/azureFile/secretName",
    ),
    (
        "Service.v1",
        "StatefulSet@apps spec/serviceName
Ingress spec/rules/http/paths/backend/serviceName
Ingress spec/backend/serviceName
Ingress spec/rules/http/paths/backend/service/name
Ingress spec/defaultBackend/service/name
APIService@apiregistration.k8s.io spec/service/name
ValidatingWebhookConfiguration@admissionregistration.k8s.io webhooks/clientConfig/service
MutatingWebhookConfiguration@admissionregistration.k8s.io webhooks/clientConfig/service",
    ),
    ("Role@rbac.authorization.k8s.io", "RoleBinding@rbac.authorization.k8s.io roleRef/name"),
    (
        "ClusterRole@rbac.authorization.k8s.io",
        "RoleBinding@rbac.authorization.k8s.io roleRef/name
ClusterRoleBinding@rbac.authorization.k8s.io roleRef/name",
    ),
    (
        "ServiceAccount.v1",
        "RoleBinding@rbac.authorization.k8s.io subjects
ClusterRoleBinding@rbac.authorization.k8s.io subjects",
    ),
    ("PersistentVolumeClaim.v1", ""),
    (
        "PersistentVolume.v1",
        "PersistentVolumeClaim spec/volumeName
ClusterRole rules/resourceNames",
    ),
    (
        "StorageClass.v1@storage.k8s.io",
        "PersistentVolume spec/storageClassName
PersistentVolumeClaim spec/storageClassName
StatefulSet spec/volumeClaimTemplates/spec/storageClassName",
    ),
    ("PriorityClass.v1@scheduling.k8s.io", ""),
    // The group is upstream's, so that no IngressClass is ever found.
    ("IngressClass.v1@networking.k8s.io/v1", "Ingress spec/ingressClassName"),
    (
        "ValidatingAdmissionPolicy@admissionregistration.k8s.io",
        "ValidatingAdmissionPolicyBinding@admissionregistration.k8s.io spec/policyName",
    ),
];

/// All of them.
pub fn tables() -> Tables {
    let mut common_labels = fields(SELECTORS);
    for kind in ["Deployment@apps", "StatefulSet@apps"] {
        for path in POD_SELECTORS {
            common_labels.push(field(kind, &format!("spec/template/spec/{path}"), false));
        }
    }
    common_labels.extend(fields(LABELS));
    let mut var_reference = fields(VARIABLES);
    for (kind, pods) in PODS.iter().filter(|(kind, _)| *kind != "PodTemplate") {
        let kind = kind.trim_end_matches(".v1");
        for containers in ["containers", "initContainers"] {
            for path in VARIABLES_OF_CONTAINERS {
                var_reference.push(field(kind, &format!("{pods}/{containers}/{path}"), false));
            }
        }
    }
    let mut name_reference: Vec<_> = NAMES.iter().map(|(kind, own)| reference(kind, own)).collect();
    rank::sort(&mut name_reference, |reference| &reference.target);
    Tables {
        name_prefix: sorted(fields(NAME)),
        name_suffix: sorted(fields(NAME)),
        namespace: sorted(fields(NAMESPACE)),
        common_labels: sorted(common_labels),
        template_labels: sorted(fields(LABELS)),
        common_annotations: sorted(fields(ANNOTATIONS)),
        var_reference: sorted(var_reference),
        images: sorted(fields(IMAGES)),
        replicas: sorted(fields(REPLICAS)),
        name_reference,
        ..Tables::default()
    }
}

fn reference(kind: &str, own: &str) -> NameReference {
    let (pods, paths): (&[(&str, &str)], &[&str]) = match kind {
        "ConfigMap.v1" => (&PODS, &CONFIG_MAPS_OF_PODS),
        "Secret.v1" => (&PODS, &SECRETS_OF_PODS),
        "ServiceAccount.v1" => (&FEWER_PODS, &["serviceAccountName"]),
        "PersistentVolumeClaim.v1" => (&FEWER_PODS, &["volumes/persistentVolumeClaim/claimName"]),
        "PriorityClass.v1@scheduling.k8s.io" => (&FEWER_PODS, &["priorityClassName"]),
        _ => (&[], &[]),
    };
    let mut referrers = fields(own);
    for (referrer, prefix) in pods {
        for path in paths {
            referrers.push(field(referrer, &format!("{prefix}/{path}"), false));
        }
    }
    NameReference { target: gvk(kind), referrers }
}

fn sorted(mut list: Vec<FieldSpec>) -> Arc<[FieldSpec]> {
    rank::sort(&mut list, |field| &field.gvk);
    list.into()
}

fn fields(table: &str) -> Vec<FieldSpec> {
    let line = |line: &str| {
        let mut words = line.split(' ');
        let kind = words.next()?;
        let path = words.next()?;
        Some(field(kind, path, words.next().is_some()))
    };
    table.lines().filter_map(line).collect()
}

fn field(kind: &str, path: &str, create: bool) -> FieldSpec {
    FieldSpec::new(gvk(kind), path, create)
}

fn gvk(text: &str) -> Gvk {
    let (text, group) = text.split_once('@').unwrap_or((text, ""));
    let (kind, version) = text.split_once('.').unwrap_or((text, ""));
    let kind = if kind == "*" { "" } else { kind };
    Gvk { group: group.into(), version: version.into(), kind: kind.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_there() {
        let tables = tables();
        assert_eq!(tables.common_labels.len(), 32);
        assert_eq!(tables.template_labels.len(), 10);
        assert_eq!(tables.common_annotations.len(), 9);
        assert_eq!(tables.var_reference.len(), 72);
        let references: usize =
            tables.name_reference.iter().map(|reference| reference.referrers.len()).sum();
        assert_eq!(references, 166);
    }
}
