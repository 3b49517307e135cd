//! `cargo xtask bench render`: the manifest engine beside upstream's Go library and beside the command.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use holdfast_oracle::repository;
use holdfast_world::real::module;
use serde_json::Value;

use crate::manifests::build;
use crate::step::cargo_program;

/// How many apps the repository has.
const APPS: usize = 1000;
/// How many of them the command is run for; the rest would take as long each.
const LOOPED: usize = 100;
/// The best of so many runs counts, for both.
const RUNS: usize = 3;

/// Measures, and gives the text of its part of BENCHMARKS.md.
pub fn run(machine: &str) -> Result<String, String> {
    let oracle = build(&module::ORACLE)?.program("oracle");
    let kustomize = build(&module::RENDER)?.program("kustomize");
    let root = std::env::temp_dir().join(format!("holdfast-bench-{}", std::process::id()));
    let outcome = repository::write(&root, APPS)
        .map_err(|error| format!("{}: {error}", root.display()))
        .and_then(|()| measure(&root, &oracle, &kustomize));
    drop(std::fs::remove_dir_all(&root));
    let figures = outcome?;
    Ok(text(&figures, machine))
}

struct Figures {
    threads: usize,
    ours: Value,
    library: Value,
    changed: Value,
    /// Seconds per directory.
    command: f64,
}

fn measure(root: &Path, oracle: &Path, kustomize: &Path) -> Result<Figures, String> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let count = threads.to_string();
    let example = |mode: &str| {
        let mut command = Command::new(cargo_program());
        command
            .args(["run", "--quiet", "--release", "--package", "holdfast-oracle"])
            .args(["--example", "render", "--", mode])
            .arg(root)
            .arg(&count);
        command
    };
    let ours = best(|| example("all"))?;
    let library = best(|| {
        let mut command = Command::new(oracle);
        command.args(["bench", "-threads", &count]).arg(root.join("apps/prod"));
        command
    })?;
    if ours["sha256"] != library["sha256"] {
        return Err("the engine and upstream's library do not give the same bytes".to_owned());
    }
    let changed = json(&mut example("change"))?;
    Ok(Figures { threads, ours, library, changed, command: looped(root, kustomize)? })
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
fn looped(root: &Path, kustomize: &Path) -> Result<f64, String> {
    let started = Instant::now();
    for number in 0..LOOPED {
        let folder = root.join(format!("apps/prod/app-{number:04}"));
        let output = Command::new(kustomize)
            .arg("build")
            .arg(folder)
            .output()
            .map_err(|error| format!("{}: {error}", kustomize.display()))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
    }
    Ok(started.elapsed().as_secs_f64() / LOOPED as f64)
}

/// The run that took the least time.
fn best(command: impl Fn() -> Command) -> Result<Value, String> {
    let mut best = json(&mut command())?;
    for _ in 1..RUNS {
        let next = json(&mut command())?;
        if next["wall_seconds"].as_f64() < best["wall_seconds"].as_f64() {
            best = next;
        }
    }
    Ok(best)
}

fn json(command: &mut Command) -> Result<Value, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} failed:\n{why}"));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("{command:?}: {error}"))
}

fn text(figures: &Figures, machine: &str) -> String {
    let number = |value: &Value, name: &str| value[name].as_f64().unwrap_or(f64::NAN);
    let count = number(&figures.ours, "directories");
    let each = |value: &Value| number(value, "wall_seconds") / count * 1000.0;
    let mebibytes = |value: &Value| number(value, "peak_kib") / 1024.0;
    let (ours, library) = (each(&figures.ours), each(&figures.library));
    let command = figures.command * 1000.0;
    format!(
        "{count} overlays of a generated repository ({} app folders, same bytes from all). The library \
         is upstream's Go `krusty` in one process; the command is `kustomize build` in a loop over {LOOPED} \
         of them.\n\n`cargo xtask bench render` on {machine}\n\n\
         | what | Holdfast | Go library | command | goal |\n| --- | ---: | ---: | ---: | ---: |\n\
         | one overlay, {} threads, ms | {ours:.3} | {library:.2} | {command:.1} | |\n\
         | times faster than | | {:.1} | {:.0} | 10, 100 |\n\
         | processor time of all, s | {:.2} | {:.2} | | |\n\
         | peak memory, MiB | {:.0} | {:.0} | | not above the library |\n\
         | one file changed, rendered again, ms | {:.2} (worst {:.2}) | | | 20 |\n",
        APPS,
        figures.threads,
        library / ours,
        command / ours,
        number(&figures.ours, "cpu_seconds"),
        number(&figures.library, "cpu_seconds"),
        mebibytes(&figures.ours),
        mebibytes(&figures.library),
        number(&figures.changed, "milliseconds"),
        number(&figures.changed, "worst"),
    )
}
