//! What a HelmRelease needs next, and what is written down about it.

use kube::ResourceExt as _;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::hex;
use super::release::Release;
use super::state::{duration, show};
use crate::actors::kinds;
use crate::actors::process::{ActorError, Desk, Key};

/// How many versions of a release are kept.
pub const HISTORY: usize = 5;

/// One step of bringing a release to its spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Install,
    Upgrade,
    Rollback,
    Uninstall,
}

impl Action {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Install => "install",
            Self::Upgrade => "upgrade",
            Self::Rollback => "rollback",
            Self::Uninstall => "uninstall",
        }
    }

    /// Whether it brings something new, and does not clear up after it.
    pub const fn releases(self) -> bool {
        matches!(self, Self::Install | Self::Upgrade)
    }

    pub const fn title(self) -> &'static str {
        match self {
            Self::Install => "Install",
            Self::Upgrade => "Upgrade",
            Self::Rollback => "Rollback",
            Self::Uninstall => "Uninstall",
        }
    }
}

/// What is to be released.
#[derive(Clone)]
pub struct Wanted {
    pub name: String,
    pub namespace: String,
    pub storage: String,
    pub chart: Value,
    pub version: String,
    pub digest: String,
    pub config: Value,
    pub manifest: String,
}

/// Where the chart object of a release lies.
pub fn chart_key(object: &DynamicObject) -> Key {
    let own = object.namespace().unwrap_or_default();
    let source = &object.data["spec"]["chart"]["spec"]["sourceRef"];
    let namespace = source["namespace"].as_str().unwrap_or(&own);
    Key::new(namespace, &format!("{own}-{}", object.name_any()))
}

pub fn sha(text: &str) -> String {
    format!("sha256:{}", hex(&Sha256::digest(text.as_bytes())))
}

/// Chooses the next action from the history and the failures so far.
pub fn decide(spec: &Value, status: &Value, wanted: &Wanted) -> Result<Option<Action>, String> {
    let latest = &status["history"][0];
    let count = |field: &str| status[field].as_i64().unwrap_or_default();
    let exhausted = |action: &str, failures: i64| {
        let retries = spec[action]["remediation"]["retries"].as_i64().unwrap_or_default();
        retries >= 0 && failures > retries
    };
    let (installs, upgrades) = (count("installFailures"), count("upgradeFailures"));
    let stalled = |_: &str| {
        let action = status["lastAttemptedReleaseAction"].as_str().unwrap_or_default();
        let failures = if action == "install" { installs } else { upgrades };
        Err(format!("Failed to {action} after {failures} attempt(s)"))
    };
    let same = latest["chartVersion"] == wanted.version.as_str()
        && latest["configDigest"] == wanted.digest.as_str();
    match latest["status"].as_str() {
        None | Some("uninstalled") => {
            if exhausted("install", installs) || exhausted("upgrade", upgrades) && upgrades > 0 {
                return stalled("install");
            }
            Ok(Some(Action::Install))
        }
        Some("failed") if installs > 0 => {
            let last = spec["install"]["remediation"]["remediateLastFailure"] == true;
            if exhausted("install", installs) && !last {
                return stalled("install");
            }
            Ok(Some(Action::Uninstall))
        }
        Some("failed") if upgrades > 0 => {
            let remediation = &spec["upgrade"]["remediation"];
            let last = remediation["remediateLastFailure"].as_bool();
            let retries = remediation["retries"].as_i64().unwrap_or_default();
            if exhausted("upgrade", upgrades) && !last.unwrap_or(retries > 0) {
                return stalled("upgrade");
            }
            let uninstalls = remediation["strategy"] == "uninstall";
            Ok(Some(if uninstalls { Action::Uninstall } else { Action::Rollback }))
        }
        Some("deployed") if same => Ok(None),
        _ => {
            if exhausted("upgrade", upgrades) && upgrades > 0 {
                return stalled("upgrade");
            }
            Ok(Some(Action::Upgrade))
        }
    }
}

/// Marks an object as Helm's.
pub fn adorn(object: &mut Value, wanted: &Wanted) {
    for part in ["labels", "annotations"] {
        if !object["metadata"][part].is_object() {
            object["metadata"][part] = json!({});
        }
    }
    object["metadata"]["labels"]["app.kubernetes.io/managed-by"] = json!("Helm");
    let annotations = &mut object["metadata"]["annotations"];
    annotations["meta.helm.sh/release-name"] = json!(wanted.name);
    annotations["meta.helm.sh/release-namespace"] = json!(wanted.namespace);
}

/// What became of a version, for the history.
pub struct Record<'a> {
    pub action: Action,
    pub release: &'a Release,
    /// A version that had to make room for it.
    pub dropped: Option<&'a Release>,
    /// Every version that is kept.
    pub versions: &'a [Release],
}

/// Puts a version on top of the history, and the states of older ones right.
pub fn record(status: &mut Value, wanted: &Wanted, record: &Record<'_>) {
    let Record { action, release, dropped, versions } = *record;
    let mut history = status["history"].as_array().cloned().unwrap_or_default();
    if action == Action::Install {
        history.clear();
    }
    let mut first = true;
    for entry in &mut history {
        let stored = versions.iter().find(|one| entry["version"] == one.version());
        let Some(stored) = stored else { continue };
        let changed = entry["status"] != stored.status();
        // An upgrade stores the version before it once more, whatever comes of it.
        let again = action == Action::Upgrade
            && std::mem::take(&mut first)
            && matches!(stored.status(), "deployed" | "superseded");
        entry["status"] = json!(stored.status());
        let Some(entry) = entry.as_object_mut().filter(|_| changed || again) else { continue };
        // An entry that is taken anew from the storage does not know what led to it.
        match action {
            Action::Rollback => drop(entry.insert("action".into(), json!("rollback"))),
            _ => drop(entry.remove("action")),
        }
    }
    // A rollback has the chart and the values of the version it goes back to.
    let source = history
        .iter()
        .find(|entry| matches!(entry["status"].as_str(), Some("deployed" | "superseded")))
        .filter(|_| action == Action::Rollback);
    let (version, digest) = match source {
        Some(entry) => (entry["chartVersion"].clone(), entry["configDigest"].clone()),
        None => (json!(wanted.version), json!(wanted.digest)),
    };
    // What a rollback lets go is taken for something new.
    if let Some(dropped) = dropped.filter(|_| action == Action::Rollback) {
        let digest = sha(&dropped.0["config"].to_string());
        let version = dropped.0["chart"]["metadata"]["version"].clone();
        history.insert(0, entry(dropped, wanted, (version, json!(digest))));
    }
    let mut new = entry(release, wanted, (version, digest));
    new["action"] = json!(action.word());
    history.insert(0, new);
    status["history"] = history.into();
}

fn entry(release: &Release, wanted: &Wanted, (version, digest): (Value, Value)) -> Value {
    let chart = &release.0["chart"]["metadata"];
    let info = &release.0["info"];
    json!({
        "apiVersion": "v2", "name": wanted.name, "namespace": wanted.namespace,
        "version": release.version(), "status": release.status(), "chartName": chart["name"],
        "chartVersion": version, "appVersion": chart["appVersion"], "configDigest": digest,
        "digest": sha(&release.0.to_string()),
        "firstDeployed": info["first_deployed"], "lastDeployed": info["last_deployed"],
    })
}

/// Forgets what lies before the last version that was good, once all is as it should be.
pub fn shorten(status: &mut Value) {
    let Some(history) = status["history"].as_array_mut() else { return };
    let good = |entry: &Value| matches!(entry["status"].as_str(), Some("deployed" | "superseded"));
    let before = history.iter().skip(1).position(good);
    history.truncate(before.map_or(HISTORY, |at| at + 2));
}

/// Failures so far; none is not written down.
pub const FAILURES: [&str; 3] = ["failures", "installFailures", "upgradeFailures"];

/// Makes the HelmChart that source-controller packs for this release.
pub async fn ask_for_chart(
    desk: &Desk,
    key: &Key,
    object: &DynamicObject,
) -> Result<(), ActorError> {
    let resource = kinds::helm_charts();
    let at = chart_key(object);
    let wanted = &object.data["spec"]["chart"]["spec"];
    let interval = wanted["interval"].as_str().or(object.data["spec"]["interval"].as_str());
    let interval = interval.and_then(duration);
    let spec = json!({
        "chart": wanted["chart"],
        "version": wanted["version"].as_str().unwrap_or("*"),
        "interval": interval.map(show),
        "reconcileStrategy": wanted["reconcileStrategy"].as_str().unwrap_or("ChartVersion"),
        "sourceRef": {"kind": wanted["sourceRef"]["kind"], "name": wanted["sourceRef"]["name"]},
    });
    if desk.cache.get("HelmChart", &at).is_some_and(|known| known.data["spec"] == spec) {
        return Ok(());
    }
    let body = json!({
        "apiVersion": resource.api_version, "kind": resource.kind,
        "metadata": {
            "name": at.name, "namespace": at.namespace,
            "labels": {
                "helm.toolkit.fluxcd.io/name": key.name,
                "helm.toolkit.fluxcd.io/namespace": key.namespace,
            },
        },
        "spec": spec,
    });
    let params = PatchParams::apply("helm-controller").force();
    desk.api(&resource, &at.namespace).patch(&at.name, &params, &Patch::Apply(&body)).await?;
    Ok(())
}
