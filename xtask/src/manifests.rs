//! `cargo xtask cases` and `cargo xtask differential`: the manifest engine beside what it must agree
//! with.

use std::path::{Path, PathBuf};

use holdfast_oracle::cases;
use holdfast_oracle::differential::{self, Plan};
use holdfast_world::real::module::{self, Built, Module};

/// Arguments of `cargo xtask cases`.
#[derive(clap::Args, Clone, Debug)]
pub struct Cases {
    /// A folder with `ok`, `error`, `unit-plugins` and `unit-filters`, or some of them.
    folder: PathBuf,
    /// Only cases whose name contains this.
    #[arg(long)]
    filter: Option<String>,
}

/// Runs the cases of a folder.
pub fn cases(arguments: &Cases) -> Result<(), String> {
    let tally = cases::run(&arguments.folder, arguments.filter.as_deref())?;
    for (name, why) in &tally.failed {
        println!("FAILED {name}\n{why}");
    }
    println!("{}", tally.summary());
    if tally.failed.is_empty() { Ok(()) } else { Err("not every case passed".to_owned()) }
}

/// Arguments of `cargo xtask differential`.
#[derive(clap::Args, Clone, Debug)]
pub struct Differential {
    /// The first seed; input number N is made from seed + N.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many inputs.
    #[arg(long, default_value_t = 2000)]
    count: usize,
    /// Where inputs with two results are kept.
    #[arg(long, default_value = "target/differential")]
    kept: PathBuf,
}

impl Differential {
    /// What `cargo xtask test` runs.
    pub fn whole() -> Self {
        Self { seed: 1, count: 2000, kept: PathBuf::from("target/differential") }
    }
}

/// Generated inputs through the engine and through upstream's packages.
pub fn differential(arguments: &Differential) -> Result<(), String> {
    let plan = Plan {
        seed: arguments.seed,
        count: arguments.count,
        program: build(&module::ORACLE)?.program("oracle"),
        kept: arguments.kept.clone(),
    };
    let work = std::env::temp_dir().join(format!("holdfast-differential-{}", std::process::id()));
    let outcome = compare(&plan, &work);
    drop(std::fs::remove_dir_all(&work));
    if outcome? == 0 {
        return Ok(());
    }
    Err(format!("inputs that differ are in {}", plan.kept.display()))
}

/// Kustomizations, Flux Kustomizations a quarter as many, texts with variables five times as many; how
/// many differ.
fn compare(plan: &Plan, work: &Path) -> Result<usize, String> {
    let texts = Plan { count: plan.count * 5, ..plan.clone() };
    let fluxes = Plan { count: plan.count.div_ceil(4), ..plan.clone() };
    let mut differed = 0;
    for (what, report) in [
        ("texts with variables", differential::substitutions(&texts)),
        ("Flux Kustomizations", differential::flux(&fluxes, work)),
        ("kustomizations", differential::kustomizations(plan, work)),
    ] {
        let report = report?;
        for difference in report.differed.iter().take(20) {
            println!("== {}\n{}", difference.kept.display(), difference.text);
        }
        println!("{what}: {}", report.summary());
        differed += report.differed.len();
    }
    Ok(differed)
}

/// A Go module of the testbed, built once.
pub fn build(module: &Module) -> Result<Built, String> {
    module
        .build(&module::cache_directory(), &|line| println!("{line}"))
        .map_err(|error| error.to_string())
}
