//! The simulation: one thread, paused time, one seed.
//!
//! Whatever touches the cluster from outside the server waits for its turn at the [`barrier`]: everything
//! that could happen at one instant is gathered, sorted and then shuffled by the seed. So the order of a
//! run depends on the seed alone, and not on the iteration order of some hash map inside a library.

pub mod barrier;
pub mod door;
pub mod faults;
pub mod gate;
pub mod random;
pub mod run;
pub mod trace;

pub use barrier::Barrier;
pub use door::{Door, Lag};
pub use faults::{Crash, Fault, FaultPlan, When};
pub use gate::Gate;
pub use random::Random;
pub use run::{Outcome, Plan, Violation, simulate};
pub use trace::Trace;
