//! Rendering many things at once, and again: on all cores, and only what a change can reach.

mod folders;
mod json;
mod reach;
mod spread;

pub use folders::{Folders, Rendered};
pub use json::to_json;
pub use reach::{Reach, Recorder};
pub use spread::{spread, threads};
