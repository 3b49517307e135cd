//! `holdfast completion SHELL`.

use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::{Cli, Outcome, print};

/// Which shell to complete for.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  holdfast completion bash > /etc/bash_completion.d/holdfast
  source <(holdfast completion zsh)")]
pub struct Args {
    /// The shell that will read the script.
    #[arg(value_enum)]
    shell: Shell,
}

impl Args {
    /// Prints the script.
    pub fn run(self) -> Outcome {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "holdfast", &mut script);
        print(&String::from_utf8(script)?)?;
        Ok(ExitCode::SUCCESS)
    }
}
