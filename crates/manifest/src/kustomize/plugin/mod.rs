//! Generators and transformers that are configured by objects of their own.

use super::IamPolicy;
use super::accumulate::{Build, Layer};
use super::kustomization::{GeneratorArguments, Kustomization, KustomizationFile};
use super::replacement::Replacements;
use super::schema::Schema;
use super::transform::annotations::Annotations;
use super::transform::images::Images;
use super::transform::json6902::Json6902Patch;
use super::transform::labels::Labels;
use super::transform::namespace::Namespace;
use super::transform::patches::Patch;
use super::transform::prefix::Prefix;
use super::transform::replicas::Replicas;
use super::transform::strategic::StrategicMergePatches;
use super::transform::suffix::Suffix;
use super::transform::value::ValueAdd;
use super::{Loader, Origin, Resource, Resources, generator};
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{Node, Style, Value, rewrite};

const FUNCTION_ANNOTATIONS: [&str; 2] = ["config.kubernetes.io/function", "config.k8s.io/function"];

/// Runs one generator or transformer by itself: its configuration, and the objects it changes. Paths
/// are from the loader's folder.
pub fn run(loader: &Loader<'_>, config: &str, input: Option<&str>) -> Result<Resources> {
    let resources = |text: &str| -> Result<Resources> {
        let nodes = super::objects(text)?;
        let resource = |node: Node| {
            let origin = Origin { file: None, line: node.mark.line };
            Resource::new(node, origin)
        };
        Resources::from_list(nodes.into_iter().map(resource).collect())
    };
    let build = Build { options: loader.options(), schema: Schema::new() };
    let file = KustomizationFile::default();
    let says = Kustomization::default();
    let layer = Layer { build: &build, loader, file: &file, says: &says, place: None, depth: 0 };
    let mut result = resources(input.unwrap_or_default())?;
    for config in resources(config)? {
        if input.is_some() {
            transform(&config, &mut result, &layer)?;
            result.drop_empty();
        } else {
            result.append_all(generate(&config, &layer)?)?;
        }
    }
    for resource in &mut result {
        super::build::strip(resource, &says)?;
    }
    Ok(result)
}

/// Upstream hands a configuration over as text, which folded lines do not survive as they are.
pub(super) fn write_again(node: &mut Node) -> Result<()> {
    match &mut node.value {
        Value::Mapping(mapping) => {
            mapping.check_unique()?;
            mapping.iter_mut().try_for_each(|entry| write_again(&mut entry.value))
        }
        Value::Sequence(items) => items.iter_mut().try_for_each(write_again),
        Value::Scalar(scalar) => {
            if scalar.style == Style::Folded {
                let text = rewrite::again(scalar.text.as_str().into(), scalar.style)?.into_owned();
                scalar.text = text.into();
                scalar.style = Style::Literal;
            }
            Ok(())
        }
    }
}

/// What a generator's configuration asks for.
pub(super) fn generate(config: &Resource, layer: &Layer<'_>) -> Result<Resources> {
    let node = &config.node;
    let made = match builtin(config)? {
        kind @ ("ConfigMapGenerator" | "SecretGenerator") => {
            let arguments = GeneratorArguments::from_config(node, kind == "SecretGenerator")?;
            generator::generate(&arguments, layer.loader, config.origin.clone())?
        }
        "IAMPolicyGenerator" => {
            Resource::new(IamPolicy::from_config(node)?.generate(), config.origin.clone())
        }
        "HelmChartInflationGenerator" => return Err(refused_charts()),
        kind if is_transformer(kind) => {
            let id = config.original_id();
            return Err(Diagnostic::new(format!("plugin {id} not a generator"))
                .hint("list it under `transformers`"));
        }
        _ => return Err(unknown(config)),
    };
    Resources::from_list(vec![made])
}

/// Changes the objects as a transformer's configuration says.
pub(super) fn transform(
    config: &Resource,
    resources: &mut Resources,
    layer: &Layer<'_>,
) -> Result<()> {
    let node = &config.node;
    let (loader, schema) = (layer.loader, &layer.build.schema);
    match builtin(config)? {
        "AnnotationsTransformer" => Annotations::from_config(node)?.apply(resources),
        "HashTransformer" => generator::hash::apply(resources),
        "ImageTagTransformer" => Images::from_config(node)?.apply(resources),
        "LabelTransformer" => Labels::from_config(node)?.apply(resources),
        "NamespaceTransformer" => Namespace::from_config(node)?.apply(resources),
        "PatchJson6902Transformer" => Json6902Patch::from_config(node, loader)?.apply(resources),
        "PatchStrategicMergeTransformer" => {
            StrategicMergePatches::from_config(node, loader)?.apply(resources, schema)
        }
        "PatchTransformer" => Patch::from_config(node, loader)?.apply(resources, schema),
        "PrefixSuffixTransformer" => {
            Prefix::from_config(node)?.apply(resources)?;
            Suffix::from_config(node)?.apply(resources)
        }
        "PrefixTransformer" => Prefix::from_config(node)?.apply(resources),
        "SuffixTransformer" => Suffix::from_config(node)?.apply(resources),
        "ReplacementTransformer" => Replacements::from_config(node, loader)?.apply(resources),
        "ReplicaCountTransformer" => Replicas::from_config(node)?.apply(resources),
        "ValueAddTransformer" => ValueAdd::from_config(node, loader)?.apply(resources),
        "ConfigMapGenerator" | "SecretGenerator" | "IAMPolicyGenerator" => {
            let id = config.original_id();
            Err(Diagnostic::new(format!("plugin {id} not a transformer"))
                .hint("list it under `generators`"))
        }
        "HelmChartInflationGenerator" => Err(refused_charts()),
        _ => Err(unknown(config)),
    }
}

fn is_transformer(kind: &str) -> bool {
    matches!(
        kind,
        "AnnotationsTransformer"
            | "HashTransformer"
            | "ImageTagTransformer"
            | "LabelTransformer"
            | "NamespaceTransformer"
            | "PatchJson6902Transformer"
            | "PatchStrategicMergeTransformer"
            | "PatchTransformer"
            | "PrefixSuffixTransformer"
            | "PrefixTransformer"
            | "SuffixTransformer"
            | "ReplacementTransformer"
            | "ReplicaCountTransformer"
            | "ValueAddTransformer"
    )
}

/// The kind of a plugin that is built in; others are refused by name.
fn builtin(config: &Resource) -> Result<&str> {
    if config.api_version() == "builtin" {
        return Ok(config.kind());
    }
    let kind = config.kind();
    let is_function = FUNCTION_ANNOTATIONS.iter().any(|key| config.annotation(key).is_some());
    let what = if is_function {
        "a function in a container or a program"
    } else {
        "a plugin that is a program or Go code"
    };
    Err(Diagnostic::new(format!("{kind} is {what}, which is not run here, neither by Flux"))
        .hint("external plugins disabled: use one that is built in (`apiVersion: builtin`), or commit what it makes"))
}

fn unknown(config: &Resource) -> Diagnostic {
    Diagnostic::new(format!("unable to load builtin {}", config.gvk()))
}

fn refused_charts() -> Diagnostic {
    Diagnostic::new("HelmChartInflationGenerator is not supported: Helm charts are not inflated, neither by Flux")
        .hint("make it a HelmRelease, or commit what the chart renders")
}
