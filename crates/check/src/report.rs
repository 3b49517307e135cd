//! Findings for people and for programs.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::finding::{Finding, Report, Severity};

/// For people: what is wrong, where, and the way out.
pub fn human(report: &Report) -> String {
    let mut out = String::new();
    for finding in &report.findings {
        // Writing to a text does not fail.
        let _ = writeln!(out, "{}[{}]: {}", finding.severity, finding.rule, finding.object);
        if !finding.file.is_empty() {
            let _ = write!(out, "  --> {}", finding.file);
            if finding.line > 0 {
                let _ = write!(out, ":{}", finding.line);
            }
            out.push('\n');
        }
        let _ = writeln!(out, "  {}", finding.cause);
        let _ = writeln!(out, "  way out: {}\n", finding.way_out);
    }
    out.push_str(&summary(report));
    out.push('\n');
    out
}

/// One line.
pub fn summary(report: &Report) -> String {
    let count =
        |severity| report.findings.iter().filter(|found| found.severity == severity).count();
    let number = |count: usize, what: &str| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{count} {what}{plural}")
    };
    let mut text = format!(
        "{} in {}",
        [
            number(count(Severity::Error), "error"),
            number(count(Severity::Warning), "warning"),
            number(count(Severity::Note), "note"),
        ]
        .join(", "),
        number(report.changed, "changed object"),
    );
    if report.standing > 0 {
        let _ = write!(
            text,
            "; {} stood before and {} not listed",
            report.standing,
            if report.standing == 1 { "is" } else { "are" }
        );
    }
    if !report.not_judged.is_empty() {
        let _ = write!(
            text,
            "; {} of kinds without a definition here not judged",
            number(report.not_judged.len(), "object")
        );
    }
    text
}

/// For programs.
pub fn json(report: &Report) -> Value {
    json!({
        "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
        "standing": report.standing,
        "changed": report.changed,
        "notJudged": report.not_judged.iter().map(object).collect::<Vec<_>>(),
    })
}

fn finding(finding: &Finding) -> Value {
    json!({
        "rule": finding.rule,
        "severity": finding.severity.as_str(),
        "object": object(&finding.object),
        "file": finding.file,
        "line": finding.line,
        "cause": finding.cause,
        "wayOut": finding.way_out,
    })
}

fn object(id: &crate::finding::Id) -> Value {
    json!({"apiVersion": id.api_version, "kind": id.kind, "namespace": id.namespace, "name": id.name})
}
