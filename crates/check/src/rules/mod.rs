//! The rules. Each looks at the two sides and says what it found.

mod build;
mod pods;
mod refusal;
mod removal;
mod wayout;

use std::collections::BTreeMap;

use crate::finding::Report;
use crate::side::{Object, Side};

/// An object by what it is, whatever its version.
pub(crate) type Index<'a> = BTreeMap<(&'a str, &'a str, &'a str, &'a str), &'a Object>;

pub(crate) fn index(side: &Side) -> Index<'_> {
    side.objects.iter().map(|object| (object.id.key(), object)).collect()
}

/// What the change from one side to the other brings. With `all`, findings that stood at the base
/// already are listed too.
pub fn check(base: &Side, head: &Side, all: bool) -> Report {
    let (before, after) = (index(base), index(head));
    let mut report = Report::default();
    let found = [
        build::failures(base, head),
        refusal::refusals(base, head, &before, &after),
        removal::removals(head, &before, &after),
        pods::services(base, head),
    ];
    for part in found {
        let mut part = part;
        if all {
            part.report.findings.append(&mut part.standing);
        }
        part.report.standing += part.standing.len();
        report.add(part.report);
    }
    report
}

/// What a rule found, and what it found that stood at the base already.
#[derive(Default)]
pub(crate) struct Part {
    pub(crate) report: Report,
    pub(crate) standing: Vec<crate::finding::Finding>,
}
