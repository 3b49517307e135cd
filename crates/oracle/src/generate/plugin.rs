//! Built-in transformers and generators that are configured by files of their own, and the files that
//! change what the others reach.

use fastrand::Rng;

use super::object::{self, Known, NAMESPACES};
use super::yaml::{Yaml, map};
use super::{chance, patch, pick, scalar};

/// The configuration of some transformer.
pub fn transformer(rng: &mut Rng, known: &[Known]) -> Yaml {
    let (kind, fields): (&str, Vec<(&str, Yaml)>) = match rng.u32(..9) {
        0 => (
            "LabelTransformer",
            vec![
                ("labels", map([("made", "'by'".into())])),
                (
                    "fieldSpecs",
                    vec![metadata_path("labels"), path("spec/selector/matchLabels", "Deployment")]
                        .into(),
                ),
            ],
        ),
        1 => (
            "AnnotationsTransformer",
            vec![
                ("annotations", map([("noted", scalar::text(rng))])),
                ("fieldSpecs", vec![metadata_path("annotations")].into()),
            ],
        ),
        2 => (
            "PrefixTransformer",
            vec![
                ("prefix", "tp-".into()),
                ("fieldSpecs", vec![map([("path", "metadata/name".into())])].into()),
            ],
        ),
        3 => (
            "SuffixTransformer",
            vec![
                ("suffix", "-ts".into()),
                ("fieldSpecs", vec![path("metadata/name", "Service")].into()),
            ],
        ),
        4 => (
            "NamespaceTransformer",
            vec![
                ("unsetOnly", (*pick(rng, &["true", "false"])).into()),
                (
                    "setRoleBindingSubjects",
                    (*pick(rng, &["defaultOnly", "allServiceAccounts", "none"])).into(),
                ),
                ("fieldSpecs", vec![metadata_path("namespace")].into()),
            ],
        ),
        5 => (
            "ImageTagTransformer",
            vec![
                ("imageTag", map([("name", "nginx".into()), ("newTag", "'2'".into())])),
                ("fieldSpecs", vec![map([("path", "spec/image".into())])].into()),
            ],
        ),
        6 => (
            "ReplicaCountTransformer",
            vec![
                ("replica", map([("name", object::name(rng).into()), ("count", "4".into())])),
                (
                    "fieldSpecs",
                    vec![
                        map([
                            ("path", "spec/replicas".into()),
                            ("create", "true".into()),
                            ("kind", "Deployment".into()),
                        ]),
                        map([("path", "spec/size".into()), ("kind", "Widget".into())]),
                    ]
                    .into(),
                ),
            ],
        ),
        7 => {
            let known = pick(rng, known);
            let operations = patch::operations(rng, known.kind);
            (
                "PatchTransformer",
                vec![
                    ("patch", patch::inline(rng, &operations)),
                    ("target", patch::target(rng, known)),
                ],
            )
        }
        _ => (
            "ValueAddTransformer",
            vec![
                ("value", "valued".into()),
                (
                    "targets",
                    vec![map([
                        ("selector", map([("kind", "ConfigMap".into())])),
                        (
                            "fieldPath",
                            (*pick(rng, &["metadata/annotations/added", "metadata/name"])).into(),
                        ),
                        ("filePathPosition", (*pick(rng, &["0", "1", "2", "99"])).into()),
                    ])]
                    .into(),
                ),
            ],
        ),
    };
    let mut metadata = map([("name", "transformer".into())]);
    if kind == "NamespaceTransformer" {
        metadata.set("namespace", (*pick(rng, &NAMESPACES)).into());
    }
    let mut config = map([("apiVersion", "builtin".into()), ("kind", kind.into())]);
    config.set("metadata", metadata);
    for (name, value) in fields {
        config.set(name, value);
    }
    config
}

fn metadata_path(field: &str) -> Yaml {
    map([("path", format!("metadata/{field}").into()), ("create", "true".into())])
}

fn path(path: &str, kind: &str) -> Yaml {
    map([("path", path.into()), ("kind", kind.into())])
}

/// The configuration of some generator.
pub fn generator(rng: &mut Rng) -> Yaml {
    let kind = *pick(rng, &["ConfigMapGenerator", "SecretGenerator"]);
    let mut config = map([
        ("apiVersion", "builtin".into()),
        ("kind", kind.into()),
        ("metadata", map([("name", "made-by-plugin".into())])),
        ("name", "made-by-plugin".into()),
        ("literals", vec!["a=b".into(), "c='d e'".into()].into()),
    ]);
    if chance(rng, 30) {
        config.set("options", map([("disableNameSuffixHash", "true".into())]));
    }
    config
}

/// What `configurations` names: field specs beside the built-in ones.
pub fn configuration(rng: &mut Rng) -> Yaml {
    let mut config = Yaml::Mapping(Vec::new());
    if chance(rng, 50) {
        let reference = map([
            ("kind", (*pick(rng, &["ConfigMap", "Secret", "Widget"])).into()),
            ("fieldSpecs", vec![path("spec/configRef/name", "Widget")].into()),
        ]);
        config.set("nameReference", vec![reference].into());
    }
    if chance(rng, 40) {
        config.set("images", vec![path("spec/image", "Widget")].into());
    }
    if chance(rng, 30) {
        config.set("replicas", vec![path("spec/size", "Widget")].into());
    }
    if chance(rng, 30) {
        config.set(
            "varReference",
            vec![path("spec/value", "Widget"), path("data", "ConfigMap")].into(),
        );
    }
    if chance(rng, 25) {
        let mut spec = path("spec/labels", "Widget");
        spec.set("create", "true".into());
        config.set("commonLabels", vec![spec].into());
    }
    if chance(rng, 20) {
        config.set("namePrefix", vec![path("spec/configRef/name", "Gadget")].into());
    }
    if chance(rng, 20) {
        let mut spec = path("spec/annotations", "Widget");
        spec.set("create", "true".into());
        config.set("commonAnnotations", vec![spec].into());
    }
    if chance(rng, 15) {
        config.set("namespace", vec![path("spec/targetNamespace", "HelmRelease")].into());
    }
    config
}

/// What `crds` names: definitions that say what a Widget refers to.
pub const DEFINITIONS: &str = r#"{
  "github.com/example/v1.Widget": {
    "Schema": {
      "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"$ref": "k8s.io/apimachinery/pkg/apis/meta/v1.ObjectMeta"},
        "spec": {"$ref": "github.com/example/v1.WidgetSpec"}
      }
    },
    "Dependencies": []
  },
  "github.com/example/v1.WidgetSpec": {
    "Schema": {
      "properties": {
        "configRef": {
          "x-kubernetes-object-ref-api-version": "v1",
          "x-kubernetes-object-ref-kind": "ConfigMap",
          "$ref": "github.com/example/v1.Reference"
        }
      }
    },
    "Dependencies": []
  },
  "github.com/example/v1.Reference": {
    "Schema": {"properties": {"name": {"type": "string"}}},
    "Dependencies": []
  }
}
"#;

/// What `openapi` names: a Widget's items are merged by their names.
pub const SCHEMA: &str = r#"{
  "definitions": {
    "com.example.v1.Widget": {
      "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": {
          "type": "object",
          "properties": {
            "items": {
              "type": "array",
              "items": {"type": "object", "properties": {"name": {"type": "string"}}},
              "x-kubernetes-patch-merge-key": "name",
              "x-kubernetes-patch-strategy": "merge"
            }
          }
        }
      },
      "type": "object",
      "x-kubernetes-group-version-kind": [{"group": "example.com", "kind": "Widget", "version": "v1"}]
    }
  }
}
"#;
