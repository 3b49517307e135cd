//! Where Helm keeps the versions of a release.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};

use super::helm::HelmReleases;
use super::release::{Release, decode};
use crate::actors::kinds;
use crate::actors::process::{ActorError, Desk, Key};

impl HelmReleases {
    /// Reads the versions that are there already, as after a restart.
    pub(super) async fn load(
        &mut self,
        desk: &Desk,
        key: &Key,
        (storage, name): (&str, &str),
    ) -> Result<(), ActorError> {
        if self.stored.contains_key(key) {
            return Ok(());
        }
        let own = ListParams::default().labels(&format!("owner=helm,name={name}"));
        let secrets = desk.api(&kinds::secrets(), storage).list(&own).await?;
        let mut versions: Vec<Release> = secrets
            .iter()
            .filter_map(|secret| STANDARD.decode(secret.data["data"]["release"].as_str()?).ok())
            .filter_map(|packed| decode(&packed).map(Release))
            .collect();
        versions.sort_by_key(Release::version);
        self.stored.insert(key.clone(), versions);
        Ok(())
    }

    /// Stores a version in its secret, and lets the oldest go if there are more than `most`. Gives that.
    pub(super) async fn keep(
        &mut self,
        desk: &Desk,
        key: &Key,
        (storage, most): (&str, usize),
        release: Release,
    ) -> Result<Option<Release>, ActorError> {
        let secret = release
            .to_secret(storage, desk.now().as_second())
            .map_err(|error| ActorError::Other(error.to_string()))?;
        let api = desk.api(&kinds::secrets(), storage);
        let manager = Some("helm-controller".to_owned());
        let made = PostParams { field_manager: manager.clone(), ..PostParams::default() };
        let object: DynamicObject = serde_json::from_value(secret.clone())
            .map_err(|error| ActorError::Other(error.to_string()))?;
        match api.create(&made, &object).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {
                let params = PatchParams { field_manager: manager, ..PatchParams::default() };
                api.patch(&release.secret(), &params, &Patch::Merge(&secret)).await?;
            }
            Err(error) => return Err(error.into()),
        }
        let versions = self.stored.entry(key.clone()).or_default();
        versions.retain(|one| one.version() != release.version());
        versions.push(release);
        versions.sort_by_key(Release::version);
        let mut dropped = None;
        while most > 0 && versions.len() > most {
            // What runs must stay, however old it is.
            let oldest = versions.iter().position(|one| one.status() != "deployed").unwrap_or(0);
            let oldest = versions.remove(oldest);
            gone(api.delete(&oldest.secret(), &DeleteParams::default()).await.map(drop))?;
            dropped = Some(oldest);
        }
        Ok(dropped)
    }

    pub(super) async fn forget_versions(
        &mut self,
        desk: &Desk,
        key: &Key,
        storage: &str,
    ) -> Result<(), ActorError> {
        let api = desk.api(&kinds::secrets(), storage);
        for version in self.stored.remove(key).unwrap_or_default() {
            gone(api.delete(&version.secret(), &DeleteParams::default()).await.map(drop))?;
        }
        Ok(())
    }
}

/// What is gone already is gone.
pub(super) fn gone(outcome: Result<(), kube::Error>) -> Result<(), ActorError> {
    match outcome {
        Ok(()) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(error.into()),
    }
}
