use super::*;
use crate::files::Memory;

const OLD: &str = "sha256:1111111111111111111111111111111111111111111111111111111111111111";
const NEW: &str = "sha256:2222222222222222222222222222222222222222222222222222222222222222";

struct Known;

impl Registry for Known {
    fn digest(&self, name: &str, tag: &str) -> Result<String> {
        if tag == "9.9.9" {
            return Err(Diagnostic::new(format!("{name} has no such tag")));
        }
        Ok(NEW.to_owned())
    }
}

fn identity(kind: &str, name: &str) -> Identity {
    Identity { kind: kind.into(), name: name.into(), ..Identity::default() }
}

fn versions(files: &Memory, kind: &str, name: &str) -> Vec<Version> {
    let inventory = Inventory::walk(files, "").expect("read");
    assert!(inventory.skipped.is_empty(), "{:?}", inventory.skipped);
    find_by_identity(&inventory, &identity(kind, name)).expect("found")
}

/// The file after one change.
fn changed(files: &Memory, version: &Version, tag: &str, digest: Option<&str>) -> Result<String> {
    let change = Change { version, tag: tag.to_owned(), digest: digest.map(str::to_owned) };
    let mut made = edits(files, &[change], None)?;
    assert_eq!(made.len(), 1);
    Ok(made.remove(0).text)
}

fn release(spec: &str) -> String {
    format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: app\nspec:\n{spec}"
    )
}

fn repository(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata:\n  name: {name}\nspec:\n  url: oci://ghcr.io/charts/{name}\n{spec}"
    )
}

#[test]
fn a_chart_named_in_the_release() {
    let text = release("  chart:\n    spec:\n      chart: plex\n      version: 1.2.3 # renovate\n");
    let files = Memory::new().with("app.yaml", &text);
    let found = versions(&files, "HelmRelease", "app");
    assert_eq!((found.len(), found[0].name.as_str()), (1, "plex"));
    assert_eq!(found[0].floating, None);
    assert_eq!(found[0].place.mark.line, 9);
    let after = changed(&files, &found[0], "1.10.0", None).expect("changed");
    assert_eq!(after, text.replace("1.2.3", "1.10.0"));
    assert!(
        changed(&files, &found[0], "ghcr.io/a/b:1.2", None)
            .expect_err("no tag")
            .to_string()
            .contains("not a tag")
    );
}

#[test]
fn charts_that_float_are_reported_and_can_be_pinned() {
    for (version, floats) in
        [("\"1.x\"", true), ("\">=1.0.0\"", true), ("1.2.3", false), ("v1.2.3-rc.1", false)]
    {
        let text =
            release(&format!("  chart:\n    spec:\n      chart: plex\n      version: {version}\n"));
        let found = versions(&Memory::new().with("a.yaml", text), "HelmRelease", "app");
        assert_eq!(found[0].floating.is_some(), floats, "{version}");
    }
    let text = release("  chart:\n    spec:\n      chart: plex\n");
    let files = Memory::new().with("a.yaml", &text);
    let found = versions(&files, "HelmRelease", "app");
    assert!(found[0].floating.as_ref().is_some_and(|why| why.contains("newest")));
    let after = changed(&files, &found[0], "1.2.3", None).expect("changed");
    assert_eq!(after, format!("{text}      version: 1.2.3\n"));
}

#[test]
fn a_chart_behind_a_reference_and_who_else_uses_it() {
    let reference = "  chartRef:\n    kind: OCIRepository\n    name: app-template\n    namespace: flux-system\n";
    let other = release(reference).replace("name: app\n", "name: other\n");
    let source = repository("app-template", "  ref:\n    tag: 4.4.0\n");
    let files = Memory::new()
        .with("apps/app/hr.yaml", release(reference))
        .with("apps/other/hr.yaml", other)
        .with("sources/app-template.yaml", &source);
    let found = versions(&files, "HelmRelease", "app");
    assert_eq!(found[0].name, "ghcr.io/charts/app-template");
    assert_eq!(
        found[0].shared,
        [Identity {
            group: Some("helm.toolkit.fluxcd.io".into()),
            ..identity("HelmRelease", "other")
        }]
    );
    assert!(found[0].explanation.contains("takes its chart from OCIRepository app-template"));
    let after = changed(&files, &found[0], "4.5.0+build", None).expect("changed");
    assert_eq!(after, source.replace("4.4.0", "4.5.0_build"));
}

#[test]
fn the_source_beside_the_release_is_meant() {
    let reference = "  chartRef:\n    kind: OCIRepository\n    name: app\n";
    let files = Memory::new()
        .with("one/app/hr.yaml", release(reference))
        .with("one/app/oci.yaml", repository("app", "  ref: {tag: 1.0.0}\n"))
        .with(
            "two/app/hr.yaml",
            release(reference).replace("name: app\n", "name: app2\n").replacen(
                "name: app2",
                "name: app3",
                0,
            ),
        )
        .with("two/app/oci.yaml", repository("app", "  ref: {tag: 2.0.0}\n"));
    let found = versions(&files, "HelmRelease", "app");
    assert_eq!(found[0].place.path, "one/app/oci.yaml");
    assert!(found[0].shared.is_empty());
}

#[test]
fn tag_and_digest_of_a_chart_change_together() {
    let reference = "  chartRef: {kind: OCIRepository, name: app}\n";
    let source = repository("app", &format!("  ref:\n    tag: 1.0.0\n    digest: {OLD}\n"));
    let files = Memory::new().with("hr.yaml", release(reference)).with("oci.yaml", &source);
    let found = versions(&files, "HelmRelease", "app");
    let error = changed(&files, &found[0], "1.1.0", None).expect_err("no digest").to_string();
    assert!(error.contains("oci.yaml:8:10: the tag has a digest beside it"), "{error}");
    let after = changed(&files, &found[0], "1.1.0", Some(NEW)).expect("changed");
    assert_eq!(after, source.replace("1.0.0", "1.1.0").replace(OLD, NEW));
    let range = repository("app", "  ref:\n    semver: '>=1.0.0'\n");
    let files = Memory::new().with("hr.yaml", release(reference)).with("oci.yaml", &range);
    let found = versions(&files, "HelmRelease", "app");
    assert!(found[0].floating.as_ref().is_some_and(|why| why.contains("range")));
}

#[test]
fn images_in_values_in_every_form() {
    let text = release(&format!(
        "  values:\n    controllers:\n      main:\n        containers:\n          main:\n            image:\n              repository: ghcr.io/a/app\n              tag: 1.2.3@{OLD} # keep\n    sidecar:\n      image: registry.local:5000/b/side:v1\n    exporter:\n      image:\n        registry: quay.io\n        repository: c/exporter\n        tag: \"0.9.1\"\n        digest: {OLD}\n    plain:\n      image: {{tag: 2.0.0}}\n    loose:\n      repository: ghcr.io/d/e\n      tag: latest\n    imageRegistry: docker.io\n    bootstrap:\n      image:\n        repository: nginx\n"
    ));
    let files = Memory::new().with("hr.yaml", &text);
    let found = versions(&files, "HelmRelease", "app");
    let names: Vec<_> = found.iter().map(|version| version.name.as_str()).collect();
    assert_eq!(
        names,
        ["ghcr.io/a/app", "registry.local:5000/b/side", "quay.io/c/exporter", "", "ghcr.io/d/e"]
    );
    let floating: Vec<_> = found.iter().map(|version| version.floating.is_some()).collect();
    assert_eq!(floating, [false, true, false, false, true]);

    assert!(
        changed(&files, &found[0], "1.2.4", None)
            .expect_err("digest")
            .to_string()
            .contains("digest")
    );
    let after = changed(&files, &found[0], "1.2.4", Some(NEW)).expect("changed");
    assert_eq!(after, text.replace(&format!("1.2.3@{OLD}"), &format!("1.2.4@{NEW}")));
    let after = changed(&files, &found[1], "v2", None).expect("changed");
    assert_eq!(after, text.replace("side:v1", "side:v2"));
    let after = changed(&files, &found[2], "1.10", Some(NEW)).expect("changed");
    assert_eq!(
        after,
        text.replace("\"0.9.1\"", "\"1.10\"")
            .replace(&format!("digest: {OLD}"), &format!("digest: {NEW}"))
    );
    let after = changed(&files, &found[3], "2.1", None).expect("changed");
    assert_eq!(after, text.replace("{tag: 2.0.0}", "{tag: \"2.1\"}"));
}

#[test]
fn the_registry_is_asked_where_a_digest_is_needed() {
    let text = release(&format!(
        "  values:\n    image:\n      repository: ghcr.io/a/app\n      tag: 1.2.3@{OLD}\n"
    ));
    let files = Memory::new().with("hr.yaml", &text);
    let found = versions(&files, "HelmRelease", "app");
    let change = |tag: &str| Change { version: &found[0], tag: tag.to_owned(), digest: None };
    let made = edits(&files, &[change("1.2.4")], Some(&Known)).expect("changed");
    assert_eq!(made[0].text, text.replace(&format!("1.2.3@{OLD}"), &format!("1.2.4@{NEW}")));
    let error = edits(&files, &[change("9.9.9")], Some(&Known)).expect_err("unknown").to_string();
    assert!(error.contains("asking for the digest of ghcr.io/a/app:9.9.9"), "{error}");
}

#[test]
fn images_of_workloads_and_of_custom_resources() {
    let text = format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  template:\n    spec:\n      initContainers:\n      - image: busybox\n      containers:\n      - name: main\n        image: &image ghcr.io/a/web:1.0.0@{OLD}\n      - name: copy\n        image: *image\n---\napiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {{name: db}}\nspec:\n  imageName: ghcr.io/cnpg/postgresql:17.2\n  logo: image/png\n"
    );
    let files = Memory::new().with("web.yaml", &text);
    let found = versions(&files, "Deployment", "web");
    assert_eq!(found.len(), 3);
    assert!(found[0].floating.as_ref().is_some_and(|why| why.contains("latest")));
    // Both containers are one place, through the anchor.
    let changes: Vec<_> = found[1..]
        .iter()
        .map(|version| Change { version, tag: "1.1.0".into(), digest: Some(NEW.into()) })
        .collect();
    let made = edits(&files, &changes, None).expect("changed");
    assert_eq!(made[0].text, text.replace("1.0.0", "1.1.0").replace(OLD, NEW));
    assert_eq!(made[0].edits[0].also.len(), 1);
    let found = versions(&files, "Cluster", "db");
    assert_eq!(found[0].place.address.to_string(), "spec.imageName");
    assert_eq!(
        changed(&files, &found[0], "17.3", None).expect("changed"),
        text.replace("17.2", "17.3")
    );
}

#[test]
fn images_that_a_kustomization_replaces() {
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: [{name: a, image: 'nginx:1.0.0'}]}}}\n";
    let kustomization = "resources: [../base]\nimages:\n- name: nginx\n  newName: ghcr.io/x/nginx\n  newTag: 1.1.0\n";
    let files = Memory::new()
        .with("base/web.yaml", deployment)
        .with("base/kustomization.yaml", "resources: [web.yaml]\n")
        .with("prod/kustomization.yaml", kustomization);
    let found = versions(&files, "Deployment", "web");
    assert_eq!((found.len(), found[0].place.path.as_str()), (1, "prod/kustomization.yaml"));
    assert_eq!(found[0].name, "ghcr.io/x/nginx");
    assert!(
        found[0].explanation.contains("prod/kustomization.yaml replaces it at `images[0].newTag`")
    );
    let after = changed(&files, &found[0], "1.20", None).expect("changed");
    assert_eq!(after, kustomization.replace("1.1.0", "\"1.20\""));
    let after = changed(&files, &found[0], "1.2.0", Some(NEW)).expect("changed");
    assert_eq!(after, format!("{}  digest: {NEW}\n", kustomization.replace("1.1.0", "1.2.0")));
}

#[test]
fn versions_that_come_from_variables() {
    let flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps}\nspec:\n  path: ./apps\n  postBuild:\n    substitute:\n      TAG: 1.0.0\n    substituteFrom:\n    - kind: ConfigMap\n      name: versions\n";
    let map =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: versions}\ndata:\n  OTHER: 2.0.0\n";
    let text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n      containers:\n      - image: a/one:${TAG}\n      - image: a/two:${OTHER:=0.1.0}\n      - image: a/three:${NONE:=3.0.0}\n      - image: a/four:${NOTHING}\n      - image: a/five:v${X}\n";
    let files = Memory::new()
        .with("flux/apps.yaml", flux)
        .with("flux/versions.yaml", map)
        .with("apps/web.yaml", text);
    let found = versions(&files, "Deployment", "web");
    let places: Vec<_> = found.iter().map(|version| version.place.path.as_str()).collect();
    assert_eq!(
        places,
        ["flux/apps.yaml", "flux/versions.yaml", "apps/web.yaml", "apps/web.yaml", "apps/web.yaml"]
    );
    assert_eq!(
        changed(&files, &found[0], "1.1", None).expect("changed"),
        flux.replace("1.0.0", "\"1.1\"")
    );
    assert_eq!(
        changed(&files, &found[1], "2.1.0", None).expect("changed"),
        map.replace("2.0.0", "2.1.0")
    );
    assert_eq!(
        changed(&files, &found[2], "3.1.0", None).expect("changed"),
        text.replace("3.0.0", "3.1.0")
    );
    assert!(found[3].floating.as_ref().is_some_and(|why| why.contains("no value")));
    assert!(
        changed(&files, &found[4], "1.0.0", None)
            .expect_err("composed")
            .to_string()
            .contains("variables")
    );
}

#[test]
fn several_places_and_files_at_once() {
    let text = release(
        "  chartRef: {kind: OCIRepository, name: app}\n  values:\n    image: {repository: a/b, tag: 1.0.0}\n",
    );
    let source = repository("app", "  ref: {tag: 1.0.0}\n");
    let files = Memory::new().with("hr.yaml", &text).with("oci.yaml", &source);
    let found = versions(&files, "HelmRelease", "app");
    let changes: Vec<_> =
        found.iter().map(|version| Change { version, tag: "2.0.0".into(), digest: None }).collect();
    let made = edits(&files, &changes, None).expect("changed");
    let paths: Vec<_> = made.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["hr.yaml", "oci.yaml"]);
    let twice = [changes[1].clone(), Change { tag: "3.0.0".into(), ..changes[1].clone() }];
    assert!(edits(&files, &twice, None).expect_err("both").to_string().contains("cannot be both"));
}

#[test]
fn values_that_are_made_from_a_file() {
    let values = "image:\n  repository: ghcr.io/a/b\n  tag: 1.0.0\n";
    let files = Memory::new()
        .with("app/hr.yaml", release("  valuesFrom:\n  - kind: ConfigMap\n    name: app-values\n"))
        .with("app/helm/values.yaml", values)
        .with("app/kustomization.yaml", "resources: [hr.yaml]\nconfigMapGenerator:\n- name: app-values\n  files: [values.yaml=helm/values.yaml]\n");
    let found = versions(&files, "HelmRelease", "app");
    assert_eq!((found.len(), found[0].place.path.as_str()), (1, "app/helm/values.yaml"));
    assert!(
        found[0].explanation.contains("app/kustomization.yaml makes from"),
        "{}",
        found[0].explanation
    );
    assert_eq!(
        changed(&files, &found[0], "1.1.0", None).expect("changed"),
        values.replace("1.0.0", "1.1.0")
    );
}
