//! `moved` and `pruned-…`: what leaves a Kustomization.

use super::{Index, Part};
use crate::finding::{Finding, Severity};
use crate::side::{Object, Side};

pub(super) fn removals(head: &Side, before: &Index<'_>, after: &Index<'_>) -> Part {
    let mut part = Part::default();
    for (key, old) in before {
        match after.get(key) {
            Some(new) if new.applier != old.applier => part.report.findings.push(moved(old, new)),
            Some(_) => {}
            // What no longer builds is not pruned: Flux stops at the build.
            None if head
                .failures
                .iter()
                .any(|failure| old.applier.ends_with(&applier_name(failure))) => {}
            None => part.report.findings.extend(pruned(old)),
        }
    }
    part
}

fn applier_name(failure: &crate::side::Failure) -> String {
    let id = &failure.applier;
    if id.namespace.is_empty() { id.name.clone() } else { format!("{}/{}", id.namespace, id.name) }
}

fn moved(old: &Object, new: &Object) -> Finding {
    Finding {
        rule: "moved".to_owned(),
        severity: Severity::Warning,
        object: new.id.clone(),
        file: new.file.clone(),
        line: new.line,
        cause: format!("moves from {} to {}", old.applier, new.applier),
        way_out: format!(
            "in two commits: first add it to {} while {} still has it, with `kustomize.toolkit.fluxcd.io/prune: disabled` on it; then take it out there; else the one prunes what the other has just applied",
            new.applier, old.applier
        ),
    }
}

fn pruned(old: &Object) -> Option<Finding> {
    let kept = old.value.pointer("/metadata/annotations/kustomize.toolkit.fluxcd.io~1prune");
    if kept.is_some_and(|value| value == "disabled") {
        return None;
    }
    let holds = match old.id.kind.as_str() {
        "PersistentVolumeClaim" | "PersistentVolume" => {
            "the data in it goes with it, unless the volume is retained"
        }
        "Namespace" => "everything in the namespace goes with it, claims too",
        "CustomResourceDefinition" => "every object of that kind goes with it",
        "HelmRelease" => "Helm uninstalls the release, with the claims that the chart made",
        "StatefulSet" => "its claims go with it where the retention policy says so",
        _ => return None,
    };
    Some(Finding {
        rule: format!("pruned-{}", old.id.kind.to_lowercase()),
        severity: Severity::Warning,
        object: old.id.clone(),
        file: old.file.clone(),
        line: old.line,
        cause: format!("leaves git, and Flux deletes it: {holds}"),
        way_out: "if that is meant, nothing; else annotate it `kustomize.toolkit.fluxcd.io/prune: disabled` in a commit of its own before it leaves".to_owned(),
    })
}
