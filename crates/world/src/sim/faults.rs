//! What goes wrong, chosen by the seed.

use std::time::Duration;

use serde::Serialize;

use super::random::Random;
use crate::actors::git::PushFault;

/// When the process dies, seen from a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// The request never arrives.
    Before,
    /// The request takes effect, the answer never arrives.
    After,
}

/// A death at one request of one incarnation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Crash {
    /// Counted from 1.
    pub request: u64,
    /// On which side of its effect.
    pub when: When,
}

/// What may happen to one request that is not a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// 409 as if someone else had been faster.
    Conflict,
    /// 500 before any effect.
    ServerError,
    /// The connection breaks after the effect.
    LostAnswer,
    /// The connection breaks before any effect.
    Unreachable,
    /// The watch ends at once.
    WatchDropped,
}

/// How often what goes wrong, in parts per thousand, and where the operator dies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultPlan {
    /// Deaths, one per incarnation, in order; afterwards it lives on.
    pub crashes: Vec<Crash>,
    /// 409s on writes.
    pub conflicts: u64,
    /// 500s on anything.
    pub errors: u64,
    /// Broken connections after the effect, on writes.
    pub lost_answers: u64,
    /// Broken connections before the effect.
    pub unreachable: u64,
    /// Watches that end at once.
    pub watch_drops: u64,
    /// The longest time by which a watch may lag behind.
    pub lag: Duration,
    /// The longest time an answer takes.
    pub latency: Duration,
    /// Pushes refused as if someone else had been faster.
    pub push_rejected: u64,
    /// Pushes whose acceptance is not heard of.
    pub push_lost: u64,
    /// The longest an actor dawdles before it reacts.
    pub slow_actors: Duration,
    /// The longest time until a dead operator starts again.
    pub restart: Duration,
}

impl FaultPlan {
    /// Nothing goes wrong.
    pub const fn none() -> Self {
        Self {
            crashes: Vec::new(),
            conflicts: 0,
            errors: 0,
            lost_answers: 0,
            unreachable: 0,
            watch_drops: 0,
            lag: Duration::ZERO,
            latency: Duration::ZERO,
            push_rejected: 0,
            push_lost: 0,
            slow_actors: Duration::ZERO,
            restart: Duration::from_secs(5),
        }
    }

    /// Nothing goes wrong but one death.
    pub fn crash_at(request: u64, when: When) -> Self {
        Self { crashes: vec![Crash { request, when }], ..Self::none() }
    }

    /// A bad day, chosen by the seed. `requests` is how many a quiet run makes, to place deaths among them.
    pub fn from_seed(seed: u64, requests: u64) -> Self {
        let mut random = Random::new(seed, "plan");
        let mut some = |odds: u64, most: u64| {
            let hit = random.below(odds) == 0;
            let amount = random.below(most) + 1;
            if hit { amount } else { 0 }
        };
        let (conflicts, errors, lost_answers) = (some(2, 80), some(2, 60), some(2, 60));
        let (unreachable, watch_drops) = (some(3, 60), some(2, 150));
        let (push_rejected, push_lost) = (some(2, 300), some(2, 300));
        let lag = Duration::from_millis(some(2, 8000));
        let latency = Duration::from_millis(some(2, 400));
        let slow_actors = Duration::from_millis(some(2, 30_000));
        let deaths = random.below(4);
        let crashes = (0..deaths)
            .map(|_| Crash {
                request: random.below(requests.max(1)) + 1,
                when: if random.below(2) == 0 { When::Before } else { When::After },
            })
            .collect();
        let restart = Duration::from_secs(random.below(20) + 1);
        Self {
            crashes,
            conflicts,
            errors,
            lost_answers,
            unreachable,
            watch_drops,
            lag,
            latency,
            push_rejected,
            push_lost,
            slow_actors,
            restart,
        }
    }

    /// What happens to a push of the operator.
    pub fn strike_push(&self, random: &mut Random) -> Option<PushFault> {
        let rejected = random.per_mille(self.push_rejected);
        let lost = random.per_mille(self.push_lost);
        if rejected { Some(PushFault::Rejected) } else { lost.then_some(PushFault::Lost) }
    }

    /// What happens to a request of the operator; drawn when it is served.
    pub fn strike(&self, random: &mut Random, write: bool, watch: bool) -> Option<Fault> {
        if watch {
            return random.per_mille(self.watch_drops).then_some(Fault::WatchDropped);
        }
        // Always the same number of draws, so that one probability does not shift another's luck.
        let hits = [
            (random.per_mille(self.conflicts) && write, Fault::Conflict),
            (random.per_mille(self.errors), Fault::ServerError),
            (random.per_mille(self.lost_answers) && write, Fault::LostAnswer),
            (random.per_mille(self.unreachable), Fault::Unreachable),
        ];
        hits.into_iter().find(|(hit, _)| *hit).map(|(_, fault)| fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_means_the_same_bad_day() {
        assert_eq!(FaultPlan::from_seed(9, 100), FaultPlan::from_seed(9, 100));
        let plans: Vec<FaultPlan> = (0..50).map(|seed| FaultPlan::from_seed(seed, 100)).collect();
        assert!(plans.iter().any(|plan| plan.crashes.len() > 1));
        assert!(plans.iter().any(|plan| plan.conflicts == 0));
        assert!(plans.iter().flat_map(|p| &p.crashes).all(|c| (1..=100).contains(&c.request)));
    }

    #[test]
    fn reads_do_not_conflict() {
        let plan = FaultPlan { conflicts: 1000, lost_answers: 1000, ..FaultPlan::none() };
        let mut random = Random::new(1, "faults");
        assert_eq!(plan.strike(&mut random, false, false), None);
        assert_eq!(plan.strike(&mut random, true, false), Some(Fault::Conflict));
    }
}
