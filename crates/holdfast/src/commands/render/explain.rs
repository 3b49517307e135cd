//! `--explain`: where an object came from, and each step that touched it.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::str::FromStr;

use holdfast_manifest::flux::{Applied, Cluster};
use holdfast_manifest::kustomize::{Resource, Resources};
use holdfast_manifest::render::to_json;
use serde_json::{Value, json};

use super::page::{origin, place_of, titles};
use super::place::Place;
use super::title;
use crate::commands::output::Format;
use crate::commands::{Outcome, print};

/// Which object: kind, maybe namespace, and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    kind: String,
    namespace: Option<String>,
    name: String,
}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts: Vec<&str> = text.split('/').collect();
        let (kind, namespace, name) = match parts.as_slice() {
            [kind, name] => (*kind, None, *name),
            [kind, namespace, name] => (*kind, Some((*namespace).to_owned()), *name),
            _ => return Err("write Kind/name or Kind/namespace/name".to_owned()),
        };
        if kind.is_empty() || name.is_empty() {
            return Err("write Kind/name or Kind/namespace/name".to_owned());
        }
        Ok(Self { kind: kind.to_owned(), namespace, name: name.to_owned() })
    }
}

impl Wanted {
    fn is(&self, resource: &Resource) -> bool {
        resource.kind().eq_ignore_ascii_case(&self.kind)
            && resource.name() == self.name
            && self.namespace.as_ref().is_none_or(|namespace| resource.namespace() == namespace)
    }

    fn not_found(&self, there: &[String]) -> String {
        let kind = self.kind.to_lowercase();
        let mut near: Vec<&str> = there
            .iter()
            .map(String::as_str)
            .filter(|title| {
                let lower = title.to_lowercase();
                (self.name.len() > 2 && lower.contains(&self.name.to_lowercase()))
                    || lower.starts_with(&format!("{kind} "))
            })
            .take(5)
            .collect();
        near.dedup();
        let namespace =
            self.namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
        let wanted = format!("{} {namespace}{}", self.kind, self.name);
        if near.is_empty() {
            format!("no {wanted} is rendered")
        } else {
            format!("no {wanted} is rendered; there is {}", near.join(", "))
        }
    }
}

/// An object of one folder.
pub fn folder(wanted: &Wanted, resources: &Resources, place: &Place, format: Format) -> Outcome {
    let found: Vec<(&Resource, Option<&Applied>)> = resources
        .list
        .iter()
        .filter(|resource| wanted.is(resource))
        .map(|resource| (resource, None))
        .collect();
    if found.is_empty() {
        let titles: Vec<String> =
            resources.list.iter().map(|resource| title(&resource.node)).collect();
        return Err(wanted.not_found(&titles).into());
    }
    show(&found, &Cluster::default(), place, format)
}

/// What is said to a person about an object of a cluster.
#[cfg(test)]
pub fn told(wanted: &Wanted, cluster: &Cluster, place: &Place) -> Result<String, String> {
    let found = find(wanted, cluster)?;
    let mut text = String::new();
    for (resource, applied) in found {
        describe(&mut text, resource, applied, cluster, place);
    }
    Ok(text)
}

fn find<'a>(
    wanted: &Wanted,
    cluster: &'a Cluster,
) -> Result<Vec<(&'a Resource, Option<&'a Applied>)>, String> {
    let mut found = Vec::new();
    for applied in &cluster.applied {
        for object in applied.objects() {
            if wanted.is(&object.resource) {
                found.push((&object.resource, Some(applied)));
            }
        }
    }
    if found.is_empty() { Err(wanted.not_found(&titles(cluster))) } else { Ok(found) }
}

/// An object of a cluster.
pub fn cluster(wanted: &Wanted, cluster: &Cluster, place: &Place, format: Format) -> Outcome {
    show(&find(wanted, cluster)?, cluster, place, format)
}

fn show(
    found: &[(&Resource, Option<&Applied>)],
    cluster: &Cluster,
    place: &Place,
    format: Format,
) -> Outcome {
    match format {
        Format::Human => {
            let mut text = String::new();
            for (resource, applied) in found {
                if !text.is_empty() {
                    text.push('\n');
                }
                describe(&mut text, resource, *applied, cluster, place);
            }
            print(&text)?;
        }
        Format::Json => {
            let mut objects = Vec::new();
            for (resource, applied) in found {
                objects.push(entry(resource, *applied, cluster)?);
            }
            print(&format!("{}\n", serde_json::to_string_pretty(&json!({ "objects": objects }))?))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Who applies it, who applies that, up to the entry.
fn chain<'a>(applied: Option<&'a Applied>, cluster: &'a Cluster) -> Vec<&'a Applied> {
    let mut chain: Vec<&Applied> = applied.into_iter().collect();
    while let Some(parent) = chain.last().and_then(|last| last.parent.as_ref()) {
        let Some(next) = cluster.applied.iter().find(|one| one.applier == *parent) else { break };
        if chain.iter().any(|one| one.applier == next.applier) {
            break;
        }
        chain.push(next);
    }
    chain
}

fn describe(
    text: &mut String,
    resource: &Resource,
    applied: Option<&Applied>,
    cluster: &Cluster,
    place: &Place,
) {
    let shown = |file: &str, line: u32| {
        let file = place.path_of(file);
        if line > 0 { format!("{file}:{line}") } else { file }
    };
    let _ = writeln!(text, "{}", title(&resource.node));
    let made = if resource.generated { "generated by" } else { "read from" };
    if let Some(file) = &resource.origin.file {
        let _ = writeln!(text, "  {made} {}", shown(file, resource.origin.line));
    }
    for previous in &resource.previous {
        let now = (resource.kind(), resource.name());
        if (previous.kind.as_str(), previous.name.as_str()) != now {
            let _ = writeln!(text, "  was called {} {}", previous.kind, previous.name);
        }
    }
    if resource.history.is_empty() {
        let _ = writeln!(text, "  nothing touched it");
    }
    let width = resource.history.iter().map(|step| step.name.chars().count()).max().unwrap_or(0);
    for (number, step) in resource.history.iter().enumerate() {
        let name = format!("{:width$}", step.name);
        let at = shown(&step.file, step.line);
        let _ = writeln!(text, "  {}. {name}  {at}", number + 1);
    }
    for applied in chain(applied, cluster) {
        let at = place_of(&applied.origin).map(|at| format!(" ({at})")).unwrap_or_default();
        let _ = writeln!(text, "  applied by {}{at}", applied.applier);
    }
}

fn entry(
    resource: &Resource,
    applied: Option<&Applied>,
    cluster: &Cluster,
) -> Result<Value, holdfast_manifest::Diagnostic> {
    let steps: Vec<Value> = resource
        .history
        .iter()
        .map(|step| json!({ "name": step.name.as_str(), "file": step.file.as_ref(), "line": step.line }))
        .collect();
    let appliers: Vec<Value> = chain(applied, cluster)
        .into_iter()
        .map(|one| json!({ "applier": one.applier.to_string(), "origin": origin(&one.origin) }))
        .collect();
    Ok(json!({
        "origin": origin(&resource.origin),
        "generated": resource.generated,
        "steps": steps,
        "appliedBy": appliers,
        "object": to_json(&resource.node)?,
    }))
}
