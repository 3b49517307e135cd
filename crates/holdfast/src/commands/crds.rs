//! `holdfast crds`.

use std::path::PathBuf;
use std::process::ExitCode;

use holdfast_api::crds;

use super::output::{Format, Output};
use super::{Outcome, print};

/// In which form, and where to.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  holdfast crds | kubectl apply --server-side -f -
  holdfast crds --kind ManagedApp
  holdfast crds --directory deploy/crds")]
pub struct Args {
    /// Only the definition of this kind.
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,

    /// Write one file per kind into this directory instead of printing.
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,

    #[command(flatten)]
    output: Output,
}

impl Args {
    /// Prints the definitions, or writes them.
    pub fn run(self) -> Outcome {
        let mut definitions = crds::all();
        if let Some(kind) = &self.kind {
            definitions.retain(|crd| crd.spec.names.kind.eq_ignore_ascii_case(kind));
            if definitions.is_empty() {
                let kinds: Vec<String> =
                    crds::all().into_iter().map(|crd| crd.spec.names.kind).collect();
                return Err(format!(
                    "there is no kind {kind:?}; write one of {}",
                    kinds.join(", ")
                )
                .into());
            }
        }
        if let Some(directory) = &self.directory {
            std::fs::create_dir_all(directory)?;
            for crd in &definitions {
                std::fs::write(directory.join(crds::file_name(crd)), crds::yaml(crd)?)?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        match self.output.format() {
            Format::Json => {
                let list = serde_json::json!({
                    "apiVersion": "v1",
                    "kind": "List",
                    "items": definitions,
                });
                print(&format!("{}\n", serde_json::to_string_pretty(&list)?))?;
            }
            Format::Human => {
                for crd in &definitions {
                    print(&format!("---\n{}", crds::yaml(crd)?))?;
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
