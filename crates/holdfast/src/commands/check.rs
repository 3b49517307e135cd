//! `holdfast check`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use holdfast_check::{Report, Severity, Side, check, entry, report};
use holdfast_git::files::{IndexFiles, RevisionFiles, WorktreeFiles};
use holdfast_git::store::Store;
use holdfast_manifest::files::{Files, Folder, Memory};
use holdfast_manifest::flux::{Options, Renderer};

use super::output::{Format, Output};
use super::{Outcome, print};

/// What to compare.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  holdfast check                                  what `git commit` is about to record, against HEAD
  holdfast check --head WORKTREE                  what is on the disk, against HEAD
  holdfast check --base main --head feature       two branches
  holdfast check --base HEAD~1 --head HEAD        the last commit
  holdfast check --all                            the last commit by itself, everything in it
  holdfast check --old before.yaml --new after.yaml

Exit codes: 0 nothing at or above --fail-on, 1 findings, 2 it could not be checked.")]
pub struct Args {
    /// The revision to compare with.
    #[arg(long, value_name = "REV", default_value = "HEAD", conflicts_with_all = ["old", "new"])]
    base: String,

    /// The revision to check, INDEX for what is staged, or WORKTREE for what is on the disk.
    /// [default: INDEX, and HEAD with --all]
    #[arg(long, value_name = "REV|INDEX|WORKTREE", conflicts_with_all = ["old", "new"])]
    head: Option<String>,

    /// Check one revision by itself: everything in it counts.
    #[arg(long, conflicts_with_all = ["old", "new"])]
    all: bool,

    /// A cluster's entry folder, from the root of the repository; every one that is found if left out.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["old", "new"])]
    path: Vec<String>,

    /// Objects before the change: a file or a folder of plain manifests.
    #[arg(long, value_name = "FILE", requires = "new")]
    old: Option<PathBuf>,

    /// Objects after the change.
    #[arg(long, value_name = "FILE", requires = "old")]
    new: Option<PathBuf>,

    /// The least severity that makes the check fail.
    #[arg(long, value_enum, default_value_t = FailOn::Error)]
    fail_on: FailOn,

    #[command(flatten)]
    output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Error,
    Warning,
    Note,
}

impl Args {
    /// Checks, and prints what was found.
    pub fn run(self) -> Outcome {
        let found = match (&self.old, &self.new) {
            (Some(old), Some(new)) => check(&plain(old)?, &plain(new)?, false),
            _ => self.repository()?,
        };
        match self.output.format() {
            Format::Human => print(&report::human(&found))?,
            Format::Json => print(&format!("{:#}\n", report::json(&found)))?,
        }
        let least = match self.fail_on {
            FailOn::Error => Severity::Error,
            FailOn::Warning => Severity::Warning,
            FailOn::Note => Severity::Note,
        };
        Ok(ExitCode::from(u8::from(found.at_least(least) > 0)))
    }

    fn repository(&self) -> Result<Report, Box<dyn std::error::Error + Send + Sync>> {
        let here = std::env::current_dir()?;
        let (store, work) = Store::discover(&here).map_err(|error| {
            format!("{error}; check needs a git repository, or --old and --new")
        })?;
        let head = match (&self.head, self.all) {
            (Some(head), _) => head.as_str(),
            (None, true) => "HEAD",
            (None, false) => "INDEX",
        };
        let head = side(&store, work.as_deref(), head)?;
        let base: Box<dyn Files> = if self.all {
            Box::new(Memory::new())
        } else {
            side(&store, work.as_deref(), &self.base)?
        };
        let entries =
            if self.path.is_empty() { entry::entries(head.as_ref())? } else { self.path.clone() };
        if entries.is_empty() {
            return Err("no Flux Kustomization is written in this repository; for plain manifests use --old and --new".into());
        }
        let mut found = Report::default();
        for entry in &entries {
            let entry = entry.trim_start_matches("./").trim_end_matches('/');
            let mut renderer = Renderer::new();
            let options = Options::default();
            // A cluster that is new has no base.
            let before = match base.find(entry)? {
                holdfast_manifest::files::Found::Folder => {
                    Side::of(&renderer.render(base.as_ref(), entry, &options)?)
                }
                _ => Side::default(),
            };
            let after = Side::of(&renderer.render(head.as_ref(), entry, &options)?);
            found.add(check(&before, &after, self.all));
        }
        Ok(found)
    }
}

fn side(
    store: &Store,
    work: Option<&Path>,
    name: &str,
) -> Result<Box<dyn Files>, Box<dyn std::error::Error + Send + Sync>> {
    match (name, work) {
        ("INDEX", Some(_)) => Ok(Box::new(IndexFiles::open(store.clone())?)),
        ("WORKTREE", Some(work)) => Ok(Box::new(WorktreeFiles::open(work)?)),
        ("INDEX" | "WORKTREE", None) => {
            Err(format!("a bare repository has no {}; say --head REV", name.to_lowercase()).into())
        }
        (revision, _) => Ok(Box::new(RevisionFiles::new(store.revision(revision)?))),
    }
}

fn plain(path: &Path) -> Result<Side, Box<dyn std::error::Error + Send + Sync>> {
    let absolute = std::path::absolute(path)?;
    let parent = absolute.parent().unwrap_or(Path::new("/"));
    let name = absolute.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok(Side::plain(&Folder::new(parent)?, &name.unwrap_or_default())?)
}
