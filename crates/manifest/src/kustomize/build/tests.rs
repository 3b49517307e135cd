use super::*;
use crate::files::Memory;
use crate::kustomize::{Reorder, Restriction};

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  template:
    spec:
      containers:
      - name: web
        image: web:1
        envFrom:
        - configMapRef:
            name: settings
";

fn built(files: &Memory, path: &str) -> Result<String> {
    build(files, path, &Options { reorder: Reorder::None, ..Options::default() })?.to_yaml()
}

fn refusal(files: &Memory, path: &str) -> Diagnostic {
    built(files, path).err().unwrap()
}

fn base() -> Memory {
    Memory::new().with("base/deployment.yaml", DEPLOYMENT).with(
        "base/kustomization.yaml",
        "resources: [deployment.yaml]\nconfigMapGenerator:\n- name: settings\n  literals: [a=b]\n",
    )
}

#[test]
fn an_overlay_renames_and_references_follow() {
    let files =
        base().with("overlay/kustomization.yaml", "namePrefix: my-\nresources: [../base]\n");
    let text = built(&files, "overlay").unwrap();
    assert!(text.contains("  name: my-web\n"), "{text}");
    assert!(text.contains("            name: my-settings-4h2mbtbbt6\n"), "{text}");
    assert!(text.ends_with("  name: my-settings-4h2mbtbbt6\n"), "{text}");
}

#[test]
fn a_base_is_used_twice_under_different_names() {
    let files = base()
        .with("one/kustomization.yaml", "namePrefix: one-\nresources: [../base]\n")
        .with("two/kustomization.yaml", "namePrefix: two-\nresources: [../base]\n")
        .with("all/kustomization.yaml", "resources: [../one, ../two]\n")
        .with("same/kustomization.yaml", "resources: [../one, ../base, ../base]\n");
    let text = built(&files, "all").unwrap();
    assert!(text.contains("name: one-settings-") && text.contains("name: two-settings-"));
    let error = refusal(&files, "same");
    assert!(error.message().contains("already registered id: Deployment.v1.apps/web.[noNs]"));
    assert_eq!(error.file(), Some("base/deployment.yaml"));
}

#[test]
fn components_change_what_their_parent_has() {
    let files = base()
        .with("component/kustomization.yaml", "kind: Component\nnameSuffix: -x\n")
        .with("all/kustomization.yaml", "resources: [../base]\ncomponents: [../component]\n")
        .with("wrong/kustomization.yaml", "resources: [../component]\n")
        .with("also/kustomization.yaml", "components: [../base]\n");
    assert!(built(&files, "all").unwrap().contains("  name: web-x\n"));
    let error = refusal(&files, "wrong");
    assert_eq!(error.message(), "expected kind != 'Component' for path 'component'");
    assert_eq!((error.file(), error.mark().unwrap().line), (Some("wrong/kustomization.yaml"), 1));
    assert!(refusal(&files, "also").message().starts_with("expected kind 'Component'"));
}

#[test]
fn errors_name_the_file_and_the_line() {
    let files = Memory::new()
        .with("k/kustomization.yaml", "resources:\n- there.yaml\n- missing.yaml\n")
        .with("k/there.yaml", DEPLOYMENT)
        .with("cycle/kustomization.yaml", "resources:\n- ../k\n- ../cycle\n")
        .with("bad/kustomization.yaml", "resources: [bad.yaml]\n")
        .with("bad/bad.yaml", "kind: A\nmetadata:\n  name: [\n");
    let place = |error: &Diagnostic| {
        (error.file().unwrap_or_default().to_owned(), error.mark().map_or(0, |mark| mark.line))
    };
    let error = refusal(&files, "k");
    assert_eq!(place(&error), ("k/kustomization.yaml".into(), 3));
    assert_eq!(error.message(), "'k/missing.yaml' doesn't exist");
    let close = files.clone().with("k/misssing.yaml", "");
    assert_eq!(refusal(&close, "k").advice(), Some("did you mean `misssing.yaml`?"));
    assert_eq!(refusal(&files, "bad").file(), Some("bad/bad.yaml"));
    let files = files.with("k/missing.yaml", "kind: B\nmetadata: {name: b}\n");
    let error = refusal(&files, "cycle");
    assert!(error.message().starts_with("cycle detected"), "{error}");
    assert_eq!(place(&error), ("cycle/kustomization.yaml".into(), 3));
}

#[test]
fn configurations_are_inline_or_elsewhere() {
    let inline = "resources: [deployment.yaml]\ntransformers:\n- |\n  apiVersion: builtin\n  kind: PrefixTransformer\n  metadata: {name: p}\n  prefix: in-\n  fieldSpecs: [{path: metadata/name}]\n- more\n";
    let files = Memory::new()
        .with("k/deployment.yaml", DEPLOYMENT)
        .with("k/kustomization.yaml", inline)
        .with("k/more/kustomization.yaml", "resources: [suffix.yaml]\n")
        .with("k/more/suffix.yaml", "apiVersion: builtin\nkind: SuffixTransformer\nmetadata: {name: s}\nsuffix: -x\nfieldSpecs: [{path: metadata/name}]\n");
    assert!(built(&files, "k").unwrap().contains("  name: in-web-x\n"));
}

#[test]
fn programs_are_refused_by_name() {
    let function = "apiVersion: example.com/v1\nkind: Magic\nmetadata:\n  name: m\n  annotations:\n    config.kubernetes.io/function: |\n      container: {image: x}\n";
    let files = Memory::new()
        .with("k/kustomization.yaml", "generators: [magic.yaml]\n")
        .with("k/magic.yaml", function);
    let error = refusal(&files, "k");
    assert!(error.message().starts_with("Magic is a function in a container"), "{error}");
    assert_eq!(error.file(), Some("k/magic.yaml"));
}

#[test]
fn objects_for_the_build_alone_are_dropped() {
    let local = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: local\n  annotations: {config.kubernetes.io/local-config: 'true'}\n";
    let files = Memory::new()
        .with("k/kustomization.yaml", "resources: [local.yaml, deployment.yaml]\n")
        .with("k/deployment.yaml", DEPLOYMENT)
        .with("k/local.yaml", local);
    assert!(!built(&files, "k").unwrap().contains("ConfigMap\n"));
}

#[test]
fn the_result_says_how_it_was_made() {
    let files = base().with(
        "k/kustomization.yaml",
        "resources: [../base]\nnamePrefix: a-\nbuildMetadata: [managedByLabel, originAnnotations, transformerAnnotations]\n",
    );
    let text = built(&files, "k").unwrap();
    for part in [
        "    config.kubernetes.io/origin: |\n      path: ../base/deployment.yaml\n",
        "    config.kubernetes.io/origin: |\n      configuredIn: ../base/kustomization.yaml\n      configuredBy:\n        apiVersion: builtin\n        kind: ConfigMapGenerator\n",
        "    alpha.config.kubernetes.io/transformations: |\n      - configuredIn: kustomization.yaml\n        configuredBy:\n          apiVersion: builtin\n          kind: PrefixTransformer\n",
        "    app.kubernetes.io/managed-by: kustomize-v5.8.1\n",
    ] {
        assert!(text.contains(part), "{part}\nis not in\n{text}");
    }
}

#[test]
fn each_step_is_recorded_if_asked_for() {
    let files = base().with(
        "k/kustomization.yaml",
        "resources: [../base]\nnamePrefix: a-\nnameSuffix: ''\nnamespace: shop\n",
    );
    let options = Options { explain: true, ..Options::default() };
    let resources = build(&files, "k", &options).unwrap();
    let steps = |kind: &str| -> Vec<String> {
        let resource = resources.iter().find(|resource| resource.kind() == kind).unwrap();
        let shown = |step: &Step| format!("{} {}:{}", step.name, step.file, step.line);
        resource.history.iter().map(shown).collect()
    };
    assert_eq!(
        steps("ConfigMap"),
        [
            "configMapGenerator[0] base/kustomization.yaml:3",
            "namespace k/kustomization.yaml:4",
            "namePrefix k/kustomization.yaml:2",
            "hash of the content k/kustomization.yaml:0",
        ]
    );
    assert_eq!(steps("Deployment")[2], "references to changed names k/kustomization.yaml:0");
    assert!(build(&files, "k", &Options::default()).unwrap().list[0].history.is_empty());
}

#[test]
fn files_of_other_folders_are_read_where_that_is_allowed() {
    let files = Memory::new()
        .with("shared/deployment.yaml", DEPLOYMENT)
        .with("k/kustomization.yaml", "resources: [../shared/deployment.yaml]\n");
    assert!(refusal(&files, "k").message().starts_with("security;"));
    let options = Options { restriction: Restriction::None, ..Options::default() };
    assert_eq!(build(&files, "k", &options).unwrap().len(), 1);
}

#[test]
fn remote_bases_come_from_whoever_fetches_them() {
    use std::sync::Arc;

    use crate::files::Blob;
    use crate::kustomize::{Remote, RemoteFile, Repository};

    struct Fetched;
    impl Remote for Fetched {
        fn repository(&self, repository: &Repository) -> Result<Arc<dyn Files>> {
            assert_eq!(
                (repository.url.as_str(), repository.reference.as_str()),
                ("https://host.example/org/repo", "v1")
            );
            Ok(Arc::new(base()))
        }

        fn file(&self, url: &str) -> Result<RemoteFile> {
            if url.ends_with("/secret.yaml") {
                let bytes = b"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n";
                let id = crate::files::BlobId::of(bytes);
                return Ok(RemoteFile::Content(Blob { id, bytes: bytes.as_slice().into() }));
            }
            Ok(RemoteFile::Status(404))
        }
    }
    let files = Memory::new().with(
        "k/kustomization.yaml",
        "resources:\n- https://host.example/org/repo//base?ref=v1\n- https://host.example/raw/secret.yaml\n",
    );
    assert!(refusal(&files, "k").message().contains("fetching is switched off"));
    let options = Options { remote: Some(&Fetched), ..Options::default() };
    assert_eq!(build(&files, "k", &options).unwrap().len(), 3);
}

#[test]
fn kustomizations_are_not_nested_without_end() {
    let mut files = Memory::new();
    let mut folder = String::from("k");
    for _ in 0..150 {
        files.insert(&format!("{folder}/kustomization.yaml"), "resources: [x]\nnamePrefix: a\n");
        folder.push_str("/x");
    }
    files.insert(&format!("{folder}/kustomization.yaml"), "resources: [d.yaml]\n");
    files.insert(&format!("{folder}/d.yaml"), DEPLOYMENT);
    assert!(refusal(&files, "k").message().contains("nested more than 100 deep"));
    let start = "k".to_owned() + &"/x".repeat(80);
    assert!(built(&files, &start).unwrap().contains(&format!("name: {}web", "a".repeat(70))));
}

#[test]
fn what_is_known_is_shared_between_builds() {
    let files = base().with("k/kustomization.yaml", "resources: [../base]\nnamePrefix: a-\n");
    let cache = crate::cache::Cache::default();
    let options = Options { cache: Some(&cache), ..Options::default() };
    let one = build(&files, "k", &options).unwrap().to_yaml().unwrap();
    let known = cache.len();
    assert_eq!(known, 3);
    let two = build(&files, "k", &options).unwrap().to_yaml().unwrap();
    assert_eq!((one, cache.len()), (two, known));
}

#[test]
fn equal_keys_of_a_patch_count_once_and_are_refused_where_they_would_be_printed() {
    let build = |patch: &str| {
        let patch =
            format!("apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\n{patch}");
        let files = base()
            .with("k/kustomization.yaml", "resources: [../base]\npatches: [{path: p.yaml}]\n")
            .with("k/p.yaml", patch);
        built(&files, "k")
    };
    let text = build("spec:\n  replicas: 2\n  replicas: 3\n").unwrap();
    assert!(text.contains("  replicas: 2\n"), "{text}");
    let error = build("spec:\n  strategy: {type: Recreate, type: Recreate}\n").unwrap_err();
    assert!(error.message().starts_with("mapping key \"type\" already defined"), "{error}");
}

#[test]
fn folded_lines_come_apart_unless_they_are_put_between_braces() {
    let spec = |object: &str| {
        let patch = "apiVersion: v1\nkind: X\nmetadata: {name: x}\nspec:\n  text: >\n    a\n      b\n  at: 2001-12-14t21:59:43.10-05:00\n";
        let files = Memory::new()
            .with("k/kustomization.yaml", "resources: [x.yaml]\npatches: [{path: p.yaml}]\n")
            .with("k/x.yaml", format!("apiVersion: v1\nkind: X\nmetadata: {{name: x}}\n{object}"))
            .with("k/p.yaml", patch);
        let text = built(&files, "k").unwrap();
        text.split_once("spec:\n").unwrap().1.to_owned()
    };
    let apart = "  at: \"2001-12-14T21:59:43.1-05:00\"\n  text: |\n    a\n\n      b\n";
    assert_eq!(spec("spec:\n  z: 1\n"), format!("{apart}  z: 1\n"));
    assert_eq!(spec("spec: {}\n"), apart);
    let together = "  at: \"2001-12-14t21:59:43.10-05:00\"\n  text: |\n    a\n      b\n  z: 1\n";
    assert_eq!(spec("spec: {z: 1}\n"), together);
}

#[test]
fn what_is_in_a_list_of_a_kind_has_been_json() {
    let list = "apiVersion: v1\nkind: XList\nitems:\n- apiVersion: v1\n  kind: X\n  metadata: {name: x}\n  number: 1.0\n  text: >\n    a\n      b\n";
    let files =
        Memory::new().with("k/kustomization.yaml", "resources: [x.yaml]\n").with("k/x.yaml", list);
    let text = built(&files, "k").unwrap();
    assert!(text.ends_with("number: 1\ntext: |\n  a\n    b\n"), "{text}");
}

#[test]
fn a_name_with_a_comma_cannot_be_renamed() {
    let object = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: ENC[a,b]\n";
    let files = Memory::new().with("secret.yaml", object);
    let plain = files.clone().with("kustomization.yaml", "resources: [secret.yaml]\n");
    assert!(built(&plain, "").is_ok());
    let renamed = files.with("kustomization.yaml", "namePrefix: my-\nresources: [secret.yaml]\n");
    let error = refusal(&renamed, "").to_string();
    assert!(error.starts_with("secret.yaml:1:1: a comma in its name"), "{error}");
}
