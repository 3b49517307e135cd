//! One file per subcommand. A command is its arguments (`Args`) and `run(self) -> Outcome`; each
//! builds the runtime it needs, since some run on the real clock and some on a paused one.

mod check;
mod completion;
mod crds;
mod demo;
pub mod operator;
mod output;
mod render;
mod simulate;
mod testbed;
mod world;

use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

/// What a command ends with: its exit code, or an error that is printed and exits with 2.
pub type Outcome = Result<ExitCode, Box<dyn Error + Send + Sync>>;

/// Holdfast keeps a GitOps cluster upgradable, restorable, unstuck and recorded.
#[derive(Debug, Parser)]
#[command(name = "holdfast", version, propagate_version = true, arg_required_else_help = true)]
pub struct Cli {
    /// What to log, for example `info` or `warn,holdfast_cluster=debug`.
    #[arg(long, global = true, env = "HOLDFAST_LOG", value_name = "FILTER")]
    pub log: Option<String>,

    /// How log lines are written to standard error.
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Every subcommand, in the order in which help lists them.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the operator in a cluster.
    Operator(operator::Args),
    /// Say what Flux could not apply, before the commit.
    Check(check::Args),
    /// Show Holdfast at work on a cluster inside this process.
    Demo(demo::Args),
    /// Play stories under many seeds and faults, and count broken promises.
    Simulate(simulate::Args),
    /// Serve the simulated cluster to kubectl and anyone else.
    World(world::Args),
    /// Print what a folder, or a whole repository, makes the cluster apply.
    Render(render::Args),
    /// Print the custom resource definitions.
    Crds(crds::Args),
    /// Give a real cluster on loopback: Kubernetes, KWOK nodes, Flux, snapshots.
    Testbed(testbed::Args),
    /// Print the completion script of a shell.
    Completion(completion::Args),
}

impl Command {
    /// What is logged when nobody says. A story that is played with faults is full of warnings that
    /// are part of it.
    pub fn quiet_log(&self) -> Option<&'static str> {
        matches!(self, Self::Demo(_) | Self::Simulate(_)).then_some("off")
    }

    /// Runs the command to its end.
    pub fn run(self) -> Outcome {
        match self {
            Self::Operator(args) => args.run(),
            Self::Check(args) => args.run(),
            Self::Demo(args) => args.run(),
            Self::Simulate(args) => args.run(),
            Self::World(args) => args.run(),
            Self::Render(args) => args.run(),
            Self::Crds(args) => args.run(),
            Self::Testbed(args) => args.run(),
            Self::Completion(args) => args.run(),
        }
    }
}

/// What a world in real time begins with.
fn wall_clock() -> jiff::Timestamp {
    use holdfast_cluster::clock::{Clock as _, SystemClock};
    SystemClock.now()
}

/// Writes one line to standard error; a closed standard error is nobody's loss.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Writes text to standard output. A reader that went away (`| head`) ends the command quietly.
pub fn print(text: &str) -> Result<(), std::io::Error> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::Cli;

    #[test]
    fn arguments_are_consistent() {
        Cli::command().debug_assert();
    }
}
