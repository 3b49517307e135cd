use super::*;
use crate::files::Memory;

fn kustomization(name: &str, path: &str, more: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: {name}\n  \
         namespace: flux-system\nspec:\n  interval: 1h\n  path: {path}\n  prune: true\n  sourceRef:\n    \
         kind: GitRepository\n    name: flux-system\n{more}"
    )
}

fn config(name: &str, data: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  namespace: flux-system\ndata:\n{data}"
    )
}

fn repository() -> Memory {
    let source = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata:\n  name: flux-system\n  \
                  namespace: flux-system\nspec:\n  url: ssh://git@git.example/me/home\n";
    Memory::new()
        .with("clusters/prod/flux-system/kustomization.yaml", "resources: [sync.yaml]\n")
        .with(
            "clusters/prod/flux-system/sync.yaml",
            format!("{source}---\n{}", kustomization("flux-system", "./clusters/prod", "")),
        )
        .with("clusters/prod/apps.yaml", kustomization("apps", "./apps", ""))
}

fn render(files: &Memory) -> Cluster {
    Renderer::new().render(files, "clusters/prod", &Options::default()).expect("rendered")
}

fn names(cluster: &Cluster) -> Vec<String> {
    cluster.applied.iter().map(|applied| applied.applier.to_string()).collect()
}

fn applied<'a>(cluster: &'a Cluster, name: &str) -> &'a Applied {
    cluster.applied.iter().find(|applied| applied.applier.name.name == name).expect("is there")
}

fn text(applied: &Applied) -> String {
    let mut text = String::new();
    let nodes = applied.objects().iter().map(|object| &object.resource.node);
    crate::yaml::emit::objects(nodes, &mut text).expect("written");
    text
}

#[test]
fn kustomizations_are_followed_from_the_entry() {
    let files = repository().with("apps/one.yaml", config("one", "  a: b\n"));
    let cluster = render(&files);
    assert_eq!(
        names(&cluster),
        ["Kustomization flux-system/flux-system", "Kustomization flux-system/apps"]
    );
    let apps = applied(&cluster, "apps");
    assert_eq!(apps.origin.file.as_deref(), Some("clusters/prod/apps.yaml"));
    assert_eq!(
        apps.parent.as_ref().map(ToString::to_string).as_deref(),
        Some(names(&cluster)[0].as_str())
    );
    let object = &apps.objects()[0].resource;
    assert_eq!((object.origin.file.as_deref(), object.origin.line), (Some("apps/one.yaml"), 1));
}

#[test]
fn what_a_parent_patches_reaches_the_grandchildren() {
    let patch = "  patches:\n  - patch: |-\n      apiVersion: kustomize.toolkit.fluxcd.io/v1\n      kind: Kustomization\n      \
                 metadata:\n        name: ignored\n      spec:\n        patches:\n        - patch: |-\n            \
                 apiVersion: helm.toolkit.fluxcd.io/v2\n            kind: HelmRelease\n            metadata:\n              \
                 name: ignored\n            spec:\n              timeout: 9m\n          target:\n            kind: HelmRelease\n    \
                 target:\n      kind: Kustomization\n";
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: web\nspec:\n  interval: 1h\n";
    let files = repository()
        .with("clusters/prod/apps.yaml", kustomization("apps", "./apps", patch))
        .with(
            "apps/web/ks.yaml",
            kustomization("web", "./apps/web/app", "  targetNamespace: shop\n"),
        )
        .with("apps/web/kustomization.yaml", "resources: [ks.yaml]\n")
        .with("apps/web/app/release.yaml", release);
    let cluster = render(&files);
    assert_eq!(
        text(applied(&cluster, "web")),
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: web\n  namespace: shop\nspec:\n  \
         interval: 1h\n  timeout: 9m\n"
    );
}

#[test]
fn variables_come_from_what_others_render() {
    let from = "  postBuild:\n    substituteFrom:\n    - {kind: ConfigMap, name: settings}\n    - {kind: Secret, name: secrets}\n    \
                substitute: {OWN: mine}\n";
    let secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: secrets\n  namespace: flux-system\nstringData:\n  DOMAIN: \
                  ENC[AES256_GCM,data:x]\nsops:\n  mac: ENC[x]\n";
    let files = repository()
        .with("clusters/prod/apps.yaml", kustomization("apps", "./apps", from))
        .with(
            "clusters/prod/settings.yaml",
            kustomization("settings", "./settings", "  decryption: {provider: sops}\n"),
        )
        .with("settings/a.yaml", config("settings", "  TZ: Europe/Berlin\n  OWN: theirs\n"))
        .with("settings/secrets.sops.yaml", secret)
        .with("apps/one.yaml", config("one", "  a: ${TZ} ${OWN} x.${DOMAIN} ${NONE:=d}\n"));
    let cluster = render(&files);
    let apps = applied(&cluster, "apps");
    let data = apps.objects()[0].resource.node.at(&["data", "a"]).and_then(Node::text);
    assert_eq!(data, Some("Europe/Berlin mine x.${DOMAIN} d"));
    assert_eq!(
        apps.notes,
        [
            "the values of DOMAIN are encrypted in settings/secrets.sops.yaml: they stay as they are written"
        ]
    );
    assert!(applied(&cluster, "settings").objects()[1].encrypted);
}

#[test]
fn variables_may_come_from_the_kustomization_itself() {
    let from = "  postBuild:\n    substituteFrom:\n    - {kind: ConfigMap, name: settings, optional: true}\n";
    let files = repository()
        .with("clusters/prod/apps.yaml", kustomization("apps", "./apps", from))
        .with("apps/settings.yaml", config("settings", "  A: x\n"))
        .with("apps/two.yaml", config("two", "  a: ${A}\n"));
    let cluster = render(&files);
    let two = &applied(&cluster, "apps").objects()[1].resource.node;
    assert_eq!(two.at(&["data", "a"]).and_then(Node::text), Some("x"));
}

#[test]
fn what_the_cluster_alone_knows_stays_as_written() {
    let from = "  postBuild:\n    substituteFrom: [{kind: Secret, name: made-elsewhere}]\n";
    let files = repository()
        .with("clusters/prod/apps.yaml", kustomization("apps", "./apps", from))
        .with("apps/one.yaml", config("one", "  a: ${A} ${B:=b}\n"));
    let cluster = render(&files);
    let apps = applied(&cluster, "apps");
    let data = apps.objects()[0].resource.node.at(&["data", "a"]).and_then(Node::text);
    assert_eq!(data, Some("${A} b"));
    assert_eq!(
        apps.notes,
        [
            "Secret flux-system/made-elsewhere is not rendered from this repository: variables that only it can set \
          stay as they are written"
        ]
    );
}

#[test]
fn other_sources_are_reported_and_not_followed() {
    let other = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata:\n  name: other\n  namespace: \
                 flux-system\nspec:\n  url: https://user:secret@git.example/them/app\n";
    let child =
        kustomization("theirs", "./deploy", "").replace("name: flux-system\n", "name: other\n");
    let files = repository()
        .with("apps/ks.yaml", child)
        .with("apps/source.yaml", other)
        .with("deploy/one.yaml", config("one", "  a: b\n"));
    let cluster = render(&files);
    let Outcome::NotFollowed(why) = &applied(&cluster, "theirs").outcome else {
        panic!("followed")
    };
    assert_eq!(
        why,
        "its files come from GitRepository flux-system/other, https://git.example/them/app"
    );
    // The same repository under another address is followed.
    let files = files.with("apps/source.yaml", other.replace("them/app", "me/home.git"));
    assert_eq!(applied(&render(&files), "theirs").objects().len(), 1);
}

#[test]
fn missing_paths_have_a_line() {
    let files = repository()
        .with("clusters/prod/apps.yaml", kustomization("apps", "./aps", ""))
        .with("apps/one.yaml", config("one", "  a: b\n"));
    let cluster = render(&files);
    let (_, error) = cluster.failures().next().expect("failed");
    assert_eq!(
        error.to_string(),
        "clusters/prod/apps.yaml:8:9: kustomization path not found: ./aps is not there; correct `spec.path`: it is \
         relative to the root of the repository"
    );
    let error = Renderer::new().render(&files, "clusters/test", &Options::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "kustomization path not found: ./clusters/test is not there; give the folder that Flux was bootstrapped with, \
         such as clusters/production"
    );
}

#[test]
fn what_renders_itself_ends() {
    let files = repository()
        .with("clusters/prod/apps.yaml", kustomization("apps", "./apps", ""))
        .with("apps/ks.yaml", kustomization("apps", "./apps", ""))
        .with("apps/back.yaml", kustomization("back", "./clusters/prod", ""));
    let cluster = render(&files);
    assert_eq!(cluster.applied.len(), 3);
    assert_eq!(cluster.failures().count(), 0);
    let notes = &applied(&cluster, "apps").notes;
    assert!(notes.is_empty(), "the same object twice is no conflict: {notes:?}");
}

#[test]
fn sets_of_resources_may_render_kustomizations() {
    let set = "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata:\n  name: tenants\n  namespace: flux-system\nspec:\n  \
               inputsFrom: [{name: tenants}]\n  resources:\n  - apiVersion: kustomize.toolkit.fluxcd.io/v1\n    kind: Kustomization\n    \
               metadata:\n      name: << inputs.tenant >>\n      namespace: flux-system\n    spec:\n      path: ./tenants/<< inputs.tenant >>\n      \
               sourceRef: {kind: GitRepository, name: flux-system}\n      targetNamespace: << inputs.tenant >>\n";
    let provider = "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSetInputProvider\nmetadata:\n  name: tenants\n  namespace: \
                    flux-system\nspec:\n  type: Static\n  defaultValues: {tenant: blue}\n";
    let files = repository()
        .with("apps/a-set.yaml", set)
        .with("apps/b-provider.yaml", provider)
        .with("tenants/blue/one.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\n");
    let cluster = render(&files);
    assert_eq!(
        names(&cluster)[2..],
        ["ResourceSet flux-system/tenants", "Kustomization flux-system/blue"]
    );
    let blue = &applied(&cluster, "blue").objects()[0].resource;
    assert_eq!(blue.namespace(), "blue");
}

#[test]
fn only_what_a_change_reaches_is_built_again() {
    let mut files = repository().with("apps/kustomization.yaml", "resources: [a.yaml, b.yaml]\n");
    for app in ["a", "b"] {
        files.insert(&format!("apps/{app}.yaml"), kustomization(app, &format!("./{app}"), ""));
        files.insert(&format!("{app}/one.yaml"), config(app, "  a: b\n"));
    }
    let mut renderer = Renderer::new();
    let options = Options::default();
    let first = renderer.render(&files, "clusters/prod", &options).expect("rendered");
    assert_eq!(first.applied.len(), 4);

    files.insert("a/one.yaml", config("a", "  a: changed\n"));
    let changed = ["a/one.yaml".to_owned()];
    let second = renderer.update(&files, "clusters/prod", &changed, &options).expect("rendered");
    assert_eq!(second.built, 1);
    assert!(text(applied(&second, "a")).contains("changed"));
    assert_eq!(text(applied(&second, "b")), text(applied(&first, "b")));

    // A new file in a folder without a kustomization is found.
    files.insert("b/two.yaml", config("two", "  a: b\n"));
    let changed = ["b/two.yaml".to_owned()];
    let third = renderer.update(&files, "clusters/prod", &changed, &options).expect("rendered");
    assert_eq!((third.built, applied(&third, "b").objects().len()), (1, 2));

    // A patch in the parent changes the child's own fields, and so the child.
    files.insert("apps/a.yaml", kustomization("a", "./a", "  targetNamespace: other\n"));
    let changed = ["apps/a.yaml".to_owned()];
    let fourth = renderer.update(&files, "clusters/prod", &changed, &options).expect("rendered");
    assert_eq!(fourth.built, 2, "apps and a");
    assert!(text(applied(&fourth, "a")).contains("namespace: other"));
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let mut files = repository();
    for app in 0..20 {
        files.insert(
            &format!("apps/{app}.yaml"),
            kustomization(&format!("k{app}"), &format!("./{app}"), ""),
        );
        files.insert(&format!("{app}/one.yaml"), config(&format!("c{app}"), "  a: b\n"));
    }
    let with = |threads| {
        let options = Options { threads, ..Options::default() };
        let cluster = Renderer::new().render(&files, "clusters/prod", &options).expect("rendered");
        let texts: Vec<String> = cluster.applied.iter().map(text).collect();
        (names(&cluster), texts)
    };
    assert_eq!(with(1), with(8));
}
