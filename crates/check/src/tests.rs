//! Two revisions of a small repository, as Flux applies them.

use holdfast_manifest::files::{Files, Memory};
use holdfast_manifest::flux::{Options, Renderer};

use crate::finding::Report;
use crate::{Side, check, entry, report};

const ROOT: &str = "apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {path: ./clusters/home, prune: true, interval: 10m, sourceRef: {kind: GitRepository, name: flux-system}}
";
const APPS: &str = "apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec: {path: ./apps, prune: true, interval: 10m, sourceRef: {kind: GitRepository, name: flux-system}}
";
const KUSTOMIZATION: &str = "namespace: shop
labels: [{pairs: {team: blue}, includeSelectors: true}]
resources: [app.yaml, service.yaml, claim.yaml]
";
const APP: &str = "# the shop
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: main, image: shop:1}]}
";
const SERVICE: &str = "apiVersion: v1
kind: Service
metadata: {name: shop}
spec: {selector: {app: shop}, ports: [{port: 80}]}
";
const CLAIM: &str = "apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}
";

fn repository() -> Memory {
    Memory::new()
        .with("clusters/home/flux-system.yaml", ROOT)
        .with("clusters/home/apps.yaml", APPS)
        .with("apps/kustomization.yaml", KUSTOMIZATION)
        .with("apps/app.yaml", APP)
        .with("apps/service.yaml", SERVICE)
        .with("apps/claim.yaml", CLAIM)
}

fn side(files: &dyn Files) -> Side {
    let entries = entry::entries(files).unwrap();
    assert_eq!(entries, ["clusters/home"]);
    let cluster = Renderer::new().render(files, &entries[0], &Options::default()).unwrap();
    Side::of(&cluster)
}

fn changed(path: &str, content: &str) -> Report {
    let head = repository().with(path, content);
    check(&side(&repository()), &side(&head), false)
}

fn told(report: &Report) -> Vec<String> {
    let place = |f: &crate::Finding| format!("{} {} {}:{}", f.rule, f.object, f.file, f.line);
    report.findings.iter().map(place).collect()
}

#[test]
fn nothing_changed_nothing_found() {
    let report = changed("apps/app.yaml", APP);
    assert_eq!(report, Report::default());
    assert_eq!(report::summary(&report), "0 errors, 0 warnings, 0 notes in 0 changed objects");
}

#[test]
fn a_label_in_a_selector_is_refused_and_a_new_image_is_not() {
    let fine = changed("apps/app.yaml", &APP.replace("shop:1", "shop:2"));
    assert_eq!((fine.findings.len(), fine.changed), (0, 1));
    let label = changed("apps/kustomization.yaml", &KUSTOMIZATION.replace("blue", "red"));
    assert_eq!(told(&label), ["immutable-deployment Deployment shop/shop apps/app.yaml:2"]);
    let text = report::human(&label);
    assert!(text.contains("field is immutable"), "{text}");
    assert!(text.contains("way out: relabel-and-adopt"), "{text}");
}

#[test]
fn a_service_that_loses_its_pods_is_a_warning() {
    let report = changed("apps/app.yaml", &APP.replace("app: shop", "app: store"));
    assert_eq!(
        told(&report),
        [
            "immutable-deployment Deployment shop/shop apps/app.yaml:2",
            "service-without-pods Service shop/shop apps/service.yaml:1",
        ]
    );
}

#[test]
fn claims_that_shrink_or_leave_are_told() {
    let shrunk = changed("apps/claim.yaml", &CLAIM.replace("1Gi", "500Mi"));
    assert_eq!(
        told(&shrunk),
        ["immutable-persistentvolumeclaim PersistentVolumeClaim shop/data apps/claim.yaml:1"]
    );
    let left = changed("apps/kustomization.yaml", &KUSTOMIZATION.replace(", claim.yaml", ""));
    assert_eq!(
        told(&left),
        ["pruned-persistentvolumeclaim PersistentVolumeClaim shop/data apps/claim.yaml:1"]
    );
}

#[test]
fn what_does_not_build_names_file_and_line_and_prunes_nothing() {
    let report =
        changed("apps/kustomization.yaml", &KUSTOMIZATION.replace("claim.yaml", "gone.yaml"));
    assert_eq!(report.findings.len(), 1, "{:?}", told(&report));
    let finding = &report.findings[0];
    assert_eq!(
        (finding.rule.as_str(), finding.file.as_str(), finding.line),
        ("build", "apps/kustomization.yaml", 3)
    );
}

#[test]
fn what_stood_before_is_counted() {
    let broken = repository().with("apps/kustomization.yaml", "resources: [gone.yaml]\n");
    let still = broken.clone().with("README.md", "now with a readme\n");
    let report = check(&side(&broken), &side(&still), false);
    assert_eq!((report.findings.len(), report.standing), (0, 1));
    assert_eq!(check(&side(&broken), &side(&still), true).findings.len(), 1);
}

#[test]
fn programs_get_the_same() {
    let report = changed("apps/claim.yaml", &CLAIM.replace("fast", "slow"));
    let json = report::json(&report);
    assert_eq!(json["findings"][0]["rule"], "immutable-persistentvolumeclaim");
    assert_eq!(json["findings"][0]["object"]["namespace"], "shop");
    assert_eq!(json["findings"][0]["line"], 1);
}
