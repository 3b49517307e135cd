//! `build`: a Kustomization that Flux could not build.

use super::Part;
use crate::finding::{Finding, Severity};
use crate::side::{Failure, Side};

pub(super) fn failures(base: &Side, head: &Side) -> Part {
    let mut part = Part::default();
    for failure in &head.failures {
        let stood = base.failures.iter().any(|other| {
            other.applier == failure.applier && other.error.message() == failure.error.message()
        });
        let finding = finding(failure);
        if stood {
            part.standing.push(finding);
        } else {
            part.report.findings.push(finding);
        }
    }
    part
}

fn finding(failure: &Failure) -> Finding {
    let error = &failure.error;
    Finding {
        rule: "build".to_owned(),
        severity: Severity::Error,
        object: failure.applier.clone(),
        file: error.file().unwrap_or_default().to_owned(),
        line: error.mark().map_or(0, |mark| mark.line),
        cause: error.message().to_owned(),
        way_out: error
            .advice()
            .unwrap_or("correct the file: Flux refuses the whole Kustomization")
            .to_owned(),
    }
}
