//! VolSync's restic mover: unlock, back up, forget, prune; or restore.

use std::collections::BTreeMap;

use super::{Run, Verdict};
use crate::actors::objects::ObjectError;
use crate::actors::repository::{Origin, Place, Repository, RepositoryError, Retention};

fn origin() -> Origin {
    Origin { host: "volsync".into(), user: String::new(), path: "/data".into() }
}

/// Opens the repository, or makes it: also when all that was asked for is a restore.
fn ensure(
    place: Place,
    run: &Run<'_>,
    log: &mut Vec<String>,
) -> Result<Repository, RepositoryError> {
    match Repository::open(place.clone()) {
        Err(RepositoryError::Missing(_) | RepositoryError::Store(_, ObjectError::NoSuchBucket)) => {
            log.push("=== Initialize Dir ===".into());
            place.objects.make_bucket(&place.bucket, Some(place.credentials.clone()));
            let made = Repository::init(place, run.now)?;
            let id = made.id().get(..10).unwrap_or_default();
            log.push(format!("created restic repository {id} at {}", run.address()));
            Ok(made)
        }
        other => other,
    }
}

/// Runs the script that the environment asks for.
pub(super) fn run(run: &Run<'_>) -> Verdict {
    let place = run.place(run.get("RESTIC_PASSWORD"));
    let mut log = vec!["Starting container".to_owned()];
    let done = match run.get("DIRECTION") {
        "source" => back_up(run, place, &mut log),
        _ => restore(run, place, &mut log),
    };
    match done {
        Ok(0) => {
            log.push("=== Done ===".into());
            Verdict { code: 0, log: log.join("\n") }
        }
        Ok(code) => Verdict { code, log: log.join("\n") },
        Err(error) => Verdict::failed(&error, &log),
    }
}

/// What `--keep-…` options say.
fn retention(options: &str) -> Retention {
    let mut kept = Retention::default();
    let mut words = options.split_whitespace();
    while let (Some(option), Some(value)) = (words.next(), words.next()) {
        let count = value.parse().unwrap_or_default();
        match option {
            "--keep-last" => kept.last = count,
            "--keep-hourly" => kept.hourly = count,
            "--keep-daily" => kept.daily = count,
            "--keep-weekly" => kept.weekly = count,
            "--keep-monthly" => kept.monthly = count,
            "--keep-yearly" => kept.yearly = count,
            "--keep-within" => kept.within = seconds(value),
            _ => {}
        }
    }
    kept
}

/// `2y5m7d3h` in seconds.
fn seconds(span: &str) -> i64 {
    let mut total = 0;
    let mut number = 0;
    for letter in span.chars() {
        let unit = match letter {
            'h' => 3600,
            'd' => 86_400,
            'm' => 30 * 86_400,
            'y' => 365 * 86_400,
            digit => {
                number = number * 10 + i64::from(digit.to_digit(10).unwrap_or_default());
                continue;
            }
        };
        total += number * unit;
        number = 0;
    }
    total
}

fn back_up(run: &Run<'_>, place: Place, log: &mut Vec<String>) -> Result<i32, RepositoryError> {
    if !run.get("UNLOCK").is_empty() {
        let removed = ensure(place.clone(), run, log)?.unlock(&run.pod, run.now)?;
        log.push(format!("successfully removed {removed} locks"));
    }
    let Some(mut disk) = run.disk.as_deref().and_then(|disk| run.disks.read(disk)) else {
        log.push("/data: no such device".into());
        return Ok(1);
    };
    disk.files.retain(|path, _| !path.starts_with("lost+found"));
    if disk.files.is_empty() {
        log.push("== Directory is empty skipping backup ===".into());
        return Ok(0);
    }
    let repository = ensure(place, run, log)?;
    if run.movers.killed() {
        repository.lock(&run.pod, false, run.now)?;
        return Ok(137);
    }
    log.push("=== Starting backup ===".into());
    let (id, snapshot) = repository.backup(&disk, &origin(), BTreeMap::new(), run.now)?;
    let summary = &snapshot.summary;
    log.push(format!(
        "Files: {} new, {} changed, {} unmodified",
        summary.files_new, summary.files_changed, summary.files_unmodified
    ));
    log.push(format!(
        "processed {} files, {} B",
        summary.total_files_processed, summary.total_bytes_processed
    ));
    log.push(format!("snapshot {} saved", id.get(..8).unwrap_or_default()));
    log.push("=== Starting forget ===".into());
    let retention = retention(run.get("FORGET_OPTIONS"));
    let gone = repository.forget(&origin(), &retention, run.now)?;
    log.push(format!("{} snapshots have been removed", gone.len()));
    if run.get("PRUNE") == "true" {
        log.push("=== Starting prune ===".into());
        let removed = repository.prune()?;
        log.push(format!("removed {removed} old files"));
    }
    Ok(0)
}

fn restore(run: &Run<'_>, place: Place, log: &mut Vec<String>) -> Result<i32, RepositoryError> {
    let repository = ensure(place, run, log)?;
    log.push("=== Starting restore ===".into());
    let as_of = run.get("RESTORE_AS_OF").parse().ok();
    let previous = run.get("SELECT_PREVIOUS").parse().unwrap_or_default();
    let Some((id, snapshot)) = repository.select(&origin(), as_of, previous)? else {
        log.push("No eligible snapshots found".into());
        log.push("=== No data will be restored ===".into());
        return Ok(0);
    };
    let short = id.get(..8).unwrap_or_default();
    log.push(format!("Selected restic snapshot with id: {short}"));
    log.push(format!("restoring snapshot {short} of [/data] at {} to .", snapshot.time));
    let exact = run.get("RESTORE_OPTIONS") == "--delete";
    let target = run.disk.as_deref().unwrap_or_default();
    match run.disks.write(target, |disk| repository.restore(&snapshot, disk, exact)) {
        Some(Ok(())) => {
            let summary = &snapshot.summary;
            log.push(format!(
                "Summary: Restored {} files/dirs ({} B)",
                summary.total_files_processed, summary.total_bytes_processed
            ));
            Ok(0)
        }
        Some(Err(error)) => Err(error),
        None => {
            log.push("/data: no such device".into());
            Ok(1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::movers::Movers;
    use crate::actors::objects::{Credentials, ObjectFault};
    use crate::actors::volumes::{Disk, Disks};

    struct Bench {
        disks: Disks,
        movers: Movers,
        now: jiff::Timestamp,
    }

    impl Bench {
        fn new() -> Self {
            let disks = Disks::default();
            disks.provision("a", Disk::empty(1));
            disks.provision("b", Disk::empty(1));
            Self { disks, movers: Movers::default(), now: "2026-01-01T00:00:00Z".parse().unwrap() }
        }

        fn run(&mut self, disk: &str, extra: &[(&str, &str)]) -> Verdict {
            self.now += jiff::SignedDuration::from_mins(1);
            let mut env: BTreeMap<String, String> = [
                ("RESTIC_REPOSITORY", "s3:http://store/backups/shop"),
                ("RESTIC_PASSWORD", "pw"),
                ("FORGET_OPTIONS", "--keep-last 1"),
            ]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
            env.extend(extra.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
            super::run(&Run {
                env,
                pod: "pod".into(),
                disk: Some(disk.into()),
                disks: &self.disks,
                movers: &self.movers,
                now: self.now,
            })
        }

        fn fill(&self, content: &str) {
            self.disks.write("a", |disk| disk.files.insert("row".into(), content.into()));
        }

        fn count(&self) -> usize {
            let objects = self.movers.objects();
            objects
                .list(&Credentials::default(), "backups", "shop/snapshots/")
                .map_or(0, |entries| entries.len())
        }
    }

    #[test]
    fn an_empty_volume_succeeds_without_a_snapshot_or_a_repository() {
        let mut bench = Bench::new();
        let verdict = bench.run("a", &[("DIRECTION", "source")]);
        assert_eq!(verdict.code, 0);
        assert!(verdict.log.contains("Directory is empty"));
        assert_eq!(bench.count(), 0);
    }

    #[test]
    fn a_restore_from_nothing_makes_a_repository_and_succeeds_empty() {
        let mut bench = Bench::new();
        let verdict = bench.run("b", &[("DIRECTION", "destination")]);
        assert_eq!(verdict.code, 0);
        assert!(verdict.log.contains("No eligible snapshots"));
        assert!(verdict.log.contains("created restic repository"));
        assert_eq!(bench.disks.read("b").unwrap(), Disk::empty(1));
        bench.fill("1");
        assert_eq!(bench.run("a", &[("DIRECTION", "source")]).code, 0);
        assert_eq!(bench.run("b", &[("DIRECTION", "destination")]).code, 0);
        assert_eq!(bench.disks.read("b").unwrap().files["row"], b"1");
    }

    #[test]
    fn a_killed_mover_leaves_a_lock_and_each_retry_another_snapshot() {
        let mut bench = Bench::new();
        bench.fill("1");
        bench.movers.kill_next(1);
        assert_eq!(bench.run("a", &[("DIRECTION", "source")]).code, 137);
        bench.fill("2");
        // Same host name, so an unlock would help; without one nothing does.
        assert_eq!(bench.run("a", &[("DIRECTION", "source")]).code, 11);
        assert_eq!(bench.run("a", &[("DIRECTION", "source")]).code, 11);
        assert_eq!(bench.count(), 2);
        assert_eq!(bench.run("a", &[("DIRECTION", "source"), ("UNLOCK", "1")]).code, 0);
        assert_eq!(bench.count(), 1);
    }

    #[test]
    fn options_become_a_policy() {
        let kept = retention("--keep-last 2 --keep-daily 7 --keep-within 1d2h");
        assert_eq!((kept.last, kept.daily, kept.within), (2, 7, 93_600));
    }

    #[test]
    fn a_store_that_refuses_is_a_failure_not_an_empty_repository() {
        let mut bench = Bench::new();
        bench.fill("1");
        assert_eq!(bench.run("a", &[("DIRECTION", "source")]).code, 0);
        bench.movers.objects().set_fault(None, Some(ObjectFault::AccessDenied));
        assert_eq!(bench.run("b", &[("DIRECTION", "destination")]).code, 1);
        bench.movers.objects().set_fault(None, None);
        let wrong = [("DIRECTION", "destination"), ("RESTIC_PASSWORD", "other")];
        let verdict = bench.run("b", &wrong);
        assert_eq!(verdict.code, 12);
        assert!(verdict.log.ends_with("Fatal: wrong password or no key found"));
    }
}
