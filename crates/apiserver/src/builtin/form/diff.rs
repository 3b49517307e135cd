//! The difference of two structs, as messages append it.

use std::fmt::Write as _;

use serde_json::Value;

use super::internal_pretty;

const CONTEXT: usize = 3;

/// A unified diff of two internal structs, three lines of context, without file names.
pub fn unified(name: &'static str, old: &Value, new: &Value) -> String {
    let (old, new) = (internal_pretty(name, old), internal_pretty(name, new));
    text_diff(&lines(&old), &lines(&new))
}

/// The last line has its line end too, as the diff library sees it.
fn lines(text: &str) -> Vec<String> {
    text.split('\n').map(|line| format!("{line}\n")).collect()
}

/// One run of equal lines: where it starts in both texts and how long it is.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Run {
    old: usize,
    new: usize,
    size: usize,
}

/// A step from one text to the other, over half-open ranges of lines.
#[derive(Debug, Clone, Copy)]
struct Step {
    same: bool,
    old: (usize, usize),
    new: (usize, usize),
}

fn text_diff(old: &[String], new: &[String]) -> String {
    let mut out = String::new();
    for group in groups(&steps(old, new)) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let range = |start: usize, end: usize| match end - start {
            1 => format!("{}", start + 1),
            0 => format!("{start},0"),
            length => format!("{},{length}", start + 1),
        };
        let _ = writeln!(
            out,
            "@@ -{} +{} @@",
            range(first.old.0, last.old.1),
            range(first.new.0, last.new.1)
        );
        for step in group {
            if step.same {
                for line in old.iter().take(step.old.1).skip(step.old.0) {
                    let _ = write!(out, " {line}");
                }
                continue;
            }
            for line in old.iter().take(step.old.1).skip(step.old.0) {
                let _ = write!(out, "-{line}");
            }
            for line in new.iter().take(step.new.1).skip(step.new.0) {
                let _ = write!(out, "+{line}");
            }
        }
    }
    out
}

/// Steps with three lines of context, apart where the texts agree for long.
fn groups(steps: &[Step]) -> Vec<Vec<Step>> {
    let mut steps = steps.to_vec();
    if let Some(first) = steps.first_mut().filter(|s| s.same) {
        first.old.0 = first.old.0.max(first.old.1.saturating_sub(CONTEXT));
        first.new.0 = first.new.0.max(first.new.1.saturating_sub(CONTEXT));
    }
    if let Some(last) = steps.last_mut().filter(|s| s.same) {
        last.old.1 = last.old.1.min(last.old.0 + CONTEXT);
        last.new.1 = last.new.1.min(last.new.0 + CONTEXT);
    }
    let mut groups = Vec::new();
    let mut group: Vec<Step> = Vec::new();
    for mut step in steps {
        if step.same && step.old.1 - step.old.0 > 2 * CONTEXT {
            let mut tail = step;
            tail.old.1 = tail.old.1.min(tail.old.0 + CONTEXT);
            tail.new.1 = tail.new.1.min(tail.new.0 + CONTEXT);
            group.push(tail);
            groups.push(std::mem::take(&mut group));
            step.old.0 = step.old.0.max(step.old.1 - CONTEXT);
            step.new.0 = step.new.0.max(step.new.1 - CONTEXT);
        }
        group.push(step);
    }
    if group.iter().any(|s| !s.same) {
        groups.push(group);
    }
    groups
}

fn steps(old: &[String], new: &[String]) -> Vec<Step> {
    let mut runs = Vec::new();
    matching(old, new, (0, old.len()), (0, new.len()), &mut runs);
    let mut merged: Vec<Run> = Vec::new();
    for run in runs {
        match merged.last_mut() {
            Some(last) if last.old + last.size == run.old && last.new + last.size == run.new => {
                last.size += run.size;
            }
            _ => merged.push(run),
        }
    }
    merged.push(Run { old: old.len(), new: new.len(), size: 0 });
    let mut steps = Vec::new();
    let (mut at_old, mut at_new) = (0, 0);
    for run in merged {
        if at_old < run.old || at_new < run.new {
            steps.push(Step { same: false, old: (at_old, run.old), new: (at_new, run.new) });
        }
        (at_old, at_new) = (run.old + run.size, run.new + run.size);
        if run.size > 0 {
            steps.push(Step { same: true, old: (run.old, at_old), new: (run.new, at_new) });
        }
    }
    steps
}

/// Splits both ranges around their longest common run, earliest first.
fn matching(
    old: &[String],
    new: &[String],
    in_old: (usize, usize),
    in_new: (usize, usize),
    runs: &mut Vec<Run>,
) {
    let run = longest(old, new, in_old, in_new);
    if run.size == 0 {
        return;
    }
    if in_old.0 < run.old && in_new.0 < run.new {
        matching(old, new, (in_old.0, run.old), (in_new.0, run.new), runs);
    }
    runs.push(run);
    let (end_old, end_new) = (run.old + run.size, run.new + run.size);
    if end_old < in_old.1 && end_new < in_new.1 {
        matching(old, new, (end_old, in_old.1), (end_new, in_new.1), runs);
    }
}

fn longest(old: &[String], new: &[String], in_old: (usize, usize), in_new: (usize, usize)) -> Run {
    // Lines that fill more than one in a hundred of a long text say nothing about where it matches.
    let popular = |line: &String| {
        new.len() >= 200 && new.iter().filter(|l| *l == line).count() > new.len() / 100 + 1
    };
    let mut positions: std::collections::BTreeMap<&str, Vec<usize>> =
        std::collections::BTreeMap::new();
    for (index, line) in new.iter().enumerate() {
        positions.entry(line).or_default().push(index);
    }
    positions.retain(|line, _| !popular(&(*line).to_owned()));
    let mut best = Run { old: in_old.0, new: in_new.0, size: 0 };
    let mut lengths: std::collections::BTreeMap<usize, usize> = std::collections::BTreeMap::new();
    for (i, line) in old.iter().enumerate().take(in_old.1).skip(in_old.0) {
        let mut next = std::collections::BTreeMap::new();
        for &j in positions.get(line.as_str()).map(Vec::as_slice).unwrap_or_default() {
            if j < in_new.0 {
                continue;
            }
            if j >= in_new.1 {
                break;
            }
            let size =
                j.checked_sub(1).and_then(|p| lengths.get(&p)).copied().unwrap_or_default() + 1;
            next.insert(j, size);
            if size > best.size {
                best = Run { old: i + 1 - size, new: j + 1 - size, size };
            }
        }
        lengths = next;
    }
    let same = |i: usize, j: usize| old.get(i).is_some() && old.get(i) == new.get(j);
    while best.old > in_old.0 && best.new > in_new.0 && same(best.old - 1, best.new - 1) {
        best = Run { old: best.old - 1, new: best.new - 1, size: best.size + 1 };
    }
    while best.old + best.size < in_old.1
        && best.new + best.size < in_new.1
        && same(best.old + best.size, best.new + best.size)
    {
        best.size += 1;
    }
    best
}
