//! What Flux could not apply, said before the commit.
//!
//! Verdicts come from one place: [`judge`] gives both versions of an object to the API server in this
//! process, as Flux would, and asks what it says. The rules only explain the answer and name the way out.
//! [`side`] is what a revision applies, [`check`] compares two of them, [`report`] prints what was found.
#![forbid(unsafe_code)]

pub mod entry;
pub mod finding;
pub mod judge;
pub mod report;
mod rules;
pub mod side;

pub use finding::{Finding, Report, Severity};
pub use rules::check;
pub use side::{Object, Side};

#[cfg(test)]
mod tests;
