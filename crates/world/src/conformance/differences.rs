//! The one list of interactions on which the simulated server is known to answer differently.
//!
//! A line is `case step reason`: the case's name, the number of the compared interaction in it (from
//! one), and why. There is no wildcard, and a line whose interaction no longer differs fails the run.

use std::collections::BTreeMap;

use super::case::Case;

/// The list as it is in the repository.
pub const LIST: &str = include_str!("differences.txt");

/// How many the list may hold.
pub const LIMIT: usize = 14;

/// The known differences: case and step to reason.
#[derive(Debug, Default)]
pub struct Known(BTreeMap<(String, usize), String>);

impl Known {
    /// Reads the list; the error says what is wrong with which line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut known = BTreeMap::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let mut words = line.splitn(3, char::is_whitespace);
            let (Some(case), Some(step), Some(reason)) = (words.next(), words.next(), words.next())
            else {
                return Err(format!("line {}: write `case step reason`", index + 1));
            };
            let Ok(step) = step.parse::<usize>() else {
                return Err(format!("line {}: `{step}` is not the number of a step", index + 1));
            };
            let key = (case.to_owned(), step);
            if known.insert(key, reason.trim().to_owned()).is_some() {
                return Err(format!("line {}: {case} {step} is listed twice", index + 1));
            }
        }
        Ok(Self(known))
    }

    /// Why this interaction differs, if that is known.
    pub fn reason(&self, case: &str, step: usize) -> Option<&str> {
        self.0.get(&(case.to_owned(), step)).map(String::as_str)
    }

    /// How many are listed.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none is listed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Entries of cases or steps that do not exist.
    pub fn strangers(&self, cases: &[Case]) -> Vec<String> {
        self.0
            .keys()
            .filter(|(name, step)| {
                !cases
                    .iter()
                    .any(|case| case.name == *name && (1..=case.interactions()).contains(step))
            })
            .map(|(name, step)| format!("{name} {step}"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::case::get;

    #[test]
    fn a_line_names_one_interaction_and_why() {
        let known = Known::parse("# why\n\napply/a 2 the order is random\n").unwrap();
        assert_eq!(known.reason("apply/a", 2), Some("the order is random"));
        assert_eq!(known.reason("apply/a", 1), None);
    }

    #[test]
    fn wildcards_missing_reasons_and_doubles_are_refused() {
        assert_eq!(
            Known::parse("apply/a * all").unwrap_err(),
            "line 1: `*` is not the number of a step"
        );
        assert_eq!(Known::parse("apply/a 1").unwrap_err(), "line 1: write `case step reason`");
        assert_eq!(Known::parse("a/b 1 x\na/b 1 y").unwrap_err(), "line 2: a/b 1 is listed twice");
    }

    #[test]
    fn an_entry_must_name_a_step_that_exists() {
        let cases = [Case::new("a/b").given(get("/")).compare(get("/"))];
        let known = Known::parse("a/b 1 x\na/b 2 y\nc/d 1 z").unwrap();
        assert_eq!(known.strangers(&cases), ["a/b 2", "c/d 1"]);
    }
}
