//! One Kustomization, built as kustomize-controller builds it: the kustomization file made or
//! completed, kustomize run, variables put in, common metadata set.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::generate::{Generated, Overlay, generate};
use super::kustomization::Kustomization;
use super::sops;
use super::substitute::Variables;
use crate::cache::Cache;
use crate::diagnostic::{Diagnostic, Result};
use crate::files::{Files, Found};
use crate::kustomize::{self, Remote, Reorder, Resource, Resources, Restriction, Step};
use crate::yaml::{Mapping, Mark, Node, Text, Value};

/// How to build.
#[derive(Clone, Copy, Default)]
pub struct BuildOptions<'a> {
    /// Files that were parsed before.
    pub cache: Option<&'a Cache>,
    /// What fetches bases and files from elsewhere; without it they are refused.
    pub remote: Option<&'a dyn Remote>,
    /// Whether each object records what changed it.
    pub explain: bool,
}

/// One object of a build.
#[derive(Clone, Debug)]
pub struct Object {
    /// The object and where it came from.
    pub resource: Resource,
    /// Whether SOPS encrypted it, or what it was generated from.
    pub encrypted: bool,
    /// Variables that stand in it as they were written: their values are not known here.
    pub kept: BTreeSet<String>,
}

/// What a Kustomization applies.
#[derive(Clone, Debug, Default)]
pub struct Built {
    /// The objects, in Flux's order.
    pub objects: Vec<Object>,
    /// What Flux would refuse later, or what is not as Flux would have it, in sentences.
    pub notes: Vec<String>,
}

/// Builds a Kustomization.
pub fn build(
    files: &dyn Files,
    kustomization: &Kustomization,
    variables: &Variables,
    options: &BuildOptions<'_>,
) -> Result<Built> {
    let path = &kustomization.path;
    match files.find(path)? {
        Found::Folder => {}
        found => {
            let what = if found == Found::File { "is a file" } else { "is not there" };
            return Err(at_path(
                Diagnostic::new(format!("kustomization path not found: ./{path} {what}")),
                kustomization,
            ));
        }
    }
    let generated = generate(files, kustomization)?;
    let resources = run(files, kustomization, &generated, options)?;
    let mut resources = resources.list;
    let mut kept_by = vec![BTreeSet::new(); resources.len()];
    for place in 0..resources.len() {
        let resource = &resources[place];
        if resource.name().is_empty()
            || resource.kind().is_empty()
            || resource.api_version().is_empty()
        {
            return Err(at_object(
                Diagnostic::new("an object has no apiVersion, kind or name")
                    .hint("Flux refuses the whole build for it"),
                resource,
            ));
        }
        kept_by[place] =
            substitute(&mut resources, place, variables, options.explain, kustomization)?;
    }
    let mut built = Built::default();
    for (mut resource, kept) in resources.into_iter().zip(kept_by) {
        set_common(&mut resource, kustomization, options.explain);
        let encrypted = sops::is_encrypted(&resource.node);
        let holds = !encrypted && sops::holds_encrypted_file(&resource.node);
        note_encryption(&mut built.notes, &resource, kustomization, encrypted, holds);
        built.objects.push(Object { resource, encrypted: encrypted || holds, kept });
    }
    Ok(built)
}

fn run(
    files: &dyn Files,
    kustomization: &Kustomization,
    generated: &Generated,
    options: &BuildOptions<'_>,
) -> Result<Resources> {
    let settings = kustomize::Options {
        keep_schema: true,
        restriction: Restriction::None,
        reorder: Reorder::None,
        cache: options.cache,
        remote: options.remote,
        explain: options.explain,
    };
    let Some(blob) = &generated.content else {
        return kustomize::build(files, &kustomization.path, &settings);
    };
    let overlay = Overlay { files, path: &generated.path, blob };
    kustomize::build(&overlay, &kustomization.path, &settings)
        .map(|mut resources| {
            relabel(&mut resources, kustomization, generated);
            resources
        })
        .map_err(|error| translate(error, kustomization, generated))
}

/// Whether a line of the kustomization file is Flux's and not the repository's.
fn is_added(generated: &Generated, file: Option<&str>, line: u32) -> bool {
    file == Some(generated.path.as_str()) && line > generated.own_lines
}

/// A place in what Flux made is no place a person can look at: the Kustomization is.
fn translate(
    error: Diagnostic,
    kustomization: &Kustomization,
    generated: &Generated,
) -> Diagnostic {
    let line = error.mark().map_or(0, |mark| mark.line);
    if !is_added(generated, error.file(), line) {
        return error;
    }
    let name = &kustomization.name;
    let what = if generated.created {
        format!("the kustomization that Flux makes for {name}")
    } else {
        format!("{} with the fields of Kustomization {name}", generated.path)
    };
    let message = format!("{what}: {}", error.message());
    let placed = match &kustomization.origin.file {
        Some(file) => at_origin(Diagnostic::new(message), file, kustomization.origin.line),
        None => Diagnostic::new(message).in_file(kustomization.path.as_str()),
    };
    match error.advice() {
        Some(advice) => placed.hint(advice),
        None => placed,
    }
}

/// Steps of the added fields are the Kustomization's.
fn relabel(resources: &mut Resources, kustomization: &Kustomization, generated: &Generated) {
    for resource in &mut resources.list {
        for step in &mut resource.history {
            if is_added(generated, Some(&step.file), step.line)
                && let Some(file) = &kustomization.origin.file
            {
                step.name = format!("{} of Kustomization {}", step.name, kustomization.name).into();
                step.file = file.clone();
                step.line = kustomization.origin.line;
            }
        }
    }
}

fn substitute(
    resources: &mut [Resource],
    place: usize,
    variables: &Variables,
    explain: bool,
    kustomization: &Kustomization,
) -> Result<BTreeSet<String>> {
    let resource = &resources[place];
    let substituted = variables.object(&resource.node).map_err(|error| {
        let name = format!("post build failed for {} {}", resource.kind(), resource.name());
        at_object(error.while_doing(name), resource)
    })?;
    let Some(substituted) = substituted else { return Ok(BTreeSet::new()) };
    let before = resource.current_id();
    let resource = &mut resources[place];
    if explain && substituted.content != resource.node {
        note_step(resource, kustomization, "postBuild");
    }
    resource.node = substituted.content;
    let id = resource.current_id();
    if id != before && resources.iter().filter(|other| other.current_id().same(&id)).count() > 1 {
        return Err(at_object(
            Diagnostic::new(format!("after substitution two objects are called {id}"))
                .hint("Flux refuses the whole build for it"),
            &resources[place],
        ));
    }
    Ok(substituted.kept)
}

fn note_step(resource: &mut Resource, kustomization: &Kustomization, name: &str) {
    let file: Arc<str> = kustomization.origin.file.clone().unwrap_or_else(|| "".into());
    let name: Text = format!("{name} of Kustomization {}", kustomization.name).into();
    resource.history.push(Step { name, file, line: kustomization.origin.line });
}

fn set_common(resource: &mut Resource, kustomization: &Kustomization, explain: bool) {
    let both = [
        ("labels", &kustomization.common_labels),
        ("annotations", &kustomization.common_annotations),
    ];
    let mut touched = false;
    for (field, pairs) in both {
        if pairs.is_empty() {
            continue;
        }
        let Some(object) = resource.node.as_mapping_mut() else { continue };
        let metadata = object.get_or_insert_with("metadata", Node::mapping);
        let Some(metadata) = metadata.as_mapping_mut() else { continue };
        let map = metadata.get_or_insert_with(field, Node::mapping);
        if map.as_mapping().is_none() {
            map.value = Value::Mapping(Mapping::new());
        }
        let Some(map) = map.as_mapping_mut() else { continue };
        for (key, value) in pairs {
            map.set(key.clone(), Node::string(value.clone()));
        }
        touched = true;
    }
    if touched && explain {
        note_step(resource, kustomization, "commonMetadata");
    }
}

fn note_encryption(
    notes: &mut Vec<String>,
    resource: &Resource,
    kustomization: &Kustomization,
    encrypted: bool,
    holds: bool,
) {
    let name = format!("{} {}", resource.kind(), resource.name());
    let is_secret = resource.kind() == "Secret" && resource.api_version() == "v1";
    if holds {
        notes.push(format!(
            "{name} is generated from a file that SOPS encrypted: Flux applies other values, and \
             another hash in its name"
        ));
    } else if encrypted
        && !kustomization.decrypts
        && is_secret
        && !sops::is_decryption_disabled(&resource.node)
    {
        notes.push(format!(
            "{name} is SOPS encrypted, but Kustomization {} has no `spec.decryption`: Flux refuses it",
            kustomization.name
        ));
    }
}

fn at_object(error: Diagnostic, resource: &Resource) -> Diagnostic {
    match &resource.origin.file {
        Some(file) => at_origin(error, file, resource.origin.line),
        None => error,
    }
}

fn at_origin(error: Diagnostic, file: &Arc<str>, line: u32) -> Diagnostic {
    error.in_file(file.clone()).at(Mark { line, column: 1, ..Mark::default() })
}

fn at_path(error: Diagnostic, kustomization: &Kustomization) -> Diagnostic {
    match &kustomization.origin.file {
        Some(file) => error
            .at(kustomization.path_mark)
            .in_file(file.clone())
            .hint("correct `spec.path`: it is relative to the root of the repository"),
        None => error
            .hint("give the folder that Flux was bootstrapped with, such as clusters/production"),
    }
}
