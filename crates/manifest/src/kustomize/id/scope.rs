//! Which kinds live outside of namespaces, as of the API that kustomize knows (v1.21).

/// Whether objects of this kind are certain to live outside of namespaces.
pub(super) fn is_cluster_scoped(group: &str, version: &str, kind: &str) -> bool {
    matches!(
        (group, version, kind),
        (
            "",
            "v1",
            "ComponentStatus" | "Namespace" | "Node" | "NodeProxyOptions" | "PersistentVolume"
        ) | (
            "admissionregistration.k8s.io",
            "v1" | "v1beta1",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration"
        ) | ("apiextensions.k8s.io", "v1" | "v1beta1", "CustomResourceDefinition")
            | ("apiregistration.k8s.io", "v1" | "v1beta1", "APIService")
            | ("certificates.k8s.io", "v1" | "v1beta1", "CertificateSigningRequest")
            | (
                "flowcontrol.apiserver.k8s.io",
                "v1beta1",
                "FlowSchema" | "PriorityLevelConfiguration"
            )
            | ("networking.k8s.io", "v1" | "v1beta1", "IngressClass")
            | ("node.k8s.io", "v1" | "v1beta1", "RuntimeClass")
            | ("policy", "v1beta1", "PodSecurityPolicy")
            | ("rbac.authorization.k8s.io", "v1" | "v1beta1", "ClusterRole" | "ClusterRoleBinding")
            | ("scheduling.k8s.io", "v1" | "v1beta1", "PriorityClass")
            | (
                "storage.k8s.io",
                "v1" | "v1beta1",
                "CSIDriver" | "CSINode" | "StorageClass" | "VolumeAttachment"
            )
    )
}
