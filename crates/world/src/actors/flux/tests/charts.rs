//! HelmReleases: suspension, remediation and the secrets of releases.

use base64::Engine as _;
use futures::FutureExt as _;

use kube::api::{DeleteParams, ListParams};

use super::*;

const PATH: &str = "charts/shop/templates/app.yaml";

fn chart(version: &str) -> String {
    format!("apiVersion: v2\nname: shop\nversion: {version}\nappVersion: '1'\n")
}

async fn commit(bench: &Bench, version: &str, extra: &str) -> String {
    let app = deployment("{{ .Release.Name }}", "rows:{{ .Values.image.tag }}", extra);
    let files = [
        ("charts/shop/Chart.yaml", chart(version)),
        ("charts/shop/values.yaml", "image: {tag: 1}\n".to_owned()),
        (PATH, app),
    ];
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    bench.commit(&files).await
}

async fn release(bench: &Bench, tag: u64, extra: Value) {
    let mut spec = json!({
        "interval": "10m", "releaseName": "shop", "targetNamespace": "shop",
        "values": {"image": {"tag": tag}},
        "chart": {"spec": {
            "chart": "./charts/shop", "sourceRef": {"kind": "GitRepository", "name": "fleet"},
        }},
    });
    spec.as_object_mut().unwrap().extend(extra.as_object().cloned().unwrap_or_default());
    bench.put(&kinds::helm_releases(), "flux-system", "shop", json!({"spec": spec})).await;
}

async fn released(bench: &Bench, version: u64) -> Value {
    let at = (&kinds::helm_releases(), "flux-system", "shop");
    bench
        .until("the release is deployed", at, |one| {
            let latest = &one["status"]["history"][0];
            ready(one) == "True" && latest["version"] == version && latest["status"] == "deployed"
        })
        .await
}

/// R12.
#[tokio::test(start_paused = true)]
async fn a_suspended_release_looks_observed_while_nothing_is_released() {
    play(Lag::none(), |bench| {
        async move {
            commit(&bench, "1.0.0", "").await;
            bench.source("1h").await;
            release(&bench, 1, json!({})).await;
            let first = released(&bench, 1).await;
            bench.runs("shop", 1).await;
            assert_eq!(first["status"]["lastAttemptedGeneration"], 1);
            assert_eq!(
                first["status"]["inventory"]["entries"][0]["id"],
                "shop_shop_apps_Deployment"
            );

            let kind = kinds::helm_releases();
            bench.suspend(&kind, "shop", "t1").await;
            bench.acknowledged(&kind, "shop", "t1").await;
            bench.scale("shop", 0).await;
            bench.runs("shop", 0).await;
            bench.resume(&kind, "shop").await;
            tokio::time::sleep(Duration::from_mins(1)).await;
            bench.runs("shop", 0).await;

            bench.suspend(&kind, "shop", "t2").await;
            bench.acknowledged(&kind, "shop", "t2").await;
            let before = bench.get(&kind, "flux-system", "shop").await;
            let change = json!({"spec": {"values": {"image": {"tag": 2}}}});
            bench.patch(&kind, "flux-system", "shop", change).await;
            tokio::time::sleep(Duration::from_secs(5)).await;
            let held = bench.get(&kind, "flux-system", "shop").await;
            assert_eq!(held["status"]["observedGeneration"], held["metadata"]["generation"]);
            assert_eq!(ready(&held), "True");
            assert_ne!(held["metadata"]["generation"], before["metadata"]["generation"]);
            let tried = |one: &Value| one["status"]["lastAttemptedGeneration"].clone();
            assert_eq!(tried(&held), tried(&before), "this one tells the truth");
            assert_eq!(held["status"]["history"].as_array().unwrap().len(), 1);

            bench.resume(&kind, "shop").await;
            let second = released(&bench, 2).await;
            bench.runs("shop", 1).await;
            assert_eq!(tried(&second), second["metadata"]["generation"]);
            let image = bench.get(&kinds::deployments(), "shop", "shop").await;
            assert_eq!(image["spec"]["template"]["spec"]["containers"][0]["image"], "rows:2");
        }
        .boxed()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_release_lies_in_helms_own_secret_and_goes_with_it() {
    play(Lag::none(), |bench| {
        async move {
            commit(&bench, "1.0.0", "").await;
            bench.source("1h").await;
            release(&bench, 1, json!({})).await;
            released(&bench, 1).await;
            release(&bench, 2, json!({})).await;
            released(&bench, 2).await;
            let secret =
                bench.get(&kinds::secrets(), "flux-system", "sh.helm.release.v1.shop.v1").await;
            assert_eq!(secret["type"], "helm.sh/release.v1");
            assert_eq!(secret["metadata"]["labels"]["status"], "superseded");
            let data = secret["data"]["release"].as_str().unwrap();
            let data = base64::engine::general_purpose::STANDARD.decode(data).unwrap();
            let stored = super::super::decode(&data).unwrap();
            assert_eq!(stored["info"]["status"], "superseded");
            assert_eq!(stored["chart"]["metadata"]["version"], "1.0.0");
            let manifest = stored["manifest"].as_str().unwrap();
            assert!(manifest.starts_with("---\n# Source: shop/templates/"), "{manifest}");
            assert!(manifest.contains("image: rows:1\n"), "{manifest}");

            // The chart's version did not change, so what changed in it does not arrive.
            let again = commit(&bench, "1.0.0", "  minReadySeconds: 1").await;
            bench.fetch(&again).await;
            tokio::time::sleep(Duration::from_mins(1)).await;
            released(&bench, 2).await;
            let newer = commit(&bench, "1.0.1", "  minReadySeconds: 1").await;
            bench.fetch(&newer).await;
            let third = released(&bench, 3).await;
            assert_eq!(third["status"]["history"][0]["chartVersion"], "1.0.1");

            let kind = kinds::helm_releases();
            bench.api(&kind, "flux-system").delete("shop", &DeleteParams::default()).await.unwrap();
            bench.until("it is gone", (&kind, "flux-system", "shop"), Value::is_null).await;
            let secrets = bench.api(&kinds::secrets(), "flux-system");
            assert_eq!(secrets.list(&ListParams::default()).await.unwrap().items.len(), 0);
            assert!(bench.get(&kinds::deployments(), "shop", "shop").await.is_null());
        }
        .boxed()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_upgrade_is_rolled_back_and_tried_again_until_retries_end() {
    play(Lag::none(), |bench| {
        async move {
            commit(&bench, "1.0.0", "").await;
            bench.source("1h").await;
            let care = json!({
                "timeout": "1m", "upgrade": {"remediation": {"retries": 1}},
            });
            release(&bench, 1, care.clone()).await;
            released(&bench, 1).await;
            // The app reads no such version, so it never becomes ready.
            let bad = deployment("{{ .Release.Name }}", "other:{{ .Values.image.tag }}", "");
            let files = [("charts/shop/Chart.yaml", chart("2.0.0")), (PATH, bad)];
            let files: Vec<(&str, &str)> =
                files.iter().map(|(path, text)| (*path, text.as_str())).collect();
            let two = bench.commit(&files).await;
            bench.fetch(&two).await;
            let kind = kinds::helm_releases();
            let at = (&kind, "flux-system", "shop");
            let stalled = bench
                .until("it gives up", at, |one| condition(one, "Stalled")["status"] == "True")
                .await;
            let status = &stalled["status"];
            assert_eq!(status["upgradeFailures"], 2);
            let seen: Vec<(u64, &str, &str)> = status["history"]
                .as_array()
                .unwrap()
                .iter()
                .map(|one| {
                    let word = |field: &str| one[field].as_str().unwrap();
                    (one["version"].as_u64().unwrap(), word("status"), word("chartVersion"))
                })
                .collect();
            assert_eq!(
                seen,
                [(5, "deployed", "1.0.0"), (4, "failed", "2.0.0"), (3, "superseded", "1.0.0"),],
                "what lies before the version gone back to is forgotten"
            );
            assert_eq!(condition(&stalled, "Remediated")["reason"], "RollbackSucceeded");
            assert_eq!(ready(&stalled), "False");
            let live = bench.get(&kinds::deployments(), "shop", "shop").await;
            assert_eq!(live["spec"]["template"]["spec"]["containers"][0]["image"], "rows:1");
        }
        .boxed()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_install_without_retries_stays_and_charts_with_logic_are_refused() {
    play(Lag::none(), |bench| {
        async move {
            let bad = deployment("{{ .Release.Name }}", "other:1", "");
            let files = [("charts/shop/Chart.yaml", chart("1.0.0")), (PATH, bad)];
            let files: Vec<(&str, &str)> =
                files.iter().map(|(path, text)| (*path, text.as_str())).collect();
            bench.commit(&files).await;
            bench.source("1h").await;
            release(&bench, 1, json!({"timeout": "1m"})).await;
            let kind = kinds::helm_releases();
            let at = (&kind, "flux-system", "shop");
            let stalled = bench
                .until("it gives up", at, |one| condition(one, "Stalled")["status"] == "True")
                .await;
            assert_eq!(condition(&stalled, "Ready")["reason"], "InstallFailed");
            assert_eq!(stalled["status"]["history"][0]["status"], "failed");
            assert!(bench.get(&kinds::deployments(), "shop", "shop").await.is_object());
            let logic = "a: {{ include \"x\" . }}\n";
            let files = [("charts/shop/Chart.yaml", chart("1.0.1")), (PATH, logic.to_owned())];
            let files: Vec<(&str, &str)> =
                files.iter().map(|(path, text)| (*path, text.as_str())).collect();
            let two = bench.commit(&files).await;
            bench.fetch(&two).await;
            let refused = bench
                .until("it is refused", at, |one| {
                    let message = condition(one, "Ready")["message"].clone();
                    message.as_str().is_some_and(|message| message.contains("not played"))
                })
                .await;
            let message = condition(&refused, "Ready")["message"].clone();
            assert!(message.as_str().unwrap().contains("{{ include \"x\" . }}"), "{message}");
        }
        .boxed()
    })
    .await;
}
