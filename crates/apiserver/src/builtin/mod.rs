//! What the built-in kinds default, refuse and keep: one [`Strategy`] per kind, chosen by group and kind.

mod account;
mod address;
pub mod admit;
mod autoscaler;
mod autoscaler_v1;
pub mod batch;
mod catalog;
mod certificate;
mod claim;
mod classes;
mod config;
mod devices;
mod disruption;
mod endpoints;
pub mod event;
mod flow;
pub mod form;
pub mod format;
mod ingress;
pub mod labels;
mod lease;
pub mod meta;
mod namespace;
mod network;
mod node;
mod numbers;
pub mod pod;
mod priority;
mod quota;
mod rbac;
mod registration;
#[cfg(test)]
mod seen;
mod service;
mod share;
mod storage;
pub mod value;
mod versions;
pub mod view;
mod volume;
pub mod workload;

use serde_json::Value;

pub use catalog::{definitions, resources, schemas};
pub use versions::{empty_parts, from_version, to_version};

use crate::fields::FieldError;
use crate::resource::Resource;

/// How a kind's `metadata.generation` moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// The kind has none.
    None,
    /// Rises when anything but metadata and status changes.
    Spec,
    /// Like `Spec`, but absent until the first change (CSIDriver).
    SpecOnceChanged,
    /// Rises when anything but metadata changes (custom kinds without a status subresource).
    Whole,
    /// Rises with spec and annotations (Deployment).
    SpecAndAnnotations,
    /// Is 1 and stays 1 (PriorityClass).
    Constant,
}

/// The rules of one kind, as functions over plain objects.
///
/// Order on create: `defaults`, `prepare_create`, (admission), `validate`. On update: `defaults`,
/// `prepare_update`, (admission), `validate` (if `revalidate`), `validate_update`. Metadata is validated elsewhere (`meta`).
#[derive(Clone, Copy)]
pub struct Strategy {
    /// Fills absent fields.
    pub defaults: fn(&mut Value),
    /// Drops what a creator may not set and sets what the server does.
    pub prepare_create: fn(&mut Value),
    /// Carries over what an update (new, old) may not change silently.
    pub prepare_update: fn(&mut Value, &Value),
    /// What is wrong with an object by itself.
    pub validate: fn(&Value) -> Vec<FieldError>,
    /// What is wrong with the change (new, old).
    pub validate_update: fn(&Value, &Value) -> Vec<FieldError>,
    /// How its generation moves.
    pub generation: Generation,
    /// Whether PUT creates a missing object.
    pub create_on_update: bool,
    /// Whether an update is checked by `validate` before `validate_update`. Kinds whose update has an
    /// order of its own say no and let `validate_update` do all of it.
    pub revalidate: bool,
    /// Whether PUT may leave out the resourceVersion.
    pub unconditional_update: bool,
    /// What is wrong with a change of `/status` (new, old).
    pub validate_status: fn(&Value, &Value) -> Vec<FieldError>,
    /// What is unwise about an object that is stored (new, old if it is an update).
    pub warnings: fn(&Value, Option<&Value>) -> Vec<String>,
}

impl Strategy {
    /// No rules at all; kinds start from here.
    pub const PLAIN: Self = Self {
        defaults: |_| {},
        prepare_create: |_| {},
        prepare_update: |_, _| {},
        validate: |_| Vec::new(),
        validate_update: |_, _| Vec::new(),
        generation: Generation::None,
        create_on_update: false,
        revalidate: true,
        unconditional_update: true,
        validate_status: |_, _| Vec::new(),
        warnings: |_, _| Vec::new(),
    };
}

/// What becomes of an object when it is written and read again.
///
/// The real server defaults what it reads, and its store does not tell an empty list from none.
pub(crate) fn reread(resource: &Resource, object: &mut Value) {
    if resource.custom {
        return;
    }
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("batch", "Job") => {
            let labels = object["spec"]["template"]["metadata"]["labels"].clone();
            if let Some(metadata) = object["metadata"].as_object_mut()
                && labels.is_object()
            {
                metadata.entry("labels").or_insert(labels);
            }
        }
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => {
            if let Some(rules) = object.get_mut("rules")
                && rules.as_array().is_some_and(Vec::is_empty)
            {
                *rules = Value::Null;
            }
        }
        _ => {}
    }
}

/// The rules of a built-in kind.
pub fn strategy(group: &str, kind: &str) -> Strategy {
    match (group, kind) {
        ("", "Pod") => pod::POD,
        ("", "PodTemplate") => workload::POD_TEMPLATE,
        ("", "ReplicationController") => workload::REPLICATION_CONTROLLER,
        ("apps", "ReplicaSet") => workload::REPLICA_SET,
        ("apps", "Deployment") => workload::DEPLOYMENT,
        ("apps", "StatefulSet") => workload::STATEFUL_SET,
        ("apps", "DaemonSet") => workload::DAEMON_SET,
        ("apps", "ControllerRevision") => workload::CONTROLLER_REVISION,
        ("batch", "Job") => batch::JOB,
        ("batch", "CronJob") => batch::CRON_JOB,
        ("autoscaling", "HorizontalPodAutoscaler") => autoscaler::AUTOSCALER,
        ("policy", "PodDisruptionBudget") => disruption::DISRUPTION_BUDGET,
        ("scheduling.k8s.io", "PriorityClass") => classes::PRIORITY_CLASS,
        ("node.k8s.io", "RuntimeClass") => classes::RUNTIME_CLASS,

        // everything else: Service, claims, volumes, storage, RBAC, policies, events, leases, …
        ("", "Namespace") => namespace::NAMESPACE,
        ("", "ConfigMap") => config::CONFIG_MAP,
        ("", "Secret") => config::SECRET,
        ("", "Service") => service::SERVICE,
        ("", "PersistentVolumeClaim") => claim::CLAIM,
        ("", "PersistentVolume") => volume::VOLUME,
        ("", "ServiceAccount") => account::SERVICE_ACCOUNT,
        ("", "Endpoints") => endpoints::ENDPOINTS,
        ("", "Node") => node::NODE,
        ("", "Event") => event::EVENT,
        ("events.k8s.io", "Event") => event::EVENTS_EVENT,
        ("discovery.k8s.io", "EndpointSlice") => endpoints::ENDPOINT_SLICE,
        ("storage.k8s.io", "StorageClass") => storage::STORAGE_CLASS,
        ("storage.k8s.io", "VolumeAttributesClass") => storage::VOLUME_ATTRIBUTES_CLASS,
        ("storage.k8s.io", "CSIDriver") => storage::CSI_DRIVER,
        ("storage.k8s.io", "CSINode") => storage::CSI_NODE,
        ("storage.k8s.io", "CSIStorageCapacity") => storage::CSI_STORAGE_CAPACITY,
        ("storage.k8s.io", "VolumeAttachment") => storage::VOLUME_ATTACHMENT,
        ("rbac.authorization.k8s.io", "Role") => rbac::ROLE,
        ("rbac.authorization.k8s.io", "ClusterRole") => rbac::CLUSTER_ROLE,
        ("rbac.authorization.k8s.io", "RoleBinding") => rbac::ROLE_BINDING,
        ("rbac.authorization.k8s.io", "ClusterRoleBinding") => rbac::CLUSTER_ROLE_BINDING,
        ("networking.k8s.io", "Ingress") => ingress::INGRESS,
        ("networking.k8s.io", "IngressClass") => ingress::INGRESS_CLASS,
        ("networking.k8s.io", "NetworkPolicy") => network::NETWORK_POLICY,
        ("networking.k8s.io", "IPAddress") => network::IP_ADDRESS,
        ("networking.k8s.io", "ServiceCIDR") => network::SERVICE_CIDR,
        ("coordination.k8s.io", "Lease") => lease::LEASE,
        ("resource.k8s.io", "ResourceClaim") => devices::CLAIM,
        ("resource.k8s.io", "ResourceClaimTemplate") => devices::TEMPLATE,
        ("resource.k8s.io", "DeviceClass") => devices::CLASS,
        ("resource.k8s.io", "ResourceSlice") => devices::SLICE,
        ("certificates.k8s.io", "CertificateSigningRequest") => certificate::REQUEST,
        ("apiregistration.k8s.io", "APIService") => registration::API_SERVICE,
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration") => {
            registration::VALIDATING_WEBHOOKS
        }
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration") => {
            registration::MUTATING_WEBHOOKS
        }
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => {
            registration::VALIDATING_POLICY
        }
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy") => {
            registration::MUTATING_POLICY
        }
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding") => {
            registration::VALIDATING_BINDING
        }
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding") => {
            registration::MUTATING_BINDING
        }
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => flow::FLOW_SCHEMA,
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration") => flow::PRIORITY_LEVEL,
        ("", "LimitRange") => quota::LIMIT_RANGE,
        ("", "ResourceQuota") => quota::RESOURCE_QUOTA,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => crate::crd::definition::STRATEGY,
        _ => Strategy::PLAIN,
    }
}

/// Takes from an update of a subresource (new, old) only what it may change.
pub fn prepare_part(kind: &str, subresource: &str, new: &mut Value, old: &Value) {
    match (kind, subresource) {
        ("Pod", "resize") => pod::resize::prepare(new, old),
        ("Pod", "ephemeralcontainers") => pod::ephemeral::prepare(new, old),
        _ => return,
    }
    let before = old.get("metadata").cloned().unwrap_or_default();
    if let Some(meta) = new.get_mut("metadata").and_then(Value::as_object_mut) {
        for key in ["labels", "annotations", "finalizers", "ownerReferences", "generation"] {
            match before.get(key) {
                Some(value) => drop(meta.insert(key.to_owned(), value.clone())),
                None => drop(meta.remove(key)),
            }
        }
    }
}

/// What is wrong with an update of a subresource (new, old) other than `status`.
pub fn validate_part(kind: &str, subresource: &str, new: &Value, old: &Value) -> Vec<FieldError> {
    match (kind, subresource) {
        ("Pod", "resize") => pod::resize::validate(new, old),
        ("Pod", "ephemeralcontainers") => pod::ephemeral::validate(new, old),
        _ => Vec::new(),
    }
}
