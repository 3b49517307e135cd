//! `cargo xtask test`: everything, cheapest first.

use holdfast_world::real::{self, Options};

use crate::step::{Steps, cargo};
use crate::{block_on, check, conformance, generate, manifests};

/// Arguments of `cargo xtask test`.
#[derive(clap::Args, Clone, Debug)]
pub struct Arguments {
    /// Only what needs neither Go nor network: format, lints, unit and simulation tests.
    #[arg(long)]
    hermetic: bool,
}

/// Runs every tier, then says what failed and how long each took.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    let mut steps = Steps::default();
    steps.take("format", check::format);
    steps.take("clippy", check::clippy);
    steps.take("generated files", || generate::definitions(true));
    // Doc tests are part of it.
    steps.take("unit and simulation tests", || cargo(&["test", "--workspace"]));
    steps.take("simulation: a death at every request, and seeds", || {
        let story = ["--capability", "kernel", "--crash-everywhere", "--seeds", "1..20"];
        cargo(
            &[&["run", "--quiet", "--package", "holdfast", "--", "simulate"], &story[..]].concat(),
        )
    });
    if arguments.hermetic {
        return steps.finish();
    }
    let built = steps.take("packages", check::packages)
        && steps.take("build the real components", || {
            block_on(real::prepare(&Options::everything()))?.map_err(|error| error.to_string())
        });
    for (name, step) in REAL_TIERS {
        if built {
            steps.take(name, step);
        } else {
            steps.skip(name, "the real components are not built");
        }
    }
    steps.finish()
}

type Tier = (&'static str, fn() -> Result<(), String>);

const REAL_TIERS: [Tier; 4] = [
    ("manifests as upstream builds them", || {
        manifests::differential(&manifests::Differential::whole())
    }),
    ("conformance", || conformance::run(&conformance::Arguments::whole())),
    ("generated files from the server", || generate::from_server(true, None)),
    ("real cluster", || {
        // Tests that need it are ignored elsewhere. Doc tests marked so only cannot run.
        cargo(&["test", "--workspace", "--lib", "--bins", "--tests", "--", "--ignored"])
    }),
];
