//! Server-side apply in Holdfast's name.

use std::fmt::Debug;

use kube::Api;
use kube::api::{Patch, PatchParams};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::call::{CallError, repeated};
use crate::clock::Clock;

/// In whose name fields are owned. Never begins with `kubectl`: Flux takes such fields for a
/// person's leftovers and removes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manager(&'static str);

impl Manager {
    /// What belongs to no capability alone.
    pub const SHARED: Self = Self("holdfast.dev/shared");
    /// Upgrades and rollbacks.
    pub const UPGRADE: Self = Self("holdfast.dev/upgrade");
    /// Backups and restores.
    pub const PROTECT: Self = Self("holdfast.dev/protect");
    /// Causes and cures.
    pub const GUARD: Self = Self("holdfast.dev/guard");
    /// Cluster to git.
    pub const RECORD: Self = Self("holdfast.dev/record");

    /// The name as `managedFields` shows it.
    pub fn name(self) -> &'static str {
        self.0
    }

    fn params(self) -> PatchParams {
        PatchParams::apply(self.0).force()
    }
}

/// Applies an object: the fields that it carries are ours, whoever had them before. Applying the
/// same again changes nothing, so that a lost answer is no trouble.
pub async fn apply<K>(
    clock: &dyn Clock,
    api: &Api<K>,
    name: &str,
    manager: Manager,
    object: &impl Serialize,
) -> Result<K, CallError>
where
    K: Clone + DeserializeOwned + Debug,
{
    let object = serde_json::to_value(object).map_err(kube::Error::SerdeError)?;
    let (params, patch) = (manager.params(), Patch::Apply(object));
    repeated(clock, || api.patch(name, &params, &patch)).await
}

/// Applies the status of an object.
pub async fn apply_status<K>(
    clock: &dyn Clock,
    api: &Api<K>,
    name: &str,
    manager: Manager,
    object: &impl Serialize,
) -> Result<K, CallError>
where
    K: Clone + DeserializeOwned + Debug,
{
    let object = serde_json::to_value(object).map_err(kube::Error::SerdeError)?;
    let (params, patch) = (manager.params(), Patch::Apply(object));
    repeated(clock, || api.patch_status(name, &params, &patch)).await
}
