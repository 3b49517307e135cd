//! Reading a kustomization file.

use std::sync::Arc;

use super::Loader;
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{Fields, Mark, Node, Text};

mod check;
mod generator;
mod order;

pub use generator::{GeneratorArguments, GeneratorOptions};
pub use order::{Order, SortOptions};

/// The names a kustomization file may have.
pub const FILE_NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

const KUSTOMIZATION_VERSION: &str = "kustomize.config.k8s.io/v1beta1";
const COMPONENT_VERSION: &str = "kustomize.config.k8s.io/v1alpha1";

/// A text of the file and its place.
pub type Placed = (Text, Mark);

/// Texts by key, and the place of the mapping.
pub type PlacedTexts = (Vec<(Text, Text)>, Mark);

/// A kustomization file as it was parsed.
#[derive(Clone, Debug)]
pub struct KustomizationFile {
    /// Its path from the root of the files.
    pub path: Arc<str>,
    /// Its name.
    pub name: &'static str,
    /// What is written in it.
    pub root: Arc<Node>,
}

impl Default for KustomizationFile {
    fn default() -> Self {
        let [name, ..] = FILE_NAMES;
        Self { path: name.into(), name, root: Arc::new(Node::null()) }
    }
}

/// What a kustomization file says; parts that belong to one step are left to that step.
#[derive(Clone, Debug, Default)]
pub struct Kustomization<'a> {
    /// Whether it is a component, which runs on what its parent has.
    pub is_component: bool,
    /// Files and folders of other kustomizations, bases included.
    pub resources: Vec<Placed>,
    /// Folders of components.
    pub components: Vec<Placed>,
    /// Files of definitions that tell which fields are references.
    pub crds: Vec<Placed>,
    /// Files that tell which fields the steps change.
    pub configurations: Vec<Placed>,
    /// Configurations of generators.
    pub generators: Vec<Placed>,
    /// Configurations of transformers.
    pub transformers: Vec<Placed>,
    /// Configurations of validators.
    pub validators: Vec<Placed>,
    /// What all names begin with.
    pub name_prefix: Option<Placed>,
    /// What all names end with.
    pub name_suffix: Option<Placed>,
    /// Where all objects live.
    pub namespace: Option<Placed>,
    /// Labels, also in selectors.
    pub common_labels: Option<PlacedTexts>,
    /// Entries of `labels`.
    pub labels: Vec<&'a Node>,
    /// Annotations.
    pub common_annotations: Option<PlacedTexts>,
    /// Strategic merge patches, files or inline.
    pub strategic_patches: Vec<Placed>,
    /// JSON patches.
    pub json_patches: &'a [Node],
    /// Patches of both kinds.
    pub patches: &'a [Node],
    /// Entries of `images` and `imageTags`.
    pub images: Vec<&'a Node>,
    /// Entries of `replacements`.
    pub replacements: &'a [Node],
    /// Entries of `replicas`.
    pub replicas: &'a [Node],
    /// Entries of `vars`.
    pub variables: &'a [Node],
    /// How the objects are sorted.
    pub sort: Option<SortOptions>,
    /// ConfigMaps to generate.
    pub config_maps: Vec<GeneratorArguments>,
    /// Secrets to generate.
    pub secrets: Vec<GeneratorArguments>,
    /// A schema in place of the one built in.
    pub openapi: Vec<(Text, Text)>,
    /// Where `openapi` is written.
    pub openapi_mark: Mark,
    /// What the result says about its making.
    pub build_metadata: Vec<Text>,
}

impl KustomizationFile {
    /// The one kustomization file of a folder.
    pub fn find(loader: &Loader<'_>) -> Result<Self> {
        let mut found = None;
        for name in FILE_NAMES {
            let Some(source) = loader.beside(name)? else { continue };
            if found.replace((name, source)).is_some() {
                let folder = shown(loader.root());
                let message = format!("Found multiple kustomization files under: {folder}");
                return Err(
                    Diagnostic::new(message).hint(format!("keep one of {}", FILE_NAMES.join(", ")))
                );
            }
        }
        let Some((name, source)) = found else {
            let folder = shown(loader.root());
            let message = format!(
                "unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in directory '{folder}'"
            );
            return Err(Diagnostic::new(message));
        };
        let root = source.settings()?;
        Ok(Self { path: source.path, name, root })
    }

    /// What it says.
    pub fn read(&self) -> Result<Kustomization<'_>> {
        let read = if self.root.is_null() { Err(empty()) } else { Kustomization::read(&self.root) };
        read.map_err(|error| error.in_file(self.path.clone()))
    }
}

fn shown(folder: &str) -> &str {
    if folder.is_empty() { "." } else { folder }
}

fn empty() -> Diagnostic {
    Diagnostic::new("the kustomization is empty")
        .hint("list what it builds under `resources`, or delete the file")
}

impl<'a> Kustomization<'a> {
    /// Reads what a kustomization file says.
    pub fn read(root: &'a Node) -> Result<Self> {
        let mut fields = Fields::of(root, "the kustomization")?;
        let mut k = Self::default();
        let kind = fields.node("kind");
        let kind_text = fields.text_or_empty("kind")?;
        let version = fields.node("apiVersion");
        let version_text = fields.text_or_empty("apiVersion")?;
        if let Some(metadata) = fields.node("metadata") {
            let mut metadata = Fields::of(metadata, "the kustomization's metadata")?;
            metadata.text("name")?;
            metadata.text("namespace")?;
            metadata.text_map("labels")?;
            metadata.text_map("annotations")?;
            metadata.finish()?;
        }
        k.openapi_mark = fields.node("openapi").map(|node| node.mark).unwrap_or_default();
        k.openapi = fields.text_map("openapi")?;
        k.name_prefix = placed(&mut fields, "namePrefix")?;
        k.name_suffix = placed(&mut fields, "nameSuffix")?;
        k.namespace = placed(&mut fields, "namespace")?;
        k.common_labels = placed_map(&mut fields, "commonLabels")?;
        k.labels = fields.list("labels")?.iter().filter(|entry| !entry.is_null()).collect();
        k.common_annotations = placed_map(&mut fields, "commonAnnotations")?;
        k.strategic_patches = fields.texts("patchesStrategicMerge")?;
        k.json_patches = fields.list("patchesJson6902")?;
        k.patches = fields.list("patches")?;
        let images = fields.list("images")?.iter().chain(fields.list("imageTags")?);
        k.images = images.filter(|entry| !entry.is_null()).collect();
        k.replacements = fields.list("replacements")?;
        k.replicas = fields.list("replicas")?;
        k.variables = fields.list("vars")?;
        k.sort = fields.node("sortOptions").map(SortOptions::read).transpose()?;
        k.resources = fields.texts("resources")?;
        k.resources.append(&mut fields.texts("bases")?);
        k.components = fields.texts("components")?;
        k.crds = fields.texts("crds")?;
        let options = match fields.node("generatorOptions") {
            Some(node) => Some(GeneratorOptions::read(node, true)?),
            None => None,
        };
        let generators = |nodes: &[Node], secret| -> Result<Vec<GeneratorArguments>> {
            let read = |node| GeneratorArguments::read(node, secret, options.as_ref());
            nodes.iter().map(read).collect()
        };
        k.config_maps = generators(fields.list("configMapGenerator")?, false)?;
        k.secrets = generators(fields.list("secretGenerator")?, true)?;
        k.configurations = fields.texts("configurations")?;
        k.generators = fields.texts("generators")?;
        k.transformers = fields.texts("transformers")?;
        k.validators = fields.texts("validators")?;
        k.build_metadata =
            fields.texts("buildMetadata")?.into_iter().map(|(text, _)| text).collect();
        if let Some(globals) = fields.node("helmGlobals") {
            let mut globals = Fields::of(globals, "`helmGlobals`")?;
            globals.text("chartHome")?;
            globals.text("configHome")?;
            globals.finish()?;
        }
        let helm = [
            ("helmCharts", fields.list("helmCharts")?),
            ("helmChartInflationGenerator", fields.list("helmChartInflationGenerator")?),
        ];
        fields.finish()?;
        check::patches(k.patches)?;
        check::patches(k.json_patches)?;
        check::replacements(k.replacements)?;
        for (name, entries) in helm {
            if let Some(entry) = entries.first() {
                return Err(refused_helm(name, entry));
            }
        }
        if is_empty(root) {
            return Err(empty());
        }
        k.is_component = kind_text == "Component";
        if !matches!(kind_text.as_str(), "" | "Kustomization" | "Component") {
            let mark = kind.map(|node| node.mark).unwrap_or_default();
            return Err(Diagnostic::new("kind should be Kustomization or Component").at(mark));
        }
        let wanted = if k.is_component { COMPONENT_VERSION } else { KUSTOMIZATION_VERSION };
        if !version_text.is_empty() && version_text != wanted {
            let kind = if k.is_component { "Component" } else { "Kustomization" };
            let mark = version.map(|node| node.mark).unwrap_or_default();
            return Err(
                Diagnostic::new(format!("apiVersion for {kind} should be {wanted}")).at(mark)
            );
        }
        Ok(k)
    }

    /// Whether the result is to say this about its making.
    pub fn wants(&self, option: &str) -> bool {
        self.build_metadata.iter().any(|wanted| wanted == option)
    }
}

/// What cannot be done here, and is not done by Flux either.
fn refused_helm(name: &str, entry: &Node) -> Diagnostic {
    Diagnostic::new(format!(
        "`{name}` is not supported: Helm charts are not inflated, neither by Flux"
    ))
    .at(entry.mark)
    .hint("make it a HelmRelease, or commit what the chart renders")
}

/// Whether nothing is said: lists and mappings count even if they have nothing in them, except those
/// whose content moves elsewhere; empty texts do not.
fn is_empty(root: &Node) -> bool {
    let moved = ["bases", "imageTags", "helmChartInflationGenerator"];
    let says_nothing = |name: &str, value: &Node| {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        value.is_null()
            || is("kind")
            || is("apiVersion")
            || value.text().is_some_and(str::is_empty)
            || (moved.iter().any(|known| is(known))
                && value.as_sequence().is_some_and(<[Node]>::is_empty))
    };
    let mut entries = root.as_mapping().into_iter().flatten();
    entries.all(|entry| says_nothing(&entry.key.text, &entry.value))
}

fn placed<'a>(fields: &mut Fields<'a>, name: &'a str) -> Result<Option<Placed>> {
    let mark = fields.node(name).map(|node| node.mark).unwrap_or_default();
    let text = fields.text(name)?.filter(|text| !text.is_empty());
    Ok(text.map(|text| (text, mark)))
}

fn placed_map<'a>(fields: &mut Fields<'a>, name: &'a str) -> Result<Option<PlacedTexts>> {
    let Some(node) = fields.node(name) else { return Ok(None) };
    let pairs = fields.text_map(name)?;
    Ok((!pairs.is_empty()).then_some((pairs, node.mark)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Memory;
    use crate::kustomize::Options;

    fn read(text: &str) -> Result<String> {
        let files = Memory::new().with("k/kustomization.yaml", text);
        let options = Options::default();
        let loader = Loader::new(&files, "k", &options)?;
        let file = KustomizationFile::find(&loader)?;
        file.read().map(|kustomization| format!("{kustomization:?}"))
    }

    #[test]
    fn an_unknown_field_is_named_with_its_line() {
        let error = read("resources: [a.yaml]\nnamPrefix: x\n").unwrap_err();
        assert_eq!(error.file(), Some("k/kustomization.yaml"));
        assert_eq!(error.mark().unwrap().line, 2);
        assert_eq!(error.advice(), Some("did you mean `namePrefix`?"));
        assert!(read("resources: [a.yaml]\nmetadata: {label: {}}\n").is_err());
    }

    #[test]
    fn what_says_nothing_is_refused() {
        for text in [
            "",
            "# nothing\n",
            "kind: Kustomization\n",
            "bases: []\n",
            "namePrefix: ''\n",
            "resources:\n",
        ] {
            let error = read(text).unwrap_err();
            assert!(error.message().contains("empty"), "{text:?}: {error}");
        }
        for text in ["resources: []\n", "labels: []\n", "metadata: {}\n"] {
            assert!(read(text).is_ok(), "{text:?}");
        }
    }

    #[test]
    fn fields_are_found_as_a_json_decoder_finds_them() {
        let found = read("Resources: [a.yaml]\nBASES: [../b]\nnamePrefix: x-\n").unwrap();
        assert!(found.contains("a.yaml") && found.contains("../b"), "{found}");
    }

    #[test]
    fn kind_and_version_must_fit() {
        let text = "kind: Component\napiVersion: kustomize.config.k8s.io/v1beta1\nnamePrefix: a\n";
        let error = read(text).unwrap_err();
        assert_eq!(
            error.message(),
            "apiVersion for Component should be kustomize.config.k8s.io/v1alpha1"
        );
        assert_eq!(error.mark().unwrap().line, 2);
        assert!(read("kind: Other\nnamePrefix: a\n").is_err());
        assert!(read("kind: Component\nnamePrefix: a\n").is_ok());
    }

    #[test]
    fn types_are_those_of_upstream() {
        assert!(read("namePrefix: 12\n").is_err());
        assert!(read("commonLabels: {a: yes}\n").is_err());
        assert!(read("commonLabels: {a: 'yes'}\n").is_ok());
        assert!(read("- a\n").is_err());
        let options = "generatorOptions: {disableNameSuffixHash: yes}\nresources: []\n";
        assert!(read(options).is_ok());
    }

    #[test]
    fn charts_are_refused_by_name() {
        let error = read("helmCharts:\n- name: web\n").unwrap_err();
        assert!(error.message().starts_with("`helmCharts` is not supported"), "{error}");
        assert_eq!(error.mark().unwrap().line, 2);
    }

    #[test]
    fn there_is_one_file() {
        let files = Memory::new()
            .with("k/kustomization.yaml", "")
            .with("k/Kustomization", "")
            .with("x", "");
        let options = Options::default();
        let loader = Loader::new(&files, "k", &options).unwrap();
        assert!(KustomizationFile::find(&loader).unwrap_err().message().contains("multiple"));
        let loader = Loader::new(&files, "", &options).unwrap();
        assert!(KustomizationFile::find(&loader).unwrap_err().message().contains("unable to find"));
    }
}
