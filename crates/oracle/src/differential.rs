//! Generated inputs through the engine and through upstream: the same bytes, or both refuse.

mod shrink;

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use holdfast_manifest::files::Folder;
use serde_json::{Value, json};

use crate::difference;
use crate::engine::{self, Options};
use crate::generate::{self, Template, Tree};
use crate::upstream::{Answer, Upstream};

/// Inputs are made, built and compared in portions of this size.
const PORTION: usize = 500;
/// Differences that are made smaller; the rest is saved as it is.
const SHRUNK: usize = 12;

/// What to compare.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The first seed.
    pub seed: u64,
    /// How many inputs.
    pub count: usize,
    /// Upstream's program.
    pub program: PathBuf,
    /// Where inputs that differ are kept.
    pub kept: PathBuf,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// How many gave the same.
    pub agreed: usize,
    /// How many of those both refused.
    pub refused: usize,
    /// Those that did not.
    pub differed: Vec<Difference>,
}

/// An input with two results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What it was made from.
    pub seed: u64,
    /// What upstream says and what the engine says.
    pub text: String,
    /// Where the input is kept.
    pub kept: PathBuf,
}

impl Report {
    /// `N agreed, N differed`.
    pub fn summary(&self) -> String {
        format!(
            "{} agreed (refused by both: {}), {} differed",
            self.agreed,
            self.refused,
            self.differed.len()
        )
    }
}

/// Compares generated kustomizations.
pub fn kustomizations(plan: &Plan, work: &Path) -> Result<Report, String> {
    trees(plan, work, generate::tree)
}

/// Compares the builds of a folder of cases, changed here and there.
pub fn mutations(plan: &Plan, work: &Path, cases: &Path) -> Result<Report, String> {
    let cases = crate::cases::trees(cases)?;
    trees(plan, work, |seed| generate::mutation(&cases, seed))
}

/// Compares generated Flux Kustomizations.
pub fn flux(plan: &Plan, work: &Path) -> Result<Report, String> {
    trees(plan, work, generate::flux_tree)
}

/// Compares texts with variables. Values have no line breaks: Flux takes them out before.
pub fn substitutions(plan: &Plan) -> Result<Report, String> {
    let mut upstream = Upstream::start(&plan.program)?;
    let mut report = Report::default();
    let seeds: Vec<u64> = (0..plan.count).map(|place| plan.seed + place as u64).collect();
    let templates: Vec<Template> = seeds.iter().map(|seed| generate::template(*seed)).collect();
    let questions = templates.iter().map(|template| {
        let variables =
            template.variables.iter().map(|(name, value)| (name, value.replace('\n', "")));
        json!({
            "mode": "envsubst",
            "text": template.text,
            "vars": variables.collect::<BTreeMap<_, _>>(),
            "strict": template.strict,
        })
    });
    let theirs = upstream.ask(questions.collect())?;
    for ((seed, template), theirs) in seeds.iter().zip(&templates).zip(theirs) {
        let ours = catch_unwind(|| engine::substitute(template))
            .unwrap_or_else(|_| Ok("it panicked".to_owned()));
        if agree(&ours, &theirs) {
            report.agreed += 1;
            report.refused += usize::from(ours.is_err());
            continue;
        }
        let text = format!("{template:?}\nupstream: {theirs:?}\nthe engine: {ours:?}\n");
        let kept = plan.kept.join(format!("text-{seed}.txt"));
        fs::create_dir_all(&plan.kept)
            .and_then(|()| fs::write(&kept, &text))
            .map_err(|error| format!("{}: {error}", kept.display()))?;
        report.differed.push(Difference { seed: *seed, text, kept });
    }
    Ok(report)
}

fn trees(plan: &Plan, work: &Path, make: impl Fn(u64) -> Tree) -> Result<Report, String> {
    let mut upstream = Upstream::start(&plan.program)?;
    let mut report = Report::default();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for from in (0..plan.count).step_by(PORTION) {
        let seeds: Vec<u64> =
            (from..plan.count.min(from + PORTION)).map(|place| plan.seed + place as u64).collect();
        let trees: Vec<Tree> = seeds.iter().map(|seed| make(*seed)).collect();
        let folders: Vec<PathBuf> =
            seeds.iter().map(|seed| work.join(format!("seed-{seed}"))).collect();
        for (tree, folder) in trees.iter().zip(&folders) {
            tree.write(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        let questions = trees.iter().zip(&folders).map(|(tree, folder)| question(tree, folder));
        let theirs = upstream.ask(questions.collect())?;
        let ours = in_parallel(&trees, &folders);
        for (place, (ours, theirs)) in ours.into_iter().zip(theirs).enumerate() {
            if agree(&ours, &theirs) {
                report.agreed += 1;
                report.refused += usize::from(ours.is_err());
                continue;
            }
            let seen = known.entry(signature(&ours, &theirs)).or_default();
            *seen += 1;
            let small = if *seen == 1 && report.differed.len() < SHRUNK {
                shrink::smaller(&trees[place], &mut upstream, work)?
            } else {
                trees[place].clone()
            };
            report.differed.push(keep(plan, seeds[place], &small, &mut upstream)?);
        }
        for folder in &folders {
            drop(fs::remove_dir_all(folder));
        }
    }
    Ok(report)
}

/// The question to upstream about a tree that lies in a folder.
fn question(tree: &Tree, folder: &Path) -> Value {
    if let Some(kustomization) = &tree.kustomization {
        return json!({
            "mode": "flux",
            "root": folder,
            "kustomization": kustomization,
            "objects": tree.objects,
            "strict": tree.strict,
        });
    }
    json!({
        "mode": "kustomize",
        "root": folder,
        "dir": folder.join(&tree.target),
        "reorder": if tree.legacy_order { "legacy" } else { "none" },
        "loadRestrictions": if tree.stay_in_folder { "rootOnly" } else { "none" },
    })
}

fn build(tree: &Tree, folder: &Path) -> Answer {
    let options = Options { legacy_order: tree.legacy_order, stay_in_folder: tree.stay_in_folder };
    let built = catch_unwind(AssertUnwindSafe(|| {
        let files = Folder::new(folder).map_err(|error| error.to_string())?;
        match &tree.kustomization {
            Some(object) => engine::flux(&files, object, &tree.objects, tree.strict),
            None => engine::build(&files, &tree.target, options),
        }
    }));
    // Upstream may fail or not: a panic must not count as agreement.
    built.unwrap_or_else(|_| Ok("it panicked".to_owned()))
}

fn in_parallel(trees: &[Tree], folders: &[PathBuf]) -> Vec<Answer> {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut answers: Vec<(usize, Answer)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut answers = Vec::new();
                    loop {
                        let place = next.fetch_add(1, Ordering::Relaxed);
                        let Some(tree) = trees.get(place) else { return answers };
                        answers.push((place, build(tree, &folders[place])));
                    }
                })
            })
            .collect();
        workers.into_iter().filter_map(|worker| worker.join().ok()).flatten().collect()
    });
    answers.sort_by_key(|(place, _)| *place);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

fn agree(ours: &Answer, theirs: &Answer) -> bool {
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => ours == theirs,
        (Err(_), Err(_)) => true,
        _ => false,
    }
}

/// What kind of difference it is: equal kinds probably have one cause.
fn signature(ours: &Answer, theirs: &Answer) -> String {
    let bare =
        |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).take(80).collect::<String>();
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => {
            let place = ours.lines().zip(theirs.lines()).position(|(one, two)| one != two);
            let at = |text: &str| text.lines().nth(place.unwrap_or_default()).map(bare);
            format!("{:?} {:?}", at(ours), at(theirs))
        }
        (Err(error), _) => format!("ours: {}", bare(error)),
        (_, Err(error)) => format!("theirs: {}", bare(error)),
    }
}

fn keep(
    plan: &Plan,
    seed: u64,
    tree: &Tree,
    upstream: &mut Upstream,
) -> Result<Difference, String> {
    let kept = plan
        .kept
        .join(format!("{}-{seed}", if tree.kustomization.is_some() { "flux" } else { "seed" }));
    let failed = |error: std::io::Error| format!("{}: {error}", kept.display());
    drop(fs::remove_dir_all(&kept));
    let folder = kept.join("in");
    tree.write(&folder).map_err(failed)?;
    let ours = build(tree, &folder);
    let theirs = upstream.ask(vec![question(tree, &folder)])?.pop().unwrap_or(Err(String::new()));
    let text = match (&ours, &theirs) {
        (Ok(ours), Ok(theirs)) => difference::lines(theirs, ours),
        (Err(error), Ok(_)) => format!("upstream builds it, the engine says:\n{error}\n"),
        (Ok(_), Err(error)) => format!("the engine builds it, upstream says:\n{error}\n"),
        (Err(_), Err(_)) => "both refuse what remains\n".to_owned(),
    };
    let order = if tree.legacy_order { "legacy" } else { "none" };
    let restricted = if tree.stay_in_folder { "rootOnly" } else { "none" };
    let mut case =
        json!({ "target": tree.target, "reorder": order, "loadRestrictions": restricted });
    if let Some(kustomization) = &tree.kustomization {
        case = question(tree, &folder);
        case["kustomization"] = kustomization.clone();
    }
    fs::write(kept.join("case.json"), case.to_string()).map_err(failed)?;
    fs::write(kept.join("difference.txt"), &text).map_err(failed)?;
    for (name, answer) in [("ours.yaml", ours), ("expected.yaml", theirs)] {
        if let Ok(text) = answer {
            fs::write(kept.join(name), text).map_err(failed)?;
        }
    }
    Ok(Difference { seed, text, kept })
}
