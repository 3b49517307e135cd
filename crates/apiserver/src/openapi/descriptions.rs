//! Descriptions of built-in kinds and their fields, from the documentation that the Rust types of the API carry.

use std::sync::LazyLock;

use k8s_openapi::schemars::SchemaGenerator;
use serde_json::{Map, Value};

/// Schemas with descriptions, by definition name.
static DESCRIBED: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    macro_rules! collect {
        ($generator:ident, $($($part:ident)::+: $($kind:ident),+;)+) => {
            $({
                use k8s_openapi::$($part)::+ as kinds;
                $($generator.subschema_for::<kinds::$kind>();)+
            })+
        };
    }
    let mut generator = SchemaGenerator::default();
    collect! { generator,
        api::core::v1: Binding, ComponentStatus, ConfigMap, Endpoints, Event, LimitRange, Namespace, Node, PersistentVolumeClaim, PersistentVolume, Pod, PodTemplate, ReplicationController, ResourceQuota, Secret, ServiceAccount, Service;
        api::apps::v1: ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet;
        api::events::v1: Event;
        api::authentication::v1: SelfSubjectReview, TokenReview, TokenRequest;
        api::authorization::v1: LocalSubjectAccessReview, SelfSubjectAccessReview, SelfSubjectRulesReview, SubjectAccessReview;
        api::autoscaling::v2: HorizontalPodAutoscaler;
        api::autoscaling::v1: HorizontalPodAutoscaler, Scale;
        api::batch::v1: CronJob, Job;
        api::certificates::v1: CertificateSigningRequest;
        api::networking::v1: IngressClass, Ingress, IPAddress, NetworkPolicy, ServiceCIDR;
        api::policy::v1: PodDisruptionBudget, Eviction;
        api::rbac::v1: ClusterRoleBinding, ClusterRole, RoleBinding, Role;
        api::storage::v1: CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment, VolumeAttributesClass;
        api::admissionregistration::v1: MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, MutatingWebhookConfiguration, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding, ValidatingWebhookConfiguration;
        api::scheduling::v1: PriorityClass;
        api::coordination::v1: Lease;
        api::node::v1: RuntimeClass;
        api::discovery::v1: EndpointSlice;
        api::resource::v1: DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice;
        api::flowcontrol::v1: FlowSchema, PriorityLevelConfiguration;
        apiextensions_apiserver::pkg::apis::apiextensions::v1: CustomResourceDefinition;
        kube_aggregator::pkg::apis::apiregistration::v1: APIService;
        apimachinery::pkg::apis::meta::v1: APIResourceList, DeleteOptions, ListMeta, Status;
    }
    generator.take_definitions(false)
});

/// What a field of a definition (`io.k8s.api.core.v1.Pod`) is for.
pub fn description(definition: &str, field: &str) -> Option<String> {
    let said = &DESCRIBED.get(definition)?["properties"][field]["description"];
    said.as_str().map(str::to_owned)
}

/// Adds descriptions to a definition and its fields.
pub fn describe(definition: &str, schema: &mut Value) {
    let Some(described) = DESCRIBED.get(definition) else { return };
    let say = |schema: &mut Value, described: &Value| {
        if let (Some(map), Some(said)) = (schema.as_object_mut(), described.get("description")) {
            map.entry("description").or_insert_with(|| said.clone());
        }
    };
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        for (field, property) in properties {
            say(property, &described["properties"][field]);
        }
    }
    say(schema, described);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_kind_and_field_is_described() {
        for resource in crate::builtin::resources() {
            let node = resource.shape.node();
            let name = node.name.unwrap();
            let described = DESCRIBED.get(name).unwrap_or_else(|| panic!("{name} is unknown"));
            assert!(described["description"].is_string() || name.ends_with("Review"), "{name}");
            for field in node.schema.properties.keys() {
                let exists = described["properties"].get(field).is_some();
                assert!(exists, "{name} does not know {field}");
            }
        }
    }
}
