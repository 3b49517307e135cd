//! `configMapGenerator`, `secretGenerator` and `generatorOptions`.

use super::Placed;
use crate::diagnostic::Result;
use crate::kustomize::Behavior;
use crate::yaml::{Fields, Mark, Node, Text};

/// What is said about all that a generator makes.
#[derive(Clone, Debug, Default)]
pub struct GeneratorOptions {
    /// Labels of the object.
    pub labels: Vec<(Text, Text)>,
    /// Annotations of the object.
    pub annotations: Vec<(Text, Text)>,
    /// Whether the name has no hash of the content.
    pub no_hash: bool,
    /// Whether the object cannot be changed.
    pub immutable: bool,
}

/// One ConfigMap or Secret to generate.
#[derive(Clone, Debug, Default)]
pub struct GeneratorArguments {
    /// Whether it is a Secret.
    pub is_secret: bool,
    /// Its name.
    pub name: Text,
    /// Its namespace.
    pub namespace: Text,
    /// A Secret's type; empty for `Opaque`.
    pub secret_type: Text,
    /// What to do with one that is there already.
    pub behavior: Behavior,
    /// `key=value`.
    pub literals: Vec<Placed>,
    /// Paths, or `key=path`.
    pub files: Vec<Placed>,
    /// Paths of files with a `key=value` on each line.
    pub environments: Vec<Placed>,
    /// What else is said about it.
    pub options: GeneratorOptions,
    /// Where it is written.
    pub mark: Mark,
}

impl GeneratorOptions {
    /// Reads it; unknown fields are an error in a kustomization, not in a generator's configuration.
    pub fn read(node: &Node, strict: bool) -> Result<Self> {
        let mut fields = Fields::of(node, "generator options")?;
        let options = Self {
            labels: fields.text_map("labels")?,
            annotations: fields.text_map("annotations")?,
            no_hash: fields.flag("disableNameSuffixHash")?,
            immutable: fields.flag("immutable")?,
        };
        if strict {
            fields.finish()?;
        }
        Ok(options)
    }

    /// Adds what is said for all and not here.
    fn inherit(&mut self, all: &Self) {
        let add = |own: &mut Vec<(Text, Text)>, all: &[(Text, Text)]| {
            for (key, value) in all {
                if !own.iter().any(|(known, _)| known == key) {
                    own.push((key.clone(), value.clone()));
                }
            }
        };
        add(&mut self.labels, &all.labels);
        add(&mut self.annotations, &all.annotations);
        self.no_hash |= all.no_hash;
        self.immutable |= all.immutable;
    }
}

impl GeneratorArguments {
    /// Reads an entry of a kustomization.
    pub fn read(node: &Node, is_secret: bool, all: Option<&GeneratorOptions>) -> Result<Self> {
        let what = if is_secret { "a secret generator" } else { "a config map generator" };
        let mut fields = Fields::of(node, what)?;
        let mut arguments = Self::common(&mut fields, is_secret, true)?;
        if let Some(node) = fields.node("env")
            && let Some(path) = fields.text("env")?.filter(|path| !path.is_empty())
        {
            arguments.environments.push((path, node.mark));
        }
        fields.finish()?;
        if let Some(all) = all {
            arguments.options.inherit(all);
        }
        Ok(arguments)
    }

    /// Reads the configuration of a generator.
    pub fn from_config(node: &Node, is_secret: bool) -> Result<Self> {
        let mut fields = Fields::of(node, "a generator's configuration")?;
        let mut arguments = Self::common(&mut fields, is_secret, false)?;
        if let Some(metadata) = fields.node("metadata") {
            // What is no text becomes one here, as upstream's decoder sees to it.
            let text = |name: &str| {
                metadata.get(name).and_then(Node::text).map(Text::from).unwrap_or_default()
            };
            if arguments.name.is_empty() {
                arguments.name = text("name");
            }
            if arguments.namespace.is_empty() {
                arguments.namespace = text("namespace");
            }
        }
        Ok(arguments)
    }

    fn common(fields: &mut Fields<'_>, is_secret: bool, strict: bool) -> Result<Self> {
        Ok(Self {
            is_secret,
            name: fields.text_or_empty("name")?,
            namespace: fields.text_or_empty("namespace")?,
            secret_type: if is_secret { fields.text_or_empty("type")? } else { Text::default() },
            behavior: Behavior::from_text(&fields.text_or_empty("behavior")?),
            literals: fields.texts("literals")?,
            files: fields.texts("files")?,
            environments: fields.texts("envs")?,
            options: match fields.node("options") {
                Some(node) => GeneratorOptions::read(node, strict)?,
                None => GeneratorOptions::default(),
            },
            mark: fields.mark(),
        })
    }
}
