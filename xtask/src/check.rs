//! `cargo xtask check`: what needs no test to run.

use crate::step::{Steps, cargo, cargo_program, has, run, run_with};

/// The version that `--install` installs; newer ones need a newer compiler.
const DENY: &str = "cargo-deny@0.20.2";

/// Arguments of `cargo xtask check`.
#[derive(clap::Args, Clone, Debug)]
pub struct Arguments {
    /// Install cargo-deny first if it is missing.
    #[arg(long)]
    install: bool,
}

/// Formatting, lints, documentation, licences and sources of dependencies.
pub fn run_all(arguments: &Arguments) -> Result<(), String> {
    let mut steps = Steps::default();
    steps.take("format", format);
    steps.take("clippy", clippy);
    steps.take("documentation", documentation);
    if arguments.install && !has(&cargo_program(), &["deny", "--version"]) {
        steps.take("install cargo-deny", || cargo(&["install", "--locked", DENY]));
    }
    if has(&cargo_program(), &["deny", "--version"]) {
        steps.take("dependencies", || cargo(&["deny", "--workspace", "check"]));
    } else {
        println!("\ndependencies are not checked: run `cargo xtask check --install` once");
    }
    steps.finish()
}

/// The code is formatted.
pub fn format() -> Result<(), String> {
    cargo(&["fmt", "--all", "--", "--check"])
}

/// No lint complains.
pub fn clippy() -> Result<(), String> {
    cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])
}

/// Every public item is documented and every link leads somewhere.
fn documentation() -> Result<(), String> {
    run_with(
        &cargo_program(),
        &["doc", "--workspace", "--no-deps", "--quiet"],
        &[("RUSTDOCFLAGS", "-D warnings")],
    )
}

/// Programs that the tests call, installed as Debian packages where that is possible.
pub fn packages() -> Result<(), String> {
    let missing: Vec<&str> = [("git", "--version"), ("curl", "--version"), ("unzip", "-v")]
        .into_iter()
        .filter(|(program, argument)| !has(program, &[argument]))
        .map(|(program, _)| program)
        .collect();
    if missing.is_empty() {
        println!("git, curl and unzip are there");
        return Ok(());
    }
    let names = missing.join(" ");
    if !has("apt-get", &["--version"]) {
        return Err(format!("install {names}"));
    }
    let mut install = vec!["install", "-y", "--no-install-recommends"];
    install.extend(&missing);
    run("apt-get", &["update"])
        .and_then(|()| run("apt-get", &install))
        .map_err(|error| format!("{error}; as root: apt-get install {names}"))
}
