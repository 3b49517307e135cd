//! The Go modules that pin the real components, embedded so that an installed binary needs no clone,
//! and the user cache they are built into once.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest as _, Sha256};

use super::error::{RealError, at, tail};
use super::go;

/// A Go module whose `tool` lines name what to build.
#[derive(Debug)]
pub struct Module {
    /// Its folder in `testbed/`.
    pub name: &'static str,
    /// What it gives, for people who wait for it.
    pub gives: &'static str,
    go_mod: &'static str,
    go_sum: &'static str,
    /// Passed to the linker beside the flags that strip the binaries.
    link: &'static str,
    /// Binaries whose package is not called like the program.
    renamed: &'static [(&'static str, &'static str)],
    /// YAML files of Go modules that belong to the binaries: module, folder.
    files: &'static [(&'static str, &'static str)],
    /// A program of our own, with the names of its files; else `tool` lines say what to build.
    program: &'static [(&'static str, &'static str)],
}

macro_rules! module {
    ($name:literal, $gives:literal, $link:expr, $renamed:expr, $files:expr) => {
        Module {
            name: $name,
            gives: $gives,
            go_mod: include_str!(concat!("../../../../testbed/", $name, "/go.mod")),
            go_sum: include_str!(concat!("../../../../testbed/", $name, "/go.sum")),
            link: $link,
            renamed: $renamed,
            files: $files,
            program: &[],
        }
    };
}

/// etcd.
pub static ETCD: Module =
    module!("etcd", "etcd 3.7.3, about 3 minutes", "", &[("server", "etcd")], &[]);

/// The control plane and kubectl.
pub static KUBE: Module = module!(
    "kube",
    "Kubernetes 1.36.3, about 7 minutes",
    "-X k8s.io/component-base/version.gitVersion=v1.36.3 -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36",
    &[],
    &[]
);

/// Flux's source, kustomize and helm controllers with their CRDs.
pub static FLUX: Module = module!(
    "flux",
    "source-controller 1.9.3, kustomize-controller 1.9.4, helm-controller 1.6.3, about 8 minutes",
    "",
    &[],
    &[
        ("github.com/fluxcd/source-controller", "config/crd/bases"),
        ("github.com/fluxcd/kustomize-controller", "config/crd/bases"),
        ("github.com/fluxcd/helm-controller", "config/crd/bases"),
    ]
);

/// The snapshot-controller with its CRDs.
pub static SNAPSHOTTER: Module = module!(
    "snapshotter",
    "snapshot-controller 8.3.0, about 2 minutes",
    "",
    &[],
    &[("github.com/kubernetes-csi/external-snapshotter/client/v8", "config/crd")]
);

/// Simulated nodes with the stages their pods go through.
pub static KWOK: Module = module!(
    "kwok",
    "kwok 0.8.0, about 1 minute",
    "",
    &[],
    &[
        ("sigs.k8s.io/kwok", "kustomize/stage/node/fast"),
        ("sigs.k8s.io/kwok", "kustomize/stage/node/heartbeat-with-lease"),
        ("sigs.k8s.io/kwok", "kustomize/stage/pod/fast"),
    ]
);

/// kustomize and helm as people run them.
pub static RENDER: Module =
    module!("render", "kustomize 5.8.1, helm 4, about 2 minutes", "", &[], &[]);

macro_rules! oracle {
    ($($file:literal),*) => {
        Module {
            name: "oracle",
            gives: "kustomize 0.21.1 and Flux's own packages, about 2 minutes",
            go_mod: include_str!("../../../../testbed/oracle/go.mod"),
            go_sum: include_str!("../../../../testbed/oracle/go.sum"),
            link: "",
            renamed: &[],
            files: &[],
            program: &[$(($file, include_str!(concat!("../../../../testbed/oracle/", $file)))),*],
        }
    };
}

/// What kustomize's and Flux's packages say, for the tests of the native engine.
pub static ORACLE: Module = oracle!("main.go", "kustomize.go", "flux.go", "bench.go");

/// A built module in the cache.
#[derive(Clone, Debug)]
pub struct Built {
    directory: PathBuf,
}

impl Built {
    /// The path of a program.
    pub fn program(&self, name: &str) -> PathBuf {
        self.directory.join("bin").join(name)
    }

    /// The YAML files that belong to the programs, in the order of their names.
    pub fn files(&self) -> Result<Vec<String>, RealError> {
        let folder = self.directory.join("files");
        let mut paths = Vec::new();
        for entry in fs::read_dir(&folder).map_err(at(&folder))? {
            paths.push(entry.map_err(at(&folder))?.path());
        }
        paths.sort();
        paths.iter().map(|path| fs::read_to_string(path).map_err(at(path))).collect()
    }
}

/// Where built modules and running clusters are kept: `holdfast/testbed` in the user's cache.
pub fn cache_directory() -> PathBuf {
    let base = std::env::var_os("XDG_CACHE_HOME")
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache")))
        .unwrap_or_else(std::env::temp_dir);
    base.join("holdfast").join("testbed")
}

impl Module {
    fn link_flags(&self) -> String {
        format!("-s -w {}", self.link)
    }

    /// Names the build: the same name has the same programs in it.
    pub fn key(&self) -> String {
        let mut digest = Sha256::new();
        for part in [
            self.go_mod,
            self.go_sum,
            &self.link_flags(),
            std::env::consts::OS,
            std::env::consts::ARCH,
        ] {
            digest.update(part.as_bytes());
            digest.update([0]);
        }
        for (_, text) in self.program {
            digest.update(text.as_bytes());
            digest.update([0]);
        }
        let hex = format!("{:x}", digest.finalize());
        format!("{}-{}", self.name, hex.get(..16).unwrap_or_default())
    }

    /// The built module, building it first if the cache does not have it. Two processes that want the
    /// same module build it once.
    pub fn build(&self, cache: &Path, progress: &dyn Fn(&str)) -> Result<Built, RealError> {
        let directory = cache.join(self.key());
        let built = Built { directory: directory.clone() };
        if directory.is_dir() {
            return Ok(built);
        }
        fs::create_dir_all(cache).map_err(at(cache))?;
        let lock_path = cache.join(format!("{}.lock", self.key()));
        let lock = File::create(&lock_path).map_err(at(&lock_path))?;
        if lock.try_lock().is_err() {
            progress(&format!("waiting for another process that builds {}", self.name));
            lock.lock().map_err(at(&lock_path))?;
        }
        if directory.is_dir() {
            return Ok(built);
        }
        let go = go::find(cache, progress)?;
        progress(&format!("building {} ({} on two cores, once)", self.name, self.gives));
        // Next to its final place, so that the rename is one step.
        let workshop = cache.join(format!(".{}.{}", self.key(), std::process::id()));
        let outcome = self.build_in(&workshop, &go, cache);
        let outcome =
            outcome.and_then(|()| fs::rename(&workshop, &directory).map_err(at(&directory)));
        if outcome.is_err() {
            drop(fs::remove_dir_all(&workshop));
        }
        outcome.map(|()| built)
    }

    fn build_in(&self, workshop: &Path, go: &Path, cache: &Path) -> Result<(), RealError> {
        let source = workshop.join("source");
        let programs = workshop.join("bin");
        let files = workshop.join("files");
        for folder in [&source, &programs, &files] {
            fs::create_dir_all(folder).map_err(at(folder))?;
        }
        let pins = [("go.mod", self.go_mod), ("go.sum", self.go_sum)];
        for (name, text) in pins.iter().chain(self.program) {
            let path = source.join(name);
            fs::write(&path, text).map_err(at(&path))?;
        }
        let log = cache.join(format!("{}.log", self.name));
        let link = self.link_flags();
        let what = if self.program.is_empty() { "tool" } else { "." };
        let arguments = ["build", "-trimpath", "-ldflags", &link, "-o"];
        let out = programs.join("");
        let command = go_command(go, &source, &log)?.args(arguments).arg(&out).arg(what).status();
        let status = command.map_err(at(go))?;
        if !status.success() {
            return Err(RealError::Build { module: self.name, tail: tail(&log), log });
        }
        for (package, program) in self.renamed {
            fs::rename(programs.join(package), programs.join(program)).map_err(at(&programs))?;
        }
        for (index, (module, folder)) in self.files.iter().enumerate() {
            self.copy_files(&source, go, &log, (module, folder), &files, index)?;
        }
        fs::remove_dir_all(&source).map_err(at(&source))
    }

    fn copy_files(
        &self,
        source: &Path,
        go: &Path,
        log: &Path,
        (module, folder): (&str, &str),
        files: &Path,
        index: usize,
    ) -> Result<(), RealError> {
        let output = go_command(go, source, log)?
            .args(["list", "-m", "-f", "{{.Dir}}", module])
            .stdout(Stdio::piped())
            .output()
            .map_err(at(go))?;
        let home = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if !output.status.success() || home.is_empty() {
            return Err(RealError::Build { module: self.name, tail: tail(log), log: log.into() });
        }
        let folder = Path::new(&home).join(folder);
        for entry in fs::read_dir(&folder).map_err(at(&folder))? {
            let path = entry.map_err(at(&folder))?.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            if path.extension().is_none_or(|extension| extension != "yaml")
                || name == "kustomization.yaml"
            {
                continue;
            }
            let text = fs::read(&path).map_err(at(&path))?;
            let copy = files.join(format!("{index}-{name}"));
            fs::write(&copy, text).map_err(at(&copy))?;
        }
        Ok(())
    }
}

/// `go` in a folder, speaking into a log, deaf to what the user's environment says about builds.
fn go_command(go: &Path, folder: &Path, log: &Path) -> Result<Command, RealError> {
    let mut file = File::options().create(true).append(true).open(log).map_err(at(log))?;
    writeln!(file, "in {}", folder.display()).map_err(at(log))?;
    let mut command = Command::new(go);
    command
        .current_dir(folder)
        .env("GOFLAGS", "-mod=readonly")
        .env("GOWORK", "off")
        .env("CGO_ENABLED", "0")
        .stdin(Stdio::null())
        .stdout(file.try_clone().map_err(at(log))?)
        .stderr(file);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_module_has_a_key_of_its_own() {
        let keys: std::collections::BTreeSet<String> =
            [&ETCD, &KUBE, &FLUX, &SNAPSHOTTER, &KWOK, &RENDER, &ORACLE].map(Module::key).into();
        assert_eq!(keys.len(), 7);
        assert!(keys.iter().any(|key| key.starts_with("etcd-") && key.len() == 21));
    }

    #[test]
    fn what_the_modules_are_said_to_give_is_what_they_pin() {
        for (module, pins) in [
            (&ETCD, &["go.etcd.io/etcd/server/v3 v3.7.3"][..]),
            (&KUBE, &["k8s.io/kubernetes v1.36.3"]),
            (
                &FLUX,
                &[
                    "fluxcd/source-controller v1.9.3",
                    "fluxcd/kustomize-controller v1.9.4",
                    "fluxcd/helm-controller v1.6.3",
                ],
            ),
            (&SNAPSHOTTER, &["external-snapshotter/v8 v8.3.0"]),
            (&KWOK, &["sigs.k8s.io/kwok v0.8.0"]),
            (&RENDER, &["sigs.k8s.io/kustomize/kustomize/v5 v5.8.1"]),
            (
                &ORACLE,
                &[
                    "sigs.k8s.io/kustomize/api v0.21.1",
                    "sigs.k8s.io/kustomize/kyaml v0.21.1",
                    "fluxcd/pkg/kustomize v1.35.4",
                    "fluxcd/pkg/envsubst v1.7.0",
                ],
            ),
        ] {
            for pin in pins {
                assert!(module.go_mod.contains(pin), "{} does not pin {pin}", module.name);
            }
        }
    }

    #[test]
    fn a_module_that_is_in_the_cache_needs_no_go() {
        let cache = tempfile::tempdir().unwrap();
        let programs = cache.path().join(ETCD.key()).join("bin");
        fs::create_dir_all(&programs).unwrap();
        let built = ETCD.build(cache.path(), &|line| panic!("{line}")).unwrap();
        assert_eq!(built.program("etcd"), programs.join("etcd"));
    }
}
