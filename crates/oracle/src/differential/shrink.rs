//! Makes an input smaller as long as the two still differ in the same way.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{agree, build, question};
use crate::generate::Tree;
use crate::upstream::{Answer, Upstream};

/// Attempts per input: each is a build on both sides.
const ATTEMPTS: usize = 400;

/// How the two differ.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bytes,
    OnlyOurs,
    OnlyTheirs,
}

fn kind(ours: &Answer, theirs: &Answer) -> Option<Kind> {
    match (ours, theirs) {
        _ if agree(ours, theirs) => None,
        (Ok(_), Ok(_)) => Some(Kind::Bytes),
        (Ok(_), Err(_)) => Some(Kind::OnlyOurs),
        _ => Some(Kind::OnlyTheirs),
    }
}

/// A smaller tree with the same difference, or the tree itself.
pub fn smaller(tree: &Tree, upstream: &mut Upstream, work: &Path) -> Result<Tree, String> {
    let mut best = tree.clone();
    let Some(wanted) = judge(&best, upstream, work)? else { return Ok(best) };
    let mut left = ATTEMPTS;
    loop {
        let before = best.clone();
        for path in before.files.keys() {
            if left == 0 {
                return Ok(best);
            }
            let mut candidate = best.clone();
            candidate.files.remove(path);
            left -= 1;
            if judge(&candidate, upstream, work)? == Some(wanted) {
                best = candidate;
                continue;
            }
            best = fewer_lines(best, path, wanted, upstream, work, &mut left)?;
        }
        if best == before {
            return Ok(best);
        }
    }
}

fn fewer_lines(
    mut best: Tree,
    path: &str,
    wanted: Kind,
    upstream: &mut Upstream,
    work: &Path,
    left: &mut usize,
) -> Result<Tree, String> {
    let count = |tree: &Tree| tree.files.get(path).map_or(0, |text| text.lines().count());
    let mut size = count(&best).next_power_of_two();
    while size > 0 {
        let mut place = 0;
        while place < count(&best) && *left > 0 {
            let mut candidate = best.clone();
            let Some(text) = candidate.files.get_mut(path) else { return Ok(best) };
            let kept = text
                .split_inclusive('\n')
                .enumerate()
                .filter(|(line, _)| !(place..place + size).contains(line))
                .map(|(_, line)| line)
                .collect::<String>();
            *text = kept;
            *left -= 1;
            if judge(&candidate, upstream, work)? == Some(wanted) {
                best = candidate;
            } else {
                place += size;
            }
        }
        size /= 2;
    }
    Ok(best)
}

fn judge(tree: &Tree, upstream: &mut Upstream, work: &Path) -> Result<Option<Kind>, String> {
    // Upstream keeps a copy per folder where Flux builds.
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let folder = work.join(format!("smaller-{}", NEXT.fetch_add(1, Ordering::Relaxed)));
    tree.write(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let theirs = upstream.ask(vec![question(tree, &folder)])?.pop().unwrap_or(Err(String::new()));
    let ours = build(tree, &folder);
    drop(fs::remove_dir_all(&folder));
    Ok(kind(&ours, &theirs))
}
