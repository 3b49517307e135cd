//! The manifest engine beside what it must agree with: folders of cases, generated inputs, and
//! upstream's own packages as the oracle. Only developers run it.
#![forbid(unsafe_code)]

pub mod cases;
pub mod difference;
pub mod differential;
pub mod engine;
pub mod fuzz;
pub mod generate;
pub mod repository;
pub mod upstream;
