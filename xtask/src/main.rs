//! What a developer of Holdfast runs beside `cargo test`.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a command's results go to standard output")]

mod conformance;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Send the same requests to the real and to the simulated API server and compare the answers.
    Conformance(conformance::Arguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().task {
        Task::Conformance(arguments) => conformance::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
