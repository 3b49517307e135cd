//! Finds the Go toolchain that builds the real components, or fetches it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest as _, Sha256};

use super::error::{RealError, at};

/// What the module files ask for.
const NEEDED: (u32, u32) = (1, 26);
/// From this version on, `go` fetches the version that a module asks for by itself.
const FETCHES: (u32, u32) = (1, 21);

/// The release that is fetched where no fitting `go` is found: version, and per architecture the name
/// and the digest of its archive at the module proxy.
const RELEASE: &str = "1.26.8";
const ARCHIVES: [(&str, &str, &str); 2] = [
    ("x86_64", "amd64", "30c2b1bf7dcc88d3eb0a1364e47ddd9128edb3110a30e8a0ef61cd5856b31de7"),
    ("aarch64", "arm64", "02b36b6787b3ac767668f630e2998df45a3b1f9ffee08d1bf3ef6487cd658d99"),
];

/// The `go` on the PATH or where its installer puts it, if it is new enough; else one that is fetched
/// into the cache.
pub fn find(cache: &Path, progress: &dyn Fn(&str)) -> Result<PathBuf, RealError> {
    let local_only = std::env::var("GOTOOLCHAIN").is_ok_and(|value| value == "local");
    let fetched = cache.join(format!("go-{RELEASE}/bin/go"));
    let mut found = None;
    for candidate in [Path::new("go"), Path::new("/usr/local/go/bin/go"), &fetched] {
        let Some(version) = version(candidate) else { continue };
        if is_enough(&version, local_only) {
            return Ok(candidate.to_path_buf());
        }
        found.get_or_insert(version);
    }
    progress(&format!("fetching Go {RELEASE}"));
    match fetch(cache) {
        Ok(()) => Ok(fetched),
        Err(why) => Err(match found {
            Some(version) => RealError::OldGo { version, why },
            None => RealError::NoGo { why },
        }),
    }
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

/// Fetches the release from the module proxy, where Go itself gets its toolchains.
fn fetch(cache: &Path) -> Result<(), String> {
    let machine = std::env::consts::ARCH;
    let Some((_, name, digest)) = ARCHIVES.into_iter().find(|(arch, ..)| *arch == machine) else {
        return Err(format!("no release is known for {machine}"));
    };
    let proxy = std::env::var("GOPROXY").unwrap_or_default();
    let proxy = proxy.split([',', '|']).find(|part| part.starts_with("http"));
    let proxy = proxy.unwrap_or("https://proxy.golang.org").trim_end_matches('/');
    let version = format!("v0.0.1-go{RELEASE}.linux-{name}");
    let workshop = cache.join(format!(".go-{RELEASE}.{}", std::process::id()));
    let outcome = unpack(
        &format!("{proxy}/golang.org/toolchain/@v/{version}.zip"),
        digest,
        &format!("golang.org/toolchain@{version}"),
        &workshop,
        &cache.join(format!("go-{RELEASE}")),
    );
    drop(fs::remove_dir_all(&workshop));
    outcome
}

fn unpack(
    url: &str,
    digest: &str,
    inside: &str,
    workshop: &Path,
    home: &Path,
) -> Result<(), String> {
    let io = |error: std::io::Error| error.to_string();
    fs::create_dir_all(workshop).map_err(io)?;
    let archive = workshop.join("go.zip");
    run(Command::new("curl").args(["-fsSL", "--retry", "3", "-o"]).arg(&archive).arg(url))?;
    let found = format!("{:x}", Sha256::digest(fs::read(&archive).map_err(io)?));
    if found != digest {
        return Err(format!("{url} has the digest {found}, not {digest}"));
    }
    run(Command::new("unzip").arg("-q").arg(&archive).arg("-d").arg(workshop))?;
    // The archives of the proxy carry no permissions.
    let root = workshop.join(inside);
    for folder in [root.join("bin"), root.join("pkg/tool")] {
        make_executable(&folder).map_err(|error| error.to_string())?;
    }
    fs::rename(&root, home).map_err(io)
}

fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{program}: {error}; install it"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

fn make_executable(folder: &Path) -> Result<(), RealError> {
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let path = entry.map_err(at(folder))?.path();
        if path.is_dir() {
            make_executable(&path)?;
        } else {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(at(&path))?;
        }
    }
    Ok(())
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
