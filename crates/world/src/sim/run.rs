//! One run: a scenario on a fresh world, under a seed and a plan.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use kube::Client;

use super::faults::FaultPlan;
use super::gate::Gate;
use crate::scenario::{Operator, Scenario, Stage, Start};
use crate::world::{EPOCH, World};

/// A promise that was not kept, or a scenario that did not come to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Violation(pub String);

impl From<kube::Error> for Violation {
    fn from(error: kube::Error) -> Self {
        Self(format!("the scenario's own request failed: {error}"))
    }
}

/// What to run.
#[derive(Clone)]
pub struct Plan {
    /// Chooses order, luck and names.
    pub seed: u64,
    /// What goes wrong.
    pub faults: FaultPlan,
}

/// What came of a run.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// None if every promise was kept.
    pub violation: Option<Violation>,
    /// Requests that the operator made, over all its incarnations: where it could have died.
    pub requests: u64,
    /// How often it died.
    pub deaths: u64,
    /// Virtual time that passed.
    pub elapsed: Duration,
    /// Fingerprint of the trace.
    pub digest: String,
    /// The trace itself.
    pub trace: Vec<String>,
    /// What the scenario told, with times.
    pub told: Vec<crate::scenario::Told>,
    /// What the scenario wrote down about objects.
    pub notes: Vec<crate::notes::Note>,
}

/// Runs a scenario on a thread of its own, in virtual time.
pub fn simulate(scenario: &Scenario, operator: &Operator, plan: Plan) -> Outcome {
    let (scenario, operator) = (scenario.clone(), operator.clone());
    let run = std::thread::scope(|scope| {
        scope.spawn(move || on_thread(&scenario, &operator, plan)).join()
    });
    run.unwrap_or_else(|_| Outcome {
        violation: Some(Violation("the run panicked".into())),
        requests: 0,
        deaths: 0,
        elapsed: Duration::ZERO,
        digest: String::new(),
        trace: Vec::new(),
        told: Vec::new(),
        notes: Vec::new(),
    })
}

fn on_thread(scenario: &Scenario, operator: &Operator, plan: Plan) -> Outcome {
    // Libraries that draw their own jitter draw it from here.
    fastrand::seed(plan.seed);
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            return Outcome {
                violation: Some(Violation(format!("no runtime for the simulation: {error}"))),
                requests: 0,
                deaths: 0,
                elapsed: Duration::ZERO,
                digest: String::new(),
                trace: Vec::new(),
                told: Vec::new(),
                notes: Vec::new(),
            };
        }
    };
    runtime.block_on(play(scenario, operator, plan))
}

async fn play(scenario: &Scenario, operator: &Operator, plan: Plan) -> Outcome {
    let world = World::simulated(plan.seed, plan.faults);
    let stage = Stage::simulated(&world);
    let lives: Lives = Lives::default();
    let violation = {
        let machinery = world.turn();
        let actors = world.act((scenario.cast)(&stage));
        let supervisor = supervise(&world, operator, &lives);
        let script = AssertUnwindSafe((scenario.play)(stage.clone())).catch_unwind();
        tokio::select! {
            biased;
            ended = script => match ended {
                Ok(Ok(())) => None,
                Ok(Err(violation)) => Some(violation),
                Err(_) => Some(Violation("the scenario panicked".into())),
            },
            broken = supervisor => Some(broken),
            () = machinery => Some(Violation("the world's machinery ended".into())),
            () = actors => Some(Violation("the actors ended".into())),
            () = tokio::time::sleep(scenario.patience) => Some(Violation(format!(
                "not finished after {} virtual minutes",
                scenario.patience.as_secs() / 60
            ))),
        }
    };
    let lives = lives.lock().map(|lives| lives.clone()).unwrap_or_default();
    Outcome {
        violation,
        requests: lives.iter().map(|gate| gate.served()).sum(),
        deaths: lives.iter().filter(|gate| gate.is_dead()).count() as u64,
        elapsed: world.elapsed(),
        digest: world.trace().digest(),
        trace: world.trace().lines(),
        told: stage.told(),
        notes: stage.notes(),
    }
}

/// The incarnations of the operator, in order.
type Lives = std::sync::Mutex<Vec<Arc<Gate>>>;

/// Starts the operator, and again after each death. Returns only if it ends by itself or panics.
async fn supervise(world: &World, operator: &Operator, lives: &Lives) -> Violation {
    let plan = world.plan().clone();
    let mut crashes = plan.crashes.iter().copied();
    for incarnation in 1.. {
        let gate = Arc::new(Gate::new(crashes.next()));
        if let Ok(mut lives) = lives.lock() {
            lives.push(gate.clone());
        }
        let client: Client = world.operator_client(gate.clone());
        let start =
            Start { client, incarnation, epoch: EPOCH, began: world.start(), seed: incarnation };
        let running = AssertUnwindSafe(operator(start)).catch_unwind();
        let ended = tokio::select! {
            biased;
            () = gate.died() => None,
            ended = running => Some(ended),
        };
        match ended {
            None => {}
            // A process that gives up says why, and is started again, as a node would.
            Some(Ok(Err(why))) => {
                world.trace().add(world.elapsed(), "holdfast", &format!("exits: {why}"));
            }
            Some(Ok(Ok(()))) => return Violation("the operator ended by itself".into()),
            Some(Err(_)) => return Violation("the operator panicked".into()),
        }
        tokio::time::sleep(plan.restart).await;
    }
    Violation("the operator was never started".into())
}
