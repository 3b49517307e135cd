//! The gate of one operator incarnation: it counts requests and closes for ever when the process "dies".

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::Notify;

use super::faults::{Crash, When};

/// One incarnation of the operator, as the world sees it.
#[derive(Debug, Default)]
pub struct Gate {
    crash: Option<Crash>,
    served: AtomicU64,
    dead: AtomicBool,
    killed: Notify,
}

impl Gate {
    /// An incarnation that dies where the plan says, or not at all.
    pub fn new(crash: Option<Crash>) -> Self {
        Self { crash, ..Self::default() }
    }

    /// Requests served so far.
    pub fn served(&self) -> u64 {
        self.served.load(Ordering::Relaxed)
    }

    /// Counts a request and says whether the process dies before it takes effect.
    pub fn enter(&self) -> u64 {
        self.served.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Whether request number `request` is where the process dies.
    pub fn dies(&self, request: u64, when: When) -> bool {
        self.crash.is_some_and(|crash| crash.request == request && crash.when == when)
    }

    /// Ends the incarnation: nothing of it reaches the cluster from now on.
    pub fn kill(&self) {
        self.dead.store(true, Ordering::Relaxed);
        self.killed.notify_waiters();
        self.killed.notify_one();
    }

    /// Whether it is over.
    pub fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Relaxed)
    }

    /// Returns when it is over.
    pub async fn died(&self) {
        while !self.is_dead() {
            self.killed.notified().await;
        }
    }
}
