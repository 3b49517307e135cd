//! Commands that are run one after the other, with the time each took.

use std::fmt::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

/// What was done, how long it took, and what came of it.
#[derive(Default)]
pub struct Steps {
    done: Vec<Done>,
}

struct Done {
    name: String,
    took: Duration,
    outcome: Result<(), String>,
}

#[expect(clippy::disallowed_methods, reason = "a developer waits in real time")]
fn now() -> Instant {
    Instant::now()
}

impl Steps {
    /// Does one step; a failure is kept, so that one run shows everything that is wrong.
    pub fn take(&mut self, name: &str, step: impl FnOnce() -> Result<(), String>) -> bool {
        println!("\n== {name}");
        let started = now();
        let outcome = step();
        if let Err(error) = &outcome {
            eprintln!("error: {error}");
        }
        let succeeded = outcome.is_ok();
        self.done.push(Done { name: name.to_owned(), took: started.elapsed(), outcome });
        succeeded
    }

    /// Notes a step that could not be taken.
    pub fn skip(&mut self, name: &str, why: &str) {
        println!("\n== {name}\nnot run: {why}");
        let outcome = Err(format!("not run: {why}"));
        self.done.push(Done { name: name.to_owned(), took: Duration::ZERO, outcome });
    }

    /// Prints the table; fails with a sentence if a step did.
    pub fn finish(self) -> Result<(), String> {
        println!("\n{}", self.table());
        let failed: Vec<&str> = self
            .done
            .iter()
            .filter(|step| step.outcome.is_err())
            .map(|step| step.name.as_str())
            .collect();
        if failed.is_empty() {
            println!("everything passed");
            return Ok(());
        }
        Err(format!("failed: {}", failed.join(", ")))
    }

    fn table(&self) -> String {
        let mut table = String::new();
        for step in &self.done {
            let verdict = if step.outcome.is_ok() { "ok" } else { "FAILED" };
            let _ =
                writeln!(table, "{:<34} {:>7.1} s  {verdict}", step.name, step.took.as_secs_f32());
        }
        let total: Duration = self.done.iter().map(|step| step.took).sum();
        let _ = write!(table, "{:<34} {:>7.1} s", "all", total.as_secs_f32());
        table
    }
}

/// Runs a program that speaks to the terminal; an error names it.
pub fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    run_with(program, arguments, &[])
}

/// As [`run`], with variables in its environment.
pub fn run_with(
    program: &str,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> Result<(), String> {
    let line = format!("{program} {}", arguments.join(" "));
    println!("$ {line}");
    let status = Command::new(program)
        .args(arguments)
        .envs(variables.iter().copied())
        .status()
        .map_err(|error| format!("{program}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{line}` failed ({status})")) }
}

/// Runs cargo, the one that runs us.
pub fn cargo(arguments: &[&str]) -> Result<(), String> {
    run(&cargo_program(), arguments)
}

/// The cargo that runs us.
pub fn cargo_program() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// Whether a program can be run.
pub fn has(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_step_fails_the_whole_and_the_others_still_run() {
        let mut steps = Steps::default();
        assert!(!steps.take("one", || Err("broken".to_owned())));
        assert!(steps.take("two", || Ok(())));
        steps.skip("three", "no Go");
        assert_eq!(steps.table().lines().count(), 4);
        assert_eq!(steps.finish(), Err("failed: one, three".to_owned()));
    }

    #[test]
    fn a_program_that_fails_is_named() {
        assert_eq!(run("false", &[]), Err("`false ` failed (exit status: 1)".to_owned()));
        assert!(
            run("no-such-program", &[]).is_err_and(|error| error.starts_with("no-such-program: "))
        );
    }
}
