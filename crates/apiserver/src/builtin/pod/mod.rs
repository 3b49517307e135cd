//! Pods, and the templates that workloads make pods from.

mod affinity;
mod annotations;
mod container;
pub mod defaults;
mod env;
pub mod ephemeral;
mod platform;
mod prepare;
mod probes;
mod projected;
mod qos;
pub mod resize;
mod resources;
mod security;
mod spec;
mod status;
mod update;
mod vendors;
mod volumes;
mod warnings;

pub use affinity::{counts, tolerations};
pub use annotations::pod as annotations;
pub use prepare::drop_disabled;
pub use probes::nonnegative;
pub use resources::{container_name, limits};
pub use spec::{choice, template};
pub use warnings::claim as claim_warnings;

use serde_json::Value;

use super::value::Fields as _;
use super::{Generation, Strategy, form, format};
use crate::fields::Path;

/// The rules of pods.
pub const POD: Strategy = Strategy {
    defaults: |pod| {
        form::settle("v1", "Pod", pod);
        defaults::pod(pod);
    },
    prepare_create: prepare::create,
    prepare_update: prepare::update,
    validate: spec::create,
    validate_update: update::update,
    validate_status: status::update,
    revalidate: false,
    // People seldom change pods themselves, and controllers do not read warnings.
    warnings: |pod, old| {
        if old.is_some() {
            return Vec::new();
        }
        let meta = pod.get_or_null("metadata");
        let mut said = name_warning(
            meta.text("name"),
            "this is used in the Pod's hostname, which can result in surprising behavior",
        );
        said.extend(warnings::warnings(meta, pod.get_or_null("spec"), &Path::root()));
        said
    },
    generation: Generation::Spec,
    ..Strategy::PLAIN
};

/// Warns of a template, if it is new or its workload changed.
pub fn template_warnings(template: &Value, field: &Path) -> Vec<String> {
    warnings::warnings(template.get_or_null("metadata"), template.get_or_null("spec"), field)
}

/// Warns of a name that makes no host name.
pub fn name_warning(name: &str, why: &str) -> Vec<String> {
    let wrong = format::dns_label(name);
    if wrong.is_empty() {
        return Vec::new();
    }
    vec![format!("metadata.name: {why}; a DNS label is recommended: [{}]", wrong.join(" "))]
}
