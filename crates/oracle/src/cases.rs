//! Folders of cases: inputs with the result or the refusal that upstream gives.
//!
//! - `ok/NAME/in` built at the `target` of `case.json` gives `expected.yaml`, byte for byte;
//! - `error/NAME/in` fails;
//! - `unit-plugins/NAME`: the transformer or generator of `config.yaml`, applied to `input.yaml`;
//! - `unit-filters/NAME`: the filter of `filter.json`, applied to `input.yaml`. Such a filter keeps
//!   comments and quotes, which are no part of a build's result, so values and the order of keys are
//!   compared.

mod filter;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use holdfast_manifest::files::Folder;
use serde_json::Value;

use crate::difference;
use crate::engine::{self, Options};
use crate::generate::Tree;

/// What came of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many passed.
    pub passed: usize,
    /// Those that failed, with what was wrong.
    pub failed: Vec<(String, String)>,
}

impl Tally {
    /// `N passed, N failed`.
    pub fn summary(&self) -> String {
        format!("{} passed, {} failed", self.passed, self.failed.len())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Build,
    Refusal,
    Plugin,
    Filter,
}

const FORMS: [(&str, Form); 4] = [
    ("ok", Form::Build),
    ("error", Form::Refusal),
    ("unit-plugins", Form::Plugin),
    ("unit-filters", Form::Filter),
];

/// Runs every case whose name contains the text, on all cores.
pub fn run(folder: &Path, filter: Option<&str>) -> Result<Tally, String> {
    let mut cases = Vec::new();
    for (name, form) in FORMS {
        let place = folder.join(name);
        if !place.is_dir() {
            continue;
        }
        for entry in fs::read_dir(&place).map_err(|error| at(&place, &error))? {
            let path = entry.map_err(|error| at(&place, &error))?.path();
            let title = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
            if path.is_dir() && filter.is_none_or(|filter| title.contains(filter)) {
                cases.push((title, path, form));
            }
        }
    }
    if cases.is_empty() {
        let folders = FORMS.map(|(name, _)| name).join(", ");
        return Err(format!("{} has no case in {folders}", folder.display()));
    }
    cases.sort_by(|one, two| one.0.cmp(&two.0));
    Ok(run_all(&cases))
}

fn run_all(cases: &[(String, PathBuf, Form)]) -> Tally {
    let next = AtomicUsize::new(0);
    let tally = Mutex::new(Tally::default());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((title, path, form)) =
                    cases.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let outcome = catch_unwind(AssertUnwindSafe(|| run_one(path, *form)));
                    let outcome = outcome.unwrap_or_else(|_| Err("it panicked".to_owned()));
                    let mut tally = tally.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    match outcome {
                        Ok(()) => tally.passed += 1,
                        Err(why) => tally.failed.push((title.clone(), why)),
                    }
                }
            });
        }
    });
    let mut tally = tally.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    tally.failed.sort();
    tally
}

/// The files of the builds in a folder of cases; those that are no text are left out.
pub fn trees(folder: &Path) -> Result<Vec<Tree>, String> {
    let mut trees = Vec::new();
    for form in ["error", "ok"] {
        let place = folder.join(form);
        let mut paths = Vec::new();
        for entry in fs::read_dir(&place).map_err(|error| at(&place, &error))? {
            paths.push(entry.map_err(|error| at(&place, &error))?.path());
        }
        paths.sort();
        for path in paths {
            let case: Value = serde_json::from_str(&read(&path.join("case.json"))?)
                .map_err(|error| format!("case.json: {error}"))?;
            let target = case["target"].as_str().unwrap_or_default();
            let mut tree = Tree {
                target: if target == "." { String::new() } else { target.to_owned() },
                legacy_order: case["reorder"] == "legacy",
                stay_in_folder: case["loadRestrictions"] != "none",
                ..Tree::default()
            };
            if path.join("in").is_dir() {
                collect(&path.join("in"), "", &mut tree)?;
                trees.push(tree);
            }
        }
    }
    Ok(trees)
}

fn collect(folder: &Path, prefix: &str, tree: &mut Tree) -> Result<(), String> {
    for entry in fs::read_dir(folder).map_err(|error| at(folder, &error))? {
        let path = entry.map_err(|error| at(folder, &error))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            collect(&path, &format!("{prefix}{name}/"), tree)?;
        } else if let Ok(text) = fs::read_to_string(&path) {
            tree.files.insert(format!("{prefix}{name}"), text);
        }
    }
    Ok(())
}

fn run_one(path: &Path, form: Form) -> Result<(), String> {
    match form {
        Form::Build | Form::Refusal => build(path),
        // Some are whole builds.
        Form::Plugin if path.join("case.json").exists() => build(path),
        Form::Plugin => plugin(path),
        Form::Filter => filter::run(path),
    }
}

fn build(path: &Path) -> Result<(), String> {
    let case: Value = serde_json::from_str(&read(&path.join("case.json"))?)
        .map_err(|error| format!("case.json: {error}"))?;
    let text = |name: &str| case[name].as_str().unwrap_or_default();
    let options = Options {
        legacy_order: text("reorder") == "legacy",
        stay_in_folder: text("loadRestrictions") != "none",
    };
    let target = match text("target") {
        "." => "",
        target => target,
    };
    let files = Folder::new(&path.join("in")).map_err(|error| error.to_string());
    judge(path, files.and_then(|files| engine::build(&files, target, options)))
}

/// The folder that the plugin was started in is not recorded: any that gives the result will do.
fn plugin(path: &Path) -> Result<(), String> {
    let config = read(&path.join("config.yaml"))?;
    let input = path.join("input.yaml");
    let input = if input.exists() { Some(read(&input)?) } else { None };
    let inside = path.join("in");
    let mut roots = vec![inside.clone()];
    if inside.is_dir() {
        for entry in fs::read_dir(&inside).map_err(|error| at(&inside, &error))? {
            let entry = entry.map_err(|error| at(&inside, &error))?.path();
            if entry.is_dir() {
                roots.push(entry);
            }
        }
    }
    let must_fail = path.join("error.txt").exists();
    let mut outcome = Err("there is nothing to run".to_owned());
    for root in roots {
        outcome = judge(path, engine::plugin(&root, &config, input.as_deref()));
        if outcome.is_ok() != must_fail {
            break;
        }
    }
    outcome
}

fn judge(path: &Path, outcome: Result<String, String>) -> Result<(), String> {
    let refusal = path.join("error.txt");
    match outcome {
        Err(_) if refusal.exists() => Ok(()),
        Err(error) => Err(format!("failed: {error}")),
        Ok(text) if refusal.exists() => {
            Err(format!("did not fail as upstream does: {}gave:\n{text}", read(&refusal)?))
        }
        Ok(text) => {
            let wanted = read(&path.join("expected.yaml"))?;
            if text == wanted { Ok(()) } else { Err(difference::lines(&wanted, &text)) }
        }
    }
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| at(path, &error))
}

fn at(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
