//! `cases DIR [--filter TEXT]`: what `cargo xtask cases` runs, without the rest of it to compile.
#![expect(clippy::print_stdout, reason = "a command's results go to standard output")]

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (mut folder, mut filter) = (None, None);
    while let Some(argument) = arguments.next() {
        if argument == "--filter" {
            filter = arguments.next();
        } else {
            folder = Some(PathBuf::from(argument));
        }
    }
    let Some(folder) = folder else {
        eprintln!("usage: cases DIR [--filter TEXT]");
        return ExitCode::FAILURE;
    };
    match holdfast_oracle::cases::run(&folder, filter.as_deref()) {
        Ok(tally) => {
            for (name, why) in &tally.failed {
                println!("FAILED {name}\n{why}");
            }
            println!("{}", tally.summary());
            if tally.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
