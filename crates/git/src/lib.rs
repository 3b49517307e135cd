//! A repository as an object database: read any revision without a checkout, build trees in memory,
//! commit, sign, push with compare-and-swap, and pull requests through the forges' own interfaces.
#![forbid(unsafe_code)]

pub mod forge;
