//! `holdfast simulate`.

use std::ops::RangeInclusive;
use std::process::ExitCode;

use holdfast_world::scenario::Scenario;
use holdfast_world::scenarios;
use holdfast_world::sim::{FaultPlan, Outcome as Run, Plan, When, simulate};
use serde_json::{Value, json};

use super::output::{Format, Output};
use super::{Outcome, print};
use crate::simulated::operator;

/// Which stories, under which seeds.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Each seed chooses an order of events and a set of faults: deaths of the operator, conflicts,
errors, lost answers, dropped and late watches, slow actors. A seed that fails fails again:

  holdfast simulate --seeds 1..1000
  holdfast simulate --capability upgrade --seeds 1..100 --json
  holdfast simulate --scenario follow-the-source --seeds 17 --trace
  holdfast simulate --scenario follow-the-source --crash-everywhere"
)]
pub struct Args {
    /// Only stories of this capability: upgrade, protect, guard, record, kernel, world.
    #[arg(long, value_name = "NAME")]
    capability: Option<String>,

    /// Only this story.
    #[arg(long, value_name = "NAME")]
    scenario: Option<String>,

    /// Seeds, both ends included: `1..1000`, or one: `17`.
    #[arg(long, value_parser = seeds, default_value = "1..100", value_name = "RANGE")]
    seeds: RangeInclusive<u64>,

    /// Also kill the operator before and after every single request of a quiet run.
    #[arg(long)]
    crash_everywhere: bool,

    /// Print the requests of every run that failed, or of the only run.
    #[arg(long)]
    trace: bool,

    /// List the stories and end.
    #[arg(long)]
    list: bool,

    #[command(flatten)]
    output: Output,
}

fn seeds(text: &str) -> Result<RangeInclusive<u64>, String> {
    let wrong =
        || format!("{text:?} is no range of seeds: write a number, or first..last such as 1..1000");
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
    let range = match text.split_once("..") {
        Some((first, last)) => number(first)?..=number(last.trim_start_matches('='))?,
        None => number(text)?..=number(text)?,
    };
    if range.is_empty() { Err(wrong()) } else { Ok(range) }
}

/// What one story came to.
struct Tally {
    scenario: Scenario,
    points: u64,
    runs: u64,
    deaths: u64,
    failures: Vec<Failure>,
}

struct Failure {
    seed: u64,
    crash: Option<(u64, When)>,
    run: Run,
}

impl Args {
    /// Plays every chosen story under every seed; 1 if a promise was broken.
    pub fn run(self) -> Outcome {
        let chosen = self.choose()?;
        if self.list {
            return self.show_list(&chosen);
        }
        let mut tallies = Vec::new();
        for scenario in chosen {
            tallies.push(self.play(scenario));
        }
        let broken = tallies.iter().any(|tally| !tally.failures.is_empty());
        match self.output.format() {
            Format::Json => print(&format!("{}\n", report(&tallies)))?,
            Format::Human => self.show(&tallies)?,
        }
        Ok(if broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    fn choose(&self) -> Result<Vec<Scenario>, String> {
        let all = scenarios::all();
        let chosen: Vec<Scenario> = all
            .iter()
            .filter(|one| self.capability.as_ref().is_none_or(|name| one.capability == name))
            .filter(|one| self.scenario.as_ref().is_none_or(|name| one.name == name))
            .cloned()
            .collect();
        if chosen.is_empty() {
            let names: Vec<String> =
                all.iter().map(|one| format!("{} ({})", one.name, one.capability)).collect();
            return Err(format!("no story matches; there are: {}", names.join(", ")));
        }
        Ok(chosen)
    }

    fn show_list(&self, chosen: &[Scenario]) -> Outcome {
        let text: String = match self.output.format() {
            Format::Json => {
                let list: Vec<Value> = chosen
                    .iter()
                    .map(|one| json!({"name": one.name, "capability": one.capability, "about": one.about}))
                    .collect();
                format!("{}\n", json!({ "scenarios": list }))
            }
            Format::Human => chosen
                .iter()
                .map(|one| format!("{:<20} {:<10} {}\n", one.name, one.capability, one.about))
                .collect(),
        };
        print(&text)?;
        Ok(ExitCode::SUCCESS)
    }

    fn play(&self, scenario: Scenario) -> Tally {
        let operator = operator();
        let first = *self.seeds.start();
        let quiet = simulate(&scenario, &operator, Plan { seed: first, faults: FaultPlan::none() });
        let points = quiet.requests;
        let mut tally = Tally { scenario, points, runs: 0, deaths: 0, failures: Vec::new() };
        tally.count(first, None, quiet);
        if self.crash_everywhere {
            for request in 1..=points {
                for when in [When::Before, When::After] {
                    let faults = FaultPlan::crash_at(request, when);
                    let run = simulate(&tally.scenario, &operator, Plan { seed: first, faults });
                    tally.count(first, Some((request, when)), run);
                }
            }
        }
        for seed in self.seeds.clone() {
            let faults = FaultPlan::from_seed(seed, points);
            let run = simulate(&tally.scenario, &operator, Plan { seed, faults });
            tally.count(seed, None, run);
        }
        tally
    }

    fn show(&self, tallies: &[Tally]) -> Result<(), std::io::Error> {
        let mut text = format!(
            "{:<20} {:<10} {:>16} {:>8} {:>8} {:>11}\n",
            "scenario", "capability", "injection points", "runs", "deaths", "violations"
        );
        for tally in tallies {
            text += &format!(
                "{:<20} {:<10} {:>16} {:>8} {:>8} {:>11}\n",
                tally.scenario.name,
                tally.scenario.capability,
                tally.points,
                tally.runs,
                tally.deaths,
                tally.failures.len()
            );
        }
        for tally in tallies {
            for failure in tally.failures.iter().take(5) {
                let what =
                    failure.run.violation.as_ref().map(ToString::to_string).unwrap_or_default();
                let place = failure.crash.map_or_else(String::new, |(request, when)| {
                    format!(
                        ", killed {} request {request}",
                        if when == When::Before { "before" } else { "after" }
                    )
                });
                text +=
                    &format!("\n{}, seed {}{place}: {what}\n", tally.scenario.name, failure.seed);
                if self.trace {
                    for line in &failure.run.trace {
                        text += &format!("  {line}\n");
                    }
                } else {
                    text += &format!(
                        "  replay: holdfast simulate --scenario {} --seeds {} --trace{}\n",
                        tally.scenario.name,
                        failure.seed,
                        if failure.crash.is_some() { " --crash-everywhere" } else { "" }
                    );
                }
            }
        }
        print(&text)
    }
}

impl Tally {
    fn count(&mut self, seed: u64, crash: Option<(u64, When)>, run: Run) {
        self.runs += 1;
        self.deaths += run.deaths;
        if run.violation.is_some() {
            self.failures.push(Failure { seed, crash, run });
        }
    }
}

fn report(tallies: &[Tally]) -> Value {
    let scenarios: Vec<Value> = tallies
        .iter()
        .map(|tally| {
            let failures: Vec<Value> = tally
                .failures
                .iter()
                .map(|failure| {
                    json!({
                        "seed": failure.seed,
                        "crash": failure.crash.map(|(request, when)| json!({"request": request, "when": when})),
                        "violation": failure.run.violation.as_ref().map(ToString::to_string),
                        "digest": failure.run.digest,
                    })
                })
                .collect();
            json!({
                "name": tally.scenario.name, "capability": tally.scenario.capability,
                "injectionPoints": tally.points, "runs": tally.runs, "deaths": tally.deaths,
                "violations": tally.failures.len(), "failures": failures,
            })
        })
        .collect();
    json!({
        "scenarios": scenarios,
        "runs": tallies.iter().map(|tally| tally.runs).sum::<u64>(),
        "violations": tallies.iter().map(|tally| tally.failures.len()).sum::<usize>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_include_both_ends() {
        assert_eq!(seeds("1..3").unwrap().collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(seeds("7").unwrap().collect::<Vec<_>>(), [7]);
        assert!(seeds("5..1").unwrap_err().contains("first..last"));
        assert!(seeds("many").is_err());
    }

    #[test]
    fn the_operator_follows_the_source_under_any_seed_and_repeats_itself() {
        let scenario = scenarios::all().remove(0);
        let operator = operator();
        let quiet = simulate(&scenario, &operator, Plan { seed: 1, faults: FaultPlan::none() });
        assert_eq!(quiet.violation, None, "{:#?}", quiet.trace);
        assert_eq!(quiet.told.len(), 10, "the whole story was told");
        assert!(quiet.requests > 20, "the operator worked: {} requests", quiet.requests);
        for seed in 1..=20 {
            let plan = || Plan { seed, faults: FaultPlan::from_seed(seed, quiet.requests) };
            let run = simulate(&scenario, &operator, plan());
            assert_eq!(run.violation, None, "seed {seed}: {:#?}", run.trace);
            if seed % 5 == 0 {
                assert_eq!(run.digest, simulate(&scenario, &operator, plan()).digest);
            }
        }
    }

    #[test]
    fn the_operator_survives_a_death_at_any_request() {
        let scenario = scenarios::all().remove(0);
        let operator = operator();
        let quiet = simulate(&scenario, &operator, Plan { seed: 1, faults: FaultPlan::none() });
        assert!(quiet.requests > 20, "{} requests", quiet.requests);
        // Every third here, on alternating sides; the whole sweep is part of `cargo xtask test`.
        for request in (1..=quiet.requests).step_by(3) {
            let when = if request % 2 == 0 { When::Before } else { When::After };
            let plan = Plan { seed: 1, faults: FaultPlan::crash_at(request, when) };
            let run = simulate(&scenario, &operator, plan);
            assert_eq!(run.violation, None, "{when:?} {request}: {:#?}", run.trace);
            assert_eq!(run.deaths, 1, "{when:?} {request} was never reached");
        }
    }
}
