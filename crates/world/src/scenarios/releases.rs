//! Flux from git to Helm: manifests are applied, changed, pruned and refused; a chart is installed,
//! upgraded, upgraded in vain and uninstalled. What Flux says of it is noted.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::FutureExt as _;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::backup::create;
use crate::actors::flux::{self, decode};
use crate::actors::git::{Change, Signature};
use crate::actors::{kinds, workloads};
use crate::crds;
use crate::scenario::{Scenario, Stage};
use crate::sim::Violation;

const REPOSITORY: &str = "ops/fleet";
const PATIENCE: Duration = Duration::from_hours(1);

/// The story.
pub fn scenario() -> Scenario {
    Scenario {
        name: "releases",
        capability: "world",
        about: "Flux applies manifests and releases a chart from git; some commits are wrong",
        cast: |stage| {
            vec![
                workloads::controller_manager(),
                workloads::nodes(),
                flux::source_controller(&stage.remote("source-controller"), &stage.artifacts),
                flux::kustomize_controller(&stage.artifacts),
                flux::helm_controller(&stage.artifacts),
            ]
        },
        play: |stage| play(stage).boxed(),
        patience: Duration::from_hours(6),
    }
}

fn map(name: &str, color: &str) -> String {
    format!(
        "apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
  namespace: shop
data:
  color: {color}
"
    )
}

fn release(color: &str, replicas: &str) -> String {
    release_with(color, replicas, "")
}

fn release_with(color: &str, replicas: &str, more: &str) -> String {
    format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: web
  namespace: shop
spec:
  interval: 10m
  timeout: 2m
  chart:
    spec:
      chart: ./charts/web
      reconcileStrategy: ChartVersion
      sourceRef:
        kind: GitRepository
        name: fleet
        namespace: flux-system
  values:
    color: {color}
    replicas: {replicas}
{more}"
    )
}

const CHART: &str = "apiVersion: v2
name: web
version: 1.0.0
appVersion: \"1\"
";

const VALUES: &str = "color: none
replicas: 1
";

const TEMPLATE: &str = "apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-settings
data:
  color: {{ .Values.color }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  replicas: {{ .Values.replicas }}
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
        - name: main
          image: web:1
";

/// What makes Flux try again and go back.
const RETRIED: &str = "  upgrade:
    remediation:
      retries: 1
";

/// Commits and asks source-controller to look. Gives the revision.
async fn commit(
    stage: &Stage,
    message: &str,
    files: &[(&str, Option<String>)],
) -> Result<String, Violation> {
    let change: Change = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), text.clone().map(String::into_bytes)))
        .collect();
    let by = Signature::new("ada", crate::world::EPOCH);
    let id = stage
        .remote("person")
        .commit(REPOSITORY, "main", &change, &by, message)
        .await
        .map_err(|error| Violation(error.to_string()))?;
    stage.tell("person", format!("commits: {message}"));
    let sources = api(stage, kinds::git_repositories(), "flux-system");
    if sources.get_opt("fleet").await?.is_some() {
        let asked = json!({"metadata": {"annotations": {flux::REQUESTED_AT: message}}});
        sources.patch("fleet", &PatchParams::default(), &Patch::Merge(asked)).await?;
    }
    Ok(format!("main@sha1:{id}"))
}

fn api(stage: &Stage, resource: ApiResource, namespace: &str) -> Api<DynamicObject> {
    Api::namespaced_with(stage.client.clone(), namespace, &resource)
}

/// Waits until an object is as it should be, and notes it.
async fn noted(
    stage: &Stage,
    when: &str,
    (resource, namespace, name): (ApiResource, &str, &str),
    holds: impl Fn(&DynamicObject) -> bool,
) -> Result<DynamicObject, Violation> {
    let what = format!("{} {name}, {when}", resource.kind);
    let api = api(stage, resource, namespace);
    let mut before = None;
    loop {
        let found = stage
            .until(&what, PATIENCE, || {
                let api = api.clone();
                async move { api.get_opt(name).await }
                    .map(|found| found.map(|found| found.filter(&holds)))
            })
            .await?;
        // Flux writes conditions first and the rest of a status after them.
        if before == found.metadata.resource_version {
            stage.note(when, &found);
            return Ok(found);
        }
        before = found.metadata.resource_version;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

fn condition<'a>(object: &'a DynamicObject, kind: &str) -> &'a Value {
    object.data["status"]["conditions"]
        .as_array()
        .and_then(|all| all.iter().find(|one| one["type"] == kind))
        .unwrap_or(&Value::Null)
}

/// Ready says this and nothing is under way.
fn settled(object: &DynamicObject, ready: &str) -> bool {
    condition(object, "Ready")["status"] == ready
        && condition(object, "Ready")["observedGeneration"] == json!(object.metadata.generation)
        && (ready != "True" || condition(object, "Reconciling").is_null())
}

async fn applied(stage: &Stage, when: &str, name: &str, revision: &str) -> Result<(), Violation> {
    let at = (kinds::kustomizations(), "flux-system", name);
    noted(stage, when, at, |one| {
        settled(one, "True") && one.data["status"]["lastAppliedRevision"] == revision
    })
    .await?;
    Ok(())
}

async fn released(
    stage: &Stage,
    when: &str,
    holds: impl Fn(&DynamicObject) -> bool,
) -> Result<(), Violation> {
    noted(stage, when, (kinds::helm_releases(), "shop", "web"), holds).await?;
    let secrets = ListParams::default().labels("owner=helm");
    for mut secret in api(stage, kinds::secrets(), "shop").list(&secrets).await?.items {
        let packed = secret.data["data"]["release"].as_str().unwrap_or_default().to_owned();
        let packed = STANDARD.decode(packed).unwrap_or_default();
        let mut release = decode(&packed).unwrap_or_default();
        // What Helm keeps of the chart itself is large and beside the point.
        for part in ["templates", "files", "schema", "lock", "values"] {
            if let Some(chart) = release["chart"].as_object_mut() {
                chart.remove(part);
            }
        }
        let manifest = release["manifest"].as_str().unwrap_or_default();
        release["manifest"] = manifest
            .split("---\n")
            .filter(|text| !text.is_empty())
            .map(|text| {
                let source = text.lines().next().unwrap_or_default();
                let object: Value = serde_saphyr::from_str(text).unwrap_or_default();
                json!({"source": source, "object": object})
            })
            .collect();
        secret.data["data"]["release"] = release;
        if let Some(labels) = secret.metadata.labels.as_mut() {
            labels.remove("modifiedAt");
        }
        secret.types =
            Some(kube::api::TypeMeta { api_version: "v1".into(), kind: "Secret".into() });
        stage.note(when, &secret);
    }
    Ok(())
}

async fn gone(
    stage: &Stage,
    (resource, namespace, name): (ApiResource, &str, &str),
) -> Result<(), Violation> {
    let what = format!("{} {name} is gone", resource.kind);
    let api = api(stage, resource, namespace);
    stage
        .until(&what, PATIENCE, || {
            let api = api.clone();
            async move { Ok(api.get_opt(name).await?.is_none().then_some(())) }
        })
        .await
}

async fn set_up(stage: &Stage) -> Result<(), Violation> {
    crds::install(&stage.client, crds::flux()).await?;
    for name in ["flux-system", "shop"] {
        create(stage, kinds::namespaces(), json!({"metadata": {"name": name}})).await?;
    }
    create(stage, kinds::nodes(), json!({"metadata": {"name": "node-a"}})).await?;
    stage.forge.host().create(REPOSITORY);
    Ok(())
}

async fn sources(stage: &Stage) -> Result<(), Violation> {
    let place = |name: &str| json!({"name": name, "namespace": "flux-system"});
    let source = json!({
        "metadata": place("fleet"),
        "spec": {
            "interval": "10m", "url": stage.git_url(REPOSITORY), "ref": {"branch": "main"},
        },
    });
    create(stage, kinds::git_repositories(), source).await?;
    for (name, after) in [("config", None), ("releases", Some("config"))] {
        let mut one = json!({
            "metadata": place(name),
            "spec": {
                "interval": "10m", "path": format!("./{name}"), "prune": true, "wait": true,
                "timeout": "3m", "retryInterval": "2m",
                "sourceRef": {"kind": "GitRepository", "name": "fleet"},
            },
        });
        if let Some(after) = after {
            one["spec"]["dependsOn"] = json!([{"name": after}]);
        }
        create(stage, kinds::kustomizations(), one).await?;
    }
    Ok(())
}

/// A release that cannot be installed, however often.
async fn frail(stage: &Stage) -> Result<(), Violation> {
    let chart = json!({"spec": {
        "chart": "./charts/web",
        "sourceRef": {"kind": "GitRepository", "name": "fleet", "namespace": "flux-system"},
    }});
    let frail = json!({
        "metadata": {"name": "frail", "namespace": "shop"},
        "spec": {
            "interval": "10m", "timeout": "2m", "chart": chart, "values": {"replicas": -1},
            "install": {"remediation": {"retries": 1}},
        },
    });
    create(stage, kinds::helm_releases(), frail).await?;
    let at = (kinds::helm_releases(), "shop", "frail");
    noted(stage, "a frail release", at.clone(), |one| {
        settled(one, "False") && condition(one, "Stalled")["status"] == "True"
    })
    .await?;
    let all = api(stage, kinds::helm_releases(), "shop");
    all.delete("frail", &DeleteParams::default()).await?;
    gone(stage, at).await?;
    stage.tell("flux", "gave up on a release that cannot be installed");
    Ok(())
}

/// Sources and appliers that lead nowhere.
async fn astray(stage: &Stage) -> Result<(), Violation> {
    let place = |name: &str| json!({"name": name, "namespace": "flux-system"});
    let lost = json!({
        "metadata": place("lost"),
        "spec": {
            "interval": "10m", "url": stage.git_url(REPOSITORY), "ref": {"branch": "nowhere"},
        },
    });
    create(stage, kinds::git_repositories(), lost).await?;
    let at = (kinds::git_repositories(), "flux-system", "lost");
    noted(stage, "astray", at, |one| settled(one, "False")).await?;
    let nowhere = json!({
        "metadata": place("nowhere"),
        "spec": {
            "interval": "10m", "url": stage.git_url("ops/none"), "ref": {"branch": "main"},
        },
    });
    create(stage, kinds::git_repositories(), nowhere).await?;
    let at = (kinds::git_repositories(), "flux-system", "nowhere");
    noted(stage, "astray", at, |one| settled(one, "False")).await?;
    let empty = json!({
        "metadata": place("empty"),
        "spec": {
            "interval": "10m", "chart": "./charts/none", "version": "*",
            "reconcileStrategy": "ChartVersion",
            "sourceRef": {"kind": "GitRepository", "name": "fleet"},
        },
    });
    create(stage, kinds::helm_charts(), empty).await?;
    let at = (kinds::helm_charts(), "flux-system", "empty");
    noted(stage, "astray", at, |one| settled(one, "False")).await?;
    let wrong = [
        ("sourceless", json!({"path": "./config"}), "none"),
        ("early", json!({"path": "./config"}), "lost"),
        ("pathless", json!({"path": "./none"}), "fleet"),
        ("alone", json!({"path": "./config", "dependsOn": [{"name": "none"}]}), "fleet"),
    ];
    for (name, mut spec, source) in wrong {
        spec["interval"] = json!("10m");
        spec["prune"] = json!(false);
        spec["sourceRef"] = json!({"kind": "GitRepository", "name": source});
        let one = json!({"metadata": place(name), "spec": spec});
        create(stage, kinds::kustomizations(), one).await?;
        let at = (kinds::kustomizations(), "flux-system", name);
        noted(stage, "astray", at, |one| settled(one, "False")).await?;
        let all = api(stage, kinds::kustomizations(), "flux-system");
        all.delete(name, &DeleteParams::default()).await?;
    }
    stage.tell("flux", "says what leads nowhere");
    Ok(())
}

async fn play(stage: Stage) -> Result<(), Violation> {
    set_up(&stage).await?;
    let first = [
        ("config/map.yaml", Some(map("plain", "red"))),
        ("config/extra.yaml", Some(map("extra", "red"))),
        ("releases/keep.yaml", Some(map("keep", "red"))),
        ("releases/web.yaml", Some(release("red", "1"))),
        ("charts/web/Chart.yaml", Some(CHART.to_owned())),
        ("charts/web/values.yaml", Some(VALUES.to_owned())),
        ("charts/web/templates/web.yaml", Some(TEMPLATE.to_owned())),
    ];
    let one = commit(&stage, "one", &first).await?;
    sources(&stage).await?;
    let source = (kinds::git_repositories(), "flux-system", "fleet");
    noted(&stage, "at first", source.clone(), |one| settled(one, "True")).await?;
    applied(&stage, "at first", "config", &one).await?;
    applied(&stage, "at first", "releases", &one).await?;
    let chart = (kinds::helm_charts(), "flux-system", "shop-web");
    noted(&stage, "at first", chart, |one| settled(one, "True")).await?;
    released(&stage, "at first", |one| settled(one, "True")).await?;
    for name in ["plain", "keep", "web-settings"] {
        noted(&stage, "at first", (kinds::configmaps(), "shop", name), |_| true).await?;
    }
    stage.tell("flux", "applied the manifests and installed the chart");

    let changed = [
        ("config/map.yaml", Some(map("plain", "blue"))),
        ("config/extra.yaml", None),
        ("releases/web.yaml", Some(release("blue", "1"))),
    ];
    let two = commit(&stage, "two", &changed).await?;
    noted(&stage, "after a change", source.clone(), |one| {
        settled(one, "True") && one.data["status"]["lastHandledReconcileAt"] == "two"
    })
    .await?;
    applied(&stage, "after a change", "config", &two).await?;
    applied(&stage, "after a change", "releases", &two).await?;
    let blue = |one: &DynamicObject| {
        settled(one, "True") && one.data["status"]["history"][0]["version"] == 2
    };
    released(&stage, "after a change", blue).await?;
    gone(&stage, (kinds::configmaps(), "shop", "extra")).await?;
    stage.tell("flux", "followed the change and pruned what was removed");

    let wrong = [("config/wrong.yaml", Some(map("Wrong", "red")))];
    let three = commit(&stage, "three", &wrong).await?;
    let config = (kinds::kustomizations(), "flux-system", "config");
    noted(&stage, "after a wrong manifest", config.clone(), |one| {
        settled(one, "False") && one.data["status"]["lastAttemptedRevision"] == three.as_str()
    })
    .await?;
    stage.tell("flux", "refused a manifest that the API server refuses");

    let vain = [("config/wrong.yaml", None), ("releases/web.yaml", Some(release("green", "-1")))];
    let four = commit(&stage, "four", &vain).await?;
    applied(&stage, "after a failed release", "config", &four).await?;
    released(&stage, "after a failed release", |one| {
        settled(one, "False") && condition(one, "Stalled")["status"] == "True"
    })
    .await?;
    let releases = (kinds::kustomizations(), "flux-system", "releases");
    noted(&stage, "after a failed release", releases.clone(), |one| {
        settled(one, "False") && one.data["status"]["lastAttemptedRevision"] == four.as_str()
    })
    .await?;
    let settings = (kinds::configmaps(), "shop", "web-settings");
    noted(&stage, "after a failed release", settings.clone(), |_| true).await?;
    stage.tell("flux", "tried an upgrade in vain");

    let right = [("releases/web.yaml", Some(release("green", "2")))];
    let five = commit(&stage, "five", &right).await?;
    applied(&stage, "after a cure", "releases", &five).await?;
    released(&stage, "after a cure", |one| settled(one, "True")).await?;

    let twice = [("releases/web.yaml", Some(release_with("white", "-1", RETRIED)))];
    let six = commit(&stage, "six", &twice).await?;
    released(&stage, "after a rollback", |one| {
        settled(one, "False") && condition(one, "Stalled")["status"] == "True"
    })
    .await?;
    noted(&stage, "after a rollback", settings, |_| true).await?;
    noted(&stage, "after a rollback", releases, |one| {
        settled(one, "False") && one.data["status"]["lastAttemptedRevision"] == six.as_str()
    })
    .await?;
    stage.tell("flux", "tried an upgrade twice and went back each time");
    let right = [("releases/web.yaml", Some(release_with("white", "2", RETRIED)))];
    let seven = commit(&stage, "seven", &right).await?;
    applied(&stage, "after another cure", "releases", &seven).await?;
    released(&stage, "after another cure", |one| settled(one, "True")).await?;

    frail(&stage).await?;
    astray(&stage).await?;

    let less = [("releases/web.yaml", None)];
    let eight = commit(&stage, "eight", &less).await?;
    applied(&stage, "without the release", "releases", &eight).await?;
    gone(&stage, (kinds::helm_releases(), "shop", "web")).await?;
    gone(&stage, (kinds::deployments(), "shop", "web")).await?;
    gone(&stage, (kinds::helm_charts(), "flux-system", "shop-web")).await?;
    let left = api(&stage, kinds::secrets(), "shop").list(&ListParams::default()).await?;
    if left.items.iter().any(|one| one.data["type"] == "helm.sh/release.v1") {
        return Err(Violation("an uninstalled release left its secrets".into()));
    }
    stage.tell("flux", "uninstalled the release");

    for name in ["releases", "config"] {
        let all = api(&stage, kinds::kustomizations(), "flux-system");
        all.delete(name, &DeleteParams::default()).await?;
        gone(&stage, (kinds::kustomizations(), "flux-system", name)).await?;
    }
    gone(&stage, (kinds::configmaps(), "shop", "plain")).await?;
    gone(&stage, (kinds::configmaps(), "shop", "keep")).await?;
    stage.tell("flux", "took everything with it");
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::scenario::nobody;
    use crate::sim::{FaultPlan, Plan, simulate};

    #[test]
    fn charts_come_from_git_and_go_with_it() {
        for seed in 1..=5 {
            let plan = Plan { seed, faults: FaultPlan::from_seed(seed, 100) };
            let outcome = simulate(&super::scenario(), &nobody(), plan);
            let tail: Vec<_> =
                outcome.trace.iter().filter(|line| !line.contains(" GET ")).collect();
            let tail = &tail[tail.len().saturating_sub(40)..];
            assert_eq!(outcome.violation, None, "seed {seed}: {:#?} {tail:#?}", outcome.told);
        }
    }
}
