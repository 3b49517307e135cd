//! The same requests to the real API server and to the simulated one, and every difference named.
//!
//! A file per area holds [`Case`]s; [`run`] sends them to both servers, [`normalize`] takes out what may
//! differ, [`differences`] holds the one list of what is known to differ, [`report`] judges, and
//! [`recorded`] keeps the real server's answers for tests that have none.

pub mod admission;
pub mod answer;
pub mod apply;
mod apply_custom;
pub mod case;
pub mod crd;
mod crd_objects;
pub mod decode;
pub mod deletion;
pub mod diff;
pub mod differences;
pub mod discovery;
mod edges;
pub mod hook;
pub mod kinds;
pub mod lists;
pub mod metadata;
pub mod normalize;
pub mod patch;
pub mod rbac;
pub mod recorded;
pub mod report;
pub mod run;
pub mod selectors;
mod side;
pub mod simulated;
pub mod tables;
pub mod updates;
pub mod verbs;
pub mod watches;
pub mod webhooks;
pub mod workloads;

pub use answer::{Answer, Content, Target};
pub use case::{Case, Request};
pub use differences::Known;
pub use recorded::Recording;
pub use report::Report;
pub use simulated::Simulated;

/// Every case, in the order of its area's file.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    cases.extend(verbs::cases());
    cases.extend(lists::cases());
    cases.extend(watches::cases());
    cases.extend(deletion::cases());
    cases.extend(discovery::cases());
    cases.extend(tables::cases());
    cases.extend(decode::cases());
    cases.extend(patch::cases());
    cases.extend(selectors::cases());
    cases.extend(kinds::cases());
    cases.extend(metadata::cases());
    cases.extend(updates::cases());
    cases.extend(apply::cases());
    cases.extend(admission::cases());
    cases.extend(webhooks::cases());
    cases.extend(rbac::cases());
    cases.extend(workloads::cases());
    cases.extend(crd::cases());
    cases.extend(edges::cases());
    cases
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_have_a_group() {
        let cases = cases();
        let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names.len(), cases.len(), "two cases have the same name");
        for case in &cases {
            assert!(case.name.contains('/'), "{} has no group", case.name);
            assert!(case.interactions() > 0, "{} compares nothing", case.name);
        }
    }

    #[test]
    fn the_list_of_differences_is_sound_and_short() {
        let known = Known::parse(differences::LIST).unwrap();
        assert_eq!(known.strangers(&cases()), Vec::<String>::new());
        assert!(known.len() <= differences::LIMIT, "{} differences are listed", known.len());
    }
}
