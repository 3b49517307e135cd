//! The ground on which Holdfast is shown to keep its promises: a simulated cluster, and the real one
//! that keeps the simulation honest.
#![forbid(unsafe_code)]

pub mod conformance;
