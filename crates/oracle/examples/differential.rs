//! `differential PROGRAM KEPT [SEED] [COUNT] [flux|text|CASES]`: what `cargo xtask differential` runs for kustomizations,
//! without the rest of it to compile.
#![expect(clippy::print_stdout, reason = "a command's results go to standard output")]

use std::path::PathBuf;

use holdfast_oracle::differential::{Plan, flux, kustomizations, mutations, substitutions};

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [program, kept, rest @ ..] = arguments.as_slice() else {
        return Err("usage: differential PROGRAM KEPT [SEED] [COUNT] [flux|text|CASES]".to_owned());
    };
    let number = |place: usize, default: u64| {
        rest.get(place).map_or(Ok(default), |text| text.parse().map_err(|_| text.clone()))
    };
    let plan = Plan {
        seed: number(0, 1)?,
        count: number(1, 2000)? as usize,
        program: PathBuf::from(program),
        kept: PathBuf::from(kept),
    };
    let work = std::env::temp_dir().join(format!("differential-{}", std::process::id()));
    let report = match rest.get(2).map(String::as_str) {
        Some("flux") => flux(&plan, &work)?,
        Some("text") => substitutions(&plan)?,
        Some(cases) => mutations(&plan, &work, std::path::Path::new(cases))?,
        None => kustomizations(&plan, &work)?,
    };
    drop(std::fs::remove_dir_all(&work));
    for difference in report.differed.iter().take(30) {
        println!("== {}\n{}", difference.kept.display(), difference.text);
    }
    println!("{}", report.summary());
    Ok(())
}
