//! Pods, and the templates that workloads make pods from.

mod affinity;
mod annotations;
mod container;
pub mod defaults;
mod env;
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
mod volumes;

pub use affinity::{counts, tolerations};
pub use annotations::pod as annotations;
pub use prepare::drop_disabled;
pub use probes::nonnegative;
pub use resources::{container_name, limits};
pub use spec::{choice, template};

use super::{Generation, Strategy, form};

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
    generation: Generation::Spec,
    ..Strategy::PLAIN
};
