//! Flux's Kustomization, as far as it decides what is built.

use std::fmt;

use crate::diagnostic::{Diagnostic, Result};
use crate::files::join;
use crate::kustomize::Origin;
use crate::yaml::{Fields, Mark, Node, Text};

/// The group of Flux's Kustomizations.
pub const GROUP: &str = "kustomize.toolkit.fluxcd.io";

/// Namespace and name of what applies objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// `metadata.namespace`.
    pub namespace: Text,
    /// `metadata.name`.
    pub name: Text,
}

impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            out.write_str(&self.name)
        } else {
            write!(out, "{}/{}", self.namespace, self.name)
        }
    }
}

/// Where a Kustomization takes its files from.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceRef {
    /// `GitRepository`, `OCIRepository`, `Bucket`, `ExternalArtifact`.
    pub kind: Text,
    /// The source's namespace and name.
    pub name: Name,
}

impl fmt::Display for SourceRef {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.kind, self.name)
    }
}

/// A ConfigMap or Secret whose keys are variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubstituteFrom {
    /// `ConfigMap` or `Secret`.
    pub kind: Text,
    /// Its name; the namespace is the Kustomization's.
    pub name: Text,
    /// Whether it may be missing.
    pub optional: bool,
    /// Where it is written.
    pub mark: Mark,
}

/// `spec.postBuild`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PostBuild {
    /// Variables by name.
    pub substitute: Vec<(Text, Text)>,
    /// Where more come from; what is written above overrides them.
    pub substitute_from: Vec<SubstituteFrom>,
    /// Whether to substitute without any variable.
    pub always: bool,
}

/// A Kustomization of Flux.
#[derive(Clone, Debug)]
pub struct Kustomization {
    /// Namespace and name.
    pub name: Name,
    /// Where it is written.
    pub origin: Origin,
    /// The object itself.
    pub object: Node,
    /// The folder it builds, from the root of the files.
    pub path: String,
    /// Where the path is written.
    pub path_mark: Mark,
    /// Where its files come from; `None` for the entry itself.
    pub source: Option<SourceRef>,
    /// Whether it is suspended.
    pub suspended: bool,
    /// Whether it deletes what it no longer renders.
    pub prune: bool,
    /// Whether it applies to another cluster.
    pub elsewhere: bool,
    /// Whether encrypted objects are decrypted.
    pub decrypts: bool,
    /// What has to be ready before.
    pub depends_on: Vec<Name>,
    /// Labels given to everything.
    pub common_labels: Vec<(Text, Text)>,
    /// Annotations given to everything.
    pub common_annotations: Vec<(Text, Text)>,
    /// What happens to the built objects.
    pub post_build: Option<PostBuild>,
}

impl Kustomization {
    /// Whether the object is one.
    pub fn is_one(object: &Node) -> bool {
        let text = |name| object.get(name).and_then(Node::text).unwrap_or_default();
        text("kind") == "Kustomization"
            && text("apiVersion").split_once('/').is_some_and(|(group, _)| group == GROUP)
    }

    /// The one that Flux was bootstrapped with, if the repository does not hold it.
    pub fn entry(path: &str) -> Self {
        Self {
            name: Name { namespace: "flux-system".into(), name: "flux-system".into() },
            origin: Origin::default(),
            object: Node::mapping(),
            path: clamp(path),
            path_mark: Mark::default(),
            source: None,
            suspended: false,
            prune: true,
            elsewhere: false,
            decrypts: false,
            depends_on: Vec::new(),
            common_labels: Vec::new(),
            common_annotations: Vec::new(),
            post_build: None,
        }
    }

    /// Reads the object. Without a namespace of its own it lives in `namespace`.
    pub fn read(object: &Node, origin: Origin, namespace: &str) -> Result<Self> {
        let file = origin.file.clone();
        Self::read_object(object, origin, namespace).map_err(|error| match file {
            Some(file) => error.in_file(file),
            None => error,
        })
    }

    fn read_object(object: &Node, origin: Origin, namespace: &str) -> Result<Self> {
        let text = |field| object.at(&["metadata", field]).and_then(Node::text);
        let namespace = text("namespace").unwrap_or(namespace);
        let own =
            Name { namespace: namespace.into(), name: text("name").unwrap_or_default().into() };
        let what = "the Kustomization's spec";
        let Some(spec) = object.get("spec").filter(|spec| !spec.is_null()) else {
            return Err(Diagnostic::new(format!("Kustomization {own} has no spec")).at(object.mark));
        };
        let mut spec = Fields::of(spec, what)?;
        let path = spec.node("path");
        let source = match spec.node("sourceRef") {
            None => {
                return Err(Diagnostic::new(format!(
                    "Kustomization {own} has no `spec.sourceRef`"
                ))
                .at(spec.mark())
                .hint("name the GitRepository its files come from"));
            }
            Some(node) => {
                let mut fields = Fields::of(node, "`sourceRef`")?;
                let kind = fields.text_or_empty("kind")?;
                let name = fields.text_or_empty("name")?;
                let namespace = fields.text("namespace")?.unwrap_or_else(|| own.namespace.clone());
                Some(SourceRef { kind, name: Name { namespace, name } })
            }
        };
        let mut common_labels = Vec::new();
        let mut common_annotations = Vec::new();
        if let Some(node) = spec.node("commonMetadata") {
            let mut fields = Fields::of(node, "`commonMetadata`")?;
            common_labels = fields.text_map("labels")?;
            common_annotations = fields.text_map("annotations")?;
        }
        let post_build = spec.node("postBuild").map(PostBuild::read).transpose()?;
        let mut depends_on = Vec::new();
        for node in spec.list("dependsOn")? {
            let mut fields = Fields::of(node, "an entry of `dependsOn`")?;
            let name = fields.text_or_empty("name")?;
            let namespace = fields.text("namespace")?.unwrap_or_else(|| own.namespace.clone());
            depends_on.push(Name { namespace, name });
        }
        let decrypts = spec
            .node("decryption")
            .is_some_and(|node| node.get("provider").and_then(Node::text) == Some("sops"));
        Ok(Self {
            path: clamp(path.and_then(Node::text).unwrap_or_default()),
            path_mark: path.map_or(object.mark, |node| node.mark),
            source,
            suspended: spec.flag("suspend")?,
            prune: spec.flag("prune")?,
            elsewhere: spec.node("kubeConfig").is_some(),
            decrypts,
            depends_on,
            common_labels,
            common_annotations,
            post_build,
            name: own,
            origin,
            object: object.clone(),
        })
    }

    /// Its `spec`, if it is written anywhere.
    pub fn spec(&self) -> Option<&Node> {
        self.object.get("spec")
    }
}

impl PostBuild {
    fn read(node: &Node) -> Result<Self> {
        let mut fields = Fields::of(node, "`postBuild`")?;
        let substitute = fields.text_map("substitute").map_err(|error| {
            error.hint("values are texts: quote numbers and booleans, as the API server demands it")
        })?;
        let always = fields.text("substituteStrategy")?.is_some_and(|text| text == "Always");
        let mut substitute_from = Vec::new();
        for node in fields.list("substituteFrom")? {
            let mut from = Fields::of(node, "an entry of `substituteFrom`")?;
            let kind = from.text_or_empty("kind")?;
            if kind != "ConfigMap" && kind != "Secret" {
                let message = format!("`substituteFrom` cannot take variables from a {kind:?}");
                return Err(Diagnostic::new(message)
                    .at(node.mark)
                    .hint("write ConfigMap or Secret"));
            }
            substitute_from.push(SubstituteFrom {
                kind,
                name: from.text_or_empty("name")?,
                optional: from.flag("optional")?,
                mark: node.mark,
            });
        }
        Ok(Self { substitute, substitute_from, always })
    }
}

/// The path below the root; what leads above the root ends at it.
pub(super) fn clamp(path: &str) -> String {
    let mut clamped = String::new();
    for part in path.split('/') {
        clamped = join(&clamped, part).unwrap_or_default();
    }
    clamped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Kustomization> {
        let node = crate::yaml::documents(text).unwrap().remove(0).root;
        Kustomization::read(&node, Origin { file: Some("ks.yaml".into()), line: 1 }, "flux-system")
    }

    #[test]
    fn a_kustomization_is_read() {
        let read = read(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: a\nspec:\n  \
             path: ./apps/../apps/a/\n  prune: true\n  sourceRef: {kind: GitRepository, name: flux-system}\n  \
             dependsOn: [{name: b}, {name: c, namespace: x}]\n  postBuild:\n    substitute: {APP: a}\n",
        )
        .unwrap();
        assert_eq!(read.path, "apps/a");
        assert_eq!(read.path_mark.line, 6);
        assert_eq!(read.name.to_string(), "flux-system/a");
        assert_eq!(read.source.unwrap().to_string(), "GitRepository flux-system/flux-system");
        let depends: Vec<_> = read.depends_on.iter().map(ToString::to_string).collect();
        assert_eq!(depends, ["flux-system/b", "x/c"]);
        assert_eq!(read.post_build.unwrap().substitute, [("APP".into(), "a".into())]);
    }

    #[test]
    fn what_is_wrong_has_a_place() {
        let start = "kind: Kustomization\nmetadata: {name: a}\nspec:\n  sourceRef: {kind: GitRepository, name: x}\n";
        let error = read(&format!("{start}  postBuild: {{substitute: {{N: 3}}}}\n")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "ks.yaml:5:31: `substitute` of `postBuild` must be a mapping of texts, not a number; \
             values are texts: quote numbers and booleans, as the API server demands it"
        );
        let error = read("kind: Kustomization\nmetadata: {name: a}\n").unwrap_err();
        assert_eq!(error.to_string(), "ks.yaml:1:1: Kustomization flux-system/a has no spec");
    }

    #[test]
    fn paths_stay_below_the_root() {
        assert_eq!(clamp("../../etc"), "etc");
        assert_eq!(clamp("./a/../../b"), "b");
        assert_eq!(clamp("/"), "");
    }
}
