//! What every controller does with a cluster: time, leadership, tasks, server-side apply, status,
//! events, metrics, and the operator itself. Nothing here reads the wall clock or spawns a task that
//! outlives the operator, so that the same code runs in a simulation.
#![forbid(unsafe_code)]

pub mod apply;
pub mod call;
pub mod clock;
pub mod context;
pub mod destination;
pub mod events;
pub mod lease;
pub mod metrics;
pub mod operator;
pub mod readiness;
pub mod status;
pub mod tasks;
pub mod watch;

#[cfg(test)]
mod testing;
