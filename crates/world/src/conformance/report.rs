//! Says what a run showed, and whether that is good enough.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::differences::{Known, LIMIT};
use super::run::{CaseResult, Interaction};

/// What must be covered, and by how many interactions at least.
pub const SPREAD: [(&str, usize); 6] = [
    ("server-side apply", 60),
    ("list and watch", 40),
    ("garbage collection and finalizers", 30),
    ("validation errors", 60),
    ("admission", 20),
    ("all", 250),
];

/// The results of a run beside the known differences.
#[derive(Debug)]
pub struct Report<'a> {
    results: &'a [CaseResult],
    known: &'a Known,
}

#[derive(Default)]
struct Row {
    cases: usize,
    interactions: usize,
    same: usize,
    known: usize,
    new: usize,
}

impl<'a> Report<'a> {
    /// A report on results, given the known differences.
    pub fn new(results: &'a [CaseResult], known: &'a Known) -> Self {
        Self { results, known }
    }

    fn interactions(&self) -> impl Iterator<Item = (&'a CaseResult, &'a Interaction)> {
        self.results.iter().flat_map(|case| case.interactions.iter().map(move |one| (case, one)))
    }

    fn reason(&self, case: &CaseResult, interaction: &Interaction) -> Option<&'a str> {
        self.known.reason(&case.name, interaction.step)
    }

    /// The table per group, the spread, and each difference that is not known.
    pub fn render(&self) -> String {
        let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
        for case in self.results {
            let group = case.name.split('/').next().unwrap_or_default();
            rows.entry(group).or_default().cases += 1;
        }
        for (case, interaction) in self.interactions() {
            let row = rows.entry(&interaction.group).or_default();
            row.interactions += 1;
            if interaction.differences.is_empty() {
                row.same += 1;
            } else if self.reason(case, interaction).is_some() {
                row.known += 1;
            } else {
                row.new += 1;
            }
        }
        let mut text = String::new();
        for (case, interaction) in self.interactions() {
            if interaction.differences.is_empty() || self.reason(case, interaction).is_some() {
                continue;
            }
            let _ =
                writeln!(text, "DIFFERS {} {}: {}", case.name, interaction.step, interaction.asked);
            for line in &interaction.differences {
                let _ = writeln!(text, "    {line}");
            }
        }
        for case in self.results {
            if let Some(why) = &case.broken {
                let _ = writeln!(text, "BROKEN {}: {why}", case.name);
            }
        }
        let _ = writeln!(
            text,
            "\n{:<14} {:>6} {:>13} {:>6} {:>6} {:>6}",
            "group", "cases", "interactions", "same", "known", "new"
        );
        for (group, row) in &rows {
            let _ = writeln!(
                text,
                "{group:<14} {:>6} {:>13} {:>6} {:>6} {:>6}",
                row.cases, row.interactions, row.same, row.known, row.new
            );
        }
        text.push('\n');
        for (what, needed, found) in self.spread() {
            let _ = writeln!(text, "{what:<34} {found:>5} (at least {needed})");
        }
        text
    }

    /// What is covered: name, how many are needed, how many there are.
    pub fn spread(&self) -> [(&'static str, usize, usize); 6] {
        SPREAD.map(|(what, needed)| {
            let found = self.interactions().filter(|(_, one)| counts_as(one, what)).count();
            (what, needed, found)
        })
    }

    /// What is wrong with the run, a sentence each. The spread is only asked of a whole run.
    pub fn complaints(&self, whole: bool) -> Vec<String> {
        let mut complaints = Vec::new();
        for case in self.results {
            if let Some(why) = &case.broken {
                complaints.push(format!("{} is broken: {why}", case.name));
            }
        }
        for (case, interaction) in self.interactions() {
            let named = format!("{} {}", case.name, interaction.step);
            match (interaction.differences.is_empty(), self.reason(case, interaction)) {
                (false, None) => complaints.push(format!("{named} differs")),
                (true, Some(_)) => complaints
                    .push(format!("{named} no longer differs: remove it from differences.txt")),
                _ => {}
            }
        }
        if self.known.len() > LIMIT {
            complaints.push(format!(
                "differences.txt lists {} interactions, at most {LIMIT} are allowed",
                self.known.len()
            ));
        }
        if whole {
            for (what, needed, found) in self.spread() {
                if found < needed {
                    complaints.push(format!("{what}: {found} interactions, {needed} are needed"));
                }
            }
        }
        complaints
    }
}

fn counts_as(interaction: &Interaction, what: &str) -> bool {
    let group = interaction.group.as_str();
    match what {
        "server-side apply" => interaction.apply,
        "list and watch" => interaction.list_or_watch,
        "garbage collection and finalizers" => group == "deletion",
        "validation errors" => interaction.real.as_ref().is_some_and(|answer| answer.status == 422),
        "admission" => group == "admission",
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::conformance::answer::{Answer, Content};

    fn result(name: &str, differing: &[bool]) -> CaseResult {
        let interaction = |(index, differs): (usize, &bool)| Interaction {
            step: index + 1,
            asked: "GET /".to_owned(),
            group: name.split('/').next().unwrap().to_owned(),
            apply: false,
            list_or_watch: true,
            real: Some(Answer {
                status: 422,
                headers: Vec::new(),
                body: Content::Json(Value::Null),
            }),
            differences: if *differs { vec!["here".to_owned()] } else { Vec::new() },
        };
        CaseResult {
            name: name.to_owned(),
            digest: String::new(),
            interactions: differing.iter().enumerate().map(interaction).collect(),
            broken: None,
        }
    }

    #[test]
    fn only_a_known_difference_is_forgiven() {
        let results = [result("deletion/a", &[true, true, false])];
        let known = Known::parse("deletion/a 1 because").unwrap();
        let report = Report::new(&results, &known);
        assert_eq!(report.complaints(false), ["deletion/a 2 differs"]);
        assert!(report.render().contains("DIFFERS deletion/a 2: GET /\n    here\n"));
    }

    #[test]
    fn a_difference_that_is_gone_must_leave_the_list() {
        let results = [result("deletion/a", &[false])];
        let known = Known::parse("deletion/a 1 because").unwrap();
        assert_eq!(
            Report::new(&results, &known).complaints(false),
            ["deletion/a 1 no longer differs: remove it from differences.txt"]
        );
    }

    #[test]
    fn a_whole_run_must_cover_enough() {
        let results = [result("deletion/a", &[false; 250])];
        let known = Known::default();
        assert_eq!(
            Report::new(&results, &known).complaints(true),
            [
                "server-side apply: 0 interactions, 60 are needed",
                "admission: 0 interactions, 20 are needed"
            ]
        );
    }
}
