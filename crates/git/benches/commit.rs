//! How long one changed file takes to become a commit, and how much memory, in repositories of different size.
//! `cargo bench -p holdfast-git --bench commit [FILES…]` prints the figures.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark measures the wall clock and prints"
)]

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use holdfast_git::commit::{Draft, Message, Moment, Person};
use holdfast_git::store::Store;
use holdfast_git::tree::FileEdit;

/// How often a commit is made.
const ROUNDS: usize = 100;

/// The limit that Holdfast promises.
const LIMIT: Duration = Duration::from_millis(5);

fn main() {
    let sizes: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    if sizes.len() == 1 && std::env::args().any(|a| a == "--measure") {
        measure(sizes[0]);
        return;
    }
    let sizes = if sizes.is_empty() { vec![1_000, 10_000, 100_000] } else { sizes };
    println!(
        "{:>8}  {:>9}  {:>9}  {:>9}  {:>9}  {:>12}",
        "files", "median", "p99", "work", "open", "memory"
    );
    for size in sizes {
        // Each size in a process of its own, so that one's memory is not another's.
        let program = std::env::current_exe().expect("this program has a path");
        let done = Command::new(program).args([&size.to_string(), "--measure"]).status();
        assert!(done.expect("it can be run").success());
    }
}

/// A repository like those that people have: clusters of apps with a few files each.
fn make(folder: &std::path::Path, files: usize) {
    let run = |arguments: &[&str]| {
        let done = Command::new("git").current_dir(folder).args(arguments).status().unwrap();
        assert!(done.success());
    };
    run(&["init", "-q", "--bare", "-b", "main"]);
    let mut import = Command::new("git")
        .current_dir(folder)
        .args(["fast-import", "--quiet"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = std::io::BufWriter::new(import.stdin.take().unwrap());
    writeln!(out, "commit refs/heads/main\ncommitter A <a@b> 1700000000 +0000\ndata 1\nx").unwrap();
    for n in 0..files {
        let text =
            format!("kind: ConfigMap\nmetadata:\n  name: app-{n}\ndata:\n  value: \"{n}\"\n");
        writeln!(out, "M 100644 inline {}\ndata {}\n{text}", path(n), text.len()).unwrap();
    }
    drop(out);
    assert!(import.wait().unwrap().success());
}

fn path(n: usize) -> String {
    format!("clusters/c{:02}/apps/app-{:03}/file-{:02}.yaml", n / 5000, n / 25 % 200, n % 25)
}

fn measure(files: usize) {
    let folder = tempfile::TempDir::new().unwrap();
    make(folder.path(), files);
    let (before, idle) = (memory(), worked());
    let started = Instant::now();
    let store = Store::open(folder.path()).unwrap();
    let mut tip = store.resolve("refs/heads/main").unwrap();
    let open = started.elapsed();
    let mut times = Vec::new();
    for round in 0..ROUNDS {
        let started = Instant::now();
        let revision = store.at(tip).unwrap();
        let path = path(round * 7919 % files);
        let mut text = revision.read(&path).unwrap().unwrap();
        text.extend_from_slice(b"# changed\n");
        let tree = revision.edit(&[FileEdit::write(path, text)]).unwrap();
        let person = Person::new("A", "a@example.org");
        let at = Moment::utc(1_700_000_000 + i64::try_from(round).unwrap());
        let draft = Draft {
            tree,
            parents: vec![tip],
            author: person.clone(),
            authored: at,
            committer: person,
            committed: at,
            message: Message::new("Change").with("Holdfast-Id", round.to_string()),
        };
        tip = store.commit(&draft, None).unwrap();
        store.point("refs/heads/main", tip).unwrap();
        times.push(started.elapsed());
    }
    times.sort();
    let (median, worst) = (times[ROUNDS / 2], times[ROUNDS * 99 / 100]);
    let memory = memory().saturating_sub(before);
    let verdict = if median <= LIMIT { "" } else { "  above the limit of 5 ms" };
    let work = worked().saturating_sub(idle) / ROUNDS as u32;
    println!(
        "{files:>8}  {median:>9.2?}  {worst:>9.2?}  {work:>9.2?}  {open:>9.2?}  {memory:>8} KiB{verdict}"
    );
}

/// The memory of this process's own, in KiB: without what is mapped from files, which the system
/// takes back at will.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse().ok()).unwrap_or(0)
}

/// How long a core has worked for this process so far; says more than the clock where others work
/// too.
fn worked() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = text.rsplit(')').next().unwrap_or_default();
    let ticks = after.split_whitespace().skip(11).take(2).filter_map(|t| t.parse::<u64>().ok());
    Duration::from_millis(ticks.sum::<u64>() * 10)
}
