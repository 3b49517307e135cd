//! Components as child processes that never outlive their owner.
//!
//! `Drop` ends them. For an owner that is killed and drops nothing there is the guardian: a shell that
//! was told each process id and reads from a pipe; when the pipe closes without a farewell, it ends
//! them.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::error::{RealError, at, tail};

const GUARDIAN: &str = r#"
trap '' INT TERM HUP
ids=
while read -r word id; do
  case $word in
    guard) ids="$ids $id" ;;
    farewell) exit 0 ;;
  esac
done
[ -z "$ids" ] || kill -KILL $ids 2>/dev/null
"#;

/// The shell that ends what an owner leaves behind.
#[derive(Debug)]
pub struct Guardian(Child);

impl Guardian {
    /// Starts it.
    pub fn start() -> Result<Self, RealError> {
        let shell = Path::new("/bin/sh");
        Command::new(shell)
            .args(["-c", GUARDIAN])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map(Self)
            .map_err(at(shell))
    }

    fn tell(&mut self, line: &str) {
        // A guardian that is gone cannot guard; the children still end with their owner's Drop.
        if let Some(pipe) = &mut self.0.stdin {
            drop(writeln!(pipe, "{line}").and_then(|()| pipe.flush()));
        }
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        self.tell("farewell");
        drop(self.0.stdin.take());
        drop(self.0.wait());
    }
}

/// A running component.
#[derive(Debug)]
pub struct Process {
    /// What it is called in errors.
    pub name: String,
    /// Where it writes what it says.
    pub log: PathBuf,
    child: Child,
}

impl Process {
    /// Starts a program in a folder, its output going to `logs/NAME.log` there.
    pub fn start(
        name: &str,
        mut command: Command,
        folder: &Path,
        guardian: &mut Guardian,
    ) -> Result<Self, RealError> {
        let log = folder.join("logs").join(format!("{name}.log"));
        let file = File::create(&log).map_err(at(&log))?;
        let program = PathBuf::from(command.get_program());
        let child = command
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(file.try_clone().map_err(at(&log))?)
            .stderr(file)
            // A Ctrl-C is for the owner, who then ends them in order.
            .process_group(0)
            .spawn()
            .map_err(at(&program))?;
        guardian.tell(&format!("guard {}", child.id()));
        Ok(Self { name: name.to_owned(), log, child })
    }

    /// An error if it ended.
    pub fn check(&mut self) -> Result<(), RealError> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(RealError::Ended {
                component: self.name.clone(),
                status: status.to_string(),
                tail: tail(&self.log),
                log: self.log.clone(),
            }),
            Err(error) => Err(at(&self.log)(error)),
        }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Everything it keeps is thrown away with the cluster, so it need not end gently.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn sleeper(folder: &Path, guardian: &mut Guardian) -> Process {
        std::fs::create_dir_all(folder.join("logs")).unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo started; exec sleep 600"]);
        Process::start("sleeper", command, folder, guardian).unwrap()
    }

    fn runs(id: u32) -> bool {
        // A zombie is ended, only its parent has not asked yet.
        std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
    }

    #[test]
    fn dropping_a_process_ends_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut guardian = Guardian::start().unwrap();
        let mut process = sleeper(folder.path(), &mut guardian);
        process.check().unwrap();
        let id = process.id();
        drop(process);
        assert!(!runs(id));
    }

    #[test]
    fn the_guardian_ends_what_a_killed_owner_leaves() {
        let folder = tempfile::tempdir().unwrap();
        let mut guardian = Guardian::start().unwrap();
        let process = sleeper(folder.path(), &mut guardian);
        let id = process.id();
        // What the system does with the pipe of a killed owner.
        drop(guardian.0.stdin.take());
        for _ in 0..100 {
            if !runs(id) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("still running");
    }

    #[test]
    fn a_component_that_ends_shows_the_end_of_its_log() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("logs")).unwrap();
        let mut guardian = Guardian::start().unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo no such flag >&2; exit 3"]);
        let mut process = Process::start("etcd", command, folder.path(), &mut guardian).unwrap();
        process.child.wait().unwrap();
        let error = process.check().unwrap_err().to_string();
        assert!(error.starts_with("etcd ended by itself (exit status: 3). Its log is"), "{error}");
        assert!(error.contains("  no such flag"), "{error}");
    }
}
