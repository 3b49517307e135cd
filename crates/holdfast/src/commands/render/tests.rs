use std::fs;
use std::path::Path;

use super::*;

fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("has one")).expect("made");
        fs::write(path, text).expect("written");
    }
}

const APPS: &str = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: apps\n  namespace: \
                    flux-system\nspec:\n  path: ./apps\n  prune: true\n  dependsOn: [{name: crds}]\n  sourceRef: {kind: GitRepository, name: \
                    flux-system}\n  targetNamespace: shop\n  postBuild:\n    substitute: {REPLICAS: \"3\"}\n";
const WEB: &str = "# the shop\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: ${REPLICAS}\n";

fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("made");
    write(
        folder.path(),
        &[
            ("clusters/prod/apps.yaml", APPS),
            ("apps/web.yaml", WEB),
            ("apps/kustomization.yaml", "resources: [web.yaml]\nnamePrefix: my-\n"),
        ],
    );
    folder
}

fn cluster(root: &Path) -> (Cluster, Place) {
    let place = Place::of_cluster(&root.join("clusters/prod"), None, None).expect("found");
    let options = FluxOptions { explain: true, ..FluxOptions::default() };
    let cluster =
        Renderer::new().render(place.files.as_ref(), &place.path, &options).expect("rendered");
    (cluster, place)
}

#[test]
fn a_cluster_is_printed_with_where_everything_came_from() {
    let folder = repository();
    let (cluster, place) = cluster(folder.path());
    insta::assert_snapshot!(page::text(&cluster, &place, &[]).expect("printed"), @r#"
    # Kustomization flux-system/flux-system
    #   path: ./clusters/prod
    #   written in: nowhere here, Flux was bootstrapped with it
    #   1 object
    ---
    # from clusters/prod/apps.yaml:1
    apiVersion: kustomize.toolkit.fluxcd.io/v1
    kind: Kustomization
    metadata:
      name: apps
      namespace: flux-system
    spec:
      dependsOn:
      - name: crds
      path: ./apps
      postBuild:
        substitute:
          REPLICAS: "3"
      prune: true
      sourceRef:
        kind: GitRepository
        name: flux-system
      targetNamespace: shop
    # Kustomization flux-system/apps
    #   path: ./apps
    #   written in: clusters/prod/apps.yaml:1
    #   applied by: Kustomization flux-system/flux-system
    #   after: flux-system/crds
    #   1 object
    ---
    # from apps/web.yaml:2
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: my-web
      namespace: shop
    spec:
      replicas: 3
    "#);
}

#[test]
fn a_cluster_is_printed_for_programs() {
    let folder = repository();
    let (cluster, place) = cluster(folder.path());
    let page = page::json(&cluster, &place, &[]).expect("printed");
    assert_eq!(page["entry"], "clusters/prod");
    let apps = &page["applied"][1];
    assert_eq!(apps["applier"], "Kustomization flux-system/apps");
    assert_eq!(apps["objects"][0]["object"]["spec"]["replicas"], 3);
    assert_eq!(apps["objects"][0]["origin"], json!({"file": "apps/web.yaml", "line": 2}));
}

#[test]
fn the_root_is_where_the_paths_exist() {
    let folder = repository();
    let real = fs::canonicalize(folder.path()).expect("there");
    let (_, place) = cluster(folder.path());
    assert_eq!((place.root.as_path(), place.path.as_str()), (real.as_path(), "clusters/prod"));

    let given =
        Place::of_cluster(Path::new("clusters/prod"), Some(folder.path()), None).expect("found");
    assert_eq!(given.path, "clusters/prod");

    write(folder.path(), &[("clusters/prod/apps.yaml", &APPS.replace("./apps", "./aps"))]);
    let error = Place::of_cluster(&real.join("clusters/prod"), None, None).err().expect("refused");
    assert_eq!(
        error.to_string(),
        format!(
            "the root of the repository of {}/clusters/prod is not known: there is no .git above it, and no folder above \
             it has aps; say it with --root",
            real.display()
        )
    );
}

#[test]
fn folders_are_printed_as_kustomize_prints_them() {
    let folder = repository();
    let place = Place::of_folder(&folder.path().join("apps"), None).expect("found");
    let options = kustomize::Options::default();
    let resources = kustomize::build(place.files.as_ref(), &place.path, &options).expect("built");
    let mut text = String::new();
    emit::objects(resources.list.iter().map(|resource| &resource.node), &mut text)
        .expect("printed");
    assert_eq!(
        text,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: my-web\nspec:\n  replicas: ${REPLICAS}\n"
    );
}

#[test]
fn what_is_refused_names_the_file_as_it_is_called() {
    let folder = repository();
    write(folder.path(), &[("apps/kustomization.yaml", "resources: [web.yaml, none.yaml]\n")]);
    let place = Place::of_folder(&folder.path().join("apps"), None).expect("found");
    let options = kustomize::Options::default();
    let error = kustomize::build(place.files.as_ref(), &place.path, &options).expect_err("refused");
    let real = fs::canonicalize(folder.path()).expect("there");
    let shown = place.shown(&error);
    assert!(
        shown.starts_with(&format!("{}/apps/kustomization.yaml:1:", real.display())),
        "{shown}"
    );
}

#[test]
fn objects_are_wanted_by_kind_and_name() {
    assert!("Deployment/web".parse::<Wanted>().is_ok());
    assert!("deployment/shop/web".parse::<Wanted>().is_ok());
    assert_eq!("web".parse::<Wanted>().unwrap_err(), "write Kind/name or Kind/namespace/name");
}

#[test]
fn an_object_is_explained() {
    let folder = repository();
    let (cluster, place) = cluster(folder.path());
    let wanted: Wanted = "deployment/shop/my-web".parse().expect("read");
    let told = explain::told(&wanted, &cluster, &place).expect("told");
    for line in [
        "Deployment shop/my-web\n",
        "  read from apps/web.yaml:2\n",
        "  was called Deployment web\n",
        "namePrefix",
        "postBuild of Kustomization flux-system/apps",
        "  applied by Kustomization flux-system/apps (clusters/prod/apps.yaml:1)\n",
        "  applied by Kustomization flux-system/flux-system\n",
    ] {
        assert!(told.contains(line), "{line:?} is missing in\n{told}");
    }
    let wanted: Wanted = "deployment/web".parse().expect("read");
    assert_eq!(
        explain::told(&wanted, &cluster, &place).unwrap_err(),
        "no deployment web is rendered; there is Deployment shop/my-web"
    );
}
