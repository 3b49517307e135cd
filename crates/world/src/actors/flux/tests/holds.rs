//! Holding an app still while its revision changes: what works and what does not.

use futures::FutureExt as _;

use super::*;

const RECREATE: &str = "  strategy: {type: Recreate}";

/// Holds the app, lets version 2 arrive and resumes. Gives how often version 1 was started meanwhile.
async fn swap(lag: Lag, waits_for_the_source: bool) -> usize {
    let (tell, told) = std::sync::mpsc::channel();
    play(lag, move |bench| {
        async move {
            let path = "apps/shop/app.yaml";
            let one = bench.commit(&[(path, &deployment("shop", "rows:1", RECREATE))]).await;
            bench.source("1h").await;
            bench.kustomization("shop", "./apps/shop", json!({})).await;
            bench.applied("shop", &one).await;
            bench.runs("shop", 1).await;

            let kind = kinds::kustomizations();
            bench.suspend(&kind, "shop", "t1").await;
            bench.acknowledged(&kind, "shop", "t1").await;
            bench.scale("shop", 0).await;
            bench.runs("shop", 0).await;
            let from = bench.world.trace().lines().len();
            let two = bench.commit(&[(path, &deployment("shop", "rows:2", RECREATE))]).await;
            if waits_for_the_source {
                bench.fetch(&two).await;
            }
            bench.resume(&kind, "shop").await;
            if !waits_for_the_source {
                tokio::time::sleep(Duration::from_secs(5)).await;
                bench.fetch(&two).await;
            }
            bench.applied("shop", &two).await;
            bench.runs("shop", 1).await;
            assert_eq!(bench.started("rows:2", from), 1);
            tell.send(bench.started("rows:1", from)).unwrap();
        }
        .boxed()
    })
    .await;
    told.recv().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_fresh_cache_starts_only_the_new_version() {
    assert_eq!(swap(Lag::none(), true).await, 0);
}

/// R2: the API shows the new artifact before the resume, the controller's cache does not.
#[tokio::test(start_paused = true)]
async fn a_source_cache_that_lags_starts_the_old_version() {
    let lag = Lag::none().of("gitrepositories", Duration::from_secs(20));
    assert_eq!(swap(lag, true).await, 1);
    let both = Lag::none().of("", Duration::from_secs(20));
    assert_eq!(swap(both, true).await, 0, "caches that lag alike are in order");
}

/// R3.
#[tokio::test(start_paused = true)]
async fn a_resume_before_the_fetch_starts_the_old_version() {
    assert_eq!(swap(Lag::none(), false).await, 1);
}

/// R5.
#[tokio::test(start_paused = true)]
async fn a_running_health_check_hears_nothing_and_ends_well_at_zero() {
    play(Lag::none(), |bench| {
        async move {
            let path = "apps/shop/app.yaml";
            let good = deployment("shop", "rows:1", RECREATE);
            let one = bench.commit(&[(path, &good)]).await;
            bench.source("1h").await;
            bench.kustomization("shop", "./apps/shop", json!({"wait": true, "interval": "1h"})).await;
            bench.applied("shop", &one).await;
            let bad = deployment("shop", "rows:2", RECREATE).replace(
                "labels: {app: shop}\n    spec",
                "labels: {app: shop}\n      annotations: {world.holdfast.dev/fails: broken}\n    spec",
            );
            assert!(bad.contains("fails"));
            let two = bench.commit(&[(path, &bad)]).await;
            bench.fetch(&two).await;
            let kind = kinds::kustomizations();
            let at = (&kind, "flux-system", "shop");
            let checking = bench
                .until("the health check runs", at, |one| {
                    condition(one, "Healthy")["status"] == "Unknown"
                })
                .await;
            let message = condition(&checking, "Healthy")["message"].clone();
            assert!(message.as_str().unwrap().ends_with("with a timeout of 59m30s"), "{message}");
            assert_eq!(condition(&checking, "Ready")["status"], "Unknown");
            assert_eq!(checking["status"]["lastAttemptedRevision"], two.as_str());

            bench.suspend(&kind, "shop", "t1").await;
            let three = bench.commit(&[(path, &good)]).await;
            bench.fetch(&three).await;
            tokio::time::sleep(Duration::from_secs(40)).await;
            let deaf = bench.get(&kind, "flux-system", "shop").await;
            assert_ne!(deaf["status"]["lastHandledReconcileAt"], "t1");
            assert_eq!(deaf["status"]["lastAttemptedRevision"], two.as_str());

            bench.scale("shop", 0).await;
            bench.acknowledged(&kind, "shop", "t1").await;
            let ended = bench.get(&kind, "flux-system", "shop").await;
            assert_eq!(ready(&ended), "True", "Flux takes nothing for something good");
            assert_eq!(ended["status"]["lastAppliedRevision"], two.as_str());
        }
        .boxed()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_health_check_that_times_out_is_tried_again() {
    play(Lag::none(), |bench| {
        async move {
            let path = "apps/shop/app.yaml";
            // Nothing plays this image, so its gate never opens.
            let one = bench.commit(&[(path, &deployment("shop", "other:1", RECREATE))]).await;
            bench.source("1h").await;
            let extra = json!({"wait": true, "timeout": "1m", "retryInterval": "2m"});
            bench.kustomization("shop", "./apps/shop", extra).await;
            let kind = kinds::kustomizations();
            let at = (&kind, "flux-system", "shop");
            // Before the source has an artifact, Ready is False for another reason.
            let checked = |one: &Value| condition(one, "Ready")["reason"] == "HealthCheckFailed";
            let failed = bench.until("the check failed", at, checked).await;
            assert_eq!(ready(&failed), "False");
            let message = condition(&failed, "Ready")["message"].as_str().unwrap().to_owned();
            assert!(message.contains("Deployment/shop/shop status: 'InProgress'"), "{message}");
            assert!(failed["status"]["lastAppliedRevision"].is_null());
            assert_eq!(failed["status"]["lastAttemptedRevision"], one.as_str());
            let two = bench.commit(&[(path, &deployment("shop", "rows:1", RECREATE))]).await;
            bench.fetch(&two).await;
            bench.applied("shop", &two).await;
        }
        .boxed()
    })
    .await;
}
