//! Which kinds live in namespaces, as of the API that kustomize knows (v1.21).

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

/// Whether objects of this kind are certain to live in one.
pub(super) fn is_namespaced(group: &str, version: &str, kind: &str) -> bool {
    matches!(
        (group, version, kind),
        (
            "",
            "v1",
            "ConfigMap"
                | "Endpoints"
                | "Event"
                | "LimitRange"
                | "PersistentVolumeClaim"
                | "Pod"
                | "PodAttachOptions"
                | "PodExecOptions"
                | "PodPortForwardOptions"
                | "PodProxyOptions"
                | "PodTemplate"
                | "ReplicationController"
                | "ResourceQuota"
                | "Secret"
                | "Service"
                | "ServiceAccount"
                | "ServiceProxyOptions"
        ) | (
            "apps",
            "v1",
            "ControllerRevision" | "DaemonSet" | "Deployment" | "ReplicaSet" | "StatefulSet"
        ) | ("autoscaling", "v1", "Scale")
            | ("autoscaling", "v1" | "v2beta1" | "v2beta2", "HorizontalPodAutoscaler")
            | ("batch", "v1", "Job")
            | ("batch", "v1" | "v1beta1", "CronJob")
            | ("coordination.k8s.io", "v1" | "v1beta1", "Lease")
            | ("discovery.k8s.io", "v1" | "v1beta1", "EndpointSlice")
            | ("events.k8s.io", "v1" | "v1beta1", "Event")
            | ("extensions", "v1beta1", "Ingress")
            | ("networking.k8s.io", "v1", "NetworkPolicy")
            | ("networking.k8s.io", "v1" | "v1beta1", "Ingress")
            | ("policy", "v1" | "v1beta1", "PodDisruptionBudget")
            | ("rbac.authorization.k8s.io", "v1" | "v1beta1", "Role" | "RoleBinding")
            | ("storage.k8s.io", "v1beta1", "CSIStorageCapacity")
    )
}
