//! A git host in memory: objects, refs that change by compare-and-swap, smart HTTP for stock clients.

mod host;
mod http;
mod objects;
mod pack;
mod remote;
mod wire;

pub use host::{Change, GitError, GitHost, PushFault, Signature};
pub use http::{answer, serve};
pub use objects::{Id, Kind};
pub use remote::Remote;
