//! Flux: source-controller, kustomize-controller and helm-controller, as far as plain manifests go.
//!
//! Each is a process of its own with caches of its own, because what goes wrong between them goes wrong
//! where one cache is older than another ([`crate::actors::Pace::set_lag`]).

mod action;
mod apply;
mod build;
mod chart;
mod health;
mod helm;
mod inputs;
mod kustomize;
mod release;
mod resourceset;
mod source;
mod state;
mod storage;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest as _, Sha256};

use super::git::Remote;
use super::kinds;
use super::process::Process;

pub use release::{Release, decode, encode};

/// Asks a controller to look now; its answer is `status.lastHandledReconcileAt`.
pub const REQUESTED_AT: &str = "reconcile.fluxcd.io/requestedAt";
/// Keeps a Flux object until what it made is cleaned up.
pub const FINALIZER: &str = "finalizers.fluxcd.io";

/// Files by path.
pub type Files = BTreeMap<String, Vec<u8>>;

/// What source-controller keeps for the others, by URL. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Artifacts {
    inner: Arc<Mutex<BTreeMap<String, Arc<Files>>>>,
}

impl Artifacts {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Files>>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The files behind a URL, as long as they are kept.
    pub fn get(&self, url: &str) -> Option<Arc<Files>> {
        self.lock().get(url).cloned()
    }

    fn put(&self, url: &str, files: Files) {
        self.lock().insert(url.to_owned(), Arc::new(files));
    }

    /// Forgets what lies below `prefix` but for the URLs to keep.
    fn tidy(&self, prefix: &str, keep: &[&str]) {
        self.lock().retain(|url, _| !url.starts_with(prefix) || keep.contains(&url.as_str()));
    }
}

/// `sha256:…` over files.
fn digest(files: &Files) -> String {
    let mut hash = Sha256::new();
    for (path, bytes) in files {
        hash.update(format!("{path}\0{}\0", bytes.len()));
        hash.update(bytes);
    }
    format!("sha256:{}", hex(&hash.finalize()))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Fetches sources and packs charts. Needs Flux's CRDs.
pub fn source_controller(git: &Remote, artifacts: &Artifacts) -> Process {
    Process {
        name: "source-controller",
        watches: vec![kinds::git_repositories(), kinds::helm_charts()],
        loops: vec![
            Box::new(source::GitRepositories::new(git.clone(), artifacts.clone())),
            Box::new(chart::HelmCharts::new(artifacts.clone())),
        ],
    }
}

/// Applies, prunes and checks what Kustomizations name. Needs Flux's CRDs.
pub fn kustomize_controller(artifacts: &Artifacts) -> Process {
    Process {
        name: "kustomize-controller",
        watches: vec![kinds::kustomizations(), kinds::git_repositories()],
        loops: vec![Box::new(kustomize::Kustomizations::new(artifacts.clone()))],
    }
}

/// Installs, upgrades and remediates HelmReleases. Needs Flux's CRDs.
pub fn helm_controller(artifacts: &Artifacts) -> Process {
    Process {
        name: "helm-controller",
        watches: vec![kinds::helm_releases(), kinds::helm_charts()],
        loops: vec![Box::new(helm::HelmReleases::new(artifacts.clone()))],
    }
}

/// flux-operator, as far as ResourceSets go. Needs its CRDs.
pub fn flux_operator() -> Process {
    Process {
        name: "flux-operator",
        watches: vec![kinds::resource_sets(), kinds::input_providers()],
        loops: vec![
            Box::new(resourceset::ResourceSets::default()),
            Box::new(resourceset::Providers),
        ],
    }
}

#[cfg(test)]
mod tests;
