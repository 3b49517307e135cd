//! `--output` and its short form `--json`, the same for every command that has a result.

use clap::{Args, ValueEnum};

/// Flattened into the arguments of a command that prints a result.
#[derive(Clone, Copy, Debug, Args)]
pub struct Output {
    /// The form of the result on standard output.
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t = Format::Human)]
    output: Format,

    /// Short for `--output json`.
    #[arg(long, conflicts_with = "output")]
    json: bool,
}

/// The form of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Human,
    /// For programs.
    Json,
}

impl Output {
    /// The form that was asked for, by either name.
    pub fn format(self) -> Format {
        if self.json { Format::Json } else { self.output }
    }
}
