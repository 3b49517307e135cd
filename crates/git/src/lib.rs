//! A repository as an object database: read any revision without a checkout, build trees in memory,
//! commit, sign, push with compare-and-swap, and pull requests through the forges' own interfaces.
//!
//! The rest of Holdfast writes through [`engine::Engine`]. The core blocks, and no program is run; whatever
//! waits for a network does so in bounded time, on a thread of its own.
#![forbid(unsafe_code)]

pub mod auth;
pub mod bases;
pub mod commit;
pub mod engine;
pub mod error;
pub mod files;
pub mod find;
pub mod forge;
pub mod merge;
pub mod pack;
pub mod push;
pub mod revert;
pub mod sign;
pub mod store;
#[cfg(test)]
mod testing;
pub mod transport;
pub mod tree;
pub mod url;

pub use gix::ObjectId;
