//! `holdfast demo`.

use std::process::ExitCode;
use std::sync::Arc;

use holdfast_world::scenario::{Scenario, Stage, Start, Told};
use holdfast_world::scenarios;
use holdfast_world::sim::{FaultPlan, Gate, Plan, simulate};
use holdfast_world::world::World;
use serde_json::json;

use super::output::{Format, Output};
use super::{Outcome, print, say, world};
use crate::simulated::operator;

/// How the demo is shown.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The demo starts a simulated cluster in this process, runs the operator in it and tells what happens.

  holdfast demo
  holdfast demo --once
  holdfast demo --once --seed 7 --json"
)]
pub struct Args {
    /// End when the story ends, instead of serving the cluster until Ctrl-C.
    #[arg(long)]
    once: bool,

    /// Chooses the order of events, uids and names.
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    seed: u64,

    /// The story to tell; see `holdfast simulate --list`.
    #[arg(long, default_value = "follow-the-source", value_name = "NAME")]
    scenario: String,

    /// The port on which the cluster is served afterwards; any free one if 0.
    #[arg(long, default_value_t = 0, value_name = "PORT")]
    port: u16,

    #[command(flatten)]
    output: Output,
}

impl Args {
    /// Tells the story; 1 if it did not end well.
    pub fn run(self) -> Outcome {
        let all = scenarios::all();
        let Some(scenario) = all.iter().find(|one| one.name == self.scenario) else {
            let names: Vec<&str> = all.iter().map(|one| one.name).collect();
            return Err(format!(
                "there is no story {:?}: write one of {}",
                self.scenario,
                names.join(", ")
            )
            .into());
        };
        if self.once { self.tell(scenario) } else { self.stay(scenario) }
    }

    /// In virtual time: at once, and the same for the same seed.
    fn tell(&self, scenario: &Scenario) -> Outcome {
        let plan = Plan { seed: self.seed, faults: FaultPlan::none() };
        let run = simulate(scenario, &operator(), plan);
        let format = self.output.format();
        for told in &run.told {
            print(&line(told, format))?;
        }
        let broken = run.violation.as_ref().map(ToString::to_string);
        self.end(scenario, broken, run.elapsed.as_millis())
    }

    fn end(&self, scenario: &Scenario, broken: Option<String>, at: u128) -> Outcome {
        match self.output.format() {
            Format::Json => {
                let ended = json!({
                    "at": at, "who": "demo", "scenario": scenario.name,
                    "outcome": if broken.is_none() { "kept" } else { "broken" }, "violation": broken,
                });
                print(&format!("{ended}\n"))?;
            }
            Format::Human => match &broken {
                None => print(&format!("\n{}: every promise kept.\n", scenario.name))?,
                Some(why) => print(&format!("\n{}: a promise was broken: {why}\n", scenario.name))?,
            },
        }
        Ok(if broken.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// In real time, and then the cluster stays for whoever wants to look at it.
    fn stay(&self, scenario: &Scenario) -> Outcome {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let epoch = super::wall_clock();
            let world = World::live(self.seed, epoch);
            let format = self.output.format();
            let stage = Stage::simulated(&world).heard_by(move |told| {
                // A reader that went away is noticed at the end.
                drop(print(&line(told, format)));
            });
            let start = Start {
                client: world.operator_client(Arc::new(Gate::default())),
                incarnation: 1,
                epoch,
                began: world.start(),
                seed: self.seed,
            };
            let running = operator()(start);
            tokio::pin!(running);
            let story = async {
                let told = (scenario.play)(stage.clone()).await;
                let broken = told.err().map(|violation| violation.to_string());
                self.end(scenario, broken, world.elapsed().as_millis())
            };
            let outcome = tokio::select! {
                biased;
                outcome = story => outcome,
                ended = &mut running => Err(format!("the operator ended: {ended:?}").into()),
                () = world.turn() => Ok(ExitCode::FAILURE),
                () = world.act((scenario.cast)(&stage)) => Ok(ExitCode::FAILURE),
                _ = tokio::signal::ctrl_c() => return Ok(ExitCode::FAILURE),
            }?;
            if outcome != ExitCode::SUCCESS {
                return Ok(outcome);
            }
            say("the cluster stays until Ctrl-C");
            tokio::select! {
                biased;
                served = world::serve(&world, self.port, None, false) => served,
                ended = &mut running => Err(format!("the operator ended: {ended:?}").into()),
            }
        })
    }
}

fn line(told: &Told, format: Format) -> String {
    match format {
        Format::Json => format!("{}\n", json!(told)),
        Format::Human => {
            let (seconds, millis) = (told.at / 1000, told.at % 1000);
            format!("{:>5}.{millis:03}  {:<10} {}\n", seconds, told.who, told.what)
        }
    }
}
