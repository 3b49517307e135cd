//! Kustomizations over Kustomizations, pruning, dependencies and refusals.

use futures::FutureExt as _;

use kube::api::DeleteParams;

use super::*;

fn child(extra: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: child, namespace: flux-system}}
spec:
  interval: 10m
  path: ./apps/shop
  prune: true
  sourceRef: {{kind: GitRepository, name: fleet}}
{extra}
"
    )
}

async fn family(bench: &Bench, extra: &str) -> String {
    let files = [("cluster/child.yaml", child(extra)), ("apps/shop/map.yaml", map("made"))];
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let revision = bench.commit(&files).await;
    bench.source("1h").await;
    bench.kustomization("parent", "./cluster", json!({})).await;
    bench.applied("parent", &revision).await;
    bench.applied("child", &revision).await;
    revision
}

async fn reconcile(bench: &Bench, name: &str, token: &str) {
    let kind = kinds::kustomizations();
    let patch = json!({"metadata": {"annotations": {REQUESTED_AT: token}}});
    bench.patch(&kind, "flux-system", name, patch).await;
    bench.acknowledged(&kind, name, token).await;
}

async fn child_is_suspended(bench: &Bench) -> bool {
    let child = bench.get(&kinds::kustomizations(), "flux-system", "child").await;
    child["spec"]["suspend"] == true
}

/// R6.
#[tokio::test(start_paused = true)]
async fn a_parent_keeps_or_lifts_a_suspension_by_who_wrote_it_and_what_git_says() {
    play(Lag::none(), |bench| {
        async move {
            family(&bench, "").await;
            let kind = kinds::kustomizations();
            bench.suspend(&kind, "child", "t1").await;
            bench.acknowledged(&kind, "child", "t1").await;
            reconcile(&bench, "parent", "p1").await;
            assert!(child_is_suspended(&bench).await, "git says nothing about suspend");

            bench.resume(&kind, "child").await;
            let params = PatchParams {
                field_manager: Some("kubectl-patch".into()),
                ..PatchParams::default()
            };
            let api = bench.api(&kind, "flux-system");
            let patch = Patch::Merge(json!({"spec": {"suspend": true}}));
            api.patch("child", &params, &patch).await.unwrap();
            reconcile(&bench, "parent", "p2").await;
            assert!(!child_is_suspended(&bench).await, "what kubectl wrote is taken over");

            bench.suspend(&kind, "child", "t2").await;
            bench.acknowledged(&kind, "child", "t2").await;
            let says = bench.commit(&[("cluster/child.yaml", &child("  suspend: false"))]).await;
            bench.fetch(&says).await;
            bench.applied("parent", &says).await;
            assert!(!child_is_suspended(&bench).await, "git says suspend: false");
        }
        .boxed()
    })
    .await;
}

async fn remove_child(bench: &Bench) {
    let gone = bench.commit(&[("cluster/child.yaml", ""), ("cluster/m.yaml", &map("other"))]).await;
    bench.fetch(&gone).await;
    bench.applied("parent", &gone).await;
}

/// R7, first part.
#[tokio::test(start_paused = true)]
async fn a_suspended_child_that_git_drops_orphans_what_it_made() {
    play(Lag::none(), |bench| {
        async move {
            family(&bench, "").await;
            let kind = kinds::kustomizations();
            bench.suspend(&kind, "child", "t1").await;
            bench.acknowledged(&kind, "child", "t1").await;
            remove_child(&bench).await;
            let at = (&kind, "flux-system", "child");
            bench.until("the child is gone", at, Value::is_null).await;
            let made = bench.get(&kinds::configmaps(), "shop", "made").await;
            assert!(made.is_object(), "nobody prunes it any more");
        }
        .boxed()
    })
    .await;
}

/// R7, with a finalizer that keeps the child until it is un-suspended.
#[tokio::test(start_paused = true)]
async fn a_child_held_by_a_finalizer_prunes_once_it_is_resumed() {
    play(Lag::none(), |bench| {
        async move {
            family(&bench, "").await;
            let kind = kinds::kustomizations();
            bench.suspend(&kind, "child", "t1").await;
            let child = bench.get(&kind, "flux-system", "child").await;
            let mut all = child["metadata"]["finalizers"].as_array().unwrap().clone();
            all.push(json!("test.holdfast.dev/hold"));
            bench
                .patch(&kind, "flux-system", "child", json!({"metadata": {"finalizers": all}}))
                .await;
            remove_child(&bench).await;
            let at = (&kind, "flux-system", "child");
            let alone = json!(["test.holdfast.dev/hold"]);
            let left = |one: &Value| one["metadata"]["finalizers"] == alone;
            bench.until("Flux lets go of the suspended child", at, left).await;
            assert!(bench.get(&kinds::configmaps(), "shop", "made").await.is_object());
            bench.resume(&kind, "child").await;
            let at = (&kinds::configmaps(), "shop", "made");
            bench.until("what it made is pruned", at, Value::is_null).await;
        }
        .boxed()
    })
    .await;
}

/// R7, with `reconcile: disabled`.
#[tokio::test(start_paused = true)]
async fn a_disabled_child_survives_and_leaves_the_inventory() {
    play(Lag::none(), |bench| {
        async move {
            family(&bench, "").await;
            let kind = kinds::kustomizations();
            let disabled = json!({"metadata": {"annotations": {
                "kustomize.toolkit.fluxcd.io/reconcile": "disabled",
            }}});
            bench.patch(&kind, "flux-system", "child", disabled).await;
            let parent = bench.get(&kind, "flux-system", "parent").await;
            let listed = |parent: &Value| {
                let entries = parent["status"]["inventory"]["entries"].as_array().unwrap().clone();
                let id = "flux-system_child_kustomize.toolkit.fluxcd.io_Kustomization";
                entries.iter().any(|entry| entry["id"] == id && entry["v"] == "v1")
            };
            assert!(listed(&parent));
            remove_child(&bench).await;
            let parent = bench.get(&kind, "flux-system", "parent").await;
            assert!(!listed(&parent));
            assert!(bench.get(&kind, "flux-system", "child").await.is_object());
            assert!(bench.get(&kinds::configmaps(), "shop", "made").await.is_object());
        }
        .boxed()
    })
    .await;
}

/// R11: what may not be deleted stays listed, and is tried again.
#[tokio::test(start_paused = true)]
async fn a_refused_prune_keeps_the_inventory_and_blocks_dependants() {
    play(Lag::none(), |bench| {
        async move {
            let group = |kind: &str, plural: &str| ApiResource {
                group: "admissionregistration.k8s.io".into(),
                version: "v1".into(),
                api_version: "admissionregistration.k8s.io/v1".into(),
                kind: kind.into(),
                plural: plural.into(),
            };
            let files = [
                ("apps/a/a.yaml", map("a")),
                ("apps/a/b.yaml", map("b")),
                ("apps/c/c.yaml", map("c")),
            ];
            let files: Vec<(&str, &str)> =
                files.iter().map(|(path, text)| (*path, text.as_str())).collect();
            let one = bench.commit(&files).await;
            bench.source("1h").await;
            bench.kustomization("a", "./apps/a", json!({"retryInterval": "1m"})).await;
            bench.kustomization("c", "./apps/c", json!({"dependsOn": [{"name": "a"}]})).await;
            bench.applied("c", &one).await;
            let policy = group("ValidatingAdmissionPolicy", "validatingadmissionpolicies");
            let binding =
                group("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings");
            bench
                .put(
                    &policy,
                    "",
                    "keep",
                    json!({"spec": {
                        "failurePolicy": "Fail",
                        "matchConstraints": {"resourceRules": [{
                            "apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"],
                            "resources": ["configmaps"],
                        }]},
                        "validations": [{"expression": "false", "message": "held"}],
                    }}),
                )
                .await;
            bench
                .put(
                    &binding,
                    "",
                    "keep",
                    json!({"spec": {
                        "policyName": "keep", "validationActions": ["Deny"],
                    }}),
                )
                .await;
            let two = bench.commit(&[("apps/a/b.yaml", "")]).await;
            bench.fetch(&two).await;
            let kind = kinds::kustomizations();
            let at = (&kind, "flux-system", "a");
            let failed = bench.until("pruning failed", at, |one| ready(one) == "False").await;
            let why = condition(&failed, "Ready");
            assert_eq!(why["reason"], "PruneFailed");
            assert!(why["message"].as_str().unwrap().contains("held"), "{why}");
            let entries = failed["status"]["inventory"]["entries"].clone();
            assert_eq!(
                entries,
                json!([
                    {"id": "shop_a__ConfigMap", "v": "v1"}, {"id": "shop_b__ConfigMap", "v": "v1"},
                ])
            );
            assert_eq!(failed["status"]["lastAppliedRevision"], one.as_str());
            let at = (&kind, "flux-system", "c");
            bench
                .until("the dependant waits", at, |one| {
                    condition(one, "Ready")["reason"] == "DependencyNotReady"
                })
                .await;
            // Firewall rule: an object that may not be pruned makes Flux ready again.
            let spared = json!({"metadata": {"annotations": {
                "kustomize.toolkit.fluxcd.io/prune": "disabled",
            }}});
            bench.patch(&kinds::configmaps(), "shop", "b", spared).await;
            bench.applied("a", &two).await;
            bench.applied("c", &two).await;
            assert!(bench.get(&kinds::configmaps(), "shop", "b").await.is_object());
        }
        .boxed()
    })
    .await;
}

/// R14.
#[tokio::test(start_paused = true)]
async fn recreate_over_a_deployment_without_strategy_is_refused() {
    play(Lag::none(), |bench| {
        async move {
            let path = "apps/shop/app.yaml";
            let one = bench.commit(&[(path, &deployment("shop", "rows:1", ""))]).await;
            bench.source("1h").await;
            bench.kustomization("shop", "./apps/shop", json!({})).await;
            bench.applied("shop", &one).await;
            let recreate = deployment("shop", "rows:1", "  strategy: {type: Recreate}");
            let two = bench.commit(&[(path, &recreate)]).await;
            bench.fetch(&two).await;
            let at = (&kinds::kustomizations(), "flux-system", "shop");
            let failed = bench.until("it is refused", at, |one| ready(one) == "False").await;
            let why = condition(&failed, "Ready");
            assert_eq!(why["reason"], "ReconciliationFailed");
            let message = why["message"].as_str().unwrap();
            assert!(
                message.starts_with("Deployment/shop/shop dry-run failed (Invalid): "),
                "{message}"
            );
            assert!(message.contains("spec.strategy.rollingUpdate: Forbidden"), "{message}");
            assert_eq!(failed["status"]["lastAppliedRevision"], one.as_str());
        }
        .boxed()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_git_drops_is_pruned_and_what_is_not_played_is_refused() {
    play(Lag::none(), |bench| {
        async move {
            let one = bench.commit(&[("a/a.yaml", &map("a")), ("a/b.yaml", &map("b"))]).await;
            bench.source("1m").await;
            bench.kustomization("a", "./a", json!({})).await;
            bench.applied("a", &one).await;
            let live = bench.get(&kinds::configmaps(), "shop", "a").await;
            assert_eq!(live["metadata"]["labels"]["kustomize.toolkit.fluxcd.io/name"], "a");
            let two = bench.commit(&[("a/b.yaml", "")]).await;
            // Nobody asks: the interval brings it.
            bench.applied("a", &two).await;
            assert!(bench.get(&kinds::configmaps(), "shop", "b").await.is_null());

            bench.kustomization("a", "./a", json!({"postBuild": {}})).await;
            let kind = kinds::kustomizations();
            let at = (&kind, "flux-system", "a");
            let refused = bench.until("it is refused", at, |one| ready(one) == "False").await;
            let why = condition(&refused, "Ready")["message"].clone();
            assert_eq!(why, "spec.postBuild is not played here");

            bench.api(&kind, "flux-system").delete("a", &DeleteParams::default()).await.unwrap();
            bench.until("it is gone", at, Value::is_null).await;
            assert!(bench.get(&kinds::configmaps(), "shop", "a").await.is_null());
        }
        .boxed()
    })
    .await;
}
