//! Finds the Go toolchain that builds the real components.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::error::RealError;

/// What the module files ask for.
pub const NEEDED: (u32, u32) = (1, 26);
/// From this version on, `go` fetches the version that a module asks for by itself.
const FETCHES: (u32, u32) = (1, 21);

/// The `go` on the PATH, or where its installer puts it, if it is new enough.
pub fn find() -> Result<PathBuf, RealError> {
    let mut found = None;
    for candidate in ["go", "/usr/local/go/bin/go", "/usr/lib/go/bin/go"] {
        let Some(version) = version(Path::new(candidate)) else { continue };
        if is_enough(&version, std::env::var("GOTOOLCHAIN").is_ok_and(|value| value == "local")) {
            return Ok(PathBuf::from(candidate));
        }
        found.get_or_insert(version);
    }
    Err(found.map_or(RealError::NoGo, |version| RealError::OldGo { version }))
}

/// What `go` says its version is, `1.26.8`.
fn version(go: &Path) -> Option<String> {
    let output = Command::new(go)
        .args(["env", "GOVERSION"])
        .env("GOTOOLCHAIN", "local")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().trim_start_matches("go").to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

fn is_enough(version: &str, local_only: bool) -> bool {
    let mut numbers = version.split(['.', '-', ' ']).map(|part| {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().unwrap_or(0)
    });
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    version >= NEEDED || (version >= FETCHES && !local_only)
}

#[cfg(test)]
mod tests {
    use super::is_enough;

    #[test]
    fn a_version_that_fetches_the_needed_one_is_enough_unless_that_is_forbidden() {
        assert!(is_enough("1.26.8", true));
        assert!(is_enough("1.27rc1", true));
        assert!(is_enough("1.24.4", false));
        assert!(!is_enough("1.24.4", true));
        assert!(!is_enough("1.19.8", false));
        assert!(!is_enough("", false));
    }
}
