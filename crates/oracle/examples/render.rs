//! `render all|change ROOT THREADS`: what `cargo xtask bench render` measures, in a process of its own
//! so that the memory is the engine's. Prints JSON.
#![expect(clippy::print_stdout, reason = "a command's results go to standard output")]
#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use std::fs;
use std::path::Path;
use std::time::Instant;

use holdfast_manifest::files::{Files, Folder};
use holdfast_manifest::kustomize::{self, Options, Reorder};
use holdfast_manifest::render::{Folders, spread};
use holdfast_manifest::yaml::emit;
use serde_json::json;
use sha2::{Digest as _, Sha256};

/// The folder whose sub-folders are built.
const OVERLAYS: &str = "apps/prod";
/// How often a file is changed.
const CHANGES: usize = 20;

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [mode, root, threads] = arguments.as_slice() else {
        return Err("usage: render all|change ROOT THREADS".to_owned());
    };
    let threads = threads.parse().map_err(|_| format!("{threads} is no number"))?;
    let figures = match mode.as_str() {
        "all" => all(Path::new(root), threads),
        "change" => change(Path::new(root), threads),
        _ => return Err(format!("{mode} is neither all nor change")),
    };
    println!("{}", figures?);
    Ok(())
}

fn overlays(files: &dyn Files) -> Result<Vec<String>, String> {
    let names = files.list(OVERLAYS).map_err(|error| error.to_string())?.unwrap_or_default();
    Ok(names.into_iter().map(|(name, _)| format!("{OVERLAYS}/{name}")).collect())
}

/// Every overlay once, from the first system call to the last byte.
fn all(root: &Path, threads: usize) -> Result<serde_json::Value, String> {
    let started = Instant::now();
    let files = Folder::new(root).map_err(|error| error.to_string())?;
    let folders = overlays(&files)?;
    let options = Options { reorder: Reorder::None, ..Options::default() };
    let results = spread(&folders, threads, |folder| {
        let built = kustomize::build(&files, folder, &options)?;
        let mut text = String::new();
        emit::objects(built.iter().map(|resource| &resource.node), &mut text)?;
        Ok::<_, holdfast_manifest::Diagnostic>((text.len(), Sha256::digest(text.as_bytes())))
    });
    let wall = started.elapsed().as_secs_f64();
    let mut whole = Sha256::new();
    let mut bytes = 0;
    for result in results {
        let (length, digest) = result.map_err(|error| error.to_string())?;
        bytes += length;
        whole.update(digest);
    }
    Ok(json!({
        "directories": folders.len(),
        "bytes": bytes,
        "wall_seconds": wall,
        "cpu_seconds": processor_seconds(),
        "peak_kib": peak_memory(),
        "sha256": format!("{:x}", whole.finalize()),
    }))
}

/// What one changed file costs when everything was rendered before.
fn change(root: &Path, threads: usize) -> Result<serde_json::Value, String> {
    let files = Folder::new(root).map_err(|error| error.to_string())?;
    let folders = overlays(&files)?;
    let options = Options { reorder: Reorder::None, ..Options::default() };
    let mut known = Folders::new();
    known.render(&files, &folders, &options, threads);
    let Some(middle) = folders.get(folders.len() / 2) else { return Err("no overlay".to_owned()) };
    let path = format!("{}/workload.yaml", middle.replace("/prod/", "/base/"));
    let place = root.join(&path);
    let failed = |error: std::io::Error| format!("{}: {error}", place.display());
    let before = fs::read_to_string(&place).map_err(failed)?;
    let mut times = Vec::new();
    let mut rendered = 0;
    for number in 0..CHANGES {
        let after = before.replace("sidecar:2.1.", &format!("sidecar:3.{number}."));
        fs::write(&place, after).map_err(failed)?;
        let started = Instant::now();
        rendered = known.update(&files, std::slice::from_ref(&path), &options, threads).len();
        times.push(started.elapsed().as_secs_f64() * 1000.0);
        let built = known.get(middle).and_then(|rendered| rendered.result.as_ref().ok());
        let mut text = String::new();
        let nodes = built.into_iter().flat_map(|built| built.iter()).map(|resource| &resource.node);
        emit::objects(nodes, &mut text).map_err(|error| error.to_string())?;
        if !text.contains(&format!("sidecar:3.{number}.")) {
            return Err(format!("{path} was changed and {middle} does not show it"));
        }
    }
    fs::write(&place, before).map_err(failed)?;
    times.sort_by(f64::total_cmp);
    Ok(
        json!({ "rendered": rendered, "milliseconds": times[CHANGES / 2], "worst": times[CHANGES - 1] }),
    )
}

/// User and system time so far.
fn processor_seconds() -> f64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = text.rsplit(')').next().unwrap_or_default();
    let ticks: u64 =
        after.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
    ticks as f64 / 100.0
}

/// The most memory this process had, in KiB.
fn peak_memory() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}
