//! Fields that a write through the main resource or a subresource cannot change, and so cannot own.

use super::fieldset::FieldSet;

/// What the server resets on writes of a built-in kind.
pub fn built_in(group: &str, kind: &str, subresource: &str) -> FieldSet {
    const STATUS: &[&[&str]] = &[&["status"]];
    const SPEC: &[&[&str]] = &[&["spec"]];
    const ALL_BUT_STATUS: &[&[&str]] = &[&["metadata"], &["spec"]];
    let paths: &[&[&str]] = match (group, kind, subresource) {
        ("certificates.k8s.io", "CertificateSigningRequest", "") => &[&["spec"], &["status"]],
        ("certificates.k8s.io", "CertificateSigningRequest", "status") => {
            &[&["spec"], &["status", "conditions"]]
        }
        ("certificates.k8s.io", "CertificateSigningRequest", "approval") => {
            &[&["spec"], &["status", "certificate"]]
        }
        ("apps", "Deployment", "status") => &[&["spec"], &["metadata", "labels"]],
        ("", "Pod", "status") => {
            &[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]]
        }
        (
            "networking.k8s.io"
            | "resource.k8s.io"
            | "storage.k8s.io"
            | "flowcontrol.apiserver.k8s.io"
            | "admissionregistration.k8s.io"
            | "apiregistration.k8s.io",
            "ServiceCIDR"
            | "ResourceClaim"
            | "DeviceTaintRule"
            | "VolumeAttachment"
            | "FlowSchema"
            | "PriorityLevelConfiguration"
            | "ValidatingAdmissionPolicy"
            | "APIService",
            "status",
        ) => ALL_BUT_STATUS,
        (_, _, "status") => SPEC,
        ("", "Namespace", "finalize")
        | (
            "",
            "Node"
            | "ResourceQuota"
            | "PersistentVolume"
            | "PersistentVolumeClaim"
            | "Namespace"
            | "Pod"
            | "Service"
            | "ReplicationController",
            "",
        )
        | ("apps", "DaemonSet" | "StatefulSet" | "Deployment" | "ReplicaSet", "")
        | ("batch", "Job" | "CronJob", "")
        | ("autoscaling", "HorizontalPodAutoscaler", "")
        | ("networking.k8s.io", "Ingress" | "ServiceCIDR", "")
        | ("policy", "PodDisruptionBudget", "")
        | ("resource.k8s.io", "ResourceClaim" | "DeviceTaintRule", "")
        | ("storage.k8s.io", "VolumeAttachment", "")
        | ("flowcontrol.apiserver.k8s.io", "FlowSchema" | "PriorityLevelConfiguration", "")
        | ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", "")
        | ("apiregistration.k8s.io", "APIService", "")
        | ("apiextensions.k8s.io", "CustomResourceDefinition", "") => STATUS,
        _ => &[],
    };
    FieldSet::of_fields(paths)
}

/// What the server resets on writes of a custom kind; `status` says whether it has the status subresource.
pub fn custom(status: bool, subresource: &str) -> FieldSet {
    match (subresource, status) {
        ("status", _) => FieldSet::of_fields(&[&["metadata"], &["spec"]]),
        ("", true) => FieldSet::of_fields(&[&["status"]]),
        _ => FieldSet::default(),
    }
}
