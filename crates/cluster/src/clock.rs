//! Time, passed in. Whoever needs to know it or to wait takes a [`Clock`], so that a simulation can
//! let hours pass in milliseconds.

use std::fmt::Debug;
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};

/// Knows the time and how to wait.
pub trait Clock: Debug + Send + Sync {
    /// The present time.
    fn now(&self) -> Timestamp;

    /// Waits. Dropping the future ends the wait.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// A clock that starts at a given time and goes on with tokio's, also when that is paused and
/// jumps.
#[derive(Clone, Copy, Debug)]
pub struct VirtualClock {
    start: Timestamp,
    origin: tokio::time::Instant,
}

impl VirtualClock {
    /// A clock that shows `start` now. Call it inside the runtime whose time it follows.
    pub fn starting_at(start: Timestamp) -> Self {
        Self { start, origin: tokio::time::Instant::now() }
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        let elapsed = i64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(i64::MAX);
        self.start.checked_add(jiff::SignedDuration::from_nanos(elapsed)).unwrap_or(Timestamp::MAX)
    }
}

/// The time as objects carry it: whole seconds.
pub fn time(at: Timestamp) -> Time {
    Time(Timestamp::from_second(at.as_second()).unwrap_or(at))
}

/// The time as leases and events carry it: whole microseconds.
pub fn micro_time(at: Timestamp) -> MicroTime {
    MicroTime(Timestamp::from_microsecond(at.as_microsecond()).unwrap_or(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_virtual_clock_follows_paused_time() {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let clock = VirtualClock::starting_at(start);
        clock.sleep(Duration::from_hours(1)).await;
        assert_eq!(clock.now().to_string(), "2026-01-01T01:00:00Z");
    }

    #[test]
    fn objects_carry_rounded_times() {
        let at: Timestamp = "2026-01-01T00:00:00.123456789Z".parse().unwrap();
        assert_eq!(serde_json::to_value(time(at)).unwrap(), "2026-01-01T00:00:00Z");
        assert_eq!(serde_json::to_value(micro_time(at)).unwrap(), "2026-01-01T00:00:00.123456Z");
        let whole: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(
            serde_json::to_value(micro_time(whole)).unwrap(),
            "2026-01-01T00:00:00.000000Z",
            "the API server refuses a lease time without its fraction"
        );
    }
}
