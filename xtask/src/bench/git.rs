//! One changed file as a commit, in repositories of different size.

use std::process::Command;

/// Runs the benchmark and gives its part of BENCHMARKS.md.
pub(super) fn run(machine: &str) -> Result<String, String> {
    let output = Command::new(env!("CARGO"))
        .args(["bench", "--quiet", "--package", "holdfast-git", "--bench", "commit"])
        .output()
        .map_err(|error| format!("cargo bench did not start: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(format!("cargo bench failed:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    let rows = rows(&text);
    if rows.is_empty() {
        return Err(format!("the benchmark printed no figures:\n{text}"));
    }
    Ok(format!(
        "Read a file, change it, commit and move the branch; without the push. The goal is 5 ms in a repository of 100,000 files, and memory that does not depend on its size.\n\n`cargo xtask bench git` on {machine}\n\n| files | median | p99 | work of a core | opening | memory of its own |\n| ---: | ---: | ---: | ---: | ---: | ---: |\n{rows}"
    ))
}

/// The benchmark's lines as rows of a table.
fn rows(text: &str) -> String {
    let row = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let [files, median, worst, work, open, memory, "KiB", ..] = words.as_slice() else {
            return None;
        };
        files.parse::<u64>().ok()?;
        Some(format!("| {files} | {median} | {worst} | {work} | {open} | {memory} KiB |\n"))
    };
    text.lines().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_become_rows() {
        let text = "   files     median        p99       work       open        memory\n    1000   623.72µs    25.02ms   700.00µs     1.18ms      2944 KiB\n  100000     8.09ms    32.88ms     4.00ms     1.36ms      3008 KiB  above the limit of 5 ms\n";
        assert_eq!(
            rows(text),
            "| 1000 | 623.72µs | 25.02ms | 700.00µs | 1.18ms | 2944 KiB |\n| 100000 | 8.09ms | 32.88ms | 4.00ms | 1.36ms | 3008 KiB |\n"
        );
    }
}
