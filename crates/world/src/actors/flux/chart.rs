//! HelmCharts: a folder of a GitRepository, packed under its chart's version.

use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::source::STORAGE;
use super::state::{Cause, Draft, Memory, hold, interval, release, suspended, token};
use super::{Artifacts, Files, digest};
use crate::actors::kinds;
use crate::actors::process::{ActorError, Again, Cache, Desk, Key, Reconciler};

const RETRY: Duration = Duration::from_secs(10);

/// Keeps an artifact of every HelmChart.
pub struct HelmCharts {
    artifacts: Artifacts,
    memory: Memory,
}

impl HelmCharts {
    pub fn new(artifacts: Artifacts) -> Self {
        Self { artifacts, memory: Memory::default() }
    }
}

impl Reconciler for HelmCharts {
    fn name(&self) -> &'static str {
        "helmchart"
    }

    fn wakes(&self, kind: &str, object: &DynamicObject, cache: &Cache) -> Vec<Key> {
        match kind {
            "HelmChart" => vec![Key::of(object)],
            "GitRepository" => cache
                .list("HelmChart", object.metadata.namespace.as_deref())
                .filter(|chart| {
                    chart.data["spec"]["sourceRef"]["name"].as_str()
                        == object.metadata.name.as_deref()
                })
                .map(|chart| Key::of(chart))
                .collect(),
            _ => Vec::new(),
        }
    }

    fn reconcile<'a>(
        &'a mut self,
        key: &'a Key,
        desk: &'a Desk,
    ) -> BoxFuture<'a, Result<Again, ActorError>> {
        self.sync(key, desk).boxed()
    }
}

/// The files below a folder, by their paths in it.
pub fn below(files: &Files, folder: &str) -> Files {
    let folder = folder.trim_start_matches("./").trim_matches('/');
    if folder.is_empty() || folder == "." {
        return files.clone();
    }
    let prefix = format!("{folder}/");
    let inside = files
        .iter()
        .filter_map(|(path, bytes)| Some((path.strip_prefix(&prefix)?.to_owned(), bytes.clone())));
    inside.collect()
}

impl HelmCharts {
    async fn sync(&mut self, key: &Key, desk: &Desk) -> Result<Again, ActorError> {
        let resource = kinds::helm_charts();
        let Some(object) = desk.cache.get("HelmChart", key).cloned() else {
            self.memory.forget(key);
            return Ok(None);
        };
        if object.metadata.deletion_timestamp.is_some() {
            release(desk, &resource, &object).await?;
            return Ok(None);
        }
        let source = source_of(key, &object, desk);
        let mut cause = Cause::of(&object);
        cause.source = source["revision"].as_str().map(str::to_owned);
        if let Some(left) = self.memory.idle(key, &cause) {
            return Ok(Some(left));
        }
        if hold(desk, &resource, &object).await? {
            return Ok(None);
        }
        let mut draft = Draft::new(&object, self.memory.status(key, &object), desk.stamp());
        let mut after = interval(&object);
        if !suspended(&object) {
            match self.pack(key, &object, &source, &mut draft, desk) {
                Ok(message) => {
                    draft.unset("Stalled");
                    draft.unset("FetchFailed");
                    draft.set("ArtifactInStorage", "True", "ChartPackageSucceeded", &message);
                    draft.set("Ready", "True", "ChartPackageSucceeded", &message);
                }
                Err(("InvalidChartReference", why)) => {
                    // Nothing but a change of the spec or of the source can help.
                    for (kind, status) in [("Stalled", "True"), ("FetchFailed", "True")] {
                        draft.set(kind, status, "InvalidChartReference", &why);
                    }
                    draft.fail("InvalidChartReference", &why);
                    draft.status["observedGeneration"] = json!(object.metadata.generation);
                }
                Err((reason, why)) => {
                    draft.fail(reason, &why);
                    after = after.min(RETRY);
                }
            }
        }
        draft.close(token(&object).as_deref());
        self.memory.write(desk, &resource, (key, &object), &draft).await?;
        Ok(Some(self.memory.rest(key, cause, after)))
    }

    fn pack(
        &self,
        key: &Key,
        object: &DynamicObject,
        source: &Value,
        draft: &mut Draft,
        desk: &Desk,
    ) -> Result<String, (&'static str, String)> {
        let spec = &object.data["spec"];
        if spec["sourceRef"]["kind"] != "GitRepository" {
            let kind = spec["sourceRef"]["kind"].as_str().unwrap_or_default();
            return Err((
                "UnsupportedSourceKind",
                format!("charts from a {kind} are not played here"),
            ));
        }
        let files = source["url"].as_str().and_then(|url| self.artifacts.get(url));
        let Some(files) = files else {
            return Err((
                "NoSourceArtifact",
                "no artifact available for the chart's source".into(),
            ));
        };
        let folder = spec["chart"].as_str().unwrap_or_default();
        draft.status["observedSourceArtifactRevision"] = source["revision"].clone();
        let files = below(&files, folder);
        if files.is_empty() {
            let why = format!(
                "invalid chart reference: stat /tmp/helmchart-{}-{}-0/source/{}: no such file or directory",
                key.namespace,
                key.name,
                folder.trim_start_matches("./")
            );
            return Err(("InvalidChartReference", why));
        }
        let about = files.get("Chart.yaml").and_then(|bytes| {
            serde_saphyr::from_str::<Value>(std::str::from_utf8(bytes).ok()?).ok()
        });
        let Some(about) = about else {
            return Err(("ChartPullError", format!("there is no readable Chart.yaml in {folder}")));
        };
        let word = |field: &str| about[field].as_str().unwrap_or_default().to_owned();
        let (chart, mut version) = (word("name"), word("version"));
        if chart.is_empty() || version.is_empty() {
            return Err((
                "ChartPullError",
                format!("Chart.yaml in {folder} lacks name or version"),
            ));
        }
        if spec["reconcileStrategy"] == "Revision" {
            let revision = source["revision"].as_str().unwrap_or_default();
            let hash = revision.rsplit(':').next().unwrap_or_default();
            version = format!("{version}+{}", &hash[..hash.len().min(12)]);
        }
        let message = format!("packaged '{chart}' chart with version '{version}'");
        draft.status["observedChartName"] = json!(chart);
        draft.status["url"] =
            json!(format!("{STORAGE}helmchart/{}/{}/latest.tar.gz", key.namespace, key.name));
        let path = format!("helmchart/{}/{}/{chart}-{version}.tgz", key.namespace, key.name);
        let url = format!("{STORAGE}{path}");
        // A chart whose version did not change is not packed again, whatever its files say.
        if draft.status["artifact"]["revision"] == version.as_str()
            && self.artifacts.get(&url).is_some()
        {
            return Ok(message);
        }
        draft.status["artifact"] = json!({
            "revision": version, "digest": digest(&files), "path": path, "url": url,
            "lastUpdateTime": desk.stamp(),
        });
        self.artifacts.put(&url, files);
        Ok(message)
    }
}

fn source_of(key: &Key, chart: &DynamicObject, desk: &Desk) -> Value {
    let name = chart.data["spec"]["sourceRef"]["name"].as_str().unwrap_or_default();
    desk.cache
        .get("GitRepository", &Key::new(&key.namespace, name))
        .map(|source| source.data["status"]["artifact"].clone())
        .unwrap_or_default()
}
