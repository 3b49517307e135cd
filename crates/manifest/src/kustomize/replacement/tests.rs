use super::*;
use crate::files::Memory;
use crate::kustomize::{Options as BuildOptions, Origin};

const OBJECTS: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: source, labels: {a: b}}
data: {host: example.org, image: nginx:1.2, port: '80'}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {old: x}}
spec:
  replicas: 1
  template:
    spec:
      containers:
      - {name: web, image: 'nginx:1.0', args: [a]}
      - {name: side, image: 'nginx:1.0'}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: texts}
data:
  a.json: '{\"x\": {\"y\": \"<z>\"}, \"n\": 1}'
  b.yaml: |-
    # why
    x: {y: \"z\"}
    list:
      - name: one
        value: 1 # first
";

fn replaced(replacements: &str) -> Result<Resources> {
    let list = yaml::documents(OBJECTS)?
        .into_iter()
        .map(|document| Resource::new(document.root, Origin::default()))
        .collect();
    let mut resources = Resources { list };
    let files = Memory::new();
    let options = BuildOptions::default();
    let loader = Loader::new(&files, "", &options)?;
    let config = yaml::documents(&format!("replacements: {replacements}"))?.remove(0).root;
    Replacements::from_config(&config, &loader)?.apply(&mut resources)?;
    Ok(resources)
}

fn value(replacements: &str, place: usize, path: &str) -> String {
    let resources = replaced(replacements).unwrap();
    let node = FieldPath::new(path).get(&resources.list[place].node).unwrap();
    node.and_then(Node::text).unwrap_or("nothing").to_owned()
}

#[test]
fn a_value_is_copied_to_every_field_the_path_leads_to() {
    let all = "[{source: {kind: ConfigMap, name: source, fieldPath: data.host}, targets: [{select: {kind: Deployment}, fieldPaths: ['spec.template.spec.containers.*.image']}]}]";
    assert_eq!(value(all, 1, "spec.template.spec.containers.0.image"), "example.org");
    assert_eq!(value(all, 1, "spec.template.spec.containers.[name=side].image"), "example.org");
    let one = all.replace(".*.image", ".[name=side].image");
    assert_eq!(value(&one, 1, "spec.template.spec.containers.0.image"), "nginx:1.0");
    assert_eq!(value(&one, 1, "spec.template.spec.containers.1.image"), "example.org");
}

#[test]
fn parts_are_taken_and_set() {
    let part = "[{source: {kind: ConfigMap, name: source, fieldPath: data.image, options: {delimiter: ':', index: 1}}, targets: [{select: {name: web}, fieldPaths: [spec.template.spec.containers.0.image], options: {delimiter: ':', index: INDEX}}]}]";
    let with = |index: &str| {
        value(&part.replace("INDEX", index), 1, "spec.template.spec.containers.0.image")
    };
    assert_eq!(with("1"), "nginx:1.2");
    assert_eq!(with("-1"), "1.2:nginx:1.0");
    assert_eq!(with("9"), "nginx:1.0:1.2");
    let error =
        replaced(&part.replace("index: 1}}, targets", "index: 2}}, targets").replace("INDEX", "0"));
    assert!(error.unwrap_err().message().contains("out of bounds"));
}

#[test]
fn missing_fields_are_made_if_they_may_be() {
    let made = "[{source: {kind: ConfigMap, name: source, fieldPath: data.port}, targets: [{select: {kind: Deployment}, fieldPaths: ['metadata.annotations.example\\.org/port', 'metadata.annotations.[a.b]'], options: {create: true}}]}]";
    let resources = replaced(made).unwrap();
    let annotation = |key| {
        resources.list[1]
            .node
            .at(&["metadata", "annotations", key])
            .and_then(Node::as_scalar)
            .cloned()
    };
    assert_eq!(
        annotation("example.org/port").map(|it| (it.text, it.tag)),
        Some(("80".into(), Tag::Int))
    );
    assert!(annotation("a.b").is_some());
    let error = replaced(&made.replace(", options: {create: true}", "")).unwrap_err();
    assert!(error.message().contains("unable to find field"), "{error}");
    assert!(error.mark().is_some());
}

#[test]
fn objects_are_selected_and_rejected() {
    let named = "[{sourceValue: new, targets: [{select: {kind: ConfigMap|Deployment}, reject: [{name: te.*}, {labelSelector: a=b}]}]}]";
    let resources = replaced(named).unwrap();
    let names: Vec<_> = resources.iter().map(Resource::name).collect();
    assert_eq!(names, ["source", "new", "texts"]);
}

#[test]
fn texts_are_looked_into() {
    let inside = "[{sourceValue: new, targets: [{select: {name: texts}, fieldPaths: ['data.a\\.json.x.y', 'data.b\\.yaml.x.y', 'data.b\\.yaml.list.[name=one].value']}]}]";
    assert_eq!(value(inside, 2, "data.a\\.json"), "{\"n\":1,\"x\":{\"y\":\"new\"}}");
    assert_eq!(
        value(inside, 2, "data.b\\.yaml"),
        "# why\nx: {y: \"new\"}\nlist:\n- name: one\n  value: new # first"
    );
}

#[test]
fn a_target_that_is_the_source_changes_it_for_the_next() {
    let both = "[{source: {kind: ConfigMap, name: source, fieldPath: data.host}, targets: [{select: {name: source}, fieldPaths: [data.host], options: {delimiter: ., index: -1}}, {select: {name: texts}, fieldPaths: [data.host], options: {create: true}}]}]";
    assert_eq!(value(both, 2, "data.host"), "example.org.example.org");
}

#[test]
fn what_cannot_be_replaced_is_refused() {
    let cases = [
        ("[{targets: [{select: {name: web}}]}]", "must specify a source"),
        ("[{sourceValue: a}]", "at least one target"),
        ("[{sourceValue: a, source: {name: web}, targets: []}]", "mutually exclusive"),
        ("[{sourceValue: a, targets: [{fieldPaths: [x]}]}]", "target must specify resources"),
        ("[{source: {kind: ConfigMap}, targets: []}]", "multiple matches"),
        ("[{source: {kind: Pod}, targets: []}]", "nothing selected by Pod"),
        (
            "[{source: {name: web, fieldPath: a.b}, targets: []}]",
            "is missing for replacement source",
        ),
        ("[{sourceValue: a, targets: [{select: {name: '('}}]}]", "error parsing regexp"),
        (
            "[{sourceValue: a, targets: [{select: {name: web}, fieldPaths: [metadata.name.x]}]}]",
            "wrong node kind",
        ),
        ("[{path: gone.yaml, source: {name: web}}]", "both path and inline"),
    ];
    for (replacements, message) in cases {
        let error = replaced(replacements).unwrap_err();
        assert!(error.message().contains(message), "{replacements}: {error}");
    }
}
