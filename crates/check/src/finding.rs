//! What was found, as data.

use std::fmt;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Likely not meant.
    Warning,
    /// Flux cannot apply it, or data is lost.
    Error,
}

impl Severity {
    /// As it is written in output and flags.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// Which object a finding is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    /// `apps/v1`
    pub api_version: String,
    /// `Deployment`
    pub kind: String,
    /// Empty for what belongs to the cluster.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl Id {
    /// Without the version: another version of the same object is the same object.
    pub fn key(&self) -> (&str, &str, &str, &str) {
        let group = self.api_version.split_once('/').map_or("", |(group, _)| group);
        (group, &self.kind, &self.namespace, &self.name)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.namespace.is_empty() { "" } else { "/" };
        write!(out, "{} {}{slash}{}", self.kind, self.namespace, self.name)
    }
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule: `immutable-deployment`.
    pub rule: String,
    /// How bad it is.
    pub severity: Severity,
    /// The object.
    pub object: Id,
    /// Where it is written; empty if that is not known.
    pub file: String,
    /// The line; 0 if that is not known.
    pub line: u32,
    /// What is wrong.
    pub cause: String,
    /// What to do about it.
    pub way_out: String,
}

impl Finding {
    /// What makes two findings the same at base and head.
    pub(crate) fn identity(&self) -> (&str, &Id, &str) {
        (&self.rule, &self.object, &self.cause)
    }
}

/// Everything that was found between two revisions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What the change brings, worst first.
    pub findings: Vec<Finding>,
    /// How many findings stood at the base already.
    pub standing: usize,
    /// How many objects changed, were added or removed.
    pub changed: usize,
    /// Changed objects of kinds whose definition is not known: they were not judged.
    pub not_judged: Vec<Id>,
}

impl Report {
    /// How many findings are at least as bad.
    pub fn at_least(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity >= severity).count()
    }

    /// Adds what was found elsewhere.
    pub fn add(&mut self, other: Self) {
        self.findings.extend(other.findings);
        self.standing += other.standing;
        self.changed += other.changed;
        self.not_judged.extend(other.not_judged);
        self.findings.sort_by(|one, two| {
            (two.severity.cmp(&one.severity))
                .then_with(|| (&one.file, one.line).cmp(&(&two.file, two.line)))
                .then_with(|| one.identity().cmp(&two.identity()))
        });
        self.findings.dedup();
    }
}
