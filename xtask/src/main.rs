//! What a developer of Holdfast runs beside `cargo test`.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a command's results go to standard output")]

mod bench;
mod check;
mod conformance;
mod generate;
mod manifests;
mod rooms;
mod step;
mod test;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Tasks of Holdfast's developers.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run everything: format, lints, unit, simulation, conformance, real cluster. Installs and builds
    /// what it needs.
    Test(test::Arguments),
    /// Format, lints, documentation, and licences and sources of dependencies.
    Check(check::Arguments),
    /// Send the same requests to the real and to the simulated API server and compare the answers.
    Conformance(conformance::Arguments),
    /// Run folders of kustomizations with the results that upstream gives.
    Cases(manifests::Cases),
    /// Generated kustomizations through the manifest engine and through upstream's packages.
    Differential(manifests::Differential),
    /// Measure, and write the figures into BENCHMARKS.md.
    Bench(bench::Arguments),
    /// Write the generated files, or check that they are up to date.
    Gen(generate::Arguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().task {
        Task::Test(arguments) => test::run(&arguments),
        Task::Check(arguments) => check::run_all(&arguments),
        Task::Conformance(arguments) => conformance::run(&arguments),
        Task::Cases(arguments) => manifests::cases(&arguments),
        Task::Differential(arguments) => manifests::differential(&arguments),
        Task::Bench(arguments) => bench::run(&arguments),
        Task::Gen(arguments) => generate::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a future on a runtime of its own.
fn block_on<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime.map_err(|error| error.to_string())?.block_on(future))
}
