//! The `holdfast` command: the operator, and everything a person asks of it.
#![forbid(unsafe_code)]

mod commands;
mod endpoint;
mod simulated;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::Parser as _;
use tracing_subscriber::EnvFilter;

use commands::{Cli, LogFormat};

fn main() -> ExitCode {
    let cli = Cli::parse();
    observe(cli.log.as_deref().or(cli.command.quiet_log()), cli.log_format);
    match cli.command.run() {
        Ok(code) => code,
        Err(error) => {
            commands::say(&format!("holdfast: {error}"));
            ExitCode::from(2)
        }
    }
}

/// Logs go to standard error, so that standard output carries data only.
fn observe(filter: Option<&str>, format: LogFormat) {
    let filter = filter.map_or_else(|| EnvFilter::new("warn,holdfast=info"), EnvFilter::new);
    let logs = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    match format {
        LogFormat::Text => logs.init(),
        LogFormat::Json => logs.json().init(),
    }
}
